"""Parameters computed from others: a module's attribute becomes a function of new parameters.

The names, and the keys of state dicts, are those of ``torch.nn.utils.parametrize``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.nn.modules.container import ModuleDict, ModuleList
from nnkit.nn.modules.module import Module
from nnkit.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_depth = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once while active, however often it is read.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.utils import parametrize, parametrizations
        >>> layer = parametrizations.weight_norm(nnkit.nn.Linear(2, 2))
        >>> with parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and what they start from: ``original``.

    Where the first one's ``right_inverse`` gives several tensors, they are ``original0``,
    ``original1`` ...
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        start: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # then as if there were none
                        start = module.right_inverse(start)
        if not isinstance(start, (Tensor, tuple, list)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors, got "
                f"{type(start).__name__}"
            )
        for part in () if isinstance(start, Tensor) else start:
            if not isinstance(part, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors, got an element "
                    f"of the sequence with type {type(part).__name__}"
                )
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if isinstance(start, Tensor) else len(start)
        if isinstance(start, Tensor):
            if not unsafe:
                _check_kept("When `right_inverse` outputs one tensor, it", start, original)
            with no_grad():
                original.set_(start)  # an optimizer that has it keeps it
            _register(self, "original", original)
        else:
            for i, part in enumerate(start):
                made = Parameter(part) if isinstance(original, Parameter) else part
                _register(self, f"original{i}", made.requires_grad_(original.requires_grad))
        if not unsafe:
            self._check(original)

    def _check(self, original: Tensor) -> None:
        with no_grad():
            value = self()
        _check_tensor("A parametrization", value)
        _check_kept("Registering a parametrization", value, original)

    def originals(self) -> list[Tensor]:
        """The tensors that the parametrized one is computed from."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``.

        Raises:
            RuntimeError: a parametrization has no ``right_inverse``.
        """
        start: Any = value
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse"
                        ", so the tensor cannot be assigned"
                    )
                start = module.right_inverse(start)
            if not self.is_tensor and not isinstance(start, (tuple, list)):
                got = type(start).__name__
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {got}.")
            parts: list[Any] = [start] if self.is_tensor else [*start]
            if len(parts) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                    f"Got a sequence of length {len(parts)}."
                )
            for original, part in zip(self.originals(), parts, strict=True):
                _check_tensor("right_inverse", part)
                if part.dtype != original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {part.dtype}: it must "
                        f"have the same dtype as `original`, {original.dtype}"
                    )
                original.set_(part)

    def forward(self) -> Any:
        first, *rest = list(self)
        value = first(*self.originals())
        for module in rest:
            value = module(value)
        return value


def _check_tensor(what: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type(value).__name__}")


def _check_kept(what: str, value: Tensor, original: Tensor) -> None:
    """ValueError for a tensor of another shape or dtype than the parametrized one."""
    for kept in ("dtype", "shape"):
        one, other = getattr(original, kept), getattr(value, kept)
        if one != other:
            raise ValueError(
                f"{what} may not change the {kept} of the tensor, which must have the same {kept} "
                f"unless `unsafe` flag is enabled: got {other} for {one}"
            )


def _register(module: Module, name: str, value: Tensor) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrized tensors (or this one).

    Example:
        >>> import nnkit
        >>> nnkit.nn.utils.parametrize.is_parametrized(nnkit.nn.Linear(1, 1))
        False
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let ``module.<tensor_name>`` be ``parametrization(original)`` from now on.

    Args:
        module: its class becomes a subclass of its own, with a property of this name.
        tensor_name: a parameter or a buffer; ``parametrizations.<tensor_name>.original`` keeps it.
        parametrization: a Module from tensor to tensor; a method ``right_inverse`` gives the
            first original, and lets the tensor be assigned.
        unsafe: let it change shape or dtype.

    Raises:
        ValueError: there is no such tensor, or shape or dtype would change.

    Example:
        >>> import nnkit
        >>> class Symmetric(nnkit.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        >>> layer = nnkit.nn.Linear(3, 3)
        >>> parametrize = nnkit.nn.utils.parametrize
        >>> _ = parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> nnkit.equal(layer.weight, layer.weight.mT)
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        known: Any = module._modules["parametrizations"]
        chain: ParametrizationList = known[tensor_name]
        if not unsafe:
            _check_next(parametrization, getattr(module, tensor_name))
        chain.unsafe |= unsafe
        chain.append(parametrization)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a "
            f"parametrized element with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    chain = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_class(module)
        module.parametrizations = ModuleDict()
    _give_property(module, tensor_name)
    parametrizations: Any = module.parametrizations
    parametrizations[tensor_name] = chain
    return module


@no_grad()
def _check_next(parametrization: Module, before: Tensor) -> None:
    """ValueError if a further parametrization changes the shape or dtype of a tensor."""
    after = parametrization(before)
    _check_tensor("A parametrization", after)
    _check_kept("Registering a parametrization", after, before)
    if hasattr(parametrization, "right_inverse"):
        with suppress(NotImplementedError):
            start: Any = parametrization.right_inverse(after)
            _check_tensor("right_inverse", start)
            _check_kept("right_inverse", start, before)


def _give_class(module: Module) -> None:
    """Give a module a class of its own, which can hold its properties."""
    base = type(module)

    def getstate(self: Any) -> Any:
        raise RuntimeError(
            "parametrized modules can only be saved by their state_dict(): their classes are made "
            "at run time"
        )

    def deepcopy(self: Any, memo: dict) -> Any:
        new = self.__new__(type(self))
        memo[id(self)] = new
        new.__dict__ = copy.deepcopy(self.__dict__, memo)
        return new

    members = {"__getstate__": getstate, "__deepcopy__": deepcopy}
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def _give_property(module: Module, tensor_name: str) -> None:
    def get(self: Any) -> Tensor:
        chain = self.parametrizations[tensor_name]
        if not _cache_depth:
            return chain()
        key = (id(self), tensor_name)
        if key not in _cache:
            _cache[key] = chain()
        return _cache[key]

    def set(self: Any, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get, set))


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make ``module.<tensor_name>`` a parameter or buffer of its own again.

    Args:
        module: the module.
        tensor_name: what was parametrized.
        leave_parametrized: keep its computed value; otherwise the original.

    Raises:
        ValueError: it is not parametrized, or has several originals that cannot be left.

    Example:
        >>> import nnkit
        >>> utils = nnkit.nn.utils
        >>> layer = utils.parametrizations.weight_norm(nnkit.nn.Linear(2, 2))
        >>> list(utils.parametrize.remove_parametrizations(layer, "weight").state_dict())
        ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"Module {type(module).__name__} does not have a parametrization on {tensor_name}"
        )
    parametrizations: Any = module.parametrizations
    chain: ParametrizationList = parametrizations[tensor_name]
    if not leave_parametrized and not chain.is_tensor:
        raise ValueError(
            "remove_parametrizations: with leave_parametrized=False there must be a single "
            f"original tensor, got {chain.ntensors}"
        )
    if chain.is_tensor:
        kept = chain.original
        if leave_parametrized:
            with no_grad():
                kept.set_(getattr(module, tensor_name))
    else:
        value = getattr(module, tensor_name)
        kept = Parameter(value) if value.requires_grad else value
    delattr(type(module), tensor_name)
    del parametrizations[tensor_name]
    _register(module, tensor_name, kept)
    if len(parametrizations) == 0:
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrize the tensors of one module as those of another, from the same originals.

    Args:
        from_module: the module that has the parametrizations; nothing is done if it has none.
        to_module: gets them, and the tensors that it lacks.
        tensor_name: the one tensor to transfer; all that are parametrized by default.

    Returns:
        ``to_module``.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.utils import parametrize, parametrizations
        >>> first, second = nnkit.nn.Linear(2, 2), nnkit.nn.Linear(2, 2)
        >>> parametrizations.weight_norm(first)
        ParametrizedLinear(
          in_features=2, out_features=2, bias=True
          (parametrizations): ModuleDict(
            (weight): ParametrizationList(
              (0): _WeightNorm()
            )
          )
        )
        >>> second = parametrize.transfer_parametrizations_and_params(first, second)
        >>> second.weight.equal(first.weight)
        True
    """
    if not is_parametrized(from_module):
        return to_module
    lists = from_module.parametrizations
    for name in lists if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in lists[name]:
            register_parametrization(to_module, name, parametrization)
        for original, value in lists[name]._parameters.items():
            setattr(to_module.parametrizations[name], original, value)
    return to_module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before a tensor of its was parametrized.

    Example:
        >>> import nnkit
        >>> utils = nnkit.nn.utils
        >>> layer = utils.parametrizations.weight_norm(nnkit.nn.Linear(2, 2))
        >>> utils.parametrize.type_before_parametrizations(layer).__name__
        'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)
