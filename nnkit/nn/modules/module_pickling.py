"""The state of a module in torch's form, which the files of ``torch.save`` hold.

torch's modules have a dictionary for each kind of hooks, also where there are none.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

# The hooks that a call of the module runs, and the dictionaries of how they want to be called.
_OF_CALLS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_SETTINGS = (
    *("_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs"),
    "_forward_hooks_always_called",
)
_OF_STATES = (
    *("_state_dict_hooks", "_state_dict_pre_hooks"),
    *("_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"),
)


def state_for_torch(module: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The pickled state of a module, with what a module of torch holds besides."""
    hooks: dict[str, Any] = {
        name: OrderedDict(getattr(module, name)) for name in (*_OF_CALLS, *_SETTINGS, *_OF_STATES)
    }
    hooks["_is_full_backward_hook"] = module._is_full_backward_hook
    kept = {name: getattr(module, name) for name in module._kept_by_torch}
    return {**{k: v for k, v in state.items() if k != "_hooked"}, **hooks, **kept}


def state_from_torch(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a module, of what torch (or nnkit) has pickled."""
    state = dict(state)
    state.setdefault("_non_persistent_buffers_set", set())
    if any(map(state.get, _OF_CALLS)):
        state["_hooked"] = True
    for name in (*_OF_CALLS, *_SETTINGS, *_OF_STATES):
        if not state.get(name, True):
            del state[name]
    return state
