"""Times of statements: their text and tables are torch's, and so are the fuzzer's numbers."""

from __future__ import annotations

import pickle
import re
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises


@pytest.fixture
def b(lib: Any) -> ModuleType:
    return import_module(f"{lib.__name__}.utils.benchmark")


def measurements(b: Any) -> list[Any]:
    """Two labels, environments, threads and columns, with a gap, and some great spreads."""
    found = []
    for number, (label, env, threads, sub, description) in enumerate(
        (label, env, threads, sub, description)
        for label in ("first", None)
        for env in ("a", "bb")
        for threads in (1, 4)
        for sub in ("s", "longer")
        for description in ("left", "the right one")
    ):
        task = b.TaskSpec(
            "f(x)", "pass" if number % 2 else "x = 1\ny = 2", "", label, sub, description, env,
            threads,
        )  # fmt: skip
        base = (1 + number % 5) * 3.1e-5 * (100 if number % 7 == 0 else 1)
        spread = (0.01, 0.13, 0.9)[number % 3]
        if number not in (3, 9):
            times = [base * (1 + spread * ((i * 7) % 5) / 5) for i in range(1 + number % 6)]
            found.append(b.Measurement(10, [10 * t for t in times], task))
    return found


# Lines end with blanks, which are dots here.
TABLE = """\
[----------------- first ------------------]
                |    left   |  the right one
1 threads: ---------------------------------
  (a)   s       |   3100.0  |        63.6...
        longer  |    126.5  |...............
  (bb)  s       |    168.6  |...............
        longer  |     32.6  |        78.7...
4 threads: ---------------------------------
  (a)   s       |    163.1  |        39.4...
        longer  |     62.0  |      9541.8...
  (bb)  s       |     93.0  |       127.2...
        longer  |  21080.0  |        31.1...

Times are in microseconds (us).

[--------------------  --------------------]
                |    left   |  the right one
1 threads: ---------------------------------
  (a)   s       |     65.2  |       118.1...
        longer  |    124.0  |       159.0...
  (bb)  s       |    155.0  |        31.8...
        longer  |     84.3  |        93.3...
4 threads: ---------------------------------
  (a)   s       |     42.2  |      6218.6...
        longer  |     97.8  |       157.5...
  (bb)  s       |  13044.8  |       196.8...
        longer  |     31.0  |        63.6...

Times are in microseconds (us).
"""
COLORED = """\
[-------------------- first ---------------------]
                |       left      |  the right one
1 threads: ---------------------------------------
  (a)   s       |  <red>  3100       </>  |  <best>   60        </>
        longer  |  <dim>  100 (! 26%)</>  |...............
  (bb)  s       |  <red>  200 (! 26%)</>  |...............
"""
COLORS = {
    "\x1b[31m\x1b[1m": "<red>", "\x1b[92m\x1b[1m": "<best>", "\x1b[2m\x1b[91m": "<dim>",
    "\x1b[0m\x1b[0m": "</>",
}  # fmt: skip
FIGURES = [4, 1, 1, 1, 1, 3]
SHAPES = [((2, 3), (1, 2)), ((9,), (1, 18)), ((21,), (1, 42)), ((7, 4), (1, 7)), ((9, 5), (1, 18))]
TOTAL, REJECTED = 596.0595036745071, 0.2


def dotted(text: str) -> list[str]:
    """The lines, with names of colours, and dots for the blanks at their ends."""
    for code, name in COLORS.items():
        text = text.replace(code, name)
    return [re.sub(" +$", lambda blanks: "." * len(blanks[0]), line) for line in text.split("\n")]


def test_tables(b: Any) -> None:
    texts = []
    for choice in range(12):
        table = b.Compare(measurements(b))
        if choice & 1:
            table.trim_significant_figures()
        if choice & 2:
            table.highlight_warnings()
        if choice >= 4:
            table.colorize(rowwise=choice >= 8)
        texts.append(str(table))
    assert len(set(texts)) == 12
    assert dotted(texts[0]) == TABLE.split("\n")
    assert dotted(texts[7])[:6] == COLORED.splitlines()


def test_texts_of_measurements(b: Any) -> None:
    found = measurements(b)
    texts = [re.sub("<.*>", "<>", repr(each)) for each in found]
    assert texts[0] == "<>\nfirst: s\nleft\nsetup:\n  x = 1\n  y = 2\n\n  3.10 ms\n" \
        "  1 measurement, 10 runs , 1 thread"  # fmt: skip
    assert texts[4] == (
        "<>\nfirst: s\nthe right one\n  Median: 39.37 us\n  IQR:    13.95 us (32.40 to 46.34)\n"
        "  6 measurements, 10 runs per measurement, 4 threads\n"
        "  WARNING: Interquartile range is 35.4% of the median measurement.\n"
        "           This suggests significant environmental influence."
    )
    assert [each.significant_figures for each in found[:6]] == FIGURES
    assert b.Measurement(1, [1.0], b.TaskSpec("f()\ng()", "a = 1", sub_label="x")).title == (
        "stmt: (x)\n  f()\n  g()"
    )


def test_measurements(b: Any) -> None:
    task = b.TaskSpec("f()", "pass", label="label", num_threads=3)
    found = b.Measurement(10, [0.1, 0.4, 0.2, 0.3], task, {"a": 1})
    assert found.times == [0.01, 0.04, 0.02, 0.03]
    assert found.median == pytest.approx(0.025) and found.mean == pytest.approx(0.025)
    assert found.iqr == pytest.approx(0.015) and found.has_warnings
    assert found.meets_confidence(0.7) and not found.meets_confidence()
    assert (found.label, found.num_threads, found.as_row_name) == ("label", 3, "f()")
    assert pickle.loads(pickle.dumps(found)) == found
    merged = b.Measurement.merge([found, b.Measurement(1, [1.0], task)])
    assert [(each.number_per_run, each.times) for each in merged] == [
        (1, [0.01, 0.04, 0.02, 0.03, 1.0])
    ]
    with pytest.raises(AttributeError):
        _ = found.nothing


def test_numbers(b: Any) -> None:
    units = [b.select_unit(t) for t in (3e-10, 1e-9, 2e-6, 0.5, 30.0)]
    assert units == [("s", 1), ("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1)]
    assert [b.unit_to_english(u) for u in ("ns", "s")] == ["nanosecond", "second"]
    assert [b.trim_sigfig(3.14159, n) for n in (1, 2)] == [3.0, 3.1000001430511475]
    assert b.ordered_unique([2, 1, 2]) == [2, 1]
    with pytest.raises(AssertionError):
        b.trim_sigfig(1.0, 1.5)  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        b.unit_to_english("h")


def test_timer(lib: Any, b: Any) -> None:
    seen: list[Any] = []
    before = lib.get_num_threads()
    timer = b.Timer(
        """
        names.append(torch.get_num_threads())
        """,
        setup="names = seen",
        globals={"seen": seen},
        timer=lambda: len(seen),
        num_threads=1,
        label="l",
    )
    found = timer.timeit(3)
    assert set(seen) == {1} and len(seen) == 5 and lib.get_num_threads() == before
    assert found.raw_times == [3] and found.stmt == "names.append(torch.get_num_threads())"
    blocks: list[Any] = []
    found = timer.blocked_autorange(lambda *block: blocks.append(block), min_run_time=3.5)
    assert [number for number, _ in blocks] == [found.number_per_run] * len(found.raw_times)
    assert len(found.raw_times) == 4
    found = timer.adaptive_autorange(min_run_time=6)
    assert len(found.raw_times) == 6
    assert len(timer.adaptive_autorange(0.0, max_run_time=8.0).raw_times) == 9
    assert b.Timer().blocked_autorange(min_run_time=0.001).median < 1e-3
    assert b.timer() > 0


def test_wrong_timers(lib: Any, b: Any) -> None:
    for arguments in ({"stmt": print}, {"language": "fortran"}, {"global_setup": "int x;"}):
        with raises(lib, ValueError, next(iter(arguments))):
            b.Timer(**arguments)
    for method in ("repeat", "autorange"):
        with raises(lib, NotImplementedError, "blocked_autorange"):
            getattr(b.Timer(), method)()
    with raises(lib, ValueError, "Measurements, got int"):
        b.Compare([1])
    if lib.__name__ == "nnkit":
        with pytest.raises(NotImplementedError, match="does not count"):
            b.Timer().collect_callgrind()
        with pytest.raises(NotImplementedError, match="language must be"):
            b.Timer(language=b.Language.CPP)


def test_fuzzer(b: Any) -> None:
    fuzzer = b.Fuzzer(
        [
            b.FuzzedParameter("n", 2, 50, "loguniform"),
            [
                b.FuzzedParameter("m", 2, 5, "uniform", strict=True),
                b.FuzzedParameter("r", 0.5, 2, "uniform"),
                b.FuzzedParameter("step", 1, 2, "uniform"),
                b.FuzzedParameter("dim", 1, 2, "uniform"),
            ],
        ],
        [
            b.FuzzedTensor("x", ("n", "m"), steps=("step",), dim_parameter="dim", max_elements=100),
            b.FuzzedTensor("y", ("n", "m"), (1, "step"), 0.1, 6, max_allocation_bytes=900),
        ],
        constraints=[lambda params: params["n"] != 4],
        seed=11,
    )
    found = list(fuzzer.take(20))
    shapes = [(tuple(t["x"].shape), t["y"].stride()) for t, _, _ in found]
    assert shapes[:5] == SHAPES
    total = sum(float(t["x"].double().sum() + t["y"].double().sum()) for t, _, _ in found)
    assert total == pytest.approx(TOTAL, rel=1e-12)
    assert fuzzer.rejection_rate == REJECTED
    assert all(p["y"]["is_contiguous"] == t["y"].is_contiguous() for t, p, _ in found)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_sparse_fuzzer(b: Any) -> None:
    numbers = [("density", 0.1, 0.5), ("n", 5, 20), ("sparse_dim", 1, 2)]
    parameters = [b.FuzzedParameter(*each, "uniform") for each in numbers]
    parameters.append(b.FuzzedParameter("coalesced", 0, 1, "uniform"))
    fuzzer = b.Fuzzer(
        parameters, [b.FuzzedSparseTensor("x", ("n", 3), sparse_dim="sparse_dim")], seed=3
    )
    for tensors, properties, params in fuzzer.take(5):
        x, told = tensors["x"], properties["x"]
        assert told["is_coalesced"] == x.is_coalesced() == bool(params["coalesced"])
        assert told["sparse_dim"] == x.sparse_dim() == params["sparse_dim"]
        assert tuple(told["shape"]) == (params["n"], 3)
    with pytest.raises(AssertionError):
        b.FuzzedSparseTensor.sparse_tensor_constructor((0, 0), x.dtype, 2, 1, True)


def test_wrong_fuzzers(lib: Any, b: Any) -> None:
    n, t = b.FuzzedParameter("n", 1, 2, "uniform"), b.FuzzedTensor("n", (1,))
    with raises(lib, ValueError, "same names"):
        b.Fuzzer([n], [t])
    with raises(lib, ValueError, "no valid parameters"):
        next(b.Fuzzer([n], [], [lambda params: False]).take(1))
    with raises(lib, AssertionError, "distribution must be"):
        b.FuzzedParameter("n", 1, 2, "normal")
    with raises(lib, AssertionError, "positive"):
        b.FuzzedParameter("n", distribution={1: -0.5, 2: 1.5})


def test_choices() -> None:
    """Of torch 2.13 every dictionary of probabilities that sum to 1 is refused."""
    b = import_module("nnkit.utils.benchmark")
    one = b.FuzzedParameter("m", distribution={1: 0.5, b.ParameterAlias("n"): 0.5})
    fuzzer = b.Fuzzer([b.FuzzedParameter("n", 5, 9, "uniform"), one], [], seed=0)
    drawn = [params for _, _, params in fuzzer.take(20)]
    assert {p["m"] == p["n"] for p in drawn} == {True, False}
    assert all(p["m"] in (1, p["n"]) for p in drawn)
    with pytest.raises(AssertionError, match="no minval"):
        b.FuzzedParameter("m", 1, distribution={1: 1.0})
    alias = b.FuzzedParameter("m", distribution={b.ParameterAlias("m"): 1.0})
    with pytest.raises(ValueError, match="alias of itself"):
        next(b.Fuzzer([alias], []).take(1))
