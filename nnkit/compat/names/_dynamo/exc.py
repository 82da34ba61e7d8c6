"""torch._dynamo.exc: what a compiler raises; nnkit's own raises none of these."""

from __future__ import annotations


class TorchDynamoException(RuntimeError):
    """What all errors of the compiler are."""


class InternalTorchDynamoError(TorchDynamoException):
    """A fault of the compiler."""


class TorchRuntimeError(TorchDynamoException):
    """An operation that fails while it is traced."""


class Unsupported(TorchDynamoException):
    """What cannot be traced."""


class UserError(TorchDynamoException):
    """What a program does wrong."""


class InvalidBackend(TorchDynamoException):
    """A backend by an unknown name."""


class ResetRequired(TorchDynamoException):
    """A change of what was compiled before it was forgotten."""


class RecompileError(TorchDynamoException):
    """A second compilation where one was allowed."""


class BackendCompilerFailed(TorchDynamoException):
    """An error of a backend."""


class FailOnRecompileLimitHit(Exception):
    """Too many compilations."""
