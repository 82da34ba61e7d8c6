"""torch.nn.functional: another name of a function."""

from __future__ import annotations

from nnkit import channel_shuffle

native_channel_shuffle = channel_shuffle
