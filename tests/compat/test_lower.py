"""The functions below torch's functional ones, with what torch gives."""

from __future__ import annotations

from tests.compat.test_install import run

PROGRAM = """
import warnings

import torch

warnings.simplefilter("ignore")
torch.manual_seed(0)
a, b, y = torch.randn(2, 3), torch.randn(2, 3), torch.tensor([1.0, -1.0])
x = torch.randn(1, 2, 4, 4)
ones, zeros = torch.ones(3), torch.zeros(3)


def show(*values):
    print(*[[round(float(x), 2) for x in v.flatten()] for v in values])


show(torch.kl_div(a, b.abs(), 2), torch.kl_div(a, b, log_target=True))
show(torch.poisson_nll_loss(a, b, True, False, 1e-8, 2))
show(torch.margin_ranking_loss(a[0], a[1], y[:1], 0.5))
show(torch.margin_ranking_loss(a, b, y[:1], 0.5, 0))
show(torch.cosine_embedding_loss(a, b, y, 0.1, 0))
show(torch.hinge_embedding_loss(a, torch.ones(2, 3), 2.0, 0))
show(torch.triplet_margin_loss(a, b, a + 1))
show(torch.binary_cross_entropy_with_logits(a, b.sigmoid(), None, None, 2))
scores = x[0, 0, :, :3].log_softmax(1).unsqueeze(1)
show(torch.ctc_loss(scores, torch.tensor([[1, 2]]), (4,), (2,)))
show(torch.grid_sampler(x, torch.zeros(1, 1, 1, 2), 0, 0, False))
show(torch.affine_grid_generator(torch.eye(2, 3)[None], (1, 1, 1, 2), True))
w = torch.ones(1, 2, 4, 4)
show(torch.convolution(x, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1))
print(torch.convolution(x, w.mT[0, :, None], None, [2, 2], [0], [1, 1], True, [1, 1], 1).shape)
for found in (
    torch.native_layer_norm(a, (3,), None, None, 1e-5),
    torch.native_group_norm(x, None, None, 1, 2, 16, 2, 1e-5),
    torch.native_batch_norm(a, None, None, None, None, True, 0.1, 1e-5),
    torch.native_batch_norm(a, None, None, zeros, ones, False, 0.1, 1e-5),
):
    print([tuple(f.shape) for f in found], [round(float(f.sum()), 2) for f in found[1:]])
a.requires_grad_()
for found in (
    torch.native_layer_norm(a, (3,), None, None, 1e-5),
    torch.native_batch_norm(a, None, None, None, None, True, 0.1, 1e-5),
):
    print([f.requires_grad for f in found])
a.requires_grad_(False)
show(torch.norm_except_dim(a, 2, 1), torch.norm_except_dim(a, 2, -1))
show(torch.nuclear_norm(a), torch.frobenius_norm(a, (0, 1)))
show(torch.fill_(a[0].clone(), 2), torch.zero_(a[0].clone()))
show(torch.as_strided_(a.clone(), (2,), (1,)), torch.resize_as_(a.clone(), b[:1]))
show(torch.nn.functional.native_channel_shuffle(torch.arange(4.0).view(1, 4, 1, 1), 2))
with torch.cpu.stream(torch.cpu.current_stream()):
    print(torch.cpu.current_device(), torch.random.thread_safe_generator())
p = torch.nn.Parameter(torch.zeros(2))
p.grad = torch.tensor([3.0, 4.0])
print(torch.nn.utils.clip_grad_norm(p, 1.0).item())
"""


def test_functions_below_the_functional_ones() -> None:
    assert run(PROGRAM).splitlines() == [
        "[0.13] [-1.7, 2.62, 0.71, -0.65, 0.27, 1.9]",
        "[5.77]",
        "[0.0, 0.0, 1.28]",
        "[0.0, 1.63, 1.96, 0.0, 0.99, 2.08]",
        "[0.38, 0.02]",
        "[1.54, -0.29, -2.18, 0.57, -1.08, -1.4]",
        "[1.44, 1.19]",
        "[4.84]",
        "[2.05]",
        "[1.0, -0.21]",
        "[-1.0, 0.0, 1.0, 0.0]",
        "[3.93]",
        "torch.Size([1, 1, 11, 11])",
        "[(2, 3), (2, 1), (2, 1)] [-0.95, 1.82]",
        "[(1, 2, 4, 4), (1, 2), (1, 2)] [0.25, 2.22]",
        "[(2, 3), (3,), (3,)] [-1.42, 7.15]",
        "[(2, 3), (0,), (0,)] [0.0, 0.0]",
        "[True, False, False]",
        "[True, False, False]",
        "[1.64, 1.12, 2.59] [3.27]",
        "[3.99] [3.27]",
        "[2.0, 2.0, 2.0] [0.0, 0.0, 0.0]",
        "[1.54, -0.29] [1.54, -0.29, -2.18]",
        "[0.0, 2.0, 1.0, 3.0]",
        "cpu None",
        "5.0",
    ]


ATTENTION = """
import math
import torch
from torch.nn import functional as F
torch.manual_seed(0)
x = torch.randn(2, 3, 4, 4, dtype=torch.float64, requires_grad=True)
g = torch.randn_like(x)
for name in ("softmax", "log_softmax"):
    out = getattr(torch, f"_{name}")(x, 1, False)
    (expected,) = torch.autograd.grad(out, x, g)
    print(torch.allclose(getattr(torch, f"_{name}_backward_data")(g, out, 1, x.dtype), expected))
print(torch._softmax_backward_data(g.float(), out.float(), 1, torch.float32).dtype)
into, out = torch.empty_like(g), out.detach()
print(torch._softmax_backward_data(g, out, 1, g.dtype, grad_input=into) is into)
scores, keys = torch.rand(4, 4) > 0.5, torch.tensor([[False, True, False, True], [True] * 4])
every = torch.rand(2, 3, 4, 4) > 0.5
for mask, full, kind in (
    (scores, scores, 0), (keys, keys[:, None, None].expand_as(x), 1), (every, every, 2)
):
    out = torch._masked_softmax(x, mask, None, kind)
    hidden = F.softmax(x.masked_fill(full, -math.inf), -1).nan_to_num(0)
    given, expected = (torch.autograd.grad(o, x, g)[0] for o in (out, hidden))
    print(torch.allclose(out, hidden), torch.allclose(given, expected.nan_to_num(0)))
for mask in (every.float(), scores):
    try:
        print(torch._masked_softmax(x, mask, None, 2))
    except RuntimeError as error:
        print(error)
layer = torch.nn.MultiheadAttention(4, 2, batch_first=True, dtype=torch.float64).eval()
x = x[0].detach()
parts = layer.in_proj_weight, layer.in_proj_bias, layer.out_proj.weight, layer.out_proj.bias
later = torch.ones(4, 4, dtype=torch.bool).triu(1)
padded = torch.arange(4).expand(3, 4) > 2
with torch.no_grad():
    for own, options in (
        ({}, {}),
        ({"mask": padded, "mask_type": 1}, {"key_padding_mask": padded}),
        ({"mask": later, "mask_type": 0}, {"attn_mask": later}),
        ({"mask": later.expand(3, 2, 4, 4), "mask_type": 2}, {"attn_mask": later}),
    ):
        found = torch._native_multi_head_attention(x, x, x, 4, 2, *parts, **own)
        print(*map(torch.allclose, found, layer(x, x, x, **options)))
    print(torch._native_multi_head_attention(x, x, x, 4, 2, *parts, need_weights=False)[1])
    q, k, v = torch._transform_bias_rescale_qkv(x.repeat(1, 1, 3), layer.in_proj_bias + 1, 2)
    print(q.shape, torch.allclose(v, (x + 1).view(3, 4, 2, 2).transpose(1, 2)))
    print(torch.allclose(q * math.sqrt(2), k))
print(torch._VF._add_relu(torch.tensor([-3.0, 2.0]), 1).tolist())
"""


def test_functions_that_attention_is_made_of() -> None:
    assert run(ATTENTION).splitlines() == [
        "True", "True", "torch.float32", "True", "True True", "True True", "True True",
        "Mask should be a boolean tensor", "Mask shape should match input",
        *["True True"] * 4, "None", "torch.Size([3, 2, 4, 2]) True", "True", "[0.0, 3.0]",
    ]  # fmt: skip


NEXT = """
import torch
from torch.utils._device import set_device
x, n = torch.arange(6.0).view(1, 1, 2, 3), torch._C._nn
print(n.replication_pad1d(x[0], padding=(1, 0))[0, 0], n.im2col(x, 2, 1, 0, 1).shape)
print(n.col2im(n.im2col(x, (2, 2), 1, 0, 1), (2, 3), (2, 2), 1, 0, 1)[0, 0, 0])
torch.library.define("small::twice", "(Tensor x) -> Tensor", tags=torch.Tag.pt2_compliant_tag)
torch.library.impl("small::twice", "cpu", lambda x: 2 * x)
print(torch.ops.small.twice(torch.ones(2)), torch.Tag.pointwise.name, int(torch.Tag.core))
@set_device("meta")
def made():
    yield torch.ones(1).device
print(*made())
"""


def test_columns_tags_and_generators_on_a_device() -> None:
    assert run(NEXT).splitlines() == [
        "tensor([0., 0., 1., 2.]) torch.Size([1, 4, 2])", "tensor([0., 2., 2.])",
        "tensor([2., 2.]) pointwise 0", "meta",
    ]  # fmt: skip
