"""torch.utils.tensorboard.writer: the writers of the package tensorboardX, imported on use."""

from __future__ import annotations

from nnkit.compat.names.utils.tensorboard import __getattr__ as __getattr__
