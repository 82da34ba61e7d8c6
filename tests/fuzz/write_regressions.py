"""Short programs about writes that once differed from torch; see `regressions`."""

REGRESSIONS = {
    "memory that grows is that of all who look into it": """
x0 = T.arange(6.)
x1 = x0.view(2, 3)
x2 = x0[2:4]
x3 = x0.view(T.float64)
x4 = x0.detach()
x0.resize_(10)
x0.fill_(7)
x1.mul_(2)
x2.add_(1)
x5 = x1.data_ptr() == x0.data_ptr()
x6 = T.arange(4.)
x7 = x6[2:]
x7.resize_(6)
x7.fill_(9)
x8 = T.arange(2.)
x9 = x8[1:]
T.mul(T.tensor([2., 4., 8.]), 2, out=x9)
""",
    "what is written over its input is known to backward": """
x0 = T.ones(2, requires_grad=True)
x1 = x0 * -2
T.nn.functional.elu_(x1)
x1.add_(1)
x1.sum().backward()
x2 = x0 * -2
T.nn.functional.leaky_relu_(x2, 0.5)
x2.sum().backward()
x3 = x0 * -2
T.celu_(x3, 2.0)
x3.sum().backward()
x4 = x0 * -2
T.selu_(x4)
x4.sum().backward()
x5 = x0 * -2
T.nn.functional.rrelu_(x5, 0.25, 0.25, True)
x5.sum().backward()
x6 = (x0 * 2).asinh_()
x6.sum().backward()
""",
    "torch's ops save more than their derivatives need": """
x0 = T.ones(2, 2, requires_grad=True)
x1 = x0 * 1
x2 = x1.gather(0, T.tensor([[0]]))
x3 = x1.masked_select(x1 > 0)
x4 = x1.take(T.tensor([0]))
x5 = T.cdist(x1, x1)
x6 = x1.cummax(0)[0]
x7 = x1.nansum()
with T.no_grad(): x1.zero_()
x2.sum().backward()
x3.sum().backward()
x4.sum().backward()
x5.sum().backward()
x6.sum().backward()
x7.backward()
x8 = x0.prod()
x8.mul_(2)
x8.backward()
x9 = T.complex(x0, T.ones(2, 2))
x9.sum().real.backward()
""",
    "kernels of random numbers look at a dtype once there is something to draw": """
x0 = T.zeros(0, dtype=T.int64).normal_()
x1 = T.zeros(0, dtype=T.bool).exponential_()
x2 = T.zeros(0, dtype=T.bool).cauchy_()
x3 = T.zeros(0, dtype=T.complex64).bernoulli_(0.5)
x4 = T.zeros(2, dtype=T.complex64, requires_grad=True)
x4.bernoulli_(0.5)
x4.random_()
x5 = T.zeros(2, dtype=T.complex64)
x5.bernoulli_(0.5)
x5.bernoulli_(2)
x5.normal_()
""",
    "products with a sum are views of a temporary": """
with T.no_grad(): x0 = T.tensordot(T.ones(2, 2), T.ones(2, 2), 1)
x0[0] = T.tensor([1.0, 2.0], requires_grad=True)
with T.no_grad(): x1 = T.einsum('ij,jk->ik', T.ones(2, 2), T.ones(2, 2))
x1.mul_(T.tensor(2.0, requires_grad=True))
with T.no_grad(): x2 = T.einsum('i,j->ij', T.ones(2), T.ones(2))
x2.mul_(T.tensor(2.0, requires_grad=True))
""",
    "a view that was written has no hooks of its own": """
x0 = T.ones(2, 2, requires_grad=True)
x1 = (x0 * 2)[0]
h2 = x1.register_hook(see('hook 3'))
x1.relu_()
x1.sum().backward()
""",
    "the gradient of a view that was written anew": """
x0 = T.ones(2, 2, requires_grad=True)
x1 = x0 * 2
x2 = x1.ravel()
x2.mul_(2)
x3 = T.autograd.grad(x2.sum(), x1)
x4 = T.tensor([2.0]).expand(2, 2).requires_grad_()
x5 = x4[:1, 0]
with T.no_grad(): x6 = x5.select(-1, 0)
x6.pow_(2)
x5.backward()
x7 = x0 * 2
x8 = x7.split(1, 0)[0]
x7.pow_(2)
x8.retain_grad()
x8.sum().backward()
x9 = T.logical_not(x8)
""",
    "what torch asks before it writes an out=": """
x0 = T.tensor([1.0 + 2j])
T.abs(x0, out=x0)
x1 = T.zeros(1)
T.where(x1 > 0, x1.double(), x1, out=x1)
x2 = T.zeros(1, dtype=T.complex128)
T.abs(x0, out=x2)
T.abs(x0, out=T.zeros(1, dtype=T.bfloat16))
T.abs(x0, out=T.zeros(1, dtype=T.int64))
""",
    "an input of grad() whose history is not known": """
x2 = T.zeros(1)
x3 = x2.unbind(0)[0]
x2.masked_fill_(x2 > 2, T.tensor(2.0, requires_grad=True))
x4 = T.autograd.grad(x2.sum(), [x3], allow_unused=True)
""",
    "flags that outlive a history": """
x0 = T.ones(2, requires_grad=True)
x1 = x0 * 2
x1.retain_grad()
x1.detach_()
x2 = x0 * 2
x2.detach_()
m3 = T.nn.Linear(2, 2)
T.nn.utils.clip_grad_value_(m3.parameters(), 0.25)
x4 = T.ones(1, dtype=T.complex64, requires_grad=True)
x5 = x4 * 2
x5.nan_to_num_()
x6 = x4.nan_to_num()
""",
    "saved-tensor hooks see nothing where no gradient goes further": """
x0 = T.ones(2, 2, requires_grad=True)
with T.no_grad(): x1 = x0.mT
with keep('pack 2'): x3 = x1 * x1
with keep('pack 3'): x3 = x1.exp()
with keep('pack 3'): x3 = x1.sin()
with keep('pack 3'): x3 = x1 * 2
with keep('pack 4'): x5 = x0 * x0
x6 = T.zeros(0, dtype=T.int64)
x7 = Same.apply(x6)
x7[...] = T.tensor(0.25, requires_grad=True)
h8 = T.autograd.graph.register_multi_grad_hook((x0, x5), see('multi 9'))
x9 = T.autograd.grad(x5.sum(), [x0])
x5.sum().backward()
""",
    "what out= casts, resizes and refuses": """
x0 = T.arange(6.0).view(2, 3)
T.all(x0, 0, out=T.zeros(3))
T.all(x0.to(T.uint8), out=T.zeros((), dtype=T.bool))
T.cat([x0, x0], out=T.zeros(4, 3, dtype=T.int64))
x1 = T.sum(x0, None, out=T.zeros(()))
T.where(x0 > 0, x0, 2.0, out=T.zeros(2, 3))
x2 = T.mean(x0, 0, out=T.zeros(3, dtype=T.complex64))
x3 = T.mean(x2, 0, out=T.zeros(()))
x4 = T.mean(x2, out=T.zeros(()))
x5 = T.diff(x0, out=T.zeros(2, 2, dtype=T.float64))
x6 = T.clamp_min(x0, T.tensor(1.0), out=T.zeros(2, 3, dtype=T.float64))
x7 = T.clamp_min(x0, 1.0, out=T.zeros(2, 3, dtype=T.float64))
T.conj_physical(x0, out=T.zeros(2, 3, dtype=T.float64))
x8 = T.zeros(2).expand(2, 2)
T.matmul(T.ones(2, 2), T.ones(2, 2), out=x8)
T.sum(T.ones(2, 2, 2), 0, out=x8)
T.mean(T.ones(2, 2, 2), 0, out=x8)
x9 = T.zeros(3, requires_grad=True)
x10 = x9 * 1
T.log_softmax(x0[0], 0, out=x10)
x10.sum().backward()
""",
    "out= is resized in its own storage": """
x0 = T.zeros(4)
x1 = x0[1:2]
T.add(T.ones(2), 1, out=x1)
x2 = x0[::2]
T.add(T.ones(4), 1, out=x2)
x3 = T.eye(3)
x4 = x3.view(1, 9)
T.arange(3, out=x4)
x5 = T.zeros(2, 3)
T.add(T.ones(2, 3).T, 1, out=x5)
""",
    "a range fills an out= of any shape": """
x0 = T.zeros(1, 1, 3)
T.arange(3, out=x0)
T.linspace(0, 2, 3, out=x0)
""",
    "out= of a comparison may require grad": """
x0 = T.ones(2, requires_grad=True)
T.gt(x0, 0, out=x0)
T.logical_not(x0, out=x0)
x0.logical_not_()
x1 = x0 * 2
x1.logical_or_(x0)
x1.sum().backward()
x0.eq_(0)
""",
    "a tensor written into itself": """
x0 = T.eye(2)
x0[None] = x0
x1 = T.tensor([0])
x1[-1] = x1
x0[0:1] = x0[0]
x0[:, 0:1] = x0[:, :1]
x0[[0, 1]] = x0
x0[...] = x0[1]
x0[None] += x0
x0.copy_(x0[1])
T.clamp(x1, 0, 1, out=x0)
""",
    "copy_ of a number": """
x0 = T.zeros(2, dtype=T.float64)
x0.copy_(2.7)
x0.copy_(True)
x1 = T.zeros(2, dtype=T.int64)
x1.copy_(2.7)
x1.copy_("2")
""",
    "resize_ to the same shape changes nothing": """
x0 = T.zeros(2, 3).T
x0.resize_(3, 2)
x0.resize_(3, 1)
""",
    "a gradient has the shape that its history was made with": """
x0 = T.ones(3, requires_grad=True)
x1 = x0 * 2
x1.data = T.ones(2)
x1.register_hook(see('hook 1'))
x1.sum().backward()
x1.backward(T.ones(2))
x2 = x0 * 2
x2.data = T.ones(3, dtype=T.float64)
x2.register_hook(see('hook 2'))
x2.sum().backward()
x3 = T.ones(1, requires_grad=True)
x4 = x3 * 2
x5 = x4.sum()
x4.data = T.ones(3)
(x4.sum() + x5).backward()
x6 = x0 * 1
with T.no_grad(): T.add(T.ones(2), 1, out=x6)
x6.sum().backward(create_graph=True)
x7, x8 = T.ones(4, requires_grad=True).split(2)
x7.data = T.ones(3)
x7.sum().backward()
x9 = x0 * 2
with T.no_grad(): x9.set_(T.ones(2))
x9.sum().backward()
x10 = T.ones(2, 3, requires_grad=True)
x11 = x10 * 2
with T.no_grad(): x11.t_()
x11.sum().backward()
x12 = x10 * 2
with T.no_grad(): x12.unsqueeze_(0)
x12.sum().backward()
x13 = x10 * 2
with T.no_grad(): x10.t_()
x13.sum().backward()
""",
    "a view that out= has resized is a view of another geometry": """
x0 = T.tensor([1.25, -2.0], requires_grad=True)
x1 = x0.transpose(-1, 0)
x2 = x1.sum(0)
T.gt(x2, x2, out=x1)
(x2 * x1).backward()
x3 = (T.ones(4, requires_grad=True) * 2).view(2, 2)
T.arange(3, out=x3)
x3[[0]] = 0.25
x3.sum().backward()
""",
    "a gradient that was retained before the shape was changed": """
x0 = T.ones(2, 1, requires_grad=True)
x1 = x0 * 2
x1.retain_grad()
x1.transpose_(0, 1)
x2 = x1.retains_grad
x1.sum().backward(retain_graph=True)
x1.retain_grad()
x1.sum().backward(inputs=[x1])
x1.detach_()
x3 = (x0 * 2)[0:2]
x3.retain_grad()
x3.transpose_(0, 1)
x3.sum().backward()
""",
    "a view without the history of its base retains nothing": """
x0 = T.zeros(2, 4)
x1 = x0.split(1, -2)[0]
with T.no_grad(): x2 = x0[0]
x0.copy_(T.tensor([2.0, -1.5, -1.75, -1.5], requires_grad=True))
x1.retain_grad()
x2.retain_grad()
x3 = x1.retains_grad
x4 = x1.argmax()
x5 = x1.to(T.int64)
x6 = x1.unique()
x7 = x1 * 2
x8 = (T.zeros(2, 2, requires_grad=True) * 1)
x9 = x8.split(1)[0]
x8.mul_(2)
x9.retain_grad()
""",
    "each post-accumulate hook sees what the last one returned": """
x0 = T.zeros(2, 3, requires_grad=True)
x0.register_post_accumulate_grad_hook(see('post 1', lambda t: t.grad))
x0.register_post_accumulate_grad_hook(see('post 2'))
x0.sum().backward()
x0.register_post_accumulate_grad_hook(see('post 3', lambda t: t.grad[0]))
x0.sum().backward()
""",
    "a hook of several gradients does not await that at which backward starts": """
x0 = T.tensor([1.0, 2.0], requires_grad=True)
x1 = x0 * 2
x2 = x1.sum()
h3 = T.autograd.graph.register_multi_grad_hook((x1, x2), see('multi 3'))
h4 = T.autograd.graph.register_multi_grad_hook((x0, x0), see('multi 4'))
x2.backward(retain_graph=True)
T.autograd.backward([x2, x1.sum()], retain_graph=True)
x5 = T.autograd.grad(x2, x2, retain_graph=True)
x6 = T.autograd.grad(x0, x0, T.ones(2))
x0.backward(T.ones(2))
""",
    "a derivative that is not implemented, where nobody asks for it": """
x0 = T.tensor([2.0], requires_grad=True)
x1 = x0.unique()
x2 = x1.grad_fn.next_functions[0][0].name()
x1.backward(inputs=[x1])
x1.backward()
x3 = x0 * 1
T.arange(1, out=x3)
x3.sum().backward(inputs=[x3])
""",
    "values without elements must fit too": """
x0 = T.ones(3, 2)
x0[T.tensor(False)] = T.ones(2, 0)
x0[T.tensor(False)] = T.ones(1, 0, 3, 2)
x0[T.tensor(False)] = T.ones(2, 0, 3, 2)
x0[T.zeros(0).long()] = T.ones(2, 0, 2)
x0[T.zeros(0).long()] = T.ones(1, 0, 2)
x0.index_put_((T.zeros(0).long(),), T.ones(2, 0, 2))
""",
    "a complex scatter_reduce has a derivative in place alone": """
x0 = T.zeros(2, 2, dtype=T.complex64)
x1 = T.tensor([[1.25]], dtype=T.complex64, requires_grad=True)
x2 = x0.scatter_reduce(0, T.tensor([[0]]), x1, 'sum')
x0[0:1].scatter_reduce_(0, T.tensor([[0]]), x1, 'mean')
""",
    "what a function wrote in place has lost its gradient": """
x0 = T.tensor([2.0, 3.0], requires_grad=True)
x1 = x0 * 2
x1.sum().backward(inputs=x1, retain_graph=True)
Dirty.apply(x1)
x1.sum().backward()
""",
    "gradients that torch computes by other ways": """
x0 = T.ones(1, 1, 3, requires_grad=True)
x1 = x0.as_strided((2, 2), (1, 1)).as_strided((2,), (1,))
x1.sum().backward()
x2 = T.zeros(0, requires_grad=True)
T.cat([x2], -1).square().sum().backward(create_graph=True)
x3 = T.tensor([-0.5], requires_grad=True)
x4 = x3.angle()
x4.backward()
x4.backward()
x5 = T.tensor([2.0, 0.0], requires_grad=True)
x6 = T.tensor([2**62])
x6.map_(x6, lambda a, b: a + b)
x7 = x5 * 2
with T.no_grad(): x8 = x7.view(-1)
with keep('pack 9'): x9 = x7 * x8
with keep('pack 9'): x9 = x8 ** x7
""",
    "what is not looked at, and how far": """
x0 = T.ones(3, 1)
x1 = x0.mT
T.add(x0.all(), x1, out=x0)
x2 = T.zeros(0, 3, requires_grad=True)
x3, x4 = x2.chunk(2)
x3.register_hook(lambda g: 1)
x4.sum().backward()
x5 = T.ones(1, 1, requires_grad=True)
with T.no_grad(): x6 = x5.hsplit(1)
Dirty.apply(x5)
x5.requires_grad_(False)
x7 = T.zeros(2, 2)
with T.no_grad(): x8 = x7[0]
x7.mul_(T.tensor(2.0, requires_grad=True))
x9 = x8.grad
x10 = T.ones((), requires_grad=True) * 2
x11 = x10[...]
x11[...] = 2.0
x12, = T.autograd.grad(x11.sum(), [x10])
x12.ge_(0)
with T.inference_mode(): x13 = T.ones(2, requires_grad=True)
x13.unsqueeze_(0)
""",
    "a leaf that has got another shape since its graph was made": """
x0 = T.ones(1, 3, requires_grad=True)
x1 = x0.trace()
T.logical_not(x1, out=x0)
x1.backward()
x2 = T.ones(3, requires_grad=True)
x3, x4 = x2.exp().sum(), x2.sum()
T.logical_not(T.ones(2, 3), out=x2)
x3.backward()
x4.backward()
x5 = T.ones(3, 1, requires_grad=True)
x6 = (x5 * 2).sum()
with T.no_grad(): x5.squeeze_()
x6.backward()
x7 = T.ones(2, 3, requires_grad=True)
x8 = x7.exp().sum()
x7.data = T.ones(6)
x8.backward()
""",
    "out= gets its size before its memory is looked at": """
x0 = T.ones(1, 1, 1)
T.mean(x0, 0, out=T.tensor([2.0]).expand(2, 2))
T.softmax(x0, 0, out=T.zeros(1).expand(3))
T.diag(T.ones(2), out=T.zeros(1).expand(3))
T.exp(x0, out=T.zeros(1).expand(3))
x1 = T.ones(2, 3)
T.max(x1, 0, out=(x1[0], T.empty(0, dtype=T.int64)))
T.max(x1, out=x1[0, 0])
T.cummax(x1, 0, out=(T.zeros(1).expand(2, 3), T.empty(0, dtype=T.int64)))
T.fft.irfft(T.ones(3, dtype=T.complex64), out=T.zeros(4, dtype=T.complex64))
""",
    "what is asked before a write to elements that share memory": """
x0 = T.zeros(1, dtype=T.complex64).expand(3)
x0.clamp_min_(1)
x0.floor_()
x0.relu_()
T.nn.functional.elu_(x0)
T.nn.functional.silu(T.zeros(1, dtype=T.int64).expand(3), inplace=True)
x1 = T.zeros(3, dtype=T.complex64)
x1.lt_(T.zeros(2, 3))
x1.atan2_(T.zeros(2, 3))
x2 = T.zeros(0, dtype=T.bool)
x2.cumsum_(0)
x3 = T.ones(2, dtype=T.complex64, requires_grad=True) * 1
T.nn.functional.silu(x3, inplace=True)
""",
    "a comparison in place saves nothing": """
x0 = T.ones(2)
x1 = T.tensor(0.25, requires_grad=True)
x0.eq_(x1)
x0.sum().backward()
x0.sum().backward()
x2 = x1 * 1
x2.ge_(x1)
x2.backward(create_graph=True)
""",
    "a view that was set to other memory": """
x0 = T.ones(1, 2, 3, 2, requires_grad=True)
x1 = T.eye(3)
x2 = x1.expand_as(x1)
x2.set_(x0)
x2.sum().backward()
""",
    "the shape of a view changes before its base gets a history": """
x0 = T.arange(6.0)
x1 = x0[...]
x1.t_()
x1[...] *= T.tensor(0.25, requires_grad=True)
""",
    "the gradient of a strided view of shared elements, recorded": """
x0 = T.tensor([1.0, 2.0]).expand(2, 2).requires_grad_()
x1 = x0.as_strided((2,), (1,))
x1.sum().backward(create_graph=True)
""",
    "hooks on a view, of which a part is written": """
x0 = T.ones(3, 2, requires_grad=True) * 1
x1 = x0.mT
x1.register_hook(see('hook 2'))
x2 = x1 * 3
x1[:1].mul_(2)
x1[None, :1] = -1.5
(x0.sum() + x2.sum()).backward()
""",
    "a tensor that fills is held to the dtype like a number": """
x0 = T.tensor([True, False])
x1 = T.ones(2, dtype=T.int64)
x1.masked_fill_(x0, T.tensor(2.7))
x1.masked_fill_(x0, T.tensor(float('inf')))
x1[x0] = T.tensor(2.5e30)
x2 = T.ones(2, dtype=T.uint8).masked_fill(x0, T.tensor(300))
x3 = T.ones(2).half().masked_fill(x0, T.tensor(1e5))
x4 = T.ones(2).masked_fill(x0, T.tensor(2 + 0j))
x5 = T.ones(2).masked_fill(x0, 2 + 0j)
x6 = T.ones(2).masked_fill(x0, T.tensor(2 + 1j))
x7 = T.ones(2)
x7[x0] = T.tensor(2 + 1j)
""",
    "numbers that a dtype has no room for": """
x0 = T.tensor(1e300)
x1 = T.tensor(-1e5, dtype=T.float16)
x2 = T.tensor(2**63, dtype=T.bfloat16)
x3 = T.tensor(10**40, dtype=T.int8)
x4 = T.full((2,), 1e5, dtype=T.float16)
x5 = T.full((2,), 1e39, dtype=T.bfloat16)
x6 = T.full((2,), 1e39)
x7 = T.full((2,), 1e39 + 1j, dtype=T.complex64)
x8 = T.ones(2)
x8[0] = 1e39
x8[:1] = float('inf')
x9 = T.where(x8 > 2, x8, 1e39)
x10 = T.where(x8 > 2, T.ones(2, dtype=T.uint8), -1)
x11 = T.where(x8 > 2, 300, T.ones(2, dtype=T.int8))
x12 = T.ones(2, dtype=T.int8).clamp(min=300)
x13 = x8.half().clamp(-1e5, 1)
x14 = x8.clamp(max=float('inf'))
x15 = T.nn.functional.pad(x8.half(), (0, 1), value=1e5)
x16 = T.nn.functional.pad(T.ones(2, dtype=T.int64), (0, 1), value=2.5e30)
""",
    "a view with a hook that was given other memory": """
x0 = T.tensor([1.0, 2.0], requires_grad=True) * 1
x1 = x0.transpose(0, 0)
x1.data = T.tensor([1.5, -0.75])
x1.grad_fn.register_hook(see('node 1'))
x1 *= 2
""",
    "what is said first of a write that is refused": """
x0 = T.ones(3)
x1 = T.ones(3, 3)
x0.gcd_(x1)
x0.lerp_(x1, 0.5)
x0.bool().pow_(x1.bool())
x0.to(T.complex64).clip_(x1)
x2 = T.zeros(3, 1).expand(3, 3)
x2.bool().expand(3, 3).cumsum_(0)
x3 = T.zeros(3, 1, dtype=T.bool).expand(3, 3)
x3.cumprod_(0)
x3.cumsum_(0)
x4 = x1.to(T.complex64)
x4.clamp_(x4.mT)
x1.ldexp_(x1[1])
x5 = T.full((3, 3), 1.0)
x5.bernoulli_(x5[1:2, 1:2])
T.ones(0, 3).bernoulli_(T.tensor([1.5]))
x6 = T.zeros(()).index_reduce_(0, T.tensor([0]), T.ones(1), 'prod')
""",
    "an index that is refused has begun to use a view": """
x0 = T.ones(4, requires_grad=True)
with T.inference_mode(): x1 = T.atleast_2d(x0)
with T.inference_mode(): x0[[3]] = T.tensor([-1.25])
x2 = x1[x0 > 0]
x3 = x1[[[1, 2, 3]]]
x4 = x1[5]
""",
    "what draws is refused before it draws": """
x0 = T.zeros(1).expand(3)
x0.normal_()
x0.random_(3)
x0.bernoulli_(T.full((3,), 0.5))
x1 = T.rand(2)
""",
    "a leaf whose gradient has another shape is not copied": """
import copy
x0 = T.ones(1, requires_grad=True)
x0.backward()
T.logical_not(T.arange(6.0), out=x0)
x1 = copy.deepcopy(x0)
""",
    "what holds nothing is joined into itself": """
x0 = T.zeros(0)
T.cat([x0], out=x0)
T.hstack([x0, x0], out=x0)
x1 = T.ones(2)
T.cat([x1], out=x1)
""",
    "an index is refused before it writes what was an inference tensor": """
with T.inference_mode():
    x0 = T.ones(2)
x1 = T.zeros(2)
x0.data = x1
x0[0] = 7
x0[:1] = T.tensor([7.0])
x0[True] = 7
""",
    "a target's gradient reads what the loss was given": """
x0 = T.tensor([0.5, 0.75], requires_grad=True)
x1 = T.tensor([0.25, 2.5])
x2 = x0 * 1
x3 = F.poisson_nll_loss(x2, x1)
x2.mul_(2)
x3.backward()
x4 = F.poisson_nll_loss(x2, x1.requires_grad_())
x2.mul_(2)
x4.backward()
""",
}
