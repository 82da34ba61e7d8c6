"""Normalization layers: their state, running statistics, training and evaluation."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises


def batch(lib: ModuleType, *shape: int, seed: int = 0) -> Any:
    return lib.tensor(np.random.RandomState(seed).uniform(-2, 3, shape))


# Layer, its arguments, and the shape of one input.
LAYERS: list[tuple[str, tuple, dict, tuple[int, ...]]] = [
    ("BatchNorm1d", (4,), {}, (5, 4)),
    ("BatchNorm1d", (4,), {"momentum": None}, (5, 4, 3)),
    ("BatchNorm1d", (4,), {"bias": False, "eps": 0.1, "momentum": 0.5}, (5, 4)),
    ("BatchNorm2d", (4,), {"affine": False}, (2, 4, 3, 3)),
    ("BatchNorm2d", (4,), {"track_running_stats": False}, (2, 4, 3, 3)),
    ("BatchNorm3d", (4,), {}, (2, 4, 2, 2, 2)),
    ("InstanceNorm1d", (4,), {}, (2, 4, 3)),
    ("InstanceNorm1d", (4,), {"affine": True, "track_running_stats": True}, (4, 3)),
    ("InstanceNorm2d", (4,), {"track_running_stats": True, "momentum": 0.3}, (2, 4, 3, 3)),
    ("InstanceNorm3d", (4,), {"affine": True, "bias": False}, (2, 4, 2, 2, 2)),
    ("LazyBatchNorm1d", (), {}, (5, 4)),
    ("LazyBatchNorm2d", (), {"affine": False}, (2, 4, 3, 3)),
    ("LazyBatchNorm3d", (), {}, (2, 4, 2, 2, 2)),
    ("LazyInstanceNorm1d", (), {}, (2, 4, 3)),
    ("LazyInstanceNorm2d", (), {"track_running_stats": False}, (2, 4, 3, 3)),
    ("LazyInstanceNorm3d", (), {}, (2, 4, 2, 2, 2)),
    ("LayerNorm", (4,), {}, (3, 4)),
    ("LayerNorm", ((3, 4),), {"eps": 0.1, "bias": False}, (2, 3, 4)),
    ("LayerNorm", (4,), {"elementwise_affine": False}, (3, 4)),
    ("GroupNorm", (2, 4), {}, (3, 4, 2)),
    ("GroupNorm", (2, 4), {"affine": False}, (3, 4, 2)),
    ("GroupNorm", (2, 4), {"bias": False}, (3, 4, 2)),
    ("RMSNorm", (4,), {}, (3, 4)),
    ("RMSNorm", ([3, 4],), {"eps": 0.1, "elementwise_affine": False}, (2, 3, 4)),
    ("LocalResponseNorm", (3,), {"alpha": 0.1}, (2, 4, 3)),
]


def run(lib: ModuleType, name: str, args: tuple, options: dict, shape: tuple[int, ...]) -> list:
    """Everything a layer says and does in two training steps and an evaluation."""
    layer = getattr(lib.nn, name)(*args, **options)
    log: list[Any] = [repr(layer), list(layer.state_dict())]
    layer = layer.double() if not name.startswith("Lazy") else layer
    cast = lib.float32 if name.startswith("Lazy") else lib.float64
    for seed in range(2):
        x = batch(lib, *shape, seed=seed).to(cast).requires_grad_()
        out = layer(x)
        (out * out.detach().cos()).sum().backward()
        log += [out.detach().numpy(), x.grad.numpy()]
    log += [p.grad.numpy() for p in layer.parameters()]
    log += [value.numpy() for value in layer.state_dict().values()]
    layer.eval()
    x = batch(lib, *shape, seed=2).to(cast).requires_grad_()
    out = layer(x)
    out.sum().backward()
    log += [out.detach().numpy(), x.grad.numpy(), repr(layer)]
    log += [value.numpy() for value in layer.state_dict().values()]
    return log


@pytest.mark.parametrize(
    ("name", "args", "options", "shape"), LAYERS, ids=[f"{e[0]}-{i}" for i, e in enumerate(LAYERS)]
)
def test_layer_is_torchs(
    torch: ModuleType, name: str, args: tuple, options: dict, shape: tuple[int, ...]
) -> None:
    mine, theirs = (run(lib, name, args, options, shape) for lib in (nnkit, torch))
    assert len(mine) == len(theirs)
    rtol, atol = (2e-5, 2e-6) if name.startswith("Lazy") else (1e-9, 1e-12)
    for ours, wanted in zip(mine, theirs, strict=True):
        if isinstance(wanted, np.ndarray):
            assert ours.dtype == wanted.dtype
            np.testing.assert_allclose(ours, wanted, rtol, atol)
        else:
            assert ours == wanted


def test_running_statistics(lib: ModuleType) -> None:
    layer = lib.nn.BatchNorm1d(1)
    layer(lib.tensor([[1.0], [3.0]]))
    assert layer.running_mean.tolist() == pytest.approx([0.2])
    assert layer.running_var.tolist() == pytest.approx([0.9 + 0.1 * 2])  # unbiased
    assert layer.num_batches_tracked.item() == 1
    version = layer.running_mean._version
    layer.eval()
    layer(lib.tensor([[7.0]]))
    assert layer.num_batches_tracked.item() == 1 and layer.running_mean._version == version
    layer.reset_running_stats()
    assert layer.running_mean.tolist() == [0] and layer.running_var.tolist() == [1]
    assert layer.num_batches_tracked.item() == 0


def test_mean_of_all_batches(lib: ModuleType) -> None:
    layer = lib.nn.BatchNorm1d(1, momentum=None)
    for value in (1.0, 3.0, 8.0):
        layer(lib.tensor([[value], [value]]))
    assert layer.running_mean.item() == pytest.approx(4.0)


def test_evaluation_is_differentiated_with_the_statistics_it_used() -> None:
    layer: Any = nnkit.nn.BatchNorm1d(1, eps=0.0).eval()
    x: Any = nnkit.tensor([[1.0], [2.0]], requires_grad=True)
    out = layer(x)
    layer.eps = 1e-5
    layer.train()(nnkit.tensor([[1.0], [9.0]]))
    assert layer.running_var.item() != 1
    out.sum().backward()
    assert x.grad.tolist() == [[1.0], [1.0]] and layer.weight.grad.tolist() == [3.0]


@pytest.mark.parametrize(
    ("name", "shape"),
    [("BatchNorm1d", (2, 3, 4, 5)), ("BatchNorm2d", (2, 3, 4)), ("BatchNorm3d", (2, 3)),
     ("InstanceNorm1d", (3,)), ("InstanceNorm2d", (2, 3)), ("InstanceNorm3d", (2, 3, 4))],
)  # fmt: skip
def test_wrong_dimensions(lib: ModuleType, name: str, shape: tuple[int, ...]) -> None:
    with raises(lib, ValueError, f"{name}.*got {len(shape)}D"):
        getattr(lib.nn, name)(3)(lib.zeros(*shape))


def test_wrong_arguments(lib: ModuleType) -> None:
    with raises(lib, ValueError, "4.*divisible.*3"):
        lib.nn.GroupNorm(3, 4)
    with raises(lib, ValueError, "more than 1 value"):
        lib.nn.BatchNorm1d(3)(lib.zeros(1, 3))
    with raises(lib, ValueError, "num_features.*4"):
        lib.nn.InstanceNorm1d(3, affine=True)(lib.zeros(2, 4, 5))


def test_a_state_from_before_the_counter_can_be_loaded(lib: ModuleType) -> None:
    layer = lib.nn.BatchNorm1d(2)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    state._metadata[""]["version"] = 1
    layer.load_state_dict(state)
    state._metadata[""]["version"] = 2
    with raises(lib, RuntimeError, "num_batches_tracked"):
        layer.load_state_dict(state)


def test_such_a_state_gives_a_layer_without_memory_its_counter(lib: ModuleType) -> None:
    layer = lib.nn.BatchNorm1d(2)
    state = {k: v for k, v in layer.state_dict().items() if k != "num_batches_tracked"}
    layer.to("meta").load_state_dict(state, assign=True)
    assert layer.num_batches_tracked.tolist() == 0
    assert layer.num_batches_tracked.dtype == lib.int64


def test_half_precision_keeps_its_statistics_exact(lib: ModuleType) -> None:
    x = (batch(lib, 64, 3) + 100).half()
    wanted = nnkit.nn.functional.layer_norm(nnkit.tensor(x.float().numpy()), (3,))
    out = lib.nn.functional.layer_norm(x, (3,))
    assert out.dtype is lib.float16
    np.testing.assert_allclose(out.float().numpy(), wanted.numpy(), atol=2e-3)


def test_a_bias_alone() -> None:
    x = batch(nnkit, 2, 4, 3)
    bias: Any = nnkit.ones(4, dtype=nnkit.float64, requires_grad=True)
    out = nnkit.nn.functional.group_norm(x, 2, None, bias)
    np.testing.assert_allclose(
        out.detach().numpy(), nnkit.nn.functional.group_norm(x, 2).numpy() + 1
    )
    out.sum().backward()
    assert bias.grad.tolist() == [6.0] * 4


@pytest.mark.parametrize("name", ["CosineSimilarity", "PairwiseDistance"])
def test_distances(torch: ModuleType, name: str) -> None:
    mine, theirs = getattr(nnkit.nn, name)(), getattr(torch.nn, name)()
    assert repr(mine) == repr(theirs)
    out = mine(batch(nnkit, 3, 4), batch(nnkit, 3, 4, seed=1))
    wanted = theirs(batch(torch, 3, 4), batch(torch, 3, 4, seed=1))
    np.testing.assert_allclose(out.numpy(), wanted.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Softmin"])
def test_softmax_layers(lib: ModuleType, name: str) -> None:
    x = batch(lib, 2, 3)
    layer = getattr(lib.nn, name)(dim=1)
    assert repr(layer) == f"{name}(dim=1)"
    function = {"Softmax": "softmax", "LogSoftmax": "log_softmax", "Softmin": "softmin"}[name]
    expected = getattr(lib.nn.functional, function)(x, dim=1)
    assert layer(x).tolist() == expected.tolist()
    with pytest.warns(UserWarning, match="Implicit dimension choice"):
        assert getattr(lib.nn, name)()(x).tolist() == expected.tolist()
    with pytest.warns(UserWarning, match="Implicit dimension choice"):
        out = getattr(lib.nn.functional, function)(batch(lib, 2, 3, 4))
    wanted = getattr(lib.nn.functional, function)(batch(lib, 2, 3, 4), dim=0)
    assert out.tolist() == wanted.tolist()


def test_softmax2d(lib: ModuleType) -> None:
    x = batch(lib, 2, 3, 4, 4)
    np.testing.assert_allclose(lib.nn.Softmax2d()(x).sum(1).numpy(), np.ones((2, 4, 4)))
    with raises(lib, ValueError, "got 2D"):
        lib.nn.Softmax2d()(lib.zeros(2, 3))


def test_eps_in_training(lib: ModuleType) -> None:
    x = lib.ones(2, 3)
    with raises(lib, ValueError, "eps must be positive during training, got 0"):
        lib.nn.BatchNorm1d(3, eps=0)(x)
    assert lib.nn.BatchNorm1d(3, eps=0).eval()(x).tolist() == x.tolist()


def test_training_counts_by_its_truth(lib: ModuleType) -> None:
    layer = lib.nn.BatchNorm1d(3)
    layer.training = "yes"
    layer(lib.ones(2, 3))
    assert layer.num_batches_tracked.item() == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "apply",
    [
        lambda F, x, w, b, m, v: F.layer_norm(x, (4,), w, b),
        lambda F, x, w, b, m, v: F.group_norm(x, 2, w, b),
        lambda F, x, w, b, m, v: F.rms_norm(x, (4,), w) + 0 * b.sum().to(x.dtype),
        lambda F, x, w, b, m, v: F.batch_norm(x, m, v, w, b, False),
        lambda F, x, w, b, m, v: F.batch_norm(x, m, v, w, b, True),
        lambda F, x, w, b, m, v: F.instance_norm(x, m, v, w, b, False),
        lambda F, x, w, b, m, v: F.instance_norm(x, m, v, w, b, True),
        lambda F, x, w, b, m, v: F.instance_norm(x, m.to(x.dtype), v.to(x.dtype), w, b, True),
    ],
)
def test_wide_parameters_of_half_precision_are_not_rounded(dtype: str, apply: Any) -> None:
    """The result is that of wide numbers, rounded once, and so are the input's gradients."""
    kind = getattr(nnkit, dtype)
    nnkit.manual_seed(0)
    half = nnkit.randn(3, 4, 5, 4).to(kind)
    given = [nnkit.randn(4), nnkit.randn(4), nnkit.randn(4), nnkit.rand(4)]
    found = []
    for x in (half, half.float()):
        x = x.detach().clone().requires_grad_()
        weight, bias, mean, var = (t.clone() for t in given)
        weight.requires_grad_()
        bias.requires_grad_()
        out = apply(nnkit.nn.functional, x, weight, bias, mean, var)
        out.backward(nnkit.ones_like(out) * 0.5)
        assert x.grad is not None
        found.append([out.to(kind).float(), x.grad.to(kind).float(), weight.grad, bias.grad])
    for narrow, wide in zip(*found, strict=True):
        np.testing.assert_allclose(narrow.detach().numpy(), wide.detach().numpy(), 1e-3, 1e-2)
        assert (narrow == wide).float().mean() > 0.9


@pytest.mark.parametrize(("channels", "size"), [(3, 5), (9, 3), (8, 4), (4, 1)])
def test_cross_map_normalization(torch: ModuleType, channels: int, size: int) -> None:
    def run(lib: ModuleType) -> Any:
        layer = lib.nn.CrossMapLRN2d(size, alpha=0.5, beta=0.6, k=1.5)
        return repr(layer), layer(batch(lib, 2, channels, 2, 3)).numpy()

    (ours, values), (theirs, expected) = run(nnkit), run(torch)
    assert ours == theirs
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    x = batch(nnkit, 1, channels, 2, 1).requires_grad_()
    assert nnkit.autograd.gradcheck(nnkit.nn.CrossMapLRN2d(size, alpha=0.5), (x,))


def test_cross_map_normalization_takes_images(lib: ModuleType) -> None:
    with raises(lib, ValueError, "4D"):
        lib.nn.CrossMapLRN2d(3)(lib.ones(2, 3, 4))
