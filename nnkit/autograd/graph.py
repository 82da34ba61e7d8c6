"""Access to the graph, as in ``torch.autograd.graph``: hooks on saved tensors, hooks on several
gradients, edges."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from nnkit.autograd.engine.node import (
    RUNNING,
    GradientEdge,
    Node,
    describe_edge,
)
from nnkit.autograd.engine.saved import STACK
from nnkit.autograd.grad_mode import enable_grad
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.writes import wrote

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class saved_tensors_hooks:
    """A block in which the tensors saved for backward are packed and later unpacked by two hooks.

    Args:
        pack_hook: called with each saved tensor (a result without its history); returns anything.
        unpack_hook: called in backward with what ``pack_hook`` returned; returns a tensor with the
            same values.

    Raises:
        RuntimeError: `disable_saved_tensors_hooks` is active.
        TypeError: in backward, if ``unpack_hook`` does not return a tensor.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0], requires_grad=True)
        >>> to_list, to_tensor = lambda t: t.tolist(), nnkit.tensor
        >>> with nnkit.autograd.graph.saved_tensors_hooks(to_list, to_tensor):
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> Any:
        if STACK.refusal is not None:
            raise RuntimeError(STACK.refusal)
        STACK.push(self.pack_hook, self.unpack_hook)
        return self

    def __exit__(self, *exception: Any) -> None:
        if STACK.pairs:  # a hook may have left it before
            STACK.pop()


class _Copy:
    """A copy of a saved tensor, which lives as long as a node needs it."""

    __slots__ = ("__weakref__", "tensor", "version", "writes")

    def __init__(self, saved: Tensor) -> None:
        self.tensor: Any = saved.detach().clone()
        self.writes: Any = saved._writes
        self.version = saved._version

    @property
    def is_needed(self) -> bool:
        """Whether the original has been written since."""
        return self.writes[0] != self.version


class _Copies(saved_tensors_hooks):
    """Hooks that keep a copy of saved tensors, one for each tensor and version."""

    def __init__(self) -> None:
        super().__init__(self._keep, self._kept)
        self.tid_to_weakhandle: WeakValueDictionary[tuple, _Copy] = WeakValueDictionary()
        self.left = False

    @property
    def cloned(self) -> dict[_Copy, Tensor]:
        """The copies whose originals have been written since they were saved."""
        return {c: c.tensor for c in self.tid_to_weakhandle.values() if c.is_needed}

    def _keep(self, saved: Tensor) -> _Copy:
        # A copy keeps the write counter alive, so that its id is unique.
        place = saved.data_ptr(), saved.shape, saved.stride()
        key = id(saved._writes), saved._version, *place, saved.is_conj(), saved.is_neg()
        return self.tid_to_weakhandle.get(key) or self.tid_to_weakhandle.setdefault(
            key, _Copy(saved)
        )

    def _kept(self, copy: _Copy) -> Tensor:
        if self.left:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was originally recorded."
            )
        return copy.tensor

    def clear(self) -> None:
        """Drop all copies."""
        for copy in list(self.tid_to_weakhandle.values()):
            copy.tensor = None
        self.tid_to_weakhandle.clear()


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Copies]:
    """A block in which tensors saved for backward may be written, because copies are kept.

    Backward must run inside the block.

    Raises:
        RuntimeError: such a block is active already.
        AssertionError: backward is run after the end of the block.

    Example:
        >>> import nnkit
        >>> with nnkit.autograd.graph.allow_mutation_on_saved_tensors():
        ...     x = nnkit.ones(2, requires_grad=True)
        ...     y = x.clone()
        ...     out = (y**2).sum()
        ...     _ = y.sin_()
        ...     out.backward()
        >>> x.grad
        tensor([2., 2.])
    """
    if any(isinstance(getattr(pack, "__self__", None), _Copies) for pack, _ in STACK.pairs):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    with _Copies() as copies:
        try:
            yield copies
        finally:
            copies.left = True
            copies.clear()


class save_on_cpu(saved_tensors_hooks):
    """A block in which the tensors saved for backward are kept in the CPU's memory.

    Args:
        pin_memory: use page-locked memory, from which tensors are copied back faster; without
            effect if there is no GPU.
        device_type: the device whose memory is saved.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0], requires_grad=True)
        >>> with nnkit.autograd.graph.save_on_cpu():
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        from nnkit.backend.cuda.runtime import device_count

        pins = pin_memory and device_count() > 0

        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            kept = tensor.cpu()  # a tensor on the CPU itself; as in torch, writes go unnoticed
            return tensor.device, kept.pin_memory() if pins and not kept.is_sparse else kept

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, kept = packed
            return kept.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A block in which `saved_tensors_hooks` raises a RuntimeError with this message.

    Raises:
        RuntimeError: with this message, if hooks are active already.

    Example:
        >>> import nnkit
        >>> with nnkit.autograd.graph.disable_saved_tensors_hooks("not here"):
        ...     y = nnkit.ones(2, requires_grad=True) * 2
    """
    if STACK.pairs:
        raise RuntimeError(error_message)
    previous, STACK.refusal = STACK.refusal, error_message
    try:
        yield
    finally:
        STACK.refusal = previous


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge to which the gradient of ``tensor`` is sent.

    Raises:
        RuntimeError: the tensor does not require grad.
        AssertionError: it is a view that was made while grad mode was off.
        AttributeError: it is a leaf, and an inference tensor or inference mode is on.

    Example:
        >>> import nnkit
        >>> y = nnkit.ones(2, requires_grad=True) * 2
        >>> nnkit.autograd.graph.get_gradient_edge(y).node is y.grad_fn
        True
    """
    if not tensor.requires_grad:
        raise RuntimeError("get_gradient_edge: the tensor must require grad")
    target = _target(tensor)
    node: Any = describe_edge(target)[0] if isinstance(target, Tensor) else target
    if node is target:
        node._hooks().forms[tensor.output_nr] = (tensor._array.shape, tensor._array.dtype)
    return GradientEdge(node, tensor.output_nr)


def _target(tensor: Tensor) -> Any:
    """The node of a tensor, or the tensor itself if it is a leaf.

    Raises:
        AssertionError: it is a view whose history is unknown.
        AttributeError: it is a leaf whose view gets no node, from which torch finds that of the
            leaf: inference mode is on, or it is an inference tensor.
    """
    node = tensor.grad_fn
    if node is not None:
        return node
    with enable_grad():
        view: Any = tensor.view_as(tensor)
    if view.grad_fn is None:
        raise AttributeError(
            "the node of a leaf is not known in inference mode, nor that of an inference tensor"
        )
    if tensor._edge is not None:
        raise AssertionError("the history of a view that was made without grad is not known")
    return tensor


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Increment the version of a tensor, or of several, after a write that nnkit did not see.

    Raises:
        RuntimeError: ``tensor`` is neither a Tensor nor an iterable of Tensors.

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(2)
        >>> nnkit.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    try:
        tensors = [tensor] if isinstance(tensor, Tensor) else list(tensor)
    except TypeError:
        raise RuntimeError(
            "increment_version: expected a Tensor or an iterable of Tensors, "
            f"got {type(tensor).__name__}"
        ) from None
    for t in tensors:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"increment_version: expected Tensors, got {type(t).__name__}")
        if not t.is_inference():
            wrote(t, "increment_version")


class _Handles:
    """The handles of one hook on several tensors."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable, *, mode: str = "all"
) -> _Handles:
    """Call a function once per backward pass with the gradients of several tensors.

    Args:
        tensors: tensors that require grad.
        fn: in mode "all", called with a list of the gradients when all those that the pass computes
            are there (None for the others). The tensor where the pass starts does not count, if it
            is the only one. In mode "any", called with the first gradient.
        mode: "all" or "any".

    Returns:
        A handle whose ``remove()`` removes the hook.

    Raises:
        ValueError: ``mode`` is unknown.
        AssertionError: in mode "all", a tensor does not require grad, or is a view that was made
            while grad mode was off.
        AttributeError: in mode "all", a leaf is an inference tensor, or inference mode is on.

    Example:
        >>> import nnkit
        >>> a, b = nnkit.ones(1, requires_grad=True), nnkit.ones(1, requires_grad=True)
        >>> handle = nnkit.autograd.graph.register_multi_grad_hook((a, b), print)
        >>> (a * b).backward()
        [tensor([1.]), tensor([1.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        tensors = [t for t in tensors if t.requires_grad]
    elif not all(t.requires_grad for t in tensors):
        raise AssertionError("register_multi_grad_hook: every tensor must require grad")
    targets = [_target(t) for t in tensors] if mode == "all" else []
    lock = threading.Lock()
    come: WeakKeyDictionary = WeakKeyDictionary()  # by pass: (number of gradients, the gradients)

    def arrived(index: int, grad: Any) -> None:
        this: Any = RUNNING.innermost
        with lock:
            count, grads = come.get(this, (0, [None] * len(tensors)))
            grads[index] = grad
            come[this] = count + 1, grads
        if mode == "any" and not count:
            fn(grad)
        elif mode == "all" and count + 1 == sum(map(this.runs, targets)):
            fn(grads)
            del come[this]  # count anew if more arrive

    def hook(index: int) -> Callable:
        return lambda grad: arrived(index, grad)

    return _Handles([t.register_hook(hook(i)) for i, t in enumerate(tensors)])
