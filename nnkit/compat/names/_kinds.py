"""Dtypes and quantization schemes that no tensor has, for programs that compare with them."""

from __future__ import annotations

from typing import Any

from nnkit.backend.dtype import COMPLEX, FLOATING, INTEGER, dtype


class _Absent(dtype):
    """A dtype of torch that no tensor of nnkit can have."""

    __slots__ = ()

    def __init__(self, name: str, category: int, itemsize: int) -> None:
        super().__init__(name, f"V{itemsize}", category)
        self.is_signed = not name.startswith(("uint", "quint", "bits"))
        del self.array

    def __getattr__(self, name: str) -> Any:
        if name == "array":
            raise NotImplementedError(f"nnkit has no tensors of dtype {self!r}")
        raise AttributeError(name)

    def __reduce__(self) -> str:
        return self.name


_SIZES = {
    **{f"int{n}": 1 for n in range(1, 8)},
    **{f"uint{n}": 1 for n in range(1, 8)},
    **{"qint8": 1, "quint8": 1, "qint32": 4, "quint4x2": 1, "quint2x4": 1},
    **{"bits8": 1, "bits16": 2, "bits1x8": 1, "bits2x4": 1, "bits4x2": 1},
}
DTYPES: dict[str, Any] = {name: _Absent(name, INTEGER, size) for name, size in _SIZES.items()}
DTYPES["complex32"] = DTYPES["chalf"] = _Absent("complex32", COMPLEX, 4)
DTYPES["float4_e2m1fn_x2"] = _Absent("float4_e2m1fn_x2", FLOATING, 1)


class qscheme:
    """A quantization scheme, which has no effect here."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


QSCHEMES: dict[str, Any] = {
    name: qscheme(name)
    for name in (
        "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric",
        "per_channel_symmetric", "per_channel_affine_float_qparams",
    )
}  # fmt: skip
QSCHEMES["qscheme"] = qscheme
