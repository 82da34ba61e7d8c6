"""How CUDA provides every primitive of the catalogue; none may be left without."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest

import nnkit.nn
import nnkit.optim  # noqa: F401  they enter their formulas into the catalogue
from nnkit.backend.algebra import CATALOGUE, FORMULAS, Primitive, reference_body

PACKAGE = "nnkit.backend.cuda"
NAMES = sorted(CATALOGUE)


def provided(primitive: Primitive) -> str:
    """ "formula", "update", "driver" (in a file of backend/cuda), "cpu" (its function, on CuPy's
    arrays), "body", or "" for nothing."""
    if primitive.subject in ("formula", "update"):
        known = primitive.name in FORMULAS or primitive.name[:-1] in FORMULAS
        return primitive.subject if known else ""
    path = f"{PACKAGE}.{primitive.subject}"
    function = getattr(import_module(path), primitive.name, None) if find_spec(path) else None
    if function is not None:
        return "driver" if function.__module__.startswith(PACKAGE) else "cpu"
    return "body" if reference_body(primitive) else ""


@pytest.mark.parametrize("name", NAMES)
def test_every_primitive_is_provided(name: str) -> None:
    assert provided(CATALOGUE[name]), f"backend/cuda has nothing for {CATALOGUE[name]!r}"


def test_parameters_are_the_catalogue_s() -> None:
    """A driver is called by position: it must take what its signature says."""
    import inspect

    for primitive in CATALOGUE.values():
        if provided(primitive) != "driver":
            continue
        function = getattr(import_module(f"{PACKAGE}.{primitive.subject}"), primitive.name)
        count = len(primitive.parameters)
        try:
            inspect.signature(function, follow_wrapped=False).bind(*range(count))
        except TypeError as error:
            pytest.fail(f"{primitive!r}: {error}")
