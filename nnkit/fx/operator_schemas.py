"""Calls of a program as the signatures of what they call say: arguments by name, with defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from nnkit import nn

# Parameters that functions of nnkit have besides those of torch's functions of their names.
_MORE = ("axis", "out", "requires_grad")


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple
    kwargs: dict[str, Any]


def _signature(function: Callable) -> inspect.Signature:
    """The signature of a function; of a formula's with the names of its numbers."""
    own = inspect.signature(inspect.unwrap(function))
    parameters: list[inspect.Parameter] = []
    for each in own.parameters.values():
        if each.kind is each.VAR_POSITIONAL and hasattr(function, "apply"):
            parameters += [
                each.replace(name=name, kind=each.POSITIONAL_OR_KEYWORD)
                for name in function.apply.op.primitive.statics
            ]
        else:
            parameters.append(each)
    return own.replace(parameters=parameters)


def _is_of_nnkit(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] in ("nnkit", "torch")


def check_for_mutable_operation(
    target: Callable, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Refuse the call of a function of nnkit that writes into an argument.

    Raises:
        RuntimeError: it gets ``out=``, or its name ends with an underscore.

    Source: ``torch.fx.operator_schemas``.

    Example:
        >>> import nnkit
        >>> check_for_mutable_operation(nnkit.sin, ("x",), {})
    """
    name = getattr(target, "__name__", "")
    written = kwargs.get("out") is not None
    if _is_of_nnkit(target) and (written or name.endswith("_") and not name.endswith("__")):
        raise RuntimeError(
            f"Tried to trace mutable operation aten::{name}{'.out' * written}: only what does not "
            "write into its arguments can be traced here"
        )


def get_signature_for_torch_op(op: Callable) -> list[inspect.Signature] | None:
    """The signatures of a function of nnkit, each of which has one; None of what is none.

    Source: ``torch.fx.operator_schemas``.

    Example:
        >>> import nnkit
        >>> get_signature_for_torch_op(nnkit.relu)
        [<Signature (input: 'Any') -> 'Tensor'>]
        >>> get_signature_for_torch_op(len)
    """
    return [_signature(op)] if _is_of_nnkit(op) and inspect.isroutine(op) else None


def _normalized(
    signature: inspect.Signature, args: tuple, kwargs: dict[str, Any], by_name: bool
) -> ArgsKwargsPair | None:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(each.kind not in kinds for each in signature.parameters.values()):
        return None
    bound = signature.bind(*args, **kwargs)
    given = set(bound.arguments)
    bound.apply_defaults()
    named = [
        (name, value)
        for name, value in bound.arguments.items()
        if name in given or name not in _MORE and value is not ...
    ]
    count = 0 if by_name else len(args)
    return ArgsKwargsPair(tuple([value for _, value in named[:count]]), dict(named[count:]))


def normalize_function(
    target: Callable,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a function: the positional ones that were given, all others by
    name, with the defaults of those that were not given.

    Args:
        arg_types, kwarg_types: accepted; a function has one signature, which decides alone.
        normalize_to_only_use_kwargs: give the positional ones by name, too.

    Returns:
        None for a function without a signature, or with arguments that have no name.

    Raises:
        TypeError: the arguments do not fit.

    Source: ``torch.fx.operator_schemas``.

    Example:
        >>> import nnkit
        >>> normalize_function(nnkit.flatten, ("x",), {"end_dim": 1})
        ArgsKwargsPair(args=('x',), kwargs={'start_dim': 0, 'end_dim': 1})
    """
    target = getattr(target, "_function", target)  # of an operator of `torch.ops`
    try:
        signature = _signature(target)
    except ValueError:  # a function that was compiled
        return None
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a module, as `normalize_function` gives those of a function.

    Returns:
        None for a module whose class is none of `nnkit.nn`.

    Raises:
        RuntimeError: ``root`` has no module of that name.

    Source: ``torch.fx.operator_schemas``.

    Example:
        >>> import nnkit
        >>> model = nnkit.nn.Sequential(nnkit.nn.ReLU())
        >>> normalize_module(model, "0", ("x",), normalize_to_only_use_kwargs=True)
        ArgsKwargsPair(args=(), kwargs={'input': 'x'})
    """
    try:
        module = root.get_submodule(target)
    except AttributeError:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from None
    kind = type(module)
    if getattr(nn, kind.__name__, None) is not kind:
        return None
    return normalize_function(
        module.forward, args, kwargs, normalize_to_only_use_kwargs=normalize_to_only_use_kwargs
    )
