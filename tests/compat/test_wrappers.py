"""Wrappers of tensors where others write, are written, and are an index: as what they hold."""

from __future__ import annotations

import pytest

from tests.compat.test_install import run

WRAPPER = """
import torch
from torch.utils._pytree import tree_map_only

class Held(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
    @staticmethod
    def __new__(cls, data):
        made = torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype)
        made._data = data
        return made
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        asked.append(str(func))
        args, kwargs = tree_map_only(Held, lambda t: t._data, (args, kwargs or {}))
        return func(*args, **kwargs)

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


WRAPPED = """
import copy, io, pickle, torch
from torch.utils._pytree import tree_map_only
class W(torch.Tensor):
    gives = True
    @staticmethod
    def __new__(cls, a): return torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype)
    def __init__(self, a): self.a = a
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        result = func(*tree_map_only(W, lambda w: w.a, args), **(kwargs or {}))
        return tree_map_only(torch.Tensor, cls, result) if cls.gives else result
w = W(torch.arange(2.0)).requires_grad_()
w.note, w.grad = [1], W(torch.ones(2))
"""


def test_copies_and_pickles_of_wrappers() -> None:
    program = f"""{WRAPPED}
file = io.BytesIO()
torch.save(w, file)
file.seek(0)
loaded = torch.load(file, weights_only=False)
for made in (copy.deepcopy(w), pickle.loads(pickle.dumps(w)), loaded):
    print(type(made).__name__, made.a.tolist(), made.a is w.a, made.requires_grad, made.note)
    print(made.note is w.note, made.grad is not None and made.grad.a.tolist())
    print((made * 2).a.tolist())
both = copy.deepcopy([w, w])
print(both[0] is both[1])
class Plain(W):
    gives = False
for wrong in (w * 2, Plain(torch.ones(1))):
    try:
        copy.deepcopy(wrong)
    except RuntimeError as error:
        print(str(error)[:60])
"""
    assert run(program).splitlines() == [
        "W [0.0, 1.0] False True [1]", "False [1.0, 1.0]", "[0.0, 2.0]",
        *["W [0.0, 1.0] False True [1]", "False False", "[0.0, 2.0]"] * 2, "True",
        "Only Tensors created explicitly by the user (graph leaves) s",
        "The default implementation of __deepcopy__() for wrapper sub",
    ]  # fmt: skip


def test_wrappers_are_exchanged() -> None:
    program = f"""{WRAPPED}
x, w = torch.ones(4), W(torch.full((4,), 5.0))
torch.utils.swap_tensors(x, w)
print(type(x).__name__, type(w).__name__, (x + 1).a.tolist(), (w + 1).tolist())
print(x.fill_(3) is not w, x.a.tolist(), w.fill_(2) is w, w.tolist())
u, v = W(torch.zeros(2)), W(torch.ones(3))
torch.utils.swap_tensors(u, v)
print((u + 1).a.tolist(), (v + 1).a.tolist())
"""
    assert run(program).splitlines() == [
        "W Tensor [6.0, 6.0, 6.0, 6.0] [2.0, 2.0, 2.0, 2.0]",
        "True [3.0, 3.0, 3.0, 3.0] True [2.0, 2.0, 2.0, 2.0]",
        "[2.0, 2.0, 2.0] [1.0, 1.0]",
    ]  # fmt: skip
