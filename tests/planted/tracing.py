"""Faults of the tracer that its tests must notice."""

from __future__ import annotations

from .faults import Fault


def in_tracer(name: str, file: str, old: str, new: str, tests: str, chosen: str) -> Fault:
    """A tracer that tells something else than what ran; one of its tests says so."""
    path = f"tests/tracer/{tests}"
    return Fault(
        f"tracer: {name}", f"attnlib/tracer/{file}", old, new, (path, "-k", chosen),
        (f"FAILED {path}::",),
    )  # fmt: skip


TRACING = [
    in_tracer(
        "a dim that stands in products only is taken to be as large as before",
        "recheck.py",
        "    new = {**_factors(trace), **sizes}\n",
        "    new = {**trace.sizes, **sizes}\n",
        "test_check.py",
        "products_only",
    ),
    in_tracer(
        "where .T reversed all axes the other operand is permuted",
        "explanations/products.py",
        "            rank = -math.inf if change == meant else -score\n",
        "            rank = -score\n",
        "test_errors.py",
        "gram_of_token_sets",
    ),
    in_tracer(
        "reduce gets a result of more axes than were asked for",
        "explanations/patterns.py",
        'self._reduced() if function == "reduce" else self._added()',
        "self._added()",
        "test_errors.py",
        "einops_reduce_missing_axis",
    ),
    in_tracer(
        "the name of a number is not read as its size",
        "explanations/patterns.py",
        "        number = _NUMBERS.get(word)\n",
        "        number = None\n",
        "test_errors.py",
        "einops_unknown_split",
    ),
    in_tracer(
        "what tensordot sums over is not compared",
        "rules/products.py",
        "        op.contract(a[i], b[j])\n",
        "        pass\n",
        "test_warnings.py",
        "tensordot_axis_off_by_one",
    ),
    in_tracer(
        "what ... stands for is not compared",
        "rules/products.py",
        "if known is not label and known.size == label.size:",
        'if known is not label and "..." not in op.params["equation"]:',
        "test_warnings.py",
        "three_dots",
    ),
    in_tracer(
        "two widths are laid out as pairs",
        "explanations/outer.py",
        "    if mine & _WIDTHS and its & _WIDTHS:\n        return False\n",
        "",
        "test_shape_errors.py",
        "sizes_alone",
    ),
    in_tracer(
        "floats are made whole",
        "explanations/kinds.py",
        "floats = [dtype for dtype in dtypes if getattr(torch, dtype).is_floating_point]",
        "floats = [dtype for dtype in dtypes if not getattr(torch, dtype).is_floating_point]",
        "test_errors.py",
        "onehot",
    ),
    in_tracer(
        "a transpose that leaves the names where they were",
        "rules/layouts.py",
        "labels[i], labels[j] = labels[j], labels[i]",
        "pass",
        "test_symbols.py",
        "every_pair_of_axes",
    ),
    in_tracer(
        "two dims of one size are always one",
        "findings.py",
        "if a.strong and b.strong and self._apart(a, b):",
        "if not a.size:",
        "test_warnings.py",
        "no_transpose and not outside",
    ),
    in_tracer(
        "an argument of a constructor is the same dim in every layer",
        "constructors.py",
        "self._scope = module ",
        "self._scope = type(module) ",
        "test_warnings.py",
        "argument_of_a_constructor",
    ),
    in_tracer(
        "a check that makes a real step",
        "ghosts.py",
        "self._memo[id(tensor)] = _empty(tensor)",
        "self._memo[id(tensor)] = tensor",
        "test_check.py",
        "training_step",
    ),
    in_tracer(
        "a module keeps what the tracer put into it",
        "adoption.py",
        "vars(module)[name] = new",
        "new = new",
        "test_faults.py",
        "nothing_is_left_behind",
    ),
    in_tracer(
        "a correction that was not tried",
        "explanations/explained.py",
        "    except Exception:\n        return None\n",
        '    except Exception:\n        return candidate.code, ""\n',
        "test_errors.py",
        "first_that_runs",
    ),
    in_tracer(
        "a correction that only the sizes speak for",
        "explanations/alignment.py",
        "if not ranked[0][0] and len(ranked) > 1:",
        "if not ranked:",
        "test_shape_errors.py",
        "sizes_alone",
    ),
    in_tracer(
        "heads cut off so that two counts agree",
        "explanations/cuts.py",
        " or any(map(_WIDE.search, names)):",
        ":",
        "test_shape_errors.py",
        "sizes_alone",
    ),
    in_tracer(
        "a correction that runs the reader's own layers",
        "explanations/scope.py",
        'startswith(("torch.nn", "einops.layers."))',
        'startswith("")',
        "test_shape_errors.py",
        "readers_own",
    ),
    in_tracer(
        "a correction that goes by sizes where names speak against it",
        "explanations/changes.py",
        "return a.size == b.size and not told_apart and not failed.op.apart(a, b)",
        "return a.size == b.size",
        "test_errors.py",
        "only_as_large",
    ),
    in_tracer(
        "what is written at a number in an index is not lined up",
        "rules/pieces.py",
        "        if any(isinstance(part, bool) or type(part) is tuple for part in index):",
        "        if index:",
        "test_warnings.py",
        "wherever",
    ),
    in_tracer(
        "an escape that reaches the terminal",
        "table.py",
        'not in ("Cc", "Cf", "Cs", "Zl", "Zp")',
        'not in ("Zl", "Zp")',
        "test_faults.py",
        "hostile_names",
    ),
]
