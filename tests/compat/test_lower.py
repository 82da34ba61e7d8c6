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
        "[1.64, 1.12, 2.59] [3.27]",
        "[3.99] [3.27]",
        "[2.0, 2.0, 2.0] [0.0, 0.0, 0.0]",
        "[1.54, -0.29] [1.54, -0.29, -2.18]",
        "[0.0, 2.0, 1.0, 3.0]",
        "cpu None",
        "5.0",
    ]
