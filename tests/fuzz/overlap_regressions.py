"""Short programs about writes into memory that an operand shares; see `regressions`."""

REGRESSIONS = {
    "the steps of dimensions of size 1 decide how much is shared": """
x0 = T.arange(6.).unsqueeze_(0)
x0[::2] = x0
x1 = T.eye(3).split(1)[-1]
x2 = (T.ones(4, 1) > 2).diagonal()
x2.mul_(x2.view_as(x2))
x3 = T.eye(3)
x4 = x3.split(1)[-1]
x4[...] = x3[None, -1]
x5 = T.arange(5.).unsqueeze(0)
x5[::2].addcmul_(x5, T.ones(1, 5))
x6 = Same.apply(x3.unfold(0, 1, 1))
x6.lerp_(x3.unfold(0, 1, 1), 0.5)
""",
    "what was made of an array of NumPy is a storage of its own": """
x0 = T.ones(3)
x1 = T.from_numpy(x0.numpy())
x0.scatter_add_(0, T.tensor([0]), x1)
x1[T.tensor([0, 2])] = x0[1:]
x2 = T.from_numpy(x0.numpy()[1:]).storage_offset()
x3 = x0.is_set_to(x1)
""",
    "what is cast or scaled shares its memory before": """
x0 = T.arange(4.)
x1 = x0.view(T.int64)
x0[0] = x1[:1]
x2 = x0.view(T.int32)
x0[None] = x2
x0[:2].sub_(x0[1:3], alpha=2)
x0[1:3] = x1
""",
    "an out= is compared with what it covers when it has its new shape": """
x0 = T.arange(12.)
T.topk(x0[4:8].view(2, 2), 1, 0, out=(x0.view(3, 4), T.empty(0, dtype=T.int64)))
x1 = T.arange(4.)
T.kron(x1[:2], x1[:2], out=x1[1:2])
x2 = T.arange(12.)
T.stack([x2[4:8]], out=x2[:8].view(2, 4))
T.cummax(x2[2:6], 0, out=(x2[4:8], T.empty(0, dtype=T.int64)))
T.diag(x2[:9].view(3, 3), out=x2[:3])
T.max(x2[:4].view(1, 4), 0, out=(x2[:4], T.empty(0, dtype=T.int64)))
x2.index_reduce_(0, T.arange(12), x2, 'prod')
""",
    "copies count that their memory was set": """
import copy, pickle
x0 = T.zeros(2)
x1 = copy.copy(x0)._version
x2 = copy.deepcopy(x0)._version
x3 = pickle.loads(pickle.dumps(x0))._version
x4 = copy.copy(T.nn.Parameter(x0))._version
""",
    "backward refuses what was written into memory whose elements share places": """
x0 = T.tensor([1., 2.]).expand(2, 2).detach()
x0[-2] *= T.tensor(1.5, requires_grad=True)
x0.sum().backward()
x1 = T.tensor([1., 2.]).expand(2, 2).detach()
x1[:, 0] += T.tensor(1.5, requires_grad=True)
x1.sum().backward()
x2 = T.tensor([1., 2.]).expand(2, 2).detach()
x3 = x2[0]
x3 *= T.tensor(1.5, requires_grad=True)
x3.sum().backward()
""",
    "the gradient of what was written over cannot be copied where elements lie in one place": """
x0 = T.ones(2, requires_grad=True)
x1 = T.tensor(2.0, requires_grad=True)
x2 = x0 * 1
x3 = x2.expand(3, 2)
x3.fill_(x1)
x2.sum().backward(inputs=[x1])
x4 = x0 * 1
x4.expand(3, 2).index_put_((T.tensor([0]),), T.ones(2))
x4.sum().backward()
x5 = T.zeros(2)
x5.expand(3, 2).fill_(x1)
x5.sum().backward()
""",
    "positions and masks do not lie in what is written": """
x0 = T.tensor([2, 1, 0])
x0.index_fill_(0, x0, 0)
x0.index_fill_(0, x0[1:], 0)
x0.index_put_((x0,), x0.clone())
x0[x0] = 0
x0[x0] += 1
x1 = T.tensor([True, False, True, True])
x1[1:].masked_fill_(x1[:-1], False)
x1[1:][x1[:-1]] = False
x1.masked_fill_(x1, False)
x1[x1] = True
x2 = T.tensor([1.0, 2.0, 3.0])
x2.masked_fill_(x2 > 1, x2[0])
x2.index_fill_(0, T.tensor([1]), x2[2])
""",
    "what is resized for a result keeps the order of dimensions of size one": """
x0 = T.arange(48.0).view(1, 1, 4, 12)[:, :, :, ::2].permute(0, 2, 1, 3)
x1 = T.empty(0)
T.add(x0, x0, out=x1)
x2 = x1.stride()
x3 = T.exp(x0.permute(0, 1, 3, 2), out=T.empty(0)).stride()
""",
    "a number is written to where it lies, in as many dimensions": """
x0 = T.arange(6.0).sum()
x1 = T.atleast_2d(x0)
x2 = T.broadcast_to(x0, (1,))
x2[...] = x1
x2[None] = x2
x3 = x0.view(1)
x3[...] = x1
x4 = x0.expand(1, 1)
x2[:] = x4
x4[None] = x2
""",
    "what had to be copied into one matrix may be written before backward": """
F = T.nn.functional
x0 = T.arange(60.0).reshape(5, 3, 4) / 10
x1 = T.eye(4).requires_grad_()
x2 = T.ones(3, requires_grad=True)
x3 = [F.linear(x0.mT[:, :, :3], x1[:3, :3], x2), F.linear(x0.transpose(0, 1), x1)]
x3 += [x0.transpose(0, 1) @ x1, x0.mT @ x2, x1[:3, :3] @ x0, x2 @ x0]
x3 += [T.inner(x0.transpose(0, 1), x1)]
x0.mul_(2)
x4 = T.autograd.grad(sum([x.square().sum() for x in x3]), (x1, x2))
x5 = F.linear(x0, x1)
x0.mul_(2)
x5.sum().backward()
""",
    "what is written into itself by index is refused in inference mode too": """
with T.inference_mode():
    x0 = T.zeros(0, 3)
    x1 = T.zeros(3)
    x1[T.zeros(3, dtype=T.bool)] = x1
    x0[T.zeros(0, dtype=T.bool)] = x0
""",
    "operands that are given by name are looked at too": """
x0 = T.ones(3, 3)
x1 = T.arange(9.).view(3, 3)
T.add(x0, other=x1, out=x1.t())
T.add(input=x1, other=x0, out=x1.t())
T.addcmul(x0, tensor1=x1, tensor2=x0, out=x1.t())
T.clamp(x0, max=x1, out=x1.t())
x2 = T.abs(input=x1.t() + 1j, out=T.empty(0))
x3 = T.clamp(input=x1, min=2, out=T.empty(0))
x4 = T.nanmean(input=x1, dim=0, out=T.empty(0))
x5 = T.diff(x0, append=x1.t(), out=x1)
""",
}
