"""`autograd.grad`: the gradients of chosen tensors, without changing any ``grad``."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.overriding import overridable, shown
from nnkit.autograd.engine.backward import as_tuple, check_inputs, flag, primals_of, start
from nnkit.autograd.engine.node import SPARSE, WITH_INDICES, GradientEdge, edge_of, target_of
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.promotion import ASKING, asking_among
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.device import cpu
from nnkit.backend.memory import strided
from nnkit.backend.warning import warn


@overridable
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """The gradients of the sum of ``outputs`` with respect to each of ``inputs``.

    Args:
        outputs: a tensor or a sequence of tensors; of any shape if ``grad_outputs`` is given.
        inputs: a tensor or a sequence of tensors, leaves or not. Here and in ``outputs`` an edge of
            the graph (`nnkit.autograd.graph.GradientEdge`) may stand in for a tensor.
        grad_outputs: the gradient of each output; None for a scalar.
        retain_graph: keep the saved values for another pass; by default only if ``create_graph``.
        create_graph: record the backward pass itself, for higher derivatives.
        only_inputs: must be true; torch keeps it for old programs.
        allow_unused: return None for an input that the outputs do not depend on, instead of an
            error.
        is_grads_batched: whether the first dimension of each ``grad_outputs`` is a batch of
            gradients.
        materialize_grads: return zeros instead of None.

    Raises:
        RuntimeError: an input was not used and ``allow_unused`` is false, or does not require grad.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor(3.0, requires_grad=True)
        >>> (g,) = nnkit.autograd.grad(x**2, x, create_graph=True)
        >>> nnkit.autograd.grad(g, x)
        (tensor(2.),)
    """
    if not only_inputs:
        warn(
            "grad(): only_inputs=False is ignored: use nnkit.autograd.backward to accumulate "
            "gradients in other leaves",
            FutureWarning,
        )
    outputs, inputs = as_tuple(outputs), as_tuple(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if grad_outputs is None:
        grad_outputs = (None,) * len(outputs)
    elif isinstance(grad_outputs, Tensor):
        grad_outputs = (grad_outputs,)
    if allow_unused is False and materialize_grads:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True"
        )
    given = materialize_grads if allow_unused is None else allow_unused
    allow_unused = flag("allow_unused", given)
    retain = create_graph if retain_graph is None else flag("retain_graph", retain_graph)
    dual = (getattr(t, "_device", cpu).by_hand for t in (*outputs, *grad_outputs))
    if MODE.begun and any(dual):
        return _with_tangents(
            outputs, inputs, grad_outputs, retain, create_graph, allow_unused, materialize_grads
        )
    if is_grads_batched:
        return _batched(outputs, inputs, grad_outputs, retain, create_graph, allow_unused)
    # What a transform or a class that answers for operators stands behind is known as tensors.
    asking = ASKING and asking_among((outputs, inputs, grad_outputs))
    lifted = create_graph or MODE.transforms > 0 or bool(asking)
    results = captured(outputs, inputs, grad_outputs, retain, create_graph, lifted)
    for position, tensor in enumerate(inputs):
        if results[position] is not None:
            continue
        if not allow_unused:
            raise RuntimeError(
                "One of the differentiated Tensors appears to not have been used in the graph: "
                f"input {position}. Set allow_unused=True if this is the desired behavior."
            )
        if materialize_grads:
            if tensor.__class__ is GradientEdge:
                raise RuntimeError(
                    "materialize_grads cannot be used when the given input is a GradientEdge: "
                    f"input {position}, whose shape nothing tells, has no gradient"
                )
            found = wrap(tensor._device.backend.zeros_like(tensor._array), tensor._device)
            found._requires_grad = create_graph
            results[position] = found
    return shown(tuple(results)) if asking else tuple(results)


def _with_tangents(
    outputs: tuple, inputs: tuple, grads: tuple, retain: bool, create: bool, unused: bool,
    materialize: bool,
) -> tuple:  # fmt: skip
    """The gradients of dual tensors, with their tangents: the tangent of a gradient is the gradient
    of the tangent."""
    level: Any = MODE.wrapping
    inputs = primals_of(inputs)
    options = {"create_graph": create, "allow_unused": unused, "materialize_grads": materialize}
    found = grad(primals_of(outputs), inputs, primals_of(grads), True, **options)
    moving, weights = [], []
    for output, given in zip(outputs, grads, strict=True):
        primal, tangent = level.lower(output)
        weight, moved = (None, None) if given is None else level.lower(given)
        if tangent is not None and tangent.requires_grad:
            moving.append(tangent)
            weights.append(weight)
        if moved is not None:
            moving.append(primal)
            weights.append(moved)
    if not moving:
        return found
    tangents = grad(moving, inputs, weights, retain, create, allow_unused=True)
    return tuple(
        [
            one if one is None or tangent is None else level.point(one, tangent)
            for one, tangent in zip(found, tangents, strict=True)
        ]
    )


def captured(
    outputs: tuple, inputs: tuple, grads: tuple, retain: bool, create: bool, lifted: bool
) -> list[Any]:
    """The gradient of each input, or None; computed on Tensors if ``lifted``, which ``create``
    requires."""
    with_grad = MODE.enabled
    MODE.enabled = create and not MODE.inference
    try:
        this = start(outputs, grads, retain, lifted)
        this.limit_to(check_inputs(inputs), accumulate=False)
        this.run()
    finally:
        MODE.enabled = with_grad
    results = [this.captured.get(position) for position in range(len(inputs))]
    if not lifted:
        results = _wrapped(inputs, results)
    return [
        tensor.like(found)
        if tensor.__class__ in WITH_INDICES and found is not None and found.layout is strided
        else found
        for tensor, found in zip(inputs, results, strict=True)
    ]


def _wrapped(inputs: tuple, results: list) -> list[Any]:
    """The gradients, with arrays wrapped as tensors."""
    made: dict[int, Tensor] = {}  # one tensor for a gradient that arrived at several inputs
    return [
        found
        if found is None or found.__class__ in SPARSE
        else made.setdefault(id(found), wrap(found, target_of(edge_of(tensor))[0].device))
        for tensor, found in zip(inputs, results, strict=True)
    ]


def _batched(
    outputs: tuple, inputs: tuple, grads: tuple, retain: bool, create: bool, unused: bool
) -> tuple:
    for position, (out, given) in enumerate(zip(outputs, grads)):
        if given is None or out.__class__ is GradientEdge:
            continue
        if given.shape[1:] != out.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension, and the others must be those of the output, but "
                f"grad_output[{position}] has a shape of {given.shape} and output[{position}] has "
                f"a shape of {out.shape}."
            )
    count = next(g.shape[0] for g in grads if g is not None)
    rows = []
    for i in range(count):
        one = tuple(None if g is None else g[i] for g in grads)
        keep = retain or i + 1 < count
        rows.append(grad(outputs, inputs, one, keep, create, allow_unused=unused))
    return tuple(
        None if column[0] is None else OPS["stack"](column, 0) for column in zip(*rows, strict=True)
    )
