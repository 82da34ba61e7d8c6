"""Conjugation and negation that are put off, in programs that must give the same on both."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

from tests.autograd.scenarios import raised

SCENARIOS: dict[str, Callable[[Any], Any]] = {}


def scenario(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    SCENARIOS[f"conjugation_{function.__name__}"] = function
    return function


def matrix(fw: Any) -> Any:
    return fw.tensor([[1 + 2j, 3 - 1j], [0.25 - 0.5j, 2 + 1j]])


def state(y: Any, x: Any) -> tuple:
    """What torch's bits make of a tensor that may look into the memory of ``x``."""
    whose = "none" if y._base is None else "x" if y._base is x else "another"
    shares = y.data_ptr() == x.data_ptr()
    return y.is_conj(), y.is_neg(), whose, tuple(y.stride()), shares, y.tolist()


@scenario
def views(fw):
    x = matrix(fw)
    c = x.conj()
    n = c.imag
    made = [c, x.adjoint(), x.mH, x.H, c.conj(), c.mH, c.T, c[0], c[:, 1], c.real, n, n[0]]
    made += [c.detach(), c.data, c.contiguous(), c.expand(2, 2, 2), c.as_strided((2,), (1,))]
    made += [*c.unbind(0), *c.split(1), c.diagonal(), c.unfold(0, 1, 1), c.view(4), n.unsqueeze(0)]
    made += [x._conj(), x._neg_view(), x._neg_view().real, x._neg_view().conj().imag]
    made += [fw.view_as_real(x._neg_view()), fw.view_as_complex(fw.view_as_real(x)._neg_view())]
    return [state(y, x) for y in made]


@scenario
def copies(fw):
    x = matrix(fw)
    c = x.conj()
    n = c.imag
    made = [c.clone(), c.resolve_conj(), c.conj_physical(), c[[0]], c * 2, c + c, c.exp(), c @ c]
    made += [c.T.contiguous(), c.T.flatten(), c.to(fw.complex128), c.abs(), fw.cat([c, x])]
    made += [
        fw.zeros_like(c),
        fw.tensor(c.tolist()),
        n.clone(),
        n.resolve_neg(),
        -n,
        n + 1,
        n.abs(),
    ]
    made += [copy.deepcopy(c), copy.deepcopy(n)]
    return [state(y, x) for y in made]


@scenario
def identities(fw):
    x, real = matrix(fw), fw.ones(2, 2)
    c = x.conj()
    return [
        x.resolve_conj() is x, c.resolve_neg() is c, real.conj() is real,
        real.conj_physical() is real,
        c.to(fw.complex64) is c, c.contiguous() is c, fw.as_tensor(c) is c, c.is_set_to(c),
    ]  # fmt: skip


@scenario
def copies_of_objects(fw):
    x = matrix(fw)
    c = x.conj()
    made = [pickle.loads(pickle.dumps(y)) for y in (c, c.imag, c.mH)]
    return [state(y, x) for y in [copy.copy(c), *made]]


@scenario
def writes(fw):
    x = matrix(fw)
    c = x.conj()
    seen = []

    def see():
        seen.append((x.tolist(), c.tolist(), x._version, c._version, c.is_conj()))

    for write in (
        lambda: c.mul_(2j), lambda: x.add_(1), lambda: c.imag.mul_(3), lambda: c.real.fill_(7.0),
        lambda: c.copy_(fw.ones(2, 2) * 1j), lambda: c.fill_(2 - 1j), lambda: c[0].zero_(),
        lambda: c.__setitem__((1, 1), 5j), lambda: c.conj_physical_(), lambda: c.exp_(),
        lambda: fw.add(x, 1j, out=c), lambda: fw.conj_physical(x, out=c), lambda: c.t_(),
        lambda: c.__setitem__(fw.tensor([[True, False], [False, True]]), 1 + 1j),
        lambda: x.data.mul_(2), lambda: c.index_add_(0, fw.tensor([0]), c[:1] * 1j),
    ):  # fmt: skip
        write()
        see()
    return seen


@scenario
def changes(fw):
    made = []
    for change in (
        lambda x, c: x.set_(c), lambda x, c: c.set_(x), lambda x, c: c.resize_(3),
        lambda x, c: c.unsqueeze_(0), lambda x, c: setattr(x, "data", c),
        lambda x, c: setattr(c, "data", x),
    ):  # fmt: skip
        x = matrix(fw)
        c = matrix(fw).conj()
        change(x, c)
        made += [x.is_conj(), c.is_conj(), x.tolist(), c.tolist()]
    return made


@scenario
def refusals(fw):
    c = matrix(fw).conj()
    n = c.imag
    kinds = []
    for call in (
        c.numpy, n.numpy, lambda: fw.view_as_real(c), lambda: c.view(fw.float32), c.__dlpack__,
        lambda: n.view(fw.int32), c.detach_, fw.ones(2)._conj,
    ):  # fmt: skip
        try:
            call()
            kinds.append(None)
        except Exception as error:
            kinds.append(type(error).__name__)
    return [kinds, c.numpy(force=True).tolist(), c.resolve_conj().numpy().tolist()]


@scenario
def gradients(fw):
    found = []
    for function in (
        lambda x: x.conj(), lambda x: x.mH @ x, lambda x: x.conj().imag * x.real,
        lambda x: x[0].vdot(x[1]), lambda x: (x.conj() * x).real,
        lambda x: x.conj().conj() * x.mH, lambda x: x.conj()[0] * x[1],
    ):  # fmt: skip
        x = matrix(fw).requires_grad_()
        y = function(x)
        weights = fw.arange(float(y.numel())).reshape(y.shape) + 1
        (g,) = fw.autograd.grad(y, x, weights.to(y.dtype), create_graph=True)
        found.append((y.tolist(), g.tolist(), g.requires_grad))
    return found


@scenario
def histories_of_writes(fw):
    found = []
    for view in (
        lambda y: y.conj(), lambda y: y.mH, lambda y: y.conj()[0], lambda y: y.conj().imag,
        lambda y: y.imag, lambda y: y.real[1], lambda y: fw.view_as_real(y)[..., 1],
        lambda y: y._neg_view(), lambda y: y.conj().real.T,
    ):  # fmt: skip
        x = matrix(fw).requires_grad_()
        y = x * 1
        v = view(y)
        v.mul_(fw.full_like(v, 3))
        total = v.sum() if not v.is_complex() else v.real.sum()
        (total + (y.real * y.imag).sum()).backward()
        found.append((x.grad.tolist(), y.tolist(), v.tolist(), v._base is y))
    return found


@scenario
def leaves(fw):
    c = matrix(fw).conj().detach().requires_grad_()
    y = (c * c).real.sum()
    y.backward()
    error = raised(lambda: c.mul_(2))
    with fw.no_grad():
        c.mul_(2)
    p = fw.nn.Parameter(c.detach())
    optimizer = fw.optim.SGD([p], lr=0.5)
    p.real.sum().backward()
    optimizer.step()
    return [c.grad.tolist(), error, c.tolist(), c.is_conj(), p.is_conj(), p.tolist()]


@scenario
def leaves_beside_others(fw):
    c = fw.nn.Parameter(matrix(fw).conj())
    x = matrix(fw).requires_grad_()
    (x * c + fw.cat([c, x])[1:3].real).real.sum().backward()
    picked = c.gather(0, fw.tensor([[1]]))
    (g,) = fw.autograd.grad(picked.real.sum(), c)
    return [c.grad.tolist(), x.grad.tolist(), picked.tolist(), g.tolist()]


@scenario
def overlaps(fw):
    found = []
    for write in (
        lambda x, c: c[1:].add_(c[:1]), lambda x, c: c.add_(x), lambda x, c: x.copy_(c),
        lambda x, c: c.copy_(x), lambda x, c: x[1:].mul_(c[:1]),
        lambda x, c: fw.add(c[1:], 1, out=c[:1]), lambda x, c: fw.mul(c, x, out=x),
    ):  # fmt: skip
        x = matrix(fw)
        write(x, x.conj())
        found.append(x.tolist())
    row = fw.tensor([1 + 2j, 3j, 4 + 1j])
    wide = fw.tensor([1 + 2j]).expand(2).conj()
    return [
        *found, raised(lambda: row.conj()[1:].copy_(row[:-1])), raised(lambda: wide.add_(1)),
        raised(lambda: wide.fill_(1)), raised(lambda: wide.copy_(row[:2])),
    ]  # fmt: skip


@scenario
def saved_and_written(fw):
    x = matrix(fw).requires_grad_()
    y = x * 1
    c = y.conj()
    z = c * c
    y.add_(1)
    first = raised(lambda: z.real.sum().backward())
    e = y.conj().mul_(2)
    e.abs().sum().backward()
    return [first, x.grad.tolist()]


@scenario
def modes(fw):
    x = matrix(fw)
    with fw.inference_mode():
        made = [x.conj(), matrix(fw).conj(), matrix(fw).conj().imag]
        made[1].mul_(2)
    with fw.no_grad():
        kept = matrix(fw).requires_grad_().conj()
    return [(y.is_inference(), y.is_conj(), y._is_view(), y.tolist()) for y in made] + [
        kept.requires_grad, kept.grad_fn, made[0]._version,
    ]  # fmt: skip


@scenario
def transforms(fw):
    x = matrix(fw)
    value, tangent = fw.func.jvp(lambda t: t.conj() * t.imag, (x,), (x * 1j,))
    seen = []

    def inner(t):
        c = t.conj()
        seen.extend([c.is_conj(), c.imag.is_neg()])
        c.mul_(2)
        return c[0] * t

    pair = fw.func.jvp(lambda t: inner(t * 1), (x,), (x * 1j,))
    back = fw.func.vjp(lambda t: t.mH @ t, x)[1](x)[0]
    return [value.tolist(), tangent.tolist(), [y.tolist() for y in pair], seen, back.tolist()]


@scenario
def modes_settle(fw):
    """What torch makes of several operations computes what was put off, where no history can be."""
    F = fw.nn.functional
    several = {
        "atleast_2d": fw.atleast_2d,
        "atleast_3d": fw.atleast_3d,
        "broadcast_tensors": lambda x: fw.broadcast_tensors(x, x[0])[0],
        "cartesian_prod": lambda x: fw.cartesian_prod(x[0]),
        "conj_physical": fw.conj_physical,
        "dropout": lambda x: F.dropout(x, 0.5, False),
        "dropout2d": lambda x: F.dropout2d(x[None, None], 0.5, False),
        "einsum": lambda x: fw.einsum("ij->ji", x),
        "meshgrid": lambda x: fw.meshgrid(x[0], x[1], indexing="ij")[0],
        "sum_to_size": lambda x: x.sum_to_size(2, 2),
        "type_as": lambda x: x.type_as(x),
        "unsafe_chunk": lambda x: x.unsafe_chunk(2)[0],
        "unsafe_split": lambda x: x.unsafe_split(1)[0],
        "movedim": lambda x: x.movedim(0, 1),
        "reshape": lambda x: x.reshape(4),
    }
    with fw.inference_mode():
        x = matrix(fw).conj()
    found = []
    for name, operation in several.items():
        for operand in (x, x.imag, matrix(fw).conj()):
            if name == "conj_physical" and operand is not x.imag and operand.is_conj():
                continue
            y = operation(operand)
            with fw.inference_mode():
                z = operation(operand)
            found.append((name, [(t.is_conj(), t.is_neg(), t.is_inference()) for t in (y, z)]))
    return found
