"""torch.random: the generator of a loader's thread, of which there are none."""

from __future__ import annotations


def thread_safe_generator() -> None:
    """None, which stands for the default generator: loaders have no threads here."""
