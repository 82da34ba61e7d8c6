"""What optimizers refuse, with torch's error types, and that a refused step changes nothing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import nnkit
import nnkit.optim
from tests.frameworks import raises
from tests.optim.test_optimizer import each_kind, leaf, trained


@each_kind
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -1.0}, "Invalid learning rate: -1.0"),
        ({"weight_decay": -0.5}, "Invalid weight_decay value: -0.5"),
    ],
)
def test_numbers_out_of_range(lib: ModuleType, kind: str, options: dict, message: str) -> None:
    with raises(lib, ValueError, message):
        getattr(lib.optim, kind)([leaf(lib, 1.0)], **options)


@each_kind
def test_a_learning_rate_of_several_numbers(lib: ModuleType, kind: str) -> None:
    with raises(lib, ValueError, r"Tensor lr must be 1-element, got shape \[2\]"):
        getattr(lib.optim, kind)([leaf(lib, 1.0)], lr=lib.tensor([0.1, 0.2]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"momentum": -0.5}, "Invalid momentum value: -0.5"),
        ({"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
        ({"nesterov": True, "momentum": 0.9, "dampening": 0.1}, "Nesterov"),
    ],
)
def test_sgd_refuses(lib: ModuleType, options: dict, message: str) -> None:
    with raises(lib, ValueError, message):
        lib.optim.SGD([leaf(lib, 1.0)], **options)


@pytest.mark.parametrize("kind", ["Adam", "AdamW"])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"eps": -1.0}, ValueError, "Invalid epsilon value: -1.0"),
        ({"betas": (1.0, 0.9)}, ValueError, "Invalid beta parameter at index 0: 1.0"),
        ({"betas": (0.9, -0.1)}, ValueError, "Invalid beta parameter at index 1: -0.1"),
        ({"betas": (0.9,)}, IndexError, r"betas must be two numbers, got \(0.9,\)"),
    ],
)
def test_adam_refuses(
    lib: ModuleType, kind: str, options: dict, error: type[Exception], message: str
) -> None:
    with raises(lib, error, message):
        getattr(lib.optim, kind)([leaf(lib, 1.0)], **options)


@pytest.mark.parametrize("kind", ["Adam", "AdamW"])
def test_adam_refuses_some_tensors(lib: ModuleType, kind: str) -> None:
    make = getattr(lib.optim, kind)
    with raises(lib, ValueError, "capturable=False and foreach=True"):
        make([leaf(lib, 1.0)], lr=lib.tensor(0.1), foreach=True)
    with raises(lib, ValueError, "both floats or both Tensors"):
        make([leaf(lib, 1.0)], betas=(0.9, lib.tensor(0.99)))


@each_kind
def test_parameters_that_are_none(lib: ModuleType, kind: str) -> None:
    make = getattr(lib.optim, kind)
    p = leaf(lib, 1.0)
    with raises(lib, TypeError, "should be an iterable of Tensors or dicts, but got Tensor"):
        make(p)
    with raises(lib, ValueError, "optimizer got an empty parameter list"):
        make([])
    with raises(lib, TypeError, "only optimize Tensors, but one of the params is <class 'int'>"):
        make([p, 3])
    with raises(lib, ValueError, "can't optimize a non-leaf Tensor"):
        make([p * 2])
    with raises(lib, TypeError, "organized in ordered collections"):
        make([{"params": {p}}])
    with raises(lib, ValueError, "some parameters appear in more than one parameter group"):
        make([{"params": [p]}, {"params": [p]}])
    with raises(lib, ValueError, "Some param names are missing"):
        make([("p", p), leaf(lib, 1.0)])


def test_a_parameter_twice_or_a_set(lib: ModuleType) -> None:
    p = leaf(lib, 1.0)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        lib.optim.SGD([p, p])
    with raises(lib, TypeError, "organized in ordered collections"):
        lib.optim.SGD([{"params": {p}}])


def test_groups_that_are_none(lib: ModuleType) -> None:
    _, optimizer = trained(lib)
    with raises(lib, TypeError, "param_group must be a dict"):
        optimizer.add_param_group([leaf(lib, 1.0)])
    with pytest.raises(KeyError, match="params"):
        optimizer.add_param_group({"lr": 0.1})
    assert len(optimizer.param_groups) == 1


def test_a_required_option(lib: ModuleType) -> None:
    optimizers = import_module(f"{lib.__name__}.optim.optimizer")
    required = optimizers.REQUIRED if lib is nnkit else optimizers.required

    class Own(lib.optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"rate": required})

    with raises(lib, ValueError, "required optimization parameter rate"):
        Own([leaf(lib, 1.0)])
    assert Own([{"params": leaf(lib, 1.0), "rate": 3}]).param_groups[0]["rate"] == 3


@each_kind
@pytest.mark.parametrize(
    ("new", "message"),
    [
        (nnkit.zeros(1, dtype=nnkit.float32), "and dtype nnkit.float32 has shape"),
        (nnkit.zeros(2, dtype=nnkit.float64), r"parameter of shape \[2\] .* has shape \[1\]"),
    ],
)
def test_a_refused_step_changes_nothing(kind: str, new: nnkit.Tensor, message: str) -> None:
    """The gradient of the second group does not fit any more; the first group stays as it is."""
    p, q = leaf(nnkit, 1.0), leaf(nnkit, 2.0)
    optimizer = getattr(nnkit.optim, kind)([{"params": p}, {"params": q}], lr=0.1)
    for each in (p, q):
        each.grad = nnkit.ones(1, dtype=nnkit.float64)
    q.data = new
    with pytest.raises(RuntimeError, match=message):
        optimizer.step()
    assert p.item() == 1.0 and not optimizer.state


@each_kind
def test_a_closure_that_fails_changes_nothing(lib: ModuleType, kind: str) -> None:
    p, optimizer = trained(lib, kind)
    before, state = p.tolist(), repr(optimizer.state)

    def closure() -> Any:
        raise FloatingPointError("no loss")

    with pytest.raises(FloatingPointError, match="no loss"):
        optimizer.step(closure)
    assert p.tolist() == before and repr(optimizer.state) == state


OTHERS: list[tuple[str, dict[str, Any], str]] = [
    ("RMSprop", {"alpha": -1.0}, "Invalid alpha value: -1.0"),
    ("RMSprop", {"momentum": -1.0}, "Invalid momentum value: -1.0"),
    ("RMSprop", {"eps": -1.0}, "Invalid epsilon value: -1.0"),
    ("Adagrad", {"lr_decay": -1.0}, "Invalid lr_decay value: -1.0"),
    ("Adagrad", {"initial_accumulator_value": -1.0}, "Invalid initial_accumulator_value value: -1"),
    ("Adadelta", {"rho": 2.0}, "Invalid rho value: 2.0"),
    ("Adamax", {"betas": (2.0, 0.0)}, "Invalid beta parameter at index 0: 2.0"),
    ("NAdam", {"momentum_decay": -1.0}, "Invalid momentum_decay value: -1.0"),
    ("RAdam", {"betas": (0.0, 1.0)}, "Invalid beta parameter at index 1: 1.0"),
    ("Rprop", {"etas": (2.0, 1.0)}, r"Invalid eta values: 2.0, 1.0"),
    ("ASGD", {"weight_decay": -1.0}, "Invalid weight_decay value: -1.0"),
    ("LBFGS", {"lr": -1.0}, "Invalid learning rate: -1.0"),
]


@pytest.mark.parametrize(("kind", "options", "message"), OTHERS)
def test_others_refuse(lib: ModuleType, kind: str, options: dict, message: str) -> None:
    with raises(lib, ValueError, message):
        getattr(lib.optim, kind)([leaf(lib, 1.0)], **options)


RAW = (TypeError, AttributeError)
every_kind = pytest.mark.parametrize(
    "kind",
    ["SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop"]
    + ["ASGD"],
)


def _state(optimizer: Any) -> list[Any]:
    tensors = [p for group in optimizer.param_groups for p in group["params"]]
    tensors += [v for entries in optimizer.state.values() for v in entries.values()]
    return [t.tolist() if hasattr(t, "tolist") else t for t in tensors]


@every_kind
def test_a_state_of_another_shape(kind: str) -> None:
    """It is never broadcast, as torch does with some, and the refused step has written nothing."""
    _, optimizer = trained(nnkit, kind)
    for group in optimizer.param_groups:
        for p in group["params"]:
            for name, value in list(optimizer.state[p].items()):
                optimizer.state[p][name] = nnkit.ones((2, *value.shape))
                before = _state(optimizer)
                with pytest.raises(RuntimeError, match="must (be|have)"):
                    optimizer.step()
                assert _state(optimizer) == before
                optimizer.state[p][name] = value
    optimizer.step()


@every_kind
def test_a_state_that_is_no_tensor(lib: ModuleType, kind: str) -> None:
    _, optimizer = trained(lib, kind)
    p = optimizer.param_groups[0]["params"][0]
    for name, value in list(optimizer.state[p].items()):
        optimizer.state[p][name] = "no tensor"
        kind_of_error = RuntimeError if name in ("step", "mu_product") else TypeError
        with pytest.raises(kind_of_error if lib is nnkit else (kind_of_error, *RAW)):
            optimizer.step()
        optimizer.state[p][name] = value
    optimizer.step()


@every_kind
def test_state_numbers_of_old_checkpoints(lib: ModuleType, kind: str) -> None:
    _, optimizer = trained(lib, kind)
    state = optimizer.state_dict()
    for entries in state["state"].values():
        for name in {"step", "mu_product", "eta", "mu"} & entries.keys():
            entries[name] = entries[name].item()
    optimizer.load_state_dict(state)
    optimizer.step()
    for entries in optimizer.state.values():
        assert all(isinstance(value, lib.Tensor) for value in entries.values())


@every_kind
def test_a_state_dict_that_is_none(lib: ModuleType, kind: str) -> None:
    _, optimizer = trained(lib, kind)
    for value in (None, 3, [("state", {})], "state"):
        with pytest.raises((TypeError, AttributeError)):
            optimizer.load_state_dict(value)
    if lib is nnkit:
        with pytest.raises(TypeError, match="state_dict must be a dict, got list"):
            optimizer.load_state_dict([1])


@every_kind
def test_a_number_that_is_none(lib: ModuleType, kind: str) -> None:
    make = getattr(lib.optim, kind)
    for value in ("0.1", [0.1], None):
        with raises(lib, TypeError, "Invalid learning rate: it must be a number, got"):
            make([leaf(lib, 1.0)], lr=value)
    p = leaf(lib, 1.0)
    p.grad = lib.ones_like(p)
    optimizer = make([p], lr=0.1, differentiable="yes")
    with raises(lib, TypeError, "differentiable must be bool, not str"):
        optimizer.step()


def test_nan_is_refused_but_by_sgd(lib: ModuleType) -> None:
    nan = float("nan")
    assert lib.optim.SGD([leaf(lib, 1.0)], lr=nan, momentum=nan, weight_decay=nan).state == {}
    with raises(lib, ValueError, "Invalid learning rate: nan"):
        lib.optim.Adam([leaf(lib, 1.0)], lr=nan)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_with_others(lib: ModuleType, kind: str) -> None:
    make = getattr(lib.optim, kind)
    with raises(lib, RuntimeError, "`fused` does not support `differentiable`"):
        make([leaf(lib, 1.0)], fused=True, differentiable=True)
    with raises(lib, RuntimeError, "`fused` and `foreach` cannot be `True` together"):
        make([leaf(lib, 1.0)], fused=True, foreach=True)
