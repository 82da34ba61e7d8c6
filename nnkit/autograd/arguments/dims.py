"""Dimension and size arguments, checked and brought into the form the algebra takes.

Above the door a ``dim`` may be negative and a size may be given as separate integers or as one
sequence, with -1 for "whatever is left"; below it axes and shapes are plain non-negative ints.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from nnkit.autograd.arguments.sizes import check_integers, check_shape, integer
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor


def normalize_dim(dim: Any, ndim: int, name: str = "") -> int:
    """``dim`` counted from the front; IndexError outside [-ndim, ndim - 1], where a 0-dim tensor
    counts as one dimension."""
    try:
        number = operator.index(dim)
    except TypeError:
        raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}") from None
    limit = ndim or 1
    if not -limit <= number < limit:
        integer(name, "dim", number)
        who = f"{name}(): " * bool(name)
        raise IndexError(
            f"{who}Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], "
            f"but got {number})"
        )
    return number + limit if number < 0 else number


def size_at(name: str, input: Tensor, dim: int, parameter: str = "input") -> int:
    """The size of a dimension, which torch asks for before it looks at how many there are.

    Raises:
        IndexError: there is no such dimension; of a 0-dim tensor there is none.
    """
    shape = input._array.shape
    if not -len(shape) <= dim < len(shape):
        raise IndexError(
            f"{name}(): argument '{parameter}' has no dimension {dim}: got shape {list(shape)}"
        )
    return shape[dim]


def normalize_dims(dims: Any, ndim: int, name: str = "") -> tuple[int, ...] | None:
    """An int or a sequence of ints as a tuple of axes; None stays None.

    Raises:
        IndexError: a dimension is out of range.
        RuntimeError: a dimension is named twice.
    """
    if dims is None:
        return None
    if isinstance(dims, (tuple, list)):
        try:
            axes = tuple(normalize_dim(d, ndim, name) for d in dims)
        except ValueError:  # one of them does not fit 64 bits
            check_integers(name, "dim", dims)
            raise
        if len(set(axes)) < len(axes):
            twice = next(d for d in axes if axes.count(d) > 1)
            raise RuntimeError(f"{name}(): dim {twice} appears multiple times in the list of dims")
        return axes
    return (normalize_dim(dims, ndim, name),)


def check_least(name: str, parameter: str, input: Tensor, ndim: int) -> None:
    """RuntimeError unless ``input`` has at least ``ndim`` dimensions."""
    if len(input._array.shape) < ndim:
        raise RuntimeError(
            f"{name}(): {parameter} must have at least {ndim} dimension{'s' * (ndim > 1)}, got "
            f"shape {list(input._array.shape)}"
        )


def sizes_of(name: str, given: tuple, keyword: Any = None, parameter: str = "size") -> tuple:
    """Sizes given one by one, as one sequence, or by keyword, as a tuple of ints."""
    if keyword is None and given:  # plain ints need no more
        sizes = given[0] if len(given) == 1 and given[0].__class__ is tuple else given
        for n in sizes:
            if n.__class__ is not int:
                break
        else:
            return tuple(sizes)
    if keyword is not None:
        if given:
            raise TypeError(f"{name}() got multiple values for argument '{parameter}'")
        if not isinstance(keyword, (tuple, list)):
            got = type(keyword).__name__
            raise TypeError(f"{name}(): argument '{parameter}' must be tuple of ints, not {got}")
        given = (keyword,)
    if given and given[0].__class__ is bool:
        raise TypeError(f"{name}(): argument '{parameter}' must be tuple of ints, not bool")
    if not given:
        raise TypeError(f"{name}() missing 1 required positional argument: '{parameter}'")
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
        if given and given[0].__class__ is bool:
            raise TypeError(
                f"{name}(): argument '{parameter}' must be tuple of ints, but found element of "
                "type bool at pos 0"
            )
    try:
        return tuple(map(operator.index, given))
    except TypeError:
        wrong = next(n for n in given if not _is_index(n))
        raise TypeError(
            f"{name}(): argument '{parameter}' must be tuple of ints, "
            f"but found an element of type {type(wrong).__name__}"
        ) from None


def _is_index(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def shape_for(
    name: str, numel: int, given: tuple, keyword: Any = None, parameter: str = "size"
) -> tuple[int, ...]:
    """`complete_shape` of `sizes_of`, which plain ints that fit do without."""
    sizes = given[0] if len(given) == 1 and isinstance(given[0], tuple) else given
    known, unknown = 1, -1
    for position, n in enumerate(sizes):
        if n.__class__ is not int or n < -1 or (n < 0 <= unknown):
            break
        if n < 0:
            unknown = position
        else:
            known *= n
    else:
        if keyword is None and given:
            if unknown < 0 and known == numel:
                return tuple(sizes)
            if unknown >= 0 and known and not numel % known:
                return (*sizes[:unknown], numel // known, *sizes[unknown + 1 :])
    return complete_shape(name, sizes_of(name, given, keyword, parameter), numel)


def complete_shape(name: str, shape: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """``shape`` with its -1 worked out.

    Raises:
        RuntimeError: another negative size, more than one -1, or a shape that does not hold
            ``numel`` elements.
    """
    known = math.prod(shape)
    lowest = min(shape) if shape else 0
    if known == numel and lowest >= 0:
        return shape
    if known < 0 and lowest == -1 and shape.count(-1) == 1 and numel % known == 0:
        position = shape.index(-1)
        return (*shape[:position], numel // -known, *shape[position + 1 :])
    check_integers(name, "shape", shape)
    for position, n in enumerate(shape):
        if n < -1:
            raise RuntimeError(
                f"{name}(): invalid shape dimension {n} at index {position} of shape {list(shape)}"
            )
    if shape.count(-1) > 1:
        raise RuntimeError(f"{name}(): only one dimension can be inferred, got {list(shape)}")
    if -1 in shape and numel == 0 and 0 in shape:
        raise RuntimeError(
            f"{name}(): cannot reshape tensor of 0 elements into shape {list(shape)} because the "
            "unspecified dimension size -1 can be any value and is ambiguous"
        )
    raise RuntimeError(f"{name}(): shape '{list(shape)}' is invalid for input of size {numel}")


def check_tensor(name: str, value: Any, parameter: str = "input") -> None:
    """TypeError where an argument is no Tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}(): argument '{parameter}' must be Tensor, not {type(value).__name__}"
        )


def check_tensors(name: str, values: Any, parameter: str = "tensors") -> tuple[Tensor, ...]:
    """A sequence of Tensors as a tuple; TypeError otherwise."""
    if not isinstance(values, (tuple, list)):
        got = type(values).__name__
        raise TypeError(f"{name}(): argument '{parameter}' must be tuple of Tensors, not {got}")
    for position, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{name}(): expected Tensor as element {position} in argument '{parameter}', "
                f"but got {type(value).__name__}"
            )
    return tuple(values)


def expanded_shape(name: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that ``expand(wanted)`` gives a tensor of ``shape``; RuntimeError if none."""
    new = len(wanted) - len(shape)
    if new < 0:
        raise RuntimeError(
            f"{name}(): the number of sizes provided ({len(wanted)}) must be greater or equal to "
            f"the number of dimensions in the tensor ({len(shape)}): got {list(wanted)} for "
            f"{list(shape)}"
        )
    sizes = list(wanted)
    for d, here in enumerate((None,) * new + tuple(shape)):
        target = sizes[d]
        if target == here:
            continue
        if target == -1 and here is not None:
            sizes[d] = here
        elif target < 0 or here not in (None, 1):
            check_integers(name, "size", wanted)
            raise RuntimeError(
                f"{name}(): The expanded size of the tensor ({target}) must match the existing "
                f"size ({here}) at non-singleton dimension {d}: target sizes {list(wanted)}, "
                f"tensor sizes {list(shape)}"
            )
    return check_shape(name, tuple(sizes), "size")


def broadcasts(shape: tuple, target: tuple) -> bool:
    """Whether an array of ``shape`` can be expanded to ``target``."""
    if shape == target:
        return True
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(n in (1, m) for n, m in pairs)


def broadcast_shape(name: str, shapes: list) -> Size:
    """The shape that all ``shapes`` broadcast to; RuntimeError if there is none."""
    ndim = max(map(len, shapes), default=0)
    sizes = [1] * ndim
    for shape in shapes:
        for d, size in enumerate(shape, ndim - len(shape)):
            if size != 1 and size != sizes[d]:
                if sizes[d] != 1:
                    raise RuntimeError(
                        f"{name}(): The size of tensor a ({sizes[d]}) must match the size of "
                        f"tensor b ({size}) at non-singleton dimension {d}: got "
                        f"shapes {[list(s) for s in shapes]}"
                    )
                sizes[d] = size
    return tuple.__new__(Size, check_shape(name, tuple(sizes), "shapes"))  # which are ints
