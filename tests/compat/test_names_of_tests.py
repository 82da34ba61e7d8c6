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


def test_convolutions_have_torchs_names_of_kernels() -> None:
    program = """
import torch
def name(shape, dilation=1, transposed=False):
    n = len(shape) - 2
    one, none, weight = (1,) * n, (0,) * n, torch.ones(6, 6, *[3] * n)
    given = torch.ones(shape), weight, None, one, none, (dilation,) * n, transposed, none, 1
    return torch._C._select_conv_backend(*given).name
shapes = ((2, 6, 7), (2, 6, 7, 8), (2, 6, 7, 8, 9))
print(*map(name, shapes), name((0, 6, 7)), *(name(shape, 2) for shape in shapes))
print(*(name(shape, 2, True) for shape in shapes))
"""
    assert run(program).splitlines() == [
        "Slow2d Slow2d Slow3d Empty SlowDilated2d SlowDilated2d SlowDilated3d",
        "SlowTranspose2d SlowTranspose2d SlowTranspose3d",
    ]


def test_names_of_autograd_and_of_loaders() -> None:
    program = """
import gc
import torch
from torch._dynamo.testing import CompileCounter, CompileCounterWithBackend
from torch.autograd import _calculate_shape
from torch.autograd._functions.utils import check_onnx_broadcast
from torch.autograd.profiler import emit_itt
from torch.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg, _format_time
from torch.nn.parallel._functions import Broadcast
from torch.testing._comparison import default_tolerances
from torch.utils.data import IterDataPipe, MapDataPipe
from torch.utils.data._utils import MP_STATUS_CHECK_INTERVAL
from torch.utils.data.datapipes.iter import IterableWrapper
from torch.utils.dlpack import DLDeviceType
from torch.utils.weak import _WeakHashRef
import torch.backends.quantized
print(torch.backends.quantized.supported_engines, DLDeviceType.kDLCUDA + 0)
print(_format_time(1500.0), MP_STATUS_CHECK_INTERVAL, isinstance([], IterDataPipe))
print(list(IterableWrapper([1])), IterableWrapper)
print(*map(tuple, _calculate_shape(torch.ones(2), torch.ones(3, 2), True)))
print(check_onnx_broadcast((2, 3), (2, 3)), check_onnx_broadcast([2, 3], [3]),
      check_onnx_broadcast((2,), (1, 1)))
try:
    check_onnx_broadcast((2, 3), (2, 1))
except ValueError as error:
    print("broadcast" in str(error))
print(default_tolerances(torch.float16, torch.ones(1)), default_tolerances(torch.int8))
counter = CompileCounterWithBackend("eager")
print(counter(len, []) is len, counter.frame_count, counter.backend)
class Key:
    def __hash__(self):
        return 7
key = Key()
first, second = _WeakHashRef(key), _WeakHashRef(key)
print(hash(first), first == second, first == _WeakHashRef(Key()))
"""
    assert run(program).splitlines() == [
        "[] 2", "1.500ms 5.0 False",
        "[1] <class 'torch.utils.data.datapipes.iter.utils.IterableWrapperIterDataPipe'>",
        "(2,) (2,)", "False True True", "True", "(0.001, 1e-05) (0.0, 0.0)", "True 1 eager",
        "7 True False",
    ]  # fmt: skip


def test_where_a_call_was_made() -> None:
    program = """
from torch._C._profiler import gather_traceback, symbolize_tracebacks
def called():
    return gather_traceback(python=True, script=False, cpp=False)
print(*(call["name"] for call in symbolize_tracebacks([called()])[0][:2]))
from torch.utils._traceback import format_traceback_short, report_compile_source_on_error
try:
    with report_compile_source_on_error():
        1 / 0
except ZeroDivisionError as error:
    print(format_traceback_short(error.__traceback__).rpartition(":")[2].split(" ", 1)[1])
"""
    assert run(program).splitlines() == ["called <module>", "in <module>"]


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


def test_classes_of_tensors_on_gpus_and_saved_tensors() -> None:
    program = """
import torch
x = torch.ones(2, requires_grad=True)
if not torch.cuda.is_available():
    kind, name = torch.cuda.FloatTensor, "torch.cuda.FloatTensor"
    change = torch.set_default_tensor_type
    for use, given in ((kind, 2), (x.type, kind), (x.type, name), (change, kind), (change, name)):
        try:
            use(given)
        except (TypeError, RuntimeError) as error:
            assert "Torch not compiled with CUDA" in str(error)
        else:
            print("not refused", use, given)
print(isinstance(x, torch.cuda.FloatTensor), x.type("torch.DoubleTensor").dtype)
pack, unpack = lambda t: t, lambda t: t
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = x ** 2
z, w = y.exp(), y.exp() ** 2
nodes = y.grad_fn._raw_saved_self, z.grad_fn._raw_saved_result, (z ** 2).grad_fn._raw_saved_self
print([saved.unpack_hook is unpack for saved in nodes], nodes[0].data is x, nodes[1].data is z,
      nodes[2].data is z)
try:
    torch.autograd.SavedTensor()
except RuntimeError as error:
    print(error)
"""
    assert run(program).splitlines() == [
        "False torch.float64", "[True, False, False] True False True",
        "Trying to create a SavedTensor object from Python is forbidden.",
    ]  # fmt: skip
