"""Every kernel compiles by NVRTC, with no GPU and no driver (tools/nvrtc.py does the rest)."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nnkit.nn
import nnkit.optim  # noqa: F401  they enter their formulas into the catalogue
from nnkit.backend.algebra import FORMULAS
from nnkit.backend.c_source import Unsupported
from nnkit.backend.cuda import nvrtc
from nnkit.backend.cuda.printer import Variant
from nnkit.backend.cuda.source import FOLDER, OPTIONS, cache_folder, compiled, expanded, kernel
from nnkit.backend.formula import Update
from tests.cuda.instances import FLOATING, KERNELS, defined, names, targets


def has_nvrtc() -> bool:
    try:
        nvrtc.load()
    except RuntimeError:
        return False
    return True


needs_nvrtc = pytest.mark.skipif(not has_nvrtc(), reason="needs the wheel nvidia-cuda-nvrtc")
SOURCES = sorted(path.stem for path in FOLDER.glob("*.cu"))


@pytest.mark.parametrize("subject", SOURCES)
def test_every_kernel_is_listed(subject: str) -> None:
    assert defined(subject) == set(KERNELS[subject]), "see tests/cuda/instances.py"


@needs_nvrtc
@pytest.mark.parametrize("subject", SOURCES)
def test_sources_compile(subject: str) -> None:
    """One instance of each kernel, for its oldest target; `tools.nvrtc` compiles all of them."""
    target = targets(subject, ("sm_75", "sm_80"))[0]
    first = {name.partition("<")[0]: name for name in reversed(names(subject))}
    options = (*OPTIONS, "--ptxas-options=-v")
    nvrtc.compile_kernels(
        expanded(f"{subject}.cu"), tuple(first.values()), subject, target, options
    )


@needs_nvrtc
@pytest.mark.parametrize("dtype", [*FLOATING, np.dtype(np.int64), np.dtype(np.bool_)], ids=str)
def test_strided_kernels_compile(dtype: np.dtype) -> None:
    variant = Variant(FORMULAS["add"], (dtype,) * 2, (), None)
    width = max(1, 16 // dtype.itemsize)
    for wide in (False, True):
        one = variant.strided(wide, width, (False, width > 1))
        nvrtc.compile_kernels(one.text, (one.name,), one.file, "sm_80", one.options)


@pytest.mark.parametrize("dtype", [np.float32, np.int64], ids=["float32", "int64"])
def test_every_formula_can_be_printed(dtype: type) -> None:
    failed = {}
    for name, formula in FORMULAS.items():
        if not isinstance(formula, Update):
            try:
                Variant(formula, (np.dtype(dtype),) * len(formula.arrays), (), None)
            except (Unsupported, RuntimeError) as error:
                failed[name] = str(error)
    assert not failed


@needs_nvrtc
def test_compiled_code_is_kept(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNKIT_CUDA_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    one = kernel("softmax", "softmax_slices", np.dtype(np.float32), False)
    path, name = compiled(one, "80")
    assert path.exists() and "softmax_slices" in name
    stamp = path.stat().st_mtime_ns
    assert compiled(one, "80") == (path, name) and path.stat().st_mtime_ns == stamp


@needs_nvrtc
def test_what_does_not_compile_says_why() -> None:
    with pytest.raises(RuntimeError, match="NVRTC could not compile"):
        nvrtc.compile_kernels("nonsense", ("f",), "nonsense.cu", "sm_80")
    assert nvrtc.target_for("80") == "sm_80"
    with pytest.raises(RuntimeError, match="compute capability 10"):
        nvrtc.target_for("10")


def test_without_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "_candidates", lambda: ["no-such-library"])
    nvrtc.load.cache_clear()
    try:
        with pytest.raises(RuntimeError, match="pip install nvidia-cuda-nvrtc"):
            nvrtc.load()
    finally:
        nvrtc.load.cache_clear()


def test_unknown_dtypes_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="complex64: cast the tensor"):
        kernel("softmax", "softmax_slices", np.dtype(np.complex64), False)


# Kernels whose blocks may have 1024 threads, of which each then has no more than 64 registers.
WIDE = {
    "ctc": {"ctc_loss", "ctc_loss_grad"},
    "loss": set(
        "cross_entropy cross_entropy_grad nll_loss_grad reduce_losses weight_totals".split()
    ),
    "norm": {"norm_rows", "norm_rows_grad", "norm_channels", "norm_channels_grad"},
    "reduction": {"reduce_rows"},
    "softmax": {"softmax_rows", "softmax_rows_grad"},
}


@pytest.mark.parametrize("subject", WIDE)
def test_wide_blocks_can_be_launched(subject: str) -> None:
    """Without the bound the compiler may take more registers than such a block has."""
    text = (FOLDER / f"{subject}.cu").read_text()
    found = re.findall(r"__launch_bounds__\([^)]*(?:1024|most_threads)[^)]*\)\s+(\w+)\(", text)
    assert set(found) == WIDE[subject]
