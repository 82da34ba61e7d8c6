"""What a user can see of a program's tensors after a statement, alike in both frameworks."""

from __future__ import annotations

import builtins
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np

from tests.fuzz.flow import Flow
from tests.harness.tolerances import TOLERANCES

# What is recorded of a tensor, in the order in which a difference is reported.
ASPECTS = (
    "dtype", "shape", "values", "requires_grad", "is_leaf", "grad_fn", "retains_grad",
    "is_inference", "identity", "base", "version", "strides", "grad",
)  # fmt: skip
VALUES, BASE = ASPECTS.index("values"), ASPECTS.index("base")
UNNAMED = "unnamed"  # the base of a view of a tensor that no variable holds


WITHIN = "an assertion within torch"


def builtin_error(error: BaseException) -> str:
    """The builtin class that an ``except`` of either framework's user would name."""
    if "INTERNAL ASSERT" in str(error):
        return WITHIN
    return next(c.__name__ for c in type(error).__mro__ if c.__module__ == builtins.__name__)


def torch_array(tensor: Any) -> np.ndarray:
    array = tensor.detach().clone()  # torch resizes no memory that NumPy has seen
    if str(array.dtype) == "torch.bfloat16":
        array = array.float()
    if str(array.dtype) == "torch.complex32":
        array = array.cfloat()
    return array.numpy(force=True)


def nnkit_array(tensor: Any) -> np.ndarray:
    array = tensor._array
    if not hasattr(array, "tobytes"):
        raise RuntimeError("a tensor of a transform that is left")
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


class Observer:
    """Watches one run of a program in one framework."""

    def __init__(self, framework: ModuleType) -> None:
        self.Tensor = framework.Tensor
        self.Module = framework.nn.Module
        self.array = torch_array if framework.__name__ == "torch" else nnkit_array
        self.versions: dict[str, tuple[Any, int]] = {}
        self.grads: dict[str, Any] = {}
        self.logged = 0

    def look(self, namespace: dict[str, Any], skip: int, log: list) -> dict[str, Any]:
        """The records of all variables beyond the first ``skip`` names, and of new log entries."""
        self.records: dict[str, Any] = {}
        self.labels: dict[int, str] = {}
        found: list[tuple[str, Any]] = []
        for name, value in islice(namespace.items(), skip, None):
            self.collect(name, value, found)
        for label, tensor in found:
            self.labels.setdefault(id(tensor), label)
        for label, tensor in found:
            try:
                self.tensor(label, tensor)
            except Exception as raised:
                self.records[label] = f"raises {builtin_error(raised)}"
        for index in range(self.logged, len(log)):
            name, seen = log[index]
            self.records[f"log[{index}]"] = name
            for position, tensor in enumerate(seen):
                self.records[f"log[{index}][{position}]"] = (
                    None if tensor is None else self.content(tensor)
                )
        self.logged = len(log)
        return self.records

    def collect(self, name: str, value: Any, found: list) -> None:
        if isinstance(value, self.Tensor):
            found.append((name, value))
        elif isinstance(value, self.Module):
            self.records[name] = value.training
            for part, parameter in value.named_parameters():
                self.collect(f"{name}.{part}", parameter, found)
            for part, buffer in value.named_buffers():
                self.collect(f"{name}.{part}", buffer, found)
        elif isinstance(value, (tuple, list)):
            self.records[name] = len(value)
            if name.count("[") > 3:  # a list may hold itself
                return
            for index, item in enumerate(value):
                self.collect(f"{name}[{index}]", item, found)
        elif value is None or isinstance(value, (bool, int, float, complex, str)):
            self.records[name] = value

    def moved(self, label: str, tensor: Any) -> bool | None:
        """Whether the version is another than at the last look, if there was one."""
        try:
            version = tensor._version
        except RuntimeError:  # inference tensors have none
            return None
        known = self.versions.get(label)
        self.versions[label] = (tensor, version)
        return known[1] != version if known is not None and known[0] is tensor else None

    def content(self, tensor: Any) -> tuple:
        """dtype, shape and bytes: all that is compared of what a hook saw."""
        try:
            array = self.array(tensor)
        except RuntimeError:  # what a transform has left behind
            return dtype_name(tensor), tuple(tensor.shape), None
        if array.dtype == bool:
            array = np.ascontiguousarray(array).view(np.uint8) != 0  # what is true is true
        return dtype_name(tensor), tuple(tensor.shape), array.tobytes()

    def tensor(self, label: str, tensor: Any) -> None:
        dtype, shape, values = self.content(tensor)
        inference = tensor.is_inference()
        moved = self.moved(label, tensor)
        # Asking may raise: a view made without grad mode whose base was then written with it.
        seen: list[Any] = []
        grad = None
        try:
            seen.append(tensor.requires_grad)
            seen.append(tensor.is_leaf)
            seen.append(tensor.grad_fn is not None)  # few of the nodes' names are promised
            seen.append(tensor.retains_grad)
            grad = tensor.grad if seen[1] or seen[3] else None
        except Exception as raised:
            seen += [builtin_error(raised)] * (4 - len(seen))
        base = tensor._base
        strides = None
        if values:
            steps = zip(shape, tensor.stride(), strict=True)
            strides = tuple(step for size, step in steps if size > 1)
        grad_is: Any = None
        if grad is not None:
            known = self.grads.get(label)
            grad_is = self.labels.get(id(grad)) or ("new" if known is not grad else "kept")
            if label.count(".grad") < 2 and id(grad) not in self.labels:
                self.labels[id(grad)] = f"{label}.grad"
                self.tensor(f"{label}.grad", grad)
        self.grads[label] = grad
        self.records[label] = (
            dtype, shape, values, *seen, inference,
            self.labels[id(tensor)], None if base is None else self.labels.get(id(base), UNNAMED),
            moved, strides, grad_is,
        )  # fmt: skip


_NAMES: dict[Any, str] = {}


def dtype_name(tensor: Any) -> str:
    dtype = tensor.dtype
    name = _NAMES.get(dtype)
    if name is None:
        name = _NAMES[dtype] = str(dtype).rpartition(".")[2]
    return name


def record_of(records: dict, label: str) -> tuple | None:
    """The record of a tensor in full, if there is one of it."""
    record = records.get(label)
    return record if isinstance(record, tuple) and len(record) == len(ASPECTS) else None


def array_of(content: tuple) -> np.ndarray:
    """The values again, of a content that has some."""
    dtype, shape, values = content[:3]
    return np.frombuffer(values, "float32" if dtype == "bfloat16" else dtype).reshape(shape)


def shown(content: tuple) -> Any:
    return None if content[2] is None else array_of(content).tolist()


def close(actual: tuple, expected: tuple, coarsest: str) -> bool:
    """Whether two contents of one dtype and shape agree to the tolerance of the coarsest dtype that
    has flowed there: a number keeps its error when it is cast."""
    if actual[2] is None or expected[2] is None:
        return False
    if expected[0] not in TOLERANCES:
        return False  # the bytes differ
    rtol, atol = TOLERANCES[coarsest]
    a, b = array_of(actual), array_of(expected)
    return bool(np.allclose(a, b, rtol, atol, equal_nan=True))


def difference(actual: dict, expected: dict, flow: Flow) -> tuple[str, str, Any, Any] | None:
    """The first record that differs: (variable, aspect, expected, actual); None if none does."""
    if actual == expected:
        return None
    for label, want in expected.items():
        if label not in actual:
            return label, "existence", want, "missing"
        got = actual[label]
        if got == want:
            continue
        if not isinstance(want, tuple) or not isinstance(got, tuple):
            numbers = isinstance(want, (float, complex)) and type(want) is type(got)
            if numbers and np.isclose(got, want, 1e-5, 1e-6, equal_nan=True):
                continue
            return label, "value", want, got
        for index, aspect in enumerate(ASPECTS[: len(want)]):
            if got[index] == want[index]:
                continue
            if index == BASE and {got[index], want[index]} == {None, UNNAMED}:
                continue  # nobody can look at it
            if index == VALUES:
                if close(got, want, flow[label]):
                    continue
                return label, aspect, shown(want), shown(got)
            return label, aspect, want[index], got[index]
    for label in actual:
        if label not in expected:
            return label, "existence", "missing", actual[label]
    return None
