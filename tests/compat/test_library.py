"""Operators that a program defines: ``torch.library``."""

from __future__ import annotations

from tests.compat.test_install import run


def test_operators_of_a_program() -> None:
    program = """
import numpy, torch
x = torch.linspace(0, 1, 3, requires_grad=True)
@torch.library.custom_op("own::sin", mutates_args=())
def sin(x: torch.Tensor, k: float = 2.0) -> torch.Tensor:
    return torch.from_numpy(numpy.sin(x.numpy() * k))
def setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.k = inputs[1]
def backward(ctx, g):
    return g * ctx.k * torch.cos(ctx.saved_tensors[0] * ctx.k), None
torch.library.register_autograd("own::sin", backward, setup_context=setup)
for y in sin(x), torch.ops.own.sin.default(x, k=2.0):
    expected = 2 * torch.cos(2 * x.detach())
    print(torch.autograd.grad(y.sum(), x)[0].equal(expected), end=" ")
print(torch.ops.own.sin, sin)

@torch.library.custom_op("own::join", mutates_args=())
def join(parts: list[torch.Tensor], *, scale: float) -> torch.Tensor:
    return torch.cat(parts) * scale
@join.register_kernel("cpu")
def _(parts, *, scale): return torch.cat(parts) * (scale + 1)
def setup(ctx, inputs, keyword_only_inputs, output): ctx.scale = keyword_only_inputs["scale"]
join.register_autograd(lambda ctx, g: list(g.chunk(2)), setup_context=setup)
print(torch.autograd.grad((join([x, x * 2], scale=1.0) * torch.arange(6.0)).sum(), x)[0].tolist())

library = torch.library.Library("theirs", "DEF")
library.define("f(Tensor x, int n=2) -> Tensor")
@torch.library.impl(library, "f", "CPU")
def f(x, n=2): return x * n
torch.library.define("theirs::g", "(Tensor(a!) x) -> ()")
@torch.library.impl("theirs::g", "default")
def g(x): x.add_(1)
z = torch.zeros(1)
print(torch.autograd.grad(torch.ops.theirs.f(x).sum(), x)[0].tolist(), torch.ops.theirs.g(z), z)

torch.library.define("theirs::h", "(Tensor x) -> Tensor")
torch.library.define("theirs::h.out", "(Tensor x, Tensor(a!) out) -> ()")
@torch.library.register_kernel("theirs::h", "default")
def h(x): return x + 1
@torch.library.register_kernel("theirs::h.out", "cpu")
def h_out(x, out): out.copy_(x + 2)
h = torch.ops.theirs.h
print(h(z), h.default(z), h.out(z, z), z)
"""
    assert run(program).splitlines() == [
        "True True own.sin <CustomOpDef(own::sin)>", "[6.0, 9.0, 12.0]",
        "[2.0, 2.0, 2.0] None tensor([1.])", "tensor([2.]) tensor([2.]) None tensor([3.])",
    ]  # fmt: skip


def test_operators_of_a_program_in_batches() -> None:
    program = """
import numpy, torch
@torch.library.custom_op("rows::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor(2 * x.numpy())
twice.register_autograd(lambda ctx, g: twice(g))
@torch.library.custom_op("rows::both", mutates_args=())
def both(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(k + x.numpy()), torch.tensor(x.numpy().sum())
@torch.library.custom_op("rows::joined", mutates_args=())
def joined(parts: list[torch.Tensor], k: int) -> list[torch.Tensor]:
    return [torch.from_numpy(k * numpy.concatenate([p.numpy() for p in parts]))]
def check():
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    y = torch.vmap(twice, in_dims=1)(x)
    print(y.tolist(), torch.autograd.grad(y.sum(), x)[0].tolist())
    print(torch.autograd.grad(twice(x), x, torch.ones(4, 2, 3), is_grads_batched=True)[0].shape)
    print([y.tolist() for y in torch.vmap(both, in_dims=(1, None))(x.detach(), 3)])
    print(torch.vmap(torch.vmap(twice), in_dims=1, out_dims=1)(x).tolist())
check()
@twice.register_vmap
def _(info, in_dims, x):
    print("rows:", info.batch_size, in_dims, end=" ")
    return twice(x), in_dims[0]
check()
x = torch.ones(2, 3)
@torch.library.register_vmap("rows::joined")
def _(info, in_dims, parts, k):
    print("rows:", info.batch_size, in_dims, end=" ")
    return [x.new_zeros(info.batch_size) for x in parts], 0
print(torch.vmap(lambda x, y: joined([x, y], 3), in_dims=(1, None))(x, x[0]))
"""
    twice = "[[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]] [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]"
    both = "[[[3.0, 6.0], [4.0, 7.0], [5.0, 8.0]], [3.0, 5.0, 7.0]]"
    nested = "[[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]"
    assert run(program).splitlines() == [
        twice, "torch.Size([4, 2, 3])", both, nested,
        f"rows: 3 (1,) {twice}", "torch.Size([4, 2, 3])", both,
        f"rows: 2 (0,) rows: 3 (1,) {nested}",
        "rows: 3 ([1, None], None) [tensor([0., 0., 0.]), tensor([0., 0., 0.])]",
    ]  # fmt: skip


def test_operators_that_give_lists() -> None:
    program = """
import torch
@torch.library.custom_op("parts::split", mutates_args=())
def split(x: torch.Tensor, n: int) -> list[torch.Tensor]:
    return [part.clone() for part in x.split(n)]
def setup(ctx, inputs, output): ctx.n = len(output)
def back(ctx, g): return torch.cat(g) * ctx.n, None
split.register_autograd(back, setup_context=setup)
@torch.library.custom_op("parts::counted", mutates_args=())
def counted(x: torch.Tensor, n: int) -> tuple[list[torch.Tensor], int]:
    return [part.clone() for part in x.split(n)], n
counted.register_autograd(lambda ctx, g, n: (torch.cat(g), None))
x = torch.arange(4.0).requires_grad_()
a, b = split(x, 2)
print(type(split(x, 2)).__name__, torch.autograd.grad((a * 2 + b * 3).sum(), x)[0].tolist())
print(torch.autograd.grad(split(x, 2)[1].sum(), x)[0].tolist())
(a, b), n = counted(x, 2)
print(n, torch.autograd.grad((a * 2 + b * 3).sum(), x)[0].tolist())
@split.register_vmap
def _(info, dims, x, n): return [part.clone() for part in x.movedim(dims[0], 1).split(n)], [1, 1]
print([part.shape for part in torch.vmap(lambda x: split(x, 2), in_dims=1)(torch.ones(4, 3))])
"""
    assert run(program).splitlines() == [
        "list [4.0, 4.0, 6.0, 6.0]", "[0.0, 0.0, 2.0, 2.0]", "2 [2.0, 2.0, 3.0, 3.0]",
        "[torch.Size([3, 2]), torch.Size([3, 2])]",
    ]  # fmt: skip


def test_schemas_of_annotations() -> None:
    program = """
import torch
from typing import Dict, List, Optional, Sequence, Tuple, Union
from torch.library import infer_schema
T, Number = torch.Tensor, Union[int, float, bool]
def f(x: T, y: Optional[T], z: List[int], w: Optional[Sequence[int]] = None, a: float = 1.0,
      b: bool = False, c: str = "q", d: torch.dtype = torch.float32, *, g: int = 3, s: Number = 2,
      dev: torch.device = "cpu", n: Optional[float] = None) -> Tuple[T, int]: ...
print(infer_schema(f, mutates_args=()))
print(infer_schema(f, mutates_args={"x"}, op_name="own::f")[:40])
print(infer_schema(f, mutates_args="unknown")[:30])
def g(y: List[T], o: Sequence[Optional[T]], l: List[Number]) -> Tuple[T, List[T], float]: ...
print(infer_schema(g, mutates_args={"y"}))
def h(x: "T | None" = None, n: "list[int] | None" = None, v: float = 1e-5) -> None: ...
print(infer_schema(h, mutates_args=()))
def one(x: T) -> Tuple[T]: ...
print(infer_schema(one, mutates_args=()))
def a(x): ...
def b(x: Dict) -> T: ...
def c(x: T): ...
def d(x: T, *more: T) -> T: ...
def e(x: T, n: int = torch.ones(1)) -> T: ...
def i(x: T) -> str: ...
def j(x: "Unknown") -> T: ...
for wrong, written in ((a, ()), (b, ()), (c, ()), (d, ()), (e, ()), (i, ()), (j, ()), (f, {"z"}),
                       (f, {"no"}), (f, "x")):
    try: print(infer_schema(wrong, mutates_args=written))
    except ValueError: print("ValueError", end=" ")
"""
    numbers = "SymInt[] z, SymInt[]? w=None, float a=1.0, bool b=False"
    assert run(program).splitlines() == [
        f'(Tensor x, Tensor? y, {numbers}, str c="q", ScalarType d=float32, *, SymInt g=3, '
        'Scalar s=2, Device dev="cpu", float? n=None) -> (Tensor, SymInt)',
        "own::f(Tensor(a0!) x, Tensor? y, SymInt[",
        "(Tensor(a0!) x, Tensor(a1!)? y",
        "(Tensor(a0!)[] y, Tensor?[] o, Scalar[] l) -> (Tensor, Tensor[], float)",
        "(Tensor? x=None, SymInt[]? n=None, float v=1e-05) -> ()",
        "(Tensor x) -> ((Tensor))",
        " ".join(["ValueError"] * 10),
    ]
