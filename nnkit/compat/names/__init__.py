"""Names that only torch has: they pass their arguments through, or raise.

A file here stands for the module of torch at the same place; its names take precedence over
nnkit's.
"""

from __future__ import annotations

import enum
import functools
import math
import sys
from typing import Any

from nnkit import FloatStorage, Tensor, channel_shuffle
from nnkit.autograd.arguments.overriding import DisableTorchFunction as DisableTorchFunction
from nnkit.autograd.arguments.overriding import (
    DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
)
from nnkit.backend.dtype import bool_
from nnkit.backend.memory import layout
from nnkit.backend.warning import warn
from nnkit.compat.archives import PyTorchFileReader as PyTorchFileReader
from nnkit.compat.archives import PyTorchFileWriter as PyTorchFileWriter
from nnkit.compat.foreign import stand_in
from nnkit.compat.names._attention import *  # noqa: F403
from nnkit.compat.names._foreach import FUNCTIONS
from nnkit.compat.names._higher_order_ops import cond as cond
from nnkit.compat.names._higher_order_ops import while_loop as while_loop
from nnkit.compat.names._kinds import DTYPES, QSCHEMES
from nnkit.compat.names._lower import *  # noqa: F403
from nnkit.compat.names._observed import *  # noqa: F403
from nnkit.compat.names._older import *  # noqa: F403
from nnkit.compat.names._ops import ops as ops
from nnkit.compat.names._scaling import *  # noqa: F403
from nnkit.compat.names._segments import coo_to_csr, csr_to_coo
from nnkit.compat.names._segments import segment_reduce as segment_reduce
from nnkit.compat.names._sparse import *  # noqa: F403
from nnkit.compat.names._switches import *  # noqa: F403
from nnkit.compat.names._switches import Stream as Stream
from nnkit.compat.names.random import thread_safe_generator as thread_safe_generator
from nnkit.compat.names.serialization import save as save
from nnkit.compat.names.torch_version import __version__ as __version__
from nnkit.compat.passing import nothing as _nothing
from nnkit.compat.wrappers import make_wrapper_subclass
from nnkit.compiler import disable as _disable_dynamo  # noqa: F401
from nnkit.overrides import _assert as _assert
from nnkit.utils.dlpack import to_dlpack as to_dlpack

Tensor._make_wrapper_subclass = staticmethod(make_wrapper_subclass)  # type: ignore[attr-defined]
Tensor._fix_weakref = _nothing  # type: ignore[attr-defined]
globals().update(FUNCTIONS)
globals().update(DTYPES)
globals().update(QSCHEMES)
_segment_reduce = segment_reduce
_convert_indices_from_coo_to_csr, _convert_indices_from_csr_to_coo = coo_to_csr, csr_to_coo
Storage = FloatStorage
native_channel_shuffle = channel_shuffle
SymInt, SymFloat, SymBool = (
    stand_in("torch.fx.experimental", name) for name in ("SymInt", "SymFloat", "SymBool")
)
Tag = enum.IntEnum(  # properties of operators for compilers, which have no effect here
    "Tag",
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated "
    "inplace inplace_view maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides "
    "needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded out out_variant "
    "pointwise pt2_compliant_tag reduction view_copy",
    module="torch",
    start=0,
)
jagged, _mkldnn = layout("jagged"), layout("_mkldnn")  # for comparisons; no tensor has them


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: Any = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """`nnkit.compile`, which ignores options of torch's compiler and its backends.

    A function that is not one program here, though it may be in torch, runs eagerly with a warning,
    also with ``fullgraph``.
    """
    from nnkit.compiler import compile

    return compile(model, dynamic=dynamic, mode=mode, disable=disable)


def _int_mm(self: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices of int8, in int32."""
    import nnkit

    for name, operand in (("self", self), ("mat2", mat2)):
        if operand.dtype is not nnkit.int8:
            raise RuntimeError(f"_int_mm: expected {name} of int8, got {operand.dtype}")
    return nnkit.mm(self.int(), mat2.int(), out=out)


def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> Any:
    """`unique`, which always returns the values and the positions, these maybe empty."""
    return _unique2(input, sorted, return_inverse)[:2]


def _unique2(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """`unique`, which always returns all three results, some of them maybe empty."""
    import nnkit

    values, inverse, counts = nnkit.unique(input, sorted, True, True)
    empty = nnkit.empty(0, dtype=nnkit.int64)
    return values, inverse if return_inverse else empty, counts if return_counts else empty


def _aminmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The old name of `aminmax`."""
    import nnkit

    warn("_aminmax is deprecated: use aminmax")
    return tuple(nnkit.aminmax(input, dim=dim, keepdim=keepdim))


def _neg_view(input: Tensor) -> Tensor:
    """The negation of a tensor as a view of it."""
    return input._neg_view()


def _assert_tensor_metadata(
    a: Tensor, size: Any = None, stride: Any = None, dtype: Any = None, *, device: Any = None,
    layout: Any = None,
) -> None:  # fmt: skip
    """RuntimeError if a tensor's properties are not those given; exported programs call it."""
    import nnkit

    for what, expected, got in (
        ("sizes", size and list(size), list(a.shape)),
        ("strides", stride and list(stride), list(a.stride()) if stride else None),
        ("dtype", dtype, a.dtype), ("device", device and nnkit.device(device), a.device),
        ("layout", layout, a.layout),
    ):  # fmt: skip
        if expected is not None and expected != got:
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {expected}, Got: {got}")


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The sizes of a tensor as a tensor of int64."""
    import nnkit

    return nnkit.tensor(input.shape, dtype=nnkit.int64)


def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Draws of gamma distributions of rate 1 with the concentrations ``input``."""
    from nnkit.distributions.reparameterization import standard_gamma

    return standard_gamma(input, generator)


def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivatives of draws ``output`` of gamma distributions by their concentrations."""
    from nnkit.distributions.reparameterization import standard_gamma_grad

    return standard_gamma_grad(input, output)


def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Draws of Dirichlet distributions with the concentrations ``input``."""
    from nnkit.distributions.reparameterization import sample_dirichlet

    return sample_dirichlet(input, generator)


def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivatives of elements ``x`` of Dirichlet draws by concentrations, over ``1 - x``."""
    from nnkit.distributions.reparameterization import dirichlet_grad

    return dirichlet_grad(x, alpha, total)


def typename(obj: Any) -> str:
    """The name of an object's class with its module, ``torch.FloatTensor`` of a tensor."""
    import nnkit

    if isinstance(obj, nnkit.Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = "" if kind.__module__ in (None, "builtins") else f"{kind.__module__}."
    return module + kind.__qualname__


def _check_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """Raise an error with the text of ``message()``, unless the condition holds."""
    if not isinstance(cond, bool):
        what = "a Tensor: see torch._check_tensor_all()" if isinstance(cond, Tensor) else type(cond)
        raise TypeError(f"cond must be a bool, but got {what}")
    if not cond:
        if not (message is None or callable(message)):
            raise TypeError("message must be a callable")
        found = "Expected cond to be True, but got False." if message is None else str(message())
        raise error_type(found)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """Raise an error unless the condition holds for all elements of a bool tensor."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


_check = functools.partial(_check_with, RuntimeError)
_check_tensor_all = functools.partial(_check_tensor_all_with, RuntimeError)
_check_index = functools.partial(_check_with, IndexError)
_check_value = functools.partial(_check_with, ValueError)
_check_type = functools.partial(_check_with, TypeError)
_check_not_implemented = functools.partial(_check_with, NotImplementedError)


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    _check(i >= 0 and (max is None or i <= max), message)


def _assert_async(
    input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero"
) -> None:
    """Raise RuntimeError unless the only element of a tensor is not zero."""
    if not bool(input):
        raise RuntimeError(assert_msg)


def sym_int(a: Any) -> int:
    """The number as an int."""
    return int(a)


def sym_float(a: Any) -> float:
    """The number as a float."""
    return float(a)


def sym_sqrt(a: Any) -> float:
    """The square root of a number."""
    return math.sqrt(a)


def sym_not(a: Any) -> bool:
    """The opposite of a bool."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger number."""
    return max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number."""
    return min(a, b)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """One number or the other."""
    return t if b else f


def sym_sum(args: Any) -> Any:
    """The sum of numbers."""
    return sum(args)


def __getattr__(name: str) -> Any:
    if name == "torch":  # torch imports itself by this name
        return sys.modules.get("torch")
    if name == "Future":
        from nnkit.futures import Future

        return Future
    if name.endswith("Type"):  # of TorchScript
        from nnkit.compat.names import _C

        return getattr(_C, name)
    if name in ("ScriptFunction", "ScriptModule"):  # `nn.Module` is imported when first used
        from nnkit.compat.names import jit

        return getattr(jit, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
