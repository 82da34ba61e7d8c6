"""Batch normalization over the batches of all ranks."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.creation.factories import full
from nnkit.autograd.ops.norm import count_batch
from nnkit.autograd.ops.shape.joining import cat
from nnkit.backend.dtype import DTYPES
from nnkit.nn.modules.batchnorm import _BatchNorm
from nnkit.nn.modules.module import Module

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` for each channel.

    In training mean and variance are those of the batches of all ranks together, of whatever
    sizes; the gradient flows through them. Without a process group of several ranks, and in
    evaluation, it is the ordinary `BatchNorm`.

    Args:
        num_features: how many channels there are.
        eps, momentum, affine, track_running_stats, device, dtype, bias: as in `BatchNorm1d`.
        process_group: the ranks; all by default.

    Input and output: (N, C, ...).

    Raises:
        ValueError: the input has less than two dimensions, or no channels.

    >>> import nnkit
    >>> layer = nnkit.nn.SyncBatchNorm(1)
    >>> layer(nnkit.tensor([[1.0], [3.0]])).flatten().detach()
    tensor([-1.0000,  1.0000])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if not self.training or not self._has_others():
            return super().forward(input)
        from nnkit.distributed.nn import all_reduce

        is_half = "half" in input.dtype.kinds
        x = input.to(DTYPES["float32"]) if is_half else input
        axes = [axis for axis in range(x.ndim) if axis != 1]
        shape = [1, -1, *[1] * (x.ndim - 2)]
        channels = x.shape[1]
        own = full((1,), x.numel() // channels, dtype=x.dtype, device=x.device)
        totals = all_reduce(cat([x.sum(axes), own]), group=self.process_group)
        count = totals[channels:].detach()
        mean = totals[:channels] / count
        centred = x - mean.view(shape)
        variance = all_reduce((centred * centred).sum(axes), group=self.process_group) / count
        self._update(mean.detach(), variance.detach(), count)
        out = centred * (variance + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            out = out * self.weight.view(shape)
        if self.bias is not None:
            out = out + self.bias.view(shape)
        return out.to(input.dtype) if is_half else out

    def _has_others(self) -> bool:
        from nnkit.distributed import get_world_size, is_initialized

        return is_initialized() and get_world_size(self.process_group) > 1

    def _update(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        """Move the running statistics towards those of this step."""
        if not self.track_running_stats or self.running_mean is None or self.running_var is None:
            return
        momentum = self.momentum
        if self.num_batches_tracked is not None:
            count_batch(self.num_batches_tracked)
            if momentum is None:
                momentum = 1.0 / self.num_batches_tracked.item()
        unbiased = variance * (count / (count - 1))
        with no_grad():
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum or 0.0)
            self.running_var.lerp_(unbiased.to(self.running_var.dtype), momentum or 0.0)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with a `SyncBatchNorm` in place of each `BatchNorm1d`, `2d` and `3d` in it,
        which has the same parameters and buffers; the module itself is changed.

        >>> import nnkit
        >>> model = nnkit.nn.Sequential(nnkit.nn.BatchNorm1d(2))
        >>> type(nnkit.nn.SyncBatchNorm.convert_sync_batchnorm(model)[0]).__name__
        'SyncBatchNorm'
        """
        converted: Any = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(converted, name, getattr(module, name))
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted
