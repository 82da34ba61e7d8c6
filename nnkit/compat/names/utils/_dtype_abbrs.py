"""torch.utils._dtype_abbrs: short names of dtypes, which records of calls show."""

from __future__ import annotations

import re

from nnkit.backend.dtype import DTYPES

dtype_abbrs = {
    d: "b8" if name == "bool" else re.sub("(b?[a-z])[a-z]+", r"\1", name, count=1).replace("_", "")
    for name, d in DTYPES.items()
}
