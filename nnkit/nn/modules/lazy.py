"""Modules whose parameters get their shape from the first batch."""

from __future__ import annotations

from itertools import chain
from typing import Any

from nnkit.nn.modules.module import Module
from nnkit.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(Module):
    """Mixin of a module that registers uninitialised parameters, as ``torch.nn.modules.lazy`` has.

    A class names it before the module it turns into, registers an ``UninitializedParameter``
    where the shape depends on the input, and defines ``initialize_parameters``, which gets the
    arguments of the first call. After that call the module is of class ``cls_to_become``.

    Raises:
        NotImplementedError: the class does not define ``initialize_parameters``.
        RuntimeError: ``initialize_parameters`` left a parameter without a shape.

    Example:
        >>> import nnkit
        >>> layer = nnkit.nn.LazyLinear(3)
        >>> layer.has_uninitialized_params()
        True
        >>> layer(nnkit.zeros(1, 5)).shape
        nnkit.Size([1, 3])
        >>> layer
        Linear(in_features=5, out_features=3, bias=True)
    """

    cls_to_become: type[Module] | None = None
    _inferred: bool = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._inferred:
            self.initialize_parameters(*args, **kwargs)
            if self.has_uninitialized_params():
                raise RuntimeError(
                    f"{type(self).__name__}.initialize_parameters left a parameter without a shape"
                )
            self._inferred = True
            if self.cls_to_become is not None:
                self.__class__ = self.cls_to_become  # pyright: ignore[reportAttributeAccessIssue]
                return self(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give every parameter its shape and its values, from the arguments of the first call."""
        raise NotImplementedError(f"{type(self).__name__} does not define initialize_parameters")

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(f"{type(self).__name__}: call it once before it is copied to devices")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of this module still has no shape."""
        return any(map(is_lazy, chain(self._parameters.values(), self._buffers.values())))
