"""The results of every op lie in memory in torch's order, whatever the order of its operands."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import nnkit
from tests.harness.answers import Answers, by_name
from tests.harness.expectations import torch
from tests.harness.order import calls
from tests.harness.row import OpRow
from tests.harness.table import ROWS, SUBJECT

# Where the order of some results is another than torch's, and why.
DIFFERENT = by_name(
    {
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
    }
)
TESTED = [
    row for row in ROWS.values() if SUBJECT[row.name] != "metadata" and row.name not in DIFFERENT
]


def orders_of(framework: ModuleType, row: OpRow) -> dict:
    return {call.key: call.outputs(framework) for call in calls(row)}


ANSWERS = Answers("strides.json.gz", TESTED, orders_of, "tests.test_memory_order")


@pytest.mark.parametrize("row", TESTED, ids=lambda row: row.name)
def test_results_lie_as_torchs_do(framework: ModuleType, row: OpRow) -> None:
    assert not ANSWERS.compare(framework, row)


@pytest.mark.parametrize("row", TESTED, ids=lambda row: row.name)
def test_they_do_while_a_level_is_entered(row: OpRow) -> None:
    """Some ops compute otherwise within transforms."""
    with nnkit.autograd.forward_ad.dual_level():
        assert not ANSWERS.differences(orders_of(nnkit, row), ANSWERS.stored[row.name])


def test_what_is_not_tested_exists() -> None:
    assert set(DIFFERENT) <= set(ROWS)


@pytest.mark.skipif(torch is None, reason="torch's answers are needed to check the file")
def test_frozen_strides() -> None:
    ANSWERS.check_file()


if __name__ == "__main__":
    sys.exit(ANSWERS.freeze())
