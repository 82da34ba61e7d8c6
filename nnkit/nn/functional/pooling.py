"""Pooling as functions."""

from nnkit.autograd.ops.pooling.adaptive import *  # noqa: F403
from nnkit.autograd.ops.pooling.average import *  # noqa: F403
from nnkit.autograd.ops.pooling.max import *  # noqa: F403
