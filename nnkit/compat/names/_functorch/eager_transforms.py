"""torch._functorch.eager_transforms: helpers of `grad` for its arguments, used by libraries."""

from __future__ import annotations

from typing import Any

from nnkit.func.transforms import _positions


def _slice_argnums(args: tuple, argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments selected by ``argnums``; a single one as it is, unless ``as_tuple``."""
    chosen = tuple([args[n] for n in _positions("argnums", argnums, len(args))])
    return chosen if as_tuple or not isinstance(argnums, int) else chosen[0]
