"""Inference mode: which tensors are inference tensors, and what may be done with them outside."""

from __future__ import annotations

import copy

import pytest

from tests.frameworks import raises


def inside(lib, function):
    with lib.inference_mode():
        return function()


# What is made in the mode of an inference tensor a and of a normal leaf x that requires grad:
# is it an inference tensor, does it require grad, is it a view (of x).
MADE_INSIDE = {
    "new": (lambda lib, a, x: lib.ones(2), (True, False, False)),
    "computed": (lambda lib, a, x: a * 2, (True, False, False)),
    "computed of normal": (lambda lib, a, x: x * 2, (True, False, False)),
    "view": (lambda lib, a, x: a[:1], (True, False, False)),
    "view of normal": (lambda lib, a, x: x[:1], (False, True, True)),
    "several views of normal": (lambda lib, a, x: x.chunk(2)[0], (False, True, True)),
    "squeeze of normal": (lambda lib, a, x: x.squeeze(), (False, True, True)),
    "detached normal": (lambda lib, a, x: x.detach(), (False, False, False)),
    "data of normal": (lambda lib, a, x: x.data, (False, False, False)),
    "clone of normal": (lambda lib, a, x: x.clone(), (True, False, False)),
    "itself": (lambda lib, a, x: x.contiguous(), (False, True, False)),
    "leaf": (lambda lib, a, x: lib.ones(2, requires_grad=True), (True, True, False)),
    "parameter": (lambda lib, a, x: lib.nn.Parameter(lib.ones(2)), (True, True, False)),
    "written": (lambda lib, a, x: a.add_(1), (True, False, False)),
    "written normal": (lambda lib, a, x: x.add_(1), (False, True, False)),
    "a leaf of it": (lambda lib, a, x: a.requires_grad_(), (True, True, False)),
}


@pytest.mark.parametrize("name", MADE_INSIDE)
def test_made_inside(lib, name: str) -> None:
    make, expected = MADE_INSIDE[name]
    x = lib.ones(2, requires_grad=True)
    made = inside(lib, lambda: make(lib, lib.ones(2), x))
    assert (made.is_inference(), made.requires_grad, made._is_view()) == expected
    assert made.grad_fn is None
    assert made._base is (x if expected[2] else None)


# What an inference tensor gives outside: is it one as well?
MADE_OUTSIDE = {
    "view": (lambda lib, a: a[:1], True),
    "reshape": (lambda lib, a: a.reshape(2, 1), True),
    "unbind": (lambda lib, a: a.unbind()[0], True),
    "expand": (lambda lib, a: a.expand(3, 2), True),
    "detach": (lambda lib, a: a.detach(), True),
    "itself": (lambda lib, a: a.contiguous(), True),
    "clone": (lambda lib, a: a.clone(), False),
    "computed": (lambda lib, a: a * 2, False),
    "index": (lambda lib, a: a[[0]], False),
    "cast": (lambda lib, a: a.double(), False),
}


@pytest.mark.parametrize("name", MADE_OUTSIDE)
def test_made_outside(lib, name: str) -> None:
    make, expected = MADE_OUTSIDE[name]
    made = make(lib, inside(lib, lambda: lib.ones(2)))
    assert made.is_inference() is expected
    assert not made._is_view()


# What is refused outside with an inference tensor a, a normal leaf x and a view v of it that was
# made inside.
REFUSED = {
    "add_": (lambda lib, a, x, v: a.add_(1), "Inplace update to inference tensor"),
    "fill_": (lambda lib, a, x, v: a.fill_(1), "Inplace update to inference tensor"),
    "setitem": (lambda lib, a, x, v: a.__setitem__(0, 1), "Inplace update to inference tensor"),
    "copy_": (lambda lib, a, x, v: a.copy_(lib.ones(2)), "Inplace update to inference tensor"),
    "uniform_": (lambda lib, a, x, v: a.uniform_(), "Inplace update to inference tensor"),
    "view add_": (lambda lib, a, x, v: a[:1].add_(1), "Inplace update to inference tensor"),
    "t_": (lambda lib, a, x, v: a.t_(), "Inplace update to inference tensor"),
    "out": (lambda lib, a, x, v: lib.add(lib.ones(2), 1, out=a), "Inplace update to inference"),
    "no_grad": (
        lambda lib, a, x, v: lib.no_grad()(lambda: a.add_(1))(), "Inplace update to inference"
    ),
    "_version": (lambda lib, a, x, v: a._version, "do not track version counter"),
    "requires_grad_": (lambda lib, a, x, v: a.requires_grad_(), "Setting requires_grad=True"),
    "requires_grad": (
        lambda lib, a, x, v: setattr(a, "requires_grad", True), "Setting requires_grad=True"
    ),
    "parameter": (lambda lib, a, x, v: lib.nn.Parameter(a), "Setting requires_grad=True"),
    "saved": (lambda lib, a, x, v: a * x, "cannot be saved for backward"),
    "saved by matmul": (
        lambda lib, a, x, v: a.view(1, 2) @ x.view(2, 1), "cannot be saved for backward"
    ),
    "saved view": (lambda lib, a, x, v: a[:1] * x, "cannot be saved for backward"),
    "write to a view": (lambda lib, a, x, v: v.add_(1), "inference mode"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_outside(lib, name: str) -> None:
    call, message = REFUSED[name]
    x = lib.ones(2, requires_grad=True)
    a, v = inside(lib, lambda: (lib.ones(2), x[:1]))
    with raises(lib, RuntimeError, message):
        call(lib, a, x, v)
    assert x.tolist() == [1.0, 1.0]


def test_a_view_written_inside_has_no_known_history(lib) -> None:
    x = lib.ones(2, requires_grad=True)
    y = x * 2

    def write():
        view = y[:1]
        view.add_(1)
        return view

    view = inside(lib, write)
    assert y._version == view._version == 1
    with raises(lib, RuntimeError, "inference mode"):
        _ = view * 2
    plain = lib.ones(2)
    view = inside(lib, lambda: plain[:1])
    view.add_(1)  # nothing to be recorded
    assert plain.tolist() == [2.0, 1.0]


def test_allowed_outside(lib) -> None:
    x = lib.ones(2, requires_grad=True)
    a = inside(lib, lambda: lib.ones(2))
    (x + a).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert lib.zeros(2).copy_(a).tolist() == [1.0, 1.0]
    assert a.requires_grad_(False) is a
    a.data.add_(1)
    assert a.tolist() == [2.0, 2.0]
    lib.autograd.graph.increment_version(a)
    with lib.inference_mode():
        a.add_(1)
    assert a.tolist() == [3.0, 3.0]


def test_writes_inside_are_counted_for_normal_tensors(lib) -> None:
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    with lib.inference_mode():
        y.add_(1)
    with raises(lib, RuntimeError, "modified by an inplace operation"):
        z.backward()


def test_modes_inside_of_each_other(lib) -> None:
    x = lib.ones(2, requires_grad=True)

    def state():
        return (
            lib.is_grad_enabled(), lib.is_inference_mode_enabled(), (x * 2).requires_grad,
            lib.ones(1).is_inference(),
        )  # fmt: skip

    recording, inference = (True, False, True, False), (False, True, False, True)
    asked = (True, True, False, True)  # grad mode is on, but nothing is recorded
    found = []
    with lib.inference_mode():
        found.append(state())
        with lib.enable_grad():
            found.append(state())
            with lib.no_grad():
                found.append(state())
            with lib.set_grad_enabled(False):
                found.append(state())
            found.append(state())
        with lib.inference_mode(False):
            found.append(state())
            with lib.inference_mode():
                found.append(state())
        found.append(state())
    found.append(state())
    assert found == [inference, asked, inference, inference, asked, recording, inference,
                     inference, recording]  # fmt: skip
    with lib.no_grad():
        with lib.inference_mode(False):
            assert state() == recording
        with lib.inference_mode():
            pass
        assert state() == (False, False, False, False)


def test_decorators(lib) -> None:
    @lib.inference_mode()
    def double(x):
        return x * 2

    @lib.inference_mode
    def triple(x):
        return x * 3

    @lib.inference_mode(mode=False)
    def single(x):
        return x * 1

    @lib.inference_mode()
    def numbers(n):
        for _ in range(n):
            yield lib.ones(1), lib.is_inference_mode_enabled()

    x = lib.ones(2, requires_grad=True)
    made = [f(x) for f in (double, triple, single)]
    assert [m.is_inference() for m in made] == [True, True, False]
    assert [m.requires_grad for m in made] == [False, False, True]
    for made, within in numbers(2):
        assert made.is_inference() and within
        assert not lib.is_inference_mode_enabled() and lib.is_grad_enabled()


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
    for tensors in ([view], [x, lib.ones(2)]):
        with raises(lib, AssertionError, "register_multi_grad_hook"):
            hook_all(*tensors)
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
