"""torch.nn.parallel.data_parallel: see `nnkit.nn.DataParallel`."""

from __future__ import annotations

from typing import Any

from nnkit import cuda
from nnkit.nn import DataParallel, Module


def data_parallel(
    module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """The result of a module on a GPU, for one argument or a tuple of them.

    Raises:
        RuntimeError: there is no GPU.
    """
    if not cuda.is_available():
        raise RuntimeError("data_parallel(): device type could not be determined: there is no GPU")
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))
