"""Random training programs, the same under torch and nnkit.

    python -m tests.fuzz.training --seconds 600 --seed 0 [--compile]

writes programs that make a network of some layers, a loss, an optimizer and a schedule, and train
it for some steps, in float64 mostly, where roundings do not grow into differences. Losses,
parameters, buffers, gradients, the states of optimizers and schedules and the next random numbers
must be torch's. Of what differs a program is printed that is as short as it gets.
With ``--compile`` the bits of compiled steps are compared with those of eager ones.
"""

from __future__ import annotations

import argparse
import copy
import functools
import io
import math
import random
import re
import time
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from tests.fuzz.layers import LAYERS, losses
from tests.fuzz.schedules import EXTRAS, OPTIMIZERS, SCHEDULES

PRELUDE = '''
class Chosen(nn.Module):
    """A module's first result, given its input as often as it takes it."""

    def __init__(self, module, times=1):
        super().__init__()
        self.module, self.times = module, times

    def forward(self, x):
        result = self.module(*[x] * self.times)
        return result[0] if isinstance(result, tuple) else result


class Turned(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2)


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(1)


class Residual(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return x + self.module(x)


class Stepped(nn.Module):
    """A recurrent cell, one step after the other along dimension 1."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        state, found = None, []
        for part in x.unbind(1):
            state = self.cell(part, state)
            found.append(state[0] if isinstance(state, tuple) else state)
        return T.stack(found, 1)


class Unpooled(nn.Module):
    """What a pool has left, where it found it."""

    def __init__(self, pool, unpool):
        super().__init__()
        self.pool, self.unpool = pool, unpool

    def forward(self, x):
        found, places = self.pool(x)
        return self.unpool(found, places, output_size=x.shape)


class Applied(nn.Module):
    """A function as a module, with a parameter beside its input."""

    def __init__(self, function, *shape):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(T.rand(shape) + 0.5)

    def forward(self, x):
        return self.function(x, self.weight)
'''


# What does not feel that a bias before it moves, or sums equal numbers of both signs: the gradient
# is a rounding error then, by whose sign these optimizers go.
BALANCED = r"Norm|norm|Attention|Transformer|[sS]oftm|Margin|HingeE|nn\.L1Loss"
BY_SIGN = r"Rprop|Adagrad|LBFGS"


# Errors of torch where nnkit has a derivative.
LIMITS = ("_backward is not implemented", "_backward' is not implemented")


class Program(NamedTuple):
    """The parts of a program, each a piece of source code."""

    seed: int
    dtype: str
    data: str
    layers: tuple[str, ...]
    loss: str
    target: str
    optimizer: str
    schedule: str
    extras: tuple[str, ...]

    def __str__(self) -> str:
        return self.source()

    def source(self, kind: str = "closure") -> str:
        """The program; an ``"eager"`` or a ``"compiled"`` one has its whole step in one function,
        and takes more of them, so that a compiled one is replayed."""
        extras: dict[str, list] = {place: [] for place in ("model", "loss", "gradients", "after")}
        for line in "\n".join(self.extras).splitlines():
            place, _, code = line.partition(": ")
            extras[place].append(code)
        whole = kind != "closure"
        lines = [
            f"T.set_default_dtype(T.{self.dtype})",
            f"T.manual_seed({self.seed})",
            "model = nn.Sequential(",
            *[f"    {layer}," for layer in self.layers],
            ")",
            f"x = {self.data}",
            f"y = {self.target}",
            f"criterion = {self.loss}",
            *extras["model"],
            f"optimizer = {self.optimizer}",
            *([f"schedule = {self.schedule}"] if self.schedule else []),
            *(["@T.compile"] if kind == "compiled" else []),
            "def train():",
            "    optimizer.zero_grad()",
            "    loss = criterion(model(x), y)",
            *[f"    {line}" for line in extras["loss"]],
            "    loss.backward()",
            *[f"    {line}" for line in extras["gradients"]],
            *(["    optimizer.step()"] if whole else []),
            "    return loss",
            f"for step in range({7 if whole else 4}):",
            f"    losses.append({'train()' if whole else 'optimizer.step(train)'}.detach())",
            *[f"    {line}" for line in extras["after"]],
            *self._scheduled(),
        ]
        return "\n".join(lines)

    def _scheduled(self) -> list[str]:
        if not self.schedule:
            return []
        plateau = self.schedule.startswith("T.optim.lr_scheduler.ReduceLROnPlateau")
        step = "schedule.step(losses[-1])" if plateau else "schedule.step()"
        return [f"    {step}", "    rates.append([g['lr'] for g in optimizer.param_groups])"]


class Writer:
    """Writes the program of a seed; torch says what shapes layers give."""

    def __init__(self, seed: int, oracle: ModuleType) -> None:
        self.seed, self.draw, self.oracle = seed, random.Random(seed), oracle

    def program(self) -> Program:
        draw = self.draw
        kind = draw.choice(list(LAYERS))
        shape, data = self._array(kind)
        count = shape[0]
        layers: list[str] = []
        for _ in range(draw.randint(1, 5)):
            for _ in range(8):  # until one fits
                layer = draw.choice(LAYERS[kind])
                code = layer.write(draw, shape)
                found = self._shape(code, shape) if code else None
                if found:
                    layers.append(code)
                    shape, kind = found, layer.gives or kind
                    break
        if not layers or kind == "tokens":
            layers = layers or ["nn.Embedding(7, 4)"]
            shape = self._shape(layers[-1], shape) or shape
        if len(shape) > 2:
            layers.append("nn.Flatten()")
        width = draw.randint(1, 5)
        layers.append(f"nn.Linear({math.prod(shape[1:])}, {width})")
        loss, target = losses(draw, count, width)
        optimizer = draw.choice(OPTIMIZERS)(draw)
        balanced = re.search(BALANCED, " ".join([*layers, loss]))
        if balanced and re.search(BY_SIGN, optimizer):
            optimizer = "T.optim.SGD(model.parameters(), lr=0.1)"
        schedule = draw.choice(SCHEDULES)(draw) if draw.random() < 0.5 else ""
        extras = [extra(draw) for extra in draw.sample(EXTRAS, draw.choice((0, 0, 1, 1, 2, 3)))]
        if "weight_norm" in " ".join(layers):  # torch's second derivative takes norms for constant
            extras = [extra for extra in extras if "create_graph" not in extra]
        dtype = "float64" if draw.random() < 0.85 else "float32"
        return Program(
            self.seed, dtype, data, tuple(layers), loss, target, optimizer, schedule, tuple(extras)
        )

    def _array(self, kind: str) -> tuple[tuple[int, ...], str]:
        size = self.draw.randint
        count = size(2, 5)
        if kind == "tokens":
            shape = (count, size(2, 5))
            return shape, f"T.randint(0, 7, {shape})"
        ends = {"vector": (), "sequence": (size(2, 5),), "signal": ()}
        shape = (count, *ends.get(kind, ()), self.draw.choice((2, 3, 4, 6, 8)))
        shape += {"signal": (size(5, 12),), "image": (size(4, 9), size(4, 9)),
                  "volume": (size(3, 5), size(3, 5), size(3, 5))}.get(kind, ())  # fmt: skip
        return shape, f"T.randn({shape})"

    def _shape(self, code: str, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        """The shape of what a layer gives, None if torch does not compute it."""
        T = self.oracle
        scope: dict[str, Any] = {"T": T, "nn": T.nn}
        exec(PRELUDE, scope)
        try:
            module = eval(code, scope)
            tokens = len(shape) == 2 and "Embedding" in code
            x = T.zeros(shape, dtype=T.int64) if tokens else T.rand(shape)
            found = tuple(module(x).shape)
        except Exception:
            return None
        small = 0 not in found and math.prod(found) <= 4000
        return found if small and found[0] == shape[0] else None


class Outcome(NamedTuple):
    """What a program shows: an error, and everything that it leaves, by name."""

    error: str
    seen: dict[str, Any]

    def holds_nan(self) -> bool:
        numbers = [n for value in self.seen.values() if isinstance(value, tuple) for n in value[2]]
        return any(n != n for n in numbers)


def run(program: Program, T: ModuleType, factor: float = 1, kind: str = "closure") -> Outcome:
    """What a program shows with one framework, begun with all numbers times a factor."""
    scope: dict[str, Any] = {"T": T, "nn": T.nn, "copy": copy, "io": io, "losses": [], "rates": []}
    scope["__name__"] = "program"
    moved = "optimizer ="
    if factor != 1:
        moved = (
            f"_ = [p.data.mul_({factor}) for p in model.parameters()]\n"
            f"x = x * {factor} if x.is_floating_point() else x\noptimizer ="
        )
    error = ""
    try:
        exec(PRELUDE + program.source(kind).replace("optimizer =", moved, 1), scope)
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    finally:
        T.set_default_dtype(T.float32)
    seen: dict[str, Any] = {"losses": scope["losses"], "rates": scope["rates"]}
    if not error:
        model, optimizer = scope["model"], scope["optimizer"]
        seen["model"] = dict(model.state_dict())
        seen["requires_grad"] = [p.requires_grad for p in model.parameters()]
        seen["gradients"] = [p.grad for p in model.parameters()]
        seen["optimizer"] = optimizer.state_dict()
        if "schedule" in scope:
            state = scope["schedule"].state_dict()
            seen["schedule"] = {k: v for k, v in state.items() if not callable(v)}
        seen["others"] = {k: scope[k].state_dict() for k in ("averaged",) if k in scope}
        seen["result"] = model(scope["x"])
        seen["random"] = T.rand(3)
    flat: dict[str, Any] = {}
    _flatten("", seen, flat, T)
    return Outcome(error, flat)


def _flatten(name: str, value: Any, into: dict[str, Any], T: ModuleType) -> None:
    if isinstance(value, T.Tensor):
        plain = value.detach()
        plain = plain.to_dense() if plain.is_sparse else plain
        kind = str(value.dtype).partition(".")[2]
        numbers = plain.double() if plain.is_floating_point() else plain
        into[name] = kind, tuple(plain.shape), numbers.reshape(-1).tolist()
    elif isinstance(value, dict):
        into[f"{name}.keys"] = sorted(map(str, value)) if "schedule" in name else list(value)
        for key, each in value.items():
            _flatten(f"{name}.{key}" if name else key, each, into, T)
    elif isinstance(value, (list, tuple)):
        into[f"{name}.length"] = len(value)
        for index, each in enumerate(value):
            _flatten(f"{name}[{index}]", each, into, T)
    elif isinstance(value, (int, float, str, bool, type(None))):
        into[name] = value
    else:
        into[name] = type(value).__name__


def difference(expected: Outcome, found: Outcome, tolerance: float) -> str:
    """The first thing that differs; empty if nothing does."""
    if expected.error.partition(":")[0] != found.error.partition(":")[0]:
        return f"error: {expected.error or 'none'} | {found.error or 'none'}"
    for name in expected.seen.keys() ^ found.seen.keys():
        return f"seen: {name} with {'torch' if name in expected.seen else 'nnkit'} alone"
    for name, value in expected.seen.items():
        other = found.seen[name]
        if not _alike(value, other, tolerance):
            return f"{name}: {value} | {other}"
    return ""


def _alike(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, tuple):
        if a[:2] != b[:2]:
            return False
        scale = max([abs(v) for v in a[2] if isinstance(v, float) and math.isfinite(v)], default=0)
        return all(_near(v, w, tolerance, scale) for v, w in zip(a[2], b[2], strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return _near(a, b, tolerance, abs(a))
    return type(a) is type(b) and a == b


def _near(a: Any, b: Any, tolerance: float, scale: float) -> bool:
    if a == b or (a != a and b != b):
        return True
    return isinstance(a, float) and abs(a - b) <= tolerance * max(scale, 1e-3)


def check(program: Program, oracle: ModuleType, framework: ModuleType) -> str:
    """What differs in a program; empty if nothing does."""
    expected, found = run(program, oracle), run(program, framework)
    tolerance = 1e-7 if program.dtype == "float64" else 2e-3
    what = difference(expected, found, tolerance)
    if not what or what.startswith("error"):
        return what if not any(word in expected.error for word in LIMITS) else ""
    if expected.holds_nan():  # which torch's loops treat by its place in a vector
        return ""
    # Numbers that move as far in torch where the first ones are moved by a last bit say nothing.
    last = 2**-52 if program.dtype == "float64" else 2**-23
    for factor in (1 + last, 1 - last, 1 + 4 * last):
        if difference(expected, run(program, oracle, factor), tolerance / 4):
            return ""
    return what


def check_compiled(program: Program, framework: ModuleType) -> str:
    """The first thing whose bits differ between the eager and the compiled program."""
    if program.optimizer.startswith("T.optim.LBFGS"):  # which calls its closure itself
        return ""
    eager, compiled = [run(program, framework, kind=kind) for kind in ("eager", "compiled")]
    return difference(eager, compiled, 0)


def shrink(program: Program, compare: Callable[[Program], str]) -> Program:
    """A shorter program that differs in the same."""
    kind = _kind(compare(program))
    tried = True
    while tried:
        tried = False
        for shorter in _shorter(program):
            if _kind(compare(shorter)) == kind:
                program, tried = shorter, True
                break
    return program


def _kind(what: str) -> str:
    return re.split(r"[:.\[]", what)[0]


def _shorter(program: Program) -> list[Program]:
    found = []
    for i in range(len(program.extras)):
        rest = program.extras[:i] + program.extras[i + 1 :]
        found.append(program._replace(extras=rest))
    if program.schedule:
        found.append(program._replace(schedule=""))
    plain = "T.optim.SGD(model.parameters(), lr=0.1)"
    if program.optimizer != plain:
        found.append(program._replace(optimizer=plain))
    for i in range(len(program.layers)):
        found.append(program._replace(layers=program.layers[:i] + program.layers[i + 1 :]))
    return found


def main(arguments: list[str] | None = None) -> int:
    import torch

    import nnkit

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--count", type=int, default=0, help="end after so many programs")
    parser.add_argument("--compile", action="store_true", help="compare with nnkit.compile")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    compare = functools.partial(check, oracle=torch, framework=nnkit)
    if options.compile:
        compare = functools.partial(check_compiled, framework=nnkit)
    seed, end, findings = options.seed, time.monotonic() + options.seconds, 0
    while time.monotonic() < end and (not options.count or seed < options.seed + options.count):
        program = Writer(seed, torch).program()
        if compare(program):
            findings += 1
            program = shrink(program, compare)
            shown = program.source("compiled" if options.compile else "closure")
            print(f"## seed {seed}\n{shown}\n# {compare(program)[:600]}\n", flush=True)
        seed += 1
    print(f"{findings} of {seed - options.seed} programs differ")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
