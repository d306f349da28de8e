"""The head in C++: operators that PyTorch finds in a library, called like its own."""

from __future__ import annotations

import torch

from .building import CPP, OPERATORS, missing


def operators():
    """Load the library and return its operators; FileNotFoundError where it is not compiled.

    `head(x, state_dict, causal)` and `multi_head(x, state_dict, n_heads, causal)` build the C++
    module, copy the state dict into it by name and run it; `registered(n_embd, n_heads, head_size)`
    gives the names of a module's parameters.
    """
    if reason := missing(CPP):
        raise FileNotFoundError(reason)
    torch.ops.load_library(CPP.folder / f"{OPERATORS}.so")
    return getattr(torch.ops, OPERATORS)
