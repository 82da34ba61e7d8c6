"""Leaves that become other tensors between forward and backward, settings that hooks change, and
passes within passes."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from tests.autograd.scenarios import leaf, raised

SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def numbers(tensors):
    return [None if t is None else t.tolist() for t in tensors]


def gradients(fw, of, tensor):
    return numbers(fw.autograd.grad(of, tensor, retain_graph=True))


def form(x):
    return x.grad.tolist(), str(x.grad.dtype).split(".")[1]


def outcome(function):
    """What a function returns, or the name of what it raises."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__


@scenario
def other_memory_of_a_leaf(fw):
    def run(source, *modes):
        found = []
        for mode in modes:
            x = leaf(fw, 1.0, 2.0)
            y = (x * 2).sum()
            with fw.no_grad():
                x.set_(*source)
            z = (x * 3).sum()
            if mode == "backward":
                y.backward()
                z.backward() if x.numel() == 2 else None
            elif mode == "inputs":
                y.backward(inputs=[x])
            else:
                terms = {"before": y, "after": z, "both": y + z}[mode]
                found.append(outcome(partial(gradients, fw, terms, x)))
            found.append(None if x.grad is None else x.grad.tolist())
        return found

    same = run((fw.tensor([5.0, 6.0]),), "before", "after", "both", "backward", "inputs")
    shapes = [run((fw.zeros(*n),), "before", "backward") for n in ((1,), (0,), (1, 2))]
    return [same, shapes, run((), "before", "backward")]


@scenario
def other_dtype_of_a_leaf(fw):
    found = []
    for dtype in (fw.float32, fw.float64, fw.bfloat16):
        x = leaf(fw, 1.0, 2.0)
        y = (x * 2).sum()
        x.data = x.data.to(dtype)
        found.append(outcome(partial(gradients, fw, y, x)))
        y.backward(inputs=[x], retain_graph=True)
        found.append(None if x.grad is None else x.grad.tolist())
        y.backward(retain_graph=True)
        found.append(form(x))
        x.grad = None
        (y + (x * 3).sum()).backward()
        found.append(form(x))
    return found


@scenario
def other_shape_of_a_leaf(fw):
    found = []
    for shape in ((3,), (0,), (1, 2)):
        for operation in (fw.exp, fw.neg, lambda x: x * x):
            x = leaf(fw, 1.0, 2.0)
            y = operation(x).sum()
            x.data = fw.ones(shape)
            found.append(raised(y.backward))
    return found


@scenario
def node_of_a_leaf_that_began_anew(fw):
    seen = []
    x = leaf(fw, 1.0, 2.0)
    x.register_hook(lambda g: seen.append(("tensor", g.tolist())))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(("accumulated", p.grad.tolist())))
    y = (x * 2).sum()
    node = y.grad_fn.next_functions[0][0].next_functions[0][0]
    node.register_hook(lambda *_: seen.append("post"))
    node.register_prehook(lambda *_: seen.append("pre"))
    with fw.no_grad():
        x.set_(fw.tensor([3.0, 4.0]))
    again = y.grad_fn.next_functions[0][0].next_functions[0][0]
    edge = fw.autograd.graph.get_gradient_edge(x)
    found = [again is node, edge.node is node, again.variable is x, again._sequence_nr()]
    z = (x * x).sum()
    found.append(numbers(fw.autograd.grad(y + z, x, retain_graph=True)))
    former = fw.autograd.graph.GradientEdge(node, 0)
    found.append(numbers(fw.autograd.grad(y + z, former, retain_graph=True)))
    (y + z).backward(retain_graph=True)
    (y + z).backward(create_graph=True)
    return [*found, x.grad.tolist(), seen]


@scenario
def swapped_between_forward_and_backward(fw):
    swap = import_module(f"{fw.__name__}.utils").swap_tensors

    def run(make):
        x, other = leaf(fw, 1.0, 2.0), leaf(fw, 5.0, 6.0)
        y, x, _kept = make(x)
        first = raised(lambda: swap(x, other))
        found = [first, x.tolist(), other.tolist()]
        for tensor in (x, other):
            found.append(outcome(partial(gradients, fw, y, tensor)))
        return [*found, raised(y.backward), x.grad is None, raised((x * 3).sum().backward)]

    def after_backward(x):
        y = (x * x).sum()
        y.backward(retain_graph=True)
        return y, x, None

    def gradient(x):
        x.grad = fw.ones(2)
        return (x * 2).sum(), x.grad, x

    return [
        run(lambda x: ((x * 2).sum(), x, None)),
        run(lambda x: ((x * x).sum(), x, None)),
        run(lambda x: (fw.stack([x, x]).sum(), x, None)),
        run(lambda x: (x[:1].sum(), x, x[1:])),
        run(lambda x: (x.sum(), x, [x, x.detach(), x.data])),
        run(lambda x: ((x * 2).sum(), x * 2, None)),
        run(after_backward),
        run(gradient),
    ]


@scenario
def settings_that_hooks_change(fw):
    def settings():
        return [
            fw.is_grad_enabled(), fw.is_autocast_enabled("cpu"),
            fw.get_autocast_dtype("cpu") is fw.bfloat16, fw.autograd.is_multithreading_enabled(),
        ]  # fmt: skip

    def change():
        fw.set_grad_enabled(not fw.is_grad_enabled())
        fw.set_autocast_enabled("cpu", True)
        fw.set_autocast_dtype("cpu", fw.float16)
        fw.autograd.set_multithreading_enabled(False)

    def run(place):
        seen = []

        def look(name):
            def hook(*_):
                seen.append(settings())
                if name == place:
                    change()
                    seen.append(settings())
                if name == place == "error":
                    raise KeyError

            return hook

        class Function(fw.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                look("function")()
                return g * 2

        x, w = leaf(fw, 1.0), leaf(fw, 2.0)
        y = Function.apply(x) * w
        y.register_hook(look("tensor"))
        y.grad_fn.register_prehook(look("before"))
        y.grad_fn.register_hook(look("after"))
        for each in (x, w):
            each.register_hook(look("leaf"))
            each.register_post_accumulate_grad_hook(look("accumulated"))
        y.grad_fn.register_hook(look("error"))
        return [outcome(y.backward), seen, settings()]

    places = ("tensor", "before", "after", "function", "leaf", "accumulated", "error")
    return [run(place) for place in places]


@scenario
def passes_within_passes(fw):
    class Nested(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if not ctx.depth:
                return g * 3, None
            with fw.enable_grad():
                x = g.detach().requires_grad_()
                Nested.apply(x, ctx.depth - 1).sum().backward()
            return x.grad, None

    found = []
    # From 60 on torch starts threads, and no child of this process could run its backward then.
    for depth in (10, 50, 55) if fw.__name__ == "torch" else (10, 70, 300):
        x = leaf(fw, 1.0)
        Nested.apply(x, depth).backward()
        found.append(x.grad.tolist())
    checkpoint = import_module(f"{fw.__name__}.utils.checkpoint").checkpoint

    def nested(x, depth):
        inner = checkpoint(nested, x, depth - 1, use_reentrant=True) if depth else x
        return x + inner * 2

    x = leaf(fw, 1.0)
    nested(x, 20).backward()
    return [*found, x.grad.tolist()]
