"""Packed and padded sequences."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises


def padded(lib: ModuleType) -> Any:
    """Three sequences (T, N, 2) of up to four elements."""
    return lib.arange(24.0).reshape(4, 3, 2)


def test_pack(lib: ModuleType) -> None:
    packed = lib.nn.utils.rnn.pack_padded_sequence(padded(lib), [4, 2, 1])
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    assert packed.data[:, 0].tolist() == [0, 2, 4, 6, 8, 12, 18]
    assert packed.sorted_indices is None and packed.unsorted_indices is None
    assert packed.data is packed[0] and len(packed) == 4


def test_pack_unsorted_and_back(lib: ModuleType) -> None:
    rnn = lib.nn.utils.rnn
    x = padded(lib).transpose(0, 1)
    packed = rnn.pack_padded_sequence(x, lib.tensor([2, 4, 1]), True, enforce_sorted=False)
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    assert packed.unsorted_indices.tolist() == [1, 0, 2]
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    back, lengths = rnn.pad_packed_sequence(packed, True, padding_value=-1.0, total_length=5)
    assert lengths.tolist() == [2, 4, 1]
    assert back[..., 0].tolist() == [[0, 6, -1, -1, -1], [2, 8, 14, 20, -1], [4, -1, -1, -1, -1]]


def test_gradient_goes_to_what_was_packed(lib: ModuleType) -> None:
    rnn = lib.nn.utils.rnn
    x = padded(lib).requires_grad_()
    packed = rnn.pack_padded_sequence(x, [1, 3, 2], enforce_sorted=False)
    back, _ = rnn.pad_packed_sequence(packed)
    (back * 2).sum().backward()
    assert x.grad[..., 0].tolist() == [[2, 2, 2], [0, 2, 2], [0, 2, 0], [0, 0, 0]]


def test_pad_sequence(lib: ModuleType) -> None:
    rnn = lib.nn.utils.rnn
    sequences = [lib.ones(3, 2), lib.ones(1, 2) * 2, lib.ones(2, 2) * 3]
    assert tuple(rnn.pad_sequence(sequences).shape) == (3, 3, 2)
    right = rnn.pad_sequence(sequences, batch_first=True, padding_value=9.0)
    assert right[..., 0].tolist() == [[1, 1, 1], [2, 9, 9], [3, 3, 9]]
    left = rnn.pad_sequence(sequences, True, padding_side="left")
    assert left[..., 0].tolist() == [[1, 1, 1], [0, 0, 2], [0, 3, 3]]
    assert rnn.pad_sequence(lib.ones(2, 3)).tolist() == [[1, 1]] * 3
    cut = rnn.unpad_sequence(right, lib.tensor([3, 1, 2]), batch_first=True)
    assert [s.tolist() for s in cut] == [s.tolist() for s in sequences]


def test_pack_sequence_and_back(lib: ModuleType) -> None:
    rnn = lib.nn.utils.rnn
    sequences = [lib.tensor([1, 2]), lib.tensor([3, 4, 5]), lib.tensor([6])]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 6, 4, 2, 5]
    assert [s.tolist() for s in rnn.unpack_sequence(packed)] == [[1, 2], [3, 4, 5], [6]]


def test_packed_sequence_converts(lib: ModuleType) -> None:
    rnn = lib.nn.utils.rnn
    packed = rnn.pack_sequence([lib.zeros(2), lib.zeros(1)])
    assert packed.to(lib.float32) is packed and packed.cpu() is packed and not packed.is_cuda
    for name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
        converted = getattr(packed, name)()
        assert isinstance(converted, rnn.PackedSequence)
        assert converted.data.dtype is getattr(packed.data, name)().dtype
    moved = packed.to(lib.float64)
    assert moved.data.dtype is lib.float64 and moved.batch_sizes.dtype is lib.int64
    assert rnn.PackedSequence((packed.data, packed.batch_sizes)).data is packed.data
    turned = rnn.PackedSequence(packed.data, packed.batch_sizes, lib.tensor([2, 0, 1]))
    assert turned.unsorted_indices.tolist() == [1, 2, 0]
    assert rnn.invert_permutation(None) is None


@pytest.mark.parametrize(
    ("error", "noun", "call"),
    [
        (RuntimeError, "decreasing", lambda r, x, t: r.pack_padded_sequence(x, [3, 4, 2])),
        (RuntimeError, "batch_size", lambda r, x, t: r.pack_padded_sequence(x, [4, 3])),
        (RuntimeError, "greater than 0", lambda r, x, t: r.pack_padded_sequence(x, [4, 3, 0])),
        (RuntimeError, "1D", lambda r, x, t: r.pack_padded_sequence(x, t([[4, 3, 2]]))),
        (RuntimeError, "iterable", lambda r, x, t: r.pad_sequence(3)),
        (RuntimeError, "empty", lambda r, x, t: r.pad_sequence([])),
        (RuntimeError, "padding_side", lambda r, x, t: r.pad_sequence([x], padding_side="up")),
        (RuntimeError, "size", lambda r, x, t: r.pad_sequence([x, x[:, :2]])),
        (AssertionError, "batch_sizes", lambda r, x, t: r.PackedSequence(x)),
    ],
)
def test_errors(lib: ModuleType, error: type[Exception], noun: str, call: Any) -> None:
    with raises(lib, error, noun):
        call(lib.nn.utils.rnn, padded(lib), lib.tensor)


def test_total_length_too_short(lib: ModuleType) -> None:
    rnn = lib.nn.utils.rnn
    with raises(lib, ValueError, "total_length=3"):
        rnn.pad_packed_sequence(rnn.pack_padded_sequence(padded(lib), [4, 2, 1]), total_length=3)


def test_length_beyond_the_padding() -> None:
    import nnkit

    with pytest.raises(RuntimeError, match="5 exceeds.*4"):
        nnkit.nn.utils.rnn.pack_padded_sequence(padded(nnkit), [5, 3, 2])


def test_order_in_memory(lib: ModuleType) -> None:
    rnn, lengths = lib.nn.utils.rnn, lib.tensor([2, 3])
    packed = rnn.pack_padded_sequence(lib.zeros(2, 3, 4), lengths, True, enforce_sorted=False)
    assert rnn.pad_packed_sequence(packed, batch_first=True)[0].stride() == (12, 4, 1)
    assert rnn.pad_packed_sequence(packed)[0].stride() == (8, 4, 1)
    packed = rnn.pack_padded_sequence(lib.zeros(2, 3, 4), lengths.flip(0), True)
    assert rnn.pad_packed_sequence(packed, batch_first=True)[0].stride() == (4, 8, 1)
    assert [piece.stride() for piece in rnn.unpack_sequence(packed)] == [(4, 1), (4, 1)]
    padded = lib.zeros(2, 3)
    rnn.unpad_sequence(padded, lengths, batch_first=True)[0].add_(1)
    assert padded.sum() == 0
