"""Faults that `make test` must notice: each with where it is planted and which check goes red.

A row plants `new` in place of `old` in a copy of the tree and runs pytest on `tests`, the narrowest
selection that must fail, with every one of `words` in its output. An `old` that the file no longer
holds is an error: the row then follows the code. A fault in a built page, below `_build/html`, is
planted in a copy of the pages.
"""

from __future__ import annotations

from dataclasses import dataclass

EXECUTED = ("tests/test_notebooks.py", "-m", "executes", "-k")


@dataclass(frozen=True)
class Fault:
    """One way to be wrong, and what must be red."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    words: tuple[str, ...]


def stage(name: str, file: str, old: str, new: str, tests: str) -> Fault:
    """A stage that computes something else; its own tests say so."""
    path = f"tests/stages/{tests}"
    return Fault(name, f"attnlib/stages/{file}", old, new, (path,), (f"FAILED {path}::",))


STAGES = [
    stage(
        "project: weight reversed",
        "projections.py",
        "return F.linear(x, weight, bias)",
        "return F.linear(x, weight.flip(0), bias)",
        "test_projections.py",
    ),
    stage(
        "project: bias forgotten",
        "projections.py",
        "return F.linear(x, weight, bias)",
        "return F.linear(x, weight)",
        "test_projections.py",
    ),
    stage(
        "scores: no transpose where the sizes allow it",
        "scores.py",
        "return q @ k.transpose(-2, -1)",
        "return q @ (k if k.shape[-2] == k.shape[-1] else k.transpose(-2, -1))",
        "test_scores.py",
    ),
    stage(
        "scores: scaled already",
        "scores.py",
        "return q @ k.transpose(-2, -1)",
        "return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5",
        "test_scores.py",
    ),
    stage(
        "scaling: no root",
        "scaling.py",
        "return scores / math.sqrt(head_size)",
        "return scores / head_size",
        "test_scaling.py",
    ),
    stage(
        "scaling: inverted",
        "scaling.py",
        "return scores / math.sqrt(head_size)",
        "return scores * math.sqrt(head_size)",
        "test_scaling.py",
    ),
    stage(
        "masking: aligned with the first key",
        "masking.py",
        ".tril(Sk - Sq)",
        ".tril()",
        "test_masking.py",
    ),
    stage(
        "masking: off by one",
        "masking.py",
        ".tril(Sk - Sq)",
        ".tril(Sk - Sq - 1)",
        "test_masking.py",
    ),
    stage(
        "masking: inverted",
        "masking.py",
        "scores.masked_fill(~may_attend, -math.inf)",
        "scores.masked_fill(may_attend, -math.inf)",
        "test_masking.py",
    ),
    stage(
        "masking: a finite fill",
        "masking.py",
        "scores.masked_fill(~may_attend, -math.inf)",
        "scores.masked_fill(~may_attend, -1e4)",
        "test_masking.py",
    ),
    stage(
        "softmax: over the queries",
        "softmax.py",
        "torch.softmax(scores, -1)",
        "torch.softmax(scores, -2)",
        "test_softmax.py",
    ),
    stage(
        "softmax: a row without keys looks at all",
        "softmax.py",
        "torch.softmax(scores, -1).masked_fill_(sees_nothing, 0.0)",
        "torch.softmax(scores, -1)",
        "test_softmax.py",
    ),
    stage(
        "weighted sum: values averaged",
        "softmax.py",
        "return weights @ v",
        "return weights @ v.mean(-2, keepdim=True).expand_as(v)",
        "test_softmax.py",
    ),
    stage(
        "weighted sum: weights transposed where the sizes allow it",
        "softmax.py",
        "return weights @ v",
        "return (weights.mT if weights.shape[-2] == weights.shape[-1] else weights) @ v",
        "test_softmax.py",
    ),
    stage(
        "heads: split by view",
        "heads.py",
        "x.unflatten(-1, (n_heads, x.shape[-1] // n_heads)).transpose(-3, -2)",
        "x.reshape(*x.shape[:-2], n_heads, x.shape[-2], x.shape[-1] // n_heads)",
        "test_heads.py",
    ),
    stage(
        "heads: merged without the transpose",
        "heads.py",
        "x.transpose(-3, -2).flatten(-2)",
        "x.reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])",
        "test_heads.py",
    ),
]


def carried(name: str, file: str, old: str, new: str, tests: str) -> Fault:
    """Weights carried over wrongly."""
    path = f"tests/weights/{tests}"
    return Fault(name, f"attnlib/weights/{file}", old, new, (path,), (f"FAILED {path}::",))


WEIGHTS = [
    carried(
        "from_fused: the layout ignored where a square hides it",
        "fused.py",
        'weight.T if layout == "in,out" else weight\n    decided',
        'weight.T if layout == "in,out" and len(weight) != len(weight.T) else weight\n    decided',
        "test_parity.py",
    ),
    carried(
        "from_fused: query and key exchanged",
        "fused.py",
        "(layer.query, layer.key, layer.value)",
        "(layer.key, layer.query, layer.value)",
        "test_layouts.py",
    ),
    carried(
        "unstack: heads interleaved",
        "heads.py",
        "whole.chunk(layer.n_heads)[h]",
        "whole[h :: layer.n_heads]",
        "test_layouts.py",
    ),
    carried(
        "parity: everything agrees",
        "parity.py",
        "return Parity(difference <= tolerance,",
        "return Parity(difference <= 1.0,",
        "test_parity.py",
    ),
]


def in_c(name: str, old: str, new: str) -> Fault:
    """The head in C computes something else; its own six tests say so."""
    path = "tests/native/test_c.py"
    return Fault(name, "native/head.c", old, new, (path,), (f"FAILED {path}::", "FAILED "))


NATIVE = [
    in_c("C: no root", "sqrt((double)H)", "(double)H"),
    in_c("C: each token sees one too many", "size_t j = i + 1;", "size_t j = i + 2;"),
    in_c("C: a number past the end", "n < in * out; n++", "n <= in * out; n++"),
]

HOUSE = [
    Fault(
        "a persistent mask",
        "attnlib/modules.py",
        "persistent=False",
        "persistent=True",
        ("tests/test_modules.py",),
        ("FAILED tests/test_modules.py::",),
    ),
    Fault(
        "an import against the table",
        "attnlib/modules.py",
        "from .errors import ShapeError\n",
        "from . import examples  # noqa: F401\nfrom .errors import ShapeError\n",
        ("tests/test_house.py",),
        ("FAILED tests/test_house.py::", "import"),
    ),
    Fault(
        "a docstring whose example lies",
        "attnlib/stages/scaling.py",
        "tensor([[1., 2.]])",
        "tensor([[1., 3.]])",
        ("tests/test_house.py",),
        ("FAILED tests/test_house.py::", "scale_scores"),
    ),
]

SHAPES = Fault(
    "a signature whose shapes lie",
    "attnlib/stages/scores.py",
    ') -> Float[Tensor, "*batch Sq Sk"]:',
    ') -> Float[Tensor, "*batch Sk Sq"]:',
    ("--jaxtyping-packages=attnlib.stages,beartype.beartype", "tests/stages/test_scores.py"),
    ("FAILED tests/stages/test_scores.py::", "TypeCheckError"),
)

CHAPTER = "book/01-projections.ipynb"
BOOK = [
    Fault(
        "a rule that nothing can take",
        "_build/html/book/index.html",
        ".part{",
        ".nobody{color:red}.part{",
        ("tests/book/test_styles.py", "-k", "nowhere"),
        ("nobody",),
    ),
    Fault(
        "a rule dropped that a page takes",
        "_build/html/book/glossary.html",
        ".part{",
        ".part:empty{",
        ("tests/book/test_styles.py", "-k", "look_as and glossary"),
        ("light", "as it is"),
    ),
    Fault(
        "a pale word in a drawing",
        "_build/html/book/notation.html",
        "</article>",
        '<svg width="99" height="40"><text y="25" fill="#999">pale</text></svg></article>',
        ("tests/book/test_inks.py", "-k", "notation"),
        ("'pale' at",),
    ),
    Fault(
        "a wrong number in an output",
        CHAPTER,
        '"3072"',
        '"3073"',
        (*EXECUTED, "01-projections"),
        ("3073", "1 failed"),
    ),
    Fault(
        "a chapter that raises",
        CHAPTER,
        "import torch.nn.functional as F\\n",
        "import torch.nn.functional as F; 1 / 0\\n",
        (*EXECUTED, "01-projections"),
        ("ZeroDivisionError",),
    ),
    Fault(
        "a page that asks another host",
        "_build/html/book/notation.html",
        "</article>",
        '<img alt="a picture of a map" src="https://example.org/map.png"></article>',
        ("tests/book/test_pages.py", "-k", "test_page_holds_from_disk and notation"),
        ("FAILED tests/book/test_pages.py::", "https://example.org/map.png"),
    ),
    Fault(
        "a fact that no cell asserts",
        CHAPTER,
        '"fact:01-weight-shape"',
        '"fact:01-weight"',
        ("tests/book/test_facts.py",),
        ("test_each_fact_is_asserted_by_a_cell_that_ran[01-projections]", "0 cells carry it"),
    ),
    Fault(
        "a link to a section as pages name it, not as JupyterLab does",
        "book/from-symptom-to-page.ipynb",
        "(exercises.ipynb#A-whole-module)",
        "(exercises.ipynb#a-whole-module)",
        ("tests/book/test_links.py",),
        ("exercises.ipynb#a-whole-module is not one heading",),
    ),
    Fault(
        "a link to a heading that an open notebook has too",
        "book/exercises.ipynb",
        "[project](exercises.ipynb#Exercise:-project) | 1",
        "[project](#Exercise:-project) | 1",
        ("tests/book/test_links.py",),
        ("Exercise:-project is a heading of 01-projections.ipynb and exercises.ipynb",),
    ),
    Fault(
        "a number typed into prose",
        "book/05-softmax-and-the-weighted-sum.ipynb",
        "plus 0.21 of the second",
        "plus 0.22 of the second",
        ("tests/book/test_form.py", "-k", "05 and typed"),
        ("plus 0.22 of the second",),
    ),
    Fault(
        "a claim that is settled in other words",
        "book/09-claims-checked.ipynb",
        "### Attention weights are positive",
        "### Attention weights are never zero",
        ("tests/book/test_claims.py",),
        ("test_each_claim_is_settled_once", "Attention weights are never zero"),
    ),
    Fault(
        "a public name without a place in the reference",
        "book/library.md",
        "split_heads merge_heads",
        "split_heads",
        ("tests/book/test_reference.py", "-k", "public_name"),
        ("merge_heads",),
    ),
    Fault(
        "a search that does not find its index",
        "_build/html/_static/search-index.js",
        "window.searchIndex=",
        "window.index=",
        ("tests/book/test_search.py", "-k", "type_finds and http"),
        ("FAILED tests/book/test_search.py::",),
    ),
    Fault(
        "a packed book that tells when it was packed",
        "tools/offline.py",
        'ZipInfo(f"{NAME}/{name}", LONG_AGO)',
        'ZipInfo.from_file(path, f"{NAME}/{name}")',
        ("tests/book/test_offline.py", "-k", "same_pages"),
        ("FAILED tests/book/test_offline.py::test_same_pages_give_the_same_file",),
    ),
]


def in_lab(name: str, file: str, old: str, new: str, tests: str) -> Fault:
    """A lab that shows something else than PyTorch computes; `tests` may name one of a file."""
    path = f"tests/widgets/labs/{tests}"
    words = (f"FAILED {path.split('::')[0]}::",)
    return Fault(name, f"attnlib/widgets/{file}", old, new, (path,), words)


LABS = [
    in_lab(
        "labs: on a phone nobody says which token is which",
        "labs/lab.js",
        "    scene.sayTokens();\n",
        "",
        "test_labs.py::test_on_a_phone_the_tokens_that_are_spoken_of_are_named",
    ),
    in_lab(
        "lab: scores divided by H",
        "labs/scaling.js",
        "'root-H': Math.sqrt(size)",
        "'root-H': size",
        "test_scaling.py",
    ),
    in_lab(
        "lab: rows read as columns of the weight",
        "labs/matrix.js",
        "weight.map((other) => dot(row, other))",
        "transpose(weight).map((other) => dot(row, other))",
        "test_projections.py",
    ),
    in_lab(
        "lab: a reshape that transposes",
        "labs/matmul.js",
        "reshape: reshape(k, cols)",
        "reshape: transpose(k)",
        "test_matmul.py",
    ),
    in_lab(
        "lab: keys that look alike are called wrong",
        "labs/matmul.js",
        "if (k.every(isKey)) return",
        "if (!k.length) return",
        "test_matmul.py::test_keys_that_look_alike_when_turned_are_not_called_wrong",
    ),
    in_lab(
        "lab: leaks looked for among what is allowed",
        "labs/mask.js",
        "!may[i][j] && weights[i][j] > 0",
        "may[i][j] && weights[i][j] > 0",
        "test_mask.py",
    ),
    in_lab(
        "lab: a word that ends its script",
        "output.py",
        'text.replace("<", "\\\\u003c")',
        'text.replace("<<", "\\\\u003c")',
        "test_labs.py::test_no_word_ends_its_script_or_becomes_a_tag",
    ),
    in_lab(
        "lab: a link that sets what is not legal",
        "labs/lab.js",
        "(name in words ? read(words[name]) : undefined) ?? start",
        "(name in words ? read(words[name]) ?? words[name] : undefined) ?? start",
        "test_labs.py::test_links_set_what_is_legal_and_leave_the_rest",
    ),
    in_lab(
        "lab: scores multiplied by the temperature",
        "labs/softmax.js",
        "f32((score + add) / T)",
        "f32((score + add) * T)",
        "test_softmax.py::test_weights_and_mix_are_torchs",
    ),
    in_lab(
        "lab: a token does not see itself",
        "labs/head.js",
        "mask === 'causal' && j > i",
        "mask === 'causal' && j >= i && j > 0",
        "test_head.py::test_every_step_is_torchs",
    ),
    in_lab(
        "lab: heads dealt out like cards",
        "labs/heads.js",
        "s * n_embd + h * size + d",
        "s * n_embd + d * heads + h",
        "test_heads.py::test_every_place_and_stride_is_torchs",
    ),
    in_lab(
        "lab: a slider that listens when its lab has gone",
        "labs/fields.js",
        "stops[input.value] }), { signal });",
        "stops[input.value] }));",
        "test_labs.py::test_random_hands_leave_it_whole_and_no_listener[scaling]",
    ),
    in_lab(
        "lab: a band too wide by one",
        "labs/wild.js",
        "i - j < n",
        "i - j <= n",
        "test_wild.py::test_a_pattern_is_what_its_line_of_code_gives",
    ),
]


def in_player(name: str, file: str, old: str, new: str, test: str) -> Fault:
    """A player that shows something else than what ran."""
    path = f"tests/widgets/{test}"
    words = (f"FAILED {path.split('::')[0]}::",)
    return Fault(name, f"attnlib/widgets/{file}", old, new, (path,), words)


PLAYER = [
    in_player(
        "player: a growing sum that forgets",
        "sums.js",
        "sum += x * y;",
        "sum = x * y;",
        "test_scenes.py::test_the_growing_sum_is_pytorchs",
    ),
    in_player(
        "player: a bias that is added but not drawn",
        "cross.js",
        "if (product.maps && product.bias) drawBias",
        "if (false) drawBias",
        "test_scenes.py::test_a_bias_is_drawn_and_said_and_the_sum_is_pytorchs",
    ),
    in_player(
        "player: a bias that seems to come on top of what holds it",
        "cross.js",
        "said: say`already in ${named(result)}`,",
        "",
        "test_legible.py::test_a_bias_says_that_it_is_in_the_result",
    ),
    in_player(
        "player: a number under the frame beside it",
        "scene.js",
        "(w - 2 * SIDE) /",
        "w /",
        "test_legible.py::test_no_number_reaches_the_frames_beside_it",
    ),
    in_player(
        "player: a small weight has no pixel",
        "softmax.js",
        "least + share * (width - least * open)",
        "share * width",
        "test_legible.py::test_parts_of_a_whole_are_written_alike_and_drawn",
    ),
    in_player(
        "player: a cut across tokens is said like the right one",
        "views.js",
        "was !== wide &&",
        "false &&",
        "test_legible.py::test_a_cut_inside_rows_and_one_across_them_are_told_apart",
    ),
    in_player(
        "player: the open cells are hatched",
        "scene.js",
        "value === -Infinity || value === false",
        "value === true",
        "test_scenes.py::test_exactly_the_future_is_hatched",
    ),
    in_player(
        "player: what stands right is dashed",
        "warned.js",
        "origin(index) !== address(",
        "origin(index) === address(",
        "test_scenes.py::test_exactly_the_numbers_in_the_wrong_place_are_dashed",
    ),
    in_player(
        "player: layers that differ are folded",
        "rows.js",
        "alike(count) === alike(0)",
        "true",
        "test_long.py::test_layers_that_differ_are_not_folded",
    ),
    in_player(
        "player: a size that falls off a phone",
        "axes.js",
        "if (short && scene.narrow) place.said = says;",
        "if (false) place.said = says;",
        "test_scenes.py::test_the_size_of_an_axis_too_short_for_it_is_said",
    ),
    in_player(
        "player: neighbours that lie on an outline",
        "drawing.js",
        ".test(mark.kind) ? 1.5 : 0;",
        ".test(mark.kind) ? 0 : 0;",
        "test_player.py::test_neighbours_do_not_lie_on_the_outline_of_a_cell",
    ),
    in_player(
        "player: a still that is wider than its paper",
        "base.css",
        " max-width: 100%; height: auto;",
        "",
        "test_print.py",
    ),
    in_player(
        "player: a verdict on sizes that few can read",
        "tools.css",
        ".verdict { color: var(--bad);",
        ".verdict { color: var(--rule);",
        "test_player.py::test_access_holds_in_every_state[1280-light]",
    ),
    in_player(
        "player: two of one name answer to the same links",
        "places.js",
        "  nameApart(place);\n",
        "",
        "test_player.py::test_two_players_of_one_name_have_two_ids_and_links_mean_the_first",
    ),
    in_player(
        "player: a swipe sets the slider that it begins on",
        "surface.js",
        "  yieldToSwipes(frame, signal);\n",
        "",
        "test_touch.py::test_a_swipe_on_a_lab_moves_the_page_and_sets_nothing[matmul]",
    ),
    Fault(
        "player: tools that never come",
        "_build/html/_static/player.js",
        "player-tools.js",
        "player-tool.js",
        ("tests/book/test_widgets.py", "-k", "first_use and http and Predict and Mouse"),
        ("FAILED tests/book/test_widgets.py::test_the_first_use_of_a_tool",),
    ),
    in_player(
        "live: a moved slider runs nothing",
        "live.py",
        'control.observe(show, names="value")',
        "pass",
        "test_live_kernel.py",
    ),
    in_player(
        "live: other inputs at every run",
        "live.py",
        "torch.manual_seed(SEED)",
        "torch.seed()",
        "test_live.py::test_the_same_sizes_give_the_same_numbers_and_leave_the_readers_alone",
    ),
]

ANSWERS = "tests/exercises/test_answers.py"
STRANGER = "tests/exercises/test_stranger.py"
BEYOND = "tests/exercises/test_beyond.py"
EXERCISES = [
    Fault(
        "check: a gradient that is lost in one input counts only where all are lost",
        "attnlib/exercises/gradients.py",
        "if names := [name for name, mine, due in pairs if differs(mine, due)]:",
        "if len(names := [n for n, mine, due in pairs if differs(mine, due)]) == len(pairs):",
        (BEYOND, "-k", "gradients_is_lost"),
        ("FAILED tests/exercises/test_beyond.py",),
    ),
    Fault(
        "check: a gradient that is another one passes where no part is lost",
        "attnlib/exercises/gradients.py",
        "> SLACK * float(due.abs().max())",
        "> torch.inf",
        (BEYOND, "-k", "gradients_is_lost"),
        ("FAILED tests/exercises/test_beyond.py",),
    ),
    Fault(
        "check: a float64 result of float32 inputs passes",
        "attnlib/exercises/beyond.py",
        "if trial.value.dtype != wanted:",
        "if trial.value.dtype not in (wanted, torch.float64):",
        (BEYOND, "-k", "another_dtype"),
        ("test_a_value_of_another_dtype_or_of_a_fixed_device_is_a_mistake",),
    ),
    Fault(
        "check: a hidden key may keep a little weight in a head",
        "attnlib/exercises/faint.py",
        "> 1e-2 * float(before.abs().max())",
        "> torch.inf",
        (BEYOND, "-k", "little_off"),
        ("may not be seen keep a little weight",),
    ),
    Fault(
        "check: a fill that hides in use is refused without a word of that",
        "attnlib/exercises/evidence.py",
        'if id_ == "mask-fill-not-low-enough" and low_in_use(trial, runner):',
        "if False:",
        (BEYOND, "-k", "same_is_said"),
        ("In use it hides",),
    ),
    Fault(
        "check: a fill is said to hide in use that lies below the least score, whatever that is",
        "attnlib/exercises/fills.py",
        'usual["scores"] = scores.clamp(min=USUAL)',
        'usual["scores"] = scores',
        (STRANGER, "-k", "told_what_is_so"),
        ("In use it hides",),
    ),
    Fault(
        "check: exp is said to overflow where a row below the others underflows",
        "attnlib/exercises/beyond.py",
        "alike_rows = scores[:1, :1].expand_as(scores)",
        "alike_rows = scores",
        (STRANGER, "-k", "would_go_wrong"),
        ("exp overflows",),
    ),
    Fault(
        "verify: a weight that no container holds is not looked for",
        "attnlib/exercises/registered.py",
        "left = set(), [output.grad_fn]",
        "left = set(), []",
        (STRANGER, "-k", "registered_nowhere"),
        ("test_a_weight_that_is_registered_nowhere_is_found_however_it_is_held",),
    ),
    Fault(
        "check: of two pairs of mistakes with the same numbers the first is named",
        "attnlib/exercises/planted.py",
        "if not least or len(least[0]) == 1:",
        "if True:",
        (BEYOND, "-k", "of_two_mistakes"),
        ("test_of_two_mistakes_one_is_named_only_if_no_other_two_give_the_same",),
    ),
    Fault(
        "check: mixing is looked for in one direction of the batch",
        "attnlib/exercises/evidence.py",
        "for changed in (batch - 1, 0))",
        "for changed in (batch - 1,))",
        (ANSWERS, "-k", "wrong_answer and batch-mixed"),
        ("FAILED tests/exercises/test_answers.py", "value-mismatch"),
    ),
    Fault(
        "check: one number may hide too little where it is not in the list",
        "attnlib/exercises/planted.py",
        "if all(gap < 0.01 * right < torch.inf for gap, right in gaps):",
        "if False:",
        (ANSWERS, "-k", "wrong_answer and mask-fill-not-low-enough"),
        ("FAILED tests/exercises/test_answers.py", "value-mismatch"),
    ),
    Fault(
        "check: of the stages that were not asked for one may be there, not three",
        "attnlib/exercises/planted.py",
        "free=ABSENT | MORE)",
        "free=ABSENT)",
        (ANSWERS, "-k", "wrong_answer and scale-unasked"),
        ("FAILED tests/exercises/test_answers.py", "value-mismatch"),
    ),
    Fault(
        "check: NaN throughout is taken for the numbers of a planted mistake",
        "attnlib/exercises/planted.py",
        "not bool(result.isnan().all())",
        "True",
        ("tests/exercises/test_messages.py", "-k", "nan_throughout"),
        ("test_nan_throughout_is_the_evidence_of_no_planted_fault",),
    ),
    Fault(
        "check: whatever is drawn at random is called a dropout",
        "attnlib/exercises/checker.py",
        "if draws.dropped else",
        "if draws else",
        (ANSWERS, "-k", "wrong_answer and not-deterministic"),
        ("FAILED tests/exercises/test_answers.py", "dropout-active"),
    ),
    Fault(
        "check: random code is drawn from the reader's own state",
        "attnlib/exercises/checker.py",
        "torch.manual_seed(seed)  # code",
        "None  # code",
        (ANSWERS, "-k", "random_code"),
        ("test_random_code_gets_the_same_verdict_every_time",),
    ),
    Fault(
        "exercises: loops that read a constant which they do not hold",
        "attnlib/exercises/form.py",
        'return ["\\n".join(used)] if used else []',
        "return []",
        ("tests/exercises/test_checker.py", "-k", "every_constant"),
        ("test_the_loops_hold_every_constant_that_they_read[mask-scores]",),
    ),
    Fault(
        "exercises: a hint is named that the page does not have",
        CHAPTER,
        "import check, hint",
        "import check",
        ("tests/book/test_exercises.py", "-k", "page_holds and 01"),
        ("NameError", "'hint'"),
    ),
    Fault(
        "check: sizes may agree by chance",
        "attnlib/exercises/form.py",
        "if len(set(sizes.values())) == len(sizes):",
        "if sizes:",
        ("tests/exercises/test_checker.py", "-k", "pairwise"),
        ("test_sizes_are_pairwise_different_and_then_collide",),
    ),
    Fault(
        "verify: what a call leaves behind is taken for a mask",
        "attnlib/exercises/laws.py",
        "if vars(part).get(name) is value:",
        "if name:",
        ("tests/exercises/test_verifier.py", "-k", "correct_module_of_others and harvard"),
        ("test_a_correct_module_of_others_passes[harvard]", "plain attribute"),
    ),
    Fault(
        "verify: a module that meets no earlier token is called causal",
        "attnlib/exercises/pattern.py",
        's.causal, s.why = False, "outputs react to no token before them"',
        's.causal, s.why = True, "outputs react to no token before them"',
        ("tests/exercises/test_verifier.py", "-k", "not_called_causal"),
        ("test_a_module_that_meets_no_earlier_token_is_not_called_causal[batch second]",),
    ),
    Fault(
        "verify: a third of a fused weight may go without gradient",
        "attnlib/exercises/laws.py",
        "lost = lost or _lost_part(parameters, grads)",
        "lost = lost or []",
        ("tests/exercises/test_verifier.py", "-k", "keys_detached"),
        ("keys_detached",),
    ),
    Fault(
        "exercises: a hint that no longer is the notebook's",
        "attnlib/exercises/scaling.py",
        "The spread is the root of the variance: divide by it.",
        "Divide.",
        ("tests/book/test_exercises.py", "-k", "made_cells and scaling"),
        ("made cell 4 of 5 is not what tools/exercises.py makes",),
    ),
    Fault(
        "mistakes: the module does not run the code that is shown",
        "attnlib/exercises/assembled.py",
        "| {id: function}",
        "| {}",
        ("tests/exercises/test_appearance.py", "-k", "function_is_run_in_the_module and scores"),
        ("FAILED tests/exercises/test_appearance.py",),
    ),
    Fault(
        "verify: a window on both sides is called causal",
        "attnlib/exercises/pattern.py",
        "elif torch.equal(moved, moved.mT):",
        "elif False:",
        ("tests/exercises/test_designs.py", "-k", "both_sides"),
        ("test_a_window_on_both_sides_is_not_called_causal",),
    ),
    Fault(
        "verify: a mask that is off by one is excused as a design",
        "attnlib/exercises/pattern.py",
        "bool(moved.diagonal().all()) and",
        "True and",
        ("tests/exercises/test_designs.py", "-k", "off_by_one"),
        ("test_a_mask_that_is_off_by_one_is_not_excused",),
    ),
    Fault(
        "verify: a law that was left out is ticked",
        "attnlib/exercises/meant.py",
        "replace(law, passed=None, counterexample=LEFT_OUT",
        "replace(law, passed=True, counterexample=LEFT_OUT",
        ("tests/exercises/test_designs.py", "-k", "right_without_reach"),
        ("test_a_window_is_right_without_reach",),
    ),
    Fault(
        "verify: a known mistake is excused as a design",
        "attnlib/exercises/meant.py",
        "if (s.mistake and s.mistake != _UNSCALED) or broken",
        "if broken",
        ("tests/exercises/test_designs.py", "-k", "not_excused"),
        ("test_a_known_mistake_and_a_mistake_with_other_laws_are_not_excused",),
    ),
    Fault(
        "verify: a device slip hides that positions break parity on purpose",
        "attnlib/exercises/meant.py",
        'else {"device"}',
        "else set()",
        ("tests/exercises/test_designs.py", "-k", "hides_no_design"),
        ("test_a_law_beside_the_numbers_hides_no_design[RotaryMadeElsewhere-device]",),
    ),
    Fault(
        "verify: one layout of a fused weight is held to be the only one",
        "attnlib/exercises/parity.py",
        "other = weights.by_head() if weights.told else None",
        "other = None",
        ("tests/exercises/test_designs.py", "-k", "head_by_head"),
        ("test_a_fused_weight_may_be_laid_out_head_by_head",),
    ),
    Fault(
        "check: numbers of special sizes are named before the failure where all sizes differ",
        "attnlib/exercises/checker.py",
        "found = before_all(exercise, trials, runner, off)",
        "found = None",
        ("tests/exercises/test_sizes.py", "-k", "comes_first"),
        ("test_a_failure_where_all_sizes_differ_comes_first[0 weights]",),
    ),
    Fault(
        "check: a forgotten keepdim is not named",
        "attnlib/exercises/keepdim.py",
        "and result.shape == other.shape:",
        "and False:",
        ("tests/exercises/test_sizes.py", "-k", "not_kept_is_named"),
        ("test_the_dim_that_was_not_kept_is_named",),
    ),
    Fault(
        "verify: nobody is told that parity was not checked",
        "attnlib/exercises/verifier.py",
        'head += "; parity not checked" if unsaid else ""',
        "pass",
        ("tests/exercises/test_verifier.py", "-k", "first_line"),
        ("FAILED tests/exercises/test_verifier.py",),
    ),
    Fault(
        "check: a dim is named by its size though two have it",
        "attnlib/exercises/verdict.py",
        "f[0] if len(f) == 1 else",
        "f[0] if f else",
        ("tests/exercises/test_messages.py", "-k", "another_shape"),
        ("test_a_result_of_another_shape_is_named_where_that_can_be_told",),
    ),
    Fault(
        "check: it points at a line though several fit",
        "attnlib/exercises/telling.py",
        "if len(fits) == 1 or (fits and repeats) else",
        "if fits else",
        ("tests/exercises/test_checker.py", "-k", "own_line_is_shown"),
        ("FAILED tests/exercises/test_checker.py",),
    ),
    Fault(
        "the library: an example needs a name that the page does not bring",
        "book/library.md",
        "from torch import Tensor, nn",
        "from torch import Tensor",
        ("tests/book/test_reference.py", "-k", "example_runs and from_fused"),
        ("FAILED tests/book/test_reference.py", "NameError: name 'nn'"),
    ),
    Fault(
        "exercises: a symptom's heading is another one",
        "book/from-symptom-to-page.ipynb",
        "### Right at some sizes only",
        "### Right at a few sizes",
        ("tests/exercises/test_reported.py", "-k", "page_answers and 202"),
        ("Right-at-some-sizes-only",),
    ),
    Fault(
        "exercises: ticks are forgotten",
        "_build/html/_static/book.js",
        'set("exercises",',
        'set("elsewhere",',
        ("tests/book/test_progress.py", "-k", "kept"),
        ("test_ticks_are_kept_taken_along_and_cleared",),
    ),
]

LAUNCH = [
    Fault(
        "wheel: the moment of building gets in",
        "tools/package.py",
        "os.environ | BEGINNING",
        "BEGINNING | os.environ",
        ("tests/launch/test_wheel.py", "-k", "two_builds"),
        ("test_two_builds_are_equal",),
    ),
    Fault(
        "binder: a version of its own",
        ".binder/requirements.txt",
        "numpy==",
        "numpy==0",
        ("tests/test_binder.py",),
        ("FAILED tests/test_binder.py::",),
    ),
    Fault(
        "kernels: every page may ask",
        "tools/kernels.py",
        '"ServerApp.allow_origin": origin',
        '"ServerApp.allow_origin": "*"',
        ("tests/launch/test_serve.py", "-k", "one_origin"),
        ("test_only_one_origin_with_the_token_is_heard",),
    ),
    Fault(
        "set-up: a missing network passes for a missing package",
        "tools/environment.py",
        " or not index_answers()",
        "",
        ("tests/launch/test_environment.py", "-k", "may_not_be_asked"),
        ("the package index lacks a package",),
    ),
    Fault(
        "lab: it asks whether news are wanted",
        "tools/jupyter/labconfig/page_config.json",
        "true",
        "false",
        ("tests/launch/test_lab.py",),
        ("no question, no news",),
    ),
]

FAULTS = [*STAGES, *WEIGHTS, *NATIVE, *HOUSE, SHAPES, *BOOK, *LABS, *PLAYER, *EXERCISES, *LAUNCH]
