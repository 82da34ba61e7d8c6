"""``__torch_dispatch__``: modes, operators that programs define, selective checkpoints."""

from __future__ import annotations

from typing import Any

import pytest

import nnkit
from nnkit.compat import operators
from nnkit.compat.dispatch import THREAD, BaseTorchDispatchMode, TorchDispatchMode
from tests.compat.test_install import run
from tests.harness import cases, checks
from tests.harness.row import OpRow
from tests.harness.table import ROWS, SUBJECT


class Names(TorchDispatchMode):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        self.seen.append(str(func).removeprefix("aten.").removesuffix(".default"))
        return func(*args, **(kwargs or {}))


def names_of(function: Any) -> str:
    with Names() as mode:
        function()
    return " ".join(mode.seen)


F = nnkit.nn.functional
x, square = nnkit.rand(3, 4), nnkit.rand(4, 4)
image, kernel = nnkit.rand(1, 1, 5, 5), nnkit.rand(2, 1, 3, 3)
rows = nnkit.rand(3, 1, 2, 4, 8)


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda: F.linear(x, square, square[0]), "select.int t addmm"),
        (lambda: F.linear(x, square), "t mm"),
        (lambda: F.linear(x[None], square), "unsqueeze view t mm view"),
        (lambda: (x @ square, square @ square[0]), "mm select.int mv"),
        (lambda: F.conv2d(image, kernel), "convolution"),
        (lambda: (x[0:1], x[1], x.t(), x.view(-1), x.unsqueeze(0)),
         "slice.Tensor select.int t view unsqueeze"),
        (lambda: (x.expand(2, 3, 4), x[None].permute(2, 0, 1)), "expand"),
        (lambda: (x + 1, x - x, x * 2, x / x), "add.Tensor sub.Tensor mul.Tensor div.Tensor"),
        (lambda: x.clone().add_(1).copy_(x), "clone add_.Tensor copy_"),
        (lambda: (nnkit.ones(2), nnkit.zeros(2), nnkit.full((2,), 3.0)), "ones zeros full"),
        (lambda: (x.sum(), x.sum(0), x.mean(), x.amax(1)), "sum sum.dim_IntList mean amax"),
        (lambda: (x.softmax(-1), x.log_softmax(0)), "_softmax _log_softmax"),
        (lambda: (x.relu(), x.exp(), x > 0, x == x, x**2),
         "relu exp gt.Scalar eq.Tensor pow.Tensor_Scalar"),
        (lambda: (x.to(nnkit.float64), nnkit.cat([x, x]), nnkit.stack([x, x])),
         "_to_copy cat stack"),
        (lambda: x[0, 0].item(), "select.int select.int _local_scalar_dense"),
        (lambda: F.scaled_dot_product_attention(rows[0], rows[1], rows[2]),
         "select.int select.int select.int _scaled_dot_product_flash_attention_for_cpu"),
        (lambda: F.layer_norm(x, (4,)), "nnkit.layer_norm"),
        (lambda: (x.lerp(x, 0.2), x.lerp(x, 0.7), x.lerp(x, x), x.clone().lerp_(x, 0.7)),
         "lerp.Scalar lerp.Scalar lerp.Tensor clone lerp_.Scalar"),
        (lambda: (x.addcmul(x, x), x.clone().addcdiv_(x, x, value=2), x.add(x, alpha=2)),
         "addcmul clone addcdiv_ add.Tensor"),
        (lambda: (x.clamp(0, 1), x.clamp(min=0), x.clamp_min(0.5), x.clone().clamp_(max=1)),
         "clamp clamp clamp_min clone clamp_"),
        (lambda: (x.div(x, rounding_mode="floor"), x**x, x.round(decimals=-1), x.logit(0.1)),
         "div.Tensor_mode pow.Tensor_Tensor round.decimals logit"),
        (lambda: (F.leaky_relu(x), F.elu(x), F.gelu(x, approximate="tanh"), F.hardtanh(x)),
         "leaky_relu elu gelu hardtanh"),
        (lambda: (F.softplus(x), F.threshold(x, 0.5, 0.0), x.nan_to_num()),
         "softplus threshold nan_to_num"),
        (lambda: (x.norm(), x.prod(), x.prod(0), x.all(), x.any(1)),
         "linalg_vector_norm prod prod.dim_int all any.dim"),
        (lambda: (x[:, None], x[..., None], x.roll(1), x.diagonal(), x.unfold(0, 2, 1)),
         "unsqueeze unsqueeze roll diagonal unfold"),
        (lambda: (x.t().contiguous(), x.view(nnkit.int32), square[:1].squeeze()),
         "t clone view.dtype slice.Tensor squeeze.dims"),
        (lambda: (nnkit.arange(3), nnkit.baddbmm(square[:1, None], x[None], square[None])),
         "arange.start_step slice.Tensor unsqueeze unsqueeze unsqueeze baddbmm"),
    ],
)  # fmt: skip
def test_names_of_operators(function: Any, names: str) -> None:
    assert names_of(function).startswith(names)


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_a_mode_that_calls_each_operator_changes_nothing(row: OpRow) -> None:
    with BaseTorchDispatchMode():
        for case in cases.gradient(row):  # values and gradients
            checks.parity(nnkit, case, SUBJECT[row.name])


def test_gradients_are_recorded_around_a_mode() -> None:
    layer = nnkit.nn.Sequential(nnkit.nn.Linear(4, 3), nnkit.nn.ReLU(), nnkit.nn.Linear(3, 1))
    layer(x).sum().backward()
    expected = [p.grad for p in layer.parameters()]
    layer.zero_grad()
    with BaseTorchDispatchMode():
        layer(x).sum().backward()
    assert all(p.grad.equal(g) for p, g in zip(layer.parameters(), expected, strict=True))
    with Names() as mode:
        layer(x).sum().backward()
    assert mode.seen.count("mm") == 3 and "threshold_backward" in mode.seen


def test_a_mode_may_answer_otherwise() -> None:
    class Doubles(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None
        ) -> Any:
            out = func(*args, **(kwargs or {}))
            return out * 2 if func is operators.operator("relu") else out

    y = nnkit.ones(2, requires_grad=True)
    with Doubles(), Names() as inner:
        z = y.relu()
    assert z.tolist() == [2.0, 2.0] and inner.seen == ["relu"]
    z.sum().backward()
    assert y.grad is not None and y.grad.tolist() == [1.0, 1.0]
    with pytest.raises(NotImplementedError), TorchDispatchMode():
        y.exp()
    assert not THREAD.modes and names_of(lambda: None) == ""


def test_names_of_the_private_module() -> None:
    program = """
import torch
from torch.utils import _python_dispatch as D
class Quiet(D.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func.name(), func.namespace, func.overloadpacket, repr(func))
        return func(*args, **(kwargs or {}))
print(D.is_in_torch_dispatch_mode(), D._get_current_dispatch_mode())
with Quiet() as mode:
    print(D.is_in_torch_dispatch_mode(), D._get_current_dispatch_mode() is mode)
    torch.ones(2) + 1
    with D._disable_current_modes() as modes:
        torch.ones(2); print(modes == [mode])
    print(D._get_current_dispatch_mode_stack() == [mode])
print(isinstance(torch.ops.aten.mm.default, torch._ops.OpOverload))
print(torch.ops.aten.mm.default is torch.ops.aten.mm.default, torch.ops.aten.add.Tensor)
import copy
mm = torch.ops.aten.mm
print(copy.deepcopy({mm: 1, mm.default: 2}) == {mm: 1, mm.default: 2}, mm.default._overloadpacket)
"""
    assert run(program).splitlines() == [
        "False None",
        "True True",
        "aten::ones aten aten.ones <OpOverload(op='aten.ones', overload='default')>",
        "aten::add.Tensor aten aten.add <OpOverload(op='aten.add', overload='Tensor')>",
        "True",
        "True",
        "True",
        "True aten.add.Tensor",
        "True aten.mm",
    ]


def test_selective_checkpoints() -> None:
    program = """
import functools, torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint
from torch.utils.checkpoint import create_selective_checkpoint_contexts
torch.manual_seed(0)
w = torch.randn(4, 4, requires_grad=True); x = torch.randn(3, 4, requires_grad=True)
mm, seen = torch.ops.aten.mm.default, []
def policy(context, op, *args, **kwargs):
    seen.append((context.is_recompute, str(op)))
    return CheckpointPolicy.MUST_SAVE if op == mm else CheckpointPolicy.PREFER_RECOMPUTE
def f(x, w): return (x @ w).relu().sin()
f(x, w).sum().backward(); expected = x.grad.clone(), w.grad.clone()
def kept(f, what, **options):
    x.grad = w.grad = None
    contexts = functools.partial(create_selective_checkpoint_contexts, what, **options)
    return checkpoint(f, x, w, use_reentrant=False, context_fn=contexts)
for what in (policy, [mm]):
    kept(f, what).sum().backward()
    print(torch.equal(x.grad, expected[0]), torch.equal(w.grad, expected[1]))
print(seen)
def g(x, w):
    y = x @ w
    return y.mul_(2).sin()
y = kept(f, [mm])
y.sum().backward(retain_graph=True)
for call in (lambda: kept(g, [mm]).sum().backward(), lambda: y.sum().backward(),
             lambda: create_selective_checkpoint_contexts(3),
             lambda: create_selective_checkpoint_contexts([1])):
    try: call()
    except Exception as error: print(type(error).__name__, str(error)[:30])
kept(g, [mm], allow_cache_entry_mutation=True).sum().backward()
"""
    assert run(program).splitlines() == [
        "True True",
        "True True",
        "[(False, 'aten.mm.default'), (False, 'aten.relu.default'), (False, 'aten.sin.default')]",
        "RuntimeError Tensor cached during selective",
        "RuntimeError aten.mm.default was called mor",
        "TypeError policy_fn_or_list must be eith",
        "ValueError Expected op in `op_list` to be",
    ]


def test_modes_are_asked_for_operators_of_a_program() -> None:
    """A selective checkpoint keeps what they give."""
    program = """
import functools, torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
class Told(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is not torch.ops.aten.detach.default:
            print(func)
        return func(*args, **(kwargs or {}))
calls = []
@torch.library.custom_op("told::both", mutates_args=())
def both(x: torch.Tensor, n: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    calls.append(n)
    return x * n, x + 1
def back(ctx, g, h):
    return g * ctx.n + h, None
def setup(ctx, inputs, output): ctx.n = inputs[1]
torch.library.register_autograd("told::both", back, setup_context=setup)
x = torch.arange(3.0, requires_grad=True)
with Told(), Told():
    with torch.no_grad():
        both(x)
    y = torch.ops.told.both(x, n=3)[0]
y.sum().backward()
print(x.grad.tolist())
def f(x):
    a, b = both(x)
    return (a * b).sin()
for kept in (torch.ops.told.both.default, torch.ops.aten.sin.default):
    calls.clear()
    contexts = functools.partial(create_selective_checkpoint_contexts, [kept])
    out = checkpoint(f, x, use_reentrant=False, context_fn=contexts).sum()
    print(torch.autograd.grad(out, x)[0].equal(torch.autograd.grad(f(x).sum(), x)[0]), len(calls))
x = torch.tensor([[3.0, 1.0], [0.0, 2.0]])
with Told():
    found = [
        x.var(0), x.std(correction=0, keepdim=True), *torch.var_mean(x, 1), *x.max(0), *x.min(1),
        x.argmax(), x.argmin(1, True), *x.topk(1), x.cumsum(0), x.tril(-1), x.triu(),
        x.gather(0, torch.argmax(x, 0, True)),
    ]
for each in found:
    print(each.tolist())
"""
    assert run(program).splitlines() == [
        *["told.both.default"] * 4, "[3.0, 3.0, 3.0]", "True 2", "True 3",
        *[f"aten.{name}.correction" for name in ("var", "std", "var_mean")], "aten.max.dim",
        "aten.min.dim", "aten.argmax.default", "aten.argmin.default", "aten.topk.default",
        "aten.cumsum.default", "aten.tril.default", "aten.triu.default", "aten.argmax.default",
        "aten.gather.default", "[4.5, 0.5]", "[[1.1180340051651]]", "[2.0, 2.0]", "[2.0, 1.0]",
        "[3.0, 2.0]", "[0, 1]", "[1.0, 0.0]", "[1, 0]", "0", "[[1], [0]]", "[[3.0], [2.0]]",
        "[[0], [1]]", "[[3.0, 1.0], [3.0, 3.0]]", "[[0.0, 0.0], [0.0, 0.0]]",
        "[[3.0, 1.0], [0.0, 2.0]]", "[[3.0, 2.0]]",
    ]  # fmt: skip


def test_operators_with_schemas_and_writes() -> None:
    program = """
import torch
x, z = torch.linspace(0, 1, 3, requires_grad=True), torch.ones(1)
library = torch.library.Library("theirs", "DEF")
library.define("h(Tensor w, int[2] p=[1, 2], *, bool q=False, str r='sum', int z) -> Tensor")
library.impl("h", lambda w, p, *, q, r, z: w * p[1] * z, "CPU")
def setup(ctx, inputs, keyword_only_inputs, output):
    ctx.factor = inputs[1][1] * keyword_only_inputs["z"]
    print(len(inputs), keyword_only_inputs)
backward = lambda ctx, g: (g * ctx.factor, None)
torch.library.register_autograd("theirs::h", backward, setup_context=setup)
torch.ops.theirs.h(x, z=5).sum().backward()
print(x.grad.tolist())

@torch.library.custom_op("own::fill", mutates_args={"into"})
def fill(x: torch.Tensor, into: list[torch.Tensor]) -> None:
    for each in into: each.numpy()[:] = x.item()
fill(z, [y := torch.zeros(2)])
print(y, y._version, z._version)
try:
    torch.library.custom_op("own::bad", mutates_args={"y"})(lambda x: None)
except ValueError as error:
    print(str(error)[:50])
"""
    assert run(program).splitlines() == [
        "2 {'q': False, 'r': 'sum', 'z': 5}", "[10.0, 10.0, 10.0]", "tensor([1., 1.]) 1 0",
        "custom_op: {'y'} in mutates_args were not found in",
    ]  # fmt: skip
