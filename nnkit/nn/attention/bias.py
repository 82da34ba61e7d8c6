"""Masks of attention that are known by their kind, as ``torch.nn.attention.bias``."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.overriding import DisableTorchFunctionSubclass
from nnkit.autograd.ops.creation.factories import ones
from nnkit.backend.dtype import bool_
from nnkit.backend.warning import warn
from nnkit.nn.functional import scaled_dot_product_attention

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """The corner of the scores in which the diagonal of a causal mask begins or ends."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask for ``seq_len_q`` queries and ``seq_len_kv`` keys, which attention knows.

    Args:
        variant: a `CausalVariant`. Of ``LOWER_RIGHT`` the first queries see no key, and their
            outputs are NaN, where there are more queries than keys; it warns.

    Raises:
        AssertionError: ``variant`` is none.
        ValueError: it is given to attention together with ``is_causal=True``.

    Example:
        >>> from nnkit.nn.attention.bias import CausalBias, CausalVariant
        >>> CausalBias(CausalVariant.UPPER_LEFT, 2, 3)
        tensor([[ True, False, False],
                [ True,  True, False]])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        if not isinstance(variant, CausalVariant):
            got = type(variant).__name__
            raise AssertionError(f"CausalBias: variant must be a CausalVariant, got {got}")
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                "seq_len_kv!"
            )
        self: Any = _mask(variant, seq_len_q, seq_len_kv).as_subclass(cls)
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        return self

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as an ordinary tensor."""
        return _mask(self.variant, self.seq_len_q, self.seq_len_kv, device)

    @staticmethod
    def _dispatch(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Any, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        """Attention with such a mask."""
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        is_square = attn_mask.seq_len_q == attn_mask.seq_len_kv
        known = is_square or attn_mask.variant is CausalVariant.UPPER_LEFT
        mask = None if known else attn_mask._materialize(query.device)
        return scaled_dot_product_attention(
            query, key, value, mask, dropout_p, known, scale, enable_gqa
        )

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        if func is scaled_dot_product_attention:
            return cls._dispatch(*args, **(kwargs or {}))
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(self._materialize())


def _mask(variant: CausalVariant, rows: int, columns: int, device: Any = None) -> Tensor:
    shift = columns - rows if variant is CausalVariant.LOWER_RIGHT else 0
    return ones((rows, columns), dtype=bool_, device=device).tril(shift)


def _check(size: tuple[Any, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError("the mask of a causal attention has two dimensions")
    rows, columns = size
    return rows, columns


def causal_upper_left(*size: int) -> CausalBias:
    """The mask in which the query at ``i`` sees the keys up to ``i``: for ``(L, S)``.

    Example:
        >>> from nnkit.nn.attention.bias import causal_upper_left
        >>> causal_upper_left(2, 3)
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_check(size))


def causal_lower_right(*size: int) -> CausalBias:
    """The mask in which the last query sees all keys: for ``(L, S)``.

    Example:
        >>> from nnkit.nn.attention.bias import causal_lower_right
        >>> causal_lower_right(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_check(size))
