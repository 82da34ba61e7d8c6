"""The results of every op lie in memory in torch's order, whatever the order of its operands."""

from __future__ import annotations

import functools
import gzip
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.harness.expectations import torch
from tests.harness.order import calls
from tests.harness.row import OpRow
from tests.harness.table import ROWS, SUBJECT

FROZEN = Path(__file__).parent / "expected" / "strides.json.gz"
# Where the order of some results is another than torch's, and why.
DIFFERENT = {
    name: reason
    for reason, names in {
        "torch decides between rows and channels last by its kernel": (
            "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d"
        ),
        "torch's pool for this number of dimensions is another's, or knows rows alone": (
            "max_pool1d_with_indices max_pool3d nn.functional.max_pool3d_with_indices"
            " nn.functional.lp_pool1d nn.functional.lp_pool3d adaptive_avg_pool1d"
            " nn.functional.adaptive_avg_pool3d nn.functional.adaptive_max_pool1d"
            " adaptive_max_pool1d nn.functional.adaptive_max_pool3d"
            " nn.functional.adaptive_max_pool3d_with_indices nn.functional.max_unpool3d"
            " nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool2d_with_indices"
            " nn.functional.fractional_max_pool3d nn.functional.fractional_max_pool3d_with_indices"
        ),
        "torch's is several operations, each with a result of its own": (
            "nn.functional.binary_cross_entropy"
            " nn.functional.binary_cross_entropy_with_logits nn.functional.kl_div"
            " nn.functional.soft_margin_loss nn.functional.hinge_embedding_loss"
            " nn.functional.huber_loss nn.functional.poisson_nll_loss gru_cell einsum"
        ),
        "torch's result is a view of something larger": (
            "linalg.solve linalg.solve_ex linalg.lstsq unravel_index unique_consecutive"
        ),
        "torch gives the argument itself": "histogram",
    }.items()
    for name in names.split()
}
TESTED = [
    row for row in ROWS.values() if SUBJECT[row.name] != "metadata" and row.name not in DIFFERENT
]


def wanted_of(row: OpRow) -> dict:
    return {call.key: call.outputs(torch) for call in calls(row)}


@functools.cache
def frozen() -> dict:
    return json.loads(gzip.decompress(FROZEN.read_bytes()))


def differences(found: dict, wanted: dict) -> dict:
    """Where both answer: what is refused is tested elsewhere, and torch does not always refuse what
    it cannot read, such as batch sizes with gaps."""
    assert found.keys() == wanted.keys(), "run: python -m tests.test_memory_order"
    pairs = {key: (strides, wanted[key]) for key, strides in found.items()}
    return {key: pair for key, pair in pairs.items() if None not in pair and pair[0] != pair[1]}


@pytest.mark.parametrize("row", TESTED, ids=lambda row: row.name)
def test_results_lie_as_torchs_do(framework: ModuleType, row: OpRow) -> None:
    found = {call.key: call.outputs(framework) for call in calls(row)}
    assert not differences(found, wanted_of(row) if torch is not None else frozen()[row.name])


def test_what_is_not_tested_exists() -> None:
    assert set(DIFFERENT) <= set(ROWS)


@pytest.mark.skipif(torch is None, reason="torch's answers are needed to check the file")
def test_frozen_strides() -> None:
    stored = frozen()
    assert list(stored) == [row.name for row in TESTED], "run: python -m tests.test_memory_order"
    for row in TESTED[::10]:
        assert not differences(stored[row.name], wanted_of(row))


def freeze() -> None:
    text = json.dumps({row.name: wanted_of(row) for row in TESTED}, separators=(",", ":"))
    FROZEN.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{FROZEN.name}: {FROZEN.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(freeze())
