"""Checks of the gradients with which hooks replace others."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.tensor import Tensor


def name_of(hook: Any) -> str:
    """The name of a hook in messages."""
    return getattr(hook, "__name__", repr(hook))


def check_replacement(hook: Any, new: Any, before: Any) -> None:
    """Check that a hook may replace the gradient ``before`` by ``new``.

    Raises:
        TypeError: ``new`` is not a Tensor.
        RuntimeError: there is no gradient to replace, or shape, dtype or device differ.
    """
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
