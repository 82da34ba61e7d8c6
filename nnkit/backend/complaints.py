"""The subjects of NumPy's errors, told by their words: the one place that knows these."""

from __future__ import annotations

_SHAPES = (
    "broadcast", "mismatch in its core dimension", "cannot reshape array", "shape mismatch",
    "does not have enough dimensions", "setting an array element with a sequence",
    "don't have the same length", "must match exactly",
)  # fmt: skip
_DTYPES = ("ufunc '", "The numpy boolean", "would be ambiguous", "Cannot cast")


def is_about_shapes(error: Exception) -> bool:
    """Whether a kernel was given arrays whose shapes do not fit each other."""
    return isinstance(error, ValueError) and any(words in str(error) for words in _SHAPES)


def is_about_dtypes(error: Exception) -> bool:
    """Whether NumPy has no loop for a dtype."""
    return isinstance(error, TypeError) and any(words in str(error) for words in _DTYPES)
