"""torch._inductor.config: settings that a program may set, without effect."""

from __future__ import annotations

from nnkit.compat.passing import Inert

debug = max_autotune = coordinate_descent_tuning = freezing = False
fx_graph_cache = epilogue_fusion = True
patch = Inert


class triton:
    """Settings of kernels for GPUs."""

    cudagraphs = False
    cudagraph_trees = unique_kernel_names = True


class cpp:
    """Settings of kernels for CPUs."""

    threads = -1
    simdlen = None
