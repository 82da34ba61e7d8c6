"""torch.hub: what libraries take from it beside its functions."""

from __future__ import annotations

import re
from urllib.parse import urlparse as urlparse

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the part of a file's name that tells its hash
