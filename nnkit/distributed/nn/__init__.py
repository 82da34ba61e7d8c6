"""Collectives that can be differentiated."""

from __future__ import annotations

from nnkit.distributed.nn import functional as functional
from nnkit.distributed.nn.functional import *  # noqa: F403
