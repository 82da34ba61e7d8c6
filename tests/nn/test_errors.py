"""What modules and their helpers refuse, with torch's type of error and a sentence of ours."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises

Case = tuple[type[Exception], str, Callable[[Any], Any]]


def _linear(T: Any) -> Any:
    return T.nn.Linear(3, 2)


def _with_gradient(T: Any) -> Any:
    x = T.ones(1)
    x.grad = T.ones(1)
    return x


def _prune(T: Any) -> Any:
    return import_module(f"{T.__name__}.nn.utils.prune")


def _packed(T: Any) -> Any:
    return T.nn.utils.rnn.pack_sequence([T.ones(2, 3), T.ones(1, 3)])


CASES: list[Case] = [
    (TypeError, "out_channels must be an int, got None", lambda T: T.nn.Conv1d(2, None, 3)),
    (TypeError, r"in_channels must be an int, got \[1\]", lambda T: T.nn.Conv2d([1], 2, 3)),
    (TypeError, "groups must be an int", lambda T: T.nn.Conv2d(2, 2, 3, groups="a")),
    (ValueError, "groups must be a positive", lambda T: T.nn.Conv2d(2, 2, 3, groups=0)),
    (TypeError, "out_channels must be an int",
     lambda T: T.nn.LazyConv2d((1, 2), 3)(T.ones(1, 2, 4, 4))),
    (TypeError, "output_size must be tuple of ints, got float",
     lambda T: T.nn.ConvTranspose1d(2, 2, 3)(T.ones(1, 2, 4), 1.5)),
    (TypeError, "in1_features must be an int", lambda T: T.nn.Bilinear("a", 2, 2)),
    (TypeError, "num_embeddings must be an int", lambda T: T.nn.Embedding(None, 2)),
    (TypeError, "embedding_dim must be an int", lambda T: T.nn.Embedding(2, T.ones(2, 3))),
    (TypeError, "Unrecognized RNN mode: None", lambda T: T.nn.RNNBase(None, 2, 2)),
    (ValueError, "Unrecognized RNN mode: 'a'", lambda T: T.nn.RNNBase("a", 2, 2)),
    (TypeError, "argument 'batch_first' must be bool, not list",
     lambda T: T.nn.utils.rnn.pack_padded_sequence(T.ones(4, 2, 3), [4, 2], ["a"])),
    (RuntimeError, "'lengths' argument should be a 1D CPU int64 tensor, but got 0D",
     lambda T: T.nn.utils.rnn.pack_padded_sequence(T.ones(4, 2, 3), 0)),
    (TypeError, "argument 'padding_side' must be str, not float",
     lambda T: T.nn.utils.rnn.pad_sequence([T.ones(2)], False, 0.0, 1.5)),
    (TypeError, "sequences must be Tensors, but element 0 is of type int",
     lambda T: T.nn.utils.rnn.pad_sequence([1, 2])),
    (ValueError, "a length for each of the 2 sequences, got 3",
     lambda T: T.nn.utils.rnn.unpad_sequence(T.ones(4, 2, 3), T.tensor([1, 1, 1]))),
    (ValueError, r"CircularPad2d: expected 3D or 4D input \(got 2D input\)",
     lambda T: T.nn.CircularPad2d(1)(T.ones(2, 3))),
    (TypeError, "found element of type bool at pos 0",
     lambda T: T.nn.ZeroPad2d(True)(T.ones(1, 2, 2))),
    (TypeError, "found element of type bool at pos 0", lambda T: T.nn.LayerNorm(True)),
    (TypeError, "argument 'pad' must be tuple of ints",
     lambda T: T.nn.Conv2d(1, 1, 3, padding=["a"], padding_mode="reflect")(T.ones(1, 4, 4))),
    (TypeError, "hx must be tuple of Tensors, not Tensor",
     lambda T: T.nn.LSTMCell(3, 4)(T.ones(2, 3), T.ones(2, 4))),
    (ValueError, "either size or scale_factor should be defined",
     lambda T: T.nn.Upsample(scale_factor=0)(T.ones(1, 2, 4, 4))),
    (ValueError, "output_ratio must be between 0 and 1",
     lambda T: T.nn.FractionalMaxPool2d(2, output_ratio=0)),
    (AssertionError, "update was called before anything was scaled",
     lambda T: T.amp.GradScaler("cpu").update(4.0)),
    (AssertionError, "step was called before anything was scaled",
     lambda T: T.amp.GradScaler("cpu").step(T.optim.SGD([T.ones(1)]))),
    (ValueError, "scale takes a Tensor or an iterable of them, got int",
     lambda T: T.amp.GradScaler("cpu").scale(3)),
    (ValueError, "jacfwd: what it differentiates by must be floating",
     lambda T: T.func.jacfwd(lambda x: x)(T.ones((), dtype=T.int64))),
    (TypeError, "'permutation' must be Tensor|argument 'input'",
     lambda T: T.nn.utils.rnn.invert_permutation(1.5)),
    (TypeError, "dim must be int or None, not str",
     lambda T: T.nn.utils.parametrizations.weight_norm(_linear(T), "weight", "a")),
    (IndexError, "dim must be between -2 and 1",
     lambda T: T.nn.utils.parametrizations.weight_norm(_linear(T), "weight", -5)),
    (ValueError, "does not have a parametrization on weight",
     lambda T: T.nn.utils.parametrize.remove_parametrizations(3, "weight")),
    (TypeError, "total_norm must be a Tensor, got float",
     lambda T: T.nn.utils.clip_grads_with_norm_([_with_gradient(T)], 1.0, 0.5)),
    (ValueError, "could not convert", lambda T: T.nn.utils.clip_grad_norm_([], 1.0, "a")),
    (AssertionError, r"the mask must have the parameter's shape \[2, 3\], got \[4\]",
     lambda T: _prune(T).custom_from_mask(_linear(T), "weight", T.ones(4))),
    (TypeError, "parameters must be a list of pairs, got int",
     lambda T: _prune(T).global_unstructured(3, _prune(T).L1Unstructured, amount=0.5)),
    (TypeError, "importance_scores must be a dict, got int",
     lambda T: _prune(T).global_unstructured(
         [(_linear(T), "weight")], _prune(T).L1Unstructured, 3, amount=0.5)),
    (RuntimeError, "jvp: Expected tangents to only contain Tensors, got int",
     lambda T: T.func.jvp(lambda x: x, (T.ones(2),), (3,))),
    (ValueError, "jvp: primals must be floating",
     lambda T: T.func.jvp(lambda x: x, (T.ones(2).long(),), (T.ones(2),))),
    (ValueError, "jvp: tangents must be floating",
     lambda T: T.func.jvp(lambda x: x, (T.ones(2),), (T.ones(2).long(),))),
    (RuntimeError, "expected Tensors, got str",
     lambda T: T.autograd.graph.increment_version(["a"])),
    (RuntimeError, "a Tensor or an iterable of Tensors, got int",
     lambda T: T.autograd.graph.increment_version(3)),
    (RuntimeError, "all inputs have to be Tensors or GradientEdges, but got str",
     lambda T: T.ones((), requires_grad=True).backward(inputs="a")),
    (TypeError, "create_graph must be bool, got str",
     lambda T: T.ones((), requires_grad=True).backward(create_graph="a")),
    (TypeError, "retain_graph must be bool, got float",
     lambda T: T.ones((), requires_grad=True).backward(retain_graph=0.5)),
    (TypeError, "allow_unused must be bool, got str", lambda T: T.autograd.grad(
        T.ones((), requires_grad=True), T.ones((), requires_grad=True), allow_unused="a")),
    (ValueError, "at least one input tensor to require grad",
     lambda T: T.autograd.gradcheck(lambda x: x, 3)),
    (TypeError, "must be a mapping, not bool", lambda T: T.func.functional_call(
        _linear(T), {}, (T.ones(4, 3),), False)),
    (TypeError, "3.5 is not an instance of torch.Tensor", lambda T: T.func.functional_call(
        _linear(T), {"weight": 3.5}, T.ones(4, 3))),
    (ValueError, "Expected `device_type` of type `str`, got: `<class 'int'>`",
     lambda T: T.amp.autocast(3, enabled=False)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(("error", "message", "call"), CASES, ids=[m for _, m, _ in CASES])
def test_refused(lib: ModuleType, error: type[Exception], message: str, call: Callable) -> None:
    with raises(lib, error, message):
        call(lib)


def test_what_is_no_packed_sequence(lib: ModuleType) -> None:
    for value in (None, 3, [lib.ones(2)]):
        with pytest.raises((TypeError, AttributeError)):
            lib.nn.utils.rnn.pad_packed_sequence(value)
    assert not _packed(lib).is_pinned()


def test_taken_all_the_same(lib: ModuleType) -> None:
    """What plain sense would refuse and torch takes."""
    rnn = lib.nn.utils.rnn
    padded = rnn.pad_sequence([lib.ones(2), lib.ones(1, dtype=lib.float64)])
    assert padded.dtype == lib.float32
    packed = rnn.pack_padded_sequence(lib.ones(4, 2, 3), lib.tensor([4.0, 2.0]))
    assert packed.batch_sizes.tolist() == [2, 2, 1, 1]
    assert not lib.nn.utils.parametrize.is_parametrized(3)


def _own(lib: ModuleType, forward: Callable, backward: Callable) -> Any:
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Own", (lib.autograd.Function,), methods)


@pytest.mark.parametrize(
    ("method", "error"),
    [
        ("mark_dirty", RuntimeError),
        ("mark_non_differentiable", RuntimeError),
        ("set_materialize_grads", TypeError),
    ],
)
def test_misused_context(lib: ModuleType, method: str, error: type[Exception]) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        getattr(ctx, method)("a")
        return x * 2

    with raises(lib, error, "can only accept tensors, but argument 0|value must be bool, got 'a'"):
        _own(lib, forward, lambda ctx, grad: grad).apply(lib.ones(2, requires_grad=True))


def test_a_backward_that_gives_no_tensor(lib: ModuleType) -> None:
    for value in (3, [lib.ones(2)]):
        function = _own(lib, lambda ctx, x: x * 2, lambda ctx, grad, value=value: value)
        with raises(lib, RuntimeError, "at index 0, expected a Tensor or None"):
            function.apply(lib.ones(2, requires_grad=True)).sum().backward()
