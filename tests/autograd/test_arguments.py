"""Public functions look at their arguments first, as torch's parser does."""

from __future__ import annotations

import gc
import weakref
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.autograd.arguments import annotations as arguments
from nnkit.autograd.tensor import Tensor

# The type, a word of nnkit's message, the call.
WRONG = [
    (TypeError, "sum(): argument 'dim'", "x.sum('a')"),
    (TypeError, "sum(): argument 'keepdim' must be bool, not int", "x.sum(0, 1)"),
    (TypeError, "norm(): argument 'keepdim' must be bool, not int", "x.norm(2, 0, 1)"),
    (TypeError, "argument 'return_inverse' must be bool", "torch.unique(x, return_inverse=1)"),
    (TypeError, "argument 'return_counts'", "torch.unique_consecutive(x, return_counts=())"),
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
    # Numbers beside tensors of any dtype, which torch's parser reads
    (OverflowError, "int too big to convert", "x * 2**64"),
    (OverflowError, "int too big to convert", "2**64 - x.half()"),
    (OverflowError, "can't convert negative int", "x.add_(-(2**63) - 1)"),
    (OverflowError, "int too big to convert", "x.fill_(2**70)"),
    (OverflowError, "int too big to convert", "torch.full_like(x, 2**64)"),
    (OverflowError, "int too big to convert", "torch.clamp(x, max=2**64)"),
    (OverflowError, "int too big to convert", "x.long().masked_fill(x > 0, 2**64)"),
    (OverflowError, "int too big to convert", "torch.add(x, x, alpha=2**64)"),
    (OverflowError, "int too big to convert", "torch.arange(2**64)"),
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
    (ValueError, "must be a Tensor", "torch.distributions.Laplace(x, x, True).cdf(1.0)"),
    (RuntimeError, "Use the `^` or `logical_xor()`", "(x == x) - (x == x)"),
    (RuntimeError, "use the `~` or `logical_not()`", "-(x == x)"),
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
    # Shapes that only a kernel finds unfit
    (RuntimeError, "bernoulli_(): The expanded size", "x.bernoulli_(torch.ones(3))"),
    (RuntimeError, "complex(): The size of tensor a (2)", "torch.complex(x, torch.ones(3))"),
    (RuntimeError, "linalg.solve", "torch.linalg.solve(x.expand(2, 2, 2), x.expand(3, 2, 2))"),
    (RuntimeError, "gru_cell(): expected biases", "torch.gru_cell(x, x, w, w, b[1:], b)"),
    (RuntimeError, "gru_cell(): weight_ih first dim must", "torch.gru_cell(x, x, w[1:], w, b, b)"),
    (
        RuntimeError,
        "cholesky_solve(): input2 of shape",
        "torch.cholesky_solve(torch.ones(3, 2), x)",
    ),
    (
        RuntimeError,
        "solve_triangular: incompatible",
        "torch.linalg.solve_triangular(x, torch.ones(3, 2), upper=True)",
    ),
    (RuntimeError, "index_put(): the", "x.index_put((i,), torch.ones(1, 1, 2))"),
    (
        RuntimeError,
        "_random_samples to have 3 dimensions",
        "torch.nn.functional.fractional_max_pool2d(x[None], 1, 2, _random_samples=torch.ones(0))",
    ),
    # As many arguments as there are parameters
    (TypeError, "takes 1 positional argument", "torch.isnan(x, [])"),
    (TypeError, "takes 1 positional argument", "(x == x).logical_not_(1)"),
    (TypeError, "missing 1 required positional argument", "x.fmod_()"),
    (TypeError, "missing 1 required positional argument: 'dim'", "x.max(keepdim=True)"),
    (TypeError, "cudnn_enabled", "torch.batch_norm(x, None, None, None, None, True, 0.1, 0.1)"),
    (TypeError, "multiple values for argument 'size'", "torch.zeros(3, size=(2,))"),
    # What is no tensor, number or sequence of them
    (TypeError, "detach(): argument 'self' must be Tensor", "torch.detach(1)"),
    (TypeError, "is_inference(): argument 'self'", "torch.is_inference(1)"),
    (TypeError, "argument 'input' must be Tensor", "torch.Tensor.tanh_(1)"),
    (TypeError, "byte(): argument 'input' must be", "torch.Tensor.byte(1)"),
    (TypeError, "hsplit(): argument 'indices_or_sections'", "x.hsplit(['a'])"),
    (RuntimeError, "to have dtype of long", "torch.tensor_split(x, x)"),
    (
        ValueError,
        "object does not implement Python buffer protocol",
        "torch.frombuffer(1.5, dtype=torch.uint8)",
    ),
    (TypeError, "'dtype' must be nnkit.dtype", "torch.frombuffer(bytearray(4), dtype=None)"),
    (RuntimeError, "'ext_tensor' must be an array", "torch.from_dlpack({})"),
    (TypeError, "gru(): argument 'params' must be tuple", "torch.gru(*network('b'))"),
    (TypeError, "gru(): expected Tensor as element 3", "torch.gru(*network([w, w, b, 1]))"),
    (
        TypeError,
        "gru(): argument 'num_layers' must be int",
        "torch.gru(*network([w, w, b, b], 'a'))",
    ),
    (RuntimeError, "gru(): got 4 params", "torch.gru(*network([w, w, b, b], 0))"),
    (
        RuntimeError,
        "lstm(): expected two states",
        "torch.lstm(x[None], [x[None]], *network([])[2:])",
    ),
    (TypeError, "norm(): argument 'p' must be float", "x.norm(p=[1])"),
    (TypeError, "argument 'stride' must be tuple of ints", "x.as_strided((2,), 1)"),
    (TypeError, "argument 'dims' must be tuple of ints, not bool", "x.flip(True)"),
    (TypeError, "to(): argument 'device' must be", "x.to([0])"),
    (TypeError, "argument 'index' must be int", "torch.device('cpu', {})"),
    (TypeError, "argument 'index' must be int", "torch.device('cpu', True)"),
    (TypeError, "must both be int or both be tuple", "x.movedim(0, (1,))"),
    (TypeError, "argument 'range' must be tuple", "torch.histogram(x, 2, range=x)"),
    (TypeError, "expected Tensor as element 0", "x.index_put(([0],), x)"),
    (TypeError, "argument 'to' must be int, not bool", "torch.randint_like(x, True)"),
    (TypeError, "must be str", "torch.nn.functional.gelu(x, approximate=(1, 2))"),
    (TypeError, "argument 'mode' must be str", "torch.nn.functional.pad(x, (1, 1), 3)"),
    (RuntimeError, "expected ints and tuples of ints", "torch.broadcast_shapes({}, (2,))"),
    (ValueError, "must be non-negative", "torch.broadcast_shapes(-5, (1,))"),
    (RuntimeError, "manual_seed expected a long", "torch.Generator().manual_seed(x)"),
    (ValueError, "expected two lists of dims", "torch.tensordot(x, x, [])"),
    (ValueError, "at least one operand", "torch.einsum(x)"),
    # Dtypes that do not go together
    (RuntimeError, "different dtypes", "torch.heaviside(x, x.double())"),
    (RuntimeError, "the same dtype", "torch.meshgrid(x[0], x[0].double(), indexing='ij')"),
    (RuntimeError, "one dtype", "torch.cdist(x, x.double())"),
    (RuntimeError, "one dtype", "torch.linalg.vecdot(x, x.double())"),
    (RuntimeError, "isin(): not implemented for 'bool'", "torch.isin(x, x == x)"),
    (
        RuntimeError,
        "take_along_dim(): dtype of indices should be Long",
        "x.take_along_dim(x == x, 0)",
    ),
    (RuntimeError, "cosine_similarity(): expected", "torch.cosine_similarity(x, x + 1j)"),
    (RuntimeError, "mixed dtype", "torch.layer_norm(x, (2,), torch.ones(2).half())"),
    (NotImplementedError, "polygamma(): not implemented", "torch.polygamma(1, x + 1j)"),
    # Numbers out of range
    (IndexError, "index 1 is out of bounds", "x[0, 0].clone().index_fill_(0, i + 1, 3.0)"),
    (RuntimeError, "Index to scalar can have only 1 value", "x[0, 0].index_select(0, i[:0])"),
    (RuntimeError, "upper bound must be finite", "torch.rrelu(x, 0.1, float('inf'))"),
    (RuntimeError, "atol must be greater than or equal", "x.allclose(x, atol=float('nan'))"),
]


def scope(lib: ModuleType) -> dict[str, Any]:
    """What the calls may name: a matrix, an index, the weights and biases of a recurrent layer."""
    x, w, b = lib.ones(2, 2), lib.ones(6, 2), lib.ones(6)

    def network(params: Any, num_layers: Any = 1) -> tuple:
        return x[None], x[None], params, True, num_layers, 0.0, False, False, False

    return {
        "torch": lib, "x": x, "w": w, "b": b, "i": lib.tensor([0, 0]), "network": network,
        "np": np, "array": np.array(1.5),
    }  # fmt: skip


@pytest.mark.parametrize(("error", "noun", "call"), WRONG, ids=[call for *_, call in WRONG])
def test_wrong_types(lib: ModuleType, error: type[Exception], noun: str, call: str) -> None:
    with pytest.raises(error) as raised:
        eval(call, scope(lib))
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
    "x.to(torch.uint8) | 300",
    "x.to(torch.int8) - 2**63",
    "torch.gru_cell(x, x, w, w, b[:1], b)",
    "torch.gru(*network([w, w, b, b[:1]]))[0]",
    "torch.inner(x, torch.tensor(2))",
    "torch.einsum('ij->ji', x == x)",
    "x[0].scatter(0, torch.tensor(1), torch.full((7,), 5.0))",
    "x[0].scatter_add(0, torch.tensor(1), torch.full((7,), 5.0))",
    "torch.diagonal_scatter(x.long(), torch.tensor([1.5, 2.5]))",
    "torch.index_put(x, (x == x,), torch.tensor(3))",
    "torch.dropout(x.int(), 1.0, True)",
    "torch.split(x, (2, False), 1)[0]",
    "torch.histogram(x)[0]",
    "torch.FloatTensor(np.array([1.0, 2.0]))",
    "torch.Tensor(np.arange(3))",
    "torch.IntTensor(np.array([[1, 2]]))",
    "x.new(np.array([1.0, 2.0]))",
]


@pytest.mark.parametrize("call", RIGHT)
def test_what_is_taken(torch: ModuleType, call: str) -> None:
    results = []
    for lib in (nnkit, torch):
        results.append(eval(call, scope(lib)).tolist())
    np.testing.assert_allclose(*results, atol=1e-6)


# What torch's parsers call parameters, whatever its documentation does.
NAMED = [
    "torch.abs_(input=x)", "torch.heaviside(x, values=x)", "x.clone().heaviside_(values=x)",
    *(f"torch.{kind}_like(x, pin_memory=False)" for kind in ("empty", "zeros", "ones", "rand")),
    "torch.full_like(x, 1, pin_memory=False)", "torch.randint_like(x, 3, pin_memory=False)",
    "torch.isin(element=1, test_elements=x)", "torch.isin(x, test_element=1)",
    "torch.cholesky_solve(x, input2=torch.eye(2))", "torch.orgqr(x, input2=x[0])",
    "torch.ormqr(x, input2=x[0], input3=x)", "torch.promote_types(type1=b.dtype, type2=x.dtype)",
    "torch.result_type(scalar=1, tensor=x)", "torch.result_type(scalar1=1, scalar2=2.5)",
    "torch.rrelu(x, 0.1, 0.2, True, generator=torch.Generator())",
    "torch.smm(x.to_sparse(), mat2=x)", "torch.unsafe_split(input=x, split_size=1)",
    "torch.sparse_csr_tensor(crow_indices=[0, 1], col_indices=[0], values=[1.0])",
    "torch.sparse_csc_tensor(ccol_indices=[0, 1], row_indices=[0], values=[1.0])",
    "torch.sparse_bsr_tensor(crow_indices=[0, 1], col_indices=[0], values=[[[1.0]]])",
    "torch.sparse_bsc_tensor(ccol_indices=[0, 1], row_indices=[0], values=[[[1.0]]])",
    "torch.tensor_split(x, tensor_indices_or_sections=torch.tensor(2))",
    "torch.tril_indices(2, 2, requires_grad=False, pin_memory=False)",
    "torch.view_copy(x, dtype=torch.int32)", "x.clone().resize_(size=(1, 1))",
    "torch.embedding_renorm_(input=x, indices=torch.tensor([0]), max_norm=1.0, norm_type=2.0)",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("call", NAMED)
def test_names_of_parameters(lib: ModuleType, call: str) -> None:
    eval(call, scope(lib))


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
