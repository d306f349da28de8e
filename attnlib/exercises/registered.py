"""Weights that no optimizer finds: layers in plain containers, tensors that nobody registered."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn

_DEEP = 4  # containers inside each other


def held_plainly(module: nn.Module) -> str:
    """Name the plain container that holds a layer or a parameter which is registered nowhere."""
    known = {id(part) for part in (*module.modules(), *module.parameters())}
    for part in module.modules():
        for name, value in vars(part).items():
            if isinstance(value, _CONTAINERS) and any(id(h) not in known for h in _held(value)):
                return f"{name} is a plain {type(value).__name__}"
    return ""


_CONTAINERS = (list, tuple, dict, set, frozenset)


def _held(value: object, deep: int = _DEEP) -> Iterator[nn.Module | nn.Parameter]:
    if isinstance(value, nn.Module | nn.Parameter):
        yield value
    elif isinstance(value, _CONTAINERS) and deep:
        for inside in value.values() if isinstance(value, dict) else value:
            yield from _held(inside, deep - 1)


def loose(module: nn.Module, output: Tensor) -> str:
    """Describe a tensor that learns, moves the output and is not registered, however it is held."""
    known = {id(tensor) for tensor in (*module.parameters(), *module.buffers())}
    found = next((leaf for leaf in _leaves(output) if id(leaf) not in known), None)
    return "" if found is None else f"a weight {tuple(found.shape)} is not registered"


def _leaves(output: Tensor) -> Iterator[Tensor]:
    """Go back from the output to the tensors that its gradient ends at."""
    seen, left = set(), [output.grad_fn]
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(leaf := getattr(node, "variable", None), Tensor):
            yield leaf
        left += [before for before, _ in node.next_functions]
