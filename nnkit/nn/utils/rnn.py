"""Sequences of different lengths: packed, padded, and from one to the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.annotations import hold_all
from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.ops.creation.factories import empty_like
from nnkit.autograd.ops.creation.ranges import arange
from nnkit.autograd.ops.exchange.interchange import as_tensor
from nnkit.autograd.ops.shape.joining import cat
from nnkit.backend.dtype import float16, float32, float64, int8, int16, int32, int64, uint8

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
    "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences of different lengths without padding: all first elements, all second ones, ...

    Made by `pack_padded_sequence` and `pack_sequence`; recurrent layers take and return it.

    Attributes:
        data: the elements, (sum of the lengths, *).
        batch_sizes: how many sequences have a first, a second, ... element; integers on the CPU.
        sorted_indices: the order by falling length in which they were packed, None if they were in
            that order.
        unsorted_indices: the way back.

    Example:
        >>> import nnkit
        >>> a, b = nnkit.tensor([1, 2, 3]), nnkit.tensor([4, 5])
        >>> packed = nnkit.nn.utils.rnn.pack_sequence([a, b])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("PackedSequence: expected data to be (data, batch_sizes)")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                f"PackedSequence: batch_sizes should be on the CPU, got {batch_sizes.device}; "
                "pack_sequence and pack_padded_sequence make it so"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with ``data.to(...)``; the indices follow to its device.

        Returns itself where nothing changes.
        """
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = (i if i is None else i.to(data.device) for i in self[2:])
        return type(self)(data, self.batch_sizes, *indices)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with ``data`` on a GPU."""
        return self.to(self.data.cuda(*args, **kwargs).device)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with ``data`` in the computer's main memory; arguments as of `to`."""
        moved = self.to(*args, **kwargs) if args or kwargs else self
        return moved.to("cpu")

    def double(self) -> PackedSequence:
        """The same with ``data`` as float64."""
        return self.to(float64)

    def float(self) -> PackedSequence:
        """The same with ``data`` as float32."""
        return self.to(float32)

    def half(self) -> PackedSequence:
        """The same with ``data`` as float16."""
        return self.to(float16)

    def long(self) -> PackedSequence:
        """The same with ``data`` as int64."""
        return self.to(int64)

    def int(self) -> PackedSequence:
        """The same with ``data`` as int32."""
        return self.to(int32)

    def short(self) -> PackedSequence:
        """The same with ``data`` as int16."""
        return self.to(int16)

    def char(self) -> PackedSequence:
        """The same with ``data`` as int8."""
        return self.to(int8)

    def byte(self) -> PackedSequence:
        """The same with ``data`` as uint8."""
        return self.to(uint8)

    def pin_memory(self) -> PackedSequence:
        """The same with ``data`` and the indices in page-locked memory."""
        indices = (i if i is None else i.pin_memory() for i in self[2:])
        return type(self)(self.data.pin_memory(), self.batch_sizes, *indices)

    def is_pinned(self) -> bool:
        """Whether ``data`` is in page-locked memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        """Whether ``data`` is on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another one; None for None.

    Example:
        >>> import nnkit
        >>> nnkit.nn.utils.rnn.invert_permutation(nnkit.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    check_tensor("invert_permutation", permutation)
    numbers = arange(0, permutation.numel(), device=permutation.device)
    return empty_like(permutation).scatter_(0, permutation, numbers)


def _lengths(lengths: Any) -> Tensor:
    lengths = lengths.to(int64) if isinstance(lengths, Tensor) else as_tensor(lengths, dtype=int64)
    if lengths.ndim != 1 or lengths.device.type != "cpu":
        raise RuntimeError(
            "pack_padded_sequence(): 'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.ndim}D {lengths.device} {lengths.dtype} tensor"
        )
    return lengths


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: Any = True
) -> PackedSequence:
    """Pack padded sequences.

    Args:
        input: (T, N, *), or (N, T, *) with ``batch_first``, where T is at least the longest length.
        lengths: of each sequence, a list or an int64 tensor (N,).
        batch_first: whether ``input`` begins with the batch.
        enforce_sorted: whether the lengths must fall; otherwise they are sorted here, and the
            result remembers the order.

    Raises:
        RuntimeError: a length is not positive, there is not one for each sequence, or they do not
            fall although they have to.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[1, 2, 3], [4, 5, 0]])
        >>> nnkit.nn.utils.rnn.pack_padded_sequence(x, [3, 2], batch_first=True).data
        tensor([1, 4, 2, 5, 3])
    """
    check_tensor("pack_padded_sequence", input)
    if isinstance(lengths, Tensor) and lengths.ndim > 1 and not enforce_sorted:
        raise IndexError(
            "pack_padded_sequence(): argument 'lengths' must be a vector, got shape "
            f"{list(lengths.shape)}"
        )
    if not input.numel():
        raise RuntimeError("pack_padded_sequence(): cannot pack an empty tensor")
    lengths = _lengths(lengths)
    sorted_indices = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True, stable=True)
        sorted_indices = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    sizes = lengths.tolist()
    if len(sizes) != input.shape[1]:
        raise RuntimeError(
            f"pack_padded_sequence(): expected `len(lengths)` to be equal to batch_size, but got "
            f"{len(sizes)} (batch_size={input.shape[1]})"
        )
    if min(sizes) <= 0:
        raise RuntimeError(
            "pack_padded_sequence(): Length of all samples has to be greater than 0, "
            f"but got {min(sizes)}"
        )
    if any(a < b for a, b in zip(sizes, sizes[1:])):
        raise RuntimeError(
            "pack_padded_sequence(): `lengths` array must be sorted in decreasing order when "
            f"`enforce_sorted` is True, got {sizes}. You can pass `enforce_sorted=False` to have "
            "them sorted"
        )
    if sizes[0] > input.shape[0]:
        raise RuntimeError(
            f"pack_padded_sequence(): a length of {sizes[0]} exceeds the padded length "
            f"{input.shape[0]}"
        )
    present = arange(sizes[0]).unsqueeze(1) < lengths
    data = input[: sizes[0]][present.to(input.device)]
    return PackedSequence(data, present.sum(1), sorted_indices)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Turn packed sequences into padded ones, in the order that they had before packing.

    Args:
        sequence: packed sequences.
        batch_first: return (N, T, *) instead of (T, N, *).
        padding_value: what stands behind the end of a shorter sequence.
        total_length: T, at least the longest length, which it is when not given.

    Returns:
        The padded sequences, and their lengths as an int64 tensor (N,).

    Raises:
        TypeError: ``sequence`` is something else.
        ValueError: ``total_length`` is below the longest length.

    Example:
        >>> import nnkit
        >>> rnn = nnkit.nn.utils.rnn
        >>> packed = rnn.pack_sequence([nnkit.tensor([1, 2, 3]), nnkit.tensor([4, 5])])
        >>> rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 5, 0]]), tensor([3, 2]))
    """
    if not isinstance(sequence, PackedSequence):
        got = type(sequence).__name__
        raise TypeError(f"pad_packed_sequence(): sequence must be a PackedSequence, got {got}")
    data, batch_sizes, _, unsorted_indices = sequence
    steps, batch = batch_sizes.numel(), int(batch_sizes[0])
    if total_length is not None and total_length < steps:
        raise ValueError(
            "pad_packed_sequence(): Expected total_length to be at least the length of the longest "
            f"sequence in input, but got total_length={total_length} and max sequence length "
            f"being {steps}"
        )
    present = arange(batch) < batch_sizes.unsqueeze(1)
    padded = _padded(data, present, padding_value, (total_length or steps) - steps)
    lengths = present.sum(0)
    if batch_first:
        padded = padded.transpose(0, 1)
    if unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
        lengths = lengths.index_select(0, unsorted_indices.cpu())
    return padded, lengths


def _padded(data: Tensor, present: Tensor, padding_value: float, more: int = 0) -> Tensor:
    """The rows of ``data`` at the places where ``present`` is True, in their order, then ``more``
    rows of padding."""
    rows, columns = present.shape
    shape = (rows + more, columns, *data.shape[1:])
    padded = data.new_full(shape, padding_value)
    padded[:rows][present.to(data.device)] = data
    return padded


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences of different lengths, the shorter ones padded.

    Args:
        sequences: a list of N tensors (length, *), or one tensor whose rows they are.
        batch_first: return (N, T, *) instead of (T, N, *), T being the longest length.
        padding_value: what a shorter sequence is filled up with.
        padding_side: "right" or "left".

    Raises:
        RuntimeError: there are no sequences, their shapes do not fit, or ``padding_side`` is
            something else.
        TypeError: they are no tensors.

    Example:
        >>> import nnkit
        >>> a, b = nnkit.tensor([1, 2, 3]), nnkit.tensor([4, 5])
        >>> nnkit.nn.utils.rnn.pad_sequence([a, b], batch_first=True)
        tensor([[1, 2, 3],
                [4, 5, 0]])
    """
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence(): Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences).__name__}"
        )
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("pad_sequence(): received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"pad_sequence(): expected padding_side to be left or right, got {padding_side!r}"
        )
    for position, sequence in enumerate(sequences):
        if not isinstance(sequence, Tensor):
            raise TypeError(
                f"pad_sequence(): sequences must be Tensors, but element {position} is of type "
                f"{type(sequence).__name__}"
            )
    shape, kind = sequences[0].shape[1:], sequences[0].dtype
    for sequence in sequences:
        if sequence.ndim == 0 or sequence.shape[1:] != shape:
            raise RuntimeError(
                "pad_sequence(): all sizes of the sequences but the first must agree, got shapes "
                f"{[list(s.shape) for s in sequences]}"
            )
    lengths = [len(s) for s in sequences]
    positions = arange(max(lengths))
    if padding_side == "left":
        positions = positions.flip(0)
    present = positions < as_tensor(lengths).unsqueeze(1)
    padded = _padded(cat([s.to(kind) for s in sequences]), present, padding_value)
    return padded if batch_first else padded.transpose(0, 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Any, batch_first: Any = False
) -> list[Tensor]:
    """Copies of padded sequences, cut to their lengths: the reverse of `pad_sequence`.

    Raises:
        ValueError: there is not one length for each sequence.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[1, 2, 3], [4, 5, 0]])
        >>> nnkit.nn.utils.rnn.unpad_sequence(x, nnkit.tensor([3, 2]), batch_first=True)
        [tensor([1, 2, 3]), tensor([4, 5])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    if isinstance(lengths, Tensor) and lengths.ndim > 1:
        raise ValueError(
            "unpad_sequence(): argument 'lengths' must be a vector, got shape "
            f"{list(lengths.shape)}"
        )
    if len(lengths) != len(padded_sequences):
        raise ValueError(
            "unpad_sequence(): there must be a length for each of the "
            f"{len(padded_sequences)} sequences, got {len(lengths)}"
        )
    return [s[: int(n)].clone() for s, n in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: Any = True) -> PackedSequence:
    """Pack a list of tensors (length, *).

    Args:
        sequences: the tensors.
        enforce_sorted: whether their lengths must fall; otherwise they are sorted here.

    Raises:
        RuntimeError: as `pack_padded_sequence`.

    Example:
        >>> import nnkit
        >>> a, b = nnkit.tensor([1, 2]), nnkit.tensor([3, 4, 5])
        >>> nnkit.nn.utils.rnn.pack_sequence([a, b], enforce_sorted=False).data
        tensor([3, 1, 4, 2, 5])
    """
    lengths = [s.size(0) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of tensors that was packed.

    Example:
        >>> import nnkit
        >>> rnn = nnkit.nn.utils.rnn
        >>> rnn.unpack_sequence(rnn.pack_sequence([nnkit.tensor([1, 2]), nnkit.tensor([3])]))
        [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


hold_all(globals())
