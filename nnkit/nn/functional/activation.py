"""Smooth activation functions and rectifiers; those made of straight pieces are beside this file.

With ``inplace`` they write into their input and return it.
"""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.dims import check_tensor, normalize_dim
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import real_gradient
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.factories import empty_like, zeros_like
from nnkit.autograd.ops.elementwise import activation as ops
from nnkit.autograd.ops.softmax import softmax
from nnkit.autograd.views.writes import check_write, write
from nnkit.backend.dtype import COMPLEX, INTEGER, to_float
from nnkit.backend.memory import contiguous_format
from nnkit.backend.warning import warn
from nnkit.nn.functional.hard_activation import floating, in_place

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "leaky_relu", "leaky_relu_",
    "logsigmoid", "mish", "prelu", "relu", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid",
    "silu", "softplus", "softsign", "tanh", "tanhshrink",
]  # fmt: skip

prelu = ops.prelu
relu_, celu_, selu_, rrelu_ = ops.relu_, ops.celu_, ops.selu_, ops.rrelu_


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(x, 0)``

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.relu(nnkit.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return ops.relu_(input) if inplace else ops.relu(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where it is positive, else ``negative_slope * x``.

    Maas et al., "Rectifier nonlinearities improve neural network acoustic models", 2013.

    Raises:
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.leaky_relu(nnkit.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
    return floating("leaky_relu", ops.leaky_relu, input, inplace, float(negative_slope))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``.

    Clevert et al., "Fast and accurate deep network learning by exponential linear units", 2015.

    Raises:
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.elu(nnkit.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return floating("elu", ops.elu, input, inplace, float(alpha), 1.0, 1.0)


def elu_(input: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    """`elu`, written into ``input``: times ``scale``, negative numbers times ``input_scale`` before
    the exponential."""
    return floating("elu", ops.elu, input, True, float(alpha), float(scale), float(input_scale))


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``

    Barron, "Continuously differentiable exponential linear units", 2017.

    Raises:
        NotImplementedError: ``input`` is not floating point.
        RuntimeError: ``alpha`` is 0.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.celu(nnkit.tensor([-1.0, 2.0]), alpha=0.5)
        tensor([-0.4323,  2.0000])
    """
    return (ops.celu_ if inplace else ops.celu)(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``scale * elu(x, alpha)`` with the constants that keep mean 0 and variance 1.

    Klambauer et al., "Self-normalizing neural networks", 2017.

    Raises:
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.selu(nnkit.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """
    return (ops.selu_ if inplace else ops.selu)(input)


@public(namespace=False, method=False, out=Out(dtype="same"))
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """``x * P(N <= x)`` with N normally distributed; with ``approximate="tanh"`` the formula
    ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``.

    Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    Raises:
        NotImplementedError: ``input`` is not floating point.
        RuntimeError: ``approximate`` is neither "none" nor "tanh".

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.gelu(nnkit.tensor([-1.0, 2.0]))
        tensor([-0.1587,  1.9545])
    """
    if not isinstance(approximate, str):
        got = type(approximate).__name__
        raise TypeError(f"gelu(): argument 'approximate' must be str, not {got}")
    if approximate not in ("none", "tanh"):
        raise RuntimeError(
            f"gelu(): argument 'approximate' must be 'none' or 'tanh', got {approximate!r}"
        )
    return floating("gelu", ops.gelu if approximate == "none" else ops.gelu_tanh, input, False)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``, also called swish.

    Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    Raises:
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.silu(nnkit.tensor([-1.0, 2.0]))
        tensor([-0.2689,  1.7616])
    """
    if inplace:
        out = ops.written_over("silu_", ops.silu, input)
        if out is not None:
            return out
        check_write(input, "silu_")
    ops.check_floating("silu", input, or_complex=True)
    if inplace:
        return write(input, "silu_", ops.silu)
    return real_gradient("silu", ops.silu(input))


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(log(1 + exp(x)))``

    Misra, "Mish: a self regularized non-monotonic neural activation function", 2019.

    Raises:
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.mish(nnkit.tensor([-1.0, 2.0]))
        tensor([-0.3034,  1.9440])
    """
    return floating("mish", ops.mish, input, inplace)


@public(namespace=False, method=False, out=Out(dtype="same"))
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x > threshold``.

    Raises:
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.softplus(nnkit.tensor([-1.0, 2.0]))
        tensor([0.3133, 2.1269])
    """
    return floating("softplus", ops.softplus, input, False, float(beta), float(threshold))


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``

    Raises:
        NotImplementedError: ``input`` is bool or complex.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.softsign(nnkit.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """
    x = _as_floating("softsign", input)
    return x / (x.abs() + 1) if x.dtype.category == COMPLEX else ops.softsign(x)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``

    Raises:
        RuntimeError: ``input`` is bool.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.tanhshrink(nnkit.tensor([-1.0, 2.0]))
        tensor([-0.2384,  1.0360])
    """
    check_tensor("tanhshrink", input)
    check_dtype("tanhshrink", input.dtype, ("bool",))
    return input - _as_floating("tanhshrink", input).tanh()


def _as_floating(name: str, input: Tensor) -> Tensor:
    """``input``, integers as numbers of the default dtype."""
    check_tensor(name, input)
    if input.dtype.category == INTEGER:
        return OPS["cast"](input, to_float(input.dtype).array)
    ops.check_floating(name, input, or_complex=True)
    return input


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.tanh(nnkit.tensor([-1.0, 2.0]))
        tensor([-0.7616,  0.9640])
    """
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.sigmoid(nnkit.tensor([0.0, 2.0]))
        tensor([0.5000, 0.8808])
    """
    return input.sigmoid()


@public(namespace=False, method=False, out=Out(dtype="same"))
def logsigmoid(input: Tensor) -> Tensor:
    """``log(1 / (1 + exp(-x)))``, without overflow.

    Raises:
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.logsigmoid(nnkit.tensor([0.0, 2.0]))
        tensor([-0.6931, -0.1269])
    """
    return floating("logsigmoid", lambda x: ops.log_sigmoid(x.contiguous()), input, False)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """``x`` where it is positive, else ``a * x``; for each element ``a`` is drawn between ``lower``
    and ``upper`` in training, and it is their mean otherwise.

    Xu et al., "Empirical evaluation of rectified activations in convolutional network", 2015.

    Raises:
        NotImplementedError: ``input`` is not floating point.
        RuntimeError: ``lower`` is above ``upper``.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.rrelu(nnkit.tensor([-1.0, 2.0]), 0.1, 0.3)
        tensor([-0.2000,  2.0000])
    """
    return (ops.rrelu_ if inplace else ops.rrelu)(input, lower, upper, training)


@single(node="GluBackward0")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """``a * sigmoid(b)`` for the two halves a and b of ``input`` along ``dim``.

    Dauphin et al., "Language modeling with gated convolutional networks", 2017.

    Raises:
        NotImplementedError: ``input`` is not floating point.
        RuntimeError: ``input`` has no dimensions, or the size along ``dim`` is odd.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.glu(nnkit.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000])
    """
    check_tensor("glu", input)
    shape = input._array.shape
    if not shape:
        raise RuntimeError("glu(): a tensor without dimensions has no dim to halve")
    axis = normalize_dim(dim, len(shape), "glu")
    size = shape[axis]
    if size % 2:
        raise RuntimeError(
            f"glu(): the halved dimension must be even, but dim {axis} has size {size}"
        )
    ops.check_floating("glu", input)
    a, b = OPS["split"](input, (size // 2, size // 2), axis)
    return a * b.sigmoid()


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of a categorical distribution, made differentiable: ``softmax((logits + G) / tau)``
    with independent noise G of Gumbel's distribution.

    Jang et al., "Categorical reparameterization with Gumbel-softmax", 2017; Maddison et al.,
    "The concrete distribution", 2017.

    Args:
        logits: unnormalized log probabilities, of any shape.
        tau: the temperature; towards 0 the samples become one-hot.
        hard: return one-hot samples, with the gradient of the soft ones.
        eps: without effect, as in torch.
        dim: the dimension of the classes.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.nn.functional.gumbel_softmax(nnkit.zeros(2, 3), hard=True).sum(dim=1)
        tensor([1., 1.])
    """
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    # In row order whatever the layout of logits, so that equal logits draw equal noise.
    noise = -empty_like(logits, memory_format=contiguous_format).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    one_hot = zeros_like(logits, memory_format=contiguous_format).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


leaky_relu_ = in_place(leaky_relu)
