"""Dropout as functions: elements or channels set to zero by chance, the rest scaled up."""

from __future__ import annotations

from collections.abc import Callable

from nnkit.autograd import Tensor
from nnkit.autograd.ops import dropout as ops
from nnkit.backend.warning import warn

__all__ = [
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
]  # fmt: skip


def _check(name: str, p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"{name}(): dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to 0 with chance ``p`` and multiply the others by ``1 / (1 - p)``.

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.

    Args:
        input: of any shape, floating point.
        p: the probability that an element is dropped.
        training: whether to do anything at all.
        inplace: write into ``input``.

    Raises:
        ValueError: ``p`` lies outside [0, 1].

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.nn.functional.dropout(nnkit.ones(4), 0.5)
        tensor([0., 0., 2., 0.])
    """
    _check("dropout", p)
    return (ops.dropout_ if inplace else ops.dropout)(input, p, training)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, for networks with SELU.

    Klambauer et al., "Self-normalizing neural networks", 2017.

    Raises:
        ValueError: ``p`` lies outside [0, 1].

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.alpha_dropout(nnkit.ones(2), training=False)
        tensor([1., 1.])
    """
    _check("alpha_dropout", p)
    return (ops.alpha_dropout_ if inplace else ops.alpha_dropout)(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels: dimension 1 of ``input`` (N, C, ...).

    Raises:
        ValueError: ``p`` lies outside [0, 1].
        RuntimeError: ``input`` has fewer than 2 dimensions.

    Example:
        >>> import nnkit
        >>> x = nnkit.nn.functional.feature_alpha_dropout(nnkit.ones(1, 4, 3), training=True)
        >>> bool((x == x[:, :, :1]).all())
        True
    """
    _check("feature_alpha_dropout", p)
    function = ops.feature_alpha_dropout_ if inplace else ops.feature_alpha_dropout
    return function(input, p, training)


def _channels(inplace: bool) -> Callable[[Tensor, float, bool], Tensor]:
    return ops.feature_dropout_ if inplace else ops.feature_dropout


def _one_sample(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """Dropout of the channels of an input without batch dimension."""
    if inplace:
        return _channels(True)(input.unsqueeze_(0), p, training).squeeze_(0)
    return _channels(False)(input.unsqueeze(0), p, training).squeeze(0)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of ``input``, (N, C, L) or (C, L).

    Tompson et al., "Efficient object localization using convolutional networks", 2015.

    Raises:
        ValueError: ``p`` lies outside [0, 1].
        RuntimeError: ``input`` has neither 2 nor 3 dimensions.

    Example:
        >>> import nnkit
        >>> x = nnkit.nn.functional.dropout1d(nnkit.ones(1, 4, 3))
        >>> bool((x == x[:, :, :1]).all())
        True
    """
    _check("dropout1d", p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input"
        )
    if input.ndim == 2:
        return _one_sample(input, p, training, inplace)
    return _channels(inplace)(input, p, training)


def _warn_dimensions(name: str, got: int, expected: str) -> None:
    warn(
        f"{name}: Received a {got}-D input to {name}, which is deprecated and will result in an "
        f"error in a future release: it drops channels of {expected} inputs. Use dropout instead."
    )


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of ``input``, (N, C, H, W).

    A 3-dimensional input is taken as (N, C, L), with a warning, as in PyTorch.

    Raises:
        ValueError: ``p`` lies outside [0, 1].

    Example:
        >>> import nnkit
        >>> x = nnkit.nn.functional.dropout2d(nnkit.ones(1, 4, 3, 3))
        >>> bool((x == x[:, :, :1, :1]).all())
        True
    """
    _check("dropout2d", p)
    if input.ndim not in (3, 4):
        _warn_dimensions("dropout2d", input.ndim, "3D or 4D")
    if input.ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired: input is interpreted as shape (N, C, L). Use dropout1d instead."
        )
    return _channels(inplace)(input, p, training)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of ``input``, (N, C, D, H, W) or (C, D, H, W).

    Raises:
        ValueError: ``p`` lies outside [0, 1].

    Example:
        >>> import nnkit
        >>> x = nnkit.nn.functional.dropout3d(nnkit.ones(1, 4, 3, 3, 3))
        >>> bool((x == x[:, :, :1, :1, :1]).all())
        True
    """
    _check("dropout3d", p)
    if input.ndim not in (4, 5):
        _warn_dimensions("dropout3d", input.ndim, "4D or 5D")
    if input.ndim == 5:
        return _channels(inplace)(input, p, training)
    return _one_sample(input, p, training, inplace)
