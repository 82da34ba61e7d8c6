"""User-written Functions, `autograd.functional` and anomaly detection, for either framework."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

from tests.autograd.scenarios import leaf, raised

SCENARIOS: dict[str, Callable[[Any], Any]] = {}


def scenario(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    SCENARIOS[function.__name__] = function
    return function


@scenario
def saves_input_and_output(fw):
    class F(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(x, out)
            ctx.scale = 2
            return out * ctx.scale

        @staticmethod
        def backward(ctx, g):
            x, out = ctx.saved_tensors
            return g * out * ctx.scale + 0 * x

    x = leaf(fw, 0.0, 1.0)
    y = F.apply(x)
    y.sum().backward()
    return [y.grad_fn.name(), [round(v, 5) for v in x.grad.tolist()], raised(y.sum().backward)]


@scenario
def several_inputs_and_outputs(fw):
    class F(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x, k, y):
            ctx.needs = ctx.needs_input_grad
            return x * k, y + 1

        @staticmethod
        def backward(ctx, gx, gy):
            return gx * 3, None, gy

    x, y = leaf(fw, 1.0), fw.ones(1)
    a, b = F.apply(x, 3, y)
    a.sum().backward()
    node = a.grad_fn
    return [
        x.grad.tolist(),
        node.needs,
        b.output_nr,
        node.next_functions[1],
        len(node.next_functions),
    ]


@scenario
def setup_context(fw):
    class F(fw.autograd.Function):
        @staticmethod
        def forward(x, power):
            return x**power

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.power = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.power * x ** (ctx.power - 1), None

    x = leaf(fw, 3.0)
    (first,) = fw.autograd.grad(F.apply(x, 3).sum(), x, create_graph=True)
    (second,) = fw.autograd.grad(first.sum(), x)
    return [first.tolist(), second.tolist()]


@scenario
def materialized_grads(fw):
    seen: list[Any] = []

    class F(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g1, g2):
            seen.append(None if g2 is None else g2.tolist())
            return g1, None

    for flag in (True, False):
        a, _ = F.apply(leaf(fw, 1.0), flag)
        a.sum().backward()
    return seen


@scenario
def non_differentiable_output(fw):
    class F(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            index = x.argmax()
            value = x * 2
            mask = x * 0
            ctx.mark_non_differentiable(index, mask)
            return value, index, mask

        @staticmethod
        def backward(ctx, g, g_index, g_mask):
            return g * 2

    x = leaf(fw, 1.0, 5.0)
    value, index, mask = F.apply(x)
    value.sum().backward()
    return [value.requires_grad, index.requires_grad, mask.requires_grad, x.grad.tolist()]


@scenario
def dirty_input(fw):
    class F(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(fw, 1.0, 2.0)
    y = x * 3
    z = F.apply(y)
    z.sum().backward()
    return [z is y, y.tolist(), x.grad.tolist(), raised(lambda: F.apply(leaf(fw, 1.0)))]


@scenario
def input_returned_as_it_is(fw):
    class F(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf(fw, 1.0)
    y = F.apply(x)
    y.sum().backward()
    return [y is x, y.requires_grad, x.is_leaf, x.grad.tolist()]


@scenario
def wrong_backward(fw):
    def function(result):
        class F(fw.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                return x * y

            @staticmethod
            def backward(ctx, g):
                return result(g)

        return F

    x, y = leaf(fw, 1.0, 2.0), leaf(fw, 1.0, 2.0)
    return [
        raised(function(lambda g: g).apply(x, y).sum().backward),
        raised(function(lambda g: (g, fw.ones(3))).apply(x, y).sum().backward),
        raised(function(lambda g: (g, g)).apply(x, 2.0).sum().backward),
        raised(function(lambda g: (g, g, None)).apply(x, y).sum().backward),
    ]


@scenario
def instantiated(fw):
    class F(fw.autograd.Function):
        pass

    return [raised(lambda: F.apply(leaf(fw, 1.0)))]


@scenario
def once_differentiable(fw):
    class F(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @fw.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = leaf(fw, 3.0)
    F.apply(x).sum().backward()
    w = leaf(fw, 2.0)
    (g,) = fw.autograd.grad((F.apply(x) * w).sum(), x, create_graph=True)
    following = [(type(n).__name__, i) for n, i in g.grad_fn.next_functions]
    return [x.grad.tolist(), raised(g.sum().backward), type(g.grad_fn).__name__, following]


@scenario
def no_graph_without_grad(fw):
    class F(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    with fw.no_grad():
        inside = F.apply(leaf(fw, 1.0))
    return [inside.requires_grad, F.apply(fw.ones(1)).requires_grad]


@scenario
def functional_products(fw):
    A = fw.autograd.functional
    x = fw.tensor([1.0, 2.0, 3.0])
    v = fw.tensor([1.0, 0.0, 2.0])

    def cube(x):
        return x**3

    def total(x):
        return (x**3).sum()

    return [
        A.vjp(cube, x, v)[1].tolist(), A.jvp(cube, x, v)[1].tolist(),
        A.jacobian(cube, x).tolist(), A.hessian(total, x).tolist(),
        A.vhp(total, x, v)[1].tolist(), A.hvp(total, x, v)[1].tolist(),
    ]  # fmt: skip


@scenario
def functional_of_tuples(fw):
    A = fw.autograd.functional
    x, y = fw.tensor([1.0, 2.0]), fw.tensor([3.0])

    def f(x, y):
        return x * y, y * y

    jacobian = A.jacobian(f, (x, y))
    outputs, products = A.vjp(f, (x, y), (fw.ones(2), fw.ones(1)))
    return [
        [[block.tolist() for block in row] for row in jacobian],
        [o.tolist() for o in outputs], [p.tolist() for p in products],
    ]  # fmt: skip


@scenario
def functional_errors(fw):
    A = fw.autograd.functional
    x = fw.ones(2)
    return [
        raised(lambda: A.vjp(lambda x: x, 3.0)),
        raised(lambda: A.vjp(lambda x: x, x, fw.ones(3))),
        raised(lambda: A.vjp(lambda x: x, x)),
        raised(lambda: A.hessian(lambda x: x, x)),
        raised(lambda: A.jacobian(lambda x: x.detach(), x, strict=True)),
    ]


@scenario
def anomaly_names_the_forward_line(fw):
    x = leaf(fw, -1.0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with fw.autograd.detect_anomaly():
            y = (x * 0).sqrt().sum()
            error = raised(lambda: (y * 0).backward())
    texts = [str(w.message) for w in seen]
    return [error, texts[0], any("Error detected in SqrtBackward0" in t for t in texts),
            any("anomaly_names_the_forward_line" in t for t in texts)]  # fmt: skip


@scenario
def anomaly_names_the_backward_that_recorded(fw):
    x = leaf(fw, 0.0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with fw.autograd.detect_anomaly():
            (g,) = fw.autograd.grad(x**1.5, x, create_graph=True)
            error = raised((g * 0).backward)
    return [error, [str(w.message).strip().split(".")[0] for w in seen]]


def made(fw: Any, forward: Callable, backward: Callable, **others: Callable) -> Any:
    """The `apply` of a Function made of these functions."""
    members = {"forward": forward, "backward": backward, **others}
    statics = {name: staticmethod(function) for name, function in members.items()}
    return type("Made", (fw.autograd.Function,), statics).apply


@scenario
def gradients_of_what_has_none(fw):
    seen: list[Any] = []

    def forward(ctx, x):
        index, mask = x.argmax(), x * 0
        ctx.mark_non_differentiable(index, mask)
        return x * 2, index, mask, x.long(), None, 3

    def backward(ctx, *gs):
        seen.append([g if g is None else (g.tolist(), str(g.dtype).split(".")[1]) for g in gs])
        return gs[0] * 2

    x = leaf(fw, 1.0, 5.0)
    outputs = made(fw, forward, backward)(x)
    outputs[0].sum().backward()
    return [seen, [getattr(out, "requires_grad", out) for out in outputs], x.grad.tolist()]


@scenario
def default_arguments_of_forward(fw):
    seen: list[Any] = []

    def setup_context(ctx, inputs, output):
        seen.append([len(inputs), inputs[1]])

    apply = made(fw, lambda x, k=3: x * k, lambda ctx, g: (g, None), setup_context=setup_context)
    x = leaf(fw, 1.0)
    apply(x).backward()
    apply(x, 5).backward()
    apply(x, k=7).backward()
    return [seen, x.grad.tolist()]


@scenario
def backward_and_vjp_both(fw):
    def times(ctx, *g):
        return g[0] * 2

    x = leaf(fw, 1.0)
    both = made(fw, lambda ctx, x: x * 2, times, vjp=times)
    return [raised(both(x).backward), x.grad]


@scenario
def marked_dirty(fw):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    def other(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    def forgets(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x * 1

    def two(ctx, x, z):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x, x * z

    def twice(ctx, *gs):
        return gs[0] * 2

    x = leaf(fw, 1.0, 2.0)
    with fw.no_grad():
        inside = made(fw, forward, twice)(x)
    found = [x.is_leaf, x.requires_grad, inside is x, inside.requires_grad, x._version]
    y = fw.ones(2)
    found += [made(fw, forward, twice)(y) is y, y._version]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found.append(made(fw, other, twice)(x).requires_grad)
    found.append([w.category.__name__ for w in seen])
    found.append(raised(lambda: made(fw, forgets, twice)(x * 1)))
    base = x * 1
    part = made(fw, forward, twice)(base[:1])
    base.sum().backward()
    found += [part.tolist(), base.tolist(), x.grad.tolist()]
    z = x * 1
    x.grad.zero_()
    a, b = made(fw, two, lambda ctx, g, h: (g * 2 + h * 2, h))(z, leaf(fw, 1.0, 1.0))
    (a.sum() + b.sum()).backward()
    view = raised(lambda: made(fw, two, twice)((x * 1)[:1], leaf(fw, 1.0)))
    return [*found, a is z, x.grad.tolist(), view]


@scenario
def inputs_as_outputs(fw):
    x = leaf(fw, 1.0, 2.0)
    a, b = made(fw, lambda ctx, x: (x, x), lambda ctx, g, h: g * 2 + h * 3)(x)
    (a.sum() + b.sum()).backward()
    y = x * 1
    c = made(fw, lambda ctx, x: x, lambda ctx, g: g)(y)
    d = made(fw, lambda ctx, x: x.view(-1), lambda ctx, g: g)(y)
    return [
        a is b, a is x, x.grad.tolist(), c is y, c._base is not None,
        raised(lambda: c.mul_(2)), raised(lambda: d.mul_(2)),
    ]  # fmt: skip


@scenario
def functions_without_gradient_in_a_chain(fw):
    seen: list[Any] = []

    def backward(ctx, g):
        seen.append(None if g is None else g.tolist())
        return g

    def unmaterialized(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    found = []
    for forward in (lambda ctx, x: x * 2, unmaterialized):
        x = leaf(fw, 1.0)
        made(fw, lambda ctx, x: x * 2, lambda ctx, g: None)(
            made(fw, forward, backward)(x)
        ).backward()
        found.append(None if x.grad is None else x.grad.tolist())
    return [found, seen]


@scenario
def hooks_of_a_function(fw):
    seen: list[Any] = []

    def note(name):
        return lambda *gs: seen.append([name, repr(gs).replace("nnkit.", "").replace("torch.", "")])

    x = leaf(fw, 1.0)
    a, b = made(fw, lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g * 2 + h * 3)(x)
    a.grad_fn.register_hook(note("post"))
    a.grad_fn.register_prehook(note("pre"))
    b.register_hook(note("b"))
    a.backward()
    return [seen, x.grad.tolist()]


@scenario
def functions_without_history(fw):
    def same(ctx, x, k=None):
        ctx.save_for_backward(x, k)
        return x

    def back(ctx, g):
        return g

    x, leaf_ = fw.ones(2), leaf(fw, 1.0, 2.0)
    y = made(fw, same, back)(x, 3)  # what cannot be saved is refused when it would be
    found: list[Any] = [y is x, y._base is x, y.requires_grad]
    y.mul_(2)
    with fw.no_grad():
        view = made(fw, lambda ctx, x: x.view(-1), back)(leaf_)
        copy = made(fw, lambda ctx, x: x * 2, back)(leaf_)
        moved = fw.tensor([[1.0]], requires_grad=True)
        moved.swapdims_(0, 1)
    moved.backward()
    refused = raised(lambda: made(fw, same, back)(leaf_, 3))
    a, b = made(fw, lambda ctx, x, k: (x * 2, k), lambda ctx, g, h: (g, None))(leaf_, x)
    return [
        *found, x.tolist(), view.requires_grad, copy.requires_grad, refused,
        b is x, b.requires_grad, a.requires_grad, moved.grad.tolist(), moved.is_leaf,
    ]  # fmt: skip


@scenario
def retained_gradients_lie_by_rows(fw):
    x = fw.ones(1, 1, 2, 2, requires_grad=True)
    y = x.permute(1, 3, 0, 2)
    fw.autograd.backward(y, fw.ones_like(y), inputs=[y])
    return [y.grad.stride(), y.retains_grad]


@scenario
def leaves_have_gradients_of_their_own(fw):
    kept = []

    class Same(fw.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            kept.append(g * 2)
            return kept[-1], kept[-1]

    a, b = leaf(fw, 1.0, 2.0), leaf(fw, 3.0, 4.0)
    Same.apply(a, b).sum().backward()
    a.grad.zero_()
    kept[0].add_(10)
    return [a.grad.tolist(), b.grad.tolist()]


@scenario
def a_view_that_forward_made_and_wrote(fw):
    class Front(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            view = x.clone()[:1]
            view += 2
            return view

        @staticmethod
        def backward(ctx, g):
            return fw.cat([g, g * 0])

    x = leaf(fw, 1.0, 2.0)
    y = Front.apply(x)
    y.sum().backward()
    return [y.grad_fn.name(), y.tolist(), x.grad.tolist()]


@scenario
def callbacks_after_a_backward(fw):
    log = []
    queue = fw.autograd.Variable._execution_engine.queue_callback

    class Queues(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            queue(lambda: log.append(["called", x.grad is not None]))
            return g

    x = leaf(fw, 1.0)
    x.register_post_accumulate_grad_hook(lambda t: log.append("accumulated"))
    Queues.apply(x).sum().backward()
    return [log, raised(lambda: queue(print))]


@scenario
def callbacks_from_what_unpacks_saved_tensors(fw):
    log = []
    queue = fw.autograd.Variable._execution_engine.queue_callback

    def unpack(x):
        queue(lambda: log.append(x0.grad is not None))
        return x

    x0 = leaf(fw, 1.0, 2.0)
    x = x0.reshape(1, 2)
    with fw.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
        loss = fw.nn.functional.triplet_margin_loss(x.sin(), x * 2, x.cos())
    loss.backward()
    return [len(log), all(log)]


@scenario
def gradients_in_a_list_and_saved_tensors_read_once(fw):
    log = []

    class Product(fw.autograd.Function):
        boxed_grads_call = clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.detach().clone())
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grads):
            (x,) = ctx.saved_tensors
            kept = weakref.ref(x)
            log.append([isinstance(grads, list), len(grads), raised(lambda: ctx.saved_tensors)])
            g = grads.pop() * x
            del x
            log.append(kept() is None)
            return g

    x = leaf(fw, 1.0, 2.0)
    y, z = Product.apply(x)
    (y + z).sum().backward()
    return [log, x.grad.tolist()]
