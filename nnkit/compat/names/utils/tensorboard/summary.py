"""torch.utils.tensorboard.summary: what is written, as the messages of the package tensorboard."""

from __future__ import annotations

import io
import itertools
import math
import operator
import wave
from collections.abc import Mapping, Sequence
from typing import Any

from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.hparams import metadata as of_hparams
from tensorboard.plugins.pr_curve import metadata as of_curves
from tensorboard.plugins.text import metadata as of_texts

import nnkit
from nnkit import Tensor

_FLOAT32, _FLOAT64, _STRING = 1, 2, 7  # of the enumeration of types in TensorProto
_COLUMNS = 8  # of a grid of images
_ROWS = ("tp", "fp", "tn", "fn", "precision", "recall")


def _tensor(values: Any) -> Tensor:
    """Numbers of any kind, in memory that is recorded in no history."""
    exact = isinstance(values, (float, list, tuple))
    return nnkit.as_tensor(values, dtype=nnkit.float64 if exact else None).detach().cpu()


def scalar(
    name: str,
    tensor: Any,
    collections: Any = None,
    new_style: bool = False,
    double_precision: bool = False,
) -> Summary:
    """A number.

    Raises:
        AssertionError: there are several.
    """
    values = _tensor(tensor)
    if values.numel() != 1:
        raise AssertionError(f"Tensor should contain one element, got {values.numel()}")
    number = float(values)
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=number)])
    proto = TensorProto(dtype=_FLOAT32, float_val=[number])
    if double_precision:
        proto = TensorProto(dtype=_FLOAT64, double_val=[number])
    return _of_plugin(name, "scalars", b"", proto)


def _of_plugin(tag: str, plugin: str, content: bytes, tensor: TensorProto) -> Summary:
    data = SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    metadata = SummaryMetadata(plugin_data=data)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=tensor)])


def text(tag: str, text: str) -> Summary:
    """A text of Markdown."""
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    proto = TensorProto(dtype=_STRING, string_val=[text.encode()], tensor_shape=shape)
    metadata = of_texts.create_summary_metadata("", "")
    return Summary(
        value=[Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=proto)]
    )


def _edges() -> Tensor:
    """The limits of the usual classes: on both sides of 0, each a tenth wider than the last."""
    count = math.ceil(math.log(1e20 / 1e-12, 1.1))
    above = list(itertools.accumulate([1e-12] + [1.1] * (count - 1), operator.mul))
    return _tensor([*(-v for v in reversed(above)), 0.0, *above])


def _count_of_bins(values: Tensor, rule: str) -> int:
    """The number of classes of equal width by a rule."""
    span, count = float(values.max() - values.min()), values.numel()
    low, high = values.quantile(nnkit.tensor([0.25, 0.75], dtype=values.dtype)).tolist()
    widths = {
        "fd": 2 * (high - low) / count ** (1 / 3),
        "sqrt": span / math.sqrt(count),
        "sturges": span / (math.log2(count) + 1),
    }
    widths["auto"] = min(max(widths["fd"], widths["sqrt"] / 2), widths["sturges"])
    if rule not in widths:
        raise ValueError(f"histogram(): bins is one of {[*widths, 'tensorflow']}, got {rule!r}")
    return math.ceil(span / widths[rule]) if widths[rule] else 1


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Summary:
    """How often numbers fall in the classes between limits.

    Args:
        name: the tag.
        values: the numbers.
        bins: the limits, the number of classes, or a rule: "tensorflow", or NumPy's "auto", "fd",
            "sqrt" or "sturges".
        max_bins: neighbouring classes are put together until there are at most so many.

    Raises:
        ValueError: there is no number, or no such rule.
    """
    given = _tensor(values).double().flatten()
    if given.numel() == 0:
        raise ValueError("The input has no element.")
    if isinstance(bins, str):
        bins = _edges() if bins == "tensorflow" else _count_of_bins(given, bins)
    elif not isinstance(bins, int):
        bins = _tensor(bins).double()
    counts, limits = nnkit.histogram(given, bins)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = nnkit.stack([part.sum() for part in counts.split(step)])
        limits = nnkit.cat([limits[:-1][::step], limits[-1:]])
    filled = counts.nonzero().flatten().tolist()
    if not filled:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = filled[0], filled[-1]
    message = HistogramProto(
        min=float(given.min()),
        max=float(given.max()),
        num=given.numel(),
        sum=float(given.sum()),
        sum_squares=float(given.dot(given)),
        bucket_limit=limits[first : last + 2].tolist(),
        bucket=[0.0, *counts[first : last + 1].tolist()],
    )
    return Summary(value=[Summary.Value(tag=name, histo=message)])


def histogram_raw(
    name: str, min: float, max: float, num: float, sum: float, sum_squares: float,
    bucket_limits: Sequence[float], bucket_counts: Sequence[float],
) -> Summary:  # fmt: skip
    """A histogram that is known."""
    message = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares,
        bucket_limit=[float(v) for v in bucket_limits], bucket=[float(v) for v in bucket_counts],
    )  # fmt: skip
    return Summary(value=[Summary.Value(tag=name, histo=message)])


def _picture(tensor: Any, dataformats: str) -> Tensor:
    """An image of bytes of shape (height, width, channels); of several images, a grid."""
    image, order = _tensor(tensor), dataformats.upper()
    if len(order) != image.ndim or len(set(order)) != len(order) or not set(order) <= set("NCHW"):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: "
            f"{tuple(image.shape)}, input_format: {dataformats}"
        )
    if image.dtype is not nnkit.uint8:
        image = (image.float() * 255).clip(0, 255).byte()
    if "C" not in order:
        image, order = image.unsqueeze(-1), order + "C"
    if "N" not in order:
        image, order = image.unsqueeze(0), "N" + order
    image = image.permute([order.index(axis) for axis in "NHWC"])
    if image.shape[-1] == 1:
        image = image.expand(*image.shape[:-1], 3)
    count, height, width, channels = image.shape
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    grid = image.new_zeros(rows * height, columns * width, channels)
    for i, one in enumerate(image):
        top, left = i // columns * height, i % columns * width
        grid[top : top + height, left : left + width] = one
    return grid


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Summary:
    """An image, or a grid of images, of bytes or of numbers from 0 to 1."""
    return Summary(
        value=[Summary.Value(tag=tag, image=_png(_picture(tensor, dataformats), rescale))]
    )


def image_boxes(
    tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1, dataformats: str = "CHW",
    labels: Sequence[str] | None = None,
) -> Summary:  # fmt: skip
    """An image with frames whose corners are (left, top, right, bottom)."""
    frames = [
        (tuple(corners), labels[i] if labels else None)
        for i, corners in enumerate(_tensor(tensor_boxes).reshape(-1, 4).tolist())
    ]
    picture = _picture(tensor_image, dataformats)
    return Summary(value=[Summary.Value(tag=tag, image=_png(picture, rescale, frames))])


def _png(picture: Tensor, rescale: float, frames: Sequence[tuple] = ()) -> Any:
    from PIL import Image, ImageDraw

    height, width, channels = picture.shape
    drawn = Image.fromarray(picture.contiguous().numpy())
    for corners, label in frames:
        pen = ImageDraw.Draw(drawn)
        pen.rectangle(corners, outline="red", width=2)
        if label:
            pen.text(corners[:2], label, fill="red")
    height, width = int(height * rescale), int(width * rescale)
    file = io.BytesIO()
    drawn.resize((width, height)).save(file, "PNG")
    return Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue()
    )


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Summary:
    """A sound of one channel, of numbers from -1 to 1."""
    samples = (_tensor(tensor).squeeze().float().clip(-1, 1) * 32767).short()
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(sample_rate)
        sound.writeframes(samples.numpy().tobytes())
    message = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=message)])


def pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None
) -> Summary:
    """Precision and recall of predictions, by the threshold from which they count as positive."""
    count = min(num_thresholds, 127)
    truth, scores = _tensor(labels).flatten().double(), _tensor(predictions).flatten().double()
    weight = nnkit.ones_like(scores) if weights is None else _tensor(weights).flatten().double()
    taken = (scores * (count - 1)).floor().long()  # the last threshold that each passes

    def passing(of: Tensor) -> Tensor:
        counts = nnkit.zeros(count, dtype=nnkit.float64).index_add(0, taken, of * weight)
        return counts.flip(0).cumsum(0).flip(0)

    tp, fp = passing(truth), passing(1 - truth)
    tn, fn = fp[0] - fp, tp[0] - tp
    least = nnkit.tensor(1e-7, dtype=nnkit.float64)
    precision, recall = tp / (tp + fp).maximum(least), tp / (tp + fn).maximum(least)
    return pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, count)


def pr_curve_raw(
    tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any,
    num_thresholds: int = 127, weights: Any = None,
) -> Summary:  # fmt: skip
    """A curve that is known."""
    count = min(num_thresholds, 127)
    given = dict(zip(_ROWS, (tp, fp, tn, fn, precision, recall), strict=True))
    data = nnkit.stack([_tensor(row).double() for row in given.values()])
    dims = [TensorShapeProto.Dim(size=size) for size in data.shape]
    proto = TensorProto(
        dtype=_FLOAT32, float_val=data.flatten().tolist(), tensor_shape=TensorShapeProto(dim=dims)
    )
    metadata = of_curves.create_summary_metadata("", "", count)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=proto)])


def hparams(
    hparam_dict: Mapping[str, Any],
    metric_dict: Mapping[str, Any],
    hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[Any, Any, Any]:
    """An experiment with its settings and the names of its metrics, its start and its end.

    Raises:
        TypeError: it is no dictionary.
        ValueError: a setting is neither a number, a bool nor a str.
    """
    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(given, Mapping):
            raise TypeError(f"parameter: {name} should be a dictionary.")
    domains = hparam_domain_discrete or {}
    settings, infos = {}, []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        if isinstance(value, Tensor):
            value = value.item()
        kind, known = _kind(value)
        if not known:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        info = api_pb2.HParamInfo(name=name, type=getattr(api_pb2, kind))
        info.domain_discrete.extend(domains.get(name, ()))
        infos.append(info)
        settings[name] = value
    metrics = [
        api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict
    ]  # whose numbers are written as scalars
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    start = plugin_data_pb2.SessionStartInfo()
    for name, value in settings.items():
        field = {"B": "bool_value", "S": "string_value"}.get(_kind(value)[0][10], "number_value")
        setattr(start.hparams[name], field, value)
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    return (
        _of_experiment(of_hparams.EXPERIMENT_TAG, experiment=experiment),
        _of_experiment(of_hparams.SESSION_START_INFO_TAG, session_start_info=start),
        _of_experiment(of_hparams.SESSION_END_INFO_TAG, session_end_info=end),
    )


def _of_experiment(tag: str, **content: Any) -> Summary:
    data = plugin_data_pb2.HParamsPluginData(**content, version=of_hparams.PLUGIN_DATA_VERSION)
    metadata = of_hparams.create_summary_metadata(data)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata)])


def _kind(value: Any) -> tuple[str, bool]:
    """The type that TensorBoard has for a setting, and whether it has one."""
    if isinstance(value, bool):
        return "DATA_TYPE_BOOL", True
    if isinstance(value, str):
        return "DATA_TYPE_STRING", True
    return "DATA_TYPE_FLOAT64", isinstance(value, (int, float))


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> Summary:
    """How charts are laid out: by category and title, the kind of a chart and its tags."""
    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                value, lower, upper = tags
                series = layout_pb2.MarginChartContent.Series(value=value, lower=lower, upper=upper)
                content = layout_pb2.MarginChartContent(series=[series])
                made.append(layout_pb2.Chart(title=title, margin=content))
            else:
                content = layout_pb2.MultilineChartContent(tag=list(tags))
                made.append(layout_pb2.Chart(title=title, multiline=content))
        categories.append(layout_pb2.Category(title=category, chart=made))
    layout_message = layout_pb2.Layout(category=categories)
    content, shape = layout_message.SerializeToString(), TensorShapeProto()
    proto = TensorProto(dtype=_STRING, string_val=[content], tensor_shape=shape)
    return _of_plugin("custom_scalars__config__", "custom_scalars", b"", proto)
