"""Random sizes and integers in every function that takes them, small ones and huge ones.

``python -m tests.fuzz.geometry --seconds 60 --seed 0`` evaluates expressions in torch and in nnkit
and compares results, or the builtin types of errors. ``--no-torch`` asks only that nnkit neither
crashes nor hangs nor raises an error of its inside, at full speed and under sanitizers;
``--only N`` shows one call. It prints its seed, one call for each kind of finding, and exits with 1
if there is one.

Each call depends on the seed and its number alone. A child process makes them under a limit of
memory and an alarm; if it dies, its parent notes the call and goes on after it.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import random
import re
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.harness.call import builtin_type

SECONDS_A_CALL = 8
MEMORY = 3 << 30  # beyond what is taken at the start
CHUNK = 500
LARGEST = 10_000  # elements that are compared one by one

SMALL = (-3, -2, -1, 0, 1, 1, 2, 2, 3, 4, 5, 7)
HUGE = (2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**33, 2**40, 2**61, 2**62, 2**63 - 2, 2**63 - 1,
        -(2**31), -(2**62), -(2**63) + 1, -(2**63))  # fmt: skip
BEYOND = (2**63, 2**64, -(2**63) - 1)

# Names in expressions: T the framework, F its functions, a, b, c, d integers; tensors x (3, 4),
# v (4,), l (1, 2, 9), m (1, 2, 5, 5), k (2, 2, 2, 2), counts of a's and b's.
EXPRESSIONS = [
    # creation
    "T.zeros(a)", "T.zeros(a, b)", "T.ones((a, b, c))", "T.full((a, b), 1.5)", "T.eye(a, b)",
    "T.empty(a, b).shape", "T.empty_strided((a, b), (c, d)).shape", "v.new_zeros(a, b)",
    "v.new_full((a, b), 3)", "T.arange(a)", "T.arange(a, b)", "T.arange(a, b, c)",
    "T.arange(float(a), float(b), 0.5)", "T.arange(a, b, c, dtype=T.int32)",
    "T.linspace(0, 1, a)", "T.logspace(0, 1, a)", "T.tril_indices(a, b, c)",
    "T.triu_indices(a, b, c)", "T.rand(a, b).shape", "T.randn(a).shape", "T.randint(a, (b,)).shape",
    "T.randint(a, b, (c,)).shape", "T.randperm(a).shape",
    "T.tensor([a, b])", "T.tensor(a)", "T.scalar_tensor(a)", "T.zeros(a, b, dtype=T.int8).shape",
    # views
    "x.view(a, b)", "x.reshape(a, b, c)", "x.expand(a, b)", "x.expand(a, b, c).shape",
    "v.unflatten(0, (a, b))", "T.flatten(x, a, b)", "x.permute(a, b)", "x.transpose(a, b)",
    "x.movedim(a, b)", "x.unsqueeze(a)", "x.squeeze(a)", "v.as_strided((a, b), (c, d)).shape",
    "v.as_strided((a,), (b,), c)", "v.unfold(a, b, c)", "x.narrow(a, b, c)", "x.select(a, b)",
    "x.diagonal(a, b, c)", "x[a]", "x[a, b]", "x[a:b]", "x[:, a:b:c]", "x[..., a]",
    "v[T.tensor(a)]",
    "v[T.tensor([a, b])]", "v[[a, b]]", "T.broadcast_to(x, (a, b, c)).shape",
    "T.broadcast_shapes((a, 1), (b,))", "T.ones(3).resize_(a, b).shape",
    "T.ones(2).set_(T.ones(4), a, (b,), (c,)).shape", "x.view_as(T.zeros(a, b))",
    "T.as_strided_scatter(x, T.ones(2), (2,), (a,), b)", "x.unbind(a)", "x.swapaxes(a, b)",
    # pieces and repetitions
    "T.split(v, a)", "T.split(v, [a, b])", "T.split(x, a, b)", "T.chunk(x, a, b)",
    "T.tensor_split(x, a, b)", "T.tensor_split(v, [a, b])", "T.hsplit(x, a)", "x.repeat(a, b)",
    "x.repeat(a, b, c)", "T.tile(x, (a, b))", "v.repeat_interleave(a)",
    "v.repeat_interleave(T.tensor([a, b, c, d]))", "x.repeat_interleave(T.tensor([a]), b)",
    "T.repeat_interleave(T.tensor([a, b]))", "v.repeat_interleave(2, output_size=a)",
    "T.roll(x, a, b)", "T.roll(x, (a, b), (0, 1))", "T.rot90(x, a, (b, c))", "T.flip(x, (a, b))",
    "T.cat([x, x], a)", "T.stack([x, x], a)", "T.combinations(v, a)",
    "T.combinations(v, a, True)", "T.diff(x, a, b)", "T.diag(v, a)", "T.diag(x, a)",
    "T.diag_embed(v, a, b, c)", "T.diagflat(v, a)", "T.tril(x, a)", "T.triu(x, a)",
    "T.vander(v, a)", "T.cartesian_prod(T.arange(a), T.arange(b))",
    "T.block_diag(x, T.zeros(a, b))",
    "T.constant_pad_nd(x, (a, b, c, d))", "T.select_scatter(x, T.ones(4), a, b)",
    "T.slice_scatter(v, v, a, b, c, d)", "T.diagonal_scatter(x, T.ones(3), a)",
    # counts, places, choices
    "T.bincount(T.tensor([a, b, c]))", "T.bincount(v, minlength=a)",
    "T.bincount(T.tensor([a, b]), T.ones(2))", "T.histc(x, a)", "T.histogram(x, a)[0]",
    "F.one_hot(v, a)", "F.one_hot(T.tensor([a, b]))", "T.topk(x, a, b)[0]",
    "T.kthvalue(x, a, b)[0]",
    "T.multinomial(T.ones(4), a, True).shape", "T.multinomial(T.ones(4), a).shape",
    "T.index_select(x, a, T.tensor([b, c]))", "T.gather(x, a, T.tensor([[b, c]]))",
    "T.zeros(4).scatter_add(0, T.tensor([a, b]), T.ones(2))", "T.take(x, T.tensor([a, b]))",
    "T.zeros(4).index_add(0, T.tensor([a, b]), T.ones(2))", "x.index_fill(a, T.tensor([b]), 1.0)",
    "T.unravel_index(T.tensor([a]), (b, c))", "F.embedding(T.tensor([a, b]), x)",
    "F.embedding_bag(T.tensor([0, 1, 2]), x, T.tensor([a, b]))",
    "F.nll_loss(x, T.tensor([a, b, c]))",
    "F.cross_entropy(x, T.tensor([a, b, c]), ignore_index=d)",
    "x.index_put((T.tensor([a]),), x[0])",
    "T.linalg.matrix_power(T.eye(2), a)", "x.sum(a)", "x.cumsum(a)", "x.sort(a)[0]", "x.argmax(a)",
    "x.softmax(a)", "x.logsumexp((a, b))", "T.renorm(x, 2, a, 1.0)", "x.var(a)",
    "x.quantile(0.5, a)",
    "T.trapezoid(x, dim=a)", "T.cross(x[:, :3], x[:, :3], a)", "x.unique(dim=a)",
    "T.searchsorted(T.arange(a), v)", "T.bucketize(v, T.arange(a))", "v.bitwise_left_shift(a)",
    # convolutions, pools, windows
    "F.conv1d(l, k[0, :, :, :1].mT.contiguous().mT, stride=a, padding=b, dilation=c)",
    "F.conv2d(m, k, stride=a, padding=b, dilation=c)", "F.conv2d(m, k, stride=(a, b))",
    "F.conv2d(m, k[:, :1], groups=a)", "F.conv2d(m, k, padding=(a, b), dilation=(c, 1))",
    "F.conv2d(m, k[..., :1, :1], stride=a, dilation=b)",
    "F.conv_transpose2d(m, k, stride=a, padding=b, dilation=c)",
    "F.conv_transpose2d(m, k, stride=a, output_padding=b)", "F.conv_transpose2d(m, k, groups=a)",
    "F.conv3d(m[None], k[:1, :1, None], stride=a, padding=b)",
    "F.max_pool1d(l, a, b, c)", "F.max_pool2d(m, a, b, c, d)", "F.max_pool2d(m, (a, b), (c, d))",
    "F.max_pool2d(m, a, b, c, ceil_mode=True)", "F.max_pool3d(m[None], a, b, c, d)",
    "F.avg_pool1d(l, a, b, c)", "F.avg_pool2d(m, a, b, c)", "F.avg_pool2d(m, a, b, c, True, False)",
    "F.avg_pool2d(m, 2, divisor_override=a)", "F.avg_pool3d(m[None], a, b, c, True)",
    "F.lp_pool2d(m, 2.0, a, b)", "F.adaptive_avg_pool1d(l, a)", "F.adaptive_avg_pool2d(m, (a, b))",
    "F.adaptive_max_pool2d(m, (a, b))", "F.adaptive_avg_pool3d(m[None], (a, b, c))",
    "F.max_unpool2d(*F.max_pool2d(m, 2, return_indices=True), a, b, c)",
    "F.max_unpool2d(*F.max_pool2d(m, 2, return_indices=True), 2, output_size=(a, b))",
    "F.fractional_max_pool2d(m, a, b).shape", "F.fractional_max_pool2d(m, 2, (a, b)).shape",
    "F.unfold(m, a, b, c, d)", "F.fold(T.ones(1, 8, 9), a, b, c, d)",
    "F.fold(T.ones(1, 4, 9), 4, a)",
    "F.pad(l, (a, b))", "F.pad(m, (a, b, c, d))", "F.pad(l, (a, b), mode='reflect')",
    "F.pad(l, (a, b), mode='replicate')", "F.pad(l, (a, b), mode='circular')",
    "F.interpolate(m, size=(a, b))", "F.interpolate(l, size=a, mode='linear')",
    "F.interpolate(m, scale_factor=a)", "F.interpolate(m, size=a, mode='area')",
    "F.pixel_shuffle(T.ones(1, 8, 2, 2), a)", "F.pixel_unshuffle(T.ones(1, 1, 6, 6), a)",
    "F.channel_shuffle(T.ones(1, 6, 2, 2), a)", "F.group_norm(m, a)", "F.glu(x, a)",
    "F.local_response_norm(m, a)", "F.layer_norm(x, (a,))",
    "F.conv2d(m.requires_grad_(), k, stride=a, padding=b).sum().backward()",
    "F.max_pool2d(m.requires_grad_(), a, b, c).sum().backward()",
    "F.pad(l.requires_grad_(), (a, b)).sum().backward()",
]  # fmt: skip

# Where torch itself is not to be followed: what of the expression, which difference, and why.
TORCH_IS_ODD = [
    (r"max_pool1d", "", "checks numbers only where a gradient is wanted, and then overflows"),
    (r"\[.*:", "no error", "a slice is empty where its step overflows"),
    (r"chunk|tensor_split", "", "the size of a chunk overflows; pieces are made first"),
    (r"tri[lu]_indices", "", "the number of elements overflows"),
    (r"T\.roll", "no error|instead of", "the lowest integer is no SymInt"),
    (r"fractional", "has a value", "a kernel of no or negative size is accepted"),
    (r"unfold\(m|F\.fold|conv.*dilation", "has a value", "sums of sizes overflow unnoticed"),
    (r"max_unpool", "", "sizes that overflow are found in Python, or not at all"),
    (r"local_response_norm", "", "halves of what does not fit 64 bits are passed on"),
    (r"circular", "", "cut below nothing: memory that was never written"),
    (r"set_\(|resize_", "has a value", "a negative number of elements is an overflow"),
    (r"combinations", "", "all coordinates are made first"),
    (r"bitwise_left_shift", "another value", "a shift by more than the width is undefined"),
    (r"arange", "", "the number of elements overflows"),
    (r"unravel_index", "", "what is out of range is wrapped around"),
    (r"empty_strided|as_strided", "has a value", "negative sizes pass where there is no element"),
    (r"index_add|index_select", "instead of", "the error of an index depends on the dimension"),
    (r"group_norm", "ZeroDivision", "no groups are a division by zero"),
    (r"broadcast_shapes", "instead of", "the error of a negative size depends on the others"),
]
OUTSIDE = ("RuntimeError", "TypeError", "ValueError", "IndexError", "NotImplementedError",
           "AssertionError", "OverflowError")  # fmt: skip


def numbers_of(seed: int, number: int) -> tuple[str, dict[str, int]]:
    """The expression of a call, and its integers."""
    source = random.Random(f"{seed} {number}")
    expression = source.choice(EXPRESSIONS)
    wild = source.random()
    found = {}
    for name in "abcd":
        pool = SMALL
        if wild < 0.5 and source.random() < 0.5:
            pool = BEYOND if source.random() < 0.15 else HUGE
        found[name] = source.choice(pool)
    return expression, found


def evaluate(framework: Any, expression: str, numbers: dict[str, int]) -> Any:
    T = framework
    names = {
        "T": T, "F": T.nn.functional, "x": T.arange(12.0).reshape(3, 4), "v": T.arange(4),
        "l": T.arange(18.0).reshape(1, 2, 9), "m": T.arange(50.0).reshape(1, 2, 5, 5),
        "k": T.arange(16.0).reshape(2, 2, 2, 2), **numbers,
    }  # fmt: skip
    T.manual_seed(0)
    return eval(expression, names)


def outcome(framework: Any, expression: str, numbers: dict[str, int]) -> tuple[str, Any]:
    """("error", its builtin type, its text), or ("value", shapes and elements)."""
    try:
        return "value", _seen(evaluate(framework, expression, numbers))
    except MemoryError as error:  # torch's allocator raises RuntimeError
        return "error", ("RuntimeError", str(error))
    except Exception as error:
        return "error", (builtin_type(error).__name__, str(error))


def _seen(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_seen(v) for v in value]
    if not hasattr(value, "dtype"):
        return value
    shape = tuple(value.shape)
    array = value.detach().numpy() if 0 < value.numel() <= LARGEST else None
    return shape, str(value.dtype).split(".")[-1], array


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, tuple) and len(one) == 3 and isinstance(one[1], str):
        if one[:2] != other[:2]:
            return False
        return one[2] is None or np.allclose(one[2], other[2], 1e-4, 1e-5, equal_nan=True)
    return one == other


def difference(expression: str, numbers: dict[str, int], theirs: Any, ours: Any) -> str | None:
    """What is wrong with our outcome, in a few words."""
    if ours[0] == "error" and ours[1][0] not in OUTSIDE:
        return f"{ours[1][0]} ({ours[1][1][:60]})"
    wrong = None if theirs is None else _unlike(expression, numbers, theirs, ours)
    for odd, kind_of_it, _ in TORCH_IS_ODD if wrong else ():
        if re.search(odd, expression) and re.search(kind_of_it, wrong or ""):
            return None
    return wrong


def _unlike(expression: str, numbers: dict[str, int], theirs: Any, ours: Any) -> str | None:
    used = [n for name, n in numbers.items() if re.search(rf"\b{name}\b", expression)]
    if theirs[0] == ours[0] == "value":
        return None if same(theirs[1], ours[1]) else "another value"
    if theirs[0] == ours[0]:
        if theirs[1][0] == ours[1][0] or not any(abs(n) < 2**63 for n in used):
            return None
        beyond = any(not -(2**63) <= n < 2**63 for n in used)
        several = sum(not 0 < n <= 7 for n in used) > 1
        if beyond or several:  # the type follows from which argument is looked at first
            return None
        return f"{ours[1][0]} instead of {theirs[1][0]}"
    if theirs[0] == "error" and "SymInt" in theirs[1][1]:
        return None
    if ours[0] == "error" and any(abs(n) >= 2**59 for n in used):
        return None  # NumPy counts bytes in 64 bits, torch elements
    if ours[0] == "error" and "overflow" in ours[1][1]:
        return None  # an empty tensor whose strides do not fit
    return f"{ours[1][0]}, torch has a value" if ours[0] == "error" else "no error"


class Child:
    """Makes calls and writes a line before and after each."""

    def __init__(self, seed: int, first: int, with_torch: bool) -> None:
        self.seed, self.first = seed, first
        self.frameworks = ["torch", "nnkit"] if with_torch else ["nnkit"]

    def run(self, say: Callable[[str], None]) -> None:
        warnings.simplefilter("ignore")
        for number in range(self.first, self.first + CHUNK):
            expression, numbers = numbers_of(self.seed, number)
            outcomes: dict[str, Any] = {}
            for name in self.frameworks:
                say(f"{number} {name}")
                signal.alarm(SECONDS_A_CALL)
                outcomes[name] = outcome(importlib.import_module(name), expression, numbers)
                signal.alarm(0)
            wrong = difference(expression, numbers, outcomes.get("torch"), outcomes["nnkit"])
            if wrong:
                say(f"{number} wrong {wrong}")
        say(f"{self.first + CHUNK} end")


def make_calls(seed: int, first: int, with_torch: bool) -> tuple[int, list[tuple[int, str]]]:
    """A chunk of calls in a child: the number of the next one, and what was found."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        sys.stdout.flush()
        if "asan" not in os.environ.get("LD_PRELOAD", ""):  # its shadow takes all addresses
            taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
        try:
            Child(seed, first, with_torch).run(functools.partial(_say, writer))
        finally:
            os._exit(0)
    os.close(writer)
    found, last, text = [], f"{first} nnkit", b""
    with os.fdopen(reader, "rb") as lines:
        for text in lines:
            last = text.decode().rstrip("\n")
            number, phase, *rest = last.split(" ", 2)
            if phase == "wrong":
                found.append((int(number), rest[0]))
    _, status = os.waitpid(child, 0)
    number, phase, *_ = last.split(" ", 2)
    if phase == "end":
        return int(number), found
    if phase == "nnkit":
        hung = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
        found.append((int(number), "hangs" if hung else f"dies ({status})"))
    return int(number) + 1, found


def _say(writer: int, line: str) -> None:
    os.write(writer, f"{line}\n".encode())


def kind(expression: str, wrong: str) -> str:
    return f"{expression} | {re.sub(r'[-0-9]+', '#', wrong)}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--calls", type=int, default=1 << 60, help="how many at most")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--only", type=int, help="make one call and show it")
    options = parser.parse_args(arguments)
    for name in ["nnkit"] if options.no_torch else ["nnkit", "torch"]:
        importlib.import_module(name).nn.functional  # noqa: B018  (before the limit of memory)
    if options.only is not None:
        expression, numbers = numbers_of(options.seed, options.only)
        print(expression, numbers)
        for name in ["nnkit"] if options.no_torch else ["torch", "nnkit"]:
            print(name, outcome(importlib.import_module(name), expression, numbers), flush=True)
        return 0
    print(f"seed {options.seed}", flush=True)
    end, number, kinds = time.monotonic() + options.seconds, 0, {}
    while time.monotonic() < end and number < options.calls:
        number, found = make_calls(options.seed, number, not options.no_torch)
        for at, wrong in found:
            expression, numbers = numbers_of(options.seed, at)
            if kinds.setdefault(kind(expression, wrong), at) == at:
                print(f"{wrong}: {expression} {numbers}  (--only {at})", flush=True)
    print(f"{number} calls, {len(kinds)} kinds of findings", flush=True)
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
