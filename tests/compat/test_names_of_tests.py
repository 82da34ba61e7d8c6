"""Names that PyTorch's own tests import before the first of them runs."""

from __future__ import annotations

from tests.compat.test_install import run


def test_names_of_modules_that_are_there() -> None:
    program = """
import types
import warnings
import torch
warnings.simplefilter("ignore")
from torch._utils_internal import get_file_path, get_file_path_2, get_writable_path
from torch.serialization import SourceChangeWarning, check_module_version_greater_or_equal
from torch.utils._dtype_abbrs import dtype_abbrs
from torch.utils._mode_utils import all_same_mode
print(torch._C._ConvBackend.Slow2d.value, torch._mkldnn, torch.ones(1).layout is torch._mkldnn)
print(issubclass(SourceChangeWarning, Warning), get_file_path_2("a", "b"))
print(get_file_path("torch").endswith("torch"), get_writable_path("."))
for version in ("1.2.3", "1.2", "1.2.a"):
    module = types.SimpleNamespace(__name__="m", __version__=version)
    try:
        print([check_module_version_greater_or_equal(module, (1, 2, n)) for n in (3, 4)])
    except RuntimeError as error:
        print(error)
print(check_module_version_greater_or_equal(module, (1, 2, 3), error_if_malformed=False))
print([dtype_abbrs[getattr(torch, name)] for name in (
    "bool", "uint8", "int64", "bfloat16", "float32", "complex64", "float8_e4m3fn"
)])
print(all_same_mode([1, 1]), all_same_mode([1, None]))
"""
    malformed = "'m' module version string is malformed '{}' and cannot be compared with tuple"
    assert run(program).splitlines() == [
        "13 torch._mkldnn False", "True a/b", "True .", "[True, False]",
        malformed.format("1.2") + " (1, 2, 3)", malformed.format("1.2.a") + " (1, 2, 3)", "True",
        "['b8', 'u8', 'i64', 'bf16', 'f32', 'c64', 'f8e4m3fn']", "True False",
    ]  # fmt: skip


def test_files_dtypes_and_records_of_tests() -> None:
    program = """
import io
import torch
from torch._prims_common import corresponding_complex_dtype as complex_of, dtype_to_type
from torch._prims_common import corresponding_real_dtype as real_of
s, buffer = torch.serialization, io.BytesIO()
with s._open_zipfile_writer(buffer) as archive:
    archive.write_record("note", b"text", 4)
with s._open_file_like(buffer, "rb") as file, s._open_zipfile_reader(file) as archive:
    print(archive.get_record("note"), archive.has_record("byteorder"), file is buffer)
with s._open_file_like(__import__("os").devnull, "wb") as file:
    print(file.write(b"ab"), torch._utils.is_compiling())
print(complex_of(torch.float32), complex_of(torch.complex128), real_of(torch.complex64))
print([dtype_to_type(getattr(torch, d)).__name__ for d in ("bool", "int8", "half", "cfloat")])
"""
    assert run(program).splitlines() == [
        "b'text' True True", "2 False", "torch.complex64 torch.complex128 torch.float32",
        "['bool', 'int', 'float', 'complex']",
    ]  # fmt: skip


def test_where_a_call_was_made() -> None:
    program = """
from torch._C._profiler import gather_traceback, symbolize_tracebacks
def called():
    return gather_traceback(python=True, script=False, cpp=False)
print(*(call["name"] for call in symbolize_tracebacks([called()])[0][:2]))
"""
    assert run(program) == "called <module>"


def test_references_to_storages() -> None:
    program = """
import torch
from torch.multiprocessing.reductions import StorageWeakRef
x = torch.ones(3)
first, second = (StorageWeakRef(y.untyped_storage()) for y in (x, x[1:]))
other = StorageWeakRef(torch.ones(3).untyped_storage())
print(first == second, hash(first) == hash(second), first == other, first.expired())
print(other.expired(), first.cdata == x.untyped_storage()._cdata)
del x
print(first.expired())
"""
    assert run(program).splitlines() == ["True True False False", "True True", "True"]


def test_what_a_library_of_operators_refuses() -> None:
    program = """
from torch.library import Library, fallthrough_kernel
for ns, kind in (("mine", "BLA"), ("prim", "DEF"), ("prim", "FRAGMENT")):
    try:
        Library(ns, kind)
    except ValueError as error:
        print(error)
library = Library("mine", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CPU")
library.impl("twice", fallthrough_kernel, "CPU")
import torch
print(torch.ops.mine.twice(torch.ones(1)))
try:
    library.impl("twice", [], "CPU")
except TypeError as error:
    print(error)
"""
    assert run(program).splitlines() == [
        "Unsupported kind: BLA",
        *["prim is a reserved namespace: choose another name for the library"] * 2,
        "tensor([2.])",
        "Library.impl: Input function is required to be a callable but found type list",
    ]
