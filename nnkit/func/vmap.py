"""`vmap`: a function of one example as a function of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.generator import get_rng_state, set_rng_state
from nnkit.autograd.ops.interchange import as_tensor
from nnkit.autograd.ops.joining import stack
from nnkit.func.tree import flatten


def vmap(
    func: Callable,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """Call ``func`` for each example of a batch and stack what it returns.

    The examples are computed one after the other.

    Args:
        func: a function of tensors without a batch dimension; keyword arguments are the same for
            all examples.
        in_dims: the batch dimension of each positional argument (None: the same for all
            examples), a number or a structure like the arguments.
        out_dims: where the batch dimension of the results goes.
        randomness: "different" numbers for each example, the "same" for all; "error" does not
            expect any.
        chunk_size: accepted.

    Raises:
        ValueError: no argument has a batch dimension, or their sizes differ.

    Example:
        >>> import nnkit
        >>> nnkit.func.vmap(nnkit.dot)(nnkit.ones(3, 2), nnkit.ones(3, 2))
        tensor([2., 2., 2.])
    """

    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, rebuild = flatten(args)
        dims = _spread(in_dims, args)
        pairs = list(zip(leaves, dims, strict=True))
        sizes = {v.shape[d] for v, d in pairs if d is not None}
        if len(sizes) != 1:
            raise ValueError(
                "vmap: one argument at least must have a batch dimension"
                if not sizes
                else f"vmap: the batch dimensions must have one size, got {sorted(sizes)}"
            )
        state = get_rng_state() if randomness == "same" else None
        results = []
        for i in range(sizes.pop()):
            if state is not None:
                set_rng_state(state)
            chosen = [v if d is None else v.select(d, i) for v, d in pairs]
            results.append(func(*rebuild(chosen), **kwargs))
        parts = [flatten(result)[0] for result in results]
        _, put = flatten(results[0])
        dims_out = _spread(out_dims, results[0], wrap=False)
        columns = zip(zip(*parts, strict=True), dims_out, strict=True)
        return put([some[0] if d is None else _stacked(some, d) for some, d in columns])

    return batched


def _stacked(values: Any, dim: int) -> Tensor:
    return stack([as_tensor(value) for value in values], dim)


def _spread(dims: Any, tree: Any, wrap: bool = True) -> list[Any]:
    """A dimension (or None) for each leaf of ``tree``."""
    if isinstance(tree, dict):
        given = [dims[k] if isinstance(dims, dict) else dims for k in tree]
        return [d for one, v in zip(given, tree.values(), strict=True) for d in _spread(one, v)]
    if isinstance(tree, (list, tuple)):
        several = isinstance(dims, (list, tuple))
        if several and len(dims) != len(tree):
            raise ValueError(f"vmap: {len(dims)} dims are given for {len(tree)} values")
        given = dims if several else [dims] * len(tree)
        return [d for one, v in zip(given, tree, strict=True) for d in _spread(one, v)]
    return [dims if isinstance(tree, Tensor) or not wrap else None]
