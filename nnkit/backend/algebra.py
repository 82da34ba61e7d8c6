"""The algebra: what a backend is, and how it finds its primitives.

A backend ``B`` has one plain function for each primitive of the catalogue, with the positional
parameters of the signature. It looks for a formula (printed on first use), a kernel of that name in
its module for the subject (``backend/cpu/norm.py``), or else a reference body
(``backend/reference/norm.py``, a function of ``B`` that calls only other primitives). A backend may
put a compiled kernel in front of what was found, which passes on the arguments it does not handle.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from nnkit.backend.catalogue import ALWAYS_REFUSED, COPIED_SCALARS, REFUSED, SIGNATURES
from nnkit.backend.dtype import OF_ARRAY, bool_, float32
from nnkit.backend.formula import SEEN_THROUGH, Formula, Update

_RESULT: Any = re.compile(r"(\w+)([*~#%=$]*)(?:&(\w+))?")


class Primitive:
    """A parsed signature of the catalogue: its array inputs, static arguments and outputs."""

    __slots__ = (
        "arrays", "constant", "constants", "draws", "indices", "many", "name", "optional",
        "outputs", "reads", "refused", "sequences", "shares", "sized_by_data", "statics", "subject",
        "tells", "writes",
    )  # fmt: skip

    def __init__(self, signature: str, subject: str) -> None:
        head, _, outputs = signature.partition("->")
        name, _, parameters = head.strip().rstrip(")").partition("(")
        arrays, _, statics = parameters.partition(";")
        marked = [a.strip() for a in arrays.split(",") if a.strip()]
        self.name = name
        self.subject = subject
        self.arrays = tuple(a.rstrip("!*?") for a in marked)
        self.writes = tuple(a.rstrip("!*?") for a in marked if "!" in a)
        self.sequences = tuple(a.rstrip("!*?") for a in marked if "*" in a)
        self.optional = tuple(a.rstrip("!*?") for a in marked if "?" in a)
        given = [s.strip() for s in statics.split(",") if s.strip()]
        self.statics = tuple(s.removesuffix("[]") for s in given)
        self.indices = tuple(s.removesuffix("[]") for s in given if s.endswith("[]"))
        results = [_RESULT.fullmatch(o.strip()).groups() for o in (outputs or "out").split(",")]
        self.outputs = tuple(o for o, _, _ in results)
        self.constants = tuple(o for o, marks, _ in results if "~" in marks)
        self.constant = len(self.constants) == len(self.outputs)
        self.many = "*" in outputs
        # For each output the inputs whose memory it may share; the first array that is written may
        # be returned itself.
        self.shares = {
            o: (*self.writes[:1], *([source] if source else [])) for o, _, source in results
        }
        self.sized_by_data = "#" in outputs
        self.draws = "%" in outputs
        self.reads = "$" in outputs
        self.tells = self.reads or "=" in outputs
        self.refused: frozenset = frozenset()

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.arrays + self.statics

    def is_sized_by_data(self, arguments: tuple) -> bool:
        """Whether the shape of this call's result depends on values: in an index, only on masks."""
        if not (self.sized_by_data and self.indices):
            return self.sized_by_data
        positions = arguments[self.parameters.index(self.indices[0])]
        return any(getattr(item, "dtype", None) == bool_.array for item in positions)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(self.arrays)}; {', '.join(self.statics)})"


def _parse_all() -> dict[str, Primitive]:
    catalogue = {}
    for subject, lines in SIGNATURES.items():
        for line in lines.split("\n"):
            if line.strip():
                p = Primitive(line.strip(), subject)
                if p.name in catalogue:
                    raise ValueError(f"{p.name} is in the catalogue twice")
                catalogue[p.name] = p
    for kinds, names in REFUSED.items():
        refused = [a for a, d in OF_ARRAY.items() if not d.kinds.isdisjoint(kinds.split())]
        for name in names.split():
            catalogue[name].refused |= frozenset(refused)
    return catalogue


CATALOGUE = _parse_all()
FORMULAS: dict[str, Formula] = {}


def register_formula(formula: Formula) -> Primitive:
    """Add an element-wise formula to the catalogue, with its in-place form ``name_``, which writes
    the result into the first array."""
    name = formula.name
    if name in CATALOGUE:
        raise ValueError(f"register_formula: {name!r} is in the catalogue already")
    statics = ", ".join(formula.scalars)
    FORMULAS[name] = formula
    arrays = ", ".join(formula.arrays)
    first, *rest = formula.arrays
    inplace = ", ".join([first + "!", *rest])
    CATALOGUE[name + "_"] = Primitive(f"{name}_({inplace}; {statics})", "formula")
    out = f"out&{first}" if name in SEEN_THROUGH else "out"
    primitive = CATALOGUE[name] = Primitive(f"{name}({arrays}; {statics}) -> {out}", "formula")
    return primitive


def register_update(update: Update) -> None:
    """Add an optimizer's update to the catalogue: a primitive on lists of arrays, which writes all
    but the gradients."""
    if update.name in CATALOGUE:
        raise ValueError(f"register_update: {update.name!r} is in the catalogue already")
    arrays = ", ".join(a + ("*" if a == "grad" else "!*") for a in update.arrays)
    statics = ", ".join(update.scalars + update.flags)
    FORMULAS[update.name] = update
    CATALOGUE[update.name] = Primitive(f"{update.name}({arrays}; {statics})", "update")


def _module(package: str, subject: str) -> Any:
    path = f"{package}.{subject}"
    return import_module(path) if find_spec(path) else None


def reference_body(primitive: Primitive) -> Callable[..., Any] | None:
    """The definition of a primitive by other primitives; None if it has none."""
    module = _module("nnkit.backend.reference", primitive.subject)
    return getattr(module, primitive.name, None)


class Algebra:
    """An object whose attributes are primitives, each found on first use.

    It is kept then, so that later uses cost one attribute access.
    """

    _find: Any  # the function of a name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        function = self._find(name)
        setattr(self, name, function)
        return function


class Backend(Algebra):
    """The door: the primitives of one device.

    Args:
        package: the package with a module of kernels for each subject.
        print_formula: makes the function of a formula.
        accelerate: may put a compiled kernel in front of a function, given the primitive's name.
        fuse: runs several formulas as one, in programs.
        plan: plans the memory of a program's runs.
        freeze: keeps packed constants of a program between its runs.
    """

    def __init__(
        self,
        package: str,
        print_formula: Callable[[str, Formula], Callable],
        accelerate: Callable[[str, Callable], Callable],
        fuse: Callable[..., Callable] | None = None,
        plan: Callable[[Callable], Callable] | None = None,
        freeze: Callable[[Callable, tuple, tuple], Callable] | None = None,
    ) -> None:
        self._package = package
        self._print_formula = print_formula
        self._accelerate = accelerate
        self.fuse = fuse
        self.plan = plan
        self.freeze = freeze

    def _find(self, name: str) -> Callable[..., Any]:
        primitive = CATALOGUE.get(name)
        if primitive is None:
            raise AttributeError(f"{self!r} has no primitive {name!r}")
        if primitive.subject in ("formula", "update"):
            return self._print_formula(name, FORMULAS.get(name) or FORMULAS[name[:-1]])
        kernel = getattr(_module(self._package, primitive.subject), name, None)
        if kernel is None:
            body = reference_body(primitive)
            if body is None:
                raise NotImplementedError(f"{self!r} has neither a kernel nor a body for {name!r}")
            kernel = partial(body, self)
        if primitive.refused:
            kernel = self._refusing(primitive, kernel)
        return self._accelerate(name, kernel)

    def _refusing(self, primitive: Primitive, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """``kernel`` for a primitive that refuses some dtypes: it raises NotImplementedError for
        them. Arrays without elements are computed as float32 and cast back, as torch accepts them.
        """
        count = len(primitive.arrays)

        def run(*arguments: Any) -> Any:
            d = arguments[0].dtype
            copied = not arguments[0].ndim and primitive.name in COPIED_SCALARS
            if copied or d not in primitive.refused:
                return kernel(*arguments)
            arrays = arguments[:count]
            if primitive.name in ALWAYS_REFUSED or all(a is None or a.size for a in arrays):
                raise NotImplementedError(
                    f"{primitive.name}(): not implemented for '{OF_ARRAY[d].name}' tensors"
                )
            arrays = [self._exchanged(a, d, float32.array) for a in arrays]
            result = kernel(*arrays, *arguments[count:])
            if isinstance(result, tuple):
                return tuple([self._exchanged(r, float32.array, d) for r in result])
            return self._exchanged(result, float32.array, d)

        return run

    def _exchanged(self, array: Any, old: Any, new: Any) -> Any:
        """``array``, cast to the dtype ``new`` if it has the dtype ``old``."""
        return self.cast(array, new) if array is not None and array.dtype == old else array

    def __repr__(self) -> str:
        return f"<backend {self._package.rpartition('.')[2]}>"
