"""functorch.experimental: what was new once."""

from __future__ import annotations

from nnkit.compat.names.func import functionalize as functionalize
from nnkit.func import hessian as hessian
from nnkit.func import jacfwd as jacfwd
from nnkit.func import jvp as jvp
from nnkit.func import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
