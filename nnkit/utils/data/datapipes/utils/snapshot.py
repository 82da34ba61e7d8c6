"""Data pipes that go on where another pass has stopped."""

from __future__ import annotations

from typing import Any

from nnkit.utils.data.datapipes.datapipe import IterDataPipe
from nnkit.utils.data.datapipes.passes import _SnapshotState
from nnkit.utils.data.graph_settings import apply_random_seed


def _simple_graph_snapshot_restoration(
    datapipe: IterDataPipe[Any], n_iterations: int, rng: Any = None
) -> None:
    """Skip samples, so that the next iterator of a pipe begins behind them.

    Args:
        datapipe: a pipe that is not restored yet.
        n_iterations: how many samples are skipped.
        rng: the generator of the seeds of its random pipes, in the state that it had then.

    Raises:
        RuntimeError: the pipe has been restored, or has fewer samples.
    """
    if datapipe._snapshot_state is _SnapshotState.Restored:
        raise RuntimeError(
            f"Snapshot restoration cannot be applied. {datapipe} has been restored already"
        )
    datapipe._snapshot_state = _SnapshotState.NotStarted
    if rng is not None:
        apply_random_seed(datapipe, rng)
    samples = iter(datapipe)
    for skipped in range(n_iterations):
        if next(samples, datapipe) is datapipe:
            raise RuntimeError(f"{datapipe} has {skipped} samples: cannot skip {n_iterations}")
    datapipe._fast_forward_iterator = samples
    datapipe._snapshot_state = _SnapshotState.Restored
