"""Forward mode by hand, as ``torch.autograd.forward_ad``: tangents carried along with values.

While the level is open, every result computed with a dual tensor is a dual tensor too.
`nnkit.func.jvp` does the same for a function, and may be nested.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nnkit.autograd.forward.dual import ForwardLevel, dual_of, is_dual
from nnkit.autograd.grad_mode import MODE, Context, enable_grad
from nnkit.autograd.tensor import Tensor
from nnkit.backend.device import get_default_device
from nnkit.backend.dtype import FLOATING

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent, None if it has none."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open the level that `make_dual` makes tensors on; returns its number, 0.

    Raises:
        RuntimeError: one is open: `nnkit.func.jvp` may be nested, this may not.
    """
    level = MODE.wrapping
    while level is not None:
        if isinstance(level, ForwardLevel):
            raise RuntimeError("Nested forward mode AD is not supported at the moment")
        level = level.around
    ForwardLevel(get_default_device(), by_hand=True).__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; no tensor has a tangent any more.

    Raises:
        RuntimeError: none is open.
    """
    _level("exit_dual_level", level).__exit__()


class dual_level(Context):
    """The level of dual tensors as a context manager, or as a decorator of functions.

    Example:
        >>> import nnkit
        >>> from nnkit.autograd import forward_ad
        >>> with forward_ad.dual_level():
        ...     x = forward_ad.make_dual(nnkit.tensor(3.0), nnkit.tensor(1.0))
        ...     forward_ad.unpack_dual(x * x).tangent
        tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: Any) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor with the values of ``tensor`` and the derivative ``tangent``.

    It requires a gradient if ``tensor`` does, and so do results computed with it. A gradient of
    those by `nnkit.autograd.grad` has a tangent too: the Hessian times ``tangent``.

    Raises:
        RuntimeError: no level is open, ``tensor`` has a derivative already, or the shapes differ.
        ValueError: one of them is neither floating point nor complex.
    """
    here = _level("make_dual", level)
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if value.dtype.category < FLOATING:
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {value.dtype}"
            )
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if here.lower(value)[1] is not None:
            raise RuntimeError(
                f"make_dual(): argument '{name}' has a forward gradient at the same level already"
            )
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "make_dual(): Trying to set a forward gradient that has a different size than that of "
            f"the original Tensor: got {list(tangent.shape)} for {list(tensor.shape)}"
        )
    value, moved = here.lower(tensor)[0], here.lower(tangent)[0]
    return here.point(value, moved) if MODE.carries else here.lift(value)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A view of the value of a tensor, and its tangent, None if it has none."""
    primal, known = tensor, None
    if is_dual(tensor):
        primal = dual_of(tensor).primal
        known = dual_of(tensor).tangent if tensor._device is MODE.wrapping else None
    with enable_grad():
        return UnpackedDualTensor(primal[...], known)


def _is_fwd_grad_enabled() -> bool:
    """Whether operations compute derivatives along with values in this thread."""
    return MODE.carries


class _set_fwd_grad_enabled:
    """From now on, or within a block, compute derivatives along with values, or values alone."""

    def __init__(self, mode: bool) -> None:
        self.prev, MODE.carries = MODE.carries, mode

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: Any) -> None:
        MODE.carries = self.prev


def _level(function: str, number: int | None) -> ForwardLevel:
    if MODE.wrapping is None:
        raise RuntimeError(f"{function}(): no level exists, make sure to enter_dual_level() first")
    if number:
        raise RuntimeError(f"{function}(): Invalid level {number}, there is only 0")
    return MODE.wrapping


def __getattr__(name: str) -> int:
    if name == "_current_level":  # -1 while none is open
        return 0 if MODE.wrapping is not None else -1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
