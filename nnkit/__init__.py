"""nnkit: PyTorch's API on NumPy, with its own kernels."""

from __future__ import annotations

import gc as _gc
from importlib import import_module
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import TYPE_CHECKING, Any

# Objects made by an import stay: to look for garbage among them would take a seventh of its time.
_collects = _gc.isenabled()
_gc.disable()

from nnkit import autograd as autograd
from nnkit.autograd import (
    Size as Size,
    Tensor as Tensor,
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from nnkit.autograd.anomaly import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
)
from nnkit.autograd.surface.printing import set_printoptions as set_printoptions
from nnkit.autograd.op.public import PUBLIC
from nnkit.backend.device import (
    device as device,
    get_default_device as get_default_device,
    set_default_device as set_default_device,
)
from nnkit.backend.dtype import (
    ALIASES,
    DTYPES,
    default_dtype as get_default_dtype,
    dtype as dtype,
    promote_types as promote_types,
    set_default_dtype as set_default_dtype,
)
from nnkit.backend.memory import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    layout as layout,
    memory_format as memory_format,
    preserve_format as preserve_format,
    sparse_bsc as sparse_bsc,
    sparse_bsr as sparse_bsr,
    sparse_coo as sparse_coo,
    sparse_csc as sparse_csc,
    sparse_csr as sparse_csr,
    strided as strided,
)
from nnkit.backend.program.outside import COMPILERS
from nnkit.backend.reproducibility import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode as get_deterministic_debug_mode,
    get_float32_matmul_precision as get_float32_matmul_precision,
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode as set_deterministic_debug_mode,
    set_float32_matmul_precision as set_float32_matmul_precision,
    use_deterministic_algorithms as use_deterministic_algorithms,
)
from nnkit.backend.strict import is_strict as is_strict, set_strict as set_strict
from nnkit.backend.threads import (
    get_num_threads as get_num_threads,
    set_num_threads as set_num_threads,
)
from nnkit.config import show_config as show_config

__version__ = "0.1.0"

newaxis = None

globals().update(DTYPES)
globals().update(ALIASES)
globals().update(PUBLIC)

# Imported when first used: whoever needs only tensors does not pay for the layers.
SUBMODULES = (
    "__future__",
    "amp",
    "backends",
    "compiler",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "export",
    "fft",
    "func",
    "futures",
    "fx",
    "hub",
    "linalg",
    "masked",
    "multiprocessing",
    "nn",
    "onnx",
    "optim",
    "overrides",
    "profiler",
    "quasirandom",
    "random",
    "return_types",
    "serialization",
    "signal",
    "sparse",
    "special",
    "testing",
    "utils",
)
FOUND_IN = {
    "GradScaler": "amp", "autocast": "amp", "compile": "compiler", "load": "serialization",
    "save": "serialization",
    "lobpcg": "eigensolver", "vmap": "func",
    "get_autocast_cpu_dtype": "amp.state", "get_autocast_dtype": "amp.state",
    "get_autocast_gpu_dtype": "amp.state", "is_autocast_cache_enabled": "amp.state",
    "is_autocast_cpu_enabled": "amp.state", "is_autocast_enabled": "amp.state",
    "set_autocast_cache_enabled": "amp.state", "set_autocast_dtype": "amp.state",
    "set_autocast_enabled": "amp.state",
    "sparse_bsc_tensor": "sparse", "sparse_bsr_tensor": "sparse",
    "sparse_compressed_tensor": "sparse", "sparse_coo_tensor": "sparse",
    "sparse_csc_tensor": "sparse", "sparse_csr_tensor": "sparse", "smm": "sparse",
    "hspmm": "sparse", "sspaddmm": "sparse",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in SUBMODULES:
        return import_module(f"nnkit.{name}")
    if name in FOUND_IN:
        return getattr(import_module(f"nnkit.{FOUND_IN[name]}"), name)
    raise AttributeError(f"module 'nnkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *SUBMODULES, *FOUND_IN})


# The compiler stands above the modules that offer it: Module.compile() finds it here.
COMPILERS["native"] = lambda *args, **kwargs: __getattr__("compile")(*args, **kwargs)

if _collects:
    if not _gc.get_freeze_count():  # so that all that is new becomes old without a look at it
        _gc.freeze()
        _gc.unfreeze()
    _gc.enable()

if TYPE_CHECKING:
    GradScaler: Any
    autocast: Any
    compile: Any
    get_autocast_cpu_dtype: Any
    get_autocast_dtype: Any
    get_autocast_gpu_dtype: Any
    is_autocast_cache_enabled: Any
    is_autocast_cpu_enabled: Any
    is_autocast_enabled: Any
    save: Any
    set_autocast_cache_enabled: Any
    set_autocast_dtype: Any
    set_autocast_enabled: Any
    load: Any
    lobpcg: Any
    vmap: Any
