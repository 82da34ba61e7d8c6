"""torch.ops: nnkit's functions by the names of torch's operators."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import nnkit
from nnkit import Tensor
from nnkit.autograd.arguments.overriding import answer, overriding
from nnkit.autograd.op.registry import LIFTED
from nnkit.compat.names._attention import _log_softmax, _softmax
from nnkit.compat.names._lower import convolution


class _Operator:
    """The base class of operators, whose copies are the operator itself."""

    _function: Callable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        asked = overriding((*args, *kwargs.values()))
        if asked:  # a proxy is to know the operator, not the function that computes it
            return answer(self, asked, args, kwargs)
        return self._function(*args, **kwargs)

    def __deepcopy__(self, memo: dict) -> Any:
        return self

    def __reduce__(self) -> Any:
        return operator.attrgetter(str(self)), (ops,)


_OF_FUNCTIONS = ("arranged", "learn")  # attributes of nnkit's functions, no overloads


class OpOverloadPacket(_Operator):
    """An operator, which calls the function of that name whatever the overload."""

    def __init__(self, name: str, function: Callable) -> None:
        self._qualified_op_name, self._function = name, function
        space, _, self.__name__ = name.partition("::")
        self.__module__ = f"torch._ops.{space}"

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("_") or name in _OF_FUNCTIONS:
            raise AttributeError(name)
        vars(self)[name] = overload = OpOverload(self, name)
        return overload

    def overloads(self) -> list[str]:
        """One name: whatever the arguments, one function takes them."""
        return ["default"]

    def __repr__(self) -> str:
        return self._qualified_op_name.replace("::", ".")


class OpOverload(_Operator):
    """An operator for arguments of one kind, such as ``aten.add.Tensor``."""

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = self._overloadpacket = packet
        self._overloadname = overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__module__ = packet.__module__
        self.namespace = packet._qualified_op_name.partition("::")[0]

    @property
    def _function(self) -> Callable:
        return self.overloadpacket._function

    def name(self) -> str:
        """The operator's name, with that of the overload if it has one."""
        tail = "" if self._overloadname == "default" else f".{self._overloadname}"
        return self.overloadpacket._qualified_op_name + tail

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"


_OF_TORCH = {"aten", "prim", "prims", "c10d", "_c10d_functional", "c10d_functional"}


class _OpNamespace:
    """The operators of a namespace; those of torch that nnkit lacks raise when they are called."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        function = None
        if self.name == "aten":
            places = (nnkit, nnkit.nn.functional, nnkit.Tensor)
            found = next((f for p in places if (f := getattr(p, name, None))), None)
            function = _ATEN.get(name, found)
        if function is None and self.name in _OF_TORCH:
            function = functools.partial(_lacking, f"{self.name}.{name}")
        if function is None:
            raise AttributeError(
                f"'_OpNamespace' '{self.name}' object has no attribute '{name}': nnkit has no "
                "operator of that name"
            )
        vars(self)[name] = made = OpOverloadPacket(f"{self.name}::{name}", function)
        return made


def _lacking(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(f"torch.ops.{name}: nnkit has no operator of that name")


def _to_copy(
    self: Tensor, *, layout: Any = None, pin_memory: bool | None = None, **kwargs: Any
) -> Tensor:
    return self.to(copy=True, **{key: value for key, value in kwargs.items() if value is not None})


def _slice(self: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    return self[(slice(None),) * (dim % self.dim()) + (slice(start, end, step),)]


def _attention(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float = 0.0, is_causal: bool = False,
    *, attn_mask: Tensor | None = None, scale: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Attention, and the logarithms of the sums of its weights before normalization."""
    if scale is None:
        scale = query.shape[-1] ** -0.5
    return LIFTED.attention(query, key, value, attn_mask, is_causal, scale)


# Operators that torch's functions are composed of.
_ATEN: dict[str, Callable] = {
    "_local_scalar_dense": lambda self: self.item(),
    "_log_softmax": _log_softmax,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_softmax": _softmax,
    "_to_copy": _to_copy,
    "alias": lambda self: self.view(self.shape),
    "convolution": convolution,
    "embedding": lambda weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False: (
        nnkit.nn.functional.embedding(
            indices,
            weight,
            None if padding_idx < 0 else padding_idx,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )
    ),
    "index": lambda self, indices: self[tuple(slice(None) if i is None else i for i in indices)],
    "linalg_vector_norm": lambda *args, **kwargs: nnkit.linalg.vector_norm(*args, **kwargs),
    "slice": _slice,
    "threshold_backward": lambda grad, self, threshold: grad.masked_fill(self <= threshold, 0),
    "unfold": Tensor.unfold,
}


class _Ops:
    """``torch.ops``: a namespace for each library."""

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        vars(self)[name] = namespace = _OpNamespace(name)
        return namespace

    def load_library(self, path: Any) -> None:
        """Refuse a library of compiled operators.

        Raises:
            OSError: always: it was compiled for torch.
        """
        raise OSError(f"torch.ops.load_library: {path} is compiled for torch, not for nnkit")

    load_library_ = load_library

    def __reduce__(self) -> str:
        return "ops"


ops = _Ops()
