"""What reads its data in `vmap`: one example after the other, and all that is wrong in any."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit

pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop")  # by torch


def test_shapes_that_differ_are_refused() -> None:
    with pytest.raises(RuntimeError, match="shapes"):
        nnkit.vmap(nnkit.argwhere)(nnkit.tensor([[1, 0], [1, 1]]))


def test_an_empty_batch_has_the_shape_of_none() -> None:
    counts = nnkit.vmap(lambda x: nnkit.bincount(x, minlength=4))(nnkit.zeros(0, 3).long())
    assert counts.shape == (0, 4) and counts.dtype is nnkit.int64


def test_levels_in_each_other() -> None:
    x = nnkit.arange(24).reshape(2, 3, 4) % 5

    def count(x: Any) -> Any:
        return nnkit.bincount(x, minlength=5)

    found = nnkit.vmap(nnkit.vmap(count, in_dims=1, out_dims=1))(x.transpose(1, 2))
    wanted = nnkit.stack([count(row) for row in x.reshape(6, 4)]).reshape(2, 3, 5)
    assert found.transpose(1, 2).equal(wanted)


def test_the_edges_of_histograms_are_those_of_each_example() -> None:
    x = nnkit.tensor([[0.0, 1.0, 2.0], [0.0, 2.0, 8.0]])
    found = nnkit.vmap(lambda x: nnkit.histogram(x, 2))(x)
    assert found.hist.tolist() == [[1.0, 2.0], [2.0, 1.0]]
    assert found.bin_edges.tolist() == [[0.0, 1.0, 2.0], [0.0, 4.0, 8.0]]


@pytest.mark.parametrize("n", [2, 5])
def test_the_counts_of_repeat_interleave_may_differ(n: int) -> None:
    x, repeats = nnkit.arange(3.0), nnkit.tensor([[1, 2, 0], [0, 0, 3]])
    found = nnkit.vmap(lambda r: nnkit.repeat_interleave(x * n, r))(repeats)
    assert found.tolist() == [[0.0, n, n], [2.0 * n] * 3]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding_idx", [None, 1])
def test_bags_of_each_example(mode: str, padding_idx: int | None, lib: ModuleType) -> None:
    indices = lib.tensor([[0, 1, 4, 2], [1, 1, 3, 0]])
    tables = lib.arange(30, dtype=lib.float64).reshape(2, 5, 3).sin()

    def loss(table: Any, indices: Any) -> Any:
        bags = lib.nn.functional.embedding_bag(
            indices, table, lib.tensor([0, 2]), mode=mode, padding_idx=padding_idx
        )
        return (bags**2).sum()

    found = lib.func.vmap(lib.func.grad(loss))(tables, indices)
    alone = [lib.func.grad(loss)(*each) for each in zip(tables, indices, strict=True)]
    assert found.abs().sum() > 0
    np.testing.assert_allclose(found.numpy(), lib.stack(alone).numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["slice_scatter", "select_scatter", "diagonal_scatter"])
def test_what_alone_differs_is_put_into_each(name: str, lib: ModuleType) -> None:
    put = {
        "slice_scatter": lambda x, y: lib.slice_scatter(x, y, 1, 1, 3),
        "select_scatter": lambda x, y: lib.select_scatter(x, y[:, 0], 1, 2),
        "diagonal_scatter": lambda x, y: lib.diagonal_scatter(x, y[:, 1]),
    }[name]
    x, y = lib.zeros(3, 4), lib.arange(24.0).reshape(2, 2, 3, 2)
    found = lib.func.vmap(lib.func.vmap(lambda y: put(x, y)), randomness="error")(y)
    for i in range(2):
        for j in range(2):
            assert found[i, j].equal(put(x, y[i, j]))


def test_a_loss_whose_input_alone_differs(lib: ModuleType) -> None:
    x, y, weight = lib.arange(12.0).reshape(3, 4).cos(), lib.ones(4) * 0.25, lib.arange(4.0)

    def loss(x: Any) -> Any:
        return lib.nn.functional.binary_cross_entropy_with_logits(x, y, weight, pos_weight=weight)

    found = lib.func.vmap(lib.func.grad_and_value(loss))(x)
    for column, alone in zip(
        found, zip(*[lib.func.grad_and_value(loss)(row) for row in x], strict=True), strict=True
    ):
        np.testing.assert_allclose(column.numpy(), lib.stack(alone).numpy(), 1e-6)


def test_a_value_to_fill_with_may_differ(lib: ModuleType) -> None:
    assert lib.func.vmap(lambda v: lib.fill(lib.zeros(2), v))(lib.arange(2.0)).tolist() == [
        [0.0, 0.0],
        [1.0, 1.0],
    ]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_parts_of_complex_numbers_lie_along_the_last_dimension(dim: int, lib: ModuleType) -> None:
    x = lib.arange(12.0).view(2, 3, 2)
    found = lib.func.vmap(lib.view_as_complex, dim)(x.movedim(0, dim))
    assert found.tolist() == lib.view_as_complex(x).tolist()
    with pytest.raises(RuntimeError, match="last dimension with stride 1"):
        lib.func.vmap(lib.view_as_complex, dim)(x.mT.contiguous().mT.movedim(0, dim))


# Each is right in the first example and wrong in the second.
WRONG = {
    "normal": lambda T, x: T.normal(0.0, x),
    "cholesky": lambda T, x: T.linalg.cholesky(T.diag_embed(x)),
    "inv": lambda T, x: T.linalg.inv(T.diag_embed(x + 1)),
    "solve": lambda T, x: T.linalg.solve(T.diag_embed(x + 1), x),
    "quantile": lambda T, x: T.quantile(x, x.abs() + x),
    "multi_margin_loss": lambda T, x: T.nn.functional.multi_margin_loss(x[None], x.long()[:1]),
    "a validated distribution": lambda T, x: T.distributions.Poisson(x).mean,
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_numbers_of_any_example_are_refused(name: str) -> None:
    good, bad = nnkit.tensor([0.5, 0.25]), nnkit.tensor([-1.0, 0.25])
    if name == "quantile":
        bad = nnkit.tensor([1.0, 0.25])
    WRONG[name](nnkit, good)
    with pytest.raises((RuntimeError, ValueError, IndexError)) as alone:
        WRONG[name](nnkit, bad)
    with pytest.raises(type(alone.value)):
        nnkit.vmap(lambda x: WRONG[name](nnkit, x), randomness="different")(
            nnkit.stack([good, bad])
        )
    nnkit.vmap(lambda x: WRONG[name](nnkit, x), randomness="different")(nnkit.stack([good, good]))


@pytest.mark.parametrize(
    "asked",
    [
        lambda lib, t: t.data,
        lambda lib, t: lib.tensor(t),
        lambda lib, t: t.new_tensor(t),
    ],
)
@pytest.mark.filterwarnings("ignore:To copy construct")
def test_an_example_is_not_looked_behind(lib: ModuleType, asked: Any) -> None:
    with pytest.raises(RuntimeError):
        lib.func.vmap(lambda t: asked(lib, t))(lib.ones(2, 3))


@pytest.mark.filterwarnings("ignore:.torch.jit")
def test_data_within_a_derivative_of_an_example(lib: ModuleType) -> None:
    f = lib.func
    found = f.vmap(f.grad(lambda t: (t.data * t).sum()))(lib.ones(2, 3))
    assert found.tolist() == [[1.0] * 3] * 2
    with pytest.raises(RuntimeError):
        f.jvp(f.vmap(lambda t: t.data), (lib.ones(2, 3),), (lib.ones(2, 3),))


def test_other_memory_is_refused_in_transforms() -> None:
    f, c = nnkit.func, nnkit.zeros(3)
    for run in (
        lambda: f.vmap(lambda t: t.clone().set_(c))(nnkit.ones(2, 3)),
        lambda: f.jvp(lambda t: t.clone().set_(c), (c,), (c,)),
    ):
        with pytest.raises(NotImplementedError, match=r"set_\(\): a tensor of a transform"):
            run()
