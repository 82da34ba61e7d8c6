"""torch.backends.cpu: the processor."""

from __future__ import annotations

from nnkit.backend.cpu.native import fitting_targets


def get_cpu_capability() -> str:
    """The largest instruction set of the processor: AVX512, AVX2 or DEFAULT."""
    best = fitting_targets()[0]
    return "DEFAULT" if best == "baseline" else best.upper()
