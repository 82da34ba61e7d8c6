"""Tuples with names for functions with several results, such as ``sort(...).values``."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any


class ReturnType(tuple):
    """The base of these classes, which take one sequence, as ``torch.return_types`` do.

    Raises:
        TypeError: it is no sequence, or one of another length.
    """

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()
    n_sequence_fields: int
    n_unnamed_fields = 0

    def __new__(cls, sequence: Iterable[Any], dict: Any = None) -> Any:
        self = tuple.__new__(cls, sequence)
        if len(self) != cls.n_sequence_fields:
            raise TypeError(
                f"{cls.__module__}.{cls.__name__}() takes a {cls.n_sequence_fields}-sequence "
                f"({len(self)}-sequence given)"
            )
        return self

    def __reduce__(self) -> tuple:
        return type(self), (tuple(self), {})

    def __repr__(self) -> str:
        names = self.__match_args__
        lines = ",\n".join(f"{name}={v!r}" for name, v in zip(names, self, strict=True))
        return f"{type(self).__module__}.{type(self).__name__}(\n{lines})"


def return_type(name: str, fields: str) -> type:
    """A tuple class that prints one field a line."""
    names = tuple(fields.split())
    members: dict[str, Any] = {n: property(itemgetter(k)) for k, n in enumerate(names)}
    return type(
        name,
        (ReturnType,),
        {
            "__slots__": (),
            "__match_args__": names,
            "__module__": "nnkit.return_types",
            "n_fields": len(names),
            "n_sequence_fields": len(names),
            **members,
        },
    )


sort = return_type("sort", "values indices")
topk = return_type("topk", "values indices")
kthvalue = return_type("kthvalue", "values indices")
median = return_type("median", "values indices")
nanmedian = return_type("nanmedian", "values indices")
mode = return_type("mode", "values indices")
max = return_type("max", "values indices")
min = return_type("min", "values indices")
histogram = return_type("histogram", "hist bin_edges")
histogramdd = return_type("histogramdd", "hist bin_edges")
cummax = return_type("cummax", "values indices")
cummin = return_type("cummin", "values indices")
aminmax = return_type("aminmax", "min max")
frexp = return_type("frexp", "mantissa exponent")
slogdet = return_type("slogdet", "sign logabsdet")
qr = return_type("qr", "Q R")
svd = return_type("svd", "U S V")
geqrf = return_type("geqrf", "a tau")
linalg_slogdet = return_type("linalg_slogdet", "sign logabsdet")
linalg_qr = return_type("linalg_qr", "Q R")
linalg_svd = return_type("linalg_svd", "U S Vh")
linalg_eigh = return_type("linalg_eigh", "eigenvalues eigenvectors")
linalg_eig = return_type("linalg_eig", "eigenvalues eigenvectors")
linalg_lstsq = return_type("linalg_lstsq", "solution residuals rank singular_values")
linalg_inv_ex = return_type("linalg_inv_ex", "inverse info")
linalg_cholesky_ex = return_type("linalg_cholesky_ex", "L info")
linalg_solve_ex = return_type("linalg_solve_ex", "result info")
linalg_lu = return_type("linalg_lu", "P L U")
linalg_ldl_factor = return_type("linalg_ldl_factor", "LD pivots")
linalg_ldl_factor_ex = return_type("linalg_ldl_factor_ex", "LD pivots info")
linalg_lu_factor = return_type("linalg_lu_factor", "LU pivots")
linalg_lu_factor_ex = return_type("linalg_lu_factor_ex", "LU pivots info")
lu_unpack = return_type("lu_unpack", "P L U")
_lu_with_info = return_type("_lu_with_info", "LU pivots info")
triangular_solve = return_type("triangular_solve", "solution cloned_coefficient")
