"""Small programs that must give the same on PyTorch and on nnkit; each gets the framework.

What they return is compared by ``repr``: lists of numbers (kept exact in binary) and strings.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

SCENARIOS: dict[str, Callable[[Any], Any]] = {}


def scenario(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    SCENARIOS[function.__name__] = function
    return function


def leaf(fw: Any, *values: float) -> Any:
    return fw.tensor(list(values), requires_grad=True)


def raised(function: Callable[[], Any]) -> str:
    """The name of the exception's type, or "nothing"."""
    try:
        function()
    except Exception as error:
        return type(error).__name__
    return "nothing"


@scenario
def accumulates_over_backwards(fw):
    x = leaf(fw, 1.0, 2.0)
    for _ in range(3):
        (x * x).sum().backward()
    return x.grad.tolist()


@scenario
def same_tensor_twice(fw):
    x = leaf(fw, 3.0)
    y = x - x + x * x + x / x
    y.sum().backward()
    return x.grad.tolist()


@scenario
def diamond(fw):
    x = leaf(fw, 2.0)
    a = x * 3
    b, c = a * a, a + 1
    (b * c).sum().backward()
    return x.grad.tolist()


@scenario
def gradients_do_not_alias(fw):
    x, y = leaf(fw, 1.0), leaf(fw, 2.0)
    (x + y).sum().backward()
    x.grad.zero_()
    return y.grad.tolist()


@scenario
def broadcast_shapes(fw):
    x = fw.ones(2, 1, 3, requires_grad=True)
    y = fw.ones(4, 1, requires_grad=True)
    z = fw.tensor(2.0, requires_grad=True)
    ((x + y) * z).sum().backward()
    return [x.grad.tolist(), y.grad.tolist(), z.grad.tolist()]


@scenario
def mixed_dtypes(fw):
    x = leaf(fw, 1.0, 2.0)
    y = fw.tensor([3.0, 4.0], dtype=fw.float64, requires_grad=True)
    (x * y).sum().backward()
    return [str(x.grad.dtype).split(".")[1], x.grad.tolist(), y.grad.tolist()]


@scenario
def grad_of_non_leaf(fw):
    x = leaf(fw, 1.0, 2.0)
    y = x * 2
    z = (y * y).sum()
    return [g.tolist() for g in fw.autograd.grad(z, (y, x))]


@scenario
def grad_unused(fw):
    x, y = leaf(fw, 1.0), leaf(fw, 1.0)
    z = (x * 2).sum()
    first = raised(lambda: fw.autograd.grad(z, y, retain_graph=True))
    return [first, fw.autograd.grad(z, y, allow_unused=True)[0]]


@scenario
def grad_materialized(fw):
    x, y = leaf(fw, 1.0), leaf(fw, 1.0)
    return [g.tolist() for g in fw.autograd.grad(x * 2, (x, y), materialize_grads=True)]


@scenario
def grads_batched(fw):
    x = leaf(fw, 1.0, 2.0)
    y = x * x
    (g,) = fw.autograd.grad(y, x, fw.eye(2), is_grads_batched=True)
    return g.tolist()


@scenario
def third_derivative(fw):
    x = leaf(fw, 2.0)
    y = x**4
    for _ in range(3):
        (y,) = fw.autograd.grad(y.sum(), x, create_graph=True)
    return y.tolist()


@scenario
def backward_create_graph(fw):
    x = leaf(fw, 3.0)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    fw.optim.SGD([x]).zero_grad()
    g.sum().backward()
    return [g.requires_grad, x.grad.tolist()]


@scenario
def backward_inputs(fw):
    x, y = leaf(fw, 1.0), leaf(fw, 2.0)
    (x * y).sum().backward(inputs=[x])
    return [x.grad.tolist(), y.grad]


@scenario
def backward_twice(fw):
    x = leaf(fw, 1.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return [raised(y.backward), x.grad.tolist()]


@scenario
def backward_errors(fw):
    x = leaf(fw, 1.0, 2.0)
    return [
        raised((x * 2).backward),
        raised(fw.ones(1).backward),
        raised(lambda: (x * 2).backward(fw.ones(3))),
        raised(lambda: (x * 2).sum().backward(inputs=[])),
        raised(lambda: fw.ones(2, dtype=fw.int64).requires_grad_()),
        raised(lambda: fw.autograd.backward([x.sum(), x.sum()], [None])),
    ]


@scenario
def no_grad_modes(fw):
    x = leaf(fw, 1.0)
    with fw.no_grad():
        a = x * 2
        with fw.enable_grad():
            b = x * 2
    with fw.set_grad_enabled(False):
        c = x * 2
    with fw.inference_mode():
        d = x * 2

    @fw.no_grad()
    def f():
        return x * 2

    @fw.no_grad
    def g():
        return x * 2

    flags = [t.requires_grad for t in (a, b, c, d, f(), g(), x * 2)]
    return [flags, fw.is_grad_enabled(), d.is_inference(), a.is_inference()]


@scenario
def no_grad_generator(fw):
    @fw.no_grad()
    def numbers():
        yield fw.is_grad_enabled()
        yield fw.is_grad_enabled()

    return [(inside, fw.is_grad_enabled()) for inside in numbers()]


@scenario
def leaf_properties(fw):
    x = leaf(fw, 1.0)
    y = x * 2
    z = y.detach()
    return [x.is_leaf, y.is_leaf, z.is_leaf, z.requires_grad, y.output_nr, x.grad_fn]


@scenario
def requires_grad_of_non_leaf(fw):
    y = leaf(fw, 1.0) * 2
    return raised(lambda: y.requires_grad_(False))


@scenario
def graph_walk(fw):
    a, b, d = (fw.tensor(v, requires_grad=True) for v in (2.0, 3.0, 4.0))
    c = a + b
    e = c * d
    (f1, _), (f2, _) = e.grad_fn.next_functions
    accumulate = c.grad_fn.next_functions[0][0]
    return [
        type(e.grad_fn).__name__, f1 is c.grad_fn, f2.variable is d, accumulate.variable is a,
        accumulate.name().split("::")[-1], accumulate.next_functions, hasattr(f1, "variable"),
        c.grad_fn.next_functions[0][0] is accumulate,
    ]  # fmt: skip


@scenario
def node_names(fw):
    x = fw.ones(2, 3, requires_grad=True)
    made = [
        x + 1, x - 1, x * 2, x / 2, -x, x**2, x.exp(), x.tanh(), x.sum(), x.mean(), x.t(),
        x[0], x.view(3, 2), x.relu(), x.sigmoid(), x @ x.t(), x.log(), x.abs(), x.clamp(0, 1),
        x.max(), x.unsqueeze(0), x.expand(4, 2, 3), x.clone(), x.permute(1, 0),
    ]  # fmt: skip
    return [type(t.grad_fn).__name__ for t in made]


@scenario
def tensor_hooks(fw):
    x = leaf(fw, 1.0, 2.0)
    seen = []
    y = x * 3
    handle = y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    y.sum().backward()
    handle.remove()
    first = x.grad.tolist()
    (x * 1).sum().backward()
    return [seen, first, x.grad.tolist()]


@scenario
def leaf_hook_sees_the_sum(fw):
    x = leaf(fw, 1.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 2 + x * 3).sum().backward()
    return [seen, x.grad.tolist()]


@scenario
def post_accumulate_hook(fw):
    x = leaf(fw, 1.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    return [seen, raised(lambda: (x * 2).register_post_accumulate_grad_hook(print))]


@scenario
def node_hooks(fw):
    x = leaf(fw, 1.0, 2.0)
    y = x * 3
    seen = []
    y.grad_fn.register_hook(lambda gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
    y.grad_fn.register_prehook(lambda go: (go[0] * 2,))
    y.sum().backward()
    return [seen, x.grad.tolist()]


@scenario
def hook_on_tensor_without_grad(fw):
    return raised(lambda: fw.ones(1).register_hook(print))


@scenario
def retained_grad(fw):
    x = leaf(fw, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    return [y.grad.tolist(), y.retains_grad, raised(fw.ones(1).retain_grad)]


@scenario
def assign_grad(fw):
    x = leaf(fw, 1.0, 2.0)
    x.grad = fw.ones(2)
    return [
        x.grad.tolist(),
        raised(lambda: setattr(x, "grad", fw.ones(3))),
        raised(lambda: setattr(x, "grad", 1)),
        raised(lambda: setattr(x, "grad", fw.ones(2, dtype=fw.float64))),
    ]


@scenario
def leaf_freed_after_use(fw):
    x = leaf(fw, 1.0)
    y = (x * 2).sum()
    y.backward()
    reference = weakref.ref(x)
    del x, y
    gc.collect()
    return reference() is None
