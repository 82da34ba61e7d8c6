"""A package ``torch`` is put into an environment, and taken out again without a trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment that sees this one's packages by a path file, but no torch."""
    folder = tmp_path_factory.mktemp("environment")
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True)
    site = next(folder.glob("lib/python*/site-packages"), folder / "Lib/site-packages")
    # numpy and what else nnkit needs, one by one: torch may lie beside them.
    for name in ("numpy", "ml_dtypes", "safetensors", "tqdm"):
        module = __import__(name)
        (site / name).symlink_to(Path(str(module.__file__)).parent)
        libraries = Path(str(module.__file__)).parents[1] / f"{name}.libs"
        if libraries.exists():
            (site / libraries.name).symlink_to(libraries)
    (site / "nnkit.pth").write_text(ROOT)
    return folder


def python(environment: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    name = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    command = [str(environment / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={})


def contents(environment: Path) -> set[str]:
    found = environment.rglob("*")
    return {str(p) for p in found if "__pycache__" not in p.parts}


def test_activate_and_deactivate(environment: Path) -> None:
    before = contents(environment)
    assert python(environment, "-m", "nnkit.compat", "deactivate").returncode == 1
    assert python(environment, "-m", "nnkit.compat", "activate").returncode == 0
    program = (
        "import torch, importlib.metadata as m; from torch.nn.modules.linear import Linear;"
        "print(torch.ones(1), Linear(1, 1).weight.shape, m.version('torch'))"
    )
    done = python(environment, "-c", program)
    assert done.stdout == "tensor([1.]) torch.Size([1, 1]) 2.13.0+nnkit\n", done.stderr
    assert python(environment, "-m", "nnkit.compat", "activate").returncode == 0  # once more
    assert python(environment, "-m", "nnkit.compat", "deactivate").returncode == 0
    assert contents(environment) == before


def test_refuses_beside_the_real_torch(environment: Path) -> None:
    site = next(environment.glob("lib/python*/site-packages"), environment / "Lib/site-packages")
    package, information = site / "torch", site / "torch-2.13.0.dist-info"
    package.mkdir()
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n")
    (information / "INSTALLER").write_text("pip\n")
    try:
        done = python(environment, "-m", "nnkit.compat", "activate")
        assert done.returncode == 1 and "torch itself is installed" in done.stderr
        assert python(environment, "-m", "nnkit.compat", "deactivate").returncode == 1
        assert package.exists()
    finally:
        package.rmdir()
        for path in information.iterdir():
            path.unlink()
        information.rmdir()
