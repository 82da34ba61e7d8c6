"""The cost of a call at the door: its floating-point operations and the bytes it has to move.

Both are what the operation needs, not what a kernel does: a product in 2 operations for each
multiply-add, every other element in 1; each array read or written once, as if it was in no cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.memory import owner
from nnkit.backend.reference.linalg import einsum_flops


def is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "strides")


def arrays_in(value: Any) -> Iterator[Any]:
    """The arrays of an argument or a result: it may be a sequence of them, or hold none."""
    if is_array(value):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays_in(item)


# Primitives that move or make data and compute nothing.
MOVES = frozenset(
    "reshape view permute swapaxes mT mH expand squeeze unsqueeze getitem index copy copy_ cast "
    "contiguous fill_ full empty zeros zeros_like ones_like array concat stack split unbind flip "
    "roll tile conj as_strided diagonal real imag pad embedding gather index_select "
    "to_numpy".split()
)

# Their first array is read, or written, only where the other arguments say.
LOOK_UPS = frozenset("index embedding gather index_select".split())
SPARSE_WRITES = frozenset("index_put_ scatter_ scatter_add_ index_add_ index_copy_".split())
OVERWRITES = frozenset("fill_ copy_".split())  # write without reading, as all random numbers do


def flops(name: str, arguments: tuple, result: Any) -> int:
    """Floating-point operations of one call."""
    if name in MOVES:
        return 0
    named = _named(name, arguments)
    product = PRODUCTS.get(name)
    if product is not None:
        return product(named, result)
    sizes = [sum(a.size for a in arrays_in(value)) for value in arguments]
    return max([*sizes, *(out.size for out in arrays_in(result))], default=0)


def bytes_moved(name: str, arguments: tuple, result: Any) -> int:
    """Bytes of the arrays that one call reads and writes; a view costs nothing."""
    named = _named(name, arguments)
    primitive = CATALOGUE[name]
    read = list(arrays_in(arguments))
    owners = {id(owner(x)) for x in read}
    made = sum(_extent(out) for out in arrays_in(result) if id(owner(out)) not in owners)
    written = [x for parameter in primitive.writes for x in arrays_in(named[parameter])]
    if not made and not written:
        return 0
    if name in LOOK_UPS:
        return 2 * made + sum(map(_extent, read[1:]))
    if name in SPARSE_WRITES:
        source = named[primitive.arrays[-1]]
        return sum(map(_extent, [*read[1:], *arrays_in(source)]))
    if name in OVERWRITES or primitive.subject == "random":
        read = [x for x in read if not any(x is w for w in written)]
    return made + sum(map(_extent, read)) + sum(map(_extent, written))


def _named(name: str, arguments: tuple) -> dict[str, Any]:
    return dict(zip(CATALOGUE[name].parameters, arguments))


def _extent(array: Any) -> int:
    """Bytes of the elements, counting a broadcast one once."""
    sizes = (n for n, stride in zip(array.shape, array.strides) if stride)
    return array.itemsize * prod(sizes) if array.size else 0


def _matrix(call: dict, result: Any) -> int:
    return 2 * result.size * call["x"].shape[-1]


def _tensordot(call: dict, result: Any) -> int:
    return 2 * result.size * prod(call["x"].shape[axis] for axis in call["axes_x"])


def _einsum(call: dict, result: Any) -> int:
    shapes = tuple(tuple(x.shape) for x in call["operands"])
    return einsum_flops(call["equation"], shapes) or max(result.size, *map(prod, shapes))


def _linear(call: dict, result: Any) -> int:
    bias = 0 if call["bias"] is None else result.size
    return 2 * result.size * call["x"].shape[-1] + bias


def _matrix_and_sum(call: dict, result: Any) -> int:
    return 2 * result.size * (call["x"].shape[-1] + 1)


def _conv(call: dict, result: Any) -> int:
    return 2 * result.size * _window(call["weight"])


def _window(weight: Any) -> int:
    return weight.size // weight.shape[0]


def _attention_pairs(call: dict) -> int:
    """The number of pairs of a query and a key it may see, over all heads."""
    q, k = call["q"], call["k"]
    queries, keys = q.shape[-2], k.shape[-2]
    pairs = queries * keys
    if call["is_causal"]:
        least = min(queries, keys)
        pairs = least * (least + 1) // 2 + (queries - least) * keys
    return prod(q.shape[:-2]) * pairs


def _attention(call: dict, result: Any) -> int:
    return 2 * _attention_pairs(call) * (call["q"].shape[-1] + call["v"].shape[-1])


def _attention_grad(call: dict, result: Any) -> int:
    """The scores once more, and a gradient for each operand of the two products."""
    return 2 * _attention_pairs(call) * (3 * call["q"].shape[-1] + 2 * call["v"].shape[-1])


def _recurrent(call: dict, result: Any) -> int:
    x = call["x"]
    weights = [call["weight_ih"], call["weight_hh"], call.get("weight_hr")]
    return 2 * x.size // x.shape[-1] * sum(w.size for w in weights if w is not None)


def _recurrent_grad(call: dict, result: Any) -> int:
    return 2 * _recurrent(call, result)


def _bag_sum(call: dict, result: Any) -> int:
    terms = call["index"].size * result.shape[1]
    return terms if call["factors"] is None else 2 * terms


PRODUCTS: dict[str, Callable[[dict, Any], int]] = {
    **dict.fromkeys("matmul mm bmm mv dot vdot".split(), _matrix),
    **dict.fromkeys(("addmm", "baddbmm"), _matrix_and_sum),
    "tensordot": _tensordot,
    "einsum": _einsum,
    "linear": _linear,
    "linear_grad_weight": lambda call, result: 2 * call["g"].size * call["x"].shape[-1],
    "bag_sum": _bag_sum,
    "conv": _conv,
    "conv_transpose": lambda call, result: 2 * call["x"].size * _window(call["weight"]),
    "conv_grad_input": lambda call, result: 2 * call["g"].size * _window(call["weight"]),
    "conv_grad_weight": lambda call, result: 2 * call["g"].size * _window(result),
    "attention": _attention,
    "attention_grad": _attention_grad,
    **dict.fromkeys(("rnn_layer", "lstm_layer", "gru_layer"), _recurrent),
    **dict.fromkeys(("rnn_layer_grad", "lstm_layer_grad", "gru_layer_grad"), _recurrent_grad),
}
