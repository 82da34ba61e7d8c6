"""Moving a module: another device, another dtype, memory without values, shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.creation.conversion import destination
from nnkit.autograd.ops.creation.factories import empty_like
from nnkit.autograd.surface.swapping import swap_tensors
from nnkit.autograd.tensor import can_take_memory
from nnkit.backend.warning import warn
from nnkit.nn.modules.conversion import (
    get_overwrite_module_params_on_conversion,
    get_swap_module_params_on_conversion,
)
from nnkit.nn.modules.module_tree import ModuleTree
from nnkit.nn.parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from typing_extensions import Self


def _replaced(tensor: Tensor, moved: Tensor) -> Tensor:
    """The tensor with the memory of another, or that one where it cannot have it."""
    if get_swap_module_params_on_conversion():
        swap_tensors(tensor, moved.requires_grad_(tensor.requires_grad))
    elif _keeps(tensor, moved):
        tensor.data = moved
    else:
        return moved.requires_grad_(tensor.requires_grad)
    return tensor


def _keeps(tensor: Tensor, moved: Tensor) -> bool:
    """Whether a tensor gets the memory of another, and none is put in its place."""
    chosen = get_overwrite_module_params_on_conversion()
    return not chosen and can_take_memory(tensor, moved)


class ModuleApply(ModuleTree):
    """The part of Module that replaces the memory of all parameters and buffers.

    A parameter stays the same object, so an optimizer made before goes on working; but there is
    a new one where it gets another layout, or a memory where it had none, or none any more.
    """

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for name, parameter in self._parameters.items():
                if parameter is None:
                    continue
                grad = parameter.grad
                moved = fn(parameter.data if is_lazy(parameter) else parameter)
                if get_swap_module_params_on_conversion():
                    self._swap(name, parameter, moved)
                elif _keeps(parameter, moved):
                    parameter.data = moved
                else:
                    parameter = Parameter(moved, parameter.requires_grad)
                    self._parameters[name] = parameter
                if grad is not None:
                    parameter.grad = _replaced(grad, fn(grad))
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def _swap(self, name: str, parameter: Tensor, moved: Tensor) -> None:
        grad = parameter.grad
        parameter.grad = None  # which is moved afterwards
        try:
            swap_tensors(parameter, Parameter(moved, parameter.requires_grad))
        except (RuntimeError, TypeError) as error:
            parameter.grad = grad
            raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}") from error

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and cast all parameters and buffers in place.

        Called as ``to(device, dtype, non_blocking)``, ``to(dtype, non_blocking)`` or
        ``to(tensor, non_blocking)``. A dtype changes floating and complex tensors only, a
        ``memory_format`` those of 4 and 5 dimensions.

        Raises:
            TypeError: the dtype is neither floating nor complex, or the arguments make no sense.
            RuntimeError: there is no such device, or ``copy`` is asked for.

        Example:
            >>> import nnkit
            >>> nnkit.nn.Linear(2, 1).to(nnkit.float64).weight.dtype
            nnkit.float64
        """
        device, dtype, non_blocking, copy, memory_format = destination("Module.to", args, kwargs)
        if copy:
            raise RuntimeError("Module.to: it does not take copy=True")
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"Module.to only accepts floating point or complex dtypes, but got {dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warn("Complex modules are a new feature, as in torch: not every layer can be complex")

        def convert(tensor: Tensor) -> Tensor:
            number = tensor.is_floating_point() or tensor.is_complex()
            kind = dtype if number and dtype is not None else tensor.dtype
            moved = tensor.to(device or tensor.device, kind, non_blocking)
            if memory_format is None or tensor.ndim not in (4, 5):
                return moved
            return moved.to(memory_format=memory_format)

        return self._apply(convert)

    def cpu(self) -> Self:
        """Move all parameters and buffers to the computer's main memory."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move all parameters and buffers to a GPU.

        Args:
            device: its number or name; the current one when not given.
        """
        return self._apply(lambda tensor: tensor.cuda(device))

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers, integers too, to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Cast all floating point parameters and buffers to float32."""
        return self._cast("float")

    def double(self) -> Self:
        """Cast all floating point parameters and buffers to float64."""
        return self._cast("double")

    def half(self) -> Self:
        """Cast all floating point parameters and buffers to float16."""
        return self._cast("half")

    def bfloat16(self) -> Self:
        """Cast all floating point parameters and buffers to bfloat16."""
        return self._cast("bfloat16")

    def _cast(self, method: str) -> Self:
        return self._apply(
            lambda tensor: getattr(tensor, method)() if tensor.is_floating_point() else tensor
        )

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Give all parameters and buffers fresh memory on a device, without their values."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse)

    def share_memory(self) -> Self:
        """Move all parameters and buffers, and their gradients, to memory that processes share."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
            if tensor.grad is not None:
                tensor.grad.share_memory_()
        return self
