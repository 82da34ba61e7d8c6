"""Random sizes and tensors to measure with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import nnkit
from nnkit.backend.random import repeatable

_DISTRIBUTIONS = ("loguniform", "uniform")
_ATTEMPTS = 1000


class FuzzedParameter:
    """A number, or a choice, that a `Fuzzer` draws.

    Args:
        name: what tensors and constraints call it.
        minval, maxval: the least and the greatest value.
        distribution: ``"uniform"``, of whole numbers if both ends are; ``"loguniform"``, of whole
            numbers whose logarithms are uniform; or a dict from each choice to its probability,
            and then without ends.
        strict: whether it is kept where the others are drawn anew, since they did not fit.

    Raises:
        AssertionError: the distribution is none of these.

    Example:
        >>> size = FuzzedParameter("n", 1, 9, "uniform")
        >>> half = FuzzedParameter("m", distribution={1: 0.5, ParameterAlias("n"): 0.5})
        >>> size.name, half.strict
        ('n', False)
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        if isinstance(distribution, dict):
            chances = distribution.values()
            if min(chances, default=-1) < 0 or abs(sum(chances) - 1) > 1e-5:
                raise AssertionError(
                    "FuzzedParameter(): probabilities must be positive and sum to 1, got "
                    f"{list(chances)}"
                )
            if minval is not None or maxval is not None:
                raise AssertionError("FuzzedParameter(): choices have no minval and maxval")
        elif distribution not in _DISTRIBUTIONS:
            raise AssertionError(
                f"FuzzedParameter(): distribution must be a dict or one of {_DISTRIBUTIONS}, "
                f"got {distribution!r}"
            )
        self._name = name
        self._minval: Any = minval
        self._maxval: Any = maxval
        self._distribution = distribution
        self.strict = strict

    @property
    def name(self) -> str:
        """What tensors and constraints call it."""
        return self._name

    def sample(self, state: Any) -> Any:
        """A value drawn from the numbers of ``state``, which `Fuzzer.take` hands in."""
        low, high = self._minval, self._maxval
        if isinstance(self._distribution, dict):
            choices = list(self._distribution)
            return choices[state.choice(len(choices), p=tuple(self._distribution.values()))]
        if self._distribution == "loguniform":
            value = int(2 ** state.uniform(low=math.log2(low), high=math.log2(high)))
            return min(max(value, low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low=low, high=high + 1))
        return state.uniform(low=low, high=high)


class ParameterAlias:
    """The value of another parameter, as a choice of a distribution.

    Example:
        >>> ParameterAlias("n")
        ParameterAlias[alias_to: n]
    """

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedTensor:
    """A tensor that a `Fuzzer` makes, whose sizes are numbers or names of parameters.

    Args:
        name: what it is called.
        size: the sizes.
        steps: of each dimension, the elements of a larger tensor from one to the next.
        probability_contiguous: how often, from 0 to 1, its dimensions lie in memory in order.
        min_elements, max_elements: the least and the most elements.
        max_allocation_bytes: the most memory, that between the elements too.
        dim_parameter: the parameter that says how many of the sizes are taken.
        roll_parameter: without effect, as in torch.
        dtype: of its elements.
        cuda: whether it is on the GPU.
        tensor_constructor: what makes it, of ``size``, ``dtype`` and all parameters; else its
            floats are from 0 to 1, and its integers from 1 to 126.
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        steps: tuple[str | int, ...] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: Any = nnkit.float32,
        cuda: bool = False,
        tensor_constructor: Callable[..., Any] | None = None,
    ) -> None:
        self._name = name
        self._size = size
        self._steps = steps or ()
        self._probability_contiguous = probability_contiguous
        self._elements = min_elements, max_elements
        self._max_allocation_bytes = max_allocation_bytes
        self._dim_parameter = dim_parameter
        self._dtype = dtype
        self._cuda = cuda
        self._tensor_constructor = tensor_constructor or self.default_tensor_constructor

    @property
    def name(self) -> str:
        """What it is called."""
        return self._name

    @staticmethod
    def default_tensor_constructor(size: Any, dtype: Any, **parameters: Any) -> Any:
        """Floats from 0 to 1, or integers from 1 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return nnkit.rand(size, dtype=dtype)
        return nnkit.randint(1, 127, size, dtype=dtype)

    def _make_tensor(self, params: dict[str, Any], state: Any) -> tuple[Any, dict[str, Any]]:
        size, steps = self._shape(params)
        whole = tuple(map(math.prod, zip(size, steps)))
        tensor = self._tensor_constructor(size=whole, dtype=self._dtype, **params)
        tensor = tensor.cuda() if self._cuda else tensor
        straight = order = list(range(len(size)))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and order == straight:
                order = state.permutation(len(size)).tolist()
            back = sorted(straight, key=order.__getitem__)
            tensor = tensor.permute(order).contiguous().permute(back)
        tensor = tensor[tuple(slice(0, n * step, step) for n, step in zip(size, steps))]
        return tensor, {
            "numel": tensor.numel(),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }

    def _shape(self, params: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The sizes and the steps."""
        dim = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def numbers(values: tuple[Any, ...]) -> tuple[int, ...]:
            found = tuple(params.get(value, value) for value in values)[:dim]
            return found + (1,) * (dim - len(found))

        return numbers(self._size), numbers(self._steps)

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether it would have as many elements and as little memory as is asked for."""
        size, steps = self._shape(params)
        elements = math.prod(size)
        memory = elements * math.prod(steps) * self._dtype.itemsize
        least, most = self._elements
        return not (
            (most is not None and elements > most)
            or (least is not None and elements < least)
            or (self._max_allocation_bytes is not None and memory > self._max_allocation_bytes)
        )


class Fuzzer:
    """Draws parameters, and makes tensors by them.

    Args:
        parameters, tensors: what is drawn and made; a list among them stands for what it holds.
        constraints: functions of a dict of parameters; where one returns false, all but those that
            are strict are drawn anew.
        seed: of the numbers, and of nnkit's generator.

    Raises:
        ValueError: a parameter and a tensor have the same name.

    Example:
        >>> fuzzer = Fuzzer(
        ...     [FuzzedParameter("n", 2, 5, "uniform")], [FuzzedTensor("x", ("n", 3))], seed=0
        ... )
        >>> for tensors, properties, parameters in fuzzer.take(2):
        ...     print(tuple(tensors["x"].shape), properties["x"]["numel"], parameters)
        (3, 3) 9 {'n': 3}
        (2, 3) 6 {'n': 2}
    """

    def __init__(
        self,
        parameters: list[FuzzedParameter | list[FuzzedParameter]],
        tensors: list[FuzzedTensor | list[FuzzedTensor]],
        constraints: list[Callable[[dict[str, Any]], bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        self._seed = nnkit.Generator().seed() % (2**32 - 1) if seed is None else seed
        self._parameters = _flat(parameters, FuzzedParameter)
        self._tensors = _flat(tensors, FuzzedTensor)
        self._constraints = constraints or ()
        both = {p.name for p in self._parameters} & {t.name for t in self._tensors}
        if both:
            raise ValueError(f"Fuzzer(): parameters and tensors have the same names {sorted(both)}")
        self._rejections = self._generated = 0

    def take(self, n: int) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
        """``n`` times: the tensors, what is to be known of each, and the parameters.

        Raises:
            ValueError: of 1000 sets of parameters none satisfies the constraints, or parameters
                are aliases of each other.
        """
        state = repeatable(self._seed)
        nnkit.manual_seed(int(state.randint(low=0, high=2**63, dtype="int64")))
        for _ in range(n):
            params = self._draw(state)
            made = {t.name: t._make_tensor(params, state) for t in self._tensors}
            tensors, properties = ({k: v[i] for k, v in made.items()} for i in (0, 1))
            yield tensors, properties, params

    @property
    def rejection_rate(self) -> float:
        """How many of the sets of parameters that were drawn did not satisfy the constraints."""
        return self._rejections / self._generated if self._generated else 0.0

    def _draw(self, state: Any) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for _ in range(_ATTEMPTS):
            params = {p.name: kept[p.name] if p.name in kept else p.sample(state)
                      for p in self._parameters}  # fmt: skip
            kept = {p.name: params[p.name] for p in self._parameters if p.strict}
            params = _without_aliases(params)
            self._generated += 1
            if all(holds(params) for holds in self._constraints) and all(
                tensor.satisfies_constraints(params) for tensor in self._tensors
            ):
                return params
            self._rejections += 1
        raise ValueError(f"Fuzzer(): no valid parameters among {_ATTEMPTS} sets")


def _flat(values: Iterable[Any], kind: type) -> tuple[Any, ...]:
    return tuple(one for v in values for one in ([v] if isinstance(v, kind) else v))


def _without_aliases(params: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in params.items():
        passed = {name}
        while isinstance(value, ParameterAlias):
            if value.alias_to in passed:
                raise ValueError(f"Fuzzer(): {name} is an alias of itself in {params}")
            passed.add(value.alias_to)
            value = params[value.alias_to]
        found[name] = value
    return found
