"""SGD, Adam and AdamW take torch's steps, whatever the flags, dtypes and shapes."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
import nnkit.optim
from tests.optim.programs import CASES, SHAPE, array, gradients, run, tensor

EXPECTED = Path(__file__).parents[1] / "expected" / "optim.npz"
TOLERANCE = {
    "float64": (1e-12, 1e-14),
    "float32": (2e-6, 5e-7),
    # In vectors torch rounds after each operation, of what is left over after each product as well.
    "bfloat16": (2**-6, 2**-6),
}
LANES = (32,)  # which are all in vectors
LAST_BITS = {"float16": 2**-9, "bfloat16": 2**-6}  # two of them: a step takes up what the last left
SHAPES = {"scalar": (), "empty": (0, 3), "one": (1,), "large": (130, 129)}

each_case = pytest.mark.parametrize("case", CASES)


def assert_same(found: dict, expected: dict, dtype: str) -> None:
    rtol, atol = TOLERANCE[dtype]
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key].shape == value.shape, key
        np.testing.assert_allclose(found[key], value, rtol, atol, err_msg=key)


@each_case
def test_steps_are_torchs_from_the_file(case: str) -> None:
    """What torch gave, for where it is not installed."""
    with np.load(EXPECTED) as saved:
        expected = {k.partition("/")[2]: saved[k] for k in saved if k.startswith(case + "/")}
    assert_same(run(nnkit, *CASES[case]), expected, "float64")


@each_case
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_steps_are_torchs(torch: ModuleType, case: str, dtype: str) -> None:
    found = run(nnkit, *CASES[case], dtype=dtype)
    assert_same(found, run(torch, *CASES[case], dtype=dtype), dtype)


@each_case
@pytest.mark.parametrize("dtype", LAST_BITS)
def test_half_precision_is_rounded_as_torch_rounds(
    torch: ModuleType, case: str, dtype: str
) -> None:
    found, rtol = run(nnkit, *CASES[case], LANES, dtype), LAST_BITS[dtype]
    for key, value in run(torch, *CASES[case], LANES, dtype).items():
        np.testing.assert_allclose(found[key], value, rtol, rtol / 8, err_msg=key)
        assert np.mean(np.isclose(found[key], value, 0, 0, equal_nan=True)) > 0.8, key


def test_what_half_precision_loses_is_lost() -> None:
    """Adam's ``eps`` of 1e-8, as in torch: a gradient of 0 makes NaN."""
    p = nnkit.ones(1).half().requires_grad_()
    p.grad = nnkit.zeros(1).half()
    nnkit.optim.AdamW([p]).step()
    assert p.isnan()


@each_case
@pytest.mark.parametrize("shape", SHAPES)
def test_any_shape(torch: ModuleType, case: str, shape: str) -> None:
    found = run(nnkit, *CASES[case], SHAPES[shape], "float32")
    assert_same(found, run(torch, *CASES[case], SHAPES[shape], "float32"), "float32")


@each_case
@pytest.mark.parametrize("shape", [(3, 4), (130, 129)], ids=str)
def test_any_layout(case: str, shape: tuple[int, ...]) -> None:
    plain = run(nnkit, *CASES[case], shape, "float32")
    for key, value in run(nnkit, *CASES[case], shape, "float32", transposed=True).items():
        np.testing.assert_array_equal(value, plain[key].T, strict=True)


@each_case
def test_an_update_in_blocks_has_the_same_bits(case: str) -> None:
    """16384 elements are a block; its rows alone are updated whole."""
    name, options = CASES[case]
    values = np.random.RandomState(0).standard_normal((3, 50_000)).astype("float32")
    whole, parts = nnkit.tensor(values[0]), [nnkit.tensor(v) for v in np.split(values[0], 50)]
    for params, cut in (([whole], lambda g: [g]), (parts, lambda g: np.split(g, 50))):
        for p in params:
            p.requires_grad_()
        optimizer = getattr(nnkit.optim, name)(params, **options)
        for grad in values[1:]:
            for p, g in zip(params, cut(grad)):
                p.grad = nnkit.tensor(g)
            optimizer.step()
    np.testing.assert_array_equal(array(whole), np.concatenate([array(p) for p in parts]))


@each_case
def test_differentiable_steps_are_the_same_and_can_be_differentiated(case: str) -> None:
    """The derivatives against finite differences; torch cuts off the first momentum buffer."""
    name, options = CASES[case]
    first, *grads = (tensor(nnkit, g) for g in gradients(SHAPE, "float64"))

    def train(leaf: nnkit.Tensor, *grads: nnkit.Tensor) -> nnkit.Tensor:
        p = leaf.clone()
        optimizer = getattr(nnkit.optim, name)([p], **options, differentiable=True)
        for grad in grads:
            p.grad = grad
            optimizer.step()
        return p

    np.testing.assert_allclose(array(train(first, *grads)), run(nnkit, name, options)["param"])
    for leaf in (first, *grads):
        leaf.requires_grad_()
    assert nnkit.autograd.gradcheck(train, [first, *grads])


@pytest.mark.parametrize(
    ("name", "options"),
    [("SGD", {}), ("Adam", {"betas": (0.9, 0.99)}), ("AdamW", {"betas": (0.9, 0.99)})],
)
def test_hyperparameters_get_torchs_gradients(torch: ModuleType, name: str, options: dict) -> None:
    def gradients_of(lib: ModuleType) -> list[np.ndarray]:
        def leaf(value: float) -> Any:
            return lib.tensor(value, dtype=lib.float64, requires_grad=True)

        rates = {"lr": leaf(0.1), "weight_decay": leaf(0.2)}
        betas = tuple(map(leaf, options.get("betas", ())))
        p = lib.tensor([1.0, 2.0], dtype=lib.float64).requires_grad_().clone()
        given = {**rates, "betas": betas} if betas else rates
        optimizer = getattr(lib.optim, name)([p], **given, differentiable=True)
        for grad in ([0.3, -0.5], [1.0, 0.2]):
            p.grad = lib.tensor(grad, dtype=lib.float64)
            optimizer.step()
        found = lib.autograd.grad(p.square().sum(), [*rates.values(), *betas])
        return [array(g) for g in found]

    for ours, theirs in zip(gradients_of(nnkit), gradients_of(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-8)


def test_a_product_of_momenta_gets_its_gradient() -> None:
    def step(param: nnkit.Tensor, grad: nnkit.Tensor, product: nnkit.Tensor) -> nnkit.Tensor:
        p = param.clone()
        optimizer = nnkit.optim.NAdam([p], lr=0.9, differentiable=True)
        p.grad = grad
        optimizer.step()
        optimizer.state[p]["mu_product"] = product.clone()
        p.grad = grad * 2
        optimizer.step()
        return p

    leaves = [nnkit.tensor(v, dtype=nnkit.float64) for v in ([1.0, 2.0], [0.3, -0.5], 0.8)]
    assert nnkit.autograd.gradcheck(step, [leaf.requires_grad_() for leaf in leaves])


@each_case
def test_a_checkpoint_of_torch_goes_on_alike(torch: ModuleType, case: str) -> None:
    """State after three steps of torch, through NumPy, into nnkit: further steps are equal."""
    name, options = CASES[case]
    values = np.random.RandomState(0).standard_normal((7, 5))
    theirs = torch.tensor(values[0], requires_grad=True)
    their_optimizer = getattr(torch.optim, name)([theirs], **options)
    for grad in values[1:4]:
        theirs.grad = torch.tensor(grad)
        their_optimizer.step()

    ours = nnkit.tensor(theirs.detach().numpy().copy()).requires_grad_()
    optimizer = getattr(nnkit.optim, name)([ours], lr=1e9)
    checkpoint = their_optimizer.state_dict()
    state = {
        number: {
            k: nnkit.tensor(v.numpy().copy()) if isinstance(v, torch.Tensor) else v
            for k, v in entries.items()
        }
        for number, entries in checkpoint["state"].items()
    }
    optimizer.load_state_dict({"state": state, "param_groups": checkpoint["param_groups"]})
    # Loading casts the state to the parameter's dtype, in torch too.
    their_optimizer = getattr(torch.optim, name)([theirs], lr=1e9)
    their_optimizer.load_state_dict(checkpoint)
    for grad in values[4:]:
        theirs.grad, ours.grad = torch.tensor(grad), nnkit.tensor(grad)
        their_optimizer.step()
        optimizer.step()
    np.testing.assert_allclose(array(ours), array(theirs), 1e-12)
    mine, other = optimizer.state_dict(), their_optimizer.state_dict()
    assert mine["param_groups"] == other["param_groups"]
    for number, entries in other["state"].items():
        assert mine["state"][number].keys() == entries.keys()


@pytest.mark.parametrize("amsgrad", [False, True])
def test_complex_parts_are_updated_by_themselves(lib: ModuleType, amsgrad: bool) -> None:
    whole = lib.tensor([1 + 2j, -3j], requires_grad=True)
    parts = lib.tensor([[1.0, 2.0], [0.0, -3.0]], requires_grad=True)
    for p in (whole, parts):
        optimizer = lib.optim.Adam([p], lr=0.1, weight_decay=0.5, amsgrad=amsgrad)
        for scale in (1.0, -0.5, 2.0):
            p.grad = p.detach() * scale
            optimizer.step()
        assert optimizer.state[p]["exp_avg"].dtype == p.dtype
    assert lib.view_as_real(whole.detach()).tolist() == parts.tolist()


def write() -> None:
    """Write the expectations from torch: ``python -m tests.optim.test_optim``."""
    import torch

    found = {
        f"{case}/{key}": value
        for case, (name, options) in CASES.items()
        for key, value in run(torch, name, options).items()
    }
    np.savez_compressed(EXPECTED, **found)  # type: ignore[arg-type]


if __name__ == "__main__":
    write()
