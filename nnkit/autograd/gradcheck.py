"""`gradcheck` and `gradgradcheck`: analytical gradients against finite differences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from nnkit.autograd.arguments.annotations import is_number
from nnkit.autograd.batch.examples import BatchLevel
from nnkit.autograd.engine.grad import grad
from nnkit.autograd.forward.dual import ForwardLevel
from nnkit.autograd.forward_ad import dual_level, make_dual, unpack_dual
from nnkit.autograd.function import Function
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.public import METHODS
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.ops.creation.factories import complex_
from nnkit.autograd.ops.creation.ranges import arange
from nnkit.autograd.ops.shape.joining import stack
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.dtype import complex128, float64
from nnkit.backend.memory import has_expanded, sparse_coo, strided
from nnkit.backend.warning import warn

GOLDEN_RATIO = (1 + math.sqrt(5)) / 2
# The seeds of directions. Along the same one a Jacobian and its transpose would look alike.
INPUT, OUTPUT = 0, 1


class GradcheckError(RuntimeError):
    """An analytical gradient does not agree with the numerical one."""


def _tensors(value: Any) -> tuple[Tensor, ...]:
    values = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(v for v in values if isinstance(v, Tensor))


def _differentiable(value: Any) -> tuple[Tensor, ...]:
    return tuple(t for t in _tensors(value) if t.requires_grad)


def _values(t: Any) -> Tensor:
    """The stored values of a tensor: all of a strided one."""
    return t if t.layout is strided else t.stored()


def _dense(t: Any) -> Tensor:
    return t if t.layout is strided else t.to_dense()


def _places(t: Tensor, role: int, fast: bool) -> Any:
    """The elements that are moved one after the other; in fast mode the direction in which all are
    at once."""
    if fast:
        return [_direction(t, role)]
    return itertools.product(*(range(n) for n in t._array.shape))


def _direction(t: Tensor, role: int) -> Tensor:
    """In fast mode, by how much the elements of an input or output are moved: a unit vector."""
    values = _pattern(t, role)
    return values / values.norm()


def _pattern(like: Tensor, seed: int) -> Tensor:
    """A number for each element, in [0.25, 1.25), of its own: multiples of the golden ratio have
    other fractions each."""
    steps = arange(like._array.size, dtype=float64, device=like.device)
    return (steps * GOLDEN_RATIO + 0.3 * seed) % 1 + 0.25


def _wide(t: Tensor) -> Tensor:
    """A copy in double precision: what a function returns may lie in its input's memory."""
    return t.detach().to(complex128 if t.is_complex() else float64, copy=True)


def _steps(x: Tensor) -> list[Any]:
    """The directions in which one element of x is moved."""
    return [1.0, 1j] if x.is_complex() else [1.0]


def _numerical(function: Callable, x: Tensor, eps: float, fast: bool) -> list[Tensor]:
    """For each output its differences: (directions, places of x, elements of the output)."""
    forms = [(t.shape, t.dtype) for t in _tensors(function())]

    def evaluate() -> list[Tensor]:
        # In the grad mode of the analytical run: what a function returns may depend on it.
        found = _tensors(function())
        for (shape, kind), t in zip(forms, found, strict=True):
            for what, before, now in (("shape", shape, t.shape), ("dtype", kind, t.dtype)):
                if before != now:
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are "
                        f"perturbed by {eps}, but got {before} and {now}"
                    )
        return [_wide(t) for t in found]

    after, before = [], []
    start = _values(x).detach().clone()
    for step in _steps(x):
        for place in _places(x, INPUT, fast):
            for found, by in ((after, eps * step), (before, -eps * step)):
                _move(x, start, place, by)
                found.append(evaluate())
            _move(x, start, place, 0)
    tables = []
    for plus, minus in zip(zip(*after, strict=True), zip(*before, strict=True), strict=True):
        table = (stack(plus) - stack(minus)) / (2 * eps)
        moves = 1 if fast else x._array.size
        tables.append(table.reshape(len(_steps(x)), moves, plus[0].numel()))
    return tables


def _move(x: Tensor, start: Tensor, place: tuple | Tensor, by: Any) -> None:
    """Write an element of ``x``, or all along a direction, of which no graph knows."""
    B = x._device.backend
    if isinstance(place, tuple):
        B.fill_(B.getitem(x._array, (*place, ...)), start[place].item() + by)
    else:
        moved = start.reshape(-1) + place * by
        B.copy_(x._array, moved.to(start.dtype).reshape(start.shape)._array)


def _unit(like: Tensor, place: tuple | Tensor, unit: Any) -> Tensor:
    """A move of ``like`` from 0."""
    moved = _zeros(like)
    _move(moved, _zeros(like), place, unit)
    return moved


def _analytical(
    outputs: tuple, inputs: list[Tensor], position: int, unit: Any, fast: bool
) -> list[Tensor]:
    """For each input its gradients for a unit gradient at each place of output ``position``."""
    out = outputs[position]
    rows: list[list[Tensor]] = [[] for _ in inputs]
    for place in _places(out, OUTPUT, fast):
        found = grad(out, inputs, _unit(out, place, unit), retain_graph=True, allow_unused=True)
        for kept, x, g in zip(rows, inputs, found, strict=True):
            kept.append(_zeros(x) if g is None else _values(g).detach())
    tables = []
    for kept, x in zip(rows, inputs, strict=True):
        table = _wide(stack(kept) if kept else _zeros(x)[None][:0])
        table = table.reshape(len(kept), x._array.size)
        tables.append(_along(table, x, INPUT) if fast else table)
    return tables


def _along(rows: Tensor, of: Tensor, role: int) -> Tensor:
    """In fast mode, what rows of elements are along the direction of an input or output."""
    return (rows * _direction(of, role)).sum(-1, keepdim=True)


def _zeros(like: Tensor) -> Tensor:
    data = like._array
    return wrap(like._device.backend.zeros(data.shape, data.dtype), like._device)


def gradcheck(
    func: Callable,
    inputs: Tensor | Sequence,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of ``func`` with central finite differences.

    Args:
        func: takes ``inputs``, returns a tensor or a tuple of tensors.
        inputs: tensors; those that require grad (float64 or complex128) are checked. Of a sparse
            one the elements that are stored vary.
        eps: the step of the differences.
        atol, rtol: tolerances of the comparison.
        raise_exception: raise `GradcheckError` instead of returning False.
        nondet_tol: how much two runs of backward may differ.
        check_backward_ad, check_forward_ad: which derivatives to check.
        check_undefined_grad: whether backward must do without the gradients of some outputs, and
            forward mode without the tangent of an input.
        fast_mode: compare along one direction of each input and output, not all elements.
        check_batched_grad, check_batched_forward_grad: whether `nnkit.vmap` must compute the
            gradients for several of an output at once, and the tangents for several of an input.
        check_grad_dtypes, masked: accepted as torch does.

    Raises:
        ValueError: no input requires grad, or an output is sparse.
        AssertionError: neither ``check_backward_ad`` nor ``check_forward_ad`` is true.
        GradcheckError: a gradient is wrong.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([0.5, 2.0], dtype=nnkit.float64, requires_grad=True)
        >>> nnkit.autograd.gradcheck(lambda x: x.exp() * x, (x,))
        True
    """
    if not (check_backward_ad or check_forward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    for name, number in (("eps", eps), ("atol", atol), ("rtol", rtol)):
        if not is_number(number):
            raise TypeError(
                f"gradcheck(): argument '{name}' must be float, not {type(number).__name__}"
            )
    if isinstance(eps, bool):
        raise RuntimeError("gradcheck(): argument 'eps' must be float, not bool")
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    try:
        directions = check_backward_ad, check_forward_ad
        _check(func, inputs, eps, atol, rtol, nondet_tol, fast_mode, *directions)
        if check_undefined_grad and check_backward_ad:
            _check_undefined(func, inputs)
        if check_undefined_grad and check_forward_ad:
            _check_undefined_tangents(func, inputs)
        if check_batched_grad and check_backward_ad:
            _check_batched(func, inputs)
        if check_batched_forward_grad and check_forward_ad:
            _check_batched_tangents(func, inputs)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(
    func: Callable, inputs: tuple, eps: float, atol: float, rtol: float, nondet_tol: float,
    fast: bool, backwards: bool, forwards: bool,
) -> None:  # fmt: skip
    checked = _checked(inputs)
    produced = func(*inputs)
    outputs = _differentiable(produced)
    if any(out.layout is not strided for out in outputs):
        raise ValueError(
            "Sparse output is not supported at gradcheck yet. Please call to_dense() on the output "
            "of fn for gradcheck."
        )
    positions = [i for i, t in enumerate(_tensors(produced)) if t.requires_grad]
    varied = [(k, x) for k, x in enumerate(checked) if x._array.size]
    tables = {k: _numerical(lambda: func(*inputs), x, eps, fast) for k, x in varied}
    if not outputs and any((table.abs() > atol).any() for t in tables.values() for table in t):
        raise GradcheckError(
            "Numerical gradient for function expected to be zero: none of its outputs is "
            "differentiable"
        )

    def compare(out: Tensor, x: Tensor, *found: Any) -> None:
        wide = float(_direction(out, OUTPUT).sum() * _direction(x, INPUT).sum()) if fast else 1
        _compare(*found, atol=atol * wide, rtol=rtol)

    silent = _of_no_gradient(outputs, checked) if backwards else []
    moved = [x for _, x in varied]
    for position, out in enumerate(outputs) if backwards and varied else ():
        for unit in reversed(_steps(out)):  # in torch's order
            pulled, again = [_analytical(outputs, moved, position, unit, fast) for _ in range(2)]
            for (k, x), analytical, second in zip(varied, pulled, again, strict=True):
                if ((analytical - second).abs() > nondet_tol).any():
                    raise GradcheckError(f"Backward is not reentrant: input {k}, output {position}")
                parts = (tables[k][positions[position]] * unit.conjugate()).real
                parts = _along(parts, out, OUTPUT) if fast else parts
                # Backward gives the derivatives by the two parts of a complex number as one.
                expected = complex_(*parts) if x.is_complex() else parts[0]
                what = f"{_part(out, unit, 'outputs')}Jacobian"
                compare(out, x, analytical, expected.mT, what, k, position)
    for k, x in varied if forwards else ():
        _check_forwards(func, inputs, x, tables[k], compare, k, fast)
    if any(_wide(_values(g)).any() for g in silent):
        raise GradcheckError("backward not multiplied by grad_output")


def _checked(inputs: tuple) -> list[Tensor]:
    """The inputs that require grad.

    Raises:
        ValueError: there are none.
        RuntimeError: elements of one share memory.
    """
    checked = {i: t for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad}
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    for place, t in checked.items():
        if t.dtype not in (float64, complex128):
            warn(
                f"Input #{place} requires gradient and is not a double precision floating point "
                "or complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. "
            )
        if has_expanded(t._array):
            raise RuntimeError(
                f"The {place}th input has a dimension with stride 0. gradcheck only supports "
                "inputs that are non-overlapping: pass a clone of it"
            )
    return list(checked.values())


def _part(of: Tensor, unit: Any, which: str) -> str:
    """The part of complex numbers that is looked at, for a message."""
    if not of.is_complex():
        return ""
    part = "imaginary" if isinstance(unit, complex) else "real"
    return f"While considering the {part} part of complex {which} only, "


def _of_no_gradient(outputs: tuple, checked: list[Tensor]) -> list[Tensor]:
    """The gradients of the inputs where those of the outputs are 0.

    Raises:
        GradcheckError: one has not the layout of its input.
    """
    if not outputs:
        return []
    seeds = [_zeros(out) for out in outputs]
    grads = grad(outputs, checked, seeds, retain_graph=True, allow_unused=True)
    for g, x in zip(grads, checked, strict=True):
        if g is not None and g.layout is not x.layout:
            raise GradcheckError(f"grad is incorrect layout ({g.layout} is not {x.layout})")
        for name in ("sparse_dim", "dense_dim") if x.layout is sparse_coo and g is not None else ():
            if getattr(g, name)() != getattr(x, name)():
                raise GradcheckError(f"grad is sparse tensor, but has incorrect {name}")
    return [g for g in grads if g is not None]


def _check_forwards(
    func: Callable, inputs: tuple, x: Tensor, tables: list, compare: Callable, k: int, fast: bool
) -> None:
    """The tangents of all outputs for each unit tangent of one input."""
    for row, place in enumerate(_places(x, INPUT, fast)):
        for column, unit in enumerate(_steps(x)):
            tangent = _unit(x, place, unit)
            with ForwardLevel(x._device) as level:
                points = [_lifted(level, t, tangent if t is x else None) for t in inputs]
                found = [level.lower(t) for t in _tensors(func(*points))]
            what = f"{_part(x, unit, 'inputs')}Jacobian computed with forward mode"
            for position, (output, moved) in enumerate(found):
                got = _wide(_zeros(output) if moved is None else moved).reshape(1, output.numel())
                expected = tables[position][column, row][None]
                if fast:
                    got, expected = (_along(rows, output, OUTPUT) for rows in (got, expected))
                compare(output, x, got, expected, what, k, position)


def _lifted(level: ForwardLevel, t: Any, tangent: Tensor | None) -> Any:
    """An argument of the function in a forward level; its tangent is zero if none is given."""
    if not isinstance(t, Tensor):
        return t
    if tangent is None and t.requires_grad:
        tangent = LIFTED.zeros_like(t.detach())
    # The function may itself ask for gradients.
    return level.lift(t.detach(), tangent)._set_requires_grad(t.requires_grad)


def _check_undefined_tangents(func: Callable, inputs: tuple) -> None:
    """Run forward mode without the tangent of each input: the outputs' are those of zeros."""
    checked = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    for without in checked:
        ways = []
        for still in (_zeros(inputs[without]), None):
            with ForwardLevel(inputs[without]._device) as level:
                points = list(inputs)
                for i in checked:
                    value = inputs[i].detach()
                    moved = _pattern(value, i).reshape(value.shape).to(value.dtype)
                    point = level.lift(value, still if i == without else moved)
                    points[i] = point._set_requires_grad(True)  # as `_check_forwards` has it
                ways.append([level.lower(t)[1] for t in _tensors(func(*points))])
        for position, (zero, none) in enumerate(zip(*ways, strict=True)):
            if zero is not None and none is not None and not METHODS["allclose"](zero, none):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {position} when input: "
                    f"{without} has an undefined tangent value"
                )


def _check_batched(func: Callable, inputs: tuple) -> None:
    """Compute the gradients of the inputs for two of each output, at once and one by one."""
    checked = [t for t in inputs if isinstance(t, Tensor) and t.requires_grad]
    for position, out in enumerate(_differentiable(func(*inputs))):

        def pull(g: Tensor, out: Tensor = out) -> tuple:
            # With Tensors, as those of a level must be.
            found = grad((out,), checked, (g,), create_graph=True, allow_unused=True)
            return tuple([_zeros(x) if one is None else one for one, x in zip(found, checked)])

        _compare_batched(pull, out, f"output {position}", "check_batched_grad", "")


def _check_batched_tangents(func: Callable, inputs: tuple) -> None:
    """Compute the tangents of the outputs for two of each input, at once and one by one."""
    values = [t.detach() if isinstance(t, Tensor) else t for t in inputs]
    for k, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue

        def push(tangent: Tensor, k: int = k) -> tuple:
            with dual_level():
                points = [make_dual(v, tangent) if i == k else v for i, v in enumerate(values)]
                pairs = map(unpack_dual, _tensors(func(*points)))
                return tuple([_zeros(p) if moved is None else moved for p, moved in pairs])

        _compare_batched(
            push, values[k], f"input {k}", "check_batched_forward_grad", " with forward-mode AD"
        )


def _compare_batched(function: Callable, like: Tensor, of: str, option: str, mode: str) -> None:
    """GradcheckError unless a function gives the same for each of two tensors as for both."""
    given = [LIFTED.mul(_pattern(like, i).reshape(like.shape), 2 - i) for i in range(2)]
    given = [g.to(like.dtype) for g in given]
    rows = [function(g) for g in given]
    refusal = (
        f"gradcheck or gradgradcheck failed while testing batched gradient computation{mode}, of "
        f"{of}: pass {option}=False if nnkit.vmap need not go through the derivative"
    )
    try:
        both = _at_once(function, stack(given))
    except RuntimeError as error:
        raise GradcheckError(f"{refusal}. It raised: {error}") from error
    for got, *one in zip(both, *rows, strict=True):
        expected = stack([_dense(row) for row in one])
        if not METHODS["allclose"](_dense(got), expected):
            raise GradcheckError(f"{refusal}. Got:\n{got}\nExpected:\n{expected}")


def _at_once(function: Callable, rows: Tensor) -> list[Tensor]:
    """The results of a function for all rows, on a level; in it no random numbers are drawn."""
    before, MODE.refuses_random = MODE.refuses_random, True
    try:
        with BatchLevel(rows._device, len(rows), "error") as level:
            lowered = [level.lower(t) for t in function(level.lift(rows, 0))]
    finally:
        MODE.refuses_random = before
    return [
        LIFTED.expand(whole[None], (len(rows), *whole.shape)) if dim is None
        else whole.movedim(dim, 0)
        for whole, dim in lowered
    ]  # fmt: skip


class UndefinedGradBackward(Function):
    """Passes tensors on, and no gradient."""

    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Any:
        first, *others = inputs
        return inputs if others else first

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple:
        return (None,) * len(grads)


def _check_undefined(func: Callable, inputs: tuple) -> None:
    """Run backward without the gradients of all outputs, and of each one."""
    checked = [t for t in inputs if isinstance(t, Tensor) and t.requires_grad]
    count = len(_differentiable(func(*inputs)))
    ways = [range(count)] if count < 2 else [range(count), *[(i,) for i in range(count)]]
    for without in ways if count else ():
        outputs = [
            UndefinedGradBackward.apply(out) if i in without else out
            for i, out in enumerate(_differentiable(func(*inputs)))
        ]
        zeros = [wrap(o._device.backend.zeros_like(o._array), o._device) for o in outputs]
        try:
            grads = grad(outputs, checked, zeros, allow_unused=True)
        except RuntimeError as error:
            _refuse("Expected backward function to handle undefined output grads", error)
        if any(g is not None and _wide(_values(g)).any() for g in grads):
            _refuse(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero",
                None,
            )


def _refuse(reason: str, error: Exception | None) -> NoReturn:
    warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function: check_undefined_grad=False "
        "switches it off"
    )
    raise GradcheckError(f"{reason}. Please look at check_undefined_grad") from error


def _compare(
    analytical: Tensor, expected: Tensor, what: str, k: int, position: int, atol: float, rtol: float
) -> None:
    close = (analytical - expected).abs() <= atol + rtol * expected.abs()
    if not close.all():
        o, i = close.logical_not().nonzero()[0].tolist()
        raise GradcheckError(
            f"{what} mismatch for output {position} with respect to input {k}: at "
            f"output element {o}, input element {i} numerical:{expected[o, i].item()} "
            f"analytical:{analytical[o, i].item()}"
        )


def gradgradcheck(
    func: Callable,
    inputs: Tensor | Sequence,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the second derivatives of ``func`` with finite differences of the first.

    The gradients of the outputs are ``grad_outputs``, or made up (fixed, of mixed sizes).
    The other arguments are those of `gradcheck`.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([0.5, 2.0], dtype=nnkit.float64, requires_grad=True)
        >>> nnkit.autograd.gradgradcheck(lambda x: x.exp() * x, (x,))
        True
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if grad_outputs is None:
        outputs = _differentiable(func(*inputs))
        grad_outputs = tuple(_made_up(o, i) for i, o in enumerate(outputs))
    else:
        grad_outputs = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    count = len(grad_outputs)

    def first(*arguments: Any) -> tuple:
        own, seeds = arguments[: len(arguments) - count], arguments[len(arguments) - count :]
        outputs = _differentiable(func(*own))
        wanted = tuple(t for t in own if isinstance(t, Tensor) and t.requires_grad)
        grads = grad(outputs, wanted, seeds, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None and g.requires_grad)

    return gradcheck(
        first, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_backward_ad=check_rev_over_rev, check_forward_ad=check_fwd_over_rev,
    )  # fmt: skip


def _made_up(out: Tensor, seed: int) -> Tensor:
    """A gradient of mixed sizes."""
    return _pattern(out, seed).reshape(out.shape).to(out.dtype).requires_grad_()
