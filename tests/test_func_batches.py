"""`vmap` of every op gives what the op gives for each example, and the gradients of that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nnkit
from tests.harness.call import Call, flatten, writes_in_place
from tests.harness.row import Maker, OpRow, Sample
from tests.harness.table import ROWS, SUBJECT

EXAMPLES = 3
# What draws random numbers, or gives the memory to others.
UNTESTED = ("random", "dropout", "exchange")
TESTED = [row for row in ROWS.values() if not SUBJECT[row.name].startswith(UNTESTED)]
# What torch refuses too: numbers decide of a shape or of a value of Python, ...
REFUSED = frozenset(
    "Tensor.__getitem__ allclose arange cov equal is_nonzero masked_select nn.functional.one_hot"
    " nonzero unique unique_consecutive Tensor.is_shared"
    # ... what does not differ between examples is written with what does, ...
    " Tensor.copy_ Tensor.fill_ embedding_renorm_ nn.functional.embedding_bag"
    # ... or random numbers are drawn.
    " nn.functional.multi_head_attention_forward nn.functional.scaled_dot_product_attention"
    " nn.functional.gumbel_softmax rrelu rrelu_"
    " nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool2d_with_indices"
    " nn.functional.fractional_max_pool3d nn.functional.fractional_max_pool3d_with_indices".split()
)


def is_inexact(x: Any) -> bool:
    return x.is_floating_point() or x.is_complex()


def batch_of(x: Any) -> Any:
    """Examples that differ, as far as an op may take them."""
    scales = [1.0, 0.875, 0.75] if is_inexact(x) else [1, 1, 1]
    examples = [x * scale if is_inexact(x) else x for scale in scales]
    if x.ndim and not is_inexact(x) and x.dtype is not nnkit.bool:
        examples[1] = x.flip(0)
    return nnkit.stack(examples)


class Mapped:
    """One sample's op as a function of those of its tensors that are batched."""

    def __init__(self, row: OpRow, sample: Sample, which: int) -> None:
        self.call = Call(nnkit, row, sample)
        keys = list(self.call.tensors)
        self.chosen = keys if which < 0 else keys[which : which + 1]
        self.batches = [batch_of(self.call.tensors[key]) for key in self.chosen]

    def __call__(self, *given: Any) -> tuple:
        tensors = self.call.tensors | dict(zip(self.chosen, given, strict=True))
        args = self.call._build(self.call.sample.args, tensors)
        kwargs = self.call._build(self.call.sample.kwargs, tensors)
        if writes_in_place(self.call.name):
            args = (args[0].clone(), *args[1:])
        found = flatten(self.call.function(*args, **kwargs))
        return tuple(x for x in found if isinstance(x, nnkit.Tensor))

    def one_by_one(self) -> list:
        rows = [self(*[b[i].clone() for b in self.batches]) for i in range(EXAMPLES)]
        return [nnkit.stack(column) for column in zip(*rows, strict=True)]

    def gradients(self, outputs: Any, leaves: list) -> list:
        wanting = [(x * x.conj()).real.sum() for x in outputs if x.requires_grad]
        if not wanting:
            return [None] * len(leaves)
        return list(nnkit.autograd.grad(wanting, leaves, allow_unused=True))


def agree(found: Any, wanted: Any) -> None:
    if found is None or wanted is None:  # of what has no gradient in one of them it is zero
        rest = wanted if found is None else found
        assert rest is None or not rest.any()
        return
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    a, b = (x.detach().resolve_conj().resolve_neg() for x in (found, wanted))
    if a.dtype is nnkit.bfloat16:
        a, b = a.float(), b.float()
    np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-6, 1e-7)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", TESTED, ids=lambda row: row.name)
def test_every_op(row: OpRow) -> None:
    dtype = "float64" if "float64" in row.dtypes else row.dtypes[0]
    for sample in row.samples(Maker(row, dtype)):
        for which in range(-1, len(Call(nnkit, row, sample).tensors)):
            mapped = Mapped(row, sample, which)
            leaves = [b for b in mapped.batches if is_inexact(b) and row.differentiable]
            for leaf in leaves:
                leaf.requires_grad_()
            if not mapped.batches:
                continue
            try:
                wanted = mapped.one_by_one()
            except (RuntimeError, IndexError):  # the numbers of an example do not fit
                continue
            try:
                found = nnkit.func.vmap(mapped)(*mapped.batches)
            except RuntimeError as error:
                assert row.name in REFUSED and "vmap" in str(error)
                continue
            for one, other in zip(found, wanted, strict=True):
                agree(one, other)
            pairs = [mapped.gradients(outputs, leaves) for outputs in (found, wanted)]
            for one, other in zip(*pairs, strict=True):
                agree(one, other)


def test_a_tensor_prints_all_examples() -> None:
    shown: list[str] = []
    nnkit.vmap(lambda x: shown.append(repr(x)) or x, in_dims=1)(nnkit.tensor([[0.0, 1.0]]))
    assert shown == ["BatchedTensor(lvl=1, bdim=1, value=\n    tensor([[0., 1.]])\n)"]


F = nnkit.nn.functional
LABELS = nnkit.tensor([0, 2, 1])
# Their rules read outputs that nobody sees.
READ_BY_RULES = {
    "cross_entropy": lambda x: F.cross_entropy(x, LABELS),
    "cross_entropy, smoothed": lambda x: F.cross_entropy(x, LABELS, label_smoothing=0.1),
    "layer_norm": lambda x: (F.layer_norm(x, (4,)) ** 3).sum(),
    "rms_norm": lambda x: (F.rms_norm(x, (4,)) ** 3).sum(),
    "group_norm": lambda x: (F.group_norm(x, 2) ** 3).sum(),
    "batch_norm": lambda x: (F.batch_norm(x, None, None, training=True) ** 3).sum(),
    "attention": lambda x: (F.scaled_dot_product_attention(x, x, x) ** 2).sum(),
    "max": lambda x: (x.max(-1).values ** 3).sum(),
}


def test_gradients_of_a_window_into_a_number() -> None:
    x = nnkit.tensor(2.0, requires_grad=True)
    y = x.unfold(0, 1, 1)
    pulled = nnkit.vmap(lambda g: nnkit.autograd.grad(y, x, g)[0])(nnkit.tensor([[3.0], [4.0]]))
    assert pulled.tolist() == [3, 4]


@pytest.mark.parametrize("name", READ_BY_RULES)
def test_second_derivatives_by_what_is_not_mapped(name: str) -> None:
    nnkit.manual_seed(0)
    x = nnkit.randn(EXAMPLES, 3, 5, dtype=nnkit.float64)
    weight = nnkit.randn(5, 4, dtype=nnkit.float64, requires_grad=True)

    def loss(weight: Any, x: Any) -> Any:
        return READ_BY_RULES[name](x @ weight)

    def after_a_step(x: Any) -> Any:
        return loss(weight - 0.1 * nnkit.func.grad(loss)(weight, x), x)

    for function in (after_a_step, lambda x: nnkit.func.grad(loss)(weight, x).square().sum()):
        mapped, alone = nnkit.vmap(function)(x).sum(), sum(map(function, x))
        (found,), (wanted,) = (
            nnkit.autograd.grad(mapped, weight),
            nnkit.autograd.grad(alone, weight),
        )
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), 1e-12, 1e-12)
