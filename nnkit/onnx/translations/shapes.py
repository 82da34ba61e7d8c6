"""Translations of views, of what puts tensors together, and of what makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.backend.dtype import bool_, float32, int64
from nnkit.onnx.writer import Meta, Value, Writer, many, refuse, result_type, translates


@translates("size")
def size(w: Writer, meta: Meta, input: Value, dim: int) -> Value:
    shape = w.call("Shape", input)
    shape.dtype = int64
    found = w.call("Gather", shape, w.constant(dim % max(input.ndim, 1), int64))
    found.shape, found.dtype = (), int64
    return found


@translates("reshape", "view")
def reshape(w: Writer, meta: Meta, input: Value, *shape: Any) -> Value:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return w.call("Reshape", input, w.ints(sizes), allowzero=int(0 in sizes))


@translates("flatten")
def flatten(w: Writer, meta: Meta, input: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    start, end = start_dim % max(input.ndim, 1), end_dim % max(input.ndim, 1)
    if start == 1 and end == input.ndim - 1:
        return w.call("Flatten", input, axis=1)
    before = [size(w, {}, input, dim) for dim in range(start)]
    after = [size(w, {}, input, dim) for dim in range(end + 1, input.ndim)]
    return w.call("Reshape", input, w.ints([*before, -1, *after]))


@translates("permute")
def permute(w: Writer, meta: Meta, input: Value, *dims: Any) -> Value:
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return w.call("Transpose", input, perm=[dim % input.ndim for dim in order])


@translates("transpose", "swapaxes", "swapdims")
def transpose(w: Writer, meta: Meta, input: Value, dim0: int, dim1: int) -> Value:
    order = list(range(input.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return w.call("Transpose", input, perm=order)


@translates("t", "getattr")
def t(w: Writer, meta: Meta, input: Value, name: str = "T") -> Value:
    if name not in ("T", "mT"):
        raise refuse(f"the property {name}")
    last = list(range(input.ndim))
    order = last[::-1] if name == "T" else [*last[:-2], last[-1], last[-2]]
    return w.call("Transpose", input, perm=order)


@translates("unsqueeze")
def unsqueeze(w: Writer, meta: Meta, input: Value, dim: int) -> Value:
    return w.call("Unsqueeze", input, w.ints([dim]))


@translates("squeeze")
def squeeze(w: Writer, meta: Meta, input: Value, dim: Any = None) -> Value:
    return w.call("Squeeze", input, None if dim is None else w.ints(many(dim, 1)))


@translates("expand")
def expand(w: Writer, meta: Meta, input: Value, *shape: Any) -> Value:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return w.call("Expand", input, w.ints([1 if s == -1 else s for s in sizes]))


@translates("cat", "concat", "concatenate")
def cat(w: Writer, meta: Meta, tensors: Sequence[Value], dim: int = 0) -> Value:
    kind = result_type(meta, tensors[0].dtype)
    return w.call("Concat", *[w.cast(t, kind) for t in tensors], axis=dim)


@translates("stack")
def stack(w: Writer, meta: Meta, tensors: Sequence[Value], dim: int = 0) -> Value:
    axis = w.ints([dim % (tensors[0].ndim + 1)])
    return w.call("Concat", *[w.call("Unsqueeze", t, axis) for t in tensors], axis=dim)


@translates("split")
def split(
    w: Writer, meta: Meta, tensor: Value, split_size_or_sections: Any, dim: int = 0
) -> list[Value]:
    whole = tensor.shape[dim]
    sizes = split_size_or_sections
    if isinstance(sizes, int):
        sizes = [min(sizes, whole - start) for start in range(0, whole, sizes)]
    parts = w.calls("Split", len(sizes), tensor, w.ints(sizes), axis=dim)
    for part, length in zip(parts, sizes, strict=True):
        shape = list(tensor.shape)
        shape[dim] = length
        part.shape = tuple(shape)
    return parts


@translates("chunk")
def chunk(w: Writer, meta: Meta, input: Value, chunks: int, dim: int = 0) -> list[Value]:
    return split(w, meta, input, -(-input.shape[dim] // chunks), dim)


@translates("unbind")
def unbind(w: Writer, meta: Meta, input: Value, dim: int = 0) -> list[Value]:
    places = [w.constant(index, int64) for index in range(input.shape[dim])]
    parts = [w.call("Gather", input, place, axis=dim) for place in places]
    for part in parts:
        part.shape = tuple(size for d, size in enumerate(input.shape) if d != dim % input.ndim)
    return parts


@translates("roll")
def roll(w: Writer, meta: Meta, input: Value, shifts: Any, dims: Any = None) -> Value:
    if dims is None:
        raise refuse("roll without dims")
    found = input
    for shift, dim in zip(many(shifts, 1), many(dims, 1), strict=True):
        parts = [_sliced(w, found, slice(-shift, None), dim)]
        parts.append(_sliced(w, found, slice(None, -shift), dim))
        found = w.call("Concat", *parts, axis=dim) if shift else found
    return found


@translates("repeat", "tile")
def repeat(w: Writer, meta: Meta, input: Value, *repeats: Any) -> Value:
    counts = repeats[0] if isinstance(repeats[0], (tuple, list)) else repeats
    missing = [1] * (len(counts) - input.ndim)
    if missing:
        shape = [*missing, *(size(w, {}, input, dim) for dim in range(input.ndim))]
        input = w.call("Reshape", input, w.ints(shape))
    return w.call("Tile", input, w.ints(counts))


@translates("index_select")
def index_select(w: Writer, meta: Meta, input: Value, dim: int, index: Value) -> Value:
    return w.call("Gather", input, index, axis=dim)


@translates("gather")
def gather(w: Writer, meta: Meta, input: Value, dim: int, index: Value, **options: Any) -> Value:
    return w.call("GatherElements", input, index, axis=dim)


@translates("pixel_shuffle")
def pixel_shuffle(w: Writer, meta: Meta, input: Value, upscale_factor: int) -> Value:
    return w.call("DepthToSpace", input, blocksize=upscale_factor, mode="CRD")


@translates("getitem")
def getitem(w: Writer, meta: Meta, input: Any, index: Any) -> Any:
    if isinstance(input, (list, tuple)):
        return input[index]
    parts = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(p, Value) and p.dtype == bool_ for p in parts):
        raise refuse("a mask as an index")
    if ... in parts:
        place = parts.index(...)
        used = sum(p is not None and p is not ... for p in parts)
        parts[place : place + 1] = [slice(None)] * (input.ndim - used)
    found, dim = input, 0
    for part in parts:
        if part is None:
            found = w.call("Unsqueeze", found, w.ints([dim]))
            dim += 1
        elif isinstance(part, slice):
            if part != slice(None):
                found = _sliced(w, found, part, dim)
            dim += 1
        elif isinstance(part, int) or (isinstance(part, Value) and part.ndim == 0):
            found = w.call("Gather", found, w.operand(part, int64), axis=dim)
        elif isinstance(part, Value) and sum(isinstance(p, Value) for p in parts) == 1:
            found = w.call("Gather", found, part, axis=dim)
            dim += part.ndim
        else:
            raise refuse("an index of this kind")
    return found


def _sliced(w: Writer, value: Value, part: slice, dim: int) -> Value:
    start = 0 if part.start is None else part.start
    stop = 2**62 if part.stop is None else part.stop
    bounds = [w.ints([bound]) for bound in (start, stop)]
    return w.call("Slice", value, *bounds, w.ints([dim]), w.ints([part.step or 1]))


@translates("narrow")
def narrow(w: Writer, meta: Meta, input: Value, dim: int, start: int, length: int) -> Value:
    return _sliced(w, input, slice(start, start + length), dim)


@translates("select")
def select(w: Writer, meta: Meta, input: Value, dim: int, index: int) -> Value:
    return w.call("Gather", input, w.constant(index, int64), axis=dim)


@translates("pad")
def pad(
    w: Writer,
    meta: Meta,
    input: Value,
    pad: Sequence[int],
    mode: str = "constant",
    value: Any = None,
) -> Value:
    pairs = [(0, 0)] * (input.ndim - len(pad) // 2)
    pairs += [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    amounts = w.ints([before for before, _ in pairs] + [after for _, after in pairs])
    kinds = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    filling = w.operand(value or 0, input.dtype) if mode == "constant" else None
    return w.call("Pad", input, amounts, filling, mode=kinds[mode])


# Creation


@translates("arange")
def arange(w: Writer, meta: Meta, *bounds: Any, **options: Any) -> Value:
    start, end, step = {1: (0, *bounds, 1), 2: (*bounds, 1)}.get(len(bounds), bounds)
    kind = result_type(meta, int64)
    return w.call("Range", *[w.operand(bound, kind) for bound in (start, end, step)])


@translates("tensor", "as_tensor", "scalar_tensor")
def tensor(w: Writer, meta: Meta, data: Any, *args: Any, **options: Any) -> Value:
    if isinstance(data, Value):
        return w.cast(data, result_type(meta, data.dtype))
    return w.constant(data, result_type(meta, float32))


def _filled(number: Any) -> Any:
    def translate(w: Writer, meta: Meta, *size: Any, **options: Any) -> Value:
        sizes = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        return w.call("Expand", w.constant(number, result_type(meta, float32)), w.ints(sizes))

    return translate


translates("zeros")(_filled(0))
translates("ones")(_filled(1))


@translates("full")
def full(w: Writer, meta: Meta, size: Sequence[Any], fill_value: Any, **options: Any) -> Value:
    return w.call("Expand", w.operand(fill_value, result_type(meta, float32)), w.ints(size))


def _like(number: Any) -> Any:
    def translate(w: Writer, meta: Meta, input: Value, *args: Any, **options: Any) -> Value:
        return w.call(
            "Expand", w.constant(number, result_type(meta, input.dtype)), w.call("Shape", input)
        )

    return translate


translates("zeros_like")(_like(0))
translates("ones_like")(_like(1))


def _triangular(upper: int) -> Any:
    def translate(w: Writer, meta: Meta, input: Value, diagonal: int = 0) -> Value:
        if input.dtype == bool_:  # runtimes have it for numbers alone
            whole = w.call("Trilu", w.cast(input, int64), w.constant(diagonal, int64), upper=upper)
            whole.dtype = int64
            return w.cast(whole, bool_)
        return w.call("Trilu", input, w.constant(diagonal, int64), upper=upper)

    return translate


translates("tril")(_triangular(0))
translates("triu")(_triangular(1))
