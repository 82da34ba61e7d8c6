"""Data pipes: streams and maps of samples that are chained by their methods."""

from __future__ import annotations

from nnkit.utils.data.datapipes import iter as iter
from nnkit.utils.data.datapipes import map as map
