"""torch.utils.tensorboard: the writer of the package tensorboardX."""

from __future__ import annotations

from tensorboardX import SummaryWriter as SummaryWriter  # type: ignore[import-not-found]
