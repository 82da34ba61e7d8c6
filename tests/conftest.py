"""What every test gets: seeds, and the framework under test."""

from __future__ import annotations

import gc
import importlib
import random
import sys
from types import ModuleType

import numpy as np
import pytest
from _pytest.runner import runtestprotocol


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--framework",
        default="nnkit",
        help="module that the op table tests; 'torch' checks the table itself against torch",
    )
    parser.addoption(
        "--subject",
        action="append",
        help="only the rows of tests/ops/SUBJECT.py (may be given several times)",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    subjects = config.getoption("--subject")
    if subjects:
        from tests.harness.table import SUBJECT

        names = [getattr(getattr(item, "callspec", None), "id", "") for item in items]
        chosen = [i for i, name in zip(items, names) if SUBJECT.get(name) in subjects]
        config.hook.pytest_deselected(items=[i for i in items if i not in chosen])
        items[:] = chosen


_searches_seen = 0


def _set_aside_what_stays() -> None:
    """Keep objects that outlived a whole search for garbage out of the next: tests, modules and
    answers kept for other tests are hundreds of thousands, and stay until the end."""
    global _searches_seen
    searches = gc.get_stats()[2]["collections"]
    if searches != _searches_seen:
        _searches_seen = searches
        gc.freeze()


def pytest_collection_finish() -> None:
    gc.collect()
    _set_aside_what_stays()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Report of most tests their call alone, without its setup and teardown: to tell the main
    process of each costs as much as the shortest of them."""
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    _set_aside_what_stays()
    return True


@pytest.fixture(scope="session")
def framework(request: pytest.FixtureRequest) -> ModuleType:
    """The module that the op table tests."""
    return importlib.import_module(str(request.config.getoption("--framework")))


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """torch, for tests that compare with it; they are skipped where it is not installed."""
    return pytest.importorskip("torch")


@pytest.fixture(params=["nnkit", "torch"])
def lib(request: pytest.FixtureRequest) -> ModuleType:
    """Each framework in turn: what a test asserts of nnkit is asserted of torch as well."""
    return pytest.importorskip(request.param)


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Every test starts from the same random numbers."""
    random.seed(0)
    np.random.seed(0)
    if "nnkit" in sys.modules:
        sys.modules["nnkit"].manual_seed(0)
