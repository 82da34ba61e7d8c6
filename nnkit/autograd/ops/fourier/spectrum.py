"""Spectra of signals over time: the short-time Fourier transform and its inverse."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.ops.creation.factories import ones
from nnkit.autograd.ops.fourier import transforms as rules
from nnkit.autograd.ops.fourier.transforms import scale_of, transformable
from nnkit.autograd.ops.padding import constant_pad_nd, pad
from nnkit.autograd.ops.shape.strided import view_as_real
from nnkit.autograd.tensor import Tensor, on_its_own
from nnkit.backend.dtype import FLOATING
from nnkit.backend.warning import warn


def _fail(name: str, expected: str, got: Any) -> None:
    raise RuntimeError(f"{name}(): expected {expected}, got {got}")


def _check_window(name: str, window: Tensor | None, length: int) -> None:
    if window is None:
        warn(
            f"A window was not provided. {name}() takes a rectangular one, which leaks between "
            "frequencies; give nnkit.hann_window or, to keep it, nnkit.ones"
        )
    elif window.ndim != 1 or window._array.shape[0] != length:
        _fail(name, f"a window of shape [{length}]", list(window.shape))


def _check_complex(onesided: bool) -> None:
    if onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")


@public(in_python=True)
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The short-time Fourier transform: the spectra of overlapping pieces of a signal.

    ``out[k, t] = sum(window[m] * input[t * hop_length + m] * exp(-2 pi i k m / n_fft))`` over m.

    Args:
        input: (length) or (batch, length), real or complex.
        n_fft: how many points a spectrum has.
        hop_length: the distance of two pieces, a quarter of ``n_fft`` unless given.
        win_length: the length of the window, which stands in the middle of ``n_fft`` points.
        window: (win_length), ones unless given.
        center: whether a piece has its time in its middle: the signal is padded at both ends.
        pad_mode: how; see `nnkit.nn.functional.pad`.
        normalized: whether spectra are divided by ``sqrt(n_fft)``.
        onesided: whether the first ``n_fft // 2 + 1`` points are kept, as of real signals unless
            said otherwise.
        return_complex: False gives a last dimension of real and imaginary parts.
        align_to_window: without ``center``, whether the last piece ends with the window.

    Returns:
        (frequencies, pieces) or (batch, frequencies, pieces).

    Raises:
        RuntimeError: a size or the window does not fit, or ``return_complex`` is not given for a
            real signal.

    Example:
        >>> import nnkit
        >>> signal, window = nnkit.ones(6), nnkit.ones(2)
        >>> nnkit.stft(signal, 2, 2, window=window, center=False, return_complex=True).real
        tensor([[2., 2., 2.],
                [0., 0., 0.]])
    """
    check_tensor("stft", input)
    for flag, given in (
        ("normalized", normalized), ("onesided", onesided), ("return_complex", return_complex),
        ("align_to_window", align_to_window),
    ):  # fmt: skip
        if not isinstance(given, bool) and (given is not None or flag == "normalized"):
            raise TypeError(f"stft(): argument '{flag}' must be bool, not {type(given).__name__}")
    x = input
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft(): align_to_window should only be set when center is false")
        wide = x.view((1,) * (3 - x.ndim) + tuple(x.shape))
        half = n_fft // 2
        x = pad(wide, [half, half], pad_mode)
        x = x.view(x.shape[-input.ndim :])
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    is_complex = x.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs")
    if return_complex is False:
        warn("stft(): return_complex=False is deprecated, use view_as_real")
    if x.dtype.category < FLOATING:
        _fail("stft", "a tensor of floating point or complex values", x.dtype.name)
    if x.ndim not in (1, 2):
        _fail("stft", "a 1D or 2D tensor", list(x.shape))
    batch = x if x.ndim == 2 else x.unsqueeze(0)
    size = batch._array.shape[1]
    if not 0 < n_fft <= size:
        _fail("stft", f"0 < n_fft <= {size}", n_fft)
    if hop <= 0:
        _fail("stft", "hop_length > 0", hop)
    if not 0 < length <= n_fft:
        _fail("stft", "0 < win_length <= n_fft", length)
    _check_window("stft", window, length)
    if length < n_fft:
        left = (n_fft - length) // 2
        around = (left, n_fft - length - left)
        if window is None:
            window = ones(length, dtype=x.dtype, device=x.device)
        window = constant_pad_nd(window, around)
        if align_to_window:
            batch = constant_pad_nd(batch, around)
    pieces = 1 + (batch._array.shape[1] - n_fft) // hop
    rows, step = batch.stride()
    shape, strides = (len(batch), pieces, n_fft), (rows, hop * step, step)
    framed = batch.as_strided(shape, strides, batch.storage_offset())
    framed = transformable("stft", framed if window is None else framed * window)
    scale = scale_of("ortho" if normalized else "backward", n_fft, False)
    if framed.is_complex():
        _check_complex(bool(onesided))
        out = rules.fft_c2c(framed, (2,), scale, False)
    else:
        out = rules.fft_r2c(framed, (2,), scale, onesided is not False)
    out = out.transpose(1, 2)
    out = on_its_own(out.squeeze(0) if input.ndim == 1 else out)
    return view_as_real(out) if return_complex is False else out


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The inverse of `stft`: the signal whose pieces come closest to those spectra.

    Overlapping pieces are weighted by the window, added up, and divided by the sum of its squares.

    Args:
        input: (frequencies, pieces) or (batch, frequencies, pieces), complex.
        length: of the signal; by default that of all pieces, without what ``center`` has padded.
        return_complex: whether the signal is complex.

    The other arguments are those of `stft`.

    Raises:
        RuntimeError: the input is real or empty, a size does not fit, or windows leave a gap.

    Example:
        >>> import nnkit
        >>> signal, window = nnkit.arange(8.0), nnkit.tensor([0.0, 0.5, 1.0, 0.5])
        >>> spectra = nnkit.stft(signal, 4, window=window, return_complex=True)
        >>> nnkit.istft(spectra, 4, window=window).round()
        tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    check_tensor("istft", input)
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if not input.is_complex():
        _fail("istft", "a complex tensor, the output of stft with return_complex=True", input.dtype)
    if not input._array.size:
        _fail("istft", "spectra", "an empty tensor")
    if input.ndim < 2:
        raise IndexError(f"istft(): expected 2 or 3 dimensions, got {list(input.shape)}")
    if input.ndim > 3:
        _fail("istft", "2 or 3 dimensions", list(input.shape))
    frequencies, pieces = input._array.shape[-2:]
    half = frequencies != n_fft if onesided is None else onesided
    if frequencies != (n_fft // 2 + 1 if half else n_fft):
        _fail("istft", f"the frequencies of n_fft={n_fft}, onesided={half}", frequencies)
    if not 0 < hop <= width:
        _fail("istft", "0 < hop_length <= win_length", (hop, width))
    if not 0 < width <= n_fft:
        _fail("istft", "0 < win_length <= n_fft", (width, n_fft))
    _check_window("istft", window, width)
    weights = window
    if weights is None:
        weights = ones(width, dtype=input.dtype.to_real(), device=input.device)
    if width < n_fft:
        left = (n_fft - width) // 2
        weights = constant_pad_nd(weights, (left, n_fft - width - left))
    x = (input if input.ndim == 3 else input.unsqueeze(0)).transpose(1, 2)
    scale = scale_of("ortho" if normalized else "backward", n_fft, True)
    if return_complex:
        _check_complex(half)
        x = rules.fft_c2c(x, (2,), scale, True)
    elif weights.is_complex():
        raise RuntimeError("istft(): complex windows are incompatible with return_complex=False")
    else:
        x = rules.fft_c2r(x[..., : n_fft // 2 + 1], (2,), scale, n_fft)
    whole = n_fft + hop * (pieces - 1)
    add_up = OPS["unfold_adjoint"]
    signal = add_up(x * weights, (len(x), whole), 1, n_fft, hop)
    total = add_up(weights.square().expand(1, pieces, n_fft), (1, whole), 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - start
    signal, total = signal[:, start:end], total[:, start:end]
    if bool((lowest(total).abs().min() < 1e-11).item()):
        raise RuntimeError("istft(): the windows leave a gap: the sum of their squares is 0 there")
    signal = signal / total
    if input.ndim == 2:
        signal = signal.squeeze(0)
    if end > whole:
        warn(
            "The length of signal is shorter than the length parameter. istft() fills it with "
            "zeros at its end"
        )
        signal = constant_pad_nd(signal, (0, end - whole))
    return signal


public(istft, namespace=False, in_python=True)
istft = public(istft, method=False)  # in torch only the method is in Python
