"""`Tensor`: one backend array and its place in the autograd graph.

This file defines the object itself. Most of its methods are the public functions of
`nnkit.autograd.ops`, which attach themselves to the class when they are declared. Printing is
attached by `nnkit.autograd.surface.printing`; tensors are made from Python data by
`nnkit.autograd.ops.exchange.interchange`.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from nnkit.autograd.compiled import bind_wrap
from nnkit.autograd.engine.leaves import gradient_dtype
from nnkit.autograd.engine.node import OutputEdge, RemovableHandle, Unknown, leaf_hooks
from nnkit.autograd.engine.renewal import replace_memory
from nnkit.autograd.grad_mode import MODE, refuse_in_transform
from nnkit.autograd.living import Living
from nnkit.autograd.surface.size import Size
from nnkit.autograd.views.counters import (
    NOT_COUNTED,
    UNTRACKED,
    InferenceWrites,
    Uncounted,
    counter_of,
)
from nnkit.backend.array import Array
from nnkit.backend.device import cpu, device
from nnkit.backend.dtype import FLOATING, OF_ARRAY, dtype
from nnkit.backend.memory import sparse_coo
from nnkit.backend.warning import warn

_size_of = tuple.__new__


class Tensor(Living):
    """A multi-dimensional array of one dtype that records how it was computed.

    Tensors are made by `nnkit.tensor`, `nnkit.zeros` and similar functions. As in torch, calling
    the class works too: ``Tensor(2, 3)`` is an uninitialised float32 tensor of that shape, and
    ``Tensor([1, 2])`` a float32 copy of the data.

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
    __array_priority__ = 1000  # makes NumPy's binary operators defer to Tensor's

    @staticmethod
    def _make_subclass(subclass: type, data: Tensor, require_grad: bool = False) -> Any:
        """A new leaf of class ``subclass`` that shares the memory of ``data``."""
        self = blank(subclass)
        fill(self, data._array, data._device)
        self._writes = data._writes
        return self._set_requires_grad(require_grad)

    # Properties of the array

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return _size_of(Size, self._array.shape)  # skips Size.__new__, whose checks are slow

    @property
    def dtype(self) -> dtype:
        """The data type of the elements."""
        return OF_ARRAY[self._array.dtype]

    @property
    def device(self) -> device:
        """The device that holds the memory."""
        return self._device

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self._array.size * self.dtype.itemsize

    @property
    def is_cuda(self) -> bool:
        """Whether the tensor is on an NVIDIA GPU."""
        return self._device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        """Whether the tensor is on the device ``meta``: it has a shape and a dtype, but no data."""
        return self._device.type == "meta"

    @property
    def is_cpu(self) -> bool:
        """Whether the tensor is in the computer's main memory."""
        return self._device.type == "cpu"

    @property
    def data(self) -> Tensor:
        """A tensor that shares the memory but has no history; autograd does not see writes to it.

        Assigning another tensor replaces the memory and keeps the history.

        Raises:
            TypeError: the new value is not a tensor.
            RuntimeError: its layout or device type differs, or a tensor that requires grad would
                get a dtype without gradients.

        Example:
            >>> import nnkit
            >>> w = nnkit.ones(2, requires_grad=True)
            >>> w.data += 1
            >>> w
            tensor([2., 2.], requires_grad=True)
        """
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
        if MODE.captures is not None or self._device.depth or new._device.depth:
            from nnkit.autograd.views.refusals import check_data_set

            check_data_set(self, new)
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

    # The place in the graph

    @property
    def requires_grad(self) -> bool:
        """Whether gradients with respect to this tensor are to be computed."""
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
        """Whether the tensor has a history. A view is not refreshed first: like torch, this does
        not look whether the base has been written since."""
        return self._edge is not None and self._edge.__class__ is not Unknown

    def _set_requires_grad(self, value: bool) -> Tensor:
        """Set ``requires_grad`` after torch's checks, and return the tensor."""
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
        """Set whether gradients are computed for this leaf, in place; return the tensor.

        Raises:
            RuntimeError: the tensor is not a leaf, its dtype is neither floating point nor
                complex, or the call is inside a function that `nnkit.func` transforms.

        Example:
            >>> import nnkit
            >>> nnkit.ones(2).requires_grad_()
            tensor([1., 1.], requires_grad=True)
        """
        refuse_in_transform("Tensor.requires_grad_()")
        return self._set_requires_grad(requires_grad)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor: ``grad_fn`` is None."""
        return self.grad_fn is None

    @property
    def grad_fn(self) -> Any:
        """The graph node of the operation that made this tensor; None for a leaf."""
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
        """The number of the output of ``grad_fn`` that this tensor is."""
        edge: Any = self._edge
        return edge.index if edge.__class__ is OutputEdge else 0

    @property
    def grad(self) -> Any:
        """The accumulated gradient of a leaf; None before the first backward pass.

        Raises:
            TypeError: the value assigned is neither a tensor nor None.
            RuntimeError: its shape, dtype, device or layout differs from the tensor's.
        """
        is_leaf = self._edge is None or self._edge.__class__ is Unknown  # without a refresh
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
                f"attempting to assign a gradient with dtype '{new.dtype.type_name}' to a "
                f"tensor with grad_dtype '{gradient_dtype(self).type_name}'"
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
        """A number that identifies this object."""
        return id(self)

    @property
    def _version(self) -> int:
        """How many in-place writes the storage has seen, through any view."""
        counter = counter_of(self._writes)
        if counter is None:
            raise RuntimeError(NOT_COUNTED)
        return counter[0]

    @property
    def _backward_hooks(self) -> OrderedDict[int, Any] | None:
        """The hooks of `register_hook`; None if it was never called."""
        return None if self._hooks is None else self._hooks.place

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: OrderedDict[int, Any] | None) -> None:
        own = leaf_hooks(self)  # as in torch, backward reads these for leaves only
        own.tensor, own.place = OrderedDict() if hooks is None else hooks, hooks

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this non-leaf tensor."""
        if self._hooks is not None and self._hooks.retained:
            return True
        edge: Any = self._edge
        node = edge.node if edge.__class__ is OutputEdge else edge
        return node is not None and node.hooks is not None and self.output_nr in node.hooks.retain

    def retain_grad(self) -> None:
        """Make backward store the gradient of this non-leaf tensor in ``grad``, too.

        Raises:
            RuntimeError: the tensor does not require grad, or the call is inside a function that
                `nnkit.func` transforms.

        Example:
            >>> import nnkit
            >>> y = nnkit.ones(2, requires_grad=True) * 3
            >>> y.retain_grad()
            >>> y.sum().backward()
            >>> y.grad
            tensor([1., 1.])
        """
        refuse_in_transform("Tensor.retain_grad()")
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._edge is None or self._edge.__class__ is Unknown or self.retains_grad:
            return  # as in torch, also if the base of this view has got a history since
        from nnkit.autograd.views.history import check_history, retain_grad

        view: Any = self
        check_history(view)
        retain_grad(view)

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(grad)`` when the gradient of this tensor is computed.

        If the hook returns a tensor, that replaces the gradient. ``remove()`` of the returned
        handle takes the hook away.

        Raises:
            RuntimeError: the tensor does not require grad.

        Example:
            >>> import nnkit
            >>> x = nnkit.ones(2, requires_grad=True)
            >>> handle = x.register_hook(lambda grad: 10 * grad)
            >>> x.sum().backward()
            >>> x.grad
            tensor([10., 10.])
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        hooks = leaf_hooks(self)
        if hooks.place is None:
            hooks.place = hooks.tensor  # before grad_fn, which may raise; so in torch
            node = self.grad_fn
            if node is not None:
                hooks.place = node._hooks().tensor.setdefault(self.output_nr, OrderedDict())
        return RemovableHandle.add(hooks.place, hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(leaf)`` each time a gradient has been added to ``leaf.grad``.

        Raises:
            RuntimeError: the tensor does not require grad, or is not a leaf.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            hooks = "post accumulate grad hooks"
            raise RuntimeError(f"{hooks} cannot be registered on non-leaf tensors")
        return RemovableHandle.add(leaf_hooks(self).post_accumulate, hook)

    def detach(self) -> Tensor:
        """A leaf that shares the memory and does not require grad."""
        place = self._device
        out = wrap(self._array if place is cpu else place.detached(self._array), place)
        writes: Any = self._writes
        if writes.__class__ is not InferenceWrites:
            out._writes = writes
        elif out._writes is not UNTRACKED:  # made outside inference mode: it may be written there
            out._writes = InferenceWrites(out._writes, writes.wrapped)
        return out

    def is_inference(self) -> bool:
        """Whether the tensor was made in `inference_mode`."""
        writes: Any = self._writes
        return writes.__class__ is InferenceWrites and not writes.wrapped

    _is_inference = is_inference  # for internal use: a subclass cannot override it

    def _is_view(self) -> bool:
        """Whether autograd treats the tensor as a view of ``_base``."""
        return self._base is not None

    __hash__ = object.__hash__  # by identity, since `==` compares elements

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __format__(self, spec: str) -> str:
        # A 0-dim tensor is formatted as its number; in torch, subclasses are not.
        if not self._array.ndim and type(self) is Tensor and not self.is_meta:
            number: Any = self
            return format(number.item(), spec)
        return object.__format__(self, spec)


_NOT_A_LEAF = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed "
    "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
)


def primal_of(tensor: Tensor) -> Tensor:
    """The primal of a dual tensor of `forward_ad`, whose history it shows; other tensors as
    they are."""
    place: Any = tensor._device
    return place.lower(tensor)[0] if place.by_hand else tensor


def _place_of(x: Any) -> str:
    return f"layout {x.layout} on {x._device.type}"


def can_take_memory(x: Any, new: Any) -> bool:
    """Whether ``x.data = new`` is allowed: the layouts agree, and both or neither have data."""
    return (x._device.type == "meta") == (new._device.type == "meta") and x.layout is new.layout


def on_its_own(result: Tensor) -> Tensor:
    """``result``, a tensor that nobody else holds, no longer marked as a view; it gets a write
    counter of its own."""
    result._base = result._view = None
    if not result._is_inference():
        result._writes = [0, None, MODE.origin]
    return result


blank: Any = Living.__new__  # makes an object of a Tensor class with unset slots


def recast(tensor: Tensor, cls: type) -> Any:
    """Turn a tensor that nobody else holds into one of a subclass; a new object if the subclass
    has slots."""
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
    # See `nnkit.autograd.views.counters`. A list, because an object of a class would cost more
    # than all the rest of this function.
    self._writes = UNTRACKED if MODE.inference else [0, None, MODE.origin]
    self._base = None
    self._view = None
    self._viewed = 0
    self._hooks = None


def wrap_in_python(data: Array, place: Any = cpu) -> Tensor:
    """A new leaf Tensor that holds a backend array."""
    self = blank(Tensor)
    fill(self, data, place if place.__class__ is device else place.place_of(data))
    return self


wrap: Callable[..., Tensor] = bind_wrap(Tensor, cpu, UNTRACKED, wrap_in_python)


def differentiable(x: Tensor) -> Tensor:
    """The tensor itself, or a new leaf on its memory if the dtype has no derivatives."""
    return wrap(x._array, x._device) if x._requires_grad and x.dtype.category < FLOATING else x
