"""The results of every op are views of hidden tensors (``_is_view``) where torch's are."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType

import pytest

from tests.harness.answers import Answers, by_name
from tests.harness.call import Call, flatten
from tests.harness.expectations import torch
from tests.harness.row import Maker, OpRow
from tests.harness.table import ROWS

# Where some results are views in torch alone, and why.
DIFFERENT = by_name(
    {
        "torch pools images of height 1, and squeezes them": (
            "max_pool1d max_pool1d_with_indices avg_pool1d adaptive_avg_pool1d adaptive_max_pool1d"
            " nn.functional.adaptive_max_pool1d nn.functional.lp_pool1d nn.functional.max_unpool1d"
        ),
        "torch computes with another shape, and restores it; here it is one op": (
            "nn.functional.linear cdist nn.functional.nll_loss nn.functional.cross_entropy"
            " nn.functional.multi_head_attention_forward"
        ),
    }
)
TESTED = [row for row in ROWS.values() if row.name not in DIFFERENT]


def views_of(framework: ModuleType, row: OpRow) -> dict:
    """For each sample whether its results are views, without gradients and with them."""
    return {
        f"{number}{' with gradients' * track}": _views(Call(framework, row, sample, track=track))
        for number, sample in enumerate(row.samples(Maker(row, row.dtypes[0])))
        for track in (False, True)
    }


def _views(call: Call) -> list | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = list(flatten(call()))
        except Exception:  # what is refused, and how, is tested elsewhere
            return None
    return [result._is_view() for result in results if hasattr(result, "_is_view")]


ANSWERS = Answers("views.json.gz", TESTED, views_of, "tests.test_results_as_views")


@pytest.mark.parametrize("row", TESTED, ids=lambda row: row.name)
def test_results_are_views_as_torchs_are(framework: ModuleType, row: OpRow) -> None:
    assert not ANSWERS.compare(framework, row)


def test_what_is_not_tested_exists() -> None:
    assert set(DIFFERENT) <= set(ROWS)


@pytest.mark.skipif(torch is None, reason="torch's answers are needed to check the file")
def test_frozen_views() -> None:
    ANSWERS.check_file()


if __name__ == "__main__":
    sys.exit(ANSWERS.freeze())
