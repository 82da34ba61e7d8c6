"""What torch's autograd sees of inference tensors outside of their mode."""

from __future__ import annotations

import copy

import pytest

from tests.autograd.test_inference_mode import inside
from tests.frameworks import raises

# What becomes of an inference tensor a that requires grad, outside of the mode, alone or beside a
# normal tensor that does not: what torch's autograd sees of the operation.
RECORDED, UNSEEN = True, False  # whether the result requires grad
INTO_OUT = "functions with out="
SAVED = "cannot be saved for backward"
INDEX = [[0, 1], [1, 0]]


def expanded(lib):
    return inside(lib, lambda: lib.ones(1).expand(2, 2).requires_grad_())


def half(lib):
    return inside(lib, lambda: lib.ones(2, 2, dtype=lib.half, requires_grad=True))


def images(lib):
    return inside(lib, lambda: lib.ones(1, 1, 2, 2, requires_grad=True))


def shuffled(lib):
    return inside(lib, lambda: lib.ones(1, 2, 2, 2).mT.requires_grad_())


def complex_of(lib, a):
    return inside(lib, lambda: lib.complex(a, a).requires_grad_())


def logits(lib):
    return lib.nn.functional.binary_cross_entropy_with_logits


def attention(lib):
    return lib.nn.functional.scaled_dot_product_attention


SEEN = {
    "mul": (lambda lib, a: a * a, UNSEEN),
    "mul by a number, which is a tensor": (lambda lib, a: a * 2, RECORDED),
    "number divided by it": (lambda lib, a: 2 / a, UNSEEN),
    "number to its power": (lambda lib, a: 2**a, INTO_OUT + "|" + SAVED),
    "square": (lambda lib, a: a**2, UNSEEN),
    "sin": (lambda lib, a: a.sin(), UNSEEN),
    "sum": (lambda lib, a: a.sum(), UNSEEN),
    "matmul": (lambda lib, a: a @ a, UNSEEN),
    "softmax": (lambda lib, a: a.softmax(0), UNSEEN),
    "view": (lambda lib, a: a.view(-1), UNSEEN),
    "clamp by a number": (lambda lib, a: a.clamp(min=0), UNSEEN),
    "clamp by a tensor": (lambda lib, a: a.clamp(min=lib.zeros(2, 2)), SAVED),
    "add": (lambda lib, a: a + lib.ones(2, 2), RECORDED),
    "mul by a tensor": (lambda lib, a: a * lib.ones(2, 2), RECORDED),
    "normalize": (lambda lib, a: lib.nn.functional.normalize(a), RECORDED),
    "weight of linear": (lambda lib, a: lib.nn.functional.linear(lib.ones(2, 2), a), UNSEEN),
    "cross_entropy": (
        lambda lib, a: lib.nn.functional.cross_entropy(a, lib.tensor([0, 1])), UNSEEN
    ),
    "index": (lambda lib, a: a[lib.tensor([0])], RECORDED),
    "index after a slice": (lambda lib, a: a[1:, lib.tensor([0])], UNSEEN),
    "clone": (lambda lib, a: a.clone(), RECORDED),
    "cast": (lambda lib, a: a.double(), RECORDED),
    "reshape of a copy": (lambda lib, a: a.expand(2, 2, 2).reshape(8), UNSEEN),
    "copy of a transposed leaf": (lambda lib, a: lib.nn.functional.pad(a, (1, 1)), RECORDED),
    "sort": (lambda lib, a: a.sort().values, RECORDED),
    "flip of nothing": (lambda lib, a: a.flip(()), RECORDED),
    "flip": (lambda lib, a: a.flip(0), UNSEEN),
    "quantile": (lambda lib, a: a.quantile(0.5, dim=1), RECORDED),
    "cosine_similarity": (lambda lib, a: lib.nn.functional.cosine_similarity(a, a), RECORDED),
    "diag_embed": (lambda lib, a: a.diag_embed(), RECORDED),
    "addmm": (lambda lib, a: lib.addmm(a, a, a), RECORDED),
    "slice_scatter": (lambda lib, a: a.slice_scatter(a, 0), RECORDED),
    "slice_scatter of a view": (lambda lib, a: a.slice_scatter(a[:1], 0, 0, 1), UNSEEN),
    "mean": (lambda lib, a: a.mean(), INTO_OUT),
    "std_mean": (lambda lib, a: lib.std_mean(a, 0)[1], UNSEEN),
    "abs": (lambda lib, a: a.abs(), INTO_OUT),
    "median": (lambda lib, a: a.median(), UNSEEN),
    "median along a dimension": (lambda lib, a: a.median(0), INTO_OUT),
    "kthvalue": (lambda lib, a: a.kthvalue(1, 0), INTO_OUT),
    "mode": (lambda lib, a: a.mode(0).values, UNSEEN),
    "cummax": (lambda lib, a: a.cummax(0), INTO_OUT),
    "logsumexp": (lambda lib, a: a.logsumexp(0), INTO_OUT),
    "var": (lambda lib, a: a.var(), INTO_OUT),
    "var along a dimension": (lambda lib, a: a.var(0), UNSEEN),
    "norm": (lambda lib, a: a.norm(dim=0, keepdim=True), UNSEEN),
    "complex": (lambda lib, a: lib.complex(a, a), INTO_OUT),
    "hardtanh": (lambda lib, a: lib.nn.functional.hardtanh(a), INTO_OUT),
    "inv": (lambda lib, a: lib.linalg.inv(a), INTO_OUT),
    "out": (lambda lib, a: lib.mul(a, a, out=lib.empty(2, 2)), INTO_OUT),
    "argmax with out": (lambda lib, a: lib.argmax(a, 0, out=lib.empty(2).long()), UNSEEN),
    "l1_loss": (lambda lib, a: lib.nn.functional.l1_loss(a, lib.ones(2, 2)), RECORDED),
    "gather": (lambda lib, a: a.gather(0, lib.tensor(INDEX)), SAVED),
    "masked_select": (lambda lib, a: a.masked_select(lib.tensor([True, False])), SAVED),
    "masked_fill": (lambda lib, a: a.masked_fill(lib.tensor([True, False]), 0), RECORDED),
    "dist": (lambda lib, a: lib.dist(a, lib.ones(2, 2)), SAVED),
    "floor_divide": (lambda lib, a: a // 2, RECORDED),
    "add with a factor": (lambda lib, a: lib.add(a, a, alpha=2), UNSEEN),
    "add of a number with a factor": (lambda lib, a: lib.add(a, 1, alpha=2), RECORDED),
    "nansum": (lambda lib, a: a.nansum(), UNSEEN),
    "nanmean": (lambda lib, a: a.nanmean(0), UNSEEN),
    "take": (lambda lib, a: a.take(lib.tensor([0])), SAVED),
    "take at inference positions": (
        lambda lib, a: a.take(inside(lib, lambda: lib.tensor([0]))), UNSEEN
    ),
    "put": (lambda lib, a: a.put(lib.tensor([0]), lib.ones(1)), RECORDED),
    "renorm": (lambda lib, a: a.renorm(2, 0, 1.0), INTO_OUT),
    "polar": (lambda lib, a: lib.polar(a, a), INTO_OUT),
    "angle of complex numbers": (lambda lib, a: complex_of(lib, a).angle(), INTO_OUT),
    "logcumsumexp of complex numbers": (
        lambda lib, a: complex_of(lib, a).logcumsumexp(0), UNSEEN
    ),
    "cdist": (lambda lib, a: lib.cdist(a, a), UNSEEN),
    "cdist to a tensor": (lambda lib, a: lib.cdist(a, lib.ones(2, 2)), SAVED),
    "pdist": (lambda lib, a: lib.pdist(a), UNSEEN),
    "isclose": (lambda lib, a: lib.isclose(a, a), UNSEEN),
    "einsum, of views": (lambda lib, a: lib.einsum("ij,jk", a, lib.ones(2, 2)), UNSEEN),
    "inner, of views": (lambda lib, a: lib.inner(a, lib.ones(2)), UNSEEN),
    "vector times matrix, a view of it": (lambda lib, a: a[0] @ lib.ones(2, 2), UNSEEN),
    "matrix times vector": (lambda lib, a: a @ a[0], SAVED),
    "addmm without what is added": (lambda lib, a: lib.addmm(a, a, a, beta=0), UNSEEN),
    "addmv": (lambda lib, a: lib.addmv(a[0], a, a[0]), UNSEEN),
    "roll of all": (lambda lib, a: a.roll(1), UNSEEN),
    "roll of nothing": (lambda lib, a: a.roll(1, 0), UNSEEN),
    "contiguous": (lambda lib, a: expanded(lib).contiguous(), RECORDED),
    "flip of one element": (lambda lib, a: expanded(lib).flip(0), RECORDED),
    "diagonal_scatter": (lambda lib, a: a.diagonal_scatter(a.diagonal()), UNSEEN),
    "diagonal_scatter of shared": (
        lambda lib, a: expanded(lib).diagonal_scatter(a.diagonal()), RECORDED
    ),
    "masked_fill of a view": (
        lambda lib, a: a.masked_fill(inside(lib, lambda: a[0] > 0), 0), UNSEEN
    ),
    "fill": (lambda lib, a: lib.fill(a, 1), UNSEEN),
    "1 to its power": (lambda lib, a: 1**a, UNSEEN),
    "dim out of range": (lambda lib, a: a.cummax(5), INTO_OUT),
    "loss of logits": (lambda lib, a: logits(lib)(a, a), SAVED),
    "loss of logits alone": (lambda lib, a: logits(lib)(a, a.detach()), RECORDED),
    "attention of a query": (lambda lib, a: attention(lib)(a, *[lib.ones(2, 2)] * 2), RECORDED),
    "attention, fused": (lambda lib, a: attention(lib)(*[images(lib)] * 3), UNSEEN),
    "rot90": (lambda lib, a: a.rot90(), UNSEEN),
    "rot90 of one row": (lambda lib, a: images(lib).rot90(), RECORDED),
    "channels last": (
        lambda lib, a: images(lib).to(memory_format=lib.channels_last), RECORDED
    ),
    "attention to a key": (
        lambda lib, a: attention(lib)(lib.ones(2, 2), a, lib.ones(2, 2)), UNSEEN
    ),
    "kl_div": (
        lambda lib, a: lib.nn.functional.kl_div(lib.ones(2, 2), a, reduction="sum"), RECORDED
    ),
    "loss of another dtype": (
        lambda lib, a: lib.nn.functional.mse_loss(half(lib), lib.ones(2, 2)), SAVED
    ),
    "asarray": (lambda lib, a: lib.asarray(a), "outside"),
    "take of shared elements": (lambda lib, a: expanded(lib).take(lib.tensor([0])), SAVED),
    "masked_select of repeated elements": (
        lambda lib, a: a[0][:1].requires_grad_(False).masked_select(lib.tensor([True, False])),
        UNSEEN,
    ),
    "masked_select of a repeated leaf": (
        lambda lib, a: images(lib).masked_select(lib.tensor([[True], [False]])), SAVED
    ),
    "masked_scatter onto a repeated leaf": (
        lambda lib, a: expanded(lib).masked_scatter(
            lib.tensor([[[True, False]]]), lib.ones(2, 2)
        ),
        RECORDED,
    ),
    "cosine_similarity of another shape": (
        lambda lib, a: lib.nn.functional.cosine_similarity(a, a.detach()[0]), UNSEEN
    ),
    "kl_div of another shape": (
        lambda lib, a: lib.nn.functional.kl_div(lib.ones(2, 2, 2), a, reduction="batchmean"),
        RECORDED,
    ),
    "addmm onto a smaller one": (lambda lib, a: lib.addmm(expanded(lib)[0], a, a), UNSEEN),
    "product of batches, folded": (lambda lib, a: images(lib) @ lib.ones(2, 2), UNSEEN),
    "product of batches, copied": (
        lambda lib, a: inside(
            lib, lambda: lib.ones(2, 3, 2, 2).transpose(0, 1).requires_grad_()
        ) @ lib.ones(3, 2, 2, 2),
        UNSEEN,
    ),
    "product of batches with one matrix": (lambda lib, a: lib.ones(3, 2, 2) @ a, RECORDED),
    "product of one matrix with batches": (lambda lib, a: a @ lib.ones(3, 2, 2), UNSEEN),
    "product of batches with a vector": (lambda lib, a: shuffled(lib) @ lib.ones(2), UNSEEN),
    "attention in half precision": (
        lambda lib, a: attention(lib)(*[half(lib)] * 3), RECORDED
    ),
    "attention to columns": (lambda lib, a: attention(lib)(*[shuffled(lib)] * 3), SAVED),
    "beside a view without history": (
        lambda lib, a: a.detach() * lib.no_grad()(lib.ones(2, requires_grad=True).view)(2),
        RECORDED,
    ),
}  # fmt: skip


def trained(lib):
    return inside(lib, lambda: lib.tensor([[2.0, -1.0], [0.5, 1.0]], requires_grad=True))


@pytest.mark.parametrize("name", SEEN)
def test_seen_by_autograd(lib, name: str) -> None:
    compute, expected = SEEN[name]
    a = trained(lib)
    if isinstance(expected, str):
        with raises(lib, RuntimeError, expected):
            compute(lib, a)
        return
    result = compute(lib, a)
    assert result.requires_grad is expected
    if not expected:
        with raises(lib, RuntimeError, "does not require grad"):
            result.sum().backward()
        with lib.inference_mode():
            assert not compute(lib, a).requires_grad


WRITING = {
    "select_scatter": lambda lib, a: a.select_scatter(a[0], 0, 1),
    "slice_scatter of shared": lambda lib, a: expanded(lib).slice_scatter(a[:1], 0, 0, 1),
    "pad": lambda lib, a: lib.nn.functional.pad(a, (1, 1)),
    "diag_embed": lambda lib, a: a.diag_embed(),
}


@pytest.mark.parametrize("name", WRITING)
def test_what_is_written_into_a_view_has_one_backward(lib, name: str) -> None:
    a = trained(lib)
    total = WRITING[name](lib, lib.mul(a, 1) if name == "select_scatter" else a).sum()
    total.backward()
    if name != "select_scatter":  # of a normal tensor, which saves nothing
        with raises(lib, RuntimeError, "second time"):
            total.backward()


def test_a_gradient_that_goes_no_further_saves_nothing(lib) -> None:
    x, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
    with lib.no_grad():
        view = x.view(2)
    a = inside(lib, lambda: lib.ones(2))
    total = (view * lib.ones(2)).sum()
    total.backward()
    total.backward()
    assert (view * a).requires_grad and x.grad is None
    with raises(lib, RuntimeError, SAVED):
        _ = a * (view * y)


def test_a_cell_whose_weights_are_inference_tensors(lib) -> None:
    cell = inside(lib, lambda: lib.nn.GRUCell(2, 2))
    cell(lib.ones(1, 2)).sum().backward()
    assert cell.weight_ih.grad is None and cell.bias_hh.grad.shape == (6,)


def test_transforms_refuse_what_is_recorded_around_them(lib) -> None:
    a, x = inside(lib, lambda: lib.ones(2)), lib.ones(2, requires_grad=True)
    product = lambda t, u: (t * u).sum()
    assert lib.func.grad(product)(a, lib.ones(2)).tolist() == [1, 1]
    with raises(lib, RuntimeError, SAVED):
        lib.func.grad(product)(a, x)
    with raises(lib, RuntimeError, "Inplace update to inference tensor"):
        lib.func.grad(lib.no_grad()(lambda t: t.mul_(2).sum()))(a)
    found = lib.func.vjp(lambda t: t.detach(), a)[0]
    assert state(found) == (True, 0)


def test_its_gradient_arrives(lib) -> None:
    a = trained(lib)
    (a + lib.ones(2, 2)).sum().backward()
    assert a.grad.tolist() == [[1, 1], [1, 1]] and not a.grad.is_inference()
    a.backward(lib.ones(2, 2))
    assert a.grad.tolist() == [[2, 2], [2, 2]]


# What torch refuses once it has done it, in what a holds then.
WRITTEN = {
    "zero_": (lambda lib, a: a.zero_(), [[0, 0], [0, 0]]),
    "sin_": (lambda lib, a: a.clamp_(0, 1), [[1, 0], [0.5, 1]]),
    "setitem": (lambda lib, a: a.__setitem__(0, 3.0), [[3, 3], [0.5, 1]]),
    "unsqueeze_": (lambda lib, a: a.unsqueeze_(0), [[[2, -1], [0.5, 1]]]),
    "resize_": (lambda lib, a: a.resize_(1, 2), [[2, -1]]),
    "of a normal leaf": (
        lambda lib, a: a.requires_grad_(False).mul_(lib.ones(2, 1, requires_grad=True) * 2),
        [[4, -2], [1, 2]],
    ),
    "add_ of a number, which is a tensor": (lambda lib, a: a.add_(1), [[2, -1], [0.5, 1]]),
    "index_put_ at normal positions": (
        lambda lib, a: a.index_put_((lib.tensor([0]),), a.detach()[:1] * 0),
        [[2, -1], [0.5, 1]],
    ),
    "true_divide_ by a number": (lambda lib, a: a.true_divide_(2), [[2, -1], [0.5, 1]]),
    "dropout_": (lambda lib, a: lib.dropout_(a, 0.5, True), [[2, -1], [0.5, 1]]),
    "fill_diagonal_": (lambda lib, a: a.fill_diagonal_(5), [[5, -1], [0.5, 5]]),
    "set_": (lambda lib, a: a.requires_grad_(False).set_(lib.ones(1)), [1]),
    "add_ of a tensor": (lambda lib, a: a.add_(lib.ones(2)), [[2, -1], [0.5, 1]]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_refused_once_written(lib, name: str) -> None:
    write, expected = WRITTEN[name]
    a = trained(lib)
    with raises(lib, RuntimeError, "Inplace update to inference tensor|leaf Variable"):
        write(lib, a)
    assert a.detach().tolist() == expected and a.is_leaf


def state(x) -> tuple:
    """Whether it is an inference tensor, and the count of its writes where there is one."""
    try:
        return x.is_inference(), x._version
    except RuntimeError:
        return x.is_inference(), None


def test_memory_of_other_tensors(lib) -> None:
    a = inside(lib, lambda: lib.ones(2))
    for shared in (a.data, a.detach(), a.data.detach()):
        assert state(shared) == (True, 0)
        shared.add_(1)
        assert state(shared) == (True, 1) and state(shared.view(2)) == (True, None)
        with raises(lib, RuntimeError, SAVED):
            _ = lib.ones(2, requires_grad=True) * shared
        with raises(lib, RuntimeError, "outside InferenceMode"):
            shared.requires_grad_()
        inside(lib, lambda shared=shared: shared.add_(1))
        assert state(shared) == (True, 1)
    assert inside(lib, lambda: state(a.detach())) == (True, None)
    x = lib.ones(2, requires_grad=True)
    view = x.detach().view(2)
    x.data = a
    assert state(x) == (True, 0) and x.requires_grad and state(view) == (False, 0)
    with lib.no_grad():
        x.add_(1)
    assert state(x) == (True, 1)
    x.data = lib.ones(2)
    assert state(x) == (False, 1)
    a.data = lib.ones(2)
    assert state(a) == (False, None) and state(a * 1) == (False, 0)
    for use in (lambda: a.view(2), lambda: a * x, lambda: a.add_(1)):
        with raises(lib, RuntimeError, "version counter|outside InferenceMode"):
            use()


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_views_require_grad_as_their_base_does(lib, mode: str) -> None:
    x = lib.ones(2, 2, requires_grad=True)
    with getattr(lib, mode)():
        views = [x.view(4), x[:1], x.chunk(2)[0], x.view(4)[0]]
    for wanted in (True, False, True, False):
        x.requires_grad_(wanted)
        assert [v.requires_grad for v in views] == [wanted] * 4
        assert all(v.is_leaf for v in views)
    for view in views:
        view.add_(1)
    assert x.tolist() == [[5, 4], [2, 2]]


def test_nodes_of_leaves_are_not_known(lib) -> None:
    graph = lib.autograd.graph
    a, x = trained(lib), lib.ones(2, requires_grad=True)
    view = inside(lib, lambda: x[:1])

    def hook_all(*tensors):
        return graph.register_multi_grad_hook(tensors, print)

    for find in (hook_all, graph.get_gradient_edge):
        with raises(lib, AttributeError, "node of a leaf"):
            find(a)
        with raises(lib, AttributeError, "node of a leaf"):
            inside(lib, lambda find=find: find(x))
        with raises(lib, AssertionError, "history of a view"):
            find(view)
    with raises(lib, AssertionError, "register_multi_grad_hook"):
        hook_all(x, lib.ones(2))
    graph.register_multi_grad_hook((a, lib.ones(2)), print, mode="any")


def test_functional(lib) -> None:
    functional, a = lib.autograd.functional, trained(lib)
    with raises(lib, RuntimeError, "outside InferenceMode"):
        functional.jacobian(lambda t: t.square(), a)
    assert not functional.jacobian(lambda t: t.square(), a, create_graph=True).any()


def test_what_stays_as_it_is(lib) -> None:
    a = trained(lib)
    assert a.detach_() is a and a.requires_grad
    for array in (lambda: lib.ones(2, requires_grad=True).numpy(), lambda: a.numpy()):
        with lib.inference_mode(), lib.enable_grad():
            with raises(lib, RuntimeError, "call numpy"):
                array()
        inside(lib, array)
    shared = a.detach()
    shared[:] = 1.0
    with raises(lib, RuntimeError, "outside InferenceMode"):
        shared[0] = 2.0
    x = lib.nn.Parameter(lib.ones(2))
    assert not inside(lib, lambda: copy.copy(x)).is_inference()
    with raises(lib, RuntimeError, "outside InferenceMode"):
        copy.copy(inside(lib, lambda: lib.nn.Parameter(lib.ones(2))))


def test_state_of_an_optimizer(lib) -> None:
    x = lib.ones(2, requires_grad=True)
    optimizer = inside(lib, lambda: lib.optim.Adagrad([x]))
    x.sum().backward()
    with raises(lib, RuntimeError, "outside InferenceMode"):
        optimizer.step()
    inside(lib, optimizer.step)


def test_types_are_asked_before_what_may_be_saved(lib) -> None:
    class Scaled(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x, factor)
            return x * factor

    with raises(lib, TypeError, "can only save variables"):
        Scaled.apply(trained(lib), 0.5)


def test_results_of_transforms(lib) -> None:
    """Those that lie in the memory of inference tensors."""
    f, a = lib.func, inside(lib, lambda: lib.ones(2))
    assert f.vjp(lambda t: t.detach(), a)[0].is_inference()
    with lib.inference_mode():
        for function, inferred in ((lambda t: t, True), (lambda t: t.sum(), True),
                                   (lambda t: t * 2, False)):  # fmt: skip
            value, pull = f.vjp(function, a)
            assert pull(lib.ones_like(value))[0].is_inference() is inferred
            assert f.jacrev(function)(a).is_inference() is inferred
