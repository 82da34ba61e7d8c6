"""Results that are written into a tensor given as ``out=``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views import check_cast, wrote
from nnkit.backend.dtype import OF_ARRAY
from nnkit.backend.memory import order_of, owner

# The functions whose ``out`` must have the dtype of the result, where others cast to it. Those with
# several results are among them.
SAME_DTYPE = frozenset(
    """
    abs ceil floor frac round trunc neg sign sgn nan_to_num conj bitwise_not signbit isposinf
    isneginf isin heaviside addmm addmv addbmm baddbmm bmm mm mv matmul dot vdot inner tensordot
    cross logcumsumexp diff diag msort amax amin argmax argmin nonzero gather index_select
    index_copy index_add index_reduce take take_along_dim scatter scatter_add scatter_reduce
    masked_select tril triu renorm histc bucketize searchsorted softmax log_softmax quantile
    nanquantile multinomial ormqr arange linspace logspace complex zeros ones full empty eye
    rand randn norm
    """.split()
)
# Those that are computed in the dtype of ``out``.
IN_DTYPE_OF_OUT = frozenset("sum prod nansum cumsum cumprod".split())
# Those through which no gradient ever passes: ``out`` may require one.
FLAGS = frozenset("eq ge gt le lt ne logical_and logical_not logical_or logical_xor".split())
# Those whose ``out`` may not even be the input itself.
APART = frozenset("cross gather index_select kthvalue masked_select take take_along_dim".split())


def call_into(out: Any, function: Callable, name: str, arguments: tuple, options: dict) -> Any:
    """Call a function and write its result into ``out``, a tensor or a tuple for several."""
    if name in IN_DTYPE_OF_OUT and isinstance(out, Tensor):
        if options.setdefault("dtype", out.dtype) is not out.dtype:
            raise RuntimeError(
                f"{name}(): expected argument 'out' to have dtype {options['dtype']}, "
                f"got {out.dtype}"
            )
    result = function(*arguments, **options)
    several = isinstance(result, tuple)
    if several and (not isinstance(out, (tuple, list)) or len(out) != len(result)):
        raise TypeError(f"{name}(): argument 'out' must be a tuple of {len(result)} Tensors")
    outs: Any = out if several else (out,)
    results = result if several else (result,)
    for o, r in zip(outs, results, strict=True):
        check_out(o, r, name, several)
        _check_apart(name, o, arguments)
    for o, r in zip(outs, results, strict=True):
        _write(o, r, name)
    if not several:
        return out
    return type(result)(out) if type(result) is tuple else type(result)(*out)


def check_out(out: Any, result: Tensor, name: str, several: bool = False) -> None:
    """Whether ``result`` may be written into ``out``.

    Raises:
        TypeError: ``out`` is no Tensor.
        RuntimeError: gradients would be lost, the device or the dtype does not fit, or elements of
            ``out`` share memory.
    """
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if MODE.enabled and (result._requires_grad or out._requires_grad) and name not in FLAGS:
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    if out._device is not result._device:
        raise RuntimeError(
            f"{name}(): expected argument 'out' on {result._device}, got {out._device}"
        )
    x, wanted = out._data, result._data.dtype
    if x.dtype != wanted and (several or name in SAME_DTYPE):
        raise RuntimeError(
            f"{name}(): expected argument 'out' to have dtype {result.dtype}, got {out.dtype}"
        )
    check_cast(OF_ARRAY[wanted], OF_ARRAY[x.dtype])
    if x.size and any(not s and n > 1 for n, s in zip(x.shape, x.strides, strict=True)):
        raise RuntimeError(
            f"{name}(): several elements of argument 'out' refer to a single memory location"
        )


def _check_apart(name: str, out: Tensor, arguments: tuple) -> None:
    """RuntimeError where ``out`` shares part of the memory of an argument, or all of it with a
    function that reads it out of order."""
    for argument in arguments:
        if not isinstance(argument, Tensor) or argument._device is not out._device:
            continue
        x, y = argument._data, out._data
        if owner(x) is not owner(y) or not (x.size and y.size):
            continue
        if not all(a.flags.c_contiguous or a.flags.f_contiguous for a in (x, y)):
            continue
        B = out._device.backend
        first, second = B.data_pointer(x), B.data_pointer(y)
        overlap = first < second + y.nbytes and second < first + x.nbytes
        same = first == second and x.nbytes == y.nbytes
        if overlap and (not same or name in APART):
            raise RuntimeError(
                f"{name}(): argument 'out' and an input refer to the same memory; clone one of them"
            )


def write_out(out: Any, result: Tensor, name: str) -> Tensor:
    """Write ``result`` into ``out``, which `check_out` lets through."""
    check_out(out, result, name)
    return _write(out, result, name)


def _write(out: Tensor, result: Tensor, name: str) -> Tensor:
    """Where the shape of ``out`` differs it is resized, with a warning if it had elements, as in
    torch."""
    B = out._device.backend
    if out._data.shape != result._data.shape:
        from nnkit.autograd.ops.strided import resize

        if out._data.size:
            warnings.warn(
                f"{name}(): argument 'out' of shape {list(out._data.shape)} was resized to "
                f"{list(result._data.shape)}; pass one of that shape, or an empty one",
                UserWarning, stacklevel=3,
            )  # fmt: skip
        resize(out, result._data.shape, order_of(result._data))
    B.copy_(out._data, result._data)
    wrote(out, name)
    return out
