"""Every op under every condition: in each dtype, on tensors of no elements or no dimensions, of a
dimension more or less, of shapes and dtypes that do not fit, with dims that no tensor has.

``python -m tests.fuzz.conditions`` makes these calls of the samples of the op table in torch and in
nnkit (some 220,000, in six minutes), and compares them: results in values, dtype, shape and
requires_grad, errors in their builtin type. With ``--leaves`` all floating tensors are leaves, and
the gradients are compared too. It prints one call for each (function, difference), and exits with 1
if there is one. ``--names`` takes the rows whose name matches, ``--part I/N`` every N-th call.

`tests.fuzz.calls` changes arguments at random; this asks of each op, in order, what torch looks at
first: dtype, dim or shape. A NotImplementedError is told from a RuntimeError here.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import nnkit
from tests.fuzz.calls import Finding, frameworks, run, shown
from tests.fuzz.differences import OPEN, OWN, Allowed, Answer, agree, described
from tests.fuzz.objects import Arguments, Call
from tests.harness.call import Call as Sampled
from tests.harness.call import arrays_in, cotangent, flatten, replace_arrays, resolve, to_tensor
from tests.harness.row import ALL, COMPLEX, Maker, OpRow, Sample, numpy_dtype
from tests.harness.table import ROWS
from tests.harness.tolerances import TOLERANCES

SAMPLES = 3  # of each row
LARGEST = 64  # elements of an array, on average
MIXED = ("bool", "int64", "float16", "float64", "complex64")
RANDOM = re.compile(r"rand|drop|poisson|multinom|gumbel|fraction|normal")

Changed = Iterator[Arguments]

# What stays, where torch's own answer depends on which library it calls, or on what it reads beyond
# its arguments: patterns over torch's answer and nnkit's as `examine` shows them.
LEFT = [
    Allowed("a transform of no elements", r"^RuntimeError: MKL FFT error", r"", r"^fft\."),
    Allowed(
        "torch's CPU kernel leaves out half precision, which nnkit computes as it does all else",
        r"^NotImplementedError: .* not implemented for '(Half|BFloat16)'",
        r"^(float16|bfloat16)|^RuntimeError: .*(out of range|expected (target|weight) of)",
        r"avg_pool3d|local_response_norm|multi(label)?_margin_loss|rrelu_?$",
    ),
    Allowed(
        "of no rows torch reads a loss that nobody has written",
        r"^\w+\[(0,)?\]$",
        r"^\w+\[(0,)?\]$|^NotImplementedError",
        r"multi(label)?_margin_loss",
    ),
    Allowed(
        "the bias of a transposed convolution, of which oneDNN alone asks for the input's dtype",
        r"^(float64|float16|int64)\[",
        r"^RuntimeError: .* for argument 'bias'",
        r"^conv_transpose[12]d$",
    ),
    Allowed(
        "torch's recurrent layers multiply operands of whatever shape; oneDNN reads beyond them",
        r"",
        r"^RuntimeError: \w+\(\): (input must have 3 dim|hidden state has|expected (first states"
        r"|w_ih|biases|sequence)|input has inc|w_ih and w_hh|got \d+ params)|^$",
        r"^(gru|lstm|rnn_tanh|rnn_relu)$",
    ),
    Allowed(
        "torch reads a right side of another dtype as if it had the matrix's, and pivots beyond "
        "their number",
        r"",
        r"^RuntimeError: (linalg.solve_triangular\(\): expected all operands to have the same dtype"
        r"|lu_unpack\(\): expected pivots of shape)",
        r"^(linalg\.solve_triangular|lu_unpack)$",
    ),
    Allowed(
        "torch reads the number of channels beyond the sizes of a 0-dim tensor",
        r"^RuntimeError: SmallVector unable to grow",
        r"",
        r"^batch_norm$",
    ),
]


def plain(array: Any) -> np.ndarray:
    """An array argument without its wrapper."""
    return getattr(array, "array", array)


def arrays_of(arguments: Arguments) -> list[np.ndarray]:
    return [plain(array) for array in arrays_in((arguments.args, arguments.kwargs))]


def mapped(arguments: Arguments, change: Callable[[int, np.ndarray], Any]) -> Arguments:
    """The arguments with ``change(position, array)`` in the place of each array."""
    position = iter(range(len(arrays_of(arguments))))
    args, kwargs = replace_arrays(
        (arguments.args, arguments.kwargs), lambda a: np.asarray(change(next(position), a))
    )
    return Arguments(args, kwargs)


def each(change: Callable[[np.ndarray], Any]) -> Callable[[OpRow, Arguments], Changed]:
    """All arrays changed, then each of the first two alone."""

    def variants(row: OpRow, given: Arguments) -> Changed:
        count = len(arrays_of(given))
        for places in [range(count), [0], [1]][: 3 if count > 1 else 1]:
            yield mapped(given, _only(places, change))

    return variants


def _only(places: Any, change: Callable[[np.ndarray], Any]) -> Callable[[int, np.ndarray], Any]:
    return lambda n, a: change(a) if n in places else a


def far_dims(row: OpRow, given: Arguments) -> Changed:
    """With dims that no tensor has, by keyword or in their place."""
    try:
        names = list(inspect.signature(resolve(nnkit, row.name)).parameters)
    except ValueError:
        return
    for place, name in enumerate(names):
        if not name.startswith("dim"):
            continue
        if name in given.kwargs or place >= len(given.args):
            far = (9,) if isinstance(given.kwargs.get(name), (tuple, list)) else 9
            yield Arguments(given.args, {**given.kwargs, name: far})
        else:
            far = (9,) if isinstance(given.args[place], (tuple, list)) else 9
            args = (*given.args[:place], far, *given.args[place + 1 :])
            yield Arguments(args, given.kwargs)


def mixed(row: OpRow, given: Arguments) -> Changed:
    """One array in another dtype than the rest."""
    count = len(arrays_of(given))
    for at in range(min(count, 3) if count > 1 else 0):
        for dtype in MIXED:
            yield mapped(given, _only([at], functools.partial(cast, dtype=dtype)))


CONDITIONS: dict[str, Callable[[OpRow, Arguments], Changed]] = {
    "as it is": lambda row, given: iter([given]),
    "no rows": each(lambda a: a[:0] if a.ndim else a),
    "no columns": each(lambda a: a[..., :0] if a.ndim else a),
    "no dimensions": each(lambda a: np.resize(a, ())),
    "one dimension": each(np.ravel),
    "a dimension more": each(lambda a: a[None]),
    "a dimension less": each(lambda a: a[0] if a.ndim and a.size else a),
    "a row more": each(lambda a: np.resize(a, [n + 1 for n in a.shape])),
    "dim out of range": far_dims,
    "mixed dtypes": mixed,
}


def cast(array: np.ndarray, dtype: str) -> np.ndarray:
    if array.dtype.kind == "c" and dtype not in COMPLEX:
        array = np.real(array)
    return np.asarray(np.abs(array) if dtype == "uint8" else array).astype(numpy_dtype(dtype))


def exchanged(given: Arguments, old: Any, new: str) -> Arguments:
    """The arrays of one dtype in another one."""
    return mapped(given, lambda _, a: cast(a, new) if a.dtype == old else a)


def samples(row: OpRow) -> list[Arguments]:
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
    found = [Arguments(s.args, dict(s.kwargs)) for s in row.samples(Maker(row, dtype))]
    small = [s for s in found if sum(a.size - LARGEST for a in arrays_of(s)) <= 0]
    return small[:SAMPLES]


def calls(names: str = "") -> Iterator[tuple[str, Call]]:
    """(condition and dtype, call): the samples of each op under each condition in each dtype."""
    for row in ROWS.values():
        if not re.search(names, row.name):
            continue
        for sample in samples(row):
            dtypes = [a.dtype for a in arrays_of(sample)]
            main = next((d for d in dtypes if d.kind in "fc"), dtypes[0] if dtypes else None)
            seen = set()
            for condition, change in CONDITIONS.items():
                for changed in change(row, sample):
                    if repr(changed) in seen:
                        continue
                    seen.add(repr(changed))
                    for dtype in ALL if dtypes else ALL[:1]:
                        yield (
                            f"{condition}, {dtype}",
                            Call(row.name, exchanged(changed, main, dtype)),
                        )


def answer(lib: Any, call: Call, leaves: bool) -> tuple[bool, Answer]:
    """Whether the call itself succeeds, and what comes of it: with ``leaves`` its gradients too."""
    results: list[Any] = []
    lib.set_grad_enabled(True)
    try:
        row = ROWS[call.name]
        made = Sampled(lib, row, Sample(*call.first.args, **call.first.kwargs), leaves)
        results = list(flatten(made()))
        tracked = [r for r in results if getattr(r, "requires_grad", False)]
        if leaves and tracked:
            cotangents = [to_tensor(lib, cotangent(out)) for out in tracked]
            grads = lib.autograd.grad(tracked, made.leaves, cotangents, allow_unused=True)
            return True, Answer([*results, *grads])
    except Exception as error:
        return bool(results), Answer(results, error)
    return True, Answer(results)


def difference(path: str, wanted: tuple[bool, Answer], found: tuple[bool, Answer]) -> str:
    """How the answers differ; empty if they do not."""
    (one_done, one), (other_done, other) = wanted, found
    if one.kind != other.kind:
        where = " of the gradient" if one_done and other_done else ""
        return f"{one.kind or 'success'} -> {other.kind or 'success'}{where}"
    pairs = list(zip(one.results, other.results, strict=True))
    for want, got in pairs:
        if (want is None) != (got is None):
            return "existence"
        if described(want) != described(got):
            dtypes = [described(result).partition("[")[0] for result in (want, got)]
            return "shape" if dtypes[0] == dtypes[1] else " -> ".join(dtypes)
        if getattr(want, "requires_grad", None) != getattr(got, "requires_grad", None):
            return "requires_grad"
    if OPEN.search(path) or RANDOM.search(path):
        return ""
    own = TOLERANCES | OWN.get(path, {})
    coarse = [own[d] for want, _ in pairs if (d := described(want).partition("[")[0]) in own]
    same = all(want is got is None or agree(want, got, own, coarse) for want, got in pairs)
    return "" if same else "values"


def examine(condition: str, call: Call, libs: list[Any], leaves: bool = False) -> Finding | None:
    """One call in torch and in nnkit; None if they agree, or torch makes a complex32."""
    wanted, found = (answer(lib, call, leaves) for lib in libs)
    if any("complex32" in str(getattr(r, "dtype", "")) for r in wanted[1].results):
        return None
    wrong = difference(call.name, wanted, found)
    if not wrong:
        return None
    says = [
        f"{type(each.error).__name__}: {str(each.error)[:300]}" if each.error
        else ", ".join(map(described, each.results))
        for _, each in (wanted, found)
    ]  # fmt: skip
    if any(rule.fits(call.name, *says) for rule in LEFT):
        return None
    return Finding(-1, call.name, condition, wrong, shown(call), *says)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--names", default="", help="rows whose name matches")
    parser.add_argument("--part", default="0/1", help="calls number I, I + N, ... as I/N")
    parser.add_argument("--leaves", action="store_true", help="with gradients")
    options = parser.parse_args()
    libs = frameworks(True)
    first, step = map(int, options.part.split("/"))
    table = list(calls(options.names))[first::step]
    judged = functools.partial(examine, libs=libs, leaves=options.leaves)
    last = len(table) - 1
    made = lambda number: table[min(number, last)]  # noqa: E731  # the last chunk may be short
    _, findings = run(made, judged, lambda count: count > last)
    groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.number <= last:
            groups[finding.path, finding.difference].append(finding)
    for (path, wrong), several in sorted(groups.items()):
        shortest = min(several, key=lambda f: len(f.call))
        dtypes: dict[str, dict[str, None]] = defaultdict(dict)
        for finding in several:
            condition, _, dtype = finding.change.partition(", ")
            dtypes[condition][dtype] = None
        where = "; ".join(f"{condition}: {' '.join(found)}" for condition, found in dtypes.items())
        print(f"{path} | {wrong} | {len(several)}x {where[:400]}\n    {shortest.call}")
        print(f"    torch: {shortest.wanted}\n    nnkit: {shortest.found}")
    print(f"{len(table)} calls, {sum(map(len, groups.values()))} differ in {len(groups)} ways")
    return 1 if groups else 0


if __name__ == "__main__":
    sys.exit(main())
