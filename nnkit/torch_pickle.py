"""Pickles with torch's names, as `nnkit.save` writes them and `load(weights_only=False)` runs them.

Classes and functions of nnkit are written and found under the names that torch has for them, so
that either library reads the files of the other. What torch has no name for keeps its own.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, BinaryIO

import nnkit
from nnkit.autograd import Tensor
from nnkit.autograd.sparse.tensor import SparseTensor
from nnkit.autograd.surface.copying import state_of, warn_if_has_hooks
from nnkit.autograd.surface.metadata import is_conj, is_neg
from nnkit.autograd.surface.storage import storage, storage_name, untyped_storage
from nnkit.backend.dtype import dtype
from nnkit.backend.memory import layout
from nnkit.nn.modules.module import Module
from nnkit.nn.modules.module_pickling import state_for_torch
from nnkit.nn.parameter import Parameter, UninitializedTensorMixin
from nnkit.torch_rebuild import NAMES, OF_TORCH

__all__ = ["dump", "load", "name_of"]

_ROOTS = ("nnkit", "torch")
_MOVED = {"torch.tensor": "torch._tensor", "torch._C._nn": "torch.nn.functional"}
_REBUILD = {name.rpartition(".")[2]: call for call, name in NAMES.items()}
# The modules of torch that are searched for functions which nnkit has in other modules.
_PLACES = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft")


def name_of(value: Any, name: Any = None) -> tuple[str, str] | None:
    """The module and the name that torch has for a class or function of nnkit."""
    if isinstance(value, dtype):
        return "torch", value.name
    known = NAMES.get(value) if isinstance(value, Callable) else None  # type: ignore[arg-type]
    if known is not None:
        module, _, last = known.rpartition(".")
        return module, last
    name = name or getattr(value, "__qualname__", None) or value.__name__
    root, _, inner = (getattr(value, "__module__", None) or "").partition(".")
    if root not in _ROOTS:
        return None
    for module in _places(f"torch.{inner}".rstrip("."), name):
        try:
            if _attribute(module, name) is value:
                return module, name
        except AttributeError:
            continue
    return None


def _places(module: str, name: str) -> Iterator[str]:
    from nnkit.compat.layout import homes, known, part

    home = homes().get((part(module), name.partition(".")[0]))
    if home is not None:
        yield home
    if known(module):
        yield module
    yield from _PLACES


def _find(module: str, name: str) -> Any:
    found = OF_TORCH.get(f"{module}.{name}")
    return _attribute(_MOVED.get(module, module), name) if found is None else found


def _attribute(module: str, name: str) -> Any:
    from nnkit.compat.layout import find

    first, *inner = name.split(".")
    found = find(module, first)
    for attribute in inner:
        found = getattr(found, attribute)
    return found


class _Forms:
    """A mixin of picklers that reduces objects of nnkit as torch reduces its own."""

    _persistent: Callable[[Any], Any]
    _protocol: int

    def persistent_id(self, value: Any) -> Any:
        return self._persistent(value)

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return _reduce_tensor(value)
        if isinstance(value, Module):
            return _reduce_module(value, self._protocol)
        if isinstance(value, layout):
            return _REBUILD["_get_layout"], (f"torch.{value.name}",)
        others = getattr(super(), "reducer_override", None)
        return NotImplemented if others is None else others(value)


class _Names(_Forms):
    """`_Forms`, which also writes torch's names; for picklers in Python, as those in C have no hook
    for names."""

    proto: int

    def reducer_override(self, value: Any) -> Any:
        return value.name if isinstance(value, dtype) else super().reducer_override(value)

    def save_global(self: Any, value: Any, name: str | None = None) -> None:
        found = name_of(value, name)
        if found is None:
            super().save_global(value, name)  # type: ignore[misc]
            return
        module, name = found
        owner, _, last = name.rpartition(".")
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        elif owner:
            self.save_reduce(getattr, (_find(module, owner), last), obj=value)
            return
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(value)


def _reduce_tensor(value: Tensor) -> Any:
    kind = type(value)
    if isinstance(value, UninitializedTensorMixin):
        return kind, (value.requires_grad,)  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, SparseTensor):
        return _REBUILD["_rebuild_sparse_tensor"], (value.layout, value.parts())
    reduce = getattr(kind.__reduce_ex__, "__wrapped__", kind.__reduce_ex__)
    if reduce not in (Tensor.__reduce_ex__, Parameter.__reduce_ex__):
        return NotImplemented
    attributes = state_of(value)
    if isinstance(value, Parameter):
        arguments: tuple[Any, ...] = (value.data, value.requires_grad, OrderedDict())
        if isinstance(attributes, dict):
            attributes.pop("_is_param", None)
        if not attributes:
            return _REBUILD["_rebuild_parameter"], arguments
        return _REBUILD["_rebuild_parameter_with_state"], (*arguments, attributes)
    warn_if_has_hooks(value)
    rebuild, arguments = _reduce_data(value)
    if kind is Tensor and not attributes:
        return rebuild, arguments
    return _REBUILD["_rebuild_from_type_v2"], (rebuild, kind, arguments, attributes)


def _reduce_data(value: Tensor) -> tuple[Any, tuple[Any, ...]]:
    shape, stride = tuple(value.shape), tuple(value.stride())
    if value.is_meta:
        arguments: tuple[Any, ...] = (value.dtype, shape, stride, value.requires_grad)
        return _REBUILD["_rebuild_meta_tensor_no_storage"], arguments
    has_class = hasattr(nnkit, storage_name(value.dtype))  # of storages
    memory = storage(value) if has_class else untyped_storage(value)
    arguments = (memory, value.storage_offset(), shape, stride, value.requires_grad, OrderedDict())
    if not has_class:
        return _REBUILD["_rebuild_tensor_v3"], (*arguments, value.dtype)
    marks = {name: True for name, is_so in (("conj", is_conj), ("neg", is_neg)) if is_so(value)}
    return _REBUILD["_rebuild_tensor_v2"], (*arguments, marks) if marks else arguments


def _reduce_module(value: Module, protocol: int) -> Any:
    reduced = value.__reduce_ex__(protocol)
    if not isinstance(reduced, tuple) or len(reduced) < 3 or not isinstance(reduced[2], dict):
        return reduced
    rebuild, arguments, state, *rest = reduced
    if "_parameters" in state:
        state = state_for_torch(value, state)
    return rebuild, arguments, state, *rest


def dump(
    value: Any, stream: BinaryIO, persistent: Callable[[Any], Any], module: Any, protocol: int
) -> None:
    """Pickle a value with torch's names; ``module`` has another ``Pickler`` than `pickle`."""
    base = pickle._Pickler if module is pickle else module.Pickler  # type: ignore[attr-defined]
    settings: dict[str, Any] = {"_persistent": staticmethod(persistent), "_protocol": protocol}
    part = _Forms
    if hasattr(base, "save_global"):
        part = _Names
        settings["dispatch"] = {**base.dispatch, FunctionType: _Names.save_global}
    type("TorchPickler", (part, base), settings)(stream, protocol).dump(value)


def load(
    stream: BinaryIO, persistent: Callable[[Any], Any], module: Any, options: dict[str, Any]
) -> Any:
    """Unpickle, which may run any code; torch's names mean those of nnkit."""

    class TorchUnpickler(module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if module.partition(".")[0] != "torch":
                return super().find_class(module, name)
            return _find(module, name)

        def persistent_load(self, pid: Any) -> Any:
            return persistent(pid)

    return TorchUnpickler(stream, **options).load()
