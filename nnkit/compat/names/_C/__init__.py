"""torch._C: the few names of torch's compiled part that libraries use."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.dims import broadcast_shape
from nnkit.autograd.arguments.overriding import THREAD, TorchFunctionMode, refuse
from nnkit.autograd.arguments.overriding import DisableTorchFunction as DisableTorchFunction
from nnkit.autograd.arguments.overriding import (
    DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
)
from nnkit.autograd.arguments.spatial import ints
from nnkit.autograd.forward_ad import _is_fwd_grad_enabled as _is_fwd_grad_enabled
from nnkit.autograd.forward_ad import _set_fwd_grad_enabled as _set_fwd_grad_enabled
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.ops.creation.conversion import destination
from nnkit.autograd.surface.generator import Generator as Generator
from nnkit.backend import reproducibility
from nnkit.backend.device import device, get_default_device
from nnkit.backend.errors import DistBackendError, DistError, LinAlgError
from nnkit.backend.errors import OutOfMemoryError as OutOfMemoryError
from nnkit.compat.archives import PyTorchFileReader as PyTorchFileReader
from nnkit.compat.archives import PyTorchFileWriter as PyTorchFileWriter
from nnkit.compat.names._convolutions import _ConvBackend as _ConvBackend
from nnkit.compat.names._convolutions import _select_conv_backend as _select_conv_backend
from nnkit.compat.names._nodes import _autograd as _autograd
from nnkit.compat.names._nodes import _current_graph_task_id as _current_graph_task_id
from nnkit.compat.names._nodes import _functions as _functions
from nnkit.compat.names._nodes import _WeakTensorRef as _WeakTensorRef
from nnkit.compat.names._nodes import _will_engine_execute_node as _will_engine_execute_node
from nnkit.compat.names._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from nnkit.compat.names.storage import StorageBase as StorageBase
from nnkit.compat.passing import Inert, false, nothing
from nnkit.nn import functional as F

DispatchKey = enum.Enum(
    "DispatchKey",
    "CPU CUDA Meta Autograd AutogradCPU AutogradCUDA AutogradXPU CompositeImplicitAutograd "
    "CompositeExplicitAutograd Autocast AutocastCPU AutocastCUDA AutocastXPU Python Undefined",
)


class DispatchKeySet(frozenset):
    """A set of keys; nothing is dispatched by them."""

    def __new__(cls, key: DispatchKey) -> DispatchKeySet:
        return super().__new__(cls, (key,))


class Graph:
    """A graph of TorchScript, of which there are none."""


class Value:
    """A value in a graph of TorchScript, of which there are none."""


class Node:
    """A node in a graph of TorchScript, of which there are none."""


class JitType:
    """A type of TorchScript, in which nothing is written here."""


ScriptModule = ScriptFunction = ScriptMethod = ScriptList = ScriptDict = ScriptObject = Graph
TensorType = ListType = DictType = TupleType = OptionalType = FloatType = IntType = JitType
BoolType = StringType = NoneType = AnyType = NumberType = DeviceObjType = JitType
_has_cuda = _has_xpu = _has_mps = False
_log_api_usage_once = _jit_set_profiling_executor = _jit_set_profiling_mode = nothing
_get_tracing_state = nothing
_is_tracing = false
_set_graph_executor_optimize = nothing
_jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = nothing
_jit_set_texpr_fuser_enabled = _jit_set_nvfuser_enabled = nothing
_jit_set_emit_hooks = _jit_clear_class_registry = nothing
_cuda_clearCublasWorkspaces = nothing
_cuda_isInBadFork = false
_debug_only_are_vmap_fallback_warnings_enabled = false
_debug_only_display_vmap_fallback_warnings = nothing
_ExcludeDispatchKeyGuard = Inert
_DisableFuncTorch = Inert
_LinAlgError, _DistError, _DistBackendError = LinAlgError, DistError, DistBackendError
_TensorMeta, TensorBase, _TensorBase = type(Tensor), Tensor, Tensor
_disabled_torch_function_impl = refuse


def _get_deterministic_fill_uninitialized_memory() -> bool:
    return reproducibility.fill_uninitialized_memory


def _set_deterministic_fill_uninitialized_memory(mode: bool) -> None:
    reproducibility.fill_uninitialized_memory = mode


def _get_default_device() -> str:
    return get_default_device().type


class _TorchFunctionState(enum.Enum):
    """Who is asked before functions are called: all, no subclasses of Tensor, or nobody."""

    ENABLED = 0
    SUBCLASSES_DISABLED = 1
    ALL_DISABLED = 2


def _get_torch_function_state() -> _TorchFunctionState:
    if not THREAD.asks:
        return _TorchFunctionState.ALL_DISABLED
    return _TorchFunctionState(0 if THREAD.of_tensors else 1)


def _set_torch_function_state(state: _TorchFunctionState) -> None:
    THREAD.asks = state is not _TorchFunctionState.ALL_DISABLED
    THREAD.of_tensors = state is _TorchFunctionState.ENABLED


def _is_torch_function_enabled() -> bool:
    return _get_torch_function_state() is _TorchFunctionState.ENABLED


def _is_torch_function_all_disabled() -> bool:
    return _get_torch_function_state() is _TorchFunctionState.ALL_DISABLED


def _is_torch_function_mode_enabled() -> bool:
    return THREAD.asks and bool(THREAD.modes)


def _len_torch_function_stack() -> int:
    return len(THREAD.modes)


def _get_function_stack_at(index: int) -> TorchFunctionMode:
    return THREAD.modes[index]


def _push_on_torch_function_stack(mode: TorchFunctionMode) -> None:
    TorchFunctionMode.__enter__(mode)


def _pop_torch_function_stack() -> TorchFunctionMode:
    mode = THREAD.modes[-1]
    TorchFunctionMode.__exit__(mode)
    return mode


def _get_privateuse1_backend_name() -> str:
    return "privateuseone"


def _cuda_getCurrentRawStream(device: Any) -> int:
    return 0


def _parse_to(*args: Any, **kwargs: Any) -> tuple:
    """The arguments of ``to`` sorted: device, dtype, whether to wait, and the format."""
    place, kind, non_blocking, _, memory_format = destination("to", args, kwargs)
    named = kwargs.get("device", args[0] if args else None)
    if isinstance(named, (str, device)):  # with the index that tensors on the CPU do not bear
        place = device(named)
    return place, kind, non_blocking, memory_format


def _plain_convolution(axes: int) -> Callable:
    """A convolution that takes the size of its kernel as an argument."""

    def convolve(
        input: Tensor, weight: Tensor, kernel_size: Any, bias: Tensor | None = None,
        stride: Any = 1, padding: Any = 0,
    ) -> Tensor:  # fmt: skip
        ints("convolution", "kernel_size", kernel_size, axes)
        return getattr(F, f"conv{axes}d")(input, weight, bias, stride, padding)

    return convolve


def _is_alias_of(tensor: Tensor, other: Tensor) -> bool:
    """Whether two tensors lie in the same memory."""
    return tensor.untyped_storage()._cdata == other.untyped_storage()._cdata


def _infer_size(a: Any, b: Any) -> Any:
    """The shape that two shapes broadcast to."""
    return broadcast_shape("_infer_size", [a, b])


def _upsample(way: str, axes: int, antialias: bool) -> Callable:
    """`interpolate` by one of its modes; a size, or the factors of scale."""

    def upsample(input: Tensor, output_size: Any, *rest: Any, **named: Any) -> Tensor:
        options: dict[str, Any] = {"antialias": True} if antialias else {}
        if not way.startswith("nearest"):
            options["align_corners"] = named.get("align_corners", rest[0] if rest else None)
            rest = rest[1:]
        scales = named.get("scale_factors", rest[0] if rest else None)
        if output_size is not None:
            scales = None
            ints("upsample", "output_size", output_size, axes)
        mode = way.replace("_", "-")
        return F.interpolate(input, output_size, scales, mode, **options)

    return upsample


def _are_functorch_transforms_active() -> bool:
    return MODE.transforms > 0


class _NN:
    """``torch._C._nn``: the functions of ``nn.functional``, and tools of modules."""

    _parse_to = staticmethod(_parse_to)
    flatten_dense_tensors = staticmethod(_flatten_dense_tensors)
    unflatten_dense_tensors = staticmethod(_unflatten_dense_tensors)
    log_sigmoid = staticmethod(F.logsigmoid)
    im2col = staticmethod(F.unfold)
    col2im = staticmethod(F.fold)
    thnn_conv2d = staticmethod(_plain_convolution(2))
    slow_conv3d = staticmethod(_plain_convolution(3))

    def __getattr__(self, name: str) -> Any:
        way, _, rest = name.partition("_pad")
        modes = {"reflection": "reflect", "replication": "replicate"}
        if way in modes and rest in ("1d", "2d", "3d"):
            return lambda input, padding: F.pad(input, padding, modes[way])
        found = re.fullmatch(r"_?upsample_([a-z_]+)([123])d(_aa)?", name)
        if found:
            return _upsample(found[1], int(found[2]), found[3] is not None)
        return getattr(F, name)


_nn = _NN()
