"""`fully_shard` against one process with the whole batch, over 50 steps.

    ... sharded.py FRAMEWORK CASE...

Each rank trains on its part of every batch; beside it, it trains a copy of the model on the whole
batch. The weights must agree, and those of a second run must be the same bit for bit.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.distributed.programs.ending import leave
from tests.distributed.programs.models import MODELS, mlp, sample

FRAMEWORK = sys.argv[1]
T: Any = import_module(FRAMEWORK)
dist: Any = import_module(f"{FRAMEWORK}.distributed")
fsdp: Any = import_module(f"{FRAMEWORK}.distributed.fsdp")
DTensor: Any = import_module(f"{FRAMEWORK}.distributed.tensor").DTensor
init_device_mesh: Any = import_module(f"{FRAMEWORK}.distributed.device_mesh").init_device_mesh
nn: Any = T.nn
STEPS = 50 if FRAMEWORK == "nnkit" else 8
TOLERANCE = 1e-6
LAYERS = (nn.Linear, nn.Conv2d, nn.LSTM, nn.TransformerEncoderLayer)


def sharded(case: str, model: Any) -> Any:
    """The model with each of its layers in shards, and itself with the rest."""
    settings: dict[str, Any] = {}
    if case == "mesh":
        size = dist.get_world_size()
        settings["mesh"] = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("copy", "part"))
    if case in ("frees", "keeps"):
        settings["reshard_after_forward"] = case == "frees"
    if case == "one":
        return fsdp.fully_shard(model)
    heads = {id(model.head)} if case == "gpt" else set()  # its weight belongs to the embedding too
    for module in list(model.modules()):
        inside = any(isinstance(m, LAYERS) for m in list(module.modules())[1:])
        if isinstance(module, LAYERS) and id(module) not in heads:
            if not inside or isinstance(module, nn.TransformerEncoderLayer):
                if not any(isinstance(p, DTensor) for p in module.parameters()):
                    fsdp.fully_shard(module, **settings)
    return fsdp.fully_shard(model, **settings)


def train(case: str) -> list[Any]:
    rank, size = dist.get_rank(), dist.get_world_size()
    T.manual_seed(1)
    alone = MODELS.get(case, mlp)().double()
    model = copy.deepcopy(alone)
    if case == "cnn":
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = sharded(case, model)
    assert all(isinstance(p, DTensor) for p in model.parameters())
    assert len(list(model.parameters())) == len(list(alone.parameters()))
    accumulates = 3 if case == "no_sync" else 1
    scaler = T.amp.GradScaler("cpu", enabled=case == "scaler")
    optimizers = [T.optim.Adam(m.parameters(), 1e-2) for m in (model, alone)]
    for step in range(STEPS):
        for optimizer in optimizers:
            optimizer.zero_grad()
        for part in range(accumulates):
            x, y = sample(case, step * accumulates + part)
            nn.functional.cross_entropy(alone(x), y).backward()
            model.set_requires_gradient_sync(part == accumulates - 1)
            loss = nn.functional.cross_entropy(model(x[rank::size].contiguous()), y[rank::size])
            scaler.scale(loss).backward()
        scaler.unscale_(optimizers[0])
        if case == "clip":
            norms = [nn.utils.clip_grad_norm_(m.parameters(), 0.1) for m in (model, alone)]
            assert abs(float(norms[0].full_tensor()) - float(norms[1])) <= 1e-9 * float(norms[1])
        scaler.step(optimizers[0])
        scaler.update()
        optimizers[1].step()
        if step % 10 == 3:  # what is gathered for a look must not be old afterwards
            for each in (model, alone):
                each.eval()
            with T.no_grad():
                x, _ = sample(case, step)
                difference = float((model(x) - alone(x)).abs().max())
                assert difference <= 1e-6, (case, step, difference)
            for each in (model, alone):
                each.train()
    found, expected = model.state_dict(), alone.state_dict()
    assert found.keys() == expected.keys()
    result = []
    for name, value in found.items():
        value = value.full_tensor() if isinstance(value, DTensor) else value
        other = expected[name].double()
        difference = float((value.double() - other).abs().max())
        scale = float(other.abs().max()) or 1.0
        assert difference <= TOLERANCE * scale, (case, name, difference / scale)
        result.append(value.detach().clone())
    for p in model.parameters():
        rows = -(-p.shape[0] // p.device_mesh.size(p.device_mesh.ndim - 1))
        assert p.to_local().shape[0] <= rows and p.grad.to_local().shape == p.to_local().shape
        assert optimizers[0].state[p]["exp_avg"].to_local().shape == p.to_local().shape
    return result


def run(case: str) -> None:
    first, second = train(case), train(case)
    assert all(T.equal(a, b) for a, b in zip(first, second)), f"{case}: not repeatable"


def run_precision() -> None:
    """Computed in bfloat16, kept in float32."""
    policy = fsdp.MixedPrecisionPolicy(
        param_dtype=T.bfloat16, reduce_dtype=T.float32, output_dtype=T.float64
    )
    seen = []
    model = mlp()
    model[1].register_forward_hook(lambda module, args, out: seen.append(out.dtype))
    T.manual_seed(dist.get_rank())
    for layer in (model[0], model[2], model[4]):
        fsdp.fully_shard(layer, mp_policy=policy)
    fsdp.fully_shard(model, mp_policy=policy)
    out = model(T.randn(4, 10))
    assert out.dtype == T.float64
    out.sum().backward()
    assert seen == [T.float64], seen  # each layer casts its output
    assert all(p.dtype == p.grad.dtype == T.float32 for p in model.parameters())


def run_memory() -> None:
    """Full parameters are there only while they are needed."""
    T.manual_seed(0)
    model = sharded("mlp", mlp())
    layers = [m for m in model.modules() if isinstance(m, fsdp.FSDPModule)][1:]
    seen: list[list[bool]] = []

    def full() -> list[bool]:
        return [not isinstance(layer.weight, DTensor) for layer in layers]

    for module in model:
        module.register_forward_hook(lambda *_: seen.append(full()))
    for _ in range(2):
        out = model(T.ones(2, 10))
        assert full() == [False] * 3, full()
        out.sum().backward()
        assert full() == [False] * 3
    assert all(sum(each) <= 2 for each in seen), seen
    layers[0].unshard()
    assert full() == [True, False, False]
    handle = layers[1].unshard(async_op=True)
    handle.wait()
    assert full() == [True, True, False]
    for layer in layers:
        layer.reshard()
    assert full() == [False] * 3


def run_states() -> None:
    """Whole states out of shards and into them, also those that rank 0 alone has."""
    states = import_module(f"{FRAMEWORK}.distributed.checkpoint.state_dict")
    rank = dist.get_rank()
    whole = states.StateDictOptions(full_state_dict=True)
    on_first = states.StateDictOptions(full_state_dict=True, cpu_offload=True)
    from_first = states.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)

    def made(seed: int, steps: int) -> tuple[Any, Any]:
        T.manual_seed(seed)
        model = sharded("mlp", mlp())
        optimizer = T.optim.AdamW(model.parameters(), 0.1 + seed)
        for _ in range(steps):
            optimizer.zero_grad()
            model(T.randn(4, 10)).square().sum().backward()
            optimizer.step()
        return model, optimizer

    def flat(model: Any, optimizer: Any) -> list[Any]:
        of_model, of_optimizer = states.get_state_dict(model, optimizer, options=whole)
        found = [*of_model.values()]
        found += [v for s in of_optimizer["state"].values() for v in s.values()]
        assert not any(isinstance(v, DTensor) for v in found)
        return found + [T.tensor(g["lr"]) for g in of_optimizer["param_groups"]]

    model, optimizer = made(0, 3)
    expected = flat(model, optimizer)
    assert len(expected) == 6 * 4 + 1
    first = states.get_state_dict(model, optimizer, options=on_first)
    assert all(bool(s) == (rank == 0) for s in (first[0], first[1].get("state", {})))
    for given, options in (
        (states.get_state_dict(model, optimizer), None),
        (states.get_state_dict(model, optimizer, options=whole), whole),
        (first if rank == 0 else ({}, {}), from_first),
    ):
        for steps in (0, 2):
            other = made(1, steps)
            # Not both in one call: torch's leaves out the model on a rank that has no state of it;
            # and copies, since it puts shards into the dicts.
            of_model, of_optimizer = copy.deepcopy(given)
            states.set_model_state_dict(other[0], of_model, options=options)
            states.set_optimizer_state_dict(*other, of_optimizer, options=options)
            for a, b in zip(flat(*other), expected):
                assert T.equal(a, b), (options, steps)


def run_errors() -> None:
    class Scalar(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(T.ones(()))

    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    fsdp.fully_shard(model)
    cases: list[tuple[Callable, type[Exception], str]] = [
        (lambda: fsdp.fully_shard(Scalar()), ValueError, "doesn't support scalar parameters"),
        (lambda: fsdp.fully_shard(nn.ModuleList([nn.Linear(2, 2)])), ValueError, "containers"),
        (lambda: fsdp.fully_shard(model), AssertionError, "already been applied"),
        (lambda: copy.deepcopy(model), AssertionError, "does not support deepcopy"),
        (lambda: model.set_reshard_after_forward(1), ValueError, "should be a bool"),
        (lambda: model.set_modules_to_forward_prefetch([nn.ReLU()]), ValueError, "FSDPModule"),
    ]
    for call, kind, words in cases:
        try:
            call()
        except kind as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)
    assert type(model[:1]).__name__ == "Sequential"
    if FRAMEWORK == "nnkit":
        run_own_errors()


def run_own_errors() -> None:
    """What goes wrong in a step leaves nothing behind for the next one."""
    tied = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    tied[1].weight = tied[0].weight
    fsdp.fully_shard(tied[0])
    try:
        fsdp.fully_shard(tied)
    except ValueError as error:
        assert "is shared with a module" in str(error)
    else:
        raise AssertionError
    T.manual_seed(0)
    model = sharded("mlp", mlp())

    def fail(*_: Any) -> None:
        raise KeyError("on purpose")

    for register in (model[3].register_forward_hook, model[3].register_full_backward_hook):
        handle = register(fail)
        try:
            model(T.ones(2, 10)).sum().backward()
        except KeyError:
            handle.remove()
        else:
            raise AssertionError
        model.zero_grad()
        for m in model.modules():
            if isinstance(m, fsdp.FSDPModule):
                m.reshard()
        model(T.ones(2, 10)).sum().backward()
        assert all(p.grad is not None for p in model.parameters())
        model.zero_grad()


def run_scaler() -> None:
    """What one rank alone finds in its gradients leaves the step out on all."""
    of_shards = import_module(f"{FRAMEWORK}.distributed.fsdp.sharded_grad_scaler")
    for bad in (None, 0, 1):
        weight = nn.Parameter(T.ones(3))
        optimizer = T.optim.SGD([weight], lr=0.5)
        scaler = of_shards.ShardedGradScaler("cpu", init_scale=4.0, growth_interval=1)
        factor = T.full((3,), float("inf") if dist.get_rank() == bad else 1.0)
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        found = weight.detach().tolist(), scaler.get_scale()
        assert found == (([0.5] * 3, 8.0) if bad is None else ([1.0] * 3, 2.0)), (bad, found)


def main() -> None:
    dist.init_process_group("gloo")
    for case in sys.argv[2:]:
        own = globals().get(f"run_{case}")
        run(case) if own is None else own()
    leave(dist)


main()
