"""Inference mode: which tensors are inference tensors, and what may be done with them outside."""

from __future__ import annotations

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
