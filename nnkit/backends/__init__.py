"""Switches of the libraries behind PyTorch, for programs that set or ask them."""

from __future__ import annotations

from nnkit.backends import cuda as cuda
from nnkit.backends import cudnn as cudnn
from nnkit.backends import mps as mps
