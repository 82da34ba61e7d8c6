"""Every row of the op table against every check that it asks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.harness import bools, cases, checks, surroundings
from tests.harness.row import OpRow
from tests.harness.table import ROWS, SUBJECT


def each(wanted: Callable[[OpRow], object]) -> pytest.MarkDecorator:
    """Run the test for every row for which ``wanted`` is true."""
    rows = [row for row in ROWS.values() if wanted(row)]
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.name)


def compare(framework: ModuleType, row: OpRow, which: Callable) -> list:
    return [checks.parity(framework, case, SUBJECT[row.name]) for case in which(row)]


@each(lambda row: True)
def test_forward(framework: ModuleType, row: OpRow) -> None:
    assert compare(framework, row, cases.forward), "the row has no samples"


@each(lambda row: True)
def test_gradient(framework: ModuleType, row: OpRow) -> None:
    results = compare(framework, row, cases.gradient)
    has_gradient = any(gradient is not None for result in results for gradient in result.gradients)
    assert has_gradient == row.differentiable


@each(lambda row: row.elementwise)
def test_same_tensor(framework: ModuleType, row: OpRow) -> None:
    compare(framework, row, cases.same_tensor)


@each(lambda row: row.elementwise and row.broadcasts)
def test_broadcasting(framework: ModuleType, row: OpRow) -> None:
    compare(framework, row, cases.broadcasting)


@each(lambda row: row.elementwise)
def test_shapes(framework: ModuleType, row: OpRow) -> None:
    compare(framework, row, cases.shapes)


@each(lambda row: row.elementwise or row.edges)
def test_edges(framework: ModuleType, row: OpRow) -> None:
    compare(framework, row, cases.edges)


@each(lambda row: True)
def test_numbers(framework: ModuleType, row: OpRow) -> None:
    for case in cases.numbers(row):
        checks.numbers_from_tensors(framework, case, SUBJECT[row.name])


@each(lambda row: row.differentiable and not row.straight_through)
def test_gradcheck(framework: ModuleType, row: OpRow) -> None:
    checks.gradcheck(framework, row, order=1)


@each(lambda row: row.differentiable and row.second_order and not row.straight_through)
def test_gradgradcheck(framework: ModuleType, row: OpRow) -> None:
    with checks.derivatives(framework):
        checks.gradcheck(framework, row, order=2)


@each(lambda row: True)
def test_inputs_unmodified(framework: ModuleType, row: OpRow) -> None:
    checks.inputs_unmodified(framework, row)


@each(lambda row: row.differentiable)
def test_written_before_backward(framework: ModuleType, row: OpRow) -> None:
    checks.written(framework, row)


@each(lambda row: row.differentiable and not row.again)
def test_backward_again(framework: ModuleType, torch: ModuleType, row: OpRow) -> None:
    checks.backward_again(framework, row)


@each(lambda row: row.differentiable)
def test_checkpoint(framework: ModuleType, row: OpRow) -> None:
    checks.checkpointed(framework, row)


@each(lambda row: row.any_layout)
def test_layouts(framework: ModuleType, row: OpRow) -> None:
    checks.layouts(framework, row)


@each(lambda row: True)
def test_bools_of_odd_bytes(framework: ModuleType, row: OpRow) -> None:
    bools.check_odd_bytes(framework, row)


@each(lambda row: row.out)
def test_out(framework: ModuleType, row: OpRow) -> None:
    checks.out_variant(framework, row)


@each(lambda row: row.inplace)
def test_inplace(framework: ModuleType, row: OpRow) -> None:
    names = (row.inplace,) if isinstance(row.inplace, str) else row.inplace
    for name in names:
        with checks.derivatives(framework):
            checks.inplace_variant(framework, row, name)


@each(lambda row: row.any_layout)
def test_surroundings(framework: ModuleType, row: OpRow) -> None:
    surroundings.check_inputs(framework, row)


@each(lambda row: row.out)
def test_surroundings_of_out(framework: ModuleType, row: OpRow) -> None:
    surroundings.check_out(framework, row)


@each(lambda row: row.inplace and row.any_layout)
def test_surroundings_in_place(framework: ModuleType, row: OpRow) -> None:
    for name in (row.inplace,) if isinstance(row.inplace, str) else row.inplace:
        surroundings.check_in_place(framework, row, name)


@each(lambda row: row.method)
def test_method(framework: ModuleType, row: OpRow) -> None:
    checks.method_form(framework, row)


@each(lambda row: row.aliases)
def test_aliases(framework: ModuleType, row: OpRow) -> None:
    checks.aliases(framework, row)


@each(lambda row: row.elementwise or row.errors)
def test_errors(framework: ModuleType, row: OpRow) -> None:
    checks.errors(framework, row)


LEGACY = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()
# What is no function of tensors, or is about memory and state, and which file tests it.
ELSEWHERE = {
    "Tensor.to_sparse Tensor.to_sparse_csr Tensor.sparse_mask Tensor.coalesce Tensor.is_coalesced"
    " Tensor.indices Tensor.values Tensor._indices Tensor._values Tensor._nnz Tensor.crow_indices"
    " Tensor.to_sparse_coo": "tests/sparse/test_coordinates.py",
    "Tensor.to_sparse_csc Tensor.to_sparse_bsr Tensor.to_sparse_bsc Tensor.col_indices"
    " Tensor.ccol_indices Tensor.row_indices": "tests/sparse/test_compressed.py",
    " ".join(f"{name}Tensor" for name in LEGACY): "tests/autograd/test_memory.py",
    "is_storage Tensor.storage Tensor.untyped_storage Tensor.share_memory_ Tensor.apply_"
    " Tensor.map_ Tensor.map2_": "tests/test_ordinary_use.py",
    "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage"
    " DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage TypedStorage"
    " UntypedStorage Tensor.storage_type Tensor._typed_storage from_file": (
        "tests/autograd/test_storage.py"
    ),
    "nn.functional.ctc_loss": "tests/nn/test_ctc_loss.py",
    "nn.functional.grouped_mm": "tests/nn/test_grouped_mm.py",
    "Tensor.module_load": "tests/utils/test_swapping.py",
    "Tensor.smm Tensor.sspaddmm Tensor.sparse_resize_ Tensor.sparse_resize_and_clear_"
    " Tensor.resize_as_sparse_": "tests/compat/test_older.py",
    "svd_lowrank pca_lowrank": "tests/autograd/test_linalg.py",
    "Generator default_generator get_rng_state initial_seed manual_seed seed set_rng_state": (
        "tests/test_random_public.py"
    ),
    "finfo iinfo from_numpy Tensor.numpy Tensor.data_ptr Tensor.is_set_to"
    " Tensor.stride Tensor.storage_offset Tensor.is_contiguous Tensor.resize Tensor.resize_as"
    " Tensor.resize_as_ Tensor.new Tensor.cuda": "tests/autograd/test_memory.py",
    "range": "tests/autograd/test_special_values.py",
    "Tensor.backward": "tests/autograd/test_graph.py",
    "Tensor.as_subclass": "tests/autograd/test_overriding.py",
    "Tensor.new_empty_strided": "tests/autograd/test_foreign_operands.py",
    "empty_permuted Tensor.dim_order": "tests/autograd/test_memory_format.py",
    "nn.functional.interpolate nn.functional.upsample nn.functional.upsample_bilinear"
    " nn.functional.upsample_nearest": "tests/nn/test_upsampling.py",
    "Tensor.pin_memory Tensor.is_pinned": "tests/cuda/test_surface.py",
    "Tensor.resize_ Tensor.set_ Tensor.as_strided_ Tensor.squeeze_ Tensor.t_ Tensor.transpose_"
    " Tensor.unsqueeze_ Tensor.swapaxes_ Tensor.swapdims_": "tests/autograd/test_views.py",
}


def covered() -> set[str]:
    """Every name that some row is about."""
    names = set()
    for row in ROWS.values():
        for name in (row.name, *row.aliases):
            plain = name.removeprefix("Tensor.")
            names |= {name, *(f"{form}_" for form in (name, f"Tensor.{plain}") if row.inplace)}
            names |= {f"Tensor.{name}"} if row.method else set()
        names |= {f"Tensor.{name}" for name in (row.method, row.inplace) if isinstance(name, str)}
        names |= {f"Tensor.{name}" for name in row.inplace if not isinstance(row.inplace, str)}
    return names | {name for names in ELSEWHERE for name in names.split()}


def test_every_public_function_has_a_row(framework: ModuleType) -> None:
    from nnkit.autograd.op.public import METHODS, PUBLIC

    functional = [name for name, value in vars(framework.nn.functional).items() if callable(value)]
    public = {*PUBLIC, *(f"Tensor.{name}" for name in METHODS if not name.startswith("__"))}
    public |= {f"nn.functional.{name}" for name in functional}
    assert sorted(public - covered()) == []


@pytest.mark.parametrize(("names", "path"), ELSEWHERE.items(), ids=list(ELSEWHERE.values()))
def test_elsewhere_is_true(names: str, path: str) -> None:
    text = (Path(__file__).parent.parent / path).read_text()
    missing = [n for n in names.split() if not re.search(rf"\b{n.split('.')[-1]}\b", text)]
    assert missing == []
