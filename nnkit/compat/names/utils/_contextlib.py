"""torch.utils._contextlib: context managers that are decorators."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.grad_mode import Context


class _DecoratorContextManager(Context):
    """A context manager that is also a decorator, of functions and of generator functions."""

    def clone(self) -> Any:
        """A fresh one for each call of what is decorated."""
        return type(self)()

    def _clone(self) -> Any:
        return self.clone()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exception: Any) -> None:
        raise NotImplementedError


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that decorates without being called."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
