"""Wrong calls that `tests.fuzz.calls` found, each refused with torch's type of error."""

from __future__ import annotations

from types import ModuleType

import pytest

import nnkit
from nnkit.autograd.op.public import METHODS

REFUSED = {
    # A method takes sizes one by one, a function and a keyword as one sequence.
    "T.reshape(T.ones(2, 3), 3, 2)": TypeError,
    "T.reshape(T.ones(2, 3), 6)": TypeError,
    "T.flip(T.ones(2, 3), 0, 1)": TypeError,
    "T.flip(T.ones(2, 3), 0)": TypeError,
    "T.permute(T.ones(2, 3), 1, 0)": TypeError,
    "T.tile(T.ones(2, 3), 2, 3)": TypeError,
    "T.tile(T.ones(2, 3), 2)": TypeError,
    "T.squeeze(T.ones(1, 1), 0, 1)": TypeError,
    "T.count_nonzero(T.ones(2, 3), 0, 1)": TypeError,
    "T.ones(2, 3).flip(dims=0)": TypeError,
    "T.ones(2, 3).permute(dims=0)": TypeError,
    "T.ones(2, 3).tile(dims=2)": TypeError,
    "T.ones(2, 3).repeat(repeats=2)": TypeError,
    "T.ones(2, 3).resize_(size=2)": TypeError,
    "T.ones(2, 3).new_zeros(size=2)": TypeError,
    "T.linalg.diagonal(T.eye(2), out=T.ones(2))": TypeError,
    "T.det(T.eye(2), out=T.ones(()))": TypeError,
    "T.sum(T.eye(2), out=T.ones(()))": TypeError,
    "T.prod(T.eye(2), out=T.ones(()))": TypeError,
    "T.median(T.eye(2), out=T.ones(()))": TypeError,
    "T.bernoulli(T.eye(2), 0.5, out=T.ones(()))": TypeError,
    "T.linalg.vander(T.ones(2), out=T.ones(2, 2))": TypeError,
    # The mask of a write in place broadcasts, what is written does not.
    "T.ones(2, 3).masked_scatter_(T.ones(4, 2, 3) > 0, T.ones(24))": RuntimeError,
    "T.ones(1, 3).masked_scatter_(T.ones(2, 3) > 0, T.ones(6))": RuntimeError,
    # torch's overloads: what belongs to one of them is not taken by another, and None chooses none.
    "T.ones(2, 2).sum(keepdim=True)": TypeError,
    "T.ones(2, 2).mean(keepdim=True)": TypeError,
    "T.ones(2, 2).prod(keepdim=True)": TypeError,
    "T.ones(2, 2).prod(None)": TypeError,
    "T.ones(2, 2).median(keepdim=True)": TypeError,
    "T.ones(2, 2).median(None)": TypeError,
    "T.ones(2, 2).nanmedian(dim=None)": TypeError,
    "T.ones(2, 2).var(False, keepdim=True)": TypeError,
    "T.ones(2, 2).var(True, False)": TypeError,
    "T.ones(2, 2).std(unbiased=None)": TypeError,
    "T.ones(2, 2).max(other=None)": TypeError,
    "T.ones(2, 1).squeeze(None)": TypeError,
    "T.ones(2).scatter(0, T.tensor([0]), 1.0, reduce=None)": TypeError,
    "T.ones(2).tensor_split(1, indices=None)": TypeError,
    "T.ones(2, 7).tensor_split(indices=T.tensor([1]), dim=1)": TypeError,
    "T.ones(2).hsplit(sections=None)": TypeError,
    "T.eye(2, None)": TypeError,
    "T.randint(0, low=3, high=5, size=[2, 2])": TypeError,
    "T.ones(3).random_(None)": TypeError,
    "T.trapezoid(T.ones(3), None)": TypeError,
    "T.trapezoid(T.ones(3), T.ones(3), dx=1)": TypeError,
    "T.arange(0, start=1, end=3)": TypeError,
    "T.arange(0, step=2)": TypeError,
    "T.arange(T.tensor(2.0, requires_grad=True))": TypeError,
    "T.arange(end=5, step=2)": TypeError,
    "T.histogram(T.ones(4), bins=T.tensor([1.0, 2.0]), range=(-1.0, 1.0))": TypeError,
    "T.linalg.pinv(T.ones(2, 2), rcond=None)": TypeError,
    "T.linalg.matrix_rank(T.ones(2, 2), tol=None)": TypeError,
    "T.ones(2, 3).cumsum_(axis=0, dim=0)": TypeError,
    "T.nn.functional.gelu(T.ones(2), 'tanh')": TypeError,
    # Numbers that a dtype does not hold; a float is not cut off, or wrapped, before it is judged.
    "T.ones(2).int().__setitem__(0, float('inf'))": RuntimeError,
    "T.ones(2).char().__setitem__(0, 300)": RuntimeError,
    "T.ones(2).byte().fill_(-0.5)": RuntimeError,
    "T.ones(2).byte().fill_(255.5)": RuntimeError,
    "T.full((2,), -4.0, dtype=T.uint8)": RuntimeError,
    "T.ones(2, 2).int().fill_diagonal_(float('nan'))": RuntimeError,
    "T.threshold(T.ones(2).byte(), 0.5, 400)": RuntimeError,
    "T.ones(3).index_add(0, T.tensor([0]), T.ones(1), alpha=1j)": RuntimeError,
    "T.rsub(T.ones(2), T.ones(2), alpha=1j)": RuntimeError,
    "T.rsub(T.ones(2).int(), 1, alpha=True)": RuntimeError,
    "T.where(T.tensor([True]), 1, 2**63)": RuntimeError,
    "T.randint(3, (2,), dtype=T.float16, out=T.ones(2))": RuntimeError,
    "T.randperm(4, dtype=T.float16, out=T.ones(4))": RuntimeError,
    "T.ones(2).norm(dtype=T.complex64)": RuntimeError,
    "T.linalg.vector_norm(T.ones(2) * 1j, dtype=T.float64)": RuntimeError,
    # Shapes.
    "T.flip(T.tensor(1), (0, -1))": RuntimeError,
    "T.flip(T.tensor(1), (1,))": IndexError,
    "T.tensordot(T.ones(2, 3), T.ones(4, 3), dims=T.tensor([]))": RuntimeError,
    "T.cumulative_trapezoid(T.ones(0), T.ones(3))": RuntimeError,
    "T.linalg.lstsq(T.ones(4, 3), T.ones(1, 4, 2))": RuntimeError,
    "T.linalg.lstsq(T.ones(2, 4, 3), T.ones(4, 2))": RuntimeError,
    "T.nn.functional.linear(T.ones(2, 3), T.ones(3), T.ones(2))": RuntimeError,
    "T.nn.functional.pad(T.ones(0, 3), (2, 1), 'reflect')": RuntimeError,
    "T.nn.functional.pad(T.ones(1, 0, 3), (2, 1), 'replicate')": RuntimeError,
    "T.nn.functional.nll_loss(T.ones(3), T.ones(3))": RuntimeError,
    "T.nn.functional.adaptive_avg_pool2d(T.ones(3), 1)": IndexError,
    "T.nn.functional.fractional_max_pool2d(T.ones(1, 2, 7, 6), 2, output_ratio=(0.5,) * 3)": (
        ValueError
    ),
    "T.ones(3, 4).index_put((T.tensor([0, 2]),) * 2, T.ones(3, 4), True)": RuntimeError,
    "T.tensor(1).index_put((T.tensor([0, 2]),), T.ones(2))": IndexError,
    "T.ones(2)['a']": TypeError,
    # The rest.
    "T.Tensor.bool()": TypeError,
    "T.detach()": TypeError,
    "T.ones(2).contiguous(T.contiguous_format)": TypeError,
    "T.broadcast_tensors([T.ones(1), T.ones(2)])": TypeError,
    "T.tensor([T.tensor(0.5), 2], dtype=T.int32)": TypeError,
    "T.tensor([2, T.tensor([1, 2])], dtype=T.int32)": TypeError,
    "T.linalg.lstsq(T.ones(4, 3), T.ones(4, 2), driver='gel')": RuntimeError,
    "T.linalg.pinv(T.ones(2, 2), rtol=T.tensor(0.1, requires_grad=True))": RuntimeError,
    "T.bernoulli(T.ones(3), T.ones(3))": TypeError,
    "T.nn.functional.huber_loss(T.ones(2), T.ones(2), delta=float('nan'))": RuntimeError,
    "T.nn.functional.embedding_bag(T.tensor([1]), T.eye(2), T.tensor(0.5))": ValueError,
    "T.nn.functional.batch_norm(T.ones(2, 3), T.ones(3), None)": RuntimeError,
    "T.nn.functional.instance_norm(T.ones(2, 3, 4), T.ones(3), None)": ValueError,
    "T.ones(3).bernoulli(p=None)": TypeError,
    "T.ones(2).char().addcmul_(T.ones(2).char(), T.ones(2).char(), value=300)": RuntimeError,
    "T.nn.functional.smooth_l1_loss(T.ones(2).int(), T.ones(2).int(), beta=0)": RuntimeError,
    # Forms that torch has given up: what stands in front is no keyword besides.
    "T.ones(2).add(T.ones(2), 0.5, alpha=3)": TypeError,
    "T.add(T.ones(2), 0.5, T.ones(2), alpha=3)": TypeError,
    "T.addmm(2, T.ones(2, 2), T.ones(2, 2), T.ones(2, 2), beta=2)": TypeError,
    "T.addmm(2, T.ones(2, 2), T.ones(2, 2), T.ones(2, 2), alpha=2)": TypeError,
    "T.addbmm(T.ones(2, 4), T.ones(5, 2, 3), T.ones(5, 3, 4), T.ones(2, 3), beta=0)": TypeError,
    # A string is a sequence, and so an index of as many items.
    "T.ones(3, 4)['gpu']": IndexError,
    "T.tensor(1)['a']": IndexError,
    "T.ones(3, 4)['']": TypeError,
    "T.ones(3)[T.tensor(0.5)]": IndexError,
    # Numbers beyond int64 are of uint64, which is not promoted.
    "T.add(2**63, 2)": RuntimeError,
    "T.ones(2).bool().mul(2**63)": RuntimeError,
    "T.special.laguerre_polynomial_l(2**63, T.ones(2).bool())": RuntimeError,
    "T.ones(2, 2).int().fill_diagonal_(2**63)": RuntimeError,
    # A bool is no dimension and no device, and a complex number is not real.
    "T.ones(2).hash_tensor(False)": TypeError,
    "T.ones(2).is_pinned(True)": TypeError,
    "T.ones(2).lerp(T.ones(2), 1j)": RuntimeError,
    "T.pdist(T.ones(4, 3), T.tensor(1j))": RuntimeError,
    "T.Tensor.is_complex(1)": TypeError,
    "T.repeat_interleave(T.ones(3).long(), None)": TypeError,
    "T.ones(3).long().repeat_interleave()": TypeError,
    "T.fake_quantize_per_tensor_affine(T.ones(2), T.tensor([0.1]), 0, 0, 15)": TypeError,
    "T.fake_quantize_per_tensor_affine(T.ones(2), 0.1, T.tensor(0.5), 0, 15)": TypeError,
    "T.fake_quantize_per_tensor_affine(T.ones(2), T.ones(0), T.ones(0), 0, 15)": RuntimeError,
    "T.gradient(T.ones(5), spacing='a')": TypeError,
    "T.gradient(T.ones(5), spacing=[T.tensor(1.0)])": RuntimeError,
    "T.gradient(T.ones(5, 5), spacing=[1, T.ones(5)])": TypeError,
    "T.unravel_index(T.tensor(5), (T.tensor(1),))": TypeError,
    "T.view_copy(T.ones(2, 6), 3)": TypeError,
    "T.split_copy(T.ones(4), 2, out=(1, 2, 3))": TypeError,
    "T.from_dlpack(T.ones(2), device=0)": AssertionError,
    "T.stft(T.ones(9), 4, normalized=1, return_complex=True)": TypeError,
    "T.tensor([1.5, ['a'], 2.5])": TypeError,
    "T.tensor([T.ones(2, 3).int(), 2j])": ValueError,
    "T.max(T.ones(2), T.ones(2), other=T.ones(2))": TypeError,
    "T.gradient(T.ones(5).bool(), spacing=[T.arange(5.0)])": RuntimeError,
    "T.ones(3)[([T.tensor(1.5)],)]": TypeError,
    "T.gru(T.ones(3, 1), T.tensor([2, 1]), T.ones(1, 3, 1), [T.ones(3, 1)] * 2, False, 1, 0.0, "
    "False, False)": RuntimeError,
    "T.rnn_tanh(T.tensor(1), T.tensor([1]), T.ones(1, 1, 1), [T.ones(1, 1)] * 2, False, 1, 0.0, "
    "False, False)": RuntimeError,
    "T.lstm(T.ones(3, 1), T.tensor([1, 1]), [T.ones(1, 1, 1)] * 2, [T.ones(4, 1)] * 2, False, 1, "
    "0.0, False, False)": RuntimeError,
    "T.instance_norm(T.ones(1, 2, 3), None, None, T.ones(2), T.ones(2).double(), False, 0.1, 1e-5, "
    "False)": RuntimeError,
    "T.linalg.norm(T.ones(1, 1, 1), dim=(0, 1, 2))": RuntimeError,
    "T.slice_scatter(T.ones(4), T.ones(0), 0, 1, 3, 0)": RuntimeError,
    "T.nn.functional.multi_head_attention_forward(*[T.ones(2, 4)] * 3, 4, 2, T.ones(12, 4), None, "
    "None, None, False, 7, T.ones(4, 4), None)": ValueError,
    # What is looked at first.
    "T.bilinear(T.ones(2, 3), T.ones(2, 4), T.tensor(1))": RuntimeError,
    "T.index_add(T.ones(4, 3), 1, T.tensor([2, 0]), T.tensor(0.5))": RuntimeError,
    "T.rnn_relu_cell(T.ones(2, 2), T.ones(2, 2), T.ones(4), T.ones(2, 2))": RuntimeError,
    "T.nn.functional.embedding_bag(T.ones(2, 3) * 1j, T.ones(6, 3), T.tensor([0, 2]))": ValueError,
    "T.nn.functional.l1_loss(T.ones(3), T.ones(3), T.ones(3, 5), 0)": RuntimeError,
    "T.nn.functional.cross_entropy(T.ones(4, 3, 2), T.ones(4, 2).byte())": RuntimeError,
    "T.nn.functional.nll_loss(T.ones(4, 3, 2), T.ones(4, 2).byte())": RuntimeError,
    "T.nn.functional.cross_entropy(T.ones(4, 3), T.ones(4).byte(), T.ones(3), None, -1, "
    "label_smoothing=0.1)": RuntimeError,
    "T.nn.functional.instance_norm(T.ones(2, 3, 4), T.ones(3), T.ones(3), T.ones(1, 3), None, "
    "False)": RuntimeError,
    "T.nn.functional.linear(T.ones(1, 2, 2), T.ones(2, 2), T.tensor([1, 1]))": RuntimeError,
    "T.nn.functional.scaled_dot_product_attention(*[T.ones(2, 3, 4)] * 3, is_causal=1)": TypeError,
}
TAKEN = {
    "T.ones(1, 2, 1).squeeze(0, 2)": [1, 1],
    "T.ones(1, 2, 1).squeeze_(0, 2)": [1, 1],
    "T.ones(2, 3).count_nonzero(0, 1)": 6,
    "T.linalg.det(T.eye(2), out=T.zeros(()))": 1,
    "T.sum(T.eye(2), None, out=T.zeros(()))": 2,
    "T.chain_matmul(T.ones(1, 2), T.ones(2, 1), out=T.zeros(1, 1))": [[2]],
    "T.ones(2).broadcast_to(size=(1, 2))": [[1, 1]],
    "T.ones(2).sum_to_size(size=(1,))": [2],
    "T.arange(2).flip(0)": [1, 0],
    "T.arange(2).tile(2)": [0, 1, 0, 1],
    "T.add(T.ones(2), 0.5, T.ones(2))": [1.5, 1.5],
    "T.addmm(2, T.ones(1, 1), 3, T.ones(1, 1), T.ones(1, 1))": [[5]],
    "T.sub(2**63, 2.5)": 2.0**63,
    "T.ones(1, 1).fill_diagonal_(2**63)": [[2.0**63]],
    "T.ones(1).lerp(T.zeros(1), 0.5 + 0j)": [0.5],
    "T.pdist(T.ones(2, 3), T.tensor(1 + 0j))": [0],
    "T.ones(2, 3).max(dim=T.tensor(1)).indices": [0, 0],
    "T.ones(2, 3).lu(get_infos='a')[2]": 2,
    "T.stft(T.ones(4), 4, 2, 4, T.ones(4), [], [], return_complex=True).abs()": [[4], [0], [0]],
    "T.from_dlpack(T.ones(2), device='cpu', copy=True)": [1, 1],
    "T.fake_quantize_per_tensor_affine(T.ones(1), T.tensor([0.5]), T.tensor([0.5]), 0, 1)": [0.5],
    "T.fake_quantize_per_tensor_affine(T.ones(1), T.tensor(0.5), T.tensor(20), 0, 10)": [-5],
    "T.repeat_interleave(T.tensor([1, 2]))": [0, 1, 1],
    "T.tensordot(T.ones(1), T.ones(1), dims=T.tensor(0.5))": [[1]],
    "T.unravel_index(T.tensor(5), True)[0]": 0,
    "T.linalg.cond(T.ones(2, 2), 1)": float("inf"),
    "T.linalg.cond(T.stack([T.ones(2, 2), T.eye(2)]), 'fro')": [float("inf"), pytest.approx(2)],
    "T.linalg.lstsq(T.eye(2), T.ones(2, 1), float('inf'), driver='gelsd').rank": 2,
    "T.nn.functional.linear(T.ones(1, 1, 2), T.ones(2, 2), T.tensor(1))": [[[3, 3]]],
    "T.nn.functional.kl_div(T.zeros(2, 1), T.ones(2, 1) * 2, True, reduction='batchmean')": (
        pytest.approx(0.6931472)
    ),
    "T.nn.functional.elu_(-T.ones(1), 1, 2, 3)": [pytest.approx(-1.9004259)],
    "T.gru(T.ones(3, 1), T.tensor([1, 1]), T.ones(1, 1, 1), [T.zeros(3, 1), T.zeros(3, 1)], False, "
    "1, 0.0, False, False)[0]": [[0.5], [0.25]],
    "T.nn.functional.nll_loss(T.ones(1, 3, 1), T.ones(1, 1).long(), T.ones(1, 3))": -1,
    "T.nn.functional.cross_entropy(T.zeros(1, 1), T.zeros(1).long(), label_smoothing=-1.0)": 0,
    "T.lstm_cell(T.ones(1, 1), [T.ones(1, 1), T.ones(1, 1).int()], *[T.zeros(4, 1)] * 2)[1]": [
        [0.5]
    ],
    "T.gru(T.ones(1, 1, 1), T.ones(1, 1, 1), [T.zeros(3, 1), T.zeros(3, 1), T.tensor(0), "
    "T.zeros(3)], True, 1, 0.0, False, False, False)[0]": [[[0.5]]],
    "T.ones(2, 2).sum(None, True)": [[4]],
    "T.ones(2, 2).var(None, True, True)": [[0]],
    "T.ones(2, 2).var(keepdim=True)": [[0]],
    "T.ones(2, 2).std(correction=0, keepdim=True)": [[0]],
    "T.tensor(True).cumsum_(0)": True,
    "T.nn.functional.normalize(T.tensor([[3.0, 4.0]]), None)": [pytest.approx([0.6, 0.8])],
    "T.nan_to_num(T.tensor([float('nan')]), None)": [0],
    "T.full((2,), -4, dtype=T.uint8)": [252, 252],
    "T.take_along_dim(T.ones(3), T.tensor([1, 2]).int())": [1, 1],
    "T.native_dropout(T.tensor([True]), 0.5, False)[0]": [True],
    "T.trapezoid(T.ones(2, 0), T.ones(3))": [0, 0],
    "T.ones(6).hsplit(3, -5)[2]": [1] * 5,
    "T.logit(T.tensor([0.4]), 0.6)": [pytest.approx(0.4054651)],
    "T.linalg.lstsq(2 * T.eye(2), T.tensor([2.0, 4.0])).solution": [pytest.approx(1), 2],
    "T.linalg.lstsq(T.eye(2)[None], T.tensor([[2.0, 4.0]])).solution": [[pytest.approx(2), 4]],
    "T.nn.functional.linear(T.ones(3), T.ones(4, 3), T.tensor(1))": [4] * 4,
    "T.nn.functional.adaptive_avg_pool2d(T.ones(2, 3), 1)": [[1]],
    "T.nn.functional.embedding_bag(T.tensor([1, 1]).byte(), T.eye(2), T.tensor([0]))": [[0, 1]],
    "T.nn.functional.pixel_unshuffle(T.ones(1, 0, 6), 3)": [[]],
    "T.nn.functional.poisson_nll_loss(T.zeros(1).byte(), T.ones(1).half())": 1,
    "T.meshgrid(T.ones(1), indexing=None)[0]": [1],
    "T.nn.functional.scaled_dot_product_attention(*[T.ones(1, 1)] * 3, dropout_p=float('nan'))": [
        [1]
    ],
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(lib: ModuleType, call: str) -> None:
    with pytest.raises(REFUSED[call]):
        eval(call, {"T": lib})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", TAKEN)
def test_taken(lib: ModuleType, call: str) -> None:
    assert eval(call, {"T": lib}).tolist() == TAKEN[call]


def test_integers_stay_float32_beside_half(lib: ModuleType) -> None:
    """The exponential of integers is float32, whatever they meet afterwards."""
    loss = lib.nn.functional.poisson_nll_loss(lib.ones(2).byte(), lib.ones(2).half())
    assert loss.dtype is lib.float32


# What checks the arguments of several in-place methods, and methods that are no ops.
INSIDE = {"scatter_reduce_", "addmm_", "baddbmm_", "addmv_", "nan_to_num_"}
INSIDE |= {"backward", "resize", "resize_as", "module_load"}


def test_an_unknown_argument_is_refused_in_public_words() -> None:
    for name, method in METHODS.items():
        with pytest.raises(TypeError) as error:
            method(nnkit.ones(2, 2), unknown=1)
        told = str(error.value)
        assert "<locals>" not in told, name
        assert not told.startswith("_") or name.startswith("_") or name in INSIDE, told
