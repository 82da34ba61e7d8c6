"""Gradient checkpointing: keep nothing of a function's forward, run it again in backward.

Source: Chen et al. 2016, "Training deep nets with sublinear memory cost";
``torch.utils.checkpoint``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary

from nnkit import cuda
from nnkit.amp.autocast import casts_of_now
from nnkit.autograd import Function, Tensor, backward, enable_grad, is_grad_enabled, no_grad
from nnkit.autograd.engine.node import RUNNING, Node
from nnkit.autograd.engine.saved import ACTIVE, pack_values
from nnkit.autograd.engine.unpacking import unpack_tensor
from nnkit.autograd.graph import saved_tensors_hooks
from nnkit.backend.warning import warn
from nnkit.overrides import TorchFunctionMode
from nnkit.random import fork_rng, get_rng_state, set_rng_state
from nnkit.utils._pytree import tree_leaves

__all__ = [
    "CheckpointError", "GraphExecGroup", "checkpoint", "checkpoint_sequential", "get_device_states",
    "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
    "set_device_states",
]  # fmt: skip


class CheckpointError(RuntimeError):
    """Running the function again saved other tensors than its first run, or was not enough."""


class _EnoughError(Exception):
    """Ends a second run as soon as everything that was saved is there again."""


def noop_context_fn() -> tuple[AbstractContextManager, AbstractContextManager]:
    """Two contexts that do nothing: the default of ``context_fn``.

    Example:
        >>> import nnkit
        >>> len(nnkit.utils.checkpoint.noop_context_fn())
        2
    """
    return nullcontext(), nullcontext()


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The GPUs on which tensors among the arguments lie, and the states of their generators.

    Example:
        >>> import nnkit
        >>> nnkit.utils.checkpoint.get_device_states(nnkit.ones(2))
        ([], [])
    """
    tensors = [leaf for leaf in tree_leaves(args) if isinstance(leaf, Tensor)]
    places = sorted({t.device.index for t in tensors if t.device.type == "cuda"})
    return places, [cuda.get_rng_state(place) for place in places]


def set_device_states(
    devices: Iterable[int], states: Iterable[Tensor], *, device_type: str | None = None
) -> None:
    """Let the generators of GPUs go on from states that `get_device_states` gave.

    Args:
        device_type: accepted; it is "cuda".
    """
    for place, state in zip(devices, states):
        cuda.set_rng_state(state, place)


_EARLY_STOP: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """While active, whether second runs of checkpoints made in it end as soon as they can.

    Example:
        >>> import nnkit
        >>> from nnkit.utils.checkpoint import checkpoint, set_checkpoint_early_stop
        >>> x = nnkit.zeros(1, requires_grad=True)
        >>> with set_checkpoint_early_stop(False):
        ...     y = checkpoint(nnkit.exp, x, use_reentrant=False)
    """
    global _EARLY_STOP
    previous, _EARLY_STOP = _EARLY_STOP, enable
    try:
        yield
    finally:
        _EARLY_STOP = previous


_DEBUG: bool | None = None


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """While active, whether errors of checkpoints made in it list the functions that both runs have
    called; None leaves it to each.

    Example:
        >>> import nnkit
        >>> from nnkit.utils.checkpoint import checkpoint, set_checkpoint_debug_enabled
        >>> x = nnkit.zeros(1, requires_grad=True)
        >>> with set_checkpoint_debug_enabled(True):
        ...     y = checkpoint(nnkit.exp, x, use_reentrant=False)
    """
    global _DEBUG
    previous, _DEBUG = _DEBUG, enabled
    try:
        yield
    finally:
        _DEBUG = previous


class _Names(TorchFunctionMode):
    """The names of the functions that a run calls."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(
        self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        self.names.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call ``function(*args, **kwargs)``; what it saves for backward is computed again there.

    Args:
        function: a function or Module; it runs twice, and must do the same both times.
        args: its arguments.
        use_reentrant: False replaces each saved tensor by a promise, which backward keeps by one
            more run; True makes one node of the whole, whose backward is a backward of its own
            (positional arguments only). It should be given; True otherwise, with a warning.
        preserve_rng_state: draw the same random numbers in both runs.
        context_fn: gives the contexts of the first and of the second run.
        determinism_check: "default" compares shapes and dtypes of both runs, "none" does not.
        debug: the error message lists the functions that both runs have called.
        early_stop: end the second run when all that is needed is there.
        kwargs: keyword arguments of ``function``.

    Raises:
        ValueError: keyword arguments, a ``context_fn`` or ``debug`` with ``use_reentrant=True``, a
            ``context_fn`` with ``debug``, or an unknown ``determinism_check``.
        CheckpointError: in backward, when the second run saves other tensors than the first, or a
            custom Function reads its saved tensors twice.
        RuntimeError: in backward, when a tensor among ``args`` was written since; or, with
            ``use_reentrant=True``, when the backward is for chosen ``inputs`` only.

    Example:
        >>> import nnkit
        >>> from nnkit.utils.checkpoint import checkpoint
        >>> x = nnkit.tensor([0.0, 1.0], requires_grad=True)
        >>> checkpoint(lambda x: x.exp().sum(), x, use_reentrant=False).backward()
        >>> x.grad
        tensor([1.0000, 2.7183])
    """
    if use_reentrant is None:
        warn(
            "checkpoint: the use_reentrant parameter should be passed explicitly; "
            "use_reentrant=False is recommended"
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError(
                f"checkpoint: unexpected keyword arguments {', '.join(kwargs)}: with "
                "use_reentrant=True the function takes positional ones only"
            )
        if context_fn is not noop_context_fn or debug:
            raise ValueError(
                "checkpoint: Passing `context_fn` or `debug` is only supported when "
                "use_reentrant=False."
            )
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warn("None of the inputs have requires_grad=True. Gradients will be None")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            "checkpoint: determinism_check should be one of ['default', 'none'], "
            f"got {determinism_check}"
        )
    logs = (_Names(), _Names()) if (debug if _DEBUG is None else _DEBUG) else None
    if logs is not None and context_fn is not noop_context_fn:
        raise ValueError("checkpoint: debug=True is incompatible with non-default context_fn")
    forward_context, again_context = logs or context_fn()
    if not is_grad_enabled():
        with forward_context:
            return function(*args, **kwargs)
    run = _Run(function, args, kwargs, preserve_rng_state, again_context)
    run.logs = logs
    run.checks = determinism_check != "none"
    run.stops = early_stop if _EARLY_STOP is None else _EARLY_STOP
    with saved_tensors_hooks(run.promise, run.keep), forward_context:
        result = function(*args, **kwargs)
    run.complete = True
    return result


class GraphExecGroup:
    """A block whose backward passes share the second run of each checkpoint that they come to.

    It concerns checkpoints with ``use_reentrant=False``. Two passes in it must not need the same
    saved tensor, even with ``retain_graph=True``.

    Raises:
        RuntimeError: another is active.

    Example:
        >>> import nnkit
        >>> from nnkit.utils.checkpoint import GraphExecGroup, checkpoint
        >>> x = nnkit.zeros(1, requires_grad=True)
        >>> y, z = checkpoint(lambda x: (x.exp(), x.exp().sin()), x, use_reentrant=False)
        >>> with GraphExecGroup():
        ...     nnkit.autograd.grad(y, x), nnkit.autograd.grad(z, x)
        ((tensor([1.]),), (tensor([0.5403]),))
    """

    _active: GraphExecGroup | None = None

    def __enter__(self) -> GraphExecGroup:
        if GraphExecGroup._active is not None:
            raise RuntimeError("GraphExecGroup contexts cannot be nested")
        GraphExecGroup._active = self
        return self

    def __exit__(self, *exception: Any) -> None:
        GraphExecGroup._active = None


class _Run:
    """The first run of a function: what it saved, by number, and how to have it again."""

    def __init__(
        self, function: Callable, args: tuple, kwargs: dict, preserves_rng: bool, context: Any
    ) -> None:
        self.function = function
        self.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        self.args = [None if isinstance(a, Tensor) else a for a in args]
        self.kwargs = kwargs
        tensors = [args[i] for i in self.places]
        self.inputs = _Inputs(tensors)
        self.context = context
        self.rng = get_rng_state() if preserves_rng else None
        self.casts = casts_of_now()
        self.promised: list[tuple] = []  # shape and dtype of each tensor that was saved
        # By backward pass or group of them: what it has not had yet of its second run.
        self.again: WeakKeyDictionary[Any, dict[int, Tensor]] = WeakKeyDictionary()
        self.checks = self.stops = True
        self.logs: tuple[_Names, _Names] | None = None  # of both runs
        self.complete = False  # whether the first run is over

    def promise(self, tensor: Tensor) -> int:
        self.promised.append((tuple(tensor.shape), tensor.dtype))
        return len(self.promised) - 1

    def keep(self, number: int) -> Tensor:
        backward = GraphExecGroup._active or RUNNING.started
        if backward is None:  # somebody reads what a node has saved
            return self._run_again()[number]
        # A node that is made of ops may run them twice in a pass: once for their derivatives.
        is_part = RUNNING.innermost is not RUNNING.started
        found = self.again.get(backward)
        if found is None or is_part and number not in found:
            found = self.again[backward] = self._run_again()
        if number not in found:
            raise CheckpointError(
                "Performing two backward calls that overlap, so that both need what one promise "
                "stands for, is not allowed in one GraphExecGroup"
                if GraphExecGroup._active
                else "Unpack is being triggered for a tensor that was already unpacked once: the "
                "backward of a custom Function in checkpoint may read ctx.saved_tensors only once"
            )
        return found[number] if is_part else found.pop(number)

    def _run_again(self) -> dict[int, Tensor]:
        found: list[Tensor] = []
        if self.logs is not None:
            self.logs[1].names.clear()
        args = list(self.args)
        for i, tensor in zip(self.places, self.inputs.tensors(), strict=True):
            args[i] = tensor

        def collect(tensor: Tensor) -> Tensor:
            found.append(tensor.detach() if tensor.requires_grad else tensor)
            if self.stops and len(found) == len(self.promised):
                raise _EnoughError
            return found[-1]  # for a backward that the function itself runs

        with enable_grad(), fork_rng(enabled=self.rng is not None):
            if self.rng is not None:
                set_rng_state(self.rng)
            try:
                with saved_tensors_hooks(collect, lambda kept: kept), self.casts(), self.context:
                    self.function(*args, **self.kwargs)
            except _EnoughError:
                pass
        if not self.complete:  # the function itself runs a backward, and saves more after it
            del found[len(self.promised) :]
        if len(found) != len(self.promised):
            what = (
                "trying to save more tensors during recomputation than during the original forward"
                if len(found) > len(self.promised)
                else "A different number of tensors was saved during the original forward and "
                "recomputation"
            )
            raise self._difference(
                f"{what}, {len(found)} and {len(self.promised)}: the function must do the same "
                "both times"
            )
        kinds = [(tuple(t.shape), t.dtype) for t in found]
        if self.checks and kinds != self.promised:
            i = next(i for i, kind in enumerate(kinds) if kind != self.promised[i])
            raise self._difference(
                "Recomputed values for the following tensors have different metadata than during "
                f"the forward pass: tensor at position {i} was of shape and dtype "
                f"{self.promised[i]}, and then {kinds[i]}"
            )
        return dict(enumerate(found))

    def _difference(self, what: str) -> CheckpointError:
        text = f"torch.utils.checkpoint: {what}"
        if self.logs is not None:
            first, second = (", ".join(log.names) for log in self.logs)
            text += (
                "\nYou are seeing this error because you passed `debug=True` to checkpoint. The "
                f"functions of the first run:\n    {first}\nand those of the second, until all "
                f"was there:\n    {second}"
            )
        return CheckpointError(text)


class _Inputs(Node):
    """Keeps tensors as an op keeps its inputs: a write is noticed, hooks on saved tensors see them.

    It is no part of the graph that a backward runs.
    """

    operation = "checkpoint"

    def __init__(self, tensors: list[Tensor]) -> None:
        values = tuple([(t, t._writes[0]) for t in tensors])
        super().__init__((), values, tensors[0]._device if tensors else None)
        if ACTIVE:
            pack_values(self, ())

    def tensors(self) -> list[Tensor]:
        return [unpack_tensor(self, value) for value in self.values]


class CheckpointFunction(Function):
    """One node for a whole function, whose backward runs it again and then backward through it."""

    @staticmethod
    def forward(ctx: Any, function: Callable, preserves_rng: bool, *args: Any) -> Any:
        ctx.function = function
        ctx.rng = get_rng_state() if preserves_rng else None
        ctx.casts = casts_of_now()
        ctx.tensors = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.tensors))
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        this = RUNNING.innermost
        while this is not None:
            if this.needed is not None:
                raise RuntimeError(
                    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() "
                    "or passing an `inputs` parameter to .backward(): use use_reentrant=False"
                )
            this = this.outer
        args = list(ctx.others)
        for i, tensor in zip(ctx.tensors, ctx.saved_tensors, strict=True):
            args[i] = tensor.detach().requires_grad_(tensor.requires_grad)
        with enable_grad(), fork_rng(enabled=ctx.rng is not None):
            if ctx.rng is not None:
                set_rng_state(ctx.rng)
            with ctx.casts():
                outputs = ctx.function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        wanted = [
            (out, g)
            for out, g in zip(outputs, grads, strict=True)
            if isinstance(out, Tensor) and out.requires_grad
        ]
        if not wanted:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([out for out, _ in wanted], [g for _, g in wanted])
        return None, None, *(a.grad if isinstance(a, Tensor) else None for a in args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call the functions one after the other, all segments but the last one checkpointed.

    Args:
        functions: a Sequential, or a sequence of functions of one argument.
        segments: the number of pieces that the sequence is cut into.
        input: the first one's argument.
        use_reentrant: as in `checkpoint`.
        kwargs: ``preserve_rng_state``.

    Raises:
        ValueError: another keyword argument, or more segments than functions.

    Example:
        >>> import nnkit
        >>> from nnkit.utils.checkpoint import checkpoint_sequential
        >>> x = nnkit.zeros(1, requires_grad=True)
        >>> steps = [nnkit.exp, nnkit.sin, nnkit.cos]
        >>> checkpoint_sequential(steps, 2, x, use_reentrant=False).backward()
        >>> x.grad
        tensor([-0.4029])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"checkpoint_sequential: unexpected keyword arguments {', '.join(kwargs)}")
    if use_reentrant is None:
        warn(
            "checkpoint_sequential: the use_reentrant parameter should be passed explicitly; "
            "use_reentrant=False is recommended"
        )
        use_reentrant = True
    if not isinstance(functions, Iterable):
        raise TypeError(
            "checkpoint_sequential(): argument 'functions' must be a Sequential or a sequence, not "
            f"{type(functions).__name__}"
        )
    steps = list(functions)
    segments = operator.index(segments)
    size = len(steps) // segments
    if not size:
        raise ValueError(
            f"checkpoint_sequential(): {len(steps)} functions do not make {segments} segments"
        )

    def piece(some: Sequence[Callable]) -> Callable:
        def run(value: Any) -> Any:
            for step in some:
                value = step(value)
            return value

        return run

    last = 0
    for start in range(0, size * (segments - 1), size):
        last = start + size
        input = checkpoint(
            piece(steps[start : start + size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return piece(steps[last:])(input)
