"""The text of a Tensor: the one that PyTorch prints for the same values."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from nnkit.autograd.batch.examples import BatchLevel
from nnkit.autograd.forward.dual import dual_of, is_dual
from nnkit.autograd.forward.level import ENTERED_LEVELS
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.public import attach
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.counters import counter_of
from nnkit.backend.dtype import bool_, default_dtype, int64


class PrintOptions:
    """The settings of `set_printoptions`."""

    precision = 4
    threshold = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode: bool | None = None


OPTIONS = PrintOptions()
PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print.

    Args:
        precision: digits after the point.
        threshold: number of elements from which the middle is left out.
        edgeitems: how many items stay at each end then.
        linewidth: characters in a line.
        profile: "default", "short" or "full"; the other arguments override it.
        sci_mode: whether to write exponents; None decides by the values.

    Example:
        >>> import nnkit
        >>> nnkit.set_printoptions(precision=2)
        >>> nnkit.tensor([1.12345])
        tensor([1.12])
        >>> nnkit.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in PROFILES:
            raise ValueError(f"set_printoptions(): unknown profile {profile!r}")
        for name, value in PROFILES[profile].items():
            setattr(OPTIONS, name, value)
    given = {
        "precision": precision, "threshold": threshold, "edgeitems": edgeitems,
        "linewidth": linewidth,
    }  # fmt: skip
    for name, value in given.items():
        if value is not None:
            setattr(OPTIONS, name, value)
    OPTIONS.sci_mode = sci_mode


class _Formatter:
    """The common width and style of a tensor's numbers."""

    def __init__(self, values: list, floating: bool) -> None:
        self.floating = floating
        self.integers = True
        self.scientific = False
        self.width = 1
        if not floating:
            self.width = max([1, *(len(str(v)) for v in values)])
            return
        finite = [abs(v) for v in values if math.isfinite(v) and v != 0]
        if not finite:
            return  # torch aligns nothing then
        self.integers = all(v == math.ceil(v) for v in finite)
        low, high = min(finite), max(finite)
        if self.integers:
            self.scientific = high / low > 1000.0 or high > 1.0e8
        else:
            self.scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        if OPTIONS.sci_mode is not None:
            self.scientific = OPTIONS.sci_mode
        shown = [v for v in values if math.isfinite(v) and v != 0]
        self.width = max(1, *(len(self.plain(v)) for v in shown))
        if self.integers and not self.scientific:
            # The point is not counted while looking for the widest number.
            self.width = max(1, *(len(f"{v:.0f}") + 1 for v in shown))

    def plain(self, value: Any) -> str:
        if not self.floating:
            return str(value)
        if self.scientific:
            return f"{value:.{OPTIONS.precision}e}"
        if self.integers:
            text = f"{value:.0f}"
            return text if not math.isfinite(value) else text + "."
        return f"{value:.{OPTIONS.precision}f}"

    def __call__(self, value: Any) -> str:
        return self.plain(value).rjust(self.width)


def _values(data: Any) -> list:
    """The elements that are shown, as Python numbers."""
    if data.ndim == 0:
        return [data.item()]
    edge = OPTIONS.edgeitems
    if data.size > OPTIONS.threshold and data.shape[0] > 2 * edge:
        rows = [data[i] for i in range(edge)]
        rows += [data[i] for i in range(data.shape[0] - edge, data.shape[0])]
    elif data.ndim == 1:
        return data.tolist()
    else:
        rows = list(data)
    if data.ndim == 1:
        return [r.item() for r in rows]
    return [v for row in rows for v in _row_values(row, data.size)]


def _row_values(row: Any, total: int) -> list:
    edge = OPTIONS.edgeitems
    if row.ndim == 0:
        return [row.item()]
    rows = list(row)
    if total > OPTIONS.threshold and len(rows) > 2 * edge:
        rows = rows[:edge] + rows[-edge:]
    if row.ndim == 1:
        return [r.item() for r in rows]
    return [v for r in rows for v in _row_values(r, total)]


def _vector(data: Any, indent: int, summarize: bool, texts: Any) -> str:
    per_line = max(1, math.floor((OPTIONS.linewidth - indent) / (texts.width + 2)))
    edge = OPTIONS.edgeitems
    if summarize and not edge:
        shown = ["..."]
    elif summarize and len(data) > 2 * edge:
        shown = [texts(v.item()) for v in data[:edge]]
        shown += [" ..."]
        shown += [texts(v.item()) for v in data[-edge:]]
    else:
        shown = [texts(v) for v in data.tolist()]
    lines = [shown[i : i + per_line] for i in range(0, len(shown), per_line)]
    joint = ",\n" + " " * (indent + 1)
    return "[" + joint.join(", ".join(line) for line in lines) + "]"


def _nested(data: Any, indent: int, summarize: bool, texts: Any) -> str:
    if data.ndim == 0:
        return texts(data.item())
    if data.ndim == 1:
        return _vector(data, indent, summarize, texts)
    edge = OPTIONS.edgeitems
    if summarize and len(data) > 2 * edge:
        parts = [_nested(data[i], indent + 1, summarize, texts) for i in range(edge)]
        parts.append("...")
        first = len(data) - edge
        parts += [_nested(data[i], indent + 1, summarize, texts) for i in range(first, len(data))]
    else:
        parts = [_nested(row, indent + 1, summarize, texts) for row in data]
    joint = "," + "\n" * (data.ndim - 1) + " " * (indent + 1)
    return "[" + joint.join(parts) + "]"


class _Complex:
    """Formats complex numbers: a real and an imaginary part in their own styles."""

    def __init__(self, values: list) -> None:
        self.real = _Formatter([v.real for v in values], True)
        self.imaginary = _Formatter([v.imag for v in values], True)
        self.width = self.real.width + self.imaginary.width + 1

    def __call__(self, value: complex) -> str:
        real = self.real(value.real)
        imaginary = (self.imaginary(value.imag) + "j").lstrip()
        sign = "" if imaginary[0] in "+-" else "+"
        return real + sign + imaginary


def format_values(data: Any, d: Any, indent: int) -> str:
    """The nested brackets of an array."""
    summarize = data.size > OPTIONS.threshold
    values = _values(data)
    texts = _Complex(values) if d.is_complex else _Formatter(values, d.is_floating_point)
    return _nested(data, indent, summarize, texts)


def _repr(self: Tensor, *, tensor_contents: Any = None) -> str:
    """Values, then what is not evident from them."""
    if MODE.captures is not None or MODE.wrapping is not None:
        return _repr_in(transforms_around(), self, tensor_contents)
    return _repr_of(self, self, tensor_contents)


def _repr_of(self: Tensor, source: Tensor | None, tensor_contents: Any = None) -> str:
    """The text of a tensor outside of transforms, with the history of ``source``."""
    kind = type(self).__name__
    prefix = "tensor(" if kind in ("Tensor", "Parameter") else f"{kind}("
    d, is_meta = self.dtype, self._device.type == "meta"
    data = self._array if is_meta else self._device.backend.to_numpy(self._array)
    notes = []
    if self._device.type != "cpu":
        notes.append(f"device='{self._device}'")
    evident = d in (default_dtype(), int64, bool_) or d is default_dtype().to_complex()
    empty = is_meta or not data.size
    if is_meta or (empty and self._array.ndim != 1):
        notes.append(f"size={tuple(data.shape)}")
    if d is not default_dtype() if empty else not evident:
        notes.append(f"dtype={d}")
    if tensor_contents is not None:
        text = tensor_contents
    elif is_meta:
        text = "..."
    else:
        text = "[]" if empty else format_values(data, d, len(prefix))
    if source is not None:
        try:
            made_by = source.grad_fn and type(source.grad_fn).__name__
        except RuntimeError:  # of a view whose base was written
            made_by = "Invalid"
        if made_by is not None:
            notes.append(f"grad_fn=<{made_by}>")
        elif source.requires_grad:
            notes.append("requires_grad=True")
    carries = is_dual(self) and id(self._device) in ENTERED_LEVELS
    tangent = dual_of(self).tangent if carries else None
    if tangent is not None:
        notes.append(f"tangent={tangent}")
    shown = noted(prefix + text, notes, len(prefix))
    is_parameter = prefix != "tensor(" and getattr(self, "_is_param", False)
    return f"Parameter({shown})" if is_parameter else shown


def noted(text: str, notes: list[str], indent: int, on_new_line: bool = False) -> str:
    """The text of a tensor with notes after it, in a new line where one does not fit, and the
    bracket that closes it."""
    line = len(text) - text.rfind("\n") + 1  # torch counts two more
    for note in notes:
        if on_new_line or line + len(note) + 2 > OPTIONS.linewidth:
            text += ",\n" + " " * indent + note
            line, on_new_line = indent + len(note), False
        else:
            text += ", " + note
            line += len(note) + 2
    return text + ")"


def _repr_in(around: list, x: Tensor, contents: Any = None) -> str:
    """The text of a tensor inside transforms (the innermost last): what each has made of it."""
    if not around:
        outermost = MODE.level
        source = x if outermost is None else outermost.source_below(x)
        if source is not x and getattr(source, "_is_param", False):
            return repr(source)  # it says that it is a parameter
        return _repr_of(x, source, contents)
    *outer, (captures, level) = around
    if isinstance(level, BatchLevel):
        inner, dim = level.lower(x)
        name, notes = "BatchedTensor", f", bdim={dim}"
        wrapped = dim is not None
    else:
        inner = x if level is None else level.lower(x)[0]
        name, notes = "GradTrackingTensor", ""
        wrapped = captures is not None and _is_made_in(captures, x, inner)
    text = _repr_in(outer, inner, contents)
    if not wrapped:
        return text
    return f"{name}(lvl={len(around)}{notes}, value=\n{textwrap.indent(text, ' ' * 4)}\n)"


def transforms_around() -> list[tuple[Any, Any]]:
    """The transforms that are running, the outermost first: for one that differentiates its entry
    in ``MODE.captures``, for a `vmap` and a `jvp` their levels."""
    captures: Any = MODE.captures
    level: Any = MODE.wrapping
    found: list[tuple[Any, Any]] = []
    while True:
        if level is not None and (captures is None or level.captures is captures):
            # One of another record was entered by hand inside a transform that has ended.
            if level.captures is captures and not level.by_hand:
                found.append((None, level))
            level = level.around
            continue
        if captures is None:
            return found[::-1]
        forward = None
        if level is not None and level.captures is captures[2]:
            if not (level.maps or level.by_hand):
                forward, level = level, level.around
        found.append((captures, forward))
        captures = captures[2]


def _is_made_in(captures: Any, *forms: Tensor) -> bool:
    """Whether a tensor, in one of its forms, is an input of a transform or was made in it. (A
    detached input, and a view of what the function captures, cannot be told from these.)"""
    number, inputs, _ = captures
    return any(
        any(each is x or each is x._base for each in inputs) or _origin(x) >= number for x in forms
    )


def _origin(x: Tensor) -> int:
    """The number of the transform in which the memory of a tensor was made; 0 if in none."""
    counter = counter_of(x._writes)
    return (counter[2] if counter else None) or 0


attach("__repr__", _repr)
