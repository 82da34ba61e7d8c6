"""torch.nn.utils.stateless: see `nnkit.func.functional_call`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from nnkit.backend.warning import warn
from nnkit.nn import Module
from nnkit.nn.utils.stateless import _swap
from nnkit.nn.utils.stateless import functional_call as _functional_call


def functional_call(*arguments: Any, **options: Any) -> Any:
    """`nnkit.func.functional_call`, by its old name."""
    warn(
        "nn.utils.stateless.functional_call is deprecated: use func.functional_call", FutureWarning
    )
    return _functional_call(*arguments, **options)


@contextlib.contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Any], **options: Any
) -> Iterator[None]:
    """A block in which a module has other tensors in the places that their names tell."""
    before = {path: _swap(module, path, value) for path, value in parameters_and_buffers.items()}
    try:
        yield
    finally:
        for path, value in before.items():
            _swap(module, path, value)
