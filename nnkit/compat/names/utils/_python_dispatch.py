"""torch.utils._python_dispatch: modes that answer for operators, and wrappers of tensors."""

from __future__ import annotations

from typing import Any

from nnkit import Tensor
from nnkit.compat.dispatch import THREAD
from nnkit.compat.dispatch import BaseTorchDispatchMode as BaseTorchDispatchMode
from nnkit.compat.dispatch import TorchDispatchMode as TorchDispatchMode
from nnkit.compat.dispatch import without_modes as _disable_current_modes

__all__ = ["_disable_current_modes"]


def _get_current_dispatch_mode() -> Any:
    """The innermost mode, None if there is none."""
    return THREAD.modes[-1] if THREAD.modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes that are entered, the outermost first."""
    return list(THREAD.modes)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is entered."""
    return bool(THREAD.modes)


_is_in_torch_dispatch_mode = any_torch_dispatch_mode_on_stack = is_in_torch_dispatch_mode


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor can be taken apart into others and put together again."""
    return type(t) is not Tensor and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether the tensors of a class can be taken apart and put together again."""
    both = hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
    return issubclass(t, Tensor) and both


def transform_subclass(
    t: Any, callback: Any, outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A wrapper of what ``callback(name, tensor)`` makes of its tensors."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The result of an operator, which is the argument itself where the operator wrote into it."""
    wrote = func.overloadpacket.__name__.endswith("_") and not func.__name__.startswith("__")
    return args[0] if wrote else out
