import pytest
import torch

from attnlib.tracer.recorder import Recorder


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """A rule that trips is an error here; for a reader it knows nothing and the run goes on."""
    monkeypatch.setattr(Recorder, "strict", True)
    torch.manual_seed(0)
