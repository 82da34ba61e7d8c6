"""What is wrong with an answer of nnkit to a call, beside torch's; and what may differ."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.harness.call import builtin_type, dtype_name, to_array
from tests.harness.table import ROWS
from tests.harness.tolerances import TOLERANCES

# Words of NumPy, of Python about objects that the user never passed, and of nnkit's inside.
INSIDE = re.compile(
    r"numpy|ufunc|dtype\('|could not be broadcast|[Cc]annot cast|has no attribute '_"
    r"|has no attribute|object is not|not supported between|unsupported operand|\b_data\b"
    r"|<lambda>|<locals>|\bB\.|truth value of an array|catalogue|memoryview|buffer source"
    r"|inhomogeneous|not subscriptable"
    r"|expected \d+ arguments, got|must be real number|\baxis\b|keepdims|cannot be interpreted"
)
# What torch itself calls an argument.
OWN_WORDS = {"fake_quantize_per_channel_affine": "argument 'axis'"}
# Every message names a function, but for torch's own words on indices and numbers.
NAMED = re.compile(
    r"[A-Za-z_]\w*\(\)|^[\w.]+:? |^'?[\w.]+'? (expects|object|requires)|index|indices|Boolean value"
    r"|Could not infer dtype|matrices|loading state_dict for|int too big|negative int"
)
RAW = (AttributeError, KeyError, AssertionError, UnboundLocalError, NameError, SystemError)


@dataclass
class Answer:
    """What came of a call: results, or the error."""

    results: list[Any]
    error: BaseException | None = None

    @property
    def kind(self) -> str:
        return "" if self.error is None else builtin_type(self.error).__name__


@dataclass(frozen=True)
class Allowed:
    """A difference that stays: patterns over torch's error and nnkit's ("" is success)."""

    reason: str
    torch: str
    nnkit: str
    path: str = ""  # a pattern over the function's

    def fits(self, path: str, theirs: str, mine: str) -> bool:
        pairs = ((self.torch, theirs), (self.nnkit, mine), (self.path, path))
        return all(re.search(pattern, text, re.DOTALL) for pattern, text in pairs)


# What torch has written in Python: all but the ops of its main namespace, and some of those.
IN_PYTHON = (
    r"^(?!Tensor\.|linalg\.)\w+\.|_"
    r"|^(Tensor\.)?(cdist|einsum|histogram|norm|split|stft|tensordot|type|unflatten|unique|where)$"
)
ALLOWED: list[Allowed] = [
    Allowed(
        "nnkit looks at the types of all arguments first; torch's functions in Python fail where a "
        "wrong one is used",
        r"Error: ",
        r"^(Type|Value)Error: .*((must|should) be|is not an) "
        r"|^RuntimeError: .* must be an int or a tuple",
        IN_PYTHON,
    ),
    Allowed(
        "a complex number where a real one is meant: nnkit's parser refuses it, in torch the op",
        r"^RuntimeError: .*(non-complex|real-valued|cannot be converted|safely cast)",
        r"^TypeError: .*complex",
    ),
    Allowed(
        "and some of torch's go on with a number in place of a tensor, or with a broken number",
        r"^$",
        r"^TypeError: .* must be "
        r"(Tensor, not|int\b.*, not (float|bool)|bool, not|float, not (Tensor|ndarray)"
        r"|tuple of ints, but)",
        r"^nn\.",
    ),
    Allowed(
        "what torch's functions in Python run into by chance: Python's own errors",
        r"^(Type|Value|Attribute|Index|ZeroDivision|Assertion)Error: (only integers, slices"
        r"|Expected bool, got|ufunc"
        r"|unsupported operand|object of type|iteration over|any\(\) received"
        r"|can only concatenate|len\(\) of|'.+' not supported|.+ object|not enough values"
        r"|too many values|integer division|.+ must be a sequence"
        r"|only integer (scalar arrays|tensors)"
        r"|The truth value of an array)",
        r"",
    ),
    Allowed(
        "torch trips over a dimension that a tensor lacks; nnkit says what shape it expects",
        r"^IndexError: (Dimension (out of range|specified as)|tuple index)",
        r"^(RuntimeError|ValueError): .*(dimension|shape|\dD|expected)|^NotImplementedError",
    ),
    Allowed(
        "torch uses the truth of what should be a bool",
        r"ambiguous",
        r"^TypeError: .* (must|should) be",
    ),
    Allowed(
        "nnkit takes a NumPy array of no dimensions, and a bool, for the number that it is",
        r"^TypeError: .*not numpy.ndarray|^RuntimeError: Boolean (alpha|beta)",
        r"^$",
    ),
    Allowed("flags of nn.functional count by their truth", r"must be bool", r"^$|ambiguous"),
    Allowed(
        "NotImplementedError is a RuntimeError: which of the two torch takes is chance",
        r"^(RuntimeError|NotImplementedError)",
        r"^(RuntimeError|NotImplementedError)",
    ),
    Allowed(
        "an argument is given twice, and is wrong by itself too",
        r"got multiple values|got an unexpected keyword",
        r"Error: ",
    ),
    Allowed(
        "an int beyond 64 bits: which of three types torch takes is chance",
        r"^(Overflow|Type|Value|Runtime|Assertion)Error: ",
        r"^(Overflow|Type|Value)Error: .*(Overflow when unpacking|too big)",
    ),
    Allowed(
        "an int beyond 64 bits: nnkit finds something else wrong first",
        r"^(Overflow|Type|Value)Error: .*(Overflow when unpacking|too big|int too large)",
        r"^(Overflow|Type|Value|Runtime)Error: ",
    ),
    Allowed(
        "torch works out the size of what it unpools before it looks at its arguments",
        r"^ValueError: invalid output_size",
        r"^RuntimeError",
        r"max_unpool",
    ),
    Allowed("torch takes an int below -2**63 for an unsigned one", r"^OverflowError", r""),
    Allowed("nnkit serves more dtypes", r"^NotImplementedError: .* not implemented for", r"^$"),
    Allowed("nnkit has no complex form of some losses", r"^$", r"not implemented for 'complex"),
    Allowed(
        "losses of integers and bools: nnkit computes them in the promoted floating dtype",
        r"^RuntimeError: (result type|mean\(\): could not infer|Negation|Subtraction)",
        r"^$",
        r"^nn\.functional\..*loss|binary_cross_entropy",
    ),
    Allowed(
        "the memory of a NumPy array, which the fuzzer's tensors have, cannot be resized in torch",
        r"^RuntimeError: Trying to resize storage that is not resizable",
        r"^$",
    ),
    Allowed(
        "torch's lstm hands wrong sizes to oneDNN, which reads what lies beyond",
        r"",
        r"^RuntimeError: lstm\(\)",
        r"^lstm$",
    ),
    Allowed(
        "torch takes any number for the type of its class",
        r"^$",
        r"^(TypeError: to|ValueError: device|RuntimeError: cuda)",
        r"^Tensor\.to$",
    ),
    Allowed("some of torch's compiled functions take out=, too", r"", r"keyword argument 'out'"),
    Allowed(
        "some of nnkit's functions take out=, too", r"keyword argument 'out'|got \(.*\bout=", r"^$"
    ),
    Allowed(
        "torch fails within",
        r"^RuntimeError: .*(INTERNAL ASSERT|MKL FFT error|internal error|error message be improved"
        r"|could not create a primitive|setStorage|output with shape \[\] doesn't match)",
        r"",
    ),
    Allowed(
        "sizes and dims are taken one by one, or one for all, by functions as by methods",
        r"must be tuple of ints, not (int|Tensor)|size=NoneType",
        r"^$|^(Runtime|Index|Value)Error",
    ),
    Allowed(
        "an int of 64 bits without a sign, which torch computes with",
        r"^$",
        r"^(OverflowError|TypeError: expected number)",
    ),
    Allowed("torch does not look at the dtype of B", r"^$", "", r"^linalg\.solve_triangular$"),
    Allowed(
        "nor do the distributions that solve by it",
        r"^$",
        r"solve_triangular\(\): expected all operands to have the same dtype",
        r"^distributions\.",
    ),
    Allowed("torch copies running statistics of any dtype", r"^$", "mixed dtype", "instance_norm$"),
    Allowed(
        "torch pools windows of no elements",
        r"^$",
        r"kernel_size must be greater than zero",
        r"fractional_max_pool|FractionalMaxPool",
    ),
    Allowed("None stands for what is left out, in every form", r"^TypeError: .*NoneType", r"^$"),
    Allowed("where pinned memory is, is not asked", r"^RuntimeError", r"^$", r"is_pinned$"),
    Allowed("torch passes over what is no shape", r"^$", r"", r"^broadcast_shapes$"),
    Allowed("arange takes any of its arguments by name", r"^TypeError", r"^$", r"^arange$"),
    Allowed(
        "torch's in-place forms do not look at their bounds",
        r"^$",
        r"(min_val|the bounds)",
        r"_$",
    ),
    Allowed("nnkit has no complex32", r"^$", r"only supported for float", r"view_as_complex"),
    Allowed(
        "an index out of range of a 0-dim tensor",
        r"^IndexError: index out of range in self",
        r"^RuntimeError: index",
    ),
    Allowed(
        "hints about an implementation, such as foreach, are not looked at",
        r"ambiguous",
        r"^$",
        r"^nn\.utils\.(clip_grad|get_total_norm)",
    ),
    Allowed(
        "torch's packing of sequences that do not fit gives data that do not fit their sizes",
        r"^$",
        r"^RuntimeError: pa(ck_padded|d)_sequence\(\): (a length of|all sizes)",
    ),
    Allowed(
        "of parameters for each channel torch looks at the number of elements alone",
        r"^$",
        r"expected (weight|bias|running_mean|running_var) of shape",
        r"batch_norm$",
    ),
    Allowed(
        "torch does not look at the dtype of the bias of one unbatched input",
        r"^$",
        r"same dtype, .* for argument 'bias'",
        r"conv_transpose",
    ),
    Allowed("torch asks for an accelerator", r"^RuntimeError: Cannot access acc", r"^$"),
    Allowed(
        "torch's deprecated forms with `alpha` or `beta` in front take the rest by name, too",
        r"^$",
        r"^TypeError: .* got multiple values",
        r"(add|sub|mm|mv|mul|addr|cmul|cdiv)_?$",
    ),
    Allowed(
        "bools whose negation is put off, which torch refuses only where they are read",
        r"^$",
        r"^NotImplementedError: _neg_view",
        r"_neg_view$",
    ),
    Allowed(
        "the steps of NumPy's arrays without elements, of which the fuzzer makes tensors, are 0",
        r"must have a last dimension with stride 1",
        r"^$",
        r"^view_as_complex",
    ),
    Allowed(
        "overloads of torch's that run on GPUs alone",
        r"^NotImplementedError: Could not run 'aten::\w+\.dtype'",
        r"^TypeError",
    ),
    Allowed(
        "torch's rsub with a number takes alpha without its name, too",
        r"",
        r"^TypeError: rsub\(\) takes 2 positional",
        r"^rsub$",
    ),
    Allowed(
        "torch does not look at the shape of pivots, and reads what lies beyond them",
        r"",
        r"lu_unpack\(\): expected pivots of shape",
        r"^lu_unpack$",
    ),
    Allowed(
        "torch repeats the solution for a batch of one matrix as often as the right side has rows",
        r"^$",
        r"expected B with as many dimensions",
        r"^linalg\.lstsq$",
    ),
    Allowed(
        "torch broadcasts first states of other shapes with the sequences, and returns states that "
        "no sequence has",
        r"^$",
        r"expected first states of",
        r"^(rnn_tanh|rnn_relu|gru)$",
    ),
    Allowed(
        "torch computes the rows of a step again where the batches of packed sequences grow",
        r"^$",
        r"expected argument 'batch_sizes' to fall",
        r"^(rnn_tanh|rnn_relu|gru|lstm)$",
    ),
    Allowed(
        "torch goes on with a cell state of more digits than the weights have",
        r"^$",
        r"expected argument 'cx' to have the input's dtype",
        r"^lstm_cell$|LSTMCell",
    ),
    Allowed(
        "one of torch's kernels of attention refuses a negative probability, which the others take "
        "for 0",
        r"Currently do not support dropout",
        r"^$",
    ),
]


def _memory(found: Answer) -> bool:
    return isinstance(found.error, MemoryError) or "can't allocate memory" in str(found.error)


def _said(each: Answer) -> str:
    return f"{each.kind}: {each.error}" if each.error is not None else ""


# Functions whose values are left open: memory that nobody has written; which of equal elements is
# chosen; the inverse of what is no permutation; what LAPACK makes of matrices of ones, which are
# singular; powers and correlations in half precision.
OPEN = re.compile(
    r"empty|resize_|Tensor\.new$|topk|sort|kthvalue|median|mode$"
    r"|qr|svd|eig|pinv|det$|lu_|solve|inv$|inverse|lstsq|cond$|matrix_(rank|exp|power)|householder"
    r"|inv_ex|cholesky_ex|corrcoef|invert_permutation|prune\.(L1|Ln|l1_|ln_)"
)


def described(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{dtype_name(value)}{list(value.shape)}"
    return type(value).__name__ if isinstance(value, (bool, int, float, complex, str)) else ""


# The tolerances that rows of the op table have of their own.
OWN = {name: row.tolerance for row in ROWS.values() for name in (row.name, *row.aliases)}


def _same_words(wanted: Answer | None, message: str) -> bool:
    """Whether torch says the same: both leave it to Python."""
    both = [str(wanted.error), message] if wanted is not None else []
    return len({re.sub(r"\b(torch|nnkit)\.", "", each) for each in both}) == 1


def difference(
    path: str, changes: int, wanted: Answer | None, found: Answer, dtypes: Iterable[str] = ()
) -> str:
    """What is wrong with nnkit's answer; empty if nothing is.

    Args:
        path: what was called.
        changes: how many of its arguments were changed.
        dtypes: those of the arguments; a result is as exact as the least exact of them.
    """
    if found.error is not None:
        message = str(found.error)
        own = message.replace("torch", "")
        if path in OWN_WORDS:
            own = own.replace(OWN_WORDS[path], "")
        inside = INSIDE.search(own)
        if inside and (wanted is None or not INSIDE.search(str(wanted.error))):
            return f"speaks of its inside: {inside.group()}"
        if not NAMED.search(message) and not _same_words(wanted, message):
            return "names no function"
    if wanted is None:
        raw = found.error is not None and isinstance(found.error, RAW)
        return f"raises {found.kind}" if raw else ""
    if _memory(wanted) or _memory(found):
        return ""
    if wanted.kind != found.kind:
        if changes > 1 and wanted.kind and found.kind:
            return ""  # two arguments are wrong, and either may be found first
        shapes = [v.shape for v in wanted.results if hasattr(v, "shape")]
        if not wanted.kind and shapes and all(0 in shape for shape in shapes):
            return ""  # torch looks at few arguments where there is nothing to compute
        mine, theirs = _said(found), _said(wanted)
        if any(each.fits(path, theirs, mine) for each in ALLOWED):
            return ""
        return f"{wanted.kind or 'success'} -> {found.kind or 'success'}"
    if found.error is not None:
        return ""
    one, other = ([described(value) for value in each.results] for each in (wanted, found))
    if one != other:
        return f"{'/'.join(one[:3])} -> {'/'.join(other[:3])}"
    if OPEN.search(path):
        return ""
    own = TOLERANCES | OWN.get(path.removeprefix("Tensor.").rstrip("_"), {})
    coarse = [own[dtype] for dtype in dtypes if dtype in own]
    if not all(
        agree(*pair, own, coarse) for pair in zip(wanted.results, found.results, strict=True)
    ):
        return "values"
    return ""


def agree(want: Any, got: Any, own: dict[str, tuple], coarse: list[tuple]) -> bool:
    """Whether two results have the same values, within the tolerance of their dtype."""
    if hasattr(want, "detach"):
        if want.requires_grad != got.requires_grad:
            return False
        rtol, atol = own.get(dtype_name(want), (0.0, 0.0))
        if rtol:
            rtol, atol = max([(rtol, atol), *coarse])
        one, other = to_array(want), to_array(got)
        return one.dtype == other.dtype and np.allclose(other, one, rtol, atol, equal_nan=True)
    if type(want) is not type(got):  # objects of the frameworks' own
        return type(want).__module__ != "builtins"
    if isinstance(want, str):
        return want.replace("torch", "nnkit") == got
    if isinstance(want, (float, complex)):
        return bool(np.isclose(got, want, 1e-5, 1e-6, equal_nan=True))
    return want == got
