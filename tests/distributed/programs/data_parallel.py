"""`DistributedDataParallel` against one process with the whole batch, over 50 steps.

    ... data_parallel.py FRAMEWORK CASE...

Each rank trains on its part of every batch; beside it, it trains a copy of the model on the whole
batch. The weights must agree, and those of a second run must be the same bit for bit. A case that
begins with ``zero_`` has the optimizer's state in shares.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.distributed.programs.ending import leave
from tests.distributed.programs.models import MODELS, Branches, cnn, mlp, sample

FRAMEWORK = sys.argv[1]
T: Any = import_module(FRAMEWORK)
dist: Any = import_module(f"{FRAMEWORK}.distributed")
DDP: Any = import_module(f"{FRAMEWORK}.nn.parallel").DistributedDataParallel
ZERO: Any = import_module(f"{FRAMEWORK}.distributed.optim").ZeroRedundancyOptimizer
nn: Any = T.nn
STEPS = 50 if FRAMEWORK == "nnkit" else 8
TOLERANCE = 1e-6


SETTINGS: dict[str, dict[str, Any]] = {
    "mlp": {},
    "views": {"gradient_as_bucket_view": True},
    "static": {"static_graph": True},
    "unused": {"find_unused_parameters": True},
    "many": {"bucket_cap_mb": 0.001},
}


def run(case: str) -> None:
    first, second = train(case, True), train(case, False)
    assert T.equal(first, second), f"{case}: not repeatable"
    everybody = [T.zeros_like(first) for _ in range(dist.get_world_size())]
    dist.all_gather(everybody, first)
    assert all(T.equal(other, first) for other in everybody), f"{case}: ranks differ"


def train(case: str, compares: bool) -> Any:
    """The weights after training; ``compares`` them with those of one process."""
    rank, size = dist.get_rank(), dist.get_world_size()
    divides, case = case.startswith("zero_"), case.removeprefix("zero_")
    T.manual_seed(rank)
    model = MODELS.get(case, mlp)().double()
    synced = model
    if case == "cnn":
        synced = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    parallel = DDP(synced, **SETTINGS.get(case, {}))
    alone = copy.deepcopy(parallel.module)
    if case == "cnn":  # the ordinary layers again
        alone = cnn().double()
        alone.load_state_dict(parallel.module.state_dict())
    accumulates = 3 if case == "no_sync" else 1
    scaler = T.amp.GradScaler("cpu", enabled=case == "scaler")
    if divides:
        optimizer = ZERO(parallel.parameters(), T.optim.Adam, lr=1e-2)
    else:
        optimizer = T.optim.Adam(parallel.parameters(), 1e-2)
    optimizers = [optimizer, T.optim.Adam(alone.parameters(), 1e-2)]
    called = T.compile(parallel) if case == "compiled" else parallel
    for step in range(STEPS):
        if case == "unused":
            parallel.module.chosen = alone.chosen = step % 3
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=case != "views" or step % 2 == 0)
        for part in range(accumulates):
            x, y = sample(case, step * accumulates + part)
            if compares:
                nn.functional.cross_entropy(alone(x), y).backward()
            own_x, own_y = x[rank::size].contiguous(), y[rank::size]
            if part < accumulates - 1:
                with parallel.no_sync():
                    loss = nn.functional.cross_entropy(called(own_x), own_y)
                    loss.backward()
            else:
                loss = nn.functional.cross_entropy(called(own_x), own_y)
                scaler.scale(loss).backward()
        scaler.unscale_(optimizers[0])
        if case == "clip":
            for each in (parallel, alone):
                nn.utils.clip_grad_norm_(each.parameters(), 0.1)
        scaler.step(optimizers[0])
        scaler.update()
        optimizers[1].step()
    for (name, a), b in zip(parallel.module.state_dict().items(), alone.state_dict().values()):
        difference = float((a.double() - b.double()).abs().max())
        scale = float(b.double().abs().max()) or 1.0
        assert not compares or difference <= TOLERANCE * scale, (case, name, difference / scale)
    assert all(key.startswith("module.") for key in parallel.state_dict())
    return T.cat([p.detach().reshape(-1) for p in parallel.parameters()])


def run_errors() -> None:
    """What ranks do alike and wrong is an error on each of them."""
    rank = dist.get_rank()

    def expect(words: str, call: Callable) -> None:
        try:
            call()
        except RuntimeError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"no error that says {words!r}")

    expect("doesn't have any parameter that requires a gradient", lambda: DDP(nn.ReLU()))
    if FRAMEWORK == "nnkit":  # of torch's ranks, only the others than 0 learn of it
        expect("same model across all ranks", lambda: DDP(nn.Linear(2, 3 + rank)))
    expect("same model across all ranks", lambda: DDP(nn.Linear(2, 3, bias=rank == 0)))
    model = DDP(Branches())
    model(T.ones(2, 10)).sum().backward()
    expect("Expected to have finished reduction", lambda: model(T.ones(2, 10)))


def run_hooks() -> None:
    """Hooks that send half precision come near the mean, and the plain one is the mean."""
    hooks = import_module(f"{FRAMEWORK}.distributed.algorithms.ddp_comm_hooks.default_hooks")
    rank, size = dist.get_rank(), dist.get_world_size()
    compared = {"allreduce_hook": 0.0, "fp16_compress_hook": 2e-3}
    if FRAMEWORK == "nnkit":  # torch has it on GPUs alone
        compared["bf16_compress_hook"] = 2e-2
    for name, tolerance in compared.items():
        T.manual_seed(0)
        model = DDP(nn.Linear(4, 3))
        model.register_comm_hook(None, getattr(hooks, name))
        x = T.ones(2, 4) * (rank + 1)
        model(x).sum().backward()
        mean = 2 * (size + 1) / 2
        found = model.module.weight.grad
        assert float((found - mean).abs().max()) <= tolerance * mean, name
    try:
        model.register_comm_hook(None, hooks.allreduce_hook)
    except RuntimeError as error:
        assert "only be called once" in str(error)
    else:
        raise AssertionError


def run_power() -> None:
    """Matrices of full rank give the mean itself; of rank 1, what is lost is made good later."""
    power = import_module(f"{FRAMEWORK}.distributed.algorithms.ddp_comm_hooks.powerSGD_hook")
    rank, size = dist.get_rank(), dist.get_world_size()
    for columns, steps in ((16, 4), (1, 60)):
        T.manual_seed(0)
        model = DDP(nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 6)).double())
        state = power.PowerSGDState(
            None, matrix_approximation_rank=columns, start_powerSGD_iter=2, min_compression_rate=0
        )
        alone = copy.deepcopy(model.module)
        model.register_comm_hook(state, power.powerSGD_hook)
        optimizers = [T.optim.SGD(m.parameters(), 0.1) for m in (model, alone)]
        x, y = T.randn(12, 8, dtype=T.float64), T.randn(12, 6, dtype=T.float64)
        losses = []
        for _ in range(steps):
            for optimizer in optimizers:
                optimizer.zero_grad()
            nn.functional.mse_loss(alone(x), y).backward()
            nn.functional.mse_loss(model(x[rank::size]), y[rank::size]).backward()
            with T.no_grad():
                losses.append(float(nn.functional.mse_loss(alone(x), y)))
            for optimizer in optimizers:
                optimizer.step()
        if columns == 16:
            for p, q in zip(model.parameters(), alone.parameters()):
                assert float((p - q).detach().abs().max()) < 1e-9
        final = float(nn.functional.mse_loss(model.module(x), y).detach())
        assert final < losses[0] and final < 1.1 * losses[-1], (columns, final, losses[-1])
    try:
        power.PowerSGDState(None, start_powerSGD_iter=1)
    except ValueError as error:
        assert "start_powerSGD_iter" in str(error)
    else:
        raise AssertionError


def run_overlap() -> None:
    """Buckets leave before the last gradient has come."""
    model = DDP(nn.Sequential(*[nn.Linear(64, 64) for _ in range(6)]), bucket_cap_mb=0.01)
    for _ in range(3):
        model(T.ones(2, 64)).sum().backward()
    seen: list[tuple[int, int]] = []

    def note(grad: Any) -> None:
        seen.append((model._step.sent, len(model._buckets)))

    model.module[0].weight.register_hook(note)
    model(T.ones(2, 64)).sum().backward()
    sent, buckets = seen[0]
    assert buckets > 3 and sent >= buckets - 2, (sent, buckets)


def run_kept() -> None:
    """The older gradient of a parameter that nobody has used stays."""
    model = DDP(Branches(), find_unused_parameters=True)
    x, y = sample("unused", dist.get_rank())
    model.module.chosen = 0
    nn.functional.cross_entropy(model(x.float()), y).backward()
    before = {
        p: p.grad.mul_(1 + dist.get_rank()).clone() for p in model.module.parts[0].parameters()
    }
    model.module.chosen = 1
    nn.functional.cross_entropy(model(x.float()), y).backward()
    assert all(T.equal(p.grad, grad) for p, grad in before.items())


def run_straight() -> None:
    """In the cases after this one all gradients travel from where they are."""
    buckets: Any = import_module("nnkit.nn.parallel.buckets")
    buckets.STRAIGHT_BYTES = 1


def run_observed() -> None:
    """A hook that is registered after the buckets' sees the gradient of its own rank."""
    rank, size = dist.get_rank(), dist.get_world_size()
    model = DDP(nn.Linear(600, 600))
    weight = model.module.weight
    seen: list[Any] = []
    weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    for _ in range(2):
        weight.grad = None
        model(T.full((2, 600), rank + 1.0)).sum().backward()
        assert (seen.pop() == 2.0 * (rank + 1)).all()
        assert T.allclose(weight.grad, T.full((600, 600), size + 1.0))


def run_large() -> None:
    """Several gradients of more than 1 MiB in a bucket, in more than one message: their means."""
    model = DDP(nn.Sequential(*[nn.Linear(600, 600) for _ in range(4)]))
    for step in range(3):  # after the first the buckets are made anew
        model.zero_grad()
        x = T.randn(8, 600, generator=T.Generator().manual_seed(10 * step + dist.get_rank()))
        own = T.autograd.grad(model.module(x).square().mean(), list(model.parameters()))
        model(x).square().mean().backward()
        for p, grad in zip(model.parameters(), own, strict=True):
            dist.all_reduce(grad)
            assert T.allclose(p.grad, grad / dist.get_world_size(), rtol=1e-5, atol=1e-8)


class Slow(T.autograd.Function):
    """Takes its time in backward, and has no gradient that anybody waits for."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        time.sleep(0.02)
        return grad.clone()


class Waits(nn.Module):
    def forward(self, x: Any) -> Any:
        return Slow.apply(x)


def run_progress() -> None:
    """A message arrives while backward goes on with what has no parameters."""
    first, last = nn.Linear(64, 64), nn.Linear(64, 64)
    between = [Waits() for _ in range(10)]
    model = DDP(nn.Sequential(first, *between, last), bucket_cap_mb=0.01)
    arrived: list[bool] = []
    first.weight.register_hook(lambda grad: arrived.append(model._buckets[0].works[0]._done))
    for _ in range(3):
        model(T.ones(2, 64)).sum().backward()
    assert arrived[1:] == [True, True], arrived


def run_join() -> None:
    """Rank r has r + 2 batches; at the end all have the same weights, and the right ones."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for by_all in (True, False):
        T.manual_seed(0)
        model = DDP(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).double())
        alone = copy.deepcopy(model.module)
        optimizer = T.optim.SGD(model.parameters(), 0.1)
        batches = [[T.randn(5, 4, dtype=T.float64) for _ in range(r + 2)] for r in range(size)]
        with model.join(divide_by_initial_world_size=by_all):
            for x in batches[rank]:
                optimizer.zero_grad()
                model(x).square().sum().backward()
                optimizer.step()
        optimizer = T.optim.SGD(alone.parameters(), 0.1)
        for step in range(size + 1):
            optimizer.zero_grad()
            active = [own[step] for own in batches if step < len(own)]
            for x in active:
                alone(x).square().sum().backward()
            for p in alone.parameters():
                p.grad /= size if by_all else len(active)
            optimizer.step()
        for p, q in zip(model.parameters(), alone.parameters()):
            assert float((p - q).abs().max()) < 1e-12, by_all
    model = DDP(nn.Linear(4, 3).double())
    try:
        with model.join(throw_on_early_termination=True):
            for x in batches[rank]:
                model(x).sum().backward()
    except RuntimeError as error:
        words = "Rank 0 exhausted all inputs", "at least one rank that exhausted inputs"
        assert words[min(rank, 1)] in str(error), error
    else:
        raise AssertionError


def run_join_zero() -> None:
    """The same with an optimizer in shares, of which a rank without batches updates its own."""
    join: Any = import_module(f"{FRAMEWORK}.distributed.algorithms.join")
    zero: Any = import_module(f"{FRAMEWORK}.distributed.optim").ZeroRedundancyOptimizer
    rank, size = dist.get_rank(), dist.get_world_size()
    expected: list[list[Any]] = []  # the gradients of each step

    class Gradients(join.Joinable):  # type: ignore[misc, name-defined]
        """Gives a rank without batches the gradients of the step, as torch's model does not."""

        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model, self.step = model, 0

        def begin(self) -> None:
            join.Join.notify_join_context(self)
            self.step += 1

        def join_hook(self, **kwargs: Any) -> Any:
            this = self

            class Hook(join.JoinHook):  # type: ignore[misc, name-defined]
                def main_hook(self) -> None:
                    for p, grad in zip(this.model.parameters(), expected[this.step]):
                        p.grad = grad.clone()
                    this.step += 1

                def post_hook(self, is_last_joiner: bool) -> None:
                    assert is_last_joiner == (rank == size - 1)

            return Hook()

        @property
        def join_device(self) -> Any:
            return T.device("cpu")

        @property
        def join_process_group(self) -> Any:
            return dist.group.WORLD

    for gives in (True, False) if FRAMEWORK == "nnkit" else (True,):
        T.manual_seed(0)
        parts = nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)
        model = DDP(nn.Sequential(*parts).double())
        alone = copy.deepcopy(model.module)
        batches = [[T.randn(5, 4, dtype=T.float64) for _ in range(r + 2)] for r in range(size)]
        optimizer = T.optim.Adam(alone.parameters(), 0.1)
        expected.clear()
        for step in range(size + 1):
            optimizer.zero_grad()
            for own in batches:
                if step < len(own):
                    (alone(own[step]).square().sum() / size).backward()
            expected.append([p.grad.clone() for p in alone.parameters()])
            optimizer.step()
        optimizer = zero(model.parameters(), T.optim.Adam, lr=0.1)
        gradients = Gradients(model)
        joinables = [gradients, model, optimizer] if gives else [model, optimizer]
        with join.Join(joinables):
            for x in batches[rank]:
                gradients.begin()
                optimizer.zero_grad()
                model(x).square().sum().backward()
                optimizer.step()
        for p, q in zip(model.parameters(), alone.parameters()):
            assert float((p - q).abs().max()) < 1e-12, gives


def main() -> None:
    dist.init_process_group("gloo")
    for case in sys.argv[2:]:
        own = globals().get(f"run_{case}")
        run(case) if own is None else own()
    leave(dist)


main()
