"""Element-wise ops: each is declared by one formula and the formulas of its derivatives.

``pointwise("tanh", lambda x: fn.tanh(x), x=lambda g, out: g * (1 - out * out))`` makes

- the primitives ``tanh`` and ``tanh_grad_x``, for which every backend prints its own code,
- the op, differentiable to any order (`Lifted` evaluates the formulas on Tensors),
- the public function and the Tensor method, with type promotion, ``out=`` and ``tanh_``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

from nnkit.autograd.arguments.annotations import held
from nnkit.autograd.arguments.casting import CASTING, cast_operands
from nnkit.autograd.arguments.dims import broadcast_shape, broadcasts
from nnkit.autograd.arguments.overriding import ENTERED, NOBODY, PLAIN, ask
from nnkit.autograd.compiled import bind_op, bind_write
from nnkit.autograd.engine.node import edge_of
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.code import identity, node_name_of
from nnkit.autograd.op.inference import beside_unknown, is_seen_otherwise, record_seen, seen_edges
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import (
    EXACT,
    check_dtype,
    kernel_asked,
    on_one_device,
    operands_of,
    promoted_dtype,
    together,
    translated,
    wrong_type,
)
from nnkit.autograd.op.public import METHODS, PUBLIC, attach, known_as
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import Op, parameter_names, refusing, without_derivative
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.history import refresh
from nnkit.autograd.views.writes import check_cast, check_fits, write
from nnkit.backend.algebra import FORMULAS, register_formula
from nnkit.backend.dtype import (
    BOOL,
    FLOATING,
    INTEGER,
    OF_ARRAY,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int64,
    python_number,
    to_float,
)
from nnkit.backend.formula import Formula, fn

__all__ = ["attempting", "declined", "fn", "over_input", "pointwise", "writing"]

F4, F8 = float32.array, float64.array
INTEGERS = tuple([d.array for d in OF_ARRAY.values() if d.category == INTEGER and not d.is_stored])
HALVES = float16.array, bfloat16.array
COMPLEXES = complex64.array, complex128.array
# The ops defined for dtypes that are otherwise only stored and cast. Functions of kind "float" also
# take the unsigned integers.
_OF_STORED = {
    "unsigned": frozenset(
        ("mul", "eq", "ne", "bitwise_and", "bitwise_or", "bitwise_xor", "isnan", "isinf")
        + ("isfinite", "floor", "ceil", "round", "trunc", "where")
    ),
    "float8": frozenset(("mul", "abs", "eq", "ne", "isnan", "isinf", "isfinite", "where")),
}


def _gradient_rule(
    name: str, body: Callable, primitive: Any, stepwise: bool, by_rows: bool = False
) -> Callable:
    """The rule of one input: a formula, or `identity` if the body returns ``g`` itself."""
    if parameter_names(body)[0] == "B":  # it is a rule itself
        return body
    inputs = primitive.arrays
    # As in torch, the memory order of the result follows the operands, the gradient first.
    whole = {"g", "out", *(inputs if len(inputs) == 1 else ())} if stepwise else ()
    formula = Formula(
        name, body, primitive.statics, whole=whole, by_rows=by_rows, stepwise=stepwise
    )

    def gradient(B: Any, g: Any, *values: Any) -> Any:
        return getattr(B, name)(g, *values)

    if formula.arrays == ("g",) and not formula.scalars:
        root = formula.trace().outputs[0]
        if root.function == "symbol":
            return identity
    register_formula(formula)
    gradient.parameters = formula.parameters
    gradient.primitive = name
    return gradient


def pointwise(
    name: str,
    body: Callable,
    about: str = "",
    *,
    example: tuple[str, str] | None = None,
    scalars: tuple[str, ...] = (),
    kind: str = "same",
    numbers: str = "both",
    node: str | Callable[[Any, Any], str] | None = None,
    reflected: str | None = None,
    function: bool = True,
    public: bool | str = True,
    out: bool | Out = True,
    in_place: bool | str = True,
    differentiable_in_place: bool = True,
    aliases: tuple[str, ...] = (),
    refuses: tuple[str, ...] = (),
    depends: str | None = None,
    alone: str | Callable | None = None,
    also: Mapping[str, tuple[str, ...]] | None = None,
    by_rows: tuple[str, ...] = (),
    stepwise: tuple[str, ...] = ("backward",),
    along: Callable | None = None,
    **rules: Callable,
) -> Callable:
    """Declare an element-wise op.

    Args:
        name: the name of the primitive and, unless ``function`` is false, of the function.
        body: the formula; its parameters are the array inputs, then the scalars.
        about: the first line of the public docstring, with the formula.
        example: the arguments and the result of a call, for the docstring.
        scalars: the parameters that are Python numbers.
        kind: the dtype of the result: ``same`` as the promoted inputs, ``number`` (bools become
            int64), ``float`` (integers become the default floating dtype) or ``bool``.
        numbers: which of two operands may be a Python number: ``both`` (one at a time), ``other``
            or ``none``.
        node: the name of the node class, by default ``<Name>Backward0``, or what gives it
            (`numbered`); ``NotImplemented`` where torch has no derivative.
        reflected: the name of the node class if the first operand is a number, where torch has
            another one for that.
        function: whether to make a function of one or two tensors, with promotion.
        public: whether `nnkit` and Tensor offer the function, or the name of the module that does;
            false if it is a part of another function.
        out: whether the function in `nnkit` takes ``out=``, or what it asks of it.
        in_place: whether ``name_`` is offered, too; or the category of dtype that it refuses.
        differentiable_in_place: whether ``name_`` has a derivative.
        aliases: further public names.
        refuses: the categories of dtype for which it is not defined ("bool", "complex", ...).
        depends, alone, also, along: see `rule`.
        by_rows: the inputs whose gradients are stored by rows, whatever the order of the operands.
        stepwise: which of ``forward`` and ``backward`` torch computes operation by operation, with
            half precision rounded after each. A kernel of its own rounds only its result.
        rules: for each input, a formula of ``g``, inputs, ``out`` and scalars, or `refusing`.

    Returns:
        If ``function`` is false, the op on Tensors: it has the signature of the primitive and does
        not promote. Otherwise the function.
    """
    formula = Formula(name, body, scalars, stepwise="forward" in stepwise)
    primitive = register_formula(formula)
    derivatives = {
        x: _gradient_rule(f"{name}_grad_{x}", rule, primitive, "backward" in stepwise, x in by_rows)
        for x, rule in rules.items()
    }
    if node == "NotImplemented":
        derivatives = dict.fromkeys(formula.arrays, refusing(name))
    options: dict[str, Any] = {"depends": depends, "alone": alone}
    op = Op(primitive, derivatives, node or node_name_of(name), also=also, along=along, **options)
    if reflected:
        second = {x: derivatives[x] for x in formula.arrays[1:]}
        op.reflected = Op(primitive, second, reflected, **options)
    apply = _make_apply(op, len(formula.arrays))
    apply.__name__ = apply.__qualname__ = name
    apply.op = op
    OPS[name] = apply = bind_op(op, apply, dtypes=(F4, F8))
    if not function:
        return apply
    count = len(formula.arrays)
    described = refuses
    refuses += tuple(
        [
            stored
            for stored, taken in _OF_STORED.items()
            if name not in taken and (kind, stored) != ("float", "unsigned")
        ]
    )
    promoting = _unary(op, kind, refuses) if count == 1 else _binary(op, kind, refuses, numbers)
    promoting.__name__ = promoting.__qualname__ = name
    promoting.__module__ = body.__module__
    promoting.apply = apply
    promoting.in_place = write_in_place = _in_place(
        op, promoting, kind, refuses, numbers, in_place, differentiable_in_place
    )
    if not public:
        return promoting
    place = f"nnkit.{public}" if isinstance(public, str) else "nnkit"
    shown = (f"{place}.{name}", *example) if example else ()
    promoting.__doc__ = _docstring(about, count, kind, numbers, described, aliases, shown)
    if isinstance(public, str):
        return promoting
    offered = held(promoting, name, out=out)
    known_as(offered, name)
    known_as(promoting, f"Tensor.{name}")
    for each in (name, *aliases):
        PUBLIC[each] = offered
        attach(each, promoting)
        if in_place:
            attach(each + "_", write_in_place)
            PUBLIC[each + "_"] = write_in_place
    return promoting


def _without_derivative(function: Callable) -> Callable:
    """The out-of-place function behind ``name_``, for which torch has no derivative."""

    def compute(before: Tensor) -> Tensor:
        name = f"{function.__name__}_"
        return without_derivative(name, function(before), NotImplementedError)

    return compute


def numbered(name: str, tensor: int, number: int) -> Callable[[Any, Any], str]:
    """The name of a node, which torch numbers by whether the second operand is a tensor."""
    names = f"{name}Backward{number}", f"{name}Backward{tensor}"
    return lambda operands, statics: names[isinstance(operands[1], Tensor)]


def over_input(apply: Any, node: str, **rules: Callable) -> Callable:
    """The op of ``apply`` with other rules, which read the result only: for writing the result over
    the input."""
    op = apply.op
    derivatives = {
        x: _gradient_rule(f"{op.name}_over_grad_{x}", rule, op.primitive, False)
        for x, rule in rules.items()
    }
    variant = Op(op.primitive, derivatives, node, depends=op.depends, alone=op.alone)
    return _make_apply(variant, len(op.primitive.arrays))


def _docstring(
    about: str,
    count: int,
    kind: str,
    numbers: str,
    refuses: tuple[str, ...],
    aliases: tuple[str, ...],
    example: tuple[str, ...],
) -> str:
    """The docstring of an element-wise function."""
    both = count == 2
    kinds = "tensor" if numbers == "none" else "tensor or number"
    wrong = {"both": "neither is a tensor", "none": "one of them is no tensor"}.get(
        numbers if both else "", "``input`` is no tensor"
    )
    dtype = "bool" if kind == "bool" else "that both promote to" if both else "of ``input``"
    lines = [
        about, "",
        "Element by element, as torch's function of that name."
        + (f" Also called {', '.join(aliases)}." if aliases else ""), "",
        "Args:",
        f"    input: a tensor of any shape{', or a number' * (both and numbers == 'both')}.",
        *([f"    other: a {kinds} that broadcasts with it."] if both else []),
        "",
        "Returns:",
        f"    A tensor of {'the broadcast' if both else 'the same'} shape and the dtype {dtype}.",
        *(["    Integers are computed in the default floating dtype."] if kind == "float" else []),
        "", "Raises:",
        f"    TypeError: {wrong}.",
    ]  # fmt: skip
    if both:
        lines.append("    RuntimeError: the shapes do not broadcast, or the devices differ.")
    if refuses:
        lines.append(f"    RuntimeError: the dtype is {' or '.join(refuses)}.")
    if example:
        function, arguments, result = example
        lines += ["", "Example:", "    >>> import nnkit", f"    >>> {function}({arguments})"]
        lines += [f"    {result}"]
    return "\n".join(lines)


def _call(op: Op, operands: tuple, raw: tuple, statics: tuple, device: Any) -> Tensor:
    """The result of a formula, with its history.

    What `print_apply_code` does for other ops. The ``operands`` are Tensors and numbers, ``raw``
    the arrays and numbers they were promoted to. The cast is no part of the history.
    """
    try:
        out = wrap(getattr(device.backend, op.name)(*raw, *statics), device)
    except (TypeError, ValueError, MemoryError) as error:
        raise translated(op.name, operands, error) from None
    for t in operands:
        if isinstance(t, Tensor) and (t._requires_grad or t._base is not None):
            if any(op.rules):
                _connect(op, operands, statics, out, device)
            break
    return out


def _call_promoted(
    name: str, kind: str, refuses: tuple[str, ...], op: Op, input: Any, other: Any, *statics: Any
) -> Tensor:
    """The result of a formula of two operands, promoted to one dtype; ``name`` is for messages."""
    input, other = python_number(input), python_number(other)
    if isinstance(input, Tensor) and isinstance(other, Tensor):
        if other._device is not input._device:
            input, other = together(name, input, other)
    x, y, device = operands_of(name, input, other, kind, refuses)
    return _call(op, (input, other), (x, y), statics, device)


def _connect(op: Op, operands: tuple, statics: tuple, out: Tensor, device: Any) -> None:
    """Record the node of ``out`` if an operand requires grad."""
    for t in operands:
        if isinstance(t, Tensor):
            refresh(t)
    if not MODE.enabled:
        return
    if op.reflected is not None and not isinstance(operands[0], Tensor):
        op = op.reflected
    edges: Any = tuple(
        [
            edge_of(t) if rule is not None and isinstance(t, Tensor) and t._requires_grad else None
            for t, rule in zip(operands, op.rules, strict=True)
        ]
    )
    if all(e is None for e in edges):
        return
    record: Callable = op.record
    given = edges
    if any(isinstance(t, Tensor) and is_seen_otherwise(t) for t in operands):
        edges, _ = seen_edges(op, operands, statics, edges)
        if edges is None:
            return
        record = functools.partial(record_seen, op)
    node = record(operands, statics, edges, (out,), device)
    looks = [(t._array.shape, t._array.dtype) for t in operands if isinstance(t, Tensor)]
    if any(look != (out._array.shape, out._array.dtype) for look in looks):
        node.meta = tuple(
            None if e is None else (t._array.shape, t._array.dtype)
            for e, t in zip(edges, operands, strict=True)
        )
    out._requires_grad = True
    out._edge = node if given is edges else beside_unknown(node, given)


def _make_apply(op: Op, count: int) -> Any:
    """The op on Tensors, without promotion; numbers are allowed among the operands."""
    name = op.name

    def apply(*arguments: Any) -> Any:
        device = None
        raw: list[Any] = []
        for t in arguments[:count]:
            if isinstance(t, Tensor):
                if t._device is not device:
                    if device is not None:
                        return apply(*on_one_device(name, arguments))
                    device = t._device
                raw.append(t._array)
            else:
                raw.append(t)
        if device is None:
            raise wrong_type(name, op.primitive.arrays[0], arguments[0])
        statics = tuple(map(python_number, arguments[count:]))
        return _call(op, arguments[:count], tuple(raw), statics, device)

    return apply


def _number(name: str, parameter: str, value: Any) -> Any:
    """A scalar argument as a Python number."""
    if isinstance(value, Tensor) and not value._array.ndim:
        value = value.item()
    value = python_number(value)
    if not isinstance(value, (int, float, complex)):
        got = type(value).__name__
        raise TypeError(f"{name}(): argument '{parameter}' must be Number, not {got}")
    return value


def declined(*arguments: Any) -> None:
    """None: what a compiled op returns for operands that need more than it does."""


def _unchecked(refuses: tuple[str, ...]) -> tuple:
    """float32 and float64, unless they are refused: they are never promoted."""
    return (None, None) if "floating" in refuses else (F4, F8)


def _halves(refuses: tuple[str, ...]) -> tuple:
    """The dtypes of half precision that are not refused."""
    return tuple([d for d in HALVES if OF_ARRAY[d].kinds.isdisjoint(refuses)])


def _unpromoted(kind: str, refuses: tuple[str, ...]) -> tuple:
    """The dtypes in which an op computes without promotion."""
    dtypes = _unchecked(refuses)
    if dtypes[0]:
        dtypes += _halves(refuses)
    if kind != "float" and "integer" not in refuses:
        dtypes += INTEGERS
    if "bool" not in refuses and (kind == "bool" or "floating" in refuses):
        dtypes += (bool_.array,)
    return dtypes if "complex" in refuses else dtypes + COMPLEXES


def _unary(op: Op, kind: str, refuses: tuple[str, ...]) -> Any:
    """The promoting function of one tensor."""
    name = op.name
    count = len(op.primitive.statics)
    f4, f8 = _unchecked(refuses)
    attempt = bind_op(op, declined, dtypes=_unpromoted(kind, refuses))

    def unary(input: Any, *scalars: Any) -> Tensor:
        out = attempt(input, *scalars)
        if out is not None:
            return out
        if input.__class__ not in PLAIN or ENTERED:
            answered = ask(METHODS.get(name, unary), (input, *scalars))
            if answered is not NOBODY:
                return answered
            if CASTING.enabled:
                input = cast_operands(name, (input,), {})[0][0]
        if len(scalars) != count:
            given = f"{1 + count} positional argument{'s' * bool(count)} but {1 + len(scalars)}"
            raise TypeError(f"{name}() takes {given} were given")
        try:
            x = input._array
        except AttributeError:
            raise wrong_type(name, "input", input) from None
        if x.dtype is not f4 and x.dtype is not f8:
            d = OF_ARRAY[x.dtype]
            check_dtype(name, d, refuses, (input,))
            if kind == "float" and d.category < FLOATING:
                x = input._device.backend.cast(x, to_float(d).array)
            elif kind == "number" and d.category == BOOL:
                x = input._device.backend.cast(x, int64.array)
        if scalars:
            scalars = tuple(map(_number, repeat(name), op.primitive.statics, scalars))
        return _call(op, (input,), (x,), scalars, input._device)

    return unary


def _binary(op: Op, kind: str, refuses: tuple[str, ...], numbers: str) -> Any:
    """The promoting function of two operands."""
    name = op.name
    refused = {"both": (), "other": ("input",), "none": ("input", "other")}[numbers]
    weak = () if "other" in refused else (float, int)
    weak_of_mask = () if "other" in refused else (bool, int)
    f4, f8 = _unchecked(refuses)
    i8 = None if kind == "float" or "integer" in refuses else int64.array
    mask = bool_.array if kind == "bool" and "bool" not in refuses else None
    dtypes = _unpromoted(kind, refuses)
    places = {"both": 3, "other": 2, "none": 0}[numbers]
    compiled = functools.partial(bind_op, op, dtypes=dtypes, numbers=places, exact=name in EXACT)
    attempt = compiled(declined)

    def binary(input: Any, other: Any) -> Tensor:
        out = attempt(input, other)
        if out is not None:
            return out
        if input.__class__ not in PLAIN or other.__class__ not in PLAIN or ENTERED:
            method = METHODS.get(name, binary) if isinstance(input, Tensor) else binary
            answered = ask(method, (input, other))
            if answered is not NOBODY:
                return answered
            if CASTING.enabled:
                input, other = cast_operands(name, (input, other), {})[0]
        fast = False
        try:
            x = input._array
            d = x.dtype
            if d is f4 or d is f8 or d is i8:
                if other.__class__ in weak:
                    small = other.__class__ is int and -(1 << 63) <= other < 1 << 63
                    fast = small or (other.__class__ is float and d is not i8)
                    y = input._device.backend.full((), other, d) if small and d is i8 else other
                else:
                    y = other._array
                    fast = y.dtype is d and input._device is other._device
            elif d is mask and other.__class__ in weak_of_mask and other in (0, 1):
                y = input._device.backend.full((), other, d)
                fast = True
        except AttributeError:
            pass
        if not fast:
            for parameter, value in zip(("input", "other"), (input, other)):
                if parameter in refused and not isinstance(value, Tensor):
                    raise wrong_type(name, parameter, value)
            return promoted(op, input, other)
        return _call(op, (input, other), (x, y), (), input._device)

    binary.compiled = compiled
    binary.promoted = promoted = functools.partial(_call_promoted, name, kind, refuses)
    return binary


def is_plain_operand(operand: Any, target: Tensor) -> bool:
    """Whether an operand can be written into ``target`` without a cast, a move or a larger
    target."""
    if not isinstance(operand, Tensor):
        return operand.__class__ is float or operand.__class__ is int
    x, y = target._array, operand._array
    if y.dtype is not x.dtype or operand._device is not target._device:
        return False
    return not y.shape or y.shape == x.shape or broadcasts(y.shape, x.shape)


def _in_place(
    op: Op, promoting: Callable, kind: str, refuses: tuple[str, ...], numbers: str,
    refused: bool | str, differentiable: bool,
) -> Any:  # fmt: skip
    """``name_``: one in-place kernel if nothing is recorded, else `nnkit.autograd.views.write`."""
    promoting = promoting if differentiable else _without_derivative(promoting)
    name = op.name
    label = name + "_"
    weak = numbers != "none"
    taken = (Tensor, int, float, complex) if weak else Tensor
    fast = () if kind == "bool" else _unchecked(refuses)

    def write_one(input: Any) -> Tensor:
        if input.__class__ not in PLAIN or ENTERED:
            answered = ask(METHODS.get(label, write_one), (input,))
            if answered is not NOBODY:
                return answered
        kernel = None
        try:
            dtype = input._array.dtype
        except AttributeError:
            raise wrong_type(label, "input", input) from None
        if dtype in fast:
            kernel = getattr(input._device.backend, label)
        elif refused in input.dtype.kinds:
            kind = "complex" if input.is_complex() else input.dtype.name
            raise RuntimeError(
                f"In-place {label.removesuffix('_')} is not supported for {kind} tensors."
            )
        else:
            kernel = kernel_asked(label, input)
        if input._device.depth and not differentiable:
            kernel = None  # someone around the level may ask for the derivative
        return write(input, label, promoting, kernel=kernel)

    def write_two(input: Any, other: Any) -> Tensor:
        if input.__class__ not in PLAIN or other.__class__ not in PLAIN or ENTERED:
            answered = ask(METHODS.get(label, write_two), (input, other))
            if answered is not NOBODY:
                return answered
        kernel = None
        try:
            dtype = input._array.dtype
        except AttributeError:
            raise wrong_type(label, "input", input) from None
        if other.__class__ is not Tensor and not isinstance(python_number(other), taken):
            raise wrong_type(name, "other", other)
        if dtype in fast and is_plain_operand(other, input):
            kernel = getattr(input._device.backend, label)
        else:  # torch checks the shape and the cast before it looks for a kernel
            if isinstance(other, Tensor):
                check_fits(label, broadcast_shape(name, [input.shape, other.shape]), input)
            if kind != "bool":
                check_cast(label, promoted_dtype(name, input, other), OF_ARRAY[dtype])
            kernel = kernel_asked(label, input, other)
        return write(input, label, promoting, other, kernel=kernel)

    write_in_place: Any = write_one if len(op.primitive.arrays) == 1 else write_two
    write_in_place.__name__ = label
    write_in_place.__doc__ = f"In-place version of `{name}`; returns the tensor."
    known_as(write_in_place, f"Tensor.{label}")
    if not any(d is F4 for d in fast):
        return write_in_place
    dtypes = fast if FORMULAS[name].stepwise else (*fast, *_halves(refuses))
    inputs = len(op.primitive.arrays)
    return bind_write(label, label, inputs, dtypes, write_in_place, 2 if weak else 0, name in EXACT)


def attempting(
    apply: Callable, dtypes: tuple = (F4, F8), numbers: int = 0, masks: int = 0
) -> Callable:
    """The compiled op ``apply`` of a formula: returns None for operands that need promotion or
    other preparation. ``numbers`` and ``masks`` are those of `bind_op`."""
    op: Op = apply.op  # pyright: ignore[reportFunctionMemberAccess]
    return bind_op(op, declined, dtypes=dtypes, numbers=numbers, masks=masks)


def writing(apply: Callable, operation: str) -> Callable:
    """The compiled in-place form of the op ``apply`` of a formula, which writes into its first
    operand: returns None where that takes more than a kernel. ``operation`` is for messages."""
    op: Op = apply.op  # pyright: ignore[reportFunctionMemberAccess]
    inputs = len(op.primitive.arrays)
    return bind_write(f"{op.name}_", operation, inputs, (F4, F8), declined)
