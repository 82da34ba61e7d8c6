"""`Tensor`: one backend array with a place in a graph.

This file holds the object itself. Its methods are the public functions of `nnkit.autograd.ops`,
which attach themselves to it, as do its text (`nnkit.autograd.surface.printing`) and what makes
one from data (`nnkit.autograd.ops.exchange.interchange`).
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from nnkit.autograd.compiled import bind_wrap
from nnkit.autograd.engine.leaves import gradient_dtype
from nnkit.autograd.engine.node import Node, OutputEdge, RemovableHandle, Unknown, leaf_hooks
from nnkit.autograd.grad_mode import MODE, refuse_in_transform
from nnkit.autograd.living import Living
from nnkit.backend.array import Array
from nnkit.backend.device import cpu, device
from nnkit.backend.dtype import FLOATING, OF_ARRAY, dtype, package_of
from nnkit.backend.memory import sparse_coo
from nnkit.backend.warning import warn

TRACED: set[type] = set()  # classes of ints that remember where they come from


class Size(tuple[int, ...]):
    """A shape: a tuple of ints that prints and slices as ``torch.Size`` does."""

    __slots__ = ()

    def __new__(cls, sizes: Any = ()) -> Size:
        numbers = []
        for position, n in enumerate(sizes):
            try:
                # Sizes that are traced are ints of another class.
                numbers.append(n if type(n) in TRACED else int(operator.index(n)))
            except TypeError:
                raise TypeError(
                    f"Size() takes an iterable of int, got {type(n).__name__} at {position}"
                ) from None
        return tuple.__new__(cls, numbers)

    def numel(self) -> int:
        """The product of the sizes: how many elements a tensor of this shape has."""
        product = 1
        for n in self:
            product *= n
        return product

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return tuple.__new__(Size, found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Size:
        if isinstance(other, tuple):
            return Size(tuple.__add__(self, other))
        if hasattr(type(other), "__radd__"):
            return NotImplemented
        raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")

    def __radd__(self, other: Any) -> Size:
        return Size(other) + self if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"{package_of(self)}.Size({list(self)})"

    def __reduce__(self):
        return (Size, (tuple(self),))


_size_of = tuple.__new__


class Tensor(Living):
    """A multi-dimensional array of one dtype that can be differentiated through.

    Made by `nnkit.tensor`, `nnkit.zeros`, ...; ``Tensor(2, 3)`` gives an uninitialised float32
    tensor of that shape and ``Tensor([1, 2])`` a float32 copy of data, as ``torch.Tensor`` does.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """

    __slots__ = (
        "__dict__", "__weakref__", "_base", "_array", "_device", "_edge", "_grad", "_hooks",
        "_requires_grad", "_writes", "_view", "_viewed",
    )  # fmt: skip
    __array_priority__ = 1000  # NumPy's binary operators leave the work to ours

    @staticmethod
    def _make_subclass(subclass: type, data: Tensor, require_grad: bool = False) -> Any:
        """A tensor of class ``subclass`` on the memory of ``data``, as a new leaf."""
        self = blank(subclass)
        fill(self, data._array, data._device)
        self._writes = data._writes
        return self._set_requires_grad(require_grad)

    # What it is made of

    @property
    def shape(self) -> Size:
        """The sizes of its dimensions."""
        return _size_of(Size, self._array.shape)  # past the checks, which cost more than the rest

    @property
    def dtype(self) -> dtype:
        """The type of its elements."""
        return OF_ARRAY[self._array.dtype]

    @property
    def device(self) -> device:
        """The device that its memory is on."""
        return self._device

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all its elements."""
        return self._array.size * self.dtype.itemsize

    @property
    def is_cuda(self) -> bool:
        """Whether it lives on an NVIDIA GPU."""
        return self._device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        """Whether it is on the device ``meta``, and has no memory."""
        return self._device.type == "meta"

    @property
    def is_cpu(self) -> bool:
        """Whether it lives in the computer's main memory."""
        return self._device.type == "cpu"

    @property
    def data(self) -> Tensor:
        """The same memory without history; writing to it is not seen by autograd."""
        self._device.check_data()
        out = self.detach()
        if not out._is_inference():
            counter = counter_of(self._writes)
            out._writes = [0, None, counter and counter[2]]
        return out

    @data.setter
    def data(self, new: Tensor) -> None:
        if not isinstance(new, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
        depth = self._device.depth or new._device.depth
        if depth and not (self._device.by_hand or new._device.by_hand):
            raise RuntimeError(
                "data of a tensor cannot be set inside of a function that nnkit.func transforms"
            )
        if not can_take_memory(self, new):
            raise RuntimeError(
                "data set to an incompatible tensor type: got one of "
                f"{_place_of(new)}, expected {_place_of(self)}"
            )
        if self.requires_grad and new.dtype.category < FLOATING:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                f"dtype, got {new.dtype}"
            )
        replace_memory(self, new._array)
        self._device = new._device
        before, after = self._writes.__class__, new._writes.__class__
        if (before is InferenceWrites) != (after is InferenceWrites) and self._base is None:
            counter = counter_of(self._writes)
            if after is InferenceWrites:
                self._writes = UNTRACKED if counter is None else InferenceWrites(counter)
            else:
                self._writes = Uncounted() if counter is None else counter

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    # Its place in the graph

    @property
    def requires_grad(self) -> bool:
        """Whether gradients with respect to it are wanted."""
        if self._device.by_hand:
            return primal_of(self).requires_grad
        if self._base is not None:
            if isinstance(self._view, str):
                own = self._requires_grad and self._edge.__class__ is not Unknown
                return own or self._base._requires_grad
            if self._writes[0] != self._viewed:
                if self._base._requires_grad:
                    return True
                from nnkit.autograd.views.history import refresh

                refresh(self)
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._is_recorded():
            raise RuntimeError(_NOT_A_LEAF)
        self._set_requires_grad(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("Deleting requires_grad is not allowed: set it to False instead")

    def _is_recorded(self) -> bool:
        """Whether it has a history, as far as that was asked for: torch leaves it open here what a
        write to the base of a view has made of the view."""
        return self._edge is not None and self._edge.__class__ is not Unknown

    def _set_requires_grad(self, value: bool) -> Tensor:
        """The same as a call that returns the tensor."""
        if not value and self._is_recorded():
            raise RuntimeError(_NOT_A_LEAF)
        if value and self._is_inference() and not MODE.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed."
            )
        if value and OF_ARRAY[self._array.dtype].category < FLOATING:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients, "
                f"got {self.dtype}"
            )
        if self._edge.__class__ is Unknown:
            if not value:
                return self
            self._edge = None
        self._requires_grad = bool(value)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Say whether this leaf wants a gradient; returns itself.

        Raises:
            RuntimeError: it is no leaf, its dtype is neither floating point nor complex, or the
                call is inside of a function that `nnkit.func` transforms.
        """
        refuse_in_transform("Tensor.requires_grad_()")
        return self._set_requires_grad(requires_grad)

    @property
    def is_leaf(self) -> bool:
        """Whether it was not made by a recorded operation."""
        return self.grad_fn is None

    @property
    def grad_fn(self) -> Any:
        """The node of the operation that made it, None for a leaf."""
        if self._device.by_hand:
            return primal_of(self).grad_fn
        if self._base is not None:
            from nnkit.autograd.views.history import check_history, refresh

            view: Any = self
            check_history(view)
            refresh(view)
        edge: Any = self._edge
        if edge.__class__ is OutputEdge:
            return edge.node
        return None if edge.__class__ is Unknown else edge

    _grad_fn = grad_fn

    @property
    def output_nr(self) -> int:
        """The number of the output of ``grad_fn`` that it is."""
        edge: Any = self._edge
        return edge.index if edge.__class__ is OutputEdge else 0

    @property
    def grad(self) -> Any:
        """The accumulated gradient of a leaf; None before the first backward."""
        is_leaf = self._edge is None or self._edge.__class__ is Unknown  # as far as it is known
        if self._grad is None and not (is_leaf or self.retains_grad):
            warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
                "Its .grad attribute won't be populated during autograd.backward(). Use "
                ".retain_grad() on the non-leaf Tensor if you want it to be."
            )
        return self._grad

    @grad.setter
    def grad(self, new: Tensor | None) -> None:
        if new is None:
            self._grad = None
            return
        if not isinstance(new, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(new).__name__}"
            )
        if new is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if gradient_dtype(self) not in (None, new.dtype):
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{new.dtype}' to a tensor with "
                f"grad_dtype '{gradient_dtype(self)}'"
            )
        if new._device.home is not self._device.home:
            raise RuntimeError(
                f"assigned grad has data located on a different device: got {new._device}, "
                f"expected {self._device}"
            )
        got, own = map(operator.attrgetter("layout"), (new, self))
        if got is not own and got is not sparse_coo:
            raise RuntimeError(
                f"assigned grad has data of a different layout: got {got}, "
                f"expected {own} or {sparse_coo}"
            )
        if new.shape != self.shape:
            raise RuntimeError(
                f"assigned grad has data of a different size: got {list(new.shape)}, "
                f"expected {list(self.shape)}"
            )
        self._grad = new

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def _cdata(self) -> int:
        """A number that this object alone has."""
        return id(self)

    @property
    def _version(self) -> int:
        """The number of writes to its storage in place."""
        counter = counter_of(self._writes)
        if counter is None:
            raise RuntimeError(_NOT_COUNTED)
        return counter[0]

    @property
    def _backward_hooks(self) -> OrderedDict[int, Any] | None:
        """The hooks that `register_hook` has put on it; None if it never has."""
        return None if self._hooks is None else self._hooks.place

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: OrderedDict[int, Any] | None) -> None:
        own = leaf_hooks(self)  # which backward asks of leaves alone, as torch's does
        own.tensor, own.place = OrderedDict() if hooks is None else hooks, hooks

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this non-leaf."""
        if self._hooks is not None and self._hooks.retained:
            return True
        edge: Any = self._edge
        node = edge.node if edge.__class__ is OutputEdge else edge
        return node is not None and node.hooks is not None and self.output_nr in node.hooks.retain

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in ``grad`` as well."""
        refuse_in_transform("Tensor.retain_grad()")
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._edge is None or self._edge.__class__ is Unknown or self.retains_grad:
            return  # of a view that is not the history that its base has got since, as in torch
        from nnkit.autograd.views.history import check_history, retain_grad

        view: Any = self
        check_history(view)
        retain_grad(view)

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(grad)`` when its gradient is known; what it returns replaces the gradient."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        hooks = leaf_hooks(self)
        if hooks.place is None:
            hooks.place = hooks.tensor  # as in torch even where a view's history is now refused
            node = self.grad_fn
            if node is not None:
                hooks.place = node._hooks().tensor.setdefault(self.output_nr, OrderedDict())
        return RemovableHandle.add(hooks.place, hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(leaf)`` each time after a gradient was added to ``leaf.grad``."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            hooks = "post accumulate grad hooks"
            raise RuntimeError(f"{hooks} cannot be registered on non-leaf tensors")
        return RemovableHandle.add(leaf_hooks(self).post_accumulate, hook)

    def detach(self) -> Tensor:
        """The same memory as a leaf that requires no gradient."""
        place = self._device
        out = wrap(self._array if place is cpu else place.detached(self._array), place)
        writes: Any = self._writes
        if writes.__class__ is not InferenceWrites:
            out._writes = writes
        elif out._writes is not UNTRACKED:  # its own: outside it may be written
            out._writes = InferenceWrites(out._writes, writes.wrapped)
        return out

    def is_inference(self) -> bool:
        """Whether it was made in `inference_mode`."""
        writes: Any = self._writes
        return writes.__class__ is InferenceWrites and not writes.wrapped

    _is_inference = is_inference  # of which no subclass is asked

    def _is_view(self) -> bool:
        """Whether its history is that of a view of ``_base``."""
        return self._base is not None

    __hash__ = object.__hash__  # by identity, whatever `==` means

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __format__(self, spec: str) -> str:
        # A number's format applies to a number; torch keeps subclasses out of it.
        if not self._array.ndim and type(self) is Tensor and not self.is_meta:
            number: Any = self
            return format(number.item(), spec)
        return object.__format__(self, spec)


_NOT_A_LEAF = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed "
    "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
)


_NOT_COUNTED = "Inference tensors do not track version counter."


def primal_of(tensor: Tensor) -> Tensor:
    """The tensor whose history one of a forward level that was opened by hand shows; of others
    itself."""
    place: Any = tensor._device
    return place.lower(tensor)[0] if place.by_hand else tensor


_NOT_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd: make a clone to get a normal tensor."
)


class Uncounted(list):
    """The counter of writes of a tensor that was an inference tensor until its ``data`` was set to
    that of a normal one. Whoever saves or views it reads the counter."""

    counter: list | None = None  # that of the writes all the same, where there is one

    def __getitem__(self, item: Any) -> Any:
        raise RuntimeError(_NOT_COUNTED)


class InferenceWrites(Uncounted):
    """The mark of an inference tensor: in torch one without autograd's dispatch key.

    It may not be saved, save by the transforms of `nnkit.func`, which torch lets wrap what they
    are given: an input of theirs is ``wrapped``, no inference tensor for its users. What has a
    counter, outside of inference mode a ``data`` or a `detach` of an inference tensor, may be
    written anywhere.
    """

    def __init__(self, counter: list | None = None, wrapped: bool = False) -> None:
        self.counter = counter
        self.wrapped = wrapped

    def __getitem__(self, item: Any) -> Any:
        if self.wrapped if MODE.saves_inference is None else MODE.saves_inference:
            return 0
        raise RuntimeError(_NOT_SAVED)


class SeenWrites(Uncounted):
    """The mark of an inference tensor that autograd sees beside others (`autograd.op.single`)."""

    def __getitem__(self, item: Any) -> Any:
        raise RuntimeError(_NOT_SAVED)


UNTRACKED: Any = InferenceWrites()  # the writes of all tensors that are made in inference mode
WRAPPED: Any = InferenceWrites(wrapped=True)  # and of a transform's inputs that are such tensors


def counter_of(writes: Any) -> list | None:
    """The counter of a tensor's writes, None if they are not counted."""
    return writes if writes.__class__ is list else writes.counter


def _place_of(x: Any) -> str:
    return f"layout {x.layout} on {x._device.type}"


def can_take_memory(x: Any, new: Any) -> bool:
    """Whether ``x.data = new`` is possible: both have a memory or neither, in one layout."""
    return (x._device.type == "meta") == (new._device.type == "meta") and x.layout is new.layout


def replace_memory(x: Tensor, data: Any) -> None:
    """Let a tensor hold other memory. Its history is that of what it was: the gradient must fit
    the shape and the dtype which that had."""
    edge = x._edge
    if isinstance(edge, Node) and edge.outputs is None:
        before = x._array
        if before.shape != data.shape or before.dtype != data.dtype:
            edge.outputs = [(before.shape, before.dtype)]
    x._array = data


def on_its_own(result: Tensor) -> Tensor:
    """``result``, which nobody else will see, as no view of anything; its writes count alone."""
    result._base = result._view = None
    if not result._is_inference():
        result._writes = [0, None, MODE.origin]
    return result


blank: Any = Living.__new__  # an object of a class of Tensors with empty slots


def recast(tensor: Tensor, cls: type) -> Any:
    """A tensor that nobody else has as one of a subclass: itself, unless that has slots."""
    try:
        tensor.__class__ = cls
        return tensor
    except TypeError:
        made = blank(cls)
        for name in Tensor.__slots__:
            if name[:2] != "__":
                setattr(made, name, getattr(tensor, name))
        return made


def fill(self: Tensor, data: Array, place: Any) -> None:
    """Set the slots of a new leaf."""
    self._array = data
    self._device = place
    self._requires_grad = False
    self._grad = None
    self._edge = None
    # [how many in-place writes, name of the last writing op, `MODE.origin` of its memory]; shared
    # by all views. A list, because making an object of a class costs more than the rest here.
    self._writes = [0, None, MODE.origin]
    self._base = None
    self._view = None
    self._viewed = 0
    self._hooks = None
    if MODE.inference:
        self._writes = UNTRACKED


def wrap_in_python(data: Array, place: Any = cpu) -> Tensor:
    """A new leaf Tensor on a backend array."""
    self = blank(Tensor)
    self._array = data
    self._device = place if place.__class__ is device else place.place_of(data)
    self._requires_grad = False
    self._grad = None
    self._edge = None
    self._writes = [0, None, MODE.origin]
    self._base = None
    self._view = None
    self._viewed = 0
    self._hooks = None
    if MODE.inference:
        self._writes = UNTRACKED
    return self


wrap: Callable[..., Tensor] = bind_wrap(Tensor, cpu, UNTRACKED, wrap_in_python)


def differentiable(x: Tensor) -> Tensor:
    """The tensor; as a leaf, if its dtype has no derivatives."""
    return wrap(x._array, x._device) if x._requires_grad and x.dtype.category < FLOATING else x
