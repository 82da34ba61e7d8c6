"""Programs with the transforms of ``func`` that once differed from torch."""

REGRESSIONS = {
    "nobody asks under no_grad for the history of what is mapped": """
x0 = T.tensor([[2.0]], requires_grad=True)
with T.no_grad(): x1 = x0.transpose(0, 0)
with T.inference_mode(), T.enable_grad(): x1.zero_()
x2 = T.func.vmap(T.no_grad()(T.func.grad(lambda t: t.sum())))(x1)
x3 = T.no_grad()(T.func.vmap(T.func.grad(lambda t: t.sum())))(x1)
x4 = T.func.vmap(T.func.grad(lambda t: t.sum()))(x1)
""",
    "a mapped linear map adds its bias in a node of its own": """
x0 = T.nn.Linear(2, 2)
x1 = T.func.vmap(x0)(T.tensor([[0.75, -1.5]])).sum()
x1.backward()
def refused():
    try:
        x1.backward()
    except RuntimeError:
        return True
x2 = refused()
x3 = [T.arange(12.0).reshape(3, 2, 2), T.arange(9.0)[:6].reshape(3, 2), T.ones(3, 4, 2)]
x4 = T.func.vmap(T.nn.functional.linear)(x3[2], x3[0], x3[1])
x5 = T.func.vmap(T.func.grad(lambda w, b, x: T.nn.functional.linear(x, w, b).square().sum(),
                             argnums=(0, 1, 2)), in_dims=(0, 0, None))(x3[0], x3[1], x3[2][0, 0])
""",
    "a zero without memory stays one beside a NaN": """
x0 = T.ones((2, 2), requires_grad=True)
x1 = T.func.hessian(lambda t: (T.zeros_like(t).copy_(t * t)).sum())(x0)
x1.backward(T.full((2, 2, 2, 2), float('nan')))
""",
    "nothing is recorded around a forward transform in inference mode": """
x0 = T.tensor([[2.0, 1.0]], requires_grad=True)
def recorded(t):
    with T.enable_grad():
        return t * t.sin()
def along(f): return lambda t: T.func.jvp(f, (t,), (T.ones_like(t),))
with T.inference_mode():
    x1 = along(recorded)(x0)
    x2 = T.func.jacfwd(recorded)(x0)
    x3 = T.func.vmap(along(recorded))(x0)
    x4 = along(T.func.grad(lambda t: recorded(t).sum()))(x0)
    x5 = T.func.grad(lambda t: along(recorded)(t)[1].sum())(x0)
""",
    "views of tangents in bfloat16": """
x0 = T.func.hessian(lambda t: T.stack([t * t]))(T.tensor([[.5, .75]], dtype=T.bfloat16))
x1 = T.func.vjp(lambda t: T.func.jvp(lambda t: t.reshape(-1), (t,), (T.ones_like(t),)), x0)[0]
""",
    "what a gradient depends on in form, at every level": """
x0 = T.tensor([0.5, -0.75], requires_grad=True)
def pulled(f): return lambda t: T.func.grad(lambda t: f(t).sum())(t)
def pushed(f): return lambda t: T.func.jvp(f, (t,), (T.ones_like(t),))[1]
x1 = [h(g(f))(x0) for f in (T.relu, T.abs, T.square) for g in (pushed, pulled)
      for h in (pushed, pulled)]
x3 = [T.func.hessian(lambda t: f(t).sum())(x0) for f in (T.relu, T.abs, lambda t: t ** 3)]
x4 = [pushed(pulled(f))(x0) for f in (T.nn.functional.leaky_relu, T.nn.functional.hardtanh)]
x5 = T.func.jacfwd(T.square)(T.zeros((2, 0), requires_grad=True))
x6 = [pulled(pushed(f))(x0) for f in (lambda t: t * 2, lambda t: (t * 2).abs())]
""",
    "results of transforms that are views": """
x0, x1 = T.tensor([[1.0, 2.0]]), T.tensor([[0.5]], requires_grad=True)
x2, x3 = T.func.jvp(lambda t: t, (x0,), (T.ones_like(x0),))
x4 = T.func.jvp(lambda t: x0, (x1,), (x1,))
x5 = T.func.vjp(lambda t: t.view(-1), x0)[0]
x6 = T.func.vjp(lambda t: t.unbind(1), x0)[0]
x7 = T.func.vjp(lambda t: T.no_grad()(lambda: t.view(-1))(), x1)[0]
x2.mul_(2)
x5.add_(1)
x8, x9 = T.func.jacrev(T.sigmoid)(x1), T.func.jacfwd(T.sigmoid)(x1)
x8.add_(1)
x9.add_(1)
""",
    "writes and modes inside of jvp": """
x0 = T.arange(4.)
x1 = T.func.grad(lambda t: T.func.jvp(lambda t: t.clone().mul_(t), (t,), (t,))[0].sum())(x0)
square = lambda t: (t * t).sum()
x2 = T.func.jacfwd(lambda t: T.func.jvp(T.no_grad()(T.func.grad(square)), (t,), (t,)))(x0)
with T.inference_mode():
    x3 = T.func.jvp(lambda t: T.ones(2), (x0,), (x0,))
    x4 = T.func.vmap(T.func.grad(square))(T.zeros(0, 2))
    x5 = T.ones(2)
x6 = T.ones(2, requires_grad=True)
x7 = T.func.grad(lambda t: (t * x5).sum())(x0[:2])
x7 = T.func.jvp(lambda t: t * x5, (x6,), (x6,))
x8 = x6 * 1
x9 = T.func.jacfwd(lambda t: t.mul_(2))(x8)
x10 = T.autograd.functional.vjp(lambda t: t.detach().sum(), T.tensor([1j]))
x11 = T.func.jacfwd(lambda t, u: t.relu())(x0, T.tensor([1j]))
x12 = T.func.vjp(lambda t: t.unbind(0), T.ones(1, 2).expand(2, 2).requires_grad_())[0]
""",
    "what is differentiated by came from a leaf that requires a gradient no more": """
x0 = T.ones(2, requires_grad=True)
x1 = x0 * 2
x0.requires_grad_(False)
x2 = T.func.grad(lambda t: t.square().sum())(x1)
x3 = T.func.vjp(lambda t: T.func.grad(lambda t: (lambda: t * t)().sum())(t), x1)
x4 = x3[1](x1)
""",
    "an input that is returned as it is": """
x0 = T.ones(2, requires_grad=True)
x1 = x0 * 2
for mode in (T.no_grad, T.enable_grad, T.inference_mode):
    with mode():
        x2, x3 = T.func.vjp(lambda t: t, x0)[0], T.func.vjp(lambda t: t, x1)[0]
x4 = T.func.grad(lambda t: T.func.vjp(lambda t: t * t, t)[0].sum())(x0)
x5 = x4.expand(2, 2)
""",
    "NaN inside of forward mode while anomalies are looked for": """
x0 = T.tensor([float("nan")])
with T.autograd.detect_anomaly():
    x1 = T.func.jvp(T.func.grad(lambda t: (t * 2).sum()), (x0,), (x0,))
    x2 = T.func.grad(lambda t: T.func.jvp(lambda t: t / 2, (t,), (T.ones(1),))[0].sum())(x0)
""",
    "the product of all elements, two of which are zeros, twice": """
x0 = T.tensor([0.0, 0.0, 3.0], requires_grad=True)
x1, = T.autograd.grad(x0.prod(), x0, create_graph=True)
x1.sum().backward()
x2 = T.func.hessian(T.prod)(x0.detach())
x3, = T.autograd.grad(T.tensor([0.0, 0.0, float("inf")], requires_grad=True).prod(), [x0],
                      allow_unused=True)
""",
    "views and arguments that vmap gives back are those of the batch": """
x0 = T.arange(24.0).view(2, 3, 4).requires_grad_()
x1 = x0 * 2
x2 = T.func.vmap(lambda t: t.T)(x1)
x3 = T.func.vmap(lambda t: (t[0], t[:, 1]), out_dims=(0, 1))(x1)
x4 = T.func.vmap(lambda t: t.unsqueeze(0), 1, 1)(x1)
x5 = T.func.vmap(T.func.vmap(lambda t: t[0]))(x1)
x6 = T.func.vmap(lambda t: t.detach())(x1)
x7 = T.func.vmap(lambda t, u: (t, u), (0, None))(x1, T.ones(3))
x8 = T.func.vmap(lambda t: t.expand(2, 3, 4))(x1)
x9 = T.func.vmap(lambda t: t * 2, out_dims=1)(x1.detach())
x3[0].mul_(2)
x6.add_(1)
x2.sum().backward()
x2.view(-1)
""",
    "what does not depend on a point has a Jacobian of zeros, expanded": """
x0 = T.tensor([1.0, 2.0])
x1 = [T.func.jacfwd(f)(x0) for f in (lambda t: T.ones(3), lambda t: t.detach(), lambda t: x0)]
x2 = T.func.hessian(lambda t: t)(x0)
x3 = T.func.jacfwd(lambda t, u: T.ones(3) * u, (0, 1))(T.ones(2), T.ones(()))
x4 = T.func.jacfwd(lambda t: T.ones(3))(T.ones(0))
""",
    "derivatives that there are none of are zeros that refuse writes": """
def pulled(f): return T.func.grad(lambda t: f(t).sum())
def pushed(f): return lambda t: T.func.jvp(f, (t,), (T.ones_like(t),))[1]
def written(t):
    try:
        return t.add_(1)
    except RuntimeError:
        return t.clone()
for x0 in (T.tensor([0.5, -0.25]), T.tensor([0.5, -0.25], requires_grad=True)):
    x1 = [written(f(x0)) for f in (
        pulled(pulled(T.abs)), pulled(pushed(lambda t: t * 2)), pulled(pushed(T.abs)),
        pushed(pushed(lambda t: t * 2)), pulled(pulled(T.square)), pushed(pulled(T.abs)),
        T.func.jacrev(pushed(lambda t: t / 2)), T.func.jacfwd(pushed(lambda t: t.square())),
        pulled(T.func.jacfwd(pushed(lambda t: t * t))), pulled(pushed(lambda t: (t * 2).relu())))]
    x2 = pulled(pulled(T.abs))(x0)
    x3 = [x2 * x0, x2 / x0, x2 + x0, x2 - x2, x0 - x2, x2.view(1, 2), x2.sum(), x2 @ x2, -x2]
    x4 = [written(t) for t in x3[:2]]
    x5 = x2.clone().add_(x2)
    x6 = x0.detach().add_(x2)
x0.backward(x2)
x1[0].sum().backward()
""",
    "zero derivatives that depend on the point in form": """
x0 = T.tensor([0.5, -0.25], requires_grad=True)
x1 = [T.func.grad(lambda t: T.func.hessian(T.func.jacfwd(f))(t).sum())(x0)
      for f in (lambda t: t ** 3, T.square, T.abs)]
x2 = T.func.grad(lambda t: T.func.hessian(lambda t: T.func.vjp(T.square, t)[0])(t).sum())(x0)
x3 = T.func.grad(lambda t: T.func.jacfwd(lambda t: (t * 2).relu_())(t).sum())(x0)
x4 = T.func.jvp(lambda t: (t * 2).fill_(1), (x0,), (x0,))[1]
""",
    "second derivatives under no_grad, and of what is written over": """
with T.no_grad():
    x0 = [T.func.hessian(T.prod)(t) for t in (T.zeros(2), T.tensor([0.0, 0.0, 3.0]))]
square = lambda t: T.func.jvp(lambda t: (t * 2).pow_(2), (t,), (T.ones_like(t),))[1]
x1 = T.func.grad(lambda t: square(t).sum())(T.tensor([0.5, 0.25]))
""",
    "what a function wrote within jvp, and saved": """
x0 = T.tensor([0.5, -0.25], requires_grad=True)
x1 = T.func.jacfwd(lambda t: T.ones(2).add_(t) * x0 * t)(T.tensor([1.0, 2.0]))
x1.sum().backward()
x2 = T.func.jvp(lambda t: T.ones(2).mul_(x0).add_(t) * x0, (x0 * 2,), (T.ones(2),))[0]
x3, = T.autograd.grad(x2.square().sum(), x0, create_graph=True)
x4, = T.autograd.grad(x3.sum(), x0)
x5 = T.func.jvp(lambda t: T.stack([t * t]), (T.ones(1, 2, 2, 2).to(
    memory_format=T.channels_last),) , (T.ones(1, 2, 2, 2),))
x6 = T.func.jacrev(lambda t: t.sign().detach())(x0)
x6.add_(1)
""",
    "a view that was made without grad mode, or whose history leads nowhere, beside an input": """
x0 = T.tensor([0.5, -0.25], requires_grad=True)
with T.no_grad():
    x1 = x0.view(-1)
square = lambda t: (t * t).sum()
x2 = [T.func.grad(lambda t: (t * x1).sum())(x) for x in (x0, x1, x0.detach())]
x3 = T.func.grad_and_value(lambda t: (t + x1).sum())(T.ones(2))
x4 = T.func.vjp(lambda t: T.where(t > 0, t, x1), T.ones(2))[0]
x5 = T.func.jacrev(lambda t: T.cat([t * t, x1]) * x1)(T.ones(2))
x6, x7 = T.func.vjp(lambda t: T.nn.functional.linear(t, x1), T.ones(2))
x8 = x7(T.ones(()))
x9 = T.tensor([2.0]).expand(2, 2).requires_grad_()[...]
with T.no_grad():
    x9[0] = T.ones(2)
x10 = T.func.grad(square)(x9)
with T.inference_mode():
    x11 = x0.view_as(x0)
x12 = T.func.grad(square)(x11 * x11)
""",
    "views whose history is lost, as inputs": """
x1 = T.tensor([0.5, -0.75, 1])
with T.no_grad():
    x0 = x1[:2]
x1 += T.tensor(1.75, requires_grad=True)
quiet = T.no_grad()
x2 = T.func.grad(quiet(lambda t: (t * t).sum()))(x0)
x3 = [T.func.vjp(f, x0)[0] for f in (lambda t: t, lambda t: t.detach(), quiet(lambda t: t * 2))]
x4 = T.func.jacrev(lambda t: T.ones(2))(x0)
x5 = T.func.grad(lambda t, u: (u * u).sum(), (0, 1))(x0, x1)
x6 = T.func.grad(lambda t: T.func.grad(quiet(lambda u: (t * u).sum()))(t).sum())(x0)
x7 = T.func.grad(lambda t: t.sum())(x0)
x8 = T.func.grad(lambda t: t)(x1.detach().requires_grad_().unbind(0)[0])
""",
    "graphs of gradients that inference mode does not record": """
x0 = T.tensor([0.5, -0.75], requires_grad=True)
x1 = x0 * x0
with T.inference_mode():
    x2, = T.autograd.grad(x1, x0, T.ones(2), create_graph=True, retain_graph=True)
    x3 = T.autograd.functional.jvp(lambda t: t * t, x0, T.ones(2))
    x4 = T.autograd.functional.jacobian(lambda t: t * t, x0, create_graph=True)
    x1.backward(T.ones(2), create_graph=True)
""",
    "integers made of what is differentiated": """
x0 = T.tensor([0.5, 2.0])
def pushed(f): return lambda t: T.func.jvp(f, (t,), (T.ones_like(t),))[1]
x1 = [T.func.grad(lambda t: pushed(f)(t).sum())(x0) for f in (
    lambda t: t.int() * t, lambda t: (t > 1) * t, lambda t: t.long() / t, lambda t: t.double() * t)]
x2 = T.func.jvp(lambda t: t.int() * t, (x0.clone().requires_grad_(),), (x0,))
x3 = T.func.jvp(lambda t: t.long(), (x0.clone().requires_grad_(),), (x0,))
""",
    "tangents lie as their primals do": """
x0 = T.arange(12.0)
def along(f, t): return T.func.jvp(f, (t,), (T.ones(t.shape),))
x1 = [along(lambda t: t, t) for t in (x0[::2], x0.view(3, 4)[:, ::2], x0.view(3, 4)[:2, :2].t())]
x2 = [along(lambda t: T.func.jvp(lambda t: t, (t,), (T.ones_like(t),))[1], t) for t in (x0[::2],)]
x3 = [along(f, x0.view(3, 4).t()) for f in (lambda t: t.contiguous(), lambda t: t.unsqueeze(0))]
x4 = along(lambda t: t.mul_(2), x0[1::3])
""",
    "an input that jvp gives back has the tangent that it has": """
x0 = T.tensor([0.5, -0.75], requires_grad=True)
def same(t): return t
x1 = T.func.jvp(lambda t: T.func.jvp(same, (t,), (t,))[0], (x0,), (x0,))
x2 = T.func.jvp(lambda t: T.func.jvp(same, (t,), (t,)), (x0.detach(),), (T.ones(2),))
x3 = T.func.jvp(lambda t: t.contiguous(), (x0.detach(),), (T.ones(2),))
x4 = T.func.vmap(lambda t: t.contiguous())(x0)
x5 = T.func.vmap(lambda t: t.contiguous(), 1, 1)(T.ones(2, 3))
x6, pull = T.func.vjp(T.func.vmap(lambda t: T.func.jvp(same, (t,), (t,))[0]),
                      T.ones(1, 2, 3, 2).to(memory_format=T.channels_last))
x7 = pull(T.ones_like(x6))
""",
    "examples of no dimension, and no examples, along an axis": """
x0 = T.tensor([0.5, -0.75])
x1 = T.func.vmap(lambda t: T.func.grad(lambda t: t.sum(0))(t))(x0)
x1 += 0.5
x2 = [T.func.vmap(f)(x0) for f in (
    lambda t: T.func.jvp(lambda t: t.softmax(-1), (t,), (t,)),
    lambda t: T.func.grad(lambda t: t.gather(0, T.tensor(0)))(t),
    lambda t: T.func.grad(lambda t: t.cumsum(0))(t))]
x3 = T.func.jacrev(lambda t: t.sort(0)[0])(T.tensor(0.5))
x4 = T.func.vmap(T.prod)(T.zeros(0, 3))
""",
    "zeros that stand for derivatives are nobody's memory": """
x0 = T.tensor([-2.0]).half()
pushed = lambda t: T.func.jvp(lambda t: t * 1, (t,), (T.ones_like(t),))[1]
x1 = T.func.grad(lambda t: T.func.vjp(pushed, t)[0].sum())(x0)
x1.T.add_(-1)
x1.set_(x1)
x2 = x1.numpy().tolist()
""",
    "a function of a view that inference mode has made": """
class Twice(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sum() * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
x0 = T.ones(2, requires_grad=True)
with T.inference_mode():
    x1 = x0[:]
x2 = Twice.apply(x1)
x2.backward()
""",
    "views of nothing, and of no example": """
x0 = T.zeros(0, 3)
x1 = T.func.jvp(lambda t: t.view(-1), (x0,), (x0,))
x2 = T.nn.Parameter(T.zeros(0, 3))
x3 = T.func.vmap(lambda t: T.func.grad(lambda t: (t * x2).sum())(t))(x0)
""",
    "what requires grad and leads nowhere is a history around a transform": """
x0 = T.ones(2, requires_grad=True)
with T.no_grad(): x1 = x0.squeeze()
x2 = T.func.grad(lambda t: (t * t).sum())(x1 / x1)
x3 = T.func.jacrev(lambda t: t * t)(T.atan2(x1, x1))
x4 = T.func.vjp(lambda t: t * t, x1 ** x1)[0]
""",
    "a Jacobian in half precision where its point does not lie by rows": """
x0 = T.tensor([[[[-0.25, 1.75]], [[0.5, -1.0]]]]).bfloat16().to(memory_format=T.channels_last)
x1 = T.func.grad(lambda t: T.func.jacrev(T.cos)(t).sum())(x0)
x2 = T.func.grad(lambda t: T.func.jacrev(lambda t: T.softmax(t, 1))(t).abs().sum())(x0.half())
x3 = T.func.grad(lambda t: T.func.jvp(T.tanh, (t,), (x0.float(),))[1].sum())(x0.float())
""",
    "of elements written twice the last tangent stays": """
x0 = T.arange(5.0)
x1 = T.tensor([0, 0, 2, 2])
x2 = T.func.jvp(lambda s, t: s.scatter(0, x1, t), (x0, x0[1:]), (x0 + 1, 100 * x0[1:]))
x3 = T.func.jvp(lambda s, t: s.index_copy(0, x1, t), (x0, x0[1:]), (x0 + 1, 100 * x0[1:]))
x4 = T.func.jvp(lambda t: x0.index_put((x1,), t), (x0[1:],), (100 * x0[1:],))
x5 = x0[None, 1:]
x6 = T.func.jvp(lambda s: T.nn.functional.max_unpool1d(s, x1[None], 2), (x5,), (x5,))
x7 = (x0 + 1, x0[2:4, None])
x8 = T.func.jvp(lambda s, t: T.as_strided_scatter(s, t, (2, 1), (2, 1), 1), (x0, x0[:2, None]), x7)
""",
    "a tangent that reaches nothing is of zeros": """
x0 = T.tensor([0.5, 1.0])
x1 = T.autograd.forward_ad
with x1.dual_level():
    x2 = x1.unpack_dual(T.linalg.vector_norm(x1.make_dual(x0, x0), 0))
    x3 = x1.unpack_dual(T.normal(x1.make_dual(x0, x0), 1.0))[1]
    x4 = x1.unpack_dual(T.linalg.svdvals(x1.make_dual(x0[:0, None], x0[:0, None])))
""",
    "a tangent has no history that nothing gave it": """
x0 = T.arange(6.0).reshape(1, 2, 3)
x1 = T.autograd.forward_ad
with x1.dual_level():
    x2 = T.nn.functional.conv_transpose1d(x1.make_dual(x0, x0), T.ones(2, 2, 2))
    x3 = x1.unpack_dual(x2)[1]
""",
    "vmap casts the numbers of examples beside tensors of another dtype": """
x0 = T.tensor([2.0], requires_grad=True)
x1 = T.tensor([2.0], dtype=T.float64, requires_grad=True)
with T.inference_mode():
    x2, x3, x4 = T.tensor([True]), T.tensor(True), T.tensor([1.0, 0.5])
x5 = [T.func.vmap(lambda t: t * u)(x0) for u in (x2, x3)]
x6 = [T.func.vmap(lambda t: f(x1, t))(x4) for f in (T.mul, T.atan2, T.pow, T.maximum, T.div)]
T.func.vmap(lambda t: t * x0)(x4)
""",
    "gradients of a graph from around vmap, for a batch of gradients": """
x0 = T.tensor([0.5, -1.0, 2.0], requires_grad=True)
x1 = x0.sin() * x0[:2].sum()
def pulled(**options): return lambda g: T.autograd.grad(x1, x0, g, retain_graph=True, **options)[0]
x2 = T.func.vmap(pulled())(T.eye(3))
x3 = T.func.vmap(pulled(create_graph=True))(T.eye(3))
x4 = T.func.vmap(T.func.vmap(pulled()), 1, 1)(T.ones(2, 1, 3))
x5 = T.func.jvp(pulled(), (T.ones(3),), (T.eye(3)[1],))
""",
    "positions of an outer vmap in what an inner transform maps or differentiates": """
x0, x1 = T.arange(12.0).reshape(3, 4), T.tensor([[0, 2], [1, 1]])
F = T.func
x2 = F.vmap(lambda i: F.vmap(lambda c: c[i], 1)(x0))(x1).contiguous()
x3 = F.vmap(lambda i: F.vmap(lambda j: x0[i, j])(x1))(x1)
x4 = F.vmap(lambda i: F.vmap(lambda c: c.index_put((i,), c[:2]))(x0))(x1)
x5 = F.vmap(lambda i: F.vmap(F.grad(lambda c: c[i].pow(2).sum()))(x0))(x1)
x6 = F.vmap(lambda i: F.jvp(lambda c: c[i], (x0[0],), (x0[1],)))(x1)
x7 = [F.vmap(lambda i: f(lambda c: c[i] * c[1])(x0[0]))(x1) for f in (F.jacfwd, F.jacrev)]
x8 = F.vmap(lambda i: F.hessian(lambda c: (c[i] * c[1]).sum())(x0[0]))(x1)
""",
    "random numbers of chunks, and permutations of each example": """
x0 = T.zeros(4, 3)
T.manual_seed(0)
x1 = [T.func.vmap(lambda t: t + T.randn(3), randomness='same', chunk_size=n)(x0) for n in (1, 3)]
x2 = T.func.vmap(lambda t: t + T.randperm(3), randomness='same')(x0)
x3 = T.func.vmap(lambda t: T.randperm(5) + t[:1].long(), randomness='different')(x0)
""",
    "what transforms refuse: no outputs, no arguments to differentiate by, a wrong dimension": """
x0 = T.ones(2, 3)
T.func.jacfwd(lambda t: ())(x0)
T.func.jacrev(lambda t: ())(x0)
T.func.jvp(lambda t: (), (x0,), (x0,))
T.func.vjp(lambda t: (), x0)
T.func.jacfwd(T.sin, argnums=())(x0)
T.func.jacrev(T.sin, argnums=())(x0)
T.func.vmap(T.sin, out_dims=3)(x0)
x1 = T.nn.Linear(1, 1)
T.func.stack_module_state([x1, T.nn.Linear(1, 1).eval()])
""",
    "a transform keeps whether gradients are on, in inference mode too": """
x0 = T.arange(3.0)
with T.inference_mode(), T.enable_grad(): x1 = T.func.jvp(lambda t: t, (x0,), (x0,))[0]
x1.masked_fill_(T.tensor([True, False, True]), T.tensor(2.0, requires_grad=True))
with T.inference_mode(), T.enable_grad():
    T.func.jvp(lambda t: log.append((str(T.is_grad_enabled()), [])) or t, (x0,), (x0,))
with T.inference_mode():
    T.func.jvp(lambda t: log.append((str(T.is_grad_enabled()), [])) or t, (x0,), (x0,))
with T.inference_mode(): x2 = T.func.jvp(lambda t: t, (x0,), (x0,))[0]
x2.mul_(2)
x2.mul_(T.tensor(2.0, requires_grad=True))
""",
    "a tangent whose history is lost is used where nothing is recorded": """
x0 = T.ones(2, requires_grad=True) * 1
with T.no_grad(): x1 = x0[:1]
x0.mul_(2)
with T.no_grad(): x2 = T.func.jvp(lambda t: T.func.grad(lambda t: t.sum())(t), (x1,), (x1,))
x3 = T.func.jvp(lambda t: T.func.grad(lambda t: t.sum())(t), (x1,), (x1,))
""",
    "tangents and gradients that are views of nothing": """
x0 = T.arange(6.0).view(2, 3)
x1 = T.func.jvp(lambda t: t, (x0[-1],), (T.ones(3),))[1]
x2 = x1[:1]
x3 = T.func.jvp(lambda t: t, (x0.mT,), (T.ones(3, 2),))[1]
x4 = x3[:1]
x5 = T.func.vmap(T.func.grad(lambda t: T.nn.functional.layer_norm(t, (3,)).prod()))(x0)
x6 = x5[:1]
x7 = T.func.vmap(T.func.grad(lambda t: T.nn.functional.layer_norm(t, (1, 3)).prod()))(x0[:, None])
x8 = x7[:1]
""",
    "directions of nested forward transforms that differ between examples": """
x0 = T.arange(6.0).view(2, 3)
inner = lambda x, y: T.func.jvp(lambda z: z * x, (x,), (y,))[1]
outer = lambda x: T.func.jvp(lambda y: inner(x, y) * 1.0, (x * 2,), (x,))
x1, x2 = T.func.vmap(outer)(x0)
x3, x4 = T.func.vmap(outer)(x0.mT)
x5, x6 = T.func.vmap(outer)(x0[:, 1:])
x7, x8 = T.func.vmap(lambda x: outer(x[1:]))(x0)
x9 = T.func.vmap(lambda x: T.func.jacfwd(lambda y: inner(x, y))(x * 2))(x0[:, :2])
""",
    "a lost history counts for nothing where a transform is not recorded": """
x0 = T.tensor([0.25, 1.0], requires_grad=True) * 1
x1 = x0.split(1, -1)[0]
x0 += -1
with T.no_grad():
    x2 = T.func.grad(lambda u: x1.sum())(x1)
    x3 = T.func.jacrev(lambda u: u * x1)(T.ones(1))
    x4 = T.func.grad(lambda u: ((u * 1).split(1)[0] * x1).sum())(T.ones(1))
x5 = T.func.grad(lambda u: x1.sum())(T.ones(1))
""",
    "what a transform is given may be the result of an operation without a derivative": """
x0 = T.ones(4, requires_grad=True)
with T.no_grad():
    x1 = x0[...]
x2 = T.func.grad(lambda t: (t * t).sum())(x1 // 2)
x3 = T.func.jacrev(lambda t: t * t)(x1 // 2)
""",
    "a gradient of a transform may be written with a history": """
x0 = T.tensor([-2.0])
x1 = T.func.grad(lambda t: T.func.jvp(lambda t: t.view(-1), (t,), (t,))[0].sum())(x0)
x1.masked_fill_(x1 > -1, T.tensor(2.0, requires_grad=True))
pulled = lambda t: T.func.vjp(lambda t: t[None], t)[0]
x2 = T.func.grad(lambda t: T.func.jvp(pulled, (t,), (t,))[0].sum())(x0)
x2.mul_(T.tensor(3.0, requires_grad=True))
""",
    "an example of a tensor that is none of inference mode may be written": """
x0 = T.ones(2, 2, requires_grad=True)
with T.inference_mode():
    x1 = T.func.vmap(lambda t: T.func.grad(T.no_grad()(lambda u: u.mul_(2).sum()))(t))(x0)
    x2 = T.ones(2, 2)
x3 = T.func.vmap(lambda t: T.func.grad(T.no_grad()(lambda u: u.mul_(2).sum()))(t))(x2)
""",
    "the rows of a Jacobian of inference mode are no views": """
x0 = T.tensor([[0.5, 1.0], [2.0, 3.0]])
with T.inference_mode():
    x1 = T.func.jacrev(lambda t: T.func.vmap(lambda u: u.sum())(t[None]))(x0)
    x2 = T.func.jacrev(lambda t: T.func.vmap(lambda u: u.sum())(t[None]).sin())(x0)
""",
    "a product with an element that is nearly zero has a second derivative": """
x0 = T.tensor([-0.2, 0.9, 0.6], dtype=T.float64)
x1 = T.tensor([0.7, -0.4, 0.3], dtype=T.float64)
x2 = T.func.hessian(lambda t: (x0 + t.mean(-1)).prod())(x1)
x3 = T.func.hessian(lambda t: (x0 + t.mean(-1)).prod(0))(x1)
x4 = T.func.hessian(lambda t: (x0 + t.mean(-1)).cumprod(0).sum())(x1)
x5 = T.func.jvp(T.func.grad(lambda t: (x0 + t.mean(-1)).prod()), (x1,), (T.ones_like(x1),))
""",
    "the product of one element has the derivative that is the same for all examples": """
x0 = T.arange(6.0).view(2, 3)
one = lambda a: (a[1:2].prod(), a[:, None].prod(1).sum(), a[None].prod(0)[0])
x1, x2 = T.func.vmap(lambda a: T.func.jvp(one, (a,), (T.ones(3),)))(x0)
def written(a):
    a[0] = a[1:2].prod()
    return a
x3, x4 = T.func.vmap(lambda a: T.func.jvp(written, (a,), (T.tensor([1.0, 0.5, -2.0]),)))(x0)
""",
    "what shares the memory of a tensor within a forward transform counts its writes too": """
x0 = T.tensor([0.7, -0.4, 0.3], dtype=T.float64)
def function(a, put):
    b = T.zeros_like(x0).add_(0.5)
    c = b.detach()
    c.add_(a)
    c.exp_()
    put(b, a)
    return c.sum()
def put(b, a):
    b[0] = 5.0
x1 = T.func.grad(lambda a: T.func.jvp(lambda t: function(t, lambda b, a: None), (a,), (a,))[1])(x0)
x2 = T.func.jvp(T.func.grad(lambda a: function(a, lambda b, a: None)), (x0,), (x0,))[1]
x3 = T.func.hessian(lambda a: function(a, lambda b, a: None))(x0)
try:
    x4 = T.func.jvp(T.func.grad(lambda a: function(a, put)), (x0,), (x0,))
except RuntimeError:
    x4 = "refused"
try:
    x5 = T.func.grad(lambda a: T.func.jvp(lambda t: function(t, put), (a,), (a,))[1])(x0)
except RuntimeError:
    x5 = "refused"
try:
    scaled = lambda b, a: b[1:].mul_(a[1:])
    x6 = T.func.jvp(T.func.grad(lambda a: function(a, scaled)), (x0,), (x0,))
except RuntimeError:
    x6 = "refused"
""",
    "the derivative forwards of prelu at 0 is that from above, the gradient that from below": """
F = T.nn.functional
x0 = T.tensor([[-1.0, 0.0, 2.0], [0.0, -0.0, 3.0]])
x1 = T.tensor([0.25, 0.5, 0.75])
x2, x3 = T.func.jvp(F.prelu, (x0, x1), (x0 + 1, x1 * 2))
x4 = T.func.jvp(lambda w: F.prelu(x0, w), (x1,), (x1,))[1]
x5 = T.func.hessian(lambda x: (F.prelu(x, x1) ** 2).sum())(x0)
x6 = T.func.grad(lambda x: T.func.jvp(lambda t: F.prelu(t, x1) * t, (x,), (x0 + 1,))[1].sum())(x0)
x7 = T.func.jacfwd(T.func.jacrev(lambda w: F.prelu(x0, w).square().sum()))(x1)
""",
    "angles have gradients that lie as they do": """
x0 = T.ones(1, 2, 2, 2).to(memory_format=T.channels_last).requires_grad_()
x1 = T.autograd.grad(x0.angle().sum(), x0)[0]
x2 = T.autograd.grad(x0.mT.angle().sum(), x0)[0]
""",
    "a new tensor on the device of an example is the same for all examples": """
x0 = T.arange(6.0).view(2, 3)
def drawn(v):
    return v + T.normal(T.zeros(3, device=v.device), T.ones(3, device=v.device))
T.manual_seed(1)
x1 = T.func.vmap(drawn, randomness="same")(x0)
x2 = T.func.vmap(lambda v: T.func.jacrev(lambda u: u * 1.0)(v).sum(1).clone().add_(v))(x0)
x3 = T.func.vmap(lambda v: v.new_empty_strided((3,), (2,)).copy_(v))(x0)
x4 = T.func.vmap(lambda v: T.full((2,), 3.0, device=v.device))(x0)
""",
    "a write of a tensor that joins a forward transform counts once": """
x0 = []
def function(a):
    x = T.zeros(3)
    x.add_(a)
    x0.append(x._version)
    x.mul_(2)
    view = x[:2]
    view.add_(a[:2])
    x0.extend([x._version, view._version, x.detach()._version])
    return x.sum()
x1 = T.func.jvp(function, (T.ones(3),), (T.ones(3),))[1]
x2 = T.func.grad(function)(T.ones(3))
x3 = list(x0)
""",
    "a tangent of zeros without memory lies beside any point": """
x0 = T.tensor([1.0, 2.0])
x1 = T.func.grad(lambda t: T.func.jacfwd(lambda v: v * 1.0)(t).sum())(x0)
x2 = T.func.jvp(lambda t: t * 2, (x0.sum().expand(2),), (x1,))[1]
x3 = T.func.jvp(lambda t: t * 2, (x0,), (x1,))[1]
x4 = x2.stride()
x2.add_(1)
x5 = T.func.jvp(lambda t: t * 2, (x0.sum().expand(2),), (x0,))
""",
    "what is written in place without a derivative says so in every transform": """
def f(t):
    return (t * 2).acosh_()
x0 = T.tensor([[1.5, 2.0], [3.0, 4.0]], dtype=T.float64)
x1 = []
for run in (
    lambda: T.func.vmap(f)(x0), lambda: T.func.grad(lambda m: T.func.vmap(f)(m).sum())(x0),
    lambda: T.func.vmap(T.func.grad(lambda t: f(t).sum()))(x0),
    lambda: T.func.jvp(f, (x0,), (x0,)), lambda: T.func.jvp(T.heaviside, (x0, x0), (x0, x0)),
    lambda: T.func.jvp(lambda t: t.clone().floor_divide_(2), (x0,), (x0,)),
):
    try:
        x1.append(run())
    except (RuntimeError, NotImplementedError) as error:
        x1.append(type(error).__name__)
""",
    "logical operations in place keep histories and tangents": """
def f(t, u):
    t = t * 3
    t.logical_and_(u)
    u.logical_not_()
    return t, u.exp()
x0, x1 = T.tensor([0.5, 0.0, -1.0]), T.tensor([1.0, 2.0, 0.0])
x2 = T.func.jvp(f, (x0, x1.clone()), (x1, x0))
x3 = T.func.jacfwd(f)(x0, x1.clone())
x4 = T.func.grad(lambda m: T.func.vmap(lambda t: f(t, x1.clone())[0])(m).sum())(T.stack([x0, x1]))
""",
    "the divergence of negative targets has no derivative": """
x0, x1 = T.tensor([0.7, -0.4, 0.3]), T.tensor([-0.2, 0.9, 0.6])
x2 = T.func.jvp(lambda t: F.kl_div(x1, t, reduction="none"), (x0,), (x1,))
x3 = T.func.jacfwd(lambda t: F.kl_div(x1, t, reduction="sum"))(x0)
x4 = T.func.jacrev(lambda t: F.kl_div(x1, t, reduction="sum"))(x0)
""",
    "a tangent whose primal is a part of something, within another transform, backwards": """
x0, x1 = T.tensor([-0.5, 1.0], requires_grad=True), T.tensor([1.0, 3.0])
def inner(t): return t + T.func.jvp(lambda y: y * 1.0, (x1,), (t,))[1]
x2 = T.func.jvp(inner, (T.cat([x0, x0 * x0])[1:3],), ((x0 + x1) * x0,))[1]
x3 = T.autograd.grad(x2.sum(), x0)
""",
}
