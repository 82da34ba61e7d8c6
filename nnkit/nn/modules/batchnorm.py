"""Batch and instance normalization, with running statistics."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.creation.factories import empty, zeros
from nnkit.autograd.ops.norm import count_batch
from nnkit.backend.dtype import int64
from nnkit.backend.warning import warn
from nnkit.nn import functional as F
from nnkit.nn import init
from nnkit.nn.modules.lazy import LazyModuleMixin
from nnkit.nn.modules.module import Module
from nnkit.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d",
]  # fmt: skip


class _NormBase(Module):
    """Parameters and running statistics of each channel."""

    _version = 2
    _dimensions: tuple[int, ...] = ()
    weight: Parameter | None
    bias: Any  # a Parameter, or None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._make(bias, device, dtype)

    def _make(self, bias: bool, device: Any, dtype: Any) -> None:
        def array() -> Tensor:
            return empty(self.num_features, device=device, dtype=dtype)

        for name, wanted in (("weight", self.affine), ("bias", self.affine and bias)):
            self.register_parameter(name, Parameter(array()) if wanted else None)
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, array() if self.track_running_stats else None)
        self._make_counter(device)
        self.reset_parameters()

    def _make_counter(self, device: Any) -> None:
        count = zeros((), dtype=int64, device=device) if self.track_running_stats else None
        self.register_buffer("num_batches_tracked", count)

    def reset_running_stats(self) -> None:
        """Set the running mean to 0, the running variance to 1 and the counter to 0."""
        if self.running_mean is not None:
            self.running_mean.zero_()
        if self.running_var is not None:
            self.running_var.fill_(1)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the running statistics, set the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self._dimensions:
            expected = " or ".join(f"{d}D" for d in self._dimensions)
            raise ValueError(
                f"{type(self).__name__}: expected {expected} input (got {input.ndim}D input)"
            )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, *arguments: Any
    ) -> None:
        # Version 2 added the counter; an older state counts as one without batches.
        count = self.num_batches_tracked
        if (local_metadata.get("version") or 0) < 2 and count is not None:
            count = zeros((), dtype=int64) if count.is_meta else count
            state_dict.setdefault(f"{prefix}num_batches_tracked", count)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *arguments)


class _BatchNorm(_NormBase):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` for each channel."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        updating = self.training and self.track_running_stats
        if updating and self.num_batches_tracked is not None:
            count_batch(self.num_batches_tracked)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked.item()
        tracked = updating or not self.training
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            bool(self.training) or (self.running_mean is None and self.running_var is None),
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` for each channel.

    In training mean and variance are those of the batch, and the running ones move towards them:
    ``running = (1 - momentum) * running + momentum * new`` (with the unbiased variance). In
    evaluation the running ones count.

    Args:
        num_features: the number of channels C.
        eps: keeps the quotient finite.
        momentum: how far the running statistics move; None for the mean of all batches.
        affine: whether there are weight and bias, (C,).
        track_running_stats: whether there are running statistics; without them those of the batch
            count in evaluation, too.
        device: where parameters and buffers are.
        dtype: their dtype.
        bias: whether there is a bias.

    Input and output: (N, C) or (N, C, L).

    Raises:
        ValueError: an input of other dimensions, or one value per channel in training.

    >>> import nnkit
    >>> layer = nnkit.nn.BatchNorm1d(1, eps=1e-9, affine=False)
    >>> layer(nnkit.tensor([[1.0], [3.0]]))
    tensor([[-1.],
            [ 1.]])
    >>> layer.running_mean, layer.running_var
    (tensor([0.2000]), tensor([1.1000]))
    """

    _dimensions = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` of images: input and output are (N, C, H, W).

    Example:
        >>> import nnkit
        >>> nnkit.nn.BatchNorm2d(3)(nnkit.randn(2, 3, 4, 4)).shape
        nnkit.Size([2, 3, 4, 4])
    """

    _dimensions = (4,)


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` of volumes: input and output are (N, C, D, H, W).

    Example:
        >>> import nnkit
        >>> nnkit.nn.BatchNorm3d(3)(nnkit.randn(2, 3, 4, 4, 4)).shape
        nnkit.Size([2, 3, 4, 4, 4])
    """

    _dimensions = (5,)


class _InstanceNorm(_NormBase):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` for each channel of each sample."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _get_no_batch_dim(self) -> int:
        return self._dimensions[0]

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        one_sample = input.ndim == self._get_no_batch_dim()
        batch = input.unsqueeze(0) if one_sample else input
        if batch.shape[1] != self.num_features:
            axis = 1 - one_sample
            if self.affine:
                raise ValueError(
                    f"{type(self).__name__}: expected input's size at dim={axis} to match "
                    f"num_features ({self.num_features}), but got: {batch.shape[1]}."
                )
            warn(
                f"input's size at dim={axis} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False"
            )
        out = F.instance_norm(
            batch,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if one_sample else out


class InstanceNorm1d(_InstanceNorm):
    """`BatchNorm1d` of each sample by itself; by default without parameters and running statistics.

    Args:
        num_features: the number of channels C.
        eps: keeps the quotient finite.
        momentum: how far the running statistics move.
        affine: whether there are weight and bias, (C,).
        track_running_stats: whether there are running statistics, for evaluation.
        device: where parameters and buffers are.
        dtype: their dtype.
        bias: whether there is a bias.

    Input and output: (N, C, L) or (C, L).

    Raises:
        ValueError: an input of other dimensions, or one value per channel in training.

    >>> import nnkit
    >>> nnkit.nn.InstanceNorm1d(2, eps=0.0)(nnkit.tensor([[1.0, 3.0], [0.0, 8.0]]))
    tensor([[-1.,  1.],
            [-1.,  1.]])
    """

    _dimensions = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` of images: input and output are (N, C, H, W) or (C, H, W).

    Example:
        >>> import nnkit
        >>> nnkit.nn.InstanceNorm2d(3)(nnkit.randn(2, 3, 4, 4)).shape
        nnkit.Size([2, 3, 4, 4])
    """

    _dimensions = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` of volumes: input and output are (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import nnkit
        >>> nnkit.nn.InstanceNorm3d(3)(nnkit.randn(2, 3, 4, 4, 4)).shape
        nnkit.Size([2, 3, 4, 4, 4])
    """

    _dimensions = (4, 5)


class _LazyNorm(LazyModuleMixin, _NormBase):
    """Parameters and buffers without a shape until the first input shows the channels."""

    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        _NormBase.__init__(
            self, 0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _make(self, bias: bool, device: Any, dtype: Any) -> None:
        for name, wanted in (("weight", self.affine), ("bias", self.affine and bias)):
            made = UninitializedParameter(device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, made)
        for name in ("running_mean", "running_var"):
            tracked = self.track_running_stats
            made = UninitializedBuffer(device=device, dtype=dtype) if tracked else None
            self.register_buffer(name, made)
        self._make_counter(device)

    def initialize_parameters(self, input: Tensor) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        with no_grad():
            for each in (self.weight, self.bias, self.running_mean, self.running_var):
                if each is not None:
                    each.materialize((self.num_features,))
            self.reset_parameters()


def _lazy(name: str, ready: type[_NormBase]) -> Any:
    """The lazy form of a layer; after its first input it is of class ``ready``."""
    doc = f"A {ready.__name__} that takes ``num_features`` from its first input."
    members = {
        "__doc__": doc, "__module__": __name__, "cls_to_become": ready,
        "_dimensions": ready._dimensions, "forward": ready.forward,
    }  # fmt: skip
    return type(name, (_LazyNorm,), members)


LazyBatchNorm1d = _lazy("LazyBatchNorm1d", BatchNorm1d)
LazyBatchNorm2d = _lazy("LazyBatchNorm2d", BatchNorm2d)
LazyBatchNorm3d = _lazy("LazyBatchNorm3d", BatchNorm3d)
LazyInstanceNorm1d = _lazy("LazyInstanceNorm1d", InstanceNorm1d)
LazyInstanceNorm2d = _lazy("LazyInstanceNorm2d", InstanceNorm2d)
LazyInstanceNorm3d = _lazy("LazyInstanceNorm3d", InstanceNorm3d)
