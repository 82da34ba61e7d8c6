"""torch.nn._reduction: the numbers of the ways in which losses are reduced."""

from __future__ import annotations

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a way to reduce."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The way to reduce that the two old switches mean."""
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """The number of the way to reduce that the two old switches mean."""
    return get_enum(legacy_get_string(size_average, reduce))
