"""Random nestings of the transforms of ``func``, the same under torch and nnkit.

    python -m tests.fuzz.transforms --seconds 600 --seed 0

prints each program that differs in values, ``requires_grad``, gradients afterwards or the type of
the error; the exit status is 1 if any does. A program is one expression of vectors of two elements,
in which ``w`` and ``u`` are leaves that require a gradient and ``c`` is none.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from tests.fuzz.seeds import run_seeds

# What torch cannot do: differentiate forwards what vmap gives as an expanded tensor; write what is
# batched into what is not.
LIMITS = (
    "more than one element of the written-to tensor",
    "doesn't match the broadcast shape",
    "inplace arithmetic",
)


class Writer:
    """Writes the expression of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def program(self) -> str:
        around = self.random.choice(["", "", "", "", "no_grad", "inference_mode"])
        depth = self.random.choice([2, 3, 3, 4])
        whole = self.vector(["w", "u", "c"], depth, around != "inference_mode")
        return f"within(lib.{around}(), lambda: {whole})" if around else whole

    def name(self) -> str:
        self.names += 1
        return f"x{self.names}"

    def vector(self, names: list[str], depth: int, modes: bool) -> str:
        """An expression of one vector; ``modes``: whether it may switch grad modes."""
        draw = self.random
        if depth <= 0:
            return draw.choice(names[-2:] if draw.random() < 0.6 else names)

        def inner(fewer: int = 1) -> str:
            return self.vector(names, depth - fewer, modes)

        kind = draw.choice(["product", "sum", "plain", "transform", "transform", "transform"])
        if kind == "product":
            return f"({inner()} * {inner(2)})"
        if kind == "sum":
            return f"({inner()} + {inner(2)})"
        if kind == "plain":
            some = ["{}.sin()", "{}**3", "{}.exp()", "({} * 0.5)", "{}.detach()", "{}.flip(0)"]
            some += [
                "{}.view(2, 1).squeeze(1)",
                "{}.cumsum(0)",
                "{}.clone().mul_(0.5)",
                "{}.prod() + c",
            ]
            some += [f"put({{}}, {inner(2)})", f"{{}}.clone().add_({inner(2)}, alpha=2)"]
            some += [f"lib.where({{}} > 0, {inner(2)}, u)", f"lib.cat([{{}}, {inner(2)}])[1:3]"]
            if modes:
                some += [
                    f"within(lib.{mode}(), lambda: {{}})" for mode in ("no_grad", "enable_grad")
                ] * 2
            return draw.choice(some).format(inner())
        return self.transform(names, depth, modes, inner)

    def transform(self, names: list[str], depth: int, modes: bool, inner: Callable) -> str:
        draw = self.random
        kind = draw.choice(
            ["grad", "grad", "value", "vjp", "pulled", "jvp", "jacrev", "jacfwd", "hessian", "vmap"]
        )
        x = self.name()
        body = self.vector([*names, x], depth - 1, modes)
        # Not the argument itself, whose gradient torch does not copy: under no_grad that shows.
        function = f"lambda {x}: {body} * 1.0"
        point, other = inner(), inner(2)
        if kind == "grad":
            return f"f.grad(lambda {x}: ({body}).sum())({point})"
        if kind == "value":
            return f"({other} * f.grad_and_value(lambda {x}: ({body}).sum())({point})[1])"
        if kind == "vjp":
            return f"f.vjp({function}, {point})[{draw.choice(['0', '1](' + other + ')[0'])}]"
        if kind == "pulled":
            value, pull = self.name(), self.name()
            rest = self.vector([*names, value, f"{pull}({value})[0]"], depth - 1, modes)
            return f"(lambda {value}, {pull}: {rest})(*f.vjp({function}, {point}))"
        if kind == "jvp":
            return f"f.jvp({function}, ({point},), ({other},))[{draw.randint(0, 1)}]"
        if kind == "hessian":
            return f"f.hessian(lambda {x}: ({body}).sum())({point}).sum({draw.randint(0, 1)})"
        if kind == "vmap":
            return f"f.vmap({function})({point} * {other}.unsqueeze(1)).sum({draw.randint(0, 1)})"
        return f"f.{kind}({function})({point}).sum({draw.randint(0, 1)})"


class Outcome(NamedTuple):
    """What is compared of a program."""

    error: str  # its type; then the message, which is not compared
    values: list[float]
    requires_grad: bool
    gradients: list[float]


def run(program: str, lib: ModuleType) -> Outcome:
    """What ``program`` gives with one framework."""

    def vector(*values: float, requires_grad: bool = True) -> Any:
        return lib.tensor(values, dtype=lib.float64, requires_grad=requires_grad)

    def within(mode: Any, compute: Callable) -> Any:
        with mode:
            return compute()

    def put(target: Any, source: Any) -> Any:
        target = target.clone()
        target[0] = source[1]
        return target

    w, u = vector(0.7, -0.4), vector(-0.2, 0.9)
    zeros = vector(0.0, 0.0, requires_grad=False)  # torch may give zeros without memory
    scope = {"lib": lib, "f": lib.func, "within": within, "put": put, "w": w, "u": u}
    try:
        result = eval(program, {**scope, "c": vector(0.5, 1.1, requires_grad=False)})
        values, recorded = (result.detach() + zeros).tolist(), result.requires_grad
        if recorded:
            (result * vector(1.0, 0.6, requires_grad=False)).sum().backward()
    except Exception as error:
        return Outcome(f"{type(error).__name__}: {str(error)[:200]}", [], False, [])
    gradients = [zeros if x.grad is None else x.grad + zeros for x in (w, u)]
    return Outcome("", values, recorded, sum([g.tolist() for g in gradients], []))


def difference(oracle: Outcome, found: Outcome) -> str:
    """What differs; empty if nothing does."""
    if oracle.error.partition(":")[0] != found.error.partition(":")[0]:
        return "error"
    for aspect in ("values", "gradients"):
        pairs = zip(getattr(oracle, aspect), getattr(found, aspect), strict=True)
        if any(
            not (a == b or abs(a - b) <= 1e-7 + 1e-7 * abs(a)) for a, b in pairs if a == a or b == b
        ):
            return aspect
    # torch's forward mode adds zeros to tangents, which then require a gradient that is zero.
    if oracle.requires_grad != found.requires_grad and any(oracle.gradients):
        return "requires_grad"
    return "requires_grad" if found.requires_grad and not oracle.requires_grad else ""


def check(seed: int, oracle: ModuleType, framework: ModuleType) -> str:
    """What differs in the program of a seed, and the program; empty if nothing does."""
    program = Writer(seed).program()
    expected, found = run(program, oracle), run(program, framework)
    if any(limit in expected.error for limit in LIMITS):
        return ""
    what = difference(expected, found)
    return f"{what}: {program}\n  {expected}\n  {found}" if what else ""


if __name__ == "__main__":
    raise SystemExit(run_seeds(__doc__ or "", check))
