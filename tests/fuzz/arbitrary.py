"""Where torch's own answer is arbitrary: a program that comes there ends, unjudged."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz import (
    arbitrary_gradients,
    arbitrary_inference,
    arbitrary_memory,
    arbitrary_ops,
    arbitrary_transforms,
)
from tests.fuzz.evidence import Difference, in_statement
from tests.fuzz.observe import ASPECTS, UNNAMED, WITHIN, array_of, close, record_of

NORMS = r"norm\(|normalize\(|\bm\d+\("
# What torch makes of several operations, or writes through a view: one node of other arguments.
PARTS = r"x\d+(?:\[[^]]*\])*\[[^]]*,.*\]"  # of an index, each a view of its own there
COMPOSED = rf"einsum|tensordot|kl_div|matmul| @ |\] .?= |\.(?:real|imag)\b|{PARTS}"


def _refused_unchanged(d: Difference) -> bool:
    """Whether both refuse the statement, and the tensor is what it was before here."""
    return None not in d.errors and all(
        d.seen(aspect, d.before) == d.seen(aspect, d.shown)
        for aspect in ASPECTS
        if aspect not in ("version", "grad")
    )


def _integer_of_history(d: Difference) -> bool:
    dtype = d.seen("dtype", d.wanted) or ""
    differentiable = "float" in dtype or "complex" in dtype
    return not differentiable and in_statement(
        r"fill_\(|\] = |\.(eq|ne|[gl][et])_\(", "requires_grad", "is_leaf"
    )(d)


def _shows_bits(d: Difference) -> bool:
    """Whether integers differ that are the bits of rounded numbers, or any numbers that are the
    bits of a NaN, under another name."""
    if d.aspect != "values" or ".view(T." not in d.earlier:
        return False
    records = [(record_of(d.wanted, name), record_of(d.shown, name)) for name in d.wanted]
    pairs = [(a, b) for a, b in records if a and b and a[2] != b[2] and close(b, a, a[0])]
    if np.asarray(d.actual).dtype.kind == "i":
        return bool(pairs)
    return any(np.isnan(array_of(a)).any() for a, _ in pairs)


def _writes_repeated(d: Difference) -> bool:
    """Whether several elements of a tensor that the statement names lie in one place."""
    return any(_is_repeated(d, name) for name in d.named())


def _is_repeated(d: Difference, name: str) -> bool:
    """Whether several elements of a tensor lie in one place."""
    shape, strides = d.seen("shape", d.before, name), d.seen("strides", d.before, name)
    sizes = [size for size in shape or () if size > 1]
    offsets = np.zeros((), int)
    for size, stride in zip(sizes, strides or ()):
        offsets = np.add.outer(offsets, np.arange(size) * stride)
    return len(np.unique(offsets)) < offsets.size


def _reads_what_it_writes(d: Difference) -> bool:
    """Whether a statement that writes a tensor names one that lies in its memory elsewhere, or
    itself where the order of the elements matters."""
    if d.aspect != "values" or d.label not in d.before:
        return False
    names = d.named()
    # A detached tensor, or one of other data or of NumPy's, does not tell whose memory it has.
    hidden = re.search(r"\.data\b|from_numpy\(|detach\(\)", d.earlier) is not None
    writes = r"|(scatter|index|put|addmm|baddbmm)\w*_\(|\] = x" * hidden
    if re.search(r"masked_scatter_\(" + writes, d.statement):
        held = [d.seen("values", d.before, name) for name in names]
        if len(set(held)) < len(held):
            return True
    target = re.search(r"^ *(x\d+)(?:\[.*\] .?= |\.\w+_\()|out=(x\d+)", d.statement, re.MULTILINE)
    if hidden and target:
        own = d.seen("identity", d.before, target[1] or target[2])
        read = [n for n in names if d.seen("identity", d.before, n) != own]
        if any(d.seen("values", d.before, n) != d.seen("values", d.shown, n) for n in read):
            return True  # it was written as well
    # Of views that inference mode made nobody knows the base.
    unknown = all(d.seen("is_inference", d.before, name) for name in names)
    if (
        unknown
        and len(set(names)) > 1
        and re.search(r"^ *x\d+(\[.*\])?( .?= |\.\w+_\().*x\d", d.statement, re.MULTILINE)
    ):
        return True
    owners = [d.seen("base", d.before, n) or d.seen("identity", d.before, n) for n in d.named()]
    several = r"addmm_|baddbmm_|masked_scatter_|scatter_reduce_|scatter_add_"
    written = re.search(rf"\b(?:x\d+|_)(\.({several})\(|\[.*\] .?= )", d.statement)
    if written and owners[0] in owners[1:]:
        return True
    if re.search(r"T\.matmul\(.*out=", d.statement) and owners[-1] in owners[:-1]:
        return True
    places: dict[str, set] = {}
    for name, owner in zip(d.named(), owners):
        geometry = d.seen("shape", d.before, name), d.seen("strides", d.before, name)
        places.setdefault(owner, set()).add(geometry)
    return any(len(found) > 1 for found in places.values())


def _seen_by(d: Difference, *kinds: str) -> bool:
    """Whether hooks of these kinds were called, or shown a gradient, where here they were not; or
    the reverse."""
    entry = d.label.partition("]")[0] + "]"
    name = d.wanted.get(entry) or d.shown.get(entry)
    logged = d.label.startswith("log[") and str(name).startswith(kinds)
    return logged and d.aspect in ("existence", "value")


def _awaits_written_views(d: Difference) -> bool:
    """Whether a hook on several tensors, all of them views, differs after a write in place."""
    awaited = re.findall(r"register_multi_grad_hook\(\(([^)]*)\)", d.earlier)
    names = [name for given in awaited for name in re.findall(r"x\d+", given)]
    views = bool(names) and all(d.seen("base", d.before, name) for name in names)
    written = re.search(r"\.\w+_\(|\] .?= ", d.earlier) is not None
    return views and written and _seen_by(d, "multi", "any", "all")


def _reads_one_of_several(d: Difference) -> bool:
    """Whether a statement that both refuse reads one of the views that a call gave, of which one
    was written."""
    calls = r"^(x\d+(?:, x\d+)+) = .*(?:chunk|split|unbind)\("
    for group in re.findall(calls, d.earlier, re.MULTILINE):
        names = group.split(", ")
        written = rf"\b(?:{'|'.join(names)})(?:\.\w+_\(|\[.*\] .?= )"
        if set(names) & set(d.named()) and re.search(written, d.earlier):
            return d.errors[0] == "RuntimeError" and d.errors[1] is not None
    return False


def _seen_inside(d: Difference) -> bool:
    """Whether a hook of a node sees what torch's last of several nodes computes."""
    name = str(d.wanted.get(d.label.partition("]")[0] + "]"))
    if not (d.label.startswith("log[") and name.startswith(("node", "prehook"))):
        return False
    # Its CopySlices runs what was written through a view within.
    written = re.search(r"\] .?= |\w\..*\.\w+_\(", d.earlier) is not None
    if d.aspect == "values":
        return written or re.search(r"kl_div|attention\(", d.earlier) is not None
    composed = written or re.search(COMPOSED, d.earlier) is not None
    return d.aspect in ("dtype", "shape") and composed


def _stopped_elsewhere(d: Difference) -> bool:
    """Whether a hook ends a backward, through several nodes in torch, before or after a leaf has
    its gradient."""
    ended = d.aspect == "grad" and None not in d.errors and "backward(" in d.statement
    return ended and re.search(COMPOSED, d.earlier) is not None


def _of_several_places(d: Difference) -> bool:
    """Whether gradients come of elements that lie in one place, and were written in place."""
    if d.aspect != "values" or not re.search(r"backward\(|grad\(", d.statement):
        return False
    if not re.search(r"\] .?= |[a-z]_\(|inplace=True", d.earlier):
        return False
    written = re.findall(r"^ *(x\d+)(?:\[.*\] .?= |\.\w+_\()", d.earlier, re.MULTILINE)
    written += re.findall(r"functional\.\w+\((x\d+),.*inplace=True", d.earlier)
    written += re.findall(r"functional\.\w+_\((x\d+)", d.earlier)
    return any(_is_repeated(d, name) for name in [*d.named(), *written])


def _meets_complex_infinity(d: Difference) -> bool:
    dtype = d.seen("dtype", d.wanted) or ""
    if d.aspect != "values" or "complex" not in dtype:
        return False
    lost = np.isnan(d.expected) & ~np.isnan(d.actual)
    return bool(lost.any()) and any(not np.isfinite(x).all() for x in d.operands())


def _apart(d: Difference) -> float:
    """How far apart what is expected and what is shown are."""
    return _distance(d.expected, d.actual)


def _distance(expected: Any, actual: Any) -> float:
    """The largest difference of two arrays, for numbers beyond 1 as a part of the largest."""
    expected, actual = np.multiply(expected, 1), np.multiply(actual, 1)  # bools are numbers too
    return np.max(np.abs(actual - expected)) / max(1, np.max(np.abs(expected)))


def _largest(d: Difference) -> float:
    """The size of the largest number among the operands, at least 1."""
    return max([np.max(np.abs(x), initial=1) for x in d.operands()], default=1)


def _view_of_temporary(d: Difference) -> bool:
    if d.aspect != "base":
        return False
    if d.actual is None and d.expected != UNNAMED:
        return "autograd.grad(" in d.statement and d.expected in d.wanted
    return d.expected == UNNAMED and d.seen("base", d.wanted, d.actual) == UNNAMED


def _order(d: Difference) -> int:
    """How often at most a gradient, if it is one, was differentiated."""
    derivative = r"func\.(?:grad|jvp|vjp|jac)|functional\.|autograd\.grad\(|backward\("
    order = len(re.findall(derivative, d.statement))
    return order and order + len(re.findall(derivative, d.earlier))  # of what was before


def _rounded_twice(d: Difference) -> bool:
    """Whether second derivatives in half precision differ by roundings on the way."""
    order = _order(d)
    # The logarithm of a number that is raised is not rounded in torch before it is multiplied.
    twice = re.search(r"hessian|[hv][hv]p\(", d.statement) or order > (r"2 **" not in d.earlier)
    half = (d.seen("dtype", d.wanted) or "").endswith("float16")
    return d.aspect == "values" and bool(twice) and half and _apart(d) < 0.02


def _kept_in_old_shape(d: Difference) -> bool:
    """Whether a kept gradient differs of a tensor whose shape was changed in place."""
    # Of an assertion within, in the statement or when the tensor is looked at.
    fails = d.errors == ("RuntimeError", None) or (d.aspect, d.expected) == (
        "is_leaf",
        "RuntimeError",
    )
    if not (fails or d.label.endswith(".grad") and d.aspect in ("shape", "values")):
        return False
    kept = re.search(r"retain_grad|inputs=", d.earlier)
    changes = r"(squeeze|transpose|swapdims|swapaxes|as_strided|\bt)_\("
    return bool(kept and re.search(changes, d.earlier))


def _chooses_equals(d: Difference) -> bool:
    """Whether the places of equal elements differ, where the elements chosen do not; or gradients
    that go to other places for that reason."""
    choice = r"(?:topk|kthvalue|median|quantile)\("
    if in_statement(choice, "values")(d) and d.label.endswith("[1]"):
        return any(np.unique(x).size < x.size for x in d.operands())
    if d.aspect != "values" or not re.search(choice, d.earlier):
        return False
    if not re.search(r"backward\(|grad\(", d.statement):
        return False
    sources = re.findall(rf"(?:T\.)?{choice}(x\d+)|(x\d+)\.{choice}", d.earlier)
    records = [record_of(d.before, name) for pair in sources for name in pair if name]
    values = [array_of(r) for r in records if r and r[2] and r[0] != "bfloat16"]
    return any(np.unique(x).size < x.size for x in values) or np.array_equal(
        np.sort(d.expected, None), np.sort(d.actual, None)
    )


def _signs_of_zero(d: Difference) -> bool:
    """Whether results differ by the sign of infinities that a zero was divided into, and zeros
    come of products of matrices."""
    if not in_statement(r"/|reciprocal", "values")(d):
        return False
    if not re.search(r"@|matmul|einsum|tensordot|mm\(|linear|prod", d.earlier):
        return False
    same = np.array_equal(np.abs(d.expected), np.abs(d.actual), equal_nan=True)
    return same and all(np.isinf(np.array(d.expected)[np.not_equal(d.expected, d.actual)]))


def _singular(d: Difference) -> bool:
    """Whether a determinant is near 0 for the size of its matrix' elements, or one that is was
    divided or added up."""
    if in_statement(r"/|reciprocal|sum\(", "values")(d):
        made = re.findall(r"(x\d+) = T\.linalg\.det\(", d.earlier)
        apart = d.apart_before() if set(made) & set(d.named()) else []
        return any(np.any((a != b) & (np.abs(a) < 1e-5)) for a, b in apart)
    if not in_statement(r"linalg\.det\(", "values")(d):
        return False
    largest = _largest(d)
    sides = [x.shape[-2] for x in d.operands() if x.ndim > 1]
    # The matrix is the product of the operand and its transpose.
    scale = (largest**2 * max(sides, default=1)) ** max(sides, default=1)
    return float(np.max(np.abs(np.subtract(d.actual, d.expected)))) < 1e-5 * float(scale)


def _gradient_of_singular(d: Difference) -> bool:
    """Whether a gradient passes through a determinant that elimination left near 0; torch
    multiplies by it, and has no gradient where it is 0."""
    if not in_statement(r"backward\(|autograd\.grad\(", "values")(d):
        return False
    names = re.findall(r"(x\d+) = .*T\.linalg\.det\(", d.earlier)
    if names and _apart(d) < 1e-6:  # all elements are made of the largest ones
        return True
    records = [record_of(d.before, name) for name in names]
    return any(np.any(np.abs(array_of(r)) < 1e-5) for r in records if r and r[2])


def _holds_nan(d: Difference) -> bool:
    """Whether an operand of the statement holds a NaN."""
    records = [record_of(d.before, name) for name in d.named()]
    return any(
        np.isnan(array_of(r)).any() for r in records if r and "float" in r[0] and r[2] is not None
    )


def _runs_last_node(d: Difference) -> bool:
    """Whether the last node of a tensor is run for the tensor's own gradient, or was before.
    torch's functions may be made of several, of which the last saves nothing or something."""
    runs = re.compile(r"backward\(.*inputs=\[?(x\d+)\b")
    again = re.search(r"backward\(|autograd\.grad\(", d.statement)
    found = runs.search(d.statement) or (again and runs.search(d.earlier))
    own = bool(found) and d.seen("is_leaf", d.before, found[1]) is False
    return own and set(d.errors) == {None, "RuntimeError"}


def _writes_own_operand(d: Difference) -> bool:
    """Whether a tensor of another size is given as ``out=`` of a function that also reads it, or
    what lies in its memory."""
    out = re.search(r"out=\(?(x\d+)", d.statement)
    if out is None:
        return False
    owners = [d.seen("base", d.before, n) or d.seen("identity", d.before, n) for n in d.named()]
    owner = d.seen("base", d.before, out[1]) or d.seen("identity", d.before, out[1])
    if owner == UNNAMED or owners.count(owner) < 2:
        return False
    shapes = [d.seen("shape", records, out[1]) for records in (d.before, d.shown, d.wanted)]
    return shapes[1:] != [shapes[0]] * 2


def _of_old_shape(d: Difference) -> bool:
    """Whether torch refuses a backward after a tensor was given another shape, or sums its
    gradient. The graph keeps its node, with the old shape, and what else it saved of it; and a leaf
    takes a gradient that nobody else has if its steps are its, of which it reads too many."""
    changes = r"data = |set_|as_strided_|\w*squeeze_\(|t_\(|transpose_"
    changed = re.findall(rf"out=\(?(x\d+)|(x\d+)\.(?:{changes})", d.earlier)
    ended = d.errors[1] in (None, "ValueError", "IndexError") or d.aspect in ("grad", "existence")
    refused = d.errors == (None, "RuntimeError") or (
        d.errors[0] == "RuntimeError" and (ended or d.label.startswith("log["))
    )
    summed = d.aspect in ("shape", "dtype", "values") and (  # down to the old shape
        d.label.endswith(".grad") or "autograd.grad(" in d.statement
    )
    if not (refused or summed) or not re.search(r"backward\(|grad\(", d.statement):
        return False
    alone = d.errors == ("RuntimeError", None)
    return any(alone or d.seen("requires_grad", d.wanted, n) for pair in changed for n in pair)


def _expanded_gradient(d: Difference) -> bool:
    """Whether a gradient is written that is a view in torch, of a temporary made without grad."""
    written = re.search(r"^(x\d+)(\[.*\])? .?= |^\s*(x\d+)\.\w+_\(", d.statement, re.MULTILINE)
    if d.errors[0] != "RuntimeError" or d.errors[1] == "RuntimeError" or written is None:
        return False
    name = written[1] or written[3]
    unknown = d.seen("base", d.wanted, name) == UNNAMED and d.seen("base", d.shown, name) is None
    return unknown and re.search(r"autograd\.grad\(|func\.grad\(", d.earlier) is not None


def _turned_beside_one(d: Difference) -> bool:
    """Whether an operand has a dimension of size 1 among others that were turned."""
    if d.aspect != "strides" or re.search(r"backward\(|grad\(", d.statement):
        return False
    turns = r"permute|transpose|swap|moved|\.m?[TH]\b|\.t\(|adjoint|unfold|strided|channels_last"
    turns += r"|nonzero|argwhere"  # whose results lie by columns
    shapes = [d.seen("shape", d.before, name) or () for name in d.named()]
    return any(1 in shape for shape in shapes) and re.search(turns, d.earlier) is not None


# Each with its reason. None of them hides a value that a program without a mistake computes.
RULES: dict[str, Callable[[Difference], bool]] = {
    **arbitrary_gradients.RULES,
    **arbitrary_inference.RULES,
    **arbitrary_memory.RULES,
    **arbitrary_ops.RULES,
    **arbitrary_transforms.RULES,
    "torch fails within": lambda d: WITHIN in (d.errors[0], d.expected),
    "no array begins beyond its memory, as what is empty may in torch": lambda d: (
        (
            d.errors == ("RuntimeError", None)
            and re.search(r"as_strided\(|\.view\(T\.", d.statement) is not None
            or in_statement(r"storage_offset\(", "value")(d)
        )
        and any(0 in (d.seen("shape", d.before, n) or ()) for n in d.named())
    ),
    "the sign of an imaginary zero is that of its place in a vector of torch's": lambda d: (
        in_statement(r"(angle|log1p)\(", "values")(d)
        and np.allclose(np.abs(d.expected), np.abs(d.actual), 1e-6)
        and any(x.dtype.kind == "c" for x in d.operands())
    ),
    "NumPy has no complex32": lambda d: (
        any(d.seen("dtype", d.wanted, label) == "complex32" for label in d.wanted)
        or d.errors in (("NotImplementedError", "RuntimeError"), ("NotImplementedError", None))
        and {"float16", "complex64"} <= {d.seen("dtype", d.before, name) for name in d.named()}
    ),
    "how often an operation writes into its own result": lambda d: (
        in_statement(r"\._version > 0", "value")(d)
        and (d.expected, d.actual) == (True, False)
        and re.search(r"one_hot|quantile| @ ", d.earlier) is not None
    ),
    "few names of nodes are promised, and an op here may be several there": lambda d: (
        in_statement(r"\.name\(\)|next_functions", "value")(d)
        or in_statement(r"\.output_nr", "value")(d)
        and re.search(r"GRU|LSTM", d.earlier) is not None
        or set(d.errors) == {None, "AttributeError"}
        and "next_functions" in d.statement
        and re.search(rf"{PARTS}|T\.func\.jvp\(| @ |matmul|inference_mode|l1_loss", d.earlier)
        is not None
        or _seen_by(d, "node", "prehook")
        or _seen_inside(d)
        or _stopped_elsewhere(d)
    ),
    "one of several views may not be read once one was written: that is said first or last": (
        _reads_one_of_several
    ),
    "hooks on several tensors await views that have another history since they were written": (
        _awaits_written_views
    ),
    "torch leaves hooks on an unpickled tensor with what it was before a write": lambda d: (
        _seen_by(d, "hook", "multi", "any", "all") and "pickle.loads(" in d.earlier
    ),
    "torch multiplies by a complex 1 what it adds, which makes NaN of an infinity": (
        _meets_complex_infinity
    ),
    "which gradient of several elements in one place is the last": _of_several_places,
    "what last bits leave of a sum that is zero, which is divided by": lambda d: (
        in_statement(r"/ x\d+\.sum\(", "values")(d)
        and any(abs(x.sum()) < 1e-6 * np.abs(x).sum() for x in d.operands())
    ),
    "the determinant of a singular matrix is what its elimination left of zero": lambda d: (
        _singular(d) or _gradient_of_singular(d)
    ),
    "torch's fused attention takes a row of scores that are all NaN for a masked one": lambda d: (
        in_statement(r"attention\(", "values")(d)
        and np.allclose(d.expected, np.where(np.equal(d.expected, 0), 0, d.actual), equal_nan=True)
        and np.isnan(d.actual).any()
        and _holds_nan(d)
    ),
    "the steps in which half precision is rounded in second derivatives": _rounded_twice,
    "torch keeps gradients at the node before a change of shape in place, and fails at the next": (
        _kept_in_old_shape
    ),
    "which of equal elements is chosen": _chooses_equals,
    "the sign of a sum of zeros, which infinities show": _signs_of_zero,
    "NaN has no order: in torch its mode depends on how it sorts": lambda d: (
        in_statement(r"mode\(", "values")(d) and _holds_nan(d)
    ),
    "the sign of a NaN means nothing": lambda d: (
        in_statement(r"copysign", "values")(d) and _holds_nan(d)
    ),
    "torch starts from 0 before it refuses the mean of bools": lambda d: (
        None not in d.errors and "'mean', include_self=False" in d.statement
    ),
    "select_scatter and its kin copy the memory in torch, with what elements share": lambda d: (
        in_statement(r"_scatter\(", "values")(d) and _writes_repeated(d)
    ),
    "the bits of a rounded number": lambda d: (
        in_statement(r"\.view\(T\.int64\)", "values")(d) or _shows_bits(d)
    ),
    "the steps in which half precision is rounded, as a number of Python": lambda d: (
        in_statement(r"\.(tolist|item)\(\)|float\(", "value")(d)
        and any("float16" in str(d.seen("dtype", d.before, name)) for name in d.named())
        and abs(float(d.expected) - float(d.actual)) <= 2**-7 * abs(float(d.expected))
    ),
    "torch gives an out= its sizes before it refuses to compute, or packs what it would save": (
        lambda d: (
            _refused_unchanged(d)
            and ("out=" in d.statement or (d.aspect == "existence" and "keep(" in d.statement))
        )
    ),
    "and a tensor whose memory it may not enlarge": lambda d: (
        _refused_unchanged(d) and ".resize_(" in d.statement
    ),
    "torch has written a part when it refuses": lambda d: (
        None not in d.errors
        and in_statement(
            r"masked_scatter_\(|load_state_dict\(|(fmod|remainder|floor_divide|div)_\(|%=|//=",
            "values", "version",
        )(d)
    ),
    "torch lets fill_ and masked_fill_ make an integer tensor that requires grad": (
        _integer_of_history
    ),
    "torch computes these wrongly where elements share memory": lambda d: (
        (
            d.errors == (None, "RuntimeError")
            and re.search(r"\.(tril|triu)_\(|T\.(sum|eye)\(.*out=", d.statement) is not None
            or in_statement(r"median\(|T\.func\.(jvp|jacfwd|hessian)\(", "values")(d)
        )
        and _writes_repeated(d)
    ),
    "the order of the elements decides a write into memory that several share": lambda d: (
        d.aspect == "values" and d.label in d.before and _writes_repeated(d)
    ),
    "one gradient for two inputs may be one tensor or two": in_statement(
        r"autograd\.grad\(", "identity"
    ),
    "a gradient may be a view of a temporary in torch, and views of it are views of that": (
        _view_of_temporary
    ),
    "torch reads what it has already written where the target is an operand too": (
        _reads_what_it_writes
    ),
    "a normalisation leaves rounding errors of equal numbers": lambda d: (
        in_statement(NORMS, "values")(d)
        and _apart(d) < 1e-4 * (1 if np.any(d.actual) else _largest(d))  # of 0 they are all
    ),
    "second derivatives lie in memory as torch's steps leave them": lambda d: (
        d.aspect == "strides" and _order(d) > 1
    ),
    "torch's gelu of an infinity is one or NaN by the number of elements": lambda d: (
        in_statement(r"gelu\(", "values")(d) and not np.isfinite(d.actual).all()
    ),
    "torch fails within where it multiplies slices of one half precision number": lambda d: (
        d.errors == ("RuntimeError", None)
        and re.search(r"index_reduce_?\(.*float16.*'prod'", d.statement) is not None
        and any(math.prod((d.seen("shape", d.before, n) or ())[1:]) == 1 for n in d.named())
    ),
    "torch loses the gradient that a second output retains, when that is written": lambda d: (
        d.errors == ("RuntimeError", None)
        and re.search(r"[a-z]_\(|\] .?= |out=", d.statement) is not None
        and any(d.seen("retains_grad", d.before, n) for n in d.named())
        or d.label.endswith(".grad")
        and (found := re.search(r", (x\d+) = ", d.earlier)) is not None
        and re.search(rf"{found[1]}\.[a-z_]+_\(|{found[1]}\[.*\] .?= ", d.earlier) is not None
        and re.search(r"retain_grad\(|inputs=", d.earlier) is not None
    ),
    "torch gives an empty input itself for its gradient": lambda d: (
        (
            d.aspect in ("requires_grad", "is_leaf", "identity", "base", "existence")
            and re.search(r"backward\(|grad\(", d.statement) is not None
            or (d.aspect, d.label[-5:]) == ("version", ".grad")
        )
        and re.search(r"cumm(ax|in)\(", d.earlier) is not None
        and any(0 in (d.seen("shape", d.before, n) or ()) for n in [d.label, *d.named()])
    ),
    "the gradient of sgn is made of zeros without memory in torch, which cannot be added to": (
        lambda d: (
            d.errors[0] == "RuntimeError"
            and (d.errors[1] is None or (d.aspect, d.label[-5:]) == ("version", ".grad"))
            and re.search(r"backward\(", d.statement) is not None
            and "sgn()" in d.earlier
        )
    ),
    "which node of a function comes last, and what it saves": _runs_last_node,
    "torch resizes an out= before it reads it as an operand": _writes_own_operand,
    "torch's graph keeps the shape and dtype that a tensor had when it was used": _of_old_shape,
    "torch does not write gradients that are views of what was made without grad": (
        _expanded_gradient
    ),
    "the gradient of sgn has no memory in torch, which refuses to write it": lambda d: (
        d.errors == ("RuntimeError", None)
        and re.search(r"\b(sgn_?|abs)\(", d.earlier) is not None
        and re.search(r"backward\(|[a-z]_\(|\] .?= |^x\d+ .= |deepcopy\(", d.statement)
        is not None
    ),
    "the step of a dimension of size 1 decides whether all or part of the memory is shared, and "
    "whether it can be read as another dtype, as any step does where there is nothing": lambda d: (
        set(d.errors) == {None, "RuntimeError"}
        and (
            re.match(r"(x\d+)\[.*\] = \1\[.*None", d.statement) is not None
            or (into := re.match(r"(x\d+)\[None.*\] = (x\d+)\b", d.statement)) is not None
            and d.seen("identity", d.before, into[1]) == d.seen("identity", d.before, into[2])
            or re.search(r"\.view\(T\.", d.statement) is not None
            and any({0, 1} & {*d.seen("shape", d.before, name)} for name in d.named())
        )
    ),
    "torch writes the memory of a conjugate anew, by rows, when a dimension of it is squeezed": (
        lambda d: (
            in_statement(r"\.squeeze_\(.", "values", "strides")(d)
            and re.search(r"conj|adjoint|\.mH\b", d.earlier) is not None
            and "complex" in (d.seen("dtype", d.wanted) or "")
        )
    ),
    "torch's fused attention reads as many values as there are keys, whatever there is": lambda d: (
        d.errors == (None, "RuntimeError")
        and (found := re.search(r"attention\(x\d+, (x\d+), (x\d+)", d.statement)) is not None
        and d.seen("shape", d.before, found[1])[-2] != d.seen("shape", d.before, found[2])[-2]
    ),
    "torch fails within when it asks for the history of a view between real and complex numbers of "
    "what was detached in place": lambda d: (
        (d.aspect, d.expected) == ("is_leaf", "RuntimeError")
        and ".detach_()" in d.earlier
        and re.search(r"view_as_(real|complex)\(|\.(real|imag)\b", d.earlier) is not None
    ),
    "the step of a dimension of size 1, which is any number, decides how a result lies": (
        _turned_beside_one
    ),
    "torch takes a view that was given other memory for one of its base": lambda d: (
        d.errors == (None, "RuntimeError")
        and re.search(r"x\d+\.set_\(", d.earlier) is not None
        and any(d.seen("base", d.before, name) for name in d.named())
    ),
    "torch counts no write of running statistics": lambda d: (
        (d.aspect, d.expected, d.actual) == ("version", False, True) and "running_" in d.label
    ),
}  # fmt: skip


def arbitrary(difference: Difference) -> str | None:
    """The reason why the frameworks may differ so, None where they may not."""
    for reason, holds in RULES.items():
        if holds(difference):
            return reason
    return None
