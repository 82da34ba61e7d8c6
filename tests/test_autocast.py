"""Under autocast every operation computes in torch's dtype, whatever its operands are."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from functools import reduce
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.autograd.arguments.casting import CASTING, POLICIES, call_cast
from tests.frameworks import raises
from tests.harness.call import Call, flatten
from tests.harness.expectations import torch
from tests.harness.row import Maker, OpRow
from tests.harness.table import ROWS

# Where a dtype is another than torch's, and why.
DIFFERENT = {
    "lstm": "torch has a kernel for whole layers, which refuses float16 and knows no projections",
    "nn.functional.local_response_norm": "torch's is a pool of three dimensions of a view",
    "nn.functional.mse_loss": "with a weight torch's is made of others",
    "nn.functional.l1_loss": "with a weight torch's is made of others",
    "linalg.pinv": "torch's is made of a decomposition and products",
    "complex": "nnkit has no complex32",
    "from_dlpack": "NumPy's protocol knows no bfloat16",
    "histogram": "torch refuses half precision unless something is cast",
}


def dtypes(framework: ModuleType, row: OpRow, lower: str, dtype: str) -> Iterator[list[str] | None]:
    """Those of all outputs of each sample; None where the call is refused."""
    for sample in row.samples(Maker(row, dtype)):
        try:
            with framework.autocast("cpu", dtype=getattr(framework, lower)):
                out = Call(framework, row, sample)()
            yield [str(x.dtype).split(".")[1] for x in flatten(out) if hasattr(x, "dtype")]
        except Exception:
            yield None


@pytest.mark.skipif(torch is None, reason="compared with torch")
@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
@pytest.mark.filterwarnings("ignore")
def test_dtypes_of_every_op(row: OpRow) -> None:
    if row.name in DIFFERENT:
        pytest.skip(DIFFERENT[row.name])
    assert torch is not None
    tried = [("bfloat16", dtype) for dtype in ("float32", "bfloat16", "float64")]
    for lower, dtype in (*tried, ("float16", "float32")):
        if dtype in row.dtypes or (dtype == lower and "float32" in row.dtypes):
            found = dtypes(nnkit, row, lower, dtype)
            for ours, theirs in zip(found, dtypes(torch, row, lower, dtype), strict=True):
                assert ours == theirs or theirs is None, (lower, dtype)


def test_what_is_not_compared_exists() -> None:
    assert set(DIFFERENT) <= set(ROWS)


# In torch's lists, and not in nnkit.
MISSING = {"grid_sampler", "grid_sampler_2d", "grid_sampler_3d"}


def test_lists_name_functions() -> None:
    names = set(POLICIES["cpu"]) | set(POLICIES["cuda"])
    homes = (nnkit.nn.functional, nnkit, nnkit.Tensor)

    def exists(name: str) -> bool:
        return any(reduce(lambda a, b: getattr(a, b, None), name.split("."), h) for h in homes)

    assert {name for name in names if not exists(name)} == MISSING


def test_lists_for_the_cpu(lib: ModuleType) -> None:
    F, x = lib.nn.functional, lib.ones(2, 2)
    low = x.bfloat16()
    with lib.autocast("cpu"):
        assert {(x @ x).dtype, lib.mm(x, x).dtype, x.matmul(x).dtype, F.linear(x, x).dtype,
                lib.einsum("ij,jk->ik", x, x).dtype} == {lib.bfloat16}  # fmt: skip
        assert {F.mse_loss(low, low).dtype, low.prod().dtype, F.cross_entropy(low, low).dtype,
                lib.cat([low, x]).dtype, lib.stack([x, low]).dtype} == {lib.float32}  # fmt: skip
        assert {(low + low).dtype, F.softmax(low, 1).dtype, low.sum().dtype,
                lib.cat([low, low]).dtype} == {lib.bfloat16}  # fmt: skip
        assert {(x + x).dtype, (x + low).dtype, F.layer_norm(x, (2,)).dtype} == {lib.float32}
        assert {(x.double() @ x.double()).dtype} == {lib.float64}
        assert lib.mm(x, x, out=lib.empty(2, 2)).dtype is lib.float32
        assert F.pad(low, (1, 1), mode="replicate").dtype is lib.float32
        assert F.pad(low, (1, 1)).dtype is lib.bfloat16
        with raises(lib, RuntimeError, "expected tensors of nnkit.bfloat16 or float32"):
            lib.cat([x.half(), x])
        with raises(lib, RuntimeError, "dtype"):
            x.double() @ x
    with lib.autocast("cpu", lib.float16):
        assert (x @ x).dtype is lib.float16
    assert (x @ x).dtype is lib.float32


def test_lists_for_a_gpu() -> None:
    """By their rules alone, on the CPU: no test has run them on a GPU."""
    x = nnkit.ones(2)
    mine = POLICIES["cpu"]
    POLICIES["cpu"] = POLICIES["cuda"]
    try:
        with nnkit.autocast("cpu", nnkit.float16):
            assert nnkit.exp(x.half()).dtype is x.half().exp().dtype is nnkit.float32
            assert (x.half() ** 2).dtype is nnkit.float32
            assert nnkit.softmax(x.half(), 0).dtype is nnkit.float32
            assert x.half().sum(dtype=nnkit.float16).dtype is nnkit.float16
            assert nnkit.atan2(x, x.half()).dtype is nnkit.float32
            with pytest.raises(RuntimeError, match="unsafe under autocast"):
                nnkit.nn.functional.binary_cross_entropy(x, x)
    finally:
        POLICIES["cpu"] = mine
    assert call_cast(lambda x: x, "mm", (x,), {}) is x and not CASTING.enabled


def test_blocks(lib: ModuleType) -> None:
    x = lib.ones(2, 2)
    seen = []
    with lib.autocast("cpu", lib.float16):
        with lib.autocast("cpu", enabled=False):
            assert not lib.is_autocast_enabled("cpu")
            seen.append((x @ x).dtype)
        with lib.autocast("cpu"):  # the dtype is that of the block around it
            seen.append((x @ x).dtype)
        thread = threading.Thread(target=lambda: seen.append((x @ x).dtype))
        thread.start()
        thread.join()
    assert seen == [lib.float32, lib.float16, lib.float32]
    assert lib.get_autocast_dtype("cpu") is lib.bfloat16
    lib.set_autocast_enabled("cpu", True)
    assert lib.is_autocast_enabled("cpu") and (x @ x).dtype is lib.bfloat16
    lib.set_autocast_enabled("cpu", False)

    @lib.autocast("cpu")
    def product(x: Any) -> Any:
        return x @ x

    assert product(x).dtype is lib.bfloat16 and (x @ x).dtype is lib.float32
    with pytest.warns(UserWarning), lib.autocast("cpu", lib.float32):
        assert (x @ x).dtype is lib.float32
    for error, kind in ((ValueError, 3), (RuntimeError, "meta"), (RuntimeError, "nowhere")):
        with pytest.raises(error):
            lib.autocast(kind)


def test_one_cast_of_a_weight_serves_a_block(lib: ModuleType) -> None:
    """So gradients of its uses are added up in half precision: 256 + 1 is 256 in bfloat16."""
    x = lib.ones(1, 1)

    def gradient(**options: Any) -> float:
        w = lib.ones(1, 1, requires_grad=True)
        with lib.autocast("cpu", **options):
            with lib.no_grad():
                x @ w
            loss = (x @ w).float() * 256 + (x @ w).float()
        loss.backward()
        assert w.grad.dtype is lib.float32
        return w.grad.item()

    assert gradient() == 256 and gradient(cache_enabled=False) == 257


def test_training(lib: ModuleType) -> None:
    nn, F = lib.nn, lib.nn.functional
    lib.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(36, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3),
    )  # fmt: skip
    optimizer = lib.optim.Adam(model.parameters(), 0.01)
    x, y = lib.randn(16, 1, 8, 8), lib.arange(16) % 3
    losses = []
    for _ in range(30):
        with lib.autocast("cpu"):
            out = model(x)
            loss = F.cross_entropy(out, y)
        assert out.dtype is lib.bfloat16 and loss.dtype is lib.float32
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(p.grad.dtype is p.dtype is lib.float32 for p in model.parameters())
    assert losses[0] == pytest.approx(1.2, abs=0.25) and losses[-1] < 0.2


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_cast_again(lib: ModuleType, reentrant: bool) -> None:
    from importlib import import_module

    checkpoint = import_module(f"{lib.__name__}.utils.checkpoint").checkpoint
    seen, x = [], lib.ones(2, 2, requires_grad=True)

    def product(x: Any) -> Any:
        out = x @ x
        seen.append(out.dtype)
        return out.sum().exp()

    with lib.autocast("cpu"):
        out = checkpoint(product, x, use_reentrant=reentrant)
    out.backward()
    assert seen == [lib.bfloat16] * 2


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_recurrent_networks(lib: ModuleType, kind: str) -> None:
    network = getattr(lib.nn, kind)(3, 4)
    pack = lib.nn.utils.rnn.pack_sequence
    low, wide = lib.bfloat16, lib.float32
    for dtype in (low, wide):
        x = lib.ones(5, 2, 3, dtype=dtype)
        with lib.autocast("cpu"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            packed = network(pack([x[:, 0], x[:3, 0]]))[0].data.dtype
            try:
                dense = network(x)[0].dtype
            except RuntimeError as error:
                if lib is torch and "primitive descriptor" in str(error):
                    pytest.skip("torch has no LSTM in bfloat16 for this processor")
                raise
        expected = {"RNN": (low, low), "LSTM": (low, dtype), "GRU": (dtype, dtype)}
        assert (dense, packed) == expected[kind]


def test_functions_with_derivatives_of_their_own(lib: ModuleType) -> None:
    seen: list = []

    def function(**options: Any) -> Any:
        class Product(lib.autograd.Function):
            @staticmethod
            @lib.amp.custom_fwd(device_type="cpu", **options)
            def forward(ctx: Any, x: Any, others: Any) -> Any:
                ctx.save_for_backward(x)
                out = x @ others["y"][0]
                seen.append(out.dtype)
                return out

            @staticmethod
            @lib.amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, g: Any) -> Any:
                (x,) = ctx.saved_tensors
                seen.append((x.float() @ x.float()).dtype)
                return g.float() @ x.float(), None

        return Product

    low, wide = lib.bfloat16, lib.float32
    for options, expected in (({}, [low, low]), ({"cast_inputs": wide}, [wide, wide])):
        x = lib.ones(2, 2, requires_grad=True)
        with lib.autocast("cpu"):
            out = function(**options).apply(x, {"y": (lib.ones(2, 2), "name")})
        out.sum().backward()
        assert seen == expected
        seen.clear()


def test_compiled_functions_depend_on_casts() -> None:
    @nnkit.compile
    def product(x: Any) -> Any:
        return x @ x

    x = nnkit.ones(2, 2)
    for _ in range(2):
        assert product(x).dtype is nnkit.float32
        with nnkit.autocast("cpu"):
            assert product(x).dtype is nnkit.bfloat16
        with nnkit.autocast("cpu", nnkit.float16):
            assert product(x).dtype is nnkit.float16


def test_decorates_functions_alone(lib: ModuleType) -> None:
    with pytest.raises(TypeError):
        lib.autocast("cpu")(lib.ones(1))


def test_values_are_those_of_half_precision(lib: ModuleType) -> None:
    x = lib.tensor(np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4))
    with lib.autocast("cpu"):
        y = x @ x.T
    assert y.tolist() == (x.bfloat16() @ x.bfloat16().T).tolist()
