"""torch.hub: constants and helpers beside its functions."""

from __future__ import annotations

import re
from urllib.parse import urlparse as urlparse

try:
    from tqdm import tqdm as tqdm
except ImportError:
    from nnkit.compat.passing import Inert as tqdm  # noqa: F401

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the part of a file's name that tells its hash
