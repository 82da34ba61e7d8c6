"""NCCL's side, without a GPU: its drivers on a stand-in, and the stand-in beside CuPy's module."""

from __future__ import annotations

import inspect
import re
import sys
from types import ModuleType

import pytest

from nnkit.backend.cuda.collective import load_nccl
from tests.distributed import fake_nccl, needs_mpi, succeed


@needs_mpi
def test_drivers_compute_what_the_cpu_s_kernels_do() -> None:
    assert succeed("nccl", 3).count("passed") == 3


def test_the_stand_in_has_cupy_s_signatures() -> None:
    try:
        real = load_nccl()
    except RuntimeError as error:
        pytest.skip(str(error))
    assert set(fake_nccl.DTYPES) | set(fake_nccl.OPERATIONS) <= set(dir(real))
    for name, method in vars(fake_nccl.NcclCommunicator).items():
        if name.startswith("_"):
            continue
        text = getattr(real.NcclCommunicator, name).__doc__.splitlines()[0]
        shown = re.findall(r"(\w+)(?=[,)])", text.partition("(")[2])
        assert list(inspect.signature(method).parameters) == shown, name


def test_without_cupy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy.cuda", None)
    with pytest.raises(RuntimeError, match=r"nccl needs CuPy with NCCL.*pip install"):
        load_nccl()
    broken = ModuleType("cupy.cuda")
    broken.nccl = ModuleType("nccl")  # type: ignore[attr-defined]
    broken.nccl.available = False  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setitem(sys.modules, "cupy.cuda", broken)
    with pytest.raises(RuntimeError, match="needs NCCL's library: pip install"):
        load_nccl()
