"""torch.utils.dlpack: kinds of devices by their numbers, and `nnkit.utils.dlpack`."""

from __future__ import annotations

import enum

DLDeviceType = enum.IntEnum(
    "DLDeviceType",
    {
        "kDLCPU": 1, "kDLCUDA": 2, "kDLCUDAHost": 3, "kDLOpenCL": 4, "kDLVulkan": 7, "kDLMetal": 8,
        "kDLVPI": 9, "kDLROCM": 10, "kDLROCMHost": 11, "kDLExtDev": 12, "kDLCUDAManaged": 13,
        "kDLOneAPI": 14, "kDLWebGPU": 15, "kDLHexagon": 16, "kDLMAIA": 17,
    },
    module="torch.utils.dlpack",
)  # fmt: skip
