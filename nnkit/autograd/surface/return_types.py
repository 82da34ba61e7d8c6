"""Named tuples for functions with several results, such as ``sort(...).values``."""

from __future__ import annotations

import functools
from collections import namedtuple

# One class for each list of fields: to make one takes as long as to import a small module.
_fields_of = functools.cache(functools.partial(namedtuple, "fields"))


def return_type(name: str, fields: str) -> type:
    """A tuple class that prints one field a line, as ``torch.return_types`` does."""

    def describe(self) -> str:
        lines = ",\n".join(f"{f}={v!r}" for f, v in zip(self._fields, self, strict=True))
        return f"{type(self).__module__}.{name}(\n{lines})"

    return type(
        name,
        (_fields_of(fields),),
        {"__slots__": (), "__repr__": describe, "__module__": "nnkit.return_types"},
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
cummax = return_type("cummax", "values indices")
cummin = return_type("cummin", "values indices")
aminmax = return_type("aminmax", "min max")
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
linalg_lu_factor = return_type("linalg_lu_factor", "LU pivots")
linalg_lu_factor_ex = return_type("linalg_lu_factor_ex", "LU pivots info")
lu_unpack = return_type("lu_unpack", "P L U")
