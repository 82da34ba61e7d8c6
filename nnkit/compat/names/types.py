"""torch.types: names for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import Any

from nnkit import Size, Tensor
from nnkit import device as _device
from nnkit.compat.names import SymBool, SymFloat, SymInt

_int, _float, _bool, _str = builtins.int, builtins.float, builtins.bool, builtins.str
_complex = builtins.complex
Number = builtins.int | builtins.float | builtins.bool
_Number = (builtins.int, builtins.float, builtins.bool)
_size = Size | builtins.list[builtins.int] | tuple[builtins.int, ...]
_symsize = _size
_TensorOrTensors = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge = _TensorOrTensors
_dispatchkey = builtins.str | Any
Device = _device | builtins.str | builtins.int | None
FileLike = builtins.str | os.PathLike | Any
py_sym_types = (SymInt, SymFloat, SymBool)
PySymType = SymInt | SymFloat | SymBool
IntLikeType = builtins.int | SymInt
FloatLikeType = builtins.float | SymFloat
BoolLikeType = builtins.bool | SymBool
Storage = Any
