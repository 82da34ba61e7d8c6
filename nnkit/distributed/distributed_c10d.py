"""Groups and collectives under the name of torch's module, which programs import."""

from __future__ import annotations

from nnkit.distributed import *  # noqa: F403
from nnkit.distributed.groups import _pg_map as _pg_map
from nnkit.distributed.groups import default_group as _get_default_group

__all__ = ["_get_default_group", "_pg_map"]
