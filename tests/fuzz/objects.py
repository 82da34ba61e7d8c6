"""Valid calls of what is no op: modules, optimizers, schedulers, distributions, data, transforms.

A `Call` names what is called under ``nnkit`` and ``torch``, and what is called on the result. Its
arguments may hold arrays (they become tensors), `Named` things and `Made` objects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.harness.row import Named


@dataclass
class Arguments:
    """Positional and keyword arguments."""

    args: tuple = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


def given(*args: Any, **kwargs: Any) -> Arguments:
    return Arguments(args, kwargs)


@dataclass
class Call:
    """``path(*args, **kwargs)`` and, in ``then``, methods called on the result, one by one."""

    path: str
    first: Arguments
    then: tuple[tuple[str, Arguments], ...] = ()
    torch: str = ""  # the path under torch, where that is another one


class Made:
    """What ``path(*args, **kwargs)`` gives in either framework."""

    def __init__(self, path: str, *args: Any, **kwargs: Any) -> None:
        self.path, self.args, self.kwargs = path, args, kwargs

    def __repr__(self) -> str:
        from tests.fuzz.calls import written

        return written(self.path, Arguments(self.args, self.kwargs))


_random = np.random.RandomState(0)


def f(*shape: int) -> np.ndarray:
    """A float32 array."""
    return np.asarray(_random.uniform(0.1, 0.9, shape)).astype(np.float32)


def i(*shape: int, below: int = 3) -> np.ndarray:
    """An int64 array."""
    return np.asarray(_random.randint(0, below, shape)).astype(np.int64)


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
    module = given(4, 2)
    weights = {"weight": f(2, 4), "bias": f(2)}
    for name, arguments in {
        "to": given(Named("float64")), "train": given(False), "register_buffer": given("b", f(2)),
        "register_parameter": given("p", Made("nn.Parameter", f(2))), "zero_grad": given(True),
        "add_module": given("m", Made("nn.ReLU")), "load_state_dict": given(weights),
        "get_parameter": given("weight"), "get_submodule": given(""), "apply": given(_nothing),
        "requires_grad_": given(True), "type": given(Named("float64")), "state_dict": given(),
        "get_buffer": given("b"), "register_forward_hook": given(_nothing),
    }.items():  # fmt: skip
        calls.append(Call("nn.Linear", module, ((name, arguments),)))
    return calls


def _nothing(*_: Any) -> None:
    pass


def _initializers() -> list[Call]:
    arguments = {
        "uniform_": (0.0, 1.0), "normal_": (0.0, 1.0), "trunc_normal_": (0.0, 1.0, -2.0, 2.0),
        "constant_": (0.5,), "ones_": (), "zeros_": (), "eye_": (), "xavier_uniform_": (1.0,),
        "xavier_normal_": (1.0,), "kaiming_uniform_": (0, "fan_in", "relu"),
        "kaiming_normal_": (0, "fan_out", "leaky_relu"), "orthogonal_": (1.0,), "sparse_": (0.5,),
    }  # fmt: skip
    calls = [Call(f"nn.init.{name}", given(f(3, 4), *rest)) for name, rest in arguments.items()]
    calls.append(Call("nn.init.dirac_", given(f(4, 2, 3), 2)))
    calls.append(Call("nn.init.calculate_gain", given("leaky_relu", 0.1)))
    return calls


def _parameters() -> list[Made]:
    return [Made("nn.Parameter", f(2, 3)), Made("nn.Parameter", f(3))]


def _optimizers() -> list[Call]:
    common = {"lr": 0.1, "weight_decay": 0.1}
    options: dict[str, dict[str, Any]] = {
        "SGD": {"momentum": 0.9, "nesterov": True}, "Adam": {"betas": (0.9, 0.99), "eps": 1e-6},
        "AdamW": {"amsgrad": True}, "Adagrad": {"lr_decay": 0.1}, "Adadelta": {"rho": 0.8},
        "Adamax": {"betas": (0.9, 0.99)}, "NAdam": {"momentum_decay": 0.1}, "RAdam": {"eps": 1e-6},
        "RMSprop": {"alpha": 0.9, "centered": True}, "ASGD": {"lambd": 0.1, "t0": 1.0},
    }  # fmt: skip
    calls = []
    for name, own in options.items():
        made = given(_parameters(), **common, **own)
        calls += [Call(f"optim.{name}", made, (("step", given()), ("zero_grad", given(True))))]
        calls += [Call(f"optim.{name}", made, (("add_param_group", given({"params": [f(2)]})),))]
    calls += [
        Call("optim.Rprop", given(_parameters(), lr=0.1, etas=(0.5, 1.2), step_sizes=(1e-6, 50))),
        Call("optim.LBFGS", given(_parameters(), lr=1, max_iter=2, history_size=3)),
        Call("optim.SGD", given([{"params": _parameters(), "lr": 0.1}], lr=0.2)),
        Call("optim.SGD", given(_parameters(), lr=0.2), (("load_state_dict", given({
            "state": {}, "param_groups": [{"params": [0, 1], "lr": 0.3}]})),)),
        Call("nn.utils.clip_grad_norm_", given(_parameters(), 1.0, norm_type=2.0)),
        Call("nn.utils.clip_grad_value_", given(_parameters(), 1.0)),
        Call("nn.utils.parameters_to_vector", given(_parameters())),
        Call("nn.utils.vector_to_parameters", given(f(9), _parameters())),
        Call("nn.utils.rnn.pad_sequence", given([f(2, 3), f(1, 3)], True, 0.5)),
        Call("nn.utils.rnn.pack_sequence", given([f(2, 3), f(1, 3)])),
        Call("nn.utils.rnn.pack_padded_sequence", given(f(4, 2, 3), [4, 2])),
        Call("nn.utils.weight_norm", given(Made("nn.Linear", 3, 2), "weight", 0)),
        Call("nn.utils.spectral_norm", given(Made("nn.Linear", 3, 2), "weight", 1)),
    ]  # fmt: skip
    return calls


def _schedulers() -> list[Call]:
    def optimizer(**options: Any) -> Made:
        return Made("optim.SGD", _parameters(), lr=0.1, **options)

    rates: dict[str, Arguments] = {
        "StepLR": given(2, gamma=0.5), "MultiStepLR": given([1, 3], gamma=0.5),
        "ExponentialLR": given(0.9), "ConstantLR": given(factor=0.5, total_iters=2),
        "LinearLR": given(start_factor=0.5, total_iters=3), "CosineAnnealingLR": given(5, 0.01),
        "CosineAnnealingWarmRestarts": given(5, 2), "PolynomialLR": given(4, 2.0),
        "OneCycleLR": given(0.5, total_steps=10), "LambdaLR": given(_rate),
        "MultiplicativeLR": given(_rate), "ReduceLROnPlateau": given("min", 0.5, 2),
    }  # fmt: skip
    calls = []
    for name, made in rates.items():
        step = given(0.5) if name == "ReduceLROnPlateau" else given()
        first = Arguments((optimizer(), *made.args), made.kwargs)
        calls.append(Call(f"optim.lr_scheduler.{name}", first, (("step", step),)))
    cyclic = given(optimizer(momentum=0.9), 0.1, 0.5, step_size_up=2, mode="triangular2")
    calls.append(Call("optim.lr_scheduler.CyclicLR", cyclic, (("step", given()),)))
    return calls


def _rate(epoch: int) -> float:
    return 0.5**epoch


def _distributions() -> list[Call]:
    made = {
        "Normal": (given(f(3), f(3)), f(3)), "Uniform": (given(f(3), f(3) + 1), f(3) + 0.2),
        "Laplace": (given(f(3), f(3)), f(3)), "LogNormal": (given(f(3), f(3)), f(3)),
        "Exponential": (given(f(3)), f(3)), "Bernoulli": (given(f(3)), i(3, below=2)),
        "Categorical": (given(f(2, 3)), i(2)),
        "MultivariateNormal": (given(f(2), np.eye(2, dtype=np.float32)), f(2)),
    }  # fmt: skip
    calls = []
    for name, (first, value) in made.items():
        for method, arguments in (
            ("sample", given((2,))), ("log_prob", given(value)),
            ("entropy", given()), ("cdf", given(value)),
        ):  # fmt: skip
            calls.append(Call(f"distributions.{name}", first, ((method, arguments),)))
    normal = Made("distributions.Normal", f(3), f(3))
    calls.append(Call("distributions.kl_divergence", given(normal, normal)))
    calls.append(Call("distributions.Independent", given(normal, 1), (("sample", given()),)))
    return calls


def _data() -> list[Call]:
    dataset = Made("utils.data.TensorDataset", f(6, 2), i(6))
    return [
        Call("utils.data.TensorDataset", given(f(6, 2), i(6)), (("__getitem__", given(1)),)),
        Call("utils.data.DataLoader", given(dataset, 2, shuffle=False), (("__iter__", given()),)),
        Call("utils.data.Subset", given(dataset, [0, 2]), (("__getitem__", given(1)),)),
        Call("utils.data.ConcatDataset", given([dataset, dataset]), (("__getitem__", given(7)),)),
        Call("utils.data.random_split", given(dataset, [4, 2])),
        Call("utils.data.RandomSampler", given(dataset, True, 3), (("__iter__", given()),)),
        Call("utils.data.BatchSampler", given([1, 2, 3], 2, False), (("__iter__", given()),)),
        Call("utils.data.WeightedRandomSampler", given([0.1, 0.9], 3), (("__iter__", given()),)),
        Call("utils.data.default_collate", given([f(2), f(2)])),
    ]


def _transforms() -> list[Call]:
    def scalar(x: Any) -> Any:
        return (x * x).sum()

    def vector(x: Any) -> Any:
        return x * x

    return [
        Call("func.grad", given(scalar, argnums=0), (("__call__", given(f(3))),)),
        Call("func.jacrev", given(vector), (("__call__", given(f(3))),)),
        Call("func.jacfwd", given(vector), (("__call__", given(f(3))),)),
        Call("func.hessian", given(scalar), (("__call__", given(f(2))),)),
        Call("func.vmap", given(vector, in_dims=0), (("__call__", given(f(3, 2))),)),
        Call("func.vjp", given(vector, f(3))),
        Call("func.jvp", given(vector, (f(3),), (f(3),))),
        Call("func.functional_call", given(
            Made("nn.Linear", 3, 2), {"weight": f(2, 3), "bias": f(2)}, (f(4, 3),))),
        Call("autograd.functional.jacobian", given(vector, f(3))),
        Call("autograd.functional.hessian", given(scalar, f(3))),
        Call("autograd.functional.vjp", given(vector, f(3), f(3))),
        Call("utils.checkpoint.checkpoint", given(vector, f(3), use_reentrant=False)),
        Call("manual_seed", given(3)), Call("set_grad_enabled", given(True)),
        Call("Generator", given("cpu"), (("manual_seed", given(3)),)),
        Call("device", given("cpu", 0)), Call("finfo", given(Named("float32"))),
        Call("iinfo", given(Named("int32"))), Call("Size", given([1, 2])),
        Call("promote_types", given(Named("float32"), Named("int64"))),
        Call("can_cast", given(Named("float32"), Named("int64"))),
    ]  # fmt: skip


CALLS: list[Call] = [
    *_layers(), *_initializers(), *_optimizers(), *_schedulers(), *_distributions(), *_data(),
    *_transforms(),
]  # fmt: skip
