"""The order of results in memory; nnkit's strides and torch's are what is written here."""

from __future__ import annotations

from itertools import product
from types import ModuleType

import pytest

import nnkit
from tests.frameworks import raises

LAST, LAST_3D = "torch.channels_last", "torch.channels_last_3d"
X = "torch.zeros(2, 3, 4, 5)"
# Of one channel, which lies last: torch keeps the stride of such a dimension in copies.
SINGLE = "torch.ones(4, 1, 2, 2).to(memory_format=torch.channels_last)"
Y = f"{X}.to(memory_format={LAST})"
W = f"torch.zeros(2, 8, 4, 4).to(memory_format={LAST})"
V = f"torch.zeros(2, 2, 4, 4, 4).to(memory_format={LAST_3D})"
NHWC = (60, 1, 15, 3)
ROWS, VOLUMES = (108, 27, 9, 3, 1), (108, 1, 36, 12, 4)

STRIDES = [
    # Conversions.
    (Y, NHWC),
    (f"{X}.contiguous(memory_format={LAST})", NHWC),
    (f"{X}.clone(memory_format={LAST})", NHWC),
    (f"{X}.double(memory_format={LAST})", NHWC),
    (f"{X}.to(torch.int64, memory_format={LAST})", NHWC),
    (f"{Y}.clone()", NHWC),
    (f"{Y}.double()", NHWC),
    (f"{Y}.contiguous()", (60, 20, 5, 1)),
    (f"torch.zeros(1, 2, 3, 4, 5).to(memory_format={LAST_3D})", (120, 1, 40, 10, 2)),
    (f"torch.nn.Conv2d(3, 4, 2).to(memory_format={LAST}).weight", (12, 1, 6, 3)),
    (f"torch.nn.Conv2d(3, 4, 2).to(memory_format={LAST}).bias", (1,)),
    # New tensors.
    (f"torch.empty(2, 3, 4, 5, memory_format={LAST})", NHWC),
    (f"torch.zeros_like({X}, memory_format={LAST})", NHWC),
    (f"torch.rand_like({Y})", NHWC),
    (f"torch.ones_like({Y}, dtype=torch.int64)", NHWC),
    (f"torch.ones_like({Y}, memory_format=torch.contiguous_format)", (60, 20, 5, 1)),
    ("torch.empty_permuted((2, 3, 4, 5), (0, 2, 3, 1))", NHWC),
    (f"{Y}.new_zeros(2, 3, 4, 5)", (60, 20, 5, 1)),
    # Ops that keep it.
    (f"{Y} + 1", NHWC),
    (f"{Y} * torch.ones(3, 1, 1)", NHWC),
    (f"{Y}.relu()", NHWC),
    (f"torch.cat([{Y}, {Y}], 1)", (120, 1, 30, 6)),
    (f"torch.nn.functional.conv2d({Y}, torch.ones(4, 3, 2, 2))", (48, 1, 16, 4)),
    (f"torch.nn.Conv2d(3, 4, 2).to(memory_format={LAST})({X})", (48, 1, 16, 4)),
    (f"torch.nn.functional.max_pool2d({Y}, 2)", (12, 1, 6, 3)),
    (f"torch.nn.BatchNorm2d(3).eval()({Y})", NHWC),
    (f"torch.empty(0).resize_(2, 3, 4, 5, memory_format={LAST})", NHWC),
    (f"torch.nn.functional.group_norm({Y}, 3)", NHWC),
    (f"torch.nn.functional.group_norm({V}, 2)", (128, 1, 32, 8, 2)),
    (f"torch.nn.functional.interpolate({Y}, scale_factor=2)", (240, 1, 30, 3)),
    (f"torch.nn.functional.interpolate({Y}, size=(4, 5), mode='bicubic')", NHWC),
    (f"torch.nn.functional.interpolate({V}, scale_factor=1, mode='trilinear')", (128, 1, 32, 8, 2)),
    (f"torch.nn.functional.pad({Y}, (1, 1))", (84, 1, 21, 3)),
    (f"torch.nn.functional.pad({Y}, (1, 1, 1, 1), mode='reflect')", (126, 1, 21, 3)),
    (f"torch.nn.functional.pad({Y}, (1, 1, 1, 1), mode='circular')", (126, 42, 7, 1)),
    (f"torch.nn.functional.pixel_unshuffle({W}, 2)", (128, 1, 64, 32)),
    (f"torch.nn.functional.channel_shuffle({Y}, 3)", NHWC),
    (f"torch.nn.functional.pixel_shuffle({W}, 2)", (128, 1, 16, 2)),
    (f"torch.nn.functional.local_response_norm({Y}, 2)", NHWC),
    (f"torch.nn.functional.max_pool3d({V}.bfloat16(), 2)", (16, 1, 8, 4, 2)),
    (f"torch.nn.functional.conv3d({V}, torch.ones(4, 2, 2, 2, 2))", VOLUMES),
    (f"torch.nn.functional.conv3d({V}[:1], torch.ones(4, 1, 2, 2, 2), groups=2)", VOLUMES),
    # Those that do not; reductions and running totals lie by rows.
    (f"torch.nn.functional.avg_pool3d({V}, 2)", (16, 8, 4, 2, 1)),
    (f"torch.nn.functional.conv3d({V}[:1], torch.ones(4, 2, 2, 2, 2))", ROWS),
    (f"torch.nn.functional.conv3d({V}.double(), torch.ones(4, 2, 2, 2, 2).double())", ROWS),
    (f"torch.nn.ConvTranspose3d(2, 4, 2, 1, 1).double()({V}.double())", ROWS),
    (f"{Y}.sum(0)", (20, 5, 1)),
    (f"{Y}.transpose(1, 2).mean(0)", (15, 5, 1)),
    (f"{Y}.amax(2)", (15, 5, 1)),
    (f"{Y}.cumsum(1)", (60, 20, 5, 1)),
    (f"{Y}.cummax(1).indices", (60, 20, 5, 1)),
    (f"{Y}.reshape(6, 20)", (20, 1)),
    (f"{Y}.softmax(1)", (60, 20, 5, 1)),
    # Matrices lie by columns where LAPACK made them, and so do indices.
    ("torch.linalg.inv(torch.eye(3))", (1, 3)),
    ("torch.linalg.solve(torch.eye(3), torch.ones(3, 2))", (1, 3)),
    ("torch.linalg.cholesky(torch.eye(3))", (1, 3)),
    ("torch.linalg.cholesky(torch.eye(3), upper=True)", (1, 3)),
    ("torch.linalg.qr(torch.ones(4, 2)).Q", (1, 4)),
    ("torch.linalg.qr(torch.ones(4, 2)).R", (1, 2)),
    ("torch.linalg.svd(torch.eye(3)).U", (1, 3)),
    ("torch.linalg.eigh(torch.eye(3)).eigenvectors", (1, 3)),
    ("torch.linalg.solve_triangular(torch.eye(3), torch.ones(3, 2), upper=True)", (1, 3)),
    ("torch.geqrf(torch.ones(4, 2)).a", (1, 4)),
    ("torch.cholesky_inverse(torch.eye(3))", (1, 3)),
    ("torch.ones(2, 3).nonzero()", (1, 6)),
    (f"{SINGLE}.clone()", (4, 1, 2, 1)),
    (f"{SINGLE}.half()", (4, 1, 2, 1)),
    (f"{SINGLE}.to(torch.float32, copy=True)", (4, 1, 2, 1)),
    (f"{SINGLE}.double().long()", (4, 1, 2, 1)),
    (f"{SINGLE}.to('meta')", (4, 1, 2, 1)),
    (f"{SINGLE}.to('meta').clone()", (4, 1, 2, 1)),
    (f"{SINGLE}.to('meta').half()", (4, 1, 2, 1)),
    (f"torch.empty_like({SINGLE})", (4, 1, 2, 1)),
    (f"torch.zeros_like({SINGLE}, dtype=torch.int16)", (4, 1, 2, 1)),
    (f"torch.ones_like({SINGLE}, device='meta')", (4, 1, 2, 1)),
    (f"torch.full_like({SINGLE}, 2)", (4, 1, 2, 1)),
    (f"torch.randint_like({SINGLE}, 2)", (4, 1, 2, 1)),
    (f"torch.zeros_like({SINGLE}[:2, :, :1])", (2, 1, 2, 1)),
    (f"torch.zeros_like({SINGLE}.bool())", (4, 1, 2, 1)),
    (f"{SINGLE}.to(torch.complex64).clone()", (4, 1, 2, 1)),
    (f"{SINGLE}.exp()", (4, 4, 2, 1)),
    ("torch.ones(4, 1).T.clone()", (1, 1)),
    ("torch.ones(1, 4).T.clone()", (1, 4)),
    ("torch.ones(1, 4).T.bfloat16()", (1, 4)),
    ("torch.ones(2, 3).nonzero(as_tuple=True)[1]", (1,)),
]

ERRORS = [
    (RuntimeError, "rank 4", f"torch.zeros(2, 3).to(memory_format={LAST})"),
    (RuntimeError, "rank 5", f"{X}.contiguous(memory_format={LAST_3D})"),
    (RuntimeError, "rank 4", f"torch.empty(2, 3, memory_format={LAST})"),
    (RuntimeError, "physical_layout", "torch.empty_permuted((2, 3), (0, 0))"),
]


@pytest.mark.parametrize(("call", "strides"), STRIDES, ids=[s[0] for s in STRIDES])
def test_strides(lib: ModuleType, call: str, strides: tuple[int, ...]) -> None:
    assert eval(call, {"torch": lib}).stride() == strides


@pytest.mark.parametrize(("error", "noun", "call"), ERRORS, ids=[e[2] for e in ERRORS])
def test_errors(lib: ModuleType, error: type[Exception], noun: str, call: str) -> None:
    with raises(lib, error, noun):
        eval(call, {"torch": lib})


STATISTICS = "mean prod var std amax argmax all any logsumexp nansum count_nonzero".split()


@pytest.mark.parametrize("name", ["sum", *STATISTICS])
def test_reductions_lie_by_rows(lib: ModuleType, name: str) -> None:
    x = lib.arange(24.0).view(2, 3, 4).permute(2, 0, 1)
    for dim in range(3):
        assert getattr(x, name)(dim).is_contiguous()
    for result in (*x.max(1), *x.cummin(0), x.cumprod(2), x.norm(dim=1), x.aminmax(dim=1).max):
        assert result.is_contiguous()


LAYERS = {
    "conv": "Conv2d(3, 6, 2)", "conv_transpose": "ConvTranspose2d(3, 6, 2)",
    "depthwise": "Conv2d(3, 3, 3, groups=3)", "zeros": "ZeroPad2d(1)",
    "reflection": "ReflectionPad2d(1)", "replication": "ReplicationPad2d(1)",
    "rms_norm": "RMSNorm(5)", "batch_norm": "BatchNorm2d(3)",
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_lie_as_torchs_do(torch: ModuleType, name: str) -> None:
    def found(lib: ModuleType) -> list[tuple[int, ...]]:
        strides, formats = [], (lib.contiguous_format, lib.channels_last)
        for own, outer, whole in product(formats, repeat=3):
            layer = eval(f"lib.nn.{LAYERS[name]}").to(memory_format=whole)
            x = lib.ones(2, 3, 4, 5).contiguous(memory_format=own).detach().requires_grad_()
            out = layer(x)
            seed = lib.ones(out.shape).contiguous(memory_format=outer)
            for t in (out, *lib.autograd.grad(out, [x, *layer.parameters()], seed)):
                strides.append(t.stride())
        return strides

    assert found(nnkit) == found(torch)


def test_a_format_changes_no_value_and_lets_gradients_through(lib: ModuleType) -> None:
    x = lib.arange(120.0).reshape(2, 3, 4, 5).requires_grad_()
    y = x.to(memory_format=lib.channels_last)
    assert y.is_contiguous(memory_format=lib.channels_last) and not y.is_contiguous()
    assert y.to(memory_format=lib.channels_last) is y
    assert y.dim_order() == (0, 2, 3, 1) and x.dim_order() == (0, 1, 2, 3)
    assert y.tolist() == x.tolist()
    (y * y).sum().backward()
    assert x.grad.tolist() == (2 * x).tolist()
