"""Random sparse tensors to measure with."""

from __future__ import annotations

import math
from typing import Any

import nnkit
from nnkit.utils.benchmark.fuzzer import FuzzedTensor


class FuzzedSparseTensor(FuzzedTensor):
    """A sparse tensor that a `Fuzzer` makes.

    The parameters ``density`` (its elements, relative to the sum of its sizes), ``coalesced`` and
    ``sparse_dim`` say how it is made.

    Args:
        name, size, min_elements, max_elements, dim_parameter, dtype, cuda: as in `FuzzedTensor`.
        sparse_dim: whether the parameter of that name counts; else all dimensions are sparse.
        nnz, density, coalesced: without effect.
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        min_elements: int | None = None,
        max_elements: int | None = None,
        dim_parameter: str | None = None,
        sparse_dim: str | None = None,
        nnz: str | None = None,
        density: str | None = None,
        coalesced: str | None = None,
        dtype: Any = nnkit.float32,
        cuda: bool = False,
    ) -> None:
        super().__init__(
            name,
            size,
            min_elements=min_elements,
            max_elements=max_elements,
            dim_parameter=dim_parameter,
            dtype=dtype,
            cuda=cuda,
        )
        self._sparse_dim = sparse_dim

    @staticmethod
    def sparse_tensor_constructor(
        size: Any, dtype: Any, sparse_dim: int, nnz: int, is_coalesced: bool
    ) -> Any:
        """A tensor with ``nnz`` elements, each in two parts if it is not to be coalesced.

        Raises:
            AssertionError: it has elements and no places for them.
        """
        size = [size] * sparse_dim if isinstance(size, int) else list(size)
        places = size[:sparse_dim]
        if nnz and all(n <= 0 for n in places):
            raise AssertionError(f"FuzzedSparseTensor(): {nnz} elements need places, got {size}")
        values = FuzzedTensor.default_tensor_constructor([nnz, *size[sparse_dim:]], dtype)
        indices = nnkit.rand(sparse_dim, nnz)
        indices = (indices * nnkit.tensor(places).unsqueeze(1).to(indices)).long()
        if not is_coalesced:
            values = nnkit.cat([values, nnkit.randn_like(values)])
            indices = nnkit.cat([indices, indices], 1)
        made = nnkit.sparse_coo_tensor(indices, values, tuple(size))
        return made.coalesce() if is_coalesced else made

    def _make_tensor(self, params: dict[str, Any], state: Any) -> tuple[Any, dict[str, Any]]:
        size, _ = self._shape(params)
        density = params["density"]
        sparse = min(params["sparse_dim"], len(size)) if self._sparse_dim else len(size)
        nnz = math.ceil(sum(size) * density)
        tensor = self.sparse_tensor_constructor(size, self._dtype, sparse, nnz, params["coalesced"])
        tensor = tensor.cuda() if self._cuda else tensor
        return tensor, {
            "numel": tensor.numel(),
            "shape": tensor.size(),
            "is_coalesced": tensor.is_coalesced(),
            "density": density,
            "sparsity": 1.0 - density,
            "sparse_dim": tensor.sparse_dim(),
            "dense_dim": tensor.dense_dim(),
            "is_hybrid": tensor.dense_dim() > 0,
            "dtype": str(self._dtype),
        }
