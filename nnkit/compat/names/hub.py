"""torch.hub: constants and helpers beside its functions."""

from __future__ import annotations

from urllib.parse import urlparse as urlparse

try:
    from tqdm import tqdm as tqdm
except ImportError:
    from nnkit.compat.passing import Inert as tqdm  # noqa: F401

from nnkit.hub import HASH_REGEX as HASH_REGEX
