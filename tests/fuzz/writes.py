"""Random functions that write in place, under the transforms of ``func`` and forward mode, against
torch.

    python -m tests.fuzz.writes --seconds 600 --seed 0

writes functions of two vectors that make tensors, take views of them, write into both (by
themselves, through views, before and after a view was taken) and return some of what they have
made. Each runs under one or two transforms; values, derivatives, shapes and types of errors must be
torch's.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from tests.fuzz.op_statements import OPS
from tests.fuzz.seeds import run_seeds

MADE = (
    "T.zeros(3, dtype=D)", "T.zeros(2, 3, dtype=D)", "T.ones(3, dtype=D)", "{x}.clone()",
    "T.zeros_like({x})", "{x} * 1", "T.empty_like({x}).copy_({x})",
    "{x}.expand(2, *{x}.shape).clone()", "T.full_like({x}, 0.5)", "T.stack([{x}, {x}])",
    "{x}.new_zeros(2, 3)", "T.zeros({x}.shape, dtype=D)", "{x}.detach().clone()",
    "T.eye(3, dtype=D)", "{x}.sin()", "{x} * c", "{x}.new_ones({x}.shape)",
)  # fmt: skip
VIEWS = (
    "{x}[0]", "{x}[..., 1:]", "{x}[..., 0]", "{x}[::2]", "{x}.view(-1)", "{x}.mT", "{x}[...]",
    "{x}.unsqueeze(0)", "{x}.diagonal()", "{x}.unbind(0)[-1]", "{x}.chunk(2)[0]", "{x}.detach()",
    "{x}.narrow(-1, 0, 2)", "{x}.transpose(0, -1)", "{x}.split(1)[0]", "{x}.view_as({x})",
    "{x}.select(-1, 1)", "{x}.reshape(-1)", "{x}.flatten()", "{x}.squeeze()", "{x}.T",
    "{x}.expand(2, *{x}.shape)", "{x}.unflatten(-1, (1, -1))", "{x}.movedim(0, -1)",
)  # fmt: skip
READ = (
    "{x} * {y}", "{x} + {y}", "{x}.sin()", "{x}.sum()", "{x}.sum(0)", "{x} * {x}", "{x}.mean(-1)",
    "T.cat([{x}, {y}])", "T.where({x} > 0.3, {x}, {y})", "{x}.flip(0)", "{x}.cumsum(0)",
    "{x} @ {y}", "{x}[i]", "T.stack([{x}, {y}])", "{x}.exp()", "{x} - c", "{x}.roll(1)",
    "T.lerp({x}, {y}, 0.25)", "{x}.prod()", "{x}.relu()",
) + 5 * (
    "T.{unary}({x})", "T.{binary}({x}, {y})", "T.{reduction}({x}, dim=0)", "T.{moved}({x})",
    "T.{running}({x}, dim=0)", "T.{several}({x}, dim=0)[0]", "T.{joined}([{x}, {y}])",
    "T.nn.functional.{activation}({x})", "T.nn.functional.{pair}({x}, {y})",
)  # fmt: skip
WRITES = (
    "{x}.copy_({y})", "{x}.add_({y})", "{x}.mul_({y})", "{x}.sub_({y}, alpha=0.5)", "{x}.sin_()",
    "{x}[0] = {y}", "{x}[..., 0] = {y}", "{x}[1:] = {y}", "{x}[i] = {y}", "{x}[...] = {y}",
    "{x}.zero_()", "{x}.fill_(0.5)", "{x}.fill_({y}.sum())", "{x}.mul_(0.5)", "{x} += {y}",
    "{x}[{x} > 0.4] = 0.25", "{x}.masked_fill_({x} > 0.4, 0.5)", "{x}.relu_()", "{x}.clamp_(-1, 1)",
    "{x}.index_add_(0, i, {y})", "{x}.index_copy_(0, i, {y})", "{x}.index_fill_(0, i, 0.5)",
    "{x}.lerp_({y}, 0.25)", "{x}.addcmul_({y}, {y}, value=0.5)", "{x}.cumsum_(0)", "{x}.exp_()",
    "{x}.div_(1 + {y} * {y})", "{x}.neg_()", "{x}.tanh_()", "{x}.scatter_add_(0, j, {y})",
    "{x}.diagonal().add_({y})", "{x}.view(-1)[1:] = {y}", "{x}[..., 1:].mul_({y})", "{x}.square_()",
    "{x}.index_put_((i,), {y}, accumulate=True)", "{x}.masked_scatter_({x} > 0.2, {y})",
    "{x}.sigmoid_()", "{x}.pow_(2)", "{x}.clamp_min_({y})", "{x}.scatter_(0, j, {y})",
    "{x}.put_(i, {y})",
) + 7 * (
    "{x}.{unary_}()", "{x}.{binary_}({y})", "T.nn.functional.{activation_}({x}, inplace=True)",
)  # fmt: skip
TRANSFORMS = (
    "jvp", "jvp", "vjp", "grad", "jacfwd", "jacrev", "hessian", "vmap", "vmap of jvp",
    "jvp of vmap", "grad of vmap", "vmap of grad", "jvp of grad", "jvp of jvp", "by hand",
    "by hand", "vmap of vmap", "jacfwd of vmap", "by hand, vmap", "plain",
)  # fmt: skip
# What torch says that it cannot do, and nnkit does.
LIMITS = (
    "Batching rule not implemented", "that does not support it",
    "fallback path doesn't work", "do not support batching", "does not support forward AD",
    "INTERNAL ASSERT", "data-dependent", "Trying to set a forward gradient that has a different",
    "is not possible because there exists a Tensor", "returned an invalid gradient",
    # Losses of operands of which vmap has made different numbers of dimensions, or dtypes.
    "The size of tensor a (9) must match", "Found dtype Double but expected Bool",
)  # fmt: skip


class Program(NamedTuple):
    """The lines of a function of ``a`` and ``b``, the names that it returns, and how it is run."""

    lines: list[str]
    results: list[str]
    transform: str

    def source(self) -> str:
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def function(a, b):\n{body}    return {', '.join(self.results)},\n"


class Writer:
    """Writes the function of a seed; most lines can run outside of all transforms."""

    def __init__(self, seed: int, oracle: ModuleType) -> None:
        self.draw = random.Random(seed)
        self.oracle = oracle

    def program(self) -> Program:
        draw, space = self.draw, setting(self.oracle)
        space["a"], space["b"] = space["point"].clone(), space["other"].clone()
        names, lines = ["a", "b"], []
        for number in range(draw.randint(3, 12)):
            line = self._line(names, space, f"x{number}")
            try:
                exec(line, space)
            except Exception:
                continue
            found = re.match(r"(x\d+) = ", line)
            if found and not isinstance(space[found[1]], self.oracle.Tensor):
                continue
            names += [found[1]] if found else []
            lines.append(line)
        made = names[2:] or names
        results = draw.sample(made, min(len(made), draw.randint(1, 3)))
        return Program(lines, results, draw.choice(TRANSFORMS))

    def _line(self, names: list[str], space: dict[str, Any], new: str) -> str:
        draw, kind = self.draw, self.draw.random()
        x, y = draw.choice(names if draw.random() < 0.4 else names[-3:]), draw.choice(names)
        if kind < 0.45:
            # Seldom into an argument, and more seldom into what the function captures.
            x = "c" if draw.random() < 0.03 else draw.choice(names[2:] or names)
            # torch's tangents are wrong where an operand lies in the memory that is written, and
            # writes to elements that share their memory follow each other.
            memory = space[x].untyped_storage().data_ptr()
            apart = [n for n in names if space[n].untyped_storage().data_ptr() != memory]
            if not apart or 0 in space[x].stride():
                return "refused"
            return self._filled(draw.choice(WRITES), x, draw.choice(apart))
        choices = MADE if kind < 0.6 else VIEWS if kind < 0.85 else READ
        if not space[x].ndim:  # which torch flips and rolls along the batch
            choices = [c for c in choices if "flip" not in c and "roll" not in c]
        return f"{new} = " + self._filled(draw.choice(choices), x, y)

    def _filled(self, template: str, x: str, y: str) -> str:
        """A template with the names of two tensors, and those of ops of its families."""
        ops = {family: self.draw.choice(names) for family, names in OPS.items()}
        return template.format(x=x, y=y, **ops)


def setting(T: ModuleType) -> dict[str, Any]:
    """What a function finds outside, and the numbers that it is given."""
    number = lambda *values: T.tensor(values, dtype=T.float64)  # noqa: E731
    return {
        "T": T, "D": T.float64, "c": number(0.5, -0.25, 1.0), "i": T.tensor([1, 0]),
        "j": T.tensor([2, 0, 1]),
        "point": number(0.7, -0.4, 0.3), "other": number(-0.2, 0.9, 0.6),
        "along": number(1.0, 0.5, -2.0),
        "many": number(0.7, -0.4, 0.3) + number(0, 0.1, 0.2)[:, None],
    }  # fmt: skip


def transformed(T: ModuleType, function: Callable, name: str, space: dict[str, Any]) -> Any:
    """What a function gives under a transform."""
    f = T.func
    point, other, along, many = [space[key].clone() for key in ("point", "other", "along", "many")]
    one = lambda a: function(a, other.clone())  # noqa: E731
    total = lambda a: sum([t.sum() for t in one(a * 1)])  # noqa: E731
    if name == "jvp":
        return f.jvp(function, (point, other), (along, along * 2))
    if name == "vjp":
        results, pull = f.vjp(one, point)
        return results, pull(tuple([T.ones_like(t) for t in results]))
    if name in ("grad", "hessian"):
        return getattr(f, name)(total)(point)
    if name in ("jacfwd", "jacrev"):
        return getattr(f, name)(one)(point)
    if name == "vmap":
        return f.vmap(function, in_dims=(0, None))(many, other)
    if name == "vmap of jvp":
        return f.vmap(lambda a: f.jvp(one, (a,), (along,)))(many)
    if name == "jvp of vmap":
        return f.jvp(f.vmap(one), (many,), (many * 2,))
    if name == "grad of vmap":
        return f.grad(lambda m: sum([t.sum() for t in f.vmap(lambda a: one(a * 1))(m)]))(many)
    if name == "vmap of grad":
        return f.vmap(f.grad(total))(many)
    if name == "jvp of grad":
        return f.jvp(f.grad(total), (point,), (along,))
    if name == "jvp of jvp":
        return f.jvp(lambda a: f.jvp(one, (a * 1,), (a * 2,)), (point,), (along,))
    if name == "vmap of vmap":
        return f.vmap(lambda a: f.vmap(lambda b: function(a, b))(many * 2))(many)
    if name == "jacfwd of vmap":
        return f.jacfwd(f.vmap(one))(many)
    if name == "plain":
        return one(point)
    forward = T.autograd.forward_ad
    with forward.dual_level():
        if name == "by hand, vmap":
            results = f.vmap(one)(forward.make_dual(many, many * 2))
        else:
            results = function(forward.make_dual(point, along), other)
        return [tuple(forward.unpack_dual(t)) for t in results]


def numbers(value: Any, T: ModuleType) -> list[Any]:
    """The shapes and the elements of all tensors in a result."""
    if isinstance(value, T.Tensor):
        return [
            tuple(value.shape),
            str(value.dtype).partition(".")[2],
            *value.detach().clone().reshape(-1).tolist(),
        ]
    if isinstance(value, (tuple, list)):
        return [x for each in value for x in numbers(each, T)]
    return [0.0 if value is None else value]


def observed(program: Program, T: ModuleType) -> tuple[str, list[Any]]:
    """The type of the error, with its text, or all that the function gives, under a transform."""
    space = setting(T)
    exec(program.source(), space)
    try:
        return "", numbers(transformed(T, space["function"], program.transform, space), T)
    except Exception as error:
        return f"{type(error).__name__}: {error}", []


def difference(program: Program, oracle: ModuleType, framework: ModuleType) -> str:
    """What the frameworks give that is not the same; empty where there is nothing."""
    expected, wanted = observed(program, oracle)
    if any(limit in expected for limit in LIMITS):
        return ""
    if "vmap" in program.transform and "modified by an inplace operation" in expected:
        return ""  # what the examples of vmap save, nnkit saves apart from them
    error, found = observed(program, framework)
    if expected.partition(":")[0] != error.partition(":")[0]:
        return f"{expected:.150} | {error:.150}"
    same = len(wanted) == len(found) and all(map(_close, wanted, found))
    return "" if same else f"{wanted!s:.300} | {found!s:.300}"


def _close(a: Any, b: Any) -> bool:
    if not (isinstance(a, float) and isinstance(b, float)):
        return a == b
    return a == b or (a != a and b != b) or abs(a - b) <= 1e-9 * (1 + abs(a))


def shrunk(program: Program, oracle: ModuleType, framework: ModuleType) -> Program:
    """A function of fewer lines that differs too."""
    for line in reversed(program.lines):
        shorter = program._replace(lines=[kept for kept in program.lines if kept is not line])
        what = difference(shorter, oracle, framework)
        if what and "NameError" not in what:
            program = shorter
    for name in program.results:
        fewer = program._replace(results=[kept for kept in program.results if kept is not name])
        if fewer.results and difference(fewer, oracle, framework):
            program = fewer
    return program


def check(seed: int, oracle: ModuleType, framework: ModuleType) -> str:
    """What differs in the function of a seed, and the function, shortened; empty if nothing."""
    program = Writer(seed, oracle).program()
    if not difference(program, oracle, framework):
        return ""
    program = shrunk(program, oracle, framework)
    return f"{program.transform}: {difference(program, oracle, framework)}\n{program.source()}"


if __name__ == "__main__":
    raise SystemExit(run_seeds(__doc__ or "", check))
