"""torch.nn.parallel: one process and one device at a time."""

from __future__ import annotations

from nnkit.compat.names.nn.parallel.scatter_gather import gather, scatter, scatter_kwargs

__all__ = ["gather", "scatter", "scatter_kwargs"]
