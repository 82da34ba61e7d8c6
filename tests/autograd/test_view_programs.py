"""A random part of `view_programs`, the same on both frameworks."""

from __future__ import annotations

import nnkit
from tests.autograd.view_programs import differences


def test_views_and_writes_are_torchs(torch) -> None:
    found = list(differences(nnkit, torch, 0.03))
    assert not found, "\n".join(found[:10])
