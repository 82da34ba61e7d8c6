"""The words of errors of modules that programs look for: the same ones match in both frameworks."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

Row = tuple[str, type[Exception], str, Callable[[Any], Any]]


def _parametrized(lib: Any, forward: Any, back: Any = None) -> Any:
    members = {"forward": lambda self, x: forward(x)}
    if back is not None:
        members["right_inverse"] = lambda self, x: back(x)
    made = type("Made", (lib.nn.Module,), members)()
    parametrize = import_module(f"{lib.__name__}.nn.utils.parametrize")
    return parametrize.register_parametrization(lib.nn.Linear(2, 3), "weight", made)


def _assigned(lib: Any, back: Any) -> None:
    layer = _parametrized(lib, lambda x: x, lambda x: x)
    type(layer.parametrizations.weight[0]).right_inverse = lambda self, x: back(x)
    layer.weight = lib.ones(3, 2)


def _loaded(lib: Any, **changes: Any) -> None:
    layer = lib.nn.Linear(2, 2)
    layer.load_state_dict({**layer.state_dict(), **changes})


def _hooked(lib: Any, answer: Any, needed: bool = True) -> None:
    layer = lib.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, inputs, outputs: answer)
    layer(lib.ones(1, 2, requires_grad=needed)).sum().backward()


def _hooked_twice(lib: Any) -> None:
    layer, hook = lib.nn.Linear(2, 2), lambda *_: None
    layer.register_state_dict_post_hook(hook)
    layer._register_state_dict_hook(hook)


def _attend(lib: Any, query: tuple, key: tuple, value: tuple, **masks: tuple) -> None:
    given = {name: lib.ones(shape) for name, shape in masks.items()}
    lib.nn.MultiheadAttention(4, 2)(*(lib.ones(s) for s in (query, key, value)), **given)


def _twice(layer: Any, norm: Any) -> None:
    norm(norm(layer))


ROWS: list[Row] = [
    ("causal", RuntimeError, "Explicit attn_mask should not be set when is_causal=True",
     lambda lib: lib.nn.functional.scaled_dot_product_attention(
         *[lib.ones(2, 2)] * 3, attn_mask=lib.ones(2, 2), is_causal=True)),
    ("attention_key", AssertionError,
     r"For batched \(3-D\) `query`, expected `key` and `value` to be 3-D but found 2-D and 3-D",
     lambda lib: _attend(lib, (3, 3, 4), (3, 4), (3, 3, 4))),
    ("attention_query", AssertionError, "should be unbatched 2D or batched 3D tensor but received",
     lambda lib: _attend(lib, (4,), (3, 4), (3, 4))),
    ("attention_padding", AssertionError,
     "expected `key_padding_mask` to be `None` or 1-D but found 2-D tensor instead",
     lambda lib: _attend(lib, (3, 4), (3, 4), (3, 4), key_padding_mask=(3, 3))),
    ("attention_mask", AssertionError,
     "expected `attn_mask` to be `None`, 2-D or 3-D but found 1-D tensor instead",
     lambda lib: _attend(lib, (3, 3, 4), (3, 3, 4), (3, 3, 4), attn_mask=(2,))),
    ("rnn_dtype", ValueError, r"Convert input: input\.to\(.*float32\), or convert model: model\.to",
     lambda lib: lib.nn.RNN(2, 3)(lib.ones(1, 1, 2).double())),
    ("cell", RuntimeError, "input has inconsistent input_size: got 3 expected 2",
     lambda lib: lib.nn.GRUCell(2, 3)(lib.ones(1, 3))),
    ("cell_hidden", RuntimeError, "hidden0 has inconsistent hidden_size: got 4, expected 3",
     lambda lib: lib.nn.LSTMCell(2, 3)(lib.ones(1, 2), (lib.ones(1, 4), lib.ones(1, 4)))),
    ("cell_dims", ValueError, r"Expected hx\[0\] to be 1D or 2D, got 4D instead",
     lambda lib: lib.nn.LSTMCell(2, 3)(lib.ones(1, 2), (lib.ones(1, 1, 1, 3),) * 2)),
    ("gru_cell_dims", ValueError, "Expected hidden to be 1D or 2D, got 4D instead",
     lambda lib: lib.nn.GRUCell(2, 3)(lib.ones(1, 2), lib.ones(1, 1, 1, 3))),
    ("vjp", RuntimeError, r"vjp\(f, \*primals\): expected f\(\*primals\) to return only tensors",
     lambda lib: lib.func.vjp(lambda x: 3, lib.ones(2))),
    ("vjp_none", RuntimeError, "Expected f to be a function that has non-empty output",
     lambda lib: lib.func.vjp(lambda x: None, lib.ones(2))),
    ("jvp", RuntimeError, r"jvp\(f, primals, tangents\): Expected primals to be a tuple",
     lambda lib: lib.func.jvp(lambda x: x, lib.ones(2), lib.ones(2))),
    ("aux", RuntimeError, r"function f should be a tuple: \(output, aux\) if has_aux is True",
     lambda lib: lib.func.grad(lambda x: x.sum(), has_aux=True)(lib.ones(2))),
    ("argnums", RuntimeError, "Got argnum=2, but only 1 positional inputs",
     lambda lib: lib.func.grad(lambda x: x.sum(), argnums=2)(lib.ones(2))),
    ("jacrev", RuntimeError, "jacrev: Expected all inputs to be real but received complex tensor",
     lambda lib: lib.func.jacrev(lambda x: x)(lib.ones(2) * 1j)),
    ("cell_batch", RuntimeError, "Input batch size 1 doesn't match hidden0 batch size 2",
     lambda lib: lib.nn.RNNCell(2, 3)(lib.ones(1, 2), lib.ones(2, 3))),
    ("huber", TypeError, "delta must be a float or int, got: <class 'complex'>",
     lambda lib: lib.nn.HuberLoss(delta=1j)),
    ("pool", RuntimeError, r"non-empty 3D or 4D \(batch mode\) tensor expected for input",
     lambda lib: lib.nn.MaxPool2d(2)(lib.ones(3, 4))),
    ("embedding", IndexError, "index out of range in self",
     lambda lib: lib.nn.Embedding(2, 3)(lib.tensor([2]))),
    ("embedding_dtype", RuntimeError,
     "Expected tensor for argument.*indices.*to have.*scalar type.*Long.*Int",
     lambda lib: lib.nn.Embedding(2, 3)(lib.ones(2))),
    ("class_weight", RuntimeError, r"expected weight shape to be [(]2,[)], got [(]3,[)]",
     lambda lib: lib.nn.LinearCrossEntropyLoss(3, 2, weight=lib.ones(3))),
    ("smoothing", RuntimeError, r"expected label_smoothing to be in range \[0, 1\], got 2.0",
     lambda lib: lib.nn.LinearCrossEntropyLoss(3, 2, label_smoothing=2.0)),
    ("multi_margin", RuntimeError, r"1-D with size equal to.*Expected target size \[5\].*got \[3\]",
     lambda lib: lib.nn.MultiMarginLoss()(lib.ones(5, 3), lib.ones(3).long())),
    ("nll_weight", RuntimeError, "expected scalar type Float but found Half",
     lambda lib: lib.nn.NLLLoss(lib.ones(3).half())(lib.ones(1, 3), lib.tensor([0]))),
    ("margin", RuntimeError, "Expected non-empty vector or matrix with optional 0-dim batch size",
     lambda lib: lib.nn.functional.multi_margin_loss(lib.ones(0), lib.ones(0).long())),
    ("unfold_empty", RuntimeError, r"Expected 3D or 4D \(batch mode\) tensor with possibly 0 batch",
     lambda lib: lib.nn.functional.unfold(lib.ones(3, 0, 3, 4), 2)),
    ("pad_size", NotImplementedError, "Padding size 2 is not supported for 4D input tensor",
     lambda lib: lib.nn.functional.pad(lib.ones(1, 1, 2, 2), (1, 1), mode="reflect")),
    ("pad_wide", RuntimeError, "Padding size should be less than the corresponding input dimension",
     lambda lib: lib.nn.functional.pad(lib.ones(1, 1, 2), (3, 0), mode="reflect")),
    ("pad_around", RuntimeError, "Padding value causes wrapping around more than once",
     lambda lib: lib.nn.functional.pad(lib.ones(1, 1, 2), (3, 0), mode="circular")),
    ("pad_empty", RuntimeError, r"Expected 2D or 3D \(batch mode\) tensor with possibly 0 batch",
     lambda lib: lib.nn.functional.pad(lib.ones(3, 0, 10), (1, 1), mode="reflect")),
    ("total_norm", RuntimeError, "The total norm of order 2.0 for gradients",
     lambda lib: lib.nn.utils.get_total_norm(
         [lib.tensor([float("inf")])], error_if_nonfinite=True)),
    ("adaptive", RuntimeError, "target should have the same size in the batch dimension",
     lambda lib: lib.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4])(lib.ones(2, 4), lib.arange(3))),
    ("linear", RuntimeError, "both arguments to linear need to be at least 1D.*0D and 2D",
     lambda lib: lib.nn.functional.linear(lib.tensor(1.0), lib.ones(1, 1))),
    ("gates", RuntimeError, r"weight_ih first dim must be 4 \* hidden_size = 8, but got 9",
     lambda lib: lib.lstm_cell(
         lib.ones(1, 3), [lib.ones(1, 2)] * 2, lib.ones(9, 3), lib.ones(8, 2))),
    ("grid_mode", ValueError, "expected mode to be .* but got: 'garbage'",
     lambda lib: lib.nn.functional.grid_sample(
         lib.ones(1, 1, 2, 2), lib.ones(1, 2, 2, 2), mode="garbage")),
    ("grid_padding", ValueError, "expected padding_mode to be .* but got: 'garbage'",
     lambda lib: lib.nn.functional.grid_sample(
         lib.ones(1, 1, 2, 2), lib.ones(1, 2, 2, 2), padding_mode="garbage")),
    ("grid_unbatched", RuntimeError, "expected grid to have size 1 in last dimension",
     lambda lib: lib.nn.functional.grid_sample(lib.ones(1, 2, 2), lib.ones(1, 2, 2, 2))),
    ("grid_dims", RuntimeError, "expected 4D input and grid with same number of dimensions",
     lambda lib: lib.nn.functional.grid_sample(lib.ones(1, 1, 2, 2), lib.ones(1, 2, 2))),
    ("grid_volume", RuntimeError, "expected 5D input and grid with same number of dimensions",
     lambda lib: lib.nn.functional.grid_sample(lib.ones(1, 1, 2), lib.ones(1, 2, 1))),
    ("unfold", RuntimeError, r"sliding blocks as \(1, 0\), but its components must be at least one",
     lambda lib: lib.nn.functional.unfold(lib.ones(1, 1, 2, 2), (2, 3))),
    ("size", TypeError, r"expected size to be one of int or.* but got size with types",
     lambda lib: lib.nn.functional.interpolate(lib.ones(1, 1, 2), size=(1.0,))),
    ("size_tensor", TypeError, r"expected size to be one of int or.* but got size with types",
     lambda lib: lib.nn.functional.interpolate(lib.ones(1, 1, 2), size=(lib.tensor(1.0),))),
    ("lanczos", ValueError, "Lanczos mode requires antialias=True",
     lambda lib: lib.nn.functional.interpolate(lib.ones(1, 1, 2, 2), size=3, mode="lanczos")),
    ("lanczos_corners", ValueError, "Lanczos mode does not support align_corners=True",
     lambda lib: lib.nn.functional.interpolate(
         lib.ones(1, 1, 2, 2), size=3, mode="lanczos", align_corners=True, antialias=True)),
    ("bce_size", ValueError, r"Using a target size \(.*\[3, 1\]\)\) that is different to the",
     lambda lib: lib.nn.functional.binary_cross_entropy(lib.ones(3), lib.ones(3, 1))),
    ("parametrized_shape", ValueError, "Registering a parametrization may not change the shape of",
     lambda lib: _parametrized(lib, lambda x: x[0])),
    ("parametrized_dtype", ValueError, "may not change the dtype",
     lambda lib: _parametrized(lib, lambda x: x.double())),
    ("parametrized_type", ValueError, "A parametrization must return a tensor",
     lambda lib: _parametrized(lib, lambda x: 3)),
    ("inverse", ValueError, "'right_inverse' must return a Tensor or a Sequence of",
     lambda lib: _parametrized(lib, lambda x: x, lambda x: 3)),
    ("inverse_element", ValueError, "of the sequence with type",
     lambda lib: _parametrized(lib, lambda x: x, lambda x: [3])),
    ("inverse_dtype", ValueError, "outputs one tensor, it may not change the dtype",
     lambda lib: _parametrized(lib, lambda x: x, lambda x: x.double())),
    ("assigned_dtype", ValueError, "The tensor returned by `right_inverse` has dtype",
     lambda lib: _assigned(lib, lambda x: x.double())),
    ("assigned_type", ValueError, "right_inverse", lambda lib: _assigned(lib, lambda x: 3)),
    ("loaded_type", RuntimeError, 'While copying the parameter named "weight"',
     lambda lib: _loaded(lib, weight=3)),
    ("loaded_shape", RuntimeError, "copying a param with shape .*the shape in current model is",
     lambda lib: _loaded(lib, weight=lib.ones(1))),
    ("loaded_list", TypeError, "Expected state_dict to be dict-like",
     lambda lib: lib.nn.Linear(2, 2).load_state_dict([1])),
    ("hook_twice", RuntimeError, "previously registered via register_state_dict_post_hook",
     _hooked_twice),
    ("hook_count", RuntimeError, "got 0, but expected 1", lambda lib: _hooked(lib, ())),
    ("hook_no_input", RuntimeError, "where no input requires gradient should always return None",
     lambda lib: _hooked(lib, (lib.ones(1, 2),), False)),
    ("module_name", TypeError, "module name should be a string. Got int",
     lambda lib: lib.nn.Module().add_module(3, None)),
    ("module", TypeError, "int is not a Module subclass", lambda lib: lib.nn.Sequential(1)),
    ("parameter", TypeError, "object to parameter 'a'",
     lambda lib: lib.nn.Module().register_parameter("a", lib.ones(1))),
    ("exists", KeyError, "attribute 'weight' already exists",
     lambda lib: lib.nn.Linear(1, 1).register_buffer("weight", lib.ones(1))),
    ("forward", NotImplementedError, 'is missing the required "forward" function',
     lambda lib: lib.nn.Module()(1)),
    ("list", TypeError, "ModuleList.extend should be called with an iterable",
     lambda lib: lib.nn.ModuleList(3)),
    ("lazy_shape", RuntimeError, "access the shape of an uninitialized parameter",
     lambda lib: lib.nn.LazyLinear(3).weight.shape),
    ("lazy_memory", RuntimeError, "share memory on an uninitialized parameter",
     lambda lib: lib.nn.LazyLinear(3).share_memory()),
    ("lazy_use", ValueError, "Attempted to use an uninitialized parameter",
     lambda lib: lib.nn.LazyLinear(3).weight * 2),
    ("lazy_norm", ValueError, "have uninitialized parameters.",
     lambda lib: lib.nn.utils.spectral_norm(lib.nn.LazyLinear(3))),
    ("norm_twice", RuntimeError, "register two spectral_norm hooks",
     lambda lib: _twice(lib.nn.Linear(2, 2), lib.nn.utils.spectral_norm)),
    ("packed", RuntimeError, "You can pass `enforce_sorted=False`",
     lambda lib: lib.nn.utils.rnn.pack_sequence([lib.ones(2), lib.ones(3)])),
    ("rnn", RuntimeError, "Expected sequence length to be larger than 0 in RNN",
     lambda lib: lib.nn.GRU(3, 2)(lib.ones(0, 1, 3))),
    ("fold", RuntimeError, "be divisible by the product of kernel_size",
     lambda lib: lib.nn.functional.fold(lib.ones(1, 5, 9), (4, 5), (2, 2))),
    ("fold_overflow", RuntimeError, "the product of kernel_width and kernel_height overflowed",
     lambda lib: lib.nn.functional.fold(lib.ones(3, 7), 16, 1 << 40)),
    ("fold_count", RuntimeError, "match the calculated number of sliding blocks",
     lambda lib: lib.nn.functional.fold(lib.ones(1, 4, 8), (4, 5), (2, 2))),
    ("affine_grid", ValueError, "Expected a batch of 2D affine matrices of shape Nx2x3",
     lambda lib: lib.nn.functional.affine_grid(lib.ones(2, 3), [1, 1, 2, 2])),
    ("shuffle", RuntimeError, "Number of channels must be divisible by groups",
     lambda lib: lib.nn.functional.channel_shuffle(lib.ones(1, 3, 2), 2)),
    ("softshrink", RuntimeError, r"lambda must be in range \[0,.*input dtype.*Half.*found 65507",
     lambda lib: lib.nn.functional.softshrink(lib.ones(2).half(), 65507)),
    ("rrelu", RuntimeError, "rrelu: upper bound must be finite, got inf",
     lambda lib: lib.nn.functional.rrelu(lib.ones(2), 0, float("inf"))),
    ("cosine", RuntimeError, "1D target tensor expects 2D input tensors",
     lambda lib: lib.nn.functional.cosine_embedding_loss(lib.ones(2), lib.ones(2), lib.ones(1))),
    ("nll", RuntimeError, "0D or 1D target tensor expected, multi-target not supported",
     lambda lib: lib.nn.functional.nll_loss(lib.ones(2, 3), lib.ones(2, 1).long())),
    ("interpolate", ValueError, "either size or scale_factor should be defined",
     lambda lib: lib.nn.functional.interpolate(lib.ones(1, 1, 2))),
    ("bag", ValueError, "same shape as the input",
     lambda lib: lib.nn.functional.embedding_bag(
         lib.tensor([[0, 1]]), lib.ones(3, 2), per_sample_weights=lib.ones(2), mode="sum")),
    ("bag_weight", ValueError, "weight has to be a 2D Tensor, but got Tensor of dimension 3",
     lambda lib: lib.nn.functional.embedding_bag(lib.tensor([[0, 1]]), lib.ones(3, 2, 2))),
    ("unpool", RuntimeError, "Expected shape of indices to be same as that of the input tensor",
     lambda lib: lib.nn.functional.max_unpool2d(
         lib.ones(1, 1, 2, 2), lib.zeros(1, 1, 2, 3).long(), 2)),
    ("unpool_stride", RuntimeError, "strides should be greater than zero",
     lambda lib: lib.nn.functional.max_unpool3d(
         lib.ones(1, 1, 2, 2, 2), lib.zeros(1, 1, 2, 2, 2).long(), 2, 0)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_words_are_torchs(lib: ModuleType, row: Row) -> None:
    _, error, words, call = row
    with pytest.raises(error, match=words):
        call(lib)


def test_embedding_of_half_precision_rounds_after_each_sum(lib: ModuleType) -> None:
    table = lib.zeros(2, 1, dtype=lib.bfloat16).requires_grad_()
    rows = lib.nn.functional.embedding(lib.zeros(600).long(), table)
    rows.backward(lib.ones_like(rows))
    assert table.grad.tolist() == [[256.0], [0.0]]  # 257 has no place
