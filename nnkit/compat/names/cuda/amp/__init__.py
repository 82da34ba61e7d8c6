"""torch.cuda.amp: see `nnkit.cuda.amp`."""

from nnkit.compat.names.cuda.amp.common import (
    amp_definitely_not_available as amp_definitely_not_available,
)
