"""Calls with wrong arguments: nnkit must refuse what torch refuses, with the same type of error.

``python -m tests.fuzz.calls --seconds 60 --seed 0`` takes valid calls (the samples of the op
table), changes one or two arguments, makes the call in torch and in nnkit and compares: results
agree in values, dtype and shape, errors in their builtin type, and no message of nnkit speaks of
what is inside. What may differ stands in `tests.fuzz.differences`. It prints one call for each
(function, kind of difference), and exits with 1 if there is one. ``--no-torch`` asks only that
nnkit neither crashes nor raises an error of its inside, at full speed; ``--only N`` makes call
number N alone and shows it. `tests.fuzz.objects` does the same with everything that is no op.

Each call depends on the seed and its number alone. A child process makes them; if it dies, its
parent notes the call and goes on after it.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import math
import mmap
import os
import pickle
import random
import re
import resource
import signal
import struct
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.differences import Answer, described, difference
from tests.fuzz.objects import Arguments, Call, Made
from tests.harness.call import (
    arrays_in,
    dtype_name,
    flatten,
    reseed,
    resolve,
    to_tensor,
)
from tests.harness.row import Fixed, Maker, Named, OpRow
from tests.harness.table import ROWS

SECONDS_A_CALL = 10
MEMORY = 4 << 30  # what a call may take beyond what is taken at the start
LARGEST = 4096  # elements of a sample's arrays
CHUNK = 2000


class Raw:
    """An array that is handed over as it is."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __repr__(self) -> str:
        return f"np.{self.array!r}"


def _shown(array: np.ndarray) -> str:
    small = f"tensor({array.tolist()}, dtype={dtype_name(array)})"
    return small if len(small) < 70 else f"ones({list(array.shape)}, dtype={dtype_name(array)})"


def text(value: Any) -> str:
    """A value as one would type it, with ``T`` for the framework."""
    if isinstance(value, np.ndarray):
        return f"T.{_shown(value)}"
    if isinstance(value, Fixed):
        return text(value.array)
    if isinstance(value, Named):
        return f"T.{value.name}"
    if isinstance(value, list):
        return f"[{', '.join(map(text, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(text, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {text(v)}" for k, v in value.items()) + "}"
    return repr(value)


def written(name: str, arguments: Arguments, owner: str = "T.") -> str:
    """A call as one would type it."""
    parts = [*map(text, arguments.args), *(f"{k}={text(v)}" for k, v in arguments.kwargs.items())]
    return f"{owner}{name}({', '.join(parts)})"


def shown(call: Call) -> str:
    result = written(call.name, call.first)
    for name, arguments in call.then:
        result += written(name, arguments, ".")
    return result


# Valid calls


def _forms(row: OpRow) -> list[tuple[str, str]]:
    """The names of a row's function, its method, its in-place forms: here and in torch."""
    forms = [(row.name, row.torch_name), *((name, name) for name in row.aliases)]
    if row.method:
        forms.append((f"Tensor.{row.method}", f"Tensor.{row.method}"))
    for name in (row.inplace,) if isinstance(row.inplace, str) else row.inplace:
        path = name if "." in name else f"Tensor.{name}"
        forms.append((path, path))
    return [form for form in forms if "=" not in form[0]]


@functools.cache
def _samples(name: str, dtype: str) -> list[Arguments]:
    row = ROWS[name]
    samples = [Arguments(s.args, dict(s.kwargs)) for s in row.samples(Maker(row, dtype))]
    return [s for s in samples if _elements((s.args, s.kwargs)) <= LARGEST]


def _elements(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, Fixed):
        return value.array.size
    if isinstance(value, (list, tuple)):
        return sum(map(_elements, value))
    return _elements(list(value.values())) if isinstance(value, dict) else 0


def valid_call(rng: random.Random, names: list[str]) -> Call:
    """A call out of the table."""
    while True:
        row = ROWS[rng.choice(names)]
        dtype = rng.choice(row.dtypes) if rng.random() < 0.3 else row.dtypes[0]
        samples = _samples(row.name, dtype)
        if samples:
            name, torch_name = rng.choice(_forms(row))
            return Call(name, rng.choice(samples), torch=torch_name)


# Changes


def _replacements(value: Any, rng: random.Random) -> tuple[str, Any]:
    """A name of the change, and what stands in the value's place."""
    made = [
        ("None", None), ("str", rng.choice(["a", "", "sum", "cpu"])), ("empty list", []),
        ("list of int", [0, 1]), ("list of float", [1.5, 2.0]), ("list of str", ["a"]),
        ("tuple", (1, 2, 3)), ("dict", {}), ("float", rng.choice([0.5, 1.5, 2.0, -1.0])),
        ("zero", 0), ("negative", rng.choice([-1, -5])), ("int", rng.choice([1, 2, 3, 7])),
        ("2**63", rng.choice([2**63, -(2**63) - 1])), ("nan", math.nan), ("inf", math.inf),
        ("bool", rng.choice([True, False])), ("complex", 1j), ("object", object),
        ("dtype", Named(rng.choice(["float32", "int64", "bool"]))),
        ("0-dim tensor", np.full((), 0.5, "float32")),
        ("0-dim int tensor", np.ones((), "int64")), ("empty tensor", np.ones((0,), "float32")),
        ("tensor", np.ones((3, 5, 7), "float32")), ("vector", np.ones((4,), "float32")),
        ("int tensor", np.ones((2, 3), "int64")), ("bool tensor", np.ones((2, 3), "bool")),
        ("complex tensor", np.ones((2, 3), "complex64")), ("array", Raw(np.ones((2, 3)))),
        ("NumPy float", Raw(np.asarray(1.5))),
        ("tensors", (np.ones((2, 3), "float32"), np.ones((2, 3), "float32"))),
        ("device", "gpu"), ("slice", slice(None)), ("function", len),
    ]  # fmt: skip
    array = value.array if isinstance(value, Fixed) else value
    if isinstance(array, np.ndarray):
        own = [
            ("rank + 1", array[None]), ("dtype", array.astype(rng.choice(["float64", "float16"]))),
            ("int dtype", np.ones(array.shape, rng.choice(["int64", "int32", "uint8"]))),
            ("bool dtype", np.ones(array.shape, "bool")), ("array", Raw(np.array(array))),
            ("complex dtype", np.ones(array.shape, "complex64")), ("[tensor]", [array]),
            ("no elements", array[:0] if array.ndim else np.ones((0,), array.dtype)),
            ("other shape", np.ones(tuple(n + 1 for n in array.shape), array.dtype)),
            ("list", array.tolist()),
        ]  # fmt: skip
        if array.ndim and array.shape[0]:
            own += [
                ("rank - 1", np.asarray(array[0])),
                ("transposed", np.array(array.T, order="C")),
            ]
        if rng.random() < 0.5:
            return rng.choice(own)
    if isinstance(value, (list, tuple)) and value and rng.random() < 0.5:
        at = rng.randrange(len(value))
        kind, one = _replacements(value[at], rng)
        parts = [*value[:at], one, *value[at + 1 :]]
        choice = rng.random()
        if choice < 0.2:
            return "shorter", type(value)(value[:-1])
        if choice < 0.4:
            return "longer", type(value)([*value, value[-1]])
        return f"element: {kind}", type(value)(parts)
    return rng.choice(made)


_KEYWORDS = ("dim", "dtype", "out", "device", "input", "other", "keepdim", "unknown", "size")


def changed(
    arguments: Arguments, rng: random.Random, is_method: bool = False
) -> tuple[str, Arguments]:
    """The arguments with one of them changed, left out or added; a method keeps its tensor."""
    args, kwargs = list(arguments.args), dict(arguments.kwargs)
    choice = rng.random()
    if choice < 0.08 and args:
        if rng.random() < 0.7:
            args.pop()
            return "argument missing", Arguments(tuple(args), kwargs)
        if not is_method:
            args.pop(0)
        return "first missing", Arguments(tuple(args), kwargs)
    if choice < 0.16:
        kind, value = _replacements(None, rng)
        return f"extra {kind}", Arguments((*args, value), kwargs)
    if choice < 0.24:
        kind, value = _replacements(None, rng)
        key = rng.choice(_KEYWORDS)
        return f"{key}= {kind}", Arguments(tuple(args), {**kwargs, key: value})
    if not args and not kwargs:
        return "nothing", arguments
    at = rng.randrange(len(args) + len(kwargs))
    if at < len(args):
        kind, value = _replacements(args[at], rng)
        if at or not is_method or isinstance(value, np.ndarray):
            args[at] = value
        return f"{at}: {kind}", Arguments(tuple(args), kwargs)
    key = list(kwargs)[at - len(args)]
    kind, kwargs[key] = _replacements(kwargs[key], rng)
    return f"{key}: {kind}", Arguments(tuple(args), kwargs)


Valid = Callable[[random.Random], Call]


def changed_call(valid: Valid, seed: int, number: int) -> tuple[str, Call]:
    """The kinds of the changes, and the changed call."""
    rng = random.Random(seed << 40 | number)
    call = valid(rng)
    kinds = []
    for _ in range(2 if rng.random() < 0.2 else 1):
        at = rng.randrange(1 + len(call.then))
        if at == 0:
            kind, first = changed(call.first, rng, call.name.startswith("Tensor."))
            call = Call(call.path, first, call.then, call.torch)
        else:
            name, arguments = call.then[at - 1]
            kind, arguments = changed(arguments, rng)
            then = (*call.then[: at - 1], (name, arguments), *call.then[at:])
            call = Call(call.path, call.first, then, call.torch)
        kinds.append(kind)
    return " and ".join(kinds), call


# The call in one framework


def callee(lib: Any, path: str | Callable) -> Callable:
    """What a path leads to; a function of the table's own gets the framework first."""
    return resolve(lib, path) if isinstance(path, str) else functools.partial(path, lib)


def build(lib: Any, value: Any) -> Any:
    """The value with the framework's tensors, dtypes and objects in it."""
    if isinstance(value, np.ndarray):
        return to_tensor(lib, np.array(value))
    if isinstance(value, (Raw, Fixed)):
        array = np.array(value.array)
        return array if isinstance(value, Raw) else to_tensor(lib, array)
    if isinstance(value, Named):
        return resolve(lib, value.name)
    if isinstance(value, Made):
        return invoke(callee(lib, value.path), lib, Arguments(value.args, value.kwargs))
    if isinstance(value, (tuple, list)):
        return type(value)([build(lib, each) for each in value])
    if isinstance(value, dict):
        return {key: build(lib, each) for key, each in value.items()}
    return value


def invoke(function: Callable, lib: Any, arguments: Arguments) -> Any:
    args = [build(lib, value) for value in arguments.args]
    return function(*args, **{k: build(lib, v) for k, v in arguments.kwargs.items()})


def answer(lib: Any, call: Call, seen: Callable[[Any], Iterable[Any]] = flatten) -> Answer:
    """What a call gives, as ``seen`` sees it; a method that gives None leaves the object."""
    lib.set_grad_enabled(True)
    reseed(lib)
    path = call.torch if lib.__name__ == "torch" and call.torch else call.path
    try:
        result = invoke(callee(lib, path), lib, call.first)
        for name, arguments in call.then:
            next_result = invoke(getattr(result, name), lib, arguments)
            result = result if next_result is None else next_result
        return Answer([*seen(result)])
    except Exception as error:
        return Answer([], error)


# The run


@dataclass
class Finding:
    number: int
    path: str
    change: str
    difference: str
    call: str
    wanted: str
    found: str


def _time_is_over(*_: Any) -> None:
    raise TimeoutError("the call took too long")


def examine(
    change: str,
    call: Call,
    libs: list[Any],
    seen: Callable[[Any], Iterable[Any]] = flatten,
) -> Finding | None:
    """One call in nnkit (the last of ``libs``) and, before it, in torch; without its number."""
    *others, nnkit = libs
    wanted = answer(others[0], call, seen) if others else None
    found = answer(nnkit, call, seen)
    arrays = arrays_in(
        [(each.args, each.kwargs) for each in (call.first, *dict(call.then).values())]
    )
    dtypes = [dtype_name(a.array if isinstance(a, Fixed) else a) for a in arrays]
    wrong = difference(shown_path(call), 1 + change.count(" and "), wanted, found, dtypes)
    if wrong == "values" and re.search("nan|inf", change):
        wrong = ""  # formulas that agree on numbers may not on what is none
    if not wrong:
        return None
    says = [
        f"{type(each.error).__name__}: {str(each.error)[:300]}" if each and each.error
        else ", ".join(map(described, each.results)) if each else ""
        for each in (wanted, found)
    ]  # fmt: skip
    return Finding(-1, shown_path(call), change, wrong, shown(call), *says)


def shown_path(call: Call) -> str:
    return ".".join([call.name, *(name for name, _ in call.then)])


Make = Callable[[int], tuple[str, Call]]
Judge = Callable[[str, Call], Finding | None]


def _child(numbers: range, made: Make, judged: Judge, place: mmap.mmap, pipe: int) -> None:
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, _time_is_over)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    with os.fdopen(pipe, "wb") as out:
        for number in numbers:
            place[:8] = struct.pack("q", number)
            signal.setitimer(signal.ITIMER_REAL, SECONDS_A_CALL, SECONDS_A_CALL)  # in each library
            finding = judged(*made(number))
            signal.setitimer(signal.ITIMER_REAL, 0)
            if finding is not None:
                finding.number = number
                pickle.dump(finding, out)
                out.flush()
    os._exit(0)


def _findings(pipe: int) -> Iterator[Finding]:
    with os.fdopen(pipe, "rb") as source, contextlib.suppress(EOFError, pickle.UnpicklingError):
        while True:
            yield pickle.load(source)


def run(made: Make, judged: Judge, until: Callable[[int], bool]) -> tuple[int, list[Finding]]:
    """Calls in child processes until ``until(count)``; how many, and what was found."""
    place = mmap.mmap(-1, 8)
    number, findings = 0, []
    while not until(number):
        end = number + CHUNK
        source, sink = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(source)
                _child(range(number, end), made, judged, place, sink)
            finally:
                os._exit(1)
        os.close(sink)
        findings += _findings(source)
        _, status = os.waitpid(child, 0)
        if status:
            last = struct.unpack("q", place[:8])[0]
            change, call = made(last)
            how = f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended"
            findings.append(Finding(last, shown_path(call), change, how, shown(call), "", ""))
            end = last + 1
        number = end
    return number, findings


def frameworks(with_torch: bool) -> list[Any]:
    warnings.simplefilter("ignore")
    libs = [importlib.import_module(n) for n in (("torch", "nnkit") if with_torch else ("nnkit",))]
    for lib in libs:
        lib.set_num_threads(1)
        for name in ("prune", "stateless"):  # which are not imported with the rest
            importlib.import_module(f"{lib.__name__}.nn.utils.{name}")
    if with_torch:
        importlib.import_module("torch._dynamo")  # which no clock may interrupt later
    return libs


def report(findings: list[Finding], every: bool) -> None:
    """One finding of each (function, difference), the shortest; the most frequent kinds last."""
    shortest: dict[tuple[str, str], Finding] = {}
    counts = Counter((f.path, f.difference) for f in findings)
    for finding in findings:
        key = (finding.path, finding.difference)
        if key not in shortest or len(finding.call) < len(shortest[key].call):
            shortest[key] = finding
    for finding in findings if every else [shortest[key] for key in sorted(shortest)]:
        count = counts[(finding.path, finding.difference)]
        print(f"{finding.path} | {finding.change} | {finding.difference} | {count}x")
        print(f"    #{finding.number} {finding.call}")
        print(f"    torch: {finding.wanted}\n    nnkit: {finding.found}")
    for kind, count in Counter(f.difference for f in findings).most_common(20):
        print(f"{count:6d} {kind}")
    print(f"{len(findings)} findings, {len(shortest)} kinds")


def main(about: str, table: Callable[[str], Valid], **options: Any) -> int:
    """The command line of a table: a function from a pattern of names to one that draws calls."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--calls", type=int, default=0, help="this many, instead of the seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--only", type=int, help="one call, in this process")
    parser.add_argument("--names", default="", help="rows whose name matches")
    parser.add_argument("--all", action="store_true", help="print every finding")
    given = parser.parse_args()
    libs = frameworks(not given.no_torch)
    made = functools.partial(changed_call, table(given.names), given.seed)
    if given.only is not None:
        change, call = made(given.only)
        print(f"{change}\n{shown(call)}")
        for lib in libs:
            found = answer(lib, call, options.get("seen", flatten))
            print(f"{lib.__name__}: {found.error!r} {list(map(described, found.results))}")
            if found.error is not None and lib is libs[-1]:
                raise found.error
        return 0
    start = time.monotonic()

    def until(count: int) -> bool:
        if given.calls:
            return count >= given.calls
        return time.monotonic() - start > given.seconds

    judged = functools.partial(examine, libs=libs, **options)
    count, findings = run(made, judged, until)
    report(findings, given.all)
    taken = time.monotonic() - start
    print(f"seed {given.seed}: {count} calls in {taken:.0f} s, {count / taken:.0f} a second")
    return 1 if findings else 0


def rows(pattern: str) -> Valid:
    """A function that draws valid calls of the rows whose name matches."""
    names = [name for name in ROWS if re.search(pattern, name)]
    return functools.partial(valid_call, names=names)


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", rows))
