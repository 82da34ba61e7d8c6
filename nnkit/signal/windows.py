"""Windows by which the samples of a signal are weighted, as ``torch.signal.windows``.

A window of M samples is symmetric, or with ``sym=False`` the first M of M + 1 samples of a
symmetric one, as Fourier transforms want it. All take ``M``, and by name ``sym``, ``dtype``
(float32, float64), ``layout``, ``device`` and ``requires_grad``; all raise ValueError for a
negative ``M``, another dtype or layout, or a number that is out of range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import nnkit
from nnkit.autograd import Tensor
from nnkit.backend.dtype import default_dtype

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip


def _options(name: str, M: int, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a factory, checked."""
    unknown = options.keys() - {"dtype", "layout", "device", "requires_grad"}
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument {min(unknown)!r}")
    dtype = options.get("dtype") or default_dtype()
    layout = options.pop("layout", nnkit.strided)
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not nnkit.strided:
        raise ValueError(f"{name}: layout must be strided, got {layout}")
    if dtype not in (nnkit.float32, nnkit.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return {**options, "dtype": dtype}


def _places(name: str, M: int, start: float, step: float, options: dict[str, Any]) -> Tensor:
    """M numbers from ``start``, ``step`` apart."""
    return nnkit.linspace(start, start + (M - 1) * step, M, **_options(name, M, options))


def _period(M: int, sym: bool) -> int:
    """Between how many steps a window returns to its beginning."""
    return M - 1 if sym and M > 1 else max(M, 1)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any
) -> Tensor:
    """``exp(-|n - center| / tau)``; the centre is the middle, unless ``sym`` is false.

    Example:
        >>> import nnkit
        >>> nnkit.signal.windows.exponential(3)
        tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"exponential: tau must be positive, got {tau}")
    if sym and center is not None:
        raise ValueError("exponential: center must be None for a symmetric window")
    if center is None:
        center = (M if not sym and M > 1 else M - 1) / 2.0
    return (-_places("exponential", M, -center / tau, 1 / tau, options).abs()).exp()


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """``sin(pi (n + 1/2) / M)``.

    Example:
        >>> import nnkit
        >>> nnkit.signal.windows.cosine(3)
        tensor([0.5000, 1.0000, 0.5000])
    """
    step = math.pi / (M + 1 if not sym and M > 1 else max(M, 1))
    return _places("cosine", M, 0.5 * step, step, options).sin()


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """``exp(-((n - middle) / std)**2 / 2)``.

    Example:
        >>> import nnkit
        >>> nnkit.signal.windows.gaussian(3)
        tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"gaussian: Standard deviation must be positive, got: {std}")
    step = 1 / (std * math.sqrt(2))
    start = -(M if not sym and M > 1 else M - 1) / 2.0 * step
    return (-(_places("gaussian", M, start, step, options) ** 2)).exp()


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """``i0(beta sqrt(1 - (n / middle - 1)**2)) / i0(beta)``.

    Example:
        >>> import nnkit
        >>> nnkit.signal.windows.kaiser(3, beta=2.0)
        tensor([0.4387, 1.0000, 0.4387])
    """
    if beta < 0:
        raise ValueError(f"kaiser: beta must be 0 or more, got {beta}")
    options = _options("kaiser", M, options)
    if M == 1:
        return nnkit.ones(1, **options)
    # Rounded first: the square of the outermost place must not be above its own.
    top = nnkit.tensor(beta, dtype=options["dtype"], device=options.get("device"))
    end = nnkit.minimum(top, (M - 1) * (2.0 * top / _period(M, sym)) - top)
    places = nnkit.linspace(-top, end, M, **options)
    return nnkit.i0((top * top - places**2).sqrt()) / nnkit.i0(top)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """``sum (-1)**i a[i] cos(2 pi i n / (M - 1))``.

    Example:
        >>> import nnkit
        >>> nnkit.signal.windows.general_cosine(3, a=[0.5, 0.5])
        tensor([0., 1., 0.])
    """
    return _cosines("general_cosine", M, a, sym, options)


def _cosines(name: str, M: int, a: Any, sym: bool, options: dict[str, Any]) -> Tensor:
    if not isinstance(a, Iterable):
        raise TypeError(f"{name}: a must be a list of numbers, got {type(a).__name__}")
    a = list(a)
    if not a:
        raise ValueError(f"{name}: a must not be empty")
    if M == 1:
        return nnkit.ones(1, **_options(name, M, options))
    places = _places(name, M, 0, 2 * math.pi / _period(M, sym), options)
    like = {"dtype": places.dtype, "device": places.device}
    factors = nnkit.tensor([(-1) ** i * w for i, w in enumerate(a)], **like)
    orders = nnkit.arange(len(a), **like)
    return (factors.unsqueeze(-1) * (orders.unsqueeze(-1) * places).cos()).sum(0)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """``alpha - (1 - alpha) cos(2 pi n / (M - 1))``.

    Example:
        >>> import nnkit
        >>> nnkit.signal.windows.general_hamming(3, alpha=0.75)
        tensor([0.5000, 1.0000, 0.5000])
    """
    return _cosines("general_hamming", M, [alpha, 1.0 - alpha], sym, options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """`general_hamming` with 0.54.

    Example:
        >>> import nnkit
        >>> nnkit.signal.windows.hamming(3)
        tensor([0.0800, 1.0000, 0.0800])
    """
    return _cosines("hamming", M, [0.54, 1.0 - 0.54], sym, options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """`general_hamming` with 0.5.

    Example:
        >>> import nnkit
        >>> nnkit.signal.windows.hann(3)
        tensor([0., 1., 0.])
    """
    return _cosines("hann", M, [0.5, 0.5], sym, options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """`general_cosine` with 0.42, 0.5 and 0.08.

    Example:
        >>> import nnkit
        >>> nnkit.signal.windows.blackman(5)[1:4]
        tensor([0.3400, 1.0000, 0.3400])
    """
    return _cosines("blackman", M, [0.42, 0.5, 0.08], sym, options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """`general_cosine` with four numbers that leave little besides the main lobe (Nuttall, 1981).

    Example:
        >>> import nnkit
        >>> nnkit.signal.windows.nuttall(5)[1:4]
        tensor([0.2270, 1.0000, 0.2270])
    """
    return _cosines("nuttall", M, [0.3635819, 0.4891775, 0.1365995, 0.0106411], sym, options)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A triangle, ``1 - |2 n / (M - 1) - 1|``.

    Example:
        >>> import nnkit
        >>> nnkit.signal.windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    if M == 1:
        return nnkit.ones(1, **_options("bartlett", M, options))
    return 1 - _places("bartlett", M, -1, 2 / _period(M, sym), options).abs()
