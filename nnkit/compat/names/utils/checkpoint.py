"""torch.utils.checkpoint: selective checkpoints, and helpers for libraries with checkpoints of
their own."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any

from nnkit import Tensor, cuda
from nnkit.autograd.views.overlap import shares_memory
from nnkit.backend.warning import warn
from nnkit.compat.dispatch import TorchDispatchMode
from nnkit.compat.names._ops import OpOverload
from nnkit.utils._pytree import tree_leaves


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors without history, which require gradients as before.

    Raises:
        RuntimeError: the argument is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got {type(inputs).__name__}")
    return tuple(
        [
            each.detach().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each
            for each in inputs
        ]
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if none of the inputs requires a gradient."""
    if not any(each.requires_grad for each in inputs if isinstance(each, Tensor)):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


class DefaultDeviceType:
    """The device whose random numbers checkpoints keep where all tensors are on the CPU."""

    _name: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose it; without effect here, where checkpoints look at their arguments alone."""
        DefaultDeviceType._name = device

    @staticmethod
    def get_device_type() -> str:
        """The one that was chosen, or else the one to compute on: "cuda" where there is a GPU."""
        return DefaultDeviceType._name or ("cuda" if cuda.is_available() else "cpu")


class CheckpointPolicy(enum.Enum):
    """The decisions of a selective checkpoint about the result of an operator."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """The context that a policy gets: always that of the first run, as the second asks none."""

    is_recompute = False


class _Kept:
    """A call's result, None where it is not kept, and whether it was written to since."""

    def __init__(self, result: Any) -> None:
        self.result, self.written = result, False


_Calls = dict[Any, list[_Kept]]  # by operators, in the order of the calls


class _First(TorchDispatchMode):
    """The mode of the first run of a function, which keeps the results that a policy chooses."""

    def __init__(self, policy: Callable, calls: _Calls) -> None:
        self.policy, self.calls = policy, calls

    def __torch_dispatch__(
        self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.overloadpacket.__name__.endswith("_"):
            self._note(args[0])
        result = func(*args, **kwargs)
        said = self.policy(SelectiveCheckpointContext(), func, *args, **kwargs)
        saves = said in (True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
        self.calls.setdefault(func, []).append(_Kept(result if saves else None))
        return result

    def _note(self, written: Any) -> None:
        for each in (each for held in self.calls.values() for each in held):
            leaves = [leaf for leaf in tree_leaves(each.result) if isinstance(leaf, Tensor)]
            each.written = each.written or any(shares_memory(leaf, written) for leaf in leaves)


class _Second(TorchDispatchMode):
    """The mode of the second run, which returns kept results instead of computing them."""

    def __init__(self, calls: _Calls, allows_writes: bool) -> None:
        self.calls, self.allows_writes = calls, allows_writes

    def __torch_dispatch__(
        self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        held = self.calls.get(func)
        if not held:
            raise RuntimeError(
                f"{func} was called more often in the second run than in the first, or its results "
                "have been used. Trying to backward an extra time is not allowed with a selective "
                "checkpoint"
            )
        kept = held.pop(0)
        if kept.written and not self.allows_writes:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated"
            )
        return func(*args, **(kwargs or {})) if kept.result is None else kept.result


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """The modes of both runs of a checkpoint that keeps the results of some operators.

    Args:
        policy_fn_or_list: the operators, such as ``torch.ops.aten.mm.default``; or a function
            ``policy(context, operator, *args, **kwargs)`` that returns a `CheckpointPolicy`.
        allow_cache_entry_mutation: allow results that were written to since they were kept.

    Raises:
        TypeError: neither a function nor a list is given.
        ValueError: the list holds anything but overloads of operators.
    """
    if isinstance(policy_fn_or_list, list):
        for each in policy_fn_or_list:
            if not isinstance(each, OpOverload):
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {each} of type "
                    f"{type(each)}. Please update the OpOverloadPacket to a specific OpOverload, "
                    "such as torch.ops.aten.sin.default"
                )
        policy: Any = lambda context, func, *args, **kwargs: func in policy_fn_or_list
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    calls: _Calls = {}
    return _First(policy, calls), _Second(calls, allow_cache_entry_mutation)
