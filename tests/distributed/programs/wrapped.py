"""`FullyShardedDataParallel` against one process with the whole batch.

    ... wrapped.py FRAMEWORK

Each rank trains on its part of every batch; beside it, it trains a copy of the model on the whole
batch. Whole states must agree, and what one model has saved the other loads.
"""

from __future__ import annotations

import copy
import functools
import sys
from importlib import import_module
from typing import Any

FRAMEWORK = sys.argv[1]
T: Any = import_module(FRAMEWORK)
dist: Any = import_module(f"{FRAMEWORK}.distributed")
fsdp: Any = import_module(f"{FRAMEWORK}.distributed.fsdp")
wrapping: Any = import_module(f"{FRAMEWORK}.distributed.fsdp.wrap")
FSDP = fsdp.FullyShardedDataParallel
DeviceMesh: Any = import_module(f"{FRAMEWORK}.distributed.device_mesh").DeviceMesh
Strategy = fsdp.ShardingStrategy
nn: Any = T.nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 10), nn.Linear(10, 6)
        self.register_buffer("scale", T.ones(1))

    def forward(self, x: Any) -> Any:
        return x + self.scale * self.second(self.first(x).relu())


POLICIES = {
    "none": None,
    "classes": wrapping.ModuleWrapPolicy({Block}),
    "function": wrapping.CustomPolicy(lambda m: isinstance(m, nn.Linear)),
    "transformer": functools.partial(
        wrapping.transformer_auto_wrap_policy, transformer_layer_cls={Block}
    ),
    "size": functools.partial(wrapping.size_based_auto_wrap_policy, min_num_params=60),
    "always": wrapping.always_wrap_policy,
}


def model_of(seed: int) -> Any:
    T.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 6), Block(), Block(), nn.Linear(6, 3))


def wrapped(module: Any, policy: Any = None, **settings: Any) -> Any:
    settings = {"use_orig_params": True, "device_id": T.device("cpu"), **settings}
    return FSDP(module, auto_wrap_policy=policy, **settings)


def close(a: Any, b: Any, most: float = 1e-6) -> None:
    assert list(a) == list(b), (list(a), list(b))
    for name in a:
        assert float((a[name].detach() - b[name].detach()).abs().max()) <= most, name


def step(model: Any, optimizer: Any, parts: list[Any], clips: float | None = None) -> None:
    optimizer.zero_grad()
    for number, (x, y) in enumerate(parts):
        loss = nn.functional.cross_entropy(model(x), y)
        if number < len(parts) - 1 and isinstance(model, FSDP):
            with model.no_sync():
                nn.functional.cross_entropy(model(x), y).backward()
        else:
            loss.backward()
    if clips is not None:
        if isinstance(model, FSDP):
            model.clip_grad_norm_(clips)
        else:
            nn.utils.clip_grad_norm_(model.parameters(), clips)
    optimizer.step()


def train(policy: str, strategy: Any, parts: int = 1, clips: float | None = None) -> Any:
    rank, size = dist.get_rank(), dist.get_world_size()
    alone = model_of(1)
    model = wrapped(copy.deepcopy(alone), POLICIES[policy], sharding_strategy=strategy)
    optimizers = [T.optim.Adam(m.parameters(), 1e-2) for m in (model, alone)]
    T.manual_seed(3)
    for _ in range(4):
        batch = [(T.randn(4 * size, 6), T.randint(0, 3, (4 * size,))) for _ in range(parts)]
        step(alone, optimizers[1], batch, clips)
        step(model, optimizers[0], [(x[rank::size], y[rank::size]) for x, y in batch], clips)
    close(model.state_dict(), alone.state_dict(), 1e-5)
    return model, alone, optimizers


def states() -> None:
    model, alone, (optimizer, optimizer_alone) = train("classes", Strategy.FULL_SHARD)
    full = model.state_dict()
    fresh = wrapped(model_of(2), POLICIES["function"])
    fresh.load_state_dict(full)
    close(fresh.state_dict(), full, 0)
    alone.load_state_dict(full)
    if FRAMEWORK == "nnkit":  # torch asserts that the parameters are on a GPU
        config = fsdp.FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
        with FSDP.state_dict_type(model, fsdp.StateDictType.FULL_STATE_DICT, config):
            assert len(model.state_dict()) == (len(full) if dist.get_rank() == 0 else 0)
    with FSDP.state_dict_type(model, fsdp.StateDictType.SHARDED_STATE_DICT):
        shards = model.state_dict()
        assert list(shards) == list(full)
        model.load_state_dict(shards)
    assert FSDP.get_state_dict_type(model).state_dict_type is fsdp.StateDictType.FULL_STATE_DICT
    kept = fsdp.FullOptimStateDictConfig(rank0_only=False)
    full_type = fsdp.StateDictType.FULL_STATE_DICT
    FSDP.set_state_dict_type(model, full_type, fsdp.FullStateDictConfig(), kept)
    found = FSDP.optim_state_dict(model, optimizer)
    for name, p in alone.named_parameters():
        close(found["state"][name], optimizer_alone.state[p], 1e-5)
    other = T.optim.Adam(model.parameters(), 1e-2)
    other.load_state_dict(FSDP.optim_state_dict_to_load(model, other, found))
    again = FSDP.optim_state_dict(model, other)
    for name in found["state"]:
        close(again["state"][name], found["state"][name], 0)
    with FSDP.summon_full_params(model):
        whole = dict(model.named_parameters())
        assert sorted(tuple(p.shape) for p in whole.values()) == sorted(
            tuple(p.shape) for p in alone.parameters()
        )
        with T.no_grad():
            for p in whole.values():
                p.fill_(2.0)
    assert all(float(v.min()) == 2 for n, v in model.state_dict().items() if "scale" not in n)


def settings() -> None:
    rank = dist.get_rank()
    model = wrapped(model_of(10 + rank), POLICIES["classes"], sync_module_states=True)
    close(model.state_dict(), model_of(10).state_dict(), 0)
    assert len(FSDP.fsdp_modules(model)) == 3
    assert FSDP.fsdp_modules(model, root_only=True) == [model]
    kept = model_of(1)
    ignored = kept[3]
    model = wrapped(kept, ignored_modules=[ignored])
    assert tuple(model.module[3].weight.shape) == (3, 6)
    low = fsdp.MixedPrecision(param_dtype=T.bfloat16, buffer_dtype=T.bfloat16)
    T.manual_seed(1)
    norm = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    model = wrapped(norm, POLICIES["classes"], mixed_precision=low)
    output = model(T.ones(3, 6))
    assert output.dtype == T.bfloat16, output.dtype
    output.float().sum().backward()
    assert all(v.dtype == T.float32 for n, v in model.state_dict().items() if "weight" in n)
    with T.device("meta"):
        empty = nn.Sequential(nn.Linear(6, 2))
    model = wrapped(empty)
    assert not any(v.is_meta for v in model.state_dict().values())
    with wrapping.enable_wrap(wrapper_cls=FSDP, device_id=T.device("cpu")):
        assert isinstance(wrapping.wrap(nn.Linear(2, 2)), FSDP)
    assert type(wrapping.wrap(nn.Linear(2, 2))) is nn.Linear


def some_ranks() -> None:
    """A mesh that leaves the first rank out: states come from the first rank of the mesh."""
    rank, ranks = dist.get_rank(), list(range(1, dist.get_world_size()))
    if not ranks:
        return
    mesh = DeviceMesh("cpu", ranks)
    if rank in ranks:
        model = wrapped(model_of(10 + rank), sync_module_states=True, device_mesh=mesh)
        close(model.state_dict(), model_of(11).state_dict(), 0)


dist.init_process_group(*(["gloo"] if FRAMEWORK == "torch" else []))
for chosen in POLICIES:
    train(chosen, Strategy.FULL_SHARD)
for strategy in Strategy:
    if FRAMEWORK != "torch" or "HYBRID" not in strategy.name:
        train("classes", strategy)
train("classes", Strategy.FULL_SHARD, 3)
train("classes", Strategy.FULL_SHARD, 1, 0.05)
states()
settings()
some_ranks()
print("passed")
dist.destroy_process_group()
