"""Wrong constructions and uses of objects that `tests.fuzz.objects` found: each is refused with
torch's type of error, or taken as there."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

REFUSED = {
    # Settings and seeds.
    "T.autograd.set_detect_anomaly(T.ones(4))": TypeError,
    "T.autograd.set_detect_anomaly(True, 1)": TypeError,
    "T.Generator('cpu').manual_seed(T.tensor(1))": RuntimeError,
    "T.device('cpu', True)": TypeError,
    "T.device('cpu', T.tensor(1.5))": TypeError,
    "T.amp.GradScaler('cpu', T.ones(2)).scale(T.ones(2))": TypeError,
    "T.amp.GradScaler('cpu', 1j).scale(T.ones(2))": RuntimeError,
    # Derivatives.
    "T.autograd.graph.increment_version(np.array(1.5))": RuntimeError,
    "T.autograd.gradcheck(square, T.ones(2).double().requires_grad_(), eps=True)": RuntimeError,
    "T.autograd.gradcheck(square, T.ones(2).double().requires_grad_(), eps=[1.5])": TypeError,
    "T.autograd.functional.vhp(total, T.ones(2), T.ones(2), True, True)": RuntimeError,
    "T.autograd.functional.hvp(total, T.ones(2), T.ones(2), True, True)": RuntimeError,
    "T.autograd.functional.jacobian(square, T.ones(2), vectorize=T.ones(0))": RuntimeError,
    "T.autograd.grad([square(leaf), square(leaf)], leaf, ['a'])": TypeError,
    "T.func.jacfwd(square)({})": AssertionError,
    "T.func.linearize(square)": TypeError,
    "T.func.vjp(square)": TypeError,
    "T.func.vmap(square, in_dims=False)(T.ones(3, 2))": TypeError,
    "T.func.vmap(square, out_dims=T.ones(2))(T.ones(3, 2), unknown=1)": ValueError,
    "T.func.vmap(square, chunk_size=[0, 1])(T.ones(3, 2))": TypeError,
    "checkpoint.checkpoint_sequential([square, square], 3, T.ones(1), use_reentrant=False)": (
        ValueError
    ),
    "checkpoint.checkpoint_sequential([square], T.ones(0), T.ones(1), use_reentrant=False)": (
        TypeError
    ),
    # Layers.
    "T.nn.LSTMCell(3, 4)(T.ones(2, 3), [])": RuntimeError,
    "T.nn.FractionalMaxPool3d(0, output_ratio=0.5)": ValueError,
    "T.nn.Upsample((3, 3))(T.tensor(0.5))": ValueError,
    "T.nn.Upsample(scale_factor=2, mode=[0, 1])(T.ones(1, 1, 2, 2))": NotImplementedError,
    "T.nn.UpsamplingNearest2d(True)(T.ones(1, 1, 2, 2))": TypeError,
    "T.nn.Conv2d(4, 2, 3, padding_mode=['zeros'])": TypeError,
    "T.nn.ConvTranspose2d(4, 2, 3, stride=2)(T.ones(1, 2, 4, 6, 6), output_size=[14, 14])": (
        ValueError
    ),
    "T.nn.TransformerEncoder(T.nn.TransformerEncoderLayer(4, 2, 8, 0.0), 1)(T.ones(1, 4), 1.0)": (
        RuntimeError
    ),
    "T.nn.ModuleDict(None).pop(np.array(1.5))": TypeError,
    "T.nn.functional.ctc_loss(T.ones(5, 1, 4), T.ones(1, 3).long(), [5.0], [3])": TypeError,
    "T.nn.functional.ctc_loss(T.ones(5, 1, 4), T.ones(1, 3).long(), [5], T.tensor([3]))": TypeError,
    "T.nn.functional.ctc_loss(T.ones(5, 1, 4), T.ones(1, 3).long(), np.array([5]), [3])": TypeError,
    "T.nn.utils.get_total_norm([T.ones(2), 2.0])": TypeError,
    "T.nn.utils.clip_grads_with_norm_([with_grad], 0.5, T.ones(1))": RuntimeError,
    "T.nn.utils.rnn.pack_padded_sequence(T.ones(4, 2, 3), T.ones(2, 3).long(), False, False)": (
        IndexError
    ),
    "T.nn.utils.rnn.pack_padded_sequence(T.ones(4, 2, 3), [4, T.tensor([])])": TypeError,
    "T.nn.utils.rnn.pack_sequence([T.ones(2, 3), T.tensor(0.5)])": IndexError,
    "prune.identity(T.nn.Linear(3, 2), 'cpu')": TypeError,
    "prune.PruningContainer(2.0, 3)": TypeError,
    # Optimizers and data.
    "T.optim.swa_utils.get_swa_multi_avg_fn()([T.ones(1)], [T.ones(1)], T.ones(1))": TypeError,
    "T.utils.data.default_collate(T.ones(2, 3))": TypeError,
    "T.testing.assert_close(None, T.ones(0))": AssertionError,
}
TAKEN = {
    "T.device('cpu', T.tensor(1)).index": 1,
    "T.autograd.graph.get_gradient_edge(leaf).ownership_token": None,
    "T.func.linearize(lambda: T.ones(2))[0].tolist()": [1, 1],
    "T.func.vjp(lambda: T.ones(2))[0].tolist()": [1, 1],
    "checkpoint.checkpoint_sequential([square, square], -5, 2, use_reentrant=False)": 16,
    "T.distributions.Distribution((2,), 1.5, validate_args=False).event_shape": 1.5,
    "T.nn.Conv2d(4, np.array(1), 3).out_channels": 1,
    "T.nn.DataParallel(T.nn.Identity(), [0, 1])(3)": 3,
    "T.nn.MaxUnpool1d(0)(T.ones(1, 1, 2), T.tensor([[[1, 2]]])).shape == (1, 1, 0)": True,
    "T.nn.CosineEmbeddingLoss(False)(T.ones(1, 2), T.ones(1, 2), T.tensor([-1])).item()": (
        pytest.approx(1)
    ),
    "T.nn.Linear(1, 1).zero_grad(np.ones((2, 2)))": None,
    "T.nn.utils.fuse_linear_bn_weights(T.ones(()), *[T.ones(1)] * 3, 0.0, T.ones(1), T.ones(1))"
    "[0].tolist()": [[1]],
    "T.nn.utils.parametrizations.weight_norm(T.nn.Linear(3, 2), 'weight', T.tensor(1))"
    ".weight.shape == (2, 3)": True,
    "T.nn.utils.rnn.pack_sequence([T.ones(1)]).cpu(T.float64).data.tolist()": [1],
    "T.ones(1, 1, 1).norm(None, (0, 1, 2)).item()": 1,
}


def _names(lib: ModuleType) -> dict[str, Any]:
    """What the calls speak of."""
    with_grad = lib.nn.Parameter(lib.ones(2))
    with_grad.grad = lib.ones(2)
    return {
        "T": lib, "np": np, "leaf": lib.ones(2, requires_grad=True), "with_grad": with_grad,
        "square": lambda x: x * x, "total": lambda x: (x * x).sum(),
        "prune": import_module(f"{lib.__name__}.nn.utils.prune"),
        "checkpoint": import_module(f"{lib.__name__}.utils.checkpoint"),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", REFUSED)
def test_refused(lib: ModuleType, use: str) -> None:
    with pytest.raises(REFUSED[use]):
        eval(use, _names(lib))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", TAKEN)
def test_taken(lib: ModuleType, use: str) -> None:
    assert eval(use, _names(lib)) == TAKEN[use]


def test_states_of_the_users_own_are_left_alone(lib: ModuleType) -> None:
    weight = lib.nn.Parameter(lib.ones(2))
    weight.grad = lib.ones(2)
    optimizer = lib.optim.ASGD([weight])
    optimizer.step()
    optimizer.state[weight]["own"] = lib.ones(3)
    optimizer.step()
    assert optimizer.state[weight]["own"].tolist() == [1, 1, 1]


def test_a_distribution_is_expanded_into_one(lib: ModuleType) -> None:
    normal = lib.distributions.Normal(lib.ones(3), lib.ones(3))
    with pytest.raises(TypeError):
        normal.expand((4, 3), lib.ones(0))


def test_a_refused_setting_is_not_set(lib: ModuleType) -> None:
    with pytest.raises(TypeError):
        lib.autograd.set_detect_anomaly(True, lib.ones(4))
    assert not lib.is_anomaly_enabled()
