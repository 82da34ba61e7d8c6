"""Everything ``import nnkit`` offers.

Generated from the running package: ``python -m tools.stubs``.
"""

from collections.abc import Sequence as _Sequence
from nnkit import BFloat16Storage as BFloat16Storage
from nnkit import BFloat16Tensor as BFloat16Tensor
from nnkit import BoolStorage as BoolStorage
from nnkit import BoolTensor as BoolTensor
from nnkit import ByteStorage as ByteStorage
from nnkit import ByteTensor as ByteTensor
from nnkit import CharStorage as CharStorage
from nnkit import CharTensor as CharTensor
from nnkit import ComplexDoubleStorage as ComplexDoubleStorage
from nnkit import ComplexFloatStorage as ComplexFloatStorage
from nnkit import DoubleStorage as DoubleStorage
from nnkit import DoubleTensor as DoubleTensor
from nnkit import FloatStorage as FloatStorage
from nnkit import FloatTensor as FloatTensor
from nnkit import HalfStorage as HalfStorage
from nnkit import HalfTensor as HalfTensor
from nnkit import IntStorage as IntStorage
from nnkit import IntTensor as IntTensor
from nnkit import LongStorage as LongStorage
from nnkit import LongTensor as LongTensor
from nnkit import ShortStorage as ShortStorage
from nnkit import ShortTensor as ShortTensor
from nnkit import __future__ as __future__
from nnkit import amp as amp
from nnkit import autograd as autograd
from nnkit import backends as backends
from nnkit import compiler as compiler
from nnkit import cpu as cpu
from nnkit import cuda as cuda
from nnkit import distributed as distributed
from nnkit import distributions as distributions
from nnkit import export as export
from nnkit import fft as fft
from nnkit import func as func
from nnkit import futures as futures
from nnkit import fx as fx
from nnkit import hub as hub
from nnkit import linalg as linalg
from nnkit import masked as masked
from nnkit import multiprocessing as multiprocessing
from nnkit import nn as nn
from nnkit import onnx as onnx
from nnkit import optim as optim
from nnkit import overrides as overrides
from nnkit import profiler as profiler
from nnkit import quasirandom as quasirandom
from nnkit import random as random
from nnkit import return_types as return_types
from nnkit import serialization as serialization
from nnkit import signal as signal
from nnkit import sparse as sparse
from nnkit import special as special
from nnkit import testing as testing
from nnkit import utils as utils
from nnkit.amp import GradScaler as GradScaler
from nnkit.amp import autocast as autocast
from nnkit.amp.state import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from nnkit.amp.state import get_autocast_dtype as get_autocast_dtype
from nnkit.amp.state import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from nnkit.amp.state import is_autocast_cache_enabled as is_autocast_cache_enabled
from nnkit.amp.state import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from nnkit.amp.state import is_autocast_enabled as is_autocast_enabled
from nnkit.amp.state import set_autocast_cache_enabled as set_autocast_cache_enabled
from nnkit.amp.state import set_autocast_dtype as set_autocast_dtype
from nnkit.amp.state import set_autocast_enabled as set_autocast_enabled
from nnkit.autograd.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from nnkit.autograd.anomaly import is_anomaly_enabled as is_anomaly_enabled
from nnkit.autograd.grad_mode import enable_grad as enable_grad
from nnkit.autograd.grad_mode import inference_mode as inference_mode
from nnkit.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from nnkit.autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from nnkit.autograd.grad_mode import no_grad as no_grad
from nnkit.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from nnkit.autograd.surface.generator import Generator as Generator
from nnkit.autograd.surface.generator import Generator as _Generator
from nnkit.autograd.surface.limits import finfo as finfo
from nnkit.autograd.surface.limits import iinfo as iinfo
from nnkit.autograd.surface.printing import set_printoptions as set_printoptions
from nnkit.autograd.surface.size import Size as Size
from nnkit.autograd.surface.size import Size as _Size
from nnkit.autograd.surface.storage import TypedStorage as TypedStorage
from nnkit.autograd.surface.storage import UntypedStorage as UntypedStorage
from nnkit.autograd.tensor import Tensor as Tensor
from nnkit.backend.device import device as device
from nnkit.backend.device import get_default_device as get_default_device
from nnkit.backend.device import set_default_device as set_default_device
from nnkit.backend.dtype import default_dtype as get_default_dtype
from nnkit.backend.dtype import dtype as _dtype
from nnkit.backend.dtype import dtype as dtype
from nnkit.backend.dtype import promote_types as promote_types
from nnkit.backend.dtype import set_default_dtype as set_default_dtype
from nnkit.backend.memory import layout as _layout
from nnkit.backend.memory import layout as layout
from nnkit.backend.memory import memory_format as _memory_format
from nnkit.backend.memory import memory_format as memory_format
from nnkit.backend.reproducibility import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from nnkit.backend.reproducibility import get_deterministic_debug_mode as get_deterministic_debug_mode
from nnkit.backend.reproducibility import get_float32_matmul_precision as get_float32_matmul_precision
from nnkit.backend.reproducibility import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from nnkit.backend.reproducibility import set_deterministic_debug_mode as set_deterministic_debug_mode
from nnkit.backend.reproducibility import set_float32_matmul_precision as set_float32_matmul_precision
from nnkit.backend.reproducibility import use_deterministic_algorithms as use_deterministic_algorithms
from nnkit.backend.strict import is_strict as is_strict
from nnkit.backend.strict import set_strict as set_strict
from nnkit.backend.threads import get_num_threads as get_num_threads
from nnkit.backend.threads import set_num_threads as set_num_threads
from nnkit.compiler import compile as compile
from nnkit.config import show_config as show_config
from nnkit.eigensolver import lobpcg as lobpcg
from nnkit.func import vmap as vmap
from nnkit.serialization import load as load
from nnkit.serialization import save as save
from nnkit.sparse import hspmm as hspmm
from nnkit.sparse import smm as smm
from nnkit.sparse import sparse_bsc_tensor as sparse_bsc_tensor
from nnkit.sparse import sparse_bsr_tensor as sparse_bsr_tensor
from nnkit.sparse import sparse_compressed_tensor as sparse_compressed_tensor
from nnkit.sparse import sparse_coo_tensor as sparse_coo_tensor
from nnkit.sparse import sparse_csc_tensor as sparse_csc_tensor
from nnkit.sparse import sparse_csr_tensor as sparse_csr_tensor
from nnkit.sparse import sspaddmm as sspaddmm
from typing import Any as _Any
import builtins

FOUND_IN: builtins.dict
__version__: builtins.str
def abs(input: _Any, *, out: _Any = None) -> Tensor:
    """The absolute value; of a complex number its modulus."""
def abs_(input: _Any) -> Tensor:
    """In-place version of `abs`; returns the tensor."""
def absolute(input: _Any, *, out: _Any = None) -> Tensor:
    """The absolute value; of a complex number its modulus."""
def absolute_(input: _Any) -> Tensor:
    """In-place version of `abs`; returns the tensor."""
def acos(input: _Any, *, out: _Any = None) -> Tensor:
    """The angle whose cosine is ``input``."""
def acos_(input: _Any) -> Tensor:
    """In-place version of `acos`; returns the tensor."""
def acosh(input: _Any, *, out: _Any = None) -> Tensor:
    """The inverse of `cosh`, ``log(x + sqrt(x**2 - 1))``."""
def acosh_(input: _Any) -> Tensor:
    """In-place version of `acosh`; returns the tensor."""
def adaptive_avg_pool1d(
    input: Tensor,
    output_size: builtins.int | _Sequence[builtins.int],
) -> Tensor:
    """The mean of each of ``output_size`` windows; see `adaptive_avg_pool2d`."""
def adaptive_max_pool1d(
    input: Tensor,
    output_size: builtins.int | _Sequence[builtins.int],
) -> builtins.tuple[Tensor, Tensor]:
    """The largest element of each window and its index; see
    `nnkit.nn.functional.adaptive_max_pool1d`.
    """
def add(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    alpha: builtins.complex = 1,
    out: _Any = None,
) -> Tensor:
    """The sum ``input + alpha * other``, with broadcasting and type promotion."""
def add_(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    alpha: builtins.complex = 1,
) -> Tensor:
    """The sum ``input + alpha * other``, with broadcasting and type promotion."""
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: builtins.complex = 1,
    alpha: builtins.complex = 1,
    out: _Any = None,
) -> Tensor:
    """``beta * input + alpha * sum(batch1 @ batch2)``, summed over the batch."""
def addbmm_(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: builtins.complex = 1,
    alpha: builtins.complex = 1,
) -> Tensor:
    """``beta * input + alpha * sum(batch1 @ batch2)``, summed over the batch."""
def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: builtins.complex = 1,
    out: _Any = None,
) -> Tensor:
    """``input + value * tensor1 / tensor2``; floating point only."""
def addcdiv_(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: builtins.complex = 1,
) -> Tensor:
    """``input + value * tensor1 / tensor2``; floating point only."""
def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: builtins.complex = 1,
    out: _Any = None,
) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
def addcmul_(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: builtins.complex = 1,
) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: builtins.complex = 1,
    alpha: builtins.complex = 1,
    out: _Any = None,
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; with ``beta=0`` not even a NaN of ``input``
    counts.
    """
def addmm_(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: builtins.complex = 1,
    alpha: builtins.complex = 1,
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; with ``beta=0`` not even a NaN of ``input``
    counts.
    """
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: builtins.complex = 1,
    alpha: builtins.complex = 1,
    out: _Any = None,
) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``."""
def addmv_(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: builtins.complex = 1,
    alpha: builtins.complex = 1,
) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``."""
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: builtins.complex = 1,
    alpha: builtins.complex = 1,
    out: _Any = None,
) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""
def addr_(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: builtins.complex = 1,
    alpha: builtins.complex = 1,
) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of a matrix or a batch of matrices."""
def alias_copy(input: Tensor, *, out: _Any = None) -> Tensor:
    """What ``alias`` shows, as a copy."""
def all(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
    *,
    out: _Any = None,
) -> Tensor:
    """Whether all elements are true (not zero), in all or along dimensions."""
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: builtins.float = ...,
    atol: builtins.float = ...,
    equal_nan: builtins.bool = False,
) -> builtins.bool:
    """Whether all elements are close, as `isclose` says."""
def alpha_dropout(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, for networks with SELU."""
def alpha_dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, for networks with SELU."""
def amax(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int] | None = ...,
    keepdim: builtins.bool = False,
    *,
    out: _Any = None,
) -> Tensor:
    """The largest element of all or along dimensions; NaN if one is NaN. Equal ones share the
    gradient.
    """
def amin(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int] | None = ...,
    keepdim: builtins.bool = False,
    *,
    out: _Any = None,
) -> Tensor:
    """The smallest element of all or along dimensions; see `amax`."""
def aminmax(
    input: Tensor,
    *,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
    out: _Any = None,
) -> _Any:
    """`amin` and `amax` as a named tuple (min, max)."""
def angle(input: Tensor, *, out: _Any = None) -> Tensor:
    """The angle of each number in the complex plane: ``atan2(imag, real)``."""
def any(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
    *,
    out: _Any = None,
) -> Tensor:
    """Whether any element is true (not zero), in all or along dimensions."""
def arange(
    *bounds: _Any,
    out: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
    **keyword: _Any,
) -> Tensor:
    """The numbers ``start, start + step, ...`` below ``end``: ``arange(end)``,
    ``arange(start, end)``, ``arange(start, end, step)``.
    """
def arccos(input: _Any, *, out: _Any = None) -> Tensor:
    """The angle whose cosine is ``input``."""
def arccos_(input: _Any) -> Tensor:
    """In-place version of `acos`; returns the tensor."""
def arccosh(input: _Any, *, out: _Any = None) -> Tensor:
    """The inverse of `cosh`, ``log(x + sqrt(x**2 - 1))``."""
def arccosh_(input: _Any) -> Tensor:
    """In-place version of `acosh`; returns the tensor."""
def arcsin(input: _Any, *, out: _Any = None) -> Tensor:
    """The angle whose sine is ``input``."""
def arcsin_(input: _Any) -> Tensor:
    """In-place version of `asin`; returns the tensor."""
def arcsinh(input: _Any, *, out: _Any = None) -> Tensor:
    """The inverse of `sinh`, ``log(x + sqrt(x**2 + 1))``."""
def arcsinh_(input: _Any) -> Tensor:
    """In-place version of `asinh`; returns the tensor."""
def arctan(input: _Any, *, out: _Any = None) -> Tensor:
    """The angle whose tangent is ``input``."""
def arctan2(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The angle of the point (``other``, ``input``)."""
def arctan2_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `atan2`; returns the tensor."""
def arctan_(input: _Any) -> Tensor:
    """In-place version of `atan`; returns the tensor."""
def arctanh(input: _Any, *, out: _Any = None) -> Tensor:
    """The inverse of `tanh`, ``log((1 + x) / (1 - x)) / 2``."""
def arctanh_(input: _Any) -> Tensor:
    """In-place version of `atanh`; returns the tensor."""
def argmax(
    input: Tensor,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
    *,
    out: _Any = None,
) -> Tensor:
    """The index of the first largest element, along ``dim`` or in the flattened tensor."""
def argmin(
    input: Tensor,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
    *,
    out: _Any = None,
) -> Tensor:
    """The index of the first smallest element; see `argmax`."""
def argsort(
    input: Tensor,
    dim: builtins.int = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = False,
) -> Tensor:
    """The indices that `sort` returns."""
def argwhere(input: Tensor) -> Tensor:
    """`nonzero`: the indices of all elements that are not zero, a row for each."""
def as_strided(
    input: Tensor,
    size: _Sequence[builtins.int],
    stride: _Sequence[builtins.int],
    storage_offset: builtins.int | None = None,
) -> Tensor:
    """A view of the storage of ``input`` with any size, stride and offset (in elements)."""
def as_strided_copy(
    input: Tensor,
    size: _Sequence[builtins.int],
    stride: _Sequence[builtins.int],
    storage_offset: builtins.int | None = None,
    *,
    out: _Any = None,
) -> Tensor:
    """What ``as_strided`` shows, as a copy."""
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: _Sequence[builtins.int],
    stride: _Sequence[builtins.int],
    storage_offset: builtins.int | None = None,
) -> Tensor:
    """A copy of ``input`` with ``src`` where `as_strided` would look."""
def as_tensor(data: _Any, *, dtype: _Any = None, device: _Any = None) -> Tensor:
    """``data`` as a tensor, without a copy where it is a Tensor or an array of that dtype."""
def asarray(
    obj: _Any,
    *,
    dtype: _Any = None,
    device: _Any = None,
    copy: builtins.bool | None = None,
    requires_grad: builtins.bool | None = None,
) -> Tensor:
    """``obj`` as a tensor that shares its memory where it can."""
def asin(input: _Any, *, out: _Any = None) -> Tensor:
    """The angle whose sine is ``input``."""
def asin_(input: _Any) -> Tensor:
    """In-place version of `asin`; returns the tensor."""
def asinh(input: _Any, *, out: _Any = None) -> Tensor:
    """The inverse of `sinh`, ``log(x + sqrt(x**2 + 1))``."""
def asinh_(input: _Any) -> Tensor:
    """In-place version of `asinh`; returns the tensor."""
def atan(input: _Any, *, out: _Any = None) -> Tensor:
    """The angle whose tangent is ``input``."""
def atan2(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The angle of the point (``other``, ``input``)."""
def atan2_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `atan2`; returns the tensor."""
def atan_(input: _Any) -> Tensor:
    """In-place version of `atan`; returns the tensor."""
def atanh(input: _Any, *, out: _Any = None) -> Tensor:
    """The inverse of `tanh`, ``log((1 + x) / (1 - x)) / 2``."""
def atanh_(input: _Any) -> Tensor:
    """In-place version of `atanh`; returns the tensor."""
def atleast_1d(*tensors: _Any) -> _Any:
    """The tensor, or each of several, with at least one dimension."""
def atleast_2d(*tensors: _Any) -> _Any:
    """The tensor, or each of several, with at least two dimensions: a vector becomes a row."""
def atleast_3d(*tensors: _Any) -> _Any:
    """The tensor, or each of several, with at least three dimensions, new ones last."""
def avg_pool1d(
    input: Tensor,
    kernel_size: builtins.int | _Sequence[builtins.int],
    stride: builtins.int | _Sequence[builtins.int] | None = None,
    padding: builtins.int | _Sequence[builtins.int] = 0,
    ceil_mode: builtins.bool = False,
    count_include_pad: builtins.bool = True,
) -> Tensor:
    """The mean of each window; see `nnkit.nn.functional.avg_pool2d`."""
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: builtins.complex = 1,
    alpha: builtins.complex = 1,
    out: _Any = None,
) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""
def baddbmm_(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: builtins.complex = 1,
    alpha: builtins.complex = 1,
) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""
def bartlett_window(
    window_length: builtins.int,
    periodic: builtins.bool = True,
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Bartlett's window, the triangle ``1 - |2 k / n - 1|``; see `hamming_window`."""
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: builtins.bool,
    momentum: builtins.float,
    eps: builtins.float,
    cudnn_enabled: builtins.bool,
) -> Tensor:
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` for each channel."""
def bernoulli(
    input: Tensor,
    p: builtins.float = ...,
    *,
    generator: _Any = None,
    out: _Any = None,
) -> Tensor:
    """1 with the chance that ``input`` says (or ``p``, for all elements), else 0."""
bfloat16: _dtype
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each output feature k."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
    """The count of each integer from 0 in a 1-dim tensor, or the sum of its weights."""
def binomial(count: Tensor, prob: Tensor, generator: _Any = None) -> Tensor:
    """Random numbers of successes among ``count`` trials, each of probability ``prob``."""
def bitwise_and(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """Bits set in both (logic for bool)."""
def bitwise_and_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `bitwise_and`; returns the tensor."""
def bitwise_left_shift(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """Bits moved left: ``input * 2**other``."""
def bitwise_left_shift_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `bitwise_left_shift`; returns the tensor."""
def bitwise_not(input: _Any, *, out: _Any = None) -> Tensor:
    """All bits flipped (logical not for bool)."""
def bitwise_not_(input: _Any) -> Tensor:
    """In-place version of `bitwise_not`; returns the tensor."""
def bitwise_or(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """Bits set in either (logic for bool)."""
def bitwise_or_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `bitwise_or`; returns the tensor."""
def bitwise_right_shift(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """Bits moved right, sign kept."""
def bitwise_right_shift_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `bitwise_right_shift`; returns the tensor."""
def bitwise_xor(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """Bits set in one of both."""
def bitwise_xor_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `bitwise_xor`; returns the tensor."""
def blackman_window(
    window_length: builtins.int,
    periodic: builtins.bool = True,
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Blackman's window, ``0.42 - cos(2 pi k / n) / 2 + 0.08 cos(4 pi k / n)``; see
    `hamming_window`.
    """
def block_diag(*tensors: _Any) -> Tensor:
    """A matrix with the given ones (vectors are rows) along its diagonal, zero elsewhere."""
def bmm(input: Tensor, mat2: Tensor, *, out: _Any = None) -> Tensor:
    """The products of two batches of matrices, (b, n, k) and (b, k, m)."""
bool: _dtype
def broadcast_shapes(*shapes: _Any) -> _Size:
    """The shape that tensors of these shapes broadcast to."""
def broadcast_tensors(*tensors: _Any) -> builtins.tuple[Tensor, ...]:
    """Expand all tensors to their common shape."""
def broadcast_to(input: Tensor, size: _Sequence[builtins.int]) -> Tensor:
    """``input.expand(size)``: the input repeated to a larger shape without copying."""
def bucketize(
    input: Tensor | builtins.complex,
    boundaries: Tensor,
    *,
    out_int32: builtins.bool = False,
    right: builtins.bool = False,
    out: _Any = None,
) -> Tensor:
    """The index of the bucket each element falls into: `searchsorted` with the operands
    exchanged.
    """
def can_cast(from_: _dtype, to: _dtype) -> builtins.bool:
    """Whether a result of dtype ``from_`` may be written into a tensor of dtype ``to``."""
def cartesian_prod(*tensors: _Any) -> Tensor:
    """All combinations of one element from each 1-dim tensor, one row each."""
def cat(
    tensors: _Any,
    dim: builtins.int = 0,
    *,
    axis: builtins.int | None = None,
    out: _Any = None,
) -> Tensor:
    """Join tensors along an existing dimension."""
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: builtins.float = ...,
    compute_mode: builtins.str = 'use_mm_for_euclid_dist_if_necessary',
) -> Tensor:
    """The p-norm distance of each row of ``x1`` to each row of ``x2``."""
cdouble: _dtype
def ceil(input: _Any, *, out: _Any = None) -> Tensor:
    """The smallest integer not below each element."""
def ceil_(input: _Any) -> Tensor:
    """In-place version of `ceil`; returns the tensor."""
def celu(input: Tensor, alpha: builtins.float = ...) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``"""
def celu_(input: Tensor, alpha: builtins.float = ...) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``"""
cfloat: _dtype
def chain_matmul(*matrices: Tensor, out: _Any = None) -> Tensor:
    """`nnkit.linalg.multi_dot` of one or more matrices."""
def channel_shuffle(input: Tensor, groups: builtins.int) -> Tensor:
    """Channels (dimension 1) regrouped: the first of each group, then the second of each, ..."""
channels_last: _memory_format
channels_last_3d: _memory_format
def cholesky(input: Tensor, upper: builtins.bool = False, *, out: _Any = None) -> Tensor:
    """The triangular L with a positive diagonal and ``L @ L.mH`` the input (its transpose
    with ``upper``), for positive definite matrices.
    """
def cholesky_inverse(input: Tensor, upper: builtins.bool = False, *, out: _Any = None) -> Tensor:
    """The inverse of ``L @ L.mH`` (of ``L.mH @ L`` with ``upper``) from the triangular L."""
def cholesky_solve(
    input: Tensor,
    input2: Tensor,
    upper: builtins.bool = False,
    *,
    out: _Any = None,
) -> Tensor:
    """The X with ``L @ L.mH @ X = input`` (``L.mH @ L`` with ``upper``)."""
def chunk(
    input: Tensor,
    chunks: builtins.int,
    dim: builtins.int = 0,
) -> builtins.tuple[Tensor, ...]:
    """At most ``chunks`` equal pieces (the last may be smaller), as views."""
def clamp(
    input: Tensor,
    min: Tensor | builtins.complex | None = None,
    max: Tensor | builtins.complex | None = None,
    *,
    out: _Any = None,
) -> Tensor:
    """``input`` held between ``min`` and ``max`` (numbers or tensors, one may be missing)."""
def clamp_(
    input: Tensor,
    min: Tensor | builtins.complex | None = None,
    max: Tensor | builtins.complex | None = None,
) -> Tensor:
    """``input`` held between ``min`` and ``max`` (numbers or tensors, one may be missing)."""
def clamp_max(input: Tensor, max: Tensor | builtins.complex, *, out: _Any = None) -> Tensor:
    """``input`` where it is at most ``max``, else ``max``."""
def clamp_max_(input: Tensor, max: Tensor | builtins.complex) -> Tensor:
    """``input`` where it is at most ``max``, else ``max``."""
def clamp_min(input: Tensor, min: Tensor | builtins.complex, *, out: _Any = None) -> Tensor:
    """``input`` where it is at least ``min``, else ``min``."""
def clamp_min_(input: Tensor, min: Tensor | builtins.complex) -> Tensor:
    """``input`` where it is at least ``min``, else ``min``."""
def clip(
    input: Tensor,
    min: Tensor | builtins.complex | None = None,
    max: Tensor | builtins.complex | None = None,
    *,
    out: _Any = None,
) -> Tensor:
    """``input`` held between ``min`` and ``max`` (numbers or tensors, one may be missing)."""
def clip_(
    input: Tensor,
    min: Tensor | builtins.complex | None = None,
    max: Tensor | builtins.complex | None = None,
) -> Tensor:
    """``input`` held between ``min`` and ``max`` (numbers or tensors, one may be missing)."""
def clone(input: Tensor, *, memory_format: _Any = None) -> Tensor:
    """A copy in memory of its own, through which gradients flow."""
def column_stack(tensors: _Any, *, out: _Any = None) -> Tensor:
    """Join along dimension 1; tensors of fewer than two dimensions become columns."""
def combinations(
    input: Tensor,
    r: builtins.int = 2,
    with_replacement: builtins.bool = False,
) -> Tensor:
    """All combinations of ``r`` elements of a 1-dim tensor, in order, one row each."""
def complex(real: Tensor, imag: Tensor, *, out: _Any = None) -> Tensor:
    """``real + i imag``, from float32 or float64 tensors of one dtype that broadcast."""
complex128: _dtype
complex64: _dtype
def concat(
    tensors: _Any,
    dim: builtins.int = 0,
    *,
    axis: builtins.int | None = None,
    out: _Any = None,
) -> Tensor:
    """Join tensors along an existing dimension."""
def concatenate(
    tensors: _Any,
    dim: builtins.int = 0,
    *,
    axis: builtins.int | None = None,
    out: _Any = None,
) -> Tensor:
    """Join tensors along an existing dimension."""
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, a view; a real tensor is returned as it is."""
def conj_physical(input: Tensor, *, out: _Any = None) -> Tensor:
    """The complex conjugate in memory of its own; a real tensor is returned as it is."""
def conj_physical_(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own; a real tensor is returned as it is."""
def constant_pad_nd(input: Tensor, pad: _Any, value: builtins.complex = 0) -> Tensor:
    """``input`` with ``value`` around it; see `nnkit.nn.functional.pad`."""
contiguous_format: _memory_format
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: builtins.int | _Sequence[builtins.int] = 1,
    padding: builtins.str | builtins.int | _Sequence[builtins.int] = 0,
    dilation: builtins.int | _Sequence[builtins.int] = 1,
    groups: builtins.int = 1,
) -> Tensor:
    """1-dimensional convolution; see `conv2d`."""
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: builtins.int | _Sequence[builtins.int] = 1,
    padding: builtins.str | builtins.int | _Sequence[builtins.int] = 0,
    dilation: builtins.int | _Sequence[builtins.int] = 1,
    groups: builtins.int = 1,
) -> Tensor:
    """2-dimensional convolution (the kernel is not turned, so strictly a cross-correlation)."""
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: builtins.int | _Sequence[builtins.int] = 1,
    padding: builtins.str | builtins.int | _Sequence[builtins.int] = 0,
    dilation: builtins.int | _Sequence[builtins.int] = 1,
    groups: builtins.int = 1,
) -> Tensor:
    """3-dimensional convolution; see `conv2d`."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: builtins.int = 0) -> Tensor:
    """1-dimensional convolution of sequences whose first dimension is time."""
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: builtins.int | _Sequence[builtins.int] = 1,
    padding: builtins.int | _Sequence[builtins.int] = 0,
    output_padding: builtins.int | _Sequence[builtins.int] = 0,
    groups: builtins.int = 1,
    dilation: builtins.int | _Sequence[builtins.int] = 1,
) -> Tensor:
    """1-dimensional transposed convolution; see `conv_transpose2d`."""
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: builtins.int | _Sequence[builtins.int] = 1,
    padding: builtins.int | _Sequence[builtins.int] = 0,
    output_padding: builtins.int | _Sequence[builtins.int] = 0,
    groups: builtins.int = 1,
    dilation: builtins.int | _Sequence[builtins.int] = 1,
) -> Tensor:
    """2-dimensional transposed convolution: what `conv2d` does to a gradient on its way back."""
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: builtins.int | _Sequence[builtins.int] = 1,
    padding: builtins.int | _Sequence[builtins.int] = 0,
    output_padding: builtins.int | _Sequence[builtins.int] = 0,
    groups: builtins.int = 1,
    dilation: builtins.int | _Sequence[builtins.int] = 1,
) -> Tensor:
    """3-dimensional transposed convolution; see `conv_transpose2d`."""
def copysign(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The magnitude of ``input``, the sign of ``other``."""
def copysign_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `copysign`; returns the tensor."""
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables (rows): `cov` over the standard deviations."""
def cos(input: _Any, *, out: _Any = None) -> Tensor:
    """The cosine of an angle in radians."""
def cos_(input: _Any) -> Tensor:
    """In-place version of `cos`; returns the tensor."""
def cosh(input: _Any, *, out: _Any = None) -> Tensor:
    """The hyperbolic cosine, ``(exp(x) + exp(-x)) / 2``."""
def cosh_(input: _Any) -> Tensor:
    """In-place version of `cosh`; returns the tensor."""
def cosine_similarity(
    x1: Tensor,
    x2: Tensor,
    dim: builtins.int = 1,
    eps: builtins.float = ...,
) -> Tensor:
    """``sum(x1 * x2) / (max(|x1|, eps) * max(|x2|, eps))`` along a dimension."""
def count_nonzero(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int] | None = None,
) -> Tensor:
    """The number of elements that are not zero, in all or along ``dim`` (an int or a tuple,
    which the method takes one by one too).
    """
def cov(
    input: Tensor,
    *,
    correction: builtins.int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of variables (rows) over observations (columns)."""
def cross(
    input: Tensor,
    other: Tensor,
    dim: builtins.int | None = None,
    *,
    out: _Any = None,
) -> Tensor:
    """The cross product of vectors with three elements along ``dim``."""
def cummax(input: Tensor, dim: builtins.int, *, out: _Any = None) -> _Any:
    """The maxima of all elements up to each one along ``dim``, and the index of the last
    element that reached each; a NaN stays.
    """
def cummin(input: Tensor, dim: builtins.int, *, out: _Any = None) -> _Any:
    """The minima of all elements up to each one along ``dim``; see `cummax`."""
def cumprod(input: Tensor, dim: builtins.int, *, dtype: _Any = None, out: _Any = None) -> Tensor:
    """The products of all elements up to each one along ``dim``; integers give int64."""
def cumprod_(input: Tensor, dim: builtins.int, *, dtype: _Any = None) -> Tensor:
    """The products of all elements up to each one along ``dim``; integers give int64."""
def cumsum(input: Tensor, dim: builtins.int, *, dtype: _Any = None, out: _Any = None) -> Tensor:
    """The sums of all elements up to each one along ``dim``; integers give int64."""
def cumsum_(input: Tensor, dim: builtins.int, *, dtype: _Any = None) -> Tensor:
    """The sums of all elements up to each one along ``dim``; integers give int64."""
def cumulative_trapezoid(
    y: Tensor,
    x: Tensor = ...,
    *,
    dx: builtins.complex = ...,
    dim: builtins.int = -1,
) -> Tensor:
    """The integrals up to each sample but the first; see `trapezoid`."""
default_generator: _Generator
def deg2rad(input: _Any, *, out: _Any = None) -> Tensor:
    """Degrees to radians."""
def deg2rad_(input: _Any) -> Tensor:
    """In-place version of `deg2rad`; returns the tensor."""
def det(input: Tensor) -> Tensor:
    """The determinants of square matrices. Singular matrices have a gradient, too."""
def detach(self) -> Tensor:
    """A leaf that shares the memory and does not require grad."""
def detach_copy(input: Tensor, *, out: _Any = None) -> Tensor:
    """What ``detach`` shows, as a copy."""
def diag(input: Tensor, diagonal: builtins.int = 0, *, out: _Any = None) -> Tensor:
    """A vector as the diagonal of a square matrix; of a matrix a copy of its diagonal."""
def diag_embed(
    input: Tensor,
    offset: builtins.int = 0,
    dim1: builtins.int = -2,
    dim2: builtins.int = -1,
) -> Tensor:
    """The last dimension becomes the diagonal of two new dimensions ``dim1`` and ``dim2``."""
def diagflat(input: Tensor, offset: builtins.int = 0) -> Tensor:
    """All elements as the diagonal of a square matrix."""
def diagonal(
    input: Tensor,
    offset: builtins.int = 0,
    dim1: builtins.int = 0,
    dim2: builtins.int = 1,
) -> Tensor:
    """The diagonal of two dimensions as the last dimension, a view that can be written."""
def diagonal_copy(
    input: Tensor,
    offset: builtins.int = 0,
    dim1: builtins.int = 0,
    dim2: builtins.int = 1,
    *,
    out: _Any = None,
) -> Tensor:
    """What ``diagonal`` shows, as a copy."""
def diagonal_scatter(
    input: Tensor,
    src: Tensor,
    offset: builtins.int = 0,
    dim1: builtins.int = 0,
    dim2: builtins.int = 1,
) -> Tensor:
    """A copy of ``input`` with ``src`` on its diagonal."""
def diff(
    input: Tensor,
    n: builtins.int = 1,
    dim: builtins.int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: _Any = None,
) -> Tensor:
    """The differences of neighbours along ``dim``, taken ``n`` times, after joining
    ``prepend`` and ``append`` to the ends.
    """
def digamma(input: _Any, *, out: _Any = None) -> Tensor:
    """The derivative of `lgamma`."""
def digamma_(input: _Any) -> Tensor:
    """In-place version of `digamma`; returns the tensor."""
def dist(input: Tensor, other: Tensor, p: builtins.float = 2) -> Tensor:
    """The p-norm of ``input - other``."""
def div(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    rounding_mode: builtins.str | None = None,
    out: _Any = None,
) -> Tensor:
    """The quotient ``input / other``."""
def div_(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    rounding_mode: builtins.str | None = None,
) -> Tensor:
    """The quotient ``input / other``."""
def divide(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    rounding_mode: builtins.str | None = None,
    out: _Any = None,
) -> Tensor:
    """The quotient ``input / other``."""
def divide_(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    rounding_mode: builtins.str | None = None,
) -> Tensor:
    """The quotient ``input / other``."""
def dot(input: Tensor, tensor: Tensor, *, out: _Any = None) -> Tensor:
    """The sum of the products of two vectors' elements."""
double: _dtype
def dropout(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """Set each element to 0 with chance ``p`` and multiply the others by ``1 / (1 - p)``."""
def dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """Set each element to 0 with chance ``p`` and multiply the others by ``1 / (1 - p)``."""
def dsplit(
    input: Tensor,
    indices_or_sections: builtins.int | _Sequence[builtins.int] = ...,
    *,
    indices: _Sequence[builtins.int] = ...,
    sections: builtins.int = ...,
) -> builtins.tuple[Tensor, ...]:
    """`tensor_split` along the dimension that the stack of that name joins."""
def dstack(tensors: _Any, *, out: _Any = None) -> Tensor:
    """`cat` along dimension 2, after `atleast_3d`."""
e: builtins.float
def einsum(equation: _Any, *operands: _Any) -> Tensor:
    """The sum of products that an equation such as ``"bij,bjk->bik"`` describes."""
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: builtins.int = -1,
    scale_grad_by_freq: builtins.bool = False,
    sparse: builtins.bool = False,
) -> Tensor:
    """``weight[indices]``: a row of the table for each index."""
def embedding_renorm_(
    input: Tensor,
    indices: Tensor,
    max_norm: builtins.float,
    norm_type: builtins.float,
) -> Tensor:
    """Scale the rows of a table that the indices meet down to a norm of ``max_norm``, in
    place.
    """
def empty(
    *size: _Any,
    out: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
    memory_format: _Any = None,
    **keyword: _Any,
) -> Tensor:
    """A tensor whose memory holds whatever was there; the arguments are those of `zeros`."""
def empty_like(
    input: Tensor,
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
    memory_format: _Any = None,
) -> Tensor:
    """Uninitialised memory with the shape, dtype and device of ``input``."""
def empty_permuted(
    size: _Sequence[builtins.int],
    physical_layout: _Sequence[builtins.int],
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """`empty` with its dimensions in memory in the order ``physical_layout``, the slowest
    first.
    """
def empty_strided(
    size: _Sequence[builtins.int],
    stride: builtins.int | _Sequence[builtins.int],
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Uninitialised memory under a shape with given strides, counted in elements."""
def eq(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input == other``."""
def eq_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `eq`; returns the tensor."""
def equal(input: Tensor, other: Tensor) -> builtins.bool:
    """Whether both have the same shape and the same elements."""
def erf(input: _Any, *, out: _Any = None) -> Tensor:
    """``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x."""
def erf_(input: _Any) -> Tensor:
    """In-place version of `erf`; returns the tensor."""
def erfc(input: _Any, *, out: _Any = None) -> Tensor:
    """``1 - erf(input)``, exact for large input."""
def erfc_(input: _Any) -> Tensor:
    """In-place version of `erfc`; returns the tensor."""
def erfinv(input: _Any, *, out: _Any = None) -> Tensor:
    """The inverse of the error function."""
def erfinv_(input: _Any) -> Tensor:
    """In-place version of `erfinv`; returns the tensor."""
def exp(input: _Any, *, out: _Any = None) -> Tensor:
    """``e ** input``."""
def exp2(input: _Any, *, out: _Any = None) -> Tensor:
    """``2 ** input``."""
def exp2_(input: _Any) -> Tensor:
    """In-place version of `exp2`; returns the tensor."""
def exp_(input: _Any) -> Tensor:
    """In-place version of `exp`; returns the tensor."""
def expand_copy(
    input: Tensor,
    size: _Sequence[builtins.int],
    *,
    implicit: builtins.bool = False,
    out: _Any = None,
) -> Tensor:
    """What ``expand`` shows, as a copy."""
def expm1(input: _Any, *, out: _Any = None) -> Tensor:
    """``e ** input - 1``, exact near 0."""
def expm1_(input: _Any) -> Tensor:
    """In-place version of `expm1`; returns the tensor."""
def eye(
    n: builtins.int,
    m: builtins.int = ...,
    *,
    out: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """The ``n`` by ``m`` matrix with ones on its diagonal; ``m`` is ``n`` unless given."""
def fake_quantize_per_channel_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: builtins.int,
    quant_min: builtins.int,
    quant_max: builtins.int,
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each index of
    ``axis``.
    """
def fake_quantize_per_tensor_affine(
    input: Tensor,
    scale: builtins.float | Tensor,
    zero_point: builtins.int | Tensor,
    quant_min: builtins.int,
    quant_max: builtins.int,
) -> Tensor:
    """``(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) *
    scale``.
    """
def feature_alpha_dropout(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`alpha_dropout` of whole channels ``input[n, c]``."""
def feature_alpha_dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`alpha_dropout` of whole channels ``input[n, c]``."""
def feature_dropout(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`dropout` of whole channels ``input[n, c]``."""
def feature_dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`dropout` of whole channels ``input[n, c]``."""
def fill(input: Tensor, value: Tensor | builtins.complex) -> Tensor:
    """A copy of ``input`` in which every element is ``value``."""
def fix(input: _Any, *, out: _Any = None) -> Tensor:
    """Each element rounded towards zero."""
def fix_(input: _Any) -> Tensor:
    """In-place version of `trunc`; returns the tensor."""
def flatten(input: Tensor, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
    """Merge the dimensions from ``start_dim`` to ``end_dim`` (both included) into one."""
def flip(input: Tensor, dims: _Sequence[builtins.int]) -> Tensor:
    """A copy with the order along ``dims`` reversed; the method takes them one by one too."""
def fliplr(input: Tensor) -> Tensor:
    """`flip` along dimension 1."""
def flipud(input: Tensor) -> Tensor:
    """`flip` along dimension 0."""
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
def float_power(
    input: Tensor | builtins.complex,
    exponent: Tensor | builtins.complex,
    *,
    out: _Any = None,
) -> Tensor:
    """``input ** exponent`` computed in float64 (complex128 for complex operands)."""
def float_power_(input: Tensor | builtins.complex, exponent: Tensor | builtins.complex) -> Tensor:
    """``input ** exponent`` computed in float64 (complex128 for complex operands)."""
def floor(input: _Any, *, out: _Any = None) -> Tensor:
    """The largest integer not above each element."""
def floor_(input: _Any) -> Tensor:
    """In-place version of `floor`; returns the tensor."""
def floor_divide(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input / other`` rounded down; has no derivative (`div` with a rounding mode has)."""
def floor_divide_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `floor_divide`; returns the tensor."""
def fmax(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The larger of two elements, ignoring a single NaN."""
def fmin(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The smaller of two elements, ignoring a single NaN."""
def fmod(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The remainder of ``input / other`` with the sign of ``input`` (C's ``fmod``)."""
def fmod_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `fmod`; returns the tensor."""
def frac(input: _Any, *, out: _Any = None) -> Tensor:
    """The part after the point, with the sign of the element."""
def frac_(input: _Any) -> Tensor:
    """In-place version of `frac`; returns the tensor."""
def frexp(input: Tensor, *, out: _Any = None) -> _Any:
    """The mantissa, of size 1/2 to 1, and the int32 exponent with ``mantissa * 2**exponent``."""
def from_dlpack(
    ext_tensor: _Any,
    *,
    device: _Any = None,
    copy: builtins.bool | None = None,
) -> Tensor:
    """A tensor on the memory of another library's array, by the DLPack protocol."""
def from_file(
    filename: builtins.str,
    shared: builtins.bool | None = None,
    size: builtins.int | None = 0,
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """The first ``size`` numbers of a file as a tensor in memory that maps it."""
def from_numpy(ndarray: _Any) -> Tensor:
    """A tensor on the memory of a NumPy array: writing to one changes the other."""
def frombuffer(
    buffer: _Any,
    *,
    dtype: _Any,
    count: builtins.int = -1,
    offset: builtins.int = 0,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """A 1-D tensor on the memory of a Python buffer (bytes, bytearray, memoryview, mmap)."""
def full(
    size: _Sequence[builtins.int],
    fill_value: builtins.complex,
    *,
    out: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """A tensor filled with one value, whose kind decides the dtype unless ``dtype`` is given."""
def full_like(
    input: Tensor,
    fill_value: builtins.complex,
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
    memory_format: _Any = None,
) -> Tensor:
    """``fill_value`` with the shape, dtype and device of ``input``."""
def gather(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    *,
    sparse_grad: builtins.bool = False,
    out: _Any = None,
) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, and so on for every dimension."""
def gcd(input: Tensor, other: Tensor, *, out: _Any = None) -> Tensor:
    """The greatest common divisor of two integers, not negative; ``gcd(0, 0)`` is 0."""
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of two integers, not negative; ``gcd(0, 0)`` is 0."""
def ge(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input >= other``."""
def ge_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `ge`; returns the tensor."""
def geqrf(input: Tensor, *, out: _Any = None) -> _Any:
    """The QR factorization in LAPACK's form: R on and above the diagonal, reflections below
    it.
    """
def ger(input: Tensor, vec2: Tensor, *, out: _Any = None) -> Tensor:
    """The matrix of all products of an element of ``input`` and one of ``vec2``."""
def get_device(input: Tensor) -> builtins.int:
    """The index of the GPU it lives on; -1 elsewhere."""
def get_rng_state() -> Tensor:
    """The default generator's state, as `Generator.get_state` gives it."""
def gradient(
    input: Tensor,
    *,
    spacing: _Any = None,
    dim: builtins.int | _Sequence[builtins.int] | None = None,
    edge_order: builtins.int = 1,
) -> builtins.tuple[Tensor, ...]:
    """The derivatives of a function along dimensions, from its values at some points: of
    second order inside, ``(f(x + h) - f(x - h)) / 2h`` where they lie at equal distances.
    """
def greater(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input > other``."""
def greater_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `gt`; returns the tensor."""
def greater_equal(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input >= other``."""
def greater_equal_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `ge`; returns the tensor."""
def group_norm(
    input: Tensor,
    num_groups: builtins.int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: builtins.float = ...,
    cudnn_enabled: builtins.bool = True,
) -> Tensor:
    """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias`` over groups of channels."""
def gru(
    input: Tensor,
    hx: _Any,
    params: _Any,
    has_biases: _Any,
    num_layers: _Any,
    dropout: _Any,
    train: _Any,
    bidirectional: _Any,
    batch_first: _Any,
) -> builtins.tuple[Tensor, Tensor]:
    """Layers of gated recurrent units over whole sequences; `nnkit.nn.GRU` is the layer."""
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of `gru` on a batch (N, input_size) with states (N, hidden_size)."""
def gt(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input > other``."""
def gt_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `gt`; returns the tensor."""
half: _dtype
def hamming_window(
    window_length: builtins.int,
    periodic: builtins.bool = True,
    alpha: builtins.float = ...,
    beta: builtins.float = ...,
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Hamming's window, ``alpha - beta * cos(2 pi k / n)``."""
def hann_window(
    window_length: builtins.int,
    periodic: builtins.bool = True,
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Hann's window, ``sin(pi k / n)**2``; see `hamming_window`."""
def hardshrink(input: Tensor, lambd: builtins.float = ..., *, out: _Any = None) -> Tensor:
    """``x`` where ``|x| > lambd``, else 0."""
def hash_tensor(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int] | None = ...,
    *,
    keepdim: builtins.bool = False,
    mode: builtins.int = 0,
    out: _Any = None,
) -> Tensor:
    """The exclusive or of the elements' bits, as uint64: of floats as float64, else as int64."""
def heaviside(input: Tensor, values: Tensor, *, out: _Any = None) -> Tensor:
    """0 where ``input < 0`` or NaN, 1 where ``input > 0``, ``values`` where it is 0."""
def heaviside_(input: Tensor, values: Tensor) -> Tensor:
    """0 where ``input < 0`` or NaN, 1 where ``input > 0``, ``values`` where it is 0."""
def histc(
    input: Tensor,
    bins: builtins.int = 100,
    min: builtins.float = 0,
    max: builtins.float = 0,
    *,
    out: _Any = None,
) -> Tensor:
    """The number of elements in each of ``bins`` equal parts of [min, max]; elements outside
    are left out. Where both bounds are equal, those of the data are taken.
    """
def histogram(
    input: Tensor,
    bins: Tensor | builtins.int = 100,
    *,
    range: _Sequence[builtins.float] | None = None,
    weight: Tensor | None = None,
    density: builtins.bool = False,
    out: _Any = None,
) -> _Any:
    """The number (or the weight) of elements between each two neighbouring edges."""
def histogramdd(
    input: Tensor,
    bins: _Any,
    range: _Sequence[builtins.float] | None = None,
    weight: Tensor | None = None,
    density: builtins.bool = False,
) -> _Any:
    """The number (or the weight) of points between neighbouring edges in each of their
    dimensions.
    """
def hsplit(
    input: Tensor,
    indices_or_sections: builtins.int | _Sequence[builtins.int] = ...,
    *,
    indices: _Sequence[builtins.int] = ...,
    sections: builtins.int = ...,
) -> builtins.tuple[Tensor, ...]:
    """`tensor_split` along the dimension that the stack of that name joins."""
def hstack(tensors: _Any, *, out: _Any = None) -> Tensor:
    """`cat` along dimension 1 (0 for 1-dim tensors), after `atleast_1d`."""
def hypot(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``sqrt(input**2 + other**2)`` without overflow."""
def hypot_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `hypot`; returns the tensor."""
def i0(input: _Any, *, out: _Any = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def i0_(input: _Any) -> Tensor:
    """In-place version of `i0`; returns the tensor."""
def igamma(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The lower regularised incomplete gamma function: the share of ``Gamma(input)`` that its
    integral has up to ``other``.
    """
def igamma_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `igamma`; returns the tensor."""
def igammac(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The upper regularised incomplete gamma function, ``1 - igamma(input, other)``."""
def igammac_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `igammac`; returns the tensor."""
def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, as a view."""
def index_add(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: builtins.complex = 1,
    out: _Any = None,
) -> Tensor:
    """A copy with ``alpha * source`` added to the slices of ``dim`` that ``index`` names."""
def index_add_(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: builtins.complex = 1,
) -> Tensor:
    """A copy with ``alpha * source`` added to the slices of ``dim`` that ``index`` names."""
def index_copy(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    source: Tensor,
    *,
    out: _Any = None,
) -> Tensor:
    """A copy with the slices of ``dim`` that ``index`` names replaced by those of ``source``."""
def index_copy_(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with the slices of ``dim`` that ``index`` names replaced by those of ``source``."""
def index_fill(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    value: Tensor | builtins.complex,
) -> Tensor:
    """A copy with the slices of ``dim`` that ``index`` names set to ``value``, a number or a
    0-dim tensor.
    """
def index_fill_(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    value: Tensor | builtins.complex,
) -> Tensor:
    """A copy with the slices of ``dim`` that ``index`` names set to ``value``, a number or a
    0-dim tensor.
    """
def index_put(
    input: Tensor,
    indices: _Any,
    values: Tensor,
    accumulate: builtins.bool = False,
) -> Tensor:
    """A copy with ``input[indices] = values``, or ``+= values``, where repeated indices add
    up.
    """
def index_put_(
    input: Tensor,
    indices: _Any,
    values: Tensor,
    accumulate: builtins.bool = False,
) -> Tensor:
    """A copy with ``input[indices] = values``, or ``+= values``, where repeated indices add
    up.
    """
def index_reduce(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    source: Tensor,
    reduce: builtins.str,
    *,
    include_self: builtins.bool = True,
    out: _Any = None,
) -> Tensor:
    """`scatter_reduce` of whole slices; ``reduce`` is "prod", "mean", "amax" or "amin"."""
def index_reduce_(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    source: Tensor,
    reduce: builtins.str,
    *,
    include_self: builtins.bool = True,
) -> Tensor:
    """`scatter_reduce` of whole slices; ``reduce`` is "prod", "mean", "amax" or "amin"."""
def index_select(input: Tensor, dim: builtins.int, index: Tensor, *, out: _Any = None) -> Tensor:
    """A copy of the slices of ``dim`` that a 1-dim ``index`` names, in its order."""
inf: builtins.float
def initial_seed() -> builtins.int:
    """The seed from which the default generator started."""
def inner(input: Tensor, other: Tensor, *, out: _Any = None) -> Tensor:
    """Sums of products along the last dimensions; with a 0-dim operand, the product."""
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: builtins.bool,
    momentum: builtins.float,
    eps: builtins.float,
    cudnn_enabled: builtins.bool,
) -> Tensor:
    """`batch_norm` of each sample by itself; running statistics are averaged over the batch."""
int: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
def inverse(input: Tensor, *, out: _Any = None) -> Tensor:
    """The inverses of square matrices."""
def is_complex(input: Tensor) -> builtins.bool:
    """Whether its dtype is complex."""
def is_conj(input: Tensor) -> builtins.bool:
    """Whether its conjugation is put off."""
def is_floating_point(input: Tensor) -> builtins.bool:
    """Whether its dtype is a floating one."""
def is_inference(self) -> builtins.bool:
    """Whether the tensor was made in `inference_mode`."""
def is_neg(input: Tensor) -> builtins.bool:
    """Whether its negation is put off, as that of the imaginary part of a conjugate is."""
def is_nonzero(input: Tensor) -> builtins.bool:
    """Whether a one-element tensor is not zero."""
def is_same_size(input: Tensor, other: Tensor) -> builtins.bool:
    """Whether both have the same shape."""
def is_signed(input: Tensor) -> builtins.bool:
    """Whether its dtype has negative numbers."""
def is_storage(obj: _Any) -> builtins.bool:
    """Whether ``obj`` is a `Storage`."""
def is_tensor(obj: _Any) -> builtins.bool:
    """Whether ``obj`` is a Tensor."""
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: builtins.float = ...,
    atol: builtins.float = ...,
    equal_nan: builtins.bool = False,
) -> Tensor:
    """``|input - other| <= atol + rtol * |other|``, element by element."""
def isfinite(input: _Any) -> Tensor:
    """Neither infinite nor NaN."""
def isin(
    elements: Tensor | builtins.complex = ...,
    test_elements: Tensor | builtins.complex = ...,
    *,
    assume_unique: builtins.bool = False,
    invert: builtins.bool = False,
    element: builtins.complex = ...,
    test_element: builtins.complex = ...,
    out: _Any = None,
) -> Tensor:
    """Whether each element is one of ``test_elements``; one of the two may be a number, which
    is also called ``element`` or ``test_element``.
    """
def isinf(input: _Any) -> Tensor:
    """Infinite, for each element."""
def isnan(input: _Any) -> Tensor:
    """NaN, for each element."""
def isneginf(input: _Any, *, out: _Any = None) -> Tensor:
    """Negative infinity."""
def isposinf(input: _Any, *, out: _Any = None) -> Tensor:
    """Positive infinity."""
def isreal(input: Tensor) -> Tensor:
    """A mask of the elements that have no imaginary part: all of a real tensor."""
def istft(
    input: Tensor,
    n_fft: builtins.int,
    hop_length: builtins.int | None = None,
    win_length: builtins.int | None = None,
    window: Tensor | None = None,
    center: builtins.bool = True,
    normalized: builtins.bool = False,
    onesided: builtins.bool | None = None,
    length: builtins.int | None = None,
    return_complex: builtins.bool = False,
) -> Tensor:
    """The inverse of `stft`: the signal whose pieces come closest to those spectra."""
def kaiser_window(
    window_length: builtins.int,
    periodic: builtins.bool = True,
    beta: builtins.float = ...,
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Kaiser's window, ``i0(beta * sqrt(1 - (2 k / n - 1)**2)) / i0(beta)``; see
    `hamming_window`.
    """
def kron(input: Tensor, other: Tensor, *, out: _Any = None) -> Tensor:
    """The Kronecker product: ``input`` with each element replaced by it times ``other``."""
def kthvalue(
    input: Tensor,
    k: builtins.int,
    dim: builtins.int = -1,
    keepdim: builtins.bool = False,
    *,
    out: _Any = None,
) -> _Any:
    """The ``k``-th smallest element along ``dim`` (from 1) and its index, a named tuple."""
def layer_norm(
    input: Tensor,
    normalized_shape: _Sequence[builtins.int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: builtins.float = ...,
    cudnn_enable: builtins.bool = True,
) -> Tensor:
    """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias`` over the last dimensions."""
def lcm(input: Tensor, other: Tensor, *, out: _Any = None) -> Tensor:
    """The least common multiple of two integers, not negative; 0 where one of them is 0."""
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of two integers, not negative; 0 where one of them is 0."""
def ldexp(input: Tensor, other: Tensor, *, out: _Any = None) -> Tensor:
    """``input * 2**other``; for integers ``other`` neither factor overflows by itself."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2**other``; for integers ``other`` neither factor overflows by itself."""
def le(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input <= other``."""
def le_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `le`; returns the tensor."""
def lerp(
    input: Tensor,
    end: Tensor,
    weight: Tensor | builtins.complex,
    *,
    out: _Any = None,
) -> Tensor:
    """``input + weight * (end - input)``, computed from the nearer end."""
def lerp_(input: Tensor, end: Tensor, weight: Tensor | builtins.complex) -> Tensor:
    """``input + weight * (end - input)``, computed from the nearer end."""
def less(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input < other``."""
def less_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `lt`; returns the tensor."""
def less_equal(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input <= other``."""
def less_equal_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `le`; returns the tensor."""
def lgamma(input: _Any, *, out: _Any = None) -> Tensor:
    """The logarithm of ``|Gamma(input)|``."""
def lgamma_(input: _Any) -> Tensor:
    """In-place version of `lgamma`; returns the tensor."""
def linspace(
    start: Tensor | builtins.complex,
    end: Tensor | builtins.complex,
    steps: builtins.int,
    *,
    out: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """``steps`` numbers at equal distances from ``start`` to ``end``, both included."""
def log(input: _Any, *, out: _Any = None) -> Tensor:
    """The natural logarithm; -inf at 0, NaN for negative real numbers."""
def log10(input: _Any, *, out: _Any = None) -> Tensor:
    """The logarithm to base 10; NaN for negative real numbers."""
def log10_(input: _Any) -> Tensor:
    """In-place version of `log10`; returns the tensor."""
def log1p(input: _Any, *, out: _Any = None) -> Tensor:
    """``log(1 + input)``, exact near 0."""
def log1p_(input: _Any) -> Tensor:
    """In-place version of `log1p`; returns the tensor."""
def log2(input: _Any, *, out: _Any = None) -> Tensor:
    """The logarithm to base 2; NaN for negative real numbers."""
def log2_(input: _Any) -> Tensor:
    """In-place version of `log2`; returns the tensor."""
def log_(input: _Any) -> Tensor:
    """In-place version of `log`; returns the tensor."""
def log_softmax(
    input: Tensor,
    dim: builtins.int,
    dtype: _dtype | None = None,
    *,
    out: _Any = None,
) -> Tensor:
    """``log(softmax(input, dim))``, computed without overflow or a logarithm of 0."""
def logaddexp(input: Tensor, other: Tensor, *, out: _Any = None) -> Tensor:
    """``log(exp(input) + exp(other))``, without overflow."""
def logaddexp2(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``log2(2**input + 2**other)``."""
def logcumsumexp(input: Tensor, dim: builtins.int, *, out: _Any = None) -> Tensor:
    """``log(cumsum(exp(x)))`` along ``dim``, without overflow."""
def logdet(input: Tensor) -> Tensor:
    """The logarithms of determinants: NaN for negative ones, -inf for 0."""
def logical_and(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """Both are not zero."""
def logical_and_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `logical_and`; returns the tensor."""
def logical_not(input: _Any, *, out: _Any = None) -> Tensor:
    """Each element is zero."""
def logical_not_(input: _Any) -> Tensor:
    """In-place version of `logical_not`; returns the tensor."""
def logical_or(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """At least one is not zero."""
def logical_or_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `logical_or`; returns the tensor."""
def logical_xor(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """Exactly one is not zero."""
def logical_xor_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `logical_xor`; returns the tensor."""
def logit(input: Tensor, eps: builtins.float | None = None, *, out: _Any = None) -> Tensor:
    """``log(input / (1 - input))``, the inverse of `sigmoid`; not of complex numbers."""
def logit_(input: Tensor, eps: builtins.float | None = None) -> Tensor:
    """``log(input / (1 - input))``, the inverse of `sigmoid`; not of complex numbers."""
def logspace(
    start: Tensor | builtins.complex,
    end: Tensor | builtins.complex,
    steps: builtins.int,
    base: builtins.float = ...,
    *,
    out: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """``base ** x`` for ``steps`` exponents ``x`` at equal distances from ``start`` to
    ``end``.
    """
def logsumexp(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int],
    keepdim: builtins.bool = False,
    *,
    out: _Any = None,
) -> Tensor:
    """``log(sum(exp(x)))`` along dimensions, without overflow; -inf where there are no
    elements.
    """
long: _dtype
def lstm(
    input: Tensor,
    hx: _Any,
    params: _Any,
    has_biases: _Any,
    num_layers: _Any,
    dropout: _Any,
    train: _Any,
    bidirectional: _Any,
    batch_first: _Any,
) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """Layers of long short-term memory over whole sequences; `nnkit.nn.LSTM` is the layer."""
def lstm_cell(
    input: Tensor,
    hx: _Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> builtins.tuple[Tensor, Tensor]:
    """One step of `lstm` on a batch."""
def lt(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input < other``."""
def lt_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `lt`; returns the tensor."""
def lu(
    A: Tensor,
    pivot: builtins.bool = True,
    get_infos: builtins.bool = False,
    out: builtins.tuple | None = None,
) -> _Any:
    """L and U in one matrix, and the exchanged rows, as LAPACK stores them: (LU, pivots)."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: _Any = None) -> Tensor:
    """The X with ``A @ X = input`` for the A that `lu` was given: `nnkit.linalg.lu_solve`,
    whose arguments are in another order.
    """
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: builtins.bool = True,
    unpack_pivots: builtins.bool = True,
    *,
    out: _Any = None,
) -> _Any:
    """The matrices P, L and U of what `nnkit.linalg.lu_factor` returned; what is not asked
    for is empty.
    """
def manual_seed(seed: _Any) -> _Generator:
    """Start the default generators of the CPU, which is returned, and of all GPUs again from
    ``int(seed)``.
    """
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | builtins.complex) -> Tensor:
    """A copy with ``value`` where ``mask`` is true; input and mask broadcast."""
def masked_fill_(input: Tensor, mask: Tensor, value: Tensor | builtins.complex) -> Tensor:
    """A copy with ``value`` where ``mask`` is true; input and mask broadcast."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy whose elements where ``mask`` is true are those of ``source``, one after
    another.
    """
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy whose elements where ``mask`` is true are those of ``source``, one after
    another.
    """
def masked_select(input: Tensor, mask: Tensor, *, out: _Any = None) -> Tensor:
    """The elements where ``mask`` is true, in order, as a 1-dim copy; both broadcast."""
def matmul(input: Tensor, other: Tensor, *, out: _Any = None) -> Tensor:
    """The matrix product, ``input @ other``."""
def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential, by scaling, a Taylor polynomial and squaring."""
def matrix_power(input: Tensor, n: builtins.int, *, out: _Any = None) -> Tensor:
    """The product of ``n`` equal square matrices; of the inverses where ``n`` is negative."""
def max(
    input: Tensor,
    dim: Tensor | builtins.int = ...,
    keepdim: builtins.bool = False,
    *,
    other: Tensor = ...,
    out: _Any = None,
) -> _Any:
    """The largest element: ``max(input)``; with their indices along a dimension: ``max(input,
    dim)``; of two tensors element by element: ``max(input, other)``.
    """
def max_pool1d(
    input: Tensor,
    kernel_size: builtins.int | _Sequence[builtins.int],
    stride: builtins.int | _Sequence[builtins.int] | None = None,
    padding: builtins.int | _Sequence[builtins.int] = 0,
    dilation: builtins.int | _Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
    return_indices: builtins.bool = False,
) -> _Any:
    """The largest element of each window; see `max_pool2d`."""
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: builtins.int | _Sequence[builtins.int],
    stride: builtins.int | _Sequence[builtins.int] | None = None,
    padding: builtins.int | _Sequence[builtins.int] = 0,
    dilation: builtins.int | _Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
    return_indices: builtins.bool = False,
) -> builtins.tuple[Tensor, Tensor]:
    """`max_pool1d` and the indices, whatever ``return_indices`` says."""
def max_pool2d(
    input: Tensor,
    kernel_size: builtins.int | _Sequence[builtins.int],
    stride: builtins.int | _Sequence[builtins.int] | None = None,
    padding: builtins.int | _Sequence[builtins.int] = 0,
    dilation: builtins.int | _Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
    return_indices: builtins.bool = False,
) -> _Any:
    """The largest element of each window of a (batch of) images."""
def max_pool3d(
    input: Tensor,
    kernel_size: builtins.int | _Sequence[builtins.int],
    stride: builtins.int | _Sequence[builtins.int] | None = None,
    padding: builtins.int | _Sequence[builtins.int] = 0,
    dilation: builtins.int | _Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
    return_indices: builtins.bool = False,
) -> _Any:
    """The largest element of each window; see `max_pool2d`."""
def maximum(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The larger of two elements; NaN if one is. Ties share the gradient in equal halves."""
def mean(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int] | None = ...,
    keepdim: builtins.bool = False,
    *,
    dtype: _Any = None,
    out: _Any = None,
) -> Tensor:
    """The mean of all elements, or along dimensions; NaN where there are none."""
def median(
    input: Tensor,
    dim: builtins.int = ...,
    keepdim: builtins.bool = False,
    *,
    out: _Any = None,
) -> _Any:
    """The median, the lower one of an even number; NaN if there is a NaN."""
def meshgrid(*tensors: _Any, indexing: builtins.str | None = None) -> builtins.tuple[Tensor, ...]:
    """The coordinates of a grid: each 1-dim tensor expanded along all the others."""
def min(
    input: Tensor,
    dim: Tensor | builtins.int = ...,
    keepdim: builtins.bool = False,
    *,
    other: Tensor = ...,
    out: _Any = None,
) -> _Any:
    """The smallest element, in the three forms of `max`. A NaN is the smallest of all."""
def minimum(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The smaller of two elements; NaN if one is. Ties share the gradient in equal halves."""
def mm(input: Tensor, mat2: Tensor, *, out: _Any = None) -> Tensor:
    """The product of two matrices."""
def mode(
    input: Tensor,
    dim: builtins.int = -1,
    keepdim: builtins.bool = False,
    *,
    out: _Any = None,
) -> _Any:
    """The most frequent element along ``dim`` (the smallest of several) and the last index
    where it stands, a named tuple ``(values, indices)``.
    """
def moveaxis(
    input: Tensor,
    source: builtins.int | _Sequence[builtins.int],
    destination: builtins.int | _Sequence[builtins.int],
) -> Tensor:
    """Move dimensions from ``source`` to ``destination``; the others keep their order."""
def movedim(
    input: Tensor,
    source: builtins.int | _Sequence[builtins.int],
    destination: builtins.int | _Sequence[builtins.int],
) -> Tensor:
    """Move dimensions from ``source`` to ``destination``; the others keep their order."""
def msort(input: Tensor, *, out: _Any = None) -> Tensor:
    """The elements sorted along the first dimension."""
def mul(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The product ``input * other``, with broadcasting."""
def mul_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `mul`; returns the tensor."""
def multinomial(
    input: Tensor,
    num_samples: builtins.int,
    replacement: builtins.bool = False,
    *,
    generator: _Any = None,
    out: _Any = None,
) -> Tensor:
    """Indices drawn from each row with chances in proportion to its elements."""
def multiply(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The product ``input * other``, with broadcasting."""
def multiply_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `mul`; returns the tensor."""
def mv(input: Tensor, vec: Tensor, *, out: _Any = None) -> Tensor:
    """The product of a matrix and a vector."""
def mvlgamma(input: Tensor, p: builtins.int, *, out: _Any = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""
def mvlgamma_(input: Tensor, p: builtins.int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""
nan: builtins.float
def nan_to_num(
    input: Tensor,
    nan: builtins.float | None = None,
    posinf: builtins.float | None = None,
    neginf: builtins.float | None = None,
    *,
    out: _Any = None,
) -> Tensor:
    """``input`` with NaN and infinities replaced, by default by 0 and the dtype's extremes."""
def nan_to_num_(
    input: Tensor,
    nan: builtins.float | None = None,
    posinf: builtins.float | None = None,
    neginf: builtins.float | None = None,
) -> Tensor:
    """``input`` with NaN and infinities replaced, by default by 0 and the dtype's extremes."""
def nanmean(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
    *,
    dtype: _Any = None,
    out: _Any = None,
) -> Tensor:
    """The mean of the elements that are not NaN."""
def nanmedian(
    input: Tensor,
    dim: builtins.int = ...,
    keepdim: builtins.bool = False,
    *,
    out: _Any = None,
) -> _Any:
    """`median` of what is not NaN."""
def nanquantile(
    input: Tensor,
    q: Tensor | builtins.float,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
    *,
    interpolation: builtins.str = 'linear',
    out: _Any = None,
) -> Tensor:
    """`quantile` of what is not NaN."""
def nansum(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
    *,
    dtype: _Any = None,
    out: _Any = None,
) -> Tensor:
    """`sum` in which a NaN counts as 0."""
def narrow(
    input: Tensor,
    dim: builtins.int,
    start: Tensor | builtins.int,
    length: builtins.int,
) -> Tensor:
    """The ``length`` slices from ``start`` on along ``dim``; a view."""
def narrow_copy(
    input: Tensor,
    dim: builtins.int,
    start: builtins.int,
    length: builtins.int,
    *,
    out: _Any = None,
) -> Tensor:
    """A copy of `narrow`."""
def native_dropout(
    input: Tensor,
    p: builtins.float,
    train: builtins.bool | None,
) -> builtins.tuple[Tensor, Tensor]:
    """`dropout` together with the mask of the elements that stay."""
def ne(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input != other``."""
def ne_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `ne`; returns the tensor."""
def neg(input: _Any, *, out: _Any = None) -> Tensor:
    """``-input``."""
def neg_(input: _Any) -> Tensor:
    """In-place version of `neg`; returns the tensor."""
def negative(input: _Any, *, out: _Any = None) -> Tensor:
    """``-input``."""
def negative_(input: _Any) -> Tensor:
    """In-place version of `neg`; returns the tensor."""
newaxis: None
def nextafter(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The next floating-point number after ``input`` towards ``other``."""
def nextafter_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `nextafter`; returns the tensor."""
def nonzero(input: Tensor, *, as_tuple: builtins.bool = False, out: _Any = None) -> _Any:
    """The indices of all elements that are not zero: a row for each, or, ``as_tuple``, one
    tensor for each dimension.
    """
def nonzero_static(
    input: Tensor,
    *,
    size: builtins.int,
    fill_value: builtins.int = -1,
    out: _Any = None,
) -> Tensor:
    """`nonzero` as ``size`` rows: the first ones, or all and then rows of ``fill_value``."""
def norm(
    input: Tensor,
    p: builtins.float | builtins.str | None = 'fro',
    dim: builtins.int | _Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
    dtype: _Any = None,
    *,
    out: _Any = None,
) -> Tensor:
    """The p-norm ``sum(|x|**p)**(1/p)`` of all elements, or along dimensions."""
def normal(
    mean: Tensor | builtins.float,
    std: Tensor | builtins.float | None = None,
    size: _Sequence[builtins.int] | None = None,
    *,
    generator: _Any = None,
    out: Tensor | None = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Numbers of the normal distribution, each with its own mean and standard deviation."""
def not_equal(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """``input != other``."""
def not_equal_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `ne`; returns the tensor."""
def numel(input: Tensor) -> builtins.int:
    """The number of elements."""
def ones(
    *size: _Any,
    out: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
    **keyword: _Any,
) -> Tensor:
    """A tensor of ones; the arguments are those of `zeros`."""
def ones_like(
    input: Tensor,
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
    memory_format: _Any = None,
) -> Tensor:
    """Ones with the shape, dtype and device of ``input``."""
def orgqr(input: Tensor, input2: Tensor, *, out: _Any = None) -> Tensor:
    """The first columns of the orthogonal matrix whose reflections `geqrf` gave."""
def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: builtins.bool = True,
    transpose: builtins.bool = False,
    *,
    out: _Any = None,
) -> Tensor:
    """The orthogonal matrix of `geqrf` (its transpose) times ``input3``, or ``input3`` times
    it.
    """
def outer(input: Tensor, vec2: Tensor, *, out: _Any = None) -> Tensor:
    """The matrix of all products of an element of ``input`` and one of ``vec2``."""
def pairwise_distance(
    x1: Tensor,
    x2: Tensor,
    p: builtins.float = ...,
    eps: builtins.float = ...,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` over the last dimension."""
def pca_lowrank(
    A: Tensor,
    q: builtins.int | None = None,
    center: builtins.bool = True,
    niter: builtins.int = 2,
) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """The principal components of samples (rows) of features (columns), nearly: (U, S, V)."""
def pdist(input: Tensor, p: builtins.float = ...) -> Tensor:
    """The p-norm distances of all pairs of rows i < j, one after the other."""
def permute(input: Tensor, dims: _Sequence[builtins.int]) -> Tensor:
    """The dimensions in another order, as a view; the method takes them one by one too."""
def permute_copy(input: Tensor, dims: _Sequence[builtins.int], *, out: _Any = None) -> Tensor:
    """What ``permute`` shows, as a copy."""
pi: builtins.float
def pinverse(input: Tensor, rcond: builtins.float = ...) -> Tensor:
    """The Moore-Penrose inverse, from the singular values above ``rcond`` times the largest."""
def pixel_shuffle(input: Tensor, upscale_factor: builtins.int) -> Tensor:
    """``(*, C * r**2, H, W)`` as ``(*, C, H * r, W * r)``: channels become pixels."""
def pixel_unshuffle(input: Tensor, downscale_factor: builtins.int) -> Tensor:
    """``(*, C, H * r, W * r)`` as ``(*, C * r**2, H, W)``: the inverse of `pixel_shuffle`."""
def poisson(input: Tensor, generator: _Any = None) -> Tensor:
    """Counts of the Poisson distribution with the rates that ``input`` says."""
def polar(abs: Tensor, angle: Tensor, *, out: _Any = None) -> Tensor:
    """Complex numbers from modulus and angle: ``abs * (cos(angle) + i sin(angle))``."""
def polygamma(n: builtins.int, input: Tensor, *, out: _Any = None) -> Tensor:
    """The ``n``-th derivative of `digamma`."""
def positive(input: Tensor) -> Tensor:
    """``input`` itself; RuntimeError for bool tensors, for which ``+`` is not defined."""
def pow(
    input: Tensor | builtins.complex,
    exponent: Tensor | builtins.complex,
    *,
    out: _Any = None,
) -> Tensor:
    """``input`` to the power ``exponent``; either may be a number."""
def pow_(input: Tensor | builtins.complex, exponent: Tensor | builtins.complex) -> Tensor:
    """``input`` to the power ``exponent``; either may be a number."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where it is positive, else ``weight * input``, one weight per channel or one."""
preserve_format: _memory_format
def prod(
    input: Tensor,
    dim: builtins.int = ...,
    keepdim: builtins.bool = False,
    *,
    dtype: _Any = None,
    out: _Any = None,
) -> Tensor:
    """The product of all elements, or along one dimension."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """A copy with ``source`` written (or added) at positions ``index`` of the flattened
    input.
    """
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """A copy with ``source`` written (or added) at positions ``index`` of the flattened
    input.
    """
def qr(input: Tensor, some: builtins.bool = True, *, out: _Any = None) -> _Any:
    """Orthonormal columns Q and a triangular R with ``Q @ R`` the input."""
def quantile(
    input: Tensor,
    q: Tensor | builtins.float,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
    *,
    interpolation: builtins.str = 'linear',
    out: _Any = None,
) -> Tensor:
    """The q-quantiles along ``dim`` (of all elements without one); NaN if there is a NaN."""
def rad2deg(input: _Any, *, out: _Any = None) -> Tensor:
    """Radians to degrees."""
def rad2deg_(input: _Any) -> Tensor:
    """In-place version of `rad2deg`; returns the tensor."""
def rand(
    *shape: _Any,
    size: _Sequence[builtins.int] | None = None,
    generator: _Any = None,
    out: Tensor | None = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Numbers of the uniform distribution on [0, 1)."""
def rand_like(
    input: Tensor,
    *,
    generator: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
    memory_format: _Any = None,
) -> Tensor:
    """Numbers of the uniform distribution on [0, 1) in a tensor like ``input``."""
def randint(
    *bounds: _Any,
    low: builtins.int = ...,
    high: builtins.int = ...,
    size: _Sequence[builtins.int] = ...,
    generator: _Any = None,
    out: Tensor | None = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Integers of [low, high), all equally likely: ``randint(low=0, high, size)``."""
def randint_like(
    input: Tensor,
    *bounds: _Any,
    low: builtins.int = ...,
    high: Tensor | builtins.int = ...,
    generator: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
    memory_format: _Any = None,
) -> Tensor:
    """Integers of [low, high) in a tensor like ``input``: ``randint_like(input, low=0,
    high)``.
    """
def randn(
    *shape: _Any,
    size: _Sequence[builtins.int] | None = None,
    generator: _Any = None,
    out: Tensor | None = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Numbers of the normal distribution with mean 0 and variance 1."""
def randn_like(
    input: Tensor,
    *,
    generator: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
    memory_format: _Any = None,
) -> Tensor:
    """Numbers of the normal distribution with mean 0 and variance 1 in a tensor like
    ``input``.
    """
def randperm(
    n: builtins.int,
    *,
    generator: _Any = None,
    out: Tensor | None = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """The integers of [0, n) in random order."""
def range(
    start: builtins.float,
    end: builtins.float,
    step: builtins.float = 1,
    *,
    out: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """`arange` with ``end`` included, which torch has deprecated."""
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, next to each other; a view where they are that already."""
def real(input: Tensor) -> Tensor:
    """The real part, as a view; a real tensor itself."""
def reciprocal(input: _Any, *, out: _Any = None) -> Tensor:
    """``1 / input``."""
def reciprocal_(input: _Any) -> Tensor:
    """In-place version of `reciprocal`; returns the tensor."""
def relu(input: _Any) -> Tensor:
    """``max(input, 0)``; the gradient at 0 is 0."""
def relu_(input: _Any) -> Tensor:
    """In-place version of `relu`; returns the tensor."""
def remainder(input: _Any, other: _Any, *, out: _Any = None) -> Tensor:
    """The remainder of ``input / other`` with the sign of ``other`` (Python's ``%``)."""
def remainder_(input: _Any, other: _Any) -> Tensor:
    """In-place version of `remainder`; returns the tensor."""
def renorm(
    input: Tensor,
    p: builtins.float,
    dim: builtins.int,
    maxnorm: builtins.float,
    *,
    out: _Any = None,
) -> Tensor:
    """Scale down each slice along ``dim`` whose p-norm exceeds ``maxnorm``, so that it equals
    it.
    """
def renorm_(input: Tensor, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Tensor:
    """Scale down each slice along ``dim`` whose p-norm exceeds ``maxnorm``, so that it equals
    it.
    """
def repeat_interleave(
    input: Tensor,
    repeats: Tensor | builtins.int = ...,
    dim: builtins.int | None = None,
    *,
    output_size: builtins.int | None = None,
) -> Tensor:
    """Every element (or slice along ``dim``) repeated so many times in place."""
def reshape(input: Tensor, shape: _Sequence[builtins.int]) -> Tensor:
    """The same elements in order under another shape: a view where possible, else a copy."""
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, or a copy if its conjugation is put off."""
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, or a copy if its negation is put off."""
def result_type(
    tensor: _Any = None,
    other: _Any = None,
    *,
    scalar: _Any = None,
    scalar1: _Any = None,
    scalar2: _Any = None,
) -> _dtype:
    """The dtype of an operation between two tensors or numbers."""
def rms_norm(
    input: Tensor,
    normalized_shape: _Sequence[builtins.int],
    weight: Tensor | None = None,
    eps: builtins.float | None = None,
) -> Tensor:
    """``x / sqrt(mean(x**2) + eps) * weight`` over the last dimensions."""
def rnn_relu(
    input: Tensor,
    hx: _Any,
    params: _Any,
    has_biases: _Any,
    num_layers: _Any,
    dropout: _Any,
    train: _Any,
    bidirectional: _Any,
    batch_first: _Any,
) -> builtins.tuple[Tensor, Tensor]:
    """Layers of ``h = relu(W_ih x + b_ih + W_hh h + b_hh)`` over whole sequences."""
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of `rnn_relu` on a batch (N, input_size) with states (N, hidden_size)."""
def rnn_tanh(
    input: Tensor,
    hx: _Any,
    params: _Any,
    has_biases: _Any,
    num_layers: _Any,
    dropout: _Any,
    train: _Any,
    bidirectional: _Any,
    batch_first: _Any,
) -> builtins.tuple[Tensor, Tensor]:
    """Layers of ``h = tanh(W_ih x + b_ih + W_hh h + b_hh)`` over whole sequences."""
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of `rnn_tanh` on a batch (N, input_size) with states (N, hidden_size)."""
def roll(
    input: Tensor,
    shifts: builtins.int | _Sequence[builtins.int],
    dims: builtins.int | _Sequence[builtins.int] | None = None,
) -> Tensor:
    """Shift the elements along ``dims``; what leaves at one end enters at the other. Without
    dims the elements are shifted as one sequence.
    """
def rot90(input: Tensor, k: builtins.int = 1, dims: _Sequence[builtins.int] = ...) -> Tensor:
    """Turn the plane of two dimensions by 90 degrees, ``k`` times, from the first to the
    second.
    """
def round(input: Tensor, *, decimals: builtins.int = ..., out: _Any = None) -> Tensor:
    """Each element rounded to ``decimals`` places, 0 unless given, halves to the even
    neighbour.
    """
def round_(input: Tensor, *, decimals: builtins.int = ...) -> Tensor:
    """Each element rounded to ``decimals`` places, 0 unless given, halves to the even
    neighbour.
    """
def row_stack(tensors: _Any, *, out: _Any = None) -> Tensor:
    """`cat` along dimension 0, after `atleast_2d`."""
def rrelu(
    input: Tensor,
    lower: builtins.float = ...,
    upper: builtins.float = ...,
    training: builtins.bool = False,
    generator: _Any = None,
) -> Tensor:
    """``x`` where it is positive, else ``a * x``; for each element ``a`` is drawn between
    ``lower`` and ``upper`` in training, and it is their mean otherwise.
    """
def rrelu_(
    input: Tensor,
    lower: builtins.float = ...,
    upper: builtins.float = ...,
    training: builtins.bool = False,
    generator: _Any = None,
) -> Tensor:
    """``x`` where it is positive, else ``a * x``; for each element ``a`` is drawn between
    ``lower`` and ``upper`` in training, and it is their mean otherwise.
    """
def rsqrt(input: _Any, *, out: _Any = None) -> Tensor:
    """``1 / sqrt(input)``."""
def rsqrt_(input: _Any) -> Tensor:
    """In-place version of `rsqrt`; returns the tensor."""
def rsub(input: Tensor, other: Tensor | builtins.complex, *, alpha: builtins.complex = 1) -> Tensor:
    """``other - alpha * input``."""
def scalar_tensor(
    s: builtins.complex,
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """A 0-dim tensor of the default floating dtype, unless ``dtype`` is given."""
def scatter(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    src: Tensor | builtins.complex = ...,
    *,
    value: builtins.complex = ...,
    reduce: builtins.str = ...,
    out: _Any = None,
) -> Tensor:
    """A copy with ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``, and so on."""
def scatter_(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    src: Tensor | builtins.complex = ...,
    *,
    value: builtins.complex = ...,
    reduce: builtins.str = ...,
) -> Tensor:
    """A copy with ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``, and so on."""
def scatter_add(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    src: Tensor,
    *,
    out: _Any = None,
) -> Tensor:
    """A copy with ``out[index[i][j]][j] += src[i][j]`` for ``dim=0``; repeated indices add
    up.
    """
def scatter_add_(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with ``out[index[i][j]][j] += src[i][j]`` for ``dim=0``; repeated indices add
    up.
    """
def scatter_reduce(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    src: Tensor,
    reduce: builtins.str,
    *,
    include_self: builtins.bool = True,
    out: _Any = None,
) -> Tensor:
    """A copy in which all ``src`` elements with one target are reduced into it."""
def scatter_reduce_(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    src: Tensor,
    reduce: builtins.str,
    *,
    include_self: builtins.bool = True,
) -> Tensor:
    """A copy in which all ``src`` elements with one target are reduced into it."""
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | builtins.complex,
    *,
    out_int32: builtins.bool = False,
    right: builtins.bool = False,
    side: builtins.str | None = None,
    sorter: Tensor | None = None,
    out: _Any = None,
) -> Tensor:
    """The positions at which to insert ``input`` into sorted sequences so that they stay
    sorted.
    """
def seed() -> builtins.int:
    """Start the default generators again from a seed of the operating system's, and return
    it.
    """
def select(input: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
    """The slice at ``index`` of dimension ``dim``, which is dropped; a view."""
def select_copy(
    input: Tensor,
    dim: builtins.int,
    index: builtins.int,
    *,
    out: _Any = None,
) -> Tensor:
    """What ``select`` shows, as a copy."""
def select_scatter(input: Tensor, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
    """A copy of ``input`` with ``src`` at ``index`` of dimension ``dim``."""
def selu(input: Tensor) -> Tensor:
    """``scale * elu(x, alpha)`` with the constants that keep mean 0 and variance 1."""
def selu_(input: Tensor) -> Tensor:
    """``scale * elu(x, alpha)`` with the constants that keep mean 0 and variance 1."""
def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator go on from ``new_state``, as `Generator.set_state` does."""
def sgn(input: Tensor, *, out: _Any = None) -> Tensor:
    """The sign of each element; of a complex number ``input / abs(input)``, 0 at 0."""
def sgn_(input: Tensor) -> Tensor:
    """The sign of each element; of a complex number ``input / abs(input)``, 0 at 0."""
short: _dtype
def sigmoid(input: _Any, *, out: _Any = None) -> Tensor:
    """``1 / (1 + exp(-input))``."""
def sigmoid_(input: _Any) -> Tensor:
    """In-place version of `sigmoid`; returns the tensor."""
def sign(input: _Any, *, out: _Any = None) -> Tensor:
    """-1, 0 or 1 by the sign of each element."""
def sign_(input: _Any) -> Tensor:
    """In-place version of `sign`; returns the tensor."""
def signbit(input: _Any, *, out: _Any = None) -> Tensor:
    """The sign bit is set."""
def sin(input: _Any, *, out: _Any = None) -> Tensor:
    """The sine of an angle in radians."""
def sin_(input: _Any) -> Tensor:
    """In-place version of `sin`; returns the tensor."""
def sinc(input: _Any, *, out: _Any = None) -> Tensor:
    """``sin(pi * input) / (pi * input)``, 1 at 0."""
def sinc_(input: _Any) -> Tensor:
    """In-place version of `sinc`; returns the tensor."""
def sinh(input: _Any, *, out: _Any = None) -> Tensor:
    """The hyperbolic sine, ``(exp(x) - exp(-x)) / 2``."""
def sinh_(input: _Any) -> Tensor:
    """In-place version of `sinh`; returns the tensor."""
def slice_copy(
    input: Tensor,
    dim: builtins.int = 0,
    start: builtins.int | None = None,
    end: builtins.int | None = None,
    step: builtins.int = 1,
    *,
    out: _Any = None,
) -> Tensor:
    """What ``slice`` shows, as a copy."""
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: builtins.int = 0,
    start: builtins.int | None = None,
    end: builtins.int | None = None,
    step: builtins.int = 1,
    *,
    out: _Any = None,
) -> Tensor:
    """A copy of ``input`` with ``src`` in ``start:end:step`` of dimension ``dim``."""
def slogdet(input: Tensor, *, out: _Any = None) -> _Any:
    """The sign and the logarithm of the absolute value of determinants, without overflow."""
def softmax(
    input: Tensor,
    dim: builtins.int,
    dtype: _dtype | None = None,
    *,
    out: _Any = None,
) -> Tensor:
    """``exp(input) / sum(exp(input), dim)``: positive numbers that add up to 1 along ``dim``."""
def sort(
    input: Tensor,
    dim: builtins.int = -1,
    descending: builtins.bool = False,
    stable: builtins.bool | None = False,
    *,
    out: _Any = None,
) -> _Any:
    """The elements in ascending (or descending) order along ``dim``, and where each came
    from.
    """
sparse_bsc: _layout
sparse_bsr: _layout
sparse_coo: _layout
sparse_csc: _layout
sparse_csr: _layout
def split(
    tensor: Tensor,
    split_size_or_sections: builtins.int | _Sequence[builtins.int],
    dim: builtins.int = 0,
) -> builtins.tuple[Tensor, ...]:
    """Views of consecutive pieces along ``dim``."""
def split_copy(
    input: Tensor,
    split_size: builtins.int,
    dim: builtins.int = 0,
    *,
    out: _Sequence[Tensor] | None = None,
) -> builtins.tuple[Tensor, ...] | None:
    """What ``split`` shows, as a copy."""
def split_with_sizes(
    input: Tensor,
    split_sizes: _Sequence[builtins.int],
    dim: builtins.int = 0,
) -> builtins.tuple[Tensor, ...]:
    """Views of consecutive pieces of the given sizes along ``dim``."""
def split_with_sizes_copy(
    input: Tensor,
    split_sizes: _Sequence[builtins.int],
    dim: builtins.int = 0,
    *,
    out: _Sequence[Tensor] | None = None,
) -> builtins.tuple[Tensor, ...] | None:
    """What ``split_with_sizes`` shows, as a copy."""
def sqrt(input: _Any, *, out: _Any = None) -> Tensor:
    """The square root; NaN for negative real numbers."""
def sqrt_(input: _Any) -> Tensor:
    """In-place version of `sqrt`; returns the tensor."""
def square(input: _Any, *, out: _Any = None) -> Tensor:
    """The square of each element."""
def square_(input: _Any) -> Tensor:
    """In-place version of `square`; returns the tensor."""
def squeeze(input: Tensor, dim: builtins.int | _Sequence[builtins.int] = ...) -> Tensor:
    """Drop the dimensions of size 1: all, or those in ``dim``, an int or a tuple; the method
    takes several ints, too.
    """
def squeeze_copy(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int] | None = None,
    *,
    out: _Any = None,
) -> Tensor:
    """What ``squeeze`` shows, as a copy."""
def stack(tensors: _Any, dim: builtins.int = 0, *, out: _Any = None) -> Tensor:
    """Join tensors of one shape along a new dimension."""
def std(
    input: Tensor,
    dim: builtins.int | builtins.tuple | builtins.bool | None = ...,
    unbiased: builtins.bool = ...,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
    out: _Any = None,
) -> Tensor:
    """The standard deviation, the square root of `var`. Its gradient is 0 where it is 0."""
def std_mean(
    input: Tensor,
    dim: builtins.int | builtins.tuple | builtins.bool | None = ...,
    unbiased: builtins.bool = ...,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
) -> builtins.tuple[Tensor, Tensor]:
    """`std` and `mean`."""
def stft(
    input: Tensor,
    n_fft: builtins.int,
    hop_length: builtins.int | None = None,
    win_length: builtins.int | None = None,
    window: Tensor | None = None,
    center: builtins.bool = True,
    pad_mode: builtins.str = 'reflect',
    normalized: builtins.bool = False,
    onesided: builtins.bool | None = None,
    return_complex: builtins.bool | None = None,
    align_to_window: builtins.bool | None = None,
) -> Tensor:
    """The short-time Fourier transform: the spectra of overlapping pieces of a signal."""
strided: _layout
def sub(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    alpha: builtins.complex = 1,
    out: _Any = None,
) -> Tensor:
    """The difference ``input - alpha * other``, with broadcasting and type promotion."""
def sub_(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    alpha: builtins.complex = 1,
) -> Tensor:
    """The difference ``input - alpha * other``, with broadcasting and type promotion."""
def subtract(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    alpha: builtins.complex = 1,
    out: _Any = None,
) -> Tensor:
    """The difference ``input - alpha * other``, with broadcasting and type promotion."""
def subtract_(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    alpha: builtins.complex = 1,
) -> Tensor:
    """The difference ``input - alpha * other``, with broadcasting and type promotion."""
def sum(
    input: Tensor,
    dim: builtins.int | _Sequence[builtins.int] | None = ...,
    keepdim: builtins.bool = False,
    *,
    dtype: _Any = None,
    out: _Any = None,
) -> Tensor:
    """The sum of all elements, or along dimensions."""
def svd(
    input: Tensor,
    some: builtins.bool = True,
    compute_uv: builtins.bool = True,
    *,
    out: _Any = None,
) -> _Any:
    """The singular value decomposition: ``U @ diag(S) @ V.mH`` is the input."""
def svd_lowrank(
    A: Tensor,
    q: builtins.int | None = 6,
    niter: builtins.int | None = 2,
    M: Tensor | None = None,
) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """The largest singular values of ``A - M``, nearly, with their vectors: (U, S, V)."""
def swapaxes(input: Tensor, axis0: builtins.int, axis1: builtins.int) -> Tensor:
    """`transpose` with NumPy's names."""
def swapdims(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Exchange two dimensions, as a view."""
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a vector or a 0-dim tensor stays what it is."""
def t_copy(input: Tensor, *, out: _Any = None) -> Tensor:
    """What ``t`` shows, as a copy."""
def take(input: Tensor, index: Tensor, *, out: _Any = None) -> Tensor:
    """The elements at positions ``index`` of the flattened input, in the shape of ``index``."""
def take_along_dim(
    input: Tensor,
    indices: Tensor,
    dim: builtins.int | None = None,
    *,
    out: _Any = None,
) -> Tensor:
    """`gather` whose input and indices are broadcast except along ``dim``; without ``dim``
    both are flattened. Goes with `argsort` and `argmax`.
    """
def tan(input: _Any, *, out: _Any = None) -> Tensor:
    """The tangent of an angle in radians."""
def tan_(input: _Any) -> Tensor:
    """In-place version of `tan`; returns the tensor."""
def tanh(input: _Any, *, out: _Any = None) -> Tensor:
    """The hyperbolic tangent, ``sinh(x) / cosh(x)``."""
def tanh_(input: _Any) -> Tensor:
    """In-place version of `tanh`; returns the tensor."""
def tensor(
    data: _Any,
    *,
    dtype: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """A new tensor with a copy of ``data``."""
def tensor_split(
    input: Tensor,
    indices_or_sections: _Any = ...,
    dim: builtins.int = 0,
    *,
    tensor_indices_or_sections: Tensor = ...,
    indices: _Sequence[builtins.int] = ...,
    sections: builtins.int = ...,
) -> builtins.tuple[Tensor, ...]:
    """Views of pieces: that many nearly equal ones, or cut at the given indices."""
def tensordot(a: Tensor, b: Tensor, dims: _Any = 2, *, out: _Any = None) -> Tensor:
    """Sums of products over pairs of dimensions."""
def threshold(
    input: Tensor,
    threshold: builtins.float,
    value: builtins.float,
    *,
    out: _Any = None,
) -> Tensor:
    """``x`` where it is above ``threshold``, else ``value``."""
def threshold_(input: Tensor, threshold: builtins.float, value: builtins.float) -> Tensor:
    """``x`` where it is above ``threshold``, else ``value``."""
def tile(input: Tensor, dims: _Sequence[builtins.int]) -> Tensor:
    """`repeat` whose missing leading counts are 1; the method takes them one by one too."""
def topk(
    input: Tensor,
    k: builtins.int,
    dim: builtins.int = -1,
    largest: builtins.bool = True,
    sorted: builtins.bool = True,
    *,
    out: _Any = None,
) -> _Any:
    """The ``k`` largest (or smallest) elements along ``dim``, in order, and their indices."""
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix' diagonal."""
def transpose(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Exchange two dimensions, as a view."""
def transpose_copy(
    input: Tensor,
    dim0: builtins.int,
    dim1: builtins.int,
    *,
    out: _Any = None,
) -> Tensor:
    """What ``transpose`` shows, as a copy."""
def trapezoid(
    y: Tensor,
    x: Tensor = ...,
    *,
    dx: builtins.complex = ...,
    dim: builtins.int = -1,
) -> Tensor:
    """The integral of samples along ``dim`` by the trapezoidal rule."""
def trapz(
    y: Tensor,
    x: Tensor = ...,
    *,
    dx: builtins.complex = ...,
    dim: builtins.int = -1,
) -> Tensor:
    """The integral of samples along ``dim`` by the trapezoidal rule."""
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: builtins.bool = True,
    transpose: builtins.bool = False,
    unitriangular: builtins.bool = False,
    *,
    out: _Any = None,
) -> _Any:
    """The X with ``A @ X = input`` (``A.mT @ X`` with ``transpose``) for triangular A."""
def tril(input: Tensor, diagonal: builtins.int = 0, *, out: _Any = None) -> Tensor:
    """The lower triangle of matrices, zero elsewhere; ``diagonal`` is the last one kept."""
def tril_(input: Tensor, diagonal: builtins.int = 0) -> Tensor:
    """The lower triangle of matrices, zero elsewhere; ``diagonal`` is the last one kept."""
def tril_indices(
    row: builtins.int,
    col: builtins.int,
    offset: builtins.int = 0,
    *,
    dtype: _Any = None,
    device: _Any = None,
    layout: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """The row and column indices of the lower triangle of a matrix, a (2, n) tensor."""
def triu(input: Tensor, diagonal: builtins.int = 0, *, out: _Any = None) -> Tensor:
    """The upper triangle of matrices, zero elsewhere; ``diagonal`` is the first one kept."""
def triu_(input: Tensor, diagonal: builtins.int = 0) -> Tensor:
    """The upper triangle of matrices, zero elsewhere; ``diagonal`` is the first one kept."""
def triu_indices(
    row: builtins.int,
    col: builtins.int,
    offset: builtins.int = 0,
    *,
    dtype: _Any = None,
    device: _Any = None,
    layout: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """The row and column indices of the upper triangle of a matrix, a (2, n) tensor."""
def true_divide(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    out: _Any = None,
) -> Tensor:
    """``input / other``; integers are divided as floats."""
def true_divide_(input: Tensor | builtins.complex, other: Tensor | builtins.complex) -> Tensor:
    """``input / other``; integers are divided as floats."""
def trunc(input: _Any, *, out: _Any = None) -> Tensor:
    """Each element rounded towards zero."""
def trunc_(input: _Any) -> Tensor:
    """In-place version of `trunc`; returns the tensor."""
uint16: _dtype
uint32: _dtype
uint64: _dtype
uint8: _dtype
def unbind(input: Tensor, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """Views of all slices along ``dim``, which is dropped."""
def unbind_copy(
    input: Tensor,
    dim: builtins.int = 0,
    *,
    out: _Sequence[Tensor] | None = None,
) -> builtins.tuple[Tensor, ...] | None:
    """What ``unbind`` shows, as a copy."""
def unflatten(input: Tensor, dim: builtins.int, sizes: _Sequence[builtins.int]) -> Tensor:
    """Split dimension ``dim`` into ``sizes``, one of which may be -1."""
def unfold_copy(
    input: Tensor,
    dimension: builtins.int,
    size: builtins.int,
    step: builtins.int,
    *,
    out: _Any = None,
) -> Tensor:
    """What ``unfold`` shows, as a copy."""
def unique(
    input: Tensor,
    sorted: builtins.bool = True,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    dim: builtins.int | None = None,
) -> _Any:
    """The distinct elements in ascending order (distinct slices along ``dim``)."""
def unique_consecutive(
    input: Tensor,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    dim: builtins.int | None = None,
) -> _Any:
    """The elements (slices along ``dim``) that differ from the one before them."""
def unravel_index(indices: Tensor, shape: _Any) -> builtins.tuple[Tensor, ...]:
    """The coordinates, one tensor for each dimension, of positions in a flattened ``shape``."""
def unsafe_chunk(
    input: Tensor,
    chunks: builtins.int,
    dim: builtins.int = 0,
) -> builtins.tuple[Tensor, ...]:
    """`chunk` into pieces that may be written into one by one."""
def unsafe_split(
    input: Tensor,
    split_size: builtins.int,
    dim: builtins.int = 0,
) -> builtins.tuple[Tensor, ...]:
    """`split` into pieces that may be written into one by one while gradients are recorded."""
def unsafe_split_with_sizes(
    input: Tensor,
    split_sizes: _Sequence[builtins.int],
    dim: builtins.int = 0,
) -> builtins.tuple[Tensor, ...]:
    """`split_with_sizes` into pieces that may be written into one by one."""
def unsqueeze(input: Tensor, dim: builtins.int) -> Tensor:
    """Insert a dimension of size 1 at position ``dim``."""
def unsqueeze_copy(input: Tensor, dim: builtins.int, *, out: _Any = None) -> Tensor:
    """What ``unsqueeze`` shows, as a copy."""
def vander(x: Tensor, N: builtins.int | None = None, increasing: builtins.bool = False) -> Tensor:
    """The matrix of the powers of a vector's elements, the highest first unless
    ``increasing``.
    """
def var(
    input: Tensor,
    dim: builtins.int | builtins.tuple | builtins.bool | None = ...,
    unbiased: builtins.bool = ...,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
    out: _Any = None,
) -> Tensor:
    """The variance of all elements, or along dimensions: ``sum((x - mean)**2) / (n -
    correction)``.
    """
def var_mean(
    input: Tensor,
    dim: builtins.int | builtins.tuple | builtins.bool | None = ...,
    unbiased: builtins.bool = ...,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
) -> builtins.tuple[Tensor, Tensor]:
    """`var` and `mean` in one pass."""
def vdot(input: Tensor, other: Tensor, *, out: _Any = None) -> Tensor:
    """`dot` with the complex conjugate of ``input``."""
def view_as_complex(input: Tensor) -> Tensor:
    """A real tensor whose last dimension holds pairs as a complex one; a view."""
def view_as_complex_copy(input: Tensor, *, out: _Any = None) -> Tensor:
    """What ``view_as_complex`` shows, as a copy."""
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as a real one whose last dimension holds real and imaginary part."""
def view_as_real_copy(input: Tensor, *, out: _Any = None) -> Tensor:
    """What ``view_as_real`` shows, as a copy."""
def view_copy(input: Tensor, size: _Any = ..., *, dtype: _Any = ..., out: _Any = None) -> Tensor:
    """What ``view`` shows, as a copy."""
def vsplit(
    input: Tensor,
    indices_or_sections: builtins.int | _Sequence[builtins.int] = ...,
    *,
    indices: _Sequence[builtins.int] = ...,
    sections: builtins.int = ...,
) -> builtins.tuple[Tensor, ...]:
    """`tensor_split` along the dimension that the stack of that name joins."""
def vstack(tensors: _Any, *, out: _Any = None) -> Tensor:
    """`cat` along dimension 0, after `atleast_2d`."""
def where(
    condition: Tensor,
    input: Tensor | builtins.complex | None = None,
    other: Tensor | builtins.complex | None = None,
    *,
    out: _Any = None,
) -> _Any:
    """``input`` where ``condition`` holds, else ``other``; with broadcasting and promotion."""
def xlogy(
    input: Tensor | builtins.complex,
    other: Tensor | builtins.complex,
    *,
    out: _Any = None,
) -> Tensor:
    """``input * log(other)``, 0 where ``input`` is 0; either may be a number, neither
    complex.
    """
def xlogy_(input: Tensor | builtins.complex, other: Tensor | builtins.complex) -> Tensor:
    """``input * log(other)``, 0 where ``input`` is 0; either may be a number, neither
    complex.
    """
def zeros(
    *size: _Any,
    out: _Any = None,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
    **keyword: _Any,
) -> Tensor:
    """A tensor of zeros."""
def zeros_like(
    input: Tensor,
    *,
    dtype: _Any = None,
    layout: _Any = None,
    device: _Any = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
    memory_format: _Any = None,
) -> Tensor:
    """Zeros with the shape, dtype and device of ``input``."""
