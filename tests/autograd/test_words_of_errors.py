"""The words of errors that programs look for: the same ones match in both frameworks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

Row = tuple[str, type[Exception], str, Callable[[Any], Any]]
BOX = (3, 4, 5)


def _assigned(x: Any, index: Any, value: Any) -> None:
    x[index] = value


def _returned(lib: Any) -> Any:
    functions = {"forward": staticmethod(lambda ctx, x: x)}
    return type("Same", (lib.autograd.Function,), functions).apply(lib.ones(2))


SHAPES: list[Row] = [
    ("expand", RuntimeError, r"The expanded size of the tensor \(3\) must match the existing size",
     lambda lib: lib.zeros(2).expand(3)),
    ("expand_fewer", RuntimeError, "number of sizes provided .* must be greater or equal to",
     lambda lib: lib.zeros(2, 2).expand(2)),
    ("view_empty", RuntimeError, "because the unspecified dimension size -1 can be any value",
     lambda lib: lib.zeros(0).view(-1, 0)),
    ("view_apart", RuntimeError, "view size .*is not compatible with input tensor's size",
     lambda lib: lib.zeros(BOX).transpose(0, 1).view(60)),
    ("view_size", RuntimeError, r"self.size\(-1\) must be divisible by 2",
     lambda lib: lib.zeros(4, 3).view(lib.float64)),
    ("view_offset", RuntimeError, r"self.storage_offset\(\) must be divisible by 2",
     lambda lib: lib.zeros(4, 4)[:, 1:3].view(lib.float64)),
    ("view_stride", RuntimeError, r"self.stride\(0\) must be divisible by 2",
     lambda lib: lib.zeros(4, 5)[:, :4].view(lib.float64)),
    ("view_last", RuntimeError, r"self.stride\(-1\) must be 1",
     lambda lib: lib.zeros(3, 4).T.view(lib.int16)),
    ("view_number", RuntimeError, r"self.dim\(\) cannot be 0",
     lambda lib: lib.tensor(1.0).view(lib.int16)),
    ("complex_size", RuntimeError, "Tensor must have a last dimension of size 2",
     lambda lib: lib.view_as_complex(lib.zeros(3))),
    ("complex_last", RuntimeError, "Tensor must have a last dimension with stride 1",
     lambda lib: lib.view_as_complex(lib.zeros(2, 2).T)),
    ("complex_stride", RuntimeError, "Tensor must have a stride divisible by 2 for all but last",
     lambda lib: lib.view_as_complex(lib.zeros(4, 3)[:, :2])),
    ("complex_offset", RuntimeError, "Tensor must have a storage_offset divisible by 2",
     lambda lib: lib.view_as_complex(lib.zeros(5)[1:3])),
    ("as_strided", RuntimeError, "out of bounds for storage of size",
     lambda lib: lib.zeros(4).as_strided((3,), (1,), 9)),
    ("overflow", RuntimeError, "Stride calculation overflowed",
     lambda lib: lib.empty(0, 4, 1 << 61)),
    ("unflatten", RuntimeError, "unflatten: Provided sizes .* don't multiply up to the size of dim",
     lambda lib: lib.zeros(3).unflatten(0, (2, 2))),
    ("unflatten_none", RuntimeError, "unflatten: sizes must be non-empty",
     lambda lib: lib.zeros(3).unflatten(0, ())),
    ("flatten", RuntimeError, "start_dim cannot come after end_dim",
     lambda lib: lib.zeros(BOX).flatten(2, 1)),
    ("movedim", RuntimeError, "movedim: Invalid source or destination dims",
     lambda lib: lib.zeros(BOX).movedim((0, 1), (0,))),
    ("movedim_source", RuntimeError, "movedim: repeated dim in `source`",
     lambda lib: lib.zeros(BOX).movedim((0, -3), (0, 1))),
    ("movedim_destination", RuntimeError, "movedim: repeated dim in `destination`",
     lambda lib: lib.zeros(BOX).movedim((0, 1), (1, 1))),
    ("permute", RuntimeError, "does not match the length of the desired ordering of dimensions",
     lambda lib: lib.zeros(BOX).permute(0, 1)),
    ("fliplr", RuntimeError, "Input must be >= 2-d.", lambda lib: lib.zeros(3).fliplr()),
    ("flipud", RuntimeError, "Input must be >= 1-d.", lambda lib: lib.tensor(1).flipud()),
    ("rot90_dims", RuntimeError, "expected total rotation dims == 2, but got dims = 1",
     lambda lib: lib.zeros(BOX).rot90(1, [0])),
    ("rot90_row", RuntimeError, "expected total dims >= 2, but got total dims = 1",
     lambda lib: lib.zeros(3).rot90(1, [0, 1])),
    ("rot90_twice", RuntimeError, "expected rotation dims to be different",
     lambda lib: lib.zeros(BOX).rot90(1, [0, -3])),
    ("roll", RuntimeError, "shifts and dimensions must align",
     lambda lib: lib.zeros(BOX).roll((1, 2), (0,))),
    ("unfold_size", RuntimeError, "maximum size for tensor at dimension 0 is 3 but size is 5",
     lambda lib: lib.zeros(3).unfold(0, 5, 1)),
    ("unfold_step", RuntimeError, "step is 0 but must be > 0",
     lambda lib: lib.zeros(3).unfold(0, 2, 0)),
    ("repeat", RuntimeError, "Number of dimensions of repeat dims .*can not be smaller",
     lambda lib: lib.zeros(BOX).repeat(2)),
    ("repeats", RuntimeError, "repeats must have the same size as input along dim",
     lambda lib: lib.zeros(3).repeat_interleave(lib.tensor([1, 2]), 0)),
    ("repeats_negative", RuntimeError, "repeats can not be negative",
     lambda lib: lib.zeros(3).repeat_interleave(lib.tensor([-1, 1, 1]), 0)),
    ("diagonal", RuntimeError, "diagonal dimensions cannot be identical",
     lambda lib: lib.zeros(BOX).diagonal(0, 1, 1)),
    ("diag", RuntimeError, "Supports 1D or 2D tensors", lambda lib: lib.zeros(BOX).diag()),
    ("cat_dims", RuntimeError, "Tensors must have same number of dimensions",
     lambda lib: lib.cat([lib.zeros(2, 2), lib.zeros(2)])),
    ("cat_sizes", RuntimeError, "Sizes of tensors must match except in dimension 0",
     lambda lib: lib.cat([lib.zeros(2, 2), lib.zeros(2, 3)])),
    ("stack", RuntimeError, "stack expects each tensor to be equal size",
     lambda lib: lib.stack([lib.zeros(2), lib.zeros(3)])),
    ("stack_none", RuntimeError, "expects a non-empty TensorList", lambda lib: lib.stack([])),
    ("chunk", RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0",
     lambda lib: lib.zeros(2).chunk(0)),
    ("tensor_split", RuntimeError, "expected at least a 1-dimensional tensor, but got a tensor",
     lambda lib: lib.tensor(1.0).tensor_split(1)),
    ("tensor_split_dtype", RuntimeError, "tensor_indices_or_sections to have dtype of long",
     lambda lib: lib.zeros(2).tensor_split(lib.tensor([1.0]))),
    ("tensor_split_dims", RuntimeError, "to be a zero-dimensional or one-dimensional tensor",
     lambda lib: lib.zeros(2).tensor_split(lib.tensor([[1]]))),
    ("vsplit", RuntimeError, "torch.vsplit requires a tensor with at least 2 dimension",
     lambda lib: lib.zeros(2).vsplit(1)),
    ("hsplit", RuntimeError, "attempted to split along dimension 1, but the size of the",
     lambda lib: lib.zeros(3, 3).hsplit(2)),
    ("split", RuntimeError, "split expects split_size be non-negative",
     lambda lib: lib.zeros(2).split(-1)),
    ("cartesian_prod", RuntimeError, "Expect a 1D vector",
     lambda lib: lib.cartesian_prod(lib.zeros(2, 2))),
    ("combinations", RuntimeError, "Expect a non-negative number, but got -1",
     lambda lib: lib.combinations(lib.zeros(2), -1)),
    ("meshgrid", RuntimeError, "Expected 0D or 1D tensor in the tensor list",
     lambda lib: lib.meshgrid(lib.zeros(2, 2), indexing="ij")),
    ("meshgrid_device", RuntimeError, "expects all tensors to have the same device",
     lambda lib: lib.meshgrid(lib.zeros(2), lib.zeros(2, device="meta"), indexing="ij")),
    ("svd_driver", RuntimeError, "keyword argument `driver=` is only supported on CUDA inputs",
     lambda lib: lib.linalg.svd(lib.zeros(2, 2), driver="gesvd")),
    ("svdvals_driver", RuntimeError, "keyword argument `driver=` is only supported on CUDA inputs",
     lambda lib: lib.linalg.svdvals(lib.zeros(2, 2), driver="gesvd")),
    ("block_diag", RuntimeError, "Input tensors must have 2 or fewer dimensions",
     lambda lib: lib.block_diag(lib.zeros(BOX))),
    ("normal", RuntimeError, r"The size of tensor a \(2\) must match the size of tensor b \(3\)",
     lambda lib: lib.normal(lib.zeros(2), lib.ones(3))),
    ("add", RuntimeError, r"The size of tensor a \(2\) must match the size of tensor b \(3\)",
     lambda lib: lib.zeros(2) + lib.zeros(3)),
    ("Size", TypeError, "can only concatenate tuple .*to torch.Size",
     lambda lib: lib.Size([1]) + [2]),
]  # fmt: skip

VALUES: list[Row] = [
    ("masked_select", RuntimeError, "expected BoolTensor for mask",
     lambda lib: lib.zeros(2).masked_select(lib.zeros(2, dtype=lib.uint8))),
    ("masked_fill", RuntimeError, "only supports boolean masks",
     lambda lib: lib.zeros(2).masked_fill(lib.zeros(2, dtype=lib.uint8), 0)),
    ("legacy", TypeError, r"received an invalid combination of arguments - got \(tuple, int, int",
     lambda lib: lib.LongTensor((6, 0), 1, 1)),
    ("legacy_none", TypeError, r"data must be a sequence \(got NoneType\)",
     lambda lib: lib.Tensor(None)),
    ("cummax", IndexError, "Expected reduction dim -1 or 0 for scalar but got 100",
     lambda lib: lib.tensor(1.0).cummax(100)),
    ("cummin", IndexError, "Expected reduction dim -1 or 0 for scalar but got -2",
     lambda lib: lib.tensor(1.0).cummin(-2)),
    ("index_select_number", RuntimeError, "Index to scalar can have only 1 value, got 2 value",
     lambda lib: lib.tensor(1.0).index_select(0, lib.tensor([0, 0]))),
    ("index_select", RuntimeError, "self indexing axis dim should be positive",
     lambda lib: lib.zeros(0, 3).index_select(0, lib.tensor([0]))),
    ("index_add", RuntimeError, "source tensor shape must match self tensor shape, excluding",
     lambda lib: lib.zeros(3, 3).index_add(0, lib.tensor([0, 1]), lib.ones(2, 4))),
    ("take_along_dim", RuntimeError, "dtype of indices should be Long",
     lambda lib: lib.zeros(2).take_along_dim(lib.zeros(2, dtype=lib.int32), 0)),
    ("setitem_shape", RuntimeError, "shape mismatch: value tensor of shape",
     lambda lib: _assigned(lib.arange(4), lib.tensor([True, True, False, False]), lib.ones(3))),
    ("setitem_dtype", RuntimeError, "source and destination dtypes match",
     lambda lib: _assigned(lib.arange(4), lib.tensor([0, 1]), lib.ones(2))),
    ("index_put_shape", RuntimeError, "shape mismatch: value tensor of shape",
     lambda lib: lib.arange(4).index_put((lib.tensor([0, 1]),), lib.ones(3), accumulate=True)),
    ("index_put_dtype", RuntimeError, "source and destination dtypes match",
     lambda lib: lib.arange(4).index_put((lib.tensor([0, 1]),), lib.ones(2))),
    ("unravel_index", TypeError, "expected 'shape' to be int or sequence",
     lambda lib: lib.unravel_index(lib.tensor([0]), lib.tensor([2, 2]))),
    ("unravel_negative", ValueError, "'shape' cannot have negative values",
     lambda lib: lib.unravel_index(lib.tensor([0]), (2, -1))),
    ("slice_scatter", IndexError, "Dimension out of range",
     lambda lib: lib.zeros(7).slice_scatter(lib.zeros(7), 7, 1, 5, -1)),
    ("slice_step", RuntimeError, "slice step must be positive",
     lambda lib: lib.zeros(7).slice_scatter(lib.zeros(7), 0, 1, 5, -1)),
    ("unique", RuntimeError, "There are 0 sized dimensions, and they aren't selected",
     lambda lib: lib.zeros(0, 3, 0).unique(dim=1)),
    ("bucketize", RuntimeError, "boundaries tensor must be 1 dimension",
     lambda lib: lib.bucketize(lib.zeros(2), lib.zeros(2, 2))),
    ("searchsorted", RuntimeError, "boundaries tensor should be 1 dimension or the first N-1",
     lambda lib: lib.searchsorted(lib.zeros(3, 4), lib.zeros(2, 4))),
    ("diff", RuntimeError, "diff expects prepend or append to be the same dimension as input",
     lambda lib: lib.zeros(2, 2).diff(prepend=lib.zeros(2))),
    ("gradient", RuntimeError, "expected spacing to be",
     lambda lib: lib.gradient(lib.zeros(3, 3), spacing=[1.0])),
    ("dot", RuntimeError, "same dtype", lambda lib: lib.ones(3).dot(lib.ones(3).double())),
    ("conv2d", RuntimeError, "expected scalar type Float but found Long",
     lambda lib: lib.nn.functional.conv2d(lib.ones(1, 1, 3, 3), lib.ones(1, 1, 3, 3).long())),
    ("bmm", RuntimeError, "expected scalar type Double but found Float",
     lambda lib: lib.ones(3, 3, 3).double().bmm(lib.ones(3, 3, 3))),
    ("heaviside", RuntimeError, "not yet implemented for tensors with different dtypes",
     lambda lib: lib.heaviside(lib.ones(2), lib.ones(2), out=lib.arange(2))),
    ("heaviside_", RuntimeError, "not yet implemented for tensors with different dtypes",
     lambda lib: lib.ones(2).bool().heaviside_(lib.ones(2))),
    ("trapezoid", TypeError, "received an invalid combination of arguments",
     lambda lib: lib.trapezoid(lib.ones(2), lib.ones(2), dx=1)),
    ("max_out", RuntimeError, "Expected out tensor to have dtype float, but got int instead",
     lambda lib: lib.max(lib.ones(2), 0, out=(lib.ones(1).int(), lib.arange(1)))),
    ("mode_out", RuntimeError, "expected scalar type 'Long' but got 'Int' for indices",
     lambda lib: lib.mode(lib.ones(2), 0, out=(lib.ones(()), lib.ones(()).int()))),
    ("histogram_out", RuntimeError, "input tensor and hist tensor should have the same dtype",
     lambda lib: lib.histogram(lib.ones(2), 2, out=(lib.ones(2).double(), lib.ones(3)))),
    ("out", RuntimeError, "expected scalar_type Float but found Short",
     lambda lib: lib.cummax(lib.ones(2), 0, out=(lib.ones(2).short(), lib.arange(2)))),
    ("nonzero_out", RuntimeError, "nonzero does not support the out kwarg when as_tuple is True",
     lambda lib: lib.nonzero(lib.ones(2), as_tuple=True, out=lib.arange(2))),
    ("grid_batch", RuntimeError, "expected grid and input to have same batch size",
     lambda lib: lib.nn.functional.grid_sample(lib.ones(1, 1, 3, 3), lib.ones(2, 3, 3, 2))),
    ("grid_size", RuntimeError, "expected grid to have size 2 in last dimension",
     lambda lib: lib.nn.functional.grid_sample(lib.ones(1, 1, 3, 3), lib.ones(1, 3, 3, 3))),
]  # fmt: skip

OTHERS: list[Row] = [
    ("seed", ValueError, "Overflow when unpacking long long", lambda lib: lib.manual_seed(1 << 64)),
    ("deterministic", TypeError, r"argument 'mode' \(position 1\) must be bool, not int",
     lambda lib: lib.use_deterministic_algorithms(1)),
    ("fill_memory", RuntimeError, "expected a bool, but got int",
     lambda lib: setattr(lib.utils.deterministic, "fill_uninitialized_memory", 1)),
    ("as_subclass", TypeError, "from a class that does not inherit from Tensor",
     lambda lib: lib.zeros(2).as_subclass(int)),
    ("FloatTensor", TypeError, "type 'torch.FloatTensor' is not an acceptable base type",
     lambda lib: type("Mine", (lib.FloatTensor,), {})),
    ("sparse_format", RuntimeError, "memory format option is only supported by strided tensors",
     lambda lib: lib.empty_like(lib.eye(2).to_sparse(), memory_format=lib.preserve_format)),
    ("sparse_order", AttributeError, "Can't get dim order on sparse type",
     lambda lib: lib.eye(2).to_sparse().dim_order()),
]  # fmt: skip

ARITHMETIC: list[Row] = [
    ("sub_masks", RuntimeError, r"two bool tensors is not supported. Use the `\^` or `logical_xor",
     lambda lib: lib.ones(2).bool() - lib.ones(2).bool()),
    ("sub_mask", RuntimeError, "a bool tensor is not supported. If you are trying to invert a",
     lambda lib: 1 - lib.ones(2).bool()),
    ("neg_mask", RuntimeError, "Negation, the `-` operator, on a bool tensor is not supported",
     lambda lib: -lib.ones(2).bool()),
    ("heaviside", RuntimeError, "heaviside is not yet implemented for tensors with different",
     lambda lib: lib.ones(2).heaviside(lib.ones(2).double())),
    ("heaviside_complex", RuntimeError, "heaviside is not yet implemented for complex tensors",
     lambda lib: lib.ones(2).cfloat().heaviside(lib.ones(2).cfloat())),
    ("alpha", RuntimeError, "For integral input tensors, argument alpha must not be a floating",
     lambda lib: lib.arange(2).add(lib.arange(2), alpha=1.5)),
    ("cast", RuntimeError, "result type ComplexFloat can't be cast to the desired output type",
     lambda lib: lib.add(lib.ones(2).cfloat(), 1, out=lib.ones(2).double())),
    ("addcdiv", RuntimeError, "Integer division with addcdiv is no longer supported",
     lambda lib: lib.addcdiv(lib.arange(2), lib.arange(2), lib.arange(2))),
    ("isclose", RuntimeError, "rtol must be greater than or equal to zero, but got -1",
     lambda lib: lib.ones(2).isclose(lib.ones(2), rtol=-1)),
    ("complex", RuntimeError, "Expected object of scalar type Float but got scalar type Double",
     lambda lib: lib.complex(lib.ones(2), lib.ones(2).double())),
    ("float_power", RuntimeError, "but the operation's result requires dtype Double",
     lambda lib: lib.float_power(lib.ones(2), 2, out=lib.ones(2))),
    ("dims", RuntimeError, "only tensors with up to 64 dims are supported",
     lambda lib: lib.zeros([1] * 65).sum(0)),
]  # fmt: skip

REDUCTIONS: list[Row] = [
    ("all_out", RuntimeError, "all only supports bool tensor for result, got",
     lambda lib: lib.all(lib.ones(2), 0, out=lib.ones(()))),
    ("nansum", RuntimeError, "nansum .*does not support complex inputs",
     lambda lib: lib.ones(2).cfloat().nansum()),
    ("trapezoid", RuntimeError, "There must be one `x` value for each sample point",
     lambda lib: lib.trapezoid(lib.ones(3), lib.ones(2))),
    ("trapezoid_dx", RuntimeError, "Currently, we only support dx as a real number",
     lambda lib: lib.trapezoid(lib.ones(3), dx=1j)),
    ("renorm", RuntimeError, "expected maxnorm to be >= 0 but got -1",
     lambda lib: lib.ones(2, 2).renorm(1, 0, -1)),
    ("mode", IndexError, r"mode\(\): Expected reduction dim 0 to have non-zero size",
     lambda lib: lib.zeros(0).mode()),
    ("search_number", RuntimeError, "only when boundaries tensor dimension is 1",
     lambda lib: lib.searchsorted(lib.ones(3, 4), 1.0)),
    ("search_out", RuntimeError, "output tensor's dtype is wrong",
     lambda lib: lib.searchsorted(lib.ones(3), lib.ones(2), out=lib.arange(2).int())),
    ("search_sorter", RuntimeError, "sorter must be a tensor of long dtype",
     lambda lib: lib.searchsorted(lib.ones(3), lib.ones(2), sorter=lib.ones(3))),
    ("search_range", RuntimeError, "sorter index out of range",
     lambda lib: lib.searchsorted(lib.ones(3), lib.ones(2), sorter=lib.tensor([0, 1, 3]))),
    ("quantile", RuntimeError, r"quantile\(\) q must be in the range \[0, 1\] but got 1.5",
     lambda lib: lib.ones(2).quantile(1.5)),
    ("quantile_q", RuntimeError, r"quantile\(\) q tensor must be same dtype as the input tensor",
     lambda lib: lib.ones(2).quantile(lib.ones(1).double())),
    ("quantile_out", RuntimeError, r"quantile\(\) out tensor must be same dtype as the input",
     lambda lib: lib.quantile(lib.ones(2), 0.5, out=lib.ones(()).double())),
    ("histogram_bins", RuntimeError, "input tensor and bins tensors should have the same dtype",
     lambda lib: lib.histogram(lib.ones(3), lib.ones(2).double())),
    ("histogram_weight", RuntimeError, "input tensor and weight tensor should have the same dtype",
     lambda lib: lib.histogram(lib.ones(3), 2, weight=lib.ones(3).double())),
    ("histogram_shape", RuntimeError, "it should have the same shape as the input tensor excluding",
     lambda lib: lib.histogram(lib.ones(3), 2, weight=lib.ones(2))),
    ("histogram_dims", RuntimeError, "bins tensor should have one dimension",
     lambda lib: lib.histogram(lib.ones(3), lib.ones(2, 2))),
    ("histogram_range", RuntimeError, "min should not exceed max",
     lambda lib: lib.histogram(lib.ones(3), 2, range=(2.0, 1.0))),
    ("histogram_edges", TypeError, "received an invalid combination of arguments",
     lambda lib: lib.histogram(lib.ones(3), lib.tensor(2.0), range=(1.0, 2.0))),
    ("lstsq_A", RuntimeError, "input must have at least 2 dimensions",
     lambda lib: lib.linalg.lstsq(lib.ones(3), lib.ones(3))),
    ("lstsq_B", RuntimeError, "other must have at least 1 dimension",
     lambda lib: lib.linalg.lstsq(lib.eye(3), lib.ones(()))),
    ("lstsq_vector", RuntimeError, r"input.size\(-2\) should match other.size\(-1\)",
     lambda lib: lib.linalg.lstsq(lib.eye(3), lib.ones(2))),
    ("lstsq_matrix", RuntimeError, r"input.size\(-2\) should match other.size\(-2\)",
     lambda lib: lib.linalg.lstsq(lib.eye(3), lib.ones(2, 1))),
    ("lstsq_rank", RuntimeError, "input matrix does not have full rank",
     lambda lib: lib.linalg.lstsq(lib.ones(3, 2), lib.ones(3, 1), driver="gels")),
    ("pinv", RuntimeError, "expected a tensor with 2 or more dimensions",
     lambda lib: lib.linalg.pinv(lib.ones(3))),
    ("pinverse", RuntimeError, "expected a tensor with 2 or more dimensions",
     lambda lib: lib.eye(3).half().pinverse()),
    ("slogdet", RuntimeError, "Low precision dtypes not supported. Got BFloat16",
     lambda lib: lib.linalg.slogdet(lib.eye(3).bfloat16())),
    ("inv", RuntimeError, "Expected a floating point or complex tensor as input. Got Int",
     lambda lib: lib.linalg.inv(lib.eye(3).int())),
    ("ormqr_A", RuntimeError, "input must have at least 2 dimensions",
     lambda lib: lib.ormqr(lib.ones(3), lib.ones(3), lib.ones(3))),
    ("ormqr_B", RuntimeError, "other must have at least 2 dimensions",
     lambda lib: lib.ormqr(lib.eye(3), lib.ones(3), lib.ones(3))),
    ("ormqr_rows", RuntimeError, r"other.shape\[-2\] must be equal to input.shape\[-2\]",
     lambda lib: lib.ormqr(lib.eye(3), lib.ones(3), lib.eye(4))),
    ("ormqr_tau", RuntimeError, r"tau.shape\[-1\] must be equal to min\(other.shape\[-2\], ",
     lambda lib: lib.ormqr(lib.eye(3), lib.ones(2), lib.eye(3))),
    ("ormqr_batch", RuntimeError, r"batch dimensions of tau to be equal to input.shape\[:-2\]",
     lambda lib: lib.ormqr(lib.eye(2)[None], lib.ones(2, 2), lib.eye(2)[None])),
    ("householder", RuntimeError, r"input.shape\[-2\] must be greater than or equal to input.shape",
     lambda lib: lib.linalg.householder_product(lib.ones(2, 3), lib.ones(3))),
    ("dot_first", RuntimeError, "the first tensor must be 1D or 2D but got 0D",
     lambda lib: lib.linalg.multi_dot([lib.ones(()), lib.ones(2)])),
    ("dot_last", RuntimeError, "the last tensor must be 1D or 2D but got 3D",
     lambda lib: lib.linalg.multi_dot([lib.ones(2), lib.ones(2, 2, 2)])),
    ("dot_middle", RuntimeError, "tensor 1 must be 2D but got 1D",
     lambda lib: lib.linalg.multi_dot([lib.ones(2), lib.ones(2), lib.ones(2)])),
    ("dot_dtype", RuntimeError, "the same dtype but tensor 0 is float and tensor 1 double",
     lambda lib: lib.linalg.multi_dot([lib.ones(2), lib.ones(2).double()])),
    ("dot_out", RuntimeError, r"multi_dot\(\): expected out tensor to have dtype",
     lambda lib: lib.linalg.multi_dot([lib.eye(2), lib.eye(2)], out=lib.eye(2).double())),
    ("matrix_norm", RuntimeError, "dims must be different",
     lambda lib: lib.linalg.matrix_norm(lib.eye(3), dim=(0, -2))),
    ("tensorinv_ind", RuntimeError, "Expected a strictly positive integer for 'ind', but got 0",
     lambda lib: lib.linalg.tensorinv(lib.eye(3), 0)),
    ("tensorinv_beyond", RuntimeError, r"ind is 2, but self has 0 dim|invalid slice",
     lambda lib: lib.linalg.tensorinv(lib.tensor(2.0))),
    ("tensorsolve_beyond", RuntimeError, r"other.ndim is 2, but self has 1 dim|max_size",
     lambda lib: lib.linalg.tensorsolve(lib.ones(1), lib.ones(1, 1))),
    ("tensorinv", RuntimeError, r"Expected self to satisfy the requirement .*, but got 3 != 2",
     lambda lib: lib.linalg.tensorinv(lib.ones(2, 3), 1)),
    ("tensorsolve", RuntimeError, r"Expected self to satisfy the requirement .*, but got 6 != 4",
     lambda lib: lib.linalg.tensorsolve(lib.ones(2, 3, 6), lib.ones(2, 2))),
    ("lu_unpack", RuntimeError, r"between 1 and LU.size\(-2\)",
     lambda lib: lib.lu_unpack(lib.eye(2), lib.tensor([1, 3]).int())),
    ("pinv_out", RuntimeError, "result to be safely castable from Float dtype, but got result with"
     " dtype Int", lambda lib: lib.linalg.pinv(lib.eye(2), out=lib.eye(2).int())),
    ("cholesky_solve_out", RuntimeError, "but got result with dtype Int",
     lambda lib: lib.cholesky_solve(lib.eye(2), lib.eye(2), out=lib.eye(2).int())),
    ("eigvals_out", RuntimeError, "but got eigenvalues with dtype Int",
     lambda lib: lib.linalg.eigvals(lib.eye(2), out=lib.ones(2).int())),
    ("lstsq_out", RuntimeError, "Expected solution to be safely castable from Float dtype",
     lambda lib: lib.linalg.lstsq(lib.eye(2), lib.eye(2), out=(lib.ones(2).int(),) * 4)),
    ("frombuffer", ValueError, "object does not implement Python buffer protocol",
     lambda lib: lib.frombuffer([1], dtype=lib.int8)),
    ("bincount", RuntimeError, "bincount only supports 1-d non-negative integral inputs",
     lambda lib: lib.tensor([-1]).bincount()),
]  # fmt: skip


def _batch(lib: Any, *diagonal: float) -> Any:
    return lib.stack([lib.eye(3), lib.diag(lib.tensor(diagonal))])


LINALG: list[Row] = [
    ("addr_bool", RuntimeError, "Boolean beta only supported for Boolean results",
     lambda lib: lib.addr(lib.ones(2, 2), lib.ones(2), lib.ones(2), beta=True)),
    ("addr_float", RuntimeError, "argument alpha must not be a floating point number",
     lambda lib: lib.addr(lib.eye(2).long(), lib.arange(2), lib.arange(2), alpha=1.5)),
    ("addr_complex", RuntimeError, "",
     lambda lib: lib.addr(lib.ones(2, 2), lib.ones(2), lib.ones(2), alpha=1j)),
    ("einsum_list", ValueError, r"not within the valid range \[0, 52\)",
     lambda lib: lib.einsum(lib.eye(2), [0, 52])),
    ("qr_mode", RuntimeError, "The derivative of linalg.qr depends on Q",
     lambda lib: lib.linalg.qr(lib.eye(2).requires_grad_(), mode="r").R.sum().backward()),
    ("qr_complete", RuntimeError, "is not differentiable when mode='complete' and nrows > ncols",
     lambda lib: lib.linalg.qr(lib.ones(3, 2).requires_grad_(), "complete").R.sum().backward()),
    ("eig_nan", RuntimeError, "torch.linalg.eig: input tensor should not contain infs or NaNs",
     lambda lib: lib.linalg.eig(lib.eye(2) * float("nan"))),
    ("vector_norm", RuntimeError, "linalg.vector_norm cannot compute the inf norm on an empty",
     lambda lib: lib.linalg.vector_norm(lib.zeros(0), float("inf"))),
    ("lstsq_driver", RuntimeError, r"`driver` should be one of \(gels, gelsy, gelsd, gelss\)",
     lambda lib: lib.linalg.lstsq(lib.eye(2), lib.eye(2), driver="other")),
    ("pivots", RuntimeError, "greater or equal to 1.*Did you properly pass the result of lu_factor",
     lambda lib: lib.lu_solve(lib.eye(2), lib.eye(2), lib.zeros(2).int())),
    ("inv", RuntimeError, r"\(Batch element 1\): The diagonal element 2 is zero",
     lambda lib: lib.linalg.inv(_batch(lib, 1.0, 0.0, 2.0))),
    ("inv_ex", RuntimeError, "The diagonal element 1 is zero, the inversion could not be completed",
     lambda lib: lib.linalg.inv_ex(lib.zeros(2, 2), check_errors=True)),
    ("solve", RuntimeError, r"\(Batch element 1\): The solver failed because the input matrix is",
     lambda lib: lib.linalg.solve(_batch(lib, 1.0, 0.0, 2.0), lib.ones(2, 3))),
    ("cholesky", RuntimeError, r"\(Batch element 1\).*the leading minor of order 2 is not positive",
     lambda lib: lib.linalg.cholesky(_batch(lib, 1.0, -1.0, 2.0))),
    ("lu_factor", RuntimeError, r"U\[2,2\] is zero and using it on lu_solve would result in",
     lambda lib: lib.linalg.lu_factor(lib.diag(lib.tensor([1.0, 0.0])))),
    ("dims", RuntimeError, "The input tensor A must have at least 2 dimensions",
     lambda lib: lib.linalg.det(lib.ones(2))),
    ("kind", RuntimeError, "Expected a floating point or complex tensor as input",
     lambda lib: lib.linalg.inv(lib.eye(2).long())),
    ("order", RuntimeError, "linalg.matrix_norm: Order 3 not supported",
     lambda lib: lib.linalg.matrix_norm(lib.eye(2), 3)),
    ("cond", RuntimeError, "linalg.cond got an invalid norm type: 3",
     lambda lib: lib.linalg.cond(lib.eye(2), 3)),
    ("norm", RuntimeError, "If dim is specified, it must be of length 1 or 2",
     lambda lib: lib.linalg.norm(lib.ones(2, 2, 2), 2, dim=(0, 1, 2))),
    ("bound", RuntimeError, "rtol tensor of complex type is not supported",
     lambda lib: lib.linalg.matrix_rank(lib.eye(2), rtol=lib.tensor(1j))),
    ("pivots", RuntimeError, "LU without pivoting is not implemented on the CPU",
     lambda lib: lib.linalg.lu(lib.eye(2), pivot=False)),
    ("eigh", RuntimeError, "Expected UPLO argument to be 'L' or 'U'",
     lambda lib: lib.linalg.eigh(lib.eye(2), "x")),
    ("qr", RuntimeError, "qr received unrecognized mode 'x' but expected one of 'reduced'",
     lambda lib: lib.linalg.qr(lib.eye(2), "x")),
]  # fmt: skip

CREATION: list[Row] = [
    ("tensors_as_ints", TypeError, "only integer tensors of a single element can be converted",
     lambda lib: lib.tensor([lib.ones(2), lib.ones(2)], dtype=lib.int64)),
    ("tensors_of_ints", TypeError, "only integer tensors of a single element can be converted",
     lambda lib: lib.tensor([lib.tensor([0, 1]), lib.tensor([1, 0])])),
    ("tensors_of_floats", ValueError, "only one element tensors can be converted to Python",
     lambda lib: lib.tensor([lib.ones(2), lib.ones(2)])),
    ("tensors_as_floats", ValueError, "only one element tensors can be converted to Python",
     lambda lib: lib.tensor([lib.tensor([0, 1])], dtype=lib.float32)),
    ("floats_as_bools", TypeError, "only integer tensors of a single element can be converted",
     lambda lib: lib.tensor([lib.tensor(0.5)], dtype=lib.bool)),
    ("asarray", ValueError, "can't alias tensor with dtype '.*' into dtype '.*'",
     lambda lib: lib.asarray(lib.ones(2), dtype=lib.float64, copy=False)),
    ("asarray_list", ValueError, "can't alias arbitrary sequence",
     lambda lib: lib.asarray([1], copy=False)),
    ("negative", RuntimeError, "Trying to create tensor with negative dimension",
     lambda lib: lib.empty(-1)),
    ("linspace", RuntimeError, r"torch.linspace\(\): inferred dtype",
     lambda lib: lib.linspace(0, 1j, 3, dtype=lib.float32)),
    ("meshgrid_mode", RuntimeError, 'indexing must be one of "xy" or "ij"',
     lambda lib: lib.meshgrid(lib.ones(2), indexing="a")),
    ("uniform", RuntimeError, "uniform_ expects to-from",
     lambda lib: lib.ones(2).uniform_(-3e38, 3e38)),
    ("random", RuntimeError, "random_ expects 'from' to be less than 'to', but got from=5 >= to=3",
     lambda lib: lib.ones(2).random_(5, 3)),
    ("normal_std", RuntimeError, "normal expects std >= 0.0, but found std",
     lambda lib: lib.ones(2).normal_(0, -1)),
    ("multinomial", RuntimeError, "invalid multinomial distribution",
     lambda lib: lib.zeros(2).multinomial(1)),
    ("window", RuntimeError, "not implemented for sparse types",
     lambda lib: lib.hann_window(3, layout=lib.sparse_coo)),
    ("gradients", RuntimeError, "Only Tensors of floating point and complex dtype can require",
     lambda lib: lib.tensor([1], requires_grad=True)),
    ("eye", RuntimeError, "m must be greater or equal to 0, got -1", lambda lib: lib.eye(2, -1)),
]  # fmt: skip


def _written(lib: Any, view: Callable[[Any], Any]) -> None:
    view(lib.ones(4, requires_grad=True) * 1).add_(1)


def _base_written(lib: Any, view: Callable[[Any], Any]) -> Any:
    base = _needed(lib) * 1
    made = view(base)
    base.add_(1)
    return made


def _needed(lib: Any) -> Any:
    return lib.ones(2, requires_grad=True)


def _within(mode: Any, x: Any) -> Any:
    with mode:
        return x.view(4)


def _of_a_view(lib: Any, mode: Any) -> None:
    view = _within(mode, lib.zeros(4)).requires_grad_().view(4)
    view /= 2


def _detached(lib: Any) -> None:
    x = _needed(lib) * 1
    out = x.sin()
    x.detach_()
    out.sum().backward()


def _warned(lib: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.no_grad()(type("Made", (), {}))


def _twice(lib: Any, function: Callable) -> None:
    x, y = lib.ones(1, requires_grad=True), lib.zeros(2, requires_grad=True)
    grads = lib.autograd.grad(function(x, y).sum(), (x, y), create_graph=True)
    lib.autograd.grad(sum(g.sum() for g in grads), (x, y))


def _identity(lib: Any) -> Any:
    members = {
        "forward": staticmethod(lambda ctx, x: x.view_as(x)),
        "backward": staticmethod(lambda ctx, g: g),
    }
    return type("Identity", (lib.autograd.Function,), members)


def _checkpointed(lib: Any, function: Callable, reentrant: bool = False) -> Any:
    checkpoint = import_module(f"{lib.__name__}.utils.checkpoint").checkpoint
    x = lib.ones(2, requires_grad=True)
    out = checkpoint(function, x, use_reentrant=reentrant).sum()
    return lib.autograd.grad(out, x) if reentrant else out.backward()


def _more_at_first() -> Callable:
    runs: list[int] = []

    def function(x: Any) -> Any:
        runs.append(1)
        return x.sin().cos().exp() if len(runs) == 1 else x.sin()

    return function


def _dual(lib: Any, make: Callable[[Any], Any]) -> None:
    forward = import_module(f"{lib.__name__}.autograd.forward_ad")
    with forward.dual_level():
        make(forward)


AUTOGRAD: list[Row] = [
    ("view_of_function", RuntimeError, "A view was created in no_grad mode and is being modified "
     "inplace with grad mode enabled. This view was created inside a custom Function",
     lambda lib: _returned(lib).add_(lib.ones(2, requires_grad=True))),
    ("several", RuntimeError, "This view is the output of a function that returns multiple views",
     lambda lib: _written(lib, lambda x: x.split(2)[0])),
    ("custom", RuntimeError, "Output 0 of .* is a view .*created inside a custom Function",
     lambda lib: _written(lib, _identity(lib).apply)),
    ("several_base", RuntimeError, "Output 0 of Unbind is a view and its base or another view of",
     lambda lib: _base_written(lib, lambda x: x.unbind()[0]).grad_fn),
    ("no_grad", RuntimeError, "both inside the no_grad block .*or both outside",
     lambda lib: _written(lib, lambda x: _within(lib.no_grad(), x))),
    ("no_grad_again", RuntimeError, "Output 0 of View is a view of a view which was created in no",
     lambda lib: _of_a_view(lib, lib.no_grad())),
    ("inference_again", RuntimeError, "a view of a view .* is being .* inside the inference_mode",
     lambda lib: _of_a_view(lib, lib.inference_mode())),
    ("batched", RuntimeError, "If `is_grads_batched=True`, we interpret the first dimension of",
     lambda lib: lib.autograd.grad(
         _needed(lib) * 2, _needed(lib), lib.ones(2, 3), is_grads_batched=True)),
    ("detached", RuntimeError, "Trying to use a saved tensor that has been detached in-place",
     lambda lib: _detached(lib)),
    ("hook_mode", ValueError, r"Expects mode to be one of \('all', 'any'\) but got foo",
     lambda lib: lib.autograd.graph.register_multi_grad_hook((_needed(lib),), print, mode="foo")),
    ("class", FutureWarning, "Decorating classes is deprecated", lambda lib: _warned(lib)),
    ("dual_out", NotImplementedError, "forward AD with add.* because it is an out= function",
     lambda lib: _dual(lib, lambda ad: lib.add(
         ad.make_dual(lib.ones(2), lib.ones(2)), 1, out=lib.ones(2)))),
    ("zeros", RuntimeError, "Double backward is unsupported for src when >1 zeros in src",
     lambda lib: _twice(lib, lambda x, y: x.scatter_reduce(0, lib.tensor([0, 0]), y, "prod"))),
    ("checkpoint", RuntimeError, "A different number of tensors was saved",
     lambda lib: _checkpointed(lib, _more_at_first())),
    ("reentrant", RuntimeError, "torch.utils.checkpoint is incompatible",
     lambda lib: _checkpointed(lib, lambda x: x.sin(), True)),
    ("dual_shape", RuntimeError, "Trying to set a forward gradient that has a different size",
     lambda lib: _dual(lib, lambda ad: ad.make_dual(lib.ones(2), lib.ones(3)))),
    ("dual_tangent", ValueError, "Expected tangent to be floating point or complex",
     lambda lib: _dual(lib, lambda ad: ad.make_dual(lib.ones(2), lib.arange(2)))),
    ("dual_nested", RuntimeError, "Nested forward mode AD is not supported at the moment",
     lambda lib: _dual(lib, lambda ad: ad.enter_dual_level())),
    ("expanded", RuntimeError, "The 0th input has a dimension with stride 0",
     lambda lib: lib.autograd.gradcheck(
         lambda x: x * 2, lib.ones(1).double().requires_grad_().expand(3))),
]  # fmt: skip

ROWS = AUTOGRAD + LINALG + CREATION + ARITHMETIC + REDUCTIONS + SHAPES + VALUES + OTHERS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_words_are_torchs(lib: ModuleType, row: Row) -> None:
    _, error, words, call = row
    with pytest.raises(error, match=words):
        call(lib)


def test_adding_at_positions_takes_memory_for_these_alone() -> None:
    import nnkit

    x = nnkit.as_tensor(np.broadcast_to(np.int8(0), (1 << 20,)).reshape(1 << 10, 1 << 10).copy())
    i, j = nnkit.tensor([0, -1, 0]), nnkit.tensor([5, -2, 5])
    x.index_put_((i, j), nnkit.tensor([1, 2, 3], dtype=nnkit.int8), accumulate=True)
    assert (int(x[0, 5]), int(x[-1, -2]), int(x.sum())) == (4, 2, 6)
