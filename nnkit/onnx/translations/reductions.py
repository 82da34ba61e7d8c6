"""Translations of sums and other reductions."""

from __future__ import annotations

from typing import Any

from nnkit.backend.dtype import int64
from nnkit.onnx.writer import Meta, Value, Writer, many, refuse, result_type, translates


def _reduction(kind: str) -> Any:
    def translate(
        w: Writer, meta: Meta, input: Value, dim: Any = None, keepdim: bool = False, **options: Any
    ) -> Value:
        given = w.cast(input, result_type(meta, input.dtype))
        axes = None if dim is None else w.ints(many(dim, 1))
        return w.call(kind, given, axes, keepdims=int(keepdim))

    return translate


for _name, _kind in {
    "sum": "ReduceSum", "mean": "ReduceMean", "amax": "ReduceMax", "amin": "ReduceMin",
    "prod": "ReduceProd", "logsumexp": "ReduceLogSumExp",
}.items():  # fmt: skip
    translates(_name)(_reduction(_kind))


def _index(kind: str) -> Any:
    def translate(
        w: Writer, meta: Meta, input: Value, dim: Any = None, keepdim: bool = False
    ) -> Value:
        if dim is None:
            flat = w.call("Reshape", input, w.ints([-1]))
            return w.call(kind, flat, axis=0, keepdims=0)
        return w.call(kind, input, axis=dim, keepdims=int(keepdim))

    return translate


translates("argmax")(_index("ArgMax"))
translates("argmin")(_index("ArgMin"))


@translates("max", "min")
def _extreme(w: Writer, meta: Meta, input: Value, *args: Any) -> Value:
    raise refuse("max and min with indices")


@translates("cumsum")
def cumsum(w: Writer, meta: Meta, input: Value, dim: int, **options: Any) -> Value:
    given = w.cast(input, result_type(meta, input.dtype))
    return w.call("CumSum", given, w.constant(dim, int64))


@translates("normalize")
def normalize(
    w: Writer, meta: Meta, input: Value, p: float = 2.0, dim: int = 1, eps: float = 1e-12,
    out: None = None,
) -> Value:  # fmt: skip
    if p not in (1, 2):
        raise refuse("a norm of this order")
    length = w.call(f"ReduceL{int(p)}", input, w.ints([dim]), keepdims=1)
    return w.call("Div", input, w.call("Max", length, w.operand(eps, input.dtype)))
