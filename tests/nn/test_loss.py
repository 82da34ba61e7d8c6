"""Loss layers, warnings of losses, and what the op table cannot say of them."""

from __future__ import annotations

import gc
import math
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises

F = nnkit.nn.functional


def arrays(lib: ModuleType, *shapes: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> list:
    random = np.random.RandomState(0)
    return [lib.tensor(random.uniform(low, high, shape)) for shape in shapes]


def labels(lib: ModuleType, *values: Any) -> Any:
    return lib.tensor(list(values))


# Layer, its arguments, and the inputs of one call.
LAYERS = [
    ("CrossEntropyLoss", {}, lambda lib: (*arrays(lib, (3, 4)), labels(lib, 0, 3, 1))),
    (
        "CrossEntropyLoss", {"ignore_index": 1, "reduction": "sum", "label_smoothing": 0.2},
        lambda lib: (*arrays(lib, (3, 4)), labels(lib, 0, 3, 1)),
    ),
    ("NLLLoss", {"reduction": "none"}, lambda lib: (*arrays(lib, (3, 4)), labels(lib, 0, 3, 1))),
    ("BCELoss", {}, lambda lib: arrays(lib, (3, 2), (3, 2), low=0.1, high=0.9)),
    ("BCEWithLogitsLoss", {}, lambda lib: arrays(lib, (3, 2), (3, 2))),
    ("KLDivLoss", {"reduction": "batchmean"}, lambda lib: arrays(lib, (3, 2), (3, 2), low=0.1)),
    (
        "KLDivLoss", {"reduction": "sum", "log_target": True},
        lambda lib: arrays(lib, (3, 2), (3, 2)),
    ),
    ("MSELoss", {}, lambda lib: arrays(lib, (3, 2), (3, 2))),
    ("L1Loss", {"reduction": "sum"}, lambda lib: arrays(lib, (3, 2), (3, 2))),
    ("SmoothL1Loss", {"beta": 0.5}, lambda lib: arrays(lib, (3, 2), (3, 2))),
    ("HuberLoss", {"delta": 0.5}, lambda lib: arrays(lib, (3, 2), (3, 2))),
    (
        "PoissonNLLLoss", {"log_input": False, "eps": 0.1},
        lambda lib: arrays(lib, (3,), (3,), low=1),
    ),
    ("GaussianNLLLoss", {"full": True}, lambda lib: arrays(lib, (3,), (3,), (3,), low=1)),
    ("SoftMarginLoss", {}, lambda lib: (*arrays(lib, (2,)), labels(lib, 1.0, -1.0))),
    (
        "MultiMarginLoss", {"p": 2, "margin": 0.5},
        lambda lib: (*arrays(lib, (2, 3)), labels(lib, 0, 2)),
    ),
    (
        "MultiLabelMarginLoss", {},
        lambda lib: (*arrays(lib, (2, 3)), labels(lib, [0, -1, 0], [2, 1, -1])),
    ),
    ("MultiLabelSoftMarginLoss", {}, lambda lib: arrays(lib, (2, 3), (2, 3))),
    ("HingeEmbeddingLoss", {"margin": 0.5}, lambda lib: (*arrays(lib, (2,)), labels(lib, 1, -1))),
    (
        "MarginRankingLoss", {"margin": 0.5},
        lambda lib: (*arrays(lib, (2,), (2,)), labels(lib, 1, -1)),
    ),
    (
        "CosineEmbeddingLoss", {"margin": 0.1},
        lambda lib: (*arrays(lib, (2, 3), (2, 3)), labels(lib, 1, -1)),
    ),
    (
        "TripletMarginLoss", {"margin": 2.0, "p": 1.0, "swap": True},
        lambda lib: arrays(lib, (2, 3), (2, 3), (2, 3)),
    ),
    (
        "TripletMarginWithDistanceLoss",
        {"margin": 2.0, "distance_function": lambda x, y: (x - y).abs().sum(-1)},
        lambda lib: arrays(lib, (2, 3), (2, 3), (2, 3)),
    ),
]  # fmt: skip


IDS = [f"{name}-{options}"[:60] for name, options, _ in LAYERS]


@pytest.mark.parametrize(("name", "options", "inputs"), LAYERS, ids=IDS)
def test_layer_is_torchs(torch: ModuleType, name: str, options: dict, inputs: Any) -> None:
    mine, theirs = getattr(nnkit.nn, name)(**options), getattr(torch.nn, name)(**options)
    assert repr(mine) == repr(theirs)
    public = {key for key in vars(theirs) if not key.startswith("_")}
    assert {key for key in vars(mine) if not key.startswith("_")} == public
    out, wanted = mine(*inputs(nnkit)), theirs(*inputs(torch))
    np.testing.assert_allclose(out.numpy(), wanted.numpy(), rtol=1e-11)


def test_linear_cross_entropy(torch: ModuleType) -> None:
    texts, losses = [], []
    for lib in (nnkit, torch):
        lib.manual_seed(0)
        layer = lib.nn.LinearCrossEntropyLoss(4, 3, out_features=(2,), bias=True, ignore_index=1)
        texts.append(repr(layer))
        losses.append(layer(lib.randn(2, 4), labels(lib, [0, 2], [1, 2])).item())
    assert texts[0] == texts[1]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    with pytest.raises(RuntimeError, match="weight"):
        nnkit.nn.LinearCrossEntropyLoss(4, 3, weight=nnkit.ones(2))
    with pytest.raises(RuntimeError, match="label_smoothing"):
        nnkit.nn.LinearCrossEntropyLoss(4, 3, label_smoothing=2.0)


def test_options_of_linear_cross_entropy(lib: ModuleType) -> None:
    options = lib.nn.LinearCrossEntropyOptions
    assert options() == options(chunking_method="auto") and hash(options())
    assert repr(options(batch_chunk_size=2)) == (
        "LinearCrossEntropyOptions(allow_retain_graph=False, batch_chunk_size=2, "
        "chunking_method='auto', acc_policy='auto', acc_dtype=None)"
    )
    for words, wrong in (
        ("batch_chunk_size must be positive int or None, got 0", {"batch_chunk_size": 0}),
        ("invalid chunking_method: 'aspect_ratio:0'", {"chunking_method": "aspect_ratio:0"}),
        ("invalid acc_policy: 'x'", {"acc_policy": "x"}),
        ("acc_dtype must be one of", {"acc_dtype": lib.int64}),
    ):
        with pytest.raises(ValueError, match=words):
            options(**wrong)
    x, w, y = lib.ones(4, 3), lib.eye(3), lib.tensor([0, 1, 2, 0])
    function = lib.nn.functional.linear_cross_entropy
    found = function(x, w, y, options=options(chunking_method="aspect_ratio:2"))
    assert found.item() == pytest.approx(function(x, w, y).item(), rel=1e-6)


@pytest.mark.parametrize(
    "name", ["CrossEntropyLoss", "NLLLoss", "BCELoss", "BCEWithLogitsLoss", "MultiMarginLoss",
             "MultiLabelSoftMarginLoss"],
)  # fmt: skip
def test_weight_is_a_buffer(lib: ModuleType, name: str) -> None:
    weight = lib.tensor([1.0, 2.0])
    layer = getattr(lib.nn, name)(weight=weight)
    assert list(layer.state_dict()) == ["weight"] and layer.weight is weight
    assert list(getattr(lib.nn, name)().state_dict()) == []


def test_pos_weight_is_a_buffer(lib: ModuleType) -> None:
    layer = lib.nn.BCEWithLogitsLoss(pos_weight=lib.tensor([3.0]))
    assert list(layer.state_dict()) == ["pos_weight"]
    assert layer(lib.tensor([0.0]), lib.tensor([1.0])).item() == pytest.approx(3 * np.log(2))


@pytest.mark.parametrize(
    ("size_average", "reduce", "reduction"),
    [(None, True, "mean"), (True, None, "mean"), (False, None, "sum"), (False, True, "sum"),
     (None, False, "none"), (True, False, "none")],
)  # fmt: skip
def test_old_arguments(
    lib: ModuleType, size_average: bool | None, reduce: bool | None, reduction: str
) -> None:
    with pytest.warns(UserWarning, match=f"reduction='{reduction}'"):
        assert lib.nn.MSELoss(size_average, reduce).reduction == reduction
    x, y = lib.tensor([1.0, 2.0]), lib.tensor([3.0, 2.5])
    with pytest.warns(UserWarning, match=f"reduction='{reduction}'"):
        out = lib.nn.functional.mse_loss(x, y, size_average, reduce)
    assert out.tolist() == lib.nn.functional.mse_loss(x, y, reduction=reduction).tolist()


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_two_shapes_are_warned_of(lib: ModuleType, name: str) -> None:
    loss = getattr(lib.nn.functional, name)
    with pytest.warns(UserWarning, match=r"size.*\[3\].*input size.*\[3, 1\]") as seen:
        out = loss(lib.zeros(3, 1), lib.ones(3), reduction="none")
    assert out.shape == (3, 3)
    if lib is nnkit:
        assert seen[0].filename == __file__


def test_two_shapes_are_an_error_in_strict_mode() -> None:
    nnkit.set_strict(True)
    try:
        assert nnkit.is_strict()
        with pytest.raises(RuntimeError, match=r"mse_loss.*\[3\].*\[3, 1\]"):
            F.mse_loss(nnkit.zeros(3, 1), nnkit.zeros(3))
    finally:
        nnkit.set_strict(False)
    assert not nnkit.is_strict()


def test_kl_div_warns_of_the_mean(lib: ModuleType) -> None:
    with pytest.warns(UserWarning, match="batchmean"):
        lib.nn.functional.kl_div(lib.zeros(2), lib.ones(2))


def test_a_vector_of_one_label(lib: ModuleType) -> None:
    x = lib.tensor([1.0, 2.0, 3.0])
    for loss in (lib.nn.functional.cross_entropy, lib.nn.functional.nll_loss):
        assert loss(x, lib.tensor([1])).item() == loss(x, lib.tensor(1)).item()


def test_the_old_name_of_nll_loss(lib: ModuleType) -> None:
    with pytest.warns(FutureWarning, match="NLLLoss"):
        layer = lib.nn.NLLLoss2d()
    assert isinstance(layer, lib.nn.NLLLoss)


def test_weights_are_not_differentiable(lib: ModuleType) -> None:
    x, y = lib.zeros(2, 3), lib.tensor([0, 1])
    weight = lib.ones(3, requires_grad=True)
    for name in ("cross_entropy", "nll_loss"):
        with raises(lib, RuntimeError, "argument 'weight'"):
            getattr(lib.nn.functional, name)(x, y, weight)


def test_soft_margin_overflows_with_its_exponential(lib: ModuleType) -> None:
    x = lib.tensor([-200.0, 200.0], requires_grad=True)
    loss = lib.nn.functional.soft_margin_loss(x, lib.ones(2), reduction="none")
    assert loss.tolist() == [float("inf"), 0.0]
    loss.sum().backward()
    assert math.isnan(x.grad[0]) and x.grad[1] == 0


@pytest.mark.parametrize("name", ["MultiMarginLoss", "TripletMarginLoss"])
def test_arguments_are_checked(lib: ModuleType, name: str) -> None:
    with raises(lib, ValueError, "p == 1|margin"):
        getattr(lib.nn, name)(**({"p": 3} if name == "MultiMarginLoss" else {"margin": 0}))


def test_multi_margin_weight_must_be_a_vector(lib: ModuleType) -> None:
    with raises(lib, ValueError, "1D"):
        lib.nn.MultiMarginLoss(weight=lib.ones(2, 2))


def test_one_node_for_one_loss(lib: ModuleType) -> None:
    x = lib.zeros(2, 3, requires_grad=True)
    loss = lib.nn.functional.cross_entropy(x, lib.tensor([0, 2]))
    assert type(loss.grad_fn).__name__ == "NllLossBackward0"
    if lib is nnkit:
        assert loss.grad_fn.next_functions[0][0].variable is x


def test_writing_into_the_scores_after_the_loss_is_no_error() -> None:
    x: Any = nnkit.zeros(2, 3, requires_grad=True)
    scores = x * 1
    loss = F.cross_entropy(scores, nnkit.tensor([0, 2]))
    scores.mul_(5)
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy()[0], [-1 / 3, 1 / 6, 1 / 6], rtol=1e-6)


def test_third_derivative_of_cross_entropy(torch: ModuleType) -> None:
    def third(lib: ModuleType) -> Any:
        (x,) = arrays(lib, (3, 4))
        x.requires_grad_()
        loss = lib.nn.functional.cross_entropy(x, labels(lib, 0, 3, 1), label_smoothing=0.1)
        for power in (2, 3):
            (grad,) = lib.autograd.grad(loss, x, create_graph=True)
            loss = (grad**power).sum()
        (grad,) = lib.autograd.grad(loss, x)
        return grad.numpy()

    np.testing.assert_allclose(third(nnkit), third(torch), rtol=1e-10)


def test_memory_is_flat_without_the_garbage_collector() -> None:
    x, y = nnkit.zeros(4, 3, requires_grad=True), nnkit.tensor([0, 1, 2, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
        gc.disable()
        try:
            for _ in range(3):
                F.cross_entropy(x, y).backward()
            before = len(gc.get_objects())
            for _ in range(50):
                F.cross_entropy(x, y).backward()
            assert len(gc.get_objects()) - before < 10
        finally:
            gc.enable()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_labels_in_half_precision(dtype: str, reduction: str, torch: ModuleType) -> None:
    """What torch rounds between its operations, and in which order it adds up losses."""

    def found(T: Any) -> list:
        T.manual_seed(3)
        results = []
        for count in (1, 7, 17, 300):
            x = (T.randn(count, 6) * 3).to(getattr(T, dtype)).requires_grad_()
            labels, weight = T.randint(0, 6, (count,)), T.rand(6).to(x.dtype)
            for options in (
                {}, {"weight": weight}, {"ignore_index": 2}, {"weight": weight, "ignore_index": 2},
                {"label_smoothing": 0.1}, {"label_smoothing": 0.1, "weight": weight},
            ):  # fmt: skip
                loss = T.nn.functional.cross_entropy(x, labels, reduction=reduction, **options)
                (gradient,) = T.autograd.grad(loss.sum(), x)
                results += [loss.tolist(), gradient.tolist()]
            results.append(T.nn.functional.nll_loss(x, labels, reduction=reduction).tolist())
        return results

    for mine, other in zip(found(nnkit), found(torch), strict=True):
        assert np.asarray(mine) == pytest.approx(np.asarray(other), nan_ok=True, rel=1e-7)
