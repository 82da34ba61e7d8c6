"""Rows of padding."""

from __future__ import annotations

from tests.harness.row import ALL, COMPLEX, FLOATS, Maker, OpRow, Raises, Sample


def constants(make: Maker) -> list[Sample]:
    x = make(2, 3, 2)
    return [
        Sample(x, (1, 2)),
        Sample(x, [1, 0, -1, 1], value=1),
        Sample(make(3), (-1, -1)),
        Sample(x, (1, 1, 1, 1, 1, 1)),
    ]


def empty(make: Maker) -> list[Sample]:
    return [Sample(make(2, 0), (1, 1)), Sample(make(2, 3), (-3, 0)), Sample(make(2, 3), ())]


def modes(make: Maker) -> list[Sample]:
    line, plane, volume = make(2, 3), make(1, 2, 3, 4), make(1, 3, 2, 3)
    samples = [Sample(line, (1, 2)), Sample(plane, (2, 1), value=5)]
    if make.dtype != "bool":
        for mode in ("reflect", "replicate", "circular"):
            samples += [
                Sample(line, (2, 1), mode),
                Sample(line[None], (2, -1), mode=mode),
                Sample(plane, (1, 2, 0, 2), mode=mode),
                Sample(volume, (2, 1, 1, 0, 1, 2), mode),
            ]
        samples.append(Sample(line, (5, 4), "replicate"))
        samples.append(Sample(make(1, 2, 5), (-2, 3), "reflect"))
        samples.append(Sample(make(1, 2, 5), (-2, 3), "circular"))
    return samples


def wrong(make: Maker) -> list[Raises]:
    x = make(1, 2, 4, 4)
    return [
        Raises(TypeError, "input", 3, (1, 1)),
        Raises(TypeError, "pad", x, 1),
        Raises(TypeError, "pad", x, (1.5, 1)),
        Raises(RuntimeError, "pad", x, (1, 2, 3)),
        Raises(RuntimeError, "pad", x, (1,) * 10),
        Raises(RuntimeError, "pad", x, (-5, 0)),
    ]


def wrong_mode(make: Maker) -> list[Raises]:
    x = make(1, 2, 4, 4)
    return [
        *wrong(make),
        Raises(NotImplementedError, "mode", x, (1, 1), "mirror"),
        Raises(NotImplementedError, "reflect", x, (1, 1), "reflect"),
        Raises(RuntimeError, "Padding size should be less", x, (4, 0, 0, 0), "reflect"),
        Raises(RuntimeError, "wrapping around more than once", x, (5, 0, 0, 0), "circular"),
        Raises(RuntimeError, "value", x, (1, 1, 1, 1), "replicate", 2.0),
    ]


ROWS = [
    OpRow("constant_pad_nd", constants, dtypes=ALL, edges=empty, errors=wrong),
    OpRow(
        "nn.functional.pad",
        modes,
        dtypes=FLOATS + COMPLEX + ("int64",),
        errors=wrong_mode,
        again="torch writes a circle piece by piece, and no such write is passed through twice",
    ),
]
