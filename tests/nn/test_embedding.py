"""Embedding layers: first numbers, padding, norms, and their gradients."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises

LAYERS = [
    ("Embedding", (10, 3), {}),
    ("Embedding", (5, 4), {"padding_idx": 2}),
    ("Embedding", (5, 4), {"padding_idx": -1, "max_norm": 1.0, "norm_type": 1.0}),
    ("Embedding", (5, 4), {"scale_grad_by_freq": True, "sparse": True}),
    ("EmbeddingBag", (10, 3), {}),
    ("EmbeddingBag", (5, 4), {"mode": "sum", "padding_idx": -2, "norm_type": 3.0, "max_norm": 2.0}),
    ("EmbeddingBag", (5, 4), {"mode": "max"}),
    ("EmbeddingBag", (5, 4), {"mode": "sum", "scale_grad_by_freq": True}),
]


@pytest.mark.parametrize(("name", "args", "options"), LAYERS, ids=str)
def test_first_table_and_picture_are_torchs(
    torch: ModuleType, name: str, args: tuple, options: dict
) -> None:
    layers = []
    for lib in (nnkit, torch):
        lib.manual_seed(3)
        layers.append(getattr(lib.nn, name)(*args, **options))
    mine, theirs = layers
    assert repr(mine) == repr(theirs)
    assert list(mine.state_dict()) == list(theirs.state_dict()) == ["weight"]
    # `randn` agrees to the last bit or two of float32.
    np.testing.assert_allclose(
        mine.weight.detach().numpy(), theirs.weight.detach().numpy(), rtol=2e-6, atol=1e-7
    )
    public = {key for key in vars(theirs) if not key.startswith("_")}
    assert {key for key in vars(mine) if not key.startswith("_")} == public


def table(lib: ModuleType, rows: int = 4) -> Any:
    return lib.tensor(np.random.RandomState(0).uniform(-2, 2, (rows, 3)))


def test_padding_gets_no_gradient(lib: ModuleType) -> None:
    layer = lib.nn.Embedding(4, 2, padding_idx=1)
    assert layer.weight[1].tolist() == [0, 0]
    layer(lib.tensor([[0, 1], [1, 3]])).sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [0, 0], [0, 0], [1, 1]]


def test_gradient_divided_by_frequency(lib: ModuleType) -> None:
    layer = lib.nn.Embedding(3, 1, scale_grad_by_freq=True)
    layer(lib.tensor([0, 1, 1, 1])).sum().backward()
    assert layer.weight.grad.tolist() == [[1], [1], [0]]


def test_gradient_divided_by_frequency_in_bags() -> None:
    # torch 2.13 divides by another index' frequency here.
    layer: Any = nnkit.nn.EmbeddingBag(4, 1, mode="sum", scale_grad_by_freq=True)
    layer(nnkit.tensor([[3, 1], [1, 2]])).sum().backward()
    assert layer.weight.grad.tolist() == [[0], [1], [1], [1]]


def test_long_rows_are_scaled_in_place(lib: ModuleType) -> None:
    weight = lib.tensor([[3.0, 4.0], [6.0, 8.0], [0.3, 0.4]])
    layer = lib.nn.Embedding.from_pretrained(weight, freeze=False, max_norm=1.0)
    out = layer(lib.tensor([0, 2]))
    np.testing.assert_allclose(out.detach().numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
    np.testing.assert_allclose(weight.numpy(), [[0.6, 0.8], [6, 8], [0.3, 0.4]], rtol=1e-6)
    out.sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [0, 0], [1, 1]]


def test_from_pretrained(lib: ModuleType) -> None:
    weight = table(lib)
    frozen = lib.nn.Embedding.from_pretrained(weight)
    assert not frozen.weight.requires_grad and (frozen.num_embeddings, frozen.embedding_dim) == (
        4,
        3,
    )
    assert frozen.weight.data_ptr() == weight.data_ptr()
    learned = lib.nn.EmbeddingBag.from_pretrained(weight, freeze=False, mode="sum")
    assert learned.weight.requires_grad and learned.mode == "sum"
    for layer in (lib.nn.Embedding, lib.nn.EmbeddingBag):
        with raises(lib, AssertionError, "2-dimensional"):
            layer.from_pretrained(lib.zeros(3))


def test_wrong_arguments(lib: ModuleType) -> None:
    for layer in (lib.nn.Embedding, lib.nn.EmbeddingBag):
        for padding in (4, -5):
            with raises(lib, AssertionError, "padding_idx"):
                layer(4, 2, padding_idx=padding)
        with raises(lib, AssertionError, r"\[2, 2\]"):
            layer(4, 2, _weight=lib.zeros(2, 2))


def test_an_index_outside_names_itself(lib: ModuleType) -> None:
    with raises(lib, IndexError, "index out of range in self: 9 .* 4 rows"):
        lib.nn.Embedding(4, 2)(lib.tensor([1, 9]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_are_sums_of_rows(lib: ModuleType, mode: str) -> None:
    weight = table(lib)
    layer = lib.nn.EmbeddingBag.from_pretrained(weight, freeze=False, mode=mode)
    out = layer(lib.tensor([0, 1, 1, 3]), lib.tensor([0, 3, 3]))
    rows = weight.numpy()[[0, 1, 1]]
    reduce = {"sum": rows.sum(0), "mean": rows.mean(0), "max": rows.max(0)}[mode]
    np.testing.assert_allclose(out.detach().numpy(), [reduce, np.zeros(3), weight.numpy()[3]])


def test_training_an_embedding_is_torchs(torch: ModuleType) -> None:
    index = np.random.RandomState(1).randint(0, 50, (8, 12))

    def train(lib: ModuleType) -> Any:
        lib.manual_seed(0)
        layer = lib.nn.Embedding(50, 6, padding_idx=0)
        layer.load_state_dict({"weight": lib.tensor(table(lib, 100).numpy().reshape(50, 6))})
        optimizer = lib.optim.SGD(layer.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            layer(lib.tensor(index)).pow(2).sum().backward()
            optimizer.step()
        return layer.weight.detach().numpy()

    np.testing.assert_allclose(train(nnkit), train(torch), rtol=1e-5, atol=1e-6)


def test_the_table_before_the_indices_is_deprecated(lib: ModuleType) -> None:
    bag, table, index = lib.nn.functional.embedding_bag, lib.eye(3), lib.tensor([0, 1, 1])
    options = {"mode": "sum", "per_sample_weights": lib.tensor([1.0, 2.0, 3.0])}
    with pytest.warns(UserWarning, match="deprecated"):
        found = bag(table, index, lib.tensor([0, 2]), **options)
    assert found.tolist() == [[1, 2, 0], [0, 3, 0]]


def pooled(T: ModuleType, seed: int) -> list[np.ndarray]:
    """A random table's bags, some of which have padding between their rows, and its gradient."""
    draw = random.Random(seed)
    count, columns, length = draw.randint(1, 6), draw.randint(1, 3), draw.randint(0, 9)
    indices = T.tensor([draw.randrange(count) for _ in range(length)], dtype=T.int64)
    offsets = sorted([0, *[draw.randint(0, length) for _ in range(draw.randint(0, 3))]])
    values = [[float(draw.randint(-2, 2)) for _ in range(columns)] for _ in range(count)]
    table = T.tensor(values, requires_grad=True)
    out = T.nn.functional.embedding_bag(
        indices, table, T.tensor(offsets), mode=draw.choice(("sum", "mean", "max")),
        padding_idx=draw.choice((None, draw.randrange(count))),
    )  # fmt: skip
    (grad,) = T.autograd.grad((out * T.arange(float(out.numel())).reshape(out.shape)).sum(), table)
    return [out.detach().numpy(), grad.numpy()]


def test_random_bags(torch: ModuleType) -> None:
    for seed in range(100):
        for ours, theirs in zip(pooled(nnkit, seed), pooled(torch, seed), strict=True):
            np.testing.assert_allclose(ours, theirs, 1e-6, err_msg=str(seed))
