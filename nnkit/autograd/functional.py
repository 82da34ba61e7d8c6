"""Derivatives of functions: `vjp`, `jvp`, `jacobian`, `hessian`, `vhp`, `hvp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.engine.grad import grad
from nnkit.autograd.grad_mode import enable_grad
from nnkit.autograd.ops.creation.factories import ones_like, zeros_like
from nnkit.autograd.ops.shape.joining import stack
from nnkit.autograd.tensor import Tensor


def _tuple(value: Any, name: str, function: str) -> tuple[bool, tuple[Tensor, ...]]:
    is_tuple = isinstance(value, tuple)
    values = value if is_tuple else (value,)
    for i, v in enumerate(values):
        if not isinstance(v, Tensor):
            where = f"the value at index {i}" if is_tuple else "the value"
            raise TypeError(
                f"The {name} given to {function} must be either a Tensor or a tuple of Tensors "
                f"but {where} has type {type(v)}."
            )
    return is_tuple, values


def _prepared(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """The inputs as fresh places to differentiate at."""
    if create_graph:
        return tuple(
            t.view_as(t) if t.requires_grad else t.detach().requires_grad_() for t in inputs
        )
    return tuple(t.detach().requires_grad_() for t in inputs)


def _finished(values: tuple, create_graph: bool) -> tuple:
    return values if create_graph else tuple(v.detach() for v in values)


_INPUT = "the input to the user-provided function is"
_OUTPUT = "the user-provided function returns"


def _vectors(
    v: Any, likes: tuple[Tensor, ...], function: str, what: str, several: bool
) -> tuple[Tensor, ...]:
    """``v`` checked against the tensors it belongs to; ones for a single number."""
    if v is None:
        if len(likes) != 1 or likes[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if {what} a single Tensor with a single element."
            )
        if likes[0].is_complex() and likes[0].requires_grad:
            raise RuntimeError(
                f"The vector v can only be None if {what} a real Tensor, got {likes[0].dtype}"
            )
        return (ones_like(likes[0]),)
    _, vectors = _tuple(v, "v", function)
    if len(vectors) != len(likes):
        if not several:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(likes)} but got {len(vectors)}."
        )
    for i, (vector, like) in enumerate(zip(vectors, likes, strict=True)):
        if vector.shape != like.shape:
            which = f"Entry {i} in v" if several else "v"
            raise RuntimeError(
                f"{which} has invalid size: should be {like.shape} but got {vector.shape}."
            )
    return vectors


def _check_outputs(outputs: tuple) -> None:
    """RuntimeError, in strict mode, for an output without a history."""
    for i, output in enumerate(outputs):
        if not output.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs "
                "must be computed in a differentiable manner from the input in strict mode."
            )


def _check_jacobian(gradients: tuple) -> None:
    """RuntimeError, in strict mode, for a gradient that has no derivative, as of what is linear."""
    for i, gradient in enumerate(gradients):
        if not gradient.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided "
                f"function with respect to input {i} is independent of the input. This is not "
                "allowed in strict mode: the function must be twice differentiable."
            )


def _gradients(
    outputs: tuple,
    inputs: tuple,
    seeds: tuple | None,
    create: bool,
    strict: bool,
    what: str = "The output",
) -> tuple:
    """`grad` where unused inputs give zeros, or an error when ``strict``."""
    live = [i for i, o in enumerate(outputs) if o.requires_grad]
    if live:
        found = grad(
            tuple(outputs[i] for i in live), inputs,
            None if seeds is None else tuple(seeds[i] for i in live),
            create_graph=create, retain_graph=True, allow_unused=True,
        )  # fmt: skip
    else:
        found = (None,) * len(inputs)
    for i, gradient in enumerate(found):
        if strict and gradient is None:
            raise RuntimeError(
                f"{what} of the user-provided function is independent of input {i}. This is not "
                "allowed in strict mode."
            )
    return tuple(zeros_like(t) if f is None else f for f, t in zip(found, inputs, strict=True))


def _check_recorded(values: tuple, what: str = "jacobian") -> None:
    """RuntimeError where a Jacobian, or a Hessian, that is to be differentiated is constant."""
    for i, value in enumerate(values):
        if not value.requires_grad:
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is "
                "not allowed in strict mode when create_graph=True."
            )


def vjp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """The outputs of ``func`` and the product v^T J of a vector with its Jacobian.

    Args:
        func: takes tensors, returns a tensor or a tuple of tensors.
        inputs: tensor or tuple of tensors.
        v: of the outputs' shapes; may be left out for a single number.
        create_graph: make the result differentiable.
        strict: raise where an output does not depend on an input, instead of giving zeros.

    Example:
        >>> import nnkit
        >>> nnkit.autograd.functional.vjp(lambda x: x * x, nnkit.tensor(3.0))
        (tensor(9.), tensor(6.))
    """
    with enable_grad():
        is_tuple, given = _tuple(inputs, "inputs", "vjp")
        points = _prepared(given, create_graph)
        was_tuple, outputs = _tuple(func(*points), "outputs of the user-provided function", "vjp")
        if strict:
            _check_outputs(outputs)
        seeds = _vectors(v, outputs, "vjp", _OUTPUT, was_tuple)
        results = _gradients(outputs, points, seeds, create_graph, strict)
        if strict and create_graph:
            _check_recorded(results)
    outputs, results = _finished(outputs, create_graph), _finished(results, create_graph)
    return (outputs if was_tuple else outputs[0]), (results if is_tuple else results[0])


def jvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """The outputs of ``func`` and the product J v of its Jacobian with a vector.

    Computed by differentiating v^T J with respect to v (the double-backward trick).

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0])
        >>> nnkit.autograd.functional.jvp(lambda x: x * x, x, nnkit.ones(2))[1]
        tensor([2., 4.])
    """
    with enable_grad():
        is_tuple, given = _tuple(inputs, "inputs", "jvp")
        points = _prepared(given, create_graph)
        vectors = _vectors(v, points, "jvp", _INPUT, is_tuple)
        was_tuple, outputs = _tuple(func(*points), "outputs of the user-provided function", "jvp")
        if strict:
            _check_outputs(outputs)
        duals = tuple(zeros_like(o).requires_grad_() for o in outputs)
        transposed = _gradients(outputs, points, duals, True, strict)
        results = _gradients(transposed, duals, vectors, create_graph, False)
        if strict and create_graph:
            _check_recorded(results)
    outputs, results = _finished(outputs, create_graph), _finished(results, create_graph)
    return (outputs if was_tuple else outputs[0]), (results if was_tuple else results[0])


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``: for each output and input a tensor of shape output + input.

    Args:
        vectorize: accepted; rows are computed one by one in any case.
        strategy: "reverse-mode" or "forward-mode", which needs ``vectorize``; computed alike.

    Raises:
        RuntimeError: both ``strict`` and ``vectorize`` are true.

    Example:
        >>> import nnkit
        >>> nnkit.autograd.functional.jacobian(lambda x: x * x, nnkit.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            f"jacobian(): strategy must be 'reverse-mode' or 'forward-mode', got {strategy!r}"
        )
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError("jacobian(): strategy='forward-mode' needs vectorize=True")
    with enable_grad():
        is_tuple, given = _tuple(inputs, "inputs", "jacobian")
        points = _prepared(given, create_graph)
        was_tuple, outputs = _tuple(
            func(*points), "outputs of the user-provided function", "jacobian"
        )
        if vectorize and strict:
            raise RuntimeError(
                "jacobian(): strict=True and vectorize=True are not supported together"
            )
        if strict:
            _check_outputs(outputs)
        table = []
        for number, out in enumerate(outputs):
            flat = out.reshape(-1)
            if not flat.numel():
                raise RuntimeError(
                    "jacobian(): the function must return tensors with elements, one for each row "
                    f"of the Jacobian, got shape {list(out.shape)}"
                )
            rows: list[list[Tensor]] = [[] for _ in points]
            for i in range(flat.numel()):
                row = (flat[i],)
                found = _gradients(row, points, None, create_graph, strict, f"Output {number}")
                if strict and create_graph:
                    _check_recorded(found)
                for column, g in zip(rows, found, strict=True):
                    column.append(g)
            blocks = tuple(
                stack(column).reshape(tuple(out.shape) + tuple(p.shape))
                for column, p in zip(rows, points, strict=True)
            )
            table.append(_finished(blocks, create_graph))
    result = tuple(row if is_tuple else row[0] for row in table)
    return result if was_tuple else result[0]


def _scalar_output(func: Callable, function: str, strict: bool) -> Callable:
    def checked(*points: Tensor) -> Tensor:
        out = func(*points)
        was_tuple, outputs = _tuple(out, "outputs of the user-provided function", function)
        if strict:
            _check_outputs(outputs)
        if was_tuple:
            raise RuntimeError(
                f"The function given to {function} should return a single Tensor, got a tuple"
            )
        if outputs[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {function} should contain a single "
                f"element, got shape {list(outputs[0].shape)}"
            )
        return outputs[0].reshape(())

    return checked


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with one number as its result.

    Example:
        >>> import nnkit
        >>> nnkit.autograd.functional.hessian(lambda x: (x**3).sum(), nnkit.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    is_tuple, _ = _tuple(inputs, "inputs", "hessian")
    scalar = _scalar_output(func, "hessian", strict)

    def gradient(*points: Tensor) -> Any:
        result = jacobian(scalar, points, create_graph=True)
        if strict:
            _check_jacobian(result)
        return result if is_tuple else result[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vhp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """The value of a scalar function and v^T H, a vector times its Hessian.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0])
        >>> nnkit.autograd.functional.vhp(lambda x: (x**3).sum(), x, nnkit.ones(2))[1]
        tensor([ 6., 12.])
    """
    with enable_grad():
        is_tuple, given = _tuple(inputs, "inputs", "vhp")
        points = _prepared(given, create_graph)
        vectors = _vectors(v, points, "vhp", _INPUT, is_tuple)
        out = _scalar_output(func, "vhp", strict)(*points)
        first = _gradients((out,), points, None, True, strict)
        if strict:
            _check_jacobian(first)
        results = _gradients(first, points, vectors, create_graph, strict, "The jacobian")
        if strict and create_graph:
            _check_recorded(results, "hessian")
    (out,), results = _finished((out,), create_graph), _finished(results, create_graph)
    return out, (results if is_tuple else results[0])


def hvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """The value of a scalar function and H v; H is symmetric, but this differentiates twice.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0])
        >>> nnkit.autograd.functional.hvp(lambda x: (x**3).sum(), x, nnkit.ones(2))[1]
        tensor([ 6., 12.])
    """
    with enable_grad():
        is_tuple, given = _tuple(inputs, "inputs", "hvp")
        points = _prepared(given, create_graph)
        vectors = _vectors(v, points, "hvp", _INPUT, is_tuple)
        out = _scalar_output(func, "hvp", strict)(*points)
        first = _gradients((out,), points, None, True, strict)
        if strict:
            _check_jacobian(first)
        duals = tuple(zeros_like(p).requires_grad_() for p in points)
        second = _gradients(first, points, duals, True, strict, "The jacobian")
        results = _gradients(second, duals, vectors, create_graph, False)
        if strict and create_graph:
            _check_recorded(results, "hessian")
    (out,), results = _finished((out,), create_graph), _finished(results, create_graph)
    return out, (results if is_tuple else results[0])
