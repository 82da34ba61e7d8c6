"""Collation: batches made of samples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.exchange.interchange import as_tensor, tensor
from nnkit.autograd.ops.shape.joining import stack
from nnkit.backend.dtype import NUMPY_ARRAY, NUMPY_SCALARS, float64

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]


def collate(
    batch: Sequence[Any],
    *,
    collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None,
) -> Any:
    """Samples to a batch, where a table says what is done with samples of each class.

    Args:
        batch: samples of one structure.
        collate_fn_map: functions of a batch and of ``collate_fn_map``, by the class, or classes,
            of the samples. The very class comes before the classes that it is derived from.

    Mappings, named tuples, lists and tuples that are not in the table are collated field by field,
    as `default_collate` says.

    Raises:
        TypeError: samples of another type.
        RuntimeError: lists of different lengths.

    Example:
        >>> from nnkit.utils.data.collate import collate
        >>> collate([{"n": 1}, {"n": 2}], collate_fn_map={int: lambda batch, **_: sum(batch)})
        {'n': 3}
    """
    first = batch[0]
    kind = type(first)
    table = collate_fn_map or {}
    known = table.get(kind) or next((f for of, f in table.items() if isinstance(first, of)), None)
    if known is not None:
        return known(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        fields = {
            key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map)
            for key in first
        }
        return _like_mapping(first, fields)
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError(
                "each element in list of batch should be of equal size, got sizes "
                f"{[len(sample) for sample in batch]}"
            )
        columns = [
            collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)
        ]
        return kind(*columns) if hasattr(first, "_fields") else _like_sequence(first, columns)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {kind}"
    )


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Tensors, stacked."""
    return stack(batch, 0)


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Arrays or scalars of NumPy, stacked.

    Raises:
        TypeError: they are of strings or objects.
    """
    if not _is_numeric(batch[0]):
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
            f"found {batch[0].dtype}"
        )
    return stack([as_tensor(sample) for sample in batch], 0)


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Floats as a float64 tensor."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Integers as an int64 tensor."""
    return tensor(batch)


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Sequence[Any]:
    """Strings as they are."""
    return batch


collate_numpy_scalar_fn = collate_numpy_array_fn
default_collate_fn_map: dict[type | tuple[type, ...], Callable] = {
    Tensor: collate_tensor_fn,
    NUMPY_ARRAY: collate_numpy_array_fn,
    NUMPY_SCALARS: collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples to a batch: what a DataLoader does when nothing else is said.

    Args:
        batch: samples of one structure.

    Tensors, and arrays or scalars of NumPy, are stacked along a new first dimension. Floats become
    a float64 tensor, ints an int64 one; strings stay a list. A mapping, a named tuple or a list is
    collated field by field and keeps its type, a tuple becomes a list. `default_collate_fn_map`
    says what is done with each class; a class that is added to it is collated so by every
    DataLoader, and `collate` takes another table.

    Raises:
        TypeError: samples of another type.
        RuntimeError: tensors of different shapes, or lists of different lengths.

    Example:
        >>> from nnkit.utils.data import default_collate
        >>> default_collate([(1, "a"), (2, "b")])
        [tensor([1, 2]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """The arrays and scalars of NumPy inside a sample to tensors; all else stays.

    It is what a DataLoader does with ``batch_size=None``.

    Example:
        >>> from nnkit.utils.data import default_convert
        >>> default_convert({"name": "a", "size": 3})
        {'name': 'a', 'size': 3}
    """
    if isinstance(data, Tensor | str | bytes):
        return data
    if isinstance(data, (NUMPY_ARRAY, *NUMPY_SCALARS)):
        return as_tensor(data) if _is_numeric(data) else data
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, Sequence):
        values = [default_convert(value) for value in data]
        return type(data)(*values) if hasattr(data, "_fields") else _like_sequence(data, values)
    return data


def _is_numeric(value: Any) -> bool:
    return value.dtype.kind in "biufc"


def _like_mapping(mapping: Mapping[Any, Any], fields: dict[Any, Any]) -> Any:
    if isinstance(mapping, MutableMapping):
        # A copy keeps what else the object holds, such as the factory of a defaultdict.
        clone = copy.copy(mapping)
        clone.update(fields)
        return clone
    return _built(type(mapping), fields)


def _like_sequence(sequence: Sequence[Any], values: list[Any]) -> Any:
    return values if isinstance(sequence, tuple) else _built(type(sequence), values)


def _built(kind: Callable[[Any], Any], content: Any) -> Any:
    try:
        return kind(content)
    except TypeError:
        return content


def pinned(batch: Any) -> Any:
    """The batch with its tensors in page-locked memory."""
    if isinstance(batch, Tensor):
        return batch.pin_memory()
    if isinstance(batch, Mapping):
        mapped = {key: pinned(value) for key, value in batch.items()}
        return type(batch)(mapped)  # type: ignore[call-arg]
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(pinned, batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(map(pinned, batch))
    return batch
