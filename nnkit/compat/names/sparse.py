"""What `torch.sparse` has besides `nnkit.sparse`: its older classes, one for each dtype."""

from __future__ import annotations

from typing import Any

import nnkit
from nnkit.backend.warning import warn_once
from nnkit.compat.foreign import stand_in
from nnkit.sparse import sparse_coo_tensor


class _OfDtype(type):
    """The class of those classes: calling one makes a tensor of layout ``sparse_coo``."""

    dtype: Any

    def __call__(cls, *arguments: Any, device: Any = None) -> Any:
        if arguments and not isinstance(arguments[0], nnkit.Tensor):  # sizes
            sizes = arguments[0] if len(arguments) == 1 else arguments
            arguments = ((sizes,) if isinstance(sizes, int) else tuple(sizes),)
            form = "shape, "
        else:
            form = "".join(("indices, ", "values, ", "shape, ")[: len(arguments)])
        warn_once(
            f"torch.sparse.SparseTensor({form and form + '*, device='}) is deprecated.  Please use "
            f"torch.sparse_coo_tensor({form or '(0,), '}dtype={form and ', device='})."
        )
        return sparse_coo_tensor(*arguments or ((0,),), dtype=cls.dtype, device=device)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, nnkit.Tensor) and value.is_sparse and value.dtype is cls.dtype


def _class(name: str, dtype: Any) -> Any:
    return _OfDtype(name, (), {"__module__": "torch.sparse", "dtype": dtype})


BFloat16Tensor = _class("BFloat16Tensor", nnkit.bfloat16)
ByteTensor = _class("ByteTensor", nnkit.uint8)
CharTensor = _class("CharTensor", nnkit.int8)
DoubleTensor = _class("DoubleTensor", nnkit.float64)
FloatTensor = _class("FloatTensor", nnkit.float32)
HalfTensor = _class("HalfTensor", nnkit.float16)
IntTensor = _class("IntTensor", nnkit.int32)
LongTensor = _class("LongTensor", nnkit.int64)
ShortTensor = _class("ShortTensor", nnkit.int16)
_SEMI = "torch.sparse.semi_structured"
SparseSemiStructuredTensor = stand_in(_SEMI, "SparseSemiStructuredTensor")
SparseSemiStructuredTensorCUSPARSELT = stand_in(_SEMI, "SparseSemiStructuredTensorCUSPARSELT")
SparseSemiStructuredTensorCUTLASS = stand_in(_SEMI, "SparseSemiStructuredTensorCUTLASS")
to_sparse_semi_structured = stand_in(_SEMI, "to_sparse_semi_structured")
