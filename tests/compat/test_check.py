"""`check` tells what a program asks of torch and nnkit lacks, without running it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nnkit.compat.__main__ import _check
from nnkit.compat.check import check

PROGRAM = """
import torch, torch.nn as nn, torch.nn.functional as F
import torch.nonsense
from torch.nn import Linear, Lineal
from torch.utils.data import *

def never_called(x):
    torch.nn.Conv2d.forward(x)
    torch.float32.itemsize
    return nn.Lineal(F.relu(F.relo(x)).shape)
"""


def test_names_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "template.py").write_text("{{ not Python }}")
    needs = {need.name: len(need.places) for need in check(str(tmp_path))}
    assert needs == {"torch.nn.Lineal": 2, "torch.nn.functional.relo": 1, "torch.nonsense": 1}


def test_prints_them_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text("import torch\ntorch.ones(2)\n")
    assert _check(str(path)) == 0
    path.write_text("import torch\ntorch.onse(2)\n")
    assert _check(str(path)) == 1
    assert f"    1 torch.onse   ({path}:2)" in capsys.readouterr().out


def test_refuses_what_is_not_there() -> None:
    with pytest.raises(FileNotFoundError, match="no_such_package is no file"):
        check("no_such_package")
