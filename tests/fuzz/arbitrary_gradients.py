"""Where torch's gradients are arbitrary: rules of `tests.fuzz.arbitrary`."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from tests.fuzz.evidence import Difference
from tests.fuzz.observe import array_of, record_of

BACKWARD = r"backward\(|grad\("
# Of which torch's last node only changes or sums up what the one before it has computed.
SEVERAL = r" @ |matmul\(|linear\(|kron\(|multi_dot\(|_loss\("
# What makes a tensor whose elements do not lie in a row.
TURNS = r"permute|transpose|\.m?[TH]\b|channels_last|strided|expand|broadcast"
CHOICES = r"(max|min|sort|topk|kthvalue|median|mode|cummax|cummin)\("


def _is_backward(d: Difference) -> bool:
    return re.search(BACKWARD, d.statement) is not None


def _has_other_indices(d: Difference) -> bool:
    """Whether torch refuses a backward after the data of integers was replaced: its graph reads
    the indices that a choice has returned, not what they were."""
    replaced = re.search(r"\.data = ", d.earlier) and re.search(CHOICES, d.earlier)
    return d.errors == ("RuntimeError", None) and _is_backward(d) and replaced is not None


def _freed_last(d: Difference) -> bool:
    """Whether one of the two has freed what a function saved, in a pass to its own result."""
    to_itself = re.search(r"backward\(.*inputs=", d.earlier)
    freed = set(d.errors) == {None, "RuntimeError"} and _is_backward(d)
    return freed and to_itself is not None and re.search(SEVERAL, d.earlier) is not None


def _shared_by_leaves(d: Difference) -> bool:
    """Whether the gradients of two leaves of one element are one memory in torch: that of a leaf
    is written where that of the other was meant."""
    if d.aspect != "values" or not d.label.endswith(".grad") or np.size(d.expected) != 1:
        return False
    others = [d.wanted.get(label) for label in d.wanted if label.endswith(".grad")]
    values = [array_of(r) for r in others if isinstance(r, tuple) and r[2]]
    return sum(v.size == 1 and np.ravel(v) == np.ravel(d.expected) for v in values) > 1


def _in_logarithms(d: Difference) -> bool:
    """Whether a gradient of `logcumsumexp` in half precision differs by roundings: torch adds up
    the logarithms of its terms."""
    record = d.wanted.get(d.label)  # of a tensor, or what a hook saw
    half = isinstance(record, tuple) and record[0].endswith("float16")
    found = d.aspect == "values" and half and "logcumsumexp(" in d.earlier
    return found and np.allclose(d.expected, d.actual, 1e-2, 1e-2, equal_nan=True)


def _of_leading_infinities(d: Difference) -> bool:
    """Whether a gradient of `logcumsumexp` is NaN in torch where it is 0 here, or the reverse."""
    if d.aspect != "values" or "logcumsumexp(" not in d.earlier or not _is_backward(d):
        return False
    expected, actual = np.asarray(d.expected), np.asarray(d.actual)
    return np.array_equal(np.where(np.isnan(expected) & (actual == 0), 0, expected), actual, True)


def _nothing_of_sgn(d: Difference) -> bool:
    """Whether a gradient is 0 in torch that is NaN here, of `sgn`."""
    if d.aspect != "values" or not re.search(r"\bsgn_?\(", d.earlier) or not _is_backward(d):
        return False
    expected, actual = np.asarray(d.expected), np.asarray(d.actual)
    return np.array_equal(np.where(np.isnan(actual) & (expected == 0), 0, actual), expected, True)


def _dtypes_given(d: Difference, call: str) -> list[str]:
    """The dtypes of the tensors that calls were given before, by name or as lists of numbers."""
    given = " ".join(re.findall(rf"{call}.*", d.earlier))
    names = re.findall(r"\bx\d+\b", given)
    lists = re.findall(r"T\.tensor\(([^()]*)\)", given)
    numbers = ["bool" if "e" in each else "int64" for each in lists if not re.search(r"\d\.", each)]
    written = re.findall(r"dtype=T\.(\w+)", given)
    return [str(d.seen("dtype", d.before, name)) for name in names] + numbers + written


def _divides_by_integers(d: Difference) -> bool:
    """Whether torch refuses the gradient of a quotient by integers in `addcdiv`: its derivative
    divides a number in memory of their dtype."""
    dtypes = _dtypes_given(d, r"addcdiv_?\(")
    integers = any("int" in dtype or dtype == "bool" for dtype in dtypes)
    return d.errors == ("RuntimeError", None) and _is_backward(d) and integers


def _subtracts_bools(d: Difference) -> bool:
    """Whether torch refuses the gradient of `logaddexp` of a bool: its derivative is made of the
    difference of the operands in their own dtypes."""
    bools = "bool" in _dtypes_given(d, r"logaddexp2?\(")
    return d.errors == ("RuntimeError", None) and _is_backward(d) and bools


def _parts_of_nothing(d: Difference) -> bool:
    """Whether torch refuses the gradient of the parts of no complex numbers: of nothing it does not
    copy what was expanded."""
    names = re.findall(r"(x\d+) = T\.view_as_real\(", d.earlier)
    empty = any(0 in (d.seen("shape", d.before, name) or ()) for name in names)
    return d.errors == ("RuntimeError", None) and _is_backward(d) and empty


def _is_its_input(d: Difference) -> bool:
    """Whether a hook may not write the gradient of an extreme of no elements, which is the input
    itself in torch."""
    refused = d.errors == ("RuntimeError", None) and _is_backward(d)
    names = re.findall(r"cumm(?:in|ax)\((x\d+)|(x\d+)\.cumm(?:in|ax)\(", d.earlier)
    shapes = [d.seen("shape", d.before, a or b) or () for a, b in names]
    return refused and any(0 in shape for shape in shapes)


def _writes_expanded(d: Difference) -> bool:
    """Whether a gradient was written that is a view of one element in torch, of which it makes the
    history anew, and here the memory of several."""
    written = re.findall(r"^(x\d+)(?:\[.*\] .?=|\.\w+_\()", d.earlier, re.MULTILINE)
    made = re.findall(r"(x\d+),? = .*T\.(?:autograd|func)\.grad\(", d.earlier)
    refused = d.errors == (None, "RuntimeError") and _is_backward(d)
    bases = [d.seen("base", d.before, name) for name in written]
    return refused and not {*written, *bases}.isdisjoint(made)


def _version_of_gradient(d: Difference) -> bool:
    """Whether it is asked for how often a gradient was written: torch may copy one into it."""
    if d.aspect != "value" or "._version > 0" not in d.statement:
        return False
    gradients = {d.seen("grad", d.before, label) for label in d.before}
    return ".grad._version" in d.statement or not gradients.isdisjoint(d.named())


def _zero_of_scores(d: Difference) -> bool:
    """Whether a gradient through attention is 0 but for roundings, as where all values are
    equal."""
    if d.aspect != "values" or not _is_backward(d) or "attention(" not in d.earlier:
        return False
    return bool(np.max(np.abs(d.expected)) < 1e-5 and np.max(np.abs(d.actual)) < 1e-5)


def _written_unseen(d: Difference) -> bool:
    """Whether a gradient differs of a normalization whose input was written through ``data``, of
    which no version tells: torch's has kept the means of what it was."""
    kept = re.search(r"(layer_norm|group_norm|logsigmoid)\(", d.earlier) is not None
    written = re.search(r"\.data(\.\w+_\(|\[.*\] .?= )", d.earlier) is not None
    return d.aspect == "values" and _is_backward(d) and kept and written


def _mapped_unseen(d: Difference) -> bool:
    """Whether a gradient differs of what `map_` has written, which no version tells, after it was
    cast for an operation of several dtypes: torch may read it again."""
    written = re.search(r"\.map2?_\(", d.earlier) is not None
    return d.aspect == "values" and _is_backward(d) and written and "T.func.vmap(" in d.earlier


def _rows_of_one(d: Difference) -> bool:
    """Whether the gradient of a distance of rows lies by the steps of a dimension of size 1."""
    made = re.findall(r"cdist\((x\d+), (x\d+)", d.earlier)
    shapes = [d.seen("shape", d.before, name) or () for pair in made for name in pair]
    return d.aspect == "strides" and _is_backward(d) and any(1 in shape for shape in shapes)


def _cast_to_complex(d: Difference) -> bool:
    """Whether torch has a complex gradient for real numbers, which it cast within."""
    refused = d.errors == ("RuntimeError", None) and _is_backward(d)
    complex_ = any("complex" in str(record_of(d.before, n)) for n in d.named())
    return refused and complex_ and "diagonal_scatter(" in d.earlier


def _of_one_zero(d: Difference) -> bool:
    """Whether a gradient passes through the product of all elements, of which one is 0."""
    if d.aspect != "strides" or not _is_backward(d):
        return False
    sources = re.findall(r"(x\d+)\.prod\(\)|T\.prod\((x\d+)\)", d.earlier)
    records = [record_of(d.before, name) for pair in sources for name in pair if name]
    return any(np.sum(array_of(r) == 0) == 1 for r in records if r and r[2])


def _of_one_memory(d: Difference) -> bool:
    """Whether a gradient without dimensions differs that is in torch what another leaf's is."""
    grads = [label for label in d.wanted if label.endswith(".grad") and label != d.label]
    same = [g for g in grads if d.seen("values", d.wanted, g) == d.seen("values", d.wanted)]
    alone = d.seen("shape", d.wanted) == () and d.label.endswith(".grad")
    return alone and d.aspect in ("version", "values") and bool(same) and _is_backward(d)


def _of_singular_logarithm(d: Difference) -> bool:
    """Whether NaN stand where torch's elimination of a singular matrix divides by zero."""
    made = re.search(r"logdet\(", d.earlier + d.statement)
    if d.aspect != "values" or made is None or not _is_backward(d):
        return False
    expected, actual = np.asarray(d.expected), np.asarray(d.actual)
    return bool(np.all((expected == actual) | (np.isnan(actual) & ~np.isfinite(expected))))


RULES: dict[str, Callable[[Difference], bool]] = {
    "the gradient of the logarithm of a determinant that is 0": _of_singular_logarithm,
    "torch's graph holds the indices of what was chosen, whose data may be replaced": (
        _has_other_indices
    ),
    "which node of a function is the last, and what a pass to its result frees": _freed_last,
    "torch gives two leaves of one element one gradient": _shared_by_leaves,
    "the steps in which the gradient of logcumsumexp is rounded in half precision": _in_logarithms,
    "torch takes the logarithm of a gradient, and so has NaN before the first of logcumsumexp's "
    "elements that is not -inf, where no gradient comes from, and nothing of a NaN": (
        _of_leading_infinities
    ),
    "the gradient of sgn has no memory in torch: it is 0 after any product, with a NaN too": (
        _nothing_of_sgn
    ),
    "torch divides by integers, in their own dtype, in a gradient of addcdiv": (
        _divides_by_integers
    ),
    "and by half precision, in which the quotient is rounded": lambda d: (
        d.aspect == "values"
        and _is_backward(d)
        and any("float16" in dtype for dtype in _dtypes_given(d, r"addcdiv_?\("))
        and np.allclose(d.expected, d.actual, 0.05, 0.05)
    ),
    "torch subtracts bools, which it refuses, in a gradient of logaddexp": _subtracts_bools,
    "torch minds how a gradient of no elements lies in memory": _parts_of_nothing,
    "the gradient of the least or largest so far of no elements is the input in torch": (
        _is_its_input
    ),
    "a gradient may be a view of one element in torch, also when it is written": _writes_expanded,
    "how often torch writes into a gradient before it is shown": _version_of_gradient,
    "torch has no gradient of what diagonal_scatter casts": _cast_to_complex,
    "the gradient of nothing, which torch's cat leaves out, has no history there": lambda d: (
        (d.aspect, d.expected) == ("requires_grad", False)
        and re.search(BACKWARD + r".*create_graph", d.statement) is not None
        and re.search(r"\b(concat\w*|cat|\w+stack)\(", d.earlier) is not None
        and 0 in (d.seen("shape", d.shown) or ())
    ),
    "the roundings of a gradient that is 0, of attention to equal values": _zero_of_scores,
    "torch's graph holds the means of what a tensor was before it was written through data": (
        _written_unseen
    ),
    "torch's graph may hold what map_ has written, uncounted, before it is cast": _mapped_unseen,
    "the step of a dimension of size 1 decides how the gradient of cdist lies": _rows_of_one,
    "torch divides by the whole source of a product, of which an index may use a part": lambda d: (
        d.errors == ("RuntimeError", None)
        and _is_backward(d)
        and re.search(r"scatter_reduce_?\(.*'prod'", d.earlier) is not None
    ),
    "the steps in which half precision is rounded in the gradient of a wider number": lambda d: (
        d.aspect == "values"
        and _is_backward(d)
        and "float16" not in (d.seen("dtype", d.wanted) or "float16")
        and any("float16" in str(d.seen("dtype", d.before, name)) for name in d.named())
        and np.allclose(d.expected, d.actual, rtol=2**-8, equal_nan=True)
    ),
    "torch's gradient of a scatter does not fit where none of several elements is written": (
        lambda d: (
            d.errors == ("RuntimeError", None)
            and _is_backward(d)
            and "scatter_reduce" in d.earlier
            and 0 in (d.seen("shape", d.before, (d.named() or [d.label])[0]) or ())
        )
    ),
    "torch gives two leaves without dimensions one memory for their gradients": _of_one_memory,
    "the second derivative of dist is a function of the node of its result, or of one within": (
        lambda d: (
            (d.aspect, d.label[-5:]) == ("existence", ".grad")
            and re.search(r"x\d+ = T\.dist\(", d.earlier) is not None
            and "create_graph" in d.earlier
            and _is_backward(d)
        )
    ),
    "torch saves a copy of a batch that lies so that it makes no matrix without one": lambda d: (
        d.errors == (None, "RuntimeError")
        and _is_backward(d)
        and re.search(r"@|matmul|attention|group_norm", d.earlier) is not None
        and re.search(TURNS, d.earlier) is not None
    ),
    "torch has no second derivative of cdist, and says so before what else is wrong": lambda d: (
        d.errors[0] == "NotImplementedError" and _is_backward(d) and "cdist(" in d.earlier
    ),
    "the gradient of a product of all elements lies by rows where exactly one of them is 0": (
        _of_one_zero
    ),
    "torch's engine refuses a complex gradient of real numbers, which some operations give": (
        lambda d: (
            d.errors == ("RuntimeError", None)
            and re.search(r"backward\(|grad\(", d.statement) is not None
            and re.search(
                r"diagonal_scatter|as_strided_scatter|where|fill_?\(|dist\(|\] = ", d.earlier
            )
            is not None
            and any(d.seen("dtype", d.before, n) == "complex64" for n in d.before)
        )
    ),
}
