"""torch.backends.cusparselt: cuSPARSELt, which nnkit does without."""

from __future__ import annotations

from nnkit.compat.passing import false, nothing

is_available = false
version = get_max_alg_id = nothing
