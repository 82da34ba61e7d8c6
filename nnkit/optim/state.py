"""Saving and loading an optimizer: `state_dict`, `load_state_dict`, and their hooks."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.engine.node import RemovableHandle
from nnkit.autograd.ops.exchange.interchange import tensor
from nnkit.backend.dtype import default_dtype, dtype, float32, float64

# State entries that hold one number; old checkpoints keep them as Python numbers.
NUMBERS = ("step", "mu_product", "eta", "mu")


def dtype_of_numbers(is_fused: bool | None = None) -> dtype:
    """The dtype of a state tensor that holds one number, such as a count of steps."""
    is_wide = default_dtype() is float64 and not is_fused
    return float64 if is_wide else float32


class OptimizerState:
    """The part of `Optimizer` that saves and loads its state, in torch's format."""

    param_groups: list[dict[str, Any]]
    state: defaultdict[Tensor, dict]
    defaults: dict[str, Any]

    def _make_state_hooks(self) -> None:
        self._optimizer_state_dict_pre_hooks: OrderedDict = OrderedDict()
        self._optimizer_state_dict_post_hooks: OrderedDict = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: OrderedDict = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: OrderedDict = OrderedDict()

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step."""
        return RemovableHandle.add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return RemovableHandle.add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` before `state_dict`."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after `state_dict`; it may return another."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; it may return another."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after loading."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # A class around an optimizer has none of its own, and may never have called `__init__`.
    _optimizer_step_pre_hooks: Any = MappingProxyType({})
    _optimizer_step_post_hooks: Any = MappingProxyType({})

    def state_dict(self) -> dict[str, Any]:
        """A dict with ``state`` (by parameter number) and ``param_groups``; torch's format.

        The tensors in it are the optimizer's own, not copies.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            result = hook(self, result) or result
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state that `state_dict` (or torch's) gave.

        Its tensors become the optimizer's own, except where dtype or device are other than the
        parameter's; `copy.deepcopy` the dict to keep two optimizers apart.

        Raises:
            TypeError: it is no dict.
            ValueError: another number of groups, or a group of another size; the optimizer is
                left as it was.
        """
        if not isinstance(state_dict, Mapping):
            got = type(state_dict).__name__
            raise TypeError(f"load_state_dict: state_dict must be a dict, got {got}")
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            state_dict = hook(self, state_dict) or state_dict
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError(
                "loaded state dict has a different number of parameter groups: "
                f"got {len(saved)}, expected {len(groups)}"
            )
        for i, (ours, theirs) in enumerate(zip(groups, saved, strict=True)):
            if len(ours["params"]) != len(theirs["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    f"optimizer's group: group {i} has {len(theirs['params'])} parameters, "
                    f"expected {len(ours['params'])}"
                )
        by_number = {
            number: p
            for ours, theirs in zip(groups, saved, strict=True)
            for number, p in zip(theirs["params"], ours["params"], strict=True)
        }
        state: defaultdict = defaultdict(dict)
        for key, value in state_dict["state"].items():
            p = by_number.get(key)
            state[key if p is None else p] = _cast(p, value, None)
        for ours, theirs in zip(groups, saved, strict=True):
            theirs["params"] = ours["params"]
            if "param_names" in ours and "param_names" not in theirs:
                theirs["param_names"] = ours["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._optimizer_step_pre_hooks = OrderedDict()
            self._optimizer_step_post_hooks = OrderedDict()
            self._make_state_hooks()

    def _bring_up_to_date(self) -> None:
        """Fill in what a checkpoint of an older version of this optimizer holds otherwise."""
        for group in self.param_groups:
            for name, default in self.defaults.items():
                if default is None or isinstance(default, bool):  # younger than the checkpoint
                    group.setdefault(name, None if name in ("foreach", "fused") else False)
            for p in group["params"]:
                entries = self.state.get(p, {})
                for name in NUMBERS:
                    if name in entries and not isinstance(entries[name], Tensor):
                        entries[name] = tensor(float(entries[name]), dtype=dtype_of_numbers())


def _add(hooks: OrderedDict, hook: Callable, prepend: bool) -> RemovableHandle:
    handle = RemovableHandle.add(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _cast(param: Tensor | None, value: Any, key: str | None) -> Any:
    """A loaded state value: floating tensors take the parameter's dtype, ``step`` keeps its own."""
    if isinstance(value, Tensor):
        if param is None or key == "step":
            return value
        dtype = param.dtype if param.is_floating_point() else value.dtype
        return value.to(dtype=dtype, device=param.device)
    if isinstance(value, dict):
        return {k: _cast(param, v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(param, v, key) for v in value)
    return value
