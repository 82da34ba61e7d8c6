"""Derivatives of functions as functions: `grad`, `vjp`, `jacrev` ...

All are computed in reverse mode, each on a level of its own (`nnkit.func.level`). A derivative
that is taken inside another one, or of what requires a gradient, can itself be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from nnkit.autograd import Tensor, inference_mode
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.graph import disable_saved_tensors_hooks
from nnkit.autograd.ops.creation import eye, zeros_like
from nnkit.autograd.ops.joining import stack
from nnkit.autograd.saved import STACK
from nnkit.func.level import Level
from nnkit.func.tree import flatten, structure
from nnkit.func.vmap import drawing

_NO_HOOKS = "nnkit.func: grad, vjp, jacrev and hessian do not support hooks on saved tensors"


class _Call:
    """A call of a function on a level of its own: what it returned, to be differentiated."""

    def __init__(
        self, name: str, func: Callable, args: tuple, argnums: Any, kwargs: dict[str, Any],
        has_aux: bool, hooks: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.argnums = name, argnums
        numbers = _positions(name, argnums, len(args))
        values, self.rebuild = flatten(tuple(args[n] for n in numbers))
        self.level = level = Level(values, name)
        points = list(args)
        for number, value in zip(numbers, self.rebuild(level.inputs), strict=True):
            points[number] = value
        with level, nullcontext() if hooks else _without_hooks():
            result = func(*points, **kwargs)
        self.value, self.aux = _pair(name, result) if has_aux else (result, ())
        self.outputs = self._tensors(self.value, "the function must return tensors")
        self._tensors(self.aux, "aux must be tensors")

    def _tensors(self, tree: Any, expected: str) -> list[Tensor]:
        leaves, _ = flatten(tree)
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(f"{self.name}: {expected}, got {type(leaf).__name__}")
        return leaves

    def pull(self, weights: Sequence[Any], retain_graph: bool = True) -> Any:
        """The gradients by the arguments, in their structure, of the outputs times ``weights``."""
        level = self.level
        return self.arranged(level.pull(self.outputs, level.inputs, weights, retain_graph))

    def arranged(self, leaves: list[Any]) -> Any:
        """One value for each input, in the structure of the arguments."""
        values = self.rebuild(leaves)
        return values if isinstance(self.argnums, tuple) else values[0]

    def shown(self, tree: Any) -> Any:
        """What the function returned, as what happens around the transform sees it."""
        leaves, rebuild = flatten(tree)
        return rebuild(self.level.results(leaves, self.level.recorded))


def _without_hooks() -> Any:
    if STACK.pairs:
        raise RuntimeError(_NO_HOOKS)
    return disable_saved_tensors_hooks(_NO_HOOKS)


def _pair(name: str, result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        shown = f"{len(result)} values" if isinstance(result, tuple) else type(result).__name__
        raise RuntimeError(
            f"{name}: with has_aux the function must return (output, aux), got {shown}"
        )
    return result


def _positions(name: str, argnums: Any, count: int) -> tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, tuple) or not all(isinstance(n, int) for n in numbers):
        raise RuntimeError(
            f"{name}: argnums must be an int or a tuple of ints, got {type(argnums).__name__}"
        )
    for number in numbers:
        if not -count <= number < count:
            raise RuntimeError(
                f"{name}: argnums={argnums} is out of range for {count} positional arguments"
            )
    positions = tuple(number % count for number in numbers)
    if len(set(positions)) < len(positions):
        raise RuntimeError(f"{name}: argnums must differ, got {argnums}")
    return positions


def grad_and_value(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """The function that gives the gradient of ``func`` and its value.

    Args:
        func: returns one number; with ``has_aux`` a pair of it and tensors.
        argnums: the positional argument (or a tuple of several) to differentiate by; each a tensor
            or a nested dict, list or tuple of tensors.
        has_aux: give ``(gradient, (value, aux))``.

    Raises:
        RuntimeError: the value is no single number, ``argnums`` is out of range, or hooks on saved
            tensors are in use.

    Example:
        >>> import nnkit
        >>> nnkit.func.grad_and_value(lambda x: (x**2).sum())(nnkit.tensor([1.0, 2.0]))
        (tensor([2., 4.]), tensor(5.))
    """

    def both(*args: Any, **kwargs: Any) -> Any:
        if argnums == ():
            raise RuntimeError("grad: argnums must not be empty")
        call = _Call("grad", func, args, argnums, kwargs, has_aux)
        value = call.value
        if not isinstance(value, Tensor) or value.ndim != 0:
            shown = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise RuntimeError(f"grad: the function must return a 0-dim tensor, got {shown}")
        if value.is_complex():
            raise RuntimeError(f"grad: the function must return a real number, got {value.dtype}")
        gradient, value = call.pull([None]), call.shown(value)
        return gradient, (value, call.shown(call.aux)) if has_aux else value

    return both


def grad(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """The function that gives the gradient of ``func``; arguments as of `grad_and_value`.

    Example:
        >>> import nnkit
        >>> grad = nnkit.func.grad
        >>> grad(grad(lambda x: x**3))(nnkit.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def _refuse_integers(name: str, outputs: Sequence[Tensor]) -> None:
    for output in outputs:
        if not (output.is_floating_point() or output.is_complex()):
            raise RuntimeError(
                f"{name}: the function must return floating-point or complex tensors, "
                f"got {output.dtype}"
            )


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``func`` and the function from its cotangents to those of the arguments.

    Args:
        func: returns a tensor, or a nested dict, list or tuple of tensors; with ``has_aux`` a pair.
        primals: its arguments, of the same kind.
        has_aux: give ``(value, function, aux)``.

    Raises:
        RuntimeError: something else than tensors is returned, the cotangents are of another
            structure or shape, or hooks on saved tensors are in use.
        ValueError: an argument is no tensor.

    Example:
        >>> import nnkit
        >>> value, pull = nnkit.func.vjp(lambda x: x**2, nnkit.tensor([1.0, 2.0]))
        >>> pull(nnkit.ones(2))
        (tensor([2., 4.]),)
    """
    call = _Call("vjp", func, primals, tuple(range(len(primals))), {}, has_aux)
    _refuse_integers("vjp", call.outputs)
    expected = structure(call.value)

    def pull(cotangents: Any, retain_graph: bool = True) -> tuple:
        given = structure(cotangents)
        if given != expected:
            raise RuntimeError(
                f"vjp: expected cotangents of the structure of the outputs {expected}, got {given}"
            )
        return call.pull(flatten(cotangents)[0], retain_graph)

    shown = call.shown(call.value)
    return (shown, pull, call.shown(call.aux)) if has_aux else (shown, pull)


class _Linearized:
    """A function at a point: its value there, and its derivatives in directions.

    The gradient of the outputs, each times a weight, is linear in the weights: its own derivative
    by them is the derivative of the function. So the weights may be zeros.
    """

    def __init__(self, name: str, func: Callable, primals: Any, has_aux: bool = False) -> None:
        self.name = name
        self.primals = primals
        self.call = call = _Call(
            name, func, primals, tuple(range(len(primals))), {}, has_aux, hooks=True
        )
        level = call.level
        if not level.inputs:
            raise RuntimeError(f"{name}: the arguments must hold at least one tensor")
        self.outputs = [o for o in call.outputs if o.is_floating_point() or o.is_complex()]
        self.weights = [level.leaf(zeros_like(output)) for output in self.outputs]
        self.gradients = level.gradients(self.outputs, level.inputs, self.weights, True)

    def derivative(self, tangents: tuple) -> Any:
        """The derivative of the outputs in the direction of ``tangents``, in their structure."""
        if structure(tangents) != structure(self.primals):
            raise RuntimeError(
                f"{self.name}: the tangents must have the structure of the arguments "
                f"{structure(self.primals)}, got {structure(tangents)}"
            )
        call = self.call
        directions, _ = flatten(tangents)
        for point, direction in zip(call.level.inputs, directions, strict=True):
            if point.shape != direction.shape:
                raise RuntimeError(
                    f"{self.name}: a tangent must have the shape of its argument "
                    f"{list(point.shape)}, got {list(direction.shape)}"
                )
        found = dict(
            zip(
                map(id, self.outputs),
                call.level.pull(self.gradients, self.weights, directions),
                strict=True,
            )
        )
        _, rebuild = flatten(call.value)
        return rebuild([found.get(id(o), zeros_like(o)) for o in call.outputs])


def jvp(
    func: Callable, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple:
    """The value of ``func`` and its derivative in the direction of ``tangents``.

    Computed by differentiating a gradient by its weights, not forwards: what the function computes
    under ``no_grad`` is constant here.

    Args:
        func: returns a tensor, or a nested dict, list or tuple of tensors; with ``has_aux`` a pair.
        primals: a tuple of its arguments, of the same kind.
        tangents: their direction, of the same structure and shapes.
        strict: refuse an output that does not depend on the arguments, instead of giving zeros.
        has_aux: give ``(value, derivative, aux)``.

    Raises:
        RuntimeError: primals or tangents are no tuple, differ in structure or shapes, or something
            else than tensors is returned.

    Example:
        >>> import nnkit
        >>> nnkit.func.jvp(lambda x: x**2, (nnkit.tensor(3.0),), (nnkit.tensor(1.0),))
        (tensor(9.), tensor(6.))
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(f"jvp: {name} must be a tuple, got {type(given).__name__}")
    linear = _Linearized("jvp", func, primals, has_aux)
    call = linear.call
    if strict and not all(call.level.is_reached(output) for output in call.outputs):
        raise RuntimeError("jvp: with strict every output must depend on the arguments")
    result = call.shown(call.value), linear.derivative(tangents)
    return (*result, call.shown(call.aux)) if has_aux else result


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """The value of ``func`` and the function from directions to the derivatives in them.

    As `jvp`, with the function called once for any number of directions.

    Raises:
        RuntimeError: there is no tensor among the arguments; or from the returned function, if the
            directions differ from the arguments in structure or shapes.

    Example:
        >>> import nnkit
        >>> value, derivative = nnkit.func.linearize(lambda x: x**2, nnkit.tensor(3.0))
        >>> derivative(nnkit.tensor(1.0))
        tensor(6.)
    """
    linear = _Linearized("linearize", func, primals)
    return linear.call.shown(linear.call.value), lambda *tangents: linear.derivative(tangents)


def jacrev(
    func: Callable,
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable:
    """The function that gives the Jacobian of ``func``: the output's shape, then the argument's.

    Args:
        func: returns a tensor, or a nested structure of tensors; with ``has_aux`` a pair.
        argnums: as of `grad_and_value`.
        has_aux: give ``(jacobian, aux)``.
        chunk_size: accepted; rows are computed one by one in any case.

    Raises:
        RuntimeError: an output is complex or an integer, ``argnums`` is out of range, or hooks on
            saved tensors are in use.
        ValueError: ``chunk_size`` is less than 1.

    Example:
        >>> import nnkit
        >>> nnkit.func.jacrev(lambda x: x**2)(nnkit.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"jacrev: chunk_size must be at least 1, got {chunk_size}")

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = _Call("jacrev", func, args, argnums, kwargs, has_aux)
        _refuse_integers("jacrev", call.outputs)
        for tensor in (*call.level.inputs, *call.outputs):
            if tensor.is_complex():
                raise RuntimeError(f"jacrev: expected real tensors, got {tensor.dtype}")
        _, rebuild = flatten(call.value)
        found = rebuild([call.arranged(_rows(output, call.level)) for output in call.outputs])
        return (found, call.shown(call.aux)) if has_aux else found

    return jacobian


def _rows(output: Tensor, level: Level) -> list[Tensor]:
    """The Jacobians of one output by the inputs of its level."""
    units = eye(output.numel(), dtype=output.dtype, device=output.device)
    rows = [level.pull([output], level.inputs, [unit.view(output.shape)]) for unit in units]
    shapes = [(*output.shape, *point.shape) for point in level.inputs]
    if not rows:
        return [point.new_zeros(s) for point, s in zip(level.inputs, shapes, strict=True)]
    with inference_mode(False) if MODE.inference else nullcontext():  # as its rows are
        return [stack(c).reshape(s) for c, s in zip(zip(*rows, strict=True), shapes, strict=True)]


def jacfwd(
    func: Callable, argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable:
    """As `jacrev`, which computes it: what is computed under ``no_grad`` is constant here.

    Args:
        func, argnums, has_aux: as of `jacrev`.
        randomness: "error" refuses to draw random numbers; the function is called once, so that
            "same" and "different" are the same.

    Raises:
        RuntimeError: as `jacrev`, or random numbers are drawn while ``randomness`` is "error".

    Example:
        >>> import nnkit
        >>> nnkit.func.jacfwd(nnkit.sin)(nnkit.zeros(1))
        tensor([[1.]])
    """
    jacobian = jacrev(func, argnums, has_aux=has_aux)

    def forward(*args: Any, **kwargs: Any) -> Any:
        with drawing(randomness):
            return jacobian(*args, **kwargs)

    return forward


def hessian(func: Callable, argnums: Any = 0) -> Callable:
    """The function that gives the second derivatives of ``func``.

    Example:
        >>> import nnkit
        >>> nnkit.func.hessian(lambda x: (x**3).sum())(nnkit.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
