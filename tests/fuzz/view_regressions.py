"""Short programs about views that once differed from torch."""

REGRESSIONS = {
    "a view without history says so before a later item of an index": """
x0 = T.tensor([2.0]).expand(2, 2).requires_grad_()
x1 = T.cov(x0)
x2 = x1.split(1)[-1]
x1.bernoulli_(0.5)
x3 = x2[:-1, 2]
""",
    "a view whose base was written is one step from it": """
log = []
def see(*given):
    log.append(("node", [t.detach().clone() for g in given for t in g]))
x0 = T.ones(2, 3, requires_grad=True)
x1 = x0 * x0
x2 = x1.unsqueeze(0).squeeze(0)
x2.index_fill_(0, T.tensor([1]), -1.5)
x2.grad_fn.register_hook(see)
x2.sum().backward()
""",
    "an empty view begins where its index begins": """
x0 = T.arange(12.0).view(3, 4)
x1 = x0[1:1]
x2 = x1.as_strided((2,), (1,))
x3 = x0[:, 2:2].as_strided((2,), (4,))
x4 = x0[-1, 3:1].as_strided((1,), (1,))
x0[2:2].as_strided((9,), (1,))
""",
    "conjugates are views, and so are parts of them": """
x0 = T.tensor([[1 + 2j, 3 - 1j]])
x1 = x0.conj()
x2 = x1.mH
x3 = x1.imag
x4 = x2.real
x5 = x1.conj()
x1.mul_(2j)
x3.add_(1)
with T.inference_mode():
    x6 = x0.conj()
    x7 = T.ones(2, dtype=T.complex64).conj()
""",
    "a write through a part of complex numbers leaves the other part its gradient": """
x0 = T.tensor([1 + 2j, 3 - 1j], requires_grad=True)
x1 = x0 * 1
x1.real.mul_(2)
x1.imag.mul_(3)
T.view_as_real(x1)[..., 0].mul_(2)
x1.conj().imag.mul_(2)
(x1.real * x1.imag).sum().backward()
""",
    "elements that lie in one place share their gradient": """
x0 = T.tensor([[[-2.0, 1.75, -0.25]]]).requires_grad_()
x1 = x0.as_strided((2, 2), (1, 1)).as_strided((2,), (1,))
x1.sum().backward()
""",
    "steps along dimensions of size 1 decide what a view of another type may be": """
x0 = T.arange(6.)
x0.unsqueeze_(0)
x1 = T.zeros(0).unsqueeze(0).view(T.complex64)
x2 = T.tensor(1.).expand((1,))
x2.view(T.bfloat16)
x3 = T.eye(3)[None, -1].stride()
x4 = T.ones(2, 1, 3).transpose(1, 0).view(1, 1, 2, 3).stride()
x5 = T.ones(2, 3)[:, None, 1].stride()
x6 = T.ones(3, 0).unsqueeze(1).expand(2, 3, 1, 0).diagonal().stride()
x7 = T.ones(1, 2, 2, 1).transpose(1, 3).reshape(1, 4).stride()
x8 = T.ones(3, 1)[::2].mT.unsqueeze(0).stride()
""",
    "the positions of a number have no memory": """
x0 = T.tensor(0.75).nonzero()
x1 = [x0.untyped_storage().nbytes(), x0.stride(), T.tensor(0).argwhere().stride()]
x2 = T.zeros(3).nonzero().untyped_storage().nbytes()
x0.as_strided((1,), (1,))
x0.as_strided_((1,), (1,))
""",
    "a view that is conjugate or negative is read as no dtype": """
x0 = T.tensor([1.0 + 2.0j]).conj()
x0.view(T.complex64)
x0.imag.view(T.float32)
""",
    "the node of a leaf is asked of a view of it": """
x0 = T.tensor([-1.0])
with T.inference_mode():
    x1 = T.tensor([-1.25]).requires_grad_()
x1.data = x0
T.autograd.graph.get_gradient_edge(x1)
T.autograd.graph.register_multi_grad_hook((x1, x1), print)
x2 = T.ones(5, requires_grad=True)
with T.no_grad():
    x3 = x2[:2]
T.autograd.graph.get_gradient_edge(x3)
with T.no_grad():
    x2.mul_(2)
with T.inference_mode():
    T.autograd.graph.register_multi_grad_hook((x3, x2), print)
""",
    "a hook on a view stays behind a write that saves what was there": """
log = []
def see(*given):
    log.append(("hook", [t.detach().clone() for t in given]))
class Dirty(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    @staticmethod
    def backward(ctx, g):
        return g * 2
x0 = T.ones(3, requires_grad=True)
x1 = T.tensor([-1.5, 1.0], requires_grad=True)
x2 = x0 * 2
x3 = x2[:2]
x3.register_hook(see)
x3.mul_(x1)
x4 = T.autograd.grad(x2.sum(), [x0, x1])
x5 = x0 * 2
x6 = x5[:2]
x6.register_hook(see)
Dirty.apply(x6)
x7 = T.autograd.grad(x5.sum(), [x0])
""",
    "the hooks of a tensor stay together until it gets another history": """
log = []
def see(name):
    def hook(*given):
        log.append((name, [t.detach().clone() for t in given]))
    return hook
x0 = T.tensor([[0.5, 2.0]], requires_grad=True)
x1 = x0 * 1
x1.register_hook(see("first"))
x1.unsqueeze_(0)
x1.register_hook(see("second"))
x1.sum().backward()
x2 = x0 * 1
x2.register_hook(see("before"))
x2.mul_(2)
x2.register_hook(see("after"))
x2.sum().backward()
x3 = T.ones(3, requires_grad=True) * 1
x4 = x3.split(2)[0]
x3.mul_(2)
x4.register_hook(see("refused"))
x4.register_hook(see("lost"))
""",
    "a view whose base or self has other memory follows the base's history by strides": """
x0 = T.ones(3, requires_grad=True) * 2
x1 = x0.view(3)
x1.data = T.zeros(5)
x0.mul_(2)
x2, = T.autograd.grad(x1.sum(), [x0])
x3 = T.ones(3, requires_grad=True) * 2
x4 = x3.view(3)
x3.set_(T.zeros(5))
x5, = T.autograd.grad(x4.sum(), [x3])
x6 = T.ones(3, requires_grad=True) * 2
x7 = x6.view(3)
x6.data = T.zeros(2)
x7.mul_(3)
x8, = T.autograd.grad(x7.sum(), [x6])
x9 = T.nn.Parameter(T.ones(1, 1)).repeat(1, 2)
x10 = x9.view(-1)
x9.data = T.tensor([[0.25]])
x10.scatter_reduce_(0, T.tensor([1]), T.tensor([1.0]), "mean")
x11, = T.autograd.grad(x10.sum(), [x9])
""",
    "writes that have no derivative do not ask for a lost history": """
x0 = T.ones(2, 3, requires_grad=True) * 2
x1 = x0.unbind(0)[0]
x0.mul_(2)
x1.logical_not_()
x1.logical_and_(T.ones(3))
with T.no_grad():
    x2 = x0[1]
x0.mul_(2)
x2.logical_not_()
with T.no_grad():
    T.zeros(3, out=x1)
    T.zeros(2, out=x2)
x1.mul_(2)
""",
    "attention without elements keeps nothing for its backward": """
x0 = T.zeros(2, 0, 3, requires_grad=True)
x1 = T.nn.functional.scaled_dot_product_attention(x0, x0, x0)
x1.sum().backward()
x1.sum().backward()
""",
    "a view of another dtype may be the same window onto the memory": """
x0 = [T.zeros(0), T.ones(3), T.zeros(0, 4)]
x1 = [t.is_set_to(t.view(T.int32)) for t in x0] + [t.is_set_to(t.view(T.int64)) for t in x0[::2]]
""",
    "a view of a leaf that gets other memory": """
x0 = T.ones((2, 3), requires_grad=True)
for size in ((1, 0), (2, 3), (7,)):
    x1 = x0[:1]
    with T.no_grad():
        x1.set_(T.zeros(size))
    x2 = x1.is_leaf, x1.requires_grad
    x1.sum().backward()
""",
    "an inference tensor of other data is rolled as one sequence": """
with T.inference_mode(): x0 = T.ones(())
x0.data = T.tensor(1.25)
x1 = x0.roll(1)
with T.inference_mode(): x2 = T.ones(2, 2)
x2.data = T.arange(4.0).view(2, 2).mT
x3 = x2.roll(1)
x4 = T.arange(4.0).view(2, 2).mT.requires_grad_()
x5 = x4.roll(3)
(x5 * T.arange(4.0).view(2, 2)).sum().backward()
x6 = T.func.vmap(lambda t: t.roll(1), in_dims=1)(x4)
with T.inference_mode():
    x7 = T.arange(4.0).view(2, 2).requires_grad_(), T.ones(1).expand(3).requires_grad_()
x8 = x7[0].roll(1), x7[0].mT.roll(1), x7[1].roll(1), x7[1].roll(1, 0), x7[0].mT.roll(1, 0)
x9 = [t.flatten() * T.arange(1.0, t.numel() + 1) for t in x8[1:3]]
x9 = [T.autograd.grad(t.sum(), x7, allow_unused=True) for t in x9]
""",
    "gradients of what changes nothing, and of repetitions, are views of nothing": """
x0 = T.ones(2, 3, requires_grad=True)
x1 = [x0.squeeze(-1), x0.squeeze(), x0.squeeze((0, 1))]
x1 = [T.autograd.grad(t.square().sum(), x0, create_graph=True)[0] for t in x1]
x2 = [t[:1] for t in x1]
x8 = T.einsum('ij->ji', x0)
x9 = x8[:1]
x3, = T.autograd.grad(x0.repeat(2, 1).square().sum(), x0, create_graph=True)
x4 = x3[:1]
x5, = T.autograd.grad(x0.tile(2, 1, 1).square().sum(), x0, create_graph=True)
x6 = x5[:1]
x7, = T.autograd.grad(x0[:, :0].repeat(2, 0, 1).sum(), x0)
""",
    "a part of the gradient of what was joined may be written by itself": """
x0 = T.tensor([1.0, 2.0]).requires_grad_()
x1, = T.autograd.grad(T.cat([x0, T.ones(1)]).square().sum(), [x0], create_graph=True)
with T.inference_mode(), T.enable_grad():
    x1[:1, ...] = 0.5
x2, = T.autograd.grad(T.hstack([x0, x0 * 2]).square().sum(), [x0], create_graph=True)
x3 = T.ones(1, 2, requires_grad=True)
x4 = T.ones(1, 2, requires_grad=True)
x5, x6 = T.autograd.grad(T.cat([x3, x4]).square().sum(), [x3, x4], create_graph=True)
x6.mul_(2)
x6.sum().backward()
""",
    "the pieces of an unsafe split have no history where none is recorded": """
x0 = T.ones(2, requires_grad=True)
with T.no_grad():
    x1, x2 = x0.unsafe_split(1)
    x3, x4 = (x0 * 2).unsafe_chunk(2)
with T.inference_mode():
    x5, x6 = x0.unsafe_split_with_sizes([1, 1])
    x7, x8 = T.ones(2).unsafe_split(1)
""",
    "a conjugate whose history is lost is refused beside other tensors too": """
x0 = T.tensor([0.5], dtype=T.complex64, requires_grad=True)
with T.no_grad():
    x1 = x0.conj()
    x2 = x1.imag
    x0.fill_(0.5)
x3 = x0 * x1
x4 = T.addcmul(x0, x2, x2)
with T.no_grad():
    x5 = x0 * x1
""",
    "leaves whose hooks are seen get no gradient of a write into a view that sends none": """
log = []
x0, x1 = T.ones(3, requires_grad=True), T.full((2,), 2.0, requires_grad=True)
for name, leaf in (("first", x0), ("second", x1)):
    leaf.register_post_accumulate_grad_hook(lambda t, name=name: log.append((name, t.grad)))
class Nothing(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, g):
        return None
x2 = x0 * 1
x2[:2].mul_(x1)
Nothing.apply(x2).sum().backward()
""",
    "an inference tensor of no elements is joined with its history": """
with T.inference_mode():
    x0 = T.zeros(0).requires_grad_()
x1 = T.cat([x0, T.zeros(1, 2)], 0)
x2 = T.cat([x0, T.zeros(3)], 0)
x3 = T.autograd.grad(x1.sum(), x0)
""",
    "what one operation returns is no view of what it computed on the way": """
x0 = T.eye(3).mul(2).requires_grad_()
x1 = T.linalg.solve(x0, T.ones(3))
x2 = x1.detach_()
x3, x4 = F.max_pool2d(T.arange(16.0).view(1, 4, 4).requires_grad_(), 2, return_indices=True)
x5 = x4.detach_()
x6 = x3.mul_(2)
x7 = x6.sum().backward()
run = lambda x, *w: T.gru(x, T.zeros(1, 3, 1), w, False, 1, 0.0, False, False, False)[0]
x8 = run(T.ones(2, 3, 4, requires_grad=True), T.ones(3, 4), T.ones(3, 1))
x9 = x8[0]
x8.mul_(2)
x10 = T.autograd.grad(x9.sum(), x8, allow_unused=True)
x8.sum().backward()
x8.detach_()
""",
    "a quotient that is squeezed is a view": """
x0 = T.linalg.cond(T.eye(2))
x0.detach_()
x1 = T.unravel_index(T.tensor([3, 5]), (2, 3))[0]
x1.mul_(2)
x1.detach_()
x2 = T.ones(2, 3).sum_to_size(3)
x2.detach_()
""",
}
