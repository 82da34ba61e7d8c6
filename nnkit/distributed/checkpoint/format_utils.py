"""Conversions between checkpoint folders and files of ``torch.save``."""

from __future__ import annotations

import os
from typing import Any

from nnkit import serialization
from nnkit.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from nnkit.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from nnkit.distributed.checkpoint.state_dict_loader import _load_state_dict
from nnkit.distributed.checkpoint.state_dict_saver import _save_state_dict

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike, torch_save_path: str | os.PathLike
) -> None:
    """Write the contents of a folder of `checkpoint.save` into one file of ``torch.save``."""
    state: dict[str, Any] = {}
    reader, planner = FileSystemReader(dcp_checkpoint_dir), _EmptyStateDictLoadPlanner()
    _load_state_dict(state, reader, no_dist=True, planner=planner)
    serialization.save(state, torch_save_path, format="torch")


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike, dcp_checkpoint_dir: str | os.PathLike
) -> None:
    """Write the contents of a file of ``torch.save``, read as data, into a folder."""
    state = serialization.load(torch_save_path)
    _save_state_dict(state, FileSystemWriter(dcp_checkpoint_dir), no_dist=True)
