"""`powerSGD_hook`: a communication hook that sends two thin matrices in place of each gradient."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.grad_mode import no_grad
from nnkit.autograd.ops.decomposition.factorization import qr
from nnkit.autograd.ops.random.factories import randn
from nnkit.autograd.surface.generator import Generator
from nnkit.autograd.tensor import Tensor
from nnkit.backend.futures import Future
from nnkit.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from nnkit.distributed.collectives import all_reduce_coalesced
from nnkit.distributed.groups import default_group

__all__ = ["PowerSGDState", "powerSGD_hook"]


class PowerSGDState:
    """The settings and the state of `powerSGD_hook`.

    Args:
        process_group: the ranks; all by default.
        matrix_approximation_rank: the columns of the thin matrices.
        start_powerSGD_iter: steps in which gradients are sent whole, since early ones change much.
        min_compression_rate: gradients that it makes less than so many times smaller are sent
            whole.
        use_error_feedback: add the error of each step to the gradient of the next.
        warm_start: begin with the matrices of the step before, and not with random ones.
        orthogonalization_epsilon, compression_stats_logging_frequency,
        batch_tensors_with_same_shape: accepted.
        random_seed: of the random matrices, which all ranks draw alike.

    Raises:
        ValueError: the hook is to start before step 2 although it keeps errors or matrices of
            steps: the buckets are made anew after the first.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, because PowerSGD can only be applied after the first two iterations in "
                "DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback = use_error_feedback
        self.warm_start = warm_start
        self.generator = Generator().manual_seed(random_seed)
        self.iter = 0
        self.error_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[int, list[Tensor]] = {}


@no_grad()
def powerSGD_hook(state: PowerSGDState, bucket: Any) -> Future:
    """The mean of the gradients, approximated by products of thin matrices.

    Each gradient is taken as a matrix M. With a matrix Q of few columns, every rank sends ``P = M
    Q``, makes the columns of the mean orthogonal, sends ``Q = M.T P``, and goes on with ``P Q.T``.

    Source: Vogels, Karimireddy and Jaggi 2019, "PowerSGD: practical low-rank gradient compression
    for distributed optimization"; ``torch.distributed.algorithms.ddp_comm_hooks``.
    """
    group = default_group() if state.process_group is None else state.process_group
    step = state.iter
    state.iter += bucket.is_last()
    if step < state.start_powerSGD_iter:
        return allreduce_hook(group, bucket)
    flat, number = bucket.buffer(), bucket.index()
    if state.use_error_feedback:
        if number in state.error_dict:
            flat.add_(state.error_dict[number])
    sent = flat.clone()
    thin, whole = [], []
    for grad in bucket.gradients():
        matrix = grad.view(grad.shape[0], -1) if grad.ndim > 1 else None
        rank = 0 if matrix is None else min(*matrix.shape, state.matrix_approximation_rank)
        if matrix is None or not _pays(matrix, rank, state.min_compression_rate):
            whole.append(grad)
        else:
            thin.append((matrix, rank))
    known = state.q_memory_dict.get(number)
    if known is None or not state.warm_start:
        shapes = [(matrix.shape[1], rank) for matrix, rank in thin]
        qs = [randn(s, dtype=flat.dtype, generator=state.generator).to(flat.device) for s in shapes]
    else:
        qs = known
    ps = [matrix @ qr(q)[0] for (matrix, _), q in zip(thin, qs)]
    for each in (*ps, *whole):
        each.div_(group.size())
    if not ps and not whole:
        return _done(flat)
    work: Any = all_reduce_coalesced([*ps, *whole], group=group, async_op=True)

    def rest(first: Future) -> Tensor:
        first.value()
        with no_grad():
            basis = [qr(p)[0] for p in ps]
            found = [matrix.t() @ p for (matrix, _), p in zip(thin, basis)]
            if found:
                for q in found:
                    q.div_(group.size())
                all_reduce_coalesced(found, group=group)
            for (matrix, _), p, q in zip(thin, basis, found):
                matrix.copy_(p @ q.t())
            state.q_memory_dict[number] = found
            if state.use_error_feedback:
                state.error_dict[number] = sent.sub_(flat)  # of what was sent whole, zero in sum
        return flat

    return work.get_future().then(rest)


def _pays(matrix: Tensor, rank: int, rate: float) -> bool:
    rows, columns = matrix.shape
    return (rows + columns) * rank * rate < rows * columns


def _done(value: Tensor) -> Future:
    future = Future()
    future.set_result(value)
    return future
