"""The casts of operands that `nnkit.autocast` puts before functions, and its state.

Where it is on, each public function that a list below names gets its floating operands in the
dtype that its list says, and what it calls casts no more. A function of no list is called as it
is: if it is made of others, those cast. float64 is never cast.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.overriding import ENTERED, tell_entered
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import FLOATING, bfloat16, dtype, float16, float32, float64, int64

DEVICES = ("cpu", "cuda", "mps", "xpu")


class _Thread(threading.local):
    """The state of casting in one thread.

    Attributes:
        enabled: the types of devices whose tensors are cast.
        dtypes: what they are cast to, by type of device.
        nesting: how many blocks of `nnkit.autocast` have been entered.
        keeps: whether casts of weights are kept until the outermost block ends.
        kept: those casts with what was cast, by its id.
    """

    nesting = 0
    keeps = True

    def __init__(self) -> None:
        self.enabled: tuple[str, ...] = ()
        self.dtypes = dict.fromkeys(DEVICES, float16) | {"cpu": bfloat16}
        self.kept: dict[int, tuple[Tensor, Tensor]] = {}


CASTING = _Thread()


def enable(kind: str, enabled: bool) -> None:
    """Say whether operands on a type of device are cast."""
    if enabled != (kind in CASTING.enabled):
        others = tuple(each for each in CASTING.enabled if each != kind)
        CASTING.enabled = (*others, kind) if enabled else others
        if enabled:
            ENTERED.append(CASTING)
        else:
            ENTERED.remove(CASTING)
        tell_entered()


def cast_state() -> tuple:
    """The state on which casts depend at this moment."""
    return tuple([(kind, CASTING.dtypes[kind]) for kind in CASTING.enabled])


class uncast:
    """A block in which nothing is cast."""

    def __enter__(self) -> None:
        self._before, CASTING.enabled = CASTING.enabled, ()

    def __exit__(self, *exception: Any) -> None:
        CASTING.enabled = self._before


def is_eligible(value: Any, kind: str) -> bool:
    """Whether a value is a tensor on a type of device that autocast would cast."""
    return (
        isinstance(value, Tensor)
        and value._device.type == kind
        and value.dtype.category == FLOATING
        and value.dtype is not float64
    )


def _eligible(values: Any, kind: str) -> list[Tensor]:
    found = []
    for value in values:
        if value.__class__ in (tuple, list):
            found += _eligible(value, kind)
        elif is_eligible(value, kind):
            found.append(value)
    return found


def cast_value(value: Any, kind: str, to: dtype) -> Any:
    """An argument with its tensors in a dtype; of weights, which a network may use several times,
    one cast serves them all, so that their gradients are added up in the lower dtype."""
    if value.__class__ in (tuple, list):
        return value.__class__([cast_value(each, kind, to) for each in value])
    if not is_eligible(value, kind) or value.dtype is to:
        return value
    if not (
        CASTING.keeps
        and MODE.enabled
        and to is CASTING.dtypes[kind]
        and value.dtype is float32
        and value.requires_grad
        and value.is_leaf
        and value._base is None
    ):
        return value.to(to)
    known = CASTING.kept.get(id(value))
    if known is None:
        known = CASTING.kept[id(value)] = value, value.to(to)
    return known[1]


def _cast_all(arguments: tuple, options: dict, kind: str, to: dtype) -> tuple[tuple, dict]:
    cast = {name: cast_value(value, kind, to) for name, value in options.items()}
    return tuple([cast_value(value, kind, to) for value in arguments]), cast


def _lower(name: str, kind: str, arguments: tuple, options: dict) -> tuple[tuple, dict]:
    return _cast_all(arguments, options, kind, CASTING.dtypes[kind])


def _single(name: str, kind: str, arguments: tuple, options: dict) -> tuple[tuple, dict]:
    return _cast_all(arguments, options, kind, float32)


def _widest(name: str, kind: str, arguments: tuple, options: dict) -> tuple[tuple, dict]:
    widest = lower = CASTING.dtypes[kind]
    for value in _eligible((*arguments, *options.values()), kind):
        if float32 in (widest, value.dtype):
            widest = float32
        elif value.dtype is not lower:
            raise RuntimeError(
                f"{name}(): expected tensors of {lower} or float32 under autocast, "
                f"got {value.dtype}"
            )
    return _cast_all(arguments, options, kind, widest)


def _recurrent(name: str, kind: str, arguments: tuple, options: dict) -> tuple[tuple, dict]:
    """Operands multiplied in the lower dtype, and then added to states that may be wider."""
    packed = isinstance(arguments[1], Tensor) and arguments[1].dtype is int64
    states = _eligible(arguments[2:3] if packed else arguments[1:2], kind)
    wide = any(state.dtype is float32 for state in states)
    arguments, options = _lower(name, kind, arguments, options)
    if not wide or (name == "lstm" and not packed):  # which torch leaves to a kernel as a whole
        return arguments, options
    return _cast_all(arguments, options, kind, float32)


def _single_scale(name: str, kind: str, arguments: tuple, options: dict) -> tuple[tuple, dict]:
    scale = arguments[1] if len(arguments) > 1 else options.get("scale")
    if isinstance(scale, Tensor):
        return arguments, options
    return _single(name, kind, arguments, options)


def _single_border(name: str, kind: str, arguments: tuple, options: dict) -> tuple[tuple, dict]:
    mode = options.get("mode", arguments[2] if len(arguments) > 2 else "constant")
    padding = options.get("pad", arguments[1] if len(arguments) > 1 else ())
    if mode == "replicate" or (mode == "reflect" and len(padding) < 6):
        return _single(name, kind, arguments, options)
    return arguments, options


def _unchanged(name: str, kind: str, arguments: tuple, options: dict) -> tuple[tuple, dict]:
    return arguments, options


def _single_result(name: str, kind: str, arguments: tuple, options: dict) -> tuple[tuple, dict]:
    if arguments and is_eligible(arguments[0], kind) and options.get("dtype") is None:
        return arguments, options | {"dtype": float32}
    return arguments, options


def _refused(name: str, kind: str, arguments: tuple, options: dict) -> tuple[tuple, dict]:
    raise RuntimeError(
        f"{name}(): unsafe under autocast on {kind}: use binary_cross_entropy_with_logits, which "
        "takes what comes before the sigmoid"
    )


def _by_name(lists: dict[Callable, str]) -> dict[str, Callable]:
    return {name: policy for policy, names in lists.items() for name in names.split()}


# Source: torch's `aten/src/ATen/autocast_mode.h`. What torch composes of functions of a list, and
# nnkit has in one piece, stands with them; what torch has in one piece and nnkit composes of them
# is left unchanged with all that it calls.
POLICIES = {
    "cpu": _by_name({
        _lower: """
            addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
            conv_transpose3d linalg.matmul linalg.vecdot linear matmul mm prelu rnn_relu
            rnn_relu_cell rnn_tanh rnn_tanh_cell scaled_dot_product_attention
        """,
        _single: """
            adaptive_avg_pool3d adaptive_max_pool3d adaptive_max_pool3d_with_indices avg_pool3d
            binary_cross_entropy binary_cross_entropy_with_logits cdist cholesky cholesky_inverse
            cholesky_solve cosine_embedding_loss cross_entropy ctc_loss fft.fft
            fft.fft2 fft.fftn fft.hfft fft.ifft fft.ifft2
            fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
            fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d
            fractional_max_pool3d_with_indices geqrf grid_sample grid_sampler grid_sampler_2d
            grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div l1_loss linalg.cholesky
            linalg.cholesky_ex linalg.cond linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh
            linalg.householder_product linalg.inv linalg.inv_ex linalg.lstsq linalg.matrix_rank
            linalg.qr linalg.solve linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve
            lp_pool3d lu lu_solve margin_ranking_loss max_pool3d max_unpool1d max_unpool2d
            max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss nanquantile nll_loss
            orgqr ormqr pinverse poisson_nll_loss polar prod qr quantile smooth_l1_loss
            soft_margin_loss stft svd trace triangular_solve triplet_margin_loss view_as_complex
        """,
        _widest: "cat concat concatenate index_copy stack",
        _recurrent: "gru gru_cell lstm lstm_cell",
        _single_border: "pad",
        _single_scale: "fake_quantize_per_tensor_affine",
        _unchanged: "bilinear block_diag linalg.lu_solve matrix_exp",
    }),
    "cuda": _by_name({
        _lower: """
            addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc
            conv_transpose1d conv_transpose2d conv_transpose3d einsum gru_cell linalg.matmul
            linalg.multi_dot linalg.vecdot linear lstm_cell matmul mm mv prelu rnn_relu_cell
            rnn_tanh_cell scaled_dot_product_attention
        """,
        _single: """
            acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss
            cosine_similarity cross_entropy dist erfinv exp expm1 group_norm hinge_embedding_loss
            huber_loss interpolate kl_div l1_loss layer_norm log log10 log1p log2 logsumexp
            margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss pdist
            poisson_nll_loss pow reciprocal renorm rms_norm rsqrt sinh smooth_l1_loss
            soft_margin_loss softplus tan triplet_margin_loss
        """,
        _single_result: """
            cumprod cumsum linalg.matrix_norm linalg.vector_norm log_softmax norm prod softmax sum
        """,
        _widest: """
            addcdiv addcmul atan2 bilinear cross dot grid_sample grid_sampler index_put scatter_add
            tensordot vdot
        """,
        _refused: "binary_cross_entropy",
    }),
}  # fmt: skip


def cast_operands(
    name: str, arguments: tuple, options: dict[str, Any]
) -> tuple[tuple, dict[str, Any], bool]:
    """The arguments of a function as its list says, and whether there is one that names it."""
    listed = False
    for kind in CASTING.enabled:
        policy = POLICIES.get(kind, {}).get(name)
        if policy is not None:
            listed = True
            with uncast():
                arguments, options = policy(name, kind, arguments, options)
    return arguments, options, listed


def call_cast(function: Callable, name: str, arguments: tuple, options: dict[str, Any]) -> Any:
    """The result of a function, called ``name``, on operands as its list says."""
    arguments, options, listed = cast_operands(name, arguments, options)
    if not listed:
        return function(*arguments, **options)
    with uncast():
        return function(*arguments, **options)
