"""CTC loss: values and gradients are torch's, in every form of its arguments."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises


def sequences(steps: int, count: int, classes: int, labels: int) -> dict[str, np.ndarray]:
    random = np.random.RandomState(steps)
    return {
        "scores": random.randn(steps, count, classes),
        "targets": random.randint(1, classes, (count, labels)),
        "input_lengths": random.randint(1, steps + 1, count),
        "target_lengths": random.randint(0, labels + 1, count),
    }


def loss_and_gradient(lib: ModuleType, data: dict, blank: int, reduction: str, zero: bool) -> list:
    scores = lib.tensor(data["scores"]).requires_grad_()
    targets = data["targets"] if blank == 0 else data["targets"] - 1
    lengths = lib.tensor(data["input_lengths"]), lib.tensor(data["target_lengths"])
    loss = lib.nn.functional.ctc_loss(
        scores.log_softmax(2), lib.tensor(targets), *lengths, blank, reduction, zero
    )
    if not bool(lib.isfinite(loss).all()):
        return [loss.detach().numpy()]
    (grad,) = lib.autograd.grad(loss.sum(), scores)
    return [loss.detach().numpy(), grad.numpy()]


@pytest.mark.parametrize("sizes", [(6, 2, 4, 2), (12, 5, 6, 4), (3, 3, 3, 2), (20, 4, 5, 7)])
def test_loss_is_torchs(torch: ModuleType, sizes: tuple[int, int, int, int]) -> None:
    data = sequences(*sizes)
    forms = itertools.product((0, sizes[2] - 1), ("mean", "sum", "none"), (False, True))
    for blank, reduction, zero in forms:
        mine = loss_and_gradient(nnkit, data, blank, reduction, zero)
        theirs = loss_and_gradient(torch, data, blank, reduction, zero)
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_a_blank_among_the_labels(torch: ModuleType) -> None:
    data = {
        **sequences(6, 3, 4, 3), "targets": np.array([[1, 0, 2], [0, 2, 3], [2, 0, 0]]),
        "input_lengths": np.array([6, 3, 5]), "target_lengths": np.array([3, 3, 1]),
    }  # fmt: skip
    mine, theirs = (loss_and_gradient(lib, data, 0, "none", False) for lib in (nnkit, torch))
    assert len(mine) == 2
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def uniform(lib: ModuleType, steps: int = 6) -> Any:
    return lib.full((steps, 2, 4), 0.25).log()


def test_forms_of_the_targets(lib: ModuleType) -> None:
    loss = lib.nn.functional.ctc_loss
    padded = loss(uniform(lib), lib.tensor([[1, 2], [3, 1]]), (6, 5), (2, 1), reduction="none")
    flat = loss(uniform(lib), lib.tensor([1, 2, 3]), (6, 5), (2, 1), reduction="none")
    assert padded.tolist() == flat.tolist()
    one = loss(uniform(lib)[:, 0], lib.tensor([1, 2]), lib.tensor(6), lib.tensor(2))
    assert one.item() == pytest.approx(padded[0].item() / 2)


def test_a_target_that_does_not_fit(lib: ModuleType) -> None:
    loss = lib.nn.functional.ctc_loss
    # A label that is repeated needs a blank in between: three steps.
    arguments = lib.tensor([[1, 1], [3, 1]]), (2, 3), (2, 1)
    assert loss(uniform(lib), *arguments, reduction="none")[0].item() == float("inf")
    assert loss(uniform(lib), *arguments, reduction="none", zero_infinity=True)[0].item() == 0


def test_layer(lib: ModuleType) -> None:
    layer = lib.nn.CTCLoss(blank=3, reduction="sum", zero_infinity=True)
    assert repr(layer) == "CTCLoss()"
    arguments = lib.tensor([[1, 2], [0, 1]]), (6, 5), (2, 1)
    expected = lib.nn.functional.ctc_loss(uniform(lib), *arguments, 3, "sum", True)
    assert layer(uniform(lib), *arguments).item() == expected.item()


@pytest.mark.parametrize(
    ("change", "noun"),
    [
        ({"blank": 4}, "blank"),
        ({"input_lengths": (7, 5)}, "input_lengths.*7"),
        ({"input_lengths": (6,)}, "batch_size 2"),
        ({"target_lengths": (3, 1)}, "targets"),
        ({"targets": [1, 2]}, "targets"),
    ],
)
def test_wrong_arguments(lib: ModuleType, change: dict, noun: str) -> None:
    arguments: dict[str, Any] = {
        "targets": [[1, 2], [3, 1]], "input_lengths": (6, 5), "target_lengths": (2, 1), **change,
    }  # fmt: skip
    arguments["targets"] = lib.tensor(arguments["targets"])
    with raises(lib, RuntimeError, noun):
        lib.nn.functional.ctc_loss(uniform(lib), **arguments)


def test_a_label_that_is_no_class() -> None:
    with pytest.raises(IndexError, match="target 9 .* 4 classes"):
        nnkit.nn.functional.ctc_loss(uniform(nnkit), nnkit.tensor([[1], [9]]), (6, 5), (1, 1))


def test_no_second_derivative(lib: ModuleType) -> None:
    x = uniform(lib).requires_grad_()
    loss = lib.nn.functional.ctc_loss(x, lib.tensor([[1], [2]]), (6, 5), (1, 1))
    (grad,) = lib.autograd.grad(loss, x, create_graph=True)
    with raises(lib, RuntimeError, "second derivative"):
        lib.autograd.grad(grad.sum(), x)
