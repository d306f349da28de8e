"""A call of a layer, by the names of its arguments, and the same call with some of them changed."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass

from torch import Tensor, nn

from ..rows import TensorInfo
from .scope import Scope, silently
from .unpacked import Describe

Changes = dict[str, str]  # argument -> what is written in its place


@dataclass
class LayerCall:
    node: ast.Call
    module: nn.Module
    texts: dict[str, str]  # argument -> expression
    given: dict[str, TensorInfo]

    @classmethod
    def read(cls, node: ast.Call, module: nn.Module, scope: Scope, describe: Describe) -> LayerCall:
        names = list(inspect.signature(module.forward).parameters)
        parts = {**dict(zip(names, node.args, strict=False)),
                 **{word.arg: word.value for word in node.keywords if word.arg}}  # fmt: skip
        given = {}
        for name, part in parts.items():
            tensor = scope.tensor(part)
            if tensor is None and isinstance(part, ast.Call):  # made where it is passed on
                tensor = _made(part, scope)
            if tensor is not None:
                given[name] = describe(tensor, ast.unparse(part))
        return cls(node, module, {n: ast.unparse(part) for n, part in parts.items()}, given)

    def written(self, changes: Changes) -> str | None:
        """Write the call with some arguments changed, or passed by another name."""
        if any(isinstance(part, ast.Starred) for part in self.node.args):
            return None
        names = list(self.texts)
        count = len(self.node.args)
        parts = [changes.get(name, self.texts[name]) for name in names[:count]]
        for name in names[count:]:
            text = changes.get(name, self.texts[name])
            parts.append(text if "=" in text.partition("(")[0] else f"{name}={text}")
        return f"{ast.unparse(self.node.func)}({', '.join(parts)})"


def _made(part: ast.Call, scope: Scope) -> Tensor | None:
    try:
        with silently():
            found = scope.run(ast.unparse(part))
    except Exception:
        return None
    return found if isinstance(found, Tensor) else None
