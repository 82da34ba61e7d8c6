"""Attention whose scores and mask are functions, as ``torch.nn.attention.flex_attention``.

The functions are called once, with all positions at once: what they compute must be element by
element, as torch's rule of being vectorised demands too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import arange, ones
from nnkit.autograd.ops.elementwise.comparison import where
from nnkit.autograd.ops.padding import pad
from nnkit.backend.dtype import BOOL, HALF, bool_, float32, int32, promote_types

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask",
    "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE = 128
MaskMod = Callable[[Any, Any, Any, Any], Tensor]


class AuxRequest(NamedTuple):
    """The results that are asked of `flex_attention` beside its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The results of `flex_attention` beside its output; None where one was not asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Tensor:
    """The mask that hides nothing."""
    return ones((), dtype=bool_)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask that shows what all of the masks show.

    Raises:
        RuntimeError: one of them cannot be called.
    """
    return _joined(mask_mods, lambda result, mask: result & mask, True)


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask that shows what any of the masks shows.

    Raises:
        RuntimeError: one of them cannot be called.
    """
    return _joined(mask_mods, lambda result, mask: result | mask, False)


def _joined(mask_mods: tuple, join: Callable, start: bool) -> MaskMod:
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def joined(b: Any, h: Any, q: Any, k: Any) -> Tensor:
        result = b.new_full((), start, dtype=bool_)
        for mask_mod in mask_mods:
            result = join(result, mask_mod(b, h, q, k))
        return result

    return joined


def _positions(*sizes: int, device: Any = None) -> list[Tensor]:
    """The positions along each dimension, as tensors that broadcast with each other."""
    last = len(sizes) - 1
    return [
        arange(n, device=device).view(*[1] * i, n, *[1] * (last - i)) for i, n in enumerate(sizes)
    ]


def create_mask(
    mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """The mask that a function of positions describes.

    Args:
        mod_fn: ``mask_mod(b, h, q_idx, kv_idx)``, a bool; or ``score_mod(score, b, h, q_idx,
            kv_idx)``, where the mask hides what becomes ``-inf``.
        B, H: how many examples and heads; None for one.

    Returns:
        A bool tensor of shape (B, H, Q_LEN, KV_LEN).

    Example:
        >>> from nnkit.nn.attention.flex_attention import create_mask
        >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 3)[0, 0]
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    positions = _positions(*sizes, device=device)
    if _takes_scores(mod_fn):
        scores = mod_fn(ones((), device=device) * 0, *positions)
        return (scores != -math.inf).expand(sizes).contiguous()
    return mod_fn(*positions).to(bool_).expand(sizes).contiguous()


def _takes_scores(function: Callable) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_argcount - len(function.__defaults__ or ()) == 5


class BlockMask:
    """A mask, and which blocks of it show everything, something or nothing.

    Attributes:
        mask_mod: the function of positions that it describes.
        seq_lengths: how many queries and keys there are.
        BLOCK_SIZE: the rows and columns of a block.
        kv_num_blocks, kv_indices: for each row of blocks, how many show some of their keys, and
            which blocks those are, before the others.
        full_kv_num_blocks, full_kv_indices: the same of blocks that show all of theirs.
    """

    def __init__(
        self, mask: Tensor, mask_mod: MaskMod, seq_lengths: tuple[int, int],
        BLOCK_SIZE: tuple[int, int],
    ) -> None:  # fmt: skip
        self._shown = mask
        self.mask_mod = mask_mod
        self.seq_lengths = seq_lengths
        self.BLOCK_SIZE = BLOCK_SIZE
        rows, columns = BLOCK_SIZE
        parts = pad(mask, (0, -mask.shape[-1] % columns, 0, -mask.shape[-2] % rows))
        blocks = parts.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)).transpose(-3, -2)
        shown = blocks.sum((-2, -1))
        full = shown == rows * columns
        self.kv_num_blocks, self.kv_indices = _listed((shown > 0) & ~full)
        self.full_kv_num_blocks, self.full_kv_indices = _listed(full)

    @property
    def shape(self) -> tuple[int, ...]:
        """Examples, heads, queries, keys."""
        return (*self.kv_num_blocks.shape[:-1], *self.seq_lengths)

    def numel(self) -> int:
        """The number of pairs of a query and a key."""
        return math.prod(self.shape)

    def to_dense(self) -> Tensor:
        """1 for each block that shows something, 0 for the others; int32."""
        some = _dense(self.kv_num_blocks, self.kv_indices)
        return some + _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def sparsity(self) -> float:
        """The share of pairs that lie in blocks which show nothing, in percent."""
        computed = int(self.to_dense().sum()) * math.prod(self.BLOCK_SIZE)
        return 100 * (1 - computed / self.numel())

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some examples and heads, whose dimensions stay.

        Raises:
            IndexError: the index is for more than these two dimensions.
        """
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > 2:
            raise IndexError(f"a BlockMask has 2 dimensions for an index, got {len(index)}")
        kept = tuple([slice(i, i + 1 or None) if isinstance(i, int) else i for i in index])
        return BlockMask(self._shown[kept], self.mask_mod, self.seq_lengths, self.BLOCK_SIZE)

    def to(self, device: Any) -> BlockMask:
        """The same mask on a device."""
        shown = self._shown.to(device)
        return BlockMask(shown, self.mask_mod, self.seq_lengths, self.BLOCK_SIZE)

    def __repr__(self) -> str:
        return (
            f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, "
            f"BLOCK_SIZE={self.BLOCK_SIZE})"
        )


def _listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """The number of marked blocks of each row, and the columns, the marked ones first."""
    return blocks.sum(-1).to(int32), (~blocks).to(int32).argsort(-1, stable=True).to(int32)


def _dense(count: Tensor, columns: Tensor) -> Tensor:
    """1 where the first ``count`` of the columns lie, else 0."""
    first = arange(columns.shape[-1], device=count.device) < count.unsqueeze(-1)
    return columns.new_zeros(columns.shape).scatter(-1, columns.long(), first.to(columns.dtype))


def create_block_mask(
    mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False,
    **options: Any,
) -> BlockMask:  # fmt: skip
    """The `BlockMask` of a function ``mask_mod(b, h, q_idx, kv_idx)``.

    Args:
        B, H: how many examples and heads; None for one that serves all.
        BLOCK_SIZE: the rows and columns of a block.
        options: of torch's kernels; without effect.

    Example:
        >>> from nnkit.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 4, 4, BLOCK_SIZE=2).to_dense()
        tensor([[[[1, 0],
                  [1, 1]]]], dtype=nnkit.int32)
    """
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    return BlockMask(mask, mask_mod, (Q_LEN, KV_LEN), (size[0], size[1]))


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Callable | None = None,
    block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
    return_lse: bool = False, kernel_options: Any = None, *, return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """Attention whose scores a function changes: ``softmax(score_mod(q k^T scale)) v``.

    Args:
        query: (B, Hq, L, E). key: (B, Hkv, S, E). value: (B, Hkv, S, Ev).
        score_mod: ``score_mod(score, b, h, q_idx, kv_idx)``, the new score.
        block_mask: which pairs count; the output of a query without any is 0.
        scale: ``1 / sqrt(E)`` unless given.
        enable_gqa: let groups of query heads share a head of key and value.
        return_lse: also give the logarithm of the sum of ``exp(score)``.
        kernel_options: without effect.
        return_aux: what else to give, as an `AuxOutput`.

    Returns:
        (B, Hq, L, Ev), and what was asked for beside it.

    Raises:
        NotImplementedError: a tensor has not four dimensions.
        ValueError: the numbers of heads or the lengths do not fit.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.attention.flex_attention import flex_attention
        >>> q = nnkit.ones(1, 1, 2, 4)
        >>> nnkit.allclose(flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s + i - j), q)
        True
    """
    _check(query, key, value, block_mask, enable_gqa)
    if key.shape[1] != query.shape[1]:
        repeats = query.shape[1] // key.shape[1]
        key, value = (t.repeat_interleave(repeats, 1) for t in (key, value))
    wide = promote_types(promote_types(query.dtype, key.dtype), value.dtype)
    q, k, v = (t.to(float32 if wide.array in HALF else wide) for t in (query, key, value))
    scores = q @ k.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    positions = _positions(*scores.shape, device=query.device)
    if score_mod is not None:
        scores = score_mod(scores, *positions).to(scores.dtype).expand(scores.shape)
    if block_mask is not None:
        mask = block_mask.mask_mod(*positions)
        if mask.dtype.category != BOOL:
            mask = mask != 0
        scores = where(mask, scores, -math.inf)
    lse = scores.logsumexp(-1)
    # A query that sees nothing has the weights 0, not NaN.
    shift = lse.masked_fill(lse == -math.inf, 0.0)
    out = ((scores - shift.unsqueeze(-1)).exp() @ v).to(query.dtype)
    if return_aux is not None:
        most = scores.amax(-1) if return_aux.max_scores else None
        return out, AuxOutput(lse if return_aux.lse else None, most)
    return (out, lse) if return_lse else out


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: Any, enable_gqa: bool) -> None:
    if not query.ndim == key.ndim == value.ndim == 4:
        raise NotImplementedError("flex_attention(): query, key, and value must be 4D tensors")
    heads, own = query.shape[1], key.shape[1]
    if heads != own and not enable_gqa:
        raise ValueError(
            "flex_attention(): Expect query and key/value to have the same number of heads but got "
            f"Hq={heads} and Hkv={own}. Try setting enable_gqa=True for GQA."
        )
    if not own or heads % own:
        raise ValueError(
            f"flex_attention(): the number of query heads must be a multiple of that of keys, got "
            f"{heads} and {own}"
        )
    if block_mask is not None:
        lengths = (query.shape[2], key.shape[2])
        if block_mask.shape[-2:] != lengths:
            raise ValueError(
                f"flex_attention(): block_mask was created for {block_mask.shape}, but got "
                f"q_len={lengths[0]} and kv_len={lengths[1]}"
            )
