"""The checks that a row drives; each takes the framework under test and a row."""

from __future__ import annotations

import contextlib
import functools
import importlib
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.harness import expectations
from tests.harness.call import (
    Call,
    Layout,
    Result,
    arrays_in,
    builtin_type,
    cotangent,
    dtype_name,
    flatten,
    resolve,
    to_array,
    to_tensor,
)
from tests.harness.cases import Case, plain_arrays
from tests.harness.row import COMPLEX, FLOATS, Fixed, Maker, OpRow, Raises, Sample
from tests.harness.tolerances import assert_close


@contextlib.contextmanager
def derivatives(framework: ModuleType) -> Iterator[None]:
    """torch lacks some derivatives that nnkit has: skip them where torch itself is under test."""
    try:
        yield
    except RuntimeError as error:
        if framework.__name__ == "torch" and "not implemented" in str(error):
            pytest.skip(str(error))
        raise


def parity(framework: ModuleType, case: Case, subject: str) -> Result:
    """Value, dtype, shape, gradient and, where torch refuses, the type of the exception."""
    return _agreeing(case.run(framework), answer(case, subject), case, subject)


def answer(case: Case, subject: str) -> Result:
    """torch's result: what is asked for here must be what the files hold."""
    wanted = expectations.answer(case, subject)
    if expectations.torch_answers(subject):
        stored = expectations.frozen(subject)
        assert case.key in stored, "run: python -m tests.harness.frozen"
        assert_same(wanted.thinned(), stored[case.key], case.key, case.row)
    return wanted


def _agreeing(actual: Result, wanted: Result, case: Case, subject: str) -> Result:
    held = actual if expectations.torch_answers(subject) else actual.thinned()
    assert_same(held, wanted, case.key, case.row)
    return actual


def numbers_from_tensors(framework: ModuleType, case: Case, subject: str) -> None:
    """Parity where torch takes the tensor; what it refuses may be taken."""
    wanted = answer(case, subject)
    if not wanted.error:
        _agreeing(case.run(framework), wanted, case, subject)


def assert_same(actual: Result, wanted: Result, key: str, row: OpRow) -> None:
    """Two results agree in everything that they hold."""
    assert actual.error == wanted.error, f"{key}: raised {actual.error!r}, torch {wanted.error!r}"
    assert actual.dtypes == wanted.dtypes, f"{key}: {actual.dtypes}, torch {wanted.dtypes}"
    pairs = zip(actual.outputs, wanted.outputs, actual.dtypes, strict=True)
    for index, (mine, theirs, dtype) in enumerate(pairs):
        assert_close(mine, theirs, dtype, f"{key}: output {index}", row)
    mine, theirs = actual.gradients, wanted.gradients
    assert [g is None for g in mine] == [g is None for g in theirs], f"{key}: gradients missing"
    for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        if one is not None and other is not None:
            assert one.dtype == other.dtype, f"{key}: gradient {index} is {one.dtype}"
            assert_close(one, other, other.dtype.name, f"{key}: gradient {index}", row)


def inputs_unmodified(framework: ModuleType, row: OpRow) -> None:
    """Neither forward nor backward writes into an argument."""
    for dtype in row.dtypes:
        for sample in row.samples(Maker(row, dtype)):
            track = dtype in ("float32", "float64")
            call = Call(framework, row, sample, track=track)
            before = {key: to_array(tensor) for key, tensor in call.tensors.items()}
            call.result(may_raise=not row.differentiable)
            for key, array in before.items():
                np.testing.assert_array_equal(to_array(call.tensors[key]), array)


def gradcheck(framework: ModuleType, row: OpRow, order: int) -> None:
    """The analytical derivative against finite differences, in double precision: of few elements by
    each of them, of many along one direction."""
    check = framework.autograd.gradcheck if order == 1 else framework.autograd.gradgradcheck
    # torch has no forward mode for some ops.
    forwards = {"check_forward_ad": True} if order == 1 and framework.__name__ != "torch" else {}
    for dtype in [name for name in row.dtypes if name in ("float64", "complex128")]:
        checked = 0
        for sample in row.samples(Maker(row, dtype)):
            call = Call(framework, row, sample, track=True)
            function = call.differentiable()
            if function is not None:
                many = sum(leaf.numel() for leaf in call.leaves) > 8
                # Some of torch's gradients are not exact enough.
                how = ALONG_A_DIRECTION if many and framework.__name__ != "torch" else {}
                with warnings.catch_warnings():
                    if framework.__name__ == "torch":
                        warnings.simplefilter("ignore")
                    assert check(function, call.leaves, **forwards, **how)
                checked += 1
        assert checked, f"{row.name}: no sample in {dtype} has a gradient; is it differentiable?"


# So strict that it finds an error of a hundredth in one of fifty elements, as one by one does.
ALONG_A_DIRECTION = {"fast_mode": True, "atol": 1e-7, "rtol": 1e-5}


def layouts(framework: ModuleType, row: OpRow) -> None:
    """Strided, transposed and expanded inputs give what contiguous ones of the same values give."""
    dtype = "float64" if "float64" in row.dtypes else row.dtypes[0]
    for layout in (transposed, stepped, expanded):
        for index, sample in enumerate(row.samples(Maker(row, dtype))):
            if layout is expanded and not row.elementwise:
                continue  # equal values would be ties, or other indices than the sample needs
            strided = Call(framework, row, sample, track=True, layout=layout)
            plain = Call(framework, row, sample, track=True, layout=_contiguous(layout))
            key = f"{row.name}/{layout.__name__}/{index}"
            may_raise = not row.differentiable
            assert_same(strided.result(may_raise), plain.result(may_raise), key, row)


def _contiguous(layout: Layout) -> Layout:
    return lambda array: layout(array).copy("C")


def transposed(array: np.ndarray) -> np.ndarray:
    """The same values in column order."""
    return array.copy("F")


def stepped(array: np.ndarray) -> np.ndarray:
    """The same values at every second place of a longer row."""
    if array.ndim == 0:
        return array.copy()
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def expanded(array: np.ndarray) -> np.ndarray:
    """The first slice along the first axis, repeated without a copy."""
    if array.ndim == 0 or array.shape[0] == 0:
        return array.copy()
    first = array[:1].copy()
    return np.lib.stride_tricks.as_strided(first, array.shape, (0, *first.strides[1:]))


# The ops, each made of several here, that save less than torch's one op does.
LENIENT = frozenset(
    "addbmm batch_norm frexp ldexp linalg.cholesky_ex linalg.lstsq linalg.lu linalg.lu_solve "
    "nn.functional.batch_norm nn.functional.bilinear "
    "nn.functional.binary_cross_entropy_with_logits nn.functional.embedding_bag "
    "nn.functional.poisson_nll_loss rnn_relu_cell rnn_tanh_cell".split()
)


def written(framework: ModuleType, row: OpRow) -> None:
    """A tensor written between forward and backward: an error, or the unwritten one's gradient.

    Each argument and each output is, of the op and of what writes in place. There is an error where
    torch has one, and none where torch makes nothing of it.
    """
    double = [dtype for dtype in row.dtypes if dtype == "float64"]
    dtype = next(dtype for dtype in (*double, *row.dtypes) if dtype in FLOATS + COMPLEX)
    names = (row.inplace,) if isinstance(row.inplace, str) else row.inplace
    for name in (None, *(n for n in names if n)):
        for number, sample in enumerate(row.samples(Maker(row, dtype))):
            if name is not None and not isinstance(sample.args[0], np.ndarray):
                continue  # nothing to write into
            plain, count = _gradients_after_write(framework, row, sample, None, name)
            for target in range(count):
                mine, _ = _gradients_after_write(framework, row, sample, target, name)
                place = f"{row.name}: {name or 'plain'}, sample {number}, tensor {target}"
                if mine is not None:
                    what = "the gradient is that of what was written"
                    assert _equal(mine, plain), f"{place}: {what}"
                if expectations.torch is None:
                    continue
                minds = _torch_minds(row, sample, target, name)
                if mine is None and not row.keeps:
                    assert minds, f"{place}: torch does not mind the write"
                if mine is not None and row.name not in LENIENT:
                    assert minds != "refuses", f"{place}: torch refuses the write"


def _torch_minds(row: OpRow, sample: Sample, target: int, name: str | None) -> str:
    """What torch makes of a write: "refuses", "loses" the gradient by it, or "" where neither."""
    torch: Any = expectations.torch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, _ = _gradients_after_write(torch, row, sample, target, name)
        plain, _ = _gradients_after_write(torch, row, sample, None, name)
    if theirs is None:
        return "refuses"
    return "" if _equal(theirs, plain) else "loses"


def _equal(one: list, other: list | None) -> bool:
    """Whether gradients are the same; a view whose base was written adds them in another order."""
    return other is not None and all(
        a is b or (a is not None and b is not None and _same_but_for_order(a, b))
        for a, b in zip(one, other, strict=True)
    )


def _same_but_for_order(a: np.ndarray, b: np.ndarray) -> bool:
    exact = a.dtype.kind not in "fc"
    rtol = 0 if exact else 8 * np.finfo(a.dtype).eps
    return a.shape == b.shape and np.allclose(a, b, rtol, rtol, equal_nan=True)


def _gradients_after_write(
    framework: ModuleType, row: OpRow, sample: Sample, target: int | None, name: str | None
) -> tuple[list | None, int]:
    """The gradients where tensor ``target`` of arguments and outputs is set to zero before
    backward, None where that is refused; and how many tensors there are."""
    call = Call(framework, row, sample, track=True)
    copies = [leaf.clone() for leaf in call.leaves]
    tensors: list = []
    try:
        write = None if name is None else writer(framework, row, name)
        found = flatten(call(*copies, function=write))
        outputs = [out for out in found if isinstance(out, framework.Tensor)]
        given = call.tensors | dict(zip(call.leaf_keys, copies, strict=True))
        tensors += [*given.values(), *outputs]
        tracked = [out for out in outputs if out.requires_grad]
        if not tracked:
            return None, 0
        if target is not None:
            with framework.no_grad():
                tensors[target].copy_(framework.zeros_like(tensors[target]))
        cotangents = [to_tensor(framework, cotangent(out)) for out in tracked]
        found = framework.autograd.grad(tracked, call.leaves, cotangents, allow_unused=True)
    except RuntimeError:
        return None, len(tensors)
    return [None if g is None else to_array(g) for g in found], len(tensors)


def backward_again(framework: ModuleType, row: OpRow) -> None:
    """A second backward through the same graph, and one through the gradients, are refused where
    torch refuses them; the gradients have a history where torch's have one."""
    double = [dtype for dtype in row.dtypes if dtype == "float64"]
    dtype = next(dtype for dtype in (*double, *row.dtypes) if dtype in FLOATS + COMPLEX)
    for number, sample in enumerate(row.samples(Maker(row, dtype))):
        theirs = _backward_again(expectations.torch, row, sample)
        mine = _backward_again(framework, row, sample)
        for what, wanted in theirs.items():
            place = f"{row.name}: sample {number}, {what}"
            assert mine.get(what) == wanted, f"{place}: {mine.get(what)}, torch {wanted}"


def checkpointed(framework: ModuleType, row: OpRow) -> None:
    """In a checkpoint a function runs once more at most, and its gradients have the same bits."""
    checkpoint = importlib.import_module(f"{framework.__name__}.utils.checkpoint").checkpoint
    grad = functools.partial(framework.autograd.grad, allow_unused=True)
    dtype = next(dtype for dtype in ("float64", *row.dtypes) if dtype in row.dtypes)
    for number, sample in enumerate(row.samples(Maker(row, dtype))):
        call = Call(framework, row, sample, track=True)
        function = call.differentiable()
        if function is None:
            continue
        runs = []

        def counted(*leaves: Any, function: Any = function, runs: list = runs) -> Any:
            runs.append(leaves)
            return function(*[leaf * 1 for leaf in leaves])  # of what is used in place

        found = [counted(*call.leaves), checkpoint(counted, *call.leaves, use_reentrant=False)]
        gradients = []
        for outputs in found:
            tracked = [out for out in flatten(outputs) if getattr(out, "requires_grad", False)]
            cotangents = [to_tensor(framework, cotangent(out)) for out in tracked]
            gradients.append(grad(tracked, call.leaves, cotangents) if tracked else ())
        place = f"{row.name}: sample {number}"
        assert len(runs) <= 3, f"{place}: run {len(runs) - 2} times more"
        for first, second in zip(*gradients, strict=True):
            assert (first is None) == (second is None), place
            if first is not None and second is not None:
                np.testing.assert_array_equal(to_array(second), to_array(first), place)


def _backward_again(framework: Any, row: OpRow, sample: Sample) -> dict[str, Any]:
    """What comes of it; without what torch has no derivative for."""
    call = Call(framework, row, sample, track=True)
    grad = framework.autograd.grad
    seen: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tracked = [out for out in flatten(call()) if getattr(out, "requires_grad", False)]
        if not tracked:
            return seen
        cotangents = [to_tensor(framework, cotangent(out)) for out in tracked]
        first = functools.partial(grad, tracked, call.leaves, cotangents, allow_unused=True)
        first()
        try:
            first()
            seen["a second backward"] = "done"
        except RuntimeError:
            seen["a second backward"] = "refused"
        tracked = [out for out in flatten(call()) if getattr(out, "requires_grad", False)]
        gradients = grad(tracked, call.leaves, cotangents, allow_unused=True, create_graph=True)
        found = [g for g in gradients if g is not None and g.requires_grad]
        try:
            ones = [framework.ones_like(g) for g in found]
            second = grad(found, call.leaves, ones, allow_unused=True) if found else []
        except (RuntimeError, TypeError):  # torch lacks some, and stumbles over others
            return seen
        seen["gradients with a history"] = [g is not None and g.requires_grad for g in gradients]
        seen["second gradients"] = [g is not None for g in second]
    return seen


def out_variant(framework: ModuleType, row: OpRow) -> None:
    """``out=`` is written, resized, returned; refused in the wrong dtype or with a graph."""
    call = Call(framework, row, _first(row))
    plain = call()
    wanted = [to_array(tensor) for tensor in flatten(plain)]

    def empty(like: Any, **change: Any) -> Any:
        return framework.empty(0, **{"dtype": like.dtype, **change})

    for make_out in (framework.empty_like, empty):
        outs = [make_out(tensor) for tensor in flatten(plain)]
        returned = list(flatten(call(out=_like(plain, outs))))
        assert all(a is b for a, b in zip(returned, outs, strict=True)), (
            f"{row.name}: not out itself"
        )
        for mine, array in zip(outs, wanted, strict=True):
            np.testing.assert_array_equal(to_array(mine), array)
    if next(flatten(plain)).dtype.is_floating_point and not row.casts_to_out:
        wrong = [empty(tensor, dtype=framework.int32) for tensor in flatten(plain)]
        with pytest.raises((RuntimeError, TypeError)):
            call(out=_like(plain, wrong))
    tracked = Call(framework, row, _first(row), track=True)
    if row.differentiable:
        outs = [framework.empty_like(tensor) for tensor in flatten(plain)]
        if row.tracks_out:
            assert tracked(out=_like(plain, outs)).grad_fn is not None
            return
        with pytest.raises(RuntimeError):
            tracked(out=_like(plain, outs))


def inplace_variant(framework: ModuleType, row: OpRow, name: str) -> None:
    """What writes in place: values and gradients, the version, and no writing into a leaf."""
    write = writer(framework, row, name)

    def form(x, *args, **kwargs):
        target = x.clone()
        version = target._version
        assert write(target, *args, **kwargs) is target, f"{name} does not return its argument"
        assert target._version > version, f"{name}: the version did not move"
        return target

    written_once = False
    for sample in row.samples(Maker(row, "float64" if "float64" in row.dtypes else row.dtypes[0])):
        track = row.differentiable
        plain = Call(framework, row, sample, track=track)
        target = sample.args[0]
        if not isinstance(target, np.ndarray) or next(flatten(plain())).shape != target.shape:
            continue  # nothing to write into, or it does not fit
        if track and not row.inplace_gradient:
            with pytest.raises(NotImplementedError):
                form(plain()).sum().backward()
            track = False
            plain = Call(framework, row, sample)
        expected = plain.result()
        if expected.dtypes == ["bool"]:  # eq_ writes zeros and ones into a tensor of another dtype
            expected.dtypes = [dtype_name(target)]
        written = Call(framework, row, sample, track=track)
        written.function, written.name = form, row.name
        assert_same(written.result(), expected, f"{row.name}/{name}", row)
        if track and written.leaves:
            with pytest.raises(RuntimeError, match="leaf"):
                written(function=write)
        written_once = True
    assert written_once


def writer(framework: ModuleType, row: OpRow, name: str) -> Callable:
    """The form of the op that writes in place."""
    if name == "inplace=True":
        return functools.partial(resolve(framework, row.name), inplace=True)
    return resolve(framework, name if "." in name else f"Tensor.{name}")


def method_form(framework: ModuleType, row: OpRow) -> None:
    """``x.op(...)`` is ``op(x, ...)``."""
    _same_values(framework, row, resolve(framework, f"Tensor.{row.method}"))


def aliases(framework: ModuleType, row: OpRow) -> None:
    """Each further name gives what the first one gives, in all of its forms."""
    for alias in row.aliases:
        forms = [alias]
        if "." not in alias:
            forms += [f"Tensor.{alias}"] * bool(row.method) + [f"Tensor.{alias}_"] * bool(
                row.inplace
            )
        for name in forms:
            _same_values(framework, row, resolve(framework, name))


def _same_values(framework: ModuleType, row: OpRow, function: Callable) -> None:
    for sample in row.samples(Maker(row, row.dtypes[0])):
        if isinstance(sample.args[0], np.ndarray):
            call = Call(framework, row, sample)
            wanted = [to_array(out) for out in flatten(call())]
            actual = [to_array(out) for out in flatten(call(function=function))]
            for mine, array in zip(actual, wanted, strict=True):
                np.testing.assert_array_equal(mine, array)


def errors(framework: ModuleType, row: OpRow) -> None:
    """The row's wrong calls fail as torch's do, and say what was wrong."""
    wrong = list(row.errors(Maker(row, row.dtypes[0]))) if row.errors is not None else []
    if row.elementwise:
        wrong.extend(_mismatched(row))
    for raises in wrong:
        if expectations.torch is not None:
            with pytest.raises(BaseException) as theirs:
                Call(expectations.torch, row, raises)()
            assert builtin_type(theirs.value) is raises.error, f"{row.name}: torch {theirs.value!r}"
        with pytest.raises(BaseException) as mine:
            Call(framework, row, raises)()
        assert builtin_type(mine.value) is raises.error, f"{row.name}: {mine.value!r}"
        if framework.__name__ != "torch":
            assert raises.noun in str(mine.value), f"{row.name}: no {raises.noun!r}: {mine.value}"


def _first(row: OpRow) -> Sample:
    return row.samples(Maker(row, row.dtypes[0]))[0]


def _like(plain: object, outs: list) -> object:
    """One tensor for an op with one output, a tuple for an op with several."""
    return tuple(outs) if isinstance(plain, (tuple, list)) else outs[0]


def _mismatched(row: OpRow) -> list[Raises]:
    """Two operands that do not broadcast; the message must name both shapes."""
    first = _first(row)
    arrays = plain_arrays(first)
    if len(arrays) < 2 or any(isinstance(a, Fixed) for a in arrays_in(first.args)):
        return []
    shapes = [(2, 3), (4,), *[()] * (len(arrays) - 2)]
    resized = [np.resize(a, shape) for a, shape in zip(arrays, shapes, strict=True)]
    return [Raises(RuntimeError, noun, *resized, *first.args[len(arrays) :]) for noun in "34"]
