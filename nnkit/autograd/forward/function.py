"""A user's `Function` in forward mode: its outputs, with the tangents that its ``jvp`` gives."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.forward.dual import dual_of, has_derivative, is_dual
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.tensor import Tensor


def carried(function: Any, level: Any, arguments: tuple, options: dict) -> Any:
    """The outputs on a forward level: computed outside it, with the tangents from ``jvp``."""
    lowered = [level.lower(a) if isinstance(a, Tensor) else (a, None) for a in arguments]
    primals = tuple([primal for primal, _ in lowered])
    node, result = function._call(primals, options)
    outputs = result if isinstance(result, tuple) else (result,)
    pushed: list[Any] = [None] * len(outputs)
    moving = MODE.carries and not MODE.inference
    if moving and any(tangent is not None for _, tangent in lowered):
        pushed = _pushed(function, node, lowered, outputs)
    lifted = []
    for out, tangent in zip(outputs, pushed, strict=True):
        written = [a for a, p in zip(arguments, primals, strict=True) if p is out and is_dual(a)]
        if written:
            dual_of(written[0]).tangent = tangent
        lifted.append(written[0] if written else level.lift(out, tangent))
    node.forget()
    return tuple(lifted) if isinstance(result, tuple) else lifted[0]


def _pushed(function: Any, node: Any, lowered: list, outputs: tuple) -> list[Tensor | None]:
    """The tangents that ``jvp`` gives of the outputs, None for those without a derivative."""
    given: list[Any] = []
    for primal, tangent in lowered:
        if tangent is not None and is_in(primal, node.dirty):
            tangent = tangent.clone()
        elif tangent is None and node.materializes and has_derivative(primal):
            tangent = LIFTED.zeros_like(primal)
        given.append(tangent)
    node.carries = True
    try:
        result = function.jvp(node.context(), *given)
    finally:
        node.carries = False
    found = result if isinstance(result, tuple) else (result,)
    name = function.__name__
    if len(found) != len(outputs):
        raise RuntimeError(
            f"{name}.jvp returned an invalid number of forward gradients (expected "
            f"{len(outputs)} but got {len(found)})"
        )
    shown: list[Tensor | None] = []
    for position, (out, tangent) in enumerate(zip(outputs, found, strict=True)):
        if not has_derivative(out) or is_in(out, node.non_differentiable):
            if isinstance(tangent, Tensor):
                raise RuntimeError(
                    f"{name}.jvp returned a tensor for output {position}, which is not "
                    "differentiable. You should return None at that position instead"
                )
            shown.append(None)
            continue
        if not isinstance(tangent, Tensor) or tangent.shape != out.shape:
            got = list(tangent.shape) if isinstance(tangent, Tensor) else type(tangent).__name__
            raise RuntimeError(
                f"{name}.jvp must return for output {position} a tensor of its shape "
                f"{list(out.shape)}, got {got}"
            )
        if not is_in(out, node.dirty):
            _check_view(name, out, tangent, [p for p, _ in lowered], given)
        elif not is_in(tangent, tuple(given)) or not tangent._version:
            raise RuntimeError(
                "An inplace custom Function is not modifying the forward mode gradients inplace: "
                f"{name}'s jvp function must modify the corresponding gradient inplace, and return "
                f"it for output {position}"
            )
        shown.append(tangent)
    return shown


def _check_view(name: str, out: Tensor, tangent: Tensor, inputs: list, given: list) -> None:
    """RuntimeError if an output is a view of an input, but its tangent no view of the input's."""
    base = out._base
    for each, moved in zip(inputs, given, strict=True):
        if base is None or not isinstance(each, Tensor) or moved is None:
            continue
        if base is not each and base is not each._base:
            continue
        if tangent._base is None:
            missed = "'s forward is returning a view (or an input as-is) but the jvp is not "
            missed += "returning a view"
        elif tangent._base is (moved if moved._base is None else moved._base):
            return
        else:
            missed = " is returning a view but the jvp is not returning a view of the "
            missed += "" if base is each else "same base as the "
            missed += "given grad input"
        raise RuntimeError(f"{name}: A custom Function{missed}")


def is_in(tensor: Any, tensors: tuple) -> bool:
    """Whether one of several tensors is this very object."""
    return any(tensor is t for t in tensors)
