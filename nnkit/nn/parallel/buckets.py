"""Buckets: gradients that travel together while backward goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd import no_grad
from nnkit.autograd.engine.node import leaf_hooks
from nnkit.autograd.ops.creation.factories import zeros
from nnkit.autograd.tensor import Tensor
from nnkit.backend.futures import Future
from nnkit.distributed.collectives import scale_and_sum

FIRST_BUCKET_BYTES = 1 << 20  # small, so that communication begins early; torch's choice
DEFAULT_BUCKET_MB = 25
MESSAGE_BYTES = 4 << 20  # of several gradients
STRAIGHT_BYTES = 1 << 20  # of a gradient whose message takes far longer than it takes to begin one


class GradBucket:
    """The argument of a communication hook: the gradients of some parameters, one after another."""

    def __init__(self, bucket: Bucket, index: int, is_last: bool) -> None:
        self._bucket = bucket
        self._index = index
        self._is_last = is_last

    def index(self) -> int:
        """Its number, in the order in which buckets are sent."""
        return self._index

    def buffer(self) -> Tensor:
        """All its gradients as one flat tensor."""
        return self._bucket.flat

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the flat tensor's values."""
        with no_grad():
            self._bucket.flat.copy_(buffer)

    def gradients(self) -> list[Tensor]:
        """Each gradient, a view of the buffer."""
        return list(self._bucket.views)

    def parameters(self) -> list[Tensor]:
        """The parameters, in the order of their gradients."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Whether it is the last one that is sent in this backward."""
        return self._is_last


class Bucket:
    """The gradients of some parameters of one dtype and device, which travel at the same time.

    Args:
        parameters: in the order in which their gradients are expected.
        flat: put all of them into one flat tensor. Otherwise large ones travel from where they
            are, which saves copies and memory.
    """

    def __init__(self, parameters: Sequence[Tensor], flat: bool) -> None:
        self.parameters = list(parameters)
        self.straight = [not flat and p.nbytes >= STRAIGHT_BYTES for p in self.parameters]
        first = self.parameters[0]
        size = sum(p.numel() for p, alone in zip(self.parameters, self.straight) if not alone)
        self.flat = zeros(size, dtype=first.dtype, device=first.device)
        self.views: list[Any] = []  # what travels of each gradient; None where it is not known yet
        start = 0
        for p, alone in zip(self.parameters, self.straight):
            if alone:
                self.views.append(None)
            else:
                self.views.append(self.flat[start : start + p.numel()].view(p.shape))
                start += p.numel()
        self.waiting = len(self.parameters)
        self.future: Future | None = None
        self.works: list[Any] = []

    def begin(self) -> None:
        """Expect a gradient of each parameter."""
        self.waiting = len(self.parameters)
        self.future, self.works = None, []

    def store(self, place: int, used: bool, as_view: bool) -> None:
        """Take over the gradient of a parameter; zeros, if it has none.

        Args:
            used: it has come in this backward: an older one stays if nobody has used the parameter.
            as_view: let ``grad`` be a view of the flat tensor.
        """
        parameter, view = self.parameters[place], self.views[place]
        grad = parameter.grad
        if grad is not None and grad.is_sparse:  # ranks send what is strided
            parameter.grad = grad = grad.to_dense()
        if self.straight[place]:
            if grad is None:
                self.views[place] = _zeros(parameter)
            else:
                travels_itself = used and not _others_look(parameter)
                self.views[place] = grad if travels_itself else grad.clone()
        elif grad is None:
            view.zero_()
        elif grad is not view:
            view.copy_(grad)
            if as_view and used:
                parameter.grad = view

    def store_zeros(self) -> None:
        """Take zeros in place of all gradients."""
        self.flat.zero_()
        for place, alone in enumerate(self.straight):
            if alone:
                self.views[place] = _zeros(self.parameters[place])

    def messages(self) -> list[list[Tensor]]:
        """The tensors that travel, in as few messages as stay short enough for shared memory."""
        alone = [view for view, alone in zip(self.views, self.straight) if alone]
        found: list[list[Tensor]] = []
        size = 0
        for part in [self.flat, *alone] if self.flat.numel() else alone:
            size += part.nbytes
            if not found or size > MESSAGE_BYTES:
                found.append([])
                size = part.nbytes
            found[-1].append(part)
        return found

    def send(
        self, group: Any, hook: Callable | None, state: Any, shown: GradBucket, divisor: int
    ) -> None:
        """Begin to average it over the ranks, or to do what a hook does."""
        if hook is not None:
            self.future = hook(state, shown)
            return
        self.works = [scale_and_sum(message, 1 / divisor, group) for message in self.messages()]

    def arrived(self) -> bool:
        """Whether what was sent is there; lets it make progress, which nothing does in the
        background."""
        if self.future is not None:
            return self.future.done()
        return all(work.is_completed() for work in self.works)

    def receive(self) -> None:
        """Wait for what was sent."""
        for work in self.works:
            work.wait()
        if self.future is not None:
            found = self.future.wait()
            found = found[0] if isinstance(found, (list, tuple)) else found
            if found is not self.flat:
                self.flat.copy_(found.view(-1))

    def end(self) -> None:
        """Let go of gradients that are the parameters' own."""
        for place, alone in enumerate(self.straight):
            if alone:
                self.views[place] = None


def _others_look(parameter: Tensor) -> bool:
    """Whether hooks beside that of the buckets see the gradient while backward goes on: then it
    must be this rank's own until the end."""
    hooks = leaf_hooks(parameter)
    return bool(hooks.post) or len(hooks.post_accumulate) > 1


def _zeros(parameter: Tensor) -> Tensor:
    return zeros(parameter.shape, dtype=parameter.dtype, device=parameter.device)


def divided(parameters: Sequence[Tensor], limits: Sequence[int]) -> list[list[Tensor]]:
    """Parameters in the given order cut into buckets of one dtype and device each.

    Args:
        limits: bytes after which a bucket is full: of the first, the second, ...; the last one
            holds for all that follow.
    """
    done: list[list[Tensor]] = []
    filling: dict[tuple, tuple[list[Tensor], int]] = {}
    opened: dict[tuple, int] = {}
    for p in parameters:
        key = (p.dtype, p.device)
        members, size = filling.get(key, ([], 0))
        members.append(p)
        size += p.nbytes
        if size >= limits[min(opened.get(key, 0), len(limits) - 1)]:
            done.append(members)
            opened[key] = opened.get(key, 0) + 1
            filling.pop(key, None)
        else:
            filling[key] = members, size
    return done + [members for members, _ in filling.values()]
