"""What hooks see and when, and whose gradients stay: the same on either framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.autograd.scenarios import leaf, raised

SCENARIOS: dict[str, Callable[[Any], Any]] = {}


def scenario(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    SCENARIOS[function.__name__] = function
    return function


def plain(value: Any) -> Any:
    """Lists for tensors, so that all is compared by its text."""
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value


def logger(log: list, name: str) -> Callable[..., None]:
    """A hook that notes its name and what it was called with."""
    return lambda *values: log.append([name, *plain(values)])


def first_without_gradient(fw):
    class F(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return None, g

    return F


@scenario
def leaves_are_served_before_older_nodes(fw):
    x, w = leaf(fw, 1.0), leaf(fw, 2.0)
    log: list[Any] = []
    for name, t in (("x", x), ("w", w)):
        t.register_hook(logger(log, name))
        t.register_post_accumulate_grad_hook(lambda t, n=name: log.append([n, t.grad.tolist()]))
    a = x * 3
    b = a * w
    c = b.square()
    for name, t in (("a", a), ("b", b), ("c", c)):
        t.register_hook(lambda g, n=name: log.append(n))
        t.grad_fn.register_hook(lambda gi, go, n=name: log.append(n + " node"))
    c.backward()
    return log


@scenario
def finished_leaves_are_seen_in_hooks(fw):
    x, w = leaf(fw, 1.0), leaf(fw, 2.0)
    seen = []
    a = x * 3
    a.register_hook(lambda g: seen.append([w.grad.tolist(), x.grad]))
    (a * w).backward()
    return seen


@scenario
def a_leaf_used_late_is_served_once(fw):
    x, w = leaf(fw, 1.0), leaf(fw, 2.0)
    log: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda t: log.append(["x", t.grad.tolist()]))
    w.register_post_accumulate_grad_hook(lambda t: log.append(["w", t.grad.tolist()]))
    (x * w * x + w.square() * 2 + w).backward()
    return log


@scenario
def an_error_keeps_finished_leaves(fw):
    x, w = leaf(fw, 1.0), leaf(fw, 2.0)
    a = x * 3

    def fails(g):
        raise ValueError("no")

    a.register_hook(fails)
    error = raised(lambda: (a * w).backward())
    b = (x * 2).square()
    c = b * w
    c.backward(retain_graph=True)
    freed = (x * 2).square()
    freed.backward()
    again = raised(lambda: (freed * w).backward())
    return [error, again, plain(w.grad), plain(x.grad)]


@scenario
def all_hooks_of_a_leaf(fw):
    x = leaf(fw, 1.0)
    log: list[Any] = []
    node = x.view_as(x).grad_fn.next_functions[0][0]
    node.register_hook(logger(log, "post"))
    node.register_prehook(logger(log, "pre"))
    x.register_post_accumulate_grad_hook(lambda t: log.append("accumulated"))
    x.register_hook(logger(log, "tensor"))
    x.register_hook(lambda g: g * 2)
    node.register_prehook(lambda gs: (gs[0] + 1,))
    (x * 3).backward()
    log.append("grad")
    fw.autograd.grad(x * 3, x)
    return [log, x.grad.tolist()]


@scenario
def all_hooks_of_a_node(fw):
    x = leaf(fw, 1.0)
    log: list[Any] = []
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: log.append(["post", *plain(gi[:1]), *plain(go)]))
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    y.register_hook(lambda g: g + 1)
    y.retain_grad()
    y.register_hook(logger(log, "last"))
    (y * 3).backward()
    return [log, y.grad.tolist(), x.grad.tolist()]


@scenario
def hooks_on_what_got_no_gradient(fw):
    x, y = leaf(fw, 1.0), leaf(fw, 2.0)
    log: list[Any] = []
    a = x * 2
    x.register_hook(logger(log, "x"))
    a.register_hook(logger(log, "a"))
    a.grad_fn.register_prehook(logger(log, "pre"))
    a.grad_fn.register_hook(logger(log, "post"))
    x.register_post_accumulate_grad_hook(lambda t: log.append("accumulated"))
    first_without_gradient(fw).apply(a, y).backward()
    return [log, x.grad, y.grad.tolist()]


@scenario
def hooks_on_one_of_several_outputs(fw):
    x = leaf(fw, 1.0, 2.0, 3.0)
    log: list[Any] = []
    a, b, _ = x.unbind()
    b.register_hook(logger(log, "b"))
    a.register_hook(logger(log, "a"))
    b.retain_grad()
    a.backward()
    return [log, x.grad.tolist(), b.grad]


@scenario
def hooks_off_the_path_to_inputs(fw):
    a, b = leaf(fw, 1.0), leaf(fw, 2.0)
    log: list[Any] = []
    c = a * 2
    for name, t in (("a", a), ("b", b), ("c", c)):
        t.register_hook(logger(log, name))
    c.retain_grad()
    y = c * b
    fw.autograd.grad(y, [b], retain_graph=True)
    y.backward(inputs=[b])
    return [log, c.grad, a.grad, b.grad.tolist()]


@scenario
def captured_gradients_and_hooks(fw):
    x = leaf(fw, 1.0)
    y = x * 2
    log: list[Any] = []
    y.register_hook(lambda g: g * 10)
    y.grad_fn.register_prehook(logger(log, "pre"))
    y.grad_fn.register_hook(lambda gi, go: log.append("post"))
    z = y * 3
    both = fw.autograd.grad(z, [y, x], retain_graph=True)
    alone = fw.autograd.grad(z, [y], retain_graph=True)
    z.backward(inputs=[y], retain_graph=True)
    return [log, plain(both), plain(alone), y.grad.tolist(), x.grad, y.retains_grad]


@scenario
def inputs_of_every_kind(fw):
    x = leaf(fw, 1.0, 2.0)
    a = x * 2
    a.sum().backward(inputs=[a, a, x, x], retain_graph=True)
    a.sum().backward()
    first = [a.grad.tolist(), x.grad.tolist()]
    y = leaf(fw, 1.0, 2.0)
    b, c = y.chunk(2)
    c.sum().backward(inputs=[b, y])
    v = y[:1]
    (v * 3).sum().backward(inputs=[v])
    wrong = raised(lambda: (y * 2).sum().backward(inputs=[fw.ones(1)]))
    return [first, b.grad, y.grad.tolist(), v.grad.tolist(), wrong]


@scenario
def hooks_that_remove_hooks(fw):
    x = leaf(fw, 1.0)
    log: list[int] = []
    handles: list[Any] = []

    def first(g):
        log.append(1)
        handles[1].remove()
        handles[0].remove()

    handles.append(x.register_hook(first))
    handles.append(x.register_hook(lambda g: log.append(2)))
    handles.append(x.register_hook(lambda g: log.append(3)))
    for _ in range(2):
        (x * 2).backward()
        log.append(0)
    x.register_hook(lambda g: x.register_hook(lambda g: log.append(4)) and None)
    (x * 2).backward()
    return log


@scenario
def what_hooks_may_return(fw):
    found = []
    for replace in (
        lambda g: 1,
        lambda g: fw.ones(3),
        lambda g: g.double(),
        lambda g: (g,),
        lambda g: g * 2,
    ):
        x = leaf(fw, 1.0)
        x.register_hook(replace)
        found.append([raised((x * 2).backward), plain(x.grad)])
    for register in ("register_hook", "register_prehook"):
        for replace in (
            lambda gs: 1,
            lambda gs: gs[0] * 2,
            lambda gs: [gs[0]],
            lambda gs: (fw.ones(3),),
            lambda gs: (gs[0].double(),),
            lambda gs: (gs[0] * 5,),
            lambda gs: (None,),
            lambda gs: (gs[0], gs[0]),
        ):
            x = leaf(fw, 1.0)
            y = x.square() if register == "register_hook" else x * 2
            getattr(y.grad_fn, register)(lambda *gs, r=replace: r(gs[0]))
            found.append([raised(y.backward), x.grad is None])
    for value in (3, x):
        x = leaf(fw, 1.0)
        x.register_post_accumulate_grad_hook(lambda t, v=value: v)
        found.append(raised((x * 2).backward))
    return found


@scenario
def retained_then_written(fw):
    x = leaf(fw, 1.0)
    a = x * 1
    a.retain_grad()
    old: list[Any] = []
    a.register_hook(logger(old, "old"))
    a.mul_(2)
    a.register_hook(logger(old, "new"))
    (a * 5).sum().backward()
    return [a.grad.tolist(), a.retains_grad, old]


@scenario
def retained_then_written_through_views(fw):
    x = leaf(fw, 1.0, 2.0)
    a = x * 1
    v = a[:1]
    a.retain_grad()
    v.retain_grad()
    v.mul_(3)
    (a * 5).sum().backward(retain_graph=True)
    first = [plain(a.grad), plain(v.grad), a.retains_grad, v.retains_grad]
    (v * 7).sum().backward()
    return [first, plain(a.grad), plain(v.grad), x.grad.tolist()]


@scenario
def frozen_between_forward_and_backward(fw):
    x, w, v = leaf(fw, 1.0), leaf(fw, 2.0), leaf(fw, 3.0)
    log: list[Any] = []
    x.register_hook(logger(log, "x"))
    x.register_post_accumulate_grad_hook(lambda t: log.append("accumulated"))
    y = x * w * v
    x.requires_grad_(False)
    v.detach_()
    y.backward()
    return [x.grad, w.grad.tolist(), v.grad, log]


@scenario
def leaf_moved_into_the_graph(fw):
    x, w = leaf(fw, 1.0), leaf(fw, 2.0)
    y = x * 2
    x.requires_grad_(False)
    x.mul_(w)
    return [raised(y.backward), x.grad]


@scenario
def second_backward_adds_into_the_same_grad(fw):
    x = leaf(fw, 1.0, 2.0)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    (x**3).sum().backward()
    flags = [x.grad is g, g.requires_grad, g.tolist(), type(g.grad_fn).__name__]
    (x**3).sum().backward(create_graph=True)
    return [flags, x.grad is g, x.grad.requires_grad, x.grad.tolist()]


@scenario
def constant_gradients(fw):
    x, y = leaf(fw, 1.0, 2.0), leaf(fw, 1.0)
    found = []
    for z in ((x * 2).sum(), (x + 1).sum(), (x * x).sum()):
        (g,) = fw.autograd.grad(z, x, create_graph=True)
        found.append([g.requires_grad, g.is_leaf])
    for create in (True, False):
        gs = fw.autograd.grad(x.sum(), (x, y), create_graph=create, materialize_grads=True)
        found.append([[g.requires_grad, g.tolist()] for g in gs])
    return found


@scenario
def layout_of_gradients(fw):
    x = fw.ones(2, 3, 4, 4).contiguous(memory_format=fw.channels_last).requires_grad_()
    (x * 2).sum().backward()
    strides = [x.grad.stride()]
    m = fw.ones(3, 2).t().requires_grad_()
    (m * fw.ones(2, 3)).sum().backward()
    n = fw.ones(2, 3, requires_grad=True)
    n.t().contiguous().mul(fw.ones(3, 2)).sum().backward()
    return [*strides, m.grad.stride(), n.grad.stride(), x.grad.sum().item()]


@scenario
def complex_scalars_need_a_gradient(fw):
    z = fw.tensor(1 + 1j, requires_grad=True)
    return [raised((z * z).backward), raised((z * z).abs().backward)]


@scenario
def multi_grad_hooks(fw):
    graph = fw.autograd.graph
    a, b, c = leaf(fw, 2.0), leaf(fw, 3.0), leaf(fw, 4.0)
    d = b * 2
    seen: list[Any] = []
    handle = graph.register_multi_grad_hook((a, c, d), lambda gs: seen.append(plain(list(gs))))
    (a * d).backward(retain_graph=True)
    (a * d + c).backward(inputs=[a], retain_graph=True)
    (a * d + c).backward(retain_graph=True)
    handle.remove()
    (a * d).backward(retain_graph=True)
    graph.register_multi_grad_hook(
        (a, c, d, fw.ones(1)), lambda g: seen.append(g.tolist()), mode="any"
    )
    (a * d).backward(retain_graph=True)
    (a * 1).backward()
    return seen


@scenario
def written_index(fw):
    found = []
    for read in (
        lambda x, i: x[i],
        lambda x, i: x.index_put((i,), fw.ones(2)),
        lambda x, i: x[:, None][i],
    ):
        x, i = leaf(fw, 1.0, 2.0, 3.0), fw.tensor([0, 1])
        y = read(x, i)
        i.zero_()
        found.append([raised(y.sum().backward), x.grad is None])
    x, v, i = leaf(fw, 1.0, 2.0), leaf(fw, 5.0, 6.0), fw.tensor([0, 1])
    z = x * 1
    z[i] = v
    i.zero_()
    found.append(raised(z.sum().backward))
    x, mask = leaf(fw, 1.0, 2.0), fw.tensor([True, False])
    y = x[mask]
    mask[1] = True
    found.append(raised(y.sum().backward))
    x, i = leaf(fw, 1.0, 2.0), fw.tensor(1)
    y = x[i] * 2
    i.zero_()
    y.backward()
    return [*found, x.grad.tolist(), type(y.grad_fn.next_functions[0][0]).__name__]


@scenario
def indices_are_packed_and_freed(fw):
    x, packed = leaf(fw, 1.0, 2.0, 3.0), []
    with fw.autograd.graph.saved_tensors_hooks(
        lambda t: packed.append(t.tolist()) or t.clone(), lambda t: t
    ):
        y = x[fw.tensor([0, 2])] + x[[1, 1]] + x[:2]
    y.sum().backward()
    z = x[fw.tensor([0])]
    z.backward()
    w = x[1] + x[1:2]
    w.backward()
    return [packed, x.grad.tolist(), raised(z.backward), raised(w.backward)]


@scenario
def index_written_before_the_second_derivative(fw):
    x, i = leaf(fw, 1.0, 2.0), fw.tensor([0, 0])
    (g,) = fw.autograd.grad((x[i] ** 3).sum(), x, create_graph=True)
    (h,) = fw.autograd.grad(g.sum(), x, retain_graph=True)
    i.add_(1)
    return [h.tolist(), raised(g.sum().backward)]


@scenario
def edges_stand_for_tensors(fw):
    edge = fw.autograd.graph.get_gradient_edge
    x = leaf(fw, 2.0)
    y = x**2
    a, b = (y * 3).unbind()[0], edge(y)
    found = [plain(fw.autograd.grad(a, b)), plain(fw.autograd.grad(b, x, fw.ones(1)))]
    y = x**2
    found.append(plain(fw.autograd.grad(y, edge(x), retain_graph=True)))
    fw.autograd.backward(edge(y), fw.ones(1))
    return [*found, x.grad.tolist()]


@scenario
def wrong_calls_of_grad(fw):
    x = leaf(fw, 1.0, 2.0)
    grad = fw.autograd.grad
    return [
        raised(lambda: grad(x.sum(), [])),
        raised(lambda: grad([], x)),
        raised(lambda: grad(x.sum(), fw.ones(1))),
        raised(lambda: grad(x * 2, x)),
        raised(lambda: grad(x.sum(), x, fw.ones(2))),
        raised(lambda: grad(x.sum(), x, [fw.ones(()), fw.ones(())])),
        raised(lambda: x.sum().backward(fw.ones((), dtype=fw.complex64))),
        raised(lambda: x.sum().backward(3.0)),
        raised(lambda: grad(3, x)),
        raised(lambda: grad(x.sum(), 3)),
    ]


@scenario
def hooks_of_modules(fw):
    def net(inplace):
        model = fw.nn.Sequential(
            fw.nn.Linear(2, 2), fw.nn.ReLU(inplace=inplace), fw.nn.Linear(2, 1)
        )
        with fw.no_grad():
            for p in model.parameters():
                p.fill_(0.5)
        return model

    log: list[Any] = []
    model, x = net(False), leaf(fw, 1.0, 2.0)
    for i, layer in enumerate(model):
        layer.register_full_backward_hook(
            lambda _, gi, go, i=i: log.append([i, plain(gi), plain(go)])
        )
        layer.register_full_backward_pre_hook(lambda _, go, i=i: log.append([i, plain(go)]))
    model(x).backward()
    written = net(True)
    for layer in written:
        layer.register_full_backward_hook(lambda *gs: None)
    replaced = fw.nn.Linear(1, 1, bias=False)
    with fw.no_grad():
        replaced.weight.fill_(2.0)
    replaced.register_full_backward_hook(lambda _, gi, go: (gi[0] * 10,))
    replaced.register_full_backward_pre_hook(lambda _, go: (go[0] * 3,))
    y = leaf(fw, 1.0)
    replaced(y).backward()
    return [
        log, x.grad.tolist(), raised(lambda: written(leaf(fw, 1.0, 2.0))),
        y.grad.tolist(), replaced.weight.grad.tolist(),
    ]  # fmt: skip


@scenario
def hooks_while_differentiating_twice(fw):
    log: list[Any] = []
    x = leaf(fw, 2.0)
    y = x**3
    y.register_hook(lambda g: log.append(["y", g.tolist(), g.requires_grad]))
    x.register_hook(lambda g: log.append(["x", g.tolist(), g.requires_grad]))
    (g,) = fw.autograd.grad(y, x, create_graph=True)
    g.backward()
    z = leaf(fw, 2.0)
    w = z**2
    w.register_hook(lambda g: g * z)
    (first,) = fw.autograd.grad(w, z, create_graph=True)
    return [log, x.grad.tolist(), first.tolist(), plain(fw.autograd.grad(first, z))]


@scenario
def backward_inside_backward(fw):
    x, w = leaf(fw, 2.0), leaf(fw, 3.0)

    class F(fw.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            with fw.enable_grad():
                (w * 4).backward()
            return g * 2

    (F.apply(x) * w).backward()
    y = x * w
    inner = w * 5
    y.register_hook(lambda g: inner.backward())
    y.backward()
    return [x.grad.tolist(), w.grad.tolist()]


@scenario
def handles_and_flags(fw):
    x, log = leaf(fw, 1.0), []
    with x.register_hook(lambda g: log.append(1)):
        (x * 2).backward()
    (x * 2).backward()
    x.register_hook(logger(log, "kept"))
    x.requires_grad_(False).requires_grad_(True)
    x.data = fw.full((1,), 3.0)
    (x * x).backward()
    y = x * 2
    y.register_hook(logger(log, "old"))
    z = y + 3
    y.detach_()
    z.backward()
    x.retain_grad()
    return [log, x.grad.tolist(), x.retains_grad]


@scenario
def results_changed_through_data(fw):
    found = []
    for reduce in ("median", "nanmedian", "max", "min"):
        x = leaf(fw, 1.0, 2.0, 4.0)
        y = getattr(x, reduce)()
        y.data.add_(16)
        y.backward()
        found.append(x.grad.tolist())
    return found


@scenario
def hooks_of_a_tensor_share_the_gradient(fw):
    x, log = leaf(fw, 1.0), []
    y = x * 2

    def mark(grad):
        grad.mark = "seen"
        log.append(grad)

    def replace(grad):
        log.append([grad is log[0], grad.mark])
        log[0] = grad * 3
        return log[0]

    def swap(grad):
        log.append([grad is log[0], grad.tolist()])
        grad.data = fw.full((1,), 7.0)

    for hook in (mark, replace, swap):
        y.register_hook(hook)
    y.backward()
    return [log[1:], x.grad.tolist()]


@scenario
def what_a_hook_has_kept_is_not_the_gradient_of_a_leaf(fw):
    makers: list[Callable[[Any], Any]] = [
        lambda x: x + 1, lambda x: x * 1, lambda x: x.clone(), lambda x: x + x,
        lambda x: x.expand(2), lambda x: x.unbind()[0],
    ]  # fmt: skip
    found = []
    for make in makers:
        x, log = leaf(fw, 1.0, 2.0), []
        y = make(x)
        y.register_hook(log.append)
        y.grad_fn.register_prehook(log.extend)
        y.backward(fw.full(y.shape, 3.0))
        x.grad.add_(10)
        found.append([plain(log), x.grad.tolist()])
    return found
