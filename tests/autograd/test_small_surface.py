"""Small parts of Tensor's and Size's surface, as PyTorch's own tests ask for them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import nnkit

# Expressions of `T`, the framework, and what they give: a value, or the name of an error.
EXPRESSIONS: dict[str, Any] = {
    "assign('real', 5)": [5 + 2j, 5 + 3j],
    "assign('imag', T.tensor([1.0, 2.0]))": [1 + 1j, 2j],
    "assign('real', T.tensor([7.0]))": [7 + 2j, 7 + 3j],
    "tuple(T.Size([1, 2]) + (3,))": (1, 2, 3),
    "tuple((3,) + T.Size([1, 2]))": (3, 1, 2),
    "T.Size([1, 2]) + [3]": "TypeError",
    "[3] + T.Size([1, 2])": "TypeError",
    "T.Size([1]) + Answers()": "answered",
    "T.ones(2, 3).dim_order(ambiguity_check=True)": (0, 1),
    "T.ones(2, 1).dim_order(ambiguity_check=True)": "RuntimeError",
    "T.ones(1, 2, 3, 3).dim_order(ambiguity_check=[T.contiguous_format, T.channels_last])": (
        0, 1, 2, 3,
    ),
    "T.ones(2, 2, 1, 1).dim_order(ambiguity_check=[T.contiguous_format, T.channels_last])": (
        "RuntimeError"
    ),
    "T.ones(2).dim_order(ambiguity_check=3)": "TypeError",
    "tuple(T.ones(2).new(size=(3, 4)).shape)": (3, 4),
    "T.ones(2).apply_(lambda value: 'text')": "TypeError",
    "T.ones(2).apply_(lambda value: None)": "TypeError",
    "T.use_deterministic_algorithms(False, warn_only=1)": "TypeError",
}  # fmt: skip


class Answers:
    def __radd__(self, other: Any) -> str:
        return "answered"


def value(T: Any, expression: str) -> Any:
    x = T.tensor([1 + 2j, 3j])

    def assign(part: str, new: Any) -> list:
        setattr(x, part, new)
        return x.tolist()

    try:
        return eval(expression, {"T": T, "assign": assign, "Answers": Answers})
    except (TypeError, RuntimeError) as error:
        return type(error).__name__


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression: str) -> None:
    assert value(nnkit, expression) == EXPRESSIONS[expression]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_in_torch(expression: str, torch: ModuleType) -> None:
    assert value(torch, expression) == EXPRESSIONS[expression]


@pytest.mark.parametrize("framework", ["nnkit", "torch"])
@pytest.mark.parametrize(
    "write",
    [
        "x.masked_fill_(T.tensor([True, False, True]), 2)",
        "x.index_fill_(0, T.tensor([0]), 2)",
        "x.index_put_((T.tensor([0]),), T.tensor(2.0))",
    ],
)
def test_writes_to_expanded_tensors_are_deprecated(framework: str, write: str) -> None:
    T: Any = nnkit if framework == "nnkit" else pytest.importorskip("torch")
    with pytest.warns(UserWarning, match="on expanded tensors is deprecated"):
        eval(write, {"T": T, "x": T.ones(1).expand(3)})
