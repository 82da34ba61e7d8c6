"""The catalogue of primitives: every signature has a definition, and every call keeps to it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.backend.algebra import CATALOGUE, Backend, Primitive, reference_body
from nnkit.backend.cpu import BACKEND
from nnkit.backend.device import cpu
from nnkit.backend.door import Doorkeeper, standing
from tests.harness.call import Call, arrays_in, replace_arrays
from tests.harness.checks import writer
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
    assert len(parameters) == len(expected)
    for parameter, name in zip(parameters, expected):
        assert parameter.name == name or parameter.kind is inspect.Parameter.POSITIONAL_ONLY


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
        else:
            result = (result,)
        for output in () if primitive.tells else result:
            assert output is None or type(output) is np.ndarray, f"{primitive}: {type(output)}"


@each_row
def test_calls_keep_to_the_signatures(framework: ModuleType, row: OpRow) -> None:
    """The results are arrays, as many as announced, and only what is marked is written."""
    for dtype in row.dtypes[:3]:
        for sample in row.samples(Maker(row, dtype)):
            with standing(Inspector, cpu):
                Call(framework, row, sample, track=True).result(may_raise=not row.differentiable)


class Witness(Doorkeeper):
    """Sees what calls do: the facts that the catalogue marks, by primitive."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.facts: dict[str, dict[str, set]] = {fact: {} for fact in FACTS}
        self.looks = True

    def passed(self, name: str, function: Callable[..., Any], arguments: tuple) -> Any:
        # An update is of lists, all of which it may write.
        if CATALOGUE[name].subject == "update" or not self.looks:
            return function(*arguments)
        self.looks = False
        try:
            return self.witnessed(CATALOGUE[name], function, arguments)
        finally:
            self.looks = True

    def witnessed(self, primitive: Primitive, function: Callable, arguments: tuple) -> Any:
        copies = replace_arrays(arguments, np.copy)
        state = nnkit.get_rng_state()
        result = function(*arguments)
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        if not nnkit.get_rng_state().equal(state):
            self.note("draws", primitive, True)
        named = list(zip(primitive.outputs * len(outputs), outputs))
        for parameter, argument, copy in zip(primitive.parameters, arguments, copies):
            pairs: Any = zip(arrays_in(argument), arrays_in(copy), strict=True)
            for array, before in pairs:
                if array.tobytes() != before.tobytes():
                    self.note("writes", primitive, parameter)
                for output, value in named:
                    first = parameter == primitive.parameters[0]
                    if share(value, array) and (first or value is not arguments[0]):
                        self.note("shares", primitive, (output, parameter))
        several = primitive.many or len(primitive.outputs) > 1  # of which some may be left out
        if not several and not isinstance(result, np.ndarray):
            self.note("tells", primitive, True)
        if not (primitive.draws or primitive.tells or primitive.subject == "formula"):
            for number in (0, 1):
                self.compare_shapes(primitive, function, with_elements(copies, number), outputs)
        return result

    def compare_shapes(
        self, primitive: Primitive, function: Callable, others: tuple, outputs: Any
    ) -> None:
        """Make the call again with other elements: are the shapes the same?"""
        try:
            again = function(*others)
        except Exception:  # they do not suit it
            return
        again = again if isinstance(again, (tuple, list)) else (again,)
        if any(a is not None and a.shape != b.shape for a, b in zip(outputs, again)):
            self.note("sized_by_data", primitive, True)

    def note(self, fact: str, primitive: Primitive, what: Any) -> None:
        self.facts[fact].setdefault(primitive.name, set()).add(what)


FACTS = ("draws", "writes", "shares", "tells", "sized_by_data")


def share(value: Any, array: np.ndarray) -> bool:
    return isinstance(value, np.ndarray) and np.may_share_memory(value, array)


def with_elements(arguments: tuple, number: int) -> tuple:
    return replace_arrays(arguments, lambda array: np.full_like(array, number))


@functools.cache
def seen() -> dict[str, dict[str, set]]:
    """What the calls of all rows do, and of what writes in place; and what no row calls."""
    with warnings.catch_warnings(), standing(Witness, cpu) as witness:
        warnings.simplefilter("ignore")
        for row in ROWS.values():
            forms = (row.inplace,) if isinstance(row.inplace, str) else row.inplace
            for dtype in row.dtypes[:1] + row.dtypes[-1:]:
                for sample in row.samples(Maker(row, dtype)):
                    Call(nnkit, row, sample, track=True).result(may_raise=True)
                    for form in forms:
                        with contextlib.suppress(RuntimeError, TypeError):
                            call = Call(nnkit, row, sample)
                            call(function=writer(nnkit, row, form))
        call_the_others(witness)
    return witness.facts


def call_the_others(B: Any) -> None:
    """The primitives that rows reach on other backends, if at all."""
    x, source, index = np.zeros(3), np.ones(2), np.array([0, 2])
    for name, statics in {
        "index_add_": (0, 1.0), "index_copy_": (0,), "scatter_": (0,), "scatter_add_": (0,),
        "scatter_reduce_": (0, "amax", True),
    }.items():  # fmt: skip
        getattr(B, name)(np.zeros(3), index, source, *statics)
    B.index_fill_(np.zeros(3), index, 0, 1.0)
    B.index_put_(np.zeros(3), source, (index,), False)
    B.masked_fill_(np.zeros(3), x == 0, 1.0)
    B.masked_scatter_(np.zeros(3), x == 0, np.ones(3))
    B.update_running_(np.zeros(2), np.zeros(2), source, source, 0.1, 1.0)
    B.sum_to(x, (3,))
    B.view_dtype(x, np.dtype(np.int64))
    B.as_array(x)
    B.from_buffer(x, x.dtype, 3, 0)
    B.from_dlpack(x)
    B.check(x == 0, ValueError, "an element is not 0")
    B.item(x[:1])
    B.to_dlpack(x, {})
    B.standard_gamma(source, nnkit.default_generator._source)
    for name in ("data_pointer", "storage_size", "storage_offset", "is_shared"):
        getattr(B, name)(x)


@pytest.mark.parametrize("fact", FACTS)
def test_the_marks_are_true(fact: str) -> None:
    """What calls are seen to do is marked, and what is marked was seen."""
    found = seen()[fact]
    wrong = {}
    for name, primitive in CATALOGUE.items():
        mark = getattr(primitive, fact)
        if fact == "shares":
            marked = {(out, source) for out, sources in mark.items() for source in sources}
        else:
            marked = set(mark) if fact == "writes" else {True} if mark else set()
        known = found.get(name, set())
        # Of what is printed not all is called, and processes meet in tests of their own.
        rarely = primitive.subject in ("formula", "update", "collective") or name == "to_numpy"
        if not known <= marked or (marked - known and not rarely):
            wrong[name] = f"marked {marked}, seen {known}"
    assert wrong == {}


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
    p = Primitive("g(x; index[], generator) -> a#%&x, b~", "indexing")
    assert (p.outputs, p.shares, p.constants) == (("a", "b"), {"a": ("x",), "b": ()}, ("b",))
    assert (p.sized_by_data, p.draws, p.reads, p.tells) == (True, True, False, False)
    assert Primitive("item(x) -> number$", "exchange").reads
    assert Primitive("address(x) -> number=", "exchange").tells
    assert Primitive("split(x; sizes) -> pieces*", "shape").many
    assert Primitive("sum(x)", "reduction").outputs == ("out",)
