"""Files of events, as the package tensorboard reads them; the numbers are those of torch."""

from __future__ import annotations

import pytest

from tests.compat.test_install import run

START = """
import contextlib, io, sys, tempfile, nnkit.compat
nnkit.compat.install()
import torch
from torch.utils.tensorboard import SummaryWriter
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
folder = tempfile.mkdtemp()
writer = SummaryWriter(folder)
def written(place=""):
    import glob
    writer.flush()
    found = []
    for file in sorted(glob.glob(f"{folder}/{place}/events*")):
        found += [(e.step, v) for e in LegacyEventFileLoader(file).Load() for v in e.summary.value]
    return found
"""


@pytest.fixture(autouse=True)
def _tensorboard() -> None:
    pytest.importorskip("tensorboard")


def test_numbers_and_texts() -> None:
    program = """
writer.add_scalar("a", torch.tensor([1.5]), 3)
writer.add_scalar("b", 0.3, new_style=True, double_precision=True)
writer.add_text("t", "hello", 2)
writer.add_scalars("c/d", {"p": 1.0, "q": 2.0}, 4)
(i, a), (_, b), (j, t) = written()
print(i, a.tag, a.simple_value, b.tensor.double_val, b.metadata.plugin_data.plugin_name)
print(j, t.tag, t.tensor.string_val, t.metadata.plugin_data.plugin_name)
print([(step, v.tag, v.simple_value) for step, v in written("c_d_p") + written("c_d_q")])
for wrong in (torch.ones(2), torch.ones(0)):
    try: writer.add_scalar("a", wrong)
    except AssertionError as error: print(error)
writer.close(); writer.add_scalar("again", 1); print(len(written()))
"""
    assert run(program, start=START).splitlines() == [
        "3 a 1.5 [0.3] scalars",
        "2 t/text_summary [b'hello'] text",
        "[(4, 'c/d', 1.0), (4, 'c/d', 2.0)]",
        "Tensor should contain one element, got 2",
        "Tensor should contain one element, got 0",
        "4",
    ]


def test_histograms() -> None:
    program = """
x = torch.tensor([-1.0, 2.0, 1e-13, 5.0])
writer.add_histogram("usual", x)
writer.add_histogram("given", x, bins=[-2, 0, 1, 4, 6, 9])
writer.add_histogram("few", x, bins=[-2, 0, 1, 4, 6, 9], max_bins=3)
writer.add_histogram_raw("raw", 0, 1, 2, 3, 4, [1, 2], [3, 4])
for _, v in written():
    h = v.histo
    print(v.tag, h.min, h.max, h.num, round(h.sum, 3), round(h.sum_squares, 3), len(h.bucket))
    print([round(b, 3) for b in h.bucket_limit[:2]], list(h.bucket)[:6])
for rule in ("auto", "fd", "sqrt", "sturges"):
    writer.add_histogram(rule, torch.arange(100.0) ** 2, bins=rule)
print([len(v.histo.bucket) - 1 for _, v in written()[4:]])
for wrong in ((torch.ones(0), "auto"), (x, "none")):
    try: writer.add_histogram("a", wrong[0], bins=wrong[1])
    except ValueError as error: print(error)
"""
    assert run(program, start=START).splitlines() == [
        "usual -1.0 5.0 4.0 6.0 30.0 600",
        "[-1.009, -0.917] [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]",
        "given -1.0 5.0 4.0 6.0 30.0 5",
        "[-2.0, 0.0] [0.0, 1.0, 1.0, 1.0, 1.0]",
        "few -1.0 5.0 4.0 6.0 30.0 3",
        "[-2.0, 1.0] [0.0, 2.0, 2.0]",
        "raw 0.0 1.0 2.0 3.0 4.0 2",
        "[1.0, 2.0] [3.0, 4.0]",
        "[8, 5, 10, 8]",
        "The input has no element.",
        "histogram(): bins is one of ['fd', 'sqrt', 'sturges', 'auto', 'tensorflow'], got 'none'",
    ]


def test_pictures_and_sounds() -> None:
    program = """
from PIL import Image
x = torch.linspace(0, 1, 60).view(3, 4, 5)
writer.add_image("one", x)
writer.add_images("grid", torch.stack([x] * 10))
writer.add_image("gray", x[0], dataformats="HW")
writer.add_image("bytes", (x * 255).byte().permute(1, 2, 0), dataformats="HWC")
writer.add_image_with_boxes("boxes", x, torch.tensor([[0, 0, 2, 2]]), rescale=2, labels="l")
*_, boxes = found = [v.image for _, v in written()]
for image in found:
    pixels = Image.open(io.BytesIO(image.encoded_image_string))
    print(image.height, image.width, image.colorspace, pixels.size, pixels.getpixel((1, 2)))
writer.add_audio("sound", torch.linspace(-2, 2, 9).view(1, 9), sample_rate=8000)
sound = written()[-1][1].audio
print(sound.sample_rate, sound.length_frames, sound.content_type, len(sound.encoded_audio_string))
try: writer.add_image("a", x, dataformats="HW")
except AssertionError as error: print(error)
try: writer.add_audio("a", x)
except AssertionError as error: print(error)
"""
    lines = run(program, start=START).splitlines()
    assert lines[:4] == [
        "4 5 3 (5, 4) (47, 133, 220)",
        "8 40 3 (40, 8) (47, 133, 220)",
        "4 5 3 (5, 4) (47, 47, 47)",
        "4 5 3 (5, 4) (47, 133, 220)",
    ]
    assert lines[4].startswith("8 10 3 (10, 8)")
    assert lines[5:] == [
        "8000.0 9 audio/wav 62",
        "size of input tensor and input format are different. tensor shape: (3, 4, 5), "
        "input_format: HW",
        "input tensor should be 1 dimensional.",
    ]


def test_curves_and_layouts() -> None:
    program = """
truth, scores = torch.tensor([0, 1, 1, 0, 1]), torch.tensor([0.1, 0.9, 0.6, 0.7, 0.3])
writer.add_pr_curve("pr", truth, scores, num_thresholds=5)
writer.add_custom_scalars({"c": {"t": ["Multiline", ["a", "b"]]}})
writer.add_custom_scalars_multilinechart(["a"])
writer.add_custom_scalars_marginchart(["a", "b", "d"])
(_, curve), *layouts = written()
print(torch.tensor(list(curve.tensor.float_val)).view(6, 5))
print([dim.size for dim in curve.tensor.tensor_shape.dim], curve.metadata.plugin_data.plugin_name)
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
for _, v in layouts:
    layout = Layout.FromString(v.tensor.string_val[0])
    for c in layout.category:
        print([(c.title, [(k.title, k.WhichOneof("content")) for k in c.chart])])
"""
    lines = run(program, start=START).splitlines()
    assert lines[:6] == [
        "tensor([[3.0000, 3.0000, 2.0000, 1.0000, 0.0000],",
        "        [2.0000, 1.0000, 1.0000, 0.0000, 0.0000],",
        "        [0.0000, 1.0000, 1.0000, 2.0000, 2.0000],",
        "        [0.0000, 0.0000, 1.0000, 2.0000, 3.0000],",
        "        [0.6000, 0.7500, 0.6667, 1.0000, 0.0000],",
        "        [1.0000, 1.0000, 0.6667, 0.3333, 0.0000]])",
    ]
    assert lines[6:] == [
        "[6, 5] pr_curves",
        "[('c', [('t', 'multiline')])]",
        "[('default', [('untitled', 'multiline')])]",
        "[('default', [('untitled', 'margin')])]",
    ]


def test_settings_of_a_run() -> None:
    program = """
from torch.utils.tensorboard.summary import hparams
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
given = {"lr": 0.1, "n": torch.tensor(3), "s": "x", "f": True, "none": None}
writer.add_hparams(given, {"acc": 0.5}, run_name="run", hparam_domain_discrete={"lr": [0.1, 0.2]})
*found, (_, metric) = written("run")
kinds = [HParamsPluginData.FromString(v.metadata.plugin_data.content) for _, v in found]
print([k.WhichOneof("data") for k in kinds], [v.tag for _, v in found])
print([(h.name, h.type, len(h.domain_discrete.values)) for h in kinds[0].experiment.hparam_infos])
start = kinds[1].session_start_info.hparams
print(start["lr"].number_value, start["n"].number_value, start["s"].string_value,
      start["f"].bool_value, kinds[2].session_end_info.status, metric.tag, metric.simple_value)
for wrong in (([], {}), ({}, 1), ({"a": [1]}, {})):
    try: hparams(*wrong)
    except (TypeError, ValueError) as error: print(type(error).__name__)
"""
    assert run(program, start=START).splitlines() == [
        "['experiment', 'session_start_info', 'session_end_info'] ['_hparams_/experiment', "
        "'_hparams_/session_start_info', '_hparams_/session_end_info']",
        "[('lr', 3, 2), ('n', 3, 0), ('s', 1, 0), ('f', 2, 0)]",
        "0.1 3.0 x True 1 acc 0.5",
        "TypeError", "TypeError", "ValueError",
    ]  # fmt: skip
