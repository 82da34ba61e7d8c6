"""Transforms from functions to their derivatives: `grad`, `vjp`, `jacrev`, `jvp`, ...

Each is computed on a level of its own: a backward one (`nnkit.func.level`), or for `jvp` and
`jacfwd` a forward one (`nnkit.autograd.forward.dual`). A derivative inside another transform, or of
tensors that require grad, can itself be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial, wraps
from typing import Any

from nnkit.autograd import Tensor, inference_mode
from nnkit.autograd.batch.examples import BatchLevel
from nnkit.autograd.engine.saved import STACK
from nnkit.autograd.forward.dual import ForwardLevel, same
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.graph import disable_saved_tensors_hooks
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.ops.shape.joining import cat
from nnkit.func.level import (
    Level,
    check_tensors,
    refusing_captured,
    transforming,
    without_lost,
)
from nnkit.func.vmap import checked_chunk_size, drawing
from nnkit.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_map, tree_structure

_NO_HOOKS = "nnkit.func: grad, vjp, jacrev and hessian do not support saved tensor hooks"
# torch's words for the call of the user's function, in messages.
_CALLS = {
    "grad": "grad_and_value(f)(*args)",
    **dict.fromkeys(("vjp", "jacrev"), "vjp(f, *primals)"),
    **dict.fromkeys(("jvp", "jacfwd"), "jvp(f, primals, tangents)"),
}


class _Call:
    """A call of a function on a new level; its result can be differentiated."""

    def __init__(
        self, name: str, func: Callable, args: tuple, argnums: Any, kwargs: dict[str, Any],
        has_aux: bool,
    ) -> None:  # fmt: skip
        self.argnums = argnums
        numbers = _positions(name, argnums, len(args))
        values, self.structure = tree_flatten(tuple(args[n] for n in numbers))
        self.level = level = Level(values, name)
        points = list(args)
        for number, value in zip(numbers, self.structure.unflatten(level.inputs), strict=True):
            points[number] = value
        given = [*tree_leaves(points), *tree_leaves(kwargs)]
        with level, _without_hooks(), refusing_captured(given):
            result = func(*points, **kwargs)
        self.value, self.aux = _pair(name, result) if has_aux else (result, ())
        self.outputs, _ = _outputs(name, self.value)
        _tensors(self.aux, "Expected tensors")

    def pull(
        self, weights: Sequence[Any], retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        """The gradients of the outputs times ``weights`` with respect to the arguments, in the
        structure of these."""
        level = self.level
        found = level.pull(self.outputs, level.inputs, weights, retain_graph, create_graph)
        return self.arranged(found)

    def arranged(self, leaves: list[Any]) -> Any:
        """One value for each input, in the structure of the arguments."""
        values = self.structure.unflatten(leaves)
        return values if isinstance(self.argnums, tuple) else values[0]

    def shown(self, tree: Any) -> Any:
        """The results of the function as seen by the code around the transform."""
        leaves, structure = tree_flatten(tree)
        return structure.unflatten(self.level.results(leaves, self.level.recorded))


def _outputs(name: str, tree: Any) -> tuple[list[Tensor], TreeSpec]:
    """The tensors that a function returned (at least one), and their structure."""
    said = _CALLS.get(name, name)
    leaves = tree_leaves(tree)
    if len(leaves) < 2 and all(leaf is None for leaf in leaves):
        raise RuntimeError(
            f"{said}: Expected f to be a function that has non-empty output: it must return "
            f"tensors, got {tree}"
        )
    return _tensors(tree, f"{said}: expected f(*primals) to return only tensors")


def _tensors(tree: Any, expected: str) -> tuple[list[Tensor], TreeSpec]:
    """The tensors of a tree, and its structure."""
    leaves, structure = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{expected}, got unsupported type {type(leaf)}")
    return leaves, structure


def _without_hooks() -> Any:
    if STACK.pairs:
        raise RuntimeError(_NO_HOOKS)
    return disable_saved_tensors_hooks(_NO_HOOKS)


def _pair(name: str, result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        shown = f"{len(result)} values" if isinstance(result, tuple) else type(result).__name__
        raise RuntimeError(
            f"{_CALLS.get(name, name)}: output of function f should be a tuple: (output, aux) if "
            f"has_aux is True, got {shown}"
        )
    return result


def _positions(name: str, argnums: Any, count: int) -> tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, tuple) or not all(isinstance(n, int) for n in numbers):
        raise RuntimeError(f"{name}: argnums must be int or Tuple[int, ...], got: {argnums!r}")
    if not numbers and count:  # without arguments, calling the function raises
        raise RuntimeError(f"{name}: argnums must be non-empty")
    for number in numbers:
        if not -count <= number < count:
            raise RuntimeError(f"{name}: Got argnum={number}, but only {count} positional inputs")
    positions = tuple(number % count for number in numbers)
    if len(set(positions)) < len(positions):
        raise RuntimeError(f"{name}: argnums elements must be unique, got {argnums}")
    return positions


def grad_and_value(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """A function that returns the gradient of ``func`` and its value.

    Args:
        func: returns a 0-dim tensor; with ``has_aux``, a pair of that and auxiliary tensors.
        argnums: the position of the argument to differentiate with respect to, or a tuple of
            positions. Each argument is a tensor or a nested dict, list or tuple of tensors.
        has_aux: return ``(gradient, (value, aux))``.

    Raises:
        RuntimeError: the value is not a 0-dim tensor, ``argnums`` is out of range, or hooks on
            saved tensors are active.

    Example:
        >>> import nnkit
        >>> nnkit.func.grad_and_value(lambda x: (x**2).sum())(nnkit.tensor([1.0, 2.0]))
        (tensor([2., 4.]), tensor(5.))
    """

    @wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        call = _Call("grad", func, args, argnums, kwargs, has_aux)
        value = call.value
        if not isinstance(value, Tensor) or value.ndim != 0:
            shown = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise RuntimeError(f"grad: the function must return a 0-dim tensor, got {shown}")
        if value.is_complex() and value.requires_grad:
            raise RuntimeError(f"grad: the function must return a real number, got {value.dtype}")
        gradient, value = call.pull([None]), call.shown(value)
        return gradient, (value, call.shown(call.aux)) if has_aux else value

    return both


def grad(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """A function that returns the gradient of ``func``; for the arguments see `grad_and_value`.

    Example:
        >>> import nnkit
        >>> grad = nnkit.func.grad
        >>> grad(grad(lambda x: x**3))(nnkit.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
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


def _refuse_complex(name: str, which: str, values: Iterable[Any]) -> None:
    for place, value in enumerate(values):
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {which} to be real but received complex tensor at flattened "
                f"{which[:-1]} idx: {place}"
            )


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``func``, and the function that maps cotangents of the value to those of the
    arguments.

    Args:
        func: returns a tensor or a nested dict, list or tuple of tensors; with ``has_aux``, a pair
            of that and auxiliary tensors.
        primals: the arguments, of the same kind.
        has_aux: return ``(value, function, aux)``.

    Raises:
        RuntimeError: ``func`` returns something other than tensors, the cotangents have another
            structure or shape, or hooks on saved tensors are active.
        ValueError: an argument is not a tensor.

    Example:
        >>> import nnkit
        >>> value, pull = nnkit.func.vjp(lambda x: x**2, nnkit.tensor([1.0, 2.0]))
        >>> pull(nnkit.ones(2))
        (tensor([2., 4.]),)
    """
    call = _Call("vjp", func, primals, tuple(range(len(primals))), {}, has_aux)
    _refuse_integers("vjp", call.outputs)
    expected = tree_structure(call.value)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> tuple:
        given = tree_structure(cotangents)
        if given != expected:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {given}, primal output: {expected}"
            )
        return call.pull(tree_leaves(cotangents), retain_graph, create_graph)

    shown = call.shown(call.value)
    return (shown, pull, call.shown(call.aux)) if has_aux else (shown, pull)


class _Forward:
    """The results of a function on a new forward level.

    Args:
        numbers: the positions of the arguments whose tensors have tangents.
        tangents: one for each of these tensors.
    """

    def __init__(
        self, name: str, func: Callable, args: tuple, numbers: Sequence[int],
        tangents: Sequence[Tensor], has_aux: bool = False,
    ) -> None:  # fmt: skip
        values, structure = tree_flatten(tuple(args[n] for n in numbers))
        tangents = tangents if MODE.enabled else list(map(without_lost, tangents))
        points = list(args)
        level = ForwardLevel(values[0].device, batched=name == "jacfwd")
        with level, transforming():
            duals = list(map(level.point, values, tangents))
            for number, point in zip(numbers, structure.unflatten(duals), strict=True):
                points[number] = point
            primals = [level.lower(dual)[0] for dual in duals]
            with refusing_captured([*primals, *tree_leaves(points)]):
                result = func(*points)
            value, aux = _pair(name, result) if has_aux else (result, ())
            leaves, self.structure = _outputs(name, value)
            # (primal, tangent or None) of each output
            self.outputs = [level.lower(leaf) for leaf in leaves]
            leaves, structure = _tensors(aux, "Expected tensors")
            self.aux = structure.unflatten([level.lower(leaf)[0] for leaf in leaves])


def jvp(
    func: Callable, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple:
    """The value of ``func`` and its derivative in the direction of ``tangents``.

    The derivative is computed forwards, along with the value. What ``func`` computes under
    ``no_grad`` has a derivative as well; what it detaches or computes in ``inference_mode`` has
    none.

    Args:
        func: returns a tensor or a nested dict, list or tuple of tensors; with ``has_aux``, a pair
            of that and auxiliary tensors.
        primals: the tuple of arguments, of the same kind.
        tangents: the direction, with the structure and shapes of the arguments.
        strict: raise if an output does not depend on the arguments, instead of returning zeros.
        has_aux: return ``(value, derivative, aux)``.

    Raises:
        RuntimeError: primals or tangents are not a tuple or differ in structure or shapes, or
            ``func`` returns something other than tensors.

    Example:
        >>> import nnkit
        >>> nnkit.func.jvp(lambda x: x**2, (nnkit.tensor(3.0),), (nnkit.tensor(1.0),))
        (tensor(9.), tensor(6.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{_CALLS['jvp']}: Expected primals to be a tuple, got {type(primals).__name__}"
        )
    call = _along("jvp", func, primals, tangents, has_aux)
    if strict and any(tangent is None for _, tangent in call.outputs):
        raise RuntimeError("jvp: with strict every output must depend on the arguments")
    with _not_of_inference():
        derivatives = [LIFTED.zeros_like(p) if t is None else t for p, t in call.outputs]
    with transforming():
        values = [same(primal) for primal, _ in call.outputs]
    result = call.structure.unflatten(values), call.structure.unflatten(derivatives)
    return (*result, call.aux) if has_aux else result


def _along(
    name: str, func: Callable, primals: tuple, tangents: tuple, has_aux: bool = False
) -> _Forward:
    """The call of a function with its derivative in one direction."""
    if tree_structure(tangents) != tree_structure(primals):
        raise RuntimeError(
            f"{_CALLS.get(name, name)}: Expected primals and tangents to have the same python "
            f"structure, got {tree_structure(primals)} and {tree_structure(tangents)}"
        )
    points, directions = tree_leaves(primals), tree_leaves(tangents)
    if not points:
        raise RuntimeError(
            f"{_CALLS.get(name, name)}: Expected primals to contain at least one Tensor"
        )
    for what, leaves in (("primals", points), ("tangents", directions)):
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(
                    f"{name}: Expected {what} to only contain Tensors, got {type(leaf).__name__}"
                )
            if not (leaf.is_floating_point() or leaf.is_complex()):
                raise ValueError(f"{name}: {what} must be floating or complex, got {leaf.dtype}")
    for point, direction in zip(points, directions, strict=True):
        if point.shape != direction.shape:
            raise RuntimeError(
                f"{name}: a tangent must have the shape of its argument "
                f"{list(point.shape)}, got {list(direction.shape)}"
            )
    return _Forward(name, func, primals, range(len(primals)), directions, has_aux)


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """The value of ``func`` and the function from directions to the derivatives in them.

    As `jvp`; each derivative is computed by another call of the function, which may therefore
    write to nothing that it captures (torch, which records the function once, lets it).

    Raises:
        RuntimeError: from the returned function, if the directions differ from the arguments in
            structure or shapes.

    Example:
        >>> import nnkit
        >>> value, derivative = nnkit.func.linearize(lambda x: x**2, nnkit.tensor(3.0))
        >>> derivative(nnkit.tensor(1.0))
        tensor(6.)
    """
    points, structure = tree_flatten(primals)
    if not points:
        value = func(*primals)
        return value, lambda *tangents: tree_map(LIFTED.zeros_like, value)
    kept = [p.clone() if isinstance(p, Tensor) else p for p in points]  # to stay there
    primals = structure.unflatten(kept)
    still = structure.unflatten([LIFTED.zeros_like(p) for p in tree_leaves(primals)])
    value, _ = jvp(func, primals, still)
    return value, lambda *tangents: jvp(func, primals, tangents)[1]


def jacrev(
    func: Callable,
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable:
    """The function that gives the Jacobian of ``func``: the output's shape, then the argument's.

    Args:
        func: returns a tensor, or a nested structure of tensors; with ``has_aux`` a pair.
        argnums: as of `grad_and_value`.
        has_aux: give ``(jacobian, aux)``.
        chunk_size: how many rows are computed at once, all if not given; a single one without
            `vmap`, with whatever that does not take.

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
    chunk_size = checked_chunk_size("jacrev", chunk_size)

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        _refuse_complex("jacrev", "inputs", tree_leaves(args))
        call = _Call("jacrev", func, args, argnums, kwargs, has_aux)
        _refuse_integers("jacrev", call.outputs)
        _refuse_complex("jacrev", "outputs", call.outputs)
        blocks = _by_output(call.outputs, call.level, chunk_size)
        found = tree_structure(call.value).unflatten(map(call.arranged, blocks))
        return (found, call.shown(call.aux)) if has_aux else found

    return jacobian


def _by_output(
    outputs: Sequence[Tensor], level: Level, chunk_size: int | None
) -> list[list[Tensor]]:
    """The Jacobians of each output by the inputs of its level.

    Those of all outputs by one input are parts of one tensor, as in torch.
    """
    sizes = [output.numel() for output in outputs]
    total = sum(sizes)
    step = chunk_size or max(total, 1)
    chunks = [
        _pulled(
            outputs, level, range(start, min(start + step, sum(sizes))), step == chunk_size == 1
        )
        for start in range(0, max(sum(sizes), 1), step)
    ]
    columns = []
    for point, *rows in zip(level.inputs, *chunks, strict=True):
        parts = (cat(rows) if len(rows) > 1 else rows[0]).split(sizes)
        shapes = [(*output.shape, *point.shape) for output in outputs]
        columns.append([part.view(s) for part, s in zip(parts, shapes, strict=True)])
    return list(map(list, zip(*columns, strict=True)))


def _pulled(outputs: Sequence[Tensor], level: Level, rows: range, alone: bool) -> list[Tensor]:
    """Some rows of the Jacobian of all outputs by each input of their level."""
    batch, weights = _units(outputs, rows)
    if alone and len(rows) == 1:
        found = level.pull(outputs, level.inputs, [batch.lower(w)[0][0] for w in weights])
        return [row[None] for row in found]
    with batch, drawing("different"):
        found = level.pull(outputs, level.inputs, weights)
    return [_rows(batch, value) for value in found]


def _rows(batch: BatchLevel, value: Tensor) -> Tensor:
    """The examples of a tensor of the level, one after the other."""
    whole, dim = batch.lower(value)
    if dim is None:
        return whole.expand(batch.size, *whole.shape)
    return whole if dim == 0 else whole.movedim(dim, 0)


def _not_of_inference(*parts: Tensor) -> Any:
    """A context for joining parts of a result, which is no inference tensor unless all parts
    are."""
    inferred = parts and all(part.is_inference() for part in parts)
    return inference_mode(False) if MODE.inference and not inferred else nullcontext()


def jacfwd(
    func: Callable, argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable:
    """As `jacrev`, computed forwards: columns of the Jacobian, carried along all at once.

    Args:
        func, argnums, has_aux: as of `jacrev`.
        randomness: "error" refuses to draw random numbers; "different" draws other ones for each
            element of the inputs, by which the outputs are differentiated.

    Raises:
        RuntimeError: as `jacrev`, or random numbers are drawn while ``randomness`` is "error".

    Example:
        >>> import nnkit
        >>> nnkit.func.jacfwd(nnkit.sin)(nnkit.zeros(1))
        tensor([[1.]])
    """

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        _refuse_complex("jacfwd", "inputs", tree_leaves(args))
        numbers = _positions("jacfwd", argnums, len(args))
        points, structure = tree_flatten(tuple(args[n] for n in numbers))
        check_tensors("jacfwd", points)
        if not points:
            raise AssertionError("jacfwd: what it differentiates by must hold a tensor at least")
        for point in points:
            if not (point.is_floating_point() or point.is_complex()):
                raise ValueError(
                    f"jacfwd: what it differentiates by must be floating, got {point.dtype}"
                )
        with drawing(randomness):
            called = partial(func, **kwargs)
            batch, units = _units(points, randomness=randomness)
            with batch:
                call = _Forward("jacfwd", called, args, numbers, units, has_aux)
        _refuse_complex("jacfwd", "outputs", [primal for primal, _ in call.outputs])
        blocks = [_by_point(batch, primal, t, points) for primal, t in call.outputs]
        arranged = map(structure.unflatten, blocks)
        found = call.structure.unflatten(
            arranged if isinstance(argnums, tuple) else (b[0] for b in arranged)
        )
        aux = tree_map(lambda t: batch.lower(t)[0], call.aux)
        return (found, aux) if has_aux else found

    return jacobian


def _units(
    points: Sequence[Tensor], rows: range | None = None, randomness: str = "same"
) -> tuple[BatchLevel, list[Tensor]]:
    """The unit vectors of the space that the points are one point of, or some, on a batch level."""
    sizes = [point.numel() for point in points]
    rows = range(sum(sizes)) if rows is None else rows
    batch = BatchLevel(points[0].device, len(rows), randomness)
    found, start = [], 0
    for point, size in zip(points, sizes, strict=True):
        unit = point.new_zeros(len(rows), size)
        unit.diagonal(rows.start - start).fill_(1)
        found.append(batch.lift(unit.view(len(rows), *point.shape), 0))
        start += size
    return batch, found


def _by_point(
    batch: BatchLevel, output: Tensor, tangent: Tensor | None, points: Sequence[Tensor]
) -> list[Tensor]:
    """The Jacobians of one output by each point, given its tangent in all unit directions."""
    sizes = [point.numel() for point in points]
    with _not_of_inference(*([] if tangent is None else [tangent])):
        rows = _rows(batch, LIFTED.zeros_like(output) if tangent is None else tangent)
        columns = rows.movedim(0, -1).split(sizes, -1)
        return [
            part.unflatten(-1, point.shape) if point.ndim else part.squeeze(-1)
            for part, point in zip(columns, points, strict=True)
        ]


def hessian(func: Callable, argnums: Any = 0) -> Callable:
    """The function that gives the second derivatives of ``func``.

    Example:
        >>> import nnkit
        >>> nnkit.func.hessian(lambda x: (x**3).sum())(nnkit.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
