"""Views and in-place writes, in programs that must give the same on PyTorch and on nnkit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.autograd.scenarios import leaf, raised

SCENARIOS: dict[str, Callable[[Any], Any]] = {}


def scenario(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    SCENARIOS[function.__name__] = function
    return function


@scenario
def in_place_on_leaf(fw):
    x = leaf(fw, 1.0, 2.0)
    return [raised(lambda: x.add_(1)), raised(lambda: x[0:1].mul_(2)), x.tolist()]


@scenario
def in_place_chain(fw):
    x = leaf(fw, 1.0, 2.0)
    y = x * 2
    y.add_(1)
    y.mul_(x)
    y.sum().backward()
    return [y.tolist(), x.grad.tolist(), y._version, y.grad_fn.name()]


@scenario
def in_place_saved_input(fw):
    x = leaf(fw, 1.0, 2.0)
    y = x * 2
    z = y * y
    y.add_(1)
    return raised(z.sum().backward)


@scenario
def in_place_saved_output(fw):
    x = leaf(fw, 1.0, 2.0)
    y = x.exp()
    y.add_(1)
    return raised(y.sum().backward)


@scenario
def in_place_not_saved(fw):
    x = leaf(fw, 0.0, 0.0)
    y = x * 2
    z = y.exp()
    y.add_(1)
    z.sum().backward()
    return x.grad.tolist()


@scenario
def in_place_reads_old_value(fw):
    x = leaf(fw, 2.0, 3.0)
    w = leaf(fw, 4.0, 5.0)
    y = x * 1
    y.mul_(w)
    y.sum().backward()
    return [x.grad.tolist(), w.grad.tolist()]


@scenario
def write_through_view(fw):
    x = leaf(fw, 1.0, 2.0, 3.0, 4.0)
    y = x * 1
    y[1:3].mul_(10)
    (y * y).sum().backward()
    return [y.tolist(), x.grad.tolist(), y.grad_fn.name(), y._version]


@scenario
def write_through_view_of_view(fw):
    x = fw.ones(2, 3, requires_grad=True)
    y = x * 2
    y.view(3, 2)[1].t().mul_(5)
    (y * y).sum().backward()
    return [y.tolist(), x.grad.tolist()]


@scenario
def view_follows_base(fw):
    x = leaf(fw, 1.0, 2.0, 3.0)
    y = x * 1
    v = y[:2]
    y.mul_(3)
    v.sum().backward()
    return [v.tolist(), x.grad.tolist()]


@scenario
def sibling_view_follows(fw):
    x = leaf(fw, 1.0, 2.0, 3.0)
    y = x * 1
    a, b = y[:2], y[1:]
    a.mul_(3)
    b.sum().backward()
    return [b.tolist(), x.grad.tolist()]


@scenario
def base_without_grad(fw):
    w = leaf(fw, 2.0, 3.0)
    base = fw.zeros(3)
    v = base[:2]
    v.copy_(w)
    base.sum().backward()
    return [base.tolist(), base.requires_grad, v.requires_grad, w.grad.tolist()]


@scenario
def fill_slots(fw):
    w = leaf(fw, 1.0, 2.0, 3.0)
    out = fw.zeros(3, 2)
    for i in range(3):
        out[i] = w[i] * (i + 1)
    (out * out).sum().backward()
    return [out.tolist(), w.grad.tolist()]


@scenario
def setitem_with_mask(fw):
    x = leaf(fw, 1.0, 2.0, 3.0)
    w = leaf(fw, 7.0)
    y = x * 2
    y[fw.tensor([True, False, True])] = w
    (y * fw.tensor([1.0, 2.0, 3.0])).sum().backward()
    return [y.tolist(), x.grad.tolist(), w.grad.tolist()]


@scenario
def view_metadata(fw):
    x = fw.zeros(2, 3)
    v = x[0]
    w = v[1:]
    with fw.no_grad():
        n = x.view(-1)
    return [v._base is x, w._base is x, n._base is x, x._base, x.detach()._base]


@scenario
def version_counters(fw):
    x = fw.zeros(3)
    v = x[:2]
    d = x.detach()
    v.add_(1)
    d.add_(1)
    x.data.add_(1)
    return [x._version, v._version, d._version, x.tolist()]


@scenario
def view_made_without_grad(fw):
    x = leaf(fw, 1.0, 2.0)
    y = x * 1
    with fw.no_grad():
        v = y[:1]
    return raised(lambda: v.mul_(2))


@scenario
def unbind_is_not_writable(fw):
    x = leaf(fw, 1.0, 2.0)
    y = x * 1
    return raised(lambda: y.unbind()[0].mul_(2))


@scenario
def in_place_dtype(fw):
    x = fw.ones(2, dtype=fw.int64)
    y = fw.ones(2)
    y.add_(fw.ones(2, dtype=fw.float64))
    return [raised(lambda: x.add_(1.5)), raised(lambda: x.div_(2)), x.tolist(), y.tolist()]


@scenario
def in_place_shape(fw):
    x = fw.ones(2)
    return [raised(lambda: x.add_(fw.ones(3, 2))), x.tolist(), x._version]


@scenario
def in_place_under_no_grad(fw):
    x = leaf(fw, 1.0, 2.0)
    with fw.no_grad():
        x.add_(1)
        x -= 0.5
    return [x.tolist(), x._version, x.requires_grad, x.is_leaf]


@scenario
def data_assignment(fw):
    x = leaf(fw, 1.0, 2.0)
    x.data = fw.tensor([5.0, 6.0])
    (x * x).sum().backward()
    return [x.tolist(), x.grad.tolist(), x.data.requires_grad]


@scenario
def detach_in_place(fw):
    x = leaf(fw, 1.0)
    y = x * 2
    y.detach_()
    return [y.requires_grad, y.is_leaf, y.grad_fn]


@scenario
def out_argument(fw):
    x, y = fw.ones(2), fw.ones(2)
    out = fw.zeros(2)
    same = fw.add(x, y, out=out) is out
    w = leaf(fw, 1.0, 2.0)
    return [same, out.tolist(), raised(lambda: fw.add(w, y, out=out))]


@scenario
def complex_gradient(fw):
    z = fw.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    r = leaf(fw, 2.0, 3.0)
    (z * r).abs().sum().backward()
    return [[complex(round(v.real, 5), round(v.imag, 5)) for v in z.grad.tolist()],
            [round(v, 5) for v in r.grad.tolist()]]  # fmt: skip


@scenario
def put_into_views_of_several_kinds(fw):
    whole = fw.arange(6.0)
    turned, part = whole.view(2, 3).t(), whole[1:4]
    part.put_(fw.tensor([0, -1]), fw.tensor([7.0, 8.0]))
    turned.put_(fw.tensor([-1, 0, 0]), fw.tensor([9.0, 1.0, 2.0]), accumulate=True)
    wrong = [
        raised(lambda: whole.put_(fw.tensor([0, 1]), whole[2:4])),
        raised(lambda: whole.put_(fw.tensor([6]), fw.tensor([1.0]))),
        raised(lambda: fw.zeros(1).expand(4).put_(fw.tensor([1]), fw.tensor([9.0]))),
    ]
    x = leaf(fw, 1.0, 2.0, 3.0, 4.0)
    y = x * 2
    y.view(2, 2).put_(fw.tensor([2]), fw.tensor([5.0]))
    (y * y).sum().backward()
    return [whole.tolist(), turned.stride(), whole._version, wrong, y.tolist(), x.grad.tolist()]


@scenario
def numbers_beside_integers_and_complex_numbers(fw):
    small, z = fw.tensor([250, 3], dtype=fw.uint8), fw.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    found = [
        (small + 10).tolist(),
        (1 - small).tolist(),
        (small % 7).tolist(),
        (small == 506).any(),
    ]
    small += 5
    power = 2.5 * z / 2 + z * z - 1
    power.abs().sum().backward()
    parts = [round(v, 4) for c in z.grad.tolist() for v in (c.real, c.imag)]
    return [found[:3], bool(found[3]), small.tolist(), (small * 2.5).tolist(), parts]


@scenario
def parts_assigned_to_themselves(fw):
    x, expanded = fw.arange(12.0).view(3, 4), fw.ones(1, 3).expand(4, 3)
    x[1] += fw.ones(4)
    x[:, 1:3] *= 2
    x[0] = x.t()[:, 0]
    expanded[1:3] = expanded[1:3]
    found = [x.tolist(), x._version, expanded.tolist()]
    x[0] = x[0].flip(0)
    found.append(raised(lambda: x.__setitem__(slice(1, None), x[:2])))
    y = leaf(fw, 1.0, 2.0, 3.0) * 2
    with fw.no_grad():
        y[1:] += 1
    y[0] += 1
    y[1:] = y[1:]
    return [*found, x.tolist(), x._version, y.tolist(), y._version, y.grad_fn.name()]
