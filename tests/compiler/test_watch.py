"""What a step can reach, changed between replays: a program is never run on what was before."""

# pyright: reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
from __future__ import annotations

import array
import collections
import contextvars
import dataclasses
import functools
import os
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nnkit
import nnkit.nn.utils.parametrizations as P

X = nnkit.ones(3)
CASES: dict[str, Callable[[], tuple[Callable, Callable]]] = {}  # a step, and what changes it


def case(build: Callable) -> Callable:
    CASES[build.__name__] = build
    return build


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    threads, dtype, folder = nnkit.get_num_threads(), nnkit.get_default_dtype(), os.getcwd()
    relu = nnkit.nn.functional.relu
    yield
    nnkit.set_num_threads(threads)
    nnkit.set_default_dtype(dtype)
    os.chdir(folder)
    nnkit.nn.functional.relu = relu


@case
def set_content():
    s = {1.0}
    return (lambda x: x * (2.0 if 1.0 in s else 3.0)), lambda: (s.clear(), s.add(5.0))


@case
def bytearr():
    b = bytearray(b"\x02")
    return (lambda x: x * b[0]), lambda: b.__setitem__(0, 7)


@case
def arr():
    b = array.array("d", [2.0])
    return (lambda x: x * b[0]), lambda: b.__setitem__(0, 7.0)


@case
def ns():
    n = types.SimpleNamespace(a=2.0)
    return (lambda x: x * n.a), lambda: setattr(n, "a", 7.0)


@case
def ctxvar():
    v = contextvars.ContextVar("v", default=2.0)
    return (lambda x: x * v.get()), lambda: v.set(7.0)


@case
def local():
    own = threading.local()
    own.a = 2.0
    return (lambda x: x * own.a), lambda: setattr(own, "a", 7.0)


@case
def counter():
    c = collections.Counter(a=2)
    return (lambda x: x * c["a"]), lambda: c.update(a=5)


@case
def deq():
    c = collections.deque([2.0])
    return (lambda x: x * c[0]), lambda: (c.pop(), c.append(7.0))


@case
def cached():
    n = [2.0]

    @functools.lru_cache
    def f():
        return n[0]

    return (lambda x: x * f()), lambda: (n.__setitem__(0, 7.0), f.cache_clear())


@case
def clsattr():
    class C:
        a = 2.0

    return (lambda x: x * C.a), lambda: setattr(C, "a", 7.0)


@case
def clsdict():
    class C:
        a = {"q": 2.0}

    return (lambda x: x * C.a["q"]), lambda: C.a.__setitem__("q", 7.0)


@case
def instclsdict():
    class C:
        a = {"q": 2.0}

    c = C()
    return (lambda x: x * c.a["q"]), lambda: C.a.__setitem__("q", 7.0)


@case
def slots():
    class C:
        __slots__ = ("a",)

    c = C()
    c.a = 2.0
    return (lambda x: x * c.a), lambda: setattr(c, "a", 7.0)


@case
def nestedgetattr():
    class C:
        def __init__(s):
            s.d = {"a": 2.0}

        def __getattr__(s, n):
            return s.__dict__["d"][n]

    c = C()
    return (lambda x: x * c.a), lambda: c.d.__setitem__("a", 7.0)


@case
def opdict():
    d = collections.OrderedDict(a=[2.0])
    return (lambda x: x * d["a"][0]), lambda: d["a"].__setitem__(0, 7.0)


@case
def mapproxy():
    base = {"a": 2.0}
    m = types.MappingProxyType(base)
    return (lambda x: x * m["a"]), lambda: base.__setitem__("a", 7.0)


@case
def memview():
    b = bytearray(b"\x02")
    m = memoryview(b)
    return (lambda x: x * m[0]), lambda: b.__setitem__(0, 7)


@case
def hidden_keys():
    d = {2.0: 1}
    return (lambda x: x * list(d)[0]), lambda: (d.clear(), d.__setitem__(7.0, 1))


@case
def order_keys():
    d = {2.0: 1, 3.0: 1}
    return (lambda x: x * next(iter(d))), lambda: (d.pop(2.0), d.__setitem__(2.0, 1))


@case
def tensor_shape_global():
    t = nnkit.ones(2, 3)
    return (lambda x: x * t.shape[0]), lambda: t.resize_(4)


@case
def tensor_flag():
    t = nnkit.ones(2)
    return (lambda x: x * (2.0 if t.requires_grad else 7.0)), lambda: t.requires_grad_()


@case
def tensor_attr():
    t = nnkit.ones(2)
    t.note = 2.0
    return (lambda x: x * t.note), lambda: setattr(t, "note", 7.0)


@case
def tensor_version():
    t = nnkit.ones(2)
    return (lambda x: x * (1.0 + t._version)), lambda: t.add_(1)


@case
def userset_in_module():
    class M(nnkit.nn.Module):
        def __init__(s):
            super().__init__()
            s.on = {"a"}

        def forward(s, x):
            return x * 2 if "a" in s.on else x * 7

    m = M()
    return m, lambda: (m.on.clear(), m.on.add("b"))


@case
def hasattr_():
    class C:
        pass

    c = C()
    return (lambda x: x * (2.0 if hasattr(c, "z") else 7.0)), lambda: setattr(c, "z", 1)


@case
def len_str():
    class C:
        pass

    c = C()
    c.s = "ab"
    return (lambda x: x * len(c.s)), lambda: setattr(c, "s", "abcdefg")


@case
def instance_dunder():
    class C:
        v = 2.0

        def __call__(s):
            return s.v

    c = C()
    return (lambda x: x * c()), lambda: setattr(c, "v", 7.0)


@case
def weak():
    class C:
        pass

    c = C()
    c.a = 2.0
    r = weakref.ref(c)
    return (lambda x: x * r().a), lambda: setattr(c, "a", 7.0)


@case
def sched():
    p = nnkit.nn.Parameter(nnkit.ones(2))
    o = nnkit.optim.SGD([p], lr=0.5)
    s = nnkit.optim.lr_scheduler.StepLR(o, 1, gamma=0.5)
    return (lambda x: x * s.get_last_lr()[0]), lambda: (o.step(), s.step())


@case
def sched_epoch():
    p = nnkit.nn.Parameter(nnkit.ones(2))
    o = nnkit.optim.SGD([p], lr=0.5)
    s = nnkit.optim.lr_scheduler.StepLR(o, 1, gamma=0.5)
    return (lambda x: x * s.last_epoch), lambda: (o.step(), s.step())


@case
def scaler():
    s = nnkit.amp.GradScaler("cpu", init_scale=4.0)
    s.scale(X)
    return (lambda x: x * s.get_scale()), lambda: s.load_state_dict(
        {**s.state_dict(), "scale": 8.0}
    )


@case
def scalerscale():
    s = nnkit.amp.GradScaler("cpu", init_scale=4.0)
    return (lambda x: s.scale(x)), lambda: s.update(8.0)


@case
def optlr():
    p = nnkit.nn.Parameter(nnkit.ones(2))
    o = nnkit.optim.SGD([p], lr=0.5)
    return (lambda x: x * o.param_groups[0]["lr"]), lambda: o.param_groups[0].__setitem__("lr", 7.0)


@case
def optstate():
    p = nnkit.nn.Parameter(nnkit.ones(2))
    p.grad = nnkit.ones(2)
    o = nnkit.optim.Adam([p], lr=0.5)
    o.step()
    return (lambda x: x * len(o.state)), lambda: o.state.clear()


@case
def optdefaults():
    p = nnkit.nn.Parameter(nnkit.ones(2))
    o = nnkit.optim.SGD([p], lr=0.5)
    return (lambda x: x * o.defaults["lr"]), lambda: o.defaults.__setitem__("lr", 7.0)


@case
def modattr():
    m = nnkit.nn.Dropout(0.5).eval()
    m.q = 2.0
    return (lambda x: m(x) * m.q), lambda: setattr(m, "q", 7.0)


@case
def modp():
    m = nnkit.nn.Softplus(beta=2.0)
    return (lambda x: m(x)), lambda: setattr(m, "beta", 7.0)


@case
def seqlen():
    m = nnkit.nn.Sequential(nnkit.nn.ReLU())
    return (lambda x: m(x) * len(m)), lambda: m.append(nnkit.nn.Tanh())


@case
def modlist():
    m = nnkit.nn.ModuleList([nnkit.nn.ReLU()])

    def f(x):
        for layer in m:
            x = layer(x)
        return x

    return f, lambda: m.append(nnkit.nn.Tanh())


@case
def dist():
    d = nnkit.distributions.Normal(nnkit.zeros(3), nnkit.ones(3))
    return (lambda x: d.log_prob(x)), lambda: setattr(d, "scale", nnkit.ones(3) * 7)


@case
def swa():
    m = nnkit.nn.Linear(3, 3)
    a = nnkit.optim.swa_utils.AveragedModel(m)
    return (lambda x: a(x)), lambda: (
        m.weight.data.add_(1.0),
        a.update_parameters(m),
        a.update_parameters(m),
    )


@case
def dtype_default():
    return (lambda x: nnkit.zeros(3) + x), lambda: nnkit.set_default_dtype(nnkit.float64)


@case
def deflt():
    def f(x, s=[2.0]):  # noqa: B006
        return x * s[0]

    return f, lambda: f.__defaults__[0].__setitem__(0, 7.0)


@case
def dc():
    @dataclasses.dataclass
    class C:
        a: float = 2.0

    c = C()
    return (lambda x: x * c.a), lambda: setattr(c, "a", 7.0)


@case
def prop():
    class C:
        def __init__(s):
            s._a = 2.0

        @property
        def a(s):
            return s._a

    c = C()
    return (lambda x: x * c.a), lambda: setattr(c, "_a", 7.0)


@case
def monkey():
    class C:
        def f(s, x):
            return x * 2.0

    c = C()
    return (lambda x: c.f(x)), lambda: setattr(C, "f", lambda s, x: x * 7.0)


@case
def swapfunc():
    mod = types.SimpleNamespace(f=lambda x: x * 2.0)
    return (lambda x: mod.f(x)), lambda: setattr(mod, "f", lambda x: x * 7.0)


@case
def patched_F():
    return (lambda x: nnkit.nn.functional.relu(x) * 2.0), lambda: setattr(
        nnkit.nn.functional, "relu", lambda x: x * 7.0
    )


@case
def grads():
    p = nnkit.ones(3, requires_grad=True)
    p.grad = nnkit.ones(3)
    return (lambda x: x * (2.0 if p.grad is None else 7.0)), lambda: setattr(p, "grad", None)


@case
def gradvals():
    p = nnkit.ones(3, requires_grad=True)
    p.grad = nnkit.ones(3)
    return (lambda x: x * p.grad), lambda: setattr(p, "grad", nnkit.ones(3) * 7)


@case
def tensordata():
    p = nnkit.ones(3)
    return (lambda x: x * p), lambda: setattr(p, "data", nnkit.ones(3) * 7)


@case
def globaltensor_inplace():
    p = nnkit.ones(3)
    return (lambda x: x * p), lambda: p.mul_(7)


@case
def parametr():
    m = P.weight_norm(nnkit.nn.Linear(3, 3))
    return (lambda x: m(x)), lambda: m.parametrizations.weight.original0.data.mul_(3)


@case
def hooks():
    m = nnkit.nn.Linear(3, 3)
    return (lambda x: m(x)), lambda: m.register_forward_hook(lambda m, i, o: o * 7)


@case
def environ():
    os.environ["NNKIT_TEST_FACTOR"] = "2"
    step = lambda x: x * float(os.environ["NNKIT_TEST_FACTOR"])
    return step, lambda: os.environ.__setitem__("NNKIT_TEST_FACTOR", "7")


@case
def num_threads():
    nnkit.set_num_threads(2)
    return lambda x: x * float(nnkit.get_num_threads()), lambda: nnkit.set_num_threads(1)


@case
def folder():
    return lambda x: x * float(len(os.getcwd())), lambda: os.chdir("/")


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen(name: str) -> None:
    step, change = CASES[name]()
    compiled: Any = nnkit.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it runs eagerly
        for _ in range(4):
            compiled(X)
        change()
        found, wanted = compiled(X), step(X)
    assert found.dtype == wanted.dtype
    assert nnkit.equal(found, wanted)


def test_gradients_of_before_are_not_kept() -> None:
    w = nnkit.ones(3, requires_grad=True)
    w.grad = nnkit.zeros(3)
    before = []

    @nnkit.compile
    def step(x):
        w.grad = None
        (w * x).sum().backward()

    for _ in range(3):
        before.append(weakref.ref(w.grad))
        step(nnkit.ones(3))
    assert all(grad() is None for grad in before)
    assert step.program()
