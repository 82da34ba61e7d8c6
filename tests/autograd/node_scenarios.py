"""What the nodes of results look like from outside: the same on either framework."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tests.autograd.scenarios import leaf, raised

SCENARIOS: dict[str, Callable[[Any], Any]] = {}


def scenario(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    SCENARIOS[function.__name__] = function
    return function


def seen(fw: Any, function: Callable, *operands: Any) -> list:
    """The node of what a function returns: its name, whose it is the next of, and the shapes of
    the gradients that its hook is shown."""
    log: list = []
    out = function(*operands)
    node = out.grad_fn
    node.register_hook(lambda *given: log.append(given))
    out.backward(fw.ones_like(out), retain_graph=True)
    shapes = [[g if g is None else list(g.shape) for g in grads] for grads in log[0]]
    following = [n and type(n).__name__ for n, _ in node.next_functions]
    try:
        out.backward(fw.ones_like(out))
        out.backward(fw.ones_like(out))
        again = "done"
    except RuntimeError:
        again = "refused"
    return [type(node).__name__, following, *shapes, again]


def matrix(fw: Any, rows: int = 2, columns: int = 3, requires_grad: bool = True) -> Any:
    values = fw.arange(rows * columns, dtype=fw.float32) / 4 + 1
    return values.reshape(rows, columns).requires_grad_(requires_grad)


@scenario
def one_node_for_what_several_ops_compute(fw):
    x, y, square = matrix(fw), matrix(fw), matrix(fw, 3, 3)
    fixed, vector = matrix(fw, requires_grad=False), fw.ones(3, requires_grad=True)
    position = fw.tensor([5, 0])
    F = fw.nn.functional
    return [
        seen(fw, *call)
        for call in (
            (fw.take, x, position),
            (lambda x, s: fw.put(x, position, s), x, fw.ones(2, requires_grad=True)),
            (lambda x: 2**x, x),
            (lambda x: fw.clamp(x, min=1.5), x),
            (lambda x: fw.clamp(x, max=1.5), x),
            (lambda x: fw.clamp(x, 1.25, 1.5), x),
            (fw.cdist, x, y),
            (fw.cdist, x, fixed),
            (fw.dist, x, y),
            (fw.dist, x, x),
            (fw.trace, square),
            (fw.cross, square, square),
            (fw.angle, x),
            (fw.polar, x, y),
            (fw.nansum, x),
            (lambda x: fw.mvlgamma(x, 1), x),
            (lambda x: F.glu(x, 0), x),
            (F.pdist, x),
            (fw.matrix_exp, square),
            (fw.block_diag, x, y),
            (fw.addmv, fw.ones(2, requires_grad=True), x, vector),
            (fw.addr, square, vector, vector),
            (fw.cholesky_solve, square, fw.eye(3).requires_grad_()),
        )
    ]


@scenario
def one_node_differentiated_twice(fw):
    x, y = matrix(fw), matrix(fw)
    out = fw.dist(x, y * 2) + (2**x).sum() + x.take(fw.tensor([1, 1])).square().sum()
    gx, gy = fw.autograd.grad(out, [x, y], create_graph=True)
    second = fw.autograd.grad(gx.sum() + gy.square().sum(), [x, y])
    return [[round(v, 3) for v in g.flatten().tolist()] for g in second]


@scenario
def one_node_in_a_longer_graph(fw):
    x = matrix(fw)
    shown: list = []
    middle = x * 2
    middle.register_hook(lambda g: shown.append(g.tolist()))
    out = middle.take(fw.tensor([0, 4])) * 3
    (gm,) = fw.autograd.grad(out.sum(), middle, retain_graph=True)
    index = fw.tensor([0, 0])
    taken = middle.take(index)
    index.fill_(1)
    try:
        taken.sum().backward()
    except RuntimeError:
        shown.append("refused")
    out.sum().backward()
    return [gm.tolist(), shown, x.grad.tolist()]


@scenario
def numbers_beside_a_tensor(fw):
    x = matrix(fw)
    results = (2 + x, x + 2, 2 * x, x * 2, 2 - x, x - 2, 2 / x, x / 2, 2**x, x**2, fw.rsub(x, 2))
    return [
        [type(r.grad_fn).__name__, [n and type(n).__name__ for n, _ in r.grad_fn.next_functions]]
        for r in results
    ]


@scenario
def gradients_that_nobody_asked_for(fw):
    """Hooks of a node see none for an input that wants none, but all of a list of tensors."""
    x, weight = matrix(fw), fw.ones(3)
    norm = seen(fw, lambda x: fw.nn.functional.layer_norm(x, (3,), weight, weight), x)
    joined = seen(fw, lambda x: fw.cat([x, x.detach()]), x)
    ev = seen(
        fw, lambda x: fw.nn.functional.batch_norm(x, fw.zeros(3), fw.ones(3), weight, weight), x
    )
    reduced = x.scatter_reduce(0, fw.zeros(2, 3, dtype=fw.int64), x, "sum")
    return [norm, joined, ev[:3], len(reduced.grad_fn.next_functions)]


@scenario
def nodes_called_by_hand(fw):
    """With a gradient for each output, of which None stands for zeros."""
    power = (fw.full((2,), 3.0, requires_grad=True) ** 2).grad_fn
    unbound = fw.ones(2, 2, requires_grad=True).unbind(0)[0].grad_fn
    wrong = []
    for node, given in ((power, ()), (power, (fw.ones(2),) * 2), (unbound, (fw.ones(2),))):
        try:
            node(*given)
        except TypeError as error:
            wrong.append(str(error).partition("expected ")[2])
    return [wrong, power(fw.ones(2)).tolist(), unbound(fw.ones(2), None).tolist()]


@scenario
def what_must_not_be_deleted_or_called(fw):
    class Legacy(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

    def delete():
        del fw.ones(1).data

    refused = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in (delete, lambda: Legacy()(fw.ones(1))):
            try:
                call()
            except RuntimeError:
                refused.append("refused")
    return refused


@scenario
def nothing_beyond_the_storage(fw):
    """A view of no elements may begin anywhere."""
    x = fw.ones(1)
    return [
        list(x.as_strided(*geometry).shape) for geometry in (((0,), (1,), 2), ((2, 0), (3, 1), 9))
    ]


@scenario
def saved_tensors_by_other_names(fw):
    class F(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                log.append(len(ctx.saved_variables))
            log.append([w.category.__name__ for w in caught])
            return g

    log = []
    y = F.apply(leaf(fw, 1.0))
    tensor, nothing = y.grad_fn._raw_saved_tensors
    same = lambda t: t
    tensor.register_hooks(same, same)
    y.sum().backward()
    wrong = [
        raised(lambda: nothing.register_hooks(same, same)),
        raised(lambda: tensor.register_hooks(1, 1)),
        raised(lambda: y.grad_fn._raw_saved_tensors),
    ]
    return [log, wrong, F._backward_cls is type(y.grad_fn)]


@scenario
def zeros_for_what_is_not_differentiable(fw):
    def gradients(materialized):
        class F(fw.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                out = x.clone(), x.clone(), x.clone()
                ctx.mark_non_differentiable(out[1])
                ctx._materialize_non_diff_grads = materialized
                return out

            @staticmethod
            def backward(ctx, *grads):
                seen.append([g is None for g in grads])
                return grads[0]

        F.apply(leaf(fw, 1.0))[0].sum().backward()

    seen = []
    gradients(True)
    gradients(False)
    return seen


@scenario
def hooks_cannot_be_forbidden_among_hooks(fw):
    graph = fw.autograd.graph

    def forbid():
        with graph.disable_saved_tensors_hooks("not here"):
            pass

    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return raised(forbid)


@scenario
def the_same_hooks_entered_twice(fw):
    packed = []
    hooks = fw.autograd.graph.saved_tensors_hooks(
        lambda t: packed.append(t.tolist()) or t, lambda t: t
    )
    x = leaf(fw, 1.0, 2.0)
    with hooks:
        with hooks:
            pass
        found = [(x * x).tolist()]
    found.append((x * 2 * x).tolist())
    return [*found, packed]


@scenario
def hooks_entered_in_backward_end_with_it(fw):
    graph, packed = fw.autograd.graph, []
    entered = graph.saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t, lambda t: t)
    forbidding = graph.disable_saved_tensors_hooks("not here")
    x = leaf(fw, 1.0, 2.0)
    for enter in (entered.__enter__, forbidding.__enter__):
        y = x * 2
        y.register_hook(lambda _, enter=enter: enter() and None)
        y.sum().backward()
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            (x * x).sum().backward()
        x * x
    return [packed, x.grad.tolist()]


@scenario
def what_a_node_has_saved(fw):
    a = leaf(fw, 1.0, 2.0)
    b = a * 3
    product, exponential = a * b, a.exp()
    node, other = product.grad_fn, exponential.grad_fn
    found = [
        node._saved_self is a,
        node._saved_other is b,
        other._saved_result is exponential,
        other._saved_result.grad_fn is other,
        hasattr(node, "_saved_result"),
    ]
    other._raw_saved_result.register_hooks(lambda x: x.tolist(), lambda x: fw.tensor(x) * 2)
    exponential.sum().backward()
    product.sum().backward()
    return [*found, [round(v, 4) for v in a.grad.tolist()], raised(lambda: node._saved_self)]


@scenario
def gradients_for_edges_alone(fw):
    x, y = leaf(fw, 1.0) * 1, leaf(fw, 1.0) * 1
    edge = fw.autograd.graph.get_gradient_edge
    out = x.clone().sum()

    def ask(*inputs):
        options = {"allow_unused": True, "retain_graph": True, "materialize_grads": True}
        return [g.tolist() for g in fw.autograd.grad(out, inputs, **options)]

    return [ask(edge(x), y), raised(lambda: ask(x, edge(y)))]


@scenario
def names_of_nodes(fw):
    x = fw.ones(2, 2, requires_grad=True)
    found = []
    for reduce in (x.sum, x.mean, x.prod):
        found += [reduce(), reduce(0), reduce(0, True), reduce(dtype=fw.float64)]
    found += [x.sum(None), x.mean((0, 1)), *fw.std_mean(x), *fw.std_mean(x, 0)]
    table = fw.ones(1, 2, requires_grad=True)
    index, start = fw.tensor([0]), fw.tensor([0])
    found += [fw.nn.functional.embedding_bag(index, table, start, mode="max")]
    found += [fw.nn.functional.softsign(x)]

    class Double(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    written = x * 2
    written[0] = 1
    found += [written, Double.apply(x), x // 1]
    names = [t.grad_fn.name() for t in found] + [x.view_as(x).grad_fn.next_functions[0][0].name()]
    described = [repr(t.grad_fn).partition(" at ")[0].split(".")[1:] for t in found]
    return names, described, [repr(t).rpartition("grad_fn")[2] for t in found]


@scenario
def attributes_of_any_name_on_ctx(fw):
    names = [
        "device", "outputs", "values", "order", "meta", "hooks", "slots", "edges", "dirty",
        "operation", "inner", "gradients", "name", "shape", "variable", "attributes", "context",
    ]  # fmt: skip
    found = []
    for name in names:

        def forward(ctx, x, name=name):
            setattr(ctx, name, "mine")
            ctx.save_for_backward(x)
            return x * 2, x + 1

        def backward(ctx, g, h, name=name):
            (x,) = ctx.saved_tensors
            found.append([name, getattr(ctx, name), ctx.needs_input_grad, hasattr(ctx, "other")])
            return g * x + h

        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        x = leaf(fw, 3.0)
        y, z = type("F", (fw.autograd.Function,), members).apply(x)
        y.grad_fn.noted = "later"
        (y + z).sum().backward()
        found.append(
            [x.grad.tolist(), y.grad_fn.noted, isinstance(y.grad_fn, fw.autograd.graph.Node)]
        )
    return found


@scenario
def function_arguments_given_by_name(fw):
    class Product(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x, y=None, z=None, *others):
            return x * 2 if y is None else x * y

        @staticmethod
        def backward(ctx, g):
            return tuple(g * (5 + i) if need else None for i, need in enumerate(asked(ctx)))

    class Apart(fw.autograd.Function):
        @staticmethod
        def forward(x, y=3, *, z=2):
            return x * y * z

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 7, None

    def asked(ctx):
        return ctx.needs_input_grad

    x, y, z = leaf(fw, 1.0), leaf(fw, 2.0), leaf(fw, 3.0)
    calls = [
        ((), {"x": x}), ((x,), {"y": y}), ((), {"y": y, "x": x}), ((x,), {"z": z, "y": y}),
        ((x,), {"z": z}), ((x,), {"q": z}), ((x,), {"x": z}), ((x, y, z), {"z": z}),
        ((x, y, z, x), {"y": y}), ((), {"y": y}), ((x,), {"ctx": y}),
    ]  # fmt: skip
    found = []
    for arguments, options in calls:
        try:
            out = Product.apply(*arguments, **options)
        except TypeError:
            found.append("TypeError")
            continue
        grads = fw.autograd.grad(out, (x, y, z), allow_unused=True)
        found.append([None if g is None else g.tolist() for g in grads])
    return [*found, raised(lambda: Apart.apply(x, z=5)), raised(lambda: Apart.apply(x, z=z))]


@scenario
def gradients_of_another_kind(fw):
    def give(x, make):
        class Given(fw.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return make(g)

        try:
            (g,) = fw.autograd.grad(Given.apply(x).abs().sum(), x)
        except RuntimeError:
            return "RuntimeError"
        return str(g.dtype).split(".")[1], g.tolist()

    kinds = (lambda g: g + 0j, lambda g: g.real, lambda g: g.abs().double())
    real, turned = leaf(fw, 1.0), fw.tensor([1j], requires_grad=True)
    return [give(x, kind) for x in (real, turned) for kind in kinds]
