"""The algebra: one catalogue of every primitive a backend offers, by subject.

A signature is one line in a small notation::

    sum(x; axis, keepdims)                        arrays before ';', static arguments after it
    topk(x; k, axis, largest, sorted) -> values, indices      several outputs, a tuple
    split(x; sizes, axis) -> pieces*              as many outputs as the arguments ask for
    copy_(x!, source)                             '!' is written in place
    concat(xs*; axis)                             '*' is a sequence of arrays
    linear(x, weight, bias?)                      '?' may be None

A backend ``B`` has one plain function for each primitive, with exactly these positional
parameters. It finds them in this order: a kernel of that name in its module for the subject
(``backend/cpu/norm.py``), a formula (printed on first use), a reference body
(``backend/reference/norm.py``, a function of ``B`` that uses nothing but other primitives).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from nnkit.backend.formula import Formula

SIGNATURES = {
    "creation": """
        full(; shape, value, dtype)
        empty(; shape, dtype)
        zeros(; shape, dtype)
        zeros_like(x)
        ones_like(x)
        arange(; start, stop, step, dtype)
        linspace(; start, stop, steps, dtype)
        eye(; n, m, dtype)
        array(; data, dtype)
        cast(x; dtype)
        copy(x)
        contiguous(x)
        copy_(x!, source)
        fill_(x!; value)
    """,
    "reduction": """
        sum_to(x; shape)
    """,
    "shape": """
        reshape(x; shape)
        view(x; shape)
        view_dtype(x; dtype)
        permute(x; axes)
        swapaxes(x; axis1, axis2)
        mT(x)
        expand(x; shape)
        squeeze(x; axes)
        unsqueeze(x; axis)
        concat(xs*; axis)
        stack(xs*; axis)
        split(x; sizes, axis) -> pieces*
        unbind(x; axis) -> pieces*
        flip(x; axes)
        roll(x; shifts, axes)
        tile(x; repeats)
        tril(x; offset)
        triu(x; offset)
        tril_indices(; rows, columns, offset, dtype)
        triu_indices(; rows, columns, offset, dtype)
        diagonal(x; offset, axis1, axis2)
        diagonal_adjoint(g; shape, offset, axis1, axis2)
        storage_offset(x)
        storage_size(x)
        as_strided(x; shape, strides, offset)
        as_strided_adjoint(g; source, target)
        unfold(x; axis, size, step)
        unfold_adjoint(g; shape, axis, size, step)
        pad(x; widths, value)
        real(x)
        imag(x)
        view_as_real(x)
        view_as_complex(x)
    """,
    "indexing": """
        getitem(x; index)
        getitem_adjoint(g; index, shape)
        setitem_(x!, value; index)
        index_put(x, value; index, accumulate)
        index_put_(x!, value; index, accumulate)
        gather(x, index; axis)
        gather_adjoint(g, index; axis, shape)
        scatter(x, index, source; axis)
        scatter_(x!, index, source; axis)
        scatter_add(x, index, source; axis)
        scatter_add_(x!, index, source; axis)
        scatter_reduce(x, index, source; axis, reduce, include_self)
        scatter_reduce_(x!, index, source; axis, reduce, include_self)
        index_select(x, index; axis)
        index_add(x, index, source; axis, alpha)
        index_add_(x!, index, source; axis, alpha)
        index_reduce_(x!, index, source; axis, reduce, include_self)
        index_copy(x, index, source; axis)
        index_copy_(x!, index, source; axis)
        index_fill(x, index; axis, value)
        index_fill_(x!, index; axis, value)
        masked_fill(x, mask; value)
        masked_fill_(x!, mask; value)
        masked_select(x, mask)
        masked_scatter(x, mask, source)
        masked_scatter_(x!, mask, source)
        take(x, index)
        put(x, index, source; accumulate)
        put_(x!, index, source; accumulate)
        nonzero(x)
    """,
    "sorting": """
        sort(x; axis, descending) -> values, indices
        argsort(x; axis, descending)
        topk(x; k, axis, largest, sorted) -> values, indices
        kthvalue(x; k, axis, keepdims) -> values, indices
        median(x; axis, keepdims) -> values, indices
        nanmedian(x; axis, keepdims) -> values, indices
        mode(x; axis, keepdims) -> values, indices
        unique(x; axis) -> values, inverse, counts
        unique_consecutive(x; axis) -> values, inverse, counts
        searchsorted(boundaries, values; right)
        bincount(x, weights?; minlength)
        histc(x; bins, low, high)
        isin(x, values)
    """,
    "random": """
        uniform_(x!; low, high, generator)
        normal_(x!; mean, std, generator)
        bernoulli_(x!; p, generator)
        bernoulli_from_(x!, p; generator)
        bernoulli(p; generator)
        dropout_mask(x; p, generator)
        random_(x!; low, high, generator)
        randperm(; n, dtype, generator)
        exponential_(x!; lambd, generator)
        geometric_(x!; p, generator)
        cauchy_(x!; median, sigma, generator)
        log_normal_(x!; mean, std, generator)
        rrelu_noise(x; lower, upper, generator)
        multinomial(p; num_samples, replacement, generator)
        poisson(x; generator)
    """,
}


class Primitive:
    """A parsed signature: names of array inputs, of static arguments and of outputs."""

    __slots__ = (
        "arrays", "many", "name", "optional", "outputs", "sequences", "statics", "subject", "writes",
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
        self.statics = tuple(s.strip() for s in statics.split(",") if s.strip())
        self.outputs = tuple(o.strip(" *") for o in outputs.split(",") if o.strip()) or ("out",)
        self.many = "*" in outputs

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.arrays + self.statics

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(self.arrays)}; {', '.join(self.statics)})"


def _parse_all() -> dict[str, Primitive]:
    catalogue = {}
    for subject, lines in SIGNATURES.items():
        for line in lines.split("\n"):
            if line.strip():
                p = Primitive(line.strip(), subject)
                catalogue[p.name] = p
    return catalogue


CATALOGUE = _parse_all()
FORMULAS: dict[str, Formula] = {}


def register_formula(formula: Formula, writes: tuple[str, ...] = ()) -> Primitive:
    """Enter an element-wise formula into the catalogue, together with its in-place form ``name_``
    (which writes the result into the first array) unless the formula says what it writes."""
    name = formula.name
    if name in CATALOGUE:
        raise ValueError(f"register_formula: {name!r} is in the catalogue already")
    statics = ", ".join(formula.scalars)
    FORMULAS[name] = formula
    if writes:
        arrays = ", ".join(a + "!" * (a in writes) for a in formula.arrays)
    else:
        arrays = ", ".join(formula.arrays)
        first, *rest = formula.arrays
        inplace = ", ".join([first + "!", *rest])
        CATALOGUE[name + "_"] = Primitive(f"{name}_({inplace}; {statics})", "formula")
    primitive = CATALOGUE[name] = Primitive(f"{name}({arrays}; {statics})", "formula")
    return primitive


def _module(package: str, subject: str) -> Any:
    path = f"{package}.{subject}"
    return import_module(path) if find_spec(path) else None


def reference_body(primitive: Primitive) -> Callable[..., Any] | None:
    """The definition of a composite primitive over other primitives, None for an elementary one."""
    module = _module("nnkit.backend.reference", primitive.subject)
    return getattr(module, primitive.name, None)


class Backend:
    """The door: an object whose attributes are the primitives of one device.

    Each attribute is found on first use and kept, so later calls cost one attribute look-up.
    """

    def __init__(self, package: str, print_formula: Callable[[str, Formula], Callable]) -> None:
        self._package = package
        self._print_formula = print_formula

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        function = self._find(name)
        setattr(self, name, function)
        return function

    def _find(self, name: str) -> Callable[..., Any]:
        primitive = CATALOGUE.get(name)
        if primitive is None:
            raise AttributeError(f"{self!r} has no primitive {name!r}")
        if primitive.subject == "formula":
            return self._print_formula(name, FORMULAS.get(name) or FORMULAS[name[:-1]])
        kernel = getattr(_module(self._package, primitive.subject), name, None)
        if kernel is not None:
            return kernel
        body = reference_body(primitive)
        if body is None:
            raise NotImplementedError(f"{self!r} has neither a kernel nor a body for {name!r}")
        return partial(body, self)

    def __repr__(self) -> str:
        return f"<backend {self._package.rpartition('.')[2]}>"
