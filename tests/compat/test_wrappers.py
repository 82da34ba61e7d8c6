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
