"""Reading of elements: an error, since arrays without memory have none."""

from __future__ import annotations

from typing import Any, NoReturn

from nnkit.backend.meta.array import Meta

NOTHING = "Cannot copy out of meta tensor; no data!"


def to_numpy(x: Meta) -> NoReturn:
    raise NotImplementedError(NOTHING)


def item(x: Meta) -> NoReturn:
    raise RuntimeError("Tensor.item() cannot be called on meta tensors")


def check(condition: Any, error: type[Exception], message: str) -> None:
    """Let any condition on elements pass: none is known."""


def data_pointer(x: Meta) -> int:
    return 0


def shared(x: Meta) -> NoReturn:
    raise RuntimeError("_share_fd_: only available on CPU")


def is_shared(x: Meta) -> bool:
    return False


def to_dlpack(x: Meta, *options: Any) -> NoReturn:
    raise NotImplementedError(NOTHING)


dlpack_device = to_dlpack
