"""`Optimizer`: the parameter groups, state and step that all optimizers share."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from nnkit.autograd import Tensor, enable_grad
from nnkit.autograd.arguments.overriding import is_plain
from nnkit.autograd.engine.node import SPARSE, RemovableHandle
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.ops.creation.factories import zeros_like
from nnkit.autograd.tensor import wrap
from nnkit.autograd.views.history import clear_gradients
from nnkit.autograd.views.overlap import check_expanded
from nnkit.autograd.views.refusals import check_captured
from nnkit.autograd.views.writes import wrote
from nnkit.backend.formula import Update
from nnkit.backend.lazy import plain
from nnkit.backend.memory import has_expanded
from nnkit.backend.program.outside import RECORDERS, beforehand, call_recorded, is_recorded
from nnkit.backend.warning import warn
from nnkit.optim.state import OptimizerState, dtype_of_numbers

REQUIRED = object()
_step_pre_hooks: OrderedDict = OrderedDict()
_step_post_hooks: OrderedDict = OrderedDict()


def wrong_state(optimizer: Any, name: str, value: Any) -> Exception:
    """The error for a state entry that is not a tensor."""
    kind = RuntimeError if name in ("step", "mu_product") else TypeError
    got = type(value).__name__
    return kind(f"{type(optimizer).__name__}: state {name!r} must be a Tensor, got {got}")


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before the step of every optimizer.

    Example:
        >>> import nnkit
        >>> handle = nnkit.optim.optimizer.register_optimizer_step_pre_hook(
        ...     lambda optimizer, args, kwargs: print("steps")
        ... )
        >>> x = nnkit.ones(1, requires_grad=True)
        >>> nnkit.optim.SGD([x]).step()
        steps
        >>> handle.remove()
    """
    return RemovableHandle.add(_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after the step of every optimizer.

    Example:
        >>> import nnkit
        >>> handle = nnkit.optim.optimizer.register_optimizer_step_post_hook(
        ...     lambda optimizer, args, kwargs: print("stepped")
        ... )
        >>> x = nnkit.ones(1, requires_grad=True)
        >>> nnkit.optim.SGD([x]).step()
        stepped
        >>> handle.remove()
    """
    return RemovableHandle.add(_step_post_hooks, hook)


def with_step_hooks(step: Callable) -> Callable:
    """``step``, preceded and followed by its hooks; without hooks it costs one test."""

    @functools.wraps(step)
    def hooked(*arguments: Any, **options: Any) -> Any:
        if RECORDERS and is_recorded() and not _is_one_update(*arguments, **options):
            return call_recorded(hooked, arguments, options)
        self = arguments[0]  # a part of `arguments`, which hooks see as in torch
        self._opt_called = True  # read by learning rate schedulers, which warn without it
        own = self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks
        if not (own or _step_pre_hooks or _step_post_hooks):
            return step(*arguments, **options)
        for hook in [*_step_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]:
            result = hook(self, arguments, options)
            if result is not None:
                if not isinstance(result, tuple) or len(result) != 2:
                    raise RuntimeError(
                        f"{step.__qualname__} must return None or a tuple of (new_args, "
                        f"new_kwargs), but got {result}."
                    )
                arguments, options = result
        out = step(*arguments, **options)
        for hook in [*self._optimizer_step_post_hooks.values(), *_step_post_hooks.values()]:
            hook(self, arguments, options)
        return out

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


def _zero(place: Any, dtype: Any) -> Tensor:
    return wrap(place.backend.zeros((), dtype.array), place)


def _is_one_update(optimizer: Any, closure: Any = None) -> bool:
    """Whether a recorded step consists of primitives only."""
    return closure is None and optimizer.is_inline


class Optimizer(OptimizerState):
    """Base class of optimizers: holds ``param_groups``, ``state`` and ``defaults``.

    The optimizers of nnkit state their update as a ``formula`` and gather its operands in
    ``update_group``. User-defined optimizers override ``step``, as in PyTorch.

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts with a key ``params``.
        defaults: hyperparameters for the groups that do not set them.

    Raises:
        TypeError: ``params`` is a single tensor, those of a group are a set, or not all tensors.
        ValueError: ``params`` is empty, contains a non-leaf, or a parameter is in two groups.

    Example:
        >>> import nnkit
        >>> class SignDescent(nnkit.optim.Optimizer):
        ...     @nnkit.no_grad()
        ...     def step(self, closure=None):
        ...         for group in self.param_groups:
        ...             for p in group["params"]:
        ...                 p -= group["lr"] * p.grad.sign()
        >>> w = nnkit.tensor([1.0, -1.0], requires_grad=True)
        >>> optimizer = SignDescent([w], {"lr": 0.5})
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([ 0.5000, -0.5000], requires_grad=True)
    """

    formula: Update
    state_names: tuple[str, ...] = ()
    # Whether a compiled step can contain the update itself: the class (not a base class) declares
    # that the hyperparameters go to the formula unchanged, so that each replay can read them.
    inline = False
    _opt_called = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__ and not hasattr(cls.step, "hooked"):
            cls.step = with_step_hooks(cls.step)

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {type(params).__name__}"
            )
        self.defaults = defaults
        self._optimizer_step_pre_hooks: OrderedDict = OrderedDict()
        self._optimizer_step_post_hooks: OrderedDict = OrderedDict()
        self._make_state_hooks()
        self.state: defaultdict[Tensor, dict] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, for instance layers that are unfrozen later.

        Args:
            param_group: a dict with the key ``params`` and any hyperparameters of the group.

        Raises:
            TypeError: ``param_group`` is not a dict, its params are a set, or not all tensors.
            ValueError: a parameter is a non-leaf or in another group, or a required hyperparameter
                is missing.

        Example:
            >>> import nnkit
            >>> optimizer = nnkit.optim.SGD([nnkit.ones(1)], lr=0.1)
            >>> optimizer.add_param_group({"params": [nnkit.ones(2)], "lr": 0.01})
            >>> [group["lr"] for group in optimizer.param_groups]
            [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, (set, frozenset)):
            raise TypeError(_UNORDERED)
        params = list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names and len(names) < len(params):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        params = [p[1] if isinstance(p, tuple) else p for p in params]
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(p)}"
                )
            if not (self.defaults.get("differentiable") or p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        if len({id(p) for p in params}) < len(params):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error"
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in self.param_groups[0]) != bool(names):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if names else 'without'} names to the optimizer"
            )
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            if default is REQUIRED and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters.

        Args:
            set_to_none: if false, fill them with zeros instead.
        """
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

    def step(self, closure: Callable | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: recomputes the loss and its gradients, and returns the loss.

        Returns:
            The result of ``closure``, None without one.

        Raises:
            RuntimeError: a gradient does not fit its parameter; then nothing has been updated.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        # All gradients are checked before anything is updated.
        ready = [(group, params) for group in self.param_groups for params in self.ready(group)]
        sparse = self.with_sparse_gradients() if SPARSE else ()
        for group, params in ready:
            self.update_group(group, params)
        for group, p in sparse:
            self.update_sparse(group, p)
        return loss

    step = with_step_hooks(step)

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        """Update parameters of one group, all on one device; each optimizer overrides it."""
        raise NotImplementedError(f"{type(self).__name__} defines neither step nor update_group")

    def update_sparse(self, group: dict, p: Tensor) -> None:
        """Update a parameter whose gradient is sparse; overridden where that is supported.

        Raises:
            RuntimeError: the optimizer does not support sparse gradients.
        """
        advice = ", please consider SparseAdam instead" if "Adam" in type(self).__name__ else ""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients{advice}")

    def with_sparse_gradients(self) -> list[tuple[dict, Tensor]]:
        """The parameters whose gradient is sparse, each with its group."""
        found = [
            (group, p)
            for group in self.param_groups
            for p in group["params"]
            if p._grad.__class__ in SPARSE
        ]
        if found and type(self).update_sparse is Optimizer.update_sparse:
            self.update_sparse(*found[0])
        return found

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if type(self).update_group is not Optimizer.update_group:  # not a user-defined optimizer
            self._bring_up_to_date()

    @property
    def is_inline(self) -> bool:
        """Whether a compiled step can contain the update itself, instead of a call of `step`."""
        values = [v for group in self.param_groups for v in group.values()]
        return (
            type(self).__dict__.get("inline", False)
            and not any(self.step_hooks)
            and not any(isinstance(v, Tensor) for v in values)
            and not any(group.get("differentiable") for group in self.param_groups)
        )

    @property
    def step_hooks(self) -> tuple[OrderedDict, ...]:
        """The dictionaries of hooks that run before and after a step."""
        own = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        return *own, _step_pre_hooks, _step_post_hooks

    # Building blocks for `update_group` of the optimizers

    def ready(self, group: dict) -> Iterable[list[Tensor]]:
        """The group's parameters that have a strided gradient, in one list for each device.

        Raises:
            RuntimeError: the shape or dtype of a gradient is not that of its parameter.
        """
        found: dict[int, list[Tensor]] = {}
        place: Any = None
        params: list[Tensor] = []
        for p in group["params"]:
            grad = p._grad
            if grad is None or grad.__class__ in SPARSE:
                continue
            x, g = p._array, grad._array
            if g.dtype != x.dtype or g.shape != x.shape:
                raise RuntimeError(
                    f"{type(self).__name__}: the gradient of a parameter of shape "
                    f"{list(p.shape)} and dtype {p.dtype} has shape {list(grad.shape)} and "
                    f"dtype {grad.dtype}"
                )
            if has_expanded(x):
                check_expanded("step", x)
            if p._device is not place:
                place = p._device
                params = found.setdefault(id(place), [])
            params.append(p)
        return found.values() or [params]

    def zeros_like(self, p: Tensor) -> Tensor:
        """A state tensor of zeros for parameter ``p``; a subclass of Tensor decides its class."""
        if not is_plain(p):
            return zeros_like(p)
        return wrap(p._device.backend.zeros_like(p._array), p._device)

    def gather(
        self, params: list[Tensor], names: Iterable[str], counter: str | None = None
    ) -> dict[str, list[Tensor]]:
        """The state tensors of ``params`` by name; missing ones are made. ``counter`` names the
        state that counts steps, a 0-dim tensor."""
        gathered: dict[str, list[Tensor]] = {name: [] for name in names}
        if counter is not None:
            gathered[counter] = []
        for p in params:
            state = self.state[p]
            if counter is not None and counter not in state:
                dtype = dtype_of_numbers(self.defaults.get("fused"))
                state[counter] = beforehand(_zero, p._device, dtype)
            for name, tensors in gathered.items():
                if name not in state:
                    state[name] = beforehand(self.zeros_like, p)
                tensors.append(state[name])
        return gathered

    def apply(
        self,
        group: dict,
        params: list[Tensor],
        states: dict[str, list[Tensor]],
        numbers: tuple[float, ...],
        flags: tuple,
    ) -> None:
        """Run the formula on ``params`` and their states by one call of the backend.

        Args:
            states: the state tensors by name, as many as ``params``; may leave out unused ones.
            numbers: the values of the formula's scalars.
            flags: the values of its flags.
        """
        if not params:
            return
        differentiable = group.get("differentiable", False)
        if differentiable is not False:
            if differentiable is not True:
                got = type(differentiable).__name__
                raise TypeError(f"{type(self).__name__}: differentiable must be bool, not {got}")
            if MODE.enabled:
                from nnkit.optim.differentiable import apply_differentiable

                apply_differentiable(self.formula, params, states, numbers, flags)
                return
        _param, _grad, *names = self.formula.arrays
        B = params[0]._device.backend
        try:
            lists = [[t._array for t in states[n]] if n in states else [] for n in names]
        except AttributeError:
            for name, value in [(n, t) for n in states for t in states[n]]:
                if not isinstance(value, Tensor):
                    raise wrong_state(self, name, value) from None
            raise
        for name, found in states.items():
            if found and found[0].is_inference():
                wrote(found[0], name)
        if MODE.captures is not None:
            for p in params:
                check_captured(p, "add_")
        data: list[Any] = []
        grads: list[Any] = []
        is_complex = False
        for p in params:
            x = p._array
            data.append(x)
            grads.append(p._grad._array)  # type: ignore[union-attr]
            is_complex = is_complex or x.dtype.kind == "c"
            version = p._writes
            version[0] += 1
            version[1] = "optimizer step"
        update = getattr(B, self.formula.name)
        if not is_complex:
            update(data, grads, *lists, *numbers, *flags)
            return
        data = list(map(plain, data))
        update(
            *(  # real and imaginary parts are updated independently
                [B.view_as_real(plain(x)) if x.dtype.kind == "c" else x for x in arrays]
                for arrays in (data, grads, *lists)
            ),
            *numbers,
            *flags,
        )
        for p, x in zip(params, data, strict=True):
            if x is not p._array:  # p is lazily conjugated, and x its computed value
                p._device.backend.copy_(p._array, x)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(
                f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"
            )
        return text + ")"


_UNORDERED = (
    "optimizer parameters need to be organized in ordered collections, but the ordering of "
    "tensors in sets will change between runs. Please use a list instead."
)
