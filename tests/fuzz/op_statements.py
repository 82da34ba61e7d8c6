"""Statements of random programs that call one op, of all the public ones.

The holes ``{unary}`` to ``{spectrum}`` are names of ops of one signature, from `OPS`.
"""

from tests.fuzz.graph_statements import STATEMENTS
from tests.fuzz.statements import kind

__all__ = ["OPS", "STATEMENTS"]  # all kinds

OPS: dict[str, tuple[str, ...]] = {
    family: tuple(names.split())
    for family, names in {
        "unary": """
            absolute acos acosh angle arccos arcsinh asin asinh atan atanh bitwise_not ceil
            conj_physical cos cosh deg2rad digamma erf erfc erfinv exp2 expm1 fix floor frac i0
            isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not
            logit nan_to_num negative positive rad2deg round rsqrt sgn sign signbit sinc sinh
            special.bessel_j0 special.bessel_j1 special.bessel_y0 special.entr special.erfcx
            special.expit special.gammaln special.i0e special.i1 special.i1e special.log_ndtr
            special.modified_bessel_i0 special.modified_bessel_k1 special.ndtr special.ndtri
            special.psi special.sinc special.spherical_bessel_j0 tan tanh trunc
        """,
        "unary_": """
            absolute_ acos_ acosh_ arctan_ asin_ asinh_ atan_ atanh_ bitwise_not_ ceil_
            conj_physical_ cos_ cosh_ deg2rad_ digamma_ erf_ erfc_ erfinv_ exp2_ expm1_ fix_ frac_
            i0_ lgamma_ log10_ log1p_ log2_ log_ logit_ negative_ rad2deg_ rsqrt_ sign_ sinc_ sinh_
            tan_ trunc_
        """,
        "binary": """
            arctan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
            copysign div divide eq float_power floor_divide fmax fmin fmod gcd ge greater gt
            heaviside hypot isclose lcm ldexp le less logaddexp logaddexp2 logical_and logical_or
            logical_xor lt max min maximum minimum mul multiply ne nextafter not_equal pow
            remainder rsub special.xlog1py special.xlogy sub subtract true_divide xlogy
        """,
        "binary_": """
            arctan2_ bitwise_and_ bitwise_left_shift_ bitwise_or_ bitwise_xor_ copysign_ divide_
            float_power_ floor_divide_ fmod_ gcd_ greater_ gt_ heaviside_ hypot_ lcm_ ldexp_ le_
            logical_and_ logical_or_ logical_xor_ lt_ multiply_ ne_ nextafter_ pow_ remainder_
            subtract_
        """,
        "reduction": """
            all amax amin any argmax argmin count_nonzero logsumexp mean median nanmean nanmedian
            nansum norm prod std sum var
        """,
        "several": "aminmax cummax cummin frexp max median min mode nanmedian sort",
        "running": "cumprod cumsum cumulative_trapezoid logcumsumexp argsort msort",
        "activation": """
            celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish
            relu6 selu silu softmin softplus softshrink softsign tanhshrink
        """,
        "activation_": "celu elu hardsigmoid hardswish hardtanh leaky_relu mish relu6 selu silu",
        "pair": """
            binary_cross_entropy_with_logits huber_loss kl_div l1_loss mse_loss
            multilabel_soft_margin_loss pairwise_distance poisson_nll_loss smooth_l1_loss
            soft_margin_loss hinge_embedding_loss cosine_similarity
        """,
        "square": """
            det inv slogdet matrix_exp pinv svdvals eigvalsh cond matrix_norm matrix_rank
            cholesky_ex inv_ex lu_factor
        """,
        "copied": """
            alias_copy detach_copy expand_copy permute_copy squeeze_copy t_copy unsqueeze_copy
            view_copy
        """,
        "moved": """
            fliplr flipud ravel adjoint matrix_H t atleast_1d atleast_3d diag diagflat diag_embed
            triu tril
        """,
        "joined": "block_diag cartesian_prod column_stack dstack hstack vstack",
        "pool": """
            adaptive_avg_pool2d adaptive_max_pool2d avg_pool2d max_pool2d
        """,
        "spectrum": "fft ifft rfft fftshift ifftshift hfft ihfft",
        "predicate": """
            is_complex is_conj is_floating_point is_inference is_neg is_same_size numel
        """,
        "short": "byte cdouble cfloat char int short double half bfloat16",
    }.items()
}

kind(
    "op",
    20,
    """
{new} = T.{unary}({f})
{new} = T.{unary}({f})
{new} = T.{unary}({t})
{new} = T.{binary}({t}, {b})
{new} = T.{binary}({f}, {same})
{new} = T.{binary}({i}, {b})
{new} = {t}.{reduction}()
{new} = {f}.{reduction}({d})
{new} = {nd}.{reduction}({d}, keepdim=True)
{new} = T.{reduction}({t}, dim={dims})
{new} = T.{several}({nd}, dim={d})[0]
{new} = T.{several}({nd})[1]
{new} = T.{running}({nd}, dim={d})
{new} = T.nn.functional.{activation}({f})
{new} = T.nn.functional.{activation}({real})
{new} = T.nn.functional.{activation_}({inner}, inplace=True)
{new} = T.nn.functional.{pair}({real}, {same})
{new} = T.nn.functional.{pair}({real}, {same}.detach())
{new} = T.linalg.{square}({matrix} @ {matrix}.mT + 2 * T.eye(2))
{new} = T.linalg.{square}({matrix})
{new} = T.{moved}({t})
{new} = T.{joined}([{t}, {other}])
{new} = T.{joined}([{t}, {t}])
{new} = T.nn.functional.{pool}({images}, 2)
{new} = T.nn.functional.{pool}({nd}, 1)
{new} = T.fft.{spectrum}({f})
{new} = T.fft.{spectrum}({f}, dim={d})
{new} = T.{predicate}({t})
{new} = {t}.{short}()
{new} = T.std_mean({f}, {d})[0]
{new}, {new} = T.var_mean({f}, {dims}, correction=0)
{new} = T.aminmax({t}, dim={d}, keepdim=True)[0]
{new} = T.quantile({real}, T.tensor([0.25, 0.75]), {d})
{new} = T.nanquantile({real}, 0.3, {d}, keepdim=True)
{new} = T.unique_consecutive({t})
{new} = T.renorm({nd}, 2, {d}, 1.0)
{new} = T.dot({f}.flatten(), {same}.flatten())
{new} = T.vdot({f}.flatten(), {same}.flatten())
{new} = T.inner({t}, {other})
{new} = T.mm({matrix}, {matrix}.mT)
{new} = T.mv({matrix}, {other})
{new} = T.bmm({t}, {t}.transpose(-1, -2))
{new} = T.addmv({other}, {matrix}, {other}, beta=0.5)
{new} = T.addr({other}, {t}.flatten(), {other}.flatten(), alpha=2)
{new} = T.addbmm({other}, {t}, {t}.transpose(1, 2))
{new} = T.baddbmm({t}, {t}, {t}.mT, alpha=0.5)
{new} = T.linalg.multi_dot([{matrix}, {matrix}.mT, {matrix}])
{new} = T.linalg.matrix_power({matrix}, {k})
{new} = T.linalg.solve({matrix} @ {matrix}.mT + 2 * T.eye(2), {other})
{new} = T.linalg.cholesky({matrix} @ {matrix}.mH + 2 * T.eye(2))
{new} = T.linalg.solve_triangular({matrix}.triu() + 3 * T.eye(2), {matrix}, upper=True)
{new} = T.linalg.qr({matrix})[1].abs()
{new} = T.linalg.vecdot({f}, {same})
{new} = T.linalg.cross({nd}, {same})
{new} = T.linalg.lstsq({matrix}, {matrix}).solution
{new} = T.linalg.tensorinv(T.eye(4).reshape(2, 2, 2, 2) * {t}.sum())
{new} = T.linalg.vander({nd})
{new} = T.linalg.vector_norm({f}, {k}, {d})
{new} = T.linalg.matrix_norm({matrix}, 'nuc')
{new} = T.linalg.eigh({matrix} @ {matrix}.mH)[0]
{new} = T.cross({nd}, {same}, dim={d})
{new} = T.corrcoef({matrix})
{new} = T.pdist({matrix}, 1)
{new} = T.cdist({matrix}, {matrix}, p=1)
{new} = T.moveaxis({t}, {d}, {d})
{new} = T.swapdims({t}, {d}, {d})
{new} = T.movedim({matrix}, (0, 1), (1, 0))
{new} = T.rot90({matrix}, {k}, (0, 1))
{new} = T.{copied}({t})
{new} = T.narrow_copy({nd}, {d}, 0, 1)
{new} = T.select_copy({nd}, {d}, 0)
{new} = T.slice_copy({nd}, {d}, 0, 1)
{new} = T.diagonal_copy({matrix})
{new} = T.unbind_copy({nd})[0]
{new} = T.split_with_sizes({nd}, [1, {nd}.shape[0] - 1])[0]
{new} = T.unsafe_chunk({nd}, 2)[0]
{new}, {new} = T.vsplit({matrix}, 2)
{new} = T.dsplit({t}, 1)[0]
{new} = T.tensor_split({nd}, (1,), {d})[1]
{new} = T.meshgrid({t}.flatten(), {other}.flatten(), indexing='ij')[1]
{new} = T.combinations({t}.flatten(), 2)
{new} = T.vander({nd}, 3)
{new} = T.as_strided_scatter({nd}, T.ones(2), (2,), (1,))
{new} = T.index_copy({nd}, 0, {rows}, {picked})
{new} = T.index_put({nd}, ({rows},), {picked}, accumulate=True)
{new} = T.put({t}, T.tensor([0, 0]), T.tensor([1., 2.]), accumulate=True)
{new} = T.isin({t}, T.tensor([1., 2.]))
{new} = T.searchsorted(T.tensor([-1., 0., 1.]), {real}, right=True)
{new} = T.histc({real}, 4, -2, 2)
{new} = T.bincount({i}.flatten().abs(), minlength=3)
{new} = T.argwhere({t})
{new} = T.nonzero_static({t}, size=3)
{new} = T.polar({part}.abs(), {same})
{new} = T.gradient({real})[0]
{new} = T.gradient({nd}, spacing=2.0, dim={d})[0]
{new} = T.addcdiv({f}, {same}, {same}, value=0.5)
{new} = T.clip({t}, {n}, {n})
{new} = T.clamp_max({t}, {b})
{new} = T.special.zeta({real}.abs() + 1.5, {same}.abs() + 1)
{new} = T.igamma({real}.abs(), {same}.abs())
{new} = T.polygamma(1, {real})
{new} = T.mvlgamma({real} + 4, 2)
{new} = T.special.chebyshev_polynomial_t({real}, 2)
{new} = T.special.multigammaln({real} + 4, 2)
{new} = T.nn.functional.threshold({f}, 0.1, {n})
{new} = T.nn.functional.prelu({f}, T.tensor([0.25], requires_grad=True))
{new} = T.nn.functional.rrelu({real}, 0.25, 0.25)
{new} = T.nn.functional.cross_entropy({matrix}, T.zeros({matrix}.shape[0], dtype=T.int64))
{new} = T.nn.functional.cross_entropy({matrix}, {same}, reduction='none', label_smoothing=0.1)
{new} = T.nn.functional.nll_loss({matrix}, T.zeros({matrix}.shape[0], dtype=T.int64))
{new} = T.nn.functional.multi_margin_loss({matrix}, T.zeros({matrix}.shape[0], dtype=T.int64))
{new} = T.nn.functional.binary_cross_entropy({real}.sigmoid(), {same}.sigmoid())
{new} = T.nn.functional.gaussian_nll_loss({real}, {same}, {same}.abs())
{new} = T.nn.functional.margin_ranking_loss({real}, {same}, {same}.sign(), margin=0.5)
{new} = T.nn.functional.cosine_embedding_loss({matrix}, {same}, T.ones({matrix}.shape[0]))
{new} = T.nn.functional.triplet_margin_loss({matrix}, {same}, {same})
{new} = T.nn.functional.max_pool2d({images}, 2, return_indices=True)[1]
{new} = T.nn.functional.max_pool1d({matrix}, 2, stride=1, padding=1)
{new} = T.nn.functional.avg_pool1d({matrix}, 2, 1, ceil_mode=True)
{new} = T.nn.functional.lp_pool2d({images}, 2, 2)
{new} = T.nn.functional.max_unpool2d({images}, T.zeros({images}.shape, dtype=T.int64), 2)
{new} = T.nn.functional.unfold({images}, 2)
{new} = T.nn.functional.fold(T.nn.functional.unfold({images}, 1), {images}.shape[2:], 1)
{new} = T.nn.functional.pixel_unshuffle({images}, 1)
{new} = T.nn.functional.channel_shuffle({images}, 2)
{new} = T.nn.functional.pad({images}, (1, 1, 1, 0), mode='replicate')
{new} = T.nn.functional.pad({nd}, (-1, 2), value=3)
{new} = T.nn.functional.interpolate({images}, size=(3, 3), mode='bilinear', align_corners=True)
{new} = T.nn.functional.interpolate({images}, scale_factor=0.5, mode='area')
{new} = T.nn.functional.grid_sample({images}, T.zeros(1, 2, 2, 2), align_corners=False)
{new} = T.nn.functional.conv2d({images}, T.ones(1, 2, 2, 2, requires_grad=True))
{new} = T.nn.functional.conv_transpose2d({images}, T.ones(2, 1, 2, 2), stride=2)
{new} = T.nn.functional.conv1d({t}, T.ones(2, 2, 1, requires_grad=True), padding=1)
{new} = T.nn.functional.batch_norm({images}, None, None, training=True)
{new} = T.nn.functional.instance_norm({images})
{new} = T.nn.functional.group_norm({images}, 2)
{new} = T.nn.functional.local_response_norm({images}, 2)
{new} = T.nn.functional.rms_norm({f}, {f}.shape[-1:])
{new} = T.nn.functional.bilinear({row2}, {row2}, T.ones(1, 2, 2, requires_grad=True))
{new} = T.nn.functional.embedding_bag({i}.abs() % 3, T.ones(3, 2, requires_grad=True))
{new} = T.nn.functional.linear({matrix}, {matrix}, {other})
{new} = T.nn.functional.softmax({t}, {d}, dtype=T.float64)
{new} = T.nn.functional.gumbel_softmax({real}, dim={d})
{new} = T.nn.functional.dropout1d({t}, 0.5)
{new} = T.nn.functional.alpha_dropout({f}, 0.5)
{new} = T.fft.fft2({matrix})
{new} = T.fft.irfft({f})
{new} = T.fft.fftn({t}, norm='ortho')
{new} = {t}.type_as({other})
{new} = {t}.new_full({size}, {n})
{new} = {t}.new_tensor([1.0, 2.0])
{new} = {t}.sum_to_size({shape})
{new} = {t}.resolve_conj()
{new} = T.view_as_complex({part}.unflatten(-1, (-1, 2)))
{new} = T.take({t}, {i}.abs() % 2)
{new} = T.nn.functional.cosine_similarity({f}, {other}, dim=-1)
{new} = T.empty_like({t}).copy_({t})
{new} = T.rand_like({f})
{new} = T.randint_like({t}, 5)
{new} = T.bernoulli({real}.sigmoid())
{new} = T.normal({real}, 1.0)
{new} = T.multinomial({real}.abs() + 1, 1)
{new} = T.block_diag({t}, {other})
{new} = T.chain_matmul({matrix}, {matrix}.mT)
{new} = T.nn.functional.relu({t} * {other})
{new} = T.log_softmax({f}, {d}).exp()
{new} = T.round({f}, decimals=1)
{new} = T.div({t}, {b}, rounding_mode='floor')
{new} = T.div({t}, {b}, rounding_mode='trunc')
{new} = T.sum({t}, {d}, dtype=T.float64)
{new} = T.prod({nd}, {d}, keepdim=True)
{new} = T.trapz({nd}, dx=0.5)
{new} = T.slogdet({matrix})[1]
{new} = T.logdet({matrix} @ {matrix}.mT + 2 * T.eye(2))
""",
)
kind(
    "op in place",
    9,
    """
{t}.{unary_}()
{f}.{unary_}()
{inner}.{unary_}()
{t}.{binary_}({b})
{f}.{binary_}({same})
{i}.{binary_}({n})
{t}[{index}].{unary_}()
{t}[{index}].{binary_}({n})
{view}.{unary_}()
{f}.data.{unary_}()
{nd}.cumprod_({d})
{t}.clip_({n}, {n})
{t}.clamp_max_({b})
{t}.div_({b}, rounding_mode='floor')
{t}.round_(decimals=1)
{t}.triu_()
{t}.renorm_(2, 0, 1.0)
{t}.swapaxes_({d}, {d})
{t}.addmv_({matrix}, {other})
{t}.addr_({other}, {other})
{t}.addbmm_({t}, {t})
{t}.igamma_({same})
{t}.polygamma_(1)
{t}.mvlgamma_(1)
{t}.cauchy_()
{t}.geometric_(0.5)
{t}.log_normal_()
{t}.resize_as_({other})
{t}.map2_({same}, {same}, lambda a, b, c: a + b * c)
{t}.lerp_({same}, {same})
T.nn.functional.threshold_({f}, 0.1, 2)
T.nn.functional.{activation_}({inner}, inplace=True)
T.nn.functional.selu_({real})
T.nn.functional.alpha_dropout({inner}, 0.5, inplace=True)
T.nn.init.constant_({t}, 2.0)
T.nn.init.eye_({matrix})
T.nn.init.xavier_uniform_({matrix})
""",
)
kind(
    "op out",
    3,
    """
T.{unary}({t}, out={target})
T.{unary}({f}, out={target})
T.{binary}({t}, {b}, out={target})
T.{running}({nd}, {d}, out={target})
T.{reduction}({nd}, {d}, out={target})
T.fft.{spectrum}({f}, out={target})
T.linalg.{square}({matrix}, out={target})
T.mm({matrix}, {matrix}.mT, out={target})
T.bmm({t}, {t}.mT, out={target})
T.addmm({matrix}, {matrix}, {matrix}.mT, out={target})
T.{joined}([{t}, {t}], out={target})
T.take({t}, {i} % 2, out={target})
T.nonzero({t}, out={target})
T.masked_select({t}, {mask}, out={target})
T.sort({nd}, {d}, out=({target}, T.empty(0, dtype=T.int64)))
T.index_copy({nd}, 0, {rows}, {picked}, out={target})
T.std({f}, {d}, out={target})
T.lerp({f}, {same}, 0.5, out={target})
T.addcmul({t}, {same}, {same}, out={target})
T.clamp_min({t}, {b}, out={target})
T.nn.functional.log_softmax({f}, {d}).exp_()
T.tril({matrix}, out={target})
T.linalg.inv({matrix}, out={target})
T.linalg.vector_norm({f}, out={target})
T.linspace(0, 1, 4, out={roomy})
T.rand(2, out={roomy})
""",
)
