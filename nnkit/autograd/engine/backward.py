"""The engine: the entry points that run a graph backwards, most recently created node first.

A node is created after the nodes of its inputs. So in descending order of creation every node runs
after all nodes that use its result: a heap suffices, without recursion and without counting
dependencies. Leaves receive their gradients at the end of the pass. Only if hooks could observe
the difference does each leaf receive its gradient as soon as that is complete, as in torch. The
pass itself is in `backward_pass`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.arguments.overriding import overridable
from nnkit.autograd.engine.backward_pass import Pass
from nnkit.autograd.engine.node import (
    RENEWED,
    RUNNING,
    SPARSE,
    WITH_INDICES,
    AccumulateGrad,
    GradientEdge,
    Node,
    Unknown,
    edge_of,
)
from nnkit.autograd.engine.renewal import look_up_former
from nnkit.autograd.engine.unpacking import unpack_array, unpack_tensor
from nnkit.autograd.grad_mode import MODE, refuse_in_transform
from nnkit.autograd.op.public import attach
from nnkit.autograd.op.registry import LIFTED, OPS
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor, primal_of, wrap
from nnkit.autograd.views.history import refresh
from nnkit.autograd.views.refusals import check_history
from nnkit.backend.dtype import OF_ARRAY
from nnkit.backend.lazy import plain
from nnkit.backend.warning import warn, warn_once


def start(tensors: Sequence, grads: Sequence, retain: bool, lifted: bool) -> Pass:
    """A `Pass` that starts at the given tensors or graph edges with the given gradients.

    It computes on arrays, or on Tensors if ``lifted``: then the pass itself can be differentiated.
    """
    if len(grads) < len(tensors):
        for grad in grads:
            _check_kind(grad)
        raise RuntimeError(
            f"got {len(tensors)} tensors and {len(grads)} gradients, expected as many"
        )
    if RENEWED:
        look_up_former()
    roots = []
    for index, (tensor, grad) in enumerate(zip(tensors, grads)):
        if tensor.__class__ is GradientEdge:
            edge, first = edge_of(tensor), _first_along(tensor, grad, index)
        else:
            if tensor._base is not None:
                check_history(tensor)
                refresh(tensor)
            if not tensor._requires_grad or tensor._edge.__class__ is Unknown:
                raise RuntimeError(
                    f"element {index} of tensors does not require grad and does not have a grad_fn"
                )
            edge = edge_of(tensor)
            if grad is None and not lifted:
                roots.append((edge, _ones_of(tensor)))
                continue
            first = _first_gradient(tensor, grad, index)
        as_is = lifted or _is_sparse_alone(first, tensor)
        roots.append((edge, first if as_is else plain(first._array)))
    if lifted:
        return Pass(roots, LIFTED, unpack_tensor, retain)
    return Pass(roots, None, unpack_array, retain)


class ExecutionEngine:
    """The public face of the engine, ``torch.autograd.Variable._execution_engine``."""

    @staticmethod
    def queue_callback(callback: Callable) -> None:
        """Call ``callback`` once the running backward pass has given all leaves their gradients.

        Raises:
            RuntimeError: no backward pass is running.
        """
        running = RUNNING.started
        if running is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        running.callbacks = [*(running.callbacks or ()), callback]


def flag(name: str, value: Any) -> bool:
    """The argument ``name`` as a bool; as in torch, integers are accepted.

    Raises:
        TypeError: ``value`` is neither a bool nor an integer.
    """
    if value.__class__ is bool:
        return value
    try:
        return operator.index(value) != 0
    except TypeError:
        raise TypeError(f"{name} must be bool, got {type(value).__name__}") from None


def as_tuple(places: Any) -> tuple:
    """A tuple of tensors and edges, given one of them or a sequence."""
    return (places,) if isinstance(places, (Tensor, GradientEdge)) else tuple(places)


def primals_of(places: Sequence) -> tuple:
    """The tensors and edges; dual tensors are replaced by their primals, which have the history."""
    return tuple([primal_of(t) if isinstance(t, Tensor) else t for t in places])


def _is_sparse_alone(grad: Any, tensor: Any) -> bool:
    """Whether a gradient is sparse while its tensor is strided. If both are sparse, their values
    are combined instead."""
    return grad.__class__ in SPARSE and tensor.__class__ not in SPARSE


def _check_kind(grad: Any) -> None:
    """Raise TypeError unless ``grad`` is a Tensor or None."""
    if grad is not None and not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")


def _first_along(edge: GradientEdge, grad: Tensor | None, index: int) -> Tensor:
    """The gradient that starts at an edge, checked against the tensor whose edge it is."""
    node, number, _ = edge
    if isinstance(node, AccumulateGrad):
        return _first_gradient(node.variable, grad, index)
    form = node.hooks.forms.get(number) if node.hooks else None
    if grad is None:
        if form is None or math.prod(form[0]) != 1 or form[1].kind == "c":
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return wrap(node.device.backend.full(form[0], 1, form[1]), node.device)
    _check_kind(grad)
    return grad if form is None else _fitted(grad, grad._array.shape, form[0], form[1], index)


def _ones_of(tensor: Tensor) -> Any:
    """The default gradient of a real tensor with one element: a 1."""
    data = tensor._array
    if data.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if data.dtype.kind == "c":
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {tensor.dtype}"
        )
    return tensor._device.backend.ones_like(data)


def _first_gradient(tensor: Tensor, grad: Tensor | None, index: int) -> Tensor:
    """The gradient that starts at ``tensor``, number ``index`` of the tensors given, checked."""
    if grad is None:
        return wrap(_ones_of(tensor), tensor._device)
    data = tensor._array
    _check_kind(grad)
    first: Any = grad
    if tensor.__class__ in WITH_INDICES and grad.shape == tensor.shape:
        first = tensor.elements_of(grad)  # type: ignore[attr-defined]
    given = grad.shape if _is_sparse_alone(grad, tensor) else first._array.shape
    return _fitted(first, given, data.shape, data.dtype, index)


def _fitted(grad: Tensor, given: tuple, shape: tuple, dtype: Any, index: int) -> Tensor:
    """``grad``, whose shape is ``given``, cast to the dtype of its output.

    Raises:
        RuntimeError: the output has another ``shape``, or only one of the two is complex.
    """
    if given != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {grad.shape} and "
            f"output[{index}] has a shape of {Size(shape)}."
        )
    if grad.is_complex() != (dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype: got {grad.dtype} and {OF_ARRAY[dtype]}"
        )
    return grad if grad._array.dtype == dtype else OPS["cast"](grad, dtype)


@overridable
def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Compute the gradients of ``tensors`` and add them to the ``grad`` of the leaves.

    Args:
        tensors: the tensor or tensors to start from. Here and in ``inputs`` an edge of the graph
            (`nnkit.autograd.graph.GradientEdge`) may stand in for a tensor.
        grad_tensors: the gradient of each tensor; may be left out, or None, for scalars.
        retain_graph: keep the saved values of the nodes for another pass; by default only if
            ``create_graph``.
        create_graph: record the backward pass itself, for higher derivatives.
        grad_variables: deprecated name of ``grad_tensors``.
        inputs: accumulate only into these tensors.

    Raises:
        RuntimeError: a tensor does not require grad, a gradient has the wrong shape, the graph
            was freed, or the call is inside a function that `nnkit.func` transforms.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor(3.0, requires_grad=True)
        >>> nnkit.autograd.backward(x * x)
        >>> x.grad
        tensor(6.)
    """
    if grad_variables is not None:
        warn("grad_variables= is deprecated: use grad_tensors=", DeprecationWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "'grad_tensors' and 'grad_variables' (deprecated) arguments both passed to "
                "backward(). Please only use 'grad_tensors'."
            )
        grad_tensors = grad_variables
    _accumulate(tensors, grad_tensors, retain_graph, create_graph, inputs)


def _accumulate(
    tensors: Any, grad_tensors: Any, retain_graph: Any, create_graph: Any, inputs: Any
) -> None:
    if MODE.transforms:
        refuse_in_transform("backward()")
    tensors = as_tuple(tensors)
    if grad_tensors is None:
        grad_tensors = (None,) * len(tensors)
    elif isinstance(grad_tensors, Tensor):
        grad_tensors = (grad_tensors,)
    if inputs is not None:
        inputs = as_tuple(inputs)
    if MODE.begun:  # gradients accumulate in leaves, which are no dual tensors
        tensors, grad_tensors = primals_of(tensors), primals_of(grad_tensors)
        inputs = None if inputs is None else primals_of(inputs)
    if inputs is not None:
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    create_graph = flag("create_graph", create_graph)
    if create_graph:
        warn_once(
            "Using backward() with create_graph=True makes a leaf and its gradient refer to each "
            "other, so that neither is freed until the leaf's grad is None again: use "
            "nnkit.autograd.grad, or reset the gradients"
        )
    retain = create_graph if retain_graph is None else flag("retain_graph", retain_graph)
    with_grad = MODE.enabled
    MODE.enabled = create_graph and not MODE.inference
    try:
        this = start(tensors, grad_tensors, retain, create_graph)
        if inputs is not None:
            this.limit_to(check_inputs(inputs, retain=True), accumulate=True)
        this.run()
    finally:
        MODE.enabled = with_grad


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Compute the gradient of this tensor and add it to the ``grad`` of every leaf it depends on.

    Args:
        gradient: the gradient with respect to this tensor; may be left out for a scalar.
        retain_graph: keep the saved values of the nodes, so that backward can run again.
        create_graph: record the backward pass itself, for higher derivatives.
        inputs: accumulate only into these tensors.

    Raises:
        RuntimeError: the tensor does not require grad, ``gradient`` has another shape or is
            missing for a tensor that is no scalar, the graph was freed, or the call is inside a
            function that `nnkit.func` transforms.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """
    _accumulate(self, gradient, retain_graph, create_graph, inputs)


attach("backward", _backward)


def check_inputs(inputs: Sequence, retain: bool = False) -> Sequence:
    """The inputs of a pass, unchanged; with ``retain``, their gradients will be retained.

    Raises:
        RuntimeError: an input is neither a tensor nor an edge, or does not require grad. As in
            torch, those before it already retain their gradients then.
    """
    for position, tensor in enumerate(inputs):
        if tensor.__class__ is GradientEdge:
            continue
        if not isinstance(tensor, Tensor):
            raise RuntimeError(
                "all inputs have to be Tensors or GradientEdges, but got "
                f"{type(tensor).__name__} at position {position}"
            )
        if not tensor.requires_grad:
            raise RuntimeError(
                "One of the differentiated Tensors does not require grad: "
                f"input {position} of shape {list(tensor.shape)}"
            )
        if tensor._base is not None:
            check_history(tensor)
        if retain:
            tensor.retain_grad()
    return inputs


def run_alone(node: Node, *grads: Tensor) -> Any:
    """Run the rules of one node: ``grad_fn(*grads)``, the gradients of its inputs.

    Raises:
        TypeError: the number of gradients is not the number of outputs.
    """
    expected = len(node.outputs or (None,))
    if len(grads) != expected:
        raise TypeError(f"{node.name()}: expected {expected} arguments, got {len(grads)} instead")
    outputs: Any = node.outputs if node.materializes and node.outputs else [None] * len(grads)
    full = [
        wrap(node.device.backend.zeros(*output), node.device) if g is None and output else g
        for g, output in zip(grads, outputs, strict=True)
    ]
    results = node.gradients(LIFTED, full, unpack_tensor)
    return results[0] if len(results) == 1 else tuple(results)


Node.__call__ = run_alone
