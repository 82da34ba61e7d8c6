"""One model on several processes: its gradients, its buckets, what it refuses."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator

import pytest

import nnkit
import nnkit.distributed as dist
from nnkit.nn.parallel import DistributedDataParallel
from nnkit.nn.parallel.buckets import divided
from tests.distributed import needs_mpi, succeed

CASES = (
    "mlp",
    "views",
    "static",
    "unused",
    "many",
    "no_sync",
    "clip",
    "scaler",
    "cnn",
    "gpt",
    "lstm",
    "zero_gpt",
    "compiled",
)


@needs_mpi
def test_the_same_weights_as_one_process_with_the_whole_batch() -> None:
    assert succeed("data_parallel", 3, "nnkit", *CASES[:8]).count("passed") == 3
    assert succeed("data_parallel", 2, "nnkit", *CASES[8:]).count("passed") == 2


@needs_mpi
def test_hooks_errors_and_overlap() -> None:
    cases = ["hooks", "power", "overlap", "progress", "large", "observed", "join", "join_zero"]
    cases += ["errors"]
    assert succeed("data_parallel", 2, "nnkit", *cases).count("passed") == 2


@needs_mpi
def test_gradients_that_travel_from_where_they_are() -> None:
    cases = ("kept", "straight", "kept", "mlp", "static", "unused", "no_sync", "join", "hooks")
    assert succeed("data_parallel", 2, "nnkit", *cases).count("passed") == 2


@needs_mpi
def test_the_optimizer_s_state_in_shares() -> None:
    assert succeed("zero", 3, "nnkit").count("passed") == 3


@pytest.fixture(autouse=True)
def group() -> Iterator[None]:
    dist.init_process_group(rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_a_world_of_one() -> None:
    model = DistributedDataParallel(nnkit.nn.Linear(3, 2), gradient_as_bucket_view=True)
    for _ in range(2):
        model.zero_grad()
        model(nnkit.ones(4, 3)).sum().backward()
        assert model.module.weight.grad.tolist() == [[4.0] * 3] * 2
        assert model.module.weight.grad._base is not None
    assert list(model.state_dict()) == ["module.weight", "module.bias"]


def test_gradients_add_up_until_they_are_zeroed() -> None:
    model = DistributedDataParallel(nnkit.nn.Linear(1, 1))
    for _ in range(3):
        model(nnkit.ones(1, 1)).sum().backward()
    assert model.module.weight.grad.tolist() == [[3.0]]


def test_forward_without_gradients() -> None:
    model = DistributedDataParallel(nnkit.nn.Linear(1, 1))
    with nnkit.no_grad():
        model(nnkit.ones(1, 1))
    model(nnkit.ones(1, 1)).sum().backward()
    assert model.module.weight.grad is not None


def test_reentrant_checkpointing_needs_a_static_graph() -> None:
    from nnkit.utils.checkpoint import checkpoint

    layer = nnkit.nn.Linear(2, 2)

    class Twice(nnkit.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: nnkit.Tensor) -> nnkit.Tensor:
            for _ in range(2):
                x = checkpoint(self.layer, x, use_reentrant=True)
            return x

    x = nnkit.ones(1, 2, requires_grad=True)
    Twice()(x).sum().backward()
    expected, layer.weight.grad, layer.bias.grad = layer.weight.grad, None, None
    model = DistributedDataParallel(Twice(), static_graph=True)
    for _ in range(2):
        model.zero_grad()
        model(x).sum().backward()
        assert layer.weight.grad is not None and nnkit.equal(layer.weight.grad, expected)
    refusing = DistributedDataParallel(Twice())
    with pytest.raises(RuntimeError, match="mark a variable ready only once"):
        refusing(x).sum().backward()


def test_a_hook_is_asked_once() -> None:
    model = DistributedDataParallel(nnkit.nn.Linear(1, 1))
    with pytest.raises(TypeError, match="must be callable"):
        model.register_comm_hook(None, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_watches_its_own_gradients(copied: Callable) -> None:
    model = DistributedDataParallel(nnkit.nn.Linear(1, 1), gradient_as_bucket_view=True)
    model(nnkit.ones(1, 1)).sum().backward()
    other = copied(model)
    for _ in range(2):
        other.zero_grad()
        other(nnkit.full((1, 1), 3.0)).sum().backward()
    assert other.module.weight.grad.item() == 3 and model.module.weight.grad.item() == 1
    assert other.process_group is dist.group.WORLD and other.gradient_as_bucket_view
    assert other.module.weight.grad._base is not None


def test_a_copy_needs_the_default_group() -> None:
    model = DistributedDataParallel(nnkit.nn.Linear(1, 1), process_group=dist.new_group([0]))
    with pytest.raises(RuntimeError, match="only supported when using DDP with the default"):
        pickle.dumps(model)
    saved = pickle.dumps(DistributedDataParallel(nnkit.nn.Linear(1, 1)))
    dist.destroy_process_group()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        pickle.loads(saved)
    dist.init_process_group(rank=0, world_size=1)


def test_a_divided_optimizer_refuses() -> None:
    zero, sgd = dist.optim.ZeroRedundancyOptimizer, nnkit.optim.SGD
    x = nnkit.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="iterable of Tensors, but got a Tensor"):
        zero(x, sgd, lr=0.1)
    with pytest.raises(TypeError, match="iterable of Tensors or dicts, but got int"):
        zero(3, sgd, lr=0.1)
    with pytest.raises(TypeError, match="iterable of Tensors or dicts"):
        zero([x, 3], sgd, lr=0.1)
    with pytest.raises(ValueError, match="empty parameter list"):
        zero([], sgd, lr=0.1)
    with pytest.raises(NotImplementedError, match="overlap_with_ddp must be False"):
        zero([x], sgd, overlap_with_ddp=True, lr=0.1)
    optimizer = zero([x], sgd, lr=0.1)
    optimizer.add_param_group({"params": [nnkit.ones(1, requires_grad=True)], "lr": 0.5})
    assert [group["lr"] for group in optimizer.optim.param_groups] == [0.1, 0.5]


def test_buckets_are_cut_by_size_and_dtype() -> None:
    sizes = [10, 10, 30, 5, 40]
    parameters = [nnkit.zeros(n) for n in sizes] + [nnkit.zeros(3, dtype=nnkit.float64)]
    found = divided(parameters, [60, 140])
    assert [[p.numel() for p in members] for members in found] == [[10, 10], [30, 5], [40], [3]]


def test_sync_batch_norm_of_one_process_is_batch_norm() -> None:
    x = nnkit.randn(4, 3, 2)
    plain = nnkit.nn.BatchNorm1d(3)
    synced = nnkit.nn.SyncBatchNorm.convert_sync_batchnorm(plain)
    assert type(synced) is nnkit.nn.SyncBatchNorm and synced.weight is plain.weight
    assert nnkit.equal(synced(x), nnkit.nn.BatchNorm1d(3)(x))
    assert type(synced.eval()(x)) is nnkit.Tensor
    with pytest.raises(ValueError, match="expected at least 2D input"):
        synced(nnkit.ones(3))
    with pytest.raises(ValueError, match="channels should be non-zero"):
        nnkit.nn.SyncBatchNorm(1)(nnkit.ones(2, 0))
