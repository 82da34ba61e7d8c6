"""cuDNN's side of the CUDA backend: by a stand-in for the frontend, and, where it is installed, by
the frontend itself as far as it goes without a GPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.cuda import attention, conv, cudnn
from nnkit.backend.cuda.philox import Recording
from nnkit.backends import cudnn as switches
from tests.cuda.arrays import on_arrays
from tests.cuda.compare import BF, F2, F4, F8
from tests.cuda.emulation import Emulator, emulated
from tests.cuda.fake_cudnn import FakeCudnn, cudnnGraphNotSupportedError
from tests.cuda.marks import needs_compiler

attention, conv = on_arrays(attention), on_arrays(conv)


class WithCudnn(Emulator):
    stream = 5

    def __init__(self, fake: FakeCudnn) -> None:
        super().__init__()
        self.fake = fake
        self.cudnn = cudnn.Library(fake, self)

    def seconds(self, run: Callable[[], None]) -> float:
        run()
        return self.fake.times[self.fake.indices[-1]]  # type: ignore[return-value]


@pytest.fixture
def fake() -> FakeCudnn:
    return FakeCudnn()


@pytest.fixture
def machine(fake: FakeCudnn) -> Iterator[WithCudnn]:
    with emulated(WithCudnn(fake)) as found, switches.flags(enabled=True):
        yield found  # type: ignore[misc]


def random(*shape: int, dtype: np.dtype = F4) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


CONVOLUTIONS: Any = [  # x, weight, stride, padding, dilation, groups
    ((2, 4, 9), (6, 4, 3), (2,), (1,), (1,), 1),
    ((2, 4, 9, 7), (6, 2, 3, 2), (2, 1), (1, 0), (1, 2), 2),
    ((1, 2, 5, 6, 5), (3, 2, 3, 3, 3), (1, 1, 1), (1, 0, 1), (1, 1, 1), 1),
]


@pytest.mark.parametrize("dtype", (F4, F2, BF), ids=str)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda c: f"{len(c[0]) - 2}d")
def test_convolution(case: Any, dtype: np.dtype, machine: WithCudnn, fake: FakeCudnn) -> None:
    shape, of_weight, *given = case
    options: Any = tuple(given)
    x, weight = random(*shape, dtype=dtype), random(*of_weight, dtype=dtype)
    out = B.conv(x, weight, None, *options)
    g = random(*out.shape, dtype=dtype)
    got = conv.conv(x, weight, None, *options)
    np.testing.assert_array_equal(got, out)
    got = conv.conv_grad_input(g, weight, x.shape, *options)
    np.testing.assert_array_equal(got, B.conv_grad_input(g, weight, x.shape, *options))
    got = conv.conv_grad_weight(g, x, weight.shape, *options)
    wanted = B.conv_grad_weight(g, x, weight.shape, *options)
    np.testing.assert_array_equal(got, wanted)
    assert fake.executed == 3 and fake.stream == 5 and not machine.launched
    assert fake.graphs[0].options["sm_version"] == 80
    assert fake.graphs[0].policy == "one" and not fake.graphs[0].unwanted


@needs_compiler
def test_what_stays_with_our_own_kernels(machine: WithCudnn, fake: FakeCudnn) -> None:
    one = ((1, 1), (0, 0), (1, 1))
    bias = random(6)
    for x, weight, groups in (
        (random(2, 3, 5, 5, dtype=F8), random(6, 3, 2, 2, dtype=F8), 1),
        (random(2, 6, 5, 5), random(6, 1, 2, 2), 6),
        (random(2, 3, 5, 5), random(6, 3, 1, 1), 1),
    ):
        given = (x, weight, bias.astype(x.dtype), *one, groups)
        assert_close(conv.conv(*given), B.conv(*given))
    assert not fake.graphs
    given = (random(2, 3, 5, 5), random(6, 3, 2, 2), bias, *one, 1)
    assert_close(conv.conv(*given), B.conv(*given))
    assert fake.executed == 1 and any("add_bias" in name for name in machine.launched)


def assert_close(got: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


CASE = (random(2, 3, 6, 6), random(4, 3, 3, 3), None, (1, 1), (1, 1), (1, 1), 1)


def test_a_graph_is_built_once(machine: WithCudnn, fake: FakeCudnn) -> None:
    for _ in range(3):
        conv.conv(*CASE)
    assert (len(fake.graphs), fake.executed) == (1, 3)
    conv.conv(CASE[0], CASE[1], None, (2, 2), *CASE[4:])
    conv.conv(CASE[0][:1], *CASE[1:])
    conv.conv(CASE[0].astype(F2), CASE[1].astype(F2), *CASE[2:])
    assert len(fake.graphs) == 4
    with switches.flags(enabled=True, deterministic=True, allow_tf32=False):
        conv.conv(*CASE)
        conv.conv(*CASE)
        conv.conv(CASE[0].astype(F2), CASE[1].astype(F2), *CASE[2:])
    assert [g.unwanted for g in fake.graphs[4:]] == [
        ["tensor core", "down", "nondeterministic"], ["nondeterministic"],
    ]  # fmt: skip
    nnkit.use_deterministic_algorithms(True)
    try:
        conv.conv(*CASE)
        assert fake.graphs[-1].unwanted == ["nondeterministic"]
    finally:
        nnkit.use_deterministic_algorithms(False)
    with switches.flags(enabled=False):
        assert cudnn._library(*CASE[:2]) is None


def test_old_plans_make_room(
    machine: WithCudnn, fake: FakeCudnn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cudnn, "MOST_PLANS", 2)
    for batch in (1, 2, 3, 3, 1):
        conv.conv(random(batch, 3, 6, 6), *CASE[1:])
    assert len(fake.graphs) == 4 and len(machine.cudnn._plans) == 2


def test_benchmark_takes_the_fastest(machine: WithCudnn, fake: FakeCudnn) -> None:
    fake.times = [3.0, None, 1.0, 2.0, 0.5]
    with switches.flags(enabled=True, benchmark=True, benchmark_limit=4):
        for _ in range(2):
            np.testing.assert_array_equal(conv.conv(*CASE), B.conv(*CASE))
        assert fake.indices == [0, 2, 3, 2, 2] and fake.graphs[0].policy == "all"
        with Recording().current():  # nothing can be timed while a graph is recorded
            conv.conv(*CASE)
        assert fake.graphs[1].policy == "one"
    with switches.flags(enabled=True, benchmark=True, benchmark_limit=0):
        conv.conv(*CASE)
    assert fake.indices[-1] == 4


@needs_compiler
@pytest.mark.parametrize("step", ("validate", "create_execution_plans", "build_plans"))
def test_without_a_plan_our_own_kernels_serve(
    step: str, machine: WithCudnn, fake: FakeCudnn
) -> None:
    fake.fails_at, fake.error = step, cudnnGraphNotSupportedError("no engine")
    failed = pytest.warns(UserWarning, match="cuDNN failed, nnkit's own kernels serve: CUDNN_STAT")
    with switches.flags(enabled=True, allow_tf32=False):
        for _ in range(2):
            assert_close(conv.conv(*CASE), B.conv(*CASE))
        assert len(fake.graphs) == 1 and not fake.executed and machine.launched
        fake.error = RuntimeError("CUDNN_STATUS_INTERNAL_ERROR")
        with failed:
            assert_close(conv.conv(CASE[0][:1], *CASE[1:]), B.conv(CASE[0][:1], *CASE[1:]))


@pytest.mark.parametrize("is_causal", (False, True))
@pytest.mark.parametrize("layout", ("three axes", "heads", "heads from one projection"))
def test_attention(layout: str, is_causal: bool, machine: WithCudnn, fake: FakeCudnn) -> None:
    if layout == "three axes":
        q, k, v = (random(3, n, 16, dtype=F2) for n in (5, 7, 7))
    elif layout == "heads":
        q, k, v = (random(2, 3, n, 16, dtype=F2) for n in (5, 7, 7))
    else:  # (batch, tokens, 3, heads, columns), taken apart
        q, k, v = np.moveaxis(random(2, 6, 3, 4, 16, dtype=F2), 2, 0).swapaxes(2, 3)
        assert not q.flags.c_contiguous
    given = (None, is_causal, 0.25)
    out, log_total = attention.attention(q, k, v, *given)
    wanted = B.attention(q, k, v, *given)
    for got, expected in zip((out, log_total), wanted, strict=True):
        np.testing.assert_allclose(got.astype(F4), expected.astype(F4), rtol=2e-2, atol=2e-2)
    assert out.dtype == F2 and log_total.dtype == F4 and not machine.launched
    g = random(*out.shape, dtype=F2)
    needs = (True, True, True, False)
    got = attention.attention_grad(g, q, k, v, None, log_total, is_causal, 0.25, needs)
    wanted = B.attention_grad(g, q, k, v, None, log_total, is_causal, 0.25, needs)
    for one, expected in zip(got[:3], wanted[:3], strict=True):
        np.testing.assert_allclose(one.astype(F4), expected.astype(F4), rtol=3e-2, atol=3e-2)
    assert got[3] is None and len(fake.graphs) == 2 and not machine.launched


@needs_compiler
def test_attention_that_cudnn_does_not_get(machine: WithCudnn, fake: FakeCudnn) -> None:
    for q, mask in (
        (random(2, 3, 4, 16), None),
        (random(2, 3, 4, 12, dtype=F2), None),
        (random(2, 3, 4, 16, dtype=F2), random(4, 4, dtype=F2)),
        (random(4, 16, dtype=F2), None),
    ):
        attention.attention(q, q, q, mask, False, 0.25)
    assert not fake.graphs


def test_steps_of_axes_of_length_one() -> None:
    assert cudnn.steps(np.empty((2, 1, 3), F4)) == [3, 3, 1]
    assert cudnn.steps(np.empty((2, 3), F4)[..., None]) == [3, 1, 1]
    assert cudnn.steps(np.empty((4, 2, 3), F4).swapaxes(0, 1)) == [3, 6, 1]


def test_it_is_imported_when_first_asked_for() -> None:
    code = (
        "import sys, nnkit, nnkit.backends.cudnn, nnkit.backend.cuda.conv\n"
        "sys.exit('cudnn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("error", (ModuleNotFoundError, RuntimeError("no cudnnGetVersion")))
def test_absent(error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise error

    found = SimpleNamespace(backend_version=fail)
    monkeypatch.setattr(cudnn, "import_module", lambda name: found)
    cudnn.frontend.cache_clear()
    try:
        assert cudnn.connect(Emulator()) is None and switches.version() is None
        assert not switches.is_available()
    finally:
        cudnn.frontend.cache_clear()


def test_switches() -> None:
    before = switches.set_flags(_benchmark=True, _benchmark_limit=3)
    assert before == (True, False, 10, False, True)
    assert (switches.benchmark, switches.benchmark_limit, switches.enabled) == (True, 3, True)
    switches.set_flags(*before)
    with pytest.raises(KeyError), switches.flags():
        assert not switches.enabled and switches.allow_tf32
        raise KeyError
    assert switches.enabled
    with pytest.raises(RuntimeError, match="cudnn.enabled: expected bool, got int"):
        switches.enabled = 1  # type: ignore[assignment]
    with pytest.raises(AttributeError, match="nnkit.backends.cudnn"):
        _ = switches.no_such_switch  # type: ignore[attr-defined]


# The frontend itself describes and checks graphs without a GPU; it builds none.


class Validated(cudnn.Library):
    """Stops where a GPU is needed."""

    def __init__(self, found: Any, machine: Any) -> None:
        self.cudnn, self.machine, self.handle, self._plans = found, machine, None, {}
        self.described: list[Any] = []

    def run(self, describe: Any, inputs: tuple, outputs: tuple, *parameters: Any) -> bool:
        graph, _ = self._described(describe, inputs, outputs, parameters)
        graph.validate()
        self.described.append(graph)
        return False


@needs_compiler
@pytest.mark.skipif(cudnn.frontend() is None, reason="needs nvidia-cudnn-frontend and cuDNN")
def test_the_frontend_accepts_every_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    with emulated() as machine:
        machine.cudnn = Validated(cudnn.frontend(), machine)
        count = 0
        for shape, of_weight, *given in CONVOLUTIONS:
            options: Any = tuple(given)
            x, weight = random(*shape, dtype=F2), random(*of_weight, dtype=F2)
            out = conv.conv(x, weight, None, *options)
            conv.conv_grad_input(out, weight, x.shape, *options)
            conv.conv_grad_weight(out, x, weight.shape, *options)
            count += 3
        for is_causal in (False, True):
            q = random(2, 3, 32, 64, dtype=F2)
            attention.attention(q, q, q, None, is_causal, 0.125)
            monkeypatch.setattr(
                cudnn, "attention", lambda q, k, v, *rest: (q, q[..., 0].astype(F4))
            )
            attention.attention_grad(q, q, q, q, None, q[..., 0], is_causal, 0.125, (True,) * 4)
            monkeypatch.undo()
            count += 2
        assert len(machine.cudnn.described) == count
