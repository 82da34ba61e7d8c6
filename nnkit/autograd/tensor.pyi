"""`Tensor` with all of its methods.

Generated from the running package: ``python -m tools.stubs``.
"""

from collections import OrderedDict as _OrderedDict
from collections.abc import Callable as _Callable
from collections.abc import Iterator as _Iterator
from collections.abc import Sequence as _Sequence
from nnkit.autograd.engine.node import RemovableHandle as _RemovableHandle
from nnkit.autograd.living import Living as _Living
from nnkit.autograd.surface.size import Size as _Size
from nnkit.autograd.surface.storage import TypedStorage as _TypedStorage
from nnkit.autograd.surface.storage import UntypedStorage as _UntypedStorage
from nnkit.backend.array import Array as _Array
from nnkit.backend.device import device as _device
from nnkit.backend.dtype import dtype as _dtype
from typing import Any as _Any
import builtins

class Tensor(_Living):
    """A multi-dimensional array of one dtype that records how it was computed."""
    __array_priority__: builtins.int
    _array: _Any
    _base: _Any
    _device: _Any
    _edge: _Any
    _grad: _Any
    _hooks: _Any
    _requires_grad: _Any
    _view: _Any
    _viewed: _Any
    _writes: _Any
    @builtins.property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
    @builtins.property
    def T(self) -> Tensor:
        """The dimensions in reverse order."""
    def __abs__(self) -> Tensor:
        ...
    def __add__(self, other: _Any) -> Tensor:
        ...
    def __and__(self, other: _Any) -> Tensor:
        ...
    def __array__(self, dtype: _Any = None, copy: builtins.bool | None = None) -> _Any:
        """NumPy's protocol: the array, cast if asked for."""
    def __array_wrap__(
        self,
        array: _Any,
        context: _Any = None,
        return_scalar: builtins.bool = False,
    ) -> _Any:
        """NumPy's protocol: the result of a function of NumPy's on a tensor is a tensor; of
        bools one of uint8, as in torch.
        """
    def __bool__(self) -> builtins.bool:
        ...
    def __complex__(self) -> builtins.complex:
        ...
    def __contains__(self, element: _Any) -> builtins.bool:
        """Whether some element equals ``element``."""
    def __copy__(self) -> Tensor:
        """A leaf of the same class on the same memory, which requires a gradient if this one
        does.
        """
    def __deepcopy__(self, memo: builtins.dict) -> Tensor:
        """A leaf of the same class with its own memory, and a copy of its gradient."""
    def __delitem__(self, index: _Any) -> None:
        ...
    def __dir__(self) -> builtins.list[builtins.str]:
        ...
    def __div__(self, other: _Any) -> Tensor:
        ...
    def __dlpack__(self, **options: _Any) -> _Any:
        """The memory as a DLPack capsule."""
    def __dlpack_device__(self) -> builtins.tuple:
        """DLPack's type and number of the device."""
    def __eq__(self, other: _Any) -> Tensor:
        ...
    def __float__(self) -> builtins.float:
        ...
    def __floordiv__(self, other: _Any) -> Tensor:
        ...
    def __format__(self, spec: builtins.str) -> builtins.str:
        ...
    def __ge__(self, other: _Any) -> Tensor:
        ...
    def __getitem__(self, index: _Any) -> Tensor:
        """``self[index]``: a view for ints, slices, None and Ellipsis; a copy for tensors and
        lists.
        """
    def __gt__(self, other: _Any) -> Tensor:
        ...
    def __hash__(self) -> builtins.int: ...
    def __iadd__(self, other: _Any) -> Tensor:
        ...
    def __iand__(self, other: _Any) -> Tensor:
        ...
    def __idiv__(self, other: _Any) -> Tensor:
        ...
    def __ifloordiv__(self, other: _Any) -> Tensor:
        ...
    def __ilshift__(self, other: _Any) -> Tensor:
        ...
    def __imod__(self, other: _Any) -> Tensor:
        ...
    def __imul__(self, other: _Any) -> Tensor:
        ...
    def __index__(self) -> builtins.int:
        ...
    def __int__(self) -> builtins.int:
        ...
    def __invert__(self) -> Tensor:
        ...
    def __ior__(self, other: _Any) -> Tensor:
        ...
    def __ipow__(self, other: _Any) -> Tensor:
        ...
    def __irshift__(self, other: _Any) -> Tensor:
        ...
    def __isub__(self, other: _Any) -> Tensor:
        ...
    def __iter__(self) -> _Iterator[Tensor]:
        """Its slices along the first dimension."""
    def __itruediv__(self, other: _Any) -> Tensor:
        ...
    def __ixor__(self, other: _Any) -> Tensor:
        ...
    def __le__(self, other: _Any) -> Tensor:
        ...
    def __len__(self) -> builtins.int:
        ...
    def __lshift__(self, other: _Any) -> Tensor:
        ...
    def __lt__(self, other: _Any) -> Tensor:
        ...
    def __matmul__(self, other: _Any) -> Tensor:
        ...
    def __mod__(self, other: _Any) -> Tensor:
        ...
    def __mul__(self, other: _Any) -> Tensor:
        ...
    def __ne__(self, other: _Any) -> Tensor:
        ...
    def __neg__(self) -> Tensor:
        ...
    @builtins.staticmethod
    def __new__(cls: builtins.type, *arguments: _Any, device: _Any = None) -> _Any:
        """``Tensor(2, 3)``, ``Tensor([1, 2])``, ``Tensor(other)``, ``Tensor()``: on the CPU,
        whatever the default device.
        """
    def __or__(self, other: _Any) -> Tensor:
        ...
    def __pos__(self) -> Tensor:
        ...
    def __pow__(self, other: _Any) -> Tensor:
        ...
    def __radd__(self, other: _Any) -> Tensor:
        ...
    def __rand__(self, other: _Any) -> Tensor:
        ...
    def __rdiv__(self, other: _Any) -> Tensor:
        ...
    def __reduce_ex__(self, protocol: builtins.int) -> builtins.tuple:
        """Pickle it as a leaf: its memory from the first to the last element, with the gaps
        that its strides leave; its device, ``requires_grad`` and attributes.
        """
    def __repr__(self, *, tensor_contents: _Any = None) -> builtins.str:
        """Values, then what is not evident from them."""
    def __reversed__(self) -> Tensor:
        """``reversed(t)``: the first dimension turned round."""
    def __rfloordiv__(self, other: _Any) -> Tensor:
        ...
    def __rlshift__(self, other: _Any) -> Tensor:
        ...
    def __rmatmul__(self, other: _Any) -> Tensor:
        ...
    def __rmod__(self, other: _Any) -> Tensor:
        ...
    def __rmul__(self, other: _Any) -> Tensor:
        ...
    def __ror__(self, other: _Any) -> Tensor:
        ...
    def __rpow__(self, other: _Any) -> Tensor:
        ...
    def __rrshift__(self, other: _Any) -> Tensor:
        ...
    def __rshift__(self, other: _Any) -> Tensor:
        ...
    def __rsub__(self, other: _Any) -> Tensor:
        ...
    def __rtruediv__(self, other: _Any) -> Tensor:
        ...
    def __rxor__(self, other: _Any) -> Tensor:
        ...
    def __setitem__(self, index: _Any, value: _Any) -> None:
        """``self[index] = value``: the value is broadcast, and autograd records the write."""
    def __sizeof__(self) -> builtins.int:
        ...
    def __sub__(self, other: _Any) -> Tensor:
        ...
    def __truediv__(self, other: _Any) -> Tensor:
        ...
    def __xor__(self, other: _Any) -> Tensor:
        ...
    @builtins.property
    def _backward_hooks(self) -> _OrderedDict[builtins.int, _Any] | None:
        """The hooks of `register_hook`; None if it was never called."""
    @_backward_hooks.setter
    def _backward_hooks(self, hooks: _OrderedDict[builtins.int, _Any] | None) -> None:
        ...
    @builtins.property
    def _cdata(self) -> builtins.int:
        """A number that identifies this object."""
    def _conj(self) -> Tensor:
        """`conj` of a tensor that must be complex."""
    @builtins.property
    def _grad_fn(self) -> _Any:
        """The graph node of the operation that made this tensor; None for a leaf."""
    def _indices(self) -> _Any:
        """Sparse tensors alone have it."""
    def _is_inference(self) -> builtins.bool:
        """Whether the tensor was made in `inference_mode`."""
    def _is_recorded(self) -> builtins.bool:
        """Whether the tensor has a history. A view is not refreshed first: like torch, this
        does not look whether the base has been written since.
        """
    def _is_view(self) -> builtins.bool:
        """Whether autograd treats the tensor as a view of ``_base``."""
    @builtins.staticmethod
    def _make_subclass(
        subclass: builtins.type,
        data: Tensor,
        require_grad: builtins.bool = False,
    ) -> _Any:
        """A new leaf of class ``subclass`` that shares the memory of ``data``."""
    def _neg_view(self) -> Tensor:
        """``-input``, computed where it is used; a view."""
    def _nnz(self) -> _Any:
        """Sparse tensors alone have it."""
    def _set_requires_grad(self, value: builtins.bool) -> Tensor:
        """Set ``requires_grad`` after torch's checks, and return the tensor."""
    def _typed_storage(self) -> _TypedStorage:
        """Its memory, counted in elements."""
    def _values(self) -> _Any:
        """Sparse tensors alone have it."""
    @builtins.property
    def _version(self) -> builtins.int:
        """How many in-place writes the storage has seen, through any view."""
    def abs(self) -> Tensor:
        """The absolute value; of a complex number its modulus."""
    def abs_(self) -> Tensor:
        """In-place version of `abs`; returns the tensor."""
    def absolute(self) -> Tensor:
        """The absolute value; of a complex number its modulus."""
    def absolute_(self) -> Tensor:
        """In-place version of `abs`; returns the tensor."""
    def acos(self) -> Tensor:
        """The angle whose cosine is ``input``."""
    def acos_(self) -> Tensor:
        """In-place version of `acos`; returns the tensor."""
    def acosh(self) -> Tensor:
        """The inverse of `cosh`, ``log(x + sqrt(x**2 - 1))``."""
    def acosh_(self) -> Tensor:
        """In-place version of `acosh`; returns the tensor."""
    def add(self, other: Tensor | builtins.complex, *, alpha: builtins.complex = 1) -> Tensor:
        """The sum ``input + alpha * other``, with broadcasting and type promotion."""
    def add_(self, other: Tensor | builtins.complex, *, alpha: builtins.complex = 1) -> Tensor:
        """In-place version of `add`; returns the tensor."""
    def addbmm(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: builtins.complex = 1,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """``beta * input + alpha * sum(batch1 @ batch2)``, summed over the batch."""
    def addbmm_(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: builtins.complex = 1,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """In-place version of `addbmm`; returns the tensor."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = 1) -> Tensor:
        """``input + value * tensor1 / tensor2``; floating point only."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = 1) -> Tensor:
        """In-place version of `addcdiv`; returns the tensor."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = 1) -> Tensor:
        """``input + value * tensor1 * tensor2``."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = 1) -> Tensor:
        """In-place version of `addcmul`; returns the tensor."""
    def addmm(
        self,
        mat1: Tensor,
        mat2: Tensor,
        *,
        beta: builtins.complex = 1,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)``; with ``beta=0`` not even a NaN of
        ``input`` counts.
        """
    def addmm_(
        self,
        mat1: Tensor,
        mat2: Tensor,
        *,
        beta: builtins.complex = 1,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """In-place version of `addmm`; returns the tensor."""
    def addmv(
        self,
        mat: Tensor,
        vec: Tensor,
        *,
        beta: builtins.complex = 1,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """``beta * input + alpha * (mat @ vec)``."""
    def addmv_(
        self,
        mat: Tensor,
        vec: Tensor,
        *,
        beta: builtins.complex = 1,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """In-place version of `addmv`; returns the tensor."""
    def addr(
        self,
        vec1: Tensor,
        vec2: Tensor,
        *,
        beta: builtins.complex = 1,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """``beta * input + alpha * outer(vec1, vec2)``."""
    def addr_(
        self,
        vec1: Tensor,
        vec2: Tensor,
        *,
        beta: builtins.complex = 1,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """In-place version of `addr`; returns the tensor."""
    def adjoint(self) -> Tensor:
        """The conjugate transpose of a matrix or a batch of matrices."""
    def all(
        self,
        dim: builtins.int | _Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """Whether all elements are true (not zero), in all or along dimensions."""
    def allclose(
        self,
        other: Tensor,
        rtol: builtins.float = ...,
        atol: builtins.float = ...,
        equal_nan: builtins.bool = False,
    ) -> builtins.bool:
        """Whether all elements are close, as `isclose` says."""
    def amax(
        self,
        dim: builtins.int | _Sequence[builtins.int] | None = ...,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The largest element of all or along dimensions; NaN if one is NaN. Equal ones share
        the gradient.
        """
    def amin(
        self,
        dim: builtins.int | _Sequence[builtins.int] | None = ...,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The smallest element of all or along dimensions; see `amax`."""
    def aminmax(self, *, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> _Any:
        """`amin` and `amax` as a named tuple (min, max)."""
    def angle(self) -> Tensor:
        """The angle of each number in the complex plane: ``atan2(imag, real)``."""
    def any(
        self,
        dim: builtins.int | _Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """Whether any element is true (not zero), in all or along dimensions."""
    def apply_(self, callable: _Callable[[_Any], _Any]) -> Tensor:
        """Replace each element by ``callable(element)``; returns the tensor."""
    def arccos(self) -> Tensor:
        """The angle whose cosine is ``input``."""
    def arccos_(self) -> Tensor:
        """In-place version of `acos`; returns the tensor."""
    def arccosh(self) -> Tensor:
        """The inverse of `cosh`, ``log(x + sqrt(x**2 - 1))``."""
    def arccosh_(self) -> Tensor:
        """In-place version of `acosh`; returns the tensor."""
    def arcsin(self) -> Tensor:
        """The angle whose sine is ``input``."""
    def arcsin_(self) -> Tensor:
        """In-place version of `asin`; returns the tensor."""
    def arcsinh(self) -> Tensor:
        """The inverse of `sinh`, ``log(x + sqrt(x**2 + 1))``."""
    def arcsinh_(self) -> Tensor:
        """In-place version of `asinh`; returns the tensor."""
    def arctan(self) -> Tensor:
        """The angle whose tangent is ``input``."""
    def arctan2(self, other: _Any) -> Tensor:
        """The angle of the point (``other``, ``input``)."""
    def arctan2_(self, other: _Any) -> Tensor:
        """In-place version of `atan2`; returns the tensor."""
    def arctan_(self) -> Tensor:
        """In-place version of `atan`; returns the tensor."""
    def arctanh(self) -> Tensor:
        """The inverse of `tanh`, ``log((1 + x) / (1 - x)) / 2``."""
    def arctanh_(self) -> Tensor:
        """In-place version of `atanh`; returns the tensor."""
    def argmax(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """The index of the first largest element, along ``dim`` or in the flattened tensor."""
    def argmin(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """The index of the first smallest element; see `argmax`."""
    def argsort(
        self,
        dim: builtins.int = -1,
        descending: builtins.bool = False,
        stable: builtins.bool = False,
    ) -> Tensor:
        """The indices that `sort` returns."""
    def argwhere(self) -> Tensor:
        """`nonzero`: the indices of all elements that are not zero, a row for each."""
    def as_strided(
        self,
        size: _Sequence[builtins.int],
        stride: _Sequence[builtins.int],
        storage_offset: builtins.int | None = None,
    ) -> Tensor:
        """A view of the storage of ``input`` with any size, stride and offset (in elements)."""
    def as_strided_(self, *arguments: _Any, **options: _Any) -> Tensor:
        """In-place version of `as_strided`; returns the tensor."""
    def as_strided_scatter(
        self,
        src: Tensor,
        size: _Sequence[builtins.int],
        stride: _Sequence[builtins.int],
        storage_offset: builtins.int | None = None,
    ) -> Tensor:
        """A copy of ``input`` with ``src`` where `as_strided` would look."""
    def as_subclass(self, cls: builtins.type) -> _Any:
        """A view of the whole tensor as an instance of a subclass of Tensor."""
    def asin(self) -> Tensor:
        """The angle whose sine is ``input``."""
    def asin_(self) -> Tensor:
        """In-place version of `asin`; returns the tensor."""
    def asinh(self) -> Tensor:
        """The inverse of `sinh`, ``log(x + sqrt(x**2 + 1))``."""
    def asinh_(self) -> Tensor:
        """In-place version of `asinh`; returns the tensor."""
    def atan(self) -> Tensor:
        """The angle whose tangent is ``input``."""
    def atan2(self, other: _Any) -> Tensor:
        """The angle of the point (``other``, ``input``)."""
    def atan2_(self, other: _Any) -> Tensor:
        """In-place version of `atan2`; returns the tensor."""
    def atan_(self) -> Tensor:
        """In-place version of `atan`; returns the tensor."""
    def atanh(self) -> Tensor:
        """The inverse of `tanh`, ``log((1 + x) / (1 - x)) / 2``."""
    def atanh_(self) -> Tensor:
        """In-place version of `atanh`; returns the tensor."""
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: builtins.bool | None = None,
        create_graph: builtins.bool = False,
        inputs: _Any = None,
    ) -> None:
        """Compute the gradient of this tensor and add it to the ``grad`` of every leaf it
        depends on.
        """
    def baddbmm(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: builtins.complex = 1,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""
    def baddbmm_(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: builtins.complex = 1,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """In-place version of `baddbmm`; returns the tensor."""
    def bernoulli(self, p: builtins.float = ..., *, generator: _Any = None) -> Tensor:
        """1 with the chance that ``input`` says (or ``p``, for all elements), else 0."""
    def bernoulli_(self, p: Tensor | builtins.float = ..., *, generator: _Any = None) -> Tensor:
        """Fill with 1 where a coin of chance ``p`` falls, 0 elsewhere, in place."""
    def bfloat16(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.bfloat16."""
    def bincount(self, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
        """The count of each integer from 0 in a 1-dim tensor, or the sum of its weights."""
    def bitwise_and(self, other: _Any) -> Tensor:
        """Bits set in both (logic for bool)."""
    def bitwise_and_(self, other: _Any) -> Tensor:
        """In-place version of `bitwise_and`; returns the tensor."""
    def bitwise_left_shift(self, other: _Any) -> Tensor:
        """Bits moved left: ``input * 2**other``."""
    def bitwise_left_shift_(self, other: _Any) -> Tensor:
        """In-place version of `bitwise_left_shift`; returns the tensor."""
    def bitwise_not(self) -> Tensor:
        """All bits flipped (logical not for bool)."""
    def bitwise_not_(self) -> Tensor:
        """In-place version of `bitwise_not`; returns the tensor."""
    def bitwise_or(self, other: _Any) -> Tensor:
        """Bits set in either (logic for bool)."""
    def bitwise_or_(self, other: _Any) -> Tensor:
        """In-place version of `bitwise_or`; returns the tensor."""
    def bitwise_right_shift(self, other: _Any) -> Tensor:
        """Bits moved right, sign kept."""
    def bitwise_right_shift_(self, other: _Any) -> Tensor:
        """In-place version of `bitwise_right_shift`; returns the tensor."""
    def bitwise_xor(self, other: _Any) -> Tensor:
        """Bits set in one of both."""
    def bitwise_xor_(self, other: _Any) -> Tensor:
        """In-place version of `bitwise_xor`; returns the tensor."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """The products of two batches of matrices, (b, n, k) and (b, k, m)."""
    def bool(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.bool."""
    def broadcast_to(self, *sizes: _Any, size: _Sequence[builtins.int] | None = None) -> Tensor:
        """``input.expand(size)``: the input repeated to a larger shape without copying."""
    def byte(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.uint8."""
    def cauchy_(
        self,
        median: builtins.float = 0,
        sigma: builtins.float = 1,
        *,
        generator: _Any = None,
    ) -> Tensor:
        """Fill with numbers of density ``sigma / pi / ((x - median)**2 + sigma**2)``, in
        place.
        """
    def ccol_indices(self) -> _Any:
        """Where the elements of each column begin."""
    def cdouble(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.complex128."""
    def ceil(self) -> Tensor:
        """The smallest integer not below each element."""
    def ceil_(self) -> Tensor:
        """In-place version of `ceil`; returns the tensor."""
    def cfloat(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.complex64."""
    def char(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.int8."""
    def cholesky(self, upper: builtins.bool = False) -> Tensor:
        """The triangular L with a positive diagonal and ``L @ L.mH`` the input (its transpose
        with ``upper``), for positive definite matrices.
        """
    def cholesky_inverse(self, upper: builtins.bool = False) -> Tensor:
        """The inverse of ``L @ L.mH`` (of ``L.mH @ L`` with ``upper``) from the triangular L."""
    def cholesky_solve(self, input2: Tensor, upper: builtins.bool = False) -> Tensor:
        """The X with ``L @ L.mH @ X = input`` (``L.mH @ L`` with ``upper``)."""
    def chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """At most ``chunks`` equal pieces (the last may be smaller), as views."""
    def clamp(
        self,
        min: Tensor | builtins.complex | None = None,
        max: Tensor | builtins.complex | None = None,
    ) -> Tensor:
        """``input`` held between ``min`` and ``max`` (numbers or tensors, one may be
        missing).
        """
    def clamp_(
        self,
        min: Tensor | builtins.complex | None = None,
        max: Tensor | builtins.complex | None = None,
    ) -> Tensor:
        """In-place version of `clamp`; returns the tensor."""
    def clamp_max(self, max: Tensor | builtins.complex) -> Tensor:
        """``input`` where it is at most ``max``, else ``max``."""
    def clamp_max_(self, max: Tensor | builtins.complex) -> Tensor:
        """In-place version of `clamp_max`; returns the tensor."""
    def clamp_min(self, min: Tensor | builtins.complex) -> Tensor:
        """``input`` where it is at least ``min``, else ``min``."""
    def clamp_min_(self, min: Tensor | builtins.complex) -> Tensor:
        """In-place version of `clamp_min`; returns the tensor."""
    def clip(
        self,
        min: Tensor | builtins.complex | None = None,
        max: Tensor | builtins.complex | None = None,
    ) -> Tensor:
        """``input`` held between ``min`` and ``max`` (numbers or tensors, one may be
        missing).
        """
    def clip_(
        self,
        min: Tensor | builtins.complex | None = None,
        max: Tensor | builtins.complex | None = None,
    ) -> Tensor:
        """In-place version of `clamp`; returns the tensor."""
    def clone(self, *, memory_format: _Any = None) -> Tensor:
        """A copy in memory of its own, through which gradients flow."""
    def coalesce(self) -> _Any:
        """A sparse tensor with every index once, in order."""
    def col_indices(self) -> _Any:
        """The column of each stored element."""
    def conj(self) -> Tensor:
        """The complex conjugate, a view; a real tensor is returned as it is."""
    def conj_physical(self) -> Tensor:
        """The complex conjugate in memory of its own; a real tensor is returned as it is."""
    def conj_physical_(self) -> Tensor:
        """In-place version of `conj_physical`; returns the tensor."""
    def contiguous(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor itself if its memory is in row order, else a copy that is."""
    def copy_(
        self,
        other: Tensor | builtins.complex,
        non_blocking: builtins.bool = False,
    ) -> Tensor:
        """Overwrite with the values of ``other``, a tensor that is broadcast and cast, or a
        number; returns the tensor.
        """
    def copysign(self, other: _Any) -> Tensor:
        """The magnitude of ``input``, the sign of ``other``."""
    def copysign_(self, other: _Any) -> Tensor:
        """In-place version of `copysign`; returns the tensor."""
    def corrcoef(self) -> Tensor:
        """The correlation coefficients of variables (rows): `cov` over the standard
        deviations.
        """
    def cos(self) -> Tensor:
        """The cosine of an angle in radians."""
    def cos_(self) -> Tensor:
        """In-place version of `cos`; returns the tensor."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine, ``(exp(x) + exp(-x)) / 2``."""
    def cosh_(self) -> Tensor:
        """In-place version of `cosh`; returns the tensor."""
    def count_nonzero(
        self,
        dim: builtins.int | _Sequence[builtins.int] | None = None,
        *more: builtins.int,
    ) -> Tensor:
        """The number of elements that are not zero, in all or along ``dim`` (an int or a
        tuple, which the method takes one by one too).
        """
    def cov(
        self,
        *,
        correction: builtins.int = 1,
        fweights: Tensor | None = None,
        aweights: Tensor | None = None,
    ) -> Tensor:
        """The covariances of variables (rows) over observations (columns)."""
    def cpu(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in main memory."""
    @builtins.property
    def creator(self) -> _Any:
        """Deprecated name of ``grad_fn``."""
    def cross(self, other: Tensor, dim: builtins.int | None = None) -> Tensor:
        """The cross product of vectors with three elements along ``dim``."""
    def crow_indices(self) -> _Any:
        """Where the elements of each row begin."""
    def cuda(self, device: _Any = None, non_blocking: builtins.bool = False) -> Tensor:
        """The tensor on an NVIDIA GPU, the current one unless ``device`` is given."""
    def cummax(self, dim: builtins.int) -> _Any:
        """The maxima of all elements up to each one along ``dim``, and the index of the last
        element that reached each; a NaN stays.
        """
    def cummin(self, dim: builtins.int) -> _Any:
        """The minima of all elements up to each one along ``dim``; see `cummax`."""
    def cumprod(self, dim: builtins.int, *, dtype: _Any = None) -> Tensor:
        """The products of all elements up to each one along ``dim``; integers give int64."""
    def cumprod_(self, dim: builtins.int, *, dtype: _Any = None) -> Tensor:
        """In-place version of `cumprod`; returns the tensor."""
    def cumsum(self, dim: builtins.int, *, dtype: _Any = None) -> Tensor:
        """The sums of all elements up to each one along ``dim``; integers give int64."""
    def cumsum_(self, dim: builtins.int, *, dtype: _Any = None) -> Tensor:
        """In-place version of `cumsum`; returns the tensor."""
    @builtins.property
    def data(self) -> Tensor:
        """A tensor that shares the memory but has no history; autograd does not see writes to
        it.
        """
    @data.setter
    def data(self, new: Tensor) -> None:
        ...
    @data.deleter
    def data(self) -> None:
        ...
    def data_ptr(self) -> builtins.int:
        """The address of the first element."""
    def deg2rad(self) -> Tensor:
        """Degrees to radians."""
    def deg2rad_(self) -> Tensor:
        """In-place version of `deg2rad`; returns the tensor."""
    def dense_dim(self) -> builtins.int:
        """The number of dense dimensions: all."""
    def det(self) -> Tensor:
        """The determinants of square matrices. Singular matrices have a gradient, too."""
    def detach(self) -> Tensor:
        """A leaf that shares the memory and does not require grad."""
    def detach_(self) -> Tensor:
        """Make the tensor itself a leaf that does not require grad; return the tensor."""
    @builtins.property
    def device(self) -> _device:
        """The device that holds the memory."""
    def diag(self, diagonal: builtins.int = 0) -> Tensor:
        """A vector as the diagonal of a square matrix; of a matrix a copy of its diagonal."""
    def diag_embed(
        self,
        offset: builtins.int = 0,
        dim1: builtins.int = -2,
        dim2: builtins.int = -1,
    ) -> Tensor:
        """The last dimension becomes the diagonal of two new dimensions ``dim1`` and
        ``dim2``.
        """
    def diagflat(self, offset: builtins.int = 0) -> Tensor:
        """All elements as the diagonal of a square matrix."""
    def diagonal(
        self,
        offset: builtins.int = 0,
        dim1: builtins.int = 0,
        dim2: builtins.int = 1,
    ) -> Tensor:
        """The diagonal of two dimensions as the last dimension, a view that can be written."""
    def diagonal_scatter(
        self,
        src: Tensor,
        offset: builtins.int = 0,
        dim1: builtins.int = 0,
        dim2: builtins.int = 1,
    ) -> Tensor:
        """A copy of ``input`` with ``src`` on its diagonal."""
    def diff(
        self,
        n: builtins.int = 1,
        dim: builtins.int = -1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
    ) -> Tensor:
        """The differences of neighbours along ``dim``, taken ``n`` times, after joining
        ``prepend`` and ``append`` to the ends.
        """
    def digamma(self) -> Tensor:
        """The derivative of `lgamma`."""
    def digamma_(self) -> Tensor:
        """In-place version of `digamma`; returns the tensor."""
    def dim(self) -> builtins.int:
        """The number of dimensions."""
    def dim_order(self, *, ambiguity_check: _Any = False) -> builtins.tuple[builtins.int, ...]:
        """The dimensions from the slowest to the fastest in memory."""
    def dist(self, other: Tensor, p: builtins.float = 2) -> Tensor:
        """The p-norm of ``input - other``."""
    def div(
        self,
        other: Tensor | builtins.complex,
        *,
        rounding_mode: builtins.str | None = None,
    ) -> Tensor:
        """The quotient ``input / other``."""
    def div_(
        self,
        other: Tensor | builtins.complex,
        *,
        rounding_mode: builtins.str | None = None,
    ) -> Tensor:
        """In-place version of `div`; returns the tensor."""
    def divide(
        self,
        other: Tensor | builtins.complex,
        *,
        rounding_mode: builtins.str | None = None,
    ) -> Tensor:
        """The quotient ``input / other``."""
    def divide_(
        self,
        other: Tensor | builtins.complex,
        *,
        rounding_mode: builtins.str | None = None,
    ) -> Tensor:
        """In-place version of `div`; returns the tensor."""
    def dot(self, tensor: Tensor) -> Tensor:
        """The sum of the products of two vectors' elements."""
    def double(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.float64."""
    def dsplit(self, *given: _Any, **named: _Any) -> builtins.tuple[Tensor, ...]:
        """The function as a method, which also takes the positions to cut at as separate
        arguments.
        """
    @builtins.property
    def dtype(self) -> _dtype:
        """The data type of the elements."""
    def element_size(self) -> builtins.int:
        """Bytes per element."""
    def eq(self, other: _Any) -> Tensor:
        """``input == other``."""
    def eq_(self, other: _Any) -> Tensor:
        """In-place version of `eq`; returns the tensor."""
    def equal(self, other: Tensor) -> builtins.bool:
        """Whether both have the same shape and the same elements."""
    def erf(self) -> Tensor:
        """``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x."""
    def erf_(self) -> Tensor:
        """In-place version of `erf`; returns the tensor."""
    def erfc(self) -> Tensor:
        """``1 - erf(input)``, exact for large input."""
    def erfc_(self) -> Tensor:
        """In-place version of `erfc`; returns the tensor."""
    def erfinv(self) -> Tensor:
        """The inverse of the error function."""
    def erfinv_(self) -> Tensor:
        """In-place version of `erfinv`; returns the tensor."""
    def exp(self) -> Tensor:
        """``e ** input``."""
    def exp2(self) -> Tensor:
        """``2 ** input``."""
    def exp2_(self) -> Tensor:
        """In-place version of `exp2`; returns the tensor."""
    def exp_(self) -> Tensor:
        """In-place version of `exp`; returns the tensor."""
    def expand(
        self,
        *sizes: _Any,
        size: _Sequence[builtins.int] | None = None,
        implicit: builtins.bool = False,
    ) -> Tensor:
        """Repeat dimensions of size 1 (and new leading ones) without copying: their stride is
        0.
        """
    def expand_as(self, other: Tensor) -> Tensor:
        """``input.expand(other.shape)``."""
    def expm1(self) -> Tensor:
        """``e ** input - 1``, exact near 0."""
    def expm1_(self) -> Tensor:
        """In-place version of `expm1`; returns the tensor."""
    def exponential_(self, lambd: builtins.float = 1, *, generator: _Any = None) -> Tensor:
        """Fill with numbers of density ``lambd exp(-lambd x)``, x > 0, in place."""
    def fill_(self, value: Tensor | builtins.complex) -> Tensor:
        """Overwrite every element with a number or a 0-dim tensor; returns the tensor."""
    def fill_diagonal_(self, fill_value: builtins.complex, wrap: builtins.bool = False) -> Tensor:
        """Write a number onto the main diagonal of all dimensions; returns the tensor."""
    def fix(self) -> Tensor:
        """Each element rounded towards zero."""
    def fix_(self) -> Tensor:
        """In-place version of `trunc`; returns the tensor."""
    def flatten(self, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
        """Merge the dimensions from ``start_dim`` to ``end_dim`` (both included) into one."""
    def flip(self, *named: _Any, dims: _Sequence[builtins.int] | None = None) -> Tensor:
        """A copy with the order along ``dims`` reversed; the method takes them one by one
        too.
        """
    def fliplr(self) -> Tensor:
        """`flip` along dimension 1."""
    def flipud(self) -> Tensor:
        """`flip` along dimension 0."""
    def float(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.float32."""
    def float_power(self, exponent: Tensor | builtins.complex) -> Tensor:
        """``input ** exponent`` computed in float64 (complex128 for complex operands)."""
    def float_power_(self, exponent: Tensor | builtins.complex) -> Tensor:
        """In-place version of `float_power`; returns the tensor."""
    def floor(self) -> Tensor:
        """The largest integer not above each element."""
    def floor_(self) -> Tensor:
        """In-place version of `floor`; returns the tensor."""
    def floor_divide(self, other: _Any) -> Tensor:
        """``input / other`` rounded down; has no derivative (`div` with a rounding mode has)."""
    def floor_divide_(self, other: _Any) -> Tensor:
        """In-place version of `floor_divide`; returns the tensor."""
    def fmax(self, other: _Any) -> Tensor:
        """The larger of two elements, ignoring a single NaN."""
    def fmin(self, other: _Any) -> Tensor:
        """The smaller of two elements, ignoring a single NaN."""
    def fmod(self, other: _Any) -> Tensor:
        """The remainder of ``input / other`` with the sign of ``input`` (C's ``fmod``)."""
    def fmod_(self, other: _Any) -> Tensor:
        """In-place version of `fmod`; returns the tensor."""
    def frac(self) -> Tensor:
        """The part after the point, with the sign of the element."""
    def frac_(self) -> Tensor:
        """In-place version of `frac`; returns the tensor."""
    def frexp(self) -> _Any:
        """The mantissa, of size 1/2 to 1, and the int32 exponent with ``mantissa *
        2**exponent``.
        """
    def gather(
        self,
        dim: builtins.int,
        index: Tensor,
        *,
        sparse_grad: builtins.bool = False,
    ) -> Tensor:
        """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, and so on for every dimension."""
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor of two integers, not negative; ``gcd(0, 0)`` is 0."""
    def gcd_(self, other: Tensor) -> Tensor:
        """In-place version of `gcd`; returns the tensor."""
    def ge(self, other: _Any) -> Tensor:
        """``input >= other``."""
    def ge_(self, other: _Any) -> Tensor:
        """In-place version of `ge`; returns the tensor."""
    def geometric_(self, p: builtins.float, *, generator: _Any = None) -> Tensor:
        """Fill with how many throws it took until success, of chance ``p`` each, in place."""
    def geqrf(self) -> _Any:
        """The QR factorization in LAPACK's form: R on and above the diagonal, reflections
        below it.
        """
    def ger(self, vec2: Tensor) -> Tensor:
        """The matrix of all products of an element of ``input`` and one of ``vec2``."""
    def get_device(self) -> builtins.int:
        """The index of the GPU it lives on; -1 elsewhere."""
    @builtins.property
    def grad(self) -> _Any:
        """The accumulated gradient of a leaf; None before the first backward pass."""
    @grad.setter
    def grad(self, new: Tensor | None) -> None:
        ...
    @grad.deleter
    def grad(self) -> None:
        ...
    @builtins.property
    def grad_dtype(self) -> _dtype | None:
        """The dtype of the gradient of a leaf, by default its own; None where it may have
        any.
        """
    @grad_dtype.setter
    def grad_dtype(self, new: _dtype | None) -> None:
        ...
    @builtins.property
    def grad_fn(self) -> _Any:
        """The graph node of the operation that made this tensor; None for a leaf."""
    def greater(self, other: _Any) -> Tensor:
        """``input > other``."""
    def greater_(self, other: _Any) -> Tensor:
        """In-place version of `gt`; returns the tensor."""
    def greater_equal(self, other: _Any) -> Tensor:
        """``input >= other``."""
    def greater_equal_(self, other: _Any) -> Tensor:
        """In-place version of `ge`; returns the tensor."""
    def gt(self, other: _Any) -> Tensor:
        """``input > other``."""
    def gt_(self, other: _Any) -> Tensor:
        """In-place version of `gt`; returns the tensor."""
    def half(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.float16."""
    def hardshrink(self, lambd: builtins.float = ...) -> Tensor:
        """``x`` where ``|x| > lambd``, else 0."""
    def hash_tensor(
        self,
        dim: builtins.int | _Sequence[builtins.int] | None = ...,
        *,
        keepdim: builtins.bool = False,
        mode: builtins.int = 0,
    ) -> Tensor:
        """The exclusive or of the elements' bits, as uint64: of floats as float64, else as
        int64.
        """
    def heaviside(self, values: Tensor) -> Tensor:
        """0 where ``input < 0`` or NaN, 1 where ``input > 0``, ``values`` where it is 0."""
    def heaviside_(self, values: Tensor) -> Tensor:
        """In-place version of `heaviside`; returns the tensor."""
    def histc(
        self,
        bins: builtins.int = 100,
        min: builtins.float = 0,
        max: builtins.float = 0,
    ) -> Tensor:
        """The number of elements in each of ``bins`` equal parts of [min, max]; elements
        outside are left out. Where both bounds are equal, those of the data are taken.
        """
    def histogram(
        self,
        bins: Tensor | builtins.int = 100,
        *,
        range: _Sequence[builtins.float] | None = None,
        weight: Tensor | None = None,
        density: builtins.bool = False,
    ) -> _Any:
        """The number (or the weight) of elements between each two neighbouring edges."""
    def hsplit(self, *given: _Any, **named: _Any) -> builtins.tuple[Tensor, ...]:
        """The function as a method, which also takes the positions to cut at as separate
        arguments.
        """
    def hypot(self, other: _Any) -> Tensor:
        """``sqrt(input**2 + other**2)`` without overflow."""
    def hypot_(self, other: _Any) -> Tensor:
        """In-place version of `hypot`; returns the tensor."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""
    def i0_(self) -> Tensor:
        """In-place version of `i0`; returns the tensor."""
    def igamma(self, other: _Any) -> Tensor:
        """The lower regularised incomplete gamma function: the share of ``Gamma(input)`` that
        its integral has up to ``other``.
        """
    def igamma_(self, other: _Any) -> Tensor:
        """In-place version of `igamma`; returns the tensor."""
    def igammac(self, other: _Any) -> Tensor:
        """The upper regularised incomplete gamma function, ``1 - igamma(input, other)``."""
    def igammac_(self, other: _Any) -> Tensor:
        """In-place version of `igammac`; returns the tensor."""
    @builtins.property
    def imag(self) -> Tensor:
        """The imaginary part of a complex tensor, as a view."""
    @imag.setter
    def imag(self, value: _Any) -> None:
        """Write a part in place."""
    def index_add(
        self,
        dim: builtins.int,
        index: Tensor,
        source: Tensor,
        *,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """A copy with ``alpha * source`` added to the slices of ``dim`` that ``index`` names."""
    def index_add_(
        self,
        dim: builtins.int,
        index: Tensor,
        source: Tensor,
        *,
        alpha: builtins.complex = 1,
    ) -> Tensor:
        """In-place version of `index_add`; returns the tensor."""
    def index_copy(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
        """A copy with the slices of ``dim`` that ``index`` names replaced by those of
        ``source``.
        """
    def index_copy_(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
        """In-place version of `index_copy`; returns the tensor."""
    def index_fill(
        self,
        dim: builtins.int,
        index: Tensor,
        value: Tensor | builtins.complex,
    ) -> Tensor:
        """A copy with the slices of ``dim`` that ``index`` names set to ``value``, a number
        or a 0-dim tensor.
        """
    def index_fill_(
        self,
        dim: builtins.int,
        index: Tensor,
        value: Tensor | builtins.complex,
    ) -> Tensor:
        """In-place version of `index_fill`; returns the tensor."""
    def index_put(self, indices: _Any, values: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """A copy with ``input[indices] = values``, or ``+= values``, where repeated indices
        add up.
        """
    def index_put_(
        self,
        indices: _Any,
        values: Tensor,
        accumulate: builtins.bool = False,
    ) -> Tensor:
        """In-place version of `index_put`; returns the tensor."""
    def index_reduce(
        self,
        dim: builtins.int,
        index: Tensor,
        source: Tensor,
        reduce: builtins.str,
        *,
        include_self: builtins.bool = True,
    ) -> Tensor:
        """`scatter_reduce` of whole slices; ``reduce`` is "prod", "mean", "amax" or "amin"."""
    def index_reduce_(
        self,
        dim: builtins.int,
        index: Tensor,
        source: Tensor,
        reduce: builtins.str,
        *,
        include_self: builtins.bool = True,
    ) -> Tensor:
        """In-place version of `index_reduce`; returns the tensor."""
    def index_select(self, dim: builtins.int, index: Tensor) -> Tensor:
        """A copy of the slices of ``dim`` that a 1-dim ``index`` names, in its order."""
    def indices(self) -> _Any:
        """The indices of a sparse tensor, (sparse_dim, n)."""
    def inner(self, other: Tensor) -> Tensor:
        """Sums of products along the last dimensions; with a 0-dim operand, the product."""
    def int(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.int32."""
    def inverse(self) -> Tensor:
        """The inverses of square matrices."""
    def is_coalesced(self) -> _Any:
        """Whether every index stands once, in order."""
    def is_complex(self) -> builtins.bool:
        """Whether its dtype is complex."""
    def is_conj(self) -> builtins.bool:
        """Whether its conjugation is put off."""
    def is_contiguous(self, memory_format: _Any = None) -> builtins.bool:
        """Whether the elements lie in memory row by row (or in the given format)."""
    @builtins.property
    def is_cpu(self) -> builtins.bool:
        """Whether the tensor is in the computer's main memory."""
    @builtins.property
    def is_cuda(self) -> builtins.bool:
        """Whether the tensor is on an NVIDIA GPU."""
    def is_floating_point(self) -> builtins.bool:
        """Whether its dtype is a floating one."""
    def is_inference(self) -> builtins.bool:
        """Whether the tensor was made in `inference_mode`."""
    @builtins.property
    def is_ipu(self) -> _Any:
        """Whether it lives on a device of kind ipu; it never does."""
    @builtins.property
    def is_leaf(self) -> builtins.bool:
        """Whether no recorded operation made this tensor: ``grad_fn`` is None."""
    @builtins.property
    def is_maia(self) -> _Any:
        """Whether it lives on a device of kind maia; it never does."""
    @builtins.property
    def is_meta(self) -> builtins.bool:
        """Whether the tensor is on the device ``meta``: it has a shape and a dtype, but no
        data.
        """
    @builtins.property
    def is_mkldnn(self) -> _Any:
        """Whether it lives on a device of kind mkldnn; it never does."""
    @builtins.property
    def is_mps(self) -> _Any:
        """Whether it lives on a device of kind mps; it never does."""
    @builtins.property
    def is_mtia(self) -> _Any:
        """Whether it lives on a device of kind mtia; it never does."""
    def is_neg(self) -> builtins.bool:
        """Whether its negation is put off, as that of the imaginary part of a conjugate is."""
    @builtins.property
    def is_nested(self) -> _Any:
        """Whether it is a list of tensors of several sizes; it never is."""
    def is_nonzero(self) -> builtins.bool:
        """Whether a one-element tensor is not zero."""
    def is_pinned(self, device: _Any = None) -> builtins.bool:
        """Whether `pin_memory` made the tensor's memory."""
    @builtins.property
    def is_quantized(self) -> _Any:
        """Whether it is quantized; it never is."""
    def is_same_size(self, other: Tensor) -> builtins.bool:
        """Whether both have the same shape."""
    def is_set_to(self, tensor: Tensor) -> builtins.bool:
        """Whether both are the same window onto the same memory."""
    def is_shared(self) -> builtins.bool:
        """Whether `share_memory_` has put it into memory that processes share."""
    def is_signed(self) -> builtins.bool:
        """Whether its dtype has negative numbers."""
    @builtins.property
    def is_sparse(self) -> _Any:
        """Whether it is stored sparsely; it never is."""
    @builtins.property
    def is_sparse_csr(self) -> _Any:
        """Whether it is stored by sparse rows; it never is."""
    @builtins.property
    def is_vulkan(self) -> _Any:
        """Whether it lives on a device of kind vulkan; it never does."""
    @builtins.property
    def is_xla(self) -> _Any:
        """Whether it lives on a device of kind xla; it never does."""
    @builtins.property
    def is_xpu(self) -> _Any:
        """Whether it lives on a device of kind xpu; it never does."""
    def isclose(
        self,
        other: Tensor,
        rtol: builtins.float = ...,
        atol: builtins.float = ...,
        equal_nan: builtins.bool = False,
    ) -> Tensor:
        """``|input - other| <= atol + rtol * |other|``, element by element."""
    def isfinite(self) -> Tensor:
        """Neither infinite nor NaN."""
    def isinf(self) -> Tensor:
        """Infinite, for each element."""
    def isnan(self) -> Tensor:
        """NaN, for each element."""
    def isneginf(self) -> Tensor:
        """Negative infinity."""
    def isposinf(self) -> Tensor:
        """Positive infinity."""
    def isreal(self) -> Tensor:
        """A mask of the elements that have no imaginary part: all of a real tensor."""
    def istft(
        self,
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
    def item(self) -> _Any:
        """The value of a one-element tensor as a Python number."""
    @builtins.property
    def itemsize(self) -> builtins.int:
        """The size of one element in bytes."""
    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: ``input`` with each element replaced by it times ``other``."""
    def kthvalue(
        self,
        k: builtins.int,
        dim: builtins.int = -1,
        keepdim: builtins.bool = False,
    ) -> _Any:
        """The ``k``-th smallest element along ``dim`` (from 1) and its index, a named tuple."""
    @builtins.property
    def layout(self) -> _Any:
        """Always ``nnkit.strided``."""
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple of two integers, not negative; 0 where one of them is 0."""
    def lcm_(self, other: Tensor) -> Tensor:
        """In-place version of `lcm`; returns the tensor."""
    def ldexp(self, other: Tensor) -> Tensor:
        """``input * 2**other``; for integers ``other`` neither factor overflows by itself."""
    def ldexp_(self, other: Tensor) -> Tensor:
        """In-place version of `ldexp`; returns the tensor."""
    def le(self, other: _Any) -> Tensor:
        """``input <= other``."""
    def le_(self, other: _Any) -> Tensor:
        """In-place version of `le`; returns the tensor."""
    def lerp(self, end: Tensor, weight: Tensor | builtins.complex) -> Tensor:
        """``input + weight * (end - input)``, computed from the nearer end."""
    def lerp_(self, end: Tensor, weight: Tensor | builtins.complex) -> Tensor:
        """In-place version of `lerp`; returns the tensor."""
    def less(self, other: _Any) -> Tensor:
        """``input < other``."""
    def less_(self, other: _Any) -> Tensor:
        """In-place version of `lt`; returns the tensor."""
    def less_equal(self, other: _Any) -> Tensor:
        """``input <= other``."""
    def less_equal_(self, other: _Any) -> Tensor:
        """In-place version of `le`; returns the tensor."""
    def lgamma(self) -> Tensor:
        """The logarithm of ``|Gamma(input)|``."""
    def lgamma_(self) -> Tensor:
        """In-place version of `lgamma`; returns the tensor."""
    def log(self) -> Tensor:
        """The natural logarithm; -inf at 0, NaN for negative real numbers."""
    def log10(self) -> Tensor:
        """The logarithm to base 10; NaN for negative real numbers."""
    def log10_(self) -> Tensor:
        """In-place version of `log10`; returns the tensor."""
    def log1p(self) -> Tensor:
        """``log(1 + input)``, exact near 0."""
    def log1p_(self) -> Tensor:
        """In-place version of `log1p`; returns the tensor."""
    def log2(self) -> Tensor:
        """The logarithm to base 2; NaN for negative real numbers."""
    def log2_(self) -> Tensor:
        """In-place version of `log2`; returns the tensor."""
    def log_(self) -> Tensor:
        """In-place version of `log`; returns the tensor."""
    def log_normal_(
        self,
        mean: builtins.float = 1,
        std: builtins.float = 2,
        *,
        generator: _Any = None,
    ) -> Tensor:
        """Fill with ``exp(z)``, z normal with ``mean`` and ``std``, in place."""
    def log_softmax(self, dim: builtins.int, dtype: _dtype | None = None) -> Tensor:
        """``log(softmax(input, dim))``, computed without overflow or a logarithm of 0."""
    def logaddexp(self, other: Tensor) -> Tensor:
        """``log(exp(input) + exp(other))``, without overflow."""
    def logaddexp2(self, other: _Any) -> Tensor:
        """``log2(2**input + 2**other)``."""
    def logcumsumexp(self, dim: builtins.int) -> Tensor:
        """``log(cumsum(exp(x)))`` along ``dim``, without overflow."""
    def logdet(self) -> Tensor:
        """The logarithms of determinants: NaN for negative ones, -inf for 0."""
    def logical_and(self, other: _Any) -> Tensor:
        """Both are not zero."""
    def logical_and_(self, other: _Any) -> Tensor:
        """In-place version of `logical_and`; returns the tensor."""
    def logical_not(self) -> Tensor:
        """Each element is zero."""
    def logical_not_(self) -> Tensor:
        """In-place version of `logical_not`; returns the tensor."""
    def logical_or(self, other: _Any) -> Tensor:
        """At least one is not zero."""
    def logical_or_(self, other: _Any) -> Tensor:
        """In-place version of `logical_or`; returns the tensor."""
    def logical_xor(self, other: _Any) -> Tensor:
        """Exactly one is not zero."""
    def logical_xor_(self, other: _Any) -> Tensor:
        """In-place version of `logical_xor`; returns the tensor."""
    def logit(self, eps: builtins.float | None = None) -> Tensor:
        """``log(input / (1 - input))``, the inverse of `sigmoid`; not of complex numbers."""
    def logit_(self, eps: builtins.float | None = None) -> Tensor:
        """In-place version of `logit`; returns the tensor."""
    def logsumexp(
        self,
        dim: builtins.int | _Sequence[builtins.int],
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """``log(sum(exp(x)))`` along dimensions, without overflow; -inf where there are no
        elements.
        """
    def long(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.int64."""
    def lt(self, other: _Any) -> Tensor:
        """``input < other``."""
    def lt_(self, other: _Any) -> Tensor:
        """In-place version of `lt`; returns the tensor."""
    def lu(
        self,
        pivot: builtins.bool = True,
        get_infos: builtins.bool = False,
        out: builtins.tuple | None = None,
    ) -> _Any:
        """L and U in one matrix, and the exchanged rows, as LAPACK stores them: (LU, pivots)."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """The X with ``A @ X = input`` for the A that `lu` was given:
        `nnkit.linalg.lu_solve`, whose arguments are in another order.
        """
    @builtins.property
    def mH(self) -> Tensor:
        """The conjugate transpose of a matrix or a batch of matrices."""
    @builtins.property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged."""
    def map2_(self, x: Tensor, y: Tensor, callable: _Callable[[_Any, _Any, _Any], _Any]) -> Tensor:
        """Replace each element by ``callable(element, element of x, element of y)``; returns
        the tensor.
        """
    def map_(self, other: Tensor, callable: _Callable[[_Any, _Any], _Any]) -> Tensor:
        """Replace each element by ``callable(element, element of other)``; returns the
        tensor.
        """
    def masked_fill(self, mask: Tensor, value: Tensor | builtins.complex) -> Tensor:
        """A copy with ``value`` where ``mask`` is true; input and mask broadcast."""
    def masked_fill_(self, mask: Tensor, value: Tensor | builtins.complex) -> Tensor:
        """In-place version of `masked_fill`; returns the tensor."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy whose elements where ``mask`` is true are those of ``source``, one after
        another.
        """
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In-place version of `masked_scatter`; returns the tensor."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where ``mask`` is true, in order, as a 1-dim copy; both broadcast."""
    def matmul(self, other: Tensor) -> Tensor:
        """The matrix product, ``input @ other``."""
    def matrix_exp(self) -> Tensor:
        """The matrix exponential, by scaling, a Taylor polynomial and squaring."""
    def matrix_power(self, n: builtins.int) -> Tensor:
        """The product of ``n`` equal square matrices; of the inverses where ``n`` is
        negative.
        """
    def max(
        self,
        dim: Tensor | builtins.int = ...,
        keepdim: builtins.bool = False,
        *,
        other: Tensor = ...,
    ) -> _Any:
        """The largest element: ``max(input)``; with their indices along a dimension:
        ``max(input, dim)``; of two tensors element by element: ``max(input, other)``.
        """
    def maximum(self, other: _Any) -> Tensor:
        """The larger of two elements; NaN if one is. Ties share the gradient in equal halves."""
    def mean(
        self,
        dim: builtins.int | _Sequence[builtins.int] | None = ...,
        keepdim: builtins.bool = False,
        *,
        dtype: _Any = None,
    ) -> Tensor:
        """The mean of all elements, or along dimensions; NaN where there are none."""
    def median(self, dim: builtins.int = ..., keepdim: builtins.bool = False) -> _Any:
        """The median, the lower one of an even number; NaN if there is a NaN."""
    def min(
        self,
        dim: Tensor | builtins.int = ...,
        keepdim: builtins.bool = False,
        *,
        other: Tensor = ...,
    ) -> _Any:
        """The smallest element, in the three forms of `max`. A NaN is the smallest of all."""
    def minimum(self, other: _Any) -> Tensor:
        """The smaller of two elements; NaN if one is. Ties share the gradient in equal
        halves.
        """
    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices."""
    def mode(self, dim: builtins.int = -1, keepdim: builtins.bool = False) -> _Any:
        """The most frequent element along ``dim`` (the smallest of several) and the last
        index where it stands, a named tuple ``(values, indices)``.
        """
    def module_load(self, other: Tensor, assign: builtins.bool = False) -> Tensor:
        """The new content of this tensor of a module when ``other`` is loaded for it."""
    def moveaxis(
        self,
        source: builtins.int | _Sequence[builtins.int],
        destination: builtins.int | _Sequence[builtins.int],
    ) -> Tensor:
        """Move dimensions from ``source`` to ``destination``; the others keep their order."""
    def movedim(
        self,
        source: builtins.int | _Sequence[builtins.int],
        destination: builtins.int | _Sequence[builtins.int],
    ) -> Tensor:
        """Move dimensions from ``source`` to ``destination``; the others keep their order."""
    def msort(self) -> Tensor:
        """The elements sorted along the first dimension."""
    def mul(self, other: _Any) -> Tensor:
        """The product ``input * other``, with broadcasting."""
    def mul_(self, other: _Any) -> Tensor:
        """In-place version of `mul`; returns the tensor."""
    def multinomial(
        self,
        num_samples: builtins.int,
        replacement: builtins.bool = False,
        *,
        generator: _Any = None,
    ) -> Tensor:
        """Indices drawn from each row with chances in proportion to its elements."""
    def multiply(self, other: _Any) -> Tensor:
        """The product ``input * other``, with broadcasting."""
    def multiply_(self, other: _Any) -> Tensor:
        """In-place version of `mul`; returns the tensor."""
    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: builtins.int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension ``p``."""
    def mvlgamma_(self, p: builtins.int) -> Tensor:
        """In-place version of `mvlgamma`; returns the tensor."""
    @builtins.property
    def name(self) -> _Any:
        """A name torch once gave to variables."""
    @builtins.property
    def names(self) -> _Any:
        """Names of dimensions; there are none."""
    def nan_to_num(
        self,
        nan: builtins.float | None = None,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Tensor:
        """``input`` with NaN and infinities replaced, by default by 0 and the dtype's
        extremes.
        """
    def nan_to_num_(
        self,
        nan: builtins.float | None = None,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Tensor:
        """In-place version of `nan_to_num`; returns the tensor."""
    def nanmean(
        self,
        dim: builtins.int | _Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: _Any = None,
    ) -> Tensor:
        """The mean of the elements that are not NaN."""
    def nanmedian(self, dim: builtins.int = ..., keepdim: builtins.bool = False) -> _Any:
        """`median` of what is not NaN."""
    def nanquantile(
        self,
        q: Tensor | builtins.float,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        interpolation: builtins.str = 'linear',
    ) -> Tensor:
        """`quantile` of what is not NaN."""
    def nansum(
        self,
        dim: builtins.int | _Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: _Any = None,
    ) -> Tensor:
        """`sum` in which a NaN counts as 0."""
    def narrow(
        self,
        dim: builtins.int,
        start: Tensor | builtins.int,
        length: builtins.int,
    ) -> Tensor:
        """The ``length`` slices from ``start`` on along ``dim``; a view."""
    def narrow_copy(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """A copy of `narrow`."""
    @builtins.property
    def nbytes(self) -> builtins.int:
        """The size of all elements in bytes."""
    @builtins.property
    def ndim(self) -> builtins.int:
        """The number of dimensions."""
    def ndimension(self) -> builtins.int:
        """The number of dimensions."""
    def ne(self, other: _Any) -> Tensor:
        """``input != other``."""
    def ne_(self, other: _Any) -> Tensor:
        """In-place version of `ne`; returns the tensor."""
    def neg(self) -> Tensor:
        """``-input``."""
    def neg_(self) -> Tensor:
        """In-place version of `neg`; returns the tensor."""
    def negative(self) -> Tensor:
        """``-input``."""
    def negative_(self) -> Tensor:
        """In-place version of `neg`; returns the tensor."""
    def nelement(self) -> builtins.int:
        """The number of elements."""
    def new(
        self,
        *arguments: _Any,
        size: _Sequence[builtins.int] | None = None,
        device: _Any = None,
    ) -> Tensor:
        """A tensor of this dtype: empty of the given sizes, with a copy of the given data, or
        on the memory of a tensor or storage.
        """
    def new_empty(
        self,
        *size: _Any,
        dtype: _Any = None,
        device: _Any = None,
        layout: _Any = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
        **keyword: _Any,
    ) -> Tensor:
        """`empty` with the dtype and device of this tensor, unless given."""
    def new_empty_strided(
        self,
        size: _Sequence[builtins.int],
        stride: builtins.int | _Sequence[builtins.int],
        *,
        dtype: _Any = None,
        layout: _Any = None,
        device: _Any = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
    ) -> Tensor:
        """`empty_strided` with the dtype and device of this tensor, unless given."""
    def new_full(
        self,
        size: _Sequence[builtins.int],
        fill_value: builtins.complex,
        *,
        dtype: _Any = None,
        device: _Any = None,
        layout: _Any = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
    ) -> Tensor:
        """`full` with the dtype and device of this tensor, unless given."""
    def new_ones(
        self,
        *size: _Any,
        dtype: _Any = None,
        device: _Any = None,
        layout: _Any = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
        **keyword: _Any,
    ) -> Tensor:
        """`ones` with the dtype and device of this tensor, unless given."""
    def new_tensor(
        self,
        data: _Any,
        *,
        dtype: _Any = None,
        device: _Any = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
    ) -> Tensor:
        """`tensor` with the dtype and device of this tensor, unless given."""
    def new_zeros(
        self,
        *size: _Any,
        dtype: _Any = None,
        device: _Any = None,
        layout: _Any = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
        **keyword: _Any,
    ) -> Tensor:
        """`zeros` with the dtype and device of this tensor, unless given."""
    def nextafter(self, other: _Any) -> Tensor:
        """The next floating-point number after ``input`` towards ``other``."""
    def nextafter_(self, other: _Any) -> Tensor:
        """In-place version of `nextafter`; returns the tensor."""
    def nonzero(self, *, as_tuple: builtins.bool = False) -> _Any:
        """The indices of all elements that are not zero: a row for each, or, ``as_tuple``,
        one tensor for each dimension.
        """
    def nonzero_static(self, *, size: builtins.int, fill_value: builtins.int = -1) -> Tensor:
        """`nonzero` as ``size`` rows: the first ones, or all and then rows of ``fill_value``."""
    def norm(
        self,
        p: builtins.float | builtins.str | None = 'fro',
        dim: builtins.int | _Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
        dtype: _Any = None,
    ) -> Tensor:
        """The p-norm ``sum(|x|**p)**(1/p)`` of all elements, or along dimensions."""
    def normal_(
        self,
        mean: builtins.float = ...,
        std: builtins.float = ...,
        *,
        generator: _Any = None,
    ) -> Tensor:
        """Fill with numbers of the normal distribution, in place."""
    def not_equal(self, other: _Any) -> Tensor:
        """``input != other``."""
    def not_equal_(self, other: _Any) -> Tensor:
        """In-place version of `ne`; returns the tensor."""
    def numel(self) -> builtins.int:
        """The number of elements."""
    def numpy(self, *, force: builtins.bool = False) -> _Any:
        """A NumPy array on the memory of the tensor."""
    def orgqr(self, input2: Tensor) -> Tensor:
        """The first columns of the orthogonal matrix whose reflections `geqrf` gave."""
    def ormqr(
        self,
        input2: Tensor,
        input3: Tensor,
        left: builtins.bool = True,
        transpose: builtins.bool = False,
    ) -> Tensor:
        """The orthogonal matrix of `geqrf` (its transpose) times ``input3``, or ``input3``
        times it.
        """
    def outer(self, vec2: Tensor) -> Tensor:
        """The matrix of all products of an element of ``input`` and one of ``vec2``."""
    @builtins.property
    def output_nr(self) -> builtins.int:
        """The number of the output of ``grad_fn`` that this tensor is."""
    def permute(self, *order: _Any, dims: _Sequence[builtins.int] | None = None) -> Tensor:
        """The dimensions in another order, as a view; the method takes them one by one too."""
    def pin_memory(self, device: _Any = None) -> Tensor:
        """A copy of a CPU tensor in page-locked memory; the tensor itself if it is there
        already.
        """
    def pinverse(self, rcond: builtins.float = ...) -> Tensor:
        """The Moore-Penrose inverse, from the singular values above ``rcond`` times the
        largest.
        """
    def polygamma(self, n: builtins.int) -> Tensor:
        """`nnkit.polygamma` with the order after the tensor."""
    def polygamma_(self, n: builtins.int) -> Tensor:
        """In-place version of `polygamma`; returns the tensor."""
    def positive(self) -> Tensor:
        """``input`` itself; RuntimeError for bool tensors, for which ``+`` is not defined."""
    def pow(self, exponent: Tensor | builtins.complex) -> Tensor:
        """``input`` to the power ``exponent``; either may be a number."""
    def pow_(self, exponent: Tensor | builtins.complex) -> Tensor:
        """In-place version of `pow`; returns the tensor."""
    def prelu(self, weight: Tensor) -> Tensor:
        """``input`` where it is positive, else ``weight * input``, one weight per channel or
        one.
        """
    def prod(
        self,
        dim: builtins.int = ...,
        keepdim: builtins.bool = False,
        *,
        dtype: _Any = None,
    ) -> Tensor:
        """The product of all elements, or along one dimension."""
    def put(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """A copy with ``source`` written (or added) at positions ``index`` of the flattened
        input.
        """
    def put_(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """In-place version of `put`; returns the tensor."""
    def qr(self, some: builtins.bool = True) -> _Any:
        """Orthonormal columns Q and a triangular R with ``Q @ R`` the input."""
    def quantile(
        self,
        q: Tensor | builtins.float,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        interpolation: builtins.str = 'linear',
    ) -> Tensor:
        """The q-quantiles along ``dim`` (of all elements without one); NaN if there is a NaN."""
    def rad2deg(self) -> Tensor:
        """Radians to degrees."""
    def rad2deg_(self) -> Tensor:
        """In-place version of `rad2deg`; returns the tensor."""
    def random_(
        self,
        *bounds: _Any,
        to: builtins.int = ...,
        generator: _Any = None,
        **options: _Any,
    ) -> Tensor:
        """Fill with integers of [from, to), all equally likely, in place."""
    def ravel(self) -> Tensor:
        """All elements in one dimension, next to each other; a view where they are that
        already.
        """
    @builtins.property
    def real(self) -> Tensor:
        """The real part, as a view; a real tensor itself."""
    @real.setter
    def real(self, value: _Any) -> None:
        """Write a part in place."""
    def reciprocal(self) -> Tensor:
        """``1 / input``."""
    def reciprocal_(self) -> Tensor:
        """In-place version of `reciprocal`; returns the tensor."""
    def register_hook(self, hook: _Any) -> _RemovableHandle:
        """Call ``hook(grad)`` when the gradient of this tensor is computed."""
    def register_post_accumulate_grad_hook(self, hook: _Any) -> _RemovableHandle:
        """Call ``hook(leaf)`` each time a gradient has been added to ``leaf.grad``."""
    def relu(self) -> Tensor:
        """``max(input, 0)``; the gradient at 0 is 0."""
    def relu_(self) -> Tensor:
        """In-place version of `relu`; returns the tensor."""
    def remainder(self, other: _Any) -> Tensor:
        """The remainder of ``input / other`` with the sign of ``other`` (Python's ``%``)."""
    def remainder_(self, other: _Any) -> Tensor:
        """In-place version of `remainder`; returns the tensor."""
    def renorm(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Tensor:
        """Scale down each slice along ``dim`` whose p-norm exceeds ``maxnorm``, so that it
        equals it.
        """
    def renorm_(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Tensor:
        """In-place version of `renorm`; returns the tensor."""
    def repeat(self, *times: _Any, repeats: _Sequence[builtins.int] | None = None) -> Tensor:
        """The tensor repeated that often along each dimension; more repeats than dimensions
        add new ones in front.
        """
    def repeat_interleave(
        self,
        repeats: Tensor | builtins.int,
        dim: builtins.int | None = None,
        *,
        output_size: builtins.int | None = None,
    ) -> Tensor:
        """Every element (or slice along ``dim``) repeated so many times in place."""
    @builtins.property
    def requires_grad(self) -> builtins.bool:
        """Whether gradients with respect to this tensor are to be computed."""
    @requires_grad.setter
    def requires_grad(self, value: builtins.bool) -> None:
        ...
    @requires_grad.deleter
    def requires_grad(self) -> None:
        ...
    def requires_grad_(self, requires_grad: builtins.bool = True) -> Tensor:
        """Set whether gradients are computed for this leaf, in place; return the tensor."""
    def reshape(self, *sizes: _Any, shape: _Sequence[builtins.int] | None = None) -> Tensor:
        """The same elements in order under another shape: a view where possible, else a copy."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """``input.reshape(other.shape)``."""
    def resize(self, *sizes: _Any) -> Tensor:
        """`reshape`, under a name torch has deprecated."""
    def resize_(self, *sizes: _Any, size: _Any = None, memory_format: _Any = None) -> Tensor:
        """Give the tensor another number of elements: what it holds stays in front, the rest
        of a larger one is uninitialised.
        """
    def resize_as(self, tensor: Tensor) -> Tensor:
        """`reshape_as`, under a name torch has deprecated."""
    def resize_as_(self, the_template: Tensor, memory_format: _Any = None) -> Tensor:
        """``input.resize_(the_template.shape)``, by default in its own order of memory."""
    def resize_as_sparse_(self, the_template: Tensor) -> Tensor:
        """Give a sparse tensor the sizes of another; what it holds stays."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself, or a copy if its conjugation is put off."""
    def resolve_neg(self) -> Tensor:
        """The tensor itself, or a copy if its negation is put off."""
    def retain_grad(self) -> None:
        """Make backward store the gradient of this non-leaf tensor in ``grad``, too."""
    @builtins.property
    def retains_grad(self) -> builtins.bool:
        """Whether `retain_grad` was called on this non-leaf tensor."""
    def roll(
        self,
        shifts: builtins.int | _Sequence[builtins.int],
        dims: builtins.int | _Sequence[builtins.int] | None = None,
    ) -> Tensor:
        """Shift the elements along ``dims``; what leaves at one end enters at the other.
        Without dims the elements are shifted as one sequence.
        """
    def rot90(self, k: builtins.int = 1, dims: _Sequence[builtins.int] = ...) -> Tensor:
        """Turn the plane of two dimensions by 90 degrees, ``k`` times, from the first to the
        second.
        """
    def round(self, *, decimals: builtins.int = ...) -> Tensor:
        """Each element rounded to ``decimals`` places, 0 unless given, halves to the even
        neighbour.
        """
    def round_(self, *, decimals: builtins.int = ...) -> Tensor:
        """In-place version of `round`; returns the tensor."""
    def row_indices(self) -> _Any:
        """The row of each stored element."""
    def rsqrt(self) -> Tensor:
        """``1 / sqrt(input)``."""
    def rsqrt_(self) -> Tensor:
        """In-place version of `rsqrt`; returns the tensor."""
    def scatter(
        self,
        dim: builtins.int,
        index: Tensor,
        src: Tensor | builtins.complex = ...,
        *,
        value: builtins.complex = ...,
        reduce: builtins.str = ...,
    ) -> Tensor:
        """A copy with ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``, and so on."""
    def scatter_(
        self,
        dim: builtins.int,
        index: Tensor,
        src: Tensor | builtins.complex = ...,
        *,
        value: builtins.complex = ...,
        reduce: builtins.str = ...,
    ) -> Tensor:
        """In-place version of `scatter`; returns the tensor."""
    def scatter_add(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """A copy with ``out[index[i][j]][j] += src[i][j]`` for ``dim=0``; repeated indices
        add up.
        """
    def scatter_add_(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """In-place version of `scatter_add`; returns the tensor."""
    def scatter_reduce(
        self,
        dim: builtins.int,
        index: Tensor,
        src: Tensor,
        reduce: builtins.str,
        *,
        include_self: builtins.bool = True,
    ) -> Tensor:
        """A copy in which all ``src`` elements with one target are reduced into it."""
    def scatter_reduce_(
        self,
        dim: builtins.int,
        index: Tensor,
        src: Tensor,
        reduce: builtins.str,
        *,
        include_self: builtins.bool = True,
    ) -> Tensor:
        """In-place version of `scatter_reduce`; returns the tensor."""
    def select(self, dim: builtins.int, index: builtins.int) -> Tensor:
        """The slice at ``index`` of dimension ``dim``, which is dropped; a view."""
    def select_scatter(self, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
        """A copy of ``input`` with ``src`` at ``index`` of dimension ``dim``."""
    def set_(
        self,
        source: _Any = None,
        storage_offset: builtins.int = 0,
        size: _Sequence[builtins.int] | None = None,
        stride: builtins.int | _Sequence[builtins.int] | None = None,
    ) -> Tensor:
        """Let the tensor use the memory of ``source`` (no memory without one)."""
    def sgn(self) -> Tensor:
        """The sign of each element; of a complex number ``input / abs(input)``, 0 at 0."""
    def sgn_(self) -> Tensor:
        """In-place version of `sgn`; returns the tensor."""
    @builtins.property
    def shape(self) -> _Size:
        """The size of each dimension."""
    def share_memory_(self) -> Tensor:
        """Move its storage to memory that processes share: those that are forked from now on,
        and those that it is sent to by `nnkit.multiprocessing`.
        """
    def short(self, *, memory_format: _Any = None) -> Tensor:
        """The tensor in dtype nnkit.int16."""
    def sigmoid(self) -> Tensor:
        """``1 / (1 + exp(-input))``."""
    def sigmoid_(self) -> Tensor:
        """In-place version of `sigmoid`; returns the tensor."""
    def sign(self) -> Tensor:
        """-1, 0 or 1 by the sign of each element."""
    def sign_(self) -> Tensor:
        """In-place version of `sign`; returns the tensor."""
    def signbit(self) -> Tensor:
        """The sign bit is set."""
    def sin(self) -> Tensor:
        """The sine of an angle in radians."""
    def sin_(self) -> Tensor:
        """In-place version of `sin`; returns the tensor."""
    def sinc(self) -> Tensor:
        """``sin(pi * input) / (pi * input)``, 1 at 0."""
    def sinc_(self) -> Tensor:
        """In-place version of `sinc`; returns the tensor."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine, ``(exp(x) - exp(-x)) / 2``."""
    def sinh_(self) -> Tensor:
        """In-place version of `sinh`; returns the tensor."""
    def size(self, dim: builtins.int | None = None) -> _Any:
        """The shape, or the size of one dimension."""
    def slice_scatter(
        self,
        src: Tensor,
        dim: builtins.int = 0,
        start: builtins.int | None = None,
        end: builtins.int | None = None,
        step: builtins.int = 1,
    ) -> Tensor:
        """A copy of ``input`` with ``src`` in ``start:end:step`` of dimension ``dim``."""
    def slogdet(self) -> _Any:
        """The sign and the logarithm of the absolute value of determinants, without overflow."""
    def smm(self, mat2: Tensor) -> Tensor:
        """The product of a sparse and a strided matrix, as a sparse one of whole rows."""
    def softmax(self, dim: builtins.int, dtype: _dtype | None = None) -> Tensor:
        """``exp(input) / sum(exp(input), dim)``: positive numbers that add up to 1 along
        ``dim``.
        """
    def sort(
        self,
        dim: builtins.int = -1,
        descending: builtins.bool = False,
        stable: builtins.bool | None = False,
    ) -> _Any:
        """The elements in ascending (or descending) order along ``dim``, and where each came
        from.
        """
    def sparse_dim(self) -> builtins.int:
        """The number of sparse dimensions: none."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements of ``input`` at the indices of a sparse tensor."""
    def sparse_resize_(
        self,
        size: _Sequence[builtins.int],
        sparse_dim: builtins.int,
        dense_dim: builtins.int,
    ) -> _Any:
        """Sparse tensors alone have it."""
    def sparse_resize_and_clear_(
        self,
        size: _Sequence[builtins.int],
        sparse_dim: builtins.int,
        dense_dim: builtins.int,
    ) -> _Any:
        """Sparse tensors alone have it."""
    def split(
        self,
        split_size: builtins.int | _Sequence[builtins.int],
        dim: builtins.int = 0,
    ) -> builtins.tuple[Tensor, ...]:
        """Views of consecutive pieces along ``dim``."""
    def split_with_sizes(
        self,
        split_sizes: _Sequence[builtins.int],
        dim: builtins.int = 0,
    ) -> builtins.tuple[Tensor, ...]:
        """Views of consecutive pieces of the given sizes along ``dim``."""
    def sqrt(self) -> Tensor:
        """The square root; NaN for negative real numbers."""
    def sqrt_(self) -> Tensor:
        """In-place version of `sqrt`; returns the tensor."""
    def square(self) -> Tensor:
        """The square of each element."""
    def square_(self) -> Tensor:
        """In-place version of `square`; returns the tensor."""
    def squeeze(
        self,
        dim: builtins.int | _Sequence[builtins.int] = ...,
        *more: builtins.int,
    ) -> Tensor:
        """Drop the dimensions of size 1: all, or those in ``dim``, an int or a tuple; the
        method takes several ints, too.
        """
    def squeeze_(self, *arguments: _Any, **options: _Any) -> Tensor:
        """In-place version of `squeeze`; returns the tensor."""
    def sspaddmm(
        self,
        mat1: Tensor,
        mat2: Tensor,
        *,
        beta: builtins.float = 1,
        alpha: builtins.float = 1,
    ) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)`` for sparse ``input`` and ``mat1``; sparse."""
    def std(
        self,
        dim: builtins.int | builtins.tuple | builtins.bool | None = ...,
        unbiased: builtins.bool = ...,
        keepdim: builtins.bool = False,
        *,
        correction: builtins.float | None = None,
    ) -> Tensor:
        """The standard deviation, the square root of `var`. Its gradient is 0 where it is 0."""
    def stft(
        self,
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
    def storage(self) -> _TypedStorage:
        """Its memory, counted in elements."""
    def storage_offset(self) -> builtins.int:
        """The number of elements in the storage before the tensor's first."""
    def storage_type(self) -> _Any:
        """The class of its `storage`, such as ``nnkit.FloatStorage``."""
    def stride(self, dim: builtins.int | None = None) -> _Any:
        """The distance in elements between neighbours along each dimension, or along one."""
    def sub(self, other: Tensor | builtins.complex, *, alpha: builtins.complex = 1) -> Tensor:
        """The difference ``input - alpha * other``, with broadcasting and type promotion."""
    def sub_(self, other: Tensor | builtins.complex, *, alpha: builtins.complex = 1) -> Tensor:
        """In-place version of `sub`; returns the tensor."""
    def subtract(self, other: Tensor | builtins.complex, *, alpha: builtins.complex = 1) -> Tensor:
        """The difference ``input - alpha * other``, with broadcasting and type promotion."""
    def subtract_(self, other: Tensor | builtins.complex, *, alpha: builtins.complex = 1) -> Tensor:
        """In-place version of `sub`; returns the tensor."""
    def sum(
        self,
        dim: builtins.int | _Sequence[builtins.int] | None = ...,
        keepdim: builtins.bool = False,
        *,
        dtype: _Any = None,
    ) -> Tensor:
        """The sum of all elements, or along dimensions."""
    def sum_to_size(self, *sizes: _Any, size: _Sequence[builtins.int] | None = None) -> Tensor:
        """The sum over the dimensions that `expand` would repeat to get from ``size`` to its
        shape.
        """
    def svd(self, some: builtins.bool = True, compute_uv: builtins.bool = True) -> _Any:
        """The singular value decomposition: ``U @ diag(S) @ V.mH`` is the input."""
    def swapaxes(self, axis0: builtins.int, axis1: builtins.int) -> Tensor:
        """`transpose` with NumPy's names."""
    def swapaxes_(self, *arguments: _Any, **options: _Any) -> Tensor:
        """In-place version of `swapaxes`; returns the tensor."""
    def swapdims(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Exchange two dimensions, as a view."""
    def swapdims_(self, *arguments: _Any, **options: _Any) -> Tensor:
        """In-place version of `transpose`; returns the tensor."""
    def t(self) -> Tensor:
        """The transpose of a matrix; a vector or a 0-dim tensor stays what it is."""
    def t_(self, *arguments: _Any, **options: _Any) -> Tensor:
        """In-place version of `t`; returns the tensor."""
    def take(self, index: Tensor) -> Tensor:
        """The elements at positions ``index`` of the flattened input, in the shape of
        ``index``.
        """
    def take_along_dim(self, indices: Tensor, dim: builtins.int | None = None) -> Tensor:
        """`gather` whose input and indices are broadcast except along ``dim``; without
        ``dim`` both are flattened. Goes with `argsort` and `argmax`.
        """
    def tan(self) -> Tensor:
        """The tangent of an angle in radians."""
    def tan_(self) -> Tensor:
        """In-place version of `tan`; returns the tensor."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent, ``sinh(x) / cosh(x)``."""
    def tanh_(self) -> Tensor:
        """In-place version of `tanh`; returns the tensor."""
    def tensor_split(
        self,
        indices_or_sections: _Any = ...,
        dim: builtins.int = 0,
        *,
        tensor_indices_or_sections: Tensor = ...,
        indices: _Sequence[builtins.int] = ...,
        sections: builtins.int = ...,
    ) -> builtins.tuple[Tensor, ...]:
        """Views of pieces: that many nearly equal ones, or cut at the given indices."""
    def tile(self, *times: _Any, dims: _Sequence[builtins.int] | None = None) -> Tensor:
        """`repeat` whose missing leading counts are 1; the method takes them one by one too."""
    def to(self, *target: _Any, **options: _Any) -> Tensor:
        """Convert to a dtype, a device, or those of another tensor: ``to(dtype)``,
        ``to(device)``, ``to(device, dtype)``, ``to(other)``.
        """
    def to_dense(self, dtype: _Any = None, *, masked_grad: builtins.bool | None = None) -> Tensor:
        """The tensor itself, cast if another dtype is given: every tensor here is dense."""
    def to_sparse(
        self,
        sparse_dim: _Any = None,
        *,
        layout: _Any = None,
        blocksize: _Any = None,
        dense_dim: builtins.int | None = None,
    ) -> Tensor:
        """The same tensor in a sparse layout."""
    def to_sparse_bsc(self, blocksize: _Any, dense_dim: builtins.int | None = None) -> Tensor:
        """The same matrix by columns of blocks, ``nnkit.sparse_bsc``."""
    def to_sparse_bsr(self, blocksize: _Any, dense_dim: builtins.int | None = None) -> Tensor:
        """The same matrix by rows of blocks, ``nnkit.sparse_bsr``."""
    def to_sparse_coo(self) -> Tensor:
        """The same tensor by coordinates, ``nnkit.sparse_coo``."""
    def to_sparse_csc(self, dense_dim: builtins.int | None = None) -> Tensor:
        """The same matrix by columns, ``nnkit.sparse_csc``."""
    def to_sparse_csr(self, dense_dim: builtins.int | None = None) -> Tensor:
        """The same matrix by rows, ``nnkit.sparse_csr``."""
    def tolist(self) -> _Any:
        """The elements as nested Python lists; of a 0-dim tensor, the number."""
    def topk(
        self,
        k: builtins.int,
        dim: builtins.int = -1,
        largest: builtins.bool = True,
        sorted: builtins.bool = True,
    ) -> _Any:
        """The ``k`` largest (or smallest) elements along ``dim``, in order, and their
        indices.
        """
    def trace(self) -> Tensor:
        """The sum of a matrix' diagonal."""
    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Exchange two dimensions, as a view."""
    def transpose_(self, *arguments: _Any, **options: _Any) -> Tensor:
        """In-place version of `transpose`; returns the tensor."""
    def triangular_solve(
        self,
        A: Tensor,
        upper: builtins.bool = True,
        transpose: builtins.bool = False,
        unitriangular: builtins.bool = False,
    ) -> _Any:
        """The X with ``A @ X = input`` (``A.mT @ X`` with ``transpose``) for triangular A."""
    def tril(self, diagonal: builtins.int = 0) -> Tensor:
        """The lower triangle of matrices, zero elsewhere; ``diagonal`` is the last one kept."""
    def tril_(self, diagonal: builtins.int = 0) -> Tensor:
        """In-place version of `tril`; returns the tensor."""
    def triu(self, diagonal: builtins.int = 0) -> Tensor:
        """The upper triangle of matrices, zero elsewhere; ``diagonal`` is the first one kept."""
    def triu_(self, diagonal: builtins.int = 0) -> Tensor:
        """In-place version of `triu`; returns the tensor."""
    def true_divide(self, other: Tensor | builtins.complex) -> Tensor:
        """``input / other``; integers are divided as floats."""
    def true_divide_(self, other: Tensor | builtins.complex) -> Tensor:
        """In-place version of `true_divide`; returns the tensor."""
    def trunc(self) -> Tensor:
        """Each element rounded towards zero."""
    def trunc_(self) -> Tensor:
        """In-place version of `trunc`; returns the tensor."""
    def type(
        self,
        dtype: builtins.type | _dtype | builtins.str | None = None,
        non_blocking: builtins.bool = False,
    ) -> _Any:
        """Its type's name, such as ``nnkit.FloatTensor``; with a dtype (or such a name), `to`
        it.
        """
    def type_as(self, other: Tensor) -> Tensor:
        """``input`` in the dtype and on the device of ``other``."""
    def unbind(self, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """Views of all slices along ``dim``, which is dropped."""
    def unflatten(self, dim: builtins.int, sizes: _Sequence[builtins.int]) -> Tensor:
        """Split dimension ``dim`` into ``sizes``, one of which may be -1."""
    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """Windows of ``size`` elements, ``step`` apart, along ``dimension``, in a new last
        dimension.
        """
    def uniform_(
        self,
        low: _Any = ...,
        to: builtins.float = ...,
        *,
        generator: _Any = None,
        **options: _Any,
    ) -> Tensor:
        """Fill with numbers of the uniform distribution on [from, to), in place."""
    def unique(
        self,
        sorted: builtins.bool = True,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: builtins.int | None = None,
    ) -> _Any:
        """The distinct elements in ascending order (distinct slices along ``dim``)."""
    def unique_consecutive(
        self,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: builtins.int | None = None,
    ) -> _Any:
        """The elements (slices along ``dim``) that differ from the one before them."""
    def unsafe_chunk(
        self,
        chunks: builtins.int,
        dim: builtins.int = 0,
    ) -> builtins.tuple[Tensor, ...]:
        """`chunk` into pieces that may be written into one by one."""
    def unsafe_split(
        self,
        split_size: builtins.int,
        dim: builtins.int = 0,
    ) -> builtins.tuple[Tensor, ...]:
        """`split` into pieces that may be written into one by one while gradients are
        recorded.
        """
    def unsafe_split_with_sizes(
        self,
        split_sizes: _Sequence[builtins.int],
        dim: builtins.int = 0,
    ) -> builtins.tuple[Tensor, ...]:
        """`split_with_sizes` into pieces that may be written into one by one."""
    def unsqueeze(self, dim: builtins.int) -> Tensor:
        """Insert a dimension of size 1 at position ``dim``."""
    def unsqueeze_(self, *arguments: _Any, **options: _Any) -> Tensor:
        """In-place version of `unsqueeze`; returns the tensor."""
    def untyped_storage(self) -> _UntypedStorage:
        """Its memory, counted in bytes."""
    def values(self) -> _Any:
        """The stored elements of a sparse tensor, (n, *dense_dims)."""
    def var(
        self,
        dim: builtins.int | builtins.tuple | builtins.bool | None = ...,
        unbiased: builtins.bool = ...,
        keepdim: builtins.bool = False,
        *,
        correction: builtins.float | None = None,
    ) -> Tensor:
        """The variance of all elements, or along dimensions: ``sum((x - mean)**2) / (n -
        correction)``.
        """
    def vdot(self, other: Tensor) -> Tensor:
        """`dot` with the complex conjugate of ``input``."""
    def view(
        self,
        *shape: _Any,
        size: _Sequence[builtins.int] | None = None,
        dtype: _Any = None,
    ) -> Tensor:
        """`reshape` that never copies; with a dtype, the same bytes read as another type."""
    def view_as(self, other: Tensor) -> Tensor:
        """``input.view(other.shape)``."""
    @builtins.property
    def volatile(self) -> builtins.bool:
        """Deprecated: whether the tensor takes no part in a graph."""
    def vsplit(self, *given: _Any, **named: _Any) -> builtins.tuple[Tensor, ...]:
        """The function as a method, which also takes the positions to cut at as separate
        arguments.
        """
    def where(self, condition: Tensor, other: _Any) -> Tensor:
        """``self`` where ``condition`` holds, else ``other``."""
    def xlogy(self, other: Tensor | builtins.complex) -> Tensor:
        """``input * log(other)``, 0 where ``input`` is 0; either may be a number, neither
        complex.
        """
    def xlogy_(self, other: Tensor | builtins.complex) -> Tensor:
        """In-place version of `xlogy`; returns the tensor."""
    def zero_(self) -> Tensor:
        """Overwrite every element with 0; returns the tensor."""

def primal_of(tensor: Tensor) -> Tensor:
    """The primal of a dual tensor of `forward_ad`, whose history it shows; other tensors as
    they are.
    """
def _place_of(x: _Any) -> builtins.str:
    ...
def can_take_memory(x: _Any, new: _Any) -> builtins.bool:
    """Whether ``x.data = new`` is allowed: the layouts agree, and both or neither have data."""
def on_its_own(result: Tensor) -> Tensor:
    """``result``, a tensor that nobody else holds, no longer marked as a view; it gets a
    write counter of its own.
    """
def recast(tensor: Tensor, cls: builtins.type) -> _Any:
    """Turn a tensor that nobody else holds into one of a subclass; a new object if the
    subclass has slots.
    """
def fill(self: Tensor, data: _Array, place: _Any) -> None:
    """Set the slots of a new leaf."""
def wrap_in_python(data: _Array, place: _Any = ...) -> Tensor:
    """A new leaf Tensor that holds a backend array."""
def differentiable(x: Tensor) -> Tensor:
    """The tensor itself, or a new leaf on its memory if the dtype has no derivatives."""
blank: _Any
wrap: _Callable[..., Tensor]
