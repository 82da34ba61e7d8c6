"""Writes to what a function captures: torch refuses them where the function is differentiated."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises
from tests.test_func import of

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit"),
    pytest.mark.filterwarnings("ignore:index_reduce"),
]


def indexed(lib: ModuleType, c: Any, x: Any) -> None:
    c[0] = 5.0


def masked(lib: ModuleType, c: Any, x: Any) -> None:
    c[c > 1] = 0.0


def without_grad(lib: ModuleType, c: Any, x: Any) -> None:
    with lib.no_grad():
        c.add_(1)


def stepped(lib: ModuleType, c: Any, x: Any) -> None:
    c.grad = lib.ones(3)
    lib.optim.SGD([c], lr=0.1).step()


WRITES: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "add_": lambda lib, c, x: c.add_(1),
    "a constant": lambda lib, c, x: c.fill_(2.0),
    "the argument": lambda lib, c, x: c.copy_(x),
    "a view": lambda lib, c, x: c[0].add_(1),
    "data": lambda lib, c, x: c.data.add_(1),
    "what was detached": lambda lib, c, x: c.detach().zero_(),
    "an element": indexed,
    "a mask": masked,
    "under no_grad": without_grad,
    "relu_": lambda lib, c, x: lib.relu_(c),
    "functional": lambda lib, c, x: lib.nn.functional.silu(c, inplace=True),
    "hardtanh": lambda lib, c, x: lib.nn.functional.hardtanh(c, inplace=True),
    "index_add_": lambda lib, c, x: c.index_add_(0, lib.tensor([0]), lib.ones(1)),
    "its shape": lambda lib, c, x: c.unsqueeze_(0),
    "its size": lambda lib, c, x: c.resize_(3),
    "its memory": lambda lib, c, x: c.set_(lib.ones(3)),
    "its history": lambda lib, c, x: c.detach_(),
    "an optimizer": stepped,
}  # fmt: skip
# What may be written: what is made within, the arguments, and whatever is given as ``out``.
ALLOWED: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "out": lambda lib, c, x: lib.add(c, 1, out=c),
    "what is made": lambda lib, c, x: lib.zeros(3).add_(c),
    "a copy": lambda lib, c, x: c.clone().add_(1),
    "a tensor of data": lambda lib, c, x: lib.tensor([1.0, 2.0]).mul_(2),
    "the argument's data": lambda lib, c, x: x.detach().add_(1),
    "what another transform gave": (
        lambda lib, c, x: of(lib).grad(lambda y: (y * y).sum())(c).add_(1)
    ),
    "a layer made within": lambda lib, c, x: lib.nn.BatchNorm1d(3)(lib.stack([x, x])),
}  # fmt: skip


def transforms(lib: ModuleType, function: Callable) -> dict[str, Callable[[], Any]]:
    """A function of one vector under each transform that differentiates it."""
    f, x = of(lib), lib.tensor([1.0, 2.0, 3.0])
    return {
        "grad": lambda: f.grad(function)(x),
        "vjp": lambda: f.vjp(function, x),
        "jvp": lambda: f.jvp(function, (x,), (x,)),
        "jacrev": lambda: f.jacrev(function)(x),
        "jacfwd": lambda: f.jacfwd(function, randomness="same")(x),
        "hessian": lambda: f.hessian(function)(x),
        "grad in vmap": lambda: f.vmap(f.grad(function), randomness="same")(lib.stack([x, x])),
    }


TRANSFORMS = ("grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "grad in vmap")


def function_of(lib: ModuleType, write: Callable) -> Callable:
    c = lib.tensor([0.5, 1.5, 2.5])

    def function(x: Any) -> Any:
        write(lib, c, x)
        return (c * x).sum()

    return function


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", WRITES)
def test_captured_is_not_written(lib: ModuleType, name: str, transform: str) -> None:
    run = transforms(lib, function_of(lib, WRITES[name]))[transform]
    with raises(lib, RuntimeError, "that would mutate a captured Tensor"):
        run()


@pytest.mark.parametrize("transform", ("grad", "vjp", "jvp"))
@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_its_own_is_written(lib: ModuleType, name: str, transform: str) -> None:
    transforms(lib, function_of(lib, ALLOWED[name]))[transform]()


def test_arguments_it_is_not_differentiated_by_are_its_own(lib: ModuleType) -> None:
    f, x = of(lib), lib.tensor([1.0, 2.0, 3.0])

    def function(x: Any, y: Any, z: Any = None) -> Any:
        y.add_(1)
        if z is not None:
            z[0] = 5.0
        return (x * y).sum()

    runs = {
        "grad": lambda y: f.grad(function)(x, y),
        "named": lambda y: f.grad(function)(x, y.clone(), z=y),
        "jacrev": lambda y: f.jacrev(function)(x, y),
        "jacfwd": lambda y: f.jacfwd(function)(x, y),
        "hessian": lambda y: f.hessian(function)(x, y),
        "in vmap": lambda y: f.vmap(f.grad(function))(lib.stack([x, x]), lib.stack([y, y])),
        "the same for all": lambda y: f.vmap(f.grad(function), (0, None))(lib.stack([x, x]), y),
    }
    for name, run in runs.items():
        y = lib.zeros(3)
        run(y)
        written = [5.0, 0.0, 0.0] if name == "named" else [1.0] * 3 if "vmap" not in name else None
        assert written is None or y.tolist() == written, name


def test_captured_is_not_drawn(lib: ModuleType) -> None:
    for name in ("grad", "vjp", "jvp"):
        run = transforms(lib, function_of(lib, lambda lib, c, x: c.normal_()))[name]
        with raises(lib, RuntimeError, "that would mutate a captured Tensor"):
            run()


def test_running_statistics_are_captured(lib: ModuleType) -> None:
    layer = lib.nn.BatchNorm1d(3)
    with raises(lib, RuntimeError, "that would mutate a captured Tensor"):
        of(lib).grad(lambda x: layer(x).sum())(lib.ones(2, 3))


def test_a_transform_within_captures_what_the_one_around_made(lib: ModuleType) -> None:
    f, x = of(lib), lib.tensor([1.0, 2.0, 3.0])

    def outer(y: Any) -> Any:
        made = y * 1
        return f.grad(lambda z: (made.add_(1) * z).sum())(x).sum()

    with raises(lib, RuntimeError, "that would mutate a captured Tensor"):
        f.grad(outer)(x)

    def earlier(y: Any) -> Any:
        made = (y * 1).add_(1)
        return f.grad(lambda z: (made * z).sum())(x).sum()

    assert f.grad(earlier)(x).tolist() == [1.0, 1.0, 1.0]


def test_vmap_alone_writes_what_it_captures(lib: ModuleType) -> None:
    c = lib.tensor([1.0, 2.0])
    of(lib).vmap(lambda x: c.add_(1) * x)(lib.ones(3))
    assert c.tolist() == [2.0, 3.0]


def test_after_a_transform_all_is_writable(lib: ModuleType) -> None:
    c = lib.ones(3)
    with raises(lib, RuntimeError, "that would mutate a captured Tensor"):
        of(lib).grad(lambda x: (c.add_(1) * x).sum())(lib.ones(3))
    gradient = of(lib).grad(lambda x: (c * x).sum())(lib.ones(3))
    assert gradient.add_(1).tolist() == [2.0] * 3 and c.add_(1).tolist() == [2.0] * 3


def operands(lib: ModuleType) -> list[tuple]:
    """Arguments, some of which each method takes that writes in place."""
    m, n, b = lib.ones(2, 2), lib.ones(2, 2).long(), lib.eye(2).bool()
    i, j, k = lib.tensor([0, 1]), lib.tensor([[0, 1], [1, 0]]), lib.ones(2, 2, 2)
    return [
        (), (1,), (0.5,), (m,), (n,), (m.double(),), (0, 1), (m, m), (k, k), (m, lib.ones(2)),
        (b, 0.5), (b, m), (0, i, m), (0, j, m), (0, j, 0.5), (0, i, 0.5), (i, lib.ones(2)),
        ((i,), m), (m, 0.5), (0.1, 0.9), (2, 0, 1.0), (m, m, m), ((2, 2),), ((2, 2), (1, 2)),
        (0, j, m, "sum"), (0, i, m, "prod"),
    ]  # fmt: skip


# These have another message, are of sparse tensors, or torch does not survive them.
NOT_TRIED = (
    "apply_", "map_", "map2_", "requires_grad_", "resize_as_", "resize_as_sparse_", "set_",
    "share_memory_", "sparse_resize_", "sparse_resize_and_clear_",
)  # fmt: skip
IN_PLACE = sorted(n for n in dir(nnkit.Tensor) if n[-1] == "_" != n[0] and n not in NOT_TRIED)


def in_place(lib: ModuleType, name: str) -> tuple[Callable, tuple]:
    """What makes a tensor that a method takes, and its arguments."""
    for make in (
        lambda: lib.full((2, 2), 0.5), lambda: lib.ones(2, 2).long(), lambda: lib.ones(2),
        lambda: lib.ones(2, 2, 2), lambda: lib.ones(2).double(),
    ):  # fmt: skip
        for arguments in operands(lib):
            try:
                getattr(make(), name)(*arguments)
            except Exception:
                continue
            return make, arguments
    raise LookupError(f"{name} takes none of the operands")


@pytest.mark.parametrize("name", IN_PLACE)
def test_no_method_writes_what_is_captured(lib: ModuleType, name: str) -> None:
    make, arguments = in_place(lib, name)
    captured = make()

    def function(x: Any) -> Any:
        getattr(captured, name)(*arguments)
        return x.sum()

    with raises(lib, RuntimeError, "that would mutate a captured Tensor"):
        of(lib).grad(function)(lib.ones(2))
    assert captured.shape == make().shape and bool((captured == make()).all())


def test_what_torch_writes_without_a_look_is_written(lib: ModuleType) -> None:
    """Into ``out``, into lists of tensors, and through storages."""
    nn, x = lib.nn, lib.ones(2)
    layer = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2))
    layer.weight.sum().backward()
    [weight] = [p for p in layer.parameters() if p.ndim == 2]
    c = lib.ones(2)

    def function(x: Any) -> Any:
        nn.utils.clip_grad_norm_([weight], 0.5)
        nn.utils.clip_grad_value_([weight], 0.01)
        c.untyped_storage().fill_(0)
        x.data.add_(1)
        return layer(x).sum()

    before = layer.parametrizations.weight[0]._u.clone()
    of(lib).grad(function)(x)
    assert weight.grad.abs().max() <= 0.01 and c.tolist() == [0.0, 0.0] and x.tolist() == [2.0, 2.0]
    assert before.shape == layer.parametrizations.weight[0]._u.shape


DATA_SET: dict[str, Callable[[ModuleType, Any], Any]] = {
    "the argument": lambda lib, x: x,
    "a result": lambda lib, x: x * 2,
    "what was detached": lambda lib, x: x.detach(),
    "the argument's data": lambda lib, x: x.data,
    "what is made": lambda lib, x: lib.ones(3),
    "a parameter": lambda lib, x: lib.nn.Parameter(lib.ones(3)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", DATA_SET)
def test_data_is_not_set(lib: ModuleType, name: str, transform: str) -> None:
    def function(x: Any) -> Any:
        DATA_SET[name](lib, x).data = lib.zeros(3)
        return (x * x).sum()

    with raises(lib, RuntimeError, "mutating directly with `.data` inside functorch transform"):
        transforms(lib, function)[transform]()


def test_data_of_an_argument_of_a_transform_around_is_not_set(lib: ModuleType) -> None:
    def function(x: Any) -> Any:
        def inner(y: Any) -> Any:
            x.data = lib.zeros(3)
            return y.sum()

        return of(lib).grad(inner)(lib.ones(3)).sum() + x.sum()

    with raises(lib, RuntimeError, "mutating directly with `.data` inside functorch transform"):
        of(lib).grad(function)(lib.ones(3))


def test_data_of_examples_is_not_set(lib: ModuleType) -> None:
    def function(x: Any) -> Any:
        x.data = lib.zeros(3)
        return x.sum()

    f = of(lib)
    mapped = f.vmap(function)
    for run in (mapped, f.grad(lambda x: mapped(x).sum())):
        with raises(lib, RuntimeError, "mutating directly with `.data` under vmap transform"):
            run(lib.ones(2, 3))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_data_of_what_is_captured_is_set(lib: ModuleType, transform: str) -> None:
    def function(x: Any) -> Any:
        c.data = zeros
        return (x * x).sum()

    c, zeros = lib.ones(3), lib.zeros(3)
    transforms(lib, function)[transform]()
    assert c.tolist() == [0.0] * 3
