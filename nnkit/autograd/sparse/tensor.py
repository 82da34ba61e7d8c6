"""`SparseTensor`: the base class of the tensors of all sparse layouts.

It is an instance of Tensor that holds the *values*, so that history, gradients, hooks and backward
are those of the values; its ``__torch_function__`` finds what a function does in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from nnkit.autograd.arguments.overriding import DisableTorchFunctionSubclass
from nnkit.autograd.engine.node import WITH_INDICES
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import USUAL, write_out
from nnkit.autograd.op.public import COMPOSED, PUBLIC
from nnkit.autograd.surface.printing import OPTIONS, format_values
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.writes import check_cast
from nnkit.backend.dtype import bool_, default_dtype, int64
from nnkit.backend.memory import layout

# Functions that concern the values or the object alone, and so are called as they are.
_OF_OBJECT = frozenset(
    "grad register_hook register_post_accumulate_grad_hook retain_grad is_floating_point is_complex"
    " is_inference element_size is_pinned get_device backward is_signed result_type".split()
)


class SparseTensor(Tensor):
    """A tensor of a sparse layout, made by `nnkit.sparse_coo_tensor` and its neighbours.

    Attributes:
        functions: the functions that are defined for this layout, by name.
    """

    functions: ClassVar[dict[str, Callable]] = {}
    _layout: layout
    _shape: Size
    _names: ClassVar[tuple[str, ...]] = ()  # of the attributes that hold its indices
    batch_dims: Any = 0  # dimensions of a batch of matrices, which come first

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        WITH_INDICES.add(cls)

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        if not all(issubclass(kind, SparseTensor) or kind is Tensor for kind in types):
            return NotImplemented
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__", "__delete__") or name in _OF_OBJECT:
            with DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        if name in ("is_conj", "is_neg"):  # only strided tensors are conjugated lazily
            return False
        found = cls.functions.get(name) or COMPOSED.get(name)
        if found is None:
            raise NotImplementedError(
                f"{name}() is not defined for tensors of layout {cls._layout}: "
                "make one that is strided with to_dense()"
            )
        options = dict(kwargs or {})
        out = options.pop("out", None)
        if out is None:
            return found(*args, **options)
        if name in ("zeros", "empty"):
            options["dtype"] = options.get("dtype") or out.dtype
        elif not any(isinstance(a, SparseTensor) for a in args):
            raise RuntimeError(f"{name}(): Tensor should be sparse where argument 'out' is")
        return into(out, found(*args, **options), name)

    # Properties that Tensor reads from its array

    @property
    def shape(self) -> Size:
        """The sizes of its dimensions."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    @property
    def layout(self) -> layout:
        """How its elements are stored."""
        return self._layout

    @property
    def T(self) -> Any:
        """Its dimensions in reverse order."""
        return self.permute(*range(self.ndim - 1, -1, -1))  # type: ignore[attr-defined]

    @property
    def mT(self) -> Any:
        """Its last two dimensions exchanged."""
        return self.transpose(-2, -1)  # type: ignore[attr-defined]

    @property
    def H(self) -> Any:
        """The conjugate of a matrix, transposed."""
        if self.ndim != 2:
            raise RuntimeError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
            )
        return self.mT.conj()

    mH = property(lambda self: self.mT.conj(), doc="The conjugate of ``mT``.")

    @property
    def data(self) -> Any:
        """The same indices and values without history."""
        return self.like(self.stored().data)

    @data.setter
    def data(self, new: Any) -> None:
        if not isinstance(new, type(self)):
            raise RuntimeError(
                f"data set to an incompatible tensor type: layout {new.layout}, expected "
                f"{self._layout}"
            )
        self._become(new)

    @property
    def grad(self) -> Any:
        """The gradient, a sparse tensor with the same indices."""
        found = self._grad
        if found is not None and found.__class__ is Tensor:
            self._grad = found = self.like(found)
        return found

    @grad.setter
    def grad(self, new: Any) -> None:
        Tensor.grad.__set__(self, new)

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of a 0-d tensor")
        return self._shape[0]

    def __bool__(self) -> bool:
        return bool(self.item())  # type: ignore[attr-defined]

    def __contains__(self, value: Any) -> bool:
        raise NotImplementedError(f"'in' is not defined for tensors of layout {self._layout}")

    # Values and indices

    def stored(self) -> Tensor:
        """The values as an ordinary tensor, with their history."""
        with DisableTorchFunctionSubclass():
            return self.as_subclass(Tensor)  # type: ignore[attr-defined]

    def parts(self) -> tuple:
        """The parts that files store: indices, values without history, shape."""
        indices = [self.__dict__[name] for name in self._names]
        return (*indices, self.stored().detach(), self._shape)

    def like(self, values: Tensor, **changed: Any) -> Any:
        """A tensor with the same indices and other values; ``changed`` are other attributes."""
        kept = {k: v for k, v in self.__dict__.items() if k in (*self._names, "_shape")}
        return type(self).with_values(values, **{**kept, **changed})

    def elements_of(self, other: Tensor) -> Any:
        """The elements of another tensor of this shape at the indices of this one."""
        pairs = ((self.__dict__[name], other.__dict__[name]) for name in self._names)
        if type(other) is type(self) and all(a is b or _same(a, b) for a, b in pairs):
            return other
        return self.functions["sparse_mask"](other, self.like(self.stored().detach()))

    @classmethod
    def with_values(cls, values: Tensor, **attributes: Any) -> Any:
        """The sparse tensor of this class with these values, their memory and their history."""
        if values.requires_grad:
            out: Any = values.as_subclass(cls)  # type: ignore[attr-defined]
        else:
            out = values.detach()
            out.__class__ = cls
        out.__dict__.update(attributes)
        return out

    def _become(self, new: SparseTensor) -> Any:
        """This tensor, which an in-place operation turns into ``new``.

        Raises:
            RuntimeError: a leaf that requires a gradient is written while grad mode is on.
        """
        if MODE.enabled and self.requires_grad and self.is_leaf:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        if new.requires_grad:
            self._edge, self._requires_grad = new._edge, True
            self._base, self._view, self._viewed = new._base, new._view, new._viewed
        self._array = new._array
        if not self.is_inference():
            self._writes = [self._version + 1, "sparse", self._writes[2]]
            self._viewed = self._writes[0]
        self.__dict__.update(new.__dict__)
        return self

    # Copies

    def __copy__(self) -> Any:
        return self.like(self.stored().detach()).requires_grad_(self.requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            if not self.is_leaf:
                raise RuntimeError(
                    "Only Tensors created explicitly by the user (graph leaves) support the "
                    "deepcopy protocol at the moment"
                )
            parts = {name: getattr(self, name).clone() for name in self._names}
            copy = self.like(self.stored().detach().clone(), **parts)
            memo[id(self)] = copy.requires_grad_(self.requires_grad)
            if self._grad is not None:
                copy._grad = self.grad.clone()
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple:
        parts = {name: value for name, value in self.__dict__.items() if name in self._names}
        values = self.stored().detach()
        return _rebuilt, (type(self), values, {**parts, "_shape": self._shape}, self.requires_grad)

    # Printing

    def _texts(self) -> list[tuple[str, Tensor]]:
        """The indices as they are printed: a name and a tensor for each."""
        raise NotImplementedError

    def _printed(self, below: bool) -> str:
        """Its text; shape, dtype and the like begin on the line ``below`` the values or after
        them."""
        parts = [_named(name, part) for name, part in self._texts()]
        values = self.stored().detach()
        notes = [f"size={tuple(self._shape)}"]
        if self._device.type != "meta":
            notes.append(f"nnz={self._nnz()}")
        if self._device.type != "cpu":
            notes.insert(0, f"device='{self._device}'")
        default = default_dtype()
        if self.dtype not in (default, default.to_complex(), int64, bool_):
            notes.append(f"dtype={self.dtype}")
        notes.append(f"layout={self._layout}")
        if self.grad_fn is not None:
            notes.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
        elif self.requires_grad:
            notes.append("requires_grad=True")
        text = "tensor(" + (",\n" + " " * 7).join([*parts, _named("values", values)])
        line = len(text) - text.rfind("\n") + 1  # as for other tensors
        for note in notes:
            if below or line + len(note) + 2 > OPTIONS.linewidth:
                text += ",\n" + " " * 7 + note
                line, below = 7 + len(note), False
            else:
                text += ", " + note
                line += len(note) + 2
        return text + ")"

    def _nnz(self) -> int:
        """The number of elements, rows or blocks that are stored."""
        return self._array.shape[0]


def _same(one: Tensor, other: Any) -> bool:
    return one.shape == other.shape and bool((one == other).all())


def into(out: Any, result: Any, name: str) -> Any:
    """The argument ``out`` of a function after the result has been written into it."""
    if isinstance(out, SparseTensor) is not isinstance(result, SparseTensor):
        raise RuntimeError(
            f"{name}(): Tensor should be sparse: the result is of layout {result.layout}, argument "
            f"'out' of {out.layout}"
        )
    check_cast(name, result.dtype, out.dtype)
    if isinstance(out, SparseTensor):
        out._become(result.detach().to(out.dtype))
        return out.requires_grad_() if result.requires_grad and result.is_leaf else out
    facts: Any = getattr(PUBLIC.get(name), "takes_out", None) or USUAL
    return write_out(out, result, name, facts)


def _named(name: str, part: Tensor) -> str:
    """The text of a part, without the facts that are printed for the whole tensor."""
    is_meta = part._device.type == "meta"
    if is_meta or not part._array.size:
        return f"{name}=tensor({'...' if is_meta else '[]'}, size={tuple(part.shape)})"
    opening = f"{name}=tensor("
    data = part._device.backend.to_numpy(part._array)
    return opening + format_values(data, part.dtype, len("tensor(" + opening)) + ")"


def _rebuilt(kind: Any, values: Tensor, attributes: dict, requires_grad: bool) -> Any:
    """The tensor that was pickled."""
    return kind.with_values(values, **attributes).requires_grad_(requires_grad)
