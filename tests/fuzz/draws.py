"""Random programs of random draws, the same under torch and nnkit.

    python -m tests.fuzz.draws --seconds 600 --seed 0

writes programs of some draws, from the default generator or one of their own: factories, writes in
place into memory of any layout, numbers beside tensors of any layout, dropout, initial values,
samples of distributions. What is drawn must be torch's but for last digits, and the generators must
end in the very state.
"""

from __future__ import annotations

import random
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from tests.fuzz.seeds import run_seeds

FLOATS = ("float32", "float64", "float16", "bfloat16")
REALS = (*FLOATS, "int64", "int32", "uint8", "int8", "int16")
SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 17)
SAMPLED = (
    "Beta(T.tensor([0.5, 2.0]), T.tensor(1.5))", "Gamma(2.0, T.tensor([1.0, 3.0]))",
    "StudentT(T.tensor([3.0]))", "Categorical(T.tensor([0.2, 0.8]))", "Laplace(0.0, T.ones(1))",
    "Categorical(T.tensor([0.2, 0.7, 0.1])).expand((4,))", "Gumbel(T.zeros(1), 1.0)",
    "Multinomial(5, T.tensor([0.3, 0.7]))", "NegativeBinomial(T.tensor([5.0]), T.tensor([0.3]))",
    "MultivariateNormal(T.zeros(2), T.eye(2))", "Dirichlet(T.ones(2, 3))", "Geometric(T.ones(1)/3)",
    "Binomial(10, T.tensor([0.3]))", "LogNormal(0.0, T.ones(1))", "HalfCauchy(T.ones(1))",
    "Weibull(T.ones(1), T.ones(1))", "Kumaraswamy(T.ones(1), T.ones(1))", "Poisson(T.ones(1) * 9)",
    "VonMises(T.zeros(1), T.ones(1))", "RelaxedBernoulli(T.ones(1), T.tensor([0.3]))",
    "OneHotCategorical(T.tensor([0.2, 0.8]))", "Bernoulli(T.tensor([0.3, 0.6]).expand(3, 2))",
)  # fmt: skip


class Writer:
    """Writes the lines of a program, each an expression that draws."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def lines(self) -> list[str]:
        return [self._line() for _ in range(self.draw.randint(1, 10))]

    def _shape(self) -> tuple[int, ...]:
        kind = self.draw.random()
        if kind < 0.1:
            return ()
        if kind < 0.15:
            return (0,)
        if kind < 0.22:
            return (self.draw.choice((100, 1000, 5000)),)
        return tuple(self.draw.choice(SIZES) for _ in range(self.draw.randint(1, 4)))

    def _laid(self, source: str, shape: tuple[int, ...]) -> str:
        """A tensor of this shape, or of one like it, whose elements lie in some way."""
        way, order = self.draw.random(), list(range(len(shape)))
        if way < 0.4 or not shape:
            return source
        if way < 0.55:
            return f"({source})[::2]"
        if way < 0.7:
            return f"({source}).flip(0).T" if len(shape) == 2 else f"({source}).transpose(0, -1)"
        if way < 0.8 and len(shape) == 4:
            return f"({source}).contiguous(memory_format=T.channels_last)"
        self.draw.shuffle(order)
        return f"({source}).permute({', '.join(map(str, order))})"

    def _memory(self, dtype: str) -> str:
        shape = self._shape()
        return self._laid(f"T.zeros({shape}, dtype=T.{dtype})", shape)

    def _numbers(self, low: float, high: float, dtype: str) -> str:
        """Numbers between two others, of any layout, repeated ones too."""
        shape = tuple(self.draw.choice(SIZES[:6]) for _ in range(self.draw.randint(0, 3)))
        source = f"T.linspace({low}, {high}, {int(np.prod(shape))}).view({shape}).to(T.{dtype})"
        if self.draw.random() < 0.3:
            return f"({source}).expand({(self.draw.choice((2, 4, 17)), *shape)})"
        return self._laid(source, shape)

    def _line(self) -> str:
        choice = self.draw.choice
        generator = choice(("", "", "", ", generator=G"))
        floating, double, shape = choice(FLOATS), choice(FLOATS[:2]), self._shape()
        kinds = {
            "factory": lambda: choice((
                f"T.rand({shape}, dtype=T.{floating}{generator})",
                f"T.randn({shape}, dtype=T.{choice((*FLOATS, 'complex64'))}{generator})",
                f"T.randint(-5, {choice((10, 2**31, 2**60))}, {shape}{generator})",
                f"T.randint(0, {choice((2, 100))}, {shape}, dtype=T.{choice(REALS)}{generator})",
                f"T.randperm({choice((0, 1, 5, 100, 3000))}{generator})",
                f"T.normal(1.0, 2.0, {shape or (1,)}{generator})",
                f"T.rand({shape}, dtype=T.{floating}{generator}, "
                f"out=T.empty({shape}, dtype=T.{floating}))",
            )),
            "in place": lambda: f"({self._memory(floating)})" + choice((
                f".uniform_({choice(('0, 1', '-3, 0'))}{generator})",
                f".normal_(0.5, 2{generator})",
                f".exponential_(2{generator})", f".geometric_(0.3{generator})",
                f".cauchy_(1, 2{generator})", f".log_normal_(0, 0.5{generator})",
            )),
            "integers in place": lambda: f"({self._memory(choice(REALS))})" + choice((
                f".bernoulli_(0.3{generator})", f".random_(100{generator})",
                f".random_({generator[2:]})", f".bernoulli_(T.tensor(0.6){generator})",
            )),
            "beside tensors": lambda: choice((
                f"T.bernoulli({self._numbers(0.1, 0.9, floating)}{generator})",
                f"T.normal({self._numbers(-1, 1, floating)}, 0.5{generator})",
                f"T.normal(2.0, {self._numbers(0.1, 1, floating)}{generator})",
                f"T.poisson({self._numbers(0.1, 20, floating)}{generator})",
                f"(lambda p: T.binomial(T.full_like(p, 7.0), p{generator}))"
                f"({self._numbers(0.1, 0.9, double)})",
                f"T.rand_like({self._numbers(-1, 1, floating)})",
                f"T.randn_like({self._numbers(-1, 1, floating)})",
            )),
            "rows": lambda: f"T.multinomial(({self._numbers(0.1, 0.9, double)}).reshape(-1, 1)"
            f".expand(-1, 3), {choice((1, 2))}, {choice((True, False))}{generator})",
            "dropout": lambda: f"T.nn.functional.{choice(('dropout', 'alpha_dropout'))}"
            f"({self._numbers(-1, 1, floating)}, {choice((0.1, 0.5, 1.0))}, True)",
            "layers": lambda: choice((
                "T.nn.Linear(3, 5).weight", "T.nn.LSTM(3, 4, 2).weight_hh_l1",
                "T.nn.functional.dropout2d(T.ones(2, 3, 4, 4), 0.5)",
                f"T.nn.functional.gumbel_softmax({self._numbers(-1, 1, double)}, hard=True)",
                f"T.nn.functional.rrelu({self._numbers(-1, 1, double)}, training=True)",
                "T.nn.init.trunc_normal_(T.empty(33, 7), 0.5, 2.0, -1.0, 3.0)",
                "T.nn.init.kaiming_uniform_(T.empty(8, 5))",
                "T.nn.init.sparse_(T.empty(9, 4), 0.3)",
            )),
            "samples": lambda: f"T.distributions.{choice(SAMPLED)}"
            f".sample({choice(('()', '(20,)'))})",
        }  # fmt: skip
        return kinds[choice(list(kinds))]()


def drawn(lines: list[str], T: ModuleType, seed: int) -> tuple[list, list[np.ndarray]]:
    """What the lines of a program give, and the states in which they leave the generators."""
    T.manual_seed(seed)
    own = T.Generator().manual_seed(seed + 1)
    found: list[Any] = []
    for line in lines:
        try:
            found.append(eval(line, {"T": T, "G": own}))
        except Exception as error:
            found.append(type(error).__name__)
    return found, [T.get_rng_state().numpy(), own.get_state().numpy()]


def _differ(one: Any, other: Any) -> str:
    if isinstance(one, str) or isinstance(other, str):
        return "" if one is other or one == other else f"{one} in torch, {other} in nnkit"
    dtypes = [str(t.dtype).split(".")[-1] for t in (one, other)]
    if dtypes[0] != dtypes[1] or one.shape != other.shape:
        return f"{dtypes[0]} {tuple(one.shape)} in torch, {dtypes[1]} {tuple(other.shape)} in nnkit"
    steps = [t.stride() for t in (one, other)]
    if one.numel() and 1 not in one.shape and steps[0] != steps[1]:
        return f"steps {steps[0]} in torch, {steps[1]} in nnkit"
    bound = {"float64": 1e-13, "float16": 2e-3, "bfloat16": 2e-2}.get(dtypes[0], 2e-6)
    values = [np.asarray(t.detach().double() if "16" in dtypes[0] else t.detach())
              for t in (one, other)]  # fmt: skip
    alike = np.allclose(values[0], values[1], bound, bound, equal_nan=True)
    return "" if alike else "other values"


def check(seed: int, oracle: ModuleType, framework: ModuleType) -> str:
    """What differs first in the program of a seed, and the program up to there."""
    lines = Writer(seed).lines()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, states = drawn(lines, oracle, seed)
        found, ends = drawn(lines, framework, seed)
    for i, (one, other) in enumerate(zip(expected, found, strict=True)):
        what = _differ(one, other)
        if what:
            return "\n".join([what, *lines[: i + 1]])
    if not all(map(np.array_equal, states, ends)):
        return "\n".join(["the state of a generator", *lines])
    return ""


if __name__ == "__main__":
    raise SystemExit(run_seeds(__doc__ or "", check))
