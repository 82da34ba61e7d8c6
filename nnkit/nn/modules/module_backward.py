"""The hook that watches a whole module in backward, on two identity nodes around its forward."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nnkit.autograd import Function, Tensor, is_grad_enabled
from nnkit.backend.warning import warn


class BackwardHookFunction(Function):
    """The identity, as one node that all tensors of a module's input or output pass through. As in
    torch, the transforms of `nnkit.func` refuse it."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return grads


class BackwardHook:
    """Runs a module's full backward hooks, once for each forward call of the module.

    The inputs and the outputs each pass one identity node. The outputs' node sees the gradients
    that arrive (``grad_output``) and runs ``user_pre_hooks``; the inputs' node sees the gradients
    that leave (``grad_input``) and runs ``user_hooks``.

    Args:
        module: what the hooks get as their first argument.
        user_hooks: functions of ``(module, grad_input, grad_output)``.
        user_pre_hooks: functions of ``(module, grad_output)``.

    Raises:
        RuntimeError: a hook returned another number of gradients than it was given.
    """

    def __init__(
        self, module: Any, user_hooks: Sequence[Callable], user_pre_hooks: Sequence[Callable]
    ) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: tuple[Tensor | None, ...] | None = None
        self.input_tensors_index: list[int] | None = None
        self.output_tensors_index: list[int] = []
        self.n_inputs = -1
        self.n_outputs = -1

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Pass ``args`` through the node that will run ``user_hooks``."""
        args, node, index = _through_one_node(args)
        if node is not None:
            node.register_hook(self._on_grad_inputs)
            self.input_tensors_index = index
        self.n_inputs = len(args)
        return args

    def setup_output_hook(self, args: Any) -> Any:
        """Pass a module's result through the node that will note ``grad_output``."""
        outputs, node, index = _through_one_node(args if isinstance(args, tuple) else (args,))
        if node is not None:
            node.register_prehook(self._on_grad_outputs)
            self.output_tensors_index = index
        self.n_outputs = len(outputs)
        return outputs if isinstance(args, tuple) else outputs[0]

    def _on_grad_outputs(self, grads: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
        outputs = _spread(self.output_tensors_index, grads, self.n_outputs)
        for hook in self.user_pre_hooks:
            outputs = _replace(hook(self.module, outputs), outputs, "grad_output", "pre hook")
        self.grad_outputs = outputs
        if self.input_tensors_index is None:
            self._fire_without_inputs(outputs)
        return tuple(outputs[i] for i in self.output_tensors_index)

    def _fire_without_inputs(self, outputs: tuple[Tensor | None, ...]) -> None:
        if self.user_hooks:
            warn(
                "a full backward hook gets only the gradients of the module's outputs, because no "
                "input of the module requires grad"
            )
        inputs = (None,) * self.n_inputs
        for hook in self.user_hooks:
            result = hook(self.module, inputs, outputs)
            if result is not None and not (
                isinstance(result, tuple) and all(grad is None for grad in result)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    f"return None or None for all gradients, got {type(result).__name__}"
                )
        self.grad_outputs = None

    def _on_grad_inputs(
        self, grad_inputs: Sequence[Tensor | None], _: Any
    ) -> tuple[Tensor | None, ...] | None:
        if self.grad_outputs is None:  # the gradient came another way, as in a double backward
            return None
        assert self.input_tensors_index is not None
        inputs = _spread(self.input_tensors_index, grad_inputs, self.n_inputs)
        for hook in self.user_hooks:
            result = hook(self.module, inputs, self.grad_outputs)
            inputs = _replace(result, inputs, "grad_input", "hook")
        self.grad_outputs = None
        return tuple(inputs[i] for i in self.input_tensors_index)


def _through_one_node(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, list[int]]:
    index = [i for i, value in enumerate(args) if isinstance(value, Tensor)]
    if not (is_grad_enabled() and any(args[i].requires_grad for i in index)):
        return args, None, index
    through = BackwardHookFunction.apply(*(args[i] for i in index))
    replaced = list(args)
    for i, tensor in zip(index, through, strict=True):
        replaced[i] = tensor
    node = next(tensor.grad_fn for tensor in through if tensor.grad_fn is not None)
    # A named tuple is rebuilt from its fields, any other tuple from one sequence.
    rebuild: Any = getattr(type(args), "_make", type(args))
    return rebuild(replaced), node, index


def _spread(
    index: Sequence[int], values: Iterable[Tensor | None], size: int
) -> tuple[Tensor | None, ...]:
    spread: list[Tensor | None] = [None] * size
    for i, value in zip(index, values, strict=True):
        spread[i] = value
    return tuple(spread)


def _replace(
    result: Any, grads: tuple[Tensor | None, ...], kind: str, hook: str
) -> tuple[Tensor | None, ...]:
    if result is None:
        return grads
    if isinstance(result, Tensor):
        result = (result,)
    if len(result) != len(grads):
        raise RuntimeError(
            f"Backward {hook} returned an invalid number of {kind}, got {len(result)}, but "
            f"expected {len(grads)}"
        )
    return tuple(result)
