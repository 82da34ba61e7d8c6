"""Short programs about graphs and what they depend on that once differed from torch."""

REGRESSIONS = {
    "inputs of a backward before a wrong one retain their gradients": """
x0 = T.ones(2, requires_grad=True)
x1 = x0 * 2
x1.sum().backward(inputs=[x1, 2])
x2 = x0 * 3
x3 = T.ones(2)
x2.sum().backward(inputs=[x2, x3])
""",
    "a second derivative leaves what a function of several ops has saved": """
x0 = T.tensor([-0.75, 2.0, 1.25, 0.0], requires_grad=True)
x1 = T.nn.functional.glu(x0)
x2, = T.autograd.grad(x1.sum(), x0, create_graph=True)
x2.sum().backward()
x1.sum().backward()
x1.sum().backward()
x3 = T.linalg.matrix_exp(x0.view(2, 2))
x4, = T.autograd.grad(x3.sum(), x0, create_graph=True)
x5 = T.autograd.grad(x4.sum(), x0)
x6 = T.autograd.grad(x4.square().sum(), x0)
x7 = T.polar(x0 + 3, x0).real
x8, = T.autograd.grad(x7.sum(), x0, create_graph=True)
x9 = T.autograd.grad(x8.sum(), x0)
x7.sum().backward()
""",
    "a pass through a function of several ops and through what was recorded within": """
x0 = T.tensor([1.0, 2.0], requires_grad=True)
x1, = T.autograd.grad((2 ** x0).square().sum(), x0, create_graph=True)
x2, = T.autograd.grad(x1.sum(), x0)
x3, = T.autograd.grad((T.dist(x0, x0 * 2) * x0).sum(), x0, create_graph=True)
x4, = T.autograd.grad(x3.sum(), x0)
x5 = 2 ** x0
x5.sum().backward()
x5.sum().backward()
""",
    "a gradient that does not depend on what has no spread": """
x0 = T.tensor([2.0], requires_grad=True)
x1, = T.autograd.grad(x0.var(), x0, create_graph=True)
x2 = T.tensor([1.0, 2.0], requires_grad=True)
x3 = T.autograd.grad(x2.var(correction=2), x2, create_graph=True)
x4 = T.autograd.grad(x2.var(correction=3), x2)
x5 = T.autograd.grad(x2.var(0, correction=3), x2)
x6 = T.autograd.grad(x2.var(0, correction=2), x2)
x7 = T.autograd.grad(x2.std(correction=2), x2)
""",
    "a gradient of one element or of none that is the one that came": """
x0 = T.zeros(0, requires_grad=True)
x1, = T.autograd.grad(x0.cumprod(0).sum(), x0, create_graph=True)
x2, = T.autograd.grad(x0.logcumsumexp(0).sum(), x0, create_graph=True)
x3 = T.full((2, 1, 1), 3.0, requires_grad=True)
x4, = T.autograd.grad(T.linalg.det(x3).sum(), x3, create_graph=True)
x5, = T.autograd.grad(T.linalg.det(x3).square().sum(), x3, create_graph=True)
""",
    "a bias' gradient depends on what is read beside": """
x0 = T.ones(2, 2, 3)
x1 = T.ones(2, 2, 2)
x2 = T.ones(2, requires_grad=True)
x3, = T.autograd.grad(T.conv1d(x0, x1, x2).sum(), x2, create_graph=True)
x4, = T.autograd.grad(T.nn.functional.batch_norm(x0, None, None, T.ones(2), x2, True).sum(), x2,
                      create_graph=True)
x1.requires_grad_()
x5, x6 = T.autograd.grad(T.conv1d(x0, x1, x2).sum(), (x1, x2), create_graph=True)
""",
    "what is written without a derivative keeps nothing for backward": """
x0 = T.tensor([1.0, 2.0])
x0.eq_(T.tensor(2.0, requires_grad=True))
x0.sum().backward()
x0.sum().backward()
x1 = T.ones(2, 3, requires_grad=True) + 0
x1.lt_(T.ones(3, requires_grad=True))
x2 = T.autograd.grad(x1.sum(), x1, retain_graph=True)
x1.sum().backward()
x1.sum().backward()
""",
    "einsum of one operand gives a view of it": """
x0 = T.ones(2, 3, requires_grad=True)
x1 = T.einsum('ij', x0)
x2 = T.einsum('ij->ij', x0)
x2.sum().backward()
""",
    "an empty index names nothing, whatever its shape, of a source that may want a gradient": """
x0 = T.ones(1, 1, 1, 1, requires_grad=True)
x1 = T.zeros(2, 0, 2)
x2 = x1.scatter_add(0, T.tensor([[[]]]), x0)
x3 = T.zeros(3).scatter(0, T.tensor([]), x0)
x4 = T.zeros(2, 3).scatter_reduce(0, T.tensor([]), x0, 'amax')
x5 = T.zeros(()).scatter_add_(0, T.tensor([]), x0)
""",
    "of a view that was not used since a write nobody asks for the history": """
x0 = T.zeros(3, 3)
x1 = x0.unbind(0)[0]
x2 = x0.view(9)
x0 += T.ones(1, requires_grad=True)
x1.requires_grad_(False)
x2.requires_grad_(False)
x3 = x2 * 2
""",
    "what a tensor is filled with has a node of its own": """
x0 = T.zeros(2, 2)
x1 = T.tensor(2.0, requires_grad=True)
x0.masked_fill_(x0 > -1, x1)
x2 = x0.grad_fn.next_functions[0][0] is None
h3 = x0.grad_fn.register_hook(see('node', twice))
x0.sum().backward()
x4 = T.zeros(2, 2).index_fill(0, T.tensor([1]), x1)
x5 = x4.grad_fn.next_functions[0][0] is None
h6 = x4.grad_fn.register_hook(see('node', twice))
x4.sum().backward()
x7 = T.zeros(2, dtype=T.bfloat16)
x7[...] = x1
h8 = x7.grad_fn.register_hook(see('node', twice))
x7.sum().backward()
""",
    "a view is made afresh after a write that is no history": """
x0 = T.tensor([1.0, 2.0], requires_grad=True)
x1 = x0.squeeze()
x1.logical_not_()
x2 = T.autograd.grad(x1.sum(), [x0])
x3 = x0 * 1
x4 = x3.view(2)
x4.register_hook(lambda g: g[:0])
with T.no_grad(): x4[0] = 3.0
x4.register_hook(see('into'))
x4.sum().backward()
""",
    "what has no derivative, of a view without a history": """
x0 = T.tensor([[1.25]], requires_grad=True)
with T.no_grad(): x1 = x0.ravel()
(x1 // 2).backward()
(x1 // T.tensor(2.0)).backward()
T.heaviside(x1, x1).backward()
""",
    "nothing depends on a view of no elements": """
x0 = T.zeros(2, requires_grad=True)
x1 = x0.as_strided((0,), (1,))
x2, = T.autograd.grad(x1.square().sum(), [x0], create_graph=True)
""",
    "what a scatter that names nothing depends on": """
x0 = T.zeros(1, 2, 3)
x1 = T.ones(1, 1, requires_grad=True)
x2 = T.zeros(1, 0)
x3 = x0.scatter_add(0, x2, x1)
x4 = x0.scatter(0, x2, x1)
x5 = x0.scatter_reduce(0, x2, x1, 'amax')
x6 = x5.scatter(0, x2, 2.0)
x7 = T.tensor(1.0).scatter_add(0, T.zeros(0), x1)
""",
    "what attention saves": """
x0 = T.tensor([[1.0, 2.0], [0.5, -1.0]], requires_grad=True)
x1, x2, x3 = x0 * 1, x0 * 1, x0 * 1
x4 = T.nn.functional.scaled_dot_product_attention(x1, x2, x3)
x1.add_(1)
x2.add_(1)
x4.add_(1)
x4.sum().backward()
x5 = x0[None, None] * 1
x6 = T.nn.functional.scaled_dot_product_attention(x5, x5, x5)
x6.add_(1)
x6.sum().backward()
x7 = T.nn.functional.scaled_dot_product_attention(x3, x3, x3)
x3.add_(1)
x7.sum().backward()
""",
    "a hook on the gradients of several tensors, one of which was not used": """
x0 = T.ones(2, requires_grad=True) * 1
x1 = x0 * 2
x0.sin_()
h2 = T.autograd.graph.register_multi_grad_hook((x1, x0), see('multi'))
x3 = T.autograd.grad(x1.sum(), [x1, x0], allow_unused=True)
""",
    "one node, whatever the order in memory, and one run": """
x0 = T.ones(1, 2, 2, 2).to(memory_format=T.channels_last)
x1 = T.nn.functional.conv2d(x0, T.ones(1, 2, 2, 2, requires_grad=True))
x1.sum().backward()
x1.backward(inputs=x1)
""",
    "a Function of a view without a history, and hooks on one": """
x0 = T.ones(1, 2, requires_grad=True)
with T.inference_mode(): x1 = x0[0]
x2 = Sum.apply(x1, 3)
x2.backward()
x3 = x0 + 1
with T.no_grad(): x4 = x3[0]
x4.register_hook(see('first'))
x3.mul_(2)
x4.register_hook(see('second'))
""",
    "a node before a write that has no derivative": """
x0 = T.tensor([[-0.5]], requires_grad=True).half()
x1 = x0.adjoint()
x1.set_(x1)
x1.backward(inputs=[x0])
""",
    "a norm has no second derivative at zero": """
x0 = T.zeros(2, 3, requires_grad=True)
x1, = T.autograd.grad(x0.norm(), x0, create_graph=True)
x2, = T.autograd.grad(x1.sum(), x0)
x3, = T.autograd.grad(T.nn.functional.normalize(x0, dim=0).sum(), x0, create_graph=True)
x4, = T.autograd.grad(x3.sum(), x0)
""",
    "gradients in half precision are the same with a graph": """
x0 = T.tensor([[1.5, -0.5, 0.75], [2.0, 0.75, 0.25]]).half().requires_grad_()
x1, = T.autograd.grad(x0.log_softmax(0).sum(), x0, create_graph=True)
x2 = T.nn.BatchNorm1d(3)(x0.float()).half()
x3, = T.autograd.grad(x2.exp().sum(), x0, create_graph=True)
x4 = T.nn.functional.group_norm(x0[None], 1)
x5, = T.autograd.grad(x4.exp().sum(), x0, create_graph=True)
""",
    "a node that no gradient reaches reads what it has saved, and frees it": """
class Nothing(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y
    @staticmethod
    def backward(ctx, g):
        return None, g
x0 = T.tensor([0.5, 2.0], requires_grad=True)
x1 = x0.tanh()
x2 = Nothing.apply(x1, x0)
x1.pow_(2)
x2.sum().backward()
x3 = Nothing.apply(x0.erf(), x0)
x3.sum().backward()
x3.sum().backward()
x4 = x0 * 1
x5 = Nothing.apply(T.dist(x4, x4 * 2), x0.sum())
with T.no_grad():
    x4.mul_(2)
x5.backward()
x6 = x0 * 1
x7 = x6.clone()
x7[:1].mul_(x6[:1])
x8 = Nothing.apply(x7, x0)
with T.no_grad():
    x6.mul_(2)
x8.sum().backward()
x8.sum().backward()
""",
    "a write through a view runs with the base that is an input of backward": """
x0 = T.eye(3)
x1 = T.tensor([-1.5], requires_grad=True)
x2 = x0[0, :2]
x2.addcdiv_(x2, x1)
x2.sum().backward(inputs=[x0])
x3 = T.eye(3)
x4 = x3[0, :2]
x4.mul_(x1)
x4.sum().backward(inputs=[x3])
x4.sum().backward(inputs=[x3])
""",
    "a Function that writes a view forgets its gradient before it is refused": """
class Dirty(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    @staticmethod
    def backward(ctx, g):
        return g * 2
x0 = T.tensor([-2.0], requires_grad=True)
x1 = x0.view_as(x0)
x1.backward(inputs=[x1])
Dirty.apply(x1)
x2 = T.zeros(0, requires_grad=True).hsplit(1)[0]
x2.retain_grad()
x2.sum().backward()
Dirty.apply(x2)
""",
    "a Function asks for the history of a view in inference mode with grad": """
class Square(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]
x0 = T.arange(6.0)
with T.no_grad():
    x1 = x0[:]
x0[...] = T.tensor(0.25, requires_grad=True)
with T.inference_mode(), T.enable_grad():
    Square.apply(x1)
    T.utils.checkpoint.checkpoint(T.sin, x1, use_reentrant=False)
""",
    "what has no derivative leads on from each tensor it was made of": """
x0 = T.tensor(1.0)
x0.eq_(T.tensor(0.5, requires_grad=True))
x1 = [node is None for node, _ in x0.grad_fn.next_functions]
x2 = T.rand(3, requires_grad=True)
x3 = (x2 * 1).asinh_().grad_fn.next_functions[0][0].name()
x4 = T.detach_copy(x2).grad_fn.next_functions[0][0] is None
x5 = T.ones(2)
x5.set_(x2)
x6 = [node is None for node, _ in x5.grad_fn.next_functions]
x7 = T.ones(3)
T.heaviside(T.ones(3), x2, out=x7)
x8 = [node is None for node, _ in x7.grad_fn.next_functions]
""",
    "what an out= that requires grad may be given": """
x0 = T.ones(3, requires_grad=True) * 1
with T.inference_mode():
    T.randn(2, out=x0)
x1 = T.normal(0.0, 1.0, (2,), out=x0).requires_grad
T.normal(T.ones(2), 1.0, out=x0)
""",
    "what a leaf's hooks have made becomes its gradient, and later hooks see its changes": """
x0 = T.ones(3, requires_grad=True)
x1 = x0.view_as(x0).grad_fn.next_functions[0][0]
x0.register_hook(lambda g: g.sub(2.0))
x1.register_prehook(lambda g: (g[0].div(5.0),))
x0.register_post_accumulate_grad_hook(lambda t: (t.grad.add_(0.5), None)[1])
x1.register_hook(lambda i, o: setattr(x0, "grad", o[0].mul(10)))
x0.sum().backward()
x2 = T.ones(3, requires_grad=True)
x3 = []
x2.register_hook(lambda g: (x3.append(g * 2), x3[-1])[1])
(x2 * 3).sum().backward()
x3[0].add_(100)
""",
    "the pieces of an unsafe split count their writes each by itself": """
x0 = T.ones(3, 3, requires_grad=True)
x1 = x0 + x0
x2, x3, x4 = x1.unsafe_split(1)
x2.mul_(x3)
x2.sum().backward()
x5 = x1.unsafe_chunk(3)[0]._version, x1._version, x3._version, x2._version
x6, x7 = T.zeros(1, 3), T.zeros(2, 3)
x8 = T.split_with_sizes_copy(x1.detach(), [1, 2], out=[x6, x7])
x9 = x6.to_dense() is x6, x6.to_dense(T.float64).dtype == T.float64
""",
    "an operand that is cast within an operation counts its writes": """
x0 = T.ones(3, requires_grad=True)
x1 = T.arange(3)
x2 = T.func.vmap(lambda t, u: t * u)(x0, x1)
x3 = T.nn.functional.mse_loss(x0, x1)
x4 = T.addcmul(x0, x0, x1)
x1.fill_(2)
x5 = T.autograd.grad(x2.sum(), [x0])
x6 = T.autograd.grad(x3, [x0])
x7 = T.autograd.grad(x4.sum(), [x0])
""",
    "a parametrized tensor keeps its gradient as one tensor, not as several": """
m0 = T.nn.Linear(2, 2)
m0(T.tensor([[0.5, -0.75]])).sum().backward()
T.nn.utils.parametrizations.weight_norm(m0)
T.nn.utils.parametrize.remove_parametrizations(m0, 'weight')
m1 = T.nn.Linear(2, 2)
m1(T.tensor([[0.5, -0.75]])).sum().backward()
x2 = m1.weight
T.nn.utils.parametrizations.orthogonal(m1)
x3 = x2 is m1.parametrizations.weight.original
""",
    "what saves no tensors runs backward again": """
x0 = T.tensor([1.0, 4.0, 9.0, 16.0], requires_grad=True)
x1 = T.gradient(x0, spacing=2.0, edge_order=2)[0]
x1.sum().backward()
x1.sum().backward()
x2 = T.ones(1, 2, 3, requires_grad=True)
x3 = T.nn.functional.affine_grid(x2, (1, 1, 2, 2), align_corners=False)
x3.sum().backward()
x3.sum().backward()
x4 = T.autograd.grad(x3.square().sum(), x2, create_graph=True)[0]
x5 = T.autograd.grad(x4.sum(), x2)
""",
    "a pack hook sees the output itself, and may give it back in another shape": """
seen = []
def see(x):
    seen.append((x.requires_grad, x.is_leaf, x.shape))
    return x
hooks = T.autograd.graph.saved_tensors_hooks(see, lambda x: x)
x0 = T.tensor([[0.5, 1.0, 2.0], [1.0, 0.0, -1.0]], requires_grad=True)
with hooks:
    x1 = x0.exp()
    x2 = x0.softmax(1)
    x3, x4 = x0.max(1)
    x6 = x0 * x1
x1.unsqueeze_(0)
x1.sum().backward()
x6.sum().backward()
x3.sum().backward()
x2.t_()
x2.sum().backward()
""",
    "checkpoint keeps a view whose history is lost": """
x0 = T.nn.Parameter(T.tensor([[0.25, 0.5]]))
with T.no_grad():
    x1 = x0[0]
x2 = T.zeros(2, 2)
x3 = x2.chunk(2)[0]
x2.index_copy_(0, T.tensor([1, 0]), T.ones((2, 2), requires_grad=True))
x4 = T.utils.checkpoint.checkpoint(T.exp, x3, use_reentrant=False)
x5 = T.utils.checkpoint.checkpoint(lambda t: t * 2, x1, use_reentrant=False)
T.nn.init.constant_(x1, 0.5)
x5.sum().backward()
x4.sum().backward()
""",
    "an operation without a derivative of a view whose history is lost": """
x0 = T.tensor([2.0, 1.0], requires_grad=True) * 2
with T.no_grad():
    x1 = x0.view(2)
x2 = x1.unique()
x2.sum().backward()
""",
    "a sum of which one part is multiplied is one operation": """
log = []
def see(name, change=None):
    def hook(*given):
        shown = [t for g in given for t in (g if isinstance(g, (tuple, list)) else (g,))]
        log.append((name, [t if t is None else t.detach().clone() for t in shown]))
        return None if change is None else change(*given)
    return hook
x0 = T.tensor([1.0, -2.0], requires_grad=True)
x1 = T.tensor([0.5], requires_grad=True)
for f in (T.add, T.sub, T.rsub):
    x2 = f(x0, x1, alpha=2)
    h0 = x2.grad_fn.register_hook(see("node"))
    x2.backward(x0.detach())
x3 = x0 * 1
x3.add_(x1, alpha=-3).sub_(x0, alpha=0.5)
h1 = x3.grad_fn.register_hook(see("node"))
x3.sum().backward()
x4 = T.add(x0 * 1j, x1, alpha=2 - 1j)
x4.abs().sum().backward()
x5 = T.add(T.tensor([100], dtype=T.int8), T.tensor([100], dtype=T.int8), alpha=-1)
x6 = T.add(x5, x5, alpha=300)
""",
    "hooks see the gradients of promoted operands in the operands' dtypes": """
log = []
def watch(y):
    y.grad_fn.register_hook(lambda given, got: log.append([str(g.dtype) for g in given]))
    y.sum().backward()
    return [node and len(node.next_functions) for node, number in y.grad_fn.next_functions]
x0 = T.tensor([0.5, 1.5, 2.0], requires_grad=True)
x1 = x0.double()
x2 = T.nn.functional
x3 = [watch(f(x0, x1)) for f in (
    T.xlogy, T.special.xlog1py, x2.mse_loss, x2.smooth_l1_loss, lambda a, b: T.cat([a, b]),
    lambda a, b: T.stack([a, b]), lambda a, b: T.where(b > 1, a, b),
    lambda a, b: T.addcmul(b, a, b), lambda a, b: T.addcdiv(a, b, b),
    lambda a, b: b.slice_scatter(a[:1], 0, 0, 1), lambda a, b: b.select_scatter(a[0], 0, 0),
    lambda a, b: T.diag(b).diagonal_scatter(a),
    lambda a, b: b.clone().as_strided_scatter(a[:1], (1,), (1,)))]
x4 = [each.split(".")[1] for several in log for each in several]
""",
    "what has no derivative says so as soon as a gradient arrives": """
log = []
def refused(written, function):
    x = [T.ones(2).requires_grad_(), T.ones(2).requires_grad_()]
    for place, each in enumerate(x):
        each.register_hook(lambda g, place=place: log.append(place))
    y = written(x[1])
    y.register_hook(lambda g: log.append(2))
    try:
        function(x[0], y).sum().backward()
    except RuntimeError:
        log.append(3)
    return [each.grad is not None for each in x]
x0 = refused(lambda b: b // 2, lambda a, b: a.sum() * b.sum())
x1 = refused(lambda b: b // 2, lambda a, b: b.sum() * a.sum())
x2 = refused(lambda b: b // 2, lambda a, b: a * b)
x3 = refused(lambda b: b // 2, lambda a, b: a.exp() * b)
x4 = refused(lambda b: b.clone().floor_divide_(2), lambda a, b: a.exp() * b)
x5 = refused(lambda b: T.heaviside(b, b.detach()), lambda a, b: b.exp() * a.exp())
x6 = list(log)
""",
    "hooks see the gradients of mapped operands in their dtypes": """
log = []
def look(function):
    x = T.tensor([[1.0]]).half().requires_grad_()
    y = T.func.vmap(function)(x)
    y.grad_fn.register_hook(lambda given, _: log.append([None if g is None else str(g.dtype)[-7:]
                                                         for g in given]))
    y.sum().backward()
    return y
x0 = T.ones(1)
x1 = [look(f) for f in (
    lambda t: t + x0, lambda t: t * x0, lambda t: T.where(t > 0, t, x0), lambda t: t - x0.double(),
    lambda t: T.maximum(t, x0), lambda t: T.add(x0, t, alpha=2), lambda t: x0.addcmul(t, t),
    lambda t: T.cat([t, x0]))]
x2 = list(log)
""",
    "what saves a copy of an inference tensor, and what would save a view of it": """
def refused(function, *arguments):
    try:
        function(*arguments)
    except RuntimeError:
        return True
F = T.nn.functional
with T.inference_mode():
    x0 = T.ones(2, 2, 3, 2)
    x1 = x0.contiguous(memory_format=T.channels_last)
x2 = T.nn.Linear(2, 2)
x3 = x2(x1)
x4 = [refused(x2, each) for each in (x0, x1, x0[0], x0.mT[..., :2], x1[0, 0], x0[:, :, ::2])]
x5 = T.ones(2, 2, 3, 2, requires_grad=True)
x6 = F.scaled_dot_product_attention(x5, x5, x0[:1])
x6.sum().backward()
x7 = [refused(F.scaled_dot_product_attention, x5[0], x5[0], each) for each in (x0[0], x0[0, :1])]
""",
    "binary_cross_entropy_with_logits saves its operands, in whatever dtypes and with factors": """
def refused(function, *arguments):
    try:
        function(*arguments)
    except RuntimeError:
        return True
F = T.nn.functional
with T.inference_mode():
    x0 = T.tensor([1.25, 0.25], dtype=T.bfloat16, requires_grad=True)
    x1 = T.tensor([0.5, 1.0])
x2 = T.tensor([0.5, 1.0])
x3 = T.tensor([1.25, 0.25], requires_grad=True)
def loss(*given, **named):
    return F.binary_cross_entropy_with_logits(*given, **named)
x4 = [refused(f) for f in (
    lambda: loss(x0, x2), lambda: loss(x0, x1), lambda: loss(x3, x1), lambda: loss(x3.double(), x1),
    lambda: loss(x3, x2, weight=x1), lambda: loss(x0, x1, weight=x2), lambda: loss(x0, x1, x1))]
x5 = loss(x3, x2.double(), pos_weight=x2)
x2.mul_(2)
x6 = refused(x5.backward)
""",
    "dropout saves no factor for a gradient that goes no further": """
x0 = T.arange(6.0)
x0[0:2] = T.tensor(1.5, requires_grad=True)
with T.no_grad():
    x1 = x0.unsqueeze(0)
x2 = T.nn.functional.dropout(x1, 0.5)
x2.sum().backward()
x2.sum().backward()
x3 = T.utils.checkpoint.checkpoint(lambda t: T.nn.functional.dropout(t), x1, use_reentrant=False)
T.nn.init.constant_(x1, 0.5)
x3.sum().backward()
""",
    "a view of what lost its history has a node that leads nowhere": """
x0 = T.ones(4)
x1 = x0.unfold(-1, 2, 1)
x1.requires_grad = True
x2 = x1.transpose(0, 1)
x0[0] = 2
x3 = len(x2.grad_fn.next_functions)
x4 = str(x2.grad_fn.next_functions[0][0])
x2.grad_fn.next_functions[0][0].name()
""",
    "nodes show the gradients that somebody asks for, and look for NaN in these": """
log = []
x0, x1 = T.tensor([0.0, 1.0], requires_grad=True), T.tensor([T.inf, 1.0], requires_grad=True)
x2 = x0 * x1
h3 = x2.grad_fn.register_hook(see('node'))
x3 = T.autograd.grad(x2, x0, T.ones(2), retain_graph=True)
x2.backward(T.ones(2), inputs=[x1], retain_graph=True)
x2.backward(T.ones(2), inputs=[x2])
with T.autograd.set_detect_anomaly(True): x4 = T.tensor(-1.75, requires_grad=True).rsqrt()
with T.autograd.set_detect_anomaly(True): x4.backward(inputs=x4)
x5 = x0 / x1
with T.autograd.set_detect_anomaly(True): T.autograd.grad(x5, x1, T.tensor([T.inf, 0]))
""",
    "memory that is looked into from nothing has a gradient without a history": """
x0 = T.ones((4, 4), requires_grad=True)
x1 = x0[2, 1:1]
x2 = x1.as_strided((2,), (1,))
x2.square().sum().backward(create_graph=True)
x3 = x0.as_strided((0,), (1,))
x4 = T.autograd.grad(x3.square().sum(), x0, create_graph=True)
""",
    "what is computed in another dtype and cast is one node": """
for f in (
    lambda t: t.sum(dtype=T.float64), lambda t: t.mean(0, dtype=T.float64),
    lambda t: t.prod(dtype=T.float64), lambda t: t.cumsum(0, dtype=T.float64),
    lambda t: t.cumprod(0, dtype=T.float64), lambda t: t.norm(dtype=T.float64),
    lambda t: T.nansum(t, dtype=T.float64), lambda t: t.clone().add_(x1),
    lambda t: t.clone().mul_(x1), lambda t: t.clone().pow_(x1), lambda t: t.clone().atan2_(x1),
    lambda t: t.clone().addcmul_(x1, x1), lambda t: t.clone().xlogy_(x1[0]),
    lambda t: t.clone().clamp_min_(x1), lambda t: t.clone().mul_(x1[0]),
):
    x0 = T.tensor([1.5, 2.0], requires_grad=True)
    x1 = T.tensor([0.5, 3.0], dtype=T.float64, requires_grad=True)
    x2 = f(x0)
    x2.grad_fn.register_prehook(see('before'))
    x2.grad_fn.register_hook(see('after'))
    x2.sum().backward()
    x3, x4 = x0.grad, x1.grad
""",
    "the extrema of one number that inference mode made are copies": """
with T.inference_mode(), T.enable_grad(): x0 = T.tensor(2.0, requires_grad=True)
x1 = [T.aminmax(x0, dim=0), T.aminmax(x0), T.aminmax(x0, dim=-1, keepdim=True)]
""",
}
