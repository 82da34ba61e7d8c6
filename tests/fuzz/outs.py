"""Every function with every kind of ``out=`` against torch: of other dtypes and shapes, with one
element in all places, as a part of something larger, as a leaf.

``python -m tests.fuzz.outs`` compares what becomes of such an ``out`` (its dtype, shape, strides,
place and memory), or the type of the error, for the samples of the op table, also in complex
numbers. ``--names`` takes the rows whose name matches, ``--samples`` so many of each. Each
difference is printed; if there is one, the exit code is 1.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzz.calls import frameworks
from tests.harness.call import Call, flatten
from tests.harness.row import Maker, OpRow, Sample
from tests.harness.table import ROWS

Make = Callable[[Any, Any], Any]

DTYPES = ("bool", "int16", "int64", "float16", "float32", "float64", "complex64", "complex128")
KINDS: dict[str, Make] = {
    f"of {name}": lambda lib, like, name=name: lib.empty(0, dtype=getattr(lib, name))
    for name in DTYPES
}
KINDS |= {
    "one element": lambda lib, like: lib.ones(1, dtype=like.dtype).expand(5, 7),
    "a part": lambda lib, like: lib.ones(40, dtype=like.dtype)[3:6],
    "columns": lambda lib, like: lib.ones(9, 8, dtype=like.dtype)[:, 2:4],
    "turned": lambda lib, like: lib.ones(like.shape[::-1], dtype=like.dtype).permute(
        tuple(range(like.ndim))[::-1]
    ),
    "a number": lambda lib, like: lib.ones((), dtype=like.dtype),
    "a leaf": lambda lib, like: lib.empty(0, dtype=like.dtype, requires_grad=True),
}

# What differs for a reason: functions, and kinds of `out`.
LEFT = [
    ("here it takes an `out`", r"^threshold_$", r""),
    ("what torch makes of the residuals changes", r"^linalg\.lstsq$", r""),
    ("of order 0, of one matrix, it is a copy in torch", r"^diff$|^chain_matmul$", r""),
    ("torch looks at its dimension, or leaves it a number", r"^fft\.r?fftfreq$", r"^a number$"),
    ("torch needs a view of it as rows", r"^nn\.functional\.linear$", r"^turned$"),
    ("torch has no kernel", r"^(var|std)$", r"^of complex"),
    ("the alias of `linalg.matrix_power`, in torch it casts", r"^matrix_power$", r"^of "),
    ("torch's are parts of something larger", r"^svd$|^linalg\.solve(_ex)?$", r""),
    (
        "torch writes it without a derivative: see docs/reliability.md",
        r"^special\.|^linalg\.lu$|^lu_unpack$|^split_with_sizes_copy$|^histc$",
        r"^a leaf$",
    ),
]


def outcome(lib: Any, row: OpRow, sample: Sample, number: int, make: Make) -> Any:
    """What becomes of one ``out`` where those of the other results are empty, or the error."""
    call = Call(lib, row, sample)
    results = call()
    outs = [lib.empty(0, dtype=one.dtype) for one in flatten(results)]
    try:
        outs[number] = make(lib, list(flatten(results))[number])
    except RuntimeError:
        return None  # integers are no leaves
    try:
        call(out=outs[0] if isinstance(results, lib.Tensor) else tuple(outs))
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return type(error).__name__
    out = outs[number]
    memory = out.storage_offset(), out.untyped_storage().nbytes()
    steps = tuple(step for step, size in zip(out.stride(), out.shape) if size > 1)
    return str(out.dtype).rpartition(".")[2], tuple(out.shape), steps, *memory


def differences(libs: list[Any], rows: list[OpRow], samples: int) -> Iterator[str]:
    """What torch, the first of the libraries, and nnkit do otherwise."""
    torch, nnkit = libs
    for row in rows:
        dtypes = [row.dtypes[0], *({"complex64"} & {*row.dtypes[1:]})]
        of_each = [itertools.islice(row.samples(Maker(row, d)), samples) for d in dtypes]
        for sample in itertools.chain(*of_each):
            results = list(flatten(Call(torch, row, sample)()))
            if not all(isinstance(one, torch.Tensor) for one in results):
                continue
            for number, (kind, make) in itertools.product(range(len(results)), KINDS.items()):
                if any(re.search(f, row.name) and re.search(k, kind) for _, f, k in LEFT):
                    continue
                theirs, mine = (outcome(lib, row, sample, number, make) for lib in libs)
                if mine != theirs:
                    yield f"{row.name}, result {number}, {kind}: {theirs} -> {mine}"


def chosen(names: str = "") -> list[OpRow]:
    """The rows of functions whose name matches."""
    functions = [row for row in ROWS.values() if not row.name.startswith("Tensor.")]
    return [row for row in functions if re.search(names, row.name)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--names", default="", help="rows whose name matches")
    parser.add_argument("--samples", type=int, default=3, help="of each row")
    options = parser.parse_args()
    found = False
    for line in differences(frameworks(True), chosen(options.names), options.samples):
        found = True
        print(line)
    return found


if __name__ == "__main__":
    sys.exit(main())
