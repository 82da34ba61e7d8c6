"""Of `regressions`: what operations refuse, and in what order, and what they take all the same."""

REGRESSIONS = {
    "integrals of no samples are zeros without a history": """
x0 = T.ones((0,), requires_grad=True)
x1 = T.trapezoid(x0)
x2 = T.trapezoid(T.ones(2, 0, requires_grad=True))
x3 = T.cumulative_trapezoid(x0)
x4 = T.cumulative_trapezoid(T.zeros(2, 0, dtype=T.int64))
T.trapezoid(T.tensor(True))
T.cumulative_trapezoid(T.tensor(True))
x5 = T.trapezoid(T.ones(1), T.tensor(1.0))
""",
    "einsum promotes products, but not products of matrices": """
x0 = T.tensor([[-1.0, 2.0]], dtype=T.complex64)
x1 = T.einsum('ij,jk,k->i', x0, x0.mT, T.linspace(-1, 1, 5))
x2 = T.einsum('ij,ik->ijk', x0, T.ones(1, 2, dtype=T.bool))
T.einsum('ij,jk->ik', x0, T.ones(2, 2))
T.einsum('ij,jk->ik', T.eye(2) > 0, T.eye(2))
x3 = T.einsum('ij,jk->ik', T.zeros(2, 0, dtype=T.int64), T.zeros(0, 2))
""",
    "a product of batches is chosen by the first dtype": """
x0 = T.ones(1, 2, 2) > 0
x0 @ T.ones(1, 2, 2)
T.ones(1, 2, 2) @ x0
x0 @ T.ones(2)
T.bmm(x0, T.ones(1, 2, 2))
T.bmm(x0, T.ones(1, 3, 2))
T.baddbmm(x0, x0, T.ones(1, 2, 2))
T.cross(T.ones(3) > 0, T.ones(3), dim=0)
T.dot(T.zeros(0) > 0, T.zeros(0) > 0)
T.addbmm(T.ones(2, 2), T.ones(2), T.ones(1, 2, 2))
x1 = T.bmm(T.zeros(2, 2, 0, dtype=T.int64), T.zeros(2, 0, 2))
""",
    "complex results of functions that are differentiated for real ones": """
x0 = T.zeros((0, 3), dtype=T.complex64, requires_grad=True)
x0.median()
x0.nanmedian()
x0.softmax(1)
x0.log_softmax(1)
x1 = x0.detach().softmax(1)
""",
    "views whose history is lost are read where no history is wanted": """
x0 = T.tensor([1.5, 2.0])
x1, x2 = x0.split(1)
x0.mul_(T.tensor(2., requires_grad=True))
x3 = [x2.all(), x2.any(), x2.argmax(), x2.argmin(), x2.bool(), x2.long()]
x4 = T.bucketize(x2, T.tensor([1.0], dtype=T.float64))
x5 = T.allclose(x2, x2)
x2.sum()
x2.argsort()
x2.unique()
""",
    "of nothing there is a number": """
x0 = T.zeros(0).logsumexp(-1)
x1 = x0.masked_fill(T.tensor(True), -1.5)
""",
    "what cat leaves out gets a gradient without a history": """
x0 = T.zeros((0,), requires_grad=True)
x1 = T.ones(2, requires_grad=True)
T.cat([x0, x1]).square().sum().backward(create_graph=True)
""",
    "nothing is written to nothing, if it has its shape": """
x0 = T.ones(2)
x0[T.tensor([], dtype=T.int64)] = T.ones(2, 0)
x0[T.tensor([], dtype=T.int64)] = T.ones(1, 0)
x1 = T.tensor(1.0)
x1[x1 > 2] = T.zeros(2, 0)
""",
    "of what has no such dimension the size is asked for first": """
x0, x1 = T.tensor(1.0), T.ones(3)
T.mv(x0, x1)
T.group_norm(x1, 1)
T.batch_norm(x1, None, None, None, None, True, 0.1, 1e-05, False)
T.gru_cell(x0, x0, x0, x0)
T.gru(x0, x0, [x0, x0], False, 1, 0.0, False, False, False)
T.unflatten(x0, 1, (1, 1))
T.nn.functional.bilinear(x1, x1, x1)
T.nn.functional.grid_sample(x0, x0, align_corners=False)
T.nn.functional.max_unpool2d(x1, T.tensor([0, 0, 0]), 2)
""",
    "the kernel of the first operand speaks before its dtype is compared": """
x0 = T.ones(1, 1, 3) > 0
T.conv1d(x0, T.ones(1, 1, 2))
T.conv1d(x0, x0, T.ones(1))
T.conv1d(x0, T.ones(1, 2, 2))
T.conv_transpose1d(x0, T.ones(1, 1, 2))
T.layer_norm(x0, (3,), T.ones(3))
T.layer_norm(T.ones(3).long(), (3,), T.ones(3).long(), T.ones(3))
T.nn.functional.grid_sample(x0[None], T.ones(1, 1, 1, 2), align_corners=False)
T.chain_matmul(x0[0], x0[0])
T.rnn_relu_cell(*[T.ones(1, 1, dtype=T.complex64)] * 4)
T.gru_cell(*[T.ones(1, 1).int()] * 2, *[T.ones(3, 1).int()] * 2)
""",
    "of no elements what has no kernel is made all the same": """
x0 = T.zeros(0, 2, 4, dtype=T.int64)
x1 = T.nn.functional.adaptive_avg_pool1d(x0, 2)
T.nn.functional.adaptive_max_pool1d(x0, 2)
x2 = T.nn.functional.max_unpool1d(x0, x0, 2)
x3 = T.nn.functional.adaptive_max_pool2d(T.zeros(0, 4, 4), 2)
x4 = T.instance_norm(x0, None, None, None, None, True, 0.1, 1e-05, False)
x5 = T.batch_norm(x0, None, None, None, None, True, 0.1, 1e-05, False)
T.batch_norm(x0[..., :0], T.zeros(0), None, None, None, True, 0.1, 1e-05, False)
x6 = T.bincount(T.zeros(0, dtype=T.uint8), T.ones(3))
x7 = T.diff(T.ones(2) > 0, prepend=T.ones(1))
x8 = T.batch_norm(T.ones(2, 3), T.ones(1, 3), None, None, None, True, 0.1, 1e-05, False)
""",
    "what has no derivative for complex numbers says so after its kernel": """
x0 = T.zeros(0, dtype=T.complex64, requires_grad=True)
x1 = T.tensor(1j, requires_grad=True)
T.cummax(x0, 0)
T.cummin(x0, 0)
T.mode(x1)
T.kthvalue(x1, 1)
T.bernoulli(x0)
T.amax(T.zeros(2, 0, dtype=T.complex64, requires_grad=True), 0)
T.native_dropout(T.ones(2, dtype=T.complex64, requires_grad=True), 0.5, True)
x2 = T.cummax(T.tensor(1j), 0)
x3 = T.mode(T.tensor(1j))
T.aminmax(T.zeros(0, 2, dtype=T.complex64), dim=1)
""",
    "the distances of nothing, and its products, are of one operand's dtype": """
x0 = T.cdist(T.zeros(0, 2).half(), T.zeros(0, 2))
T.bmm(T.zeros(1, 2, 0, requires_grad=True), T.zeros(1, 0, 2, dtype=T.int64))
T.einsum('...i,...i->...', T.zeros(0, requires_grad=True), T.zeros(0, dtype=T.int64))
""",
    "of no elements, and of one, the strides tell what a view may be": """
x0 = T.zeros((2, 0), dtype=T.float64).view(T.float32).view(T.float64)
x1 = T.zeros((4, 0, 2), dtype=T.float64).view(T.uint8).view(T.float32)
T.zeros((2, 0)).view(T.float64)
T.ones(2, 0).mT.view(T.complex64)
T.zeros(0, 4)[:, ::2].view(T.uint8)
x2 = T.zeros((0, 2), dtype=T.complex64).imag.mT
T.arange(6.0).unsqueeze(0).diagonal().view(T.bfloat16)
""",
    "losses of any dtype ask for shapes before their kernels": """
x0 = T.tensor([[0, 1, 0], [1, 0, 1]])
x1 = T.nn.functional.hinge_embedding_loss(x0, x0, reduction='sum')
T.nn.functional.multi_margin_loss(x0, T.tensor(1))
T.nn.functional.multi_margin_loss(x0, T.tensor([0, 1]), weight=T.ones(1, 3))
T.nn.functional.multilabel_margin_loss(x0, T.tensor(1))
T.nn.functional.binary_cross_entropy(x0 > 0, T.ones(2, 3))
x2 = T.nn.functional.soft_margin_loss(T.ones(2, dtype=T.complex64), T.ones(2))
T.nn.functional.soft_margin_loss(x0, T.ones(2, 3))
T.nn.functional.huber_loss(T.ones(2), T.ones(2, dtype=T.complex64))
T.nn.functional.cross_entropy(T.tensor(1), T.tensor([0, 1]))
T.nn.functional.cross_entropy(x0[:0], T.tensor([0, 1]))
T.nn.functional.nll_loss(T.ones(4), T.tensor([[0], [1]]))
T.nn.functional.nll_loss(x0, T.tensor([0, 1]), T.ones(3))
T.nn.functional.multilabel_soft_margin_loss(T.tensor(1j), T.tensor(1.0))
T.nn.functional.poisson_nll_loss(T.ones(2), T.ones(2) > 0, full=True)
x3 = T.nn.functional.poisson_nll_loss(T.tensor(1.5).half(), T.tensor(1.5).half(), full=True)
""",
    "a number times a single half number is a half number": """
x0 = 2.5 * T.tensor(1.3).half()
x1 = 2.5 // T.tensor(1.3, dtype=T.bfloat16)
x2 = 2.5 * T.tensor(1.3).half().requires_grad_()
""",
    "factors of integers are refused by the kernel, of nothing they are made": """
x0 = T.ones(3, 3, dtype=T.int64)
T.linalg.lu(x0)
x1 = T.linalg.lu_factor(x0[:0])
T.linalg.solve_ex(x0.half(), T.ones(5).half())
T.linalg.cholesky_ex(x0.half())
T.linalg.solve_triangular(x0, T.ones(2, 3), upper=True)
T.linalg.solve_triangular(x0, T.ones(3, 3), upper=True)
T.ormqr(T.ones(2, 4, 3), T.ones(2, 3), T.ones(1, 4, 2))
T.ormqr(x0, x0[0], T.ones(3, 2))
T.orgqr(T.ones(2, 4, 3).int(), T.ones(1, 3).int())
T.normal(x0 > 0, T.ones(2))
x2 = T.normal(x0[:0], 0.5)
""",
    "an index out of range of nothing, of a number, of a vector": """
x0 = T.index_add(T.zeros(0, 3), 0, T.tensor([4]), T.zeros(1, 3))
T.index_add(T.zeros(3), 0, T.tensor([4]), T.zeros(1))
T.index_add(T.zeros(3, 2), 0, T.tensor([4]), T.zeros(1, 2))
x1 = T.index_fill(T.tensor(0.0), 0, T.tensor(-1), 2.0)
x2 = T.fmax(T.ones(2) > 0, T.zeros(2) > 0)
T.gradient(T.ones(3), dim=9, spacing=(2, 0.5))
T.gradient(T.ones(3, dtype=T.uint8))
x3 = T.adaptive_avg_pool1d(T.zeros(2, 2, 0), 1)
""",
    "of too few dimensions the size of a missing one is asked for": """
T.nn.functional.unfold(T.zeros(3, 3), 2)
T.nn.functional.unfold(T.zeros(1, 1, 1, 3, 3), 2)
T.istft(T.ones(4, dtype=T.complex64), 4)
T.fft.hfftn(T.ones(3).half(), dim=9)
T.fft.ihfftn(T.ones(3, dtype=T.complex64), dim=9)
T.cosine_similarity(T.ones(12), T.ones(4))
""",
    "what is not there is not counted, and what is wanted cannot be whole": """
T.unique(T.zeros(4, 0), dim=0)
T.unique_consecutive(T.zeros(0, 4, 0), dim=0)
x0 = T.unique(T.zeros(4, 0), dim=1)
T.repeat_interleave(T.zeros(3), T.ones(3))
T.nn.functional.scaled_dot_product_attention(T.zeros(0, 1, 2), T.ones(2, 1, 2), T.ones(2, 1, 2))
T.index_fill(T.zeros(2).long(), 0, T.tensor([1]), T.tensor(1.0, requires_grad=True))
""",
    "tensors among lists are lists, but not in the first place": """
x0 = T.tensor([[3, 4], T.tensor([1, 2])])
x1 = T.tensor([[3], T.tensor([1.5])])
x2 = T.tensor([[[3, 4]], T.ones(1, 2), [T.tensor([1, 2])]])
x3 = T.tensor([[3], [T.tensor([4])]])
T.tensor([T.tensor([1, 2]), [3, 4]])
T.tensor([[3, 4], T.tensor([1, 2, 3])])
T.tensor([[3, 4], T.tensor(1)])
T.tensor([3, T.tensor([1, 2])])
""",
    "of a view with no known history that is said before what else is wrong": """
x0 = T.rand(2, 2, requires_grad=True)
with T.no_grad():
    x1 = x0.view(2, 2)
    x1.add_(1)
x1.unsqueeze(7)
x1.median(4)
x1.split(1, 2)
x1.softmax(5)
x1.argmax(5)
x1.flatten(5)
T.cumsum(x1, dim=5)
""",
    "dimensions are looked at before memory that elements share": """
x0 = T.tensor([2.0]).expand(2, 2)
x0.cumsum_(3)
x0.scatter_(7, T.tensor([[0]]), 1.0)
x0.renorm_(2, 7, 1)
x0.lt_(1j)
x0.gcd_(x0)
x0.conj_physical_()
x1 = T.ones(2)
x1.xlogy_(T.ones(2, dtype=T.complex64))
T.ones(2).scatter_(0, T.tensor([0, 1]), T.ones(1, 2)[0, :1])
T.ones(2, 2).scatter_(0, T.tensor([[0, 1]]), T.ones(2))
T.bitwise_not(x1, out=x0)
x2 = T.ones(2, 2, dtype=T.complex64)
T.nn.functional.scaled_dot_product_attention(x2, x2, x2[:1])
""",
    "attention of complex numbers is refused once it has its scores": """
x0 = T.ones(2, 2, dtype=T.complex64)
x1 = T.nn.functional.scaled_dot_product_attention(x0, x0, x0[:1])
x2 = T.nn.functional.scaled_dot_product_attention(x0, x0[:, :1], x0)
""",
    "what was saved and has been detached in place": """
x0 = T.tensor([0.25], requires_grad=True) * 2
x1, x2 = x0.sin(), x0.exp()
x0.detach_()
x1.sum().backward()
x2.sum().backward()
x3 = x0.requires_grad_().sin()
x3.sum().backward()
""",
    "attention to no values, or of no queries, is zeros whatever the batches": """
attend = T.nn.functional.scaled_dot_product_attention
x0 = attend(T.ones(4, 2, 0), T.ones(2, 2, 0), T.ones(2, 2, 0))
x1 = attend(T.ones(4, 2, 3), T.ones(2, 2, 3), T.ones(4, 0, 3))
x2 = attend(T.ones(4, 0, 3), T.ones(2, 2, 3), T.ones(4, 2, 3))
attend(T.ones(0, 2, 3), T.ones(0, 2, 3), T.ones(4, 2, 3))
""",
    "a batch that is not folded into one matrix is multiplied in the second dtype": """
x0 = T.tensor([[[[1.5, -0.5]]]]).to(memory_format=T.channels_last)
x1 = x0 @ T.zeros((2, 0), dtype=T.int64)
x2 = T.zeros(2, 2, 0) @ T.zeros(2, 0, 2, dtype=T.int64)
x0.contiguous() @ T.zeros((2, 0), dtype=T.int64)
""",
    "an index that is out of bounds in one of several dimensions": """
x0 = T.zeros(2, 3, 2).index_add(0, T.tensor([5]), T.ones(1, 3, 2))
x1 = T.zeros(2, 3, 2).index_add(1, T.tensor([5]), T.ones(2, 1, 2))
x2 = T.zeros(2, 3, 2).index_add(2, T.tensor([-1]), T.ones(2, 3, 1))
x3 = T.zeros(0).index_add(0, T.tensor([0]), T.ones(1))
x4 = T.zeros(2, 3, 2).index_select(0, T.tensor([5]))
x5 = T.zeros(2, 3, 2).index_select(1, T.tensor([5]))
x6 = T.zeros(2, 3, 2).index_select(2, T.tensor([-1]))
x7 = T.zeros(0).index_select(0, T.tensor([0]))
x8 = T.zeros(0, 2).index_select(0, T.tensor([0]))
x9 = T.zeros(0, 2).index_select(1, T.tensor([2]))
""",
    "copies of pieces go into as many tensors as there are": """
x0 = T.arange(6.0).reshape(3, 2)
x1 = T.zeros(1, 2)
x2 = T.split_with_sizes_copy(x0, [1, 2], out=[x1])
""",
    "out= of another dtype, where torch's kernel wants that of the result": """
x0 = T.eye(2)
x1 = T.linalg.inv(x0, out=T.zeros(2, 2, dtype=T.float64))
x2 = T.t_copy(x0, out=T.zeros(2, 2, dtype=T.float64))
x3 = T.linalg.norm(x0, out=T.zeros((), dtype=T.float64))
x4 = T.normal(0.0, 1.0, (2,), dtype=T.float32, out=T.zeros(2, dtype=T.float64))
x5 = T.linalg.multi_dot([x0, x0], out=T.zeros(2, 2, dtype=T.float64))
x6 = T.linalg.eig(x0, out=(T.zeros(2, dtype=T.complex128), T.zeros(2, 2, dtype=T.complex128)))
x7 = T.inner(x0, T.tensor(2.0), out=T.zeros(2, 2, dtype=T.float64))
x8 = T.normal(T.zeros(3), 1.0, out=T.zeros(0))
x9 = T.slice_scatter(x0, x0[:1], 0, 1, 2, out=T.zeros(0))
x10 = T.lu_unpack(*T.linalg.lu_factor(x0), out=(T.zeros(0), T.zeros(0), T.zeros(0)))
x11 = T.gradient(x0, spacing=None)
""",
    "dtypes for which torch has no kernel": """
x0 = T.ones(2, 3).half()
x1 = T.nn.functional.multi_margin_loss(x0, T.zeros(2, dtype=T.int64))
x2 = T.nn.functional.multilabel_margin_loss(x0, T.zeros(2, 3, dtype=T.int64))
x3 = T.nn.functional.rrelu(x0, training=True)
x4 = T.nn.functional.avg_pool3d(T.ones(1, 1, 3, 3, 3).bfloat16(), 2)
x5 = T.round(T.arange(3), decimals=0)
x6 = T.ones(1, 1, 5, dtype=T.int32)
x7 = T.nn.functional.conv1d(x6, x6[..., :2], dilation=2)
x8 = T.nn.functional.conv1d(x6, x6[..., :2])
""",
    "an adaptive pool of no elements has no gradient": """
x0 = T.ones(1, 1, 4, 4, requires_grad=True)
x1 = T.nn.functional.adaptive_avg_pool2d(x0, (0, 2))
x1.sum().backward()
x2 = T.nn.functional.adaptive_max_pool2d(x0, (2, 0))
x2.sum().backward()
x3 = T.nn.functional.adaptive_avg_pool1d(x0[0], 0)
x3.sum().backward()
x4 = T.nn.functional.adaptive_avg_pool2d(x0[:0], 2)
x4.sum().backward()
""",
    "a linear map into out=": """
x0 = T.arange(6.0).reshape(2, 3)
x1 = T.zeros(2, 1)
T.nn.functional.linear(x0, x0[:1], out=x1)
x2 = T.nn.functional.linear(x0, x0[:1], out=T.zeros(2, 1, dtype=T.float64))
x3 = T.nn.functional.linear(x0, x0, x0[0, :2], out=T.zeros(0))
x4 = T.nn.functional.linear(x0.requires_grad_(), x0, out=T.zeros(2, 2))
""",
    "a view whose history is lost, and an index that does not fit: what torch comes to first": """
def refused(f):
    try:
        f()
    except Exception as error:
        return isinstance(error, RuntimeError)
x0 = T.ones(2, 2, requires_grad=True)
with T.no_grad():
    x1 = x0[:]
    x0.mul_(2)
x2, x3 = T.tensor([5]), T.ones(3) > 0
ALL = slice(None)
x4 = [refused(lambda: x1[i]) for i in (
    5, (0, 5), (1, 1, 1), (5, ...), (..., 5), (ALL, 5), (ALL, ALL, ALL), (0, x2), (5, x2), x2, x3,
    T.tensor(5), (ALL, T.tensor(5)), (slice(0, 1), 5), (None, 5), (0, x3))]
x5 = [refused(lambda: x1.__setitem__(i, 1.0)) for i in (5, (0, 5), (1, 1, 1), (ALL, 5), x2, x3)]
""",
    "asarray says again what a tensor says of its gradient": """
x0 = T.tensor([1.5, 1.0]).requires_grad_()
with T.no_grad():
    x1 = x0[:1]
x2 = T.asarray(x1)
(x2 * x1).sum().backward()
x3 = T.asarray(x0 * 2, requires_grad=False)
x4 = T.asarray(x0, requires_grad=False)
""",
    "zeros that stand for a derivative are no out=, of whatever size": """
def zeros():
    return T.func.vjp(T.func.grad(lambda t: t.abs().sum()), T.ones(2, 2))[1](T.ones(2, 2))
def refused(function, *arguments):
    try:
        function(*arguments, out=zeros()[0])
    except RuntimeError:
        return True
x0 = T.ones(3, 3)
x1 = [refused(T.mean, x0, 0), refused(T.mm, x0, x0), refused(T.arange, 6.0), refused(T.exp, x0)]
""",
    "of a product over dimensions of size 1 the first factor is summed": """
with T.inference_mode():
    x0 = T.ones(1, 2, 1)
x1 = T.tensordot(x0, T.ones(1, 2, requires_grad=True), 1)
""",
    "what a loss or a normalisation has no gradient for": """
def refused(function, *arguments):
    try:
        function(*arguments)
    except RuntimeError:
        return True
F = T.nn.functional
x0 = T.tensor([[0.25, 0.5], [0.75, 0.5]])
x1 = T.tensor([[0.5, 0.25], [0.75, 0.5]], requires_grad=True)
def all_refused():
    return [refused(f) for f in (
        lambda: F.soft_margin_loss(x0, x1), lambda: F.batch_norm(x0, x1[0], x1[1]),
        lambda: F.multi_margin_loss(x0, T.tensor([0, 1]), weight=x1[0]),
        lambda: F.binary_cross_entropy(x0, x0, x1),
        lambda: F.binary_cross_entropy_with_logits(x0, x0, x1),
        lambda: F.binary_cross_entropy_with_logits(x0, x0, pos_weight=x1))]
x2 = all_refused()
with T.no_grad():
    x3 = all_refused()
x4 = T.func.grad(lambda t: F.binary_cross_entropy_with_logits(x0, x0, pos_weight=t))(x0)
x5 = F.huber_loss(x0.double(), x1)
x6 = F.huber_loss(x1, x0.half(), reduction="none")
x7 = [refused(x5.backward), refused(x6.sum().backward)]
""",
    "baddbmm_ looks at the shapes before it misses a kernel for the dtype": """
def refusal(x, batch):
    try:
        x.baddbmm_(batch, batch)
    except Exception as error:
        return type(error).__name__
x0 = [refusal(T.zeros(n, dtype=d), T.zeros((1, 1, 1), dtype=e))
      for n in ((1,), (2,), (1, 1), (1, 1, 1), (2, 1, 1), (1, 1, 1, 1))
      for d in (T.bool, T.float32) for e in (T.bool, T.float32)]
""",
    "dropout of complex numbers asks for a kernel before for a history": """
x0 = T.tensor([0.5], dtype=T.complex64, requires_grad=True)
x1 = x0.sin()
x2 = x1.chunk(2)[0]
x1[[0]] = T.tensor([-1.5], dtype=T.complex64)
T.nn.functional.dropout(x2, 0.5)
T.nn.functional.dropout(x2, 0.5, inplace=True)
x3 = Same.apply(x0)
with T.inference_mode(): x0.copy_(x3)
T.nn.functional.dropout(x3, 0.5)
T.nn.functional.alpha_dropout(x3, 0.5, True)
""",
    "pairs that lie in memory as complex numbers do": """
x0 = T.view_as_complex(T.zeros(0, 2))
x1 = T.view_as_complex(T.zeros(6).as_strided((1, 2), (3, 1)))
T.view_as_complex(T.zeros(6)[1:3])
T.view_as_complex(T.zeros(6).as_strided((2, 2), (3, 1)))
T.view_as_complex(T.zeros(0, 4)[:, ::2])
T.view_as_complex(T.zeros(2, 0).mT)
""",
    "whether an added product fits is asked before for its kernel": """
x0 = T.ones(2, 2) > 0
x1 = T.ones(1) > 0
x1.addmm_(x0, x0)
x0.addmm_(x0, x0)
x1.addmv_(x0, x0[0])
x0[0].addmv_(x0, x0[0])
x0[:1].baddbmm_(x0[None], x0[None])
T.addmm(x1, x0, x0)
""",
    "infinities of complex numbers that inference mode made": """
with T.inference_mode(), T.enable_grad(): x0 = T.tensor([2.0j], requires_grad=True)
x0.nan_to_num()
with T.no_grad(): x1 = x0.nan_to_num()
T.tensor([2.0j], requires_grad=True).nan_to_num()
""",
    "transforms refuse modules whose backward is hooked": """
log = []
m0 = T.nn.Linear(2, 3)
h1 = m0.register_full_backward_hook(lambda m, i, o: log.append(('backward', list(i + o))))
T.func.grad(lambda t: m0(t).sum())(T.ones(2))
T.func.vmap(lambda t: m0(t))(T.ones(1, 2))
T.func.jvp(lambda t: m0(t), (T.ones(2),), (T.ones(2),))
with T.no_grad(): x2 = T.func.vmap(lambda t: m0(t))(T.ones(1, 2))
m0(T.ones(2)).sum().backward()
""",
    "norms are computed in no narrower dtype, and sums without NaN in no complex one": """
x0 = T.ones(2, 2)
x0.norm(dtype=T.float16)
x0.norm(2, 0, dtype=T.bfloat16)
T.linalg.vector_norm(x0.double(), dtype=T.float32)
T.linalg.vector_norm(x0.half(), dtype=T.bfloat16)
T.linalg.matrix_norm(x0, dtype=T.float16)
T.linalg.matrix_norm(x0, dtype=T.complex64)
T.linalg.norm(x0.long(), 1, dtype=T.float32)
T.norm(x0, 'nuc', dtype=T.complex64)
T.linalg.matrix_norm(x0.long(), 2, dim=(0, 2))
x1 = x0.norm(dtype=T.float64)
T.nansum(x0 + 1j, dtype=T.float32)
T.nansum(x0, dtype=T.complex64)
x2 = T.nansum(x0.long(), dtype=T.complex64)
T.nanmean(x0, dtype=T.int64)
""",
    "complex numbers have no bounds, wherever they lie": """
x0 = T.tensor(1j).expand(2, 2)
T.nn.functional.hardtanh_(x0)
T.nn.functional.relu6(x0, inplace=True)
""",
    "a product of nothing is of operands of any dtypes, and keeps them": """
x0 = T.zeros((0, 3)).requires_grad_()
x1 = T.tensor([[-1, -2, 1]])
x2 = T.einsum('ij,kj->ik', x1, x0)
x3 = T.ones((0, 2, 2), dtype=T.float64)
x4 = T.bmm(x3, T.ones((0, 2, 2), requires_grad=True))
x1.add_(1)
x3.add_(1)
x5 = T.autograd.grad(x2, x0, T.ones_like(x2))
x4.sum().backward()
""",
    "no memory holds this": """
x0 = T.full((54,), 2).prod()
x1 = T.nn.functional.one_hot(x0)
x2 = T.ones(1).expand(1 << 50) + 1
x3 = T.arange(1 << 50)
x4 = T.empty(1 << 50)
""",
    "what a node saved is freed before its gradient is found to be NaN": """
x0 = T.rand((), requires_grad=True)
x1 = x0.std(0)
x2 = x0 * 0
x3 = (x2 / x2).exp()
h0 = x1.grad_fn.register_hook(see('node'))
with T.autograd.set_detect_anomaly(True):
    x1.backward()
x1.backward()
with T.autograd.set_detect_anomaly(True):
    x3.backward()
x3.backward()
""",
    "a view of a view without history has one, of which einsum is made": """
x0 = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
with T.no_grad():
    x1 = x0.view(3)
x2 = T.einsum('i,i->i', x1, T.tensor([2.0, 1.0, 1.0]))
x3 = T.inner(x1, T.tensor([2.0, 1.0, 1.0]))
x2.sum().backward()
x2.sum().backward()
x3.backward()
x3.backward()
""",
    "a gradient of inference mode is added to there alone": """
x0 = T.ones(3, requires_grad=True)
with T.inference_mode():
    x0.backward(T.ones(3))
    x0.backward(T.ones(3))
x0.backward(T.ones(3))
x1 = x0 * 2
with T.inference_mode(), T.enable_grad():
    x1.backward(T.ones(3))
""",
    "what operations of several parts keep of complex numbers": """
x0 = T.tensor([[0.5, 0.25], [0.125, 0.75]], dtype=T.complex64, requires_grad=True)
x1 = x0 * 1
x2 = x1.logcumsumexp(0)
x3 = T.logaddexp(x1, x0)
x6 = T.linalg.matrix_power(x1 + 1, -1)
x6.mul_(2)
x7 = x0.logcumsumexp(1)
x7.mul_(2)
x1.mul_(2)
x2.sum().backward(T.ones((), dtype=T.complex64))
x3.sum().backward(T.ones((), dtype=T.complex64))
x6.sum().backward(T.ones((), dtype=T.complex64))
x7.sum().backward(T.ones((), dtype=T.complex64))
""",
    "a history that could not follow a write is told of before a dtype": """
x0 = T.tensor([1.25, 2.0], requires_grad=True)
x1 = T.complex(x0, x0)
x2 = x1.split(1, 0)[0]
x1 += True
x2.relu()
""",
    "which a remainder is, too": """
x0 = T.tensor([1.25, 2.0], requires_grad=True)
x1 = T.complex(x0, x0)
x2 = x1.split(1, 0)[0]
x1 += True
x2 % 3.0
""",
    "but not before a comparison": """
x0 = T.tensor([1.25, 2.0], requires_grad=True)
x1 = T.complex(x0, x0)
x2 = x1.split(1, 0)[0]
x1 += True
x2 > 1
""",
    "copies are written inside of transforms": """
import copy, pickle
x0 = T.tensor([1.25, 2.0])
x1 = copy.deepcopy(x0)
x2 = x1.data
x3 = copy.copy(x0)
x4 = T.func.grad(lambda t: (t * pickle.loads(pickle.dumps(x0)).detach()).sum())(x3.data)
x5 = T.func.grad(lambda t: (t * 1).mul_(2).sum())(x1)
x6 = T.func.grad(lambda t: (t * copy.deepcopy(x0).mul_(2)).sum())(x1)
""",
    "samples on a grid keep what they were taken from": """
x0 = T.ones(1, 1, 2, 2, requires_grad=True)
x1 = F.grid_sample(x0, T.zeros(1, 2, 2, 2), align_corners=False)
with T.no_grad():
    x0.mul_(2)
x1.sum().backward()
""",
    "where there is no derivative, nothing has been saved for it": """
x0 = T.tensor([1.5, 2.5], requires_grad=True)
for f in (T.special.zeta, T.special.gammainc, T.special.gammaincc):
    x1 = T.tensor([1.0, 2.0])
    x2 = f(x0 * 1, x1)
    T.autograd.backward(x2, T.ones_like(x2), inputs=[x2])
    x1.zero_()
x2.sum().backward()
T.special.zeta(x0, T.ones(2).requires_grad_()).sum().backward()
""",
    "labels of no classes, and none of them": """
F.cross_entropy(T.zeros(2, 0, 3), T.zeros(2, 3, dtype=T.int64))
F.nll_loss(T.zeros(2, 0, 3, 2, 2), T.full((2, 3, 2, 2), -100))
F.cross_entropy(T.zeros(2, 0, 3, 2), T.zeros(2, 3, 2, dtype=T.int64))
x0 = F.cross_entropy(T.zeros(2, 0, 0), T.zeros(2, 0, dtype=T.int64), label_smoothing=0.1)
""",
    "averages of no volumes are refused for their dtype": """
F.avg_pool3d(T.zeros(0, 2, 4, 4, 4).half(), 2)
F.adaptive_avg_pool3d(T.zeros(0, 2, 4, 4, 4, dtype=T.int64), 2)
F.adaptive_avg_pool3d(T.zeros(0, 2, 4, 4, 4).half(), 2)
""",
}
