"""Softmax over very many classes, most of which are rare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.ops.shape.joining import cat
from nnkit.nn import functional as F
from nnkit.nn.modules.container import ModuleList, Sequential
from nnkit.nn.modules.linear import Linear
from nnkit.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """The results of `AdaptiveLogSoftmaxWithLoss`: a log probability each, and their mean loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """An approximation of the softmax over classes that are sorted by falling frequency.

    The first ``cutoffs[0]`` classes stand in the head, the others in clusters of which the head
    knows only the sum. A cluster's linear layer is the smaller the rarer its classes are. Grave et
    al., "Efficient softmax approximation for GPUs", 2016.

    Args:
        in_features: size of the input's last dimension.
        n_classes: how many classes there are.
        cutoffs: where the clusters begin, rising.
        div_value: by how much each cluster's inner size is smaller than the one's before.
        head_bias: whether the head has a bias.
        device: where the parameters are.
        dtype: their dtype.

    Shape:
        input (N, in_features) or (in_features,), target (N,) or (); output the same, loss ().

    Raises:
        ValueError: cutoffs that are not rising, or not between 1 and ``n_classes - 1``.

    >>> import nnkit
    >>> layer = nnkit.nn.AdaptiveLogSoftmaxWithLoss(32, 20, cutoffs=[4, 10])
    >>> out = layer(nnkit.zeros(3, 32), nnkit.tensor([0, 5, 19]))
    >>> out.output.shape, out.loss.shape
    (nnkit.Size([3]), nnkit.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        starts = list(cutoffs)
        if (
            not starts
            or starts != sorted(set(starts))
            or starts[0] <= 0
            or starts[-1] > n_classes - 1
            or any(int(c) != c for c in starts)
        ):
            raise ValueError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs should be a sequence of unique, positive "
                "integers sorted in an increasing order, where each value is between 1 and "
                f"n_classes-1, got {starts} for {n_classes} classes"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*starts, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = starts[0]
        self.n_clusters = len(starts)
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            inner = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, inner, bias=False, **place),
                    Linear(inner, size, bias=False, **place),
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for inner, outer in self.tail:
            inner.reset_parameters()
            outer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        check_tensor("AdaptiveLogSoftmaxWithLoss", input_, "input_")
        check_tensor("AdaptiveLogSoftmaxWithLoss", target_, "target_")
        if target_.ndim > 1 or input_.ndim != target_.ndim + 1:
            raise RuntimeError(
                "AdaptiveLogSoftmaxWithLoss: expected input (N, in_features) and target (N,), or "
                f"one sample without N, got {list(input_.shape)} and {list(target_.shape)}"
            )
        if target_.ndim == 1 and len(input_) != len(target_):
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension, got "
                f"{len(input_)} and {len(target_)}"
            )
        single = target_.ndim == 0
        rows = input_.unsqueeze(0) if single else input_
        target = target_.reshape(-1)
        if bool(((target < 0) | (target >= self.n_classes)).any()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}],"
                f" but values in range [{target.min().item()}, {target.max().item()}] were found"
            )
        in_head = target.clone()
        inside = rows.new_zeros(len(target))
        for i, cluster in enumerate(self.tail):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            met = ((target >= low) & (target < high)).nonzero().reshape(-1)
            if not met.numel():
                continue
            scores = F.log_softmax(cluster(rows[met]), dim=1)
            own = scores.gather(1, (target[met] - low).unsqueeze(1)).squeeze(1)
            inside = inside.index_copy(0, met, own)
            in_head[met] = self.shortlist_size + i
        head = F.log_softmax(self.head(rows), dim=1)
        output = inside + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes, (N, n_classes), for inputs (N, in_features)."""
        return self._all_classes(input, F.log_softmax(self.head(input), dim=1))

    def _all_classes(self, input: Tensor, head: Tensor) -> Tensor:
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            whole = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(cluster(input), dim=1) + whole)
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each input, (N,); clusters are looked at only where needed."""
        scores = self.head(input)
        best = scores.argmax(1)
        rare = (best >= self.shortlist_size).nonzero().reshape(-1)
        if rare.numel():
            head = F.log_softmax(scores[rare], dim=1)
            best = best.index_copy(0, rare, self._all_classes(input[rare], head).argmax(1))
        return best
