"""``torch.distributions.utils``: the names that libraries use."""

from __future__ import annotations

from nnkit.distributions.independent import sum_rightmost as _sum_rightmost

__all__ = ["_sum_rightmost"]
