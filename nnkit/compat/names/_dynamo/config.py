"""torch._dynamo.config: settings that a program may set, without effect."""

from __future__ import annotations

from nnkit.compat.passing import Inert

suppress_errors = verbose = capture_scalar_outputs = capture_dynamic_output_shape_ops = False
automatic_dynamic_shapes = True
assume_static_by_default = True
recompile_limit = cache_size_limit = 8
accumulated_recompile_limit = accumulated_cache_size_limit = 256
patch = Inert
