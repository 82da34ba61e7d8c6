"""Where single ops of torch leave something open, or do what nobody asks for: rules of
`tests.fuzz.arbitrary`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from tests.fuzz.evidence import Difference, in_statement
from tests.fuzz.observe import array_of, record_of

DECOMPOSED = r"linalg\.(qr|inv|inv_ex|det|slogdet|cholesky\w*|eig|eigvals|lu\w*|solve\w*|pinv)\("
WITHOUT_FORWARD = (
    "huber_loss|soft_margin_loss|multi_margin_loss|multilabel_margin_loss|embedding_bag"
    "|grid_sample|pdist|cdist|glu|index_reduce|i0e|i1|i1e"
)
OF_DEGENERATE = r"linalg\.(svdvals|matrix_norm|pinv|eigvalsh|eigh|cond|qr)\("


def _failed_factors(d: Difference) -> bool:
    """Whether the factors are of a matrix that has none: of LAPACK's where it stopped, or NaN."""
    return in_statement(r"linalg\.(cholesky_ex|inv_ex|solve_ex)\(", "values")(d) and bool(
        np.isnan(d.actual).any()
    )


def _factors(d: Difference) -> bool:
    """Whether factors differ by signs, by last bits beside the largest, or are not finite."""
    if not in_statement(r"linalg\.(eigh|qr)\(", "values")(d):
        return False
    if not np.isfinite(d.actual).all():
        return True
    if d.label.endswith("[1]"):
        return np.allclose(np.abs(d.expected), np.abs(d.actual), atol=1e-4)
    return np.allclose(d.expected, d.actual, atol=1e-6 * float(np.max(np.abs(d.actual), initial=0)))


def _matrices(d: Difference) -> Iterator[np.ndarray]:
    """The matrices of numbers in the program, in double precision."""
    for label in d.before:
        record = record_of(d.before, label)
        matrix = np.zeros(0) if record is None else array_of(record)
        if matrix.ndim >= 2 and matrix.size and matrix.dtype.kind in "fc":
            yield matrix.astype(complex if matrix.dtype.kind == "c" else float)


def _is_degenerate(d: Difference) -> bool:
    """Whether a matrix of the program has singular values that are equal or zero."""
    for matrix in _matrices(d):
        if not np.isfinite(matrix).all():
            return True
        values = np.linalg.svd(matrix, compute_uv=False)
        apart = -np.diff(np.append(values, np.zeros((*values.shape[:-1], 1)), -1), axis=-1)
        if apart.min() < 1e-3 * max(values.max(), 1e-30):
            return True
    return False


def _leans_on_the_first_columns(d: Difference) -> bool:
    """Whether the first columns of a matrix of the program depend on each other."""
    for matrix in _matrices(d):
        first = matrix[..., : min(matrix.shape[-2:])]
        sizes = np.abs(np.diagonal(np.linalg.qr(first)[1], 0, -2, -1))
        if sizes.min() < 1e-3 * max(sizes.max(), 1e-30):
            return True
    return False


def _over_an_operand(d: Difference) -> bool:
    """Whether a product or a triangle is written over the memory that it is made of."""
    name = re.search(r"out=(\w+)\)|^(\w+)\.addmv_\(", d.statement)
    products = r"T\.(addmm|mm|bmm|baddbmm|tril|triu)\(|addmv_\("
    if name is None or not in_statement(products, "values")(d):
        return False
    memory = {d.seen("base", d.before, n) or n for n in d.named()}
    return (
        d.statement.count(name[1] or name[2]) > 1
        or len(memory) < len(set(d.named()))
        or "tril" in d.statement
        and re.search(r"channels_last|permute|transpose|expand", d.earlier) is not None
    )


def _turned_once(d: Difference) -> bool:
    """Whether complex numbers agree but for turns of 2 pi of some imaginary parts."""
    expected, actual = np.asarray(d.expected), np.asarray(d.actual)
    if expected.dtype.kind != "c" or expected.shape != actual.shape:
        return False
    apart = np.abs(expected - actual)
    return bool(np.all((apart < 1e-4) | (np.abs(apart - 2 * np.pi) < 1e-4)))


RULES: dict[str, Callable[[Difference], bool]] = {
    "what is left of the factors of a matrix that has none": _failed_factors,
    "the subgradient of equal singular values or eigenvalues": lambda d: (
        d.aspect in ("values", "strides")
        and re.search(OF_DEGENERATE, d.earlier) is not None
        and re.search(r"backward\(|grad\(", d.statement) is not None
        and (d.aspect == "strides" or _is_degenerate(d))
    ),
    "torch decomposes inference tensors by functions with out=": lambda d: (
        re.search(DECOMPOSED, d.statement) is not None
        and "inference_mode" in d.earlier + d.statement
        and (d.aspect == "requires_grad" or "RuntimeError" in d.errors)
    ),
    "which functions with out= torch has no derivative for, and writes all the same": lambda d: (
        re.search(r"(special\.\w+|matrix_norm|vector_norm|cond)\(.*out=", d.statement) is not None
        and d.errors == (None, "RuntimeError")
    ),
    "MKL refuses transforms of no rows": lambda d: (
        "T.fft." in d.statement
        and d.errors == ("RuntimeError", None)
        and any(0 in (d.seen("shape", d.before, name) or ()) for name in d.named())
    ),
    "a loss of no elements that torch does not write": lambda d: (
        "multi_margin_loss(" in d.statement
        and (d.aspect == "values" or d.errors[-1:] == ("NotImplementedError",))
        and any(0 in (d.seen("shape", d.before, name) or ()) for name in d.named())
    ),
    "torch writes what it then refuses": lambda d: (
        in_statement(r"div_\(.*rounding_mode|floor_divide_\(", "values")(d) and None not in d.errors
    ),
    "torch's triangles and products over the memory that they are made of": _over_an_operand,
    "the mean beside a variance is a running one in torch, where infinities are met": lambda d: (
        in_statement(r"(var|std)_mean\(", "values")(d)
        and bool(np.isinf(d.actual).any())
        and bool(np.isnan(d.expected).any())
    ),
    "a pool along one dimension is a view in torch": lambda d: (
        re.search(r"pool1d\(", d.earlier) is not None
        and (d.aspect == "base" or "detach_" in d.statement and d.errors == ("RuntimeError", None))
    ),
    "torch has no gradient of these Bessel functions in half precision": lambda d: (
        re.search(r"\bi[01]e?_?\(", d.earlier + d.statement) is not None
        and d.errors == ("NotImplementedError", None)
    ),
    "an order of equal elements that torch does not keep": lambda d: (
        in_statement(r"T\.argsort\(", "values")(d)
        and any(len(np.unique(x)) < x.size for x in d.operands())
    ),
    "torch's second derivative of sinc is NaN at 0": lambda d: (
        d.aspect == "values"
        and "sinc(" in d.statement + d.earlier
        and bool(np.isnan(d.expected).any())
    ),
    "torch formats an error with the size of what has no dimensions": lambda d: (
        re.search(r"\.addmv_?\(", d.statement) is not None
        and d.errors == ("IndexError", "RuntimeError")
    ),
    "a pool along one dimension is one of two there, whose hooks see three": lambda d: (
        d.aspect == "shape" and "register_" in d.earlier and "pool1d(" in d.earlier
    ),
    "how large a singular matrix makes what its last bits divide": lambda d: (
        in_statement(r"linalg\.(cond|lstsq)\(", "values")(d) and _is_degenerate(d)
    ),
    "torch's lstsq exchanges columns or not by memory that nobody wrote": lambda d: (
        in_statement(r"linalg\.lstsq\(", "values")(d) and _leans_on_the_first_columns(d)
    ),
    "torch cannot make a new tensor like one that is lazily conjugate": lambda d: (
        ".new_tensor(" in d.statement
        and d.errors == ("RuntimeError", None)
        and re.search(r"conj|ihfft|\.m?H\b|adjoint|imag", d.earlier) is not None
    ),
    "how a vector for each matrix of a batch lies": lambda d: in_statement(
        r"linalg\.(solve|cond)\(", "strides"
    )(d),
    "distinct elements lie in the memory of all in torch": lambda d: (
        "as_strided" in d.statement
        and "unique_consecutive(" in d.earlier
        and d.errors == (None, "RuntimeError")
    ),
    "which writes are counted of parts that torch calls unsafe": lambda d: (
        d.aspect == "version" and "T.unsafe_" in d.earlier
    ),
    "torch has no kernel for a deviation of all in half precision with out=": lambda d: (
        re.search(r"T\.(std|var)\(.*out=", d.statement) is not None
        and d.errors == ("RuntimeError", None)
    ),
    "what torch makes in several steps of inference tensors": lambda d: (
        re.search(
            r"rms_norm|rrelu|std_mean|var_mean|T\.normal\(|lstsq|_copy\(|_norm\(|igamma|block_diag"
            r"|pdist|slogdet",
            d.statement + d.earlier,
        )
        is not None
        and "inference_mode" in d.earlier
        and ("RuntimeError" in d.errors or d.aspect == "requires_grad")
    ),
    "which kernels miss halves, complex numbers, bools or what holds nothing": lambda d: (
        re.search(
            r"aminmax|inner|cosine_embedding|pdist|addr|avg_pool1d|clamp_m|cross_entropy"
            r"|floor_divide",
            d.statement + d.earlier,
        )
        is not None
        and "NotImplementedError" in d.errors
    ),
    "torch's second derivative of logcumsumexp loses bits, or is NaN": lambda d: (
        d.aspect == "values"
        and "logcumsumexp(" in d.statement + d.earlier
        and re.search(r"jvp|hvp|hessian|jac|create_graph", d.statement + d.earlier) is not None
        and (bool(np.isnan(d.expected).any()) or np.allclose(d.expected, d.actual, 1e-6, 1e-7))
    ),
    "which derivatives of derivatives keep something that one backward frees": lambda d: (
        "backward(" in d.statement
        and d.errors == ("RuntimeError", None)
        and "backward(" in d.earlier
        and "create_graph" in d.earlier
        and re.search(r"jacobian\(|hessian\(|[jv]hp\(|hvp\(|vjp\(|jvp\(", d.earlier) is not None
    ),
    "torch's vander writes what its derivative has saved": lambda d: (
        "vander(" in d.earlier
        and (d.errors == ("RuntimeError", None) or d.aspect in ("grad", "strides"))
    ),
    "signs of eigenvectors, eigenvalues that are 0, factors of what is not finite": _factors,
    "torch's exponential of matrices whose channels are last fails": lambda d: (
        "matrix_exp(" in d.statement
        and d.errors == ("RuntimeError", None)
        and "channels_last" in d.earlier
    ),
    "torch's exponential of matrices of half precision is wrong, or infinite": lambda d: (
        in_statement(r"matrix_exp\(", "values")(d) and "float16" in str(d.seen("dtype", d.shown))
    ),
    "torch gives what addbmm_ writes the shape of the product": lambda d: (
        "addbmm_(" in d.statement and d.errors == (None, "RuntimeError")
    ),
    "a last bit decides on which side of its cut a logarithm lies": lambda d: (
        in_statement(r"log|angle|atan2", "values")(d) and _turned_once(d)
    ),
    "a last bit decides whether a matrix is singular": lambda d: (
        set(d.errors) == {None, "RuntimeError"}
        and re.search(
            r"matrix_power\(.*-|\b(inv|inverse|solve|tensorinv|tensorsolve)\(", d.statement
        )
        is not None
        and any(x.ndim > 1 and np.max(np.linalg.cond(x)) > 1e6 for x in d.operands() if x.size)
    ),
    "torch's tangent of sinc at 0 is NaN where it takes two backward passes": lambda d: (
        in_statement(r"functional\.jvp\(.*sinc_?\(", "values")(d) and np.isnan(d.expected).any()
    ),
    "torch counts elements at the distance delta in maps of derivatives of huber_loss": lambda d: (
        in_statement(r"(hessian|jac\w+)\(.*huber_loss\(", "values")(d)
    ),
    "how a median of channels that are last lies": lambda d: (
        d.aspect == "strides"
        and re.search(r"median\(", d.statement) is not None
        and "channels_last" in d.earlier
    ),
    "what a function over written in place has of NaN and infinities": lambda d: (
        d.aspect == "values"
        and re.search(r"zeta|cumprod|logit_", d.statement) is not None
        and not np.isfinite(d.actual).all()
        and not np.isfinite(d.expected).all()
    ),
    "what the steps of a Fourier transform make of NaN and infinities": lambda d: (
        in_statement(r"fft|stft", "values")(d)
        and not np.isfinite(d.actual).all()
        and not np.isfinite(d.expected).all()
    ),
    "losses of no transform in torch, which writes into what it has made": lambda d: (
        re.search(r"(soft_margin_loss|pairwise_distance|hessian)\(", d.statement) is not None
        and re.search(r"T\.func\.|functional\.", d.statement) is not None
        and d.errors == ("RuntimeError", None)
    ),
    "what torch has no forward derivative of, or no kernel for in half precision": lambda d: (
        re.search(f"({WITHOUT_FORWARD})\\(", d.statement) is not None
        and re.search(r"T\.func\.|functional\.|forward_ad", d.statement) is not None
        and d.errors == ("NotImplementedError", None)
    ),
    "torch's gradients of addr are of two dtypes": lambda d: (
        "addr(" in d.earlier
        and re.search(r"backward\(|grad\(", d.statement) is not None
        and d.errors == ("RuntimeError", None)
    ),
    "torch looks whether a gradient is wanted before it looks at dtypes": lambda d: (
        "map2_(" in d.statement and d.errors == ("RuntimeError", "TypeError")
    ),
}
