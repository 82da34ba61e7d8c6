"""Public functions look at their arguments first, as torch's parser does."""

from __future__ import annotations

import gc
import weakref
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.autograd import arguments
from nnkit.autograd.tensor import Tensor

# The type, a word of nnkit's message, the call.
WRONG = [
    (TypeError, "sum(): argument 'dim'", "x.sum('a')"),
    (TypeError, "sum(): argument 'keepdim' must be bool, not int", "x.sum(0, 1)"),
    (TypeError, "sum(): argument 'input' must be Tensor, not int", "torch.sum(3)"),
    (TypeError, "var_mean(): argument 'keepdim'", "torch.var_mean(x, 0, False, [0, 1])"),
    (TypeError, "argument 'dim' must be int, not bool", "torch.unsqueeze(x, True)"),
    (TypeError, "'beta' must be Number, not ndarray", "torch.addmm(x, x, x, beta=array)"),
    (TypeError, "argument 'dtype'", "torch.zeros(3, dtype='float32')"),
    (TypeError, "argument 'layout'", "torch.rand(2, layout='strided')"),
    (TypeError, "'generator' must be Generator", "torch.rand(2, generator=3)"),
    (TypeError, "argument 'memory_format'", "x.contiguous(memory_format=1)"),
    (TypeError, "argument 'eps' must be float", "torch.layer_norm(x, (2,), eps='a')"),
    (TypeError, "linalg.cond(): argument 'A' must be Tensor", "torch.linalg.cond([[1.0]])"),
    (TypeError, "linear(): argument 'weight'", "torch.nn.functional.linear(x, None)"),
    (ValueError, "'dim': Overflow when unpacking", "torch.cumsum(x, 2**63)"),
    (TypeError, "must be tuple of ints", "x.repeat(array)"),
    (
        TypeError,
        "must be tuple of ints, but found element of type float at pos 1",
        "x.amax((0, 1.0))",
    ),
    (TypeError, "found element of type bool at pos 0", "torch.conv1d(x, x[None], None, [True])"),
    (TypeError, "remainder(): argument 'other'", "x.remainder_([])"),
    (TypeError, "argument 'other' must be Tensor", "x.hypot_(1)"),
    (NotImplementedError, "bitwise_not(): not implemented", "x.bitwise_not_()"),
    (
        TypeError,
        "softshrink(): argument 'lambd' must be float",
        "torch.nn.functional.softshrink(x, {})",
    ),
    (TypeError, "missing 1 required positional argument", "x.expand()"),
    (TypeError, "missing 1 required positional argument", "x.permute()"),
    (TypeError, "takes 1 positional argument", "x.double(1)"),
    (TypeError, "argument 'tensors'", "torch.linalg.multi_dot([x, [x]])"),
    (TypeError, "'ord' must be float or str, not dict", "torch.linalg.matrix_norm(x, {})"),
    (ValueError, "must be numbers or Tensors", "torch.distributions.Normal({}, x)"),
    (ValueError, "must be a Tensor", "torch.distributions.Laplace(x, x).cdf(1.0)"),
    (RuntimeError, "use ^ or logical_xor()", "(x == x) - (x == x)"),
    (RuntimeError, "use ~ or logical_not()", "-(x == x)"),
    (RuntimeError, "cannot be concatenated", "torch.cat([x[0, 0], x[0, 0]])"),
    (
        NotImplementedError,
        "the modes are nearest",
        "torch.nn.functional.interpolate(x[None, None], scale_factor=2, mode='bicubicc')",
    ),
    (RuntimeError, "cannot be multiplied by a vector of 3 elements", "x @ torch.ones(3)"),
    (RuntimeError, "linalg.inv(): A must be", "torch.linalg.inv(torch.ones(2, 3))"),
    (RuntimeError, "linalg.inv: ", "torch.linalg.inv(torch.zeros(2, 2))"),
    (RuntimeError, "did you mean cuda?", "torch.ones(2, device='gpu')"),
    (RuntimeError, "did you mean the dtype nnkit.int?", "x.to('int')"),
    (TypeError, "'mode' must be bool, not int", "torch.set_grad_enabled(1)"),
    (TypeError, "missing 1 required positional argument: 'dim'", "torch.softmax(x)"),
    (TypeError, "unexpected keyword argument 'dims'", "torch.softmax(x, dims=1)"),
]


@pytest.mark.parametrize(("error", "noun", "call"), WRONG, ids=[call for *_, call in WRONG])
def test_wrong_types(lib: ModuleType, error: type[Exception], noun: str, call: str) -> None:
    with pytest.raises(error) as raised:
        eval(call, {"torch": lib, "x": lib.ones(2, 2), "array": np.array(1.5)})
    assert lib is not nnkit or noun in str(raised.value)


# What stands for a number or a flag, and NumPy's names of parameters.
RIGHT = [
    "x.sum(axis=0, keepdims=True)",
    "torch.sum(input=x, dim=torch.tensor(1))",
    "x.sum(np.int64(1))",
    "torch.add(x, x, alpha=torch.tensor(2.0))",
    "torch.layer_norm(x, (2,), eps=torch.tensor(0.5))",
    "torch.nn.functional.dropout(x, 0.0, True, 1)",
    "torch.nn.functional.leaky_relu(x, np.float32(0.5))",
    "x.to(dtype=float)",
    "torch.sum(x, 0, out=torch.empty(2))",
    "torch.linalg.svdvals(x, out=torch.empty(2))",
]


@pytest.mark.parametrize("call", RIGHT)
def test_what_is_taken(torch: ModuleType, call: str) -> None:
    results = []
    for lib in (nnkit, torch):
        names = {"torch": lib, "x": lib.ones(2, 2), "np": np}
        results.append(eval(call, names).tolist())
    np.testing.assert_allclose(*results, atol=1e-6)


class Sub(Tensor):
    """A class that the parameters have not met."""


def _length(input: Tensor, dim: int = 0, flag: bool = False, *rest: Any, word: str = "") -> Any:
    return input.shape[dim], flag, rest, word


@pytest.mark.parametrize("made", [arguments.held_in_python, arguments.Held])
def test_twins(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled form and its twin in Python."""
    monkeypatch.setattr(arguments, "Held", made)
    length = arguments.held(_length, "length")
    x: Any = nnkit.ones(4, 5)
    for _ in range(2):  # before the classes are known, and after
        assert length(x) == (4, False, (), "") and length(dim=1, input=x)[0] == 5
        assert length(nnkit.nn.Parameter(x), np.int64(1), True, 3, word="a") == (5, True, (3,), "a")
        assert length(x.as_subclass(Sub) if hasattr(x, "as_subclass") else x)[0] == 4
        for wrong in ((3,), (x, 1.0), (x, True), (x, 1, 0), (x, None)):
            with pytest.raises(TypeError, match=r"length\(\): argument '.*' must be"):
                length(*wrong)
        with pytest.raises(TypeError, match="'word' must be str, not int"):
            length(x, word=3)
        with pytest.raises(ValueError, match="'dim': Overflow when unpacking"):
            length(x, 2**63)
        with pytest.raises(TypeError, match="missing 1 required"):
            length()
        with pytest.raises(TypeError, match="unexpected keyword"):
            length(x, other=1)
    assert length.__name__ == "_length" and length.__doc__ is None
    assert repr(length).startswith("<")


def test_a_held_function_is_freed() -> None:
    class Marker:
        pass

    marker = Marker()
    alive = weakref.ref(marker)

    def function(input: Tensor) -> Any:
        return input

    made: Any = arguments.held(function, "f")
    made(nnkit.ones(1))
    made.marker, made.itself = marker, made
    del made, function, marker
    gc.collect()
    assert alive() is None


def test_subclasses_of_tensor_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    checked = arguments.Signature.checked

    def counted(self: Any, name: str, value: Any) -> Any:
        looked.append(name)
        return checked(self, name, value)

    monkeypatch.setattr(arguments.Signature, "checked", counted)
    scope: dict[str, Any] = {"Tensor": nnkit.Tensor}
    exec("def double(input: Tensor): return input * 2", scope)
    double = arguments.held(scope["double"], "double")
    for _ in range(3):
        double(nnkit.nn.Parameter(nnkit.ones(2)))
    assert looked == ["input"]
