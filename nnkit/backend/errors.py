"""Errors with a class of their own."""

from __future__ import annotations

# The failures of a matrix at the order of a leading part of it, in words.
SINGULAR = (
    "The diagonal element {order} is zero, the inversion could not be completed because the input "
    "matrix is singular."
)
UNSOLVED = "The solver failed because the input matrix is singular."
INDEFINITE = (
    "The factorization could not be completed because the input is not positive-definite (the "
    "leading minor of order {order} is not positive-definite)."
)
ZERO_PIVOT = (
    "U[{order},{order}] is zero and using it on lu_solve would result in a division by zero."
)


class LinAlgError(RuntimeError):
    """A matrix is singular, or not positive definite; ``torch.linalg.LinAlgError``."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"  # as torch's class calls itself


def of_first_failure(
    error: type[RuntimeError], name: str, what: str, info: list[int], is_batch: bool
) -> RuntimeError:
    """The error of the first matrix whose ``info`` is the order at which it fails, not 0."""
    place = next(place for place, order in enumerate(info) if order)
    element = f"(Batch element {place}): " * is_batch
    return error(f"{name}: {element}{what.format(order=info[place])}")


class OutOfMemoryError(RuntimeError):
    """The GPU's memory does not suffice; ``torch.cuda.OutOfMemoryError``."""


class HostMemoryError(RuntimeError, MemoryError):
    """The CPU's memory does not suffice: a RuntimeError, as torch's allocator raises it."""

    @classmethod
    def having(cls, error: MemoryError) -> Exception:
        """An error that memory is out as this one; one that is stays as it is."""
        return error if isinstance(error, RuntimeError) else cls.of(error)

    @classmethod
    def of(cls, what: object) -> HostMemoryError:
        """The error in the words of torch's allocator, by which programs know it."""
        return cls(f"DefaultCPUAllocator: can't allocate memory: {what}")


HostMemoryError.__name__ = HostMemoryError.__qualname__ = "RuntimeError"  # as a user sees it


class NoCUDAError(AssertionError, RuntimeError):
    """There is no GPU to compute on, which is the one error in a torch built without CUDA and the
    other in one that finds no driver."""


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
