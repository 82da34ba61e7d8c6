"""Pruning: masks on parameters, under the names of ``torch.nn.utils.prune``.

A pruned ``weight`` is ``weight_orig * weight_mask``: the parameter becomes ``weight_orig``, the
mask a buffer, and a hook computes the product before each forward.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import ones_like
from nnkit.autograd.ops.random.factories import rand, rand_like
from nnkit.autograd.ops.shape.joining import cat
from nnkit.nn.modules.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """A way to choose what is pruned: `compute_mask`. It is the hook that applies the mask."""

    PRUNING_TYPE = "unstructured"
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for importances ``t``, where ``default_mask`` tells what is pruned already."""

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned tensor."""
        name = self._tensor_name
        original = getattr(module, f"{name}_orig")
        return getattr(module, f"{name}_mask").to(original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """Prune ``module.<name>``; the method's own arguments follow. Returns the hook."""
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        hooks: Any = module._forward_pre_hooks
        earlier = [(key, hook) for key, hook in _methods(module) if hook._tensor_name == name]
        original = getattr(module, name)
        if not isinstance(original, Tensor):
            got = type(original).__name__
            raise TypeError(f"prune: argument 'name' must be that of a tensor, {name!r} is a {got}")
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                "importance_scores should have the same shape as parameter "
                f"{name} of {type(module).__name__}"
            )
        scores = original if importance_scores is None else importance_scores
        for _, hook in earlier:
            container = PruningContainer(hook)
            container.add_pruning_method(method)
            method = container
        if earlier:
            default = getattr(module, f"{name}_mask").detach().clone()
        else:
            default = ones_like(original.detach())
        mask = method.compute_mask(scores.detach(), default_mask=default)
        # A method that raises leaves the module as it was.
        for key, _ in earlier:
            del hooks[key]
        if not earlier:
            module.register_parameter(f"{name}_orig", module._parameters[name])
            del module._parameters[name]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """``t`` pruned, without a module."""
        default = ones_like(t) if default_mask is None else default_mask
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor the parameter."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters[f"{name}_orig"]
        original.data = weight.detach()
        del module._parameters[f"{name}_orig"]
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods one after the other, each on what the others have left."""

    PRUNING_TYPE = "container"

    def __init__(self, *methods: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        self._tensor_name = getattr(methods[0], "_tensor_name", "") if methods else ""
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method, or those of another container.

        Raises:
            TypeError: it is none.
            ValueError: it is for another tensor.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"PruningContainer(): {method!r} is not a BasePruningMethod")
        if self._tensor_name and method._tensor_name != self._tensor_name:
            raise ValueError(
                f"a method for {method._tensor_name!r} cannot join those for {self._tensor_name!r}"
            )
        added = method if isinstance(method, PruningContainer) else (method,)
        self._pruning_methods += tuple(added)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, default_mask=mask)
        if method.PRUNING_TYPE == "structured":
            dim = getattr(method, "dim", 0) % t.ndim
            left = mask.sum([d for d in range(t.ndim) if d != dim]) != 0
            index: Any = (*(slice(None),) * dim, left)
        else:
            index = mask == 1
        mask = mask.clone()
        mask[index] = method.compute_mask(t[index], default_mask=mask[index])
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Unstructured(BasePruningMethod):
    """Prunes an amount of single elements."""

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _lowest(self, scores: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, scores.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[scores.reshape(-1).topk(count, largest=False).indices] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if not _count(self.amount, t.numel()):
            return default_mask.clone()
        return self._lowest(-rand_like(t), default_mask)


class L1Unstructured(_Unstructured):
    """Prunes the smallest elements."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return self._lowest(t.abs(), default_mask)


class _Structured(BasePruningMethod):
    """Prunes an amount of whole slices along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def _size(self, t: Tensor) -> int:
        """How many slices there are."""
        if not isinstance(self.dim, int):
            raise TypeError(f"prune: argument 'dim' must be int, not {type(self.dim).__name__}")
        if t.ndim < 2:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.ndim} dims"
            )
        return t.shape[self.dim]

    def _slices(self, t: Tensor, kept: Tensor, default_mask: Tensor) -> Tensor:
        shape = [1] * t.ndim
        shape[self.dim] = t.shape[self.dim]
        return default_mask * kept.to(default_mask.dtype).view(shape)


class RandomStructured(_Structured):
    """Prunes slices at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        size = self._size(t)
        count = _count(self.amount, size)
        if not count:
            return default_mask
        scores = rand(size)
        return self._slices(t, scores > scores.kthvalue(count).values, default_mask)


class LnStructured(_Structured):
    """Prunes the slices of the smallest norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        size = self._size(t)
        count = _count(self.amount, size)
        if not count:
            return default_mask
        others = [d for d in range(t.ndim) if d != self.dim % t.ndim]
        kept = t.norm(p=self.n, dim=others).topk(size - count).indices
        mask = t.new_zeros(size)
        mask[kept] = 1
        return self._slices(t, mask, default_mask)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"CustomFromMask: the mask must have the parameter's shape "
                f"{list(default_mask.shape)}, got {list(self.mask.shape)}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


# Three names of torch's that methods of pruning which others write use as well.
def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1.0):
        raise ValueError(
            f"prune: amount={amount} should either be a float in the range [0, 1] or a "
            "non-negative integer"
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, int) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune="
            f"{tensor_size}"
        )


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    return amount if isinstance(amount, int) else round(amount * tensor_size)


def _count(amount: Any, size: int) -> int:
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.utils import prune
        >>> layer = prune.identity(nnkit.nn.Linear(2, 1), "weight")
        >>> layer.weight_mask
        tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune an amount (a number of elements, or a share) at random.

    Example:
        >>> import nnkit
        >>> layer = nnkit.nn.utils.prune.random_unstructured(nnkit.nn.Linear(2, 2), "weight", 3)
        >>> layer.weight_mask.sum().item()
        1.0
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: Any, importance_scores: Tensor | None = None
) -> Module:
    """Prune an amount of the smallest elements.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.utils import prune
        >>> layer = prune.l1_unstructured(nnkit.nn.Linear(4, 1), "weight", amount=2)
        >>> int((layer.weight == 0).sum())
        2
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune an amount of slices along ``dim`` at random.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.utils import prune
        >>> layer = nnkit.nn.Linear(2, 4)
        >>> _ = prune.random_structured(layer, "weight", amount=1, dim=0)
        >>> int((layer.weight == 0).all(1).sum())
        1
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: Any,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune an amount of the slices along ``dim`` with the smallest n-norm.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.utils import prune
        >>> layer = nnkit.nn.Linear(2, 4)
        >>> _ = prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
        >>> int((layer.weight == 0).all(1).sum())
        1
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune what is 0 in ``mask``.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.utils import prune
        >>> layer, mask = nnkit.nn.Linear(2, 1), nnkit.tensor([[1.0, 0.0]])
        >>> layer = prune.custom_from_mask(layer, "weight", mask)
        >>> bool(layer.weight[0, 1] == 0)
        True
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one; ``kwargs`` are the method's.

    Raises:
        TypeError: ``parameters`` is not iterable, the scores are no dict, or the method does not
            prune element by element.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.utils import prune
        >>> a, b = nnkit.nn.Linear(2, 2), nnkit.nn.Linear(2, 2)
        >>> prune.global_unstructured(
        ...     [(a, "weight"), (b, "weight")], pruning_method=prune.L1Unstructured, amount=4
        ... )
        >>> int((a.weight == 0).sum() + (b.weight == 0).sum())
        4
    """
    if not isinstance(parameters, Iterable):
        got = type(parameters).__name__
        raise TypeError(f"global_unstructured: parameters must be a list of pairs, got {got}")
    if not isinstance(importance_scores, dict | None):
        got = type(importance_scores).__name__
        raise TypeError(f"global_unstructured: importance_scores must be a dict, got {got}")
    pairs = list(parameters)
    scores = importance_scores or {}
    given: list[Any] = [scores.get((m, n), getattr(m, n)) for m, n in pairs]
    masks = [getattr(m, f"{n}_mask", None) for m, n in pairs]
    filled = [ones_like(s) if mask is None else mask for s, mask in zip(given, masks, strict=True)]
    container = PruningContainer()
    container._tensor_name = "temp"
    method: Any = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE is supported for global pruning, got '
            f"{method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    flat = [cat([t.detach().reshape(-1) for t in some], 0) for some in (given, filled)]
    mask = container.compute_mask(*flat)
    start = 0
    for (module, name), score in zip(pairs, given, strict=True):
        end = start + score.numel()
        custom_from_mask(module, name, mask[start:end].view_as(score))
        start = end


def remove(module: Module, name: str) -> Module:
    """Make pruning permanent: the pruned tensor becomes the parameter.

    Raises:
        ValueError: the parameter is not pruned.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.utils import prune
        >>> layer = prune.l1_unstructured(nnkit.nn.Linear(4, 1), "weight", amount=2)
        >>> _ = prune.remove(layer, "weight")
        >>> [name for name, _ in layer.named_parameters()]
        ['bias', 'weight']
    """
    for key, method in _methods(module):
        if method._tensor_name == name:
            method.remove(module)
            del module._forward_pre_hooks[key]  # type: ignore[attr-defined]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned first")


def is_pruned(module: Module) -> bool:
    """Whether a module, or one below it, has a pruned parameter.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.utils import prune
        >>> prune.is_pruned(nnkit.nn.Linear(2, 1))
        False
    """
    return any(_methods(part) for part in module.modules())


def _methods(module: Module) -> list[tuple[int, BasePruningMethod]]:
    """The pruning methods among a module's hooks."""
    hooks = module._forward_pre_hooks.items()
    return [(key, hook) for key, hook in hooks if isinstance(hook, BasePruningMethod)]
