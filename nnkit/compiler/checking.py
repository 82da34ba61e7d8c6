"""A replay beside the eager step: ``options={"check": n}``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.amp.grad_scaler import GradScaler
from nnkit.autograd.tensor import Tensor
from nnkit.backend.program import bits
from nnkit.compiler.watch import Watch
from nnkit.optim.lr_scheduler import LRScheduler
from nnkit.optim.optimizer import Optimizer
from nnkit.random import get_rng_state, set_rng_state
from nnkit.utils._pytree import tree_flatten


class Saved:
    """A snapshot of all that a step may change: Tensors, and numbers of optimizers and their kin.

    Args:
        watch: what the step can reach.
        leaves: the leaves of its arguments.
    """

    def __init__(self, watch: Watch, leaves: list) -> None:
        found = {id(t): t for t in (*watch.tensors.values(), *leaves) if isinstance(t, Tensor)}
        self.objects: list[tuple[Any, dict]] = []
        for value in list(watch.seen.values()):
            if isinstance(value, (Optimizer, LRScheduler, GradScaler)):
                self.objects.append((value.__dict__, dict(value.__dict__)))
            if isinstance(value, Optimizer):
                self.objects += [(group, dict(group)) for group in value.param_groups]
                self.objects += [(state, dict(state)) for state in value.state.values()]
                self.objects.append((value.state, dict(value.state)))
                for state in value.state.values():
                    found.update({id(t): t for t in state.values() if isinstance(t, Tensor)})
        for t in list(found.values()):
            if t._grad is not None:
                found[id(t._grad)] = t._grad
        self.tensors = [
            (t, t._device.backend.copy(t._array), t._grad, _version(t)) for t in found.values()
        ]
        self.random = get_rng_state()

    def restore(self) -> None:
        """Make everything as it was."""
        for tensor, copied, grad, version in self.tensors:
            tensor._device.backend.copy_(tensor._array, copied)
            tensor._grad = grad
            if version is not None:
                tensor._writes[0] = version
        for content, before in self.objects:
            content.clear()
            content.update(before)
        set_rng_state(self.random)

    def now(self, result: Any) -> list[tuple[str, Any]]:
        """The bits of everything, and of what a step returned, each with what it belongs to."""
        found: list[tuple[str, Any]] = [("the random state", bits(get_rng_state()._array))]
        for value in tree_flatten(result)[0]:
            found.append(("a result", bits(value._array) if isinstance(value, Tensor) else value))
        for tensor, *_ in self.tensors:
            name = f"a tensor of shape {list(tensor.shape)}"
            grad = tensor._grad
            found.append((name, bits(tensor._array)))
            found.append((f"the gradient of {name}", None if grad is None else bits(grad._array)))
            found.append((f"the version of {name}", _version(tensor)))
        return found


def _version(tensor: Tensor) -> int | None:
    return tensor._writes[0] if tensor._writes.__class__ is list else None


def checked(
    replay: Callable[[], Any], eager: Callable[[], Any], watch: Watch, leaves: list, name: str
) -> Any:
    """The result of the eager step, after a replay that must have had the same bits.

    Raises:
        RuntimeError: it had others; the message says of what.
    """
    saved = Saved(watch, leaves)
    found = saved.now(replay())
    saved.restore()
    result = eager()
    for (what, mine), (_, expected) in zip(found, saved.now(result), strict=True):
        if mine != expected and not (mine != mine and expected != expected):
            raise RuntimeError(f"nnkit.compile: a replay of {name} has other bits in {what}")
    return result
