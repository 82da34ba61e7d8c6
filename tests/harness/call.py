"""A sample made ready for one framework, and what comes of calling it.

The framework is a module: nnkit, or torch itself, which is how the harness is checked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from tests.harness.row import COMPLEX, FLOATS, Fixed, Named, OpRow, Sample, numpy_dtype

LARGE = 4096
Layout = Callable[[np.ndarray], np.ndarray]


@dataclass
class Result:
    """Outputs with their dtypes, gradients of the leaves, or the type of the exception raised."""

    outputs: list[np.ndarray] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    gradients: list[np.ndarray | None] = field(default_factory=list)
    error: str = ""

    def thinned(self) -> Result:
        """What the frozen files hold: of a large array every 97th element."""
        outputs = [_thin(array) for array in self.outputs]
        gradients = [None if array is None else _thin(array) for array in self.gradients]
        return Result(outputs, self.dtypes, gradients, self.error)


def _thin(array: np.ndarray) -> np.ndarray:
    return array if array.size <= LARGE else array.ravel()[::97]


class Call:
    """The tensors of one sample, and the op as a function of its differentiable ones.

    An array that occurs twice in the sample is one tensor that is passed twice.
    """

    def __init__(
        self,
        framework: ModuleType,
        row: OpRow,
        sample: Sample,
        track: bool = False,
        layout: Layout = np.copy,
    ):
        self.framework = framework
        self.name = row.torch_name if framework.__name__ == "torch" else row.name
        self.function = resolve(framework, self.name)
        self.sample = sample
        self.tensors: dict[int, Any] = {}
        self.leaf_keys: list[int] = []
        for array in arrays_in((sample.args, sample.kwargs)):
            plain = array.array if isinstance(array, Fixed) else array
            key = id(plain)
            if key not in self.tensors:
                self.tensors[key] = to_tensor(framework, layout(plain))
                if track and not isinstance(array, Fixed) and dtype_name(plain) in FLOATS + COMPLEX:
                    self.tensors[key].requires_grad_()
                    self.leaf_keys.append(key)

    @property
    def leaves(self) -> list[Any]:
        return [self.tensors[key] for key in self.leaf_keys]

    def __call__(self, *leaves: Any, function: Callable | None = None, **extra: Any) -> Any:
        """Call the op, or another form of it, with these tensors in place of the leaves."""
        tensors = self.tensors | dict(zip(self.leaf_keys, leaves, strict=False))
        args = self._build(self.sample.args, tensors)
        kwargs = self._build(self.sample.kwargs, tensors)
        if function is None and writes_in_place(self.name):  # never into a leaf: an error
            args = (args[0].clone(), *args[1:])
        reseed(self.framework)
        return (function or self.function)(*args, **kwargs, **extra)

    def differentiable(self) -> Callable[..., tuple[Any, ...]] | None:
        """The op as a function of the leaves to those outputs that have a gradient, if any has."""
        outputs = list(flatten(self()))
        tracked = [i for i, out in enumerate(outputs) if getattr(out, "requires_grad", False)]
        if not tracked:
            return None

        def function(*leaves: Any) -> tuple[Any, ...]:
            found = list(flatten(self(*leaves)))
            return tuple(found[i] for i in tracked)

        return function

    def result(self, may_raise: bool = False) -> Result:
        """Outputs and, for a fixed cotangent, the gradients of the leaves."""
        result = Result()
        try:
            outputs = list(flatten(self()))
            result.outputs = [to_array(out) for out in outputs]
            result.dtypes = [kind_of(out) for out in outputs]
            tracked = [out for out in outputs if getattr(out, "requires_grad", False)]
            if tracked:
                grad = self.framework.autograd.grad
                cotangents = [
                    to_tensor(self.framework, cotangent(out)).to(out.device) for out in tracked
                ]
                gradients = grad(tracked, self.leaves, cotangents, allow_unused=True)
                result.gradients = [None if g is None else to_array(g) for g in gradients]
        except Exception as error:
            if not may_raise:
                raise
            result.error = builtin_type(error).__name__
        return result

    def _build(self, value: Any, tensors: dict[int, Any]) -> Any:
        if isinstance(value, Fixed):
            return tensors[id(value.array)]
        if isinstance(value, np.ndarray):
            return tensors[id(value)]
        if isinstance(value, Named):
            return resolve(self.framework, value.name)
        if isinstance(value, (tuple, list)):
            return type(value)(self._build(item, tensors) for item in value)
        if isinstance(value, dict):
            return {key: self._build(item, tensors) for key, item in value.items()}
        return value


def reseed(framework: Any, number: int = 0) -> None:
    """Start from the same random numbers: of torch's on the CPU alone, since it notes the stack of
    each call that seeds GPUs, which takes a millisecond and memory."""
    of_torch = framework.__name__ == "torch"
    (framework.default_generator if of_torch else framework).manual_seed(number)


def resolve(framework: ModuleType, path: str) -> Any:
    """``framework.a.b`` for the path "a.b"."""
    return functools.reduce(getattr, path.split("."), framework)


def builtin_type(error: BaseException) -> type:
    """The nearest Python exception: what to catch without importing the framework's own."""
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def writes_in_place(name: str) -> bool:
    """Whether torch's naming says so: ``add_``, not ``__add__``."""
    return name.endswith("_") and not name.endswith("__")


def arrays_in(value: Any) -> Iterator[np.ndarray | Fixed]:
    """Every array argument, in order."""
    if isinstance(value, (np.ndarray, Fixed)):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays_in(item)
    elif isinstance(value, dict):
        yield from arrays_in(tuple(value.values()))


def replace_arrays(value: Any, function: Callable[[np.ndarray], np.ndarray]) -> Any:
    """The same arguments with ``function`` applied to every array."""
    if isinstance(value, Fixed):
        return Fixed(function(value.array))
    if isinstance(value, np.ndarray):
        return function(value)
    if isinstance(value, (tuple, list)):
        return type(value)(replace_arrays(item, function) for item in value)
    if isinstance(value, dict):
        return {key: replace_arrays(item, function) for key, item in value.items()}
    return value


def flatten(value: Any) -> Iterator[Any]:
    """Tensors and Python values of a nested result, in order."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from flatten(item)
    elif value is not None:
        yield value


def dtype_name(array: Any) -> str:
    """torch's name of an array's or a tensor's dtype."""
    return str(array.dtype).removeprefix("torch.").removeprefix("nnkit.")


def kind_of(value: Any) -> str:
    """The dtype of a tensor, the class of a Python value."""
    return dtype_name(value) if hasattr(value, "dtype") else type(value).__name__


def to_tensor(framework: ModuleType, array: np.ndarray) -> Any:
    """A tensor that shares the array's memory and keeps its strides."""
    if array.dtype == numpy_dtype("bfloat16") and framework.__name__ == "torch":
        return framework.from_numpy(array.view(np.int16)).view(framework.bfloat16)
    return framework.from_numpy(array)


def to_array(value: Any) -> np.ndarray:
    """A NumPy copy of an output; bfloat16, which NumPy itself has not, as float32."""
    if isinstance(value, (bool, int, float, complex)):
        return np.asarray(value)
    if not hasattr(value, "detach"):
        return np.asarray(str(value).rpartition(".")[2])  # a dtype, without its module
    value = value.float() if dtype_name(value) == "bfloat16" else value
    return np.array(value.numpy(force=True))


def cotangent(out: Any) -> np.ndarray:
    """A fixed, generic gradient to start the backward from."""
    dtype, shape = dtype_name(out), tuple(out.shape)
    random = np.random.RandomState(0)
    values = np.asarray(random.standard_normal(shape))
    if dtype in COMPLEX:
        values = values + 1j * random.standard_normal(shape)
    return np.asarray(values).astype(numpy_dtype(dtype))
