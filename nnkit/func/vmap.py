"""`vmap`: a function of one example as a function of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

from nnkit.autograd import Function, Tensor, inference_mode, no_grad
from nnkit.autograd.function import check_transformed
from nnkit.autograd.grad_mode import MODE, VMAPS
from nnkit.autograd.ops.elementwise.comparison import equal
from nnkit.autograd.ops.shape.reshaping import movedim
from nnkit.autograd.surface.generator import get_rng_state, set_rng_state
from nnkit.autograd.views.overlap import shares_memory
from nnkit.backend.device import device
from nnkit.func.level import stacked
from nnkit.utils._pytree import tree_flatten, tree_leaves


def vmap(
    func: Callable,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """Call ``func`` for each example of a batch and stack what it returns.

    The examples are computed one after the other, those of an empty batch from one of zeros. So
    that it could be done at once, the numbers that the function reads from tensors (in an ``if``,
    by ``item()``, ``tolist()`` ...) must be the same for all examples. Where ``func`` is the
    ``apply`` of a `nnkit.autograd.Function` with a ``vmap`` of its own, that computes the batch.

    Args:
        func: a function of tensors without a batch dimension; keyword arguments are the same for
            all examples.
        in_dims: the batch dimension of each positional argument (None: the same for all
            examples), a number or a tuple of the arguments' structure.
        out_dims: where the batch dimension of the results goes, a number or a structure like the
            results; None: the first example's result, which must be that of all.
        randomness: "different" numbers for each example, the "same" for all; "error" refuses to
            draw any.
        chunk_size: accepted.

    Raises:
        ValueError: no argument has a batch dimension, their sizes differ, ``in_dims`` or
            ``out_dims`` do not fit, or ``func`` returns something else than tensors.
        AssertionError: ``chunk_size`` is given and the batch is empty.
        RuntimeError: ``randomness`` is "error" and random numbers are drawn, or is unknown; or
            the function reads other numbers for one example than for another.

    Example:
        >>> import nnkit
        >>> nnkit.func.vmap(nnkit.dot)(nnkit.ones(3, 2), nnkit.ones(3, 2))
        tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"vmap: randomness must be 'error', 'different' or 'same', got {randomness!r}"
        )
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size must be at least 1, got {chunk_size}")

    def batched(*args: Any, **kwargs: Any) -> Any:
        if not isinstance(in_dims, (int, tuple)):
            raise ValueError(
                f"vmap: in_dims must be an int or a tuple, got {type(in_dims).__name__}"
            )
        if not args:
            raise ValueError("vmap: the function must get at least one positional argument")
        leaves, structure = tree_flatten(args)
        dims = _spread(in_dims, args, "in_dims")
        size = _batch_size(leaves, dims)
        function = _with_rule(func)
        if function is not None:
            info = VmapInfo(size, randomness)
            return _by_rule(function, info, args, structure.unflatten(dims), out_dims)
        if chunk_size is not None and not size:
            raise AssertionError("vmap: an empty batch cannot be divided into chunks")
        state = get_rng_state() if randomness == "same" else None
        results, examples = [], []
        with drawing(randomness), _same_reads() as compare:
            for i in range(size) if size else (None,):
                if state is not None:
                    set_rng_state(state)
                chosen = [_example(v, d, i) for v, d in zip(leaves, dims, strict=True)]
                results.append(func(*structure.unflatten(chosen), **kwargs))
                examples.append(chosen)
                compare()
        # torch puts the results of chunks together as they are.
        batch = _Batch(leaves, dims, examples) if chunk_size is None else None
        return _joined(results, out_dims, size, batch)

    return batched


class VmapInfo(NamedTuple):
    """What the ``vmap`` of a `nnkit.autograd.Function` is told."""

    batch_size: int
    randomness: str


def _with_rule(func: Callable) -> type[Function] | None:
    """The Function of which ``func`` is the ``apply``, if it says itself how to map it."""
    owner = getattr(func, "__self__", None)
    if not isinstance(owner, type) or not issubclass(owner, Function) or func != owner.apply:
        return None
    return None if owner.vmap is Function.vmap else owner


def _by_rule(
    function: type[Function], info: VmapInfo, args: tuple, in_dims: tuple, out_dims: Any
) -> Any:
    """What the ``vmap`` of a Function computes of the whole batch."""
    with drawing(info.randomness):
        check_transformed(function)
    result = function.vmap(info, in_dims, *args)
    name = f"vmap: the vmap staticmethod of {function.__name__}"
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name} must return (output, out_dims), got {type(result).__name__}")
    output, found = result
    try:
        dims = _spread(found, output, "its out_dims")
    except ValueError as error:
        raise RuntimeError(f"{name} returned out_dims unlike its output: {error}") from None
    leaves, structure = tree_flatten(output)
    joined = []
    for value, own, dim in zip(leaves, dims, _spread(out_dims, output, "out_dims"), strict=True):
        if own is None and dim is not None:
            value, own = value.expand(info.batch_size, *value.shape), 0
        joined.append(value if own is None or dim is None else _moved(value, own, dim))
    return structure.unflatten(joined)


@contextmanager
def drawing(randomness: str) -> Iterator[None]:
    """While active, what torch computes as a batch is computed; random numbers are refused if
    ``randomness`` is "error"."""
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


@contextmanager
def _same_reads() -> Iterator[Callable[[], None]]:
    """Gives a function to call after each example, which compares what it has read."""
    around, first = MODE.reads, None

    def compare() -> None:
        nonlocal first
        read, MODE.reads = MODE.reads, []
        if first is None:
            first = read
        elif repr(read) != repr(first):  # as texts, in which nan is nan
            raise RuntimeError(
                "vmap: the function reads numbers from tensors (in data-dependent control flow, "
                f"by item(), ...) that differ between examples: {first} and {read}"
            )

    MODE.reads = []
    VMAPS.add(compare)
    try:
        yield compare
        if around is not None:
            around += first or []
    finally:
        VMAPS.discard(compare)
        MODE.reads = around


def _batch_size(leaves: list[Any], dims: list[Any]) -> int:
    """The one size of the batch dimensions."""
    sizes = set()
    for value, dim in zip(leaves, dims, strict=True):
        if dim is None:
            continue
        if not isinstance(value, Tensor):
            raise ValueError(
                f"vmap: in_dims={dim!r} is given for an argument of type {type(value).__name__}, "
                "which must be None"
            )
        if not isinstance(dim, int) or not -value.ndim <= dim < value.ndim:
            raise ValueError(f"vmap: in_dims={dim!r} is no dimension of a {value.ndim}-d tensor")
        sizes.add(value.shape[dim])
    if len(sizes) != 1:
        raise ValueError(
            f"vmap: the batch dimensions must have one size, got {sorted(sizes)}"
            if sizes
            else "vmap: one argument at least must have a batch dimension"
        )
    return sizes.pop()


def _example(value: Any, dim: int | None, i: int | None) -> Any:
    """The slice of example ``i``; of an empty batch, zeros."""
    if dim is None:
        return value
    if i is not None:
        return value.select(dim, i)
    if value.is_floating_point() or value.is_complex():
        return value.sum(dim)  # so that its history goes on
    shape = list(value.shape)
    del shape[dim]
    return value.new_zeros(shape)


class _Batch(NamedTuple):
    """The arguments of a call, and what each example has got of them."""

    leaves: list[Any]
    dims: list[Any]
    examples: list[list[Any]]

    def found(self, values: tuple, dim: int) -> Tensor | None:
        """An argument, or the view of one, that all values together are, if there is one."""
        whole = self.whole(values, dim)
        return self.view(values, dim) if whole is None else whole

    def whole(self, values: tuple, dim: int) -> Tensor | None:
        """The argument of which each value is the example, if there is one."""
        for place, (leaf, own) in enumerate(zip(self.leaves, self.dims, strict=True)):
            same = zip(values, self.examples, strict=True)
            if own is not None and all(value is example[place] for value, example in same):
                return _moved(leaf, own, dim)
            if own is None and all(value is leaf for value in values):
                return _moved(leaf.expand(len(values), *leaf.shape), 0, dim)
        return None

    def view(self, values: tuple, dim: int) -> Tensor | None:
        """The view of an argument of which each value is the same part of its example."""
        first, count = values[0], len(values)
        for leaf, own in zip(self.leaves, self.dims, strict=True):
            if own is None or not _is_part(first, leaf):
                continue
            shape, strides, offset = first.shape, first.stride(), first.storage_offset()
            step = leaf.stride(own)
            if all(
                _is_part(value, leaf)
                and (value.shape, value.stride(), value._base is None, value.requires_grad)
                == (shape, strides, first._base is None, first.requires_grad)
                and value.storage_offset() == offset + i * step
                for i, value in enumerate(values)
            ):
                with nullcontext() if first.requires_grad else no_grad():
                    found = leaf.as_strided((count, *shape), (step, *strides), offset)
                return _moved(found.detach() if first._base is None else found, 0, dim)
        return None


def _is_part(value: Tensor, leaf: Tensor) -> bool:
    """Whether a value lies in the memory of a tensor, as elements of the same kind."""
    place = leaf._device
    same = value._device is place and place.__class__ is device and value.dtype is leaf.dtype
    return same and shares_memory(value, leaf)


def _moved(value: Tensor, own: int, dim: int) -> Tensor:
    """The tensor with dimension ``own`` at ``dim``."""
    own, dim = own % value.ndim, dim % value.ndim
    return value if own == dim else movedim(value, own, dim)


def _joined(results: list[Any], out_dims: Any, size: int, batch: _Batch | None) -> Any:
    """The results of all examples, stacked along the dimensions of ``out_dims``."""
    first, structure = tree_flatten(results[0])
    if isinstance(results[0], Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        (out_dims,) = out_dims
    columns = zip(*[tree_leaves(result) for result in results], strict=True)
    joined = []
    for values, dim in zip(columns, _spread(out_dims, results[0], "out_dims"), strict=True):
        if dim is None:
            if any(isinstance(v, Tensor) and not _same(v, values[0]) for v in values):
                raise ValueError("vmap: out_dims is None for a result that differs by example")
            joined.append(values[0])
        elif not isinstance(values[0], Tensor):
            raise ValueError(
                f"vmap: the function must return tensors, got {type(values[0]).__name__}; a value "
                "that is the same for all examples has None in out_dims"
            )
        else:
            together = batch.found(values, dim) if batch and size else None
            if together is None:
                # As each of them: a transform's results are no inference tensors.
                plain = batch and MODE.inference and not values[0].is_inference()
                with inference_mode(False) if plain else nullcontext():
                    together = _moved(stacked(values), 0, dim)
                    together = together if size else together.narrow(dim, 0, 0).clone()
            joined.append(together)
    return structure.unflatten(joined)


def _same(one: Tensor, other: Any) -> bool:
    return one is other or (isinstance(other, Tensor) and equal(one, other))


def _spread(dims: Any, tree: Any, name: str) -> list[Any]:
    """A dimension (or None) for each leaf of ``tree``; a number stands for a whole part of it."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_leaves(tree))
    pairs = None
    if isinstance(dims, dict) and isinstance(tree, dict) and dims.keys() == tree.keys():
        pairs = [(dims[key], part) for key, part in tree.items()]
    elif isinstance(dims, (list, tuple)) and type(dims) is type(tree) and len(dims) == len(tree):
        pairs = list(zip(dims, tree, strict=True))
    if pairs is None:
        raise ValueError(f"vmap: {name}={dims} does not fit the structure of the values")
    return [d for one, part in pairs for d in _spread(one, part, name)]
