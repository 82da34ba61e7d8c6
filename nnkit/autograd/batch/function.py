"""A user's `Function` inside `vmap`: by its own ``vmap``, or by its forward for each example."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from nnkit.autograd.batch.examples import BatchLevel, VmapInfo
from nnkit.autograd.forward.dependence import wants
from nnkit.autograd.grad_mode import no_grad
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.tensor import Tensor


def mapped(
    function: Any, level: BatchLevel, arguments: tuple, options: dict, has_rule: bool
) -> Any:
    """The outputs on a batch level: by the Function's own ``vmap``, by its forward on the whole
    batch, or, if it is differentiated outside the level, by its forward on each example."""
    values = _each(arguments, lambda a: level.lower(a)[0])
    if has_rule:
        if any(isinstance(a, Tensor) for a in options.values()):
            raise NotImplementedError(
                f"{function.__name__}: kwarg-only Tensor args are not mapped, which its vmap "
                "staticmethod would have to know"
            )
        in_dims = _each(arguments, lambda a: level.lower(a)[1], lambda a: None)
        with level.outside():
            return _by_rule(function, level, values, in_dims)
    wanted = any(wants(a) or a._device.depth for a in values if isinstance(a, Tensor))
    if not (wanted and level.size):
        with no_grad():
            return function.forward(*arguments, **options)
    with level.outside():
        examples = [_each(arguments, partial(_example, level, i)) for i in range(level.size)]
        results = [function._call(example, options) for example in examples]
        for node, _ in results:
            node.forget()
    rows = [r if isinstance(r, tuple) else (r,) for _, r in results]
    outputs = tuple([level.lift(OPS["stack"](column, 0), 0) for column in zip(*rows, strict=True)])
    return outputs if isinstance(results[0][1], tuple) else outputs[0]


def leaves(values: Any) -> Iterator[Any]:
    """The leaves of nested tuples, lists and dicts."""
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, (tuple, list, dict)):
            yield from leaves(value)
        else:
            yield value


def _each(value: Any, change: Callable, other: Callable = lambda a: a) -> Any:
    """Apply a function to a tensor, or to the tensors in nested tuples, lists and dicts; ``other``
    to other leaves."""
    if isinstance(value, Tensor):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)([_each(v, change, other) for v in value])
    if type(value) is dict:
        return {key: _each(v, change, other) for key, v in value.items()}
    return other(value)


def _example(level: BatchLevel, i: int, value: Tensor) -> Tensor:
    """One example of a tensor, outside the level."""
    whole, dim = level.lower(value)
    return whole if dim is None else whole.select(dim, i)


def _by_rule(function: Any, level: BatchLevel, values: tuple, in_dims: tuple) -> Any:
    """The results of a Function for a whole batch, by its own ``vmap``."""
    result = function.vmap(VmapInfo(level.size, level.randomness), in_dims, *values)
    name = f"vmap: the vmap staticmethod of {function.__name__}"
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name} is expected to have two returns, got {type(result)}")
    output, dims = result
    outputs = output if isinstance(output, tuple) else (output,)
    if not isinstance(dims, tuple):
        dims = (dims,) * len(outputs)
    elif not isinstance(output, tuple) or len(dims) != len(outputs):
        raise RuntimeError(f"{name} returned an incompatible out_dims: {dims}")
    found = tuple([_lifted(level, o, d) for o, d in zip(outputs, dims, strict=True)])
    return found if isinstance(output, tuple) else found[0]


def _lifted(level: BatchLevel, output: Any, dim: Any) -> Any:
    """An output for all examples, or several in a list, lifted to the level by its dimension."""
    if isinstance(output, Tensor):
        return level.lift(output, dim)
    if type(output) in (tuple, list):
        dims = dim if type(dim) is type(output) else [dim] * len(output)
        return type(output)([_lifted(level, o, d) for o, d in zip(output, dims, strict=True)])
    return output
