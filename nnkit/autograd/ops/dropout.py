"""Dropout: elements or whole channels set to zero by chance, the rest scaled up.

The masks are PyTorch's for the same seed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.batch.examples import of_each
from nnkit.autograd.engine.node import Unknown
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.public import inplace, public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import real_gradient, rule
from nnkit.autograd.ops.creation.conversion import composite_operands, contiguous
from nnkit.autograd.ops.elementwise.arithmetic import mul
from nnkit.autograd.ops.random.inplace import need
from nnkit.autograd.surface.generator import check_randomness, source_of
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.refusals import is_lost
from nnkit.autograd.views.replay import Rootless
from nnkit.autograd.views.writes import check_change
from nnkit.backend.dtype import BOOL, COMPLEX, FLOATING, INTEGER, bool_

_dropout = rule(
    "dropout", alone="recorded", node="MulBackward0", nondifferentiable=("noise",),
    x=lambda B, g_out, noise: B.mul(g_out, noise),
)  # fmt: skip
_alpha_dropout = rule(
    "alpha_dropout", alone="recorded", node="AddBackward0", nondifferentiable=("noise",),
    x=lambda B, g_out, noise: B.mul(g_out, noise),
)  # fmt: skip


def _apply(name: str, op: Callable, input: Tensor, p: float, train: bool, feature: bool) -> Tensor:
    check_tensor(name, input)
    if not 0 <= p <= 1:
        raise RuntimeError(f"{name}(): dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or input._array.size == 0:
        return composite_operands(input)[0]
    if p == 1:
        return mul(input, wrap(input._device.backend.zeros((), input._array.dtype), input._device))
    if feature and input.ndim < 2:
        raise RuntimeError(
            f"{name}(): feature dropout requires at least 2 dimensions in the input, "
            f"got shape {list(input.shape)}"
        )
    need(name, input.dtype, (BOOL, INTEGER, FLOATING), NotImplementedError)
    check_randomness(name)
    if input.dtype.category < FLOATING:  # torch draws before it divides, which integers refuse
        channels = (*input.shape[:2], *[1] * (input.ndim - 2))
        input.new_empty(channels if feature else input.shape).bernoulli_(1 - p)
        need(name, input.dtype, (FLOATING,), RuntimeError)
    if MODE.transforms:
        input = of_each(input)
        if not feature:  # in transforms torch draws by rows, however the elements lie
            input = contiguous(input)
    if MODE.enabled and is_lost(input):  # torch draws before it asks for the history
        op(input.detach(), float(p), feature)
    out, _ = op(input, float(p), feature)
    if input._edge.__class__ is Unknown and out._requires_grad:
        # In torch a product, which saves no factor for a gradient that goes no further.
        out._edge = Rootless((None,), (), out._device)
    return out


@public(method=False)
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Set each element to 0 with chance ``p`` and multiply the others by ``1 / (1 - p)``.

    Returns ``input`` itself where ``p`` is 0 or ``train`` is false.

    Raises:
        RuntimeError: ``p`` lies outside [0, 1], or the dtype is no floating-point one.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.dropout(nnkit.ones(4), 0.5, True)
        tensor([0., 0., 2., 0.])
    """
    return _apply("dropout", _dropout, input, p, train, False)


@public(method=False)
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` of whole channels ``input[n, c]``.

    Raises:
        RuntimeError: as `dropout`, or ``input`` has fewer than 2 dimensions.

    Example:
        >>> import nnkit
        >>> nnkit.feature_dropout(nnkit.ones(1, 2), p=0.5, train=False)
        tensor([[1., 1.]])
    """
    return _apply("feature_dropout", _dropout, input, p, train, True)


@public(method=False)
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, for networks with SELU.

    Elements that are dropped take SELU's negative limit -1.758; then all of them are scaled and
    shifted. Klambauer et al., "Self-normalizing neural networks", 2017.

    Raises:
        RuntimeError: as `dropout`.

    Example:
        >>> import nnkit
        >>> nnkit.alpha_dropout(nnkit.ones(2), p=0.5, train=False)
        tensor([1., 1.])
    """
    return _apply("alpha_dropout", _alpha_dropout, input, p, train, False)


@public(method=False)
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` of whole channels ``input[n, c]``.

    Raises:
        RuntimeError: as `feature_dropout`.

    Example:
        >>> import nnkit
        >>> nnkit.feature_alpha_dropout(nnkit.ones(1, 2), p=0.5, train=False)
        tensor([[1., 1.]])
    """
    return _apply("feature_alpha_dropout", _alpha_dropout, input, p, train, True)


def _in_place(function: Callable) -> Callable:
    """``name_``, which writes only where something can be dropped."""
    write = inplace(function, f"{function.__name__}_")

    @functools.wraps(write)
    def write_in_place(input: Tensor, p: float, train: bool) -> Tensor:
        nothing = isinstance(input, Tensor) and (not train or p == 0 or input._array.size == 0)
        if nothing:
            return function(input, p, train)
        if p != 1:  # torch draws before it asks for the history of what it writes
            need(function.__name__, input.dtype, (BOOL, INTEGER, FLOATING), NotImplementedError)
            try:
                check_change(input, write.__name__)
            except RuntimeError:
                function(input.detach(), p, train)
                raise
        return write(input, p, train)

    return public(write_in_place, method=False)


dropout_ = _in_place(dropout)
feature_dropout_ = _in_place(feature_dropout)
alpha_dropout_ = _in_place(alpha_dropout)
feature_alpha_dropout_ = _in_place(feature_alpha_dropout)


@public(method=False)
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`dropout` together with the mask of the elements that stay.

    Returns:
        The result and a bool tensor of the same shape.

    Raises:
        RuntimeError: ``p`` lies outside [0, 1], or the dtype is no floating-point one.

    Example:
        >>> import nnkit
        >>> nnkit.native_dropout(nnkit.ones(2), 0.5, False)
        (tensor([1., 1.]), tensor([True, True]))
    """
    check_tensor("native_dropout", input)
    B, place = input._device.backend, input._device
    if not input._array.size:
        # As in torch the mask has the dtype of the input, too.
        return input, OPS["copy"](input.detach())
    if train is False:
        mask = wrap(B.full(input.shape, True, bool_.array), place)
        return real_gradient("native_dropout", mul(input, mask)), mask
    if not 0 <= p <= 1:
        raise RuntimeError(f"native_dropout(): expected p in [0, 1], but got p={p}")
    need("native_dropout", input.dtype, (FLOATING, COMPLEX), RuntimeError)
    source = source_of("native_dropout", None, place)
    input = of_each(input)
    B, place = input._device.backend, input._device
    mask = wrap(B.dropout_mask(input._array, float(p), source), place)
    out = mul(mul(input, mask), 0.0 if p == 1 else 1.0 / (1.0 - p))
    return real_gradient("native_dropout", out), mask
