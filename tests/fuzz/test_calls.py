"""A few seconds of wrong calls, on functions for which the fuzzer finds nothing."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

import nnkit
from tests.fuzz.calls import changed_call, examine, rows

CLEAN = """
    abs add addmm all amax any argmax argsort as_strided bmm broadcast_to cat chunk clone cumsum
    diag diff div eq exp expand flatten floor_divide gather index_select isclose isnan linspace log
    logical_and logsumexp lt masked_select matmul maximum mean mm movedim mul narrow nonzero norm
    outer pow relu roll rsqrt select sigmoid softmax sort split squeeze stack sqrt sum take tanh
    topk trace transpose tril unbind unsqueeze var where
    nn.functional.conv2d nn.functional.cross_entropy nn.functional.gelu nn.functional.layer_norm
    nn.functional.linear nn.functional.max_pool2d nn.functional.mse_loss nn.functional.relu
    nn.functional.softmax
""".split()


@pytest.mark.filterwarnings("ignore")
def test_wrong_calls(torch: ModuleType) -> None:
    valid = rows(f"^({'|'.join(map(re.escape, CLEAN))})$")
    found = [examine(*changed_call(valid, 12, n), [torch, nnkit]) for n in range(2000)]
    assert [finding for finding in found if finding is not None] == []


@pytest.mark.filterwarnings("ignore")
def test_wrong_calls_of_all_functions(torch: ModuleType) -> None:
    """Of all functions but lstm, whose wrong sizes torch itself does not survive."""
    valid = rows("^(?!lstm$)")
    found = [examine(*changed_call(valid, 13, n), [torch, nnkit]) for n in range(2000)]
    different = [finding for finding in found if finding is not None]
    assert len(different) <= 4, different
