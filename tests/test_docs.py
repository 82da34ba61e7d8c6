"""The documentation is true: its programs run, its files and commands exist."""

from __future__ import annotations

import doctest
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nnkit

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def run(program: str) -> str:
    """The output of a program in a fresh interpreter, with warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True, text=True, timeout=120, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_add_an_op() -> None:
    output = run("\n".join(blocks(ROOT / "docs" / "add_an_op.md", "python")))
    assert output.splitlines() == ["SoftclipBackward0", "[[3.0, 5.0, 7.0]]"]


def test_add_an_op_error() -> None:
    program = "\n".join(blocks(ROOT / "docs" / "add_an_op.md", "python"))
    program += "\ntry:\n    y.rolling_sum_of(9)\nexcept ValueError as error:\n    print(error)\n"
    assert "width must be between 1 and 4, got 9" in run(program)


def test_the_walk_through_shows_the_printed_update() -> None:
    program = (
        "import nnkit.optim\n"
        "from nnkit.backend.algebra import FORMULAS\n"
        "from nnkit.backend.cpu.update import _Variant\n"
        "print(_Variant(FORMULAS['sgd'], (True, False, False, False, False)).body().source)"
    )
    assert run(program).strip() in (ROOT / "docs" / "design.md").read_text()


@pytest.mark.parametrize(("page", "count"), [("autograd.md", 40), ("files.md", 8)])
def test_a_page_prints_what_it_shows(page: str, count: int) -> None:
    text = "\n\n".join(blocks(ROOT / "docs" / page, "python"))
    examples = doctest.DocTestParser().get_doctest(text, {}, page, None, None)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.DocTestRunner(optionflags=flags).run(examples)
    assert result.attempted > count
    assert not result.failed


def test_pictures_are_what_nnkit_draws(tmp_path: Path) -> None:
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    graphs = ROOT / "docs" / "graphs"
    run(f"import sys, runpy; sys.argv = ['draw.py', {str(tmp_path)!r}]; "
        f"runpy.run_path({str(graphs / 'draw.py')!r}, run_name='__main__')")  # fmt: skip
    drawn = sorted(p.name for p in tmp_path.iterdir())
    assert drawn == sorted(p.name for p in graphs.iterdir() if p.suffix in (".dot", ".svg"))
    for picture in graphs.glob("*.dot"):
        assert picture.read_text() == (tmp_path / picture.name).read_text()


def test_readme_example_prints_what_torch_prints() -> None:
    (program,) = blocks(ROOT / "README.md", "python")
    assert re.fullmatch(r"loss 0\.\d{4}, accuracy [01]\.\d\d\n", run(program))


def test_readme_example_on_torch(torch) -> None:
    (program,) = blocks(ROOT / "README.md", "python")
    twin = program.replace("import nnkit\n", "import torch as nnkit\n")
    twin = twin.replace("from nnkit import", "from torch import")
    assert run(program) == run(twin)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!http)([^)#]+)", page.read_text())
    missing = [t for t in targets if not (page.parent / t).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:nnkit|tests|examples|benchmarks|docs)/[\w/.]+\.\w+)`", page.read_text()
    )
    missing = [n for n in named if not (ROOT / n).exists()]
    assert not missing


def test_every_function_and_method_says_what_it_does() -> None:
    places = (nnkit, nnkit.Tensor, nnkit.linalg, nnkit.fft, nnkit.special, nnkit.nn.functional)
    silent = [
        f"{place.__name__}.{name}"
        for place in places
        for name in dir(place)
        if not name.startswith("_") and inspect.isroutine(getattr(place, name))
        if not (getattr(place, name).__doc__ or "").strip()
    ]
    assert not silent
