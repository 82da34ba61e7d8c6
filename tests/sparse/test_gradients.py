"""Derivatives through sparse tensors, and gradients that are sparse."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import nnkit
from nnkit.backend.cost import arrays_in
from nnkit.backend.door import Doorkeeper, standing
from tests.frameworks import raises
from tests.sparse.cases import coordinates, strided

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

FUNCTIONS = {
    "to_dense": lambda lib, x, d: x.to_dense() * 3,
    "mm": lambda lib, x, d: lib.sparse.mm(x, d),
    "matmul": lambda lib, x, d: (x @ d).sin(),
    "sum": lambda lib, x, d: lib.sparse.sum(x, 0).to_dense() * d[:, 0],
    "add": lambda lib, x, d: (x + x * 2).to_dense(),
    "mul": lambda lib, x, d: (x * x).to_dense(),
    "transpose": lambda lib, x, d: x.t().to_dense(),
    "addmm": lambda lib, x, d: lib.sparse.addmm(lib.ones(3, 2, dtype=lib.float64), x, d),
    "softmax": lambda lib, x, d: lib.sparse.softmax(x, 1).to_dense(),
    "coalesce": lambda lib, x, d: x.coalesce().values() ** 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(lib: ModuleType, name: str) -> None:
    """The gradient of the values, by the derivative of the strided computation."""
    if lib.__name__ == "torch" and name == "mul":
        pytest.skip("torch has no derivative of a product with itself")
    x = coordinates(lib, (3, 4), 6, 3, coalesced=True)
    rows, d = x.indices(), strided(lib, (4, 2), 4)
    values = x.values().clone().requires_grad_()
    d.requires_grad_()

    def of_values(v: Any, d: Any) -> Any:
        return FUNCTIONS[name](lib, lib.sparse_coo_tensor(rows, v, (3, 4), is_coalesced=True), d)

    assert lib.autograd.gradcheck(of_values, (values, d))
    leaf = x.clone().requires_grad_()
    FUNCTIONS[name](lib, leaf, d).sum().backward()
    of_values(values, d).sum().backward()
    assert leaf.is_leaf and tuple(leaf.grad.shape) == (3, 4)
    assert leaf.grad.is_sparse or lib is not nnkit  # of torch's matmul it is strided
    found = (leaf.grad.to_dense() if leaf.grad.is_sparse else leaf.grad)[tuple(rows)]
    assert found.tolist() == pytest.approx(values.grad.tolist())


class Sizes(Doorkeeper):
    """Keeps the number of elements of the largest result."""

    largest = 0

    def called(self, name: str, arguments: tuple, result: Any) -> None:
        self.largest = max([self.largest, *(out.size for out in arrays_in(result))])


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_a_product_and_its_gradient_hold_no_terms(layout: str) -> None:
    x = nnkit.rand(20, 20).to_sparse(layout=getattr(nnkit, layout))
    y = nnkit.rand(20, 50, requires_grad=True)
    with standing(Sizes, nnkit.device("cpu")) as sizes:
        (x @ y).backward(nnkit.ones(20, 50))
    assert nnkit.allclose(y.grad, x.to_dense().t() @ nnkit.ones(20, 50))
    assert sizes.largest == 20 * 50  # of 20 * 20 elements times a row of 50 each


def test_second_derivatives() -> None:
    x = coordinates(nnkit, (3, 4), 6, 3, coalesced=True)
    rows, d = x.indices(), strided(nnkit, (4, 2), 4).requires_grad_()

    def function(v: Any, d: Any) -> Any:
        s = nnkit.sparse_coo_tensor(rows, v, (3, 4), is_coalesced=True)
        return nnkit.sparse.mm(s, d).sin().sum() + nnkit.sparse.softmax(s, 1).to_dense().sum()

    assert nnkit.autograd.gradgradcheck(function, (x.values().clone().requires_grad_(), d))


@pytest.mark.parametrize(
    "at, values",
    [
        ([[0, 1], [0, 1]], [1.0, 2.0]),
        ([[0, 1, 1], [0, 1, 0]], [1.0, 2.0, 3.0]),
        ([[0, 1, 1, 0], [0, 1, 0, 0]], [1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_a_gradient_with_other_elements_than_the_output(
    lib: ModuleType, at: list[list[int]], values: list[float]
) -> None:
    x = lib.tensor([[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]).to_sparse().requires_grad_()
    y = lib.tensor([[1.0, 2.0], [0.0, 0.0], [0.0, 3.0]]).to_sparse().requires_grad_()
    out = lib.sparse.mm(x, y)  # without an element at (0, 0)
    out.backward(lib.sparse_coo_tensor(lib.tensor(at), lib.tensor(values), (2, 2)))
    corner = values[2] if len(values) > 2 else 0.0
    assert x.grad.to_dense().tolist() == [[0, 0, 0], [4 + corner, 0, 6]]
    assert y.grad.to_dense().tolist() == [[4 * corner, 8], [0, 0], [0, 10]]


def test_accumulation_in_a_sparse_leaf(lib: ModuleType) -> None:
    x = lib.eye(2).to_sparse().requires_grad_()
    d = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
    for times in (1, 2):
        lib.sparse.mm(x, d).sum().backward()
        assert x.grad.to_dense().tolist() == [[3.0 * times, 0.0], [0.0, 7.0 * times]]
    x.grad = None
    assert x.grad is None
    with pytest.raises(RuntimeError):
        x.mul_(2)


def test_gradients_of_several_uses_of_a_table(lib: ModuleType) -> None:
    table, rows = lib.nn.Embedding(10, 1, sparse=True), lib.tensor([7, 1, 3])
    (table(rows).sum() + table(lib.tensor([8, 1, 3])).sum()).backward()
    assert table.weight.grad._indices().tolist() == [[7, 1, 3, 8, 1, 3]]
    table.zero_grad()
    table(rows).sum().backward()
    rows[0] = 8  # which the gradient does not see
    table(rows).sum().backward()
    assert table.weight.grad._indices().tolist() == [[7, 1, 3, 8, 1, 3]]
    for size in ((0, 0), (10, 0)):
        table = lib.nn.Embedding(*size, sparse=True)
        table(rows[: size[0]]).sum().backward()
        assert tuple(table.weight.grad.shape) == size and table.weight.grad.is_sparse


def test_gradients_of_tables(lib: ModuleType) -> None:
    F = lib.nn.functional
    table = lib.nn.Embedding(5, 2, sparse=True, padding_idx=1)
    table(lib.tensor([[1, 2], [2, 0]])).sum().backward()
    grad = table.weight.grad
    assert grad.is_sparse and not grad.is_coalesced() and tuple(grad.shape) == (5, 2)
    assert grad._indices().tolist() == [[2, 2, 0]] and grad._values().tolist() == [[1, 1]] * 3
    table(lib.tensor([3, 4])).sum().backward()
    assert table.weight.grad._indices().tolist() == [[2, 2, 0, 3, 4]]
    table.zero_grad()
    (table(lib.tensor([3, 4])).sum() + table(lib.tensor([2, 4])).sum()).backward()
    assert table.weight.grad._indices().tolist() == [[2, 3, 4]]
    assert table.weight.grad._values().tolist() == [[1, 1], [1, 1], [2, 2]]
    (table.weight.sum() + table(lib.tensor([2, 4])).sum()).backward()
    assert not table.weight.grad.is_sparse
    assert table.weight.grad[:, 0].tolist() == [1, 1, 3, 2, 4]
    (found,) = lib.autograd.grad(table(lib.tensor([2, 4])).sum(), table.weight)
    assert found.is_sparse and found._indices().tolist() == [[2, 4]]
    seen: list = []
    table.zero_grad()
    table.weight.register_hook(seen.append)
    table(lib.tensor([3])).sum().backward()
    assert seen[0].is_sparse and table.weight.grad.is_sparse
    w: Any = lib.ones(3, 2, requires_grad=True)
    lib.gather(w, 0, lib.tensor([[0, 1], [2, 0]]), sparse_grad=True).sum().backward()
    assert w.grad._indices().tolist() == [[0, 1, 2, 0], [0, 1, 0, 1]]
    for mode, value in (("sum", 1.0), ("mean", 0.5)):
        w = w.detach().clone().requires_grad_()
        bags = F.embedding_bag(lib.tensor([[1, 2], [1, 1]]), w, mode=mode, sparse=True)
        bags.sum().backward()
        assert w.grad.is_sparse and w.grad.to_dense()[2].tolist() == [value] * 2
    with pytest.raises((ValueError, RuntimeError)):
        out = F.embedding_bag(lib.tensor([[1, 2]]), w, mode="max", sparse=True)
        out.sum().backward()
    with raises(lib, RuntimeError, "scale_grad_by_freq"):
        out = F.embedding(lib.tensor([1]), w, sparse=True, scale_grad_by_freq=True)
        out.sum().backward()
    # On the way to an operation it becomes strided, or stays sparse: the numbers are the same.
    w = w.detach().clone().requires_grad_()
    F.embedding(lib.tensor([1, 1]), w * 2, sparse=True).sum().backward()
    grad = w.grad.to_dense() if w.grad.is_sparse else w.grad
    assert grad.tolist() == [[0, 0], [4, 4], [0, 0]]
    with lib.no_grad():
        assert F.embedding(lib.tensor([1]), w, sparse=True).tolist() == [[1, 1]]


def train(
    lib: ModuleType, name: str, lr: Callable = lambda lib: 0.1, **options: Any
) -> tuple[list, dict]:
    w = lib.nn.Parameter(lib.arange(10.0).reshape(5, 2) / 10)
    optimizer = getattr(lib.optim, name)([w], lr=lr(lib), **options)
    for index in ([1, 2, 2], [0, 2], [4, 4, 1]):
        optimizer.zero_grad()
        rows = lib.nn.functional.embedding(lib.tensor(index), w, sparse=True)
        (rows**2).sum().backward()
        optimizer.step()
    return w.tolist(), optimizer.state[w]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {}),
        ("SGD", {"lr": lambda lib: lib.tensor(0.1)}),
        ("SGD", {"momentum": 0.9}),
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("SGD", {"momentum": 0.9, "dampening": 0.5, "maximize": True}),
        ("Adagrad", {}),
        ("Adagrad", {"lr": lambda lib: lib.tensor(0.1)}),
        ("Adagrad", {"lr_decay": 0.1, "maximize": True}),
        ("SparseAdam", {}),
        ("SparseAdam", {"lr": lambda lib: lib.tensor(0.1)}),
        ("SparseAdam", {"betas": (0.5, 0.6), "maximize": True}),
    ],
)
def test_optimizers(torch: ModuleType, name: str, options: dict) -> None:
    ours, theirs = train(nnkit, name, **options), train(torch, name, **options)
    for row, expected in zip(ours[0], theirs[0], strict=True):
        assert row == pytest.approx(expected, rel=1e-6)
    assert ours[1].keys() == theirs[1].keys()


def test_sparse_adam_moves_what_was_read(lib: ModuleType) -> None:
    moved, state = train(lib, "SparseAdam")
    assert moved[3] == pytest.approx([0.6, 0.7]) and state["step"] == 3
    assert moved[4] == pytest.approx([0.736119, 0.836119], abs=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        *("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adadelta", "ASGD", "Rprop"),
        "Adafactor",
    ],
)
def test_optimizers_that_refuse(lib: ModuleType, name: str) -> None:
    with raises(lib, RuntimeError, "does not support sparse gradients"):
        train(lib, name)


def test_refusals_come_before_any_update(lib: ModuleType) -> None:
    for name in ("SGD", "Adagrad"):
        with pytest.raises(RuntimeError):
            train(lib, name, weight_decay=0.1)
    a, b = lib.nn.Parameter(lib.ones(2)), lib.nn.Parameter(lib.ones(2, 1))
    optimizer = lib.optim.RMSprop([a, b])
    rows = lib.nn.functional.embedding(lib.tensor([1]), b, sparse=True)
    (a.sum() + rows.sum()).backward()
    with pytest.raises(RuntimeError):
        optimizer.step()
    assert a.tolist() == [1, 1]
    dense = lib.optim.SparseAdam([a])
    with raises(lib, RuntimeError, "does not support dense gradients"):
        dense.step()
    with raises(lib, ValueError, "requires dense parameter tensors"):
        lib.optim.SparseAdam([lib.eye(2).to_sparse().requires_grad_()])
    with raises(lib, ValueError, r"\[\[0, 1\]\].*does not support complex parameters"):
        lib.optim.SparseAdam([a, lib.ones(2, dtype=lib.complex64).requires_grad_()])


def test_zeroed_and_clipped(lib: ModuleType) -> None:
    w: Any = lib.nn.Parameter(lib.ones(3, 2))
    optimizer = lib.optim.SGD([w])
    lib.nn.functional.embedding(lib.tensor([1, 1]), w, sparse=True).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.is_sparse and w.grad._nnz() == 0
    if lib is nnkit:  # torch has no norm of it
        nnkit.nn.functional.embedding(nnkit.tensor([1, 1]), w, sparse=True).sum().backward()
        assert nnkit.nn.utils.clip_grad_norm_(w, 1.0).item() == pytest.approx(8**0.5)
        assert w.grad.to_dense().norm().item() == pytest.approx(1)


def test_compiled_steps_run_eagerly() -> None:
    w = nnkit.nn.Parameter(nnkit.ones(3, 2))
    optimizer = nnkit.optim.SparseAdam([w], lr=0.1)

    @nnkit.compile
    def step(index: Any) -> Any:
        optimizer.zero_grad()
        loss = nnkit.nn.functional.embedding(index, w, sparse=True).sum()
        loss.backward()
        optimizer.step()
        return loss

    with pytest.warns(UserWarning, match="a sparse gradient"):
        for index in ([0], [1, 1], [2], [0]):
            step(nnkit.tensor(index))
    assert w[:, 0].tolist() == pytest.approx([0.8, 0.9, 0.9], abs=0.05)


def test_files(torch: ModuleType) -> None:
    for one, other in ((nnkit, torch), (torch, nnkit)):
        x = coordinates(one, (3, 4), 6, 1, coalesced=True)
        value = {"coo": x, "csr": x.to_sparse_csr(), "layout": one.sparse_coo}
        stream = io.BytesIO()
        one.save(value, stream)
        stream.seek(0)
        found = other.load(stream)
        assert found["layout"] is other.sparse_coo
        for name in ("coo", "csr"):
            assert str(found[name].layout).endswith(f"sparse_{name}")
            assert found[name].to_dense().tolist() == x.to_dense().tolist()


def test_indices_of_files_are_checked() -> None:
    x = nnkit.sparse_coo_tensor([[7]], [1.0], (2,))
    stream = io.BytesIO()
    nnkit.save(x, stream)
    stream.seek(0)
    with pytest.raises(Exception, match="index 7"):
        nnkit.load(stream)


def test_modules_hold_sparse_tensors(lib: ModuleType) -> None:
    module = lib.nn.Module()
    module.register_buffer("adjacency", lib.eye(2).to_sparse())
    module.weight = lib.nn.Parameter(lib.eye(2).to_sparse())
    assert module.weight.is_sparse and [name for name, _ in module.named_parameters()] == ["weight"]
    state = module.double().state_dict()
    assert state["adjacency"].is_sparse and state["adjacency"].dtype is lib.float64
    module.load_state_dict({name: value * 3 for name, value in state.items()})
    assert module.adjacency.to_dense().tolist() == [[3, 0], [0, 3]]
    assert module.weight.to_dense().tolist() == [[3, 0], [0, 3]]


@pytest.mark.filterwarnings("ignore:Using backward")
def test_sparse_gradients_given_to_backward(lib: ModuleType) -> None:
    def sparse() -> Any:
        return lib.sparse_coo_tensor([[1, 1]], [1.0, 1.0], (2,))

    for known, grad, kept, expected in (
        (None, sparse(), False, [0, 2]), (lib.ones(2), sparse(), True, [1, 3]),
        (sparse(), lib.ones(2), False, [1, 3]), (sparse(), sparse(), True, [0, 4]),
    ):  # fmt: skip
        for create_graph in (False, True):
            leaf = lib.ones(2, requires_grad=True)
            leaf.grad = before = None if known is None else known.clone()
            (leaf * 1 if grad.layout is lib.strided else leaf).backward(
                grad, create_graph=create_graph
            )
            assert (leaf.grad is before) == (kept and not create_graph)
            assert leaf.grad is not None and leaf.grad.to_dense().tolist() == expected


def test_sparse_gradients_of_scalars_gathered(lib: ModuleType) -> None:
    for shape, index in (((), [0, 0]), ((), 0), ((3,), 2)):
        x = lib.ones(shape, requires_grad=True)
        x.gather(0, lib.tensor(index), sparse_grad=True).sum().backward()
        assert x.grad.shape == shape and x.grad.is_sparse
        assert x.grad.to_dense().tolist() == {(): 2 if index else 1, (3,): [0, 0, 1]}[shape]


def test_gradients_of_sparse_leaves_are_sparse(lib: ModuleType) -> None:
    leaf = (lib.eye(2) * 3).to_sparse().requires_grad_()
    for of in (leaf, [leaf]):
        for create_graph in (False, True):
            total = (lib.sparse.mm(leaf, lib.ones(2, 2)) ** 2).sum()
            (grad,) = lib.autograd.grad(total, of, create_graph=create_graph)
            assert grad.layout is lib.sparse_coo and grad.requires_grad == create_graph
            assert grad.to_dense().tolist() == [[12, 0], [0, 12]]


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_has_its_tensors_layout(
    lib: ModuleType, layout: str, create_graph: bool
) -> None:
    kind = getattr(lib, layout)
    x = lib.tensor([[1.0, 0.0], [2.0, 3.0]]).to_sparse(layout=kind).requires_grad_()
    (grad,) = lib.autograd.grad((x.to_dense() ** 2).sum(), x, create_graph=create_graph)
    assert grad.layout is kind and grad.shape == (2, 2)
    assert grad.to_dense().tolist() == [[2.0, 0.0], [4.0, 6.0]]


def test_a_sparse_gradient_is_assigned(lib: ModuleType) -> None:
    for shape, dims in (((5, 1), 1), ((5, 2), 2)):
        weight = lib.ones(shape, requires_grad=True)
        weight.grad = lib.zeros(shape).index_fill(0, lib.tensor([3]), 2.0).to_sparse(dims)
        lib.optim.SGD([weight], lr=0.5).step()
        assert weight.tolist() == [[float(i != 3)] * shape[1] for i in range(5)]
        with pytest.raises(RuntimeError):
            weight.grad = lib.ones(5, 3).to_sparse()


def test_data_keeps_its_layout(lib: ModuleType) -> None:
    for x, new in (
        (lib.ones(2, 2), lib.eye(2).to_sparse()), (lib.eye(2).to_sparse(), lib.ones(2, 2)),
        (lib.ones(2), lib.ones(2, device="meta")), (lib.ones(2, device="meta"), lib.ones(2)),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            x.data = new


def test_modules_whose_memory_gets_another_layout(lib: ModuleType) -> None:
    module = lib.nn.Linear(2, 2)
    weight, grad = module.weight, lib.ones(2, 2)
    weight.grad = grad
    module.bias.requires_grad_(False)
    module._apply(lambda t: t.to_sparse() if t.ndim == 2 else t)
    assert module.weight.is_sparse and module.weight.grad.is_sparse
    assert weight.layout is lib.strided and grad.layout is lib.strided
    for made, kept in ((module.weight, weight), (lib.nn.Linear(2, 2).to("meta").weight, weight)):
        assert isinstance(made, lib.nn.Parameter) and made is not kept and made.requires_grad
    bias = module.bias
    assert module.to("meta").bias is not bias and not bias.is_meta
    assert not module.bias.requires_grad and module.bias.is_meta


def test_sparse_gradients_assigned(lib: ModuleType) -> None:
    """One in coordinates goes with any layout, and its shape is that of the whole tensor."""
    dense = lib.eye(3, 2)
    for leaf in (dense.clone(), dense.to_sparse(), dense.to_sparse_csr()):
        leaf.requires_grad_().grad = dense.to_sparse()
        assert leaf.grad.layout is lib.sparse_coo
    leaf = dense.clone().requires_grad_()
    with raises(lib, RuntimeError, r"of a different size: got \[2, 3\]"):
        leaf.grad = dense.t().to_sparse()
    for x, grad in (
        (dense, dense.to_sparse_csr()), (dense.to_sparse(), dense), (dense.to_sparse_csr(), dense)
    ):  # fmt: skip
        with raises(lib, RuntimeError, "of a different layout"):
            x.clone().requires_grad_().grad = grad


def test_transforms_of_sparse_inputs(lib: ModuleType) -> None:
    """What a transform differentiates by keeps its layout in the function, and in the result."""
    func = import_module(f"{lib.__name__}.func")
    x = lib.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    layouts = []

    def square(y: Any) -> Any:
        layouts.append(y.layout)
        return y.to_dense().pow(2).sum()

    assert func.grad(square)(x).to_dense().tolist() == [[0, 4], [6, 0]]
    twice = func.grad(lambda y: func.grad(square)(y).to_dense().sum())(x)
    assert twice.to_dense().tolist() == [[0, 2], [2, 0]]
    assert set(layouts) == {lib.sparse_coo}
    value, pull = func.vjp(lambda y: y * 2, x)
    assert value.to_dense().tolist() == [[0, 4], [6, 0]]
    still = func.grad(lambda y: lib.ones(()) * 1)(x)
    assert still.shape == (2, 2) and not still.to_dense().any()
