"""``out=``: results that are written into a given tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.arguments.dims import broadcasts
from nnkit.autograd.forward.dual import is_dual
from nnkit.autograd.grad_mode import MODE, is_grad_enabled
from nnkit.autograd.op.promotion import ASKING, asking_among, check_steps
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.history import (
    check_cast,
    check_change,
    check_write,
    end_history,
    wants_history,
    write,
    wrote,
)
from nnkit.autograd.views.overlap import check_apart, check_memory, check_writable, resized_span
from nnkit.autograd.views.refusals import UNSEEN
from nnkit.backend.algebra import FORMULAS
from nnkit.backend.dtype import FLOATING, OF_ARRAY, dtype
from nnkit.backend.memory import order_of_result
from nnkit.backend.warning import warn

# The functions whose ``out`` must have the dtype of the result, where others cast to it. Those with
# several results are among them, but for `SEVERAL_CAST`.
SAME_DTYPE = frozenset(
    """
    abs ceil floor frac round trunc neg sign sgn nan_to_num conj bitwise_not signbit isposinf
    isneginf isin heaviside addmm addmv addbmm baddbmm bmm mm mv matmul dot vdot inner tensordot
    cross logcumsumexp diag msort amax amin argmax argmin nonzero gather index_select
    index_copy index_add index_reduce take take_along_dim scatter scatter_add scatter_reduce
    masked_select tril triu renorm histc bucketize conj_physical narrow_copy
    hash_tensor inverse float_power searchsorted softmax log_softmax quantile
    nanquantile multinomial ormqr arange linspace logspace complex clamp clamp_min clamp_max zeros
    full empty eye fft.ifft fft.ihfft nonzero_static
    rand randint randn randperm norm ones where normal polar
    alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy
    slice_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy
    unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy
    chain_matmul linalg.cholesky linalg.cross linalg.det linalg.eigvalsh linalg.inv linalg.ldl_solve
    linalg.lu_solve linalg.matrix_norm linalg.matrix_power linalg.multi_dot linalg.norm linalg.solve
    linalg.solve_triangular linalg.svdvals linalg.vecdot linalg.vector_norm lu_solve matrix_power
    hardshrink slice_scatter avg_pool2d avg_pool3d gelu linear softplus logsigmoid softshrink
    """.split()
)
# Those with several results that cast to the dtypes of theirs.
SEVERAL_CAST = frozenset(("geqrf", "linalg.eig", "linalg.lstsq"))
# What errors call the result of functions that ask for a dtype of ``out`` to which it can be cast.
CASTABLE = {
    **dict.fromkeys(
        "cholesky cholesky_inverse cholesky_solve linalg.cond linalg.pinv linalg.tensorinv "
        "linalg.tensorsolve linalg.householder_product orgqr".split(),
        "result",
    ),
    "linalg.eigvals": "eigenvalues",
}
# The functions whose ``out`` may require grad, and which only backward refuses; and those that give
# it new sizes first, which is refused in every mode but inference mode.
ENDING = frozenset(
    "zeros ones full eye arange linspace logspace range rand randint normal randperm diag "
    "conj_physical heaviside floor_divide softmax log_softmax".split()
)
RESIZING = frozenset(("empty", "randn"))
# Those that end with a copy into ``out``, which has a derivative.
COPYING = frozenset("inner tensordot quantile nanquantile".split())
# Those beside the formulas of elements that look at the memory before they give it its new size.
CHECKED_FIRST = frozenset(
    """
    addr angle clamp complex conj_physical diff fft.ifft fft.ihfft float_power frexp gcd
    index_select lcm ldexp masked_select nonzero normalize outer polar polygamma scatter scatter_add
    scatter_reduce split_copy take true_divide
    """.split()
)
# Those whose ``out`` is of bools or of bytes, and those that say with a TypeError what fits not.
LOGICAL = frozenset(("all", "any"))
JOINING = frozenset(
    "cat concat concatenate stack hstack vstack row_stack dstack column_stack".split()
)
# Those that see operands of fewer dimensions through views, which have no history where they are of
# inference tensors.
THROUGH_VIEWS = {
    "hstack": 1, "vstack": 2, "row_stack": 2, "column_stack": 2, "dstack": 3, "kron": math.inf,
    "diff": math.inf,
}  # fmt: skip
# Those whose ``out`` lies by rows when it gets a new size, however their result does.
RESIZED_BY_ROWS = frozenset(
    """
    chain_matmul cholesky cholesky_solve fft.fft fft.fft2 fft.fftn fft.hfft fft.hfft2 fft.hfftn
    fft.ifft2 fft.ifftn fft.ihfft2 fft.ihfftn fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2
    fft.rfftn kron linalg.cond linalg.matrix_power linalg.tensorinv matrix_power median nanmedian
    nanquantile quantile split_with_sizes_copy stack unbind_copy
    """.split()
)
COMPLEX_BY_ROWS = frozenset(("abs", "absolute", "fft.ifft"))  # of complex numbers alone
# Those that write straight into an empty ``out`` of their dtype, and copy into any other.
COPIED_BY_ROWS = frozenset("cholesky_inverse geqrf orgqr ormqr".split())
# Those that are computed in the dtype of ``out``.
IN_DTYPE_OF_OUT = frozenset("sum prod nansum nanmean cumsum cumprod".split())
# Those that take it where dimensions are named; what they reduce to one number goes without.
OF_DIMS = frozenset("sum prod median nanmedian".split())
WITHOUT_NAN = frozenset(("nansum", "nanmean"))  # which torch sums as what they are written to
# Those that fill an ``out`` of as many elements whatever its shape.
ANY_SHAPE = frozenset("arange linspace logspace range".split())
# Those that give it a new size without a warning.
SILENTLY_RESIZED = ANY_SHAPE | frozenset(
    "eye zeros ones full empty rand randn randint randperm normal bernoulli multinomial addbmm "
    "narrow_copy".split()
)


def call_into(out: Any, function: Callable, name: str, arguments: tuple, options: dict) -> Any:
    """Call a function and write its result into ``out``, a tensor or a tuple for several."""
    if name == "where" and not all(isinstance(a, Tensor) for a in arguments):
        raise TypeError("where(): argument 'out' requires that all arguments are tensors")
    if name in OF_DIMS and not arguments[1:] and options.keys().isdisjoint(("dim", "axis")):
        raise TypeError(f"{name}(): argument 'out' goes with 'dim'")
    if name in ("var", "std") and _is_of_flag(arguments, options):
        raise TypeError(f"{name}(): argument 'out' goes with 'dim' where 'unbiased' is given")
    if name == "bucketize" and not isinstance(arguments[0], Tensor):
        raise TypeError("bucketize(): argument 'out' requires that 'input' is a tensor")
    if name == "bernoulli" and (arguments[1:] or "p" in options):
        raise TypeError("bernoulli(): argument 'out' goes without 'p'")
    if name == "bernoulli" and isinstance(out, Tensor) and out.is_complex():
        raise NotImplementedError(f"bernoulli(): not implemented for {out.dtype.name} draws")
    if isinstance(out, Tensor) and (
        name in IN_DTYPE_OF_OUT or name == "mean" and _is_of_dims(arguments, options)
    ):
        if name in WITHOUT_NAN and "dtype" not in options:
            if arguments[0].is_floating_point() and out.dtype.category != FLOATING:
                raise NotImplementedError(f"{name}(): not implemented for '{out.dtype.name}' sums")
        if options.setdefault("dtype", out.dtype) is not out.dtype:
            raise _wrong_dtype(name, options["dtype"], out)
    if name == "bernoulli":  # before anything is drawn
        check_out(out, arguments[0], name, False, arguments)
    if name == "nonzero" and options.get("as_tuple"):
        if not isinstance(out, Tensor):
            raise TypeError(f"nonzero(): argument 'out' must be Tensor, not {type(out).__name__}")
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    try:
        result = function(*arguments, **options)
    except NotImplementedError:
        if isinstance(out, Tensor) and not _is_resized_first(name, arguments):
            check_memory(out, name, arguments)  # before torch asks for a kernel
        raise
    several = isinstance(result, tuple)
    if several and (not isinstance(out, (tuple, list)) or len(out) != len(result)):
        raise TypeError(f"{name}(): argument 'out' must be a tuple of {len(result)} Tensors")
    outs: Any = out if several else (out,)
    results = result if several else (result,)
    if name != "diff":  # which joins what it is given first
        arguments = (*arguments, *[t for t in options.values() if isinstance(t, Tensor)])
    if arguments and isinstance(arguments[0], (list, tuple)):
        arguments = (*arguments[0], *arguments[1:])
        if name in JOINING - {"stack"}:  # which skips what holds nothing
            arguments = tuple([a for a in arguments if getattr(a, "shape", None) != (0,)])
    parts = getattr(result, "__match_args__", None) or ("out",) * len(results)
    for o, r, part in zip(outs, results, parts, strict=True):
        check_out(o, r, name, several, arguments, part)
    for o, r in zip(outs, results, strict=True):
        _write(o, r, name, arguments)
    if not several:
        return out
    return type(result)(out)


def _is_unseen(argument: Any) -> bool:
    return isinstance(argument, Tensor) and argument.is_inference()


def check_out(
    out: Any, result: Tensor, name: str, several: bool = False, arguments: tuple = (),
    part: str = "out",
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
    if name in RESIZING and out.requires_grad and not MODE.inference:
        raise RuntimeError(f"{name}(): cannot resize variables that require grad")
    gradients = MODE.enabled and (result._requires_grad or out._requires_grad)
    if name == "matmul" and is_grad_enabled():  # which asks for itself, whatever autograd sees
        gradients = out.requires_grad or any(t.requires_grad for t in arguments)
    # Inference tensors alone, which out= is none of.
    unseen = result.dtype.category >= FLOATING and any(map(_is_unseen, arguments))
    if unseen or name in IN_DTYPE_OF_OUT:  # no gradient passes through integers of the result
        below = THROUGH_VIEWS.get(name, 0)
        seen = [a for a in arguments if not (_is_unseen(a) and a.ndim < below)]
        gradients = gradients or wants_history(out, seen)
    overload = _overload(name, several, arguments)
    if gradients and not (name in UNSEEN or overload in ENDING or name in COPYING):
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
    x, wanted = out._array, result._array.dtype
    if x.dtype != wanted and _needs_same_dtype(out, name, several, arguments):
        if name == "heaviside":
            check_steps(result.dtype, out.dtype)
        raise _wrong_dtype(name, result.dtype, out, part)
    if name in JOINING and OF_ARRAY[wanted].category > OF_ARRAY[x.dtype].category:
        raise TypeError(
            f"torch.{name}(): input types can't be cast to the desired output type "
            f"{out.dtype.scalar_type}"
        )
    if name not in LOGICAL and name != "bernoulli":  # which draws in any dtype
        called = CASTABLE.get(name, part if name in SEVERAL_CAST else None)
        check_cast(name, OF_ARRAY[wanted], OF_ARRAY[x.dtype], called)
    shape = result._array.shape
    if x.shape != shape and broadcasts(x.shape, shape) and any(a is out for a in arguments):
        raise RuntimeError(
            f"{name}(): output with shape {list(x.shape)} doesn't match the broadcast shape "
            f"{list(shape)}, and is not resized, since it is an operand too"
        )
    if x.shape != shape and _is_resized_first(name, arguments):
        check_change(out, name, arguments)
        check_writable(out, name)
        B, axes = out._device.backend, _axes_resized(name, x, result._array, arguments)
        resized = None if name == "kthvalue" else resized_span(B, x, shape, axes)
        for operand in arguments:
            if isinstance(operand, Tensor):
                check_apart(overload, out, operand, resized)
    else:
        check_write(out, overload, arguments)


def _is_resized_first(name: str, arguments: tuple) -> bool:
    """Whether ``out`` gets its new size before torch looks at its memory."""
    if name in ("max", "min"):  # not the larger of two
        return not isinstance(arguments[1:] and arguments[1], Tensor)
    if name == "inner":
        return _is_inner(arguments)
    if name in ("pow", "float_power"):
        return not isinstance(arguments[0], Tensor)
    by_elements = name.rpartition(".")[2] in FORMULAS and name != "threshold"
    return not by_elements and name not in CHECKED_FIRST


def _is_inner(arguments: tuple) -> bool:
    """Whether `inner` adds up products; with a number it multiplies."""
    return all(a.ndim for a in arguments)


def _overload(name: str, several: bool, arguments: tuple) -> str:
    """The overload that torch would call, for functions whose overloads check memory or gradients
    differently."""
    if name == "matmul" and any(a.ndim != 2 for a in arguments):
        return "bmm"
    if name == "normal" and arguments:
        return "normal.of"  # as many as there are means or deviations
    return f"{name}.dim" if several and name in ("max", "min") else name


def _is_of_dims(arguments: Sequence[Any], options: dict) -> bool:
    """Whether floating or complex numbers are averaged along dimensions, not over all elements."""
    dims = arguments[1] if len(arguments) > 1 else options.get("dim", options.get("axis"))
    return dims is not None and arguments[0].dtype.category >= FLOATING


def _is_of_flag(arguments: Sequence[Any], options: dict) -> bool:
    """Whether a variance is asked for by ``unbiased`` alone, without dimensions."""
    first = arguments[1] if len(arguments) > 1 else None
    return isinstance(first, bool) or "unbiased" in options and first is options.get("dim") is None


_RESULT = "self and result must have the same scalar type, got {wanted} and {got}"
_FOUND = "Found dtype {got} but expected {wanted}"
_RUNNING = "expected scalar_type {wanted} but found {got}"
_MEDIAN = "Expected tensor for '{part}' to have scalar type {wanted}; but got {got} instead"
_MATCH = (
    "Expected the dtype for input and out to match, but got {wanted} for input's dtype and {got} "
    "for out's dtype."
)
_OF_COMPLEX = "Expected object of scalar type {wanted} but got scalar type {got} for argument 'out'"
# torch's message about the dtype of ``out``, for functions that have a message of their own.
_WRONG_DTYPE = {
    "abs": _FOUND,
    "lerp": _FOUND,
    "amax": _MATCH,
    "amin": _MATCH,
    "cummax": _RUNNING,
    "cummin": _RUNNING,
    "logcumsumexp": _RUNNING,
    "dot": "result dtype {got} does not match input dtype {wanted}",
    "vdot": "result dtype {got} does not match input dtype {wanted}",
    "histogram": "torch.histogram: input tensor and {part} tensor should have the same dtype, but "
    "got input {wanted} and {part} {got}",
    "index_select": f"index_select(): {_RESULT}",
    "masked_select": f"masked_select(): {_RESULT}",
    "kthvalue": "output values must be of same type as input, got {got} for {wanted}",
    "median": _MEDIAN,
    "nanmedian": _MEDIAN,
    "mode": "expected scalar type '{wanted}' but got '{got}' for {part} output",
    "multinomial": "multinomial expects Long tensor out, got: {got}",
    "linalg.multi_dot": "multi_dot(): expected out tensor to have dtype {wanted} but got {got}",
    "nonzero": "nonzero: Expected out tensor to have scalar type {wanted} but got scalar type "
    "{got}",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {wanted} "
    "and out.dtype = {got}",
    "where": "Expected out type to be {wanted} but got {got}",
    "all": "all only supports bool tensor for result, got: {got}",
    "any": "any only supports bool tensor for result, got: {got}",
    "isneginf": "isneginf does not support non-boolean outputs, got {got}",
    "isposinf": "isposinf does not support non-boolean outputs, got {got}",
    "complex": _OF_COMPLEX,
    "polar": _OF_COMPLEX,
    "float_power": "the output given to float_power has dtype {got} but the operation's result "
    "requires dtype {wanted}",
    "searchsorted": "searchsorted(): output tensor's dtype is wrong, got {got} for {wanted}",
    "bucketize": "bucketize(): output tensor's dtype is wrong, got {got} for {wanted}",
    "quantile": "quantile() out tensor must be same dtype as the input tensor, got {got}",
    "nanquantile": "nanquantile() out tensor must be same dtype as the input tensor, got {got}",
}


def _wrong_dtype(name: str, wanted: dtype, out: Tensor, part: str = "out") -> RuntimeError:
    words = _WRONG_DTYPE.get(name)
    if words is None:
        return RuntimeError(
            f"{name}(): Expected out tensor to have dtype {wanted.type_name}, but got "
            f"{out.dtype.type_name} instead"
        )
    return RuntimeError(
        words.format(wanted=wanted.scalar_type, got=out.dtype.scalar_type, part=part)
    )


def _needs_same_dtype(out: Tensor, name: str, several: bool, arguments: tuple) -> bool:
    """Whether it is an error that the dtype of ``out`` is not that of the result."""
    if name == "abs":  # complex numbers have room for their moduli, which go into any real ones
        moduli = arguments[0].is_complex() and not out.is_complex()
        return not moduli and out.dtype is not arguments[0].dtype
    if name.startswith("clamp") and any(isinstance(a, Tensor) for a in arguments[1:]):
        return False
    if name.startswith(("fft.irfft", "fft.hfft")):
        return out.is_complex()
    if name == "lerp":
        return isinstance(arguments[2], Tensor)
    if name in LOGICAL:
        return out.dtype.name not in ("bool", "uint8")
    if name == "inner":
        return _is_inner(arguments)
    return several and name not in SEVERAL_CAST or name in SAME_DTYPE


def _axes_resized(name: str, x: Any, result: Any, arguments: tuple) -> tuple[int, ...] | None:
    """The memory order of ``x``, which is resized to the shape of a result."""
    by_rows = name in COMPLEX_BY_ROWS and arguments[0].is_complex() or name in RESIZED_BY_ROWS
    by_rows = by_rows or name in COPIED_BY_ROWS and (x.size or x.dtype != result.dtype)
    copies = name == "nan_to_num" and OF_ARRAY[result.dtype].category < FLOATING
    ordered = arguments[1]._array if name == "take" else result
    return None if by_rows or copies else order_of_result(result.shape, (ordered,))


def write_out(out: Any, result: Tensor, name: str, arguments: tuple = ()) -> Tensor:
    """Write ``result``, computed from ``arguments``, into ``out``, after `check_out`."""
    check_out(out, result, name, False, arguments)
    return _write(out, result, name, arguments)


def _write(out: Tensor, result: Tensor, name: str, arguments: tuple = ()) -> Tensor:
    """Write a result into ``out``, which is resized if it has another shape; as in torch, with a
    warning if it had elements."""
    asking = asking_among((out, result)) if ASKING else None
    B, source = (asking or out._device).backend, result._array
    if name in ANY_SHAPE and out._array.size == source.size:
        source = B.reshape(source, out._array.shape)
    elif out._array.shape != source.shape:
        from nnkit.autograd.ops.shape.strided import resize

        if out._array.size and (name == "arange" or "fftfreq" in name):
            warn(
                f"{name}(): The number of elements in the out tensor, {out._array.size}, does not "
                f"match the computed number of elements, {source.size}. The out tensor will be "
                f"resized to {list(source.shape)}"
            )
        elif out._array.size and _overload(name, False, arguments) not in SILENTLY_RESIZED:
            warn(
                f"{name}(): An output with one or more elements was resized since it had shape "
                f"{list(out._array.shape)}, which does not match the required output shape "
                f"{list(source.shape)}. It is deprecated to give one that is neither of that shape "
                "nor empty"
            )
        resize(out, source.shape, _axes_resized(name, out._array, source, arguments))
    if name in COPYING:
        return write(out, "copy", OPS["overwrite"], result)
    B.copy_(out._array, source)
    wrote(out, name)
    if name in ENDING and wants_history(out, arguments):
        operands = [t for t in (*arguments, out) if isinstance(t, Tensor) and t.requires_grad]
        end_history(out, name, operands)
    return out
