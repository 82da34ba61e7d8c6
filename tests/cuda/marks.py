"""What a test of CUDA code needs of the machine."""

from __future__ import annotations

import pytest

from tests.cuda.emulation import COMPILER

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="kernels are emulated by g++")
