"""Views: which results share memory, what happens on writes through them, and in-place shapes."""

from __future__ import annotations

import numpy as np
import pytest

from nnkit.backend import warning
from tests.frameworks import raises

VIEWS = {
    "view": lambda x: x.view(3, 2),
    "reshape": lambda x: x.reshape(6),
    "flatten": lambda x: x.flatten(),
    "unflatten": lambda x: x.unflatten(1, (3, 1)),
    "permute": lambda x: x.permute(1, 0),
    "transpose": lambda x: x.transpose(0, 1),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "movedim": lambda x: x.movedim(0, 1),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.view(2, 1, 3).squeeze(1),
    "diagonal": lambda x: x.diagonal(),
    "select": lambda x: x[1],
    "slice": lambda x: x[:, 1:],
    "element": lambda x: x[1, 2],
    "narrow": lambda x: x.narrow(1, 0, 2),
    "as_strided": lambda x: x.as_strided((2, 2), (3, 1), 1),
    "unfold": lambda x: x.unfold(1, 1, 2),
    "none": lambda x: x[None, ..., 0],
    "chained": lambda x: x.t()[1:].unsqueeze(0),
}
COPIES = {
    "clone": lambda x: x.clone(),
    "index": lambda x: x[[0, 1]],
    "mask": lambda x: x[x > 0],
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1, 0),
    "repeat": lambda x: x.repeat(1, 1),
    "cat": lambda x: x.T.reshape(6),
    "diag": lambda x: x.diag(),
    "narrow_copy": lambda x: x.narrow_copy(0, 0, 1),
}


def matrix(lib, requires_grad: bool = False):
    return lib.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=requires_grad)


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(lib, name: str) -> None:
    x = matrix(lib)
    y = VIEWS[name](x)
    assert y._base is x
    y.mul_(10)
    assert x._version == y._version == 1
    changed = (x != matrix(lib)).sum().item()
    assert changed == y.numel()
    x.zero_()
    assert y.abs().sum().item() == 0


@pytest.mark.parametrize("name", COPIES)
def test_copies_do_not(lib, name: str) -> None:
    x = matrix(lib)
    y = COPIES[name](x)
    y.zero_()
    assert x._version == 0
    assert x.tolist() == matrix(lib).tolist()


@pytest.mark.parametrize("name", VIEWS)
def test_writes_through_views_have_history(lib, name: str) -> None:
    leaf = matrix(lib, True)
    x = leaf * 1
    y = VIEWS[name](x)
    factor = lib.tensor(3.0, requires_grad=True)
    y.mul_(factor)
    (x * x).sum().backward()
    plain = matrix(lib)
    scale = lib.ones(2, 3)
    VIEWS[name](scale).fill_(3.0)
    np.testing.assert_allclose(leaf.grad.numpy(), (2 * plain * scale * scale).numpy())
    inside = VIEWS[name](plain)
    assert factor.grad.item() == pytest.approx((6 * inside * inside).sum().item())


@pytest.mark.parametrize("name", VIEWS)
def test_a_gradient_without_memory_of_its_own_passes_a_written_view(lib, name: str) -> None:
    leaf = matrix(lib, True)
    x = leaf * 1
    VIEWS[name](x).mul_(2)
    x.t().sum().backward()  # an expanded scalar arrives
    twice = matrix(lib).fill_(1)
    VIEWS[name](twice).fill_(2)
    assert leaf.grad.tolist() == twice.tolist()


def test_pieces_share_memory_but_must_not_be_written_with_history(lib) -> None:
    x = matrix(lib)
    for pieces in (x.split(1), x.chunk(2), x.unbind(1), x.split([1, 1])):
        assert all(piece._base is x for piece in pieces)
    x.split(2, 1)[1].zero_()
    assert x.tolist() == [[1.0, 2.0, 0.0], [4.0, 5.0, 0.0]]
    y = matrix(lib, True) * 1
    for pieces in (y.split(1), y.unbind(0)):
        with raises(lib, RuntimeError, "returns multiple views"):
            pieces[0].mul_(2)
    y[0].mul_(2)
    assert y[0].tolist() == [2.0, 4.0, 6.0]


def test_gradients_of_pieces(lib) -> None:
    x = matrix(lib, True)
    first, _, third = x.unbind(1)
    (first * third * 2).sum().backward()
    assert x.grad.tolist() == [[6.0, 0.0, 2.0], [12.0, 0.0, 8.0]]


def test_expanded_memory_cannot_be_written(lib) -> None:
    with raises(lib, RuntimeError, "memory"):
        lib.zeros(1).expand(3).add_(1)


def test_reshape_copies_where_view_refuses(lib) -> None:
    x = matrix(lib).t()
    assert x.reshape(6).tolist() == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    with raises(lib, RuntimeError, "stride"):
        x.view(6)
    assert x.view(3, 2, 1).shape == (3, 2, 1)


def test_view_of_another_dtype(lib) -> None:
    x = lib.tensor([1.0, -2.0])
    assert x.view(lib.int32).tolist() == [1065353216, -1073741824]
    assert x.view(lib.uint8).shape == (8,)
    assert x.view(lib.uint8).view(lib.float32).tolist() == [1.0, -2.0]
    x.view(lib.int32)[0] = 0
    assert x.tolist() == [0.0, -2.0]
    for wrong in (lambda: lib.zeros(3).view(lib.float64), lambda: lib.zeros(()).view(lib.float64)):
        with raises(lib, RuntimeError, "to view"):
            wrong()


def test_as_strided_reads_the_storage(lib) -> None:
    x = lib.arange(12.0).reshape(3, 4)
    part = x[1:, 1:]
    assert part.storage_offset() == 5
    assert part.as_strided((2, 2), (1, 4)).tolist() == [[5.0, 9.0], [6.0, 10.0]]
    assert part.as_strided((2,), (2,), 0).tolist() == [0.0, 2.0]


def test_gradient_of_overlapping_strides(lib) -> None:
    x = lib.arange(6.0).reshape(2, 3).requires_grad_()
    windows = x.as_strided((4, 3), (1, 1), 0)
    (windows * windows).sum().backward()
    counts = np.array([[1, 2, 3], [3, 2, 1]])
    np.testing.assert_array_equal(x.grad.numpy(), 2 * np.arange(6.0).reshape(2, 3) * counts)
    y = lib.arange(6.0).reshape(2, 3).requires_grad_()
    (y.t()[1:].as_strided((2,), (3,), 1) * lib.tensor([1.0, 10.0])).sum().backward()
    assert y.grad.tolist() == [[0.0, 1.0, 0.0], [0.0, 10.0, 0.0]]


def test_as_strided_scatter(lib) -> None:
    x = lib.zeros(2, 3, requires_grad=True)
    src = lib.ones(2, 2, requires_grad=True)
    out = x.as_strided_scatter(src, (2, 2), (3, 1), 1)
    assert out.tolist() == [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    (out * lib.arange(6.0).reshape(2, 3)).sum().backward()
    # torch gives x the gradient of what has replaced it.
    assert x.grad.tolist() == [[0.0, 1.0, 2.0], [0.0, 4.0, 5.0]]
    assert src.grad.tolist() == [[1.0, 2.0], [4.0, 5.0]]


def test_resize_under_its_old_names(lib) -> None:
    with pytest.warns(UserWarning, match="deprecated"):
        assert lib.zeros(6).resize(2, 3).shape == (2, 3)
    with pytest.warns(UserWarning, match="deprecated"):
        assert lib.zeros(6).resize_as(lib.zeros(3, 2)).shape == (3, 2)


def test_shapes_changed_in_place(lib) -> None:
    x = matrix(lib, True) * 1
    assert x.unsqueeze_(0).shape == (1, 2, 3)
    assert x.transpose_(1, 2).shape == (1, 3, 2)
    assert x.squeeze_(0).shape == (3, 2)
    assert x.t_().shape == (2, 3)
    assert x.swapaxes_(0, 1).shape == x.swapdims_(0, 1).mT.shape
    assert x.as_strided_((2, 2), (3, 1)).shape == (2, 2)
    with raises(lib, RuntimeError, "leaf"):
        matrix(lib, True).t_()


def test_gradient_through_a_shape_changed_in_place(lib) -> None:
    leaf = matrix(lib, True)
    x = leaf * 2
    x.t_()
    (x * lib.arange(6.0).reshape(3, 2)).sum().backward()
    assert leaf.grad.tolist() == [[0.0, 4.0, 8.0], [2.0, 6.0, 10.0]]


def test_resize(lib) -> None:
    x = lib.arange(6.0)
    y = x.resize_(2, 2)
    assert y is x
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x.resize_(6).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert x.resize_(2, 5).flatten()[:6].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert lib.zeros(3).resize_as_(x).shape == (2, 5)
    with raises(lib, RuntimeError, "grad"):
        lib.zeros(2, requires_grad=True).resize_(1)


def test_set_takes_over_memory(lib) -> None:
    x, y = lib.zeros(2), lib.arange(6.0)
    x.set_(y)
    x[0] = 9.0
    assert y[0].item() == 9.0
    x.set_(y, 1, (2, 2), (2, 1))
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert lib.ones(3).set_().shape == (0,)
    with raises(lib, RuntimeError, "int64"):
        lib.zeros(2).set_(lib.arange(2))


def test_complex_parts_are_views(lib) -> None:
    z = lib.tensor([1 + 2j, 3 - 1j])
    z.real.mul_(2)
    z.imag[1] = 5
    lib.view_as_real(z)[0, 1] = 7
    assert z.tolist() == [2 + 7j, 6 + 5j]
    pairs = lib.zeros(2, 2)
    lib.view_as_complex(pairs)[1] = 3 + 4j
    assert pairs.tolist() == [[0.0, 0.0], [3.0, 4.0]]


def test_T_of_three_dimensions_warns(lib, monkeypatch) -> None:
    # Not once in a process: another test may have been first.
    if lib.__name__ == "torch":
        lib.set_warn_always(True)
    monkeypatch.setattr(warning, "_warned", set())
    with pytest.warns(UserWarning, match="T"):
        assert lib.zeros(1, 2, 3).T.shape == (3, 2, 1)
    with raises(lib, RuntimeError, "2-D"):
        lib.zeros(3).H  # noqa: B018
    with raises(lib, RuntimeError, "1-D"):
        lib.zeros(3).mT  # noqa: B018


def test_broadcast_write_into_a_view(lib) -> None:
    x = lib.zeros(2, 3)
    x[:, 0] = 1
    x[1] = lib.tensor([7.0, 8.0, 9.0])
    x.diagonal()[:] = 5
    assert x.tolist() == [[5.0, 0.0, 0.0], [7.0, 5.0, 9.0]]


def test_any_byte_but_0_is_true_in_a_view_as_bool(lib) -> None:
    size = 40_000
    mask = (lib.arange(size) % 5).to(lib.uint8).view(lib.bool)
    plain, x = lib.arange(size) % 5 != 0, lib.linspace(0, 1, size)
    for found in (
        lambda m: m.float(), lambda m: m.double(), lambda m: m.long(), lambda m: m.sum(),
        lambda m: m.view(200, -1).t().sum(0), lambda m: m.view(200, -1).t().float(),
        lambda m: m.cos(), lambda m: m * x, lambda m: m + 1, lambda m: m.nonzero(),
        lambda m: x[m], lambda m: x.masked_fill(m, 2), lambda m: lib.zeros(size).copy_(m),
    ):  # fmt: skip
        assert lib.equal(found(mask), found(plain))
