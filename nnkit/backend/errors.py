"""Errors with a class of their own."""

from __future__ import annotations


class LinAlgError(RuntimeError):
    """A matrix is singular, or not positive definite; ``torch.linalg.LinAlgError``."""


class OutOfMemoryError(RuntimeError):
    """The GPU's memory does not suffice; ``torch.cuda.OutOfMemoryError``."""
