"""Modules as ONNX: another runtime computes what the module does, at other sizes too."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nnkit
from nnkit import Tensor, nn, onnx
from nnkit.nn import functional
from nnkit.onnx import OnnxExporterError, UnsupportedOperatorError
from nnkit.utils._pytree import tree_leaves

F: Any = functional


def session_of(model: nn.Module, args: tuple, **options: Any) -> Any:
    """A session of onnxruntime for a module."""
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    stream = io.BytesIO()
    onnx.export(model, args, stream, **options)
    return runtime.InferenceSession(stream.getvalue(), providers=["CPUExecutionProvider"])


def check(model: nn.Module, args: tuple, others: tuple = (), **options: Any) -> None:
    """Hold the runtime's results against the module's, for the example and for others."""
    session = session_of(model, args, **options)
    model.eval()
    for given in filter(None, (args, others)):
        names = [each.name for each in session.get_inputs()]
        tensors = [a for a in given if isinstance(a, Tensor)]
        fed = {name: a.numpy() for name, a in zip(names, tensors, strict=True)}
        with nnkit.no_grad():
            expected = [e for e in tree_leaves(model(*given)) if isinstance(e, Tensor)]
        found = session.run(None, fed)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert str(one.dtype) == str(other.dtype).partition(".")[2]
            nnkit.testing.assert_close(nnkit.from_numpy(one), other, rtol=1e-4, atol=1e-5)


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


X = nnkit.linspace(-2, 2, 24).reshape(2, 3, 4)
POSITIVE = X.abs() + 0.1
IMAGE = nnkit.linspace(-1, 1, 2 * 4 * 6 * 6).reshape(2, 4, 6, 6)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    name: lambda x, f=function: f(x)
    for name, function in (
        *((n, getattr(nnkit, n)) for n in ("abs", "neg", "exp", "sin", "cos", "tanh", "sigmoid")),
        *((n, getattr(nnkit, n)) for n in ("erf", "floor", "ceil", "round", "sign", "relu")),
        *((n, getattr(nnkit, n)) for n in ("square", "isnan", "reciprocal", "ones_like", "clone")),
        *((n, getattr(F, n)) for n in ("gelu", "silu", "leaky_relu", "elu", "softplus", "mish")),
        *((n, getattr(F, n)) for n in ("hardsigmoid", "hardswish", "hardtanh", "relu6")),
    )
}
FUNCTIONS |= {
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "log": lambda x: (x.abs() + 1).log() + (x.abs() + 1).rsqrt() + (x.abs() + 1).sqrt(),
    "arithmetic": lambda x: (x + 1) * 2 - x / 3 + (3 - x) + 2 / (x + 5) + x**2 + x.add(x, alpha=3),
    "negative": lambda x: -x + (-x).abs(),
    "integers": lambda x: (x.long() + 1) / 2 + x.long() * 3,
    "comparisons": lambda x: ((x > 0) == (x >= 0.5), x < 1, x <= x, x != 0, ~(x > 0)),
    "where": lambda x: nnkit.where(x > 0, x, -1.0) + x.masked_fill(x > 1, 7.0),
    "clamp": lambda x: x.clamp(-1, 1) + x.clamp(min=0) + x.clamp_min(0.5),
    "casts": lambda x: x.double() + x.long().float().to(nnkit.float64),
    "softmax": lambda x: (x.softmax(1), x.log_softmax(-1)),
    "sums": lambda x: (x.sum(), x.sum(1), x.mean((0, 2), keepdim=True), x.amax(1), x.prod(2)),
    "mean of all": lambda x: x.mean() + x.logsumexp(1).sum(),
    "argmax": lambda x: (x.argmax(), x.argmax(1), x.argmin(-1, keepdim=True)),
    "views": lambda x: (x.reshape(2, -1), x.flatten(), x.permute(2, 0, 1), x.transpose(0, 2)),
    "more views": lambda x: (x.unsqueeze(1).squeeze(1), x[:, None].expand(2, 5, 3, 4), x.mT),
    "flatten": lambda x: (x.flatten(1), x.flatten(0, 1), x[0].T, x[0].t()),
    "indices": lambda x: (x[0], x[:, 1:], x[..., -1], x[:, 0:3:2], x[None, ..., 1], x[-1, 1]),
    "an index tensor": lambda x: x[:, nnkit.tensor([0, 2, 1])] + x.select(2, 1)[..., None],
    "joined": lambda x: (nnkit.cat([x, x * 2], 1), nnkit.stack([x, x], -1)),
    "split": lambda x: (*x.split([1, 2], 1), *x.chunk(2, 2), x.narrow(1, 1, 2)),
    "parts": lambda x: (*x.unbind(1), x.repeat(2, 1, 3), x.repeat(2, 1, 1, 1)),
    "roll": lambda x: x.roll((1, -1), (1, 2)) + x.roll(0, 1),
    "gathered": lambda x: (x.index_select(1, nnkit.tensor([2, 0])), x.gather(2, x.argmax(2, True))),
    "of two": lambda x: (nnkit.maximum(x, -x), nnkit.minimum(x, x * 2), (x > 0) & (x < 1)),
    "running sums": lambda x: (x.cumsum(1), F.normalize(x, dim=-1), F.normalize(x, p=1.0)),
    "pixels": lambda x: F.pixel_shuffle(x.reshape(1, 4, 2, 3), 2),
    "pad": lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 0, 0, 1), value=3.0)),
    "pad by reflection": lambda x: F.pad(x, (1, 1), "reflect"),
    "products": lambda x: (x @ x.mT, nnkit.einsum("bij,bkj->bik", x, x), nnkit.bmm(x, x.mT)),
    "created": lambda x: x + nnkit.zeros(4) + nnkit.ones(3, 4) + nnkit.full((4,), 2.0),
    "range": lambda x: x + nnkit.arange(4) + nnkit.arange(1, 5) + nnkit.arange(0, 2, 0.5),
    "triangles": lambda x: (x.tril(), x.triu(1), nnkit.ones(3, 3, dtype=nnkit.bool).tril()),
    "in place": lambda x: (x * 2).relu_().add_(1).mul_(3),
    "inplace=True": lambda x: F.relu(x + 1, inplace=True) + F.leaky_relu(x * 1, 0.1, True),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "causal": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True, scale=0.3),
    "no gradients": lambda x: (x.detach(), x.contiguous()),
    "group norm": lambda x: F.group_norm(x[:, :2], 2) + F.instance_norm(x[:, :2]),
    "norms": lambda x: F.layer_norm(x, (4,)) + F.rms_norm(x, (4,)),
    "a number": lambda x: (x + 1, 3.0)[0],
}  # fmt: skip
OF_IMAGES: dict[str, Callable[[], nn.Module]] = {
    "conv": lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2),
    "conv same": lambda: nn.Conv2d(4, 6, 3, padding="same", bias=False),
    "conv dilated": lambda: nn.Conv2d(4, 6, (3, 1), dilation=2, padding=(2, 0)),
    "transposed": lambda: nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1),
    "max pool": lambda: nn.MaxPool2d(3, 2, 1),
    "max pool ceil": lambda: nn.MaxPool2d(2, 4, ceil_mode=True),
    "avg pool": lambda: nn.AvgPool2d(3, 2, 1),
    "avg pool without pads": lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False),
    "adaptive": lambda: nn.Sequential(nn.AdaptiveAvgPool2d(3), nn.AdaptiveMaxPool2d(1)),
    "batch norm": lambda: nn.BatchNorm2d(4),
    "batch norm without weights": lambda: nn.BatchNorm2d(4, affine=False),
    "group norm": lambda: nn.GroupNorm(2, 4),
    "instance norm": lambda: nn.InstanceNorm2d(4, affine=True),
    "prelu": lambda: nn.PReLU(4),
    "nearest": lambda: nn.Upsample(scale_factor=2),
    "bilinear": lambda: nn.Upsample(size=(9, 8), mode="bilinear"),
    "corners": lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function(name: str) -> None:
    check(Function(FUNCTIONS[name]), (POSITIVE if name == "reciprocal" else X,))


@pytest.mark.parametrize("name", OF_IMAGES)
def test_a_layer_of_images(name: str) -> None:
    nnkit.manual_seed(0)
    check(
        OF_IMAGES[name](),
        (IMAGE,),
        (IMAGE[:1] * 2,),
        dynamic_axes={"x": {0: "n"}},
        input_names=["x"],
    )


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("options", [
    {}, {"batch_first": True}, {"bidirectional": True, "num_layers": 2}, {"bias": False},
])  # fmt: skip
def test_a_recurrent_layer(kind: Any, options: dict[str, Any]) -> None:
    nnkit.manual_seed(0)
    check(kind(4, 5, **options), (nnkit.randn(3, 2, 4),))


class Net(nn.Module):
    """A convolutional network with a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(True))
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = F.relu(x + self.second(x), inplace=True)
        return self.head(self.drop(x.mean((2, 3))))


class Language(nn.Module):
    """A language model whose sizes are open."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.position = nn.Embedding(11, 8), nn.Embedding(32, 8)
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, tokens: Tensor) -> Tensor:
        b, t = tokens.shape
        x = self.embedding(tokens) + self.position(nnkit.arange(t))
        q, k, v = self.qkv(self.norm(x)).split(8, dim=2)
        q, k, v = (y.view(b, t, 2, 4).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, 8))
        return (x + self.mlp(x)) @ self.embedding.weight.t()


def test_networks() -> None:
    nnkit.manual_seed(0)
    net = Net().train()
    names = {"input_names": ["image"], "output_names": ["scores"]}
    check(net, (IMAGE,), (IMAGE[:1],), dynamic_axes={"image": [0]}, **names)
    assert not net.training  # as `check` has left it
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
    model = nn.Sequential(
        nn.Linear(4, 8), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    )
    check(model, (X,), (X[:1],), dynamic_axes={"x": {0: "batch", 1: "time"}}, input_names=["x"])
    attention = nn.MultiheadAttention(4, 2)
    mask = nnkit.ones(2, 2, dtype=nnkit.bool).triu(1)
    check(Function(lambda x: attention(x, x, x, attn_mask=mask, need_weights=False)[0]), (X,))
    tokens, others = nnkit.tensor([[1, 2, 3]]), nnkit.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    axes = {"tokens": {0: "batch", 1: "time"}}
    check(Language(), (tokens,), (others,), dynamic_axes=axes, input_names=["tokens"])


def test_names_modes_and_versions(tmp_path: Path) -> None:
    package = pytest.importorskip("onnx")
    net = Net().train()
    path = tmp_path / "net.onnx"
    made = onnx.export(
        net,
        IMAGE,
        path,
        input_names=["image"],
        output_names=["scores"],
        dynamic_axes={"image": [0]},
    )
    assert net.training
    assert net.drop.training
    model = package.load(path)
    assert [each.name for each in model.graph.input] == ["image"]
    assert [each.name for each in model.graph.output] == ["scores"]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "image_dim_0"
    assert "first.0.weight" in {each.name for each in model.graph.initializer}
    assert model.opset_import[0].version == 18
    assert "operations" in repr(made)
    newer = onnx.export(nn.ReLU(), (X,), opset_version=20)
    assert newer.model_proto.opset_import[0].version == 20
    with pytest.raises(OnnxExporterError, match="from operations of version 18 to 9"):
        onnx.export(nn.ReLU(), (X,), opset_version=9)
    program = nnkit.export.export(net.eval(), (IMAGE,))
    assert onnx.export(program).model_proto.graph.node


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda x: nnkit.linalg.svdvals(x), UnsupportedOperatorError, "linalg.svdvals has no"),
        (lambda x: x.max(1).values, OnnxExporterError, "max and min"),
        (lambda x: x[x > 0], OnnxExporterError, "mask"),
        (lambda x: x.view(-1).add_(1), OnnxExporterError, "views"),
        (lambda x: F.softplus(x, beta=2), OnnxExporterError, "beta"),
        (lambda x: x.div(2, rounding_mode="floor"), OnnxExporterError, "rounds"),
        (lambda x: (x, 3)[1], OnnxExporterError, "not a tensor"),
        (lambda x: F.batch_norm(x, None, None, training=True), OnnxExporterError, "statistics"),
        (lambda x: F.adaptive_avg_pool1d(x, 3), OnnxExporterError, "windows differ"),
        (lambda x: x * x.sum().item(), RuntimeError, "a value is read"),
    ],
)
def test_an_error(function: Callable, error: type[Exception], words: str) -> None:
    pytest.importorskip("onnx")
    with pytest.raises(error, match=words):
        onnx.export(Function(function), (X,))


def test_a_loaded_program_has_no_shapes() -> None:
    pytest.importorskip("onnx")
    stream = io.BytesIO()
    nnkit.export.save(nnkit.export.export(nn.ReLU(), (X,)), stream)
    stream.seek(0)
    with pytest.raises(OnnxExporterError, match="shapes"):
        onnx.export(nnkit.export.load(stream))


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(OnnxExporterError, match="pip install"):
        onnx.export(nn.ReLU(), (X,))


def test_where_a_module_is_exported() -> None:
    pytest.importorskip("onnx")
    seen = []
    onnx.export(Function(lambda x: (seen.append(onnx.is_in_onnx_export()), x + 1)[1]), (X,))
    assert set(seen) == {True}
    assert not onnx.is_in_onnx_export()
