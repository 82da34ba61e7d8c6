"""``__torch_function__`` for libraries: who overrides functions, and which can be overridden.

A class with a method ``__torch_function__(cls, func, types, args, kwargs)`` answers for functions
that get one of its instances; a subclass of Tensor inherits one that calls the function and makes
the result an instance of the subclass. `TorchFunctionMode` answers for all functions in a block.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nnkit.autograd.arguments.overriding import (
    THREAD,
    BaseTorchFunctionMode,
    TorchFunctionMode,
    answer,
    is_intercepted,
    is_passed,
    overriding,
)
from nnkit.autograd.arguments.overriding import is_tensor_like as is_tensor_like
from nnkit.autograd.arguments.overriding import redispatch_function as redispatch_function
from nnkit.autograd.op.public import METHODS
from nnkit.autograd.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

# The functions that make tensors of numbers, sizes and dtypes.
_MAKERS = frozenset(
    "arange as_tensor asarray bartlett_window blackman_window broadcast_shapes can_cast empty "
    "empty_permuted empty_strided eye from_file from_numpy frombuffer full hamming_window "
    "hann_window kaiser_window linspace logspace normal ones promote_types rand rand_like randint "
    "randint_like randn randn_like randperm range result_type scalar_tensor sparse_coo_tensor "
    "sparse_compressed_tensor tensor tril_indices triu_indices vander zeros".split()
)


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments, or a mode, answers for functions.

    Example:
        >>> import nnkit
        >>> from nnkit.overrides import has_torch_function
        >>> class Named(nnkit.Tensor): ...
        >>> has_torch_function((nnkit.ones(1),)), has_torch_function((Named([1.0]),))
        (False, True)
    """
    return (is_intercepted() or bool(overriding(relevant_args))) and not is_passed()


def has_torch_function_unary(relevant_arg: Any) -> bool:
    """`has_torch_function` of one argument."""
    return has_torch_function((relevant_arg,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """`has_torch_function` of several arguments."""
    return has_torch_function(relevant_args)


def handle_torch_function(
    public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """The result of ``public_api(*args, **kwargs)`` by a mode or by one of the arguments.

    Raises:
        TypeError: none of them has an answer.
    """
    return answer(public_api, overriding(relevant_args), args, kwargs, named=True)


def wrap_torch_function(dispatcher: Callable) -> Callable:
    """A decorator for functions that can be overridden.

    Args:
        dispatcher: gets the arguments of the function and returns those that may override it.

    Example:
        >>> import nnkit
        >>> from nnkit.overrides import wrap_torch_function
        >>> @wrap_torch_function(lambda x: (x,))
        ... def doubled(x): return x * 2
        >>> doubled(nnkit.ones(2))
        tensor([2., 2.])
    """

    def wrap(function: Callable) -> Callable:
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        call.__name__, call.__doc__ = function.__name__, function.__doc__
        call.__module__, call.__qualname__ = function.__module__, function.__qualname__
        return call

    return wrap


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """The modes that are on, the innermost last."""
    return [*THREAD.modes]


def _get_current_function_mode() -> TorchFunctionMode | None:
    """The innermost mode that is on."""
    return THREAD.modes[-1] if THREAD.modes else None


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether a function is a method of Tensor, or the ``__get__`` of one of its properties."""
    return func in METHODS.values() or getattr(func, "__name__", "") == "__get__"


def get_overridable_functions() -> dict[Any, list[Callable]]:
    """The functions that can be overridden, by the module or class that offers them."""
    import nnkit
    from nnkit import fft, linalg, special
    from nnkit.nn import functional

    def held(names: Mapping[str, Any]) -> list[Callable]:
        return [value for value in names.values() if _is_asked(value)]

    return {
        nnkit: held(vars(nnkit)),
        functional: held(vars(functional)),
        fft: held(vars(fft)),
        linalg: held(vars(linalg)),
        special: held(vars(special)),
        Tensor: [*METHODS.values()],
    }


def get_ignored_functions() -> set[Callable]:
    """The public functions that no argument is asked about: they take no tensor.

    Example:
        >>> import nnkit
        >>> ignored = nnkit.overrides.get_ignored_functions()
        >>> nnkit.zeros in ignored, nnkit.zeros_like in ignored
        (True, False)
    """
    import nnkit
    from nnkit.nn import functional

    offered = (
        getattr(place, name)
        for place in (nnkit, functional)
        for name in dir(place)
        if name[0] != "_"
    )
    ignored = {value for value in offered if callable(value) and not _is_asked(value)}
    return ignored - _overridable()


def _overridable() -> set[Callable]:
    return {f for found in get_overridable_functions().values() for f in found}


def _is_asked(value: Any) -> bool:
    return hasattr(value, "learn") and value.__name__ not in _MAKERS


def get_testing_overrides() -> dict[Callable, Callable]:
    """For each function that can be overridden one of the same arguments that returns -1.

    Example:
        >>> import nnkit
        >>> nnkit.overrides.get_testing_overrides()[nnkit.add](1, 2)
        -1
    """
    return {function: _stand_in(function) for function in _overridable()}


def _stand_in(function: Callable) -> Callable:
    def minus_one(*args: Any, **kwargs: Any) -> int:
        return -1

    try:
        minus_one.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    except ValueError:  # of what is compiled, Python may know none
        pass
    return minus_one


@wrap_torch_function(lambda condition, message: (condition,))
def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError with the message unless the condition holds; a traced program does."""
    if not condition:
        raise AssertionError(message)


def get_default_nowrap_functions() -> set[Callable]:
    """The accessors of Tensor whose results a subclass gets as they are."""
    return {Tensor.grad.__get__}  # type: ignore[attr-defined]


def resolve_name(f: Callable) -> str | None:
    """The public name of a function, such as ``torch.nn.functional.relu``; None if unknown.

    Example:
        >>> import nnkit
        >>> nnkit.overrides.resolve_name(nnkit.Tensor.sum)
        'torch.Tensor.sum'
    """
    import nnkit

    name = getattr(f, "__name__", "")
    if METHODS.get(name) is f and name.endswith("_"):  # in place, which is a method first of all
        return f"torch.Tensor.{name}"
    for place, functions in get_overridable_functions().items():
        if any(function is f for function in functions):
            where = place.__name__.replace("nnkit", "torch")
            return f"{'torch.' if place is Tensor else ''}{where}.{name}"
    return f"torch.{name}" if vars(nnkit).get(name) is f else None
