"""Modules: made, called, and their state, children and hooks."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from tests.fuzz.objects import Arguments, Call, Made, f, given, i, nothing
from tests.harness.row import Named


def layer(name: str, made: Arguments, *inputs: Any, **options: Any) -> Call:
    """Make a module and call it."""
    return Call(f"nn.{name}", made, (("__call__", given(*inputs, **options)),))


def _layers() -> list[Call]:
    line, image, volume = f(2, 4, 6), f(2, 4, 6, 6), f(2, 4, 6, 6, 6)
    by_rank = {1: line, 2: image, 3: volume}
    calls = []
    for n, x in by_rank.items():
        for name in ("Conv", "ConvTranspose"):
            calls.append(layer(f"{name}{n}d", given(4, 2, 3, stride=2, padding=1, groups=2), x))
        calls += [
            layer(f"LazyConv{n}d", given(2, 3), x),
            layer(f"BatchNorm{n}d", given(4, eps=1e-3, momentum=0.2), x),
            layer(f"InstanceNorm{n}d", given(4, affine=True), x),
            layer(f"LazyBatchNorm{n}d", given(), x),
            layer(f"MaxPool{n}d", given(2, stride=1, padding=1, ceil_mode=True), x),
            layer(f"AvgPool{n}d", given(2, 2, 1), x),
            layer(f"LPPool{n}d", given(2, 2), x),
            layer(f"AdaptiveAvgPool{n}d", given(3), x),
            layer(f"AdaptiveMaxPool{n}d", given(3, return_indices=True), x),
            layer(f"ConstantPad{n}d", given(1, 0.5), x),
            layer(f"ReflectionPad{n}d", given((1, 2) * n), x),
            layer(f"ReplicationPad{n}d", given(1), x),
            layer(f"ZeroPad{n}d", given(1), x),
            layer(f"CircularPad{n}d", given(1), x),
            layer(f"Dropout{n}d", given(0.5), x),
        ]
    for name in (
        "AlphaDropout Dropout FeatureAlphaDropout Identity GELU Hardsigmoid Hardswish LogSigmoid "
        "Mish ReLU ReLU6 RReLU SELU SiLU Sigmoid Softsign Tanh Tanhshrink Flatten"
    ).split():
        calls.append(layer(name, given(), f(2, 3, 4)))
    for name, made in {
        "CELU": given(1.5), "ELU": given(1.5), "Hardshrink": given(0.5), "Hardtanh": given(-1, 1),
        "LeakyReLU": given(0.1), "PReLU": given(3), "Softplus": given(1, 20), "GLU": given(-1),
        "Softshrink": given(0.5), "Threshold": given(0.1, 20), "LogSoftmax": given(1),
        "Softmax": given(1), "Softmin": given(1), "LayerNorm": given(4), "RMSNorm": given([3, 4]),
        "Linear": given(4, 2), "LazyLinear": given(2), "Unflatten": given(1, (3, 1)),
    }.items():  # fmt: skip
        calls.append(layer(name, made, f(2, 3, 4)))
    calls += [
        layer("Softmax2d", given(), image), layer("GroupNorm", given(2, 4), image),
        layer("LocalResponseNorm", given(2), image), layer("PixelShuffle", given(2), image),
        layer("PixelUnshuffle", given(2), image), layer("ChannelShuffle", given(2), image),
        layer("Upsample", given(scale_factor=2, mode="bilinear"), image),
        layer("Upsample", given((3, 3)), image), layer("UpsamplingNearest2d", given(3), image),
        layer("UpsamplingBilinear2d", given(scale_factor=2), image),
        layer("Unfold", given(2, padding=1), image), layer("Fold", given(4, 2), f(2, 8, 9)),
        layer("FractionalMaxPool2d", given(2, output_size=3), image),
        layer("MaxUnpool1d", given(2), f(1, 1, 2), np.array([[[1, 2]]])),
        layer("Embedding", given(5, 3, padding_idx=0, max_norm=1.0), i(2, 3)),
        layer("EmbeddingBag", given(5, 3, mode="sum"), i(6), np.array([0, 2])),
        layer("Bilinear", given(3, 4, 2), f(5, 3), f(5, 4)),
        layer("CosineSimilarity", given(1, 1e-6), f(2, 3), f(2, 3)),
        layer("PairwiseDistance", given(2.0), f(2, 3), f(2, 3)),
        layer("RNN", given(3, 4, 2, dropout=0.0), f(5, 2, 3), f(2, 2, 4)),
        layer("GRU", given(3, 4, batch_first=True), f(2, 5, 3), f(1, 2, 4)),
        layer("LSTM", given(3, 4, bidirectional=True), f(5, 2, 3), (f(2, 2, 4), f(2, 2, 4))),
        layer("RNNCell", given(3, 4), f(2, 3), f(2, 4)), layer("GRUCell", given(3, 4), f(2, 3)),
        layer("LSTMCell", given(3, 4), f(2, 3), (f(2, 4), f(2, 4))),
        layer("MultiheadAttention", given(4, 2), f(3, 2, 4), f(5, 2, 4), f(5, 2, 4)),
        layer("TransformerEncoderLayer", given(4, 2, 8, dropout=0.0), f(3, 2, 4)),
        layer("TransformerDecoderLayer", given(4, 2, 8, dropout=0.0), f(3, 2, 4), f(5, 2, 4)),
        layer("Transformer", given(4, 2, 1, 1, 8, dropout=0.0), f(3, 2, 4), f(5, 2, 4)),
        layer("Sequential", given(Made("nn.Linear", 3, 2), Made("nn.ReLU")), f(5, 3)),
        Call("nn.ModuleList", given([Made("nn.ReLU"), Made("nn.ReLU")]),
             (("append", given(Made("nn.Tanh"))), ("__getitem__", given(0)))),
        Call("nn.ModuleDict", given({"a": Made("nn.ReLU")}), (("__getitem__", given("a")),)),
        Call("nn.ParameterList", given([Made("nn.Parameter", f(2))]), (("append", given(f(2))),)),
        Call("nn.Parameter", given(f(2), requires_grad=True)),
    ]  # fmt: skip
    targets = {
        "L1Loss": (f(3, 2), f(3, 2)), "MSELoss": (f(3, 2), f(3, 2)), "BCELoss": (f(3, 2), f(3, 2)),
        "BCEWithLogitsLoss": (f(3, 2), f(3, 2)), "KLDivLoss": (f(3, 2), f(3, 2)),
        "CrossEntropyLoss": (f(3, 4), i(3)), "NLLLoss": (f(3, 4), i(3)),
        "HuberLoss": (f(3), f(3)), "SmoothL1Loss": (f(3), f(3)), "SoftMarginLoss": (f(3), f(3)),
        "PoissonNLLLoss": (f(3), f(3)), "GaussianNLLLoss": (f(3, 2), f(3, 2), f(3, 2)),
        "HingeEmbeddingLoss": (f(3), f(3)), "MarginRankingLoss": (f(3), f(3), f(3)),
        "MultiMarginLoss": (f(3, 4), i(3)), "MultiLabelMarginLoss": (f(3, 4), i(3, 4)),
        "MultiLabelSoftMarginLoss": (f(3, 4), f(3, 4)), "TripletMarginLoss": (f(3, 4),) * 3,
        "CosineEmbeddingLoss": (f(3, 4), f(3, 4), np.array([1, -1, 1])),
        "CTCLoss": (f(5, 2, 4), i(2, 3) + 1, np.array([5, 5]), np.array([3, 2])),
    }  # fmt: skip
    calls += [layer(name, given(reduction="mean"), *x) for name, x in targets.items()]
    calls += [
        layer("AdaptiveLogSoftmaxWithLoss", given(4, 10, [3, 6], div_value=2.0), f(5, 4), i(5)),
        layer("FractionalMaxPool3d", given(2, output_ratio=0.5), volume),
        layer("MaxUnpool2d", given(2), f(1, 1, 1, 1), np.array([[[[3]]]])),
        layer("MaxUnpool3d", given(2), f(1, 1, 1, 1, 1), np.array([[[[[7]]]]])),
        layer("TripletMarginWithDistanceLoss", given(margin=0.5), *targets["TripletMarginLoss"]),
        layer("TransformerEncoder", given(
            Made("nn.TransformerEncoderLayer", 4, 2, 8, 0.0), 2), f(3, 2, 4)),
        layer("TransformerDecoder", given(
            Made("nn.TransformerDecoderLayer", 4, 2, 8, 0.0), 2), f(3, 2, 4), f(5, 2, 4)),
        layer("MultiheadAttention", given(4, 2, batch_first=True), f(2, 3, 4), f(2, 5, 4),
              f(2, 5, 4), key_padding_mask=i(2, 5, below=2) > 0, need_weights=False),
        layer("MultiheadAttention", given(4, 2, kdim=3, vdim=5), f(3, 2, 4), f(5, 2, 3),
              f(5, 2, 5), attn_mask=f(3, 5), average_attn_weights=False),
        layer("RNN", given(3, 4, nonlinearity="relu"), Made(
            "nn.utils.rnn.pack_padded_sequence", f(4, 2, 3), [4, 2])),
        layer("LSTM", given(3, 4, proj_size=2), f(5, 3)),
        layer("Conv2d", given(4, 2, 3, padding="same", padding_mode="reflect"), image),
        layer("ConvTranspose2d", given(4, 2, 3, stride=2), image, output_size=[14, 14]),
        layer("CrossEntropyLoss", given(weight=f(4), label_smoothing=0.1), f(3, 4), i(3)),
        layer("Embedding", given(3, 2, _weight=f(3, 2)), i(4)),
        Call("nn.Embedding.from_pretrained", given(f(3, 2), freeze=False)),
        Call("nn.EmbeddingBag.from_pretrained", given(f(3, 2), mode="max")),
        Call("nn.AdaptiveLogSoftmaxWithLoss", given(4, 10, [3]), (("log_prob", given(f(5, 4))),)),
        Call("nn.Transformer.generate_square_subsequent_mask", given(3)),
        Call("nn.RNNBase", given("LSTM", 3, 4)),
        Call("nn.RNNCellBase", given(3, 4, True, 4)),
    ]  # fmt: skip
    for n, x in by_rank.items():
        calls += [
            layer(f"LazyConvTranspose{n}d", given(2, 3), x),
            layer(f"LazyInstanceNorm{n}d", given(affine=True), x),
        ]
    return calls


def _methods(path: str, made: Arguments, methods: dict[str, Arguments]) -> list[Call]:
    return [Call(path, made, ((name, arguments),)) for name, arguments in methods.items()]


def _states() -> list[Call]:
    weights = {"weight": f(2, 4), "bias": f(2)}
    parameter, relu = Made("nn.Parameter", f(2)), Made("nn.ReLU")
    calls = _methods("nn.Linear", given(4, 2), {
        "to": given(Named("float64")), "train": given(False), "register_buffer": given("b", f(2)),
        "register_parameter": given("p", parameter), "zero_grad": given(True), "eval": given(),
        "add_module": given("m", relu), "register_module": given("m", relu),
        "load_state_dict": given(weights, strict=True), "get_parameter": given("weight"),
        "get_submodule": given(""), "apply": given(nothing), "requires_grad_": given(True),
        "type": given(Named("float64")), "state_dict": given(prefix="a."),
        "register_forward_hook": given(nothing, prepend=True),
        "register_forward_pre_hook": given(nothing, with_kwargs=True),
        "register_full_backward_hook": given(nothing), "named_modules": given(prefix="a"),
        "register_full_backward_pre_hook": given(nothing), "register_backward_hook": given(nothing),
        "register_state_dict_post_hook": given(nothing), "named_buffers": given("a", True),
        "register_state_dict_pre_hook": given(nothing), "named_parameters": given("a", True),
        "register_load_state_dict_pre_hook": given(nothing), "parameters": given(True),
        "register_load_state_dict_post_hook": given(nothing),
        "set_submodule": given("m", relu), "extra_repr": given(), "half": given(),
        "double": given(),
        "buffers": given(False), "children": given(), "modules": given(), "share_memory": given(),
        "__setattr__": given("weight", Made("nn.Parameter", f(2, 4))),
        "__getattr__": given("weight"), "__delattr__": given("bias"), "_apply": given(_doubled),
    })  # fmt: skip
    calls += _methods("nn.Linear", given(4, 2), {
        "__setattr__": given("bias", None), "to": given("cpu", Named("float64"), non_blocking=True),
        "load_state_dict": given({**weights, "other": f(1)}, strict=False),
        "register_buffer": given("b", None, persistent=False),
    })  # fmt: skip
    layers = [Made("nn.Linear", 4, 3), Made("nn.Tanh"), Made("nn.Linear", 3, 2)]
    sequence = {
        "__getitem__": given(-1), "__setitem__": given(1, relu), "__delitem__": given(slice(0, 2)),
        "append": given(relu), "extend": given([relu]), "insert": given(1, relu), "pop": given(0),
        "__add__": given(Made("nn.Sequential", relu)), "__iadd__": given(Made("nn.Sequential")),
        "__len__": given(), "__iter__": given(),
    }  # fmt: skip
    calls += _methods("nn.Sequential", Arguments((*layers,)), {
        **sequence, "__call__": given(f(5, 4)), "__mul__": given(2), "__rmul__": given(2),
        "__imul__": given(3), "get_submodule": given("0"), "get_parameter": given("2.bias"),
        "load_state_dict": given({"0.weight": f(3, 4), "0.bias": f(3)}, False),
        "__getitem__": given(slice(0, 2)),
    })  # fmt: skip
    calls += _methods("nn.Sequential", Arguments((*layers,)), {"__getitem__": given(1)})
    lists = {k: v for k, v in sequence.items() if k != "__iadd__"}
    calls += _methods("nn.ModuleList", given(layers), {
        **lists, "__add__": given(Made("nn.ModuleList", [relu])), "__iadd__": given([relu]),
    })  # fmt: skip
    parameters = [Made("nn.Parameter", f(2)), f(3)]
    calls += _methods("nn.ParameterList", given(parameters), {
        "__getitem__": given(-1), "__setitem__": given(1, parameter), "append": given(f(2)),
        "extend": given([f(2), parameter]), "__iadd__": given([f(2)]),
        "__len__": given(),
    })  # fmt: skip
    mapping = {
        "__getitem__": given("a"), "__delitem__": given("a"), "pop": given("a"),
        "__contains__": given("a"), "keys": given(), "clear": given(), "__len__": given(),
    }  # fmt: skip
    calls += _methods("nn.ModuleDict", given({"a": relu, "b": layers[0]}), {
        **mapping, "update": given({"c": relu}), "__setitem__": given("c", relu),
    })  # fmt: skip
    calls += _methods("nn.ParameterDict", given({"a": f(2), "b": parameter}), {
        **mapping, "update": given({"c": f(3)}), "__setitem__": given("c", f(2)),
        "get": given("c", 3), "setdefault": given("c", f(2)), "fromkeys": given(["x"], f(1)),
        "popitem": given(), "copy": given(), "__or__": given(Made("nn.ParameterDict", {"c": f(1)})),
    })  # fmt: skip
    norm = given(4)
    calls += _methods("nn.BatchNorm1d", norm, {
        "load_state_dict": given({"weight": f(4), "bias": f(4), "running_mean": f(4),
                                  "running_var": f(4), "num_batches_tracked": i()}),
        "get_buffer": given("running_mean"), "named_buffers": given(),
    })  # fmt: skip
    calls += [
        Call("nn.Buffer", given(f(2), persistent=False)),
        Call("nn.UninitializedParameter", given(requires_grad=False)),
        Call("nn.UninitializedBuffer", given(dtype=Named("float64"))),
        Call("nn.UninitializedParameter", given(), (("materialize", given((2, 3))),
                                                    ("size", given()))),
        Call("nn.Linear", given(4, 2), (("to_empty", given(device="cpu")),
                                        ("extra_repr", given()))),
        Call("nn.DataParallel", given(layers[0]), (("__call__", given(f(5, 4))),)),
        Call("nn.Parameter", given(f(2), False)), Call("nn.Module", given()),
        Call("nn.Identity", given(), (("load_state_dict", given({})),)),
        Call("nn.ModuleDict", given([("a", relu)])),
        Call("nn.Sequential", given(Made(ordered, {"a": relu}))),
    ]  # fmt: skip
    return calls


def ordered(lib: Any, items: dict[str, Any]) -> Any:
    return OrderedDict(items)


def _doubled(tensor: Any) -> Any:
    return tensor * 2


CALLS: list[Call] = [*_layers(), *_states()]
