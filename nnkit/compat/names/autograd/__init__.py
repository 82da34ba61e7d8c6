"""torch.autograd: its private names."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.engine.node import RUNNING
from nnkit.autograd.engine.saved_attributes import SavedTensor as SavedTensor
from nnkit.compat.names._nodes import _unsafe_set_version_counter
from nnkit.profiler import _watches


def _calculate_shape(output: Any, grad: Any, is_grads_batched: bool) -> tuple[Any, Any]:
    """The shapes of an output and of its gradient, without the dimension of a batch of those."""
    return output.shape, grad.shape[1:] if is_grads_batched else grad.shape


class _unsafe_preserve_version_counter:
    """A context manager in which writes to some tensors are not counted."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = tuple(tensors) if isinstance(tensors, (tuple, list)) else (tensors,)
        self.versions = tuple([t._version for t in self.tensors])

    def __enter__(self) -> None:
        """Do nothing: the counts are known."""

    def __exit__(self, *exception: Any) -> None:
        _unsafe_set_version_counter(self.tensors, self.versions)


def _is_checkpoint_valid() -> bool:
    """Whether what runs backward gives all leaves their gradients, as reentrant checkpoints need,
    and not chosen inputs alone."""
    this = RUNNING.innermost
    while this is not None:
        if this.needed is not None:
            return False
        this = this.outer
    return True


def is_view_replay_enabled() -> bool:
    """Whether views are made anew by what made them where torch would use their strides: no."""
    return False


def _profiler_enabled() -> bool:
    """Whether this is within a profile."""
    return bool(_watches)


def kineto_available() -> bool:
    """Whether torch's own profiler of devices is there: no."""
    return False
