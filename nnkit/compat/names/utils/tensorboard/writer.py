"""torch.utils.tensorboard.writer: `SummaryWriter`, and the file that it writes."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from nnkit.compat.names.utils.tensorboard import summary as of

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """A file of events in a folder.

    Args:
        log_dir: the folder.
        max_queue: how many events wait in memory.
        flush_secs: how long they wait at most.
        filename_suffix: the end of the file's name.
    """

    def __init__(
        self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        self._settings = str(log_dir), max_queue, flush_secs, filename_suffix
        self.event_writer = EventFileWriter(*self._settings)

    def get_logdir(self) -> str:
        """The folder."""
        return self._settings[0]

    def add_event(self, event: Event, step: Any = None, walltime: float | None = None) -> None:
        """Write an event, at a step and a time: by default now."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: Any = None) -> None:
        """Write what a function of `summary` has made."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write what waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Go on in a new file."""
        self.event_writer = EventFileWriter(*self._settings)


class SummaryWriter:
    """Writes scalars, histograms, images, sounds, texts and settings for TensorBoard.

    Every method takes a tag, the step ``global_step`` and the time ``walltime``, by default now.

    Args:
        log_dir: the folder; by default ``runs/<time>_<host><comment>``.
        comment: the end of the default folder's name.
        purge_step: events of this step and later, of a run that was cut off, are hidden.
        max_queue, flush_secs, filename_suffix: as of `FileWriter`.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """The file; a new one where the last was closed."""
        if self.file_writer is not None and self.all_writers is not None:
            return self.file_writer
        opened = self._open(self.log_dir)
        self.file_writer, self.all_writers = opened, {opened.get_logdir(): opened}
        if self.purge_step is not None:
            opened.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
            log = SessionLog(status=SessionLog.START)
            opened.add_event(Event(step=self.purge_step, session_log=log))
            self.purge_step = None
        return opened

    def _open(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _write(self, summary: Summary, step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(summary, step, walltime)

    def get_logdir(self) -> Any:
        """The folder."""
        return self.log_dir

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None,
        new_style: bool = False, double_precision: bool = False,
    ) -> None:  # fmt: skip
        """Write a number."""
        made = of.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._write(made, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Write several numbers of one chart, each in a folder of its own."""
        outer = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(outer, f"{main_tag.replace('/', '_')}_{tag}")
            writers = self.all_writers or {}
            if folder not in writers:
                writers[folder] = self._open(folder)
            writers[folder].add_summary(of.scalar(main_tag, value), global_step, walltime)

    def add_hparams(
        self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
        run_name: str | None = None, global_step: Any = None,
    ) -> None:  # fmt: skip
        """Write the settings of a run and what came of them, in a folder of its own."""
        made = of.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        outer = self._get_file_writer().get_logdir()
        with SummaryWriter(os.path.join(outer, run_name or str(time.time()))) as run:
            for each in made:
                run._write(each, global_step, None)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow",
        walltime: float | None = None, max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """Write how numbers are distributed; see `summary.histogram`."""
        self._write(of.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag: str, min: float, max: float, num: float, sum: float, sum_squares: float,
        bucket_limits: Sequence[float], bucket_counts: Sequence[float], global_step: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Write a histogram that is known."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = of.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._write(made, global_step, walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:  # fmt: skip
        """Write an image."""
        self._write(of.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:  # fmt: skip
        """Write a grid of images."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self, tag: str, img_tensor: Any, box_tensor: Any, global_step: Any = None,
        walltime: float | None = None, rescale: float = 1, dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:  # fmt: skip
        """Write an image with frames."""
        labels = [labels] if isinstance(labels, str) else labels
        made = of.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._write(made, global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Write a figure of Matplotlib, or several as a grid."""
        import nnkit

        figures = list(figure) if isinstance(figure, (list, tuple)) else [figure]
        drawn = []
        for each in figures:
            each.canvas.draw()
            width, height = map(int, each.canvas.get_width_height())
            pixels = nnkit.frombuffer(bytearray(each.canvas.buffer_rgba()), dtype=nnkit.uint8)
            drawn.append(pixels.reshape(height, width, 4)[..., :3])
            if close:
                import matplotlib.pyplot as plt

                plt.close(each)
        self.add_image(tag, nnkit.stack(drawn), global_step, walltime, "NHWC")

    def add_audio(
        self, tag: str, snd_tensor: Any, global_step: Any = None, sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Write a sound of one channel."""
        self._write(of.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Write a text."""
        self._write(of.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: Any = None,
        num_thresholds: int = 127, weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Write a curve of precision and recall."""
        made = of.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._write(made, global_step, walltime)

    def add_custom_scalars(self, layout: Mapping[str, Any]) -> None:
        """Write how charts are laid out."""
        self._write(of.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Write that several scalars are one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Write that three scalars are a line between two others."""
        if len(tags) != 3:
            raise AssertionError("add_custom_scalars_marginchart takes three tags")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def flush(self) -> None:
        """Write what waits, in all folders."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Close all files; the next call opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
