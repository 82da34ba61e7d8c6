"""Index expressions at random, for a few seconds; `python -m tests.fuzz.indexing` goes on."""

import pytest

from tests.fuzz.indexing import main


def test_no_findings(capsys):
    pytest.importorskip("torch")
    assert main(["--count", "1500", "--seed", "20"]) == 0, capsys.readouterr().out
