"""Makes the program of a seed, and runs it in both frameworks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.fuzz.op_statements import STATEMENTS
from tests.fuzz.rounding import judge
from tests.fuzz.running import Finding, Program, Run, Statement
from tests.fuzz.writer import Unfit, Writer

NAMES, WEIGHTS = list(STATEMENTS), [weight for weight, _ in STATEMENTS.values()]
MODES = (
    "T.no_grad()", "T.no_grad()", "T.no_grad()", "T.enable_grad()", "T.inference_mode()",
    "T.inference_mode()", "T.set_grad_enabled(False)", "T.set_grad_enabled(True)",
    "T.inference_mode(False)", "T.no_grad(), T.enable_grad()",
    "T.inference_mode(), T.enable_grad()",
    "T.inference_mode(), T.inference_mode(False)", "T.autograd.set_detect_anomaly(True)",
    "T.enable_grad(), T.no_grad()",
)  # fmt: skip


def _next(writer: Writer, first: bool) -> Statement:
    while True:
        kind = "create" if first else writer.random.choices(NAMES, WEIGHTS)[0]
        writer.refresh()
        count = writer.count
        try:
            source = writer.fill(writer.random.choice(STATEMENTS[kind][1]))
            writer.bound(source)
        except Unfit:
            writer.count = count
            continue
        chance = writer.random.random()
        mode = writer.random.choice(MODES)
        if chance < 0.12:
            source = f"with {mode}:\n    {source}"
        elif chance < 0.14:
            name, sign, value = source.partition(" = ")
            if sign and name.isidentifier() and ", " not in mode:
                source = f"{name} = {mode}(lambda: {value})()"
        return Statement(kind, source)


def generate(seed: int, framework: Any) -> tuple[Program, list[dict[str, Any]]]:
    """The program of a seed, and what ``framework`` shows after each of its statements."""
    run = Run(framework)
    writer = Writer(seed, framework, run.namespace, run.skip)
    program: list[Statement] = []
    records = []
    try:
        for index in range(writer.random.randrange(3, 16)):
            statement = _next(writer, index < 1 + (seed % 3))
            program.append(statement)
            records.append(run.step(statement))
    finally:
        run.restore()
    return program, records


def check(seed: int, oracle: Any, framework: Any) -> Finding | None:
    """Run the program of one seed in both."""
    program, expected = generate(seed, oracle)
    finding = judge(program, expected, oracle, framework)
    return finding and replace(finding, seed=seed)
