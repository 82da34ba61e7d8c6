"""``weight_norm`` and ``spectral_norm`` by hooks: the forms before ``parametrizations``.

Their state dicts have the keys ``weight_g`` and ``weight_v``, ``weight_orig`` and ``weight_u``.
"""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.backend.warning import warn
from nnkit.nn.functional.distance import normalize
from nnkit.nn.modules.module import Module
from nnkit.nn.parameter import Parameter, is_lazy
from nnkit.nn.utils.parametrizations import norm_except

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


class WeightNorm:
    """The hook that computes a weight from its length and direction before each forward."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Module) -> Tensor:
        """``g * v / |v|``."""
        g, v = (getattr(module, f"{self.name}_{part}") for part in "gv")
        return v * (g / norm_except(v, self.dim))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn the length and the direction of a weight apart; parameters ``_g`` and ``_v``.

    `nnkit.nn.utils.parametrizations.weight_norm` is its successor.

    Args:
        module: what has the weight.
        name: the weight's name.
        dim: the dimension along which each slice has a length; None for one length.

    Raises:
        RuntimeError: this weight has it already.

    Example:
        >>> import warnings, nnkit
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     layer = nnkit.nn.utils.weight_norm(nnkit.nn.Linear(2, 3))
        >>> list(layer.state_dict())
        ['bias', 'weight_g', 'weight_v']
    """
    warn(
        "weight_norm is deprecated: use nnkit.nn.utils.parametrizations.weight_norm", FutureWarning
    )
    _check(module, name, WeightNorm)
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight = getattr(module, name)
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(norm_except(weight, hook.dim).detach()))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight one parameter again.

    Raises:
        ValueError: it has no weight norm.
    """
    hook = _taken_off(module, name, WeightNorm)
    weight = hook.compute_weight(module).detach()
    delattr(module, name)
    del module._parameters[f"{name}_g"], module._parameters[f"{name}_v"]
    setattr(module, name, Parameter(weight))
    return module


class SpectralNorm:
    """The hook that divides a weight by its largest singular value before each forward."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows are its outputs."""
        if self.dim != 0:
            weight = weight.movedim(self.dim, 0)
        return weight.reshape(weight.shape[0], -1)

    def compute_weight(self, module: Module, iterate: bool) -> Tensor:
        """The weight over its singular value, after some power iterations if asked for."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = (getattr(module, f"{self.name}_{part}") for part in "uv")
        matrix = self.matrix(weight)
        if iterate:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    normalize(matrix.mT.mv(u), dim=0, eps=self.eps, out=v)
                    normalize(matrix.mv(v), dim=0, eps=self.eps, out=u)
                u, v = u.clone(), v.clone()
        return weight / u.dot(matrix.mv(v))

    def note_version(
        self, module: Module, state: dict[str, Any], prefix: str, metadata: dict[str, Any]
    ) -> None:
        """Note in the metadata of a state dict that it holds ``v``, and not the weight."""
        metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = 1

    def upgrade(
        self, state: dict[str, Any], prefix: str, metadata: dict[str, Any], *_: Any
    ) -> None:
        """Give a state dict of torch before 1.0 the ``v`` for which ``u W v`` is its weight's."""
        weight, original, u, v = (
            f"{prefix}{self.name}{part}" for part in ("", "_orig", "_u", "_v")
        )
        old = f"{self.name}.version" not in metadata.get("spectral_norm", {})
        if not old or any(key not in state for key in (weight, original, u)):
            return
        with no_grad():
            matrix = self.matrix(state[original])
            solved = (matrix.mT @ matrix).pinverse() @ (matrix.mT @ state[u])
            value = (state[original] / state.pop(weight)).mean()
            state[v] = solved * (value / state[u].dot(matrix @ solved))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value; parameter ``_orig``, buffer ``_u``.

    `nnkit.nn.utils.parametrizations.spectral_norm` is its successor, whose arguments it has.

    Raises:
        RuntimeError: this weight has it already.
        ValueError: there are no iterations.

    Example:
        >>> import nnkit
        >>> list(nnkit.nn.utils.spectral_norm(nnkit.nn.Linear(2, 3)).state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    if n_power_iterations <= 0:
        raise ValueError(
            "spectral_norm: n_power_iterations must be positive, got "
            f"n_power_iterations={n_power_iterations}"
        )
    _check(module, name, SpectralNorm)
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    assert weight is not None
    with no_grad():
        rows, columns = hook.matrix(weight).shape
        u = normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
        v = normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
    del module._parameters[name]
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach())
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(hook.note_version)
    module._register_load_state_dict_pre_hook(hook.upgrade)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight, divided by its singular value, one parameter again.

    Raises:
        ValueError: it has no spectral norm.
    """
    hook = _taken_off(module, name, SpectralNorm)
    registries: Any = (module._state_dict_hooks, module._load_state_dict_pre_hooks)
    for registry in registries:
        for key, each in list(registry.items()):
            if getattr(getattr(each, "hook", each), "__self__", None) is hook:
                del registry[key]
    with no_grad():
        weight = hook.compute_weight(module, False)
    delattr(module, name)
    for part in ("orig", "u", "v"):
        delattr(module, f"{name}_{part}")
    module.register_parameter(name, Parameter(weight.detach()))
    return module


_NAMES = {WeightNorm: "weight_norm", SpectralNorm: "spectral_norm"}


def _check(module: Module, name: str, kind: type) -> None:
    """The parameter has a shape, and no hook of this kind."""
    if is_lazy(getattr(module, name)):
        raise ValueError(
            f"The module passed to `{_NAMES[kind]}` can't have uninitialized parameters. Make sure "
            "to run the forward once before"
        )
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, kind) and hook.name == name:
            raise RuntimeError(
                f"Cannot register two {_NAMES[kind]} hooks on the same parameter {name}"
            )


def _taken_off(module: Module, name: str, kind: type) -> Any:
    hooks: Any = module._forward_pre_hooks
    for key, hook in hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            del hooks[key]
            return hook
    raise ValueError(f"{_NAMES[kind]} of '{name}' not found in {module}")
