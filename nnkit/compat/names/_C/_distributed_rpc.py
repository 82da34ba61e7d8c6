"""torch._C._distributed_rpc: values of other processes, of which there are none."""

from __future__ import annotations


class PyRRef:
    """A reference to a value of another process."""
