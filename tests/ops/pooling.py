"""Rows of the pools."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tests.harness.row import FLOATS, INTS, Fixed, Maker, OpRow, Raises, Sample

F = "nn.functional."
SIZES = ((7,), (5, 6), (4, 3, 5))
Samples = Callable[[Maker], Sequence[Sample]]


def max_pools(axes: int) -> Samples:
    size = SIZES[axes - 1]
    pair = (2, 3, 1)[:axes]

    def samples(make: Maker) -> list[Sample]:
        x = make.distinct(1 if axes == 3 else 2, 2, *size)
        return [
            Sample(x, 2),
            Sample(x, 3, 2, 1),
            Sample(x, pair, (1,) * axes, [p // 2 for p in pair], 1, True),
            Sample(x[0], 2, stride=3, padding=1, ceil_mode=True),
            Sample(x, 2, 1, dilation=2),
        ]

    return samples


def ties_and_nan(axes: int) -> Samples:
    """Equal elements, NaN, infinities in the padding's place, no samples."""
    size = SIZES[axes - 1]

    def edges(make: Maker) -> list[Sample]:
        ties, nan, low = make(1, 2, *size).round(), make(1, 2, *size), make(1, 2, *size)
        nan[..., ::3] = np.nan
        low[..., :-1] = -np.inf
        return [
            Sample(ties, 2, 1),
            Sample(nan, 3, 2, 1),
            Sample(low, 3, 2, 1),
            Sample(make(0, 2, *size), 2),
        ]

    return edges


def wrong_pool(axes: int, dilated: bool) -> Callable[[Maker], Sequence[Raises]]:
    def errors(make: Maker) -> list[Raises]:
        size = (5,) * axes
        x = make(1, 2, *size)
        wrong = [
            Raises(TypeError, "kernel_size", x, 2.5),
            Raises(RuntimeError, "kernel_size", x, (2,) * (axes + 1) if axes > 1 else (2, 2)),
            Raises(RuntimeError, "kernel_size", x, 0),
            Raises(RuntimeError, "kernel_size", x, 6),
            Raises(RuntimeError, "stride", x, 2, 0),
            Raises(RuntimeError, "stride", x, 2, (1,) * (axes + 1) if axes > 1 else (1, 1)),
            Raises(RuntimeError, "pad=", x, 2, 2, 2),
            Raises(RuntimeError, "padding", x, 2, 2, -1),
            Raises(RuntimeError, "batch mode", make(*(1 for _ in range(axes + 3))), 2),
            Raises(NotImplementedError, "bool", x > 0, 2),
        ]
        if not dilated or axes < 3:
            wrong.append(Raises(TypeError, "input", 3, 2))
        if dilated:
            wrong.append(Raises(RuntimeError, "dilation", x, 2, dilation=0))
            wrong.append(Raises(RuntimeError, "half", x, 2, 1, 2, dilation=3))
        elif axes > 1:
            wrong.append(Raises(RuntimeError, "divisor_override", x, 2, divisor_override=0))
        return wrong

    return errors


def max_pool(axes: int) -> list[OpRow]:
    name = f"max_pool{axes}d"
    options = {
        "dtypes": FLOATS if axes == 1 else FLOATS + INTS,
        "edges": ties_and_nan(axes),
        "errors": wrong_pool(axes, dilated=True),
    }
    with_indices = "" if axes == 1 else F
    return [
        OpRow(name, max_pools(axes), aliases=(F + name,), **options),
        OpRow(
            f"{with_indices}{name}_with_indices",
            max_pools(axes),
            aliases=(f"{F}{name}_with_indices",),
            **options,
        ),
    ]


def avg_pools(axes: int) -> Samples:
    size = SIZES[axes - 1]
    pair = (2, 3, 1)[:axes]

    def samples(make: Maker) -> list[Sample]:
        x = make(2, 1, *size)
        return [
            Sample(x, 2),
            Sample(x, 3, 2, 1),
            Sample(x, pair, (1,) * axes, [p // 2 for p in pair], True, False),
            Sample(x[0], 2, stride=3, padding=1, ceil_mode=True),
            *([Sample(x, 2, 1, divisor_override=3)] if axes > 1 else []),
        ]

    return samples


def avg_pool(axes: int) -> OpRow:
    halves = FLOATS if axes < 3 else ("float32", "float64")
    name = f"avg_pool{axes}d"
    return OpRow(
        name if axes == 1 else F + name,
        avg_pools(axes),
        aliases=(F + name,) if axes == 1 else (),
        dtypes=(*halves, "int64"),
        edges=lambda make: [Sample(make(0, 2, *SIZES[axes - 1]), 2)],
        errors=wrong_pool(axes, dilated=False),
    )


def norm_pool(axes: int) -> OpRow:
    def samples(make: Maker) -> list[Sample]:
        x = make(1, 2, *SIZES[axes - 1])
        sizes = [Sample(x, math.inf, 2), Sample(-x[0], -math.inf, 3, 2, True)]
        return [Sample(x, 2, 2), Sample(x, 3.0, 2, 1), Sample(x[0], 1, 3, 2, True), *sizes]

    def zeros(make: Maker) -> list[Sample]:
        return [Sample(make(1, 1, *SIZES[axes - 1]) * 0, 2, 2)]

    return OpRow(
        f"{F}lp_pool{axes}d",
        samples,
        dtypes=("float32", "float64"),
        domain=(0.5, 2.0),
        edges=zeros,
        tolerance={"float32": (1e-5, 1e-6)},
        reason="a root of a sum of powers rounds three times",
    )


def adaptive(axes: int, kind: str) -> list[OpRow]:
    size = ((7,), (4, 5), (3, 2, 4))[axes - 1]

    def samples(make: Maker) -> list[Sample]:
        x = make.distinct(1 if axes == 3 else 2, 2, *size)
        some: list = [1, 3, tuple(n + 1 for n in size), size]
        if axes > 1:
            some.append((None, *size[1:-1], 2))
        return [*(Sample(x, s) for s in some), Sample(x[0], [2] * axes)]

    def edges(make: Maker) -> list[Sample]:
        nan = make(1, 2, *size)
        nan[..., ::3] = np.nan
        return [Sample(nan, 2), Sample(make(0, 2, *size), 2)]

    def errors(make: Maker) -> list[Raises]:
        x = make(1, 2, *size)
        return [
            Raises(RuntimeError, "batched", make(*(1 for _ in range(axes + 3))), 2),
            Raises(RuntimeError, "output_size", x, -1),
            Raises(TypeError, "output_size", x, 1.5),
            Raises(TypeError, "output_size", x, None),
            Raises(RuntimeError, "non-zero size", x[..., :0], 2),
            Raises(NotImplementedError, "int32", make(1, 2, *size, dtype="int32"), 2),
        ]

    name = f"adaptive_{kind}_pool{axes}d"
    if kind == "avg":
        one = OpRow(
            name if axes == 1 else F + name,
            samples,
            aliases=(F + name,) if axes == 1 else (),
            edges=edges,
            errors=errors,
            tolerance={
                "float32": (5e-6, 4e-6),
                "float16": (2**-9, 1e-3),
                "bfloat16": (2**-6, 1e-2),
            },
            reason="torch adds in another order, and in half precision in places",
        )
        return [one]
    rows = [OpRow(F + name, samples, edges=edges, errors=errors)]
    # torch.adaptive_max_pool1d returns the indices too, the functional of that name does not.
    pair = name if axes == 1 else f"{F}{name}_with_indices"
    aliases = (f"{F}{name}_with_indices",) if axes == 1 else ()
    return [*rows, OpRow(pair, samples, aliases=aliases, edges=edges, errors=errors)]


def unpool(axes: int) -> OpRow:
    size = (3, 2, 2)[:axes]

    def samples(make: Maker) -> list[Sample]:
        x = make(2, 2, *size)
        plane = 2**axes * int(np.prod(size))
        where = np.stack(
            [make.random.permutation(plane)[: x[0, 0].size] for _ in range(4)]
        ).reshape(x.shape)
        return [
            Sample(x, where, 2),
            Sample(x[0], where[0], [2] * axes, output_size=[2 * n + 1 for n in size]),
            Sample(x, where, 2, 2, 0, (2, 2, *(2 * n for n in size))),
        ]

    def errors(make: Maker) -> list[Raises]:
        x = make(1, 2, *size)
        where = np.zeros(x.shape, np.int64)
        return [
            Raises(RuntimeError, "99", x, where + 99, 2),
            Raises(RuntimeError, "-1", x, where - 1, 2),
            Raises(RuntimeError, "int64", x, where.astype(np.int32), 2),
            Raises(RuntimeError, "indices", x, where[..., :1], 2),
            Raises(ValueError, "output_size", x, where, 2, output_size=(90,) * axes),
            Raises(ValueError, "output_size", x, where, 2, output_size=(1,) * (axes + 1)),
        ]

    return OpRow(f"{F}max_unpool{axes}d", samples, dtypes=("float32", "float64"), errors=errors)


def fractional(axes: int) -> list[OpRow]:
    size = (7, 6) if axes == 2 else (4, 5, 4)

    def samples(make: Maker) -> list[Sample]:
        x = make.distinct(1, 2, *size)
        chance = Fixed(make(1, 2, axes, low=0.0, high=0.99))
        return [
            Sample(x, 2, (2, 3, 2)[:axes], _random_samples=chance),
            Sample(x, (1, 2, 2)[:axes], output_ratio=(0.5,) * axes, _random_samples=chance),
            Sample(x[0], 2, 2),  # draws from the default generator
        ]

    def errors(make: Maker) -> list[Raises]:
        x = make(1, 2, *size)
        return [
            Raises(ValueError, "output_ratio", x, 2), Raises(RuntimeError, "too large", x, 3, 8),
        ]  # fmt: skip

    name = f"{F}fractional_max_pool{axes}d"
    dtypes = ("float32", "float64")
    return [
        OpRow(name, samples, dtypes=dtypes, errors=errors),
        OpRow(f"{name}_with_indices", samples, dtypes=dtypes, errors=errors),
    ]


ROWS = [
    *(row for axes in (1, 2, 3) for row in max_pool(axes)),
    *(avg_pool(axes) for axes in (1, 2, 3)),
    *(norm_pool(axes) for axes in (1, 2, 3)),
    *(row for axes in (1, 2, 3) for kind in ("avg", "max") for row in adaptive(axes, kind)),
    *(unpool(axes) for axes in (1, 2, 3)),
    *(row for axes in (2, 3) for row in fractional(axes)),
]
