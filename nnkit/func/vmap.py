"""`vmap`: turns a function of one example into a function of a batch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.annotations import is_int
from nnkit.autograd.arguments.dims import normalize_dim
from nnkit.autograd.batch.examples import BatchLevel
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.ops.shape.joining import cat
from nnkit.autograd.ops.shape.reshaping import movedim
from nnkit.autograd.surface.generator import get_rng_state, set_rng_state
from nnkit.backend.device import get_default_device
from nnkit.utils._pytree import TreeSpec, tree_flatten, tree_leaves


def vmap(
    func: Callable,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """Turn a function of one example into a function of a batch.

    ``func`` is called once, with tensors that look like one example but hold all of them. So it
    cannot read values that differ between examples (in an ``if``, by ``item()``, ``tolist()``,
    ...), nor write them to a tensor that is shared by all examples. An `nnkit.autograd.Function` in
    it may define its own ``vmap``.

    Args:
        func: a function of tensors without a batch dimension. Keyword arguments are shared by all
            examples.
        in_dims: the batch dimension of each positional argument, an int or a (nested) tuple with
            the structure of the arguments; None for an argument that all examples share.
        out_dims: the batch dimension of the results, an int or a structure like that of the
            results; None for a result that is the same for all examples.
        randomness: random numbers are "different" for each example or the "same" for all (not
            from a distribution whose parameters differ); with "error", drawing them raises.
        chunk_size: how many examples are computed at once; all by default.

    Raises:
        ValueError: no argument has a batch dimension, their sizes differ, ``in_dims`` or
            ``out_dims`` do not fit, or ``func`` returns something other than tensors.
        AssertionError: ``chunk_size`` is given and the batch is empty.
        RuntimeError: ``randomness`` is unknown, or is "error" and random numbers are drawn; or
            ``func`` reads or writes values as it must not.

    Example:
        >>> import nnkit
        >>> nnkit.func.vmap(nnkit.dot)(nnkit.ones(3, 2), nnkit.ones(3, 2))
        tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "vmap: Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness!r}"
        )
    chunk_size = checked_chunk_size("vmap", chunk_size)

    @wraps(func)
    def batched(*args: Any, **kwargs: Any) -> Any:
        size, dims, leaves, structure = steps._process_batched_inputs(in_dims, args, func)
        if not all(d is None or isinstance(d, int) for d in tree_leaves(out_dims)):
            raise ValueError(
                "vmap: `out_dims` must be an int, None or a python collection of ints, got "
                f"{out_dims!r}"
            )
        if chunk_size is None:
            return _mapped(func, leaves, structure, dims, size, kwargs, out_dims, randomness)
        if not size:
            raise AssertionError("vmap: an empty batch cannot be divided into chunks")
        parts = []
        state = get_rng_state()
        for start in range(0, size, chunk_size):
            count = min(chunk_size, size - start)
            chunk = [
                v if d is None else v.narrow(d, start, count)
                for v, d in zip(leaves, dims, strict=True)
            ]
            if randomness == "same":
                set_rng_state(state)
            parts.append(_mapped(func, chunk, structure, dims, count, kwargs, out_dims, randomness))
        return _chunks_together(parts, out_dims)

    return batched


def _mapped(
    func: Callable, leaves: list[Any], structure: TreeSpec, dims: list[Any], size: int,
    kwargs: dict[str, Any], out_dims: Any, randomness: str,
) -> Any:  # fmt: skip
    """The results of the function for all examples, computed on a new level."""
    place = next(v.device for v, d in zip(leaves, dims, strict=True) if d is not None)
    level = BatchLevel(get_default_device() if place is None else place, size, randomness)
    with level, drawing(randomness):
        given = steps._create_batched_inputs(dims, leaves, level.depth, structure)
        result = func(*given, **kwargs)
        return steps._unwrap_batched(result, out_dims, level.depth, size, func)


def _process_batched_inputs(
    in_dims: Any, args: tuple, func: Callable
) -> tuple[int, list[Any], list[Any], TreeSpec]:
    """The number of examples, the batch dimension of each leaf, the leaves, and their structure."""
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            "vmap: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}"
        )
    if not args:
        raise ValueError("vmap: got no inputs: the function must have positional arguments")
    leaves, structure = tree_flatten(args)
    dims = _spread(in_dims, args, "in_dims")
    return _batch_size(leaves, dims), dims, leaves, structure


def _create_batched_inputs(
    flat_in_dims: list[Any], flat_args: list[Any], vmap_level: int, args_spec: TreeSpec
) -> Any:
    """The arguments that the function gets: tensors that look like one example."""
    level = entered(vmap_level)
    return args_spec.unflatten(
        [
            v if d is None else level.lift(v, d % v.ndim)
            for v, d in zip(flat_args, flat_in_dims, strict=True)
        ]
    )


def _unwrap_batched(
    batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Callable
) -> Any:
    """The results for all examples."""
    level = entered(vmap_level)
    values, structure = tree_flatten(batched_outputs)
    if isinstance(batched_outputs, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        (out_dims,) = out_dims
    dims = _spread(out_dims, batched_outputs, "out_dims")
    with level.outside():
        return structure.unflatten([_shown(level, v, d) for v, d in zip(values, dims)])


def entered(depth: int) -> BatchLevel:
    """The active batch level of the given depth.

    Raises:
        RuntimeError: there is none.
    """
    level = MODE.wrapping
    while level is not None and level.depth != depth:
        level = level.around
    if not isinstance(level, BatchLevel):
        raise RuntimeError(f"no vmap that is {depth} deep runs here")
    return level


# The three functions above are looked up here, because libraries with containers of their own
# replace them.
steps: Any = sys.modules[__name__]


def _shown(level: BatchLevel, value: Any, dim: int | None) -> Any:
    """A result as seen outside the level."""
    if not isinstance(value, Tensor):
        if dim is None:
            return value
        raise ValueError(
            f"vmap: the function must only return Tensors, got type {type(value)}; a value that is "
            "the same for all examples has None in out_dims"
        )
    whole, own = level.lower(value)
    if dim is None:
        if own is not None:
            raise ValueError(
                "vmap: the function can not return a BatchedTensor when out_dim is None: the "
                "result differs by example"
            )
        return whole
    if own is None:
        whole, own = whole.expand(level.size, *whole.shape), 0
    return _moved(whole, own, dim)


def _chunks_together(parts: list[Any], out_dims: Any) -> Any:
    """The results of all chunks, concatenated."""
    first, structure = tree_flatten(parts[0])
    if isinstance(parts[0], Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        (out_dims,) = out_dims
    columns = zip(*map(tree_leaves, parts), strict=True)
    return structure.unflatten(
        [
            column[0] if dim is None else cat(list(column), dim)
            for column, dim in zip(columns, _spread(out_dims, parts[0], "out_dims"), strict=True)
        ]
    )


@contextmanager
def drawing(randomness: str) -> Iterator[None]:
    """A block in which a batch is computed; drawing random numbers raises if ``randomness`` is
    "error"."""
    before = MODE.refuses_random
    MODE.refuses_random = before or randomness == "error"
    MODE.transforms += 1
    MODE.batches += 1
    try:
        yield
    finally:
        MODE.transforms -= 1
        MODE.batches -= 1
        MODE.refuses_random = before


def checked_chunk_size(name: str, chunk_size: Any) -> int | None:
    """``chunk_size`` as an int; TypeError or ValueError if it is not a positive one."""
    if chunk_size is None:
        return None
    if not is_int(chunk_size):
        raise TypeError(f"{name}: chunk_size must be int, not {type(chunk_size).__name__}")
    if chunk_size < 1:
        rule = "chunk_size should be None or" if name == "vmap" else "`chunk_size` should be"
        raise ValueError(f"{name}: {rule} greater than 0. (got {chunk_size})")
    return int(chunk_size)


def _batch_size(leaves: list[Any], dims: list[Any]) -> int:
    """The common size of the batch dimensions."""
    sizes: list[int] = []
    for value, dim in zip(leaves, dims, strict=True):
        if dim is None:
            continue
        if not isinstance(value, Tensor):
            raise ValueError(
                f"vmap: Got in_dim={dim!r} for an input but the input is of type {type(value)}, "
                "which cannot be mapped over: use None"
            )
        if isinstance(dim, bool):
            raise TypeError("vmap: in_dims must hold ints, not bool")
        if not isinstance(dim, int):
            raise ValueError(
                f"vmap: Got in_dim={dim!r} for an input but in_dim must be either an integer "
                "dimension or None"
            )
        if not -value.ndim <= dim < value.ndim:
            raise ValueError(
                f"vmap: Got in_dim={dim} for some input, but that input is a Tensor of "
                f"dimensionality {value.ndim}"
            )
        sizes.append(value.shape[dim])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0]


def _moved(value: Tensor, own: int, dim: int) -> Tensor:
    """The tensor with dimension ``own`` at ``dim``."""
    own, dim = own % value.ndim, normalize_dim(dim, value.ndim, "vmap")
    return value if own == dim else movedim(value, own, dim)


def _spread(dims: Any, tree: Any, name: str) -> list[Any]:
    """A dimension (or None) for each leaf of ``tree``, the inputs or the outputs; an int applies to
    all leaves of its part."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_leaves(tree))
    pairs = None
    if isinstance(dims, dict) and isinstance(tree, dict) and dims.keys() == tree.keys():
        pairs = [(dims[key], part) for key, part in tree.items()]
    elif isinstance(dims, (list, tuple)) and type(dims) is type(tree) and len(dims) == len(tree):
        pairs = list(zip(dims, tree, strict=True))
    if pairs is None:
        tree = "inputs" if name == "in_dims" else "outputs"
        raise ValueError(
            f"vmap: {name} is not compatible with the structure of `{tree}`: {name}={dims}"
        )
    return [d for one, part in pairs for d in _spread(one, part, name)]
