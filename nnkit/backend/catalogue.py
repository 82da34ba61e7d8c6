"""The catalogue: the signature of every primitive a backend offers, by subject.

A signature is one line in a small notation::

    sum(x; axis, keepdims)                        arrays before ';', static arguments after it
    topk(x; k, axis, largest, sorted) -> values, indices      several outputs, a tuple
    split(x; sizes, axis) -> pieces*              as many outputs as the arguments ask for
    copy_(x!, source)                             '!' is written in place
    concat(xs*; axis)                             '*' is a sequence of arrays
    linear(x, weight, bias?)                      '?' may be None
    index(x; positions[])                         '[]' is static, but arrays are in it, a tuple
    zeros_like(x) -> out~                         '~' is a constant: no gradient passes to it

Element-wise formulas and optimizers' updates are added to the catalogue where they are declared
(`algebra.register_formula`, `algebra.register_update`).

From these marks a recorded program knows what each call writes, and whose memory its results may
share. A recording cannot continue after a call that tells values to Python ('$'), or whose result
has a shape that depends on values ('#').
"""

from __future__ import annotations

SIGNATURES = {
    "creation": """
        full(; shape, value, dtype)
        empty(; shape, dtype) -> out~
        zeros(; shape, dtype) -> out~
        zeros_like(x) -> out~
        ones_like(x) -> out~
        empty_like(x) -> out~
        empty_strided(; shape, strides, dtype)
        arange(; start, stop, step, dtype)
        linspace(; start, stop, steps, dtype)
        logspace(; start, stop, steps, base, dtype)
        eye(; n, m, dtype) -> out~
        array(; data, dtype)
        cast(x; dtype)
        copy(x)
        copy_storage(x)
        contiguous(x) -> out&x
        ordered(x; axes)
        copy_(x!, source)
        fill_(x!; value)
        fill(x; value)
        overwrite(x, source)
        make_complex(real, imag)
        polar(abs, angle)
    """,
    "exchange": """
        as_array(; data) -> out&data
        from_numpy(; data) -> out&data
        from_buffer(; data, dtype, count, offset) -> out&data
        from_dlpack(; data) -> out&data
        to_dlpack(x; options) -> capsule=
        dlpack_device(x) -> place=
        to_numpy(x) -> values$&x
        item(x) -> number$
        check(condition; error, message) -> nothing=
        data_pointer(x) -> address=
        shared(x)
        is_shared(x) -> answer=
    """,
    "reduction": """
        sum_to(x; shape) -> out&x
        sum(x; axis, keepdims)
        nansum(x; axis, keepdims)
        mean(x; axis, keepdims)
        prod(x; axis, keepdims)
        var(x; axis, correction, keepdims)
        std(x; axis, correction, keepdims)
        var_mean(x; axis, correction, keepdims) -> var, mean
        std_mean(x; axis, correction, keepdims) -> std, mean
        amax(x; axis, keepdims)
        amin(x; axis, keepdims)
        aminmax(x; axis, keepdims) -> min, max
        max(x; axis, keepdims) -> values, indices
        min(x; axis, keepdims) -> values, indices
        argmax(x; axis, keepdims)
        argmin(x; axis, keepdims)
        all(x; axis, keepdims)
        any(x; axis, keepdims)
        cumsum(x; axis)
        cumprod(x; axis)
        cummax(x; axis) -> values, indices
        cummin(x; axis) -> values, indices
        logcumsumexp(x; axis)
        recurrence(a, b; axis)
        logsumexp(x; axis, keepdims)
        norm(x; p, axis, keepdims)
        cdist(x, y; p)
        cdist_grad(g, x, y, out; p)
        pdist(x; p)
        pdist_grad(g, x, out; p)
        row_pairs(x) -> first~, second~
        renorm(x; p, axis, maxnorm)
        expand_reduced(x; shape, axis, keepdims) -> out&x
    """,
    "linalg": """
        matmul(x, y)
        mm(x, y)
        bmm(x, y)
        mv(x, y)
        dot(x, y)
        vdot(x, y)
        mH(x) -> out&x
        linear(x, weight, bias?)
        linear_grad_weight(g, x)
        addmm(input, x, y; beta, alpha)
        baddbmm(input, x, y; beta, alpha)
        einsum(operands*; equation)
        tensordot(x, y; axes_x, axes_y)
        cross(x, y; axis)
    """,
    "decomposition": """
        inverse(x)
        solve(x, y)
        det(x)
        adjugate(x)
        slogdet(x) -> sign, logabsdet
        cholesky(x)
        qr(x; mode) -> q, r
        svd(x; full_matrices) -> u, s, vh
        svdvals(x)
        eigh(x; uplo) -> values, vectors
        eigvalsh(x; uplo)
        eig(x) -> values, vectors
        eigvals(x)
        solve_triangular(x, y; upper, unitriangular)
        geqrf(x) -> a, tau
        lu_factor(x) -> out, pivots, info
        ldl_factor(x; hermitian) -> out, pivots, info
        ldl_solve(x, pivots, y; hermitian)
        pivot_order(pivots; size) -> out~
        cholesky_info(x) -> out~
        cholesky_until(x, info)
        cholesky_solve(x, y; upper)
        pinv(x, atol, rtol; hermitian)
        lstsq(x, y; rtol, by_values) -> out, rank
        matrix_exp(x)
    """,
    "fourier": """
        fft_c2c(x; axes, scale, inverse)
        fft_r2c(x; axes, scale, onesided)
        fft_c2r(x; axes, scale, size)
    """,
    "shape": """
        reshape(x; shape) -> out&x
        view(x; shape) -> out&x
        view_dtype(x; dtype) -> out&x
        permute(x; axes) -> out&x
        swapaxes(x; axis1, axis2) -> out&x
        mT(x) -> out&x
        expand(x; shape) -> out&x
        squeeze(x; axes) -> out&x
        unsqueeze(x; axis) -> out&x
        concat(xs*; axis)
        stack(xs*; axis)
        split(x; sizes, axis) -> pieces*&x
        unbind(x; axis) -> pieces*&x
        flip(x; axes)
        rot90(x; k, axis1, axis2)
        roll(x; shifts, axes)
        tile(x; repeats)
        pixel_shuffle(x; factor)
        pixel_unshuffle(x; factor)
        channel_shuffle(x; groups)
        repeat_index(repeats; count) -> out~#
        tril(x; offset)
        tril_(x!; offset)
        triu(x; offset)
        triu_(x!; offset)
        tril_indices(; rows, columns, offset, dtype) -> out~
        triu_indices(; rows, columns, offset, dtype) -> out~
        diagonal(x; offset, axis1, axis2) -> out&x
        diagonal_adjoint(y; shape, offset, axis1, axis2)
        diagonal_scatter(x, y; offset, axis1, axis2)
        slice_scatter(x, y; index)
        storage_offset(x) -> number=
        storage_size(x) -> number=
        as_strided(x; shape, strides, offset, source) -> out&x
        as_strided_adjoint(y; source, target)
        as_strided_scatter(x, y; shape, strides, offset)
        unfold(x; axis, size, step) -> out&x
        unfold_adjoint(y; shape, axis, size, step)
        pad(x; widths, value)
        neg_view(x)
        real(x) -> out&x
        imag(x) -> out&x
        view_as_real(x) -> out&x
        view_as_complex(x) -> out&x
    """,
    "integers": """
        gcd(x, y) -> out~
        lcm(x, y) -> out~
    """,
    "indexing": """
        getitem(x; index) -> out&x
        getitem_adjoint(y; index, shape)
        index(x; positions[]) -> out#
        index_adjoint(y; positions[], shape)
        index_put(x, value; positions[], accumulate)
        index_put_(x!, value; positions[], accumulate)
        gather(x, index; axis)
        gather_adjoint(y, index; axis, shape)
        scatter(x, index, source; axis)
        scatter_(x!, index, source; axis)
        scatter_fill(x, index; axis, value)
        scatter_add(x, index, source; axis)
        scatter_add_(x!, index, source; axis)
        scatter_reduce(x, index, source; axis, reduce, include_self)
        scatter_reduce_(x!, index, source; axis, reduce, include_self)
        index_select(x, index; axis)
        index_select_adjoint(y, index; axis, shape)
        take(x, index)
        take_adjoint(y, index; shape)
        index_add(x, index, source; axis, alpha)
        index_add_(x!, index, source; axis, alpha)
        index_copy(x, index, source; axis)
        index_copy_(x!, index, source; axis)
        index_fill(x, index; axis, value)
        index_fill_(x!, index; axis, value)
        masked_fill(x, mask; value)
        masked_fill_(x!, mask; value)
        masked_select(x, mask) -> out#
        masked_select_adjoint(y, mask; shape)
        masked_scatter(x, mask, source)
        masked_scatter_(x!, mask, source)
        wrap_index(index; size) -> out~
        nonzero(x) -> out#
    """,
    "sorting": """
        sort(x; axis, descending) -> values, indices
        argsort(x; axis, descending)
        topk(x; k, axis, largest, sorted) -> values, indices
        kthvalue(x; k, axis, keepdims) -> values, indices
        median(x; axis, keepdims) -> values, indices
        median_all(x; ignore_nan)
        nanmedian(x; axis, keepdims) -> values, indices
        mode(x; axis, keepdims) -> values, indices
        unique(x; axis) -> values~#, inverse~#, counts~#
        unique_consecutive(x; axis) -> values~#, inverse~#, counts~#
        searchsorted(boundaries, values; right) -> out~
        bincount(x, weights?; minlength) -> out~#
        histc(x; bins, low, high) -> out~
        isin(x, values) -> out~
    """,
    "attention": """
        attention(q, k, v, mask?; is_causal, scale) -> out, log_total
        attention_grad(g, q, k, v, mask?, log_total; is_causal, scale, needs) \
            -> g_q, g_k, g_v, g_mask
    """,
    "recurrent": """
        rnn_layer(x, h0, weight_ih, weight_hh, bias_ih?, bias_hh?; \
            nonlinearity, batch_sizes, reverse) -> output, h_n
        rnn_layer_grad(g_output, g_h_n, x, h0, weight_ih, weight_hh, bias_ih?, bias_hh?, output; \
            nonlinearity, batch_sizes, reverse, needs) \
            -> g_x, g_h0, g_weight_ih, g_weight_hh, g_bias_ih, g_bias_hh
        lstm_layer(x, h0, c0, weight_ih, weight_hh, bias_ih?, bias_hh?, weight_hr?; \
            batch_sizes, reverse) -> output, h_n, c_n, gates, cells
        lstm_layer_grad(g_output, g_h_n, g_c_n, x, h0, c0, weight_ih, weight_hh, bias_ih?, \
            bias_hh?, weight_hr?, output, gates, cells; batch_sizes, reverse, needs) \
            -> g_x, g_h0, g_c0, g_weight_ih, g_weight_hh, g_bias_ih, g_bias_hh, g_weight_hr
        gru_layer(x, h0, weight_ih, weight_hh, bias_ih?, bias_hh?; batch_sizes, reverse) \
            -> output, h_n, gates, candidates
        gru_layer_grad(g_output, g_h_n, x, h0, weight_ih, weight_hh, bias_ih?, bias_hh?, output, \
            gates, candidates; batch_sizes, reverse, needs) \
            -> g_x, g_h0, g_weight_ih, g_weight_hh, g_bias_ih, g_bias_hh
    """,
    "random": """
        uniform_(x!; low, high, generator) -> out%
        normal_(x!; mean, std, generator) -> out%
        bernoulli_(x!; p, generator) -> out%
        bernoulli_from_(x!, p; generator) -> out%
        bernoulli(p; generator) -> out%
        dropout_mask(x; p, generator) -> out%
        random_(x!; low, high, generator) -> out%
        randperm(; n, dtype, generator) -> out%
        exponential_(x!; lambd, generator) -> out%
        geometric_(x!; p, generator) -> out%
        cauchy_(x!; median, sigma, generator) -> out%
        log_normal_(x!; mean, std, generator) -> out%
        rrelu_noise(x; lower, upper, generator) -> out%
        multinomial(p; num_samples, replacement, generator) -> out%
        poisson(x; generator) -> out%
        standard_gamma(x; generator) -> out%
        binomial(count, p; generator) -> out%
        normal_around(mean; std, generator) -> out%
        normal_scaled(std; mean, generator) -> out%
        normal_between(mean, std; shape, generator) -> out%
    """,
    "dropout": """
        dropout(x; p, feature) -> out%, noise~%
        alpha_dropout(x; p, feature) -> out%, noise~%
    """,
    "softmax": """
        softmax(x; axis)
        softmax_grad(g, out; axis)
        log_softmax(x; axis)
        log_softmax_grad(g, out; axis)
    """,
    "loss": """
        cross_entropy(x, target, weight?; ignore_index, reduction, label_smoothing) \
            -> loss, probabilities
        cross_entropy_grad(g, probabilities, target, weight?; \
            ignore_index, reduction, label_smoothing)
        nll_loss(x, target, weight?; ignore_index, reduction)
        nll_loss_grad(g, x, target, weight?; ignore_index, reduction)
        mse_loss(x, target; reduction)
        l1_loss(x, target; reduction)
        smooth_l1_loss(x, target; reduction, beta)
        huber_loss(x, target; reduction, delta)
        binary_cross_entropy(x, target; reduction)
        binary_cross_entropy_with_logits(x, target; reduction)
        kl_div(x, target; reduction)
        kl_div_log_target(x, target; reduction)
        soft_margin_loss(x, target; reduction)
        hinge_embedding_loss(x, target; reduction, margin)
        poisson_nll_loss(x, target; reduction)
        ctc_loss(log_probs, targets, input_lengths, target_lengths; blank, zero_infinity) \
            -> losses, log_alpha
        ctc_loss_grad(y, log_probs, targets, input_lengths, target_lengths, losses, log_alpha; \
            blank, zero_infinity)
    """,
    "embedding": """
        embedding(weight, index; padding_idx, scale_grad_by_freq)
        embedding_grad(g, index; count, padding_idx, scale_grad_by_freq)
        embedding_renorm_(weight!, index; max_norm, norm_type)
        bag_sum(weight, index, bags, factors?; count)
        bag_max(x, bags; count) -> out, rows
        one_hot(index; classes) -> out~
    """,
    "norm": """
        standardize(x, weight?, bias?; axes, eps, centre) -> out, mean, variance
        standardize_grad(g, x, weight?, mean, variance; axes, eps, centre) -> g_x, g_weight
        layer_norm(x, weight?, bias?; ndim, eps) -> out, mean, variance
        layer_norm_grad(g, x, weight?, mean, variance; ndim, eps) -> g_x, g_weight
        rms_norm(x, weight?; ndim, eps) -> out, variance
        rms_norm_grad(g, x, weight?, variance; ndim, eps) -> g_x, g_weight
        group_norm(x, weight?, bias?; groups, eps) -> out, mean, variance
        group_norm_grad(g, x, weight?, mean, variance; groups, eps) -> g_x, g_weight
        batch_norm(x, weight?, bias?; eps) -> out, mean, variance
        batch_norm_grad(g, x, weight?, mean, variance; eps) -> g_x, g_weight
        batch_norm_eval(x, weight?, bias?, mean, scale)
        batch_norm_eval_grad(g, x, weight?, mean, scale; weighted) -> g_x, g_weight
        update_running_(running_mean!, running_var!, mean, variance; momentum, correction)
    """,
    "conv": """
        conv(x, weight, bias?; stride, padding, dilation, groups)
        conv_transpose(x, weight, bias?; shape, stride, padding, dilation, groups)
        conv_grad_input(g, weight; shape, stride, padding, dilation, groups)
        conv_grad_weight(g, x; shape, stride, padding, dilation, groups)
    """,
    "folding": """
        im2col(x; kernel, dilation, padding, stride)
        col2im(x; shape, kernel, dilation, padding, stride)
    """,
    "padding": """
        pad_mode(x; widths, mode)
        pad_mode_adjoint(g; widths, mode)
    """,
    "pooling": """
        max_pool(x; kernel, stride, padding, dilation, ceil_mode) -> out, indices
        adaptive_max_pool(x; size) -> out, indices
        fractional_max_pool(x, samples; kernel, size) -> out, indices
        max_pool_grad(g, indices; shape)
        max_pool_gather(x, indices)
        max_unpool(x, indices; shape)
        avg_pool(x; kernel, stride, padding, ceil_mode, count_include_pad, divisor)
        avg_pool_grad(g; shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor)
        adaptive_avg_pool(x; size)
        adaptive_avg_pool_grad(g; shape)
    """,
    "resampling": """
        resample(x; size, scales, mode, aligned)
        resample_adjoint(y; shape, scales, mode, aligned)
    """,
    "grid_sampling": """
        grid_sample(x, grid; mode, padding, aligned)
        grid_sample_grad_input(g, grid; shape, mode, padding, aligned)
        grid_sample_grad_grid(g, x, grid; mode, padding, aligned)
    """,
    "collective": """
        all_reduce_(xs!*; op, group) -> ticket~
        scale_and_sum_(xs!*; factor, group) -> ticket~
        reduce_(xs!*; op, root, group) -> ticket~
        broadcast_(xs!*; root, group) -> ticket~
        all_gather_(outs!*, xs*; group) -> ticket~
        gather_ranks_(outs!*, xs*; root, group) -> ticket~
        scatter_ranks_(outs!*, xs*; root, group) -> ticket~
        reduce_scatter_(outs!*, xs*; op, group) -> ticket~
        all_to_all_(outs!*, xs*; out_counts, counts, group) -> ticket~
        send(xs*; to, tag, group) -> ticket~
        receive_(xs!*; source, tag, group) -> ticket~
        barrier(; group) -> ticket~
        arrived(ticket) -> out~
        await_arrival(ticket; seconds) -> source~
    """,
}

# The kinds of dtypes that primitives are not defined for. As in torch it is the kernel that refuses
# them: after all that its function has to say of dims and shapes, and, but for some, only where
# there is an element to compute.
REFUSED = {
    "bool": "mm bmm mv dot vdot matmul linear addmm baddbmm cross conv",
    "bool uint8 int8 int16 int32": "conv_transpose",
    "complex": "amax amin aminmax cummax cummin mode",
    "bool complex": "kthvalue median median_all nanmedian",
    "bool integer half": "inverse solve det slogdet cholesky qr svd svdvals eigh eigvalsh eig"
    " eigvals solve_triangular geqrf cholesky_solve lu_factor cholesky_info"
    " cholesky_until ldl_factor ldl_solve lstsq",
    "bool integer complex": "softmax log_softmax bernoulli layer_norm rms_norm group_norm"
    " batch_norm batch_norm_eval standardize adaptive_avg_pool adaptive_max_pool max_unpool"
    " fractional_max_pool",
    "bool integer": "logcumsumexp",
    "unsigned float8": "amax amin aminmax max min argmax argmin scatter_add scatter_reduce"
    " index_add topk searchsorted nonzero histc bincount isin median median_all nanmedian kthvalue"
    " softmax log_softmax",
    "unsigned": "mm bmm mv dot matmul linear addmm baddbmm",
    "float8": "sort argsort sum prod mean var std var_mean std_mean cumsum cumprod unique norm",
    "integer": "im2col col2im",
}
# Primitives by which torch copies a 0-dim tensor, whatever its dtype.
COPIED_SCALARS = frozenset(("cummax", "cummin", "kthvalue", "mode"))
ALWAYS_REFUSED = frozenset(
    "dot vdot adaptive_max_pool qr eig eigvals geqrf solve_triangular cholesky_solve logcumsumexp"
    " cross kthvalue median nanmedian layer_norm rms_norm group_norm".split()
)
