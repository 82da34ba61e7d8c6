"""Several dimensions to one, and back."""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins the dimensions ``start_dim`` to ``end_dim`` to one.

    Args:
        start_dim: the first dimension to join; the batch stays by default.
        end_dim: the last one.

    Example:
        >>> import nnkit
        >>> nnkit.nn.Flatten()(nnkit.zeros(32, 1, 5, 5)).shape
        nnkit.Size([32, 25])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits the dimension ``dim`` into several.

    Args:
        dim: the dimension to split.
        unflattened_size: the sizes it is split into; one of them may be -1.

    Raises:
        TypeError: ``unflattened_size`` is no tuple or list of ints.

    Example:
        >>> import nnkit
        >>> nnkit.nn.Unflatten(1, (2, 5, 5))(nnkit.zeros(2, 50)).shape
        nnkit.Size([2, 2, 5, 5])
    """

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, tuple | list):
            raise TypeError(
                "unflattened_size must be tuple of ints, but found type "
                f"{type(unflattened_size).__name__}"
            )
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {position}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
