"""torch.utils.data.backward_compatibility: what a DataLoader does by itself today."""

from nnkit.backend.warning import warn


def worker_init_fn(worker_id: int) -> None:
    """Nothing: each worker gets its share of a data pipe in any case."""
    warn("`worker_init_fn` is deprecated: a DataLoader gives each worker its share", FutureWarning)
