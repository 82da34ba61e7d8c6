"""torch.utils._foreach_utils: tensors in groups of one device and one dtype."""

from __future__ import annotations

from typing import Any

from nnkit.compat.passing import false

_device_has_foreach_support = _has_foreach_support = false


def _get_foreach_kernels_supported_devices() -> list[str]:
    return []


_get_fused_kernels_supported_devices = _get_foreach_kernels_supported_devices


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple, tuple[list[list[Any]], list[int]]]:
    """The lists, cut into those whose tensors at one index share device and dtype.

    The first list decides; the others have as many tensors, or none.
    """
    groups: dict[tuple, list[int]] = {}
    for index, first in enumerate(tensorlistlist[0]):
        groups.setdefault((first.device, first.dtype), []).append(index)
    return {
        key: (
            [[each[i] for i in indices] if each else [] for each in tensorlistlist],
            indices if with_indices else [],
        )
        for key, indices in groups.items()
    }
