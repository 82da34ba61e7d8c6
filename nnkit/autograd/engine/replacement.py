"""Gradients that hooks put in the place of others."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.tensor import Tensor


def name_of(hook: Any) -> str:
    """What a message calls a hook."""
    return getattr(hook, "__name__", repr(hook))


def check_replacement(hook: Any, new: Any, before: Any) -> None:
    """Refuse what no hook may put in the place of a gradient."""
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned {type(new).__name__!r}")
    if new.dtype is not before.dtype or new._device.home is not before._device.home:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the type of value: got {new.dtype} on "
            f"{new._device}, expected {before.dtype} on {before._device}"
        )
    if new.shape != before.shape:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the size of value: got {list(new.shape)}, "
            f"expected {list(before.shape)}"
        )
