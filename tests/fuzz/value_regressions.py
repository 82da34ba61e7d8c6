"""Short programs whose numbers once differed from torch's."""

REGRESSIONS = {
    "elimination leaves of a singular matrix what it leaves in torch": """
x0 = T.tensor([[-0.5, -0.25], [1.0, 1.5], [1.75, -1.0]])
x1 = T.linalg.det(x0 @ x0.mT).count_nonzero()
x2 = T.tensor([[[[-1.25, 1.75], [1.25, 0.0], [1.5, -2.0]]]])
x3 = T.linalg.det(x2 @ x2.mT).sgn_()
x4 = T.tensor([[[[0.75, 1.25], [0.75, 1.75]], [[0.25, 0.25], [1.25, 1.25]]]])
x5 = T.linalg.det(x4 @ x4.mT).reciprocal()
x6 = T.linalg.slogdet(x0 @ x0.mT)[1]
x7 = T.tensor([[-1.5, -1.5, 1.75, -0.5], [-1.25, 0.25, 1.5, -0.75]])
x8 = T.linalg.det(x7.mT @ x7).ge_(0)
""",
    "a distance of 0 has no gradient, whatever comes": """
x0 = T.tensor([[1.0, -1.25], [3.0, 4.0]], requires_grad=True)
x1 = T.cdist(x0, x0).sqrt()
x1.sum().backward()
x2 = T.nn.functional.pdist(T.ones(2, 3, requires_grad=True) * x0[0, 0]).sqrt()
x3 = T.autograd.grad(x2.sum(), x0)
""",
    "no rounding of the mean is left of equal slopes in a normalisation": """
x0 = T.tensor([0.93510365, 0.9411784]).requires_grad_()
T.nn.functional.layer_norm(x0, (2,)).sum().backward()
""",
    "gradients raise bfloat16 numbers to the third power in steps": """
x0 = T.full((2,), 1.5, dtype=T.bfloat16, requires_grad=True)
x1 = T.autograd.grad(x0.rsqrt(), x0, T.full((2,), 3.0, dtype=T.bfloat16))
x2 = x1[0].view(T.int16)
x3 = T.tensor([0.8, 1.7, 2.3, 2.9, 0.3], dtype=T.bfloat16, requires_grad=True)
x4 = [T.autograd.grad((x3 ** n).sum(), x3)[0].view(T.int16) for n in (4, -1)]
""",
    "the gradient of a NaN that was chosen is NaN": """
x0 = T.tensor([0.5, float('nan'), 0.2], requires_grad=True)
x1 = T.tensor([0.1, float('nan'), 0.7], requires_grad=True)
x2 = T.tensor([0, 2, 2])
x3 = T.autograd.grad(x0.scatter_reduce(0, x2, x1, 'amax').sum(), [x0, x1])
x4 = T.autograd.grad(x0.index_reduce(0, x2, x1, 'amin', include_self=False).sum(), [x0, x1])
x5 = T.tensor([1.0, 2.0], requires_grad=True)
x6 = T.tensor([1.0, 3.0], requires_grad=True)
x7 = x5.scatter_reduce(0, T.tensor([0, 1]), x6, 'amax', include_self=False)
x8 = T.autograd.grad(x7.sum(), [x5, x6])
""",
    "nothing is left of an infinite gradient": """
x0 = T.tensor([-1.0, float('nan'), 1.0], requires_grad=True)
x1 = x0.log1p()
x2 = T.autograd.grad(x1.nan_to_num().square().sum(), x1)
""",
    "singular matrices have derivatives, of NaN": """
x0 = T.eye(2, dtype=T.complex64) * 0
x0.requires_grad_()
x1 = T.linalg.slogdet(x0)[1]
x2 = T.autograd.grad(x1, x0)
x3 = T.zeros(2, 2, requires_grad=True)
x4 = T.linalg.qr(x3)[1]
x5 = T.autograd.grad(x4.sum(), x3)
""",
    "attention of half precision is rounded as torch's": """
x0 = T.tensor([[1.0, 2.0, 1.75, -0.75], [1.25, -0.75, -0.75, -0.5]]).half().requires_grad_()
x1 = T.nn.functional.scaled_dot_product_attention(x0, x0, x0)
x1.sum().backward()
x2 = x0.detach()[None, None].requires_grad_()
x3 = T.nn.functional.scaled_dot_product_attention(x2, x2, x2)
x3.sum().backward()
x4 = T.tensor([[[[-1.0, 0.75], [0.5, 0.25]]]]).bfloat16().requires_grad_()
x5 = T.nn.functional.scaled_dot_product_attention(x4, x4, x4, is_causal=True)
x5.sum().backward()
""",
    "vectors are normalised in their own dtype": """
x0 = T.tensor([[1.25, -1.5], [0.3, 0.7]]).half().requires_grad_()
x1 = T.tensor([[-2.0], [0.3]], requires_grad=True)
x2 = T.nn.functional.cosine_similarity(x0, x1)
x3 = T.autograd.grad(x2.sum(), [x0, x1])
x4 = T.nn.functional.cosine_similarity(x0, T.tensor([[1, 2], [3, 4]]))
x5 = T.nn.functional.cosine_similarity(x1.double(), x1)
""",
    "a dropout in place draws before it refuses": """
x0 = T.ones(3, requires_grad=True)
T.nn.functional.dropout(x0, 0.5, inplace=True)
x1 = T.randn(3)
T.nn.functional.alpha_dropout(x0, 0.5, True, inplace=True)
x2 = T.randn(3)
""",
    "a frozen batch norm of half precision is rounded once": """
x0 = T.tensor([[1.5, 2.5], [0.25, -1.0]]).half().requires_grad_()
x1 = T.tensor([1.5, 0.5]).half().requires_grad_()
x2 = T.tensor([0.3, -0.2]).half()
x3 = T.tensor([0.7, 1.3]).half()
x4 = T.nn.functional.batch_norm(x0, x2, x3, x1)
x5 = T.autograd.grad(x4.square().sum(), [x0, x1], create_graph=True)
x6 = T.autograd.grad(x5[0].sum(), [x0, x1])
x7 = T.nn.functional.batch_norm(x0.detach(), x2, x3)
""",
    "a matrix with a NaN has no determinant": """
x0 = T.linalg.det(T.tensor([[float('nan'), 0.], [0., 0.]]))
x1 = T.linalg.det(T.tensor([[0., 0.], [float('nan'), float('nan')]]))
x2 = T.linalg.slogdet(T.tensor([[0., 1.], [0., float('nan')]]))[1]
""",
    "no gradient of xlogy where none comes": """
x0 = T.tensor([1.0, 2.0, 0.0], requires_grad=True)
x1, = T.autograd.grad(x0.xlogy(-1.5), x0, T.tensor([1.0, 0.0, 1.0]), create_graph=True)
x2, = T.autograd.grad(T.special.xlog1py(x0, -1.5), x0, T.tensor([1.0, 0.0, 1.0]))
""",
    "a gradient of half precision is the same number where it is recorded": """
x0 = T.tensor([0.25, 0.5, 0.75, 1.5, 2.0, 1.75]).half().requires_grad_()
x1 = T.tensor([0.7, -1.3, 0.7, 0.7, 0.7, 0.7]).half()
x2, = T.autograd.grad((x0 * 0.4).tanh(), x0, x1, create_graph=True)
x3, = T.autograd.grad(T.nn.functional.gelu(x0 * 0.4), x0, x1, create_graph=True)
x4, = T.autograd.grad(T.nn.functional.softplus(x0 * 0.4), x0, x1, create_graph=True)
x5, = T.autograd.grad(x2.sum(), x0)
""",
    "no gradient of kl_div where none comes": """
x0 = T.tensor([-1.0, 2.0, 0.0], requires_grad=True)
x1 = T.nn.functional.kl_div(x0, x0, reduction='none')
x2 = T.autograd.grad(x1, x0, T.zeros(3))
""",
    "the statistics of half precision are kept in it": """
x0 = T.tensor([[[1.1, 2.3], [0.7, -1.9]], [[3.3, 0.45], [-2.7, 0.9]], [[0.1, 4.2], [7.5, 0.3]]])
x1 = x0.half().requires_grad_()
x2 = x0.bfloat16().requires_grad_()
x3 = T.nn.functional.batch_norm(x1, None, None, training=True)
x4 = T.nn.functional.batch_norm(x2[:, 0], T.zeros(2), T.ones(2), training=True)
x5 = T.nn.functional.instance_norm(x1)
x6 = T.nn.functional.layer_norm(x2, (2,))
x7 = T.nn.functional.group_norm(x1, 1)
x8 = T.autograd.grad(x3.square().sum() + x5.pow(3).sum() + x7.pow(3).sum(), x1)
x9 = T.autograd.grad(x6.pow(3).sum(), x2)
""",
    "sums of half precision at an index are rounded one by one": """
x0 = T.tensor([0, 1, 0, 0, 1, 2, 0, 0])
x1 = T.tensor([1.3, -0.7, 0.35, 2.1, -1.9, 0.11, 0.77, -3.3]).half()
x2 = T.tensor([0.3, 1.7, -2.2, 0.9]).half().requires_grad_()
x3 = x2.index_put((x0,), x1, accumulate=True)
x4 = x2.index_add(0, x0, x1)
x5 = x2.scatter_add(0, x0, x1)
x6 = x2.scatter_reduce(0, x0, x1, 'mean')
x7 = x2[x0]
x8 = T.autograd.grad(x7, x2, x1)
""",
    "batches of nothing are multiplied whatever their dtypes": """
x0 = T.zeros(0, 2, dtype=T.int64) @ T.ones(1, 1, 2, 1)
x1 = T.zeros(2, 0, dtype=T.int64) @ T.ones(1, 0, 2)
x2 = T.ones(1, 1, 2) @ T.zeros(2, 0, dtype=T.int64)
x3 = T.ones(0, 2, requires_grad=True) @ T.ones(5, 2, 0, dtype=T.int64)
x4 = T.cdist(T.ones(2, 3, 2).half(), T.ones(3, 3, 2))
""",
    "the reciprocal of a complex zero is infinite": """
x0 = T.zeros(2, dtype=T.complex64).reciprocal().real
x1 = (T.ones(2, dtype=T.complex64) / T.zeros(2, dtype=T.complex64)).real
x2 = (1 / T.zeros(2, dtype=T.complex64)).real
""",
    "the gradient of what as_strided_scatter replaces goes to what is replaced, as in torch": """
x0 = T.arange(6.).reshape(3, 2).requires_grad_()
x1 = T.ones(2, requires_grad=True)
x2 = T.as_strided_scatter(x0, x1, (2,), (3,), 1)
(x2 * x2).sum().backward()
x3 = x0[0, 0].detach().requires_grad_()
x4 = T.as_strided_scatter(x3, x1[1], (), ())
x4.backward()
""",
    "the gradient of a whole basis of singular vectors is that of its first part": """
x0 = T.tensor([[2.0, 0.5], [0.25, -1.0], [1.0, 3.0]], requires_grad=True)
x1 = T.linalg.svd(x0)[1]
x1.sum().backward()
x2 = T.svd(x0.mT, some=False)[1]
x2.prod().backward()
""",
    "atan2 has no second derivative at the origin": """
x0 = T.tensor([0.0, 0.0, 1.0], requires_grad=True)
x1 = T.tensor([0.0, 1.0, 0.0], requires_grad=True)
x2, x3 = T.autograd.grad(T.atan2(x0, x1).sum(), [x0, x1], create_graph=True)
x4 = T.autograd.grad(x2.sum(), [x0, x1], retain_graph=True)
x5 = T.autograd.grad(x3.sum(), [x0, x1])
""",
    "dropout draws before it asks for the history": """
x0 = T.ones(3, requires_grad=True)
x1 = x0.split(1)[0]
with T.no_grad(): x0.mul_(2)
T.nn.functional.dropout(x1)
x2 = T.rand(2)
""",
    "each part of a loss has the dtype of its own operands": """
x0 = T.tensor([-1.5, 0.3], dtype=T.float64, requires_grad=True)
x1 = T.tensor([2.0, 0.7])
x2 = T.nn.functional.kl_div(x0, x1, reduction='sum')
x3 = T.nn.functional.kl_div(x0, x1, reduction='none', log_target=True)
x4 = T.nn.functional.poisson_nll_loss(x1, x0.detach())
x5 = T.autograd.grad(x3.sum(), [x0])
""",
    "each of the largest differences has the whole gradient of a distance": """
x0 = T.tensor([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], requires_grad=True)
x1 = T.tensor([[0.0, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 4.0, float('inf')]], requires_grad=True)
x2 = T.autograd.grad(T.cdist(x0, x1, float('inf')), [x0, x1], T.arange(1.0, 10.0).reshape(3, 3))
x3 = T.autograd.grad(T.nn.functional.pdist(x0, float('inf')), x0, T.tensor([1.0, 2.0, 3.0]))
x4 = T.tensor([[float('nan'), 1.0]], requires_grad=True)
x5 = T.cdist(x4, x0[:, :2], 0.0)
x6 = T.autograd.grad(T.cdist(x4, x0[:, :2], 1.0).sum(), x4)
x7 = T.cdist(T.zeros(2, 0), T.zeros(3, 0), float('inf'))
""",
    "an array is equal to a tensor element by element, and unequal as a whole": """
import numpy
x0 = T.tensor([1.0, 2.0])
x1 = numpy.array([1.0, 3.0])
x2 = x0 == x1
x3 = x0 != x1
x4 = x1 != x0
x5 = x0 != numpy.float32(1)
x6 = x0 != numpy.ones(3)
""",
    "sums of half precision are rounded after each addition where torch's are": """
x0 = T.linspace(-1, 3, 12).half().reshape(2, 3, 2).requires_grad_()
x1 = T.tensor([0, 1, 1, 0, 1, 1, 1, 0, 1])
x2 = T.linspace(-2, 1.7, 9).half()
x3 = x0.index_add(1, x1, T.linspace(-2, 1.7, 36).half().reshape(2, 9, 2))
x4 = T.autograd.grad(x0.index_select(1, x1), x0, T.linspace(-2, 1.7, 36).half().reshape(2, 9, 2))
x5 = T.autograd.grad(x0.take(x1), x0, x2)
x6 = x0.put(x1, x2, accumulate=True)
x7 = T.autograd.grad(x0.flatten().unfold(0, 4, 1), x0, T.linspace(-2, 1.7, 36).half().view(9, 4))
x8 = T.autograd.grad(x0.as_strided((9, 4), (1, 1)), x0, T.linspace(-2, 1.7, 36).half().view(9, 4))
x9 = T.linspace(-1, 3, 32).bfloat16().reshape(1, 2, 4, 4).requires_grad_()
F = T.nn.functional
x10 = F.fold(F.unfold(x9 * 0.3, 3, padding=1), (4, 4), 3, padding=1)
x11 = T.autograd.grad(x10, x9, x9.detach().flip(3))
x12 = T.autograd.grad(F.avg_pool2d(x9, 3, 1, 1), x9, x9.detach().flip(3))
x13 = T.autograd.grad(F.max_pool2d(x9, 3, 1, 1), x9, x9.detach().flip(3) * 0.3)
""",
    "numbers that were arguments between the tensors once": """
x0 = T.tensor([[1.0, 2.0], [3.0, 4.0]])
x1 = T.tensor([1.0, 2.0])
x2 = T.add(x0, 2, x1)
x3 = x0.clone().sub_(2, x1)
x4 = T.addcdiv(x0, 2.0, x0, x1)
x5 = x0.addcmul(0.5, x0, x1)
x6 = T.addmm(2, x0, 3, x0, x0)
x7 = T.addmv(2, x1, x0, x1)
x8 = x0.clone().addr_(2, 3, x1, x1)
x9 = x0.addbmm(3, x0[None], x0[None])
x10 = T.baddbmm(2, x0[None], x0[None], x0[None], out=T.zeros(1, 2, 2))
x11 = T.addmm(x0, 3, x0, x0)
x12 = T.add(x0, x0, x0)
x13 = T.mul(x0, 2, x0)
""",
    "a matrix with a NaN has no Cholesky factor, and a determinant whose gradient is NaN": """
x0 = T.tensor([[[1.0, 0.0], [float('nan'), 1.0]], [[4.0, 2.0], [2.0, 5.0]]])
x1 = T.linalg.cholesky(x0)
x2 = T.linalg.cholesky_ex(x0)[1]
x3 = x0.clone().requires_grad_()
x4 = T.autograd.grad(T.linalg.det(x3).nansum(), x3)
""",
    "a slice whose norm is NaN is not scaled, nor is its gradient": """
x0 = T.tensor([[float('nan'), 1.0], [0.25, 0.5]], requires_grad=True)
x1 = T.renorm(x0, 2, 0, 1.0)
x2 = T.autograd.grad(x1, x0, T.tensor([[1.0, 2.0], [3.0, 4.0]]))
x3 = T.renorm(T.zeros(3, 0), float('inf'), 0, 1.0)
""",
    "the gradient of too few complex numbers' variance is complex": """
x0 = T.tensor([1 + 2j, 2.0], requires_grad=True)
x1 = T.autograd.grad(x0.var(correction=2), x0)
x2 = T.autograd.grad(x0[:0].std(), x0)
x3 = T.zeros(0, dtype=T.complex64, requires_grad=True)
x4 = T.autograd.grad(x3.var(), x3)
""",
    "a bias of two dimensions is added to the rows of a matrix": """
x0 = T.ones(2, 3, requires_grad=True)
x1 = T.ones(4, 3, requires_grad=True)
x2 = T.arange(4.0).reshape(1, 4).requires_grad_()
x3 = T.nn.functional.linear(x0, x1, x2)
x4 = T.nn.functional.linear(x0[0], x1, x2)
x5 = T.nn.functional.linear(x0, x1, T.ones(2, 1))
(x3.sum() + x4.sum() + x5.sum()).backward()
x6 = T.nn.functional.linear(x0[0], x1, T.ones(1, 1))
""",
    "running products are taken one after the other": """
x0 = T.full((40,), 1e20)
x0[20:] = 0
x1 = x0.cumprod(0).isnan()
x2 = x0.double().cumprod(0).isnan()
x3 = T.linspace(0.5, 1.7, 40, dtype=T.float64)
x4 = x3.cumprod(0)
x5 = x3.cumsum(0)
x6 = x3.reshape(4, 10).cumprod(1)
""",
    "numbers are drawn in the memory and the dtype of out": """
T.manual_seed(0)
x0 = T.normal(T.zeros(20), 1.0, out=T.zeros(20, 2)[:, 0])
x1 = T.normal(0.0, T.ones(20), out=T.zeros(20, dtype=T.float64))
x2 = T.normal(T.zeros(5, 4), T.ones(5, 4), out=T.zeros(4, 5).t())
x3 = T.normal(1.0, 2.0, (3, 6), out=T.zeros(6, 3).t())
x4 = T.randn(4, 5, out=T.zeros(5, 4).t())
x5 = T.rand(2, 3, out=T.zeros(3, 2).t())
x6 = T.randint(9, (2, 3), out=T.zeros(3, 2, dtype=T.int64).t())
""",
    "the least length of half precision may be infinite": """
x0 = T.tensor([1.0, 2.0]).half()
x1 = T.nn.functional.cosine_similarity(x0, x0, dim=0, eps=9e23)
x2 = T.nn.functional.cosine_similarity(x0.bfloat16(), x0.bfloat16(), dim=0, eps=9e23)
x3 = T.nn.functional.cosine_similarity(x0, x0, dim=0, eps=0.3)
x4 = T.nn.functional.cosine_similarity(x0.float(), x0.float(), dim=0, eps=1e300)
""",
    "a margin finds no NaN too small": """
x0 = T.tensor([[float('nan'), 1.0, 2.0], [0.5, float('nan'), -1.0]], requires_grad=True)
x1 = T.nn.functional.multilabel_margin_loss(x0, T.tensor([[0, 1, -1], [2, -1, 0]]))
x2 = T.nn.functional.multi_margin_loss(x0, T.tensor([0, 1]), reduction='none')
x3 = T.nn.functional.multi_margin_loss(x0, T.tensor([0, 1]), p=2)
(x1 + x2.sum() + x3).backward()
""",
    "a second derivative of rows does not count how often they occur": """
x0 = T.arange(6.0).reshape(3, 2).requires_grad_()
x1 = T.tensor([[0, 1, 1], [2, 0, 0]])
x2 = T.nn.functional.embedding(x1, x0, padding_idx=2, scale_grad_by_freq=True)
x3 = T.autograd.grad(x2.square().sum(), x0, create_graph=True)[0]
x4 = T.autograd.grad(x3.square().sum(), x0)
""",
    "checkpoints may write in place": """
x0 = T.tensor([[0.5, -1.0], [2.0, 0.1]], requires_grad=True)
f = lambda t: T.nn.functional.silu(t * 2, inplace=True).mul_(t)
x1 = T.utils.checkpoint.checkpoint(f, x0, use_reentrant=False)
x1.sum().backward()
""",
    "the gradient of 0 times a logarithm is 0, whatever comes": """
x0 = T.tensor([1.25, 0.0]).requires_grad_()
x1 = T.autograd.grad(x0.xlogy(-1), x0, T.tensor([float('nan'), float('nan')]))
x2 = T.autograd.grad(T.special.xlog1py(x0, -2.0), x0, T.tensor([float('nan'), float('inf')]))
""",
    "what has no derivative waits for all its gradients": """
x0 = T.tensor([-1.0, 2.0]).requires_grad_()
x1 = T.tensor([1.0, 2.0]).requires_grad_()
x2 = x0 // 2
x2.retain_grad()
x3 = x1 * 2
x4 = x2 * 2 + x2 * 3
x5 = T.autograd.grad(x4.sum(), x2, retain_graph=True)
(x4.sum() + x3.sum()).backward()
T.autograd.backward([x3.sum(), x0.floor_divide(3).sum()])
x6 = x1 // 2
T.autograd.backward([x6, x0 * 2], [T.ones(2), T.ones(2)])
""",
    "a user's function may save what is detached in place later": """
x0 = T.tensor([2.0]).requires_grad_()
x1 = x0 * 3
x2 = Square.apply(x1)
x1.detach_()
x2.backward()
""",
    "nothing is added to rows without elements": """
x0 = T.zeros((2, 0)).half()
x0.index_put_((T.tensor([1, 1, 1]),), T.zeros((3, 0), dtype=T.float16), accumulate=True)
""",
    "a leaf of another shape since takes a gradient that nobody else has": """
x0 = T.tensor([1.25])
x1 = T.tensor([1.0], requires_grad=True)
x2 = x1 - x0
x2.atan2_(x0)
with T.no_grad():
    x1.squeeze_()
x2.backward()
""",
    "a gradient that stops at a result asks its node for nothing": """
x0 = T.tensor([1.25, -1.0, -0.25]).requires_grad_()
x1 = T.nn.functional.leaky_relu(x0, 0.1)
x2 = x1.grad_fn.register_hook(see('after'))
x0.data = T.tensor([1.0, 2.0])
x1.sum().backward(inputs=[x1], retain_graph=True)
x1.sum().backward(inputs=[x1])
x1.sum().backward(inputs=[x1])
""",
    "an index is saved for a view without history, and freed": """
x0 = T.ones((4,), requires_grad=True)
with T.no_grad():
    x1 = x0.view(4)
x2 = x1.index_select(0, T.tensor([0]))
x2.backward()
x2.backward()
""",
    "a view without history asks for no gradient once its base does not": """
x0 = T.tensor([[0.25]], requires_grad=True)
with T.no_grad():
    x1 = x0.flatten()
    T.arange(3, out=x0)
x2 = T.mode(x1, -1)
x3 = x1.exp()
""",
    "directions at zero": """
x0 = T.zeros(2, dtype=T.complex64)
x1 = T.func.jvp(T.sgn, (x0,), (T.ones_like(x0),))
pull = lambda t: T.func.vjp(T.abs, t)[1](T.ones(2))[0]
x2 = T.func.jvp(pull, (x0,), (T.ones_like(x0),))
x3 = T.func.jvp(lambda t: T.func.jvp(T.abs, (t,), (t + 1,))[1], (x0,), (T.ones_like(x0),))
x4 = T.func.jvp(T.sinc, (x0,), (T.ones_like(x0),))
x5 = T.func.jvp(T.sinc, (T.zeros(2),), (T.ones(2),))
x6 = T.func.jvp(lambda t: T.linalg.vector_norm(t, 3), (T.zeros(2),), (T.ones(2),))
""",
    "the mean's gradient knows nothing of a variance that is not asked for": """
x0 = T.tensor([float('inf'), 1.0, 2.0], requires_grad=True)
x1 = T.autograd.grad(T.var_mean(x0)[1], x0)
x2 = T.autograd.grad(T.var_mean(x0, 0)[0], x0)
x3 = T.autograd.grad(T.var_mean(x0[1:])[1], x0, create_graph=True)
x4 = T.func.jvp(lambda t: T.var_mean(t)[1], (x0.detach()[1:],), (T.ones(2),))
""",
    "a deviation of 0 has no derivative of its derivative": """
x0 = T.ones(2, 3, requires_grad=True)
x1 = x0.std(0)
x2 = T.autograd.grad(x1.sum(), x0, create_graph=True)[0]
x3 = T.autograd.grad(x2.sum(), x1, retain_graph=True)
x4 = T.autograd.grad(x2.sum(), x0)
""",
    "a gradient that is NaN counts for nothing in a running logarithm": """
x0 = T.tensor([0.5, -1.0, 2.0], requires_grad=True)
x1 = x0.logcumsumexp(0)
x1.backward(T.tensor([1.0, float('nan'), -2.0]))
x2 = T.cov(x0.detach().requires_grad_().logcumsumexp(0)[:, None])
""",
    "the norm of one element is its size, though its square overflows": """
x0 = T.tensor([[1e30], [1e-30]], requires_grad=True)
x1 = T.linalg.vector_norm(x0, dim=1)
x2 = T.linalg.vector_norm(x0, 3, 1, keepdim=True)
x3 = T.nn.functional.normalize(x0, dim=1)
x4 = T.linalg.vector_norm(x0, 0, 1) + x0[0].norm(0.5)
(x1.sum() + x2.sum() + x3.sum()).backward()
""",
    "a number to the power of what was expanded keeps that": """
x0 = T.tensor([2.0]).expand(2, 2).requires_grad_()
x1 = x0.detach()
x2 = 2 ** x0
x3 = 2 ** T.tensor([[1.0, 2.0], [3.0, 4.0]]).t()
x1[[1]] = T.tensor([[-0.75]])
x2.sum().backward()
""",
    "a factor of integers is one that their dtype holds": """
F = T.nn.functional
x0 = T.ones(2, 2, dtype=T.int8)
x1 = []
def tried(call):
    try:
        x1.append(call())
    except (RuntimeError, ValueError) as error:
        x1.append(type(error).__name__)
for number in (2 + 1j, float("inf"), float("nan"), 300, 1e3, 2.5, -1.9):
    tried(lambda: T.addmm(x0, x0, x0, beta=number))
    tried(lambda: T.addmm(x0, x0, x0, alpha=number))
    tried(lambda: T.addmv(x0[0], x0, x0[0], beta=number))
    tried(lambda: T.baddbmm(x0[None], x0[None], x0[None], beta=number))
    tried(lambda: T.addbmm(x0, x0[None], x0[None], alpha=number))
    tried(lambda: x0.clone().addmm_(x0, x0, beta=number))
    if not isinstance(number, complex):
        tried(lambda: F.hardtanh(x0, -1, number))
tried(lambda: T.sub(x0, True, alpha=3))
tried(lambda: x0.clone().sub_(True, alpha=3))
tried(lambda: T.add(x0, True, alpha=3))
""",
    "the gradient of renorm is computed wider than its numbers": """
x0 = T.tensor([[-1.3, 0.7, 2.1], [0.4, 3.3, -0.9]])
x4 = []
for dtype in (T.bfloat16, T.float16, T.float32):
    for power in (1, 2, float("inf")):
        x1 = x0.to(dtype).requires_grad_()
        x2, = T.autograd.grad(T.renorm(x1, power, 0, 1.0), x1, x0.flip(0).to(dtype))
        x4 += [x2.view(T.int32 if dtype == T.float32 else T.int16)]
""",
    "softplus is 0 where it is too small for a number": """
x0 = T.tensor([-float("inf"), -1e30, -104.0, -103.0, 0.0, 25.0, float("inf"), float("nan")])
x1 = [T.signbit(f(x)) for f in (F.softplus, F.logsigmoid) for x in (x0, -x0, x0.double())]
x2 = [f(x0) for f in (F.softplus, F.logsigmoid)]
""",
    "a refused toss has drawn up to the first wrong chance": """
T.manual_seed(1)
x0 = T.tensor([0.5, 0.25, float('nan'), 0.5])
T.bernoulli(x0)
x1 = T.rand(2)
T.zeros(2, 4).T.bernoulli_(x0.double()[:, None])
x2 = T.rand(2)
T.bernoulli(T.tensor([2.0, 0.5]))
x3 = T.rand(2)
""",
    "second derivatives of an entropy of chances that are 0 and 1": """
x0 = T.tensor([0.0, 1.0, 0.0, 1.0, 0.3, 0.5], requires_grad=True)
x1 = T.tensor([0.0, 0.0, 1.0, 1.0, 0.0, 0.2], requires_grad=True)
x2 = T.ones(6, requires_grad=True)
x3 = F.binary_cross_entropy(x0, x1, reduction='none')
x4 = T.autograd.grad(x3, [x0, x1], x2, create_graph=True)
x5 = T.autograd.grad(x4[0], [x0, x1, x2], T.full((6,), 0.5), retain_graph=True)
x6 = T.autograd.grad(x4[1], [x0, x2], T.full((6,), 0.5))
""",
}
