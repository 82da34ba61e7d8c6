"""Writes in place: what enters the history, what is refused, and that nothing is half done."""

from __future__ import annotations

import pytest

from tests.frameworks import raises

# Writes into y = 2 * x, x = [1, 1, 1], and the gradient of y.sum() by x.
INTO_HISTORY = {
    "int": (lambda lib, y: y.__setitem__(1, 0), [2, 0, 2]),
    "slice": (lambda lib, y: y.__setitem__(slice(1, None), 5.0), [2, 0, 0]),
    "ellipsis": (lambda lib, y: y.__setitem__(..., 1), [0, 0, 0]),
    "none": (lambda lib, y: y.__setitem__(None, 1), [0, 0, 0]),
    "tuple": (lambda lib, y: y.__setitem__((0,), 1), [0, 2, 2]),
    "true": (lambda lib, y: y.__setitem__(True, 1), [0, 0, 0]),
    "tensor": (lambda lib, y: y.__setitem__(slice(0, 2), lib.zeros(2)), [0, 0, 2]),
    "0-dim tensor": (lambda lib, y: y.__setitem__(2, lib.tensor(3)), [2, 2, 0]),
    "list": (lambda lib, y: y.__setitem__([0, 2], 0), [0, 2, 0]),
    "mask": (lambda lib, y: y.__setitem__(lib.tensor([True, False, False]), 0), [0, 2, 2]),
    "augmented": (lambda lib, y: y.__setitem__(1, y[1] * 3), [2, 6, 2]),
    "its own element": (lambda lib, y: y.__setitem__(1, y[0]), [4, 0, 2]),
    "twice": (lambda lib, y: (y.__setitem__(0, 1), y.__setitem__(2, 1)), [0, 2, 0]),
    "view fill_": (lambda lib, y: y[1].fill_(7), [2, 0, 2]),
    "view zero_": (lambda lib, y: y[1:].zero_(), [2, 0, 0]),
    "view copy_": (lambda lib, y: y[:2].copy_(lib.ones(2)), [0, 0, 2]),
    "view gt_": (lambda lib, y: y[:1].gt_(0), [0, 2, 2]),
    "view uniform_": (lambda lib, y: y[:1].uniform_(), [0, 2, 2]),
    "gt_": (lambda lib, y: y.gt_(0), [0, 0, 0]),
    "squeeze of nothing": (lambda lib, y: y.squeeze().mul_(5), [10, 10, 10]),
    "squeeze of no dimension": (lambda lib, y: y.squeeze(0).mul_(5), [10, 10, 10]),
    "expand to itself": (lambda lib, y: y.expand_as(y).mul_(5), [10, 10, 10]),
    "reshape to itself": (lambda lib, y: y.reshape(3).mul_(5), [10, 10, 10]),
    "broadcast to itself": (lambda lib, y: y.broadcast_to((3,)).mul_(5), [10, 10, 10]),
    "one of several with mul_": (lambda lib, y: y.unsqueeze(0).select(1, 0).mul_(3), [6, 2, 2]),
}


@pytest.mark.parametrize("name", INTO_HISTORY)
def test_write_enters_the_history(lib, name: str) -> None:
    write, expected = INTO_HISTORY[name]
    x = lib.ones(3, requires_grad=True)
    y = x * 2
    write(lib, y)
    assert y.requires_grad and not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == expected


@pytest.mark.parametrize("name", [n for n in INTO_HISTORY if "list" not in n and "mask" not in n])
def test_write_to_a_view_of_a_leaf_is_refused(lib, name: str) -> None:
    x = lib.ones(3, requires_grad=True)
    with raises(lib, RuntimeError, "leaf Variable that requires grad"):
        INTO_HISTORY[name][0](lib, x)
    assert x.tolist() == [1.0, 1.0, 1.0]
    assert x._version == 0


def test_a_loop_of_single_writes(lib) -> None:
    x = lib.arange(4.0).requires_grad_()
    out = lib.zeros(4)
    for i in range(4):
        out[i] = x[i] + 2 * out[i - 1]
    (out * lib.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert out.tolist() == [0.0, 1.0, 4.0, 11.0]
    assert x.grad.tolist() == [8421.0, 4210.0, 2100.0, 1000.0]


def test_a_value_whose_memory_is_elsewhere_in_the_target(lib) -> None:
    x = lib.arange(6.0)
    x[:2] = x[4:]
    assert x.tolist() == [4.0, 5.0, 2.0, 3.0, 4.0, 5.0]
    with raises(lib, RuntimeError, "single memory location"):
        x[1:] = x[:-1]
    x.expand(2, 6)[0] = 1  # of an expanded tensor, a part that is not repeated
    assert x.tolist() == [1.0] * 6


def test_the_base_need_not_lie_in_rows(lib) -> None:
    leaf = lib.arange(6.0).reshape(2, 3).requires_grad_()
    base = leaf.t() * 2
    assert not base.is_contiguous()
    base.t().view(-1)[:2].mul_(3)
    base.t().as_strided((1, 2), (3, 1), 1).fill_(0)
    (base * 1).sum().backward()
    factor = lib.tensor([[3.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert leaf.grad.tolist() == (factor * 2).tolist()


def test_a_view_of_a_base_that_was_turned_in_place(lib) -> None:
    x = lib.arange(6.0).reshape(2, 3).requires_grad_()
    base = x * 2
    view = base[0]
    base.t_()
    view.mul_(5)
    (view * lib.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [[10.0, 100.0, 1000.0], [0.0, 0.0, 0.0]]


def test_a_view_that_was_turned_in_place(lib) -> None:
    x = lib.arange(6.0).reshape(2, 3).requires_grad_()
    base = x * 2
    view = base[:, 1:]
    with lib.no_grad():
        view.t_()
    view.mul_(5)
    (view * lib.tensor([[1.0, 2.0], [10.0, 20.0]])).sum().backward()
    assert x.grad.tolist() == [[0.0, 10.0, 100.0], [0.0, 20.0, 200.0]]


def test_a_leaf_that_was_turned_without_grad(lib) -> None:
    x = lib.arange(6.0).reshape(2, 3).requires_grad_()
    with lib.no_grad():
        x.t_()
    assert x.is_leaf and x.requires_grad
    (x * lib.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_a_stale_view_written_without_grad(lib) -> None:
    x = lib.ones(3, requires_grad=True)
    y = x * 1
    view = y[:2]
    y.mul_(3)
    with lib.no_grad():
        view.add_(1)
    view.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 0.0]


def test_an_operand_that_is_a_stale_view(lib) -> None:
    x = lib.ones(2, requires_grad=True)
    base, out = lib.zeros(2), lib.zeros(1)
    view = base[:1]
    base.add_(x)
    out.add_(view)
    assert out.requires_grad
    out.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_a_chain_of_many_views(lib) -> None:
    x = lib.ones(2, requires_grad=True)
    y = x * 1
    view = y
    for i in range(1500):
        view = view.view(1, 2) if i % 2 else view.view(2)
    view.mul_(2)
    (y.sum() + 10 * view.sum()).backward()
    assert x.grad.tolist() == [22.0, 22.0]


# What was refused must not have been written: the write, and a message of ours.
REFUSED = {
    "one of several views": (
        lambda lib, x, w: x.chunk(2)[0].add_(w), "several|multiple views"
    ),
    "into one of several views": (lambda lib, x, w: x.unbind()[0].fill_(w), "multiple views"),
    "view without grad mode": (
        lambda lib, x, w: lib.no_grad()(lambda: x[:2])().mul_(w), "no_grad mode"
    ),
    "a part of that": (
        lambda lib, x, w: lib.no_grad()(lambda: x[:2])().__setitem__(0, w), "no_grad mode"
    ),
    "view in inference mode": (
        lambda lib, x, w: lib.inference_mode()(lambda: x[:2])().mul_(w), "inference mode"
    ),
    "overlap add_": (lambda lib, x, w: x[1:].add_(x[:-1]), "single memory location"),
    "overlap copy_": (lambda lib, x, w: x[1:].copy_(x[:-1]), "single memory location"),
    "overlap mul_": (lambda lib, x, w: x[:2].mul_(x[1:3]), "single memory location"),
    "overlap by another order": (
        lambda lib, x, w: x.view(2, 2).add_(x.view(2, 2).t()), "single memory location"
    ),
    "overlap with an element": (lambda lib, x, w: x.add_(x[0]), "single memory location"),
    "overlap lerp_": (lambda lib, x, w: x[1:].lerp_(x[:-1], 0.5), "single memory location"),
    "overlap of a source": (
        lambda lib, x, w: x.index_add_(0, lib.arange(4), x), "single memory location"
    ),
    "overlap scatter_": (
        lambda lib, x, w: x.scatter_(0, lib.tensor([1, 2]), x[:2]), "single memory location"
    ),
    "overlap index_put_": (
        lambda lib, x, w: x.__setitem__(lib.arange(4), x), "single memory location"
    ),
    "overlap of another shape": (
        lambda lib, x, w: x[:2].view(1, 2).sub_(x[:2]), "single memory location"
    ),
    "overlap out": (lambda lib, x, w: lib.cumsum(x[:-1], 0, out=x[1:]), "single memory location"),
    "expanded": (lambda lib, x, w: x[:1].expand(3).add_(1), "single memory location"),
    "expanded copy_": (
        lambda lib, x, w: x[:1].expand(3).copy_(lib.ones(3)), "single memory location"
    ),
    "expanded, detached": (
        lambda lib, x, w: x[:1].expand(3).detach().mul_(2), "single memory location"
    ),
    "expanded out": (
        lambda lib, x, w: lib.exp(lib.zeros(3), out=x[:1].expand(3)), "single memory location"
    ),
    "shape": (lambda lib, x, w: x.add_(lib.ones(2, 4)), "broadcast shape"),
    "category": (lambda lib, x, w: x.add_(1j), "can't be cast"),
    "index_put_ casts nothing": (
        lambda lib, x, w: x.__setitem__([0], lib.tensor([1])), "dtypes match"
    ),
    "nor of one number": (
        lambda lib, x, w: x.__setitem__(lib.tensor([0]), lib.tensor(1)), "dtypes match"
    ),
    "out with grad": (lambda lib, x, w: lib.mul(w, 2, out=x), "requires grad"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_not_written(lib, name: str) -> None:
    write, message = REFUSED[name]
    x = lib.arange(4.0)
    with raises(lib, RuntimeError, message):
        write(lib, x, lib.tensor(3.0, requires_grad=True))
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert x._version == 0
    assert not x.requires_grad


# Reads that do share memory with what they are written to, and what is left there.
ALLOWED = {
    "itself": (lambda lib, x: x.add_(x), [0, 2, 4, 6]),
    "the same view": (lambda lib, x: x[1:].add_(x[1:]), [0, 2, 4, 6]),
    "apart": (lambda lib, x: x[2:].add_(x[:2]), [0, 1, 2, 4]),
    "between": (lambda lib, x: x[::2].add_(x[1::2]), [1, 1, 5, 3]),
    "a number of its own": (lambda lib, x: x.fill_(x[3]), [3, 3, 3, 3]),
    "masked_fill_": (lambda lib, x: x.masked_fill_(x > 1, x[1]), [0, 1, 1, 1]),
    "itself under one more dimension": (
        lambda lib, x: x.view(1, 4).__setitem__(slice(0, 1), x), [0, 1, 2, 3]
    ),
    "an element of its own": (lambda lib, x: x[:2].__setitem__(..., x[1:2]), [1, 1, 2, 3]),
    "expand to itself": (lambda lib, x: x.expand_as(x).fill_(3), [3, 3, 3, 3]),
    "expand to itself, turned": (
        lambda lib, x: x.view(2, 2).t().expand(2, 2).add_(1), [1, 2, 3, 4]
    ),
    "expanded fill_": (lambda lib, x: x[:1].expand(3).fill_(5), [5, 1, 2, 3]),
    "expanded zero_": (lambda lib, x: x[3:].expand(3).zero_(), [0, 1, 2, 0]),
    "view of other bits": (lambda lib, x: x.view(lib.int32)[:1].fill_(1065353216), [1, 1, 2, 3]),
    "a number at a mask": (
        lambda lib, x: x.__setitem__(x > 2, lib.tensor([7])), [0, 1, 2, 7]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_what_may_share_memory(lib, name: str) -> None:
    write, expected = ALLOWED[name]
    x = lib.arange(4.0)
    write(lib, x)
    assert x.tolist() == expected
    assert x._version == 1


def test_views_whose_history_is_not_known(lib) -> None:
    x = lib.ones(4, requires_grad=True)
    y = x * 2
    first, _ = y.chunk(2)
    with lib.no_grad():
        unrecorded = y[:2]
    assert unrecorded.requires_grad and unrecorded.is_leaf and unrecorded._base is y
    assert (unrecorded * 2).requires_grad
    y.mul_(2)
    for view in (first, unrecorded):
        assert view.requires_grad
        assert "grad_fn=<Invalid>" in repr(view)
        with raises(lib, RuntimeError, "modified inplace"):
            _ = view.grad_fn
        with raises(lib, RuntimeError, "modified inplace"):
            _ = view * 2
        with lib.no_grad():
            assert (view * 2).tolist() == [8.0, 8.0]


def test_a_result_that_was_saved_and_written_over(lib) -> None:
    x = lib.ones(2, requires_grad=True)
    for write in (lambda y: y.add_(1), lambda y: y[:1].zero_(), lambda y: y.exp_()):
        y = x * 1
        y.exp_()  # saves its result, which is y itself
        write(y)
        with raises(lib, RuntimeError, "modified by an inplace operation"):
            y.sum().backward()
    y = x * 1
    y.exp_().sum().backward()
    assert x.grad.tolist() == x.detach().exp().tolist()


def test_the_conjugate_transpose_of_a_number(lib) -> None:
    x = lib.tensor(3j)
    with pytest.warns(UserWarning, match="0-D"):
        assert (x.mT.item(), x.mH.item(), x.H.item()) == (3j, -3j, -3j)


def test_no_gradient_passes_a_view_made_without_grad_mode(lib) -> None:
    x = lib.ones(2, requires_grad=True)
    with lib.no_grad():
        view = x[:1]
    (view * 3 + x).sum().backward()
    assert not hasattr(view.grad, "tolist")
    assert x.grad.tolist() == [1.0, 1.0]
    assert (view * 3).grad_fn.next_functions[0][0] is None
    assert view.requires_grad_(False).requires_grad
    view.requires_grad_()
    (view * 3).sum().backward()
    assert view.grad.tolist() == [3.0]


def test_bits_of_another_dtype_are_no_differentiable_view(lib) -> None:
    x = lib.ones(2, requires_grad=True)
    bits = x.view(lib.int32)
    assert bits._base is None and not bits.requires_grad
    bits.fill_(0)
    assert x.tolist() == [0.0, 0.0]
    assert x._version == bits._version == 1
    assert not x.view(lib.float32).requires_grad


def test_integers_get_no_history(lib) -> None:
    b = lib.zeros(2, dtype=lib.int64)
    b.copy_(lib.ones(2, requires_grad=True))
    b[0] = lib.tensor(3.0, requires_grad=True)
    assert b.tolist() == [3, 1]
    assert not b.requires_grad


def test_flags_of_what_is_no_leaf(lib) -> None:
    y = lib.ones(2, requires_grad=True) * 2
    for value in (True, False):
        with raises(lib, RuntimeError, "leaf variables"):
            y.requires_grad = value
    assert y.requires_grad_().grad_fn is not None


def test_data_of_another_dtype(lib) -> None:
    x = lib.ones(2, requires_grad=True)
    with raises(lib, RuntimeError, "floating point or complex"):
        x.data = lib.ones(2, dtype=lib.int64)
    x.data = lib.zeros(3, dtype=lib.float64)
    assert x.dtype is lib.float64
    plain = lib.ones(2)
    plain.data = lib.ones(3, dtype=lib.int64)
    assert plain.tolist() == [1, 1, 1]


def test_numpy_without_grad_mode(lib) -> None:
    x = lib.ones(2, requires_grad=True)
    with raises(lib, RuntimeError, "requires grad"):
        x.numpy()
    with lib.no_grad():
        assert x.numpy().tolist() == [1.0, 1.0]


# In place no derivative is left where the slope turns the sign round.
NEGATIVE_SLOPES = {
    "leaky_relu_": lambda F, y: F.leaky_relu_(y, -1.0),
    "leaky_relu": lambda F, y: F.leaky_relu(y, -1.0, inplace=True),
    "elu_": lambda F, y: F.elu_(y, -1.0),
    "celu_": lambda F, y: F.celu_(y, -1.0),
    "rrelu_": lambda F, y: F.rrelu_(y, -1.0, -0.5),
}


@pytest.mark.parametrize("name", NEGATIVE_SLOPES)
def test_negative_slope_in_place(lib, name: str) -> None:
    y = lib.tensor([1.0, -2.0], requires_grad=True) * 1
    out = NEGATIVE_SLOPES[name](lib.nn.functional, y)
    with raises(lib, RuntimeError, "negative slope"):
        out.sum().backward()
    assert NEGATIVE_SLOPES[name](lib.nn.functional, lib.ones(2)).tolist() == [1.0, 1.0]


# In-place kernels that torch has not: the dtype, the call and the error.
NO_KERNEL = {
    "abs_ of bool": ("bool", lambda x: x.abs_(), NotImplementedError),
    "addcmul_ of bool": ("bool", lambda x: x.addcmul_(x, x), NotImplementedError),
    "lerp_ of bool": ("bool", lambda x: x.lerp_(x, 0.5), NotImplementedError),
    "lerp_ of integers": ("int64", lambda x: x.lerp_(x, 0.5), NotImplementedError),
    "xlogy_ of complex": ("complex64", lambda x: x.xlogy_(x), NotImplementedError),
    "logit_ of complex": ("complex64", lambda x: x.logit_(), NotImplementedError),
    "float_power_": ("float32", lambda x: x.float_power_(2), RuntimeError),
    "div_ of integers": ("int64", lambda x: x.div_(2), RuntimeError),
}


@pytest.mark.parametrize("name", NO_KERNEL)
def test_in_place_kernels_that_are_missing(lib, name: str) -> None:
    dtype, call, error = NO_KERNEL[name]
    x = lib.ones(2, dtype=getattr(lib, dtype))
    with pytest.raises(error):
        call(x)
    assert x._version == 0


def test_resize(lib) -> None:
    x = lib.arange(6.0).reshape(2, 3).t()
    for same in (x.resize_(3, 2), x.resize_as_(x), x.resize_as_(lib.zeros(3, 2))):
        assert same is x
    assert x.stride() == (1, 3)
    assert x._version == 0
    assert x.resize_(2, 3).stride() == (3, 1)
    part = x.flatten()[2:]
    part.resize_(2).fill_(9.0)
    assert x.tolist() == [[0.0, 1.0, 9.0], [9.0, 4.0, 5.0]]


def test_set_keeps_its_own_count_of_writes(lib) -> None:
    x, y = lib.zeros(2), lib.arange(3.0)
    x.set_(y)
    x.add_(1)
    assert y.tolist() == [1.0, 2.0, 3.0]
    assert (x._version, y._version) == (2, 0)
    leaf = lib.ones(2, requires_grad=True)
    with raises(lib, RuntimeError, "leaf"):
        leaf.set_(y)
    with lib.no_grad():
        assert leaf.set_(y).tolist() == [1.0, 2.0, 3.0]


def test_empty_slices(lib) -> None:
    x = lib.zeros(2, 3)
    for view, shape, strides in (
        (x[0:0], (0, 3), (3, 1)), (x[:, 0:0], (2, 0), (3, 1)), (x[0:0].t(), (3, 0), (1, 3)),
        (x[0:0].swapaxes(0, 1).unfold(0, 2, 1), (2, 0, 2), (1, 3, 1)),
    ):  # fmt: skip
        assert (view.shape, view.stride(), view.storage_offset()) == (shape, strides, 0)
    empty = lib.zeros(0)
    assert empty.is_set_to(empty)
    assert not empty.is_set_to(lib.zeros(0))
    assert x.is_set_to(x[:]) and x.is_set_to(x.detach()) and not x.is_set_to(x[0])


@pytest.mark.filterwarnings("ignore:.*(resized|number of elements)")
@pytest.mark.parametrize("name", ["arange", "linspace", "logspace", "range"])
def test_ranges_fill_an_out_of_any_shape(lib, name: str) -> None:
    bounds = {"arange": (0, 4), "range": (0, 3)}.get(name, (0, 3, 4))
    scale = 10.0 if name == "logspace" else None
    expected = [scale**i if scale else float(i) for i in range(4)]
    memory = lib.full((8,), -1.0)
    out = memory[:4].view(2, 2)
    if name == "range":
        with pytest.warns(UserWarning, match="range"):
            assert lib.range(*bounds, out=out) is out
    else:
        assert getattr(lib, name)(*bounds, out=out) is out
    assert out.tolist() == [expected[:2], expected[2:]]
    assert memory.tolist() == [*expected, -1.0, -1.0, -1.0, -1.0]


@pytest.mark.filterwarnings("ignore:.*resized")
def test_an_out_that_is_resized_keeps_its_memory(lib) -> None:
    memory = lib.arange(6.0)
    lib.add(lib.ones(3), 1, out=memory[:2])
    assert memory.tolist() == [2.0, 2.0, 2.0, 3.0, 4.0, 5.0]
    turned = lib.zeros(3, 2).t()
    lib.add(lib.ones(2, 3), 1, out=turned)
    assert turned.stride() == (1, 2)
    for shape in ((0,), (0, 3), (3, 0)):
        assert lib.mm(lib.eye(3), lib.eye(3), out=lib.zeros(shape)).shape == (3, 3)


def test_functions_that_declare_writes_to_views(lib) -> None:
    def run(forward, x):
        methods = {"forward": staticmethod(forward)}
        return type("Written", (lib.autograd.Function,), methods).apply(x)

    def of_its_own(ctx, x):
        y = x.clone()[:1]
        ctx.mark_dirty(y)
        return y

    def one_of_two(ctx, x):
        ctx.mark_dirty(x.mul_(2))
        return x, x * 2

    x = lib.ones(2, requires_grad=True)
    with raises(lib, RuntimeError, "received a tensor that was not an input"):
        run(of_its_own, x)
    with raises(lib, RuntimeError, "our Function modifies inplace an input that is a view of"):
        run(one_of_two, (x * 1)[:1])
