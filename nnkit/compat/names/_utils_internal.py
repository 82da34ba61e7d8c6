"""torch._utils_internal: paths of files."""

from __future__ import annotations

import os
import tempfile

from nnkit import __file__ as _package


def get_file_path(*path_components: str) -> str:
    """A path below the folder that contains the package."""
    return os.path.join(os.path.dirname(os.path.dirname(_package)), *path_components)


def get_file_path_2(*path_components: str) -> str:
    """The path with these parts."""
    return os.path.join(*path_components)


def get_writable_path(path: str) -> str:
    """The path, or that of a new folder if the path is not writable."""
    if os.access(path, os.W_OK):
        return path
    return tempfile.mkdtemp(suffix=os.path.basename(path))
