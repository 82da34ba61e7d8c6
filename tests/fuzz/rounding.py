"""Whether last bits decide a difference: nnkit's answer is then left open, three ways.

- A flip of last bits moves torch's answer about as far as nnkit's is from it: what an elimination
  left of zero, and what is divided by that, is made of roundings. Only numbers of a full mantissa
  are touched: 0.5 and 3 are exact in both. Equal numbers stay equal.
- torch gives nnkit's answer where it gets nnkit's numbers, which agreed after each statement but
  the last: a difference within the tolerance has grown.
- The same program in double precision is nearer to nnkit's answer than to torch's, or a bit or two
  of the dtypes that it asks for from both.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from tests.fuzz.arbitrary import NORMS
from tests.fuzz.flow import Flow
from tests.fuzz.observe import ASPECTS, VALUES, array_of, close, record_of, shown
from tests.fuzz.running import Finding, Program, Run, compare

TRIALS = 8
NEARLY = 10  # nnkit's roundings are a few bits, not one
NEAR = 1e-4  # of the largest number: what is farther off in torch is no rounding
FEW = 2  # units in the last place, of numbers of the size of 1
HALF = re.compile(r"\b(bfloat16|float16|half)\b")
# By the size of a number: integers of that size, and the bits that are 0 where few are needed.
BITS = {2: ("int16", 0xF), 4: ("int32", 0xFFF), 8: ("int64", 0x3FFFFFF)}
ODD = np.uint64(0x9E3779B97F4A7C15)


def _flip_last_bits(tensor: Any, torch: Any, trial: int) -> None:
    """Of half of the rounded numbers, in their memory alone: no version counts it, and NumPy does
    not see it, since torch resizes no such memory."""
    if not tensor.is_floating_point() or tensor.element_size() not in BITS:
        return
    if tensor._is_zerotensor():  # zeros without memory
        return
    name, low = BITS[tensor.element_size()]
    memory = torch.empty(0, dtype=getattr(torch, name)).set_(tensor.untyped_storage())
    bits = memory.clone().numpy()
    chosen = (bits.astype(np.uint64) * ODD) >> np.uint64(32 + trial) & np.uint64(1)
    memory ^= torch.from_numpy((bits & low != 0) & (chosen != 0))


def _turn_leftovers(tensor: Any, torch: Any) -> None:
    """The numbers that are last bits beside the largest of their tensor, in their memory alone."""
    known = tensor.is_floating_point() and tensor.element_size() in BITS
    if known and tensor.numel() and not tensor._is_zerotensor():
        memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
        sizes = memory.abs()
        memory[sizes < NEARLY * torch.finfo(tensor.dtype).eps * sizes.max()] *= -1


def _distance(one: Any, other: Any) -> float:
    """The largest; infinite where only one is a number, 0 where the shapes differ."""
    one, other = np.multiply(one, 1), np.multiply(other, 1)  # bools are numbers too
    if one.shape != other.shape:
        return 0.0
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(all="ignore"):
        apart = np.where(same, 0.0, np.abs(one - other))
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))


def _record_when_flipped(finding: Finding, torch: Any, trial: int) -> tuple | None:
    """The record of the tensor that differs in torch, when each statement's numbers are shaken."""
    run, before, records = Run(torch), {}, {}
    try:
        for statement in finding.program:
            before, records = records, run.step(statement)
            for label, tensor in run.namespace.items():
                if isinstance(tensor, torch.Tensor) and records[label] != before.get(label):
                    _flip_last_bits(tensor, torch, trial)
                    if trial % 2 and re.search(NORMS, statement.source):
                        _turn_leftovers(tensor, torch)
    finally:
        run.restore()
    return record_of(records, finding.label)


def _agrees_when_given(finding: Finding, torch: Any, framework: Any) -> bool:
    """Whether torch gives nnkit's answer where each statement but the last leaves nnkit's
    numbers."""
    run, ours, flow = Run(torch), Run(framework), Flow()
    records: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    try:
        for statement in finding.program:
            for label in records:
                if records[label] != numbers.get(label):
                    _give(record_of(numbers, label), label, run.namespace, torch)
            records, numbers = run.step(statement), ours.step(statement)
            flow.follow(statement.source, records)
    finally:
        run.restore()
        ours.restore()
    given, actual = record_of(records, finding.label), record_of(numbers, finding.label)
    if given is None or actual is None or given[:VALUES] != actual[:VALUES]:
        return False
    return given[VALUES] == actual[VALUES] or close(actual, given, flow[finding.label])


def _give(record: tuple | None, label: str, namespace: dict[str, Any], torch: Any) -> None:
    """Write the numbers of a record into the memory of torch's tensor, of which no version counts
    it. A label is mostly an expression."""
    try:
        tensor = eval(label, namespace)
    except Exception:
        return
    if record is None or record[VALUES] is None or not isinstance(tensor, torch.Tensor):
        return
    numbers = torch.from_numpy(array_of(record).copy())
    plain = not (tensor.is_conj() or tensor.is_neg() or tensor._is_zerotensor())
    if plain and numbers.shape == tensor.shape:
        memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
        place = memory.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        with suppress(RuntimeError):  # where several elements lie in one place
            place.copy_(numbers)


def _record_in_double(finding: Finding, torch: Any) -> tuple | None:
    """The record of the tensor that differs in torch, where numbers are of double precision unless
    the program asks for those of single precision."""
    torch.set_default_dtype(torch.float64)
    run, records = Run(torch), {}
    try:
        for statement in finding.program:
            source = HALF.sub("double", statement.source)
            records = run.step(replace(statement, source=source))
    finally:
        run.restore()
        torch.set_default_dtype(torch.float32)
    return record_of(records, finding.label)


def _is_nearer(finding: Finding, exact: tuple | None, torch: Any) -> bool:
    """Whether nnkit's answer is at least as near to the exact one as torch's, which is near, or
    both are as near as the roundings of one operation bring them."""
    if exact is None or exact[VALUES] is None:
        return False
    numbers = shown(exact)
    own, apart = _distance(finding.actual, numbers), _distance(finding.expected, numbers)
    largest = max(1.0, float(np.max(np.abs(numbers), initial=0)))
    is_half = any(HALF.search(statement.source) for statement in finding.program)
    eps = torch.finfo(torch.bfloat16 if is_half else torch.float32).eps
    return own <= apart <= NEAR * largest or max(own, apart) <= FEW * eps * largest


def decided_by_rounding(finding: Finding, torch: Any, framework: Any) -> bool:
    """Whether last bits decide the numbers that differ, or how many elements there are."""
    if finding.aspect not in ("values", "shape"):
        return False
    moved = [_record_when_flipped(finding, torch, trial) for trial in range(TRIALS)]
    if finding.aspect == "shape":
        flipped = any(m and m[ASPECTS.index("shape")] == finding.actual for m in moved)
        return flipped or _agrees_when_given(finding, torch, framework)
    apart = _distance(finding.expected, finding.actual)
    moves = [_distance(finding.expected, shown(m)) for m in moved if m and m[VALUES]]
    if 0 < apart <= NEARLY * max(moves, default=0):
        return True
    if _agrees_when_given(finding, torch, framework):
        return True
    return _is_nearer(finding, _record_in_double(finding, torch), torch)


def judge(
    program: Program, expected: list[dict[str, Any]], oracle: ModuleType, framework: ModuleType
) -> Finding | None:
    """What differs from what the oracle showed, but for what roundings decide."""
    finding = compare(program, expected, framework)
    if finding is None or decided_by_rounding(finding, oracle, framework):
        return None
    return finding
