"""Signals, as ``torch.signal``."""

from nnkit.signal import windows as windows
