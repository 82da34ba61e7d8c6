"""torch.nn.utils._named_member_accessor: to put other tensors in a module's places."""

from __future__ import annotations

from typing import Any

from nnkit import Tensor
from nnkit.nn import Module


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Put a tensor in the place of a parameter, a buffer or an attribute of a module.

    Raises:
        TypeError: the first is no module, or the last no tensor.
        KeyError: the name has a dot or is empty.
    """
    _check(module, name)
    _check_tensor(tensor, "tensor")
    if name in module._parameters:
        module._parameters[name] = tensor  # type: ignore[assignment]
    elif name in module._buffers:
        module._buffers[name] = tensor
    else:
        setattr(module, name, tensor)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in a place of a module, and return what was there.

    With ``allow_missing`` the place may be empty; a marker stands for that, which put back empties
    it again.

    Raises:
        TypeError: the first is no module, or what is put or replaced is no tensor.
        KeyError: the name has a dot or is empty.
        AttributeError: nothing is there.
    """
    _check(module, name)
    if tensor is not _MISSING:
        _check_tensor(tensor, "tensor")
    held = next((d for d in (module._parameters, module._buffers) if name in d), None)
    before = _MISSING
    if held is not None:
        before = held[name]
        if before is not None:
            _check_tensor(before, name)
    elif hasattr(module, name):
        before = getattr(module, name)
        _check_tensor(before, name)
    elif not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if tensor is not _MISSING:
        set_tensor(module, name, tensor)
    elif held is not None:
        del held[name]
    elif before is not _MISSING:
        delattr(module, name)
    return before


_MISSING: Any = object()


def _check(module: Any, name: str) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')


def _check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} is not an instance of torch.Tensor")
