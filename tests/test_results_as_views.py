"""The results of every op are views of hidden tensors (``_is_view``) where torch's are."""

from __future__ import annotations

import functools
import gzip
import json
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from tests.harness.call import Call, flatten
from tests.harness.expectations import torch
from tests.harness.row import Maker, OpRow
from tests.harness.table import ROWS

FROZEN = Path(__file__).parent / "expected" / "views.json.gz"
# Where some results are views in torch alone, and why.
DIFFERENT = {
    name: reason
    for reason, names in {
        "torch pools images of height 1, and squeezes them": (
            "max_pool1d max_pool1d_with_indices avg_pool1d adaptive_avg_pool1d adaptive_max_pool1d"
            " nn.functional.adaptive_max_pool1d nn.functional.lp_pool1d nn.functional.max_unpool1d"
        ),
        "torch computes with another shape, and restores it; here it is one op": (
            "instance_norm nn.functional.instance_norm nn.functional.linear cdist"
            " nn.functional.nll_loss nn.functional.cross_entropy"
            " nn.functional.multi_head_attention_forward"
        ),
    }.items()
    for name in names.split()
}
TESTED = [row for row in ROWS.values() if row.name not in DIFFERENT]


def views_of(framework: ModuleType, row: OpRow) -> list:
    """For each sample whether its results are views, without gradients and with them; None where
    it is refused."""
    return [
        _views(Call(framework, row, sample, track=track))
        for sample in row.samples(Maker(row, row.dtypes[0]))
        for track in (False, True)
    ]


def _views(call: Call) -> list | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = list(flatten(call()))
        except Exception:  # what is refused, and how, is tested elsewhere
            return None
    return [result._is_view() for result in results if hasattr(result, "_is_view")]


@functools.cache
def frozen() -> dict:
    return json.loads(gzip.decompress(FROZEN.read_bytes()))


def differences(found: list, wanted: list) -> list:
    assert len(found) == len(wanted), "run: python -m tests.test_results_as_views"
    pairs = enumerate(zip(found, wanted, strict=True))
    return [(place, pair) for place, pair in pairs if None not in pair and pair[0] != pair[1]]


@pytest.mark.parametrize("row", TESTED, ids=lambda row: row.name)
def test_results_are_views_as_torchs_are(framework: ModuleType, row: OpRow) -> None:
    assert not differences(views_of(framework, row), frozen()[row.name])


def test_what_is_not_tested_exists() -> None:
    assert set(DIFFERENT) <= set(ROWS)


@pytest.mark.skipif(torch is None, reason="torch's answers are needed to check the file")
def test_frozen_views() -> None:
    stored = frozen()
    assert list(stored) == [row.name for row in TESTED], (
        "run: python -m tests.test_results_as_views"
    )
    for row in TESTED[::10]:
        assert not differences(stored[row.name], views_of(torch, row))


def freeze() -> None:
    text = json.dumps({row.name: views_of(torch, row) for row in TESTED}, separators=(",", ":"))
    FROZEN.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{FROZEN.name}: {FROZEN.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(freeze())
