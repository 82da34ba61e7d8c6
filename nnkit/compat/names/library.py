"""torch.library: operators that a library defines stay its Python functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.compat.passing import Inert, nothing, unchanged


class Library(Inert):
    """A set of operators; what is registered in it is not called by anything."""

    def define(self, *args: Any, **kwargs: Any) -> None:
        pass

    impl = fallback = define


class CustomOpDef:
    """An operator made by `custom_op`: its function, with torch's methods that register more."""

    def __init__(self, name: str, function: Callable) -> None:
        self._qualname, self._function = name, function
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    register_fake = register_kernel = register_vmap = register_torch_dispatch = unchanged
    register_autocast = set_kernel_enabled = nothing

    def register_autograd(self, backward: Any, *, setup_context: Any = None) -> None:
        """Refuse: the function's own operations are differentiated.

        Raises:
            NotImplementedError: always; write an `autograd.Function`.
        """
        raise NotImplementedError(
            "register_autograd: nnkit differentiates what the function computes; write a "
            "torch.autograd.Function for a derivative of your own"
        )


def custom_op(name: str, fn: Callable | None = None, /, **kwargs: Any) -> Any:
    """A decorator that makes a function an operator, which is called as the function is."""
    return CustomOpDef(name, fn) if fn is not None else lambda f: CustomOpDef(name, f)


def triton_op(name: str, fn: Callable | None = None, /, **kwargs: Any) -> Any:
    """See `custom_op`."""
    return custom_op(name, fn)


def _registers(*args: Any, **kwargs: Any) -> Any:
    """A decorator of a function that nothing calls here."""
    return next((a for a in args if callable(a) and not isinstance(a, CustomOpDef)), unchanged)


register_fake = register_kernel = register_vmap = register_torch_dispatch = _registers
impl = impl_abstract = register_autograd = register_autocast = _registers
define = nothing
wrap_triton = unchanged
