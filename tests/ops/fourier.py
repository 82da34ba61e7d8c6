"""Rows of Fourier transforms."""

from __future__ import annotations

import numpy as np

from tests.harness.row import Fixed, Maker, OpRow, Raises, Sample

REAL = ("float32", "float64")
BOTH = ("float32", "float64", "complex64", "complex128")


def lines(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 5)),
        Sample(make(3, 4), n=6, dim=0, norm="ortho"),
        Sample(make(2, 3, 4), 3, 1, "forward"),
        Sample(make(4), 2),
    ]


def blocks(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4)),
        Sample(make(2, 3, 4), s=(5, 2), norm="ortho"),
        Sample(make(2, 3, 4), dim=(2, 0), norm="forward"),
        Sample(make(2, 3, 3), s=(-1, 4), dim=(0, 1)),
    ]


def planes(make: Maker) -> list[Sample]:
    return [Sample(make(3, 4)), Sample(make(2, 4, 3), (2, 5), (0, -1), "ortho")]


def line_errors(make: Maker) -> list[Raises]:
    return [
        Raises(RuntimeError, "Invalid normalization mode", make(4), norm="mean"),
        Raises(RuntimeError, "Invalid number of data points (0)", make(4), n=0),
        Raises(IndexError, "imension", make(4), dim=1),
        Raises(IndexError, "no dimensions", make()),
        Raises(RuntimeError, "Unsupported dtype Half", make(4, dtype="float16")),
        Raises(TypeError, "n", make(4), n=2.5),
    ]


def block_errors(make: Maker) -> list[Raises]:
    return [
        Raises(RuntimeError, "unique", make(2, 4), dim=(0, 0)),
        Raises(
            RuntimeError,
            "dim and shape arguments must have the same",
            make(2, 4),
            s=(2,),
            dim=(0, 1),
        ),
        Raises(RuntimeError, "tensor only has 1 dim", make(4), s=(2, 2)),
        Raises(RuntimeError, "Invalid number of data points (0)", make(2, 4), s=(0, 2)),
    ]


def real_errors(make: Maker) -> list[Raises]:
    return [Raises(RuntimeError, "expects a real", make(4, dtype="complex64"))]


def signals(make: Maker) -> list[Sample]:
    window = Fixed(make(4, low=0.5, high=1.5))
    return [
        Sample(make(9), 4, window=window, return_complex=True),
        Sample(make(2, 9), 6, 2, 4, window, False, return_complex=True),
        Sample(make(2, 9), 4, window=window, pad_mode="constant", normalized=True, onesided=False,
               return_complex=True),
        Sample(make(9), 6, 1, 4, window, False, align_to_window=True, return_complex=True),
    ]  # fmt: skip


def spectra(make: Maker) -> list[Sample]:
    real = "float32" if make.dtype == "complex64" else "float64"
    window = Fixed(make(4, low=0.5, high=1.5, dtype=real))
    return [
        Sample(make(3, 4), 4, window=window),
        Sample(make(2, 4, 5), 4, 2, window=window, normalized=True, length=7),
        Sample(make(4, 3), 4, window=window, center=False, onesided=False, return_complex=True),
    ]


TRANSFORMS = {
    "fft": (lines, BOTH, line_errors),
    "ifft": (lines, BOTH, line_errors),
    "rfft": (lines, REAL, lambda make: [*line_errors(make), *real_errors(make)]),
    "irfft": (lines, ("complex64", "complex128"), line_errors),
    "hfft": (lines, ("complex64", "complex128"), line_errors),
    "ihfft": (lines, REAL, real_errors),
    "fftn": (blocks, BOTH, block_errors),
    "ifftn": (blocks, BOTH, block_errors),
    "rfftn": (blocks, REAL, lambda make: [
        *block_errors(make), *real_errors(make), Raises(RuntimeError, "one axis", make(4), dim=()),
    ]),
    "irfftn": (blocks, ("complex64", "complex128"), block_errors),
    "hfftn": (blocks, ("complex64", "complex128"), block_errors),
    "ihfftn": (blocks, REAL, real_errors),
    "fft2": (planes, BOTH, None),
    "ifft2": (planes, BOTH, None),
    "rfft2": (planes, REAL, None),
    "irfft2": (planes, ("complex64", "complex128"), None),
    "hfft2": (planes, ("complex64", "complex128"), None),
    "ihfft2": (planes, REAL, None),
}  # fmt: skip


ROWS = [
    *(
        OpRow(f"fft.{name}", samples, dtypes=dtypes, errors=errors, out=True)
        for name, (samples, dtypes, errors) in TRANSFORMS.items()
    ),
    *(
        OpRow(
            f"fft.{name}",
            lambda make: [
                Sample(make(5)),
                Sample(make(2, 3)),
                Sample(make(4, 3), dim=0),
                Sample(make(2, 3, 4), dim=(1, -1)),
            ],
            errors=lambda make: [Raises(IndexError, "imension", make(4), dim=1)],
        )
        for name in ("fftshift", "ifftshift")
    ),
    *(
        OpRow(
            f"fft.{name}",
            lambda make: [
                Sample(5, dtype=make.named()),
                Sample(4, d=0.5, dtype=make.named()),
                Sample(1, dtype=make.named()),
            ],
            dtypes=("float32", "float64", "float16"),
            differentiable=False,
            errors=lambda make: [
                Raises(RuntimeError, "n", -5),
                Raises(RuntimeError, "int64", 3, dtype=make.named("int64")),
                Raises(TypeError, "n", 3.0),
            ],
        )
        for name in ("fftfreq", "rfftfreq")
    ),
    OpRow(
        "stft",
        signals,
        dtypes=REAL,
        method="stft",
        any_layout=False,
        errors=lambda make: [
            Raises(RuntimeError, "requires the return_complex parameter", make(8), 4),
            Raises(RuntimeError, "n_fft", make(3), 4, center=False, return_complex=True),
            Raises(RuntimeError, "hop_length", make(8), 4, 0, return_complex=True),
            Raises(RuntimeError, "win_length", make(8), 4, 1, 5, return_complex=True),
            Raises(RuntimeError, "window", make(8), 4, window=make(3), return_complex=True),
            Raises(RuntimeError, "floating point", np.arange(8), 4, return_complex=True),
            Raises(RuntimeError, "2D", make(1, 1, 8), 4, center=False, return_complex=True),
            Raises(RuntimeError, "align", make(8), 4, align_to_window=True, return_complex=True),
        ],
    ),
    OpRow(
        "istft",
        spectra,
        dtypes=("complex64", "complex128"),
        method="istft",
        errors=lambda make: [
            Raises(RuntimeError, "complex", make(3, 4, dtype="float32"), 4),
            Raises(RuntimeError, "empty", make(0, 4), 4),
            Raises(RuntimeError, "frequencies", make(4, 4), 9),
            Raises(RuntimeError, "hop_length", make(3, 4), 4, 5),
            Raises(RuntimeError, "win_length", make(3, 4), 4, 2, 5),
            Raises(RuntimeError, "window", make(3, 4), 4, window=make(3, dtype="float32")),
            Raises(RuntimeError, "gap", make(3, 4), 4, window=np.zeros(4, "float32")),
            Raises(RuntimeError, "onesided", make(3, 4), 4, window=np.ones(4, "float32"),
                   return_complex=True),
        ],
    ),
]  # fmt: skip


def window_samples(make: Maker) -> list[Sample]:
    return [
        *(Sample(n, dtype=make.named()) for n in (0, 1, 2, 5, 8)),
        Sample(7, False, dtype=make.named()),
    ]


ROWS += [
    OpRow(
        name,
        window_samples,
        dtypes=("float32", "float64", "bfloat16", "float16"),
        differentiable=False,
        errors=lambda make: [
            Raises(RuntimeError, "window_length", -1),
            Raises(RuntimeError, "int64", 3, dtype=make.named("int64")),
            Raises(NotImplementedError, "complex64", 3, dtype=make.named("complex64")),
            Raises(TypeError, "window_length", 3.0),
        ],
    )
    for name in (
        "bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"
    )
]  # fmt: skip
