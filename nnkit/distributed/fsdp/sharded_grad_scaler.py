"""`ShardedGradScaler`: a gradient scaler whose ranks skip the same steps."""

from __future__ import annotations

from typing import Any

from nnkit.amp.grad_scaler import GradScaler
from nnkit.autograd import Tensor
from nnkit.autograd.ops.exchange.interchange import tensor
from nnkit.distributed.collectives import all_reduce, place_of
from nnkit.distributed.groups import GroupMember, ProcessGroup
from nnkit.distributed.reduce_op import ReduceOp
from nnkit.optim.optimizer import Optimizer

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A `GradScaler` for sharded gradients: a step is skipped if any rank has inf or NaN.

    Args:
        device, init_scale, growth_factor, backoff_factor, growth_interval, enabled: as of
            `GradScaler`.
        process_group: the ranks that hold the shards; all by default.

    Source: ``torch.distributed.fsdp.sharded_grad_scaler``.

    Example:
        >>> import nnkit
        >>> from nnkit.distributed import destroy_process_group, init_process_group
        >>> init_process_group()
        >>> w = nnkit.ones(1, requires_grad=True)
        >>> optimizer, scaler = nnkit.optim.SGD([w], lr=0.5), ShardedGradScaler("cpu")
        >>> scaler.scale(w.sum() * nnkit.inf).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> w, scaler.get_scale()
        (tensor([1.], requires_grad=True), 32768.0)
        >>> destroy_process_group()
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            device=device,
            init_scale=init_scale,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
        if self._enabled:
            self.process_group: Any = process_group or GroupMember.WORLD

    def _unscale_grads_(
        self, optimizer: Optimizer, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool = True
    ) -> dict[Any, Tensor]:
        """See `GradScaler`; a rank that holds no gradients has found nothing."""
        found = super()._unscale_grads_(optimizer, inv_scale, found_inf, True)
        return found or {found_inf.device: found_inf}

    def _agreed(self, bad: bool) -> bool:
        found = tensor(float(bad), device=place_of(self.process_group))
        all_reduce(found, ReduceOp.MAX, self.process_group)
        return bool(found.item())
