"""`nn.attention`: kernels that may be used, masks known by their kind, scores as functions."""

from __future__ import annotations

import math
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit


def attend(lib: ModuleType, *tensors: Any, **options: Any) -> Any:
    return lib.nn.functional.scaled_dot_product_attention(*tensors, **options)


def test_kernels_that_are_allowed(lib: ModuleType) -> None:
    attention = import_module(f"{lib.__name__}.nn.attention")
    sdpa_kernel, Backend = attention.sdpa_kernel, attention.SDPBackend
    cuda = import_module(f"{lib.__name__}.backends.cuda")
    q = lib.ones(1, 2, 3, 4)
    for allowed in (Backend.MATH, Backend.FLASH_ATTENTION, list(Backend.__members__.values())):
        with sdpa_kernel(allowed):
            assert attend(lib, q, q, q).shape == (1, 2, 3, 4)
    with sdpa_kernel(Backend.MATH):
        assert cuda.math_sdp_enabled() and not cuda.flash_sdp_enabled()
        assert not cuda.mem_efficient_sdp_enabled() and not cuda.cudnn_sdp_enabled()
    assert cuda.math_sdp_enabled() and cuda.flash_sdp_enabled()
    for refused in (Backend.EFFICIENT_ATTENTION, Backend.ERROR, []):
        with pytest.raises(RuntimeError, match="(?i)no viable backend"), sdpa_kernel(refused):
            attend(lib, q, q, q)
    for options in ({"dropout_p": 0.1}, {"q": q[0, 0]}):
        x = options.pop("q", q)
        with pytest.raises(RuntimeError, match="(?i)no available kernel"):
            with sdpa_kernel(Backend.FLASH_ATTENTION):
                attend(lib, x, x, x, **options)
    for wrong in (3, "math"):
        with pytest.raises(AssertionError, match="SDPBackend"), sdpa_kernel(wrong):
            pass
    with pytest.warns(FutureWarning, match="sdp_kernel.+ is deprecated"):
        with cuda.sdp_kernel(enable_flash=False):
            assert cuda.math_sdp_enabled() and not cuda.flash_sdp_enabled()
    assert cuda.flash_sdp_enabled()
    cuda.enable_flash_sdp(False)
    try:
        assert not cuda.flash_sdp_enabled()
    finally:
        cuda.enable_flash_sdp(True)
    assert [int(way) for way in (Backend.MATH, Backend.CUDNN_ATTENTION)] == [0, 3]


def test_a_mask_of_a_causal_call(lib: ModuleType) -> None:
    """The fused kernel takes both, what computes in steps does not."""
    attention = import_module(f"{lib.__name__}.nn.attention")
    random = np.random.default_rng(1)
    q, k, v = (lib.tensor(random.standard_normal((1, 2, n, 4))).requires_grad_() for n in (3, 5, 5))
    mask = lib.tensor(random.standard_normal((1, 2, 3, 5)))
    later = lib.ones(3, 5, dtype=lib.bool).triu(1)
    for given in (mask, mask > -1):
        whole = given & ~later if given.dtype is lib.bool else given.masked_fill(later, -math.inf)
        expected = attend(lib, q, k, v, attn_mask=whole)
        found = attend(lib, q, k, v, attn_mask=given, is_causal=True)
        assert lib.allclose(found, expected, rtol=1e-12)
        for mine, theirs in zip(
            *(lib.autograd.grad(x.sin().sum(), (q, k, v)) for x in (found, expected))
        ):
            assert lib.allclose(mine, theirs, rtol=1e-12)
    refused = [
        (q, k, v, {"attn_mask": mask, "dropout_p": 0.1}),
        (q, k, v, {"attn_mask": mask.clone().requires_grad_()}),
        (q, k, v[..., :3], {"attn_mask": mask}),
        (q[0], k[0], v[0], {"attn_mask": mask[0]}),
    ]
    for *tensors, options in refused:
        with pytest.raises(RuntimeError, match="is_causal"):
            attend(lib, *tensors, is_causal=True, **options)
    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        with pytest.raises(RuntimeError, match="is_causal"):
            attend(lib, q, k, v, attn_mask=mask, is_causal=True)


@pytest.mark.parametrize("name", ["causal_upper_left", "causal_lower_right"])
def test_causal_masks(name: str, torch: ModuleType) -> None:
    mine = import_module("nnkit.nn.attention.bias")
    theirs = import_module("torch.nn.attention.bias")
    random = np.random.default_rng(0)
    q, k = random.standard_normal((1, 2, 3, 4)), random.standard_normal((1, 2, 5, 4))
    for lengths in ((3, 5), (3, 3)):
        keys = k[:, :, : lengths[1]]
        t = [torch.tensor(x) for x in (q, keys, keys)]
        n = [nnkit.tensor(x) for x in (q, keys, keys)]
        expected = attend(torch, *t, attn_mask=getattr(theirs, name)(*lengths))
        found = attend(nnkit, *n, attn_mask=getattr(mine, name)(*lengths))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(AssertionError):
        getattr(mine, name)(1, 2, 3)


def test_causal_biases(lib: ModuleType) -> None:
    bias = import_module(f"{lib.__name__}.nn.attention.bias")
    variants, attend = bias.CausalVariant, lib.nn.functional.scaled_dot_product_attention
    assert list(map(int, variants)) == [1, 2] and [v.name for v in variants][0] == "UPPER_LEFT"
    made = bias.causal_lower_right(2, 3)
    assert isinstance(made, bias.CausalBias) and made.variant is variants.LOWER_RIGHT
    assert (made.seq_len_q, made.seq_len_kv) == (2, 3) and repr(made).startswith("tensor([[ True,")
    assert made._materialize().tolist() == [[True, True, False], [True, True, True]]
    x = lib.randn(1, 2, 4, requires_grad=True)
    out = attend(x, x, x, attn_mask=bias.causal_upper_left(2, 2))
    assert type(out) is lib.Tensor and out.requires_grad
    assert lib.equal(out, attend(x, x, x, is_causal=True))
    with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
        attend(x, x, x, bias.causal_upper_left(2, 2), 0.0, True)
    with pytest.raises(AssertionError, match="variant must be a CausalVariant, got int"):
        bias.CausalBias(1, 2, 2)
    with pytest.warns(UserWarning, match="Lower right causal bias will produce NaNs"):
        bias.causal_lower_right(3, 2)


SCORES: dict[str, Any] = {
    "none": lambda T: None,
    "distance": lambda T: lambda s, b, h, i, j: s + (i - j) * 0.1,
    "table": lambda T: lambda s, b, h, i, j: s * T.tensor([0.5, 2.0], dtype=T.float64)[h],
    "cap": lambda T: lambda s, b, h, i, j: T.tanh(s / 2) * 2,
    "causal": lambda T: lambda s, b, h, i, j: T.where(i >= j, s, -float("inf")),
}
MASKS: dict[str, Any] = {
    "none": None,
    "causal": lambda b, h, i, j: i >= j,
    "window": lambda b, h, i, j: (i - j <= 1) & (i >= j),
    "strict": lambda b, h, i, j: i > j,  # of which the first query sees nothing
    "batch": lambda b, h, i, j: (j < 2) | (b == 0),
}


@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", SCORES)
def test_flex_attention(score: str, mask: str, torch: ModuleType) -> None:
    random = np.random.default_rng(1)
    arrays = [random.standard_normal((2, 2, 4, 8)) for _ in range(3)]

    def attention(T: ModuleType, *tensors: Any) -> Any:
        flex = import_module(f"{T.__name__}.nn.attention.flex_attention")
        block = MASKS[mask] and flex.create_block_mask(MASKS[mask], 2, 2, 4, 4, device="cpu")
        options = {"score_mod": SCORES[score](T), "block_mask": block}
        request = flex.AuxRequest(lse=True)
        out, aux = flex.flex_attention(*tensors, **options, return_aux=request)
        return out, aux.lse

    expected = attention(torch, *map(torch.tensor, arrays))
    found = attention(nnkit, *map(nnkit.tensor, arrays))
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_gradients_of_flex_attention() -> None:
    """Also through a query that sees nothing."""
    flex = import_module("nnkit.nn.attention.flex_attention")
    random = np.random.default_rng(1)
    arrays = [random.standard_normal((1, 1, 3, 2)) for _ in range(3)]
    leaves = [nnkit.tensor(a, requires_grad=True) for a in arrays]
    mask = flex.create_block_mask(MASKS["strict"], 1, 1, 3, 3)
    for score in ("none", "cap"):
        options = {"score_mod": SCORES[score](nnkit), "block_mask": mask}
        assert nnkit.autograd.gradcheck(
            lambda *ts, o=options: flex.flex_attention(*ts, **o), leaves
        )


@pytest.mark.filterwarnings("ignore:flex_attention called without")
def test_flex_attention_of_groups_and_errors(lib: ModuleType) -> None:
    flex = import_module(f"{lib.__name__}.nn.attention.flex_attention")
    q, k = lib.ones(1, 4, 2, 8), lib.ones(1, 2, 2, 8)
    assert flex.flex_attention(q, k, k, enable_gqa=True).shape == (1, 4, 2, 8)
    with pytest.raises(ValueError, match="same number of heads"):
        flex.flex_attention(q, k, k)
    with pytest.raises(NotImplementedError, match="4D"):
        flex.flex_attention(q[0], k[0], k[0])
    assert flex.flex_attention(q, q.double(), q).dtype is lib.float32
    mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, 8, 8, device="cpu")
    with pytest.raises(ValueError, match="block_mask was created for"):
        flex.flex_attention(q, q, q, block_mask=mask)
    with pytest.raises(RuntimeError, match="callable"):
        flex.and_masks(3)


def test_block_masks(torch: ModuleType) -> None:
    def computed(T: ModuleType) -> Any:
        flex = import_module(f"{T.__name__}.nn.attention.flex_attention")
        causal = lambda b, h, i, j: i >= j  # noqa: E731
        near = lambda b, h, i, j: i - j < 40  # noqa: E731
        both = flex.and_masks(causal, near)
        either = flex.or_masks(causal, lambda b, h, i, j: h == 1)
        found: list[Any] = [flex.create_mask(both, 1, 2, 5, 7, device="cpu").tolist()]
        for mod, sizes in ((causal, (None, None)), (both, (2, None)), (either, (2, 3))):
            mask = flex.create_block_mask(mod, *sizes, 300, 260, device="cpu", BLOCK_SIZE=64)
            found += [mask.shape, mask.numel(), mask.BLOCK_SIZE, mask.seq_lengths]
            found += [mask.sparsity(), mask.to_dense().tolist(), mask[0].shape]
            found += [mask.kv_num_blocks.tolist(), mask.full_kv_num_blocks.tolist()]
        return found

    assert computed(nnkit) == computed(torch)
