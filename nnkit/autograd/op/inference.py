"""Operations on tensors whose history torch's autograd does not see or know.

These are inference tensors, and views that were made while grad mode was off (`Unknown`). What
torch records for an operation on them depends on how it implements that; `rule` declares it by
``alone`` and ``apart``.
"""

from __future__ import annotations

from typing import Any

from nnkit.autograd.engine.node import Node, NotImplementedBackward, Unknown
from nnkit.autograd.forward.dependence import Dependence
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.code import SAVED
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.counters import InferenceWrites
from nnkit.autograd.views.replay import Rootless
from nnkit.autograd.views.writes import is_unseen
from nnkit.backend.algebra import Primitive
from nnkit.backend.memory import has_expanded


def copied_scalar(x: Tensor, *statics: Any) -> str | None:
    """``alone`` of a `rule` whose op torch records as a copy of a 0-dim input."""
    return None if x._array.ndim else "copied"


def copied_without_history(x: Tensor, y: Tensor, *statics: Any) -> tuple[str, ...]:
    """``apart`` of a `rule` whose op torch computes by writing into a view of a copy of ``x``: with
    inference tensors alone nothing is recorded, unless ``x`` is expanded and had to be copied."""
    return ("x",) if is_unseen((x, y)) and not has_expanded(x._array) else ()


def is_seen_otherwise(t: Any) -> bool:
    """Whether an operand is an inference tensor or a view with unknown history, which torch's
    autograd treats differently from other tensors that require grad."""
    return t._writes.__class__ is InferenceWrites or t._edge.__class__ is Unknown


def seen_edges(op: Any, operands: tuple, statics: tuple, edges: tuple) -> tuple[Any, str | None]:
    """The edges that torch records for an operation with an operand that `is_seen_otherwise`, None
    if it records nothing; and, if all operands are inference tensors, the value of ``alone``.

    Raises:
        RuntimeError: torch would call a function with ``out=``.
    """
    given = (*operands, *statics)
    alone: Any = op.alone(*given) if callable(op.alone) else op.alone
    names = op.primitive.arrays
    apart: Any = op.apart
    apart = apart(*given) if callable(apart) else apart
    for name in apart:
        place = names.index(name)
        if is_unseen((operands[place],)):
            edges = (*edges[:place], None, *edges[place + 1 :])
    seen = [t for t in operands if isinstance(t, Tensor) or alone != "number"]
    unseen = is_unseen((*seen, *_index_tensors(op.primitive, statics)))
    if unseen and alone == "refused":
        raise RuntimeError(refusal(op.name))
    way = alone if unseen else None
    if unseen and way not in ("recorded", "copied", "written"):
        return None, way
    if way == "copied":
        edges = edges[:1]
    if all(e is None for e in edges):
        return None, way
    slots = op.slots()
    # With several operands, nothing is saved for a gradient that is not sent further.
    if len(edges if slots is None else slots) > 1:
        edges = tuple([None if e.__class__ is Unknown else e for e in edges])
    return edges, way


def record_seen(
    op: Any, operands: tuple, statics: tuple, edges: tuple, outputs: tuple, device: Any
) -> Node:
    """The node of an operation with an operand that `is_seen_otherwise`.

    Inside a transform it may save inference tensors, unless the operation is also recorded outside
    of all transforms, because an operand requires grad there.
    """
    level, before = MODE.level, MODE.saves_inference
    if level is not None:
        tensors = [t for t in operands if isinstance(t, Tensor)]
        below = [t for t in tensors if t._writes.__class__ is not InferenceWrites]
        MODE.saves_inference = not (below and level.is_live_below(tensors))
    try:
        node = op.record(operands, statics, edges, outputs, device)
    finally:
        MODE.saves_inference = before
    if op.node_name == "NotImplemented":
        return NotImplementedBackward(edges, (RuntimeError, op.name), device)
    saved = [v for v, (kind, _) in zip(node.values, op.values, strict=True) if kind in SAVED]
    if any(v is not None for v in saved) or any(e is not None for e in edges):
        return node
    return Rootless(edges, (), device)


def beside_unknown(node: Node, edges: tuple) -> Node:
    """``node``; inside a transform, which asks what its results depend on, one that also depends
    on the unknown histories among the ``edges``."""
    unknown = [e for e in edges if e.__class__ is Unknown] if MODE.transforms else ()
    if len(edges) < 2 or not unknown:
        return node
    return Dependence((node, *unknown), "none", node.device)


def refusal(name: str) -> str:
    """The error message for an inference tensor where torch calls a function with ``out=``."""
    return (
        f"{name}(): functions with out=... arguments don't support automatic differentiation, but "
        "an inference tensor that requires grad is given, for which this is one"
    )


def _index_tensors(primitive: Primitive, statics: tuple) -> list:
    """The Tensors among the positions of an op's indices."""
    given = [statics[primitive.statics.index(name)] for name in primitive.indices]
    return [i for positions in given for i in positions if isinstance(i, Tensor)]
