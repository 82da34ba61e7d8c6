"""States of many ranks in folders, as ``torch.distributed.checkpoint``."""

from __future__ import annotations

from nnkit.distributed.checkpoint import state_dict as state_dict
from nnkit.distributed.checkpoint.saving import CheckpointException as CheckpointException
from nnkit.distributed.checkpoint.saving import FileSystemReader as FileSystemReader
from nnkit.distributed.checkpoint.saving import FileSystemWriter as FileSystemWriter
from nnkit.distributed.checkpoint.saving import Stateful as Stateful
from nnkit.distributed.checkpoint.saving import load as load
from nnkit.distributed.checkpoint.saving import save as save
