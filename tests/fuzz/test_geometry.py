"""Sizes and integers at random, for a few seconds; `python -m tests.fuzz.geometry` goes on."""

import pytest

from tests.fuzz.geometry import main


@pytest.mark.parametrize("against", [["--seconds", "4"], ["--seconds", "4", "--no-torch"]])
def test_no_findings(against, capsys):
    if "--no-torch" not in against:
        pytest.importorskip("torch")
    assert main([*against, "--seed", "20"]) == 0, capsys.readouterr().out
