"""torch.nn.parallel: one process and one device at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.compat.names.nn.parallel.data_parallel import data_parallel
from nnkit.compat.names.nn.parallel.replicate import replicate
from nnkit.compat.names.nn.parallel.scatter_gather import gather, scatter, scatter_kwargs

__all__ = ["data_parallel", "gather", "parallel_apply", "replicate", "scatter", "scatter_kwargs"]


def parallel_apply(
    modules: Sequence[Any],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """The results of modules, each called with its own arguments, one after the other.

    Raises:
        AssertionError: there are more or fewer arguments than modules.
    """
    named = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    for each in (inputs, named, devices):
        if each is not None and len(each) != len(modules):
            raise AssertionError(
                f"parallel_apply(): expected {len(modules)} arguments for as many modules, got "
                f"{len(each)}"
            )
    return [
        module(*(given if isinstance(given, (list, tuple)) else (given,)), **options)
        for module, given, options in zip(modules, inputs, named)
    ]
