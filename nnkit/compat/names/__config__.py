"""torch.__config__: how the library was built."""

from __future__ import annotations

from nnkit.backend.threads import get_num_threads
from nnkit.config import show_config


def show() -> str:
    """A description of the build, as a text."""
    return f"nnkit\n{show_config()}"


def parallel_info() -> str:
    """A description of the threads, as a text."""
    return f"at::get_num_threads() : {get_num_threads()}"


def _cxx_flags() -> str:
    """The compiler's options, as a text: they are not known."""
    return ""
