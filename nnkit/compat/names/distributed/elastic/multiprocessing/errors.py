"""torch.distributed.elastic.multiprocessing.errors: how the main function of a rank ends."""

from __future__ import annotations

from nnkit.distributed.elastic.multiprocessing.errors import record as record
