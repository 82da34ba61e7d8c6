"""Rows of views as copies, and of pieces that may be written into."""

from __future__ import annotations

from collections.abc import Callable

from tests.harness.row import COMPLEX, Maker, OpRow, Raises, Sample


def _row(name: str, *arguments: object, out: bool = True, **options) -> OpRow:
    options.setdefault("errors", lambda make: [Raises(TypeError, "input", "text", *arguments)])
    return OpRow(name, lambda make: [Sample(make(2, 3, 4), *arguments)], out=out, **options)


def _matrix(name: str, *arguments: object, out: bool = True) -> OpRow:
    return OpRow(
        name,
        lambda make: [Sample(make(2, 3), *arguments), Sample(make(4, 1), *arguments)],
        out=out,
        errors=lambda make: [Raises(TypeError, "input", "text", *arguments)],
    )


def _refused(*arguments: object) -> Callable[[Maker], list[Raises]]:
    return lambda make: [Raises(RuntimeError, "split", make(2, 3), *arguments)]


ROWS = [
    _row("alias_copy"),
    OpRow(
        "as_strided_copy",
        lambda make: [Sample(make(2, 3), (2, 2), (1, 2)), Sample(make(6), (3,), (1,), 2)],
        out=True,
        any_layout=False,
    ),
    _row("detach_copy", second_order=False, differentiable=False),
    _row("diagonal_copy", 1, 0, 2),
    OpRow(
        "expand_copy", lambda make: [Sample(make(3, 1), (2, 3, 4)), Sample(make(), (2,))], out=True
    ),
    _row("permute_copy", (2, 0, 1)),
    _row("select_copy", 1, -1),
    OpRow(
        "slice_copy",
        lambda make: [Sample(make(5, 3), *given) for given in ((), (0, 1, 5, 2), (1, -2))],
        out=True,
        errors=lambda make: [Raises(RuntimeError, "step", make(3), 0, 0, 2, 0)],
    ),
    _row("split_copy", 3, 2, out=False),
    _row("split_with_sizes_copy", (1, 3), 2, out=False),
    OpRow(
        "squeeze_copy",
        lambda make: [Sample(make(1, 3, 1), *dims) for dims in ((), (0,), ((0, 2),))],
        out=True,
    ),
    _matrix("t_copy"),
    _row("transpose_copy", 0, 2),
    _row("unbind_copy", 1, out=False),
    _row("unfold_copy", 2, 2, 1),
    _row("unsqueeze_copy", 1),
    OpRow(
        "view_as_complex_copy",
        lambda make: [Sample(make(3, 2))],
        dtypes=("float32", "float64"),
        differentiable=False,
        any_layout=False,
        out=True,
        errors=lambda make: [Raises(RuntimeError, "view_as_complex", make(2, 3))],
    ),
    OpRow("view_as_real_copy", lambda make: [Sample(make(3, 2))], dtypes=COMPLEX, out=True),
    OpRow("view_copy", lambda make: [Sample(make(2, 6), (3, 4))], out=True, any_layout=False),
    OpRow(
        "unsafe_chunk", lambda make: [Sample(make(5, 3), 2), Sample(make(2, 6), 3, 1)],
        method="unsafe_chunk",
        errors=lambda make: [Raises(RuntimeError, "chunk", make(3), 0)],
    ),
    OpRow(
        "unsafe_split", lambda make: [Sample(make(5, 3), 2), Sample(make(2, 6), 4, 1)],
        method="unsafe_split", errors=_refused(-1),
    ),
    OpRow(
        "unsafe_split_with_sizes", lambda make: [Sample(make(5, 3), (2, 3))],
        method="unsafe_split_with_sizes", errors=_refused((1, 2)),
    ),
]  # fmt: skip
