"""torch's samples of ops for which they find nothing; `python -m tests.fuzz.samples` goes on."""

import pytest

from tests.fuzz.samples import main

CLEAN = [
    *("lerp", "repeat_interleave", "diagonal_scatter", "sgn", "trapezoid", "gather", "index_add"),
    *("nn.functional.hardtanh", "nn.functional.leaky_relu", "nn.functional.avg_pool2d"),
]


def test_no_findings(capsys):
    pytest.importorskip("torch")
    pytest.importorskip("expecttest")
    chosen = [word for name in CLEAN for word in ("--op", name)]
    assert main(["--seconds", "60", "--seed", "7", *chosen]) == 0, capsys.readouterr().out
