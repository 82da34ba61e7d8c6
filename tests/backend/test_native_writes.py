"""Compiled writes into Tensors do what their twins in Python do, and leave to them what they
cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.autograd.compiled import bind_write
from nnkit.autograd.forward.level import ENTERED_LEVELS
from nnkit.autograd.op.pointwise import declined
from nnkit.autograd.ops.elementwise import activation
from nnkit.autograd.ops.random import inplace
from nnkit.autograd.ops.shape import triangles
from nnkit.nn.functional import activation as nn_activation
from nnkit.nn.functional import hard_activation
from tests.backend.native_cases import needs_native

pytestmark = needs_native
F4, BF16 = np.dtype(np.float32), nnkit.bfloat16.array
add_ = bind_write("add_", "add_", 2, (F4, BF16), declined, 2)
scaled_ = bind_write("add_scaled_", "add_", 2, (F4,), declined)


def example() -> Any:
    return nnkit.arange(6.0).reshape(2, 3).clone()


def test_what_a_write_takes() -> None:
    x = example()
    assert add_(x, x) is x and x.tolist() == [[0, 2, 4], [6, 8, 10]]
    assert x._version == 1 and x._writes[1] == "add_"
    assert add_(x, nnkit.ones(3)) is x and add_(x, 1) is x and add_(x, nnkit.tensor(0.5)) is x
    assert x[0].tolist() == [2.5, 4.5, 6.5] and x._version == 4
    assert scaled_(x, nnkit.ones(2, 1), 2) is x and x[0, 0] == 4.5
    row = x[0]  # a view, whose counter is that of its base
    assert add_(row, 1.0) is row and x[0, 0] == 5.5 and x._version == 6
    parameter = nnkit.nn.Parameter(example())
    with nnkit.no_grad():
        assert add_(parameter, 1.0) is parameter and parameter._version == 1


def test_a_number_is_rounded_before_half_precision_takes_it() -> None:
    x = nnkit.ones(3, dtype=nnkit.bfloat16)
    assert add_(x.clone(), 1.002).tolist() == (x + 1.002).tolist() == [2.0] * 3
    assert (x * 1.002).tolist() == (x.float() * 1.002).bfloat16().tolist()


def test_what_it_leaves_to_the_twin() -> None:
    x = example()
    leaf = example().requires_grad_()
    for operands in (
        (x, example().double()), (x, nnkit.ones(2)), (x, nnkit.ones(2, 2, 3)), (x, True),
        (x, leaf), (leaf, 1.0), (leaf[0], 1.0), (leaf * 1, 1.0), (x.t(), 1.0), (x, x[0]),
        (x[0].expand(2, 3), 1.0), (x, "a"), (object(), 1.0), (1.0, x), (x, None),
    ):  # fmt: skip
        assert add_(*operands) is None
    with nnkit.inference_mode():
        assert add_(example(), 1.0) is None
    ENTERED_LEVELS.add(0)
    try:
        assert add_(x, 1.0) is None
    finally:
        ENTERED_LEVELS.discard(0)
    assert x._version == 0 and x.equal(example()) and leaf._version == 0


F = nnkit.nn.functional


def _refuse(*arguments: Any, **options: Any) -> None:
    raise AssertionError("left to Python")


@pytest.mark.parametrize(
    ("module", "call"),
    [
        (triangles, lambda x: x.tril_()),
        (triangles, lambda x: x.triu_(1)),
        (inplace, lambda x: x.uniform_()),
        (inplace, lambda x: x.normal_(1.0, 2.0)),
        (inplace, lambda x: x.exponential_()),
        (activation, lambda x: F.selu(x, inplace=True)),
        (activation, lambda x: F.celu(x, 0.5, inplace=True)),
        (nn_activation, lambda x: F.silu(x, inplace=True)),
        (hard_activation, lambda x: F.elu(x, 0.5, inplace=True)),
        (hard_activation, lambda x: F.leaky_relu(x, inplace=True)),
        (hard_activation, lambda x: F.mish(x, inplace=True)),
        (hard_activation, lambda x: F.relu6(x, inplace=True)),
        (hard_activation, lambda x: F.hardswish(x, inplace=True)),
        (hard_activation, lambda x: F.hardsigmoid(x, inplace=True)),
    ],
)
def test_what_becomes_no_history_takes_a_kernel_alone(
    module: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_kernel, by_python = example() - 3, (example() - 3).requires_grad_() * 1
    nnkit.manual_seed(1)
    call(by_python)
    monkeypatch.setattr(module, "write", _refuse)
    nnkit.manual_seed(1)
    assert call(by_kernel) is by_kernel and by_kernel._version == 1
    assert by_kernel.equal(by_python)


def test_a_write_has_a_name_and_says_what_it_does() -> None:
    write: Any = nnkit.Tensor.mul_
    assert write.__name__ == "mul_" and write.__doc__.startswith("In-place version of `mul`")
    assert nnkit.Tensor.add.__doc__ is not None
