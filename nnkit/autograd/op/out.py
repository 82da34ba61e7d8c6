"""``out=``: results that are written into a given tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from nnkit.autograd.arguments.dims import broadcasts
from nnkit.autograd.forward.dual import is_dual
from nnkit.autograd.grad_mode import MODE, is_grad_enabled
from nnkit.autograd.op.promotion import ASKING, asking_among
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.history import end_history
from nnkit.autograd.views.overlap import check_apart, check_memory, check_writable, resized_span
from nnkit.autograd.views.refusals import UNSEEN
from nnkit.autograd.views.writes import (
    check_cast,
    check_change,
    check_write,
    wants_history,
    write,
    wrote,
)
from nnkit.backend.algebra import FORMULAS
from nnkit.backend.dtype import FLOATING, dtype
from nnkit.backend.memory import order_of_result
from nnkit.backend.warning import warn


def _operands(out: Any, arguments: tuple, options: dict) -> tuple:
    """The tensors of a call."""
    arguments = (*arguments, *[t for t in options.values() if isinstance(t, Tensor)])
    if arguments and isinstance(arguments[0], (list, tuple)):
        return (*arguments[0], *arguments[1:])
    return arguments


def like_result(out: Any, result: Any, arguments: tuple) -> tuple[int, ...] | None:
    """`Out.axes`: those of the result."""
    return order_of_result(result.shape, (result,))


def by_rows(out: Any, result: Any, arguments: tuple) -> None:
    """`Out.axes`: those of rows."""


def complex_by_rows(out: Any, result: Any, arguments: tuple) -> tuple[int, ...] | None:
    """`Out.axes`: those of rows where the operand is complex."""
    return None if arguments[0].is_complex() else like_result(out, result, arguments)


def copied_by_rows(out: Any, result: Any, arguments: tuple) -> tuple[int, ...] | None:
    """`Out.axes`: those of rows, but for an empty ``out`` of the result's dtype, which torch writes
    straight into."""
    is_copied = out.size or out.dtype != result.dtype
    return None if is_copied else like_result(out, result, arguments)


class Out(NamedTuple):
    """What a function asks of its ``out=``, and does with it: said where the function is declared
    (`op.public.public`, `op.pointwise.pointwise`, `takes_out`). Some is said by a function of the
    call's arguments, which are first of all the operands.

    Attributes:
        dtype: ``"castable"``: one to which that of the result can be cast; ``"same"``: that of the
            result, what functions of several results ask for unless they say otherwise;
            ``"joined"``: castable, or it is a TypeError; ``"any"``: each. Or a function of ``out``,
            the result and the arguments that says which.
        called: what errors call a result that cannot be cast.
        words: torch's message where the dtype is not the same, with ``{wanted}``, ``{got}``,
            ``{part}``.
        history: what becomes of operands and an ``out`` that require grad. ``"refused"``: an error;
            ``"ended"``: one in backward alone; ``"copied"``: the copy into ``out`` has a
            derivative; ``"sized"``: an ``out`` that requires grad is refused in every mode but
            inference mode; ``"flags"``: refused by the flags alone, whatever is recorded.
        is_computed_in: whether the result is computed in the dtype of ``out``.
        checks_first: whether its memory is looked at before it gets a new size; None: where the
            function is a formula of elements.
        is_seen_resized: whether memory shared with operands is looked for as it will be then.
        axes: the memory order that ``out`` gets with a new size, of the arrays of ``out`` and the
            result, and the arguments; None is that of rows.
        fills: whether an ``out`` of as many elements is filled, whatever its shape.
        warning: what is said of a new size where there were elements: of ``"sizes"``, of
            ``"counts"`` of elements, or nothing.
        views_below: operands of fewer dimensions are seen through views, which have no history
            where they are of inference tensors.
        overload: the name in the tables of what may share memory (`views.overlap`).
        prepare: called with ``out``, the arguments and the options before anything is computed: it
            refuses calls that do not go with ``out=``, and may set options.
        operands: the tensors of a call, of ``out``, its arguments and options.
    """

    dtype: str | Callable[[Tensor, Tensor, tuple], str] | None = None
    called: str | None = None
    words: str | None = None
    history: str = "refused"
    is_computed_in: bool = False
    checks_first: bool | Callable[[tuple], bool] | None = None
    is_seen_resized: bool = True
    axes: Callable[[Any, Any, tuple], tuple[int, ...] | None] = like_result
    fills: bool = False
    warning: str = "sizes"
    views_below: float = 0
    overload: Callable[[tuple], str] | None = None
    prepare: Callable[[Any, tuple, dict], None] | None = None
    operands: Callable[[Any, tuple, dict], tuple] = _operands


USUAL = Out()


def takes_out(**facts: Any) -> Callable:
    """Decorate a function whose module makes it public: `Out` says what its ``out=`` is."""

    def mark(function: Any) -> Any:
        function.out = Out(**facts)
        return function

    return mark


def call_into(
    out: Any, facts: Out, function: Callable, name: str, arguments: tuple, options: dict
) -> Any:
    """Call a function and write its result into ``out``, a tensor or a tuple for several."""
    if facts.prepare is not None:
        facts.prepare(out, arguments, options)
    if facts.is_computed_in and isinstance(out, Tensor):
        compute_in(name, out, options)
    try:
        result = function(*arguments, **options)
    except NotImplementedError:
        if isinstance(out, Tensor) and _checks_first(facts, name, arguments):
            check_memory(out, name, arguments)  # before torch asks for a kernel
        raise
    several = isinstance(result, tuple)
    if several and (not isinstance(out, (tuple, list)) or len(out) != len(result)):
        raise TypeError(f"{name}(): argument 'out' must be a tuple of {len(result)} Tensors")
    outs: Any = out if several else (out,)
    results = result if several else (result,)
    arguments = facts.operands(out, arguments, options)
    parts = getattr(result, "__match_args__", None) or ("out",) * len(results)
    for o, r, part in zip(outs, results, parts, strict=True):
        check_out(o, r, name, facts, arguments, part if several else None)
    for o, r in zip(outs, results, strict=True):
        _write(o, r, name, facts, arguments)
    if not several:
        return out
    return type(result)(out)


def compute_in(name: str, out: Tensor, options: dict) -> None:
    """Ask for the result in the dtype of ``out``; RuntimeError if another one is asked for."""
    if options.setdefault("dtype", out.dtype) is not out.dtype:
        raise _wrong_dtype(name, USUAL, options["dtype"], out, "out")


def _is_unseen(argument: Any) -> bool:
    return isinstance(argument, Tensor) and argument.is_inference()


def check_out(
    out: Any, result: Tensor, name: str, facts: Out = USUAL, arguments: tuple = (),
    part: str | None = None,
) -> None:  # fmt: skip
    """Check that ``result``, computed from ``arguments``, may be written into ``out``. ``part`` is
    its name among several results.

    Raises:
        TypeError: ``out`` is not a Tensor.
        RuntimeError: gradients would be lost, the device or dtype does not fit, or elements of
            ``out`` share memory with each other or with an argument.
    """
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    history = facts.history
    if history == "sized" and out.requires_grad and not MODE.inference:
        raise RuntimeError(f"{name}(): cannot resize variables that require grad")
    gradients = MODE.enabled and (result._requires_grad or out._requires_grad)
    if history == "flags" and is_grad_enabled():
        gradients = out.requires_grad or any(t.requires_grad for t in arguments)
    # Inference tensors alone, which out= is none of.
    unseen = result.dtype.category >= FLOATING and any(map(_is_unseen, arguments))
    if unseen or facts.is_computed_in:  # no gradient passes through integers of the result
        below = facts.views_below
        seen = [a for a in arguments if not (_is_unseen(a) and a.ndim < below)]
        gradients = gradients or wants_history(out, seen)
    if gradients and not (name in UNSEEN or history in ("ended", "copied")):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    if out._device is not result._device and (is_dual(out) or is_dual(result)):
        raise NotImplementedError(
            f"Trying to use forward AD with {name} that does not support it because it is an out= "
            "function"
        )
    foreign = out._device.home is not result._device.home
    if foreign and not (ASKING and asking_among((out, result))):
        raise RuntimeError(
            f"{name}(): expected argument 'out' on {result._device}, got {out._device}"
        )
    if out._array.dtype != result._array.dtype:
        _check_dtype(out, result, name, facts, arguments, part)
    _check_memory(out, result, name, facts, arguments)


def _check_dtype(
    out: Tensor, result: Tensor, name: str, facts: Out, arguments: tuple, part: str | None
) -> None:
    """TypeError or RuntimeError where the dtype of ``out`` is another, and one that does not do."""
    does = facts.dtype or ("castable" if part is None else "same")
    if callable(does):
        does = does(out, result, arguments)
    if does == "same":
        raise _wrong_dtype(name, facts, result.dtype, out, part or "out")
    if does == "joined" and result.dtype.category > out.dtype.category:
        raise TypeError(
            f"torch.{name}(): input types can't be cast to the desired output type "
            f"{out.dtype.scalar_type}"
        )
    if does != "any":
        check_cast(name, result.dtype, out.dtype, facts.called or part)


def _check_memory(out: Tensor, result: Tensor, name: str, facts: Out, arguments: tuple) -> None:
    """RuntimeError if ``out`` may not get the shape of the result, or be where it is in memory."""
    x, shape = out._array, result._array.shape
    if x.shape != shape and broadcasts(x.shape, shape) and any(a is out for a in arguments):
        raise RuntimeError(
            f"{name}(): output with shape {list(x.shape)} doesn't match the broadcast shape "
            f"{list(shape)}, and is not resized, since it is an operand too"
        )
    overload = name if facts.overload is None else facts.overload(arguments)
    if x.shape == shape or _checks_first(facts, name, arguments):
        check_write(out, overload, arguments)
        return
    check_change(out, name, arguments)
    check_writable(out, name)
    resized = None
    if facts.is_seen_resized:
        axes = facts.axes(x, result._array, arguments)
        resized = resized_span(out._device.backend, x, shape, axes)
    for operand in arguments:
        if isinstance(operand, Tensor):
            check_apart(overload, out, operand, resized)


def _checks_first(facts: Out, name: str, arguments: tuple) -> bool:
    """Whether the memory of ``out`` is looked at before it gets its new size: as torch does for
    formulas of elements."""
    first = facts.checks_first
    if first is None:
        return name.rpartition(".")[2] in FORMULAS
    return first(arguments) if callable(first) else first


def _wrong_dtype(name: str, facts: Out, wanted: dtype, out: Tensor, part: str) -> RuntimeError:
    if facts.words is None:
        return RuntimeError(
            f"{name}(): Expected out tensor to have dtype {wanted.type_name}, but got "
            f"{out.dtype.type_name} instead"
        )
    return RuntimeError(
        facts.words.format(wanted=wanted.scalar_type, got=out.dtype.scalar_type, part=part)
    )


def _warn_resized(name: str, facts: Out, x: Any, source: Any) -> None:
    if facts.warning == "counts":
        warn(
            f"{name}(): The number of elements in the out tensor, {x.size}, does not match the "
            f"computed number of elements, {source.size}. The out tensor will be resized to "
            f"{list(source.shape)}"
        )
    else:
        warn(
            f"{name}(): An output with one or more elements was resized since it had shape "
            f"{list(x.shape)}, which does not match the required output shape "
            f"{list(source.shape)}. This behavior is deprecated, and in a future PyTorch release "
            "outputs will not be resized unless they have zero elements"
        )


def write_out(
    out: Any, result: Tensor, name: str, facts: Out = USUAL, arguments: tuple = ()
) -> Tensor:
    """Write ``result``, computed from ``arguments``, into ``out``, after `check_out`."""
    check_out(out, result, name, facts, arguments)
    return _write(out, result, name, facts, arguments)


def _write(out: Tensor, result: Tensor, name: str, facts: Out, arguments: tuple) -> Tensor:
    """Write a result into ``out``, which is resized if it has another shape; as in torch, with a
    warning if it had elements."""
    asking = asking_among((out, result)) if ASKING else None
    B, source = (asking or out._device).backend, result._array
    if facts.fills and out._array.size == source.size:
        source = B.reshape(source, out._array.shape)
    elif out._array.shape != source.shape:
        from nnkit.autograd.ops.shape.strided import resize

        if out._array.size and facts.warning:
            _warn_resized(name, facts, out._array, source)
        resize(out, source.shape, facts.axes(out._array, source, arguments))
    if facts.history == "copied":
        return write(out, "copy", OPS["overwrite"], result)
    B.copy_(out._array, source)
    wrote(out, name)
    if facts.history == "ended" and wants_history(out, arguments):
        operands = [t for t in (*arguments, out) if isinstance(t, Tensor) and t.requires_grad]
        end_history(out, name, operands)
    return out
