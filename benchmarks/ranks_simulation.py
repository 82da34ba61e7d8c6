"""A simulated step of `DistributedDataParallel`: gradients, buckets, messages.

Backward gives gradients, gradients fill buckets, each full bucket leaves as one message as soon as
the one before it has arrived, and the optimizer waits for the last of them. What is known of
the machine is three things: when each gradient comes (`Trace`), how long a message takes (`Line`,
fitted to measured ones), and what share of a message is work of the processor that computes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import nnkit
from nnkit import nn, optim
from nnkit.nn.parallel.buckets import DEFAULT_BUCKET_MB, FIRST_BUCKET_BYTES, divided

MB = 1 << 20
DEFAULT_LIMITS = (FIRST_BUCKET_BYTES, DEFAULT_BUCKET_MB * MB)


@dataclass(frozen=True)
class Gradient:
    """What a bucket has to know of a gradient.

    Args:
        ready: seconds of backward after which it is there.
        nbytes: its size.
    """

    ready: float
    nbytes: int
    dtype: Any = None
    device: Any = None


@dataclass(frozen=True)
class Trace:
    """A step of one rank without messages, in seconds."""

    forward: float
    backward: float
    optimizer: float
    gradients: tuple[Gradient, ...]  # in the order in which they come

    @property
    def seconds(self) -> float:
        """The whole step."""
        return self.forward + self.backward + self.optimizer

    def lasting(self, seconds: float) -> Trace:
        """The same step on a machine on which it takes so long."""
        factor = seconds / self.seconds
        return replace(self.of_batch(factor), optimizer=factor * self.optimizer)

    def of_batch(self, factor: float) -> Trace:
        """A step with so many times the batch, of which the optimizer knows nothing."""
        gradients = tuple(replace(g, ready=factor * g.ready) for g in self.gradients)
        return Trace(factor * self.forward, factor * self.backward, self.optimizer, gradients)


def traced(
    model: nn.Module, loss_of: Callable[[], nnkit.Tensor], optimizer: optim.Optimizer, rounds: int
) -> Trace:
    """The step of a model as it is, the median one of some rounds."""
    came: dict[nnkit.Tensor, float] = {}
    handles = [
        p.register_post_accumulate_grad_hook(lambda p: came.update({p: time.perf_counter()}))
        for p in model.parameters()
    ]
    found = []
    for _ in range(rounds + 1):
        came.clear()
        optimizer.zero_grad()
        start = time.perf_counter()
        loss = loss_of()
        middle = time.perf_counter()
        loss.backward()
        end = time.perf_counter()
        optimizer.step()
        gradients = tuple(Gradient(t - middle, p.nbytes, p.dtype) for p, t in came.items())
        found.append(Trace(middle - start, end - middle, time.perf_counter() - end, gradients))
    for handle in handles:
        handle.remove()
    return sorted(found[1:], key=lambda trace: trace.seconds)[rounds // 2]


@dataclass(frozen=True)
class Line:
    """Seconds as a line over bytes."""

    latency: float
    per_byte: float

    def __call__(self, nbytes: int) -> float:
        return self.latency + nbytes * self.per_byte


def fitted(sizes: Sequence[int], seconds: Sequence[float]) -> Line:
    """The line with the least sum of squared relative errors, ``line(size) / seconds - 1``."""
    # Divided by the seconds, each measurement says: latency x + per_byte y = 1.
    xs = [1 / s for s in seconds]
    ys = [n / s for n, s in zip(sizes, seconds, strict=True)]
    xx, xy, yy = (sum(p * q for p, q in zip(a, b)) for a, b in ((xs, xs), (xs, ys), (ys, ys)))
    x, y = sum(xs), sum(ys)
    determinant = xx * yy - xy * xy
    return Line((x * yy - y * xy) / determinant, (y * xx - x * xy) / determinant)


def ring(ranks: int, link: Line) -> Line:
    """`all_reduce` in a ring: each rank passes parts of ``1 / ranks`` on, twice round.

    Args:
        link: what a message from one rank to another costs.
    """
    passes = 2 * (ranks - 1)
    return Line(passes * link.latency, passes / ranks * link.per_byte)


def halving_doubling(ranks: int, link: Line) -> Line:
    """`all_reduce` in which pairs exchange halves, quarters, ..., and then double them again.

    It sends as many bytes as a ring, in far fewer messages. Of ranks that are no power of two,
    those that are left over first give all they have to another one.
    """
    rounds = int(math.log2(ranks))
    pairs = 1 << rounds
    left_over = 2 * (ranks > pairs)
    return Line(
        (2 * rounds + left_over) * link.latency,
        (2 * (pairs - 1) / pairs + left_over) * link.per_byte,
    )


@dataclass(frozen=True)
class Message:
    """The life of a bucket: moments in seconds."""

    nbytes: int
    leaves: float
    arrives: float


@dataclass(frozen=True)
class Step:
    """A simulated step, in seconds."""

    seconds: float
    alone: float  # what it takes without messages
    waits: float  # for messages, after backward
    messages: tuple[Message, ...]  # moments since backward began

    @property
    def hidden(self) -> float:
        """The share of the messages' time by which the step is not longer; 1 without messages."""
        sent = sum(m.arrives - m.leaves for m in self.messages)
        return 1 - (self.seconds - self.alone) / sent if sent else 1.0


def simulated(
    trace: Trace,
    message: Callable[[int], float],
    limits: Sequence[int] = DEFAULT_LIMITS,
    cpu_share: float = 0.0,
) -> Step:
    """A step whose messages leave one after another.

    The events are those of a step: a bucket is full, the one before it has arrived, backward ends.

    Args:
        message: seconds that so many bytes take.
        limits: bytes after which the first, the second, ... bucket is full.
        cpu_share: what part of a message the processor of this rank works, which does not compute
            meanwhile. Where messages are copied by the ranks themselves this is nearly all of it.
    """
    now = done = 0.0  # since backward began, and how much of it is done
    free = 0.0  # when all messages that are under way have arrived
    messages = []

    def go_on(until: float) -> None:
        nonlocal now, done
        work, shared = until - done, max(free - now, 0.0)
        slowed = (1 - cpu_share) * shared  # what can be done while messages are under way
        if work > slowed:
            now += shared + work - slowed
        elif work > 0:
            now += work / (1 - cpu_share)
        done = until

    for members in divided(cast(Any, trace.gradients), limits):
        go_on(max(done, *(cast(Gradient, g).ready for g in members)))
        nbytes = sum(g.nbytes for g in members)
        leaves = max(now, free)
        free = leaves + message(nbytes)
        messages.append(Message(nbytes, leaves, free))
    go_on(trace.backward)
    seconds = trace.forward + max(now, free) + trace.optimizer
    return Step(seconds, trace.seconds, max(free - now, 0.0), tuple(messages))
