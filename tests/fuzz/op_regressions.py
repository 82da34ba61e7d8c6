"""Programs that once differed in what a single op does."""

REGRESSIONS: dict[str, str] = {
    "what rearranges never lies in the memory of its input": """
x0 = T.arange(8.0).reshape(1, 2, 2, 2)
x1 = [F.channel_shuffle(x0, 1), F.channel_shuffle(x0, 2), F.pixel_shuffle(x0, 1)]
x1 += [F.pixel_unshuffle(x0, 1), F.unfold(x0, 2), F.fold(F.unfold(x0, 1), (2, 2), 1)]
for x in x1:
    x.mul_(100)
x2 = T.arange(4.0).reshape(1, 4, 1, 1)
x3 = F.pixel_shuffle(x2, 2).mul_(2)
x4 = F.unfold(x2[0], 1).mul_(2)
""",
    "shuffles lie as what they are given, and so do their gradients": """
x0 = T.arange(16.0).reshape(1, 4, 2, 2).to(memory_format=T.channels_last).requires_grad_()
x1 = [F.channel_shuffle(x0, 2), F.pixel_shuffle(x0, 2), F.pixel_unshuffle(x0, 2)]
x2 = T.autograd.grad(sum([x.square().sum() for x in x1]), x0, create_graph=True)[0]
x3 = T.autograd.grad(x2.square().sum(), x0)
x4 = T.func.vmap(lambda t: F.channel_shuffle(t, 2))(x0.detach()[None])
""",
    "the exponential of one matrix is a polynomial of the degree that its norm asks for": """
x0 = [s * T.tensor([[0.0, 1.0], [-1.0, 0.5]]) for s in (1e-8, 1e-3, 0.02, 0.2, 0.5, 1.0, 4.0)]
x1 = [T.linalg.matrix_exp(x) for x in x0]
x2 = T.linalg.matrix_exp(T.stack(x0))
x3 = [T.linalg.matrix_exp(x.double()) for x in x0]
x4 = T.stack(x0).requires_grad_()
T.linalg.matrix_exp(x4[3]).square().sum().backward()
x5 = T.linalg.matrix_exp(T.full((1, 1), 2.0))
""",
    "a bias broadcasts with the rows of a linear map": """
x0 = T.arange(12.0).reshape(3, 2, 2)
x1 = T.ones(2, 2, requires_grad=True)
x2 = []
for shape in ((1,), (2, 2), (2, 1), (1, 2), (3, 2, 2), (3, 1, 1), (1, 1, 2), (1, 2, 2), (3, 2)):
    for x in (x0, x0.transpose(1, 2), x0[0], x0[0, 0], x0[:1]):
        try:
            x2.append(F.linear(x, x1, T.ones(shape)))
        except RuntimeError:
            x2.append(None)
""",
    "a right side of another dtype, and matrices that only some functions refuse": """
x0 = T.eye(2, dtype=T.float64) * 2
x1 = T.linalg.solve_triangular(x0, T.ones(2, 2), upper=True)
x2 = T.linalg.solve_triangular(x0.float(), T.ones(2, 2, dtype=T.int64), upper=True, left=False)
x3 = T.linalg.cholesky(T.tensor([[4.0, 1.0], [9.0, 4.0]]), upper=True)
x4 = T.linalg.cholesky_ex(T.tensor([[4.0, 1.0], [9.0, 4.0]]), upper=True)
x5 = []
for f in (T.linalg.lu_factor, T.linalg.ldl_factor, T.linalg.inv, T.linalg.cholesky):
    for x in (T.ones(2, 2), T.full((2, 2), float("inf")), T.diag(T.tensor([float("inf"), 1.0]))):
        try:
            f(x)
        except RuntimeError as error:
            x5.append(type(error).__name__.lstrip("_"))
x6 = T.linalg.lstsq(T.ones(4, 3), T.ones(4, 2)).solution
""",
    "what may not be written takes no random numbers": """
x0 = T.ones(2, requires_grad=True)
x1 = []
for f in (T.rand, T.randn, T.randperm, lambda n, out: T.randint(3, (n,), out=out)):
    for out in (x0, x0 * 1, T.ones(1).expand(2)):
        try:
            f(2, out=out)
        except (RuntimeError, NotImplementedError):
            x1.append(T.rand(1))
try:
    T.bernoulli(T.ones(2) / 2, out=x0)
except RuntimeError:
    x1.append(T.rand(1))
""",
    "the derivative of digamma is large at negative integers": """
x0 = T.tensor([-1.0, -2.0, -0.5, 0.0, 0.25, 3.0, float("inf"), -float("inf")])
x1 = [T.polygamma(1, x0.to(d)) for d in (T.float32, T.float64, T.float16, T.bfloat16)]
x2 = x0[:5].clone().requires_grad_()
T.digamma(x2).sum().backward()
""",
    "what holds nothing has its losses, bags and combinations": """
x0 = F.cross_entropy(T.zeros(2, 0), T.zeros(2, 0), label_smoothing=0.1, reduction="none")
x1 = T.zeros(2, 0, dtype=T.int64)
for f in (lambda: F.embedding_bag(x1, T.ones(3, 2)), lambda: T.select_copy(T.ones(2) * 1j, 0, 0)):
    try:
        f()
    except RuntimeError as error:
        log.append(("refused", []))
with T.inference_mode():
    x2 = T.ones(3, requires_grad=True)
x3 = T.combinations(x2, 2)
x4 = F.pad(x2, (-1, 2))
x5 = F.pad(x2, (1, 2))
""",
    "what is the same for real numbers is written under no_grad": """
x0 = T.nn.Parameter(T.tensor([-0.5]))
with T.no_grad():
    x1 = x0.conj_physical_()
x2 = T.tensor([2.0, 3.0]).expand(2, 2)
T.nn.init.eye_(T.ones(2, 2))
T.nn.init.eye_(x2)
""",
    "a sum to no dimensions is a tensor of its own": """
x0 = T.tensor(1.75)
x1 = x0.sum_to_size(())
x1 -= 2
x2 = [T.rand_like(T.ones(2))._version, T.randn_like(T.ones(2))._version]
x2 += [T.randint_like(T.ones(2), 3)._version]
x3 = T.ones(2, requires_grad=True) * 2
x3.conj_physical_()
x3.sum().backward()
x4 = T.arange(24.0).reshape(2, 3, 2, 2).to(memory_format=T.channels_last)
x5 = T.cross(x4, x4 + 1, dim=1)
x6 = T.tensor([2.0, 3.0]).half()
x7 = F.cross_entropy(T.tensor([[0.0, -2.0]]).half(), T.tensor([0]))
x8 = T.clip(T.tensor([True, False]), True, 0.5)
""",
    "a second derivative forwards that torch does not have is refused": """
x0 = T.tensor([0.5, -0.25])
x1 = []
for f in (F.hardsigmoid, F.hardswish, F.softplus, T.tanh):
    try:
        x1.append(T.func.hessian(lambda t: f(t).sum())(x0))
    except NotImplementedError:
        x1.append(None)
x2 = T.renorm(T.tensor([[1.5, -0.75]], dtype=T.bfloat16), 2, 0, 1.0)
""",
    "what is looked at first of calls that are wrong in two ways": """
x0, x1 = T.ones(1, 1, 3, dtype=T.bool), []
with T.inference_mode():
    x2 = T.ones(1, requires_grad=True)
for f in (
    lambda: F.avg_pool1d(x0, 5), lambda: F.avg_pool1d(x0, 2), lambda: F.max_pool1d(x0, 5),
    lambda: F.max_pool2d(x0, 2), lambda: F.max_pool2d(x0, 5), lambda: F.avg_pool3d(x0, 5),
    lambda: F.local_response_norm(T.ones(1, 2, 2, 2).half(), 2), lambda: T.narrow_copy(x2, 2, 0, 1),
    lambda: T.narrow_copy(x2, -2, 0, 1), lambda: T.renorm(T.ones(1, 1).long(), 2, 4, 1.0),
    lambda: T.renorm(T.ones(1, 1).long(), 2, 0, 1.0), lambda: T.gradient(x0[0, 0], dim=2),
    lambda: T.nansum(T.ones(2), dtype=T.int64), lambda: T.nansum(T.ones(2), 0, out=x0.long()[0, 0]),
    lambda: T.nanmean(T.ones(2), 0, out=x0[0, 0]), lambda: x2.resize_as_(T.ones(1)),
    lambda: x2.resize_as_(T.ones(2, 2)), lambda: T.isnan(x2, out=x0), lambda: T.relu(x2, out=x2),
    lambda: F.pixel_shuffle(T.ones(1, 3, 2, 2), 2), lambda: F.channel_shuffle(T.ones(1, 3, 2), 2),
    lambda: T.clamp(x0, True, False), lambda: T.ldexp(x0, x0 > 0), lambda: x2.ldexp_(x2 > 0),
    lambda: F.linear(T.ones(2, 2), T.ones(2, 2), T.ones(3, 2)),
):
    try:
        f()
        x1.append(None)
    except Exception as error:
        x1.append(type(error).__name__)
x3 = x2.shape
x4 = T.tensor([1.5, float("nan"), 2.25])
x5 = [T.nansum(x4, dtype=T.int64), T.nansum(x4, 0, dtype=T.bool), T.nansum(x4, dtype=T.float64)]
""",
    "numbers that no integer dtype holds are refused in lists too": """
x0 = []
for d in (T.uint8, T.int8, T.int64, T.bool):
    for v in (-0.25, -0.75, -1.0, -1, 127.5, 127.25, 128.0, 255.5, 255.0, 256, 1e20, float("nan")):
        try:
            x0.append(T.tensor([v], dtype=d).tolist())
            x0.append(T.tensor([[v, 1], [2, 3]], dtype=d).tolist())
        except RuntimeError:
            x0.append(None)
""",
    "dropout of integers is drawn before it is refused": """
T.manual_seed(0)
x0 = []
for x in (T.ones(2, 3, 4).long(), T.ones(2, 3, 4) > 0, T.ones(2, 3, 4, 2, dtype=T.uint8)):
    for f in (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d):
        try:
            f(x, 0.5)
        except RuntimeError:
            x0.append(T.rand(1))
""",
    "addr promotes dtypes, whether of numbers or of matrices": """
x0 = (T.float32, T.float64, T.int64, T.float16)
x1 = [T.addr(T.tensor(1, dtype=d), T.ones(2, dtype=e), T.ones(2)) for d in x0 for e in x0]
""",
    "a product of several matrices is a view of what nobody sees": """
x0 = T.ones(2, 2, requires_grad=True)
x1 = T.linalg.multi_dot([x0, x0, x0[0]])
x2 = T.linalg.multi_dot([x0, x0])
x2.add_(1)
with T.no_grad():
    x3 = T.linalg.multi_dot([x0[0], x0, x0[0]])
try:
    x3.add_(x0[0, 0])
except RuntimeError as error:
    x4 = type(error).__name__
x5 = x1._is_view(), x2._is_view(), x3._is_view()
(x1.sum() + x2.sum()).backward()
""",
    "nodes are numbered by the overload that was called": """
x0 = T.tensor([1.5, 2.0], requires_grad=True)
x1 = T.tensor([0.5, 3.0])
x2 = [f(x0, y) for y in (x1, 2.0) for f in (T.fmod, T.remainder, T.copysign, T.clamp_min,
    T.clamp_max, lambda x, y: T.div(x, y, rounding_mode="floor"), lambda x, y: T.lerp(x, x, y))]
x2 += [T.log1p(x0), T.deg2rad(x0), T.rad2deg(x0), T.special.i1e(x0), T.atan2(x0, x1), x0.exp2()]
for name in ("eq_", "not_equal_", "greater_", "less_equal_"):
    x2 += [getattr(x0 * 2, name)(x1), getattr(x0 * 2, name)(1.0)]
x2 += [x0.expand(3, 2, 2) @ T.ones(2, 3), T.ones(4, 3, 2) @ x0.expand(4, 2, 2)]
x2 += [x0.expand(4, 2, 2) @ T.ones(2, 1, 2, 2), T.bmm(T.ones(1, 3, 2), x0.expand(1, 2, 2))]
x3 = [x.grad_fn.name() for x in x2]
""",
    "a gradient of the logarithm of a singular determinant is refused where it is recorded": """
x0 = [[[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]]
x0 = [*map(T.tensor, x0), T.tensor(x0), T.tensor(x0[:1]).double(), T.tensor([[0.0]])]
x1 = []
for x in x0:
    x.requires_grad_()
    for f in (T.logdet, lambda x: T.slogdet(x)[1], lambda x: T.linalg.slogdet(x)[1] * 2):
        try:
            x1.append(T.autograd.grad(f(x).sum(), x, create_graph=True))
        except RuntimeError as error:
            x1.append(type(error).__name__.lstrip("_"))
""",
    "what is conjugated in place and real passes its gradient on": """
x0 = T.arange(6.0).reshape(2, 3).requires_grad_()
x1 = (x0 * 1).conj_physical_()
x2 = T.autograd.grad(x1, x0, T.ones(()).expand(2, 3), retain_graph=True)
x3 = T.autograd.grad(x1, x0, T.ones(3, 2).mT, create_graph=True)
x4 = (T.autograd.grad(x1, x0, x1, create_graph=True)[0] * x1).sum()
x5 = T.autograd.grad(x4, x0)
x6 = T.arange(3).conj_physical_()
x7 = T.func.jvp(lambda t: (t * 1).conj_physical_(), (x0.detach(),), (x0.detach(),))
x8 = T.func.vmap(lambda t: (t * 1).conj_physical_())(x0)
""",
    "an axis that interpolation leaves as it is makes NaN of infinities": """
x0 = T.tensor([[[1.0, float('inf'), 2.0]]], requires_grad=True)
x1, x2 = [], []
for n in (2, 3, 5):
    for m in ('linear', 'nearest', 'area', 'nearest-exact'):
        x1.append(F.interpolate(x0, size=n, mode=m))
    for m in ('bilinear', 'bicubic', 'nearest'):
        x2 += [F.interpolate(x0[None], size=(rows, n), mode=m) for rows in (1, 2)]
x3 = F.interpolate(x0[None, None], size=(1, 1, 5), mode='trilinear')
x4 = F.interpolate(x0[None, None].half(), size=(2, 1, 3), mode='trilinear')
x5 = F.interpolate(x0[None].double(), size=(1, 3), mode='bilinear', align_corners=True)
x6 = T.autograd.grad(F.interpolate(x0, size=3, mode='linear'), x0, x0)
x7 = x0[None].expand(1, 4, 1, 3).contiguous(memory_format=T.channels_last)
x7 = F.interpolate(x7, size=(2, 3), mode='bilinear')
x8 = F.interpolate(x0[None], size=(1, 3), mode='bilinear', antialias=True)
""",
    "least squares of one vector for each matrix, and of rows that are taken for a batch": """
x0 = [T.ones(1, 3, 2) + T.eye(3, 2), T.ones(2, 3, 2) + T.eye(3, 2), T.ones(3, 2) + T.eye(3, 2)]
x1 = []
for a in x0:
    for b in ((3,), (3, 1), (3, 3), (2, 3), (1, 3), (2, 3, 1), (1, 3, 2)):
        b = T.ones(b).flatten().cumsum(0).reshape(b)
        for driver in ('gels', 'gelsy', 'gelsd', 'gelss'):
            try:
                x1.append(T.linalg.lstsq(a, b, driver=driver))
            except RuntimeError:
                x1.append(None)
""",
    "what sees inference tensors that require grad, rounds or joins them, records nothing": """
with T.inference_mode():
    x0 = [T.tensor([0.25, 0.5], dtype=d).requires_grad_() for d in (T.half, T.bfloat16, T.float32)]
x1 = [(x.round(decimals=d), x.clone().round_(decimals=d)) for x in x0 for d in (1, -1, 0)]
x2 = [x.requires_grad for pair in x1 for x in pair]
x3 = []
for f in (T.hstack, T.vstack, T.row_stack, T.dstack, T.column_stack, T.stack, T.cat):
    for x in (x0[2], x0[2].clone(), x0[2][None], x0[2][0]):
        for out in (T.zeros(0), T.zeros(0, requires_grad=True)):
            try:
                x3.append(f([x, x], out=out).requires_grad)
            except RuntimeError:
                x3.append(None)
for f in (T.diff, lambda x, out: T.kron(x, x, out=out)):
    try:
        x3.append(f(x0[2], out=T.zeros(0)).requires_grad)
    except RuntimeError:
        x3.append(None)
x4 = T.tensor([0.25, 0.5], dtype=T.half, requires_grad=True)
x5 = T.autograd.grad(x4.round(decimals=1), x4, T.ones(2, dtype=T.half), create_graph=True)
x6 = (x4 * 1).round_(decimals=1)
x7 = T.func.jvp(lambda t: t.round(decimals=1), (x4,), (x4,))
""",
    "powers are joined to a column of ones, as hooks see": """
seen = []
x0 = [T.ones(s, requires_grad=True) for s in ((2, 3), (0, 3), (4,))]
x1 = [T.linalg.vander(x) for x in x0]
for x in x1:
    x.grad_fn.register_hook(lambda given, _: seen.append([g.detach().clone() for g in given]))
x2 = [T.autograd.grad(y.sum(), x) for x, y in zip(x0, x1)]
x3 = T.linalg.vander(T.tensor([2, 3], dtype=T.int32), N=4)
""",
    "what out= resizes lies by rows where torch has computed it so": """
x0 = T.arange(24.0).reshape(4, 2, 3).permute(1, 2, 0)
x1 = [f(x0, out=T.empty(0)) for f in (T.fft.hfft, T.fft.irfft2, T.abs)]
x1 += [f(x0, out=T.empty(0, dtype=T.complex64)) for f in (T.fft.fft, T.fft.rfft, T.fft.ihfft)]
x1 += [T.fft.ifft(x, out=T.empty(0, dtype=T.complex64)) for x in (x0, x0 * 1j)]
x1 += [T.abs(x0 * 1j, out=T.empty(0)), T.nanmedian(x0, 1, out=(T.empty(0), T.empty(0).long()))]
x2 = T.linalg.matrix_power((x0[:, :2, :2] + T.eye(2)).mT, -1, out=T.empty(0))
x3 = [T.empty(0) for _ in range(3)]
T.unbind_copy(x0, 1, out=x3)
""",
    "incomplete gamma functions of single numbers, bags of no indices": """
x0 = [T.tensor(a) for a in (0.0, 0.5, 3.0, 2e4)]
x1 = [f(a, b) for f in (T.igamma, T.igammac) for a in x0 for b in x0]
x2 = [a.clone().igamma_(b) for a in x0 for b in x0]
x3 = []
for s in ((0, 0), (2, 0), (0, 2)):
    try:
        x3.append(F.embedding_bag(T.ones(s, dtype=T.int64), T.ones(3, 2)))
    except RuntimeError:
        x3.append(None)
""",
    "split_copy writes into tensors as they are": """
x0 = T.arange(12.).view(4, 3)
x1 = [T.zeros(2, 3, dtype=T.int64), T.zeros(5, 2, 3)]
T.split_copy(x0, 2, out=x1)
T.split_copy(x0, 2, out=[T.empty(0), T.empty(0)])
T.split_copy(x0, 2, out=[T.zeros(2, 3), T.zeros(2, 2)])
""",
    "a sum to a size of fewer dimensions has memory of its own": """
x0 = [T.tensor([[2.0, 3.0]]), T.ones(1, 1, 2), T.ones(1, 1, 2, requires_grad=True)]
x1 = [x0[0].sum_to_size(2), x0[1].sum_to_size(1, 2), x0[1].sum_to_size(2)]
for x in x1:
    x.mul_(3)
x2 = x0[2].sum_to_size(1, 2)
x2.sum().backward()
""",
    "what an instance norm gives is a view": """
x0 = T.randn((3, 3, 3, 1))
x1 = T.nn.functional.instance_norm(x0)
x2 = T.nn.functional.instance_norm(x0, T.zeros(3), T.ones(3), use_input_stats=False)
x3 = [x1._is_view(), x2._is_view(), x1.is_contiguous()]
x4 = x0.clone().requires_grad_()
x5 = T.nn.functional.instance_norm(x4)
x5.mul_(2)
x6 = [x5.grad_fn.name(), T.nn.functional.instance_norm(x4).grad_fn.next_functions[0][0].name()]
x5.cos().sum().backward()
x7 = x4.grad
x1[...] *= T.tensor(0.25, requires_grad=True)
""",
    "numbers around what inference mode made are drawn, scaled and moved in steps": """
with T.inference_mode():
    x0 = T.tensor([0.5], requires_grad=True)
    x1 = T.tensor([2.0], requires_grad=True)
x2, x3, x4 = T.normal(x0, 1.0), T.normal(0.5, x1), T.normal(x0, x1)
(x2 + x4).sum().backward()
x5 = x0.grad, x2.grad_fn.name(), x3.grad_fn.name(), x4.grad_fn.name()
T.normal(x0 + 1, -1.0)
""",
    "a loss looks at its scores before it looks at labels": """
x0 = T.ones(2, requires_grad=True) * 2
with T.inference_mode(): x1 = x0.view(2, 1)
x0.put_(T.tensor([0]), T.tensor([1.0]))
T.nn.functional.cross_entropy(x1, T.zeros(1))
""",
    "a template that inference mode made, of what it made": """
with T.inference_mode(), T.enable_grad():
    x0 = T.tensor([1.5], requires_grad=True)
    x1 = T.ones(1, 1)
x0.resize_as_(x1)
x2 = x0.shape
x0.resize_as_(T.ones(2))
""",
    "the gradient of a product of nothing is constant within transforms": """
x0 = T.zeros((2, 0), requires_grad=True)
x1 = T.func.grad(lambda t: t.prod())(x0)
x2 = [T.func.grad(lambda t: t.prod(d).sum())(x0) for d in (0, 1)]
x3 = T.func.jvp(T.func.grad(lambda t: T.prod(t)), (x0,), (x0,))
x4 = T.autograd.grad(x0.prod(), x0, create_graph=True)
""",
    "unsafe pieces of inference mode count writes by themselves": """
import copy
x0 = copy.deepcopy(T.ones((4, 3), requires_grad=True))
with T.inference_mode(): x1 = T.unsafe_chunk(x0, 2), T.unsafe_split(x0, 2), T.chunk(x0, 2)
x2 = [x._version for y in x1 for x in y]
""",
    "what is made like a dual tensor of a batch, in another dtype, has an element for each": """
x0 = T.eye(3)
def tangents(f): return T.func.vmap(lambda t: T.func.jvp(f, (t,), (T.ones_like(t),)))(x0)
x1 = tangents(T.isreal), tangents(lambda t: T.zeros_like(t, dtype=T.float64))
x2 = tangents(lambda t: T.full_like(t, 2, dtype=T.int64)), tangents(T.ones_like)
""",
    "what has no derivative saves no operand": """
x0 = T.rand((3,), requires_grad=True)
x1, x2 = x0.norm(), x0 * 2
with T.inference_mode():
    x3, x4 = x1.view(T.float32), x2.view(3)
x1.floor_divide_(x3)
x2.heaviside_(x4)
(x1 + x2).sum().backward()
""",
    "the product of two vectors is one node": """
with T.inference_mode(), T.enable_grad():
    x0 = T.tensor([2.0], dtype=T.complex64, requires_grad=True)
x1 = T.linalg.vecdot(x0, T.tensor([-1.25], dtype=T.complex64))
x2 = T.linalg.vecdot(x0[None], T.tensor([[-1.25]], dtype=T.complex64))
x3 = x1.grad_fn.name()
T.linalg.vecdot(T.ones(3), T.ones(1))
""",
    "the median of no integers is what NaN is as one": """
x0 = [T.zeros((3, 0), dtype=d) for d in (T.int64, T.int32, T.uint8, T.float32)]
x1 = [x.median() for x in x0]
x2 = [x.nanmedian() for x in x0]
""",
    "a complex zero to the power of a tensor of zeros is no number": """
x0 = T.zeros(2, dtype=T.complex64)
x1 = [T.pow(x0, x0), T.pow(x0, 0), T.pow(0j, x0), T.pow(x0, 0j), T.float_power(x0, x0)]
x2 = [T.pow(x0, T.tensor([0.0, 1.0])), T.pow(x0 + 1, x0), T.pow(x0[0], x0[0])]
x0.pow_(x0)
""",
    "the tangent of a spread of 0 is 0, whatever the elements do": """
x0 = T.tensor([[1.0, 2.0, 4.0], [2.0, 2.0, 2.0]])
def tangent(f): return T.func.jvp(f, (x0,), (T.tensor([[1.0, 5.0, 4.0], [2.0, 3.0, 2.0]]),))[1]
x1 = tangent(lambda t: t.std(1)), tangent(lambda t: T.std_mean(t, 1)[0])
x2 = tangent(lambda t: T.func.vmap(lambda v: v.std())(t)), tangent(lambda t: t.var(1))
x3 = tangent(lambda t: T.complex(t, t * t).std(1)), tangent(lambda t: t.var(1, correction=5))
""",
    "the tangent of logcumsumexp keeps its divisor from 0; a NaN reaches all": """
def tangent(x, dim): return T.func.jvp(lambda t: t.logcumsumexp(dim), (x,), (T.ones_like(x),))[1]
x0 = [tangent(T.tensor(v), 0) for v in ([-30.0, 0], [1, float("nan")], [1, float("-inf")], 2.0)]
x1 = tangent(T.ones(0, 3), 1), tangent(T.tensor([[-30.0, 1], [2, 3]]), 1)
x2 = T.func.grad(lambda t: tangent(t, 0).sum())(T.tensor([-30.0, 0, 2], dtype=T.float64))
""",
    "the tangent of bounds at a tie or a NaN is the second's": """
x0, x1 = T.ones(3), T.tensor([float("nan"), 1, 2])
def tangent(f): return T.func.jvp(f, (x0,), (x0,))[1]
x2 = [tangent(lambda t: getattr(T, f)(t, x1)) for f in ("maximum", "minimum", "fmax", "fmin")]
x3 = [tangent(lambda t: getattr(T, f)(x1, t)) for f in ("maximum", "minimum", "fmax", "fmin")]
x4 = tangent(lambda t: T.clamp(t, x1, x1 + 1)), tangent(lambda t: T.clamp(x1, t, t))
x5 = tangent(lambda t: T.clamp(t, x0, x0)), tangent(lambda t: T.clamp(x0, t, x0))
""",
    "the target of a margin is constant in transforms too": """
x0 = T.ones(2, 3)
T.func.grad(lambda t: T.func.vmap(lambda v: T.nn.functional.soft_margin_loss(x0, v))(t).sum())(x0)
""",
    "running statistics are constant in transforms too": """
x0, x1 = T.ones(2, 3), T.ones(2, 2, 3)
def normalized(mean): return T.nn.functional.batch_norm(x0, mean, x0[0])
T.func.grad(lambda t: T.func.vmap(normalized)(t).sum())(x0)
""",
    "the weights of counts have no derivative, which is said": """
x0 = T.ones(3, requires_grad=True)
x1 = T.bincount(T.tensor([0, 1, 2]), x0)
x2 = x1.requires_grad, x1.grad_fn.name(), T.histogram(x0, 3).hist.grad_fn.name()
x1.sum().backward()
""",
    "the weights of counts have no tangent": """
T.func.jvp(lambda t: T.bincount(T.tensor([0, 1, 2]), t), (T.ones(3),), (T.ones(3),))
""",
    "histograms have no tangent": """
T.func.jvp(lambda t: T.histogram(t, 3).hist, (T.ones(3),), (T.ones(3),))
""",
    "the derivative of a mean of nothing by its gradient is 0": """
F, x0 = T.nn.functional, T.ones(2, 0)
def tangent(f): return T.autograd.functional.jvp(lambda t: f(t, t * 2), x0, x0)[1]
x1 = [tangent(f) for f in (F.l1_loss, F.mse_loss, F.smooth_l1_loss, F.huber_loss)]
""",
    "powers of matrices are multiplied in torch's order": """
T.manual_seed(0)
x0 = T.rand(7, 7)
x1 = [T.equal(T.matrix_power(x0, 3), x0 @ x0 @ x0), T.matrix_power(x0.T, 1).stride()]
with T.inference_mode():
    x2 = T.tensor([2.0]).expand(2, 2).requires_grad_()
x3 = [T.matrix_power(x2, n).requires_grad for n in range(6)]
""",
    "the product of two conjugate vectors is put off as they are": """
x0 = T.tensor([1 + 2j, 3 - 1j], requires_grad=True)
x1 = x0.conj()
x2 = [T.dot(x1, x1), T.dot(x1, x0), T.inner(x1, x0), T.matmul(x1, x1)]
x3 = [T.vdot(x0, x1), T.vdot(x1, x0), T.vdot(x1, x1), T.linalg.vecdot(x1, x1)]
x4 = [x.is_conj() for x in x2 + x3]
x2[0].real.backward(retain_graph=True)
x3[0].imag.backward()
""",
    "integers have no tangent, whatever is written into them": """
with T.autograd.forward_ad.dual_level():
    x0 = T.autograd.forward_ad.make_dual(T.rand(3), T.ones(3))
    x1 = x0.argsort()
    x1[...] = x0
    x2 = T.autograd.forward_ad.unpack_dual(x1).tangent
""",
    "the tangent of a point at the origin": """
x0, x1 = T.zeros(3), T.tensor([0.0, 1.0, 2.0])
def tangent(f): return T.func.jvp(f, (x0,), (x1 + 1,))[1]
x2 = tangent(lambda t: T.atan2(t, x1)), tangent(lambda t: T.atan2(x1, t))
x3 = tangent(lambda t: T.polar(t, x1)), tangent(lambda t: T.polar(x1, t))
x4 = tangent(lambda t: T.polar(t, t)), tangent(lambda t: T.angle(T.complex(t, x1)))
""",
    "the angle of 0 has derivatives of 0, in transforms too": """
x0, x1, x2 = T.zeros(2), T.tensor([1.0, 2.0]), -T.zeros(2)
def angles(f): return lambda t: T.angle(f(t))
def tangent(f): return T.func.jvp(f, (x0,), (x1,))
x3 = [lambda t: T.complex(x0, t), lambda t: T.complex(t, x0), lambda t: T.complex(t, t * 2)]
x4 = [tangent(angles(f)) for f in x3]
x5 = [T.func.grad(lambda t: angles(f)(t).sum())(x0) for f in x3]
x6 = [tangent(T.func.grad(lambda t: angles(f)(t).sum())) for f in x3]
x7 = tangent(lambda t: T.angle(T.complex(x2, t)))
x8 = T.func.jvp(T.angle, [T.complex(T.ones(3, 2), T.ones(3, 2)).t()] * 2)
""",
    "second derivatives of kinks at the kink": """
F, x0 = T.nn.functional, T.tensor([0.0, 1.0, 2.0])
def second(f, x):
    return T.func.grad(lambda y: T.func.grad(lambda z: (f(z) ** 2).sum())(y).sum())(x)
x1 = [second(lambda t: F.softplus(t, 2, h), x0) for h in (0, 2, 4)]
x2 = second(lambda t: F.prelu(t, T.tensor([0.25])), x0)
x3 = second(lambda t: F.prelu(x0, t), T.tensor([0.25]))
""",
    "zeta of a huge exponent is its first term": """
x0 = T.special.zeta(T.tensor([1e300, 1e300, 1e5], dtype=T.float64), T.tensor([0.5, 1.0, 2.5]))
x1 = T.special.zeta(T.tensor([1e30, 1e10]), T.tensor(1.0))
x2 = [T.special.zeta(T.tensor([float('inf'), 1e14, 1e13, 40.0]), q) for q in (0.5, 1.0, 1.5, 20.0)]
""",
    "the gradient of an extremum of a number is no view of what comes in": """
x0 = T.tensor(2.0, requires_grad=True)
x1 = T.tensor(3.0)
def gradient(f): return T.autograd.grad(f(x0, 0)[0], x0, x1)[0]
x2 = [gradient(f) for f in (T.max, T.min, T.cummax, T.cummin, T.median)]
x3 = [(g is x1, g.data_ptr() == x1.data_ptr(), g._base is None) for g in x2]
""",
    "least squares of infinite matrices are no numbers, and of NaN an error": """
x0, x1 = T.eye(3), []
for value in (float('inf'), -float('inf'), float('nan')):
    for a, b in ((x0 * 1, T.full((3, 3), value)), (T.full((3, 3), value), x0), (x0 * 0, x0)):
        try:
            x1.append(T.linalg.lstsq(a, b)[:3])
        except RuntimeError as error:
            x1.append(type(error).__name__)
""",
    "least squares save their solution, and lie by columns as their gradients do": """
x0 = [T.ones(s) + T.eye(s[-2], s[-1]) for s in ((2, 2), (3, 2), (2, 3), (2, 3, 2))]
x0 = [x.requires_grad_() for x in x0]
x1 = [T.linalg.lstsq(x, x.detach()[..., :1] * 2) for x in x0]
x2 = [T.autograd.grad(r.solution.sum(), x)[0] for r, x in zip(x1, x0)]
x3 = []
for x in x0:
    x4 = T.linalg.lstsq(x, x.detach()[..., 0]).solution
    x3.append((x4.stride(), x4.untyped_storage().nbytes(), x4._base is None))
    x4.mul_(2)
    try:
        x4.sum().backward()
    except RuntimeError as error:
        x3.append(type(error).__name__)
""",
    "least squares by QR ask for a full rank": """
x0 = []
for a in (T.ones(2, 2), T.ones(3, 2), T.ones(2, 3), T.zeros(2, 2), T.eye(3, 2)):
    for driver in ('gels', 'gelsy', 'gelsd', 'gelss'):
        try:
            x0.append(T.linalg.lstsq(a, T.ones(len(a), 1), driver=driver).rank)
        except RuntimeError as error:
            x0.append(type(error).__name__)
""",
    "second derivatives of norms lie as torch's": """
x0 = T.arange(16.).reshape(2, 2, 2, 2).add(1).to(memory_format=T.channels_last).requires_grad_()
x1, = T.autograd.grad(T.norm(x0), x0, create_graph=True)
x2, = T.autograd.grad(x1[0, 0, 0, 0], x0)
""",
    "gradients of least squares are summed where batches were broadcast": """
def leaf(*s): return (T.ones(s) + T.eye(s[-2], s[-1])).requires_grad_()
x0, x1 = [], [(leaf(1, 3, 2), leaf(2, 3, 1)), (leaf(2, 3, 2), leaf(1, 3, 1))]
x1 += [(leaf(2, 1, 2, 2), leaf(1, 3, 2, 1)), (leaf(2, 3, 2), leaf(3, 3))]
x1.append((leaf(1, 3, 2), leaf(1, 3)))
for a, b in x1:
    for driver in ('gelsy', 'gelsd'):
        x2 = T.linalg.lstsq(a, b, driver=driver)
        x0 += [x2, T.autograd.grad(x2.solution.square().sum(), (a, b))]
""",
    "gradients of copied parts lie by rows, of the whole as well": """
x0 = T.ones(1, 1, 1, 2, requires_grad=True)
x1 = [T.autograd.grad(T.slice_copy(x0, d, *a).sum(), x0) for d in (0, 3) for a in ((), (0, 1))]
""",
    "two results of one node": """
x0 = T.tensor([[1., 3., 3.], [2., 0., 2.]], requires_grad=True)
x1 = T.tensor(2., requires_grad=True)
x2 = [x0.aminmax(), x0.aminmax(dim=1), x1.aminmax(dim=0), T.std_mean(x0), T.std_mean(x0, 1)]
x3 = [[t.output_nr for t in pair] for pair in x2]
x4 = [T.autograd.grad(t.sum(), x0 if n != 2 else x1, create_graph=n > 2, retain_graph=True)[0]
      for n, pair in enumerate(x2) for t in (*pair, pair[0] + pair[1])]
x5, = T.autograd.grad(sum(t.square().sum() for t in x4 if t.requires_grad), x0)
""",
    "what has no elements is normalized, and its gradient is empty": """
x0 = []
for dtype in (T.float32, T.float64, T.float16, T.bfloat16):
    for shape in ((2, 0), (2, 3, 0), (2, 0, 3), (0, 3)):
        x1 = T.zeros(shape, dtype=dtype, requires_grad=True)
        w = T.ones(shape[-1:], dtype=dtype, requires_grad=True)
        x2 = T.nn.functional.layer_norm(x1, shape[-1:], w, w)
        x0 += [x2, T.autograd.grad(x2.sum(), (x1, w))]
        x0.append(T.nn.functional.rms_norm(x1, shape[-1:], w))
        x0.append(T.autograd.grad(x0[-1].sum(), (x1, w)))
""",
    "images without channels are refused": """
x0 = []
for shape in ((2, 0, 3), (2, 0, 3, 3), (0, 2, 3, 3), (2, 0), (2, 3), (0,)):
    for f in (lambda x: T.nn.functional.interpolate(x, scale_factor=2.0),
              lambda x: T.nn.functional.interpolate(x, 4, mode='bicubic'),
              lambda x: T.nn.functional.unfold(x, 1)):
        try:
            x0.append(f(T.ones(shape)).shape)
        except (RuntimeError, IndexError, NotImplementedError) as error:
            x0.append(isinstance(error, IndexError))
""",
}
