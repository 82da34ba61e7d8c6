"""torch.distributed._composable_state: what `fully_shard` keeps of a module: nothing here."""

from __future__ import annotations

from nnkit.nn.modules.module import Module


def _get_module_state(module: Module) -> None:
    """None: no module has such a state."""
