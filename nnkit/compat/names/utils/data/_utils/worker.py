"""torch.utils.data._utils.worker: how the processes that load data are seeded."""

from __future__ import annotations

from nnkit.backend.random import words_of_worker as _generate_state
from nnkit.utils.data.worker import WorkerInfo as WorkerInfo

__all__ = ["WorkerInfo", "_generate_state"]
