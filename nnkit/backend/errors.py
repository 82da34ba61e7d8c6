"""Errors with a class of their own."""

from __future__ import annotations


class LinAlgError(RuntimeError):
    """A matrix is singular, or not positive definite; ``torch.linalg.LinAlgError``."""


class OutOfMemoryError(RuntimeError):
    """The GPU's memory does not suffice; ``torch.cuda.OutOfMemoryError``."""


class DistError(RuntimeError):
    """Processes that should compute together do not; ``torch.distributed.DistError``."""


class DistBackendError(DistError):
    """A collective has failed; ``torch.distributed.DistBackendError``."""


class DistNetworkError(DistError):
    """Processes do not find each other; ``torch.distributed.DistNetworkError``."""


class DistStoreError(DistError):
    """Not all processes have come; ``torch.distributed.DistStoreError``."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty; ``torch.distributed.QueueEmptyError``."""
