"""Short programs that once differed from torch, made of what random programs found."""

from tests.fuzz.error_regressions import REGRESSIONS as OF_ERRORS
from tests.fuzz.graph_regressions import REGRESSIONS as OF_GRAPHS
from tests.fuzz.op_regressions import REGRESSIONS as OF_OPS
from tests.fuzz.order_regressions import REGRESSIONS as OF_ORDER
from tests.fuzz.overlap_regressions import REGRESSIONS as OF_OVERLAPS
from tests.fuzz.transform_regressions import REGRESSIONS as OF_TRANSFORMS
from tests.fuzz.value_regressions import REGRESSIONS as OF_VALUES
from tests.fuzz.view_regressions import REGRESSIONS as OF_VIEWS
from tests.fuzz.write_regressions import REGRESSIONS as OF_WRITES

REGRESSIONS = {
    **OF_ERRORS,
    **OF_GRAPHS,
    **OF_OPS,
    **OF_ORDER,
    **OF_OVERLAPS,
    **OF_TRANSFORMS,
    **OF_VALUES,
    **OF_VIEWS,
    **OF_WRITES,
    "the gradient of a sum is one number, expanded": """
x0 = T.ones(2, 3, requires_grad=True)
x1 = T.autograd.grad(x0.sum(), x0)
x2 = T.autograd.grad(x0.sum(0).sum(), x0)
x3 = T.autograd.grad(x0.mean(), x0)
x0.mT.sum().backward()
""",
    "one gradient for an input that is given twice": """
x0 = T.ones(2, requires_grad=True)
x1 = T.autograd.grad(x0.sum(), [x0, x0])
x2 = T.ones(2, requires_grad=True)
x3 = T.autograd.grad((x0 + x2).sum(), [x0, x2])
x4 = T.autograd.grad((x0 + x2).sum(), [x0, x2], create_graph=True)
x5 = T.autograd.grad(x0.sum(), [x0, x2, x2], materialize_grads=True)
""",
    "elements that lie in one place share a gradient": """
x0 = T.tensor([1.0, 2.0]).expand(2, 2).requires_grad_()
x1 = x0.as_strided((2,), (1,))
x1.sum().backward()
""",
    "results that are no views of anything": """
x0 = T.eye(2)
x1 = x0.roll(1)
x2 = x0.take(T.tensor([0]))
x3 = T.kron(x0, x0)
x1.unbind(0)[0].detach_()
x1.detach_()
x4 = x1[0]
x5 = T.tensor(1.0)
x6 = x5.movedim(0, 0)
with T.inference_mode():
    x7 = x0.roll(1)
x8 = x0.rot90()
x8.unbind(0)[0].detach_()
x8.detach_()
x9 = x0.quantile(0.5)
x10 = x9[None]
x11 = T.put(x0, T.tensor([0]), T.tensor([2.0]))
x12 = x11[0]
""",
    "dropout in place that drops nothing writes nothing": """
x0 = T.ones(2, requires_grad=True)
T.nn.functional.dropout(x0, 0.5, False, inplace=True)
T.nn.functional.dropout(x0, 0.0, inplace=True)
x1 = T.nn.Dropout(0.5, inplace=True).eval()(x0)
x2 = x0 * 2
T.nn.functional.alpha_dropout(x2, 0.5, False, inplace=True)
T.nn.functional.dropout(x0, 0.5, inplace=True)
T.nn.functional.dropout(x0, 2.0, False, inplace=True)
""",
    "complex numbers as real ones": """
x0 = float(T.tensor([1.5], dtype=T.complex64))
x1 = int(T.tensor([2.5], dtype=T.complex64))
x2 = float(T.tensor([1.5j], dtype=T.complex64))
""",
    "a batch of matrices that is none": """
x0 = T.eye(2)
x1 = T.ones(1, 2, 2)
x0.baddbmm_(x0, x0)
x1.baddbmm_(x1, x0)
x0.baddbmm_(x0, x1)
x0.addbmm_(x1, x0)
""",
    "numbers among tensors, and the same number twice": """
x0 = T.tensor(-1.25, dtype=T.bfloat16)
x1 = x0 * x0
x2 = x0 / x0
x3 = x0 // x0
x4 = T.kron(T.tensor(1.0, dtype=T.float64), T.ones(2))
x5 = T.inner(T.tensor(2), T.ones(2))
x6 = T.block_diag(T.tensor(2), T.ones(2, dtype=T.int32))
x7 = T.nn.functional.mse_loss(T.ones(2), T.tensor(3.0, dtype=T.float64))
x8 = T.nn.functional.huber_loss(T.tensor(3.0), T.ones(2))
""",
    "a binary cross entropy has the dtype of its target": """
x0 = T.tensor([0.3, -1.7], requires_grad=True)
x1 = T.tensor([0.25, 1.0], dtype=T.float64)
x2 = T.nn.functional.binary_cross_entropy_with_logits(x0, x1)
x3 = T.nn.functional.binary_cross_entropy_with_logits(x0, x1.bfloat16(), pos_weight=x1 * 2)
x4 = T.nn.functional.binary_cross_entropy_with_logits(x1, x0.detach(), weight=x1)
x2.backward()
T.nn.functional.binary_cross_entropy_with_logits(x0, T.tensor([0, 1]))
""",
    "a write without a derivative ends the history": """
x0 = T.ones(2, 2, requires_grad=True)
x1 = x0 * 2
T.zeros(2, 2, out=x1)
x1.sum().backward()
x2 = T.autograd.grad(x1.sum(), x1)
x3 = x0 * 2
x4 = x3[0]
T.arange(2, out=x4)
x3.sum().backward()
x5 = T.ones(2, 2)
T.heaviside(x0, x0, out=x5)
x6 = x0 * 2
x6.set_(x0)
x6.sum().backward()
T.ones(2, dtype=T.float64).set_(x0)
x7 = T.empty(0)
T.inner(x0, x0, out=x7)
x7.sum().backward()
T.zeros(2, 2, out=x0)
with T.no_grad(): T.randn(2, 2, out=x0)
with T.no_grad(): T.zeros(2, 2, out=x0)
T.zeros(2, 2, out=x0, requires_grad=True)
""",
    "the factor alpha has at most the category of what it is added to": """
x0 = T.tensor([[False]])
x1 = T.add(x0, True, alpha=2)
x0.add_(True, alpha=2)
x2 = T.add(T.ones(2, dtype=T.int64), 1, alpha=2)
T.add(x2, 1, alpha=1.0)
T.add(x2, x2, alpha=True)
T.sub(x2, 2.5, alpha=1.5)
T.add(T.ones(2), 1, alpha=1j)
""",
    "no gradient comes to a view that was made without grad mode": """
x0 = T.ones(2, requires_grad=True)
with T.no_grad(): x1 = x0[:1]
x2 = T.autograd.grad(x1.sum(), [x1], allow_unused=True)
x3 = T.autograd.grad(x1.sum(), [x1], materialize_grads=True)
T.autograd.grad(x1.sum(), [x1])
x1.backward(T.ones(1))
x1.sum().backward(inputs=[x1])
""",
    "what a node shows of its inputs": """
log = []
def see(inputs, outputs): log.append(("node", list(inputs + outputs)))
x0 = T.tensor([0.5, -1.5], requires_grad=True)
x1 = x0.masked_scatter(T.tensor([True, False]), x0)
h2 = x1.grad_fn.register_hook(see)
x1.sum().backward()
x3 = len(x1.grad_fn.next_functions)
x4 = T.where(x0 > 0, x0, 2 * x0)
x5 = len(x4.grad_fn.next_functions)
""",
    "a Function of one's own whose graph was freed, or whose input has no history": """
log = []
class Both(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y
    @staticmethod
    def backward(ctx, g, h):
        log.append(("Both", [g, h]))
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h
x0 = T.ones(2, requires_grad=True)
x1, x2 = Both.apply(x0, x0)
x2.sum().backward()
x2.sum().backward()
x3 = (x0 * 2).unbind(0)[0]
x4 = x0 * 2
x5 = x4.detach()
x6, x7 = x4.split(1)
x4 += 1
Dirty.apply(x6)
""",
    "memory read as another dtype": """
with T.inference_mode(): x0 = T.ones(2, 2)
x1 = x0.view(T.float64)
x2 = T.ones(2, 2)
with T.inference_mode(): x3 = x2.view(T.int32)
x4 = T.arange(6.0).unfold(0, 2, 1).view(T.complex64)
x5 = T.arange(6.0)[1:3].view(T.complex64)
x6 = T.zeros(2, 0).view(T.int64)
x7 = x0.data
""",
    "a Function in inference mode where grad mode was switched on": """
x0 = T.ones(2, requires_grad=True)
with T.inference_mode(), T.enable_grad(): x1 = Same.apply(x0)
with T.inference_mode(), T.enable_grad(): x2 = Exp.apply(x0)
with T.inference_mode(), T.enable_grad(): x3, x4 = Signs.apply(x0)
""",
    "what requires grad of derivatives computed forwards": """
x0 = T.ones(2, requires_grad=True)
x1 = T.func.jvp(lambda t: t * 2, (x0,), (T.ones(2),))
x2 = T.func.jvp(lambda t: t + 2, (x0,), (T.ones(2),))
x3 = T.func.jacfwd(lambda t: t / 2)(x0)
x4 = T.func.hessian(lambda t: t.abs())(x0)
x5 = T.func.jacfwd(lambda t: t.sum())(x0)
x6 = T.func.jacfwd(T.no_grad()(lambda t: t * t))(x0)
""",
    "distinct elements have no derivative": """
x0 = T.tensor([1.0, 2.0, 1.0], requires_grad=True)
x1 = x0.unique()
x2 = T.unique_consecutive(x0, return_counts=True)
x1.sum().backward()
with T.no_grad(): x3 = x0.unique()
""",
    "a gradient is cleared in its place": """
x0 = T.ones(2, requires_grad=True)
x0.square().sum().backward(create_graph=True)
x1 = x0.grad
o2 = T.optim.SGD([x0])
o2.zero_grad(set_to_none=False)
x1.add_(1)
""",
    "hooks of a tensor where backward starts that nobody asked for": """
log = []
x0 = T.ones(2, requires_grad=True)
x1 = x0 * 2
h2 = x1.register_hook(lambda g: log.append(("hook", [g.clone()])))
x3 = T.autograd.grad(x1, x1, T.ones(2))
x4 = T.ones(2, requires_grad=True)
T.autograd.backward(x1, T.ones(2), inputs=[x4])
T.autograd.grad(x1, x4, T.ones(2))
""",
    "set_ and the counters of writes": """
x0 = T.zeros(2)
x1 = T.ones(2)
x1.set_(x0)
x1.add_(1)
x2 = T.ones(2, requires_grad=True)
x2.set_(x0)
x0.apply_(lambda value: value + 1)
x0.map_(x1, max)
x0.map_(x2, max)
""",
    "a write to a view whose base has got a history since": """
x0 = T.zeros(2, 3)
x1, x2, x3 = T.tensor(1.0, requires_grad=True), x0[0], x0[1:]
x2[...] += x1
x2[:] += x1
x3[:5] += x1
x3[:, 1:] += x1
x0[...] += x1
x0.sum().backward()
""",
    "the same elements with other strides": """
x0 = T.zeros(1)
x0[...] = x0.view(1, 1)
x0.view(1, 1)[...] = x0
x0[...] = x0[0]
x1 = T.zeros(1, 2)
x1[::2] = x1
x1.copy_(x1[::2])
x1.mul_(x1.view(2, 1).T)
x1[:1] = x1[:, :]
""",
    "a write of no elements into themselves": """
x0 = T.zeros(2, 0)
x0[[1, 0]] = x0
x0.scatter_add_(0, T.zeros(2, 0, dtype=T.int64), x0)
x0.add_(x0)
""",
    "one number at a mask": """
x0 = T.zeros(1)
x0[[True]] = x0
x0.index_put_((T.tensor([True]),), x0)
x0.index_put_((T.tensor([True]),), T.tensor(2, dtype=T.float64))
x0[[0]] = x0
x1 = T.zeros(2, 2)
x1[x1 == 0] = x1
x1[T.tensor([True, False]), 0] = x1
x1.index_put_((0,), T.ones(1))
""",
    "writes into elements that lie in one place": """
x0 = T.tensor([2.0]).expand(2, 2)
x0[T.tensor([0])] = 3.0
x0[[True, False]] += 1
x0.masked_fill_(T.tensor([[True, False], [False, False]]), 5.0)
x0.index_fill_(0, T.tensor([0]), 6.0)
x0.index_put_((T.tensor([0]),), T.ones(1, 2), accumulate=True)
x0[0] = 1.0
x0[0, 0] = 1.0
x0.fill_(2)
x0.fill_(T.tensor(2.0))
x0[0] = x0[0]
x0.copy_(x0)
x0.mul_(2)
T.ones(2, 2, out=x0)
x1 = T.tensor([2.0]).expand(2, 2)
x1.masked_fill_(T.tensor([[True, False], [False, False]]), T.tensor(3.0, requires_grad=True))
x2 = T.tensor([2.0]).expand(2, 2)
T.zeros(2, out=x2)
x3 = T.tensor([2.0]).expand(2, 2).requires_grad_()
x3.sum().backward()
T.optim.SGD([x3]).step()
""",
    "what is asked first of a write": """
x0 = T.zeros(2, requires_grad=True)
x0.atan2_(0.5)
x0.pow_("2")
x0.mul_(None)
x0.map_(T.zeros(2, dtype=T.float64), max)
T.nn.functional.hardtanh_(x0.to(T.complex64).detach().requires_grad_())
with T.inference_mode():
    x1 = T.zeros(2)
x1.cumsum_(5)
x1.transpose_(0, 5)
x1.bitwise_and_(1)
x1.add_(1)
T.zeros(2, dtype=T.complex64).abs_()
T.zeros(2, dtype=T.bool).cumsum_(0)
T.zeros(2).cumsum_(0, dtype=T.float64)
""",
    "a batch of matrices, of which torch asks for the sizes first": """
x0 = T.eye(3)
x0.baddbmm_(x0.T, x0)
x1 = T.full((3, 2), 2)
x1.baddbmm_(T.zeros(0), T.zeros(0))
x2 = T.ones(1, 3, 3)
x2.baddbmm_(x2, x2.mT)
""",
    "a result is not written into its operands": """
x0 = T.zeros(1)
T.cat([x0], out=x0)
T.add(x0, T.ones(2, 2), out=x0)
T.gt(T.ones(2, 2), x0, out=x0)
T.neg(x0, out=x0)
""",
    "a view of no known history has no gradient": """
x0 = T.ones(2, requires_grad=True)
with T.no_grad():
    x1 = x0[:1]
x2 = T.autograd.grad(x1.sum(), [x1], allow_unused=True)
x3 = T.autograd.grad(x1.sum(), [x1, x0], materialize_grads=True)
x1.backward()
x4, x5 = T.tensor([2.0]).expand(2, 2).requires_grad_()
with T.no_grad():
    x4.fill_(1)
x0.backward(T.ones(2))
x0.data = T.ones(3)
x0.sum().backward()
""",
    "a comparison in place lets zeros through": """
x0 = T.ones(2, requires_grad=True)
x1 = T.zeros(2)
x1.eq_(x0)
x1 += 1
x1.sum().backward()
""",
    "functions of no elements": """
x0 = T.zeros(0, dtype=T.int64)
x1 = x0 % 0
x2 = x0 // 0
x3 = T.zeros(0).cummax(2)
x4 = T.zeros(0).roll(1, 2)
x5 = T.zeros(0).view(T.float64)
x6 = T.take_along_dim(T.zeros(2, 0), T.zeros(1, 0), 0)
x7 = T.zeros(0, dtype=T.complex64).max()
x8 = T.zeros(1, dtype=T.complex64).max(0)
x9 = T.cdist(T.ones(1, 1), T.ones(1, 1, dtype=T.float64))
x10 = T.zeros(2).index_fill(0, T.tensor([0], dtype=T.int32), 1)
""",
    "what requires grad and is written in another dtype or mode": """
x0 = T.rand((1, 3), requires_grad=True)
T.cumsum(x0, 0, out=T.zeros(1, 3, dtype=T.int64))
T.sum(x0, 0, out=T.zeros(3))
with T.inference_mode():
    x0.resize_(1, 2)
x0.resize_(1, 1)
""",
    "True and False as an index": """
x0 = T.zeros(1)
x0[True] = x0
x0[T.tensor(True)] = x0
x0[True] = T.tensor(1)
x0[T.tensor(True)] = T.tensor(1)
x0[False] = T.ones(7)
""",
    "what is asked of out= and of a cast before anything else": """
x0 = T.ones(3, 3)
T.mm(x0[:, :1], x0[:1], out=x0)
x1 = T.tensor([2.0]).expand(2, 2)
T.cat([T.ones(2, 2), T.ones(3, 2)], out=x1)
x2 = T.ones(2)
x2.atan2_(T.complex(x2, x2))
""",
    "the bytes of a view as larger numbers": """
x0 = T.zeros(2, 3)[:, :2].view(T.float64)
x1 = T.zeros(5)[1:].view(T.float64)
x2 = T.zeros(2, 0).view(T.float64)
x3 = T.zeros(6)[2:].view(T.float64)
""",
    "sgn saves its input and its result": """
x0 = T.ones(2, requires_grad=True)
x1 = x0.sgn()
x1.sum().backward()
x1.sum().backward()
x2 = x0.sgn()
x2.add_(1)
x2.sum().backward()
""",
    "the first operand with an order in memory decides": """
x0 = T.arange(6.).view(2, 3)
x1 = T.arange(6.).view(3, 2).T
x2 = x0 - x1
x3 = x1 - x0
x4 = x1[:1] * x0
x5 = T.lerp(x1, x0, 0.5)
x6 = 2 ** x1
x7 = T.where(x0 > 1, x1, x1)
x8 = T.complex(x1, x0)
x9 = x1.long() + x0.long()
x10 = T.zeros(2, 1).expand(2, 3) + x1
x11 = T.tensor([1.0, 2.0, 3.0]).expand(2, 2, 3).permute(2, 0, 1).clone()
""",
    "an index walks through its source and the positions together": """
x0 = T.arange(24.).view(2, 3, 4).permute(2, 0, 1)
x1 = x0[T.tensor([0, 1])]
x2 = x0[:, T.tensor([[0], [1]])]
x3 = x0[T.tensor([0, 1]), :, T.tensor([0, 2])]
x4 = x0[1, T.tensor([True, False])]
x5 = x0[T.arange(4).view(2, 2).T]
x6 = T.arange(4.)[T.arange(4).view(2, 2).T]
""",
    "what keeps the order of its input, and what lies by rows": """
x0 = T.arange(24.).view(2, 3, 4).permute(2, 0, 1)
x1 = x0.sort(dim=1, stable=True)
x2 = x0.flip(0)
x3 = x0.index_fill(0, T.tensor([1]), 2)
x4 = x0.masked_fill(x0 > 3, T.tensor(0.))
x5 = x0.tril()
x6 = x0.roll(1, 0)
x7 = x0.logsumexp(1)
x8 = T.rot90(x0, 4)
x9 = T.stack([x0, x0])
x10 = T.cat([x0, x0])
x11 = T.stack([x0.unsqueeze(0).to(memory_format=T.channels_last)] * 2, 1)
""",
    "gradients that pass through are still expanded": """
x0 = T.ones(2, 1, 3).transpose(0, 2).requires_grad_()
x1 = T.autograd.grad(x0[...].sum(), x0)
x2 = T.autograd.grad(x0[None].sum(), x0)
x3 = T.autograd.grad(x0.cumprod(1).sum(), x0)
x4 = T.autograd.grad(x0.square().sum(), x0, create_graph=True)
x0.square().sum().backward()
""",
    "a view of what begins to require grad": """
x0 = T.eye(3)
x1, x2, (x3, x4, x5) = x0.T, x0.view(9), x0
with T.no_grad():
    x6 = x0[0]
x0.requires_grad = True
x7 = x1 * 2 + x6
x7.sum().backward()
x3.sum().backward()
x2.add_(1)
x1.backward(T.ones(3, 3))
x9 = T.eye(3)
x10 = x9.view(9)
x9.requires_grad_()
with T.no_grad():
    x10.add_(1)
x10.sum().backward()
x11 = T.eye(3)
x12 = x11.view(9)
x11.requires_grad_()
x11.requires_grad_(False)
x13 = x12 * 2
x11.add_(1)
x11.requires_grad_()
x12.sum().backward()
""",
}
