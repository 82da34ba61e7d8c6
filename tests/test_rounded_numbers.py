"""Numbers beside tensors: bounds that a dtype rounds, or cannot hold, beside torch's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import nnkit


def f_of_both(name: str) -> Any:
    return lambda f, h, s: getattr(f, name)(h, s)


BOUNDED: dict[str, Any] = {
    "clamp_min": lambda f, x, c: x.clamp_min(c),
    "clamp_max": lambda f, x, c: x.clamp_max(c),
    "clamp": lambda f, x, c: x.clamp(-c, c),
    "clamp in place": lambda f, x, c: x.clone().clamp_(-c, c),
    "clamp by a double": lambda f, x, c: x.clamp(min=f.tensor(c, dtype=f.float64)),
    "clamp by tensors": lambda f, x, c: x.clamp(f.full_like(x, -c), f.full_like(x, c)),
    "hardtanh": lambda f, x, c: f.nn.functional.hardtanh(x, -c, c),
    "hardshrink": lambda f, x, c: f.nn.functional.hardshrink(x, c),
    "threshold": lambda f, x, c: f.nn.functional.threshold(x, c, 3.0),
    "hinge_embedding_loss": lambda f, x, c: f.nn.functional.hinge_embedding_loss(
        x, -f.ones_like(x), c, reduction="none"
    ),
    "logit": lambda f, x, c: f.logit(x.abs().clamp(max=0.9), min(c, 0.4)),
    "elu": lambda f, x, c: f.nn.functional.elu(x - c, c),
    "celu": lambda f, x, c: f.nn.functional.celu(x - c, c),
    "lerp": lambda f, x, c: f.lerp(x, 2 * x, c),
    "addcmul": lambda f, x, c: f.addcmul(x, x, x, value=c),
    "add": lambda f, x, c: f.add(x, x, alpha=c),
    "where": lambda f, x, c: f.where(x >= c, x, 0 * x),
    "normalize": lambda f, x, c: f.nn.functional.normalize(x, dim=0, eps=c),
}
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-7}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", BOUNDED)
def test_a_bound_is_rounded_as_in_torch(name: str, dtype: str, torch: ModuleType) -> None:
    found = []
    for lib in (nnkit, torch):
        kind = getattr(lib, dtype)
        each = []
        for bound in (0.1, 0.7, 0.3, 1 / 3, 2.7):
            x = lib.tensor([bound, bound * 1.001, bound * 0.999, 0.0, -bound]).to(kind)
            x.requires_grad_()
            out = BOUNDED[name](lib, x, bound)
            (grad,) = lib.autograd.grad(out.double().sum(), x)
            each += out.tolist() + grad.tolist()
        found.append(each)
    bound = TOLERANCE[dtype]
    assert found[0] == pytest.approx(found[1], rel=bound, abs=0 if dtype[0] == "b" else 1e-9)


# Functions of a tensor of half precision and of a number in a tensor of float32 or float64.
BESIDE: dict[str, Any] = {
    "mul": lambda f, h, s: h * s,
    "div": lambda f, h, s: h / s,
    "div by": lambda f, h, s: s / h,
    "sub": lambda f, h, s: s - h,
    "maximum": f_of_both("maximum"),
    "atan2": f_of_both("atan2"),
    "logaddexp": f_of_both("logaddexp"),
    "fmod": f_of_both("fmod"),
    "remainder": f_of_both("remainder"),
    "where": lambda f, h, s: f.where(h > 0, h, s),
    "in place": lambda f, h, s: h.clone().mul_(s),
}


@pytest.mark.parametrize("wide", ["float32", "float64"])
@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", BESIDE)
def test_the_gradient_of_a_number_in_a_tensor_is_rounded(
    name: str, half: str, wide: str, torch: ModuleType
) -> None:
    found = []
    for lib in (nnkit, torch):
        h = lib.tensor([0.1234, 1.377, -2.71, 0.9]).to(getattr(lib, half)).requires_grad_()
        s = lib.tensor(1.23456789, dtype=getattr(lib, wide)).requires_grad_()
        out = BESIDE[name](lib, h, s)
        out.backward(lib.tensor([1.1, 0.7, 1.3, 0.4]).to(out.dtype))
        found.append((str(s.grad.dtype)[-7:], s.grad.item(), h.grad.tolist()))
    assert found[0] == found[1]


# What each cannot compute with in half precision, and with what in float32.
TOO_LARGE = {
    "hardtanh": (1e30, 1e39), "hardshrink": (1e30, 1e39), "hinge_embedding_loss": (1e30, 1e39),
    "threshold": (1e39, 1e39), "elu": (1e39, 1e39), "celu": (1e39, 1e39), "lerp": (1e39, 1e39),
    "addcmul": (1e39, 1e39), "clamp": (1e30, 1e39), "add": (1e9, 1e39),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_LARGE)
def test_numbers_that_overflow_are_refused(name: str, lib: ModuleType) -> None:
    for dtype, number in zip(("float16", "float32"), TOO_LARGE[name]):
        x = lib.ones(2, dtype=getattr(lib, dtype))
        with pytest.raises(RuntimeError, match="cannot be converted to"):
            BOUNDED[name](lib, x, number)
    with pytest.raises(RuntimeError, match="cannot be converted to"):
        lib.ones(2, dtype=lib.float16).pow(1e30)


def test_what_overflows_is_infinite_without_a_word(lib: ModuleType) -> None:
    x = lib.ones(2, dtype=lib.float16)
    x[0] = -1e9
    found = [x, x * 1e9, -1e9 * x, lib.tensor(1e9, dtype=lib.float16).expand(2)]
    found += [lib.full((1,), 1e9, dtype=lib.float16).expand(2), lib.tensor([1e9, -1e9]).half()]
    inf = float("inf")
    assert [t.tolist() for t in found] == [
        [-inf, 1.0], [-inf, inf], [inf, -inf], [inf, inf], [inf, inf], [inf, -inf],
    ]  # fmt: skip


# Losses of half precision that torch computes operation by operation, and the least numbers of
# their operands; None for labels. Huber's value, and that of smooth_l1_loss, are rounded so in one
# of the two kinds alone.
LOSSES = {
    "binary_cross_entropy": (0, 0), "binary_cross_entropy_with_logits": (-3, 0),
    "huber_loss": (-3, -3), "kl_div": (-3, 0), "l1_loss": (-3, -3), "mse_loss": (-3, -3),
    "poisson_nll_loss": (-3, 0), "smooth_l1_loss": (-3, -3), "soft_margin_loss": (-3, None),
}  # fmt: skip
# Their factors stand in another order.
DIFFERENT = {("smooth_l1_loss", "mean"), ("soft_margin_loss", "none"), ("soft_margin_loss", "sum")}


@pytest.mark.filterwarnings("ignore:(reduction. 'mean'|kl_div. reduction='mean'):UserWarning")
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_rounded_as_in_torch(
    name: str, half: str, reduction: str, torch: ModuleType
) -> None:
    if (name, reduction) in DIFFERENT:
        return
    steps = torch.linspace(0, 1, 255).to(getattr(torch, half))
    found = []
    for lib in (nnkit, torch):
        operands = []
        for low, shift in zip(LOSSES[name], (1, 97)):
            numbers = steps.float().roll(shift) * (0.98 - (low or 0)) + (low or 0) + 0.01
            numbers = numbers if low is not None else (numbers - 0.5).sign()
            operand = lib.tensor(numbers.tolist()).to(getattr(lib, half))
            operands.append(operand.requires_grad_(low is not None))
        loss = getattr(lib.nn.functional, name)(*operands, reduction=reduction)
        weight = lib.tensor(steps.tolist()).to(loss.dtype)
        loss.backward(weight if loss.ndim else weight[100])
        exact = reduction == "none" and name not in ("huber_loss", "smooth_l1_loss")
        gradients = [t.grad.tolist() for t in operands if t.requires_grad]
        found.append([*gradients, loss.tolist() if exact else None])
    assert found[0] == found[1]
