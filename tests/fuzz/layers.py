"""Random layers and losses for `tests.fuzz.training`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

Draw = random.Random
Shape = tuple[int, ...]


class Layer(NamedTuple):
    """One kind of layer.

    Args:
        write: its source for an input of a shape, or "" where it cannot be.
        gives: the kind of its result, if that is another than its input's.
    """

    write: Callable[[Draw, Shape], str]
    gives: str | None = None


def options(draw: Draw, **choices: tuple) -> str:
    """Some of the keyword arguments, each with one of its values."""
    chosen = [(name, draw.choice(values)) for name, values in choices.items()]
    return "".join(f", {name}={value!r}" for name, value in chosen if draw.random() < 0.5)


def bare(draw: Draw, **choices: tuple) -> str:
    """The same, as the only arguments."""
    return options(draw, **choices)[2:]


PADDINGS = ("zeros", "border", "reflection")
APPLIED = (
    "x * w.softmax(-1)", "T.lerp(x, w, 0.3)", "T.addcdiv(x, x, w + 1)", "T.atan2(x, w)",
    "T.where(x > w, x, w * x)", "(x.abs() + 0.1) ** w", "T.hypot(x, w)", "T.logaddexp(x, w)",
    "T.cat([x, w.expand_as(x)], -1)", "T.stack([x, w.expand_as(x)], -1).amax(-1)", "T.fmod(x, w)",
    "nn.functional.normalize(x * w, dim=-1)", "x.cumsum(-1) / w", "x.cumprod(-1) + w",
    "x.sort(-1)[0]", "x.cummax(-1)[0] * w", "T.einsum('b...i,...i->b...i', x, w)",
    "x.roll(1, -1) * w.flip(-1)", "T.maximum(x, w)", "x.clamp(w - 1, w + 0.5)",
    "x - x.logsumexp(-1, keepdim=True) * w", "x / x.norm(dim=-1, keepdim=True) * w",
    "x.sub(x.mean(-1, True)).div(x.std(-1, keepdim=True) + w)", "x.masked_fill(x > w, 0.5) + w",
    "T.gather(x * w, -1, (x * 0).long())", "x.diff(dim=-1, prepend=x[..., :1]) * w",
    "x.index_select(-1, T.arange(x.shape[-1] - 1, -1, -1)) * w", "(x * w).topk(1, -1)[0] + x",
    "nn.functional.glu(T.cat([x, w * x], -1))", "nn.functional.gelu(x) * nn.functional.silu(w)",
    "T.special.xlogy(x, w)", "T.lgamma(w) * x", "T.erf(x * w)", "T.sinc(x) * w",
    "x.view(-1)[:x.numel()].view_as(x) * w", "nn.functional.dropout(x, 0.3, True) * w",
    "T.tril(x.unsqueeze(-1) * w.unsqueeze(-2)).sum(-1)",
    "T.fft.irfft(T.fft.rfft(x) * 0.5, n=x.shape[-1]) + w",
)  # fmt: skip
ACTIVATIONS: list[Callable[[Draw], str]] = [
    lambda draw: f"nn.ReLU({bare(draw, inplace=(True,))})",
    lambda draw: f"nn.GELU({bare(draw, approximate=('tanh', 'none'))})",
    lambda draw: f"nn.ELU({bare(draw, alpha=(0.5, 2.0), inplace=(True,))})",
    lambda draw: f"nn.LeakyReLU({bare(draw, negative_slope=(0.2,), inplace=(True,))})",
    lambda draw: f"nn.Softplus({bare(draw, beta=(2,), threshold=(1,))})",
    lambda draw: f"nn.Hardtanh({bare(draw, min_val=(-0.5,), max_val=(0.7,))})",
    lambda draw: f"nn.RReLU({bare(draw, lower=(0.1,), upper=(0.6,))})",
    lambda draw: f"nn.Dropout({bare(draw, p=(0.1, 0.5, 0.9), inplace=(True,))})",
    lambda draw: f"nn.AlphaDropout({bare(draw, p=(0.1, 0.3))})",
    lambda draw: f"nn.CELU({bare(draw, alpha=(0.5,))})",
    lambda draw: f"nn.{draw.choice(('Hardshrink', 'Softshrink'))}({draw.choice(('', '0.2'))})",
    lambda draw: f"nn.Threshold({draw.choice((-0.1, 0.2))}, {draw.choice((0.0, 0.3))})",
    lambda draw: "nn.{}()".format(
        draw.choice(
            ("Tanh", "Sigmoid", "SiLU", "Mish", "SELU", "Softsign", "Hardswish", "Hardsigmoid",
             "LogSigmoid", "Tanhshrink", "ReLU6", "Identity")
        )
    ),
]  # fmt: skip


def activation(draw: Draw, shape: Shape) -> str:
    return draw.choice(ACTIVATIONS)(draw)


def wrapped(draw: Draw, code: str) -> str:
    """A layer with a weight, perhaps under a parametrization."""
    if draw.random() > 0.15:
        return code
    kind = draw.choice(("weight_norm", "spectral_norm", "weight_norm"))
    return f"nn.utils.parametrizations.{kind}({code})"


def linear(draw: Draw, shape: Shape) -> str:
    out = draw.choice((2, 3, 4, 6, 8))
    return wrapped(draw, f"nn.Linear({shape[-1]}, {out}{options(draw, bias=(False,))})")


def residual(draw: Draw, shape: Shape) -> str:
    return (
        f"Residual(nn.Sequential(nn.Linear({shape[-1]}, {shape[-1]}), {activation(draw, shape)}))"
    )


def glu(draw: Draw, shape: Shape) -> str:
    return "" if shape[-1] % 2 else "nn.GLU()"


def softmax(draw: Draw, shape: Shape) -> str:
    kind = draw.choice(("Softmax", "LogSoftmax", "Softmin"))
    return f"nn.{kind}({draw.choice((-1, 1))})"


def prelu(draw: Draw, shape: Shape) -> str:
    return f"nn.PReLU({draw.choice(('', shape[1], f'{shape[1]}, init=0.1'))})"


def last_norm(draw: Draw, shape: Shape) -> str:
    if draw.random() < 0.3:
        return f"nn.RMSNorm({shape[-1]}{options(draw, eps=(1e-3,), elementwise_affine=(False,))})"
    chosen = options(draw, eps=(1e-3,), elementwise_affine=(False,), bias=(False,))
    return f"nn.LayerNorm({draw.choice((shape[-1], shape[1:]))}{chosen})"


def batch_norm(of: str) -> Callable[[Draw, Shape], str]:
    def write(draw: Draw, shape: Shape) -> str:
        chosen = options(
            draw, momentum=(None, 0.3), affine=(False,), eps=(1e-3,), track_running_stats=(False,)
        )
        return f"nn.BatchNorm{of}({shape[1]}{chosen})"

    return write


def instance_norm(of: str) -> Callable[[Draw, Shape], str]:
    def write(draw: Draw, shape: Shape) -> str:
        chosen = options(draw, affine=(True,), track_running_stats=(True,), momentum=(0.3,))
        return f"nn.InstanceNorm{of}({shape[1]}{chosen})"

    return write


def group_norm(draw: Draw, shape: Shape) -> str:
    groups = draw.choice([n for n in range(1, shape[1] + 1) if shape[1] % n == 0])
    return f"nn.GroupNorm({groups}, {shape[1]}{options(draw, affine=(False,), eps=(1e-3,))})"


def conv(of: str, transposed: bool = False) -> Callable[[Draw, Shape], str]:
    def write(draw: Draw, shape: Shape) -> str:
        channels = shape[1]
        groups = draw.choice([n for n in range(1, channels + 1) if channels % n == 0])
        groups = draw.choice((1, groups))
        out = groups * draw.randint(1, 3)
        chosen = options(draw, stride=(2,), padding=(1, 2), dilation=(2,), bias=(False,))
        if transposed:
            chosen += options(draw, output_padding=(1,))
        elif "padding=" in chosen:
            chosen += options(draw, padding_mode=("reflect", "replicate", "circular"))
        elif "stride" not in chosen:
            chosen += options(draw, padding=("same", "valid"))
        kind = "ConvTranspose" if transposed else "Conv"
        code = f"nn.{kind}{of}({channels}, {out}, {draw.randint(1, 3)}{chosen}, groups={groups})"
        return code if transposed else wrapped(draw, code)

    return write


def pool(of: str) -> Callable[[Draw, Shape], str]:
    def write(draw: Draw, shape: Shape) -> str:
        size = draw.choice((2, 3))
        kind = draw.choice(("Max", "Avg", "LP", "AdaptiveAvg", "AdaptiveMax"))
        if kind == "LP":
            return f"nn.LPPool{of}({draw.choice((2, 3))}, {size}{options(draw, stride=(1,))})"
        if kind.startswith("Adaptive"):
            return f"nn.{kind}Pool{of}({draw.choice((1, 2, 3))})"
        chosen = options(draw, stride=(1, 2), padding=(1,), ceil_mode=(True,))
        if kind == "Max":
            chosen += options(draw, dilation=(2,))
        else:
            chosen += options(draw, count_include_pad=(False,))
        return f"nn.{kind}Pool{of}({size}{chosen})"

    return write


def padded(of: str) -> Callable[[Draw, Shape], str]:
    def write(draw: Draw, shape: Shape) -> str:
        kind = draw.choice(("Zero", "Reflection", "Replication", "Circular", "Constant"))
        value = ", 0.5" if kind == "Constant" else ""
        return f"nn.{kind}Pad{of}({draw.choice((1, 2))}{value})"

    return write


def upsample(modes: tuple[str, ...]) -> Callable[[Draw, Shape], str]:
    def write(draw: Draw, shape: Shape) -> str:
        mode = draw.choice(modes)
        corners = options(draw, align_corners=(True, False)) if "linear" in mode else ""
        return f"nn.Upsample(scale_factor={draw.choice((2, 1.5))}, mode={mode!r}{corners})"

    return write


def dropped(of: str) -> Callable[[Draw, Shape], str]:
    return lambda draw, shape: draw.choice((f"nn.Dropout{of}(0.4)", "nn.FeatureAlphaDropout(0.3)"))


def shuffled(draw: Draw, shape: Shape) -> str:
    if shape[1] % 4 == 0 and draw.random() < 0.6:
        return draw.choice(("nn.PixelShuffle(2)", "nn.ChannelShuffle(2)"))
    return "nn.PixelUnshuffle(2)" if shape[2] % 2 == 0 == shape[3] % 2 else ""


def response_norm(draw: Draw, shape: Shape) -> str:
    return f"nn.LocalResponseNorm({draw.choice((2, 3))}{options(draw, alpha=(0.1,), k=(2.0,))})"


def recurrent(draw: Draw, shape: Shape) -> str:
    kind = draw.choice(("LSTM", "GRU", "RNN"))
    chosen = options(
        draw, num_layers=(2,), bidirectional=(True,), bias=(False,), batch_first=(True,),
        dropout=(0.3,),
    )  # fmt: skip
    if kind == "LSTM":
        chosen += options(draw, proj_size=(2,))
    if kind == "RNN":
        chosen += options(draw, nonlinearity=("relu",))
    return f"Chosen(nn.{kind}({shape[-1]}, {draw.choice((3, 4))}{chosen}))"


def stepped(draw: Draw, shape: Shape) -> str:
    kind = draw.choice(("LSTM", "GRU", "RNN"))
    chosen = options(draw, bias=(False,))
    return f"Stepped(nn.{kind}Cell({shape[-1]}, {draw.choice((3, 4))}{chosen}))"


def unpooled(of: str) -> Callable[[Draw, Shape], str]:
    def write(draw: Draw, shape: Shape) -> str:
        size = f"{draw.choice((2, 3))}{options(draw, stride=(2,), padding=(1,))}"
        return f"Unpooled(nn.MaxPool{of}({size}, return_indices=True), nn.MaxUnpool{of}({size}))"

    return write


def fractional(of: str) -> Callable[[Draw, Shape], str]:
    def write(draw: Draw, shape: Shape) -> str:
        size = draw.choice(("output_size=2", "output_ratio=0.6"))
        return f"nn.FractionalMaxPool{of}({draw.choice((2, 3))}, {size})"

    return write


def unfolded(draw: Draw, shape: Shape) -> str:
    chosen = options(draw, dilation=(2,), padding=(1,), stride=(2,))
    return f"nn.Unfold({draw.choice((2, (1, 2)))}{chosen})"


def refolded(draw: Draw, shape: Shape) -> str:
    size = f"2{options(draw, padding=(1,), stride=(2,), dilation=(2,))}"
    return f"nn.Sequential(nn.Unfold({size}), nn.Fold({tuple(shape[2:])}, {size}))"


def sampled(draw: Draw, shape: Shape) -> str:
    mode, padding = draw.choice(("bilinear", "nearest", "bicubic")), draw.choice(PADDINGS)
    grid = "nn.functional.affine_grid(w.expand(x.shape[0], 2, 3), x.shape, align_corners=False)"
    return (
        f"Applied(lambda x, w: nn.functional.grid_sample(x, {grid}, mode={mode!r}, "
        f"padding_mode={padding!r}, align_corners=False), 2, 3)"
    )


def applied(draw: Draw, shape: Shape) -> str:
    """A function of the numbers and of a parameter like one example's."""
    return f"Applied(lambda x, w: {draw.choice(APPLIED)}, {', '.join(map(str, shape[1:]))})"


def bilinear(draw: Draw, shape: Shape) -> str:
    width = shape[-1]
    chosen = options(draw, bias=(False,))
    return f"Chosen(nn.Bilinear({width}, {width}, {draw.choice((2, 3))}{chosen}), 2)"


def attention(draw: Draw, shape: Shape) -> str:
    heads = draw.choice([n for n in (1, 2, 4) if shape[-1] % n == 0])
    chosen = options(
        draw, dropout=(0.2,), bias=(False,), add_bias_kv=(True,), add_zero_attn=(True,),
        batch_first=(True,),
    )  # fmt: skip
    return f"Chosen(nn.MultiheadAttention({shape[-1]}, {heads}{chosen}), 3)"


def transformer(draw: Draw, shape: Shape) -> str:
    heads = draw.choice([n for n in (1, 2, 4) if shape[-1] % n == 0])
    chosen = options(
        draw, dropout=(0.0, 0.3), activation=("gelu", "relu"), norm_first=(True,), bias=(False,),
        batch_first=(True,), layer_norm_eps=(1e-3,),
    )  # fmt: skip
    kind = draw.choice(("Encoder", "Encoder", "Decoder"))
    layer = f"nn.Transformer{kind}Layer({shape[-1]}, {heads}, 6{chosen})"
    if draw.random() < 0.4:
        layer = f"nn.Transformer{kind}({layer}, 2)"
    return f"Chosen({layer}, {1 if kind == 'Encoder' else 2})"


def embedding(draw: Draw, shape: Shape) -> str:
    chosen = options(
        draw, padding_idx=(0, 3, -1), max_norm=(1.0,), norm_type=(1.0,), scale_grad_by_freq=(True,)
    )
    return f"nn.Embedding(7, {draw.choice((3, 4, 6))}{chosen})"


def embedding_bag(draw: Draw, shape: Shape) -> str:
    chosen = options(draw, mode=("sum", "mean", "max"), padding_idx=(0, 3), max_norm=(1.0,))
    return f"nn.EmbeddingBag(7, {draw.choice((3, 4, 6))}{chosen})"


def flat(draw: Draw, shape: Shape) -> str:
    return "nn.Flatten()"


def turned(draw: Draw, shape: Shape) -> str:
    return "Turned()"


def mean(draw: Draw, shape: Shape) -> str:
    return "Mean()"


def unflattened(draw: Draw, shape: Shape) -> str:
    return f"nn.Unflatten(1, ({shape[1] // 2}, 2))" if shape[1] % 2 == 0 else ""


def _spatial(of: str, *own: Layer) -> list[Layer]:
    writers = [
        activation, activation, prelu, softmax, group_norm, last_norm, batch_norm(of),
        instance_norm(of), conv(of), conv(of), conv(of, True), pool(of), pool(of), padded(of),
        dropped(of), unpooled(of), applied,
    ]  # fmt: skip
    return [*map(Layer, writers), *own, Layer(flat, "vector")]


LAYERS: dict[str, list[Layer]] = {
    "vector": [
        *map(
            Layer,
            [linear, linear, linear, residual, activation, activation, activation, prelu, softmax,
             glu, last_norm, batch_norm("1d"), group_norm, bilinear, applied, applied],
        ),
        Layer(unflattened, "sequence"),
    ],
    "sequence": [
        *map(
            Layer,
            [linear, linear, residual, activation, activation, glu, softmax, last_norm, recurrent,
             recurrent, attention, transformer, prelu, stepped, bilinear, applied, applied],
        ),
        Layer(turned, "signal"),
        Layer(mean, "vector"),
        Layer(flat, "vector"),
    ],
    "signal": _spatial("1d", Layer(upsample(("nearest", "linear"))), Layer(turned, "sequence")),
    "image": _spatial(
        "2d", Layer(upsample(("nearest", "bilinear", "bicubic", "nearest-exact"))),
        Layer(shuffled), Layer(response_norm), Layer(fractional("2d")), Layer(refolded),
        Layer(sampled), Layer(unfolded, "signal"),
    ),
    "volume": _spatial(
        "3d", Layer(upsample(("nearest", "trilinear"))), Layer(fractional("3d"))
    ),
    "tokens": [Layer(embedding, "sequence"), Layer(embedding_bag, "vector")],
}  # fmt: skip


def losses(draw: Draw, count: int, width: int) -> tuple[str, str]:
    """A loss of (count, width) numbers, and its target."""
    reduction = options(draw, reduction=("mean", "sum"))
    numbers, classes = f"T.randn({count}, {width})", f"T.randint(0, {width}, ({count},))"
    probabilities = f"T.rand({count}, {width})"
    ones = f"T.rand({count}, {width}).gt(0.5) * 1.0"
    plain = reduction[2:]
    margins = bare(draw, margin=(0.2,), reduction=("sum", "mean"))
    smoothing = options(draw, label_smoothing=(0.1,), ignore_index=(0,))
    found = [
        (f"nn.CrossEntropyLoss({(plain + smoothing).removeprefix(', ')})", classes),
        (f"nn.CrossEntropyLoss(weight=T.rand({width}){reduction}{smoothing})", classes),
        (f"nn.CrossEntropyLoss({plain})", f"{numbers}.softmax(1)"),
        (f"nn.NLLLoss({plain})", classes),
        (f"nn.MSELoss({plain})", f"{numbers}"),
        (f"nn.L1Loss({plain})", f"{numbers}"),
        (f"nn.SmoothL1Loss({bare(draw, beta=(0.3,))})", f"{numbers}"),
        (f"nn.HuberLoss({bare(draw, delta=(0.3,))})", f"{numbers}"),
        (f"nn.BCEWithLogitsLoss({plain})", f"{probabilities}"),
        (f"nn.BCEWithLogitsLoss(pos_weight=T.rand({width}){reduction})", f"{probabilities}"),
        (f"nn.KLDivLoss({bare(draw, reduction=('batchmean', 'sum'))})", f"{numbers}.softmax(1)"),
        (f"nn.PoissonNLLLoss({bare(draw, full=(True,))})", f"{probabilities}"),
        (f"nn.MultiMarginLoss({bare(draw, p=(2,), margin=(0.5,))})", classes),
        (f"nn.MultiLabelSoftMarginLoss({plain})", f"{ones}"),
        (f"nn.SoftMarginLoss({plain})", f"{ones} * 2 - 1"),
        (f"nn.HingeEmbeddingLoss({plain})", f"{ones} * 2 - 1"),
        (f"nn.MultiLabelMarginLoss({plain})", f"T.randint(-1, {width}, ({count}, {width}))"),
        (f"lambda o, y: nn.TripletMarginLoss({margins})(o, y, y.flip(0))", numbers),
        (f"lambda o, y: nn.CosineEmbeddingLoss({margins})(o, y, y[:, 0].sign())", numbers),
        (f"lambda o, y: nn.MarginRankingLoss({margins})(o, y, y.sign())", numbers),
        (f"lambda o, y: nn.GaussianNLLLoss({plain})(o, y, o.abs() + 0.5)", numbers),
        (f"lambda o, y: nn.BCELoss({plain})(o.sigmoid(), y)", probabilities),
        (f"lambda o, y: nn.PairwiseDistance({draw.choice((1, 2, 3))})(o, y).mean()", numbers),
        ("lambda o, y: 1 - nn.CosineSimilarity()(o, y).mean()", numbers),
        ("lambda o, y: T.cdist(o, y).mean()", numbers),
    ]
    return draw.choice(found)
