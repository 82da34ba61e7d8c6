"""Checkpoints of several ranks in a folder, as ``torch.distributed.checkpoint``."""

from __future__ import annotations

from nnkit.distributed.checkpoint import format_utils as format_utils
from nnkit.distributed.checkpoint import state_dict as state_dict
from nnkit.distributed.checkpoint.api import CheckpointException as CheckpointException
from nnkit.distributed.checkpoint.default_planner import DefaultLoadPlanner as DefaultLoadPlanner
from nnkit.distributed.checkpoint.default_planner import DefaultSavePlanner as DefaultSavePlanner
from nnkit.distributed.checkpoint.filesystem import FileSystemReader as FileSystemReader
from nnkit.distributed.checkpoint.filesystem import FileSystemWriter as FileSystemWriter
from nnkit.distributed.checkpoint.metadata import BytesStorageMetadata as BytesStorageMetadata
from nnkit.distributed.checkpoint.metadata import ChunkStorageMetadata as ChunkStorageMetadata
from nnkit.distributed.checkpoint.metadata import Metadata as Metadata
from nnkit.distributed.checkpoint.metadata import TensorStorageMetadata as TensorStorageMetadata
from nnkit.distributed.checkpoint.planner import LoadPlan as LoadPlan
from nnkit.distributed.checkpoint.planner import LoadPlanner as LoadPlanner
from nnkit.distributed.checkpoint.planner import ReadItem as ReadItem
from nnkit.distributed.checkpoint.planner import SavePlan as SavePlan
from nnkit.distributed.checkpoint.planner import SavePlanner as SavePlanner
from nnkit.distributed.checkpoint.planner import WriteItem as WriteItem
from nnkit.distributed.checkpoint.state_dict_loader import load as load
from nnkit.distributed.checkpoint.state_dict_loader import load_state_dict as load_state_dict
from nnkit.distributed.checkpoint.state_dict_saver import async_save as async_save
from nnkit.distributed.checkpoint.state_dict_saver import save as save
from nnkit.distributed.checkpoint.state_dict_saver import save_state_dict as save_state_dict
from nnkit.distributed.checkpoint.storage import StorageReader as StorageReader
from nnkit.distributed.checkpoint.storage import StorageWriter as StorageWriter
