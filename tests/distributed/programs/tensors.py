"""`DTensor` on the ranks of a mesh: what it computes is what one process computes of the whole.

... tensors.py FRAMEWORK
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from tests.distributed.programs.ending import leave

FRAMEWORK = sys.argv[1]
T: Any = import_module(FRAMEWORK)
dist: Any = import_module(f"{FRAMEWORK}.distributed")
tensors: Any = import_module(f"{FRAMEWORK}.distributed.tensor")
nn: Any = T.nn
Shard, Replicate, Partial = tensors.Shard, tensors.Replicate, tensors.Partial


def check(found: Any, expected: Any, *about: Any) -> None:
    whole = found.full_tensor() if isinstance(found, tensors.DTensor) else found
    assert whole.shape == expected.shape, (about, whole.shape, expected.shape)
    assert bool((whole - expected).abs().max() <= 1e-12 * expected.abs().max()), about


def has_largest(mesh: Any, shape: tuple) -> bool:
    """Whether the largest element is found: torch has none of an empty part."""
    size = mesh.size()
    has_empty_part = any(-(-length // size) * (size - 1) >= length for length in shape)
    return FRAMEWORK != "torch" or not has_empty_part


def run(mesh: Any, placements: list, shape: tuple) -> None:
    T.manual_seed(3)
    x, y = T.randn(shape, dtype=T.float64), T.rand(shape, dtype=T.float64) + 0.5
    a, b = (tensors.distribute_tensor(t, mesh, placements) for t in (x, y))
    assert a.shape == x.shape and a.numel() == x.numel() and a.size(0) == shape[0]
    assert a.placements == tuple(placements) and a.device_mesh == mesh and a.ndim == x.ndim
    check(a, x, "whole")
    rows = -(-shape[0] // mesh.size())
    if mesh.ndim == 1 and placements == [Shard(0)]:
        start = min(rows * mesh.get_local_rank(), shape[0])
        assert T.equal(a.to_local(), x[start : start + rows])
    about = (placements, shape)
    check(a + b * 2 - 1, x + y * 2 - 1, "arithmetic", *about)
    check((2 - a).exp() / b.sqrt(), (2 - x).exp() / y.sqrt(), "functions", *about)
    check(a.sum(), x.sum(), "sum", *about)
    check(T.zeros_like(a), x * 0, "zeros_like")
    for order in (1.0, 2.0, 3.0, float("inf") if has_largest(mesh, shape) else 0.5):
        check(a.norm(order), x.norm(order), "norm", order, *about)
        check(T.linalg.vector_norm(a, order), T.linalg.vector_norm(x, order), "vector_norm")
    c = a.clone()
    c.mul_(b).add_(a, alpha=0.5)
    check(c, x * y + 0.5 * x, "in place", *about)
    assert c.placements == a.placements
    leaf, alone = a.detach().requires_grad_(), x.clone().requires_grad_()
    (leaf.full_tensor() * y).square().sum().backward()
    (alone * y).square().sum().backward()
    assert isinstance(leaf.grad, tensors.DTensor) and leaf.grad.placements == a.placements
    check(leaf.grad, alone.grad, "gradient", *about)
    check(a.redistribute(mesh, [Replicate()] * mesh.ndim), x, "redistribute", *about)
    if mesh.ndim == 1 and len(shape) > 1:
        moved = a.redistribute(mesh, [Shard(1)])
        assert moved.placements == (Shard(1),)
        check(moved, x, "redistribute to columns", *about)


def run_parameters(mesh: Any) -> None:
    """Modules, optimizers and the clipping of gradients take parts for parameters."""
    T.manual_seed(0)
    whole = nn.Linear(3, 5).double()
    alone = [p.detach().clone().requires_grad_() for p in whole.parameters()]
    parts = [nn.Parameter(tensors.distribute_tensor(p.detach(), mesh, [Shard(0)])) for p in alone]
    assert all(isinstance(p, nn.Parameter) and isinstance(p, tensors.DTensor) for p in parts)
    optimizers = [T.optim.AdamW(group, 0.1, weight_decay=0.1) for group in (alone, parts)]
    first_order = float("inf") if has_largest(mesh, (5,)) else 1.0
    for step in range(5):
        x = T.randn(4, 3, dtype=T.float64)
        for group, optimizer in zip((alone, parts), optimizers):
            optimizer.zero_grad()
            w, b = (p.full_tensor() if isinstance(p, tensors.DTensor) else p for p in group)
            (x @ w.t() + b).square().mean().backward()
            norm = nn.utils.clip_grad_norm_(group, 0.5, 2.0 if step else first_order)
            norm = norm.full_tensor() if isinstance(norm, tensors.DTensor) else norm
            if group is alone:
                expected = norm
            else:
                check(norm, expected, "total norm")
            optimizer.step()
    for p, q in zip(parts, alone):
        check(p.detach(), q.detach(), "parameter")
    assert isinstance(optimizers[1].state[parts[0]]["exp_avg"], tensors.DTensor)
    assert not isinstance(optimizers[1].state[parts[0]]["step"], tensors.DTensor)


def run_refusals(mesh: Any) -> None:
    a = tensors.distribute_tensor(T.ones(4, 3), mesh, [Shard(0)])
    for call, words in (
        (lambda: a + T.ones(4, 3), "mixed"),
        (lambda: a.redistribute(mesh, [Partial()]), "to Partial is for internal use"),
        (lambda: tensors.distribute_tensor(T.ones(2, requires_grad=True) * 1, mesh), "leaf"),
    ):
        try:
            call()
        except RuntimeError as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)


def main() -> None:
    dist.init_process_group("gloo")
    size, rank = dist.get_world_size(), dist.get_rank()
    mesh = tensors.init_device_mesh("cpu", (size,), mesh_dim_names=("all",))
    assert mesh.get_local_rank() == rank and mesh.size() == size and mesh["all"] == mesh
    for placements in ([Shard(0)], [Shard(1)], [Replicate()]):
        for shape in ((4, 3), (5, 2), (1, 4), (7, 3)):
            run(mesh, placements, shape)
    run(mesh, [Shard(0)], (size + 1,))
    own = tensors.DTensor.from_local(T.full((2,), rank + 1.0), mesh, [Partial()])
    check(own, T.full((2,), size * (size + 1) / 2), "partial")
    own = tensors.DTensor.from_local(T.full((2,), rank + 1.0), mesh, [Shard(0)])
    assert own.shape == (2 * size,)
    run_parameters(mesh)
    run_refusals(mesh)
    if size == 4:
        mesh = tensors.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
        assert mesh["shard"].mesh.tolist() == [rank // 2 * 2, rank // 2 * 2 + 1]
        assert mesh["replicate"].mesh.tolist() == [rank % 2, rank % 2 + 2]
        assert mesh.get_coordinate() == (rank // 2, rank % 2) or FRAMEWORK == "torch"
        for placements in ([Replicate(), Shard(0)], [Shard(1), Shard(0)], [Shard(0), Shard(0)]):
            run(mesh, placements, (5, 4))
            run(mesh, placements, (3, 2))
    leave(dist)


main()
