"""torch.nn: names that are only names."""

from __future__ import annotations

from nnkit.backend.warning import warn
from nnkit.nn import Module


class Container(Module):
    """A module with others under the names of its arguments; every Module holds others by now."""

    def __init__(self, **modules: Module) -> None:
        warn("nn.Container is deprecated: subclass nn.Module instead", FutureWarning)
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)
