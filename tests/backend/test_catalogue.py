"""The catalogue of primitives: every signature has a definition, and every call keeps to it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nnkit.backend.algebra import CATALOGUE, Backend, Primitive, reference_body
from nnkit.backend.cpu import BACKEND
from nnkit.backend.device import cpu
from nnkit.backend.door import Doorkeeper, standing
from tests.harness.call import Call, arrays_in
from tests.harness.row import Maker, OpRow
from tests.harness.table import ROWS

NAMES = sorted(n for n, p in CATALOGUE.items() if p.subject not in ("formula", "update"))
SUBJECTS = sorted({CATALOGUE[name].subject for name in NAMES})

each_primitive = pytest.mark.parametrize("name", NAMES)
each_row = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())


def kernel_of(primitive: Primitive) -> Callable | None:
    path = f"nnkit.backend.cpu.{primitive.subject}"
    return getattr(import_module(path), primitive.name, None) if find_spec(path) else None


def assert_parameters(function: Callable, expected: tuple[str, ...]) -> None:
    parameters = list(inspect.signature(function).parameters.values())
    if parameters[-1:] and parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL:
        del parameters[-1]  # takes whatever numbers its formula has
        expected = expected[: len(parameters)]
    assert tuple(p.name for p in parameters) == expected


@each_primitive
def test_a_signature_has_a_definition_with_its_parameters(name: str) -> None:
    primitive = CATALOGUE[name]
    kernel, body = kernel_of(primitive), reference_body(primitive)
    assert kernel or body, "neither a kernel nor a body"
    if kernel is not None:
        assert_parameters(kernel, primitive.parameters)
    if body is not None:
        assert_parameters(body, ("B", *primitive.parameters))


@pytest.mark.parametrize(
    "subject", [s for s in SUBJECTS if find_spec(f"nnkit.backend.reference.{s}")]
)
def test_a_body_is_written_with_the_algebra_alone(subject: str) -> None:
    """Every ``B.name`` in a reference module is in the catalogue."""
    code = inspect.getsource(import_module(f"nnkit.backend.reference.{subject}"))
    used = {part.split("(")[0] for part in code.split("B.")[1:]}
    names = {name for name in used if name.isidentifier()}
    assert names - CATALOGUE.keys() == set()


class Inspector(Doorkeeper):
    """Holds every call against its signature."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self._backend, name)
        primitive = CATALOGUE[name]

        def call(*arguments: Any) -> Any:
            assert len(arguments) == len(primitive.parameters), name
            kept = [
                (array, array.copy())
                for parameter, argument in zip(primitive.parameters, arguments)
                if parameter not in primitive.writes
                for array in arrays_in(argument)
                if isinstance(array, np.ndarray)
            ]
            result = function(*arguments)
            if primitive.subject != "update":
                self.check_outputs(primitive, result)
            for array, copy in kept:
                assert array.tobytes() == copy.tobytes(), f"{name} wrote into an input"
            return result

        return call

    def check_outputs(self, primitive: Primitive, result: Any) -> None:
        if primitive.many or len(primitive.outputs) > 1:
            assert type(result) in (tuple, list), f"{primitive} gave a {type(result)}"
            assert primitive.many or len(result) == len(primitive.outputs), primitive
        elif primitive.name not in PYTHON_RESULTS:
            result = (result,)
        for output in result if isinstance(result, (tuple, list)) else ():
            assert output is None or type(output) is np.ndarray, f"{primitive}: {type(output)}"


# What leaves the algebra: where the memory is.
PYTHON_RESULTS = ("data_pointer", "storage_offset")


@each_row
def test_calls_keep_to_the_signatures(framework: ModuleType, row: OpRow) -> None:
    """The results are arrays, as many as announced, and only what is marked is written."""
    for dtype in row.dtypes[:3]:
        for sample in row.samples(Maker(row, dtype)):
            with standing(Inspector, cpu):
                Call(framework, row, sample, track=True).result(may_raise=not row.differentiable)


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="<backend cpu> has no primitive 'no_such_thing'"):
        BACKEND.no_such_thing  # noqa: B018


def test_a_signature_without_a_definition_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOGUE, "pending", Primitive("pending(x; axis)", "reduction"))
    backend = Backend(
        "nnkit.backend.cpu", lambda name, formula: lambda: None, lambda name, kernel: kernel
    )
    with pytest.raises(NotImplementedError, match="neither a kernel nor a body for 'pending'"):
        backend.pending  # noqa: B018


def test_the_notation() -> None:
    p = Primitive("f(x!, ys*, weight?; axis, eps) -> values, indices", "reduction")
    assert (p.name, p.parameters) == ("f", ("x", "ys", "weight", "axis", "eps"))
    assert (p.writes, p.sequences, p.optional) == (("x",), ("ys",), ("weight",))
    assert (p.outputs, p.many) == (("values", "indices"), False)
    assert Primitive("split(x; sizes) -> pieces*", "shape").many
    assert Primitive("sum(x)", "reduction").outputs == ("out",)
