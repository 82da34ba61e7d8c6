"""The statements on tensors that random programs are made of: one a line, by kind, with weights.

A statement that stands twice is chosen twice as often; `tests.fuzz.writer` says what the holes are,
`tests.fuzz.graph_statements` has the kinds that make and run graphs, and
`tests.fuzz.op_statements` those that call any public op.
"""

STATEMENTS: dict[str, tuple[int, list[str]]] = {}


def kind(name: str, weight: int, text: str) -> None:
    STATEMENTS[name] = weight, text.strip().splitlines()


kind(
    "create",
    8,
    """
{new} = {literal}
{new} = {wanted}
{new} = {wanted}
{new} = T.zeros{size}
{new} = T.ones({size}, requires_grad=True)
{new} = T.arange(6.)
{new} = T.randn({size})
{new} = T.full({size}, 2)
{new} = T.eye(3)
{new} = T.zeros({size}, dtype={dtype})
{new} = T.linspace(-1, 1, 5)
{new} = {picture}.to(memory_format=T.channels_last)
{new} = {picture}.requires_grad_()
{new} = T.rand({size}, requires_grad=True)
{new} = T.zeros_like({t})
{new} = T.ones_like({f}, requires_grad=True)
{new} = {t}.new_zeros({size})
{new} = T.nn.Parameter({f}.detach())
{new} = T.nn.Parameter({literal})
{new} = T.tensor([1., 2.]).expand(2, 2).requires_grad_()
{new} = T.full_like({t}, 1)
{new} = {literal}.half().requires_grad_()
""",
)
kind(
    "view",
    18,
    """
{new} = {t}[{index}]
{new} = {t}[{index}]
{new} = {t}[{index}]
{new} = {t}.transpose({d}, {d})
{new} = {t}.permute({order})
{new} = {t}.view({shape})
{new} = {t}.reshape({shape})
{new} = {t}.expand({expanded})
{new} = {t}.squeeze()
{new} = {t}.squeeze({d})
{new} = {t}.unsqueeze({d})
{new} = {nd}.narrow({d}, 0, 1)
{new} = {nd}.select({d}, 0)
{new} = {matrix}.diagonal()
{new} = {nd}.unfold({d}, 1, 1)
{new} = {nd}.unfold({d}, 2, 1)
{new} = {nd}.as_strided((2,), (1,))
{new} = {nd}.as_strided((2, 2), (1, 1))
{new} = {matrix}.mT
{new} = {t}.T
{new} = {t}.detach()
{new} = {t}.data
{new} = {t}.view_as({t})
{new} = {f}.real
{new} = {c}.imag
{new} = T.view_as_real({c})
{new} = {t}.flatten()
{new} = {t}.ravel()
{new} = {nd}.unbind(0)[0]
{new} = {nd}.chunk(2)[0]
{new} = {nd}.split(1, {d})[0]
{new}, {new} = {nd}.chunk(2)
{new} = {nd}.split(1)[-1]
{new} = {nd}.unbind({d})
{new} = {nd}.split(1, {d})
{new} = {t}.view({bits})
{new} = {t}.expand_as({t})
{new} = {t}.contiguous()
{new} = {t}.movedim({d}, {d})
{new} = {t}.swapaxes({d}, {d})
{new} = {t}.to({dtype})
{new} = {t}.view(-1)
{new} = {nd}.unflatten(0, (1, -1))
{new} = {c}.conj()
{new} = {t}.reshape_as({t})
{new} = {nd}.tensor_split(2)[0]
{new} = {matrix}.adjoint()
{new} = {nd}.hsplit(1)[0]
{new} = {t}.requires_grad_(False)
{new} = T.atleast_2d({t})
{new} = T.broadcast_to({t}, {expanded})
{new}, {new} = T.broadcast_tensors({t}, {other})
{new} = {t}.contiguous(memory_format=T.channels_last)
{new} = {t}[{index}][{index}]
{new} = {t}.transpose({d}, {d}).squeeze({d})
{new} = {t}.unsqueeze(0).squeeze(0)
""",
)
kind(
    "read",
    6,
    """
{new} = {t}[{advanced}]
{new} = {t}[{advanced}]
{new} = {nd}.index_select(0, {rows})
{new} = {nd}.gather(0, {index_of})
{new} = {t}.masked_select({mask})
{new} = {t}.take(T.tensor([0]))
{new} = T.take_along_dim({nd}, {index_of}, 0)
{new} = {t}.masked_fill({mask}, {n})
{new} = {t}.where({mask}, {b})
{new} = {nd}[{i}]
{new} = {t}.nonzero()
{new} = {t}.item()
{new} = {t}.tolist()
{new} = {nd}.scatter(0, {index_of}, {n})
{new} = {nd}.scatter_add(0, {index_of}, {same})
{new} = {nd}.index_add(0, {rows}, {picked})
{new} = {nd}.index_fill(0, {rows}, {n})
{new} = {nd}.scatter_reduce(0, {index_of}, {same}, 'mean')
{new} = {nd}.scatter_reduce(0, {index_of}, {same}, 'prod', include_self=False)
{new} = {nd}.index_reduce(0, {rows}, {picked}, 'prod')
{new} = {nd}.masked_scatter({mask}, {same})
{new} = {nd}.select_scatter({b}, {d}, 0)
{new} = {nd}.slice_scatter({nd}[:1], 0, 0, 1)
{new} = {matrix}.diagonal_scatter({matrix}.diagonal())
{new} = {nd}.gather(0, {index_of}).view(-1)
""",
)
kind(
    "compute",
    18,
    """
{new} = {t} + {b}
{new} = {t} * {b}
{new} = {t} * {b}
{new} = {t} - {b}
{new} = {t} / {b}
{new} = {f} * {f}
{new} = 2 ** {f}
{new} = {f}.exp()
{new} = {f}.sin()
{new} = {f}.relu()
{new} = {f}.sigmoid()
{new} = {f}.tanh()
{new} = {t}.abs()
{new} = {t}.neg()
{new} = {t}.square()
{new} = {t} ** 2
{new} = {t}.sum()
{new} = {t}.sum({d})
{new} = {f}.mean({d}, keepdim=True)
{new} = {t}.prod()
{new} = {t}.amax({d})
{new} = {t}.max()
{new} = {f}.norm()
{new}, {new} = {nd}.max({d})
{new}, {new} = {nd}.sort(dim={d}, stable=True)
{new} = {nd}.cumsum({d})
{new} = {nd}.cumprod({d})
{new} = {f}.softmax({d})
{new} = {f}.log_softmax({d})
{new} = {f}.var({d}, correction=0)
{new} = {t}.clone()
{new} = {t}.to({dtype})
{new} = {t}.double()
{new} = {t} @ {other}
{new} = {matrix} @ {matrix}.mT
{new} = T.cat([{t}, {same}])
{new} = T.stack([{t}, {same}])
{new} = {t}.repeat(2, 1)
{new} = {t}.flip(0)
{new} = {t}.roll(1)
{new} = {matrix}.tril()
{new} = {t}.clamp(-1, 1)
{new} = {real}.clamp(min={b})
{new} = T.maximum({t}, {b})
{new} = T.lerp({f}, {same}, 0.5)
{new} = T.addcmul({t}, {same}, {same}, value=2)
{new} = T.nn.functional.pad({nd}, (1, 1))
{new} = {t} > {b}
{new} = {t} == {b}
{new} = T.nn.functional.gelu({real})
{new} = T.nn.functional.dropout({f}, 0.5)
{new} = T.add({t}, {b}, alpha=2)
{new} = T.outer({t}.flatten(), {other}.flatten())
{new} = T.einsum('...,...->...', {f}, {same})
{new} = {f}.logsumexp({d})
{new} = T.nn.functional.mse_loss({real}, {same})
{new} = T.cdist({matrix}, {matrix})
{new} = T.nn.functional.layer_norm({f}, {f}.shape[-1:])
{new} = T.linalg.vector_norm({f})
{new} = {t}.std({d})
{new} = {f}.median()
{new} = {real}.sqrt()
{new} = {f}.log1p()
{new} = {c}.abs()
{new} = T.complex({part}, {same})
{new} = {t} // {n}
{new} = {t} % {n}
{new} = {i} & 1
{new} = T.nn.functional.leaky_relu({f}, 0.1)
{new} = T.nn.functional.normalize({f}, dim={d})
{new} = {f} / {f}.sum()
{new} = {f}.xlogy({n})
{new} = T.nn.functional.one_hot({i}.abs())
{new} = T.topk({nd}, 1, {d})[0]
{new} = T.cummax({nd}, {d})[0]
{new} = T.diff({nd})
{new} = {t}.mean({dims})
{new} = {t}.sum({dims})
{new} = {f}.var()
{new} = T.kron({t}, T.ones(2))
{new} = T.nn.functional.max_pool2d({images}, 2)
{new} = T.nn.functional.avg_pool2d({images}, 2, 1)
{new} = T.nn.functional.interpolate({images}, scale_factor=2)
{new} = {f}.reciprocal()
{new} = {f}.sgn()
{new} = T.linalg.norm({f})
{new} = T.hypot({real}, {same})
{new} = T.atan2({real}, {same})
{new} = T.copysign({real}, {b})
{new} = {f}.nan_to_num()
{new} = T.logaddexp({real}, {same})
{new} = {t}.expand_as({same}) * 2
{new} = {t}.all()
{new} = {f}.angle()
{new} = T.einsum('i...->...', {nd})
{new} = T.einsum('...i,...i->...', {nd}, {same})
{new} = T.einsum('ij,kj->ik', {matrix}, {matrix})
{new} = T.einsum('...ij->...ji', {matrix})
{new} = T.einsum('ij,jk,k->i', {matrix}, {matrix}.mT, {other})
{new} = T.kthvalue({nd}, 1, {d})[0]
{new} = {f}.nanmean({d})
{new} = {t}.argmax({d})
{new} = {t}.argsort(dim={d}, stable=True)
{new} = {t}.count_nonzero({d})
{new} = T.where({t} > 0, {b}, {b})
{new} = {real}.quantile(0.5)
{new} = T.nn.functional.cosine_similarity({f}, {same}, dim={d})
{new} = T.nn.functional.silu({f})
{new} = T.nn.functional.softplus({real})
{new} = T.nn.functional.smooth_l1_loss({real}, {same})
{new} = T.nn.functional.l1_loss({f}, {same}, reduction='sum')
{new} = T.nn.functional.binary_cross_entropy_with_logits({real}, {same})
{new} = T.nn.functional.kl_div({real}, {same}, reduction='batchmean')
{new} = T.nn.functional.embedding({i} % 3, T.ones(3, 2, requires_grad=True))
{new} = {nd}.logcumsumexp({d})
{new} = T.cummin({nd}, {d})[0]
{new} = {t}.unique()
{new} = {nd}.repeat_interleave(2, {d})
{new} = T.tile({t}, (2,))
{new} = {f}.erf()
{new} = {f}.expm1()
{new} = {f}.rsqrt()
{new} = {f}.half()
{new} = {t}.float()
{new} = {t}.bool()
{new} = {t}.long()
{new} = {matrix}.rot90()
{new} = T.addmm({matrix}, {matrix}, {matrix}.mT)
{new} = T.tensordot({f}, {f}, 1)
{new} = {f}.median({d})[0]
{new} = T.mode({nd}, {d})[0]
{new} = T.nn.functional.scaled_dot_product_attention({matrix}, {matrix}, {matrix})
{new} = {matrix}.triu().trace()
{new} = T.linalg.det({matrix} @ {matrix}.mT)
{new} = T.trapezoid({nd})
{new} = T.nn.functional.glu({nd}, {d})
{new} = T.bucketize({real}, T.tensor([-1., 0., 1.]))
{new} = T.stack([{t}, {t}]).unbind(0)[1]
{new} = T.cat([{nd}, {nd}], {d})
{new} = {f} * {f}.rsqrt()
{new} = T.dist({f}, {same})
{new} = T.cov({matrix})
""",
)
kind(
    "write",
    10,
    """
{t}[{index}] = {value}
{t}[{index}] = {value}
{t}[{index}] = {value}
{t}[{advanced}] = {value}
{t}[{advanced}] = {value}
{t}[{index}] += {value}
{t}[{index}] *= {value}
{t}[{advanced}] += {n}
{t}[{index}] = {t}[{index}]
{t}[{mask}] = {n}
{t}[{t} > 0] *= 2
{nd}[{rows}] += {picked}
{nd}[{rows}] = {picked}
{t}[{mask}] = {t}[{mask}] * 2
""",
)
kind(
    "in place",
    16,
    """
{t}.add_({b})
{t}.mul_({b})
{t}.sub_({b})
{t}.div_({b})
{t} += {b}
{t} *= {b}
{t} -= {b}
{t}.copy_({b})
{t}.copy_({same})
{t}.fill_({n})
{t}.zero_()
{t}.fill_(T.tensor(2., requires_grad=True))
{f}.relu_()
{t}.clamp_(-1, 1)
{t}.neg_()
{t}.masked_fill_({mask}, {n})
{t}.masked_fill_({mask}, T.tensor(2., requires_grad=True))
{nd}.index_add_(0, {rows}, {picked})
{nd}.index_copy_(0, {rows}, {picked})
{nd}.index_fill_(0, {rows}, {n})
{nd}.scatter_(0, {index_of}, {n})
{nd}.scatter_(0, {index_of}, {same})
{nd}.scatter_add_(0, {index_of}, {same})
{nd}.scatter_reduce_(0, {index_of}, {same}, 'amax')
{t}.index_put_(({rows},), {picked})
{t}.masked_scatter_({mask}, {same})
{f}.exp_()
{f}.sin_()
{f}.sigmoid_()
{f}.tanh_()
{t}.abs_()
{t}.pow_(2)
{real}.sqrt_()
{t}.square_()
{t}.addcmul_({same}, {same})
{t}.lerp_({same}, 0.5)
{t}.t_()
{t}.transpose_({d}, {d})
{t}.squeeze_()
{t}.unsqueeze_(0)
{nd}.cumsum_({d})
{matrix}.tril_()
{t}.detach_()
{t}.requires_grad_()
{t}.requires_grad_(False)
{t}.requires_grad = True
{t}.uniform_()
{t}.normal_()
{alone}.resize_(2, 2)
{t}.set_({other})
{t}.data.mul_(2)
{t}.data = {other}
{t}.data = {same}
{t}.detach().add_(1)
{f}.retain_grad()
{g}.retain_grad()
T.relu_({f})
T.nn.functional.relu({f}, inplace=True)
{t}.swapdims_({d}, {d})
T.nn.functional.leaky_relu_({real}, 0.1)
T.nn.functional.dropout({inner}, 0.5, inplace=True)
{t}.logical_not_()
{t}.put_(T.tensor([0]), T.tensor([1.]))
{t}.as_strided_((1,), (1,))
{t}.random_(3)
{t}.bernoulli_(0.5)
{t}.apply_(lambda v: v + 1)
{t}.copy_({t}.clone())
{t}.fill_diagonal_(1)
{t}.mul_({t})
{t}.add_({t})
{t}.floor_()
{t}.round_()
{t}.sgn_()
{t}.reciprocal_()
{t}.grad.zero_()
{t}.grad = None
{leaf}.grad.mul_(2)
{leaf}.grad = T.ones_like({leaf})
{t}.__setitem__(0, 1)
{t}.addmm_({matrix}, {matrix})
{t}.baddbmm_({t}, {t})
{t}.clamp_min_({n})
T.nn.functional.hardtanh_({f})
T.nn.functional.elu_({real})
{t}.xlogy_({n})
{t}.atan2_({b})
{t}.ge_(0)
{t}.eq_({b})
{t}.map_({same}, lambda a, b: a + b)
{t}.squeeze_({d})
{f}.nan_to_num_()
{t}.remainder_(2)
{t}.index_put_(({rows},), {picked}, accumulate=True)
{t}.exponential_()
{t}.true_divide_({b})
{t}.add_(1, alpha=2)
{t}.addcdiv_({same}, {same}, value=2)
{nd}.index_reduce_(0, {rows}, {picked}, 'amin')
{nd}.scatter_reduce_(0, {index_of}, {same}, 'mean', include_self=False)
{nd}.scatter_reduce_(0, {index_of}, {same}, 'sum')
{nd}.split(1, {d})[0].mul_(2)
{t}.view(-1).add_(1)
{nd}.unbind(0)[0].zero_()
{nd}[0].mul_(2)
{nd}.select({d}, 0).copy_({b})
{matrix}.diagonal().fill_(2)
{t}.real.mul_(2)
{nd}.chunk(2)[-1].add_(1)
{t}.T.add_({n})
{nd}.gather(0, {index_of}).mul_(2)
{nd}.narrow({d}, 0, 1).sub_({n})
""",
)
kind(
    "out",
    3,
    """
T.add({t}, {b}, out={target})
T.mul({t}, {b}, out={target})
T.exp({f}, out={target})
T.sum({t}, 0, out={target})
T.cat([{t}, {t}], out={target})
T.matmul({matrix}, {matrix}.mT, out={target})
T.max({nd}, 0, out=({target}, T.empty(0, dtype=T.int64)))
T.clamp({t}, 0, 1, out={target})
T.neg({t}, out={target})
T.index_select({nd}, 0, {rows}, out={target})
T.stack([{t}, {t}], out={target})
T.add({t}, {t}, alpha=2, out={target})
T.arange(3, out={roomy})
T.zeros(2, out={roomy})
T.abs({t}, out={target})
T.logical_not({t}, out={target})
{new} = T.mul({t}, {b}, out=T.empty(0))
T.cumsum({nd}, 0, out={target})
T.gt({t}, {b}, out={target})
T.where({t} > 0, {same}, {same}, out={target})
T.gather({nd}, 0, {index_of}, out={target})
T.mean({f}, 0, out={target})
""",
)
