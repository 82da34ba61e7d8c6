"""torch.utils._triton: whether kernels are written in Triton; they are not."""

from __future__ import annotations

from nnkit.compat.passing import false

has_triton = has_triton_package = has_triton_tma = has_triton_tma_device = false
has_triton_experimental_host_tma = has_triton_tensor_descriptor_host_tma = false
has_triton_stable_tma_api = false
