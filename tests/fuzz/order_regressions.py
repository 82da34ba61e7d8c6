"""Short programs whose tensors once lay in another order of memory than torch's."""

REGRESSIONS = {
    "pickles keep strides": """
import pickle
x0 = pickle.loads(pickle.dumps(T.tensor([2.0]).expand(2, 2)))
x1 = pickle.loads(pickle.dumps(T.arange(8.).view(2, 4)[:, ::2]))
x2 = pickle.loads(pickle.dumps(T.arange(8.).view(2, 4).T))
x3 = pickle.loads(pickle.dumps(T.zeros(0, 3)))
""",
    "scatter functions copy the storage": """
x0 = T.zeros((6,))
x1 = x0.unfold(0, 2, 1)
x2 = x1.diagonal_scatter(T.ones(2))
x3 = x0[1::2].slice_scatter(T.ones(1), 0, 0, 1)
x4 = x0.as_strided((2, 2), (1, 1)).select_scatter(T.ones(2), 0, 1)
""",
    "attention lies as its queries": """
x0 = (T.arange(24.) / 24).reshape(1, 2, 3, 4).requires_grad_()
x1 = x0.to(memory_format=T.channels_last)
x2 = T.nn.functional.scaled_dot_product_attention(x1, x1, x1)
x3 = T.nn.functional.scaled_dot_product_attention(x0, x0, x0)
x4 = T.autograd.grad(x3.sum(), x0)
x5 = T.autograd.grad(x2.sum(), x0)
""",
    "a derivative lies in memory as the steps it is computed in": """
x0 = T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).t().requires_grad_()
x1 = T.autograd.grad(x0.reciprocal().sum(), x0)
x2 = T.autograd.grad(x0.relu(), x0, T.ones(3, 2))
x3 = T.autograd.grad(T.fmax(x0, x0 * 2).sum(), x0)
x4 = T.autograd.grad(x0.erf(), x0, T.ones(3, 2))
x5 = T.autograd.functional.hessian(lambda t: ((t * 2).relu_()).sum(), x0)
""",
    "stack into an out of another size": """
x0 = T.arange(8.).reshape(1, 2, 2, 2).to(memory_format=T.channels_last)
x1 = T.zeros(3)
T.stack([x0], out=x1)
""",
    "dimensions of size 1 decide between rows and channels last": """
x0 = T.zeros((2, 3, 2, 1)).transpose(-2, 1)
x1 = T.nn.functional.interpolate(x0, scale_factor=2)
x2 = T.nn.functional.group_norm(x0, 1)
""",
    "gradients of layers lie as their inputs": """
x0 = T.arange(48.).reshape(1, 3, 4, 4).to(memory_format=T.channels_last).requires_grad_()
x1 = T.autograd.grad(T.nn.functional.max_pool2d(x0, 2).sum(), x0)
x2 = T.autograd.grad(T.nn.functional.avg_pool2d(x0, 2).sum(), x0)
x3 = T.autograd.grad(T.nn.functional.group_norm(x0, 1).sum(), x0)
x4 = T.autograd.grad(T.nn.functional.adaptive_max_pool2d(x0, 2).sum(), x0)
x5 = x0.detach().roll(1, 1)
x6 = T.autograd.grad(x0.amax(1).sum(), x0)
x7 = T.autograd.grad(x0[x0 > 7].sum(), x0)
x8 = T.autograd.grad(x0.masked_select(x0 > 7).sum(), x0)
""",
    "einsum multiplies batches, in the order of the result": """
x0 = T.arange(6.).reshape(2, 3).requires_grad_()
x1 = T.einsum('ij,kj->ik', x0, x0)
x2 = T.autograd.grad(x1, x0, T.ones_like(x1))
x3 = T.einsum('bij , bjk -> kib', T.ones(5, 2, 3), T.ones(5, 3, 4))
x4 = T.arange(12.).reshape(4, 3).requires_grad_()
x5 = T.autograd.grad(T.einsum('ij,kj->ikj', x0, x4).sum(), [x0, x4])
""",
    "a turn by a quarter has one as its gradient": """
x0 = T.arange(4.).reshape(2, 2, 1).requires_grad_()
x1 = T.autograd.grad(x0.rot90().sum(), x0)
x2 = T.arange(6.).reshape(2, 3).rot90(3)
x3 = T.ones(1, 3).expand(2, 3).rot90()
""",
    "a view has new strides along dimensions of size 1": """
x0 = T.arange(12.).reshape(1, 2, 3, 2).to(memory_format=T.channels_last)
x1 = T.stack([x0.expand_as(x0)])
x2 = T.cat([x0.view_as(x0)])
x3 = T.nn.functional.pad(x0.expand(-1, 2, 3, 2), (1, 1))
x4 = T.autograd.functional.hessian(lambda t: t.relu().sum(), x0)
x5 = T.autograd.functional.jvp(lambda t: T.stack([t * t]), x0, T.ones_like(x0))
""",
    "what is no view of a temporary": """
x0 = T.arange(4.).reshape(1, 2, 2)
x1 = T.ones(2) @ x0
x2 = x1[:]
x3 = T.ones(1, 1, 1).gather(0, T.tensor([[]]))
x4 = x3.unsqueeze(1)
x5 = T.nn.Parameter(T.arange(6.))
x6 = T.func.grad(lambda t: T.func.vjp(lambda t: t * t, t)[0].sum())(x5)
x7 = x6.expand(2, 6)
""",
    "the gradient of a factor lies by columns where the factor does": """
x0 = T.arange(6.).reshape(3, 2).mT.requires_grad_()
x1 = T.arange(12.).reshape(4, 3).mT.requires_grad_()
x2 = T.autograd.grad((x0 @ x1).sum(), [x0, x1])
x3 = T.autograd.grad(T.addmm(T.ones(4), x0, x1, alpha=2).sum(), [x0, x1])
x4 = T.arange(12.).reshape(3, 4).mT.requires_grad_()
x5 = T.autograd.grad(T.nn.functional.linear(x0, x4).sum(), [x0, x4])
x6 = T.autograd.grad(T.nn.functional.linear(x0.detach(), x4).sum(), x4)
x7 = T.autograd.grad(T.ones(3) @ x4.mT, x4, T.ones(4))
""",
    "a kernel of its own is walked by the gradient first": """
x0 = T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).t().requires_grad_()
x1 = T.autograd.grad(T.nn.functional.hardtanh(x0), x0, T.ones(3, 2))
x2 = T.autograd.grad(x0.nan_to_num(), x0, T.ones(3, 2))
x3 = T.autograd.grad(T.nn.functional.mse_loss(x0, x0 * 2, reduction='sum'), x0)
x4 = T.autograd.grad(T.nn.functional.huber_loss(x0, T.zeros(2, 3).t()), x0)
""",
    "the gradient of a view by strides lies as its source": """
x0 = T.tensor([[1.0, -1.0], [1.5, -2.0]]).mT.requires_grad_()
x1 = T.autograd.grad(x0.as_strided((2, 2), (1, 1)).sum(), x0)
x2 = T.arange(6.)[2:].requires_grad_()
x3 = T.autograd.grad(x2.as_strided((2,), (1,), 3).sum(), x2)[0]
x4 = x3.untyped_storage().nbytes()
x5 = x3.storage_offset()
x6 = T.arange(6.).unfold(0, 2, 1).requires_grad_()
x7 = T.autograd.grad((x6.as_strided((3, 2), (2, 1)) * T.arange(6.).view(3, 2)).sum(), x6)
x8 = T.zeros(2, 0, requires_grad=True)
x9 = T.autograd.grad(x8.as_strided((0,), (1,)).sum(), x8)
""",
    "a part of a tensor has a gradient of its own memory, though it is the whole": """
x0 = T.tensor([[-2.0, 0.0]], requires_grad=True)
x1 = T.autograd.grad(x0.tensor_split(2)[0].sum(), x0)
x2 = x0[:].grad_fn.name()
x3 = x0[:, :].grad_fn.name()
x4 = x0[0, T.tensor([1])].grad_fn.next_functions[0][0].name()
""",
    "what an index selects has a gradient of its own memory": """
x0 = T.tensor([[1.5, 0.25]], requires_grad=True)
x1 = T.autograd.grad(x0[-1, None].sum(), x0)
x2 = T.autograd.grad(x0[:, None].sum(), x0)
def along(f): return lambda t: T.func.jvp(f, (t,), (t,))[0]
x3 = T.func.grad(lambda t: along(along(lambda t: t))(t).sum())(x0)
""",
    "a real gradient is part of a complex one": """
x0 = T.ones(3, 3, requires_grad=True)
x1 = T.ones(3, 3, dtype=T.complex64)
x2 = T.autograd.grad((x0 * x1).sum().abs(), x0)
x3 = T.autograd.grad((x0 + x1).sum().abs(), x0)
x4 = T.autograd.grad((x0[0] * x1).sum().abs(), x0)
x5 = T.autograd.functional.jvp(lambda t: t.abs(), x1, x1)
(x0 + x1).backward(x1)
x1.mul_(2)
(x0 + x1).backward(x1)
""",
    "channels last of single elements": """
x0 = T.arange(8.).reshape(1, 2, 2, 2).to(memory_format=T.channels_last)
x1 = T.nn.functional.interpolate(T.nn.functional.max_pool2d(x0, 2), scale_factor=2)
x2 = T.nn.functional.interpolate(T.nn.functional.adaptive_avg_pool2d(x0, 1), scale_factor=2)
x3 = T.nn.functional.conv2d(x0, T.ones(1, 2, 2, 2)).stride()
x4 = T.nn.functional.batch_norm(T.ones(2, 3, 1, 1), T.ones(3), T.ones(3)).stride()
""",
    "a second derivative adds first what came to the second factor": """
x0 = T.arange(8.).reshape(1, 2, 2, 2).to(memory_format=T.channels_last)
x1 = T.autograd.functional.jvp(lambda t: t.sum() * t, 2 ** x0, T.ones_like(x0))
""",
    "a deviation beside a mean gives its gradient first": """
x0 = T.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]]).t().requires_grad_()
x1, x2 = T.std_mean(x0)
x3 = T.autograd.grad((x1, x2), x0)
""",
    "of no elements the strides tell the order, too": """
x0 = T.zeros(0, 0, 1, 1).contiguous(memory_format=T.channels_last)
x1 = T.zeros(1, 0, 2, 2)
x2 = x1.is_contiguous(memory_format=T.channels_last)
x3 = x1.contiguous(memory_format=T.channels_last)
x4 = T.zeros(0, 1, 1, 1)
x5 = x4.contiguous(memory_format=T.channels_last)
""",
    "a gradient that is shared by equal elements lies by rows": """
x0 = T.arange(12.0).view(3, 2, 2).transpose(0, 2).requires_grad_()
x1 = T.autograd.grad(x0.median(), x0)
x2 = T.autograd.grad(x0.nanmedian(), x0)
x3 = T.autograd.grad(x0.max(), x0)
x4 = T.autograd.grad((x0 + 1).prod(), x0)
""",
    "the order of gradients of products and attention": """
x0 = T.ones(3, 2, requires_grad=True)
x1 = T.ones(4, 2, 3, requires_grad=True)
x2, x3 = T.autograd.grad((x0 @ x1).sum(), (x0, x1))
x4 = T.ones(2, 3).T.requires_grad_()
x5, x6 = T.autograd.grad((x4 @ x1).sum(), (x4, x1))
x7, x8 = T.autograd.grad((x1 @ x4).sum(), (x1, x4))
x9 = T.ones(1, 3, 2, requires_grad=True)
x10, x11 = T.autograd.grad((x9 @ x1).sum(), (x9, x1))
x12, x13 = T.autograd.grad((T.ones(2, requires_grad=True) @ x1).sum(), (x1, x1))
x14, = T.autograd.grad(T.nn.functional.scaled_dot_product_attention(x0, x0 * 2, x0).sum(), x0)
x15 = x1 * 2
x16 = T.nn.functional.scaled_dot_product_attention(x1, x15, x1)
x17, = T.autograd.grad(x16.sum(), x15, retain_graph=True)
x18, = T.autograd.grad(x16.sum(), x15, create_graph=True)
x19 = T.ones(1, 2, 3, 2) * x4
x20 = T.nn.functional.scaled_dot_product_attention(x19, x19, x19)
x21, = T.autograd.grad(x20.sum(), x19, create_graph=True)
""",
    "a flip of inference tensors that moves nothing is a copy": """
with T.inference_mode(): x0 = T.tensor([2.0]).expand(2, 2).requires_grad_()
x1 = x0.flip(0) * T.tensor([[1.0, 2.0], [3.0, 4.0]])
x1.sum().backward()
""",
    "the gradient of a leaf with gaps lies by rows": """
x0 = T.arange(16.).reshape(2, 2, 2, 2).diagonal().requires_grad_()
x0.square().sum().backward()
x1 = T.arange(16.).reshape(4, 4)[:, ::2].T.requires_grad_()
x1.sum().backward(create_graph=True)
""",
    "the gradients of norms lie as what they are of": """
x0 = T.arange(1.0, 9.0).reshape(1, 2, 2, 2).to(memory_format=T.channels_last).requires_grad_()
x1 = T.autograd.grad(T.dist(x0, x0 * 2), x0)
x2 = T.autograd.grad(T.linalg.vector_norm(x0), x0)
x3 = T.autograd.grad(T.linalg.vector_norm(x0, 0.5), x0)
x4 = T.ones(3, 2).T.requires_grad_()
x5 = T.autograd.grad(x4.norm(dim=0).sum(), x4)
""",
    "one sample and a weight with channels last": """
x0 = T.arange(24.0).reshape(2, 3, 4)
x1 = T.ones(3, 2, 2, 2).contiguous(memory_format=T.channels_last)
x2 = T.nn.functional.conv2d(x0, x1)
x3 = x2.stride()
x4 = T.nn.functional.conv_transpose2d(x0[None], x1[:2])
x5 = x4.stride()
x6 = T.nn.functional.conv_transpose2d(x0, x1[:2])
x7 = x6.stride()
""",
    "one volume with channels last keeps them in a pool of the largest": """
x0 = T.arange(120.0).reshape(2, 3, 4, 5).permute(3, 0, 1, 2)
x1, x2 = T.nn.functional.max_pool3d(x0, 2, 1, return_indices=True)
x3 = x1.stride()
x4 = x2.stride()
x5 = T.nn.functional.avg_pool3d(x0, 2, 1).stride()
""",
    "gradients of norms and of sums without NaN, of what does not lie by rows": """
x0 = T.arange(24.0).view(2, 3, 4).permute(2, 0, 1).requires_grad_()
x1 = [T.autograd.grad(f(x0, 1).sum(), x0) for f in (T.nansum, T.nanmean)]
x2 = [T.autograd.grad(f(x0, 1), x0, T.ones(4, 3)) for f in (T.nansum, T.nanmean)]
x3 = T.autograd.grad(T.linalg.vector_norm(x0, dim=1).sum(), x0)
x4 = T.zeros(2, 2, requires_grad=True)
x5 = T.autograd.grad(T.linalg.vector_norm(x4, dim=1).sum(), x4)
""",
    "a normalised batch has channels last also where its input has gaps": """
x0 = T.ones(2, 2, 3, 2).contiguous(memory_format=T.channels_last)
x1 = [T.nn.functional.batch_norm(each, None, None, training=True) for each in (
    x0.narrow(3, 0, 1), x0[::2], x0[:, :, ::2], x0.narrow(1, 0, 1), x0.narrow(0, 0, 1))]
x2 = T.nn.functional.batch_norm(x0.narrow(3, 0, 1), T.zeros(2), T.ones(2))
x3 = T.ones(1, 3, 2, 2, 3).contiguous(memory_format=T.channels_last_3d)[:, :, :, :, :1]
x4 = T.nn.functional.batch_norm(x3, None, None, training=True)
x5 = [T.nn.functional.rms_norm(each, each.shape[-1:]) for each in (x0, x3, x0[::2], x0.mT)]
""",
    "what take reads gets its gradient in its own order": """
x0 = T.arange(6.).reshape(2, 3).t().requires_grad_()
x1 = T.autograd.grad(x0.take(T.tensor([0, 4])).sum(), x0)
x2 = T.autograd.grad(x0.take(T.tensor([[0], [4]])).square().sum(), x0, create_graph=True)[0]
x3 = T.autograd.grad(x2.square().sum(), x0)
""",
    "one matrix for a batch gets its gradient turned unless it lies by rows": """
x0 = T.arange(4.).as_strided((2, 2), (1, 1)).requires_grad_()
x1 = T.arange(12.).reshape(3, 2, 2).requires_grad_()
x2 = T.autograd.grad((x0 @ x1).sum(), x0)
x3 = T.arange(8.).reshape(2, 4)[:, ::2].requires_grad_()
x4 = T.autograd.grad((x3 @ x1).sum(), x3)
x5 = T.arange(4.).reshape(2, 2).requires_grad_()
x6 = T.autograd.grad((x5 @ x1).sum(), x5)
x7 = T.autograd.grad((x5.t() @ x1).sum(), x5)
""",
    "einsum turns its first operand before it sums": """
x0 = T.arange(4.).reshape(2, 2).requires_grad_()
x1 = T.einsum('i...->...', x0)
h1 = x1.grad_fn.register_hook(lambda g, _: (g[0] * 2,))
x2 = T.autograd.grad(x1, x0, T.ones(2))
""",
    "what is written into a view gets its gradient by rows": """
x0 = T.arange(16.).reshape(2, 2, 2, 2).requires_grad_().to(memory_format=T.channels_last)
x1 = T.zeros(4, 2, 2, 2).to(memory_format=T.channels_last)
x1[:2] = x0
x2 = T.autograd.grad((x1 * 2).sum(), x0)
x3 = T.zeros(4, 2, 2, 2).to(memory_format=T.channels_last)
x3[1:3].mul_(x0)
x4 = T.autograd.grad((x3 * 2).sum(), x0)
""",
    "the tangents of examples lie as all examples do": """
x0 = T.eye(3)
x1 = T.func.vmap(lambda t: T.func.jvp(lambda t: t, (t,), (T.ones_like(t),)))(x0[0])
x2 = T.func.vmap(lambda t: T.func.jvp(lambda t: t, (t,), (t * 2,)))(x0[:, 1])
x3 = T.func.vmap(lambda t: T.func.jvp(lambda t: t, (t,), (t * 2,)))(x0[:, 1:])
x4 = T.func.vmap(lambda t: T.func.jvp(lambda t: t, (t,), (t * 2,)), in_dims=-1)(x0[1:, 1:].mT)
""",
    "examples of given strides lie one behind the other": """
x0 = T.func.vmap(lambda t: t.new_empty_strided((2, 3), (4, 1)).copy_(t))(T.ones(2, 3))
x1 = T.func.vmap(lambda t: t.new_empty_strided((2, 3), (1, 2)).fill_(1))(T.ones(2, 3))
x2 = T.func.vmap(T.func.vmap(lambda t: t.new_empty_strided((2,), (2,)).fill_(1)))(T.ones(2, 3))
""",
    "pools along one dimension keep channels last in memory": """
F = T.nn.functional
x0 = T.arange(48.0).reshape(2, 6, 4).mT.requires_grad_()
x1, x2 = F.max_pool1d(x0, 2, return_indices=True)
x3 = F.max_pool1d(x0, 2)
x4 = F.max_pool1d(x0.detach(), 2)
x5 = F.avg_pool1d(x0, 3, 1)
x6, x7 = F.adaptive_max_pool1d(x0, 2, return_indices=True)
x8 = F.adaptive_avg_pool1d(x0, 3)
x9 = F.adaptive_avg_pool1d(x0, 1)
x10 = F.lp_pool1d(x0, 2, 2)
(x1.sum() + x3.exp().sum() + x5.sum()).backward()
x11 = x0.grad
x12 = T.autograd.grad((x6 * x8[..., :2]).sum(), x0)[0]
x13 = F.dropout(F.avg_pool1d(x0, 2), 0.5)
x14 = F.avg_pool1d(x0[0].mT, 2)
""",
    "gradients of real transforms lie as the transforms do": """
x0 = T.arange(24.).view(2, 3, 4).requires_grad_()
x1 = [T.autograd.grad(T.fft.hfft(x0, dim=d).square().sum(), x0)[0] for d in range(3)]
x2 = [T.autograd.grad(T.fft.irfft(x0 + 1j, dim=d).square().sum(), x0)[0] for d in range(3)]
x3 = T.autograd.grad(T.fft.irfft2(x0 + 1j, dim=(2, 0)).square().sum(), x0)[0]
""",
    "vectors of batches lie by rows, however the matrices do": """
x0 = T.arange(90.).sin().view(5, 2, 3, 3).transpose(0, 1)
x1 = [T.linalg.svdvals(x0).stride(), T.linalg.svd(x0)[1].stride(), T.geqrf(x0)[1].stride()]
x2 = [T.linalg.eigvals(x0).stride(), T.linalg.eig(x0)[0].stride(), T.linalg.cond(x0).stride()]
x3 = [T.linalg.eigvalsh(x0 + x0.mT).stride(), T.linalg.eigh(x0 + x0.mT)[0].stride()]
x4 = T.linalg.svdvals(x0, out=T.empty(0)).stride()
""",
    "integers that hold no NaN are copied by rows": """
x0 = T.nan_to_num(T.arange(6).view(2, 3).t(), out=T.empty(0, dtype=T.int64))
x1 = T.nan_to_num(T.arange(6).view(2, 3).t())
""",
    "the gradient of an angle lies as its number": """
x0 = T.arange(1., 7.).view(2, 3).t().requires_grad_()
x1 = T.autograd.grad(x0.angle(), x0, T.ones(3, 2))[0]
x2 = (x0.detach() + 1j).requires_grad_()
x3 = T.autograd.grad(x2.angle(), x2, T.ones(3, 2))[0]
""",
    "what is taken into a resized tensor lies as the indices do": """
x0 = T.zeros(3, 2, dtype=T.int64).t()
x1 = T.take(T.ones(4), x0, out=T.empty(0))
x2 = T.take(T.ones(4), index=x0, out=T.empty(0))
x3 = T.take(T.ones(4), x0)
""",
}
