"""Embedding layers: tables of vectors, looked up by index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.creation.factories import empty
from nnkit.nn import functional as F
from nnkit.nn import init
from nnkit.nn.modules.module import Module
from nnkit.nn.modules.utils import check_integers
from nnkit.nn.parameter import Parameter

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A table of ``num_embeddings`` vectors of ``embedding_dim`` numbers."""

    weight: Parameter
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool

    def _make(self, weight: Tensor | None, freeze: bool, device: Any, dtype: Any) -> None:
        count, width = self.num_embeddings, self.embedding_dim
        padding_idx = self.padding_idx
        check_integers(type(self).__name__, num_embeddings=count, embedding_dim=width)
        if padding_idx is not None:
            check_integers(type(self).__name__, padding_idx=padding_idx)
            if not -count <= padding_idx < max(count, 1):
                raise AssertionError(
                    f"{type(self).__name__}: padding_idx must be within num_embeddings, "
                    f"got {padding_idx} for {count}"
                )
            self.padding_idx = padding_idx + count if padding_idx < 0 else padding_idx
        if weight is None:
            data = empty((count, width), device=device, dtype=dtype)
            self.weight = Parameter(data, requires_grad=not freeze)
            self.reset_parameters()
            return
        if weight.shape != (count, width):
            raise AssertionError(
                f"{type(self).__name__}: shape of weight does not match num_embeddings and "
                f"embedding_dim: got {list(weight.shape)}, expected {[count, width]}"
            )
        self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw the table anew from the standard normal distribution; zeros for the padding."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


def _size_of(name: str, embeddings: Tensor) -> tuple[int, int]:
    if embeddings.ndim != 2:
        raise AssertionError(
            f"{name}.from_pretrained: embeddings is expected to be 2-dimensional, "
            f"got shape {list(embeddings.shape)}"
        )
    return embeddings.shape[0], embeddings.shape[1]


class Embedding(_Table):
    """A vector for each index: a table that is learned.

    Args:
        num_embeddings: how many vectors.
        embedding_dim: of how many numbers.
        padding_idx: the row that starts as zeros and gets no gradient.
        max_norm: scale the rows that are met down to this norm, in place.
        norm_type: which norm.
        scale_grad_by_freq: divide each gradient by how often its index occurs in the batch.
        sparse: give the table a gradient of layout ``nnkit.sparse_coo``, which holds the rows that
            were read; see `nnkit.optim.SparseAdam`.
        _weight: the table, instead of random numbers.
        _freeze: whether the table is not learned.
        device: where the table is.
        dtype: its dtype.

    Shape:
        input of any shape, int32 or int64; output has ``embedding_dim`` as one more dimension.

    Raises:
        AssertionError: ``padding_idx`` is outside the table, or ``_weight`` has another shape.

    >>> import nnkit
    >>> table = nnkit.nn.Embedding(10, 3)
    >>> table(nnkit.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
    nnkit.Size([2, 4, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return text + (", sparse=True" if self.sparse else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """An Embedding of the given table, (V, D); its memory is shared.

        Args:
            embeddings: the table.
            freeze: whether it is not learned.
            padding_idx: see the class, as the others.

        Raises:
            AssertionError: the table is no matrix.

        >>> import nnkit
        >>> layer = nnkit.nn.Embedding.from_pretrained(nnkit.tensor([[1.0, 2.3, 3.0]]))
        >>> layer(nnkit.tensor([0]))
        tensor([[1.0000, 2.3000, 3.0000]])
        """
        return cls(
            *_size_of(cls.__name__, embeddings), padding_idx, max_norm, norm_type,
            scale_grad_by_freq, sparse, _weight=embeddings, _freeze=freeze,
        )  # fmt: skip


class EmbeddingBag(_Table):
    """Sum, mean or maximum of the vectors of each bag of indices.

    Args:
        num_embeddings: how many vectors.
        embedding_dim: of how many numbers.
        max_norm: scale the rows that are met down to this norm, in place.
        norm_type: which norm.
        scale_grad_by_freq: divide each gradient by how often its index occurs in the batch.
        mode: ``"sum"``, ``"mean"`` or ``"max"``.
        sparse: give the table a gradient of layout ``nnkit.sparse_coo``, which holds the rows that
            were read; see `nnkit.optim.SparseAdam`.
        _weight: the table, instead of random numbers.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: the index that is left out of the bags; its row starts as zeros.
        device: where the table is.
        dtype: its dtype.

    Shape:
        input (N, L), or one-dimensional with ``offsets`` (N,); output (N, embedding_dim).

    Raises:
        AssertionError: ``padding_idx`` is outside the table, or ``_weight`` has another shape.

    >>> import nnkit
    >>> bags = nnkit.nn.EmbeddingBag(10, 3, mode="sum")
    >>> bags(nnkit.tensor([1, 2, 4, 5, 4]), nnkit.tensor([0, 4])).shape
    nnkit.Size([2, 3])
    """

    mode: str
    include_last_offset: bool

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._make(_weight, False, device, dtype)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """An EmbeddingBag of the given table, (V, D); its memory is shared.

        Args:
            embeddings: the table.
            freeze: whether it is not learned.
            max_norm: see the class, as the others.

        Raises:
            AssertionError: the table is no matrix.
        """
        bag = cls(
            *_size_of(cls.__name__, embeddings), max_norm, norm_type, scale_grad_by_freq, mode,
            sparse, _weight=embeddings, include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )  # fmt: skip
        bag.weight.requires_grad = not freeze
        return bag
