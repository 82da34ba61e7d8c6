"""Random functions, the same bits compiled and eager.

    python -m tests.fuzz.compiled --seconds 600 --seed 0

writes functions of three tensors: formulas, broadcasts, views, reductions, writes in place (into
what was made, into views, into arguments), draws, products, gradients within and outside. Each is
called several times, with other elements and then with another shape; results, what became of the
arguments, gradients, counters of writes and generators must be those of the eager function.
"""

from __future__ import annotations

import random
import re
from types import ModuleType
from typing import Any, NamedTuple

from tests.fuzz.op_statements import OPS
from tests.fuzz.seeds import run_seeds

SHAPES = ((3, 4), (4,), (3, 1), (2, 3, 4), (), (1, 4), (4, 3), (33, 4), (0, 4))
DTYPES = ("float32",) * 6 + ("float64", "float64", "int64", "bool", "float16", "bfloat16")
FUNCTIONS = (
    "exp sin tanh relu sigmoid neg abs square clone detach double float half bfloat16 long erf "
    "log1p contiguous flatten sum mean prod amax argmax any cumsum0 softmax0 log_softmax0 var t "
    "logsumexp0 sqrt round sign isnan logical_not conj real zeros_like ones_like rand_like "
    "randn_like flip0 sort0 max0 std nansum expm1 reciprocal unique"
).split()  # fmt: skip
METHODS = {
    "cumsum0": "{x}.cumsum(0)", "softmax0": "{x}.softmax(-1)", "log_softmax0": "{x}.log_softmax(0)",
    "logsumexp0": "{x}.logsumexp(0)", "t": "{x}.mT", "zeros_like": "T.zeros_like({x})",
    "ones_like": "T.ones_like({x})", "rand_like": "T.rand_like({x})", "flip0": "{x}.flip(0)",
    "randn_like": "T.randn_like({x})", "sort0": "{x}.sort(0)[0]", "max0": "{x}.max(0)[1]",
}  # fmt: skip
# One of each of these families of `tests.fuzz.op_statements`.
OF_FAMILIES = {
    "unary": "T.{name}({x})", "binary": "T.{name}({x}, {y})", "reduction": "{x}.{name}()",
    "activation": "F.{name}({x})", "pair": "F.{name}({x}, {y})", "running": "T.{name}({x}, dim=-1)",
    "several": "T.{name}({x}, dim=-1)[0]", "spectrum": "T.fft.{name}({x}).abs()",
    "joined": "T.{name}([{x}, {y}])",
}  # fmt: skip
VIEWS = (
    "{x}[0]", "{x}[..., 1:]", "{x}[::2]", "{x}[None]", "{x}[..., 0]", "{x}.unsqueeze(-1)",
    "{x}.reshape(-1)", "{x}.transpose(0, -1)", "{x}.expand(2, *{x}.shape)", "{x}.squeeze()",
    "{x}.chunk(2)[0]", "{x}.narrow(0, 0, 1)", "{x}.view(-1)", "{x}.diagonal()", "{x}.detach()",
    "{x}.unbind(0)[-1]", "{x}.permute(*range({x}.ndim)[::-1])", "{x}.split(1)[0]",
)  # fmt: skip
PAIRS = (
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / {y}", "T.maximum({x}, {y})", "{x} > {y}",
    "T.where({x} > {y}, {x}, {y})", "T.atan2({x}, {y})", "{x} ** 2 + {y}", "{x} @ {y}",
    "T.cat([{x}, {y}])", "T.stack([{x}, {y}])", "{x}.masked_fill({y} > 0, 2.0)", "{x} == {y}",
    "T.addcmul({x}, {x}, {y})", "T.lerp({x}, {y}, 0.25)", "F.linear({x}, w)", "F.gelu({x}) * {y}",
    "F.layer_norm({x}, (4,), v, v)", "F.dropout({x}, 0.5)", "F.softplus({x}) - {y}", "{x} * v",
    "{x} * 0.5", "2 - {x}", "{x}.gather(-1, ({y} > 0).long())", "{x}.index_select(0, index)",
    "{x}[index]", "{x}[{y} > 0]", "F.mse_loss({x}, {y})", "{x}.type_as({y})", "T.rand(3, 4) + {x}",
    "T.outer({x}.flatten(), {y}.flatten())", "F.embedding(index, w) + {x}", "1 / (1 + {x} * {x})",
    "{x}.clamp(-0.5, 0.5) + {y}", "({x} * {y}).sum(-1, keepdim=True)", "{x}.to({y}.dtype)",
    "T.func.grad(lambda t: (t * t * v[0]).sum())({x})", "T.func.vmap(lambda t: t.sum())({x})",
    "{x} if training else {y}", "T.arange(4) + {x}", "T.full((4,), 2.0) * {x}", "{x} + numbers[0]",
)  # fmt: skip
WRITES = (
    "{x}.add_({y})", "{x}.mul_(2)", "{x}[0] = {y}", "{x}[..., 0] = 1", "{x}.relu_()", "{x}.zero_()",
    "{x}.copy_({y})", "{x}[index] = 0.5", "{x}[{x} > 0] = 1", "{x}.clamp_(-1, 1)", "{x}.exp_()",
    "{x}.masked_fill_({y} > 0, 0)", "{x}.index_add_(0, index, {y})", "{x}.normal_()", "{x} += {y}",
    "{x}.sub_({y}, alpha=2)", "{x}.div_({y})", "{x}.uniform_(0, 1)", "{x}.t_()", "{x}.squeeze_()",
    "T.mul({x}, {y}, out=buffer)", "buffer.add_({x}.sum())", "{x}.transpose_(0, -1)",
    "{x}.sigmoid_()", "{x}[..., 1:].mul_({y})", "{x}.fill_(0.25)", "{x}.cumsum_(0)",
)  # fmt: skip
STEPS = (
    "{x}.sum().backward()", "({x} * {x}).mean().backward()", "w.grad = None",
    "{z}, = T.autograd.grad({x}.sum(), w, allow_unused=True)",
    "with T.no_grad(): w.sub_(w * 0.1)", "with T.no_grad(): {z} = {x} * v",
    "with T.no_grad(): w.sub_(0 if w.grad is None else w.grad, alpha=0.1)",
    "optimizer.zero_grad()", "optimizer.step()", "{z} = layer({x})", "{z} = norm({x})",
)  # fmt: skip
SETTING = """
w = T.linspace(-1, 1, 16).view(4, 4).clone().requires_grad_()
v = T.tensor([0.5, -1.0, 2.0, 0.25], requires_grad=True)
index = T.tensor([1, 0])
buffer = T.zeros(3, 4)
numbers, training = [0.5], True
layer = T.nn.Sequential(T.nn.Linear(4, 4), T.nn.ReLU(), T.nn.Dropout(0.25))
norm = T.nn.BatchNorm1d(4)
optimizer = T.optim.SGD([w, v, *layer.parameters()], lr=0.1, momentum=0.5)
"""
STATE = ("w", "v", "index", "buffer", "layer", "norm")


class Program(NamedTuple):
    """The lines of a function and the names that it returns; shape, dtype and `requires_grad` of
    its arguments; whether a backward follows the call."""

    lines: list[str]
    results: list[str]
    arguments: list[tuple[tuple[int, ...], str, bool]]
    outside: bool

    def source(self) -> str:
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def function(a, b, c):\n{body}    return {', '.join(self.results)},\n"


class Writer:
    """Writes a function and what it is called with; each line is one that can run."""

    def __init__(self, seed: int, framework: ModuleType) -> None:
        self.draw = random.Random(seed)
        self.framework = framework
        self.arguments = [self._argument() for _ in "abc"]
        self.outside = self.draw.random() < 0.4

    def _argument(self) -> tuple[tuple[int, ...], str, bool]:
        dtype = self.draw.choice(DTYPES)
        wants = "float" in dtype and self.draw.random() < 0.35
        return self.draw.choice(SHAPES[: -2 if self.draw.random() < 0.7 else None]), dtype, wants

    def program(self) -> Program:
        space = setting(self.framework)
        space.update(zip("abc", made(self.arguments, 0, self.framework)))
        names, lines = list("abc"), []
        for number in range(self.draw.randint(2, 12)):
            line = self._line(names, f"x{number}")
            try:
                exec(line, space)
            except Exception:
                if self.draw.random() < 0.98:
                    continue
            found = re.match(r"(?:with .*: )?(x\d+),? = ", line)
            if found and hasattr(space.get(found[1]), "dtype"):
                names.append(found[1])
            lines.append(line)
        kept = self.draw.sample(names[3:] or names, min(len(names[3:]) or 1, 3))
        if self.draw.random() < 0.1:
            kept.append(self.draw.choice(names))
        return Program(lines, kept, self.arguments, self.outside)

    def _line(self, names: list[str], new: str) -> str:
        kind, draw = self.draw.random(), self.draw
        x = draw.choice(names if draw.random() < 0.5 else names[-3:])
        y = draw.choice(names)
        name = ""
        if kind < 0.15:
            name = draw.choice(FUNCTIONS)
            line = "{z} = " + METHODS.get(name, f"{{x}}.{name}()")
        elif kind < 0.35:
            family = draw.choice(list(OF_FAMILIES))
            name = draw.choice(OPS[family])
            line = "{z} = " + OF_FAMILIES[family]
        elif kind < 0.65:
            line = "{z} = " + draw.choice(PAIRS)
        elif kind < 0.77:
            line = "{z} = " + draw.choice(VIEWS)
        elif kind < 0.9:
            line = draw.choice(WRITES)
        elif kind < 0.93:
            name = draw.choice(OPS["unary_"])
            line = "{x}.{name}()"
        else:
            line = draw.choice(STEPS)
        return line.format(x=x, y=y, z=new, name=name)


def setting(T: ModuleType) -> dict[str, Any]:
    """What a function finds outside."""
    space = {"T": T, "F": T.nn.functional}
    T.manual_seed(0)
    exec(SETTING, space)
    return space


def made(arguments: list, seed: int, T: ModuleType) -> list:
    """Tensors of these shapes and dtypes, with the elements of a seed."""
    generator = T.Generator().manual_seed(seed)
    found = []
    for shape, dtype, wants in arguments:
        x = T.randn(shape, generator=generator) * 2
        found.append(x.to(getattr(T, dtype)).requires_grad_(wants))
    return found


def show(value: Any, T: ModuleType, name: str, into: dict[str, Any]) -> None:
    """Add all that can be seen of a value under its name."""
    if isinstance(value, T.Tensor):
        memory = value.detach().contiguous().reshape(-1)
        into[name] = value.dtype, tuple(value.shape), memory.view(T.uint8).numpy().tobytes()
        into[f"{name}, steps"] = value.stride()
        into[f"{name}, flags"] = value.requires_grad, value.is_leaf, value._version
        show(value.grad, T, f"{name}.grad", into)
    elif isinstance(value, T.nn.Module):
        for key, tensor in (*value.named_parameters(), *value.named_buffers()):
            show(tensor, T, f"{name}.{key}", into)
    else:
        into[name] = value


def observed(program: Program, T: ModuleType, compiled: bool) -> dict[str, Any]:
    """What each call of a function, eager or compiled, leaves behind."""
    space = setting(T)
    exec(program.source(), space)
    function = T.compile(space["function"]) if compiled else space["function"]
    seen: dict[str, Any] = {}
    smaller = [((*s[:-1], 4) if s else s, d, w) for s, d, w in program.arguments]
    calls = [(program.arguments, seed) for seed in (0, 1, 2, 2, 3)]
    for call, (arguments, seed) in enumerate([*calls, (smaller, 4), (program.arguments, 5)]):
        inputs = made(arguments, seed, T)
        try:
            results = function(*inputs)
            for place, value in enumerate(results):
                show(value, T, f"call {call}: result {place}", seen)
                seen[f"call {call}: is result {place} an argument"] = [value is t for t in inputs]
            wanting = [t for t in results if isinstance(t, T.Tensor) and t.requires_grad]
            # What an argument gets by itself comes before the program's gradient, or after.
            alone = not any(value is t for value in results for t in inputs)
            if program.outside and wanting and alone:
                T.stack([t.sum().float() for t in wanting]).sum().backward()
        except Exception as error:
            seen[f"call {call}: error"] = type(error).__name__
            return seen  # what was done before is not promised
        for name, value in zip("abc", inputs):
            show(value, T, f"call {call}: {name}", seen)
        for name in STATE:
            show(space[name], T, f"call {call}: {name}", seen)
        seen[f"call {call}: generator"] = T.get_rng_state().numpy().tobytes()
    return seen


def difference(program: Program, framework: ModuleType) -> str:
    """The first thing that the compiled function leaves otherwise than the eager one."""
    eager, compiled = [observed(program, framework, each) for each in (False, True)]
    for name in {**eager, **compiled}:
        one, other = eager.get(name), compiled.get(name)
        if one != other:
            return f"{name}: {one!s:.200} | {other!s:.200}"
    return ""


def shrunk(program: Program, framework: ModuleType) -> Program:
    """A function of fewer lines that differs too."""
    for line in reversed(program.lines):
        shorter = program._replace(lines=[kept for kept in program.lines if kept is not line])
        if difference(shorter, framework):
            program = shorter
    for name in program.results:
        fewer = program._replace(results=[kept for kept in program.results if kept is not name])
        if fewer.results and difference(fewer, framework):
            program = fewer
    return program


def check(seed: int, oracle: ModuleType, framework: ModuleType) -> str:
    """What the compiled function of a seed leaves otherwise than the eager one, and the function,
    shortened; empty where there is nothing."""
    program = Writer(seed, framework).program()
    if not difference(program, framework):
        return ""
    program = shrunk(program, framework)
    told = f"{program.arguments}, backward outside: {program.outside}"
    return f"{difference(program, framework)}\n{told}\n{program.source()}"


if __name__ == "__main__":
    raise SystemExit(run_seeds(__doc__ or "", check))
