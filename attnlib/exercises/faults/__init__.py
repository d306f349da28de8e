"""The pipeline once more, with faults that can be switched on: what each mistake would give.

Every slot is one stage: the right step and the wrong ones. A diagnosis is the claim "your numbers
are those of the pipeline with this fault, and with no smaller set of faults".
"""

from .engine import Fault, Slot, Step, replay, start, walk
from .heads import expand_groups, given, merge_last, merge_one, split_one, split_three
from .masking import causal, fill, hide, hide_future, padding, penalty
from .projections import out, project_one, project_three
from .scaling import scale
from .scores import meet
from .softmax import again, mix, weigh
from .unasked import masked_too, narrowed_too, scaled_too, weighed_too

__all__ = [
    "Fault",
    "Slot",
    "Step",
    "again",
    "causal",
    "expand_groups",
    "fill",
    "given",
    "hide",
    "hide_future",
    "masked_too",
    "meet",
    "merge_last",
    "merge_one",
    "mix",
    "narrowed_too",
    "out",
    "padding",
    "penalty",
    "project_one",
    "project_three",
    "replay",
    "scale",
    "scaled_too",
    "split_one",
    "split_three",
    "start",
    "walk",
    "weighed_too",
    "weigh",
]
