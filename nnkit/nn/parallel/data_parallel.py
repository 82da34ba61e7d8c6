"""`DataParallel` on one device, where it only calls its module."""

from __future__ import annotations

from typing import Any

from nnkit.nn.modules.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Calls ``module``; the keys of its state begin with ``module.``, as in torch.

    Args:
        module: what is called.
        device_ids: at most one GPU; by default where the module is. Not looked at where there is
            none.
        output_device, dim: accepted.

    Raises:
        NotImplementedError: several GPUs are given.

    Example:
        >>> import nnkit
        >>> list(nnkit.nn.DataParallel(nnkit.nn.Linear(2, 1)).state_dict())
        ['module.weight', 'module.bias']
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        from nnkit.backend.cuda.runtime import device_count

        super().__init__()
        ids = [] if device_ids is None or not device_count() else list(device_ids)
        if len(ids) > 1:
            raise NotImplementedError(f"DataParallel: one GPU at most, got device_ids={device_ids}")
        self.module = module
        self.device_ids = ids
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
