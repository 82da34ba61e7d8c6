"""Wrappers of tensors, whose classes answer for operators: as what they hold."""

from __future__ import annotations

import pytest

from tests.compat.test_install import run

WRAPPER = """
import copy, io, pickle, torch
from torch.utils._pytree import tree_map_only

class Held(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
    gives = False  # whether results are of the class
    @staticmethod
    def __new__(cls, data):
        made = torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype)
        made._data = data
        return made
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        asked.append(str(func))
        args, kwargs = tree_map_only(Held, lambda t: t._data, (args, kwargs or {}))
        found = func(*args, **kwargs)
        return tree_map_only(torch.Tensor, cls, found) if cls.gives else found

asked = []
def seen(t):
    return (t._data if isinstance(t, Held) else t).tolist()
def of(held):
    x, p = held(torch.tensor([3, 1, 2])), torch.tensor([10.0, 20.0, 30.0])
    return x, held(torch.tensor([0, 2])), p, torch.tensor([1, 1, 1])
"""
# Each gives a tensor, which holds what it does where ``x`` and ``i`` are ordinary ones.
STATEMENTS = (
    "x.add_(2)", "x.add_(x)", "x.add_(one)", "one.add_(x)", "x.sub_(x, alpha=2)", "x.mul_(2)",
    "x.zero_()", "x.fill_(4)", "x.copy_(one)", "one.copy_(x)", "x.clamp_(2)", "x.relu_()",
    "p[i]", "p[i, None]", "p[None, i]", "x[i]", "x[one > 0]", "p.index_select(0, i)",
    "p.__setitem__(i, 5.0) or p", "p.__setitem__(i, torch.tensor([7.0, 8.0])) or p",
    "one.__setitem__(0, x[1]) or one", "one.__setitem__(slice(2), x[:2]) or one",
    "x.__setitem__(0, 5) or x", "x.__setitem__(slice(1, None), 5) or x",
    "x.__setitem__(i, 5) or x", "p.index_put_((i,), p[:2] * 1, accumulate=True)",
    "torch.cat([x, x], out=torch.empty(6, dtype=torch.int64))", "torch.add(x, 1, out=x)",
    "torch.cat([one[:1], one[:2]], out=x)", "torch.index_select(x, 0, i, out=one[:2])",
    "p.index_add_(0, i, p[:2] * 1)", "p.gather(0, i)", "p.scatter_add_(0, i, p[:2] * 1)",
    "x.repeat(2)", "x.cumsum(0)", "x.nonzero()", "x.masked_select(one > 0)",
    "torch.stack(x.unbind())",
)  # fmt: skip


def test_a_wrapper_is_as_what_it_holds() -> None:
    program = f"""{WRAPPER}
for statement in {STATEMENTS!r}:
    found = []
    for held in (Held, lambda t: t):
        x, i, p, one = of(held)
        found.append(seen(eval(statement)))
    if found[0] != found[1]:
        print(statement, *found)
"""
    assert run(program) == ""


def test_a_wrapper_is_made_before_its_class_answers_for_functions() -> None:
    program = f"""{WRAPPER}
class Answers(Held):
    @staticmethod
    def __new__(cls, data):
        made = torch.Tensor._make_wrapper_subclass(cls, data.shape, requires_grad=True)
        made._data = data
        return made
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*(t._data if isinstance(t, cls) else t for t in args), **(kwargs or {{}}))
print(torch.add(Answers(torch.ones(2)), 1))
"""
    assert run(program) == "tensor([2., 2.])"


def test_a_wrapper_is_trained_as_what_it_holds() -> None:
    program = f"""{WRAPPER}
def trained(held):
    found = []
    p, o = held(torch.tensor([1.0, 2.0, 3.0])).requires_grad_(), torch.full((3,), 0.5)
    o.requires_grad_(not Held.gives)  # a gradient that is a wrapper reaches wrappers alone here
    for _ in range(3):
        ((p * 2).sin() * o).sum().backward()
        with torch.no_grad():
            p.sub_(p.grad, alpha=0.1)
            o.mul_(0.9)
        found += [seen(p), seen(p.grad)]
    y = p * 1
    y.mul_(3)
    y[:1] += 1
    (y * y).sum().backward()
    q = o * 1
    q[held(torch.tensor([0, 2]))] = p[:2]
    (q * q).sum().backward()
    first = torch.autograd.grad((p ** 3).sum(), p, create_graph=True)[0]
    found += [seen(p.grad), seen(torch.autograd.grad(first.sum(), p)[0])]
    plain = torch.ones(3, requires_grad=True)
    for y in ((plain * 2).sum(), plain[:2].reshape(2), plain.expand(2, 3), plain.reshape(3, 1)[0]):
        found.append(seen(torch.autograd.grad(y, plain, held(torch.ones(y.shape)))[0]))
    F, v = torch.autograd.functional, held(torch.tensor([1.0, 0.0, 2.0]))
    for product in (F.hvp, F.vhp):
        found += map(seen, product(lambda t: (t ** 3).sum(), p, v, create_graph=True))
    found.append(seen(F.jacobian(lambda t: (t * t)[:2], p, create_graph=True)))
    for make in (lambda: torch.optim.SGD([p], lr=0.1, momentum=0.9), lambda: torch.optim.Adam([p])):
        optimizer = make()
        for _ in range(2):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
            found.append(seen(p))
    return found + [seen(o), o.grad is not None and seen(o.grad)]
for gives in (False, True):
    Held.gives = gives
    wrapped, plain = trained(Held), trained(lambda t: t)
    print(wrapped == plain or [pair for pair in zip(wrapped, plain) if pair[0] != pair[1]])
"""
    assert run(program).splitlines() == ["True", "True"]


@pytest.mark.parametrize(
    "statement, operators",
    [
        ("x.add_(2)", "aten.add_.Tensor"),
        ("one.add_(x)", "aten.add_.Tensor"),
        ("one.copy_(x)", "aten.copy_.default"),
        ("p[i]", "aten.index.Tensor"),
        ("p.__setitem__(i, 5.0)", "aten.index_put_.default"),
        ("p.gather(0, i)", "aten.gather.default"),
        ("torch.mm(x.unsqueeze(0), one)", "aten.unsqueeze.default"),
    ],
)
def test_the_operators_that_it_is_asked_for(statement: str, operators: str) -> None:
    program = f"""{WRAPPER}
x, i, p, one = of(Held)
try: {statement}
except RuntimeError: pass  # shapes are the affair of what it holds
print(*asked)
"""
    assert run(program).strip() == operators


# One with attributes and a gradient, whose results are wrappers.
GIVING = f"""{WRAPPER}
Held.gives = True
w = Held(torch.arange(2.0)).requires_grad_()
w.note, w.grad = [1], Held(torch.ones(2))
"""


def test_copies_and_pickles_of_wrappers() -> None:
    program = f"""{GIVING}
file = io.BytesIO()
torch.save(w, file)
file.seek(0)
loaded = torch.load(file, weights_only=False)
for made in (copy.deepcopy(w), pickle.loads(pickle.dumps(w)), loaded):
    own = made._data is not w._data
    print(type(made).__name__, made._data.tolist(), own, made.requires_grad, made.note)
    print(made.note is w.note, made.grad is not None and made.grad._data.tolist())
    print((made * 2)._data.tolist())
both = copy.deepcopy([w, w])
print(both[0] is both[1])
class Plain(Held):
    gives = False
for wrong in (w * 2, Plain(torch.ones(1))):
    try:
        copy.deepcopy(wrong)
    except RuntimeError as error:
        print(str(error)[:60])
"""
    assert run(program).splitlines() == [
        "Held [0.0, 1.0] True True [1]", "False [1.0, 1.0]", "[0.0, 2.0]",
        *["Held [0.0, 1.0] True True [1]", "False False", "[0.0, 2.0]"] * 2, "True",
        "Only Tensors created explicitly by the user (graph leaves) s",
        "The default implementation of __deepcopy__() for wrapper sub",
    ]  # fmt: skip


def test_wrappers_are_exchanged() -> None:
    program = f"""{GIVING}
x, w = torch.ones(4), Held(torch.full((4,), 5.0))
torch.utils.swap_tensors(x, w)
print(type(x).__name__, type(w).__name__, (x + 1)._data.tolist(), (w + 1).tolist())
print(x.fill_(3) is not w, x._data.tolist(), w.fill_(2) is w, w.tolist())
u, v = Held(torch.zeros(2)), Held(torch.ones(3))
torch.utils.swap_tensors(u, v)
print((u + 1)._data.tolist(), (v + 1)._data.tolist())
"""
    assert run(program).splitlines() == [
        "Held Tensor [6.0, 6.0, 6.0, 6.0] [2.0, 2.0, 2.0, 2.0]",
        "True [3.0, 3.0, 3.0, 3.0] True [2.0, 2.0, 2.0, 2.0]",
        "[2.0, 2.0, 2.0] [1.0, 1.0]",
    ]  # fmt: skip


def test_a_wrapper_that_wants_no_functions_is_asked_for_operators() -> None:
    """Its results are of its class, and an attribute `_data` is its own."""
    program = f"""{WRAPPER}
Held.gives = True
x, first = Held(torch.tensor([[3, 1], [2, 0]])), torch.tensor([0])
for y in (x.clone(), x.flip(0), x.index_select(1, first), x.to(torch.int32), x.sort()[0]):
    print(type(y).__name__, y._data.tolist())
print(*asked)
print(torch.ops.aten._to_copy.default(x._data, dtype=torch.int32, pin_memory=False).dtype)
print(torch._C._get_default_device())
"""
    assert run(program).splitlines() == [
        "Held [[3, 1], [2, 0]]", "Held [[2, 0], [3, 1]]", "Held [[3], [2]]",
        "Held [[3, 1], [2, 0]]", "Held [[1, 3], [0, 2]]",
        "aten.clone.default aten.flip.default aten.index_select.default aten._to_copy.default "
        "aten.sort.default", "torch.int32", "cpu",
    ]  # fmt: skip


SCALED = """
import torch
from torch.utils._pytree import tree_map_only
seen = []
class Scaled(torch.Tensor):
    @staticmethod
    def __new__(cls, q, scale, requires_grad=False):
        return torch.Tensor._make_wrapper_subclass(
            cls, q.shape, dtype=scale.dtype, device=q.device, requires_grad=requires_grad
        )
    def __init__(self, q, scale, requires_grad=False):
        self.q, self.scale = q, scale
    def __tensor_flatten__(self):
        return ["q", "scale"], None
    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Scaled(inner["q"], inner["scale"])
    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        seen.append(str(func))
        if func is torch.ops.aten.detach.default:
            return Scaled(args[0].q, args[0].scale)
        if func is torch.ops.aten.t.default:
            return Scaled(args[0].q.t(), args[0].scale)
        args, kwargs = tree_map_only(Scaled, lambda t: t.q * t.scale, (args, kwargs or {}))
        return func(*args, **kwargs)
w = Scaled(torch.tensor([[1, 2], [3, 4]], dtype=torch.int8), torch.tensor(0.5))
"""


def test_a_wrapper_of_tensors() -> None:
    program = f"""{SCALED}
print(type(w).__name__, w.shape, w.dtype, w.device, w.requires_grad, w.is_contiguous())
x = torch.ones(3, 2, requires_grad=True)
y = torch.nn.functional.linear(x, w)
print(type(y).__name__, y.tolist(), y.grad_fn is not None)
y.sum().backward(); print(x.grad.tolist())
print(type(w.t()).__name__, type(w + 1).__name__, (w + 1).tolist(), (1 - w).tolist())
print(torch.cat([w, w]).shape, w[0].tolist(), torch.relu(w).tolist(), seen[0])
"""
    assert run(program).splitlines() == [
        "Scaled torch.Size([2, 2]) torch.float32 cpu False True",
        "Tensor [[1.5, 3.5], [1.5, 3.5], [1.5, 3.5]] True",
        "[[2.0, 3.0], [2.0, 3.0], [2.0, 3.0]]",
        "Scaled Tensor [[1.5, 2.0], [2.5, 3.0]] [[0.5, 0.0], [-0.5, -1.0]]",
        "torch.Size([4, 2]) [0.5, 1.0] [[0.5, 1.0], [1.5, 2.0]] aten.t.default",
    ]  # fmt: skip


def test_a_wrapper_as_a_parameter_and_a_leaf() -> None:
    program = f"""{SCALED}
p = torch.nn.Parameter(w, requires_grad=False)
m = torch.nn.Linear(2, 2, bias=False); m.weight = p
print(type(p).__name__, isinstance(p, torch.nn.Parameter), m(torch.ones(1, 2)).tolist())
v = Scaled(torch.tensor([[1, 2]], dtype=torch.int8), torch.tensor(0.5), requires_grad=True)
(v * 2).sum().backward(); print(v.grad.tolist())
from torch.utils._python_dispatch import is_traceable_wrapper_subclass, transform_subclass
print(is_traceable_wrapper_subclass(w), is_traceable_wrapper_subclass(torch.ones(1)))
print((transform_subclass(w, lambda name, t: t * 2) + 0).tolist())
with torch._C.DisableTorchFunctionSubclass():
    print(type(w.t()).__name__, w.max(0).values.tolist(), type(w.unbind(0)).__name__)
"""
    assert run(program).splitlines() == [
        "Scaled True [[1.5, 3.5]]", "[[2.0, 2.0]]", "True False", "[[2.0, 4.0], [6.0, 8.0]]",
        "Scaled [1.5, 2.0] tuple",
    ]  # fmt: skip


def test_what_a_wrapper_may_not_do() -> None:
    program = f"""{SCALED}
class None_(torch.Tensor): ...
class Silent(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
for make in (lambda: torch.Tensor._make_wrapper_subclass(None_, (2,)),
             lambda: torch.Tensor._make_wrapper_subclass(Silent, (2,), (1,)) + 1,
             lambda: setattr(w, "_array", torch.ones(1))):
    try: make()
    except Exception as error: print(type(error).__name__, str(error)[:40])
"""
    assert run(program).splitlines() == [
        "TypeError None_ must define __torch_dispatch__ to ",
        "TypeError Multiple dispatch failed for 'torch._ops",
        "AttributeError Scaled: the attribute _array is nnkit's",
    ]


def test_modes_and_operators_of_programs_ask_wrappers() -> None:
    program = f"""{GIVING}
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
@torch.library.custom_op("of_wrappers::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.numpy() ** 3)
cube.register_autograd(lambda ctx, g: g * 2)
asked.clear()
made = cube(w)
print(type(made).__name__, made._data.tolist(), made.requires_grad, asked)
class Polite(TorchDispatchMode):
    seen = ()
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen += (types,)
        return NotImplemented if types else func(*args, **(kwargs or {{}}))
with Polite() as mode, torch.no_grad():
    w.abs()
    with no_dispatch():
        torch.ones(1).abs()
print([[kind.__name__ for kind in types] for types in mode.seen])
class Second(Held): ...
class Wrong(TorchDispatchMode):
    __torch_dispatch__ = classmethod(lambda cls, *args: NotImplemented)
class Silent(TorchDispatchMode):
    __torch_dispatch__ = lambda self, *args: NotImplemented
for attempt in (lambda: Wrong(), lambda: Silent()):
    try:
        with attempt():
            torch.ones(1)
    except (RuntimeError, TypeError) as error:
        print(type(error).__name__, "make it a plain method" in str(error))
print(torch.ops.aten.mm.default.__module__, torch.ops.aten.mm.__module__)
"""
    assert run(program).splitlines() == [
        "Held [0.0, 1.0] True ['of_wrappers.cube.default']", "[['Held'], []]",
        "RuntimeError True", "TypeError False", "torch._ops.aten torch._ops.aten",
    ]  # fmt: skip


def test_subclasses_are_asked_before_their_base_class() -> None:
    program = f"""{WRAPPER}
class Second(Held):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return super().__torch_dispatch__(func, types, args, kwargs) * len(types)
x, y = Held(torch.ones(1)), Second(torch.ones(1))
print(*((a + b).item() for a, b in ((x, x), (x, y), (y, x), (y, y))))
"""
    assert run(program) == "2.0 4.0 4.0 2.0"


def test_what_wrappers_have_no_memory_for() -> None:
    program = f"""{GIVING}
strided = torch.Tensor._make_wrapper_subclass(Held, (2,), (3,), 5)
print(strided.storage_offset(), strided.stride(), asked)
for attempt in (w.tolist, w.detach().numpy):
    try:
        attempt()
    except RuntimeError as error:
        print(str(error).partition(",")[0])
"""
    assert run(program).splitlines() == [
        "5 (3,) []",
        ".tolist() is not supported for tensor subclasses",
        ".numpy() is not supported for tensor subclasses",
    ]
