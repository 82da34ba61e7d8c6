"""Random index expressions: reads, writes, their gradients, strides and errors against torch.

``python -m tests.fuzz.indexing --seconds 60 --seed 0`` makes small programs that read or write a
tensor with an index expression, runs them in torch and in nnkit and compares all that can be seen
of what they leave, or the builtin types of errors. ``--only N`` shows one program. It prints its
seed, the shortest program of each kind of finding, and exits with 1 if there is one.

Each program depends on the seed and its number alone.
"""

from __future__ import annotations

import argparse
import importlib
import math
import random
import re
import sys
import time
import warnings
from typing import Any

import numpy as np

from tests.harness.call import builtin_type

SHAPES = ((), (1,), (2,), (3,), (0,), (1, 3), (3, 1), (2, 3), (0, 2), (2, 0), (1, 1), (2, 1, 3),
          (2, 3, 4), (3, 2, 2), (2, 0, 3), (1, 1, 2), (2, 2, 3, 2))  # fmt: skip
BASIC = (
    "0", "1", "-1", "-2", "5", ":", ":", "1:", ":1", "::2", "3:1", "1::3", "-1:", "None", "...",
    "...", "np.int64(1)", "T.tensor(1)", "T.tensor(-1, dtype=T.int32)", "np.array(1)",
)  # fmt: skip
ADVANCED = (
    "T.tensor([0, 1])", "T.tensor([0])", "T.tensor([[0], [1]])", "T.tensor([[0, 1]])",
    "T.tensor([1, 0], dtype=T.int32)", "T.tensor([[-1, 0], [0, 1], [1, 1]])", "T.tensor([7])",
    "T.tensor([0, 1, 1]).expand(2, 3)", "T.tensor([[0, 1], [1, 0], [0, 0]]).t()",
    "T.tensor([0, 1, 0, 1])[::2]", "T.zeros(0, dtype=T.int64)", "T.zeros(0, 2, dtype=T.int64)",
    "T.tensor([0, 0])", "T.tensor([[0, 1, 0]], dtype=T.int32)", "T.ones(2, 1, 1, dtype=T.int64)",
    "[0, 1]", "[1]", "[[0, 1], [1, 0]]", "[]", "range(2)", "np.array([1, 0])", "(0, 1)",
    "[T.tensor(0), 1]",
)  # fmt: skip
MASKS = (
    "True", "False", "T.tensor(True)", "T.tensor(False)", "T.tensor([True, False])",
    "T.tensor([True, False, True])", "T.ones(2, 3) > 0", "T.tensor([[True, False, True]] * 2)",
    "T.zeros(2, dtype=T.bool)", "T.tensor([[True], [False], [True]])", "T.ones(3, 2).t() > 0",
    "T.tensor([1, 0], dtype=T.uint8)", "T.tensor(1, dtype=T.uint8)", "[True, False]",
    "[False, True, True]", "np.array([True, True])", "T.tensor([True])", "y > 3",
)  # fmt: skip
WRONG = ("::-1", "1.5", "'a'", "T.tensor([0.5])", "T.tensor(1.5)", "1 << 70", "slice(0, 1.5)",
         "np.bool_(True)", "slice(T.tensor(0), np.int64(2))", "object()")  # fmt: skip
VALUES = (
    "5", "2.5", "True", "T.tensor(4)", "T.tensor(4.0)", "T.tensor([4.0])", "T.tensor([[4.0]])",
    "T.tensor([1.0, 2.0])", "T.tensor([1, 2, 3])", "T.tensor([1.0, 2.0, 3.0])",
    "T.tensor([[1.0], [2.0]])", "T.zeros(0)", "T.zeros(1, 1, 3)", "T.zeros(2, 3)", "1j", "[1.0]",
    "1 << 70", "np.int64(3)", "np.float64(3)", "np.bool_(True)",
    "None", "np.float32(3)", "T.tensor(3.0, requires_grad=True)", "y[:1]", "y",
    "T.tensor([1.0, 2.0], requires_grad=True)", "T.tensor([True])",
)  # fmt: skip
DTYPES = ("float32", "float32", "float32", "float64", "int64", "bool", "complex64", "float16",
          "uint8")  # fmt: skip

# Where torch itself leaves something open: what of the program, which difference, and why.
BOTH = "error is .*Error in torch, .*Error"
OPEN = [
    (r"meta'", "Error|grad_fn|strides", "less is looked at where there are no numbers"),
    (r"y = x; y|= y", BOTH, "leaves and overlaps are refused late"),
    (r"1 << 70|'a'|1\.5|::-1", BOTH, "which of two mistakes comes first"),
    (r"\[-1, None,\] = y", "error", "strides of copies along dimensions of size 1"),
    (r"\.\.\.,.*\.\.\.,.*:", "is None in torch", "sizes are read beyond the last dimension"),
    (r"int32", "strides", "what was expanded is cast before it is walked"),
    (r"y\[:1\]|expand.*index_put_", "values", "elements that are written before they are read"),
    (r"\(T.tensor\([TF1][^[]*\), \)", "RuntimeError|grad_fn", "masks without dimensions"),
    (r"expand", r"strides is \(0", "no elements of what is expanded"),
    (r"complex.*requires_grad=True", "RuntimeError in torch", "a complex gradient of a real value"),
    (r"to\(T.(int|uint|bool).*requires_grad=True", "", "integers that require a gradient"),
]  # fmt: skip


def tensor_of(source: random.Random) -> str:
    """The expression of a tensor of one of the shapes, in one of the ways to lie in memory."""
    shape = source.choice(SHAPES)
    dtype = source.choice(DTYPES)
    way = source.random()
    if way < 0.04:
        return f"T.zeros({shape}, device='meta')"
    lies = shape[::-1] if 0.55 < way < 0.7 else shape
    if 0.7 < way < 0.8 and shape:
        lies = (*shape[:-1], 2 * shape[-1])
    if 0.8 < way < 0.85 and shape:
        lies = (min(1, shape[0]), *shape[1:])
    made = f"T.arange({math.prod(lies)}).reshape({lies}).to(T.{dtype})"
    if 0.55 < way < 0.7:
        made += f".permute({tuple(range(len(shape)))[::-1]})" if shape else ""
    elif 0.7 < way < 0.8 and shape:
        made += "[..., ::2]"
    elif 0.8 < way < 0.85 and shape:
        made += f".expand({shape})"
    elif way > 0.95 and len(shape) == 4:
        made += ".contiguous(memory_format=T.channels_last)"
    return made


def index_of(source: random.Random) -> str:
    """The text between the brackets."""
    items = []
    for _ in range(source.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))):
        kind = source.random()
        pool = BASIC if kind < 0.5 else ADVANCED if kind < 0.77 else MASKS if kind < 0.98 else WRONG
        items.append(source.choice(pool))
    if len(items) == 1 and source.random() < 0.6:
        return items[0]
    return "".join(f"{item}, " for item in items).strip() or "()"


def program_of(seed: int, number: int) -> list[str]:
    source = random.Random(f"{seed} {number}")
    lines = [f"x = {tensor_of(source)}"]
    if source.random() < 0.6:
        lines.append("x.requires_grad_(x.is_floating_point() or x.is_complex())")
    index, value = index_of(source), source.choice(VALUES)
    kind = source.random()
    copies = ("y = x * 1", "y = x.clone()", "y = x.detach().clone()")
    lines.append(source.choice((*copies, "y = x") if kind > 0.5 else ("y = x", "y = x.view_as(x)")))
    if kind < 0.5:
        lines.append(f"z = y[{index}]")
        if source.random() < 0.2:
            lines.append("z.mul_(2)")
        elif source.random() < 0.3:
            lines.append(f"z = z[{index_of(source)}]")
    elif kind < 0.8:
        lines.append(f"y[{index}] = {value}")
    elif kind < 0.87:
        lines.append(f"y[{index}] {source.choice('+*')}= {source.choice(VALUES[:12])}")
    else:
        pool = [t for t in ADVANCED + MASKS if t.startswith("T.")]
        indices = "".join(source.choice(pool) + ", " for _ in range(source.randint(1, 2)))
        name = source.choice(("index_put", "index_put_"))
        lines.append(f"z = y.{name}(({indices}), {value}, {source.random() < 0.5})")
    return lines


def outcome(framework: Any, lines: list[str]) -> dict[str, Any]:
    """All that can be seen after a program, and after a backward through it."""
    names: dict[str, Any] = {"T": framework, "np": np}
    try:
        exec("\n".join(lines), names)
        seen: dict[str, Any] = {"error": None}
        for name in "yz":
            if name in names:
                seen |= {f"{name}.{aspect}": v for aspect, v in _seen(names[name]).items()}
        if not any(
            line.startswith("z = y[") for line in lines
        ):  # a copy may have other strides along size 1
            seen = {aspect: v for aspect, v in seen.items() if "strides" not in aspect}
        last = names.get("z", names["y"])
        if last.requires_grad and last.device.type != "meta":
            (last * last.conj()).real.sum().backward()
            if names["x"].is_leaf and names["x"].grad is not None:
                seen["grad"] = names["x"].grad.tolist()
    except (NameError, SyntaxError):  # of the program itself
        raise
    except Exception as error:
        return {"error": builtin_type(error).__name__}
    return seen


def _seen(tensor: Any) -> dict[str, Any]:
    return {
        "dtype": str(tensor.dtype).rpartition(".")[2],
        "shape": tuple(tensor.shape),
        "values": tensor.tolist() if tensor.device.type != "meta" else None,
        "strides": tensor.stride(),
        "requires_grad": tensor.requires_grad,
        "grad_fn": tensor.grad_fn and tensor.grad_fn.name().rpartition("::")[2],
        "version": tensor._version,
        "is a view": tensor._is_view(),
    }


def difference(seed: int, number: int) -> str | None:
    """The first thing in which both frameworks differ, in a few words."""
    lines = program_of(seed, number)
    theirs = outcome(importlib.import_module("torch"), lines)
    ours = outcome(importlib.import_module("nnkit"), lines)
    for aspect in theirs | ours:
        if theirs.get(aspect) != ours.get(aspect):
            wrong = f"{aspect} is {theirs.get(aspect)} in torch, {ours.get(aspect)} in nnkit"
            text = "; ".join(lines)
            if any(re.search(what, text) and re.search(how, wrong) for what, how, _ in OPEN):
                return None
            return wrong
    return None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=1 << 60, help="how many at most")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", type=int, help="show one program")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if options.only is not None:
        print("\n".join(program_of(options.seed, options.only)))
        print(difference(options.seed, options.only))
        return 0
    print(f"seed {options.seed}", flush=True)
    end, number = time.monotonic() + options.seconds, 0
    kinds: dict[str, list[tuple[int, str]]] = {}
    while time.monotonic() < end and number < options.count:
        wrong = difference(options.seed, number)
        if wrong:
            kind = re.sub(r"[-0-9.]+|\[.*?\]", "#", wrong)
            kinds.setdefault(kind, []).append((number, wrong))
        number += 1
    for found in sorted(kinds.values(), key=len, reverse=True):
        programs = [("\n".join(program_of(options.seed, at)), at, wrong) for at, wrong in found]
        text, at, wrong = min(programs, key=lambda program: len(program[0]))
        print(f"## {len(found)} x (--only {at})\n{text}\n# {wrong[:300]}\n", flush=True)
    print(f"{number} programs, {sum(map(len, kinds.values()))} findings", flush=True)
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
