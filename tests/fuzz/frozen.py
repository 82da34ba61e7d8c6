"""torch's records of programs, as JSON: what is compared where torch is not installed.

``python -m tests.fuzz.frozen`` writes them anew.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np

import nnkit
from tests.fuzz.generate import check, generate
from tests.fuzz.observe import VALUES, array_of
from tests.fuzz.regressions import REGRESSIONS
from tests.fuzz.running import Statement, observe

FILE = Path(__file__).parent.parent / "expected" / "fuzz.json"
RANDOM = range(30)  # seeds of the random programs that are kept, if they do not differ yet


def statements(source: str) -> list[Statement]:
    """The statements of a program's text."""
    return [Statement("", ast.unparse(node)) for node in ast.parse(source).body]


def packed(record: Any) -> Any:
    """A record in which values are numbers, with complex ones as pairs."""
    if not isinstance(record, tuple):
        return repr(record) if isinstance(record, complex) else record
    values = None if record[VALUES] is None else array_of(record)
    if values is not None:
        if values.dtype.kind == "c":
            values = values.reshape(-1).view(f"f{values.itemsize // 2}")
        values = values.reshape(-1).tolist()
    return [*record[:VALUES], values, *record[VALUES + 1 :]]


def unpacked(record: Any) -> Any:
    if not isinstance(record, list):
        return record
    dtype, shape, values, *rest = record
    if values is not None:
        stored = "float32" if dtype == "bfloat16" else dtype
        parts = {"complex64": "float32", "complex128": "float64"}.get(dtype, stored)
        values = np.array(values, parts).tobytes()
    rest = [tuple(item) if isinstance(item, list) else item for item in rest]
    return (dtype, tuple(shape), values, *rest)


def frozen() -> dict[str, tuple[list[Statement], list[dict[str, Any]]]]:
    """The kept programs and what torch showed after each statement."""
    return {
        name: (
            [Statement("", source) for source in sources],
            [{label: unpacked(record) for label, record in step.items()} for step in steps],
        )
        for name, (sources, steps) in json.loads(FILE.read_text()).items()
    }


def freeze() -> None:
    import torch

    torch.set_num_threads(1)
    programs = {name: statements(source) for name, source in REGRESSIONS.items()}
    seen = {name: (program, observe(program, torch)) for name, program in programs.items()}
    alike = [seed for seed in RANDOM if check(seed, torch, nnkit) is None]
    seen |= {f"seed {seed}": generate(seed, torch) for seed in alike}
    lines = []
    for name, (program, steps) in seen.items():
        packs = [{label: packed(record) for label, record in step.items()} for step in steps]
        kept = [[statement.source for statement in program], packs]
        lines.append(f"{json.dumps(name)}: {json.dumps(kept)}")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(seen)} programs, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    freeze()
