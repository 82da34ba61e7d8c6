"""`GradScaler`: losses scaled up so that half-precision gradients do not vanish."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from nnkit.amp.scaling import adapted, in_float32, unscale
from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.creation.factories import full
from nnkit.autograd.ops.exchange.interchange import tensor
from nnkit.backend.dtype import float16, float32
from nnkit.backend.program.outside import live, outside
from nnkit.backend.warning import warn
from nnkit.cuda import is_available
from nnkit.optim.optimizer import Optimizer


class OptState(Enum):
    """How far an optimizer has come since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales a loss, unscales gradients, skips steps with inf or NaN, and adapts the scale.

    Args:
        device: "cuda" or "cpu"; without a GPU, "cuda" warns and switches itself off.
        init_scale: the first scale.
        growth_factor: the scale is multiplied by it after ``growth_interval`` good steps.
        backoff_factor: and by this after a step with inf or NaN.
        growth_interval: as above.
        enabled: false makes every method do the plain thing.

    Source: Micikevicius et al. 2017, "Mixed precision training"; ``torch.amp.GradScaler``.

    Example:
        >>> import nnkit
        >>> w = nnkit.ones(1, requires_grad=True)
        >>> optimizer, scaler = nnkit.optim.SGD([w], lr=0.5), nnkit.amp.GradScaler("cpu")
        >>> scaler.scale(w.sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> w
        tensor([0.5000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device == "cuda" and not is_available():
            warn("GradScaler: there is no GPU, so it is switched off")
            enabled = False
        self._device = device
        self._enabled = enabled
        if growth_factor <= 1.0:
            raise AssertionError(f"GradScaler: growth_factor must be > 1, got {growth_factor}")
        if backoff_factor >= 1.0:
            raise AssertionError(f"GradScaler: backoff_factor must be < 1, got {backoff_factor}")
        self._scale = init_scale
        self._is_used = False  # whether anything was scaled yet
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._per_optimizer_states: dict[int, dict[str, Any]]
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def scale(self, outputs: Any) -> Any:
        """``outputs`` (a tensor, or an iterable of them) times the scale.

        Raises:
            ValueError: it is something else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if not self._is_used:
                full((), self._scale, dtype=float32)  # which refuses what is no number
            self._is_used = True
            return outputs * live(_scale_of, self)[0]
        if not isinstance(outputs, Iterable):
            got = type(outputs).__name__
            raise ValueError(f"GradScaler: scale takes a Tensor or an iterable of them, got {got}")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def _check_used(self, method: str) -> None:
        if not self._is_used:
            raise AssertionError(f"GradScaler: {method} was called before anything was scaled")

    def _unscale_grads_(
        self, optimizer: Optimizer, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Any, Tensor]:
        """Multiply the gradients of an optimizer by ``inv_scale``; may be overridden.

        Returns:
            For each device of gradients whether one held inf or NaN, as 1 or 0.

        Raises:
            ValueError: a gradient is of float16, and these are not allowed.
        """
        gradients: dict[Any, list[Tensor]] = {}
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.dtype is float16 and not allow_fp16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                if p.grad.is_sparse and p.grad.dtype is float16:
                    p.grad = p.grad.coalesce()  # whose sums may overflow
                gradients.setdefault(p.grad.device, []).append(
                    p.grad._values() if p.grad.is_sparse else p.grad
                )
        found = {place: found_inf.detach().clone().to(place) for place in gradients}
        for place, each in gradients.items():
            unscale(each, found[place], inv_scale)
        return found

    def _check(self, optimizer: Optimizer, factor: float, allow_fp16: bool) -> dict[Any, Tensor]:
        """Unscale the gradients of an optimizer, and keep what was found."""
        scale, nothing = tensor(factor, dtype=float32), tensor(0.0, dtype=float32)
        found = self._unscale_grads_(optimizer, scale, nothing, allow_fp16)
        bad = self._agreed(any(map(bool, found.values())))
        for each in found.values():
            each.fill_(float(bad))
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _check_inf_per_device(self, optimizer: Optimizer) -> dict[Any, Tensor]:
        return self._check(optimizer, 1.0, True)

    def _found_inf_per_device(self, optimizer: Optimizer) -> dict[Any, Tensor]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    @no_grad()
    @outside
    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer by the scale, for instance to clip them.

        Raises:
            AssertionError: nothing was scaled yet.
            RuntimeError: it was done since the last update, or the step was made.
            ValueError: a gradient is of float16, which `autocast` makes of no parameter.
        """
        if not self._enabled:
            return
        self._check_used("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        self._check(optimizer, 1.0 / self._scale, False)
        state["stage"] = OptState.UNSCALED

    def _agreed(self, bad: bool) -> bool:
        """Whether the step is to be left out, where this process has found bad gradients or not."""
        return bad

    def _maybe_opt_step(
        self, optimizer: Optimizer, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        """The step of an optimizer, unless bad gradients were found; may be overridden."""
        if any(map(bool, optimizer_state["found_inf_per_device"].values())):
            return None
        return optimizer.step(*args, **kwargs)

    @outside
    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step()`` on unscaled gradients; left out where one is inf or NaN.

        Raises:
            AssertionError: nothing was scaled yet, or there are no gradients.
            RuntimeError: a closure is given, or the step was made since the last update.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("GradScaler: step takes no closure where scaling is enabled")
        self._check_used("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._informed_step(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _informed_step(
        self, optimizer: Any, state: dict[str, Any], args: tuple, kwargs: dict[str, Any]
    ) -> Any:
        """The step of an optimizer that unscales its gradients itself: it gets the scaler where its
        step takes one, else the scale and whether there are bad gradients as attributes."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn(
                "GradScaler: an optimizer whose step takes grad_scaler will get the attributes "
                "grad_scale and found_inf instead",
                FutureWarning,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        is_unscaled = state["stage"] is OptState.UNSCALED
        if not is_unscaled:
            with no_grad():
                self._check_inf_per_device(optimizer)
        bad = any(map(bool, state["found_inf_per_device"].values()))
        optimizer.grad_scale = None if is_unscaled else tensor(self._scale, dtype=float32)
        optimizer.found_inf = tensor(float(bad), dtype=float32)
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    @outside
    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to what the steps found, or set it.

        Raises:
            AssertionError: nothing was scaled, or no step was made.
        """
        if not self._enabled:
            return
        self._check_used("update")
        states = self._per_optimizer_states.values()
        found = [bool(f) for state in states for f in state["found_inf_per_device"].values()]
        if new_scale is not None:
            self._scale = in_float32(float(new_scale))
        elif not found:
            raise AssertionError("No inf checks were recorded prior to update.")
        else:
            self._scale, self._growth_tracker = adapted(
                self._scale, self._growth_tracker, any(found), self._growth_factor,
                self._backoff_factor, self._growth_interval,
            )  # fmt: skip
        self._per_optimizer_states.clear()

    def get_scale(self) -> float:
        """The scale; 1 where scaling is disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """The factor of the scale after steps without an overflow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after steps without an overflow."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor of the scale after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many steps without an overflow let the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many steps without an overflow let the scale grow."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scaler's state for a checkpoint; empty where scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor, "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave.

        Raises:
            RuntimeError: it is empty: it came from a disabled scaler.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("GradScaler: the state dict is empty, from a disabled instance")
        self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


def _scale_of(scaler: GradScaler) -> tuple:
    return (scaler._scale,)
