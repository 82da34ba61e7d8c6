"""The functions of torch below `torch.nn.functional`: they take numbers in place of words, and
return the values that backward needs as further results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.autograd.ops.embedding import bag_max
from nnkit.nn import functional as F
from nnkit.nn.functional.reductions import REDUCTIONS

__all__ = [
    "_addmm_activation", "_embedding_bag", "_embedding_bag_forward_only",
    "_grid_sampler_2d_cpu_fallback",
    "affine_grid_generator", "as_strided_", "binary_cross_entropy_with_logits", "convolution",
    "cosine_embedding_loss", "ctc_loss", "detach_", "embedding_bag", "fill_", "frobenius_norm",
    "grid_sampler",
    "grid_sampler_2d", "grid_sampler_3d", "hinge_embedding_loss", "kl_div", "margin_ranking_loss",
    "native_batch_norm", "native_group_norm", "native_layer_norm", "norm_except_dim",
    "nuclear_norm", "poisson_nll_loss", "resize_as_", "triplet_margin_loss", "zero_",
]  # fmt: skip
MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def _loss(function: Callable, *defaults: tuple[str, Any]) -> Callable:
    """A loss that takes its options by position, in this order, and the reduction as a number."""
    names = [name for name, _ in defaults]

    def loss(*arguments: Any, **named: Any) -> Tensor:
        tensors = len(arguments)
        while tensors and not isinstance(arguments[tensors - 1], Tensor):
            tensors -= 1
        given = {**dict(defaults), **dict(zip(names, arguments[tensors:])), **named}
        given["reduction"] = REDUCTIONS[given["reduction"]]
        return function(*arguments[:tensors], **given)

    loss.__name__ = function.__name__
    return loss


def _margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str
) -> Tensor:
    """The loss of `nn.functional`, for tensors whose numbers of dimensions may differ."""
    most = max(input1.ndim, input2.ndim, target.ndim)
    a, b, y = [x.reshape((1,) * (most - x.ndim) + x.shape) for x in (input1, input2, target)]
    return F.margin_ranking_loss(a, b, y, margin, reduction=reduction)


_ALL = ("reduction", 0)  # torch declares the mean, but its parser of arguments reads it as 0
cosine_embedding_loss = _loss(F.cosine_embedding_loss, ("margin", 0.0), _ALL)
hinge_embedding_loss = _loss(F.hinge_embedding_loss, ("margin", 1.0), _ALL)
kl_div = _loss(F.kl_div, _ALL)
margin_ranking_loss = _loss(_margin_ranking_loss, ("margin", 0.0), _ALL)
poisson_nll_loss = _loss(
    F.poisson_nll_loss, ("log_input", True), ("full", False), ("eps", 1e-8), _ALL
)
triplet_margin_loss = _loss(
    F.triplet_margin_loss, ("margin", 1.0), ("p", 2.0), ("eps", 1e-6), ("swap", False), _ALL
)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Any = None, pos_weight: Any = None, reduction: int = 0
) -> Tensor:
    return F.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight=pos_weight, reduction=REDUCTIONS[reduction]
    )


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: int = 0, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    return F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, REDUCTIONS[reduction],
        zero_infinity,
    )  # fmt: skip


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    return F.grid_sample(
        input, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners
    )


grid_sampler_2d = grid_sampler_3d = _grid_sampler_2d_cpu_fallback = grid_sampler


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    return F.affine_grid(theta, list(size), align_corners)


def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> Tensor:  # fmt: skip
    axes = weight.ndim - 2
    if transposed:
        convolve = getattr(F, f"conv_transpose{axes}d")
        return convolve(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(F, f"conv{axes}d")(input, weight, bias, stride, padding, dilation, groups)


def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    dims = tuple(range(-len(normalized_shape), 0))
    variance, mean = nnkit.var_mean(input.detach(), dims, correction=0, keepdim=True)
    out = F.layer_norm(input, list(normalized_shape), weight, bias, eps)
    return out, mean, (variance + eps).rsqrt()


def native_group_norm(
    input: Tensor, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    variance, mean = nnkit.var_mean(input.reshape(N, group, C * HxW // group), -1, correction=0)
    return F.group_norm(input, group, weight, bias, eps), mean, (variance + eps).rsqrt()


def native_batch_norm(
    input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    out = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return out, input.new_empty(0), input.new_empty(0)
    dims = tuple(d for d in range(input.ndim) if d != 1)
    variance, mean = nnkit.var_mean(input.detach(), dims, correction=0)
    return out, mean, (variance + eps).rsqrt()


def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False,
    mode: int = 0, sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """`torch.nn.functional.embedding_bag`, with three more results: the bag of each index, the
    sizes of the bags, and the sources of maxima or the sizes again. For sums torch returns no
    sizes, and not always the bags."""
    if mode not in (0, 1, 2):
        raise RuntimeError(f"embedding_bag(): mode must be 0 (sum), 1 (mean) or 2, got {mode}")
    if per_sample_weights is not None and mode:
        raise RuntimeError("embedding_bag(): per_sample_weights are for mode 0, which sums")
    for parameter, value, dims in (
        ("input", indices, "1D or 2D"), ("offsets", offsets, "1D"), ("weight", weight, "2D"),
    ):  # fmt: skip
        if f"{value.ndim}D" not in dims.split():
            raise RuntimeError(
                f"{parameter} has to be a {dims} Tensor, but got Tensor of dimension {value.ndim}"
            )
    out = F.embedding_bag(
        indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq,
        mode=("sum", "mean", "max")[mode], sparse=sparse, per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset, padding_idx=padding_idx,
    )  # fmt: skip
    count = out.shape[0]
    places = nnkit.arange(len(indices), device=indices.device, dtype=indices.dtype)
    bags = nnkit.searchsorted(offsets[:count], places, right=True).to(indices.dtype) - 1
    if mode == 0:
        none = nnkit.zeros_like(offsets)
        summed_at_once = weight.dtype is not nnkit.float64 and weight.stride(1) == 1
        known = bags[:0] if summed_at_once and padding_idx is None else bags
        return out, known, none, none.clone()
    kept = nnkit.ones_like(indices, dtype=nnkit.bool)
    if padding_idx is not None:
        kept = indices != padding_idx % len(weight)
    sizes = bags[kept].bincount(minlength=count).to(indices.dtype)
    if mode == 1:
        return out, bags, sizes, sizes.clone()
    chosen = bag_max(weight.detach()[indices[kept]], bags[kept].long(), count)[1]
    from_rows = nnkit.zeros_like(chosen) if not kept.any() else indices[kept][chosen.clamp(min=0)]
    return out, bags, sizes, nnkit.where(chosen < 0, 0, from_rows).to(indices.dtype)


_embedding_bag = _embedding_bag_forward_only = embedding_bag


def _addmm_activation(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1,
    use_gelu: bool = False, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """`relu`, or `gelu`, of `torch.addmm`."""
    found = nnkit.addmm(input, mat1, mat2, beta=beta, alpha=alpha, out=out)
    if out is None:
        return F.gelu(found) if use_gelu else found.relu()
    return out.copy_(F.gelu(out)) if use_gelu else out.relu_()


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms over all dimensions except one; the norm of the whole tensor for dim -1."""
    if dim == -1:
        return v.norm(pow)
    return v.norm(pow, [d for d in range(v.ndim) if d != dim], keepdim=True)


def nuclear_norm(
    input: Tensor, dim: Any = (-2, -1), keepdim: bool = False, *, out: Any = None
) -> Tensor:
    norm: Any = nnkit.linalg.matrix_norm
    return norm(input, "nuc", dim, keepdim, out=out)


def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    return nnkit.linalg.vector_norm(input, 2, dim, keepdim)


def _in_place(name: str) -> Callable:
    def method(input: Tensor, *arguments: Any, **named: Any) -> Tensor:
        return getattr(input, name)(*arguments, **named)

    method.__name__ = name
    return method


as_strided_, detach_, fill_, resize_as_, zero_ = map(
    _in_place, ("as_strided_", "detach_", "fill_", "resize_as_", "zero_")
)
