"""torch._inductor: the settings of a compiler that nnkit lacks."""

from __future__ import annotations

from nnkit.compat.names._inductor import config as config
from nnkit.compat.names._inductor import decomposition as decomposition
