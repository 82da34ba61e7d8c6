"""Calls of hooks, and checks of the gradients with which they replace others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.engine.node import SPARSE, Node
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.lazy import plain
from nnkit.backend.memory import contiguous_format


def name_of(hook: Any) -> str:
    """The name of a hook in messages."""
    return getattr(hook, "__name__", repr(hook))


def check_replacement(hook: Any, new: Any, before: Any) -> None:
    """Check that a hook may replace the gradient ``before`` by ``new``.

    Raises:
        TypeError: ``new`` is not a Tensor.
        RuntimeError: there is no gradient to replace, or shape, dtype or device differ.
    """
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned {type(new).__name__!r}")
    if new.dtype is not before.dtype or new._device.home is not before._device.home:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the type of value: got {new.dtype} on "
            f"{new._device}, expected {before.dtype} on {before._device}"
        )
    if new.shape != before.shape:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the size of value: got {list(new.shape)}, "
            f"expected {list(before.shape)}"
        )


class HookCaller:
    """Calls hooks, which see Tensors also when the pass computes on arrays."""

    lifted: Any  # the algebra on Tensors if the pass itself is recorded, None to run on arrays

    def _shown(self, value: Any, device: Any) -> Any:
        """A gradient as hooks see it."""
        as_is = self.lifted or value is None or value.__class__ in SPARSE
        return value if as_is else wrap(value, device)

    def _value(self, tensor: Any) -> Any:
        """A gradient as the pass computes with it."""
        as_is = self.lifted or tensor is None or tensor.__class__ in SPARSE
        return tensor if as_is else plain(tensor._array)  # type: ignore[union-attr]

    def _tensor_hooks(self, node: Node, grads: list) -> list:
        """The gradients of a node's outputs after the tensor hooks; those of `retain_grad` are
        stored."""
        hooks: Any = node.hooks
        grads = list(grads)
        for index, registered in hooks.tensor.items():
            grads[index] = self._call_hooks(registered, grads[index], node.device)
        for index, reference in hooks.retain.items():
            keeper = reference()
            if keeper is not None and grads[index] is not None:
                kept = self._shown(grads[index], node.device)
                known = keeper._grad
                if known is None:
                    keeper._grad = kept.clone(memory_format=contiguous_format)
                else:
                    keeper._grad = known + kept
        return grads

    def _call_hooks(self, registered: dict, grad: Any, device: Any) -> Any:
        """A gradient after tensor hooks; each hook may replace it for the next one."""
        shown = self._shown(grad, device)
        for hook in list(registered.values()):
            new = hook(shown)
            if new is not None:
                check_replacement(hook, new, shown)
                shown = new
        return self._value(shown)

    def _replaced(self, hook: Callable, grads: Sequence, device: Any, *others: Any) -> Any:
        """The gradients after one hook of a node, which may replace them."""
        shown = tuple(self._shown(g, device) for g in grads)
        new = hook(shown, *others)
        if new is None:
            return grads
        if not isinstance(new, tuple):
            raise TypeError(f"expected tuple, but hook returned {type(new).__name__!r}")
        if len(new) != len(shown):
            raise RuntimeError(
                f"hook '{name_of(hook)}' has returned an incorrect number of values (got "
                f"{len(new)}, but expected {len(shown)})"
            )
        for one, before in zip(new, shown, strict=True):
            if one is not None:
                check_replacement(hook, one, before)
        return [self._value(one) for one in new]
