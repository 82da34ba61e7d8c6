"""torch.nn.functional: names that torch has there too."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NoReturn

from nnkit import Tensor, channel_shuffle
from nnkit.backend.warning import warn
from nnkit.nn import grad
from nnkit.nn.functional import linear
from nnkit.nn.functional.attention import additive_mask, project
from nnkit.nn.functional.attention import check_dimensions as _mha_shape_check
from nnkit.overrides import handle_torch_function as handle_torch_function
from nnkit.overrides import has_torch_function as has_torch_function
from nnkit.overrides import has_torch_function_unary as has_torch_function_unary
from nnkit.overrides import has_torch_function_variadic as has_torch_function_variadic

__all__ = ["_mha_shape_check", "grad"]

native_channel_shuffle = channel_shuffle
ScalingType = IntEnum(
    "ScalingType",
    "TensorWise RowWise BlockWise1x16 BlockWise1x32 BlockWise1x128 BlockWise128x128",
    start=0,
    module="torch.nn.functional",
)
SwizzleType = IntEnum(
    "SwizzleType", "NO_SWIZZLE SWIZZLE_32_4_4", start=0, module="torch.nn.functional"
)


def scaled_mm(*args: Any, **kwargs: Any) -> NoReturn:
    """Products of float8 with scales.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("scaled_mm: nnkit has no products of float8 with scales")


scaled_grouped_mm = scaled_mm


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """A mask of attention as one to be added to the scores; see `additive_mask`."""
    if mask is not None and check_other and other_type not in (None, mask.dtype):
        warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type "
            "for both instead.",
            UserWarning,
        )
    return additive_mask(mask, mask_name, target_type)


def _none_or_dtype(input: Tensor | None) -> Any:
    """The dtype of a tensor, None of None.

    Raises:
        RuntimeError: it is something else.
    """
    if input is not None and not isinstance(input, Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input.dtype


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Query, key and value, projected by the three parts of ``w`` (3 E, E)."""
    return project((q, k, v), w, b)


def _in_projection(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor,
    b_q: Tensor | None = None, b_k: Tensor | None = None, b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Query, key and value, each projected by its own weight."""
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)
