"""What programs import from the modules in which torch defines it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.compat.test_install import run

PROGRAM = """
import warnings
import torch
from torch.amp.autocast_mode import autocast_decorator
from torch.autograd.function import FunctionMeta
from torch.cpu.amp.autocast_mode import autocast
from torch.cpu.amp.grad_scaler import GradScaler
from torch.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
from torch.distributions.relaxed_categorical import ExpRelaxedCategorical
from torch.nn.parallel.data_parallel import DataParallel, data_parallel
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm, remove_weight_norm
from torch.optim.adamw import AdamW, adamw
from torch.serialization import default_restore_location
from torch.signal.windows.windows import hann
from torch.utils.checkpoint import DefaultDeviceType, set_checkpoint_debug_enabled
def refused(call, *arguments):
    try:
        call(*arguments)
    except RuntimeError:
        return "refused"
from torch.nn.modules.rnn import LSTM, apply_permutation
import torch.backends.cusparselt, torch.backends.kleidiai, torch.backends.nnpack
warnings.simplefilter("ignore")
hooks = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2))._forward_pre_hooks.values()
print([type(h) is WeightNorm for h in hooks], isinstance(torch.autograd.Function, FunctionMeta))
one = torch.tensor(1.0)
b, c = LogitRelaxedBernoulli(one, 0.5), ExpRelaxedCategorical(one, torch.ones(2))
print(b.event_shape, c.event_shape, torch.sym_sqrt(4), hann(3).tolist())
print(torch.nn.parallel.data_parallel is data_parallel, torch.nn.DataParallel is DataParallel)
s = torch.ones(1).untyped_storage()
print(default_restore_location(s, "cpu") is s, default_restore_location(s, "meta").device)
print(refused(default_restore_location, s, "nowhere"), AdamW is torch.optim.AdamW)
product = autocast_decorator(torch.autocast("cpu"), torch.mm)
print(product(torch.eye(2), torch.eye(2)).dtype, torch.cpu.amp.autocast is autocast)
for each in (torch.backends.cusparselt, torch.backends.kleidiai, torch.backends.nnpack):
    print(each.is_available(), end=" ")
print(apply_permutation(torch.eye(2), torch.tensor([1, 0])).tolist(), LSTM is torch.nn.LSTM)
kwargs = torch.nn.factory_kwargs
print(kwargs({"device": "cpu", "factory_kwargs": {"dtype": None}}), kwargs(None))
for wrong in ({"bias": 1}, {"dtype": None, "factory_kwargs": {"dtype": None}}):
    try: kwargs(wrong)
    except TypeError: print("refused", end=" ")
DefaultDeviceType.set_device_type("cpu")
with set_checkpoint_debug_enabled(True):
    print(DefaultDeviceType.get_device_type(), torch.cpu.amp.GradScaler is GradScaler)
"""


def test_names_in_submodules() -> None:
    assert run(PROGRAM).splitlines() == [
        "[True] True",
        "torch.Size([]) torch.Size([2]) 2.0 [0.0, 1.0, 0.0]",
        "True True",
        "True meta",
        "refused True",
        "torch.bfloat16 True",
        "False False False [[0.0, 1.0], [1.0, 0.0]] True",
        "{'dtype': None, 'device': 'cpu'} {}",
        "refused refused cpu True",
    ]


def test_data_parallel_without_gpu() -> None:
    if not nnkit.cuda.is_available():
        call = import_module("nnkit.compat.names.nn.parallel").data_parallel
        with pytest.raises(RuntimeError, match="no GPU"):
            call(nnkit.nn.Linear(2, 2), nnkit.ones(1, 2))


def test_small_names_of_classes(lib: ModuleType) -> None:
    D, nn = lib.distributions, lib.nn
    with pytest.warns(FutureWarning, match="sample"):
        assert D.Normal(lib.zeros(2), 1.0).sample_n(3).shape == (3, 2)
    parts = [D.ExpTransform(), D.AbsTransform()]
    assert D.CatTransform(parts, lengths=[2, 3]).length == 5
    with pytest.warns(FutureWarning, match="cumulative_sizes"):
        assert lib.utils.data.ConcatDataset([[1, 2], [3]]).cummulative_sizes == [2, 3]
    cells = nn.LSTM(2, 3, 2, bidirectional=True, proj_size=1)
    assert cells.get_expected_cell_size(lib.ones(5, 4, 2), None) == (4, 4, 3)
    assert cells.get_expected_cell_size(lib.ones(5, 4, 2), lib.tensor([7, 1])) == (4, 7, 3)


def test_packed_sequences_are_pinned(lib: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lib.Tensor, "pin_memory", lambda x: x + 1)  # which needs no GPU
    packed = lib.nn.utils.rnn.pack_sequence([lib.ones(1), lib.ones(2)], enforce_sorted=False)
    pinned = packed.pin_memory()
    assert type(pinned) is type(packed) and pinned.batch_sizes is packed.batch_sizes
    assert pinned.data.tolist() == [2, 2, 2] and pinned.sorted_indices.tolist() == [2, 1]


def test_names_of_parameters(lib: ModuleType) -> None:
    lib.set_default_device(device=None)  # "cpu" would be a mode of torch, which outlives the test
    lib.distributions.register_kl(type_p=lib.distributions.Normal, type_q=lib.distributions.Beta)
    state = lib.get_rng_state()
    with lib.random.fork_rng(devices=[], device_type="cuda"):
        lib.rand(1)
    assert lib.equal(lib.get_rng_state(), state)
    with lib.random.fork_rng(device_type="meta"):  # of which there are no generators
        lib.rand(1)
    assert not lib.equal(lib.get_rng_state(), state)
    with pytest.raises(RuntimeError), lib.random.fork_rng(device_type="nowhere"):
        pass


# The lists of states of each function, made of zeros unless their first number is given, and
# options.
STEPS: dict[str, tuple[dict[str, float], dict[str, Any]]] = {
    "adadelta": ({"square_avgs": 0, "acc_deltas": 0, "state_steps": 0},
                 {"rho": 0.9, "eps": 1e-6, "maximize": True}),
    "adagrad": ({"state_sums": 0, "state_steps": 0},
                {"lr_decay": 0.1, "eps": 1e-8, "maximize": False}),
    "adam": ({"exp_avgs": 0, "exp_avg_sqs": 0, "max_exp_avg_sqs": 0, "state_steps": 0},
             {"amsgrad": True, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "maximize": False}),
    "adamax": ({"exp_avgs": 0, "exp_infs": 0, "state_steps": 0},
               {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8}),
    "adamw": ({"exp_avgs": 0, "exp_avg_sqs": 0, "max_exp_avg_sqs": 0, "state_steps": 0},
              {"amsgrad": False, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "maximize": True}),
    "asgd": ({"axs": 0, "mus": 1, "etas": 0.1, "state_steps": 0},
             {"lambd": 1e-4, "t0": 1.0, "alpha": 0.75}),
    "nadam": ({"exp_avgs": 0, "exp_avg_sqs": 0, "mu_products": 1, "state_steps": 0},
              {"beta1": 0.9, "beta2": 0.99, "momentum_decay": 0.004, "eps": 1e-8}),
    "radam": ({"exp_avgs": 0, "exp_avg_sqs": 0, "state_steps": 0},
              {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8}),
    "rmsprop": ({"square_avgs": 0, "grad_avgs": 0, "momentum_buffer_list": 0, "state_steps": 0},
                {"alpha": 0.9, "eps": 1e-8, "momentum": 0.5, "centered": True}),
    "rprop": ({"prevs": 0, "step_sizes": 0.1, "state_steps": 0},
              {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2}),
    "sgd": ({"momentum_buffer_list": 0},
            {"momentum": 0.9, "dampening": 0.0, "nesterov": True, "maximize": False}),
}  # fmt: skip
NUMBERS = ("state_steps", "mus", "etas", "mu_products")


def steps(lib: ModuleType, functions: ModuleType, name: str) -> list[list[float]]:
    """The parameter and the states after three steps."""
    states, options = STEPS[name]
    param = lib.tensor([1.0, -2.0, 0.5], requires_grad=True)
    lists: dict[str, list] = {
        key: [lib.tensor(float(first)) if key in NUMBERS else lib.full((3,), float(first))]
        for key, first in states.items()
    }
    if name == "sgd":
        lists["momentum_buffer_list"] = [None]
    if name != "rprop":
        options = {**options, "lr": 0.1, "weight_decay": 0.01}
    for number in range(3):
        with lib.no_grad():
            grads = [lib.tensor([0.5, -1.0, 2.0]) * (number + 1)]
            getattr(functions, name)([param], grads, *lists.values(), **options)
    assert param.grad is None and param._version
    return [t.reshape(-1).tolist() for t in (param, *[values[0] for values in lists.values()])]


@pytest.mark.parametrize("name", STEPS)
def test_optimizers_as_functions(torch: ModuleType, name: str) -> None:
    functions = import_module("nnkit.compat.names.optim._functional")
    theirs = import_module(f"torch.optim.{name}")
    for ours, expected in zip(
        steps(nnkit, functions, name), steps(torch, theirs, name), strict=True
    ):
        assert ours == pytest.approx(expected, rel=1e-6)


def test_optimizers_as_functions_of_nothing() -> None:
    program = """
from torch.optim import _functional
from torch.optim.sgd import SGD, sgd
sgd([], [], [], lr=0.1)
print(SGD.__name__, _functional.sgd is sgd)
try: sgd([], [], [], lr=0.1, found_inf=1.0)
except NotImplementedError: print("refused")
"""
    assert run(program).splitlines() == ["SGD True", "refused"]
