"""`GradScaler`: losses scaled up so that half-precision gradients do not vanish."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.creation.factories import full
from nnkit.autograd.ops.exchange.interchange import tensor
from nnkit.backend.dtype import float32
from nnkit.backend.program.outside import live, outside
from nnkit.backend.warning import warn
from nnkit.cuda import is_available
from nnkit.optim.optimizer import Optimizer


def _in_float32(scale: float) -> float:
    """The scale as torch keeps it."""
    return tensor(scale, dtype=float32).item()


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
        self._found_inf: dict[int, bool] = {}  # by optimizer: what unscaling its gradients found
        self._stepped: set[int] = set()

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

    @no_grad()
    @outside
    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer by the scale, for instance to clip them.

        Raises:
            AssertionError: nothing was scaled yet.
            RuntimeError: it was done since the last update, or the step was made.
        """
        if not self._enabled:
            return
        self._check_used("unscale_")
        if id(optimizer) in self._found_inf:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        bad = False
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.mul_(1.0 / self._scale)
                    bad = bad or not bool(p.grad.isfinite().all())
        self._found_inf[id(optimizer)] = self._agreed(bad)

    def _agreed(self, bad: bool) -> bool:
        """Whether the step is to be left out, where this process has found bad gradients or not."""
        return bad

    @outside
    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step()`` on unscaled gradients; left out where one is inf or NaN.

        Raises:
            RuntimeError: a closure is given, or the step was made since the last update.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("GradScaler: step takes no closure where scaling is enabled")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._informed_step(optimizer, args, kwargs)
        if id(optimizer) not in self._found_inf:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return None if self._found_inf[id(optimizer)] else optimizer.step(*args, **kwargs)

    def _informed_step(self, optimizer: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The step of an optimizer that unscales its gradients itself: it gets the scaler where its
        step takes one, else the scale and whether there are bad gradients as attributes."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn(
                "GradScaler: an optimizer whose step takes grad_scaler will get the attributes "
                "grad_scale and found_inf instead",
                FutureWarning,
            )
            result = optimizer.step(*args, **kwargs, grad_scaler=self)
            self._stepped.add(id(optimizer))
            return result
        is_unscaled = id(optimizer) in self._found_inf
        if not is_unscaled:
            grads = [p.grad for group in optimizer.param_groups for p in group["params"]]
            bad = [g for g in grads if g is not None and not bool(g.isfinite().all())]
            self._found_inf[id(optimizer)] = self._agreed(bool(bad))
        optimizer.grad_scale = None if is_unscaled else tensor(self._scale)
        optimizer.found_inf = tensor(float(self._found_inf[id(optimizer)]))
        try:
            result = optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf
        self._stepped.add(id(optimizer))
        return result

    @outside
    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to what the steps found, or set it.

        Raises:
            AssertionError: nothing was scaled, or no step was made.
        """
        if not self._enabled:
            return
        self._check_used("update")
        if new_scale is not None:
            self._scale = _in_float32(float(new_scale))
        elif not self._found_inf:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._found_inf.values()):
            self._scale = _in_float32(self._scale * self._backoff_factor)
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = _in_float32(self._scale * self._growth_factor)
                self._scale = grown if math.isfinite(grown) else self._scale
                self._growth_tracker = 0
        self._found_inf.clear()
        self._stepped.clear()

    def get_scale(self) -> float:
        """The scale; 1 where scaling is disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by after steps without an overflow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after steps without an overflow."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after an overflow."""
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
