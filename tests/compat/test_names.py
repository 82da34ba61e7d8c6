"""Names of torch that libraries take from its private corners."""

from __future__ import annotations

from tests.compat.test_install import run


def test_classes_of_storages() -> None:
    program = """
import torch
from torch.storage import _dtype_to_storage_type_map, _storage_type_to_dtype_map
print(_dtype_to_storage_type_map()[torch.float32], _storage_type_to_dtype_map()["LongStorage"])
class Mine(torch._C.StorageBase):
    pass
print(Mine(torch.UntypedStorage([3, 4])).tolist(), torch.Storage([1, 2]).tolist())
try:
    torch._C.StorageBase()
except RuntimeError as error:
    print(error)
"""
    assert run(program).splitlines() == [
        "FloatStorage torch.int64",
        "[3, 4] [1.0, 2.0]",
        "Cannot directly construct StorageBase; subclass it",
    ]


def test_nodes_and_passes() -> None:
    program = """
import torch
F, C = torch._C._functions, torch._C
x = torch.ones(2, requires_grad=True); y = x * 2
print(isinstance(y.grad_fn.next_functions[0][0], F.AccumulateGrad))
F.UndefinedGrad()(y).sum().backward(); print(x.grad)
z = F.DelayedError("too late", 1)(y)
try: z.sum().backward()
except RuntimeError as error: print(error)
numbers = [C._current_graph_task_id()]
y = x * 2; node = y.grad_fn
y.register_hook(lambda g: numbers.append(C._current_graph_task_id()))
y.register_hook(lambda g: numbers.append(C._will_engine_execute_node(node)))
y.sum().backward(); print(numbers)
with torch.autograd._unsafe_preserve_version_counter(y):
    y.detach().mul_(2)
print(y._version, C._autograd._saved_tensors_hooks_is_enabled())
ref = C._WeakTensorRef(y); before = ref.expired(); del y, z; print(before, ref.expired())
"""
    assert run(program).splitlines() == [
        "True", "None", "too late", "[-1, 0, True]", "0 True", "False True",
    ]  # fmt: skip


def test_conditions() -> None:
    program = """
import torch
def tried(f, *args):
    try: return f(*args)
    except Exception as error: return type(error).__name__, str(error).split(",")[0]
ok, bad = torch.tensor([True]), torch.tensor([True, False])
print(tried(torch._check_tensor_all, ok), tried(torch._check_tensor_all, bad, lambda: "m"))
print(tried(torch._check_tensor_all, torch.ones(1)), tried(torch._check_tensor_all, True))
print(tried(torch._check, "a"), tried(torch._check, False, "m"))
print(tried(torch._check_not_implemented, False, lambda: bad))
holds = torch._assert_async
print(tried(holds, torch.tensor(0.5)), tried(holds, torch.tensor(0), "m"))
print(tried(torch.set_num_interop_threads, 2**65)[0])
"""
    assert run(program).splitlines() == [
        "None ('RuntimeError', 'm')",
        "('TypeError', 'cond tensor must have dtype torch.bool') ('TypeError', 'cond must be a "
        "tensor')",
        "('TypeError', 'cond must be a bool') ('TypeError', 'message must be a callable')",
        "('NotImplementedError', 'tensor([ True')",
        "None ('RuntimeError', 'm')",
        "ValueError",
    ]


def test_old_names_of_functions() -> None:
    program = """
import torch, warnings
warnings.simplefilter("ignore")
x = torch.tensor([2.0, 1.0, 2.0])
print([t.tolist() for t in torch._unique2(x, return_inverse=True)])
print([t.tolist() for t in torch._unique(x)], [t.item() for t in torch._aminmax(x)])
y = torch._neg_view(x); x.add_(1); print(y.tolist())
torch._C._set_deterministic_fill_uninitialized_memory(False)
print(torch.utils.deterministic.fill_uninitialized_memory, torch.__config__._cxx_flags())
"""
    assert run(program).splitlines() == [
        "[[1.0, 2.0], [1, 0, 1], []]",
        "[[1.0, 2.0], []] [1.0, 2.0]",
        "[-3.0, -2.0, -3.0]",
        "False",
    ]


def test_repeated_numbers() -> None:
    program = """
from torch.nn.modules.utils import _list_with_default, _pair, _reverse_repeat_tuple, _single
print(_pair(3), _pair((1, 2)), _single(1), _reverse_repeat_tuple((1, 2), 2))
print(_list_with_default((None, 5), [7, 8, 9]))
"""
    assert run(program).splitlines() == ["(3, 3) (1, 2) (1,) (2, 2, 1, 1)", "[8, 5]"]


def test_an_optimizer_of_another_library() -> None:
    program = """
import torch
from torch.optim.optimizer import Optimizer, ParamsT, _use_grad_for_differentiable, required
class Plain(Optimizer):
    def __init__(self, params: ParamsT, lr=required): super().__init__(params, dict(lr=lr))
    @_use_grad_for_differentiable
    def step(self):
        for group in self.param_groups:
            for p in group["params"]: p.add_(p.grad, alpha=-group["lr"])
p = torch.nn.Parameter(torch.ones(1)); (p * 3).sum().backward()
Plain([p], lr=0.5).step(); print(p.item(), p.grad_fn, required)
"""
    assert run(program) == "-0.5 None <required parameter>"


def test_checks_and_devices() -> None:
    program = """
import torch
torch._check(True)
for check in (torch._check, torch._check_value, torch._check_index):
    try: check(False, lambda: "no")
    except Exception as error: print(type(error).__name__, error)
print(torch.xpu.is_available(), torch.mps.device_count(), torch.version.hip, torch.sym_max(1, 2))
print(torch.multiprocessing.get_sharing_strategy(), torch.utils.model_zoo.load_url.__name__)
"""
    assert run(program).splitlines() == [
        "RuntimeError no", "ValueError no", "IndexError no",
        "False 0 None 2", "file_descriptor load_state_dict_from_url",
    ]  # fmt: skip


SAYINGS = [
    ("torch.jit.load('f')", "NotImplementedError torch.jit.load"),
    ("torch.jit.save(m, 'f')", "NotImplementedError torch.jit.save"),
    ("torch.distributed.all_reduce(torch.ones(1))", "ValueError Default process"),
    ("torch.distributed.barrier()", "ValueError Default process group"),
    ("torch.accelerator.synchronize()", "RuntimeError Cannot access accelerator"),
    ("torch.ops.load_library('f')", "OSError torch.ops.load_library"),
    ("torch.ops.mine.f", "AttributeError"),
    ("torch.multiprocessing.set_sharing_strategy('x')", "AssertionError new_strategy must be"),
    ("torch.multiprocessing.spawn(int, (1, 2))", "ProcessRaisedException"),
    (
        "double(m.weight).sum().backward()",
        "RuntimeError Trying to backward through own::double",
    ),
    (
        "torch.library.define('own::f', '()'); torch.ops.own.f()",
        "NotImplementedError Could not",
    ),
    ("torch.nn.SyncBatchNorm(1)(torch.ones(2))", "ValueError expected at least 2D"),
    (
        "double(3)",
        "RuntimeError own::double() Expected a value of type 'Tensor' for argument 'x'",
    ),
    (
        "print(double(m.weight).grad_fn.name())",
        "GeneratedBackwardFor_own_double_defaultBackward",
    ),
    ("i = torch.full((1, 1), 99).char(); print(torch._int_mm(i, i))", "tensor([[9801]]"),
    ("i = torch.ones(1, 1).char(); print(torch._int_mm(i, i, out=i.int()))", "tensor([[1]]"),
    ("torch.ops.aten._sparse_addmm(1)", "NotImplementedError torch.ops.aten._sparse_addmm"),
    ("torch.ao.quantization.FakeQuantize()", "NotImplementedError torch.ao.quantization"),
    ("torch.sparse.SparseSemiStructuredTensor()", "NotImplementedError torch.sparse.semi"),
    ("torch.nn.parallel.DistributedDataParallel(m)", "ValueError Default process"),
    ("torch.nn.parallel.scatter_gather.scatter(1, [0, 1])", "NotImplementedError scatter"),
    ("torch.nn.parallel.scatter_gather.gather([1, 2], 0)", "NotImplementedError gather"),
]


def test_what_cannot_be_had_says_so() -> None:
    program = f"""
import torch
@torch.library.custom_op("own::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor: return x * 2
if __name__ == "__main__":
    m = torch.nn.Linear(1, 1)
    for statement in {[statement for statement, _ in SAYINGS]}:
        try: exec(statement)
        except Exception as e: print(type(e).__name__, e)
        print("=====")
"""
    answers = run(program).split("=====\n")
    for (statement, printed), answer in zip(SAYINGS, answers, strict=True):
        assert answer.startswith(printed), statement


def test_subjects_that_nnkit_has_not() -> None:
    program = """
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.ao.quantization import DeQuantStub, QuantStub
from torch.distributed.tensor import DTensor
print(isinstance(torch.ones(1), (FakeTensor, DTensor)), QuantStub.__module__)
from torch.quantization.observer import HistogramObserver
from torch.nn.quantized.modules.linear import Linear
print(HistogramObserver.__module__, isinstance(torch.nn.Linear(1, 1), Linear))
class Mine(torch.nn.Module, FakeTensor): ...
try: Mine()
except NotImplementedError as error: print(error)
try: from torch.ao.quantization import Nothing
except ImportError: print("no such name")
"""
    assert run(program).splitlines() == [
        "False torch.ao.quantization.stubs",
        "torch.ao.quantization.observer False",
        "__main__.Mine: nnkit has no tracing for a compiler",
        "no such name",
    ]


def test_operators_by_name() -> None:
    program = """
import torch
aten, x = torch.ops.aten, torch.arange(6.0).view(2, 3)
print(aten.add is aten.add, aten.add.Tensor(x, 1).sum().item())
print(aten._to_copy(x, dtype=torch.int64, device=None).dtype, aten.alias(x)._base is x._base)
print(aten.slice(x, 1, 0, 2).tolist(), aten.index(x, [None, torch.tensor([2])]).tolist())
"""
    assert run(program).splitlines() == [
        "True 21.0", "torch.int64 True", "[[0.0, 1.0], [3.0, 4.0]] [[2.0], [5.0]]",
    ]  # fmt: skip


def test_private_names_that_libraries_take() -> None:
    program = """
import torch, torch.distributed._tensor
from torch.nn._reduction import get_enum, legacy_get_string
print(get_enum("sum"), legacy_get_string(False, None), legacy_get_string(None, False))
print(torch.distributed._tensor.DTensor is torch.distributed.tensor.DTensor)
print(isinstance(1, torch.TensorType), torch._C._has_xpu, hasattr(torch, "NothingType"))
try: torch._check_tensor_all_with(ValueError, torch.tensor([True, False]), lambda: "no")
except ValueError as error: print(error)
active = torch._C._are_functorch_transforms_active
torch.vmap(lambda x: print(active()) or x)(torch.ones(2))
print(active(), torch._shape_as_tensor(torch.ones(2, 3)))
torch._assert_tensor_metadata(torch.ones(2), [2], [1], torch.float32, device="cpu")
try: torch._assert_tensor_metadata(torch.ones(2), dtype=torch.int32)
except RuntimeError as error: print(error)
"""
    active = ["True", "False tensor([2, 3])"]
    active.append("Tensor dtype mismatch! Expected: torch.int32, Got: torch.float32")
    assert run(program).splitlines() == ["2 sum none", "True", "False False False", "no", *active]


def test_classes_in_the_dictionary_of_a_module() -> None:
    program = """
import torch
kinds = [v for v in torch.distributions.__dict__.values() if isinstance(v, type)]
print(torch.distributions.Bernoulli in kinds, "SGD" in torch.optim.__dict__)
from torch.distributions.utils import _sum_rightmost
print(_sum_rightmost(torch.ones(2, 3), 1).tolist())
"""
    assert run(program).splitlines() == ["True True", "[3.0, 3.0]"]


def test_passes_over_loaders() -> None:
    program = """
import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter
walk = iter(torch.utils.data.DataLoader([1]))
print(isinstance(walk, _BaseDataLoaderIter), isinstance(walk, _MultiProcessingDataLoaderIter))
from torch._tensor_str import PRINT_OPTS, _tensor_str
print(PRINT_OPTS.precision, _tensor_str(torch.tensor([1.5]), 0))
from torch.autograd.function import FunctionCtx
from torch.autograd.function import BackwardCFunction
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): print(isinstance(ctx, FunctionCtx)); return x
made = Same.apply(torch.ones(1, requires_grad=True)).grad_fn
print(isinstance(made, BackwardCFunction), issubclass(BackwardCFunction, torch.autograd.graph.Node))
with torch.autograd.profiler.profile() as p, torch.autograd.profiler.record_function("mine"): pass
with torch.autograd.profiler.profile(enabled=False) as q: torch.ones(1)
print([e.key for e in p.key_averages()], len(q.events()))
with torch.autograd.profiler.profile() as q: torch.ones(int(torch.autograd._profiler_enabled()))
print(str(q) == q.table() == q.function_events.table(), q.total_average().count)
print(q.self_cpu_time_total == q.events().self_cpu_time_total, torch.autograd._profiler_enabled())
print(torch.autograd.kineto_available())
from torch.autograd.profiler import EventList; print(isinstance(p.events(), EventList))
from torch.utils.flop_counter import FlopCounterMode
with FlopCounterMode(display=False) as counter: torch.ones(2, 3) @ torch.ones(3, 4)
print(counter.get_total_flops(), torch.ScriptModule is torch.jit.ScriptModule)
from torch.utils._pytree import _get_node_type
print(_get_node_type(torch.ones(2).max(0)).__name__, _get_node_type([]).__name__)
print(torch.distributed.rpc.is_available(), hasattr(torch.distributed.rpc, "api"))
print(torch._C._nn._parse_to("cpu", torch.float64)[:2], torch._C._nn._parse_to(torch.ones(1))[1])
capabilities = "AVX512", "AVX2", "DEFAULT"
print(torch.backends.cpu.get_cpu_capability() in capabilities, torch.profiler.kineto_available())
from torch.hub import HASH_REGEX, urlparse
print(HASH_REGEX.search("resnet-0123ab.pth")[1], urlparse("http://a/b").netloc)
"""
    assert run(program).splitlines() == [
        "True False", "4 [1.5000]", "True", "True True", "['mine'] 0", "True 1",
        "True False", "False", "True", "48 True", "max list",
        "False False", "(device(type='cpu'), torch.float64) torch.float32", "True False",
        "0123ab a",
    ]  # fmt: skip


def test_rows_that_follow_each_other() -> None:
    program = """
import torch
x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 5.0], requires_grad=True)
lengths, offsets = torch.tensor([2, 0, 1, 3]), torch.tensor([0, 2, 2, 3, 6])
for reduce in ("sum", "mean", "prod", "max", "min"):
    y = torch.segment_reduce(x, reduce, lengths=lengths, initial=2.0)
    print(y.tolist(), torch._segment_reduce(x, reduce, offsets=offsets).tolist())
print([round(v, 4) for v in torch.autograd.grad(y.sum() * 3 + torch._segment_reduce(
    x, "max", offsets=offsets)[[0, 2, 3]].sum(), x)[0].tolist()])
for reduce in ("max", "prod"):
    for row in ([2.0, 2.0, 1.0], [torch.nan, 3.0, 2.0], [0.0, torch.nan, 2.0], [0.0, 0.0, 2.0]):
        x = torch.tensor(row, requires_grad=True)
        torch.segment_reduce(x, reduce, lengths=torch.tensor([2, 1]), initial=2.0).sum().backward()
        print(x.grad.tolist())
    row, parts = torch.tensor([0.0, 2.0, 3.0]), torch.tensor([2, 1])
    f = lambda row: torch.segment_reduce(row, reduce, lengths=parts)
    print(torch.func.grad(lambda row: f(row).sum())(row).tolist(), torch.vmap(f)(row.expand(2, 3)))
d = torch.arange(12.0).view(2, 6)
print(torch.segment_reduce(d, "mean", lengths=torch.tensor([[2, 4], [1, 5]]), axis=1).tolist())
print(torch.segment_reduce(d, "sum", lengths=torch.tensor([[1], [1]]), axis=-1, unsafe=True).shape)
for wrong in (dict(), dict(lengths=torch.tensor([3])), dict(lengths=torch.tensor([-1, 3])),
              dict(lengths=torch.tensor([2]), axis=1)):
    try: torch.segment_reduce(d, "sum", **wrong)
    except RuntimeError as error: print(str(error)[18:42])
for data, reduce in ((d.int(), "sum"), (d, "other")):
    try: torch.segment_reduce(data, reduce, lengths=torch.tensor([2]))
    except RuntimeError as error: print(type(error).__name__)
rows = torch.tensor([0, 0, 2])
print(torch._convert_indices_from_coo_to_csr(rows, 3, out_int32=True))
print(torch._convert_indices_from_csr_to_coo(torch.tensor([0, 2, 2, 3]), torch.tensor([0, 1, 1])))
print(torch._sample_dirichlet(torch.ones(5, 3)).sum(-1).sum().round())
"""
    assert run(program).splitlines() == [
        "[5.0, 2.0, 5.0, 16.0] [3.0, 0.0, 3.0, 14.0]",
        "[2.5, 2.0, 5.0, 5.333333492279053] [1.5, nan, 3.0, 4.666666507720947]",
        "[4.0, 2.0, 6.0, 200.0] [2.0, 1.0, 3.0, 100.0]",
        "[2.0, 2.0, 3.0, 5.0] [2.0, -inf, 3.0, 5.0]",
        "[1.0, 2.0, 2.0, 2.0] [1.0, inf, 3.0, 4.0]",
        "[3.0, 1.0, 1.0, 0.0, 0.5, 0.5]",
        "[0.5, 0.5, 0.0]", "[1.0, 0.0, 1.0]", "[0.0, 1.0, 1.0]", "[0.0, 0.0, 1.0]",
        "[0.0, 1.0, 1.0] tensor([[2., 3.],", "        [2., 3.]])",
        "[4.0, 4.0, 2.0]", "[6.0, nan, 2.0]", "[nan, 0.0, 2.0]", "[0.0, 0.0, 2.0]",
        "[2.0, 0.0, 1.0] tensor([[0., 3.],", "        [0., 3.]])",
        "[[0.5, 3.5], [6.0, 9.0]]",
        "torch.Size([2, 1])",
        "either lengths or offset", "Expected all rows of len", "lengths contains a negat",
        "axis must be the last di", "NotImplementedError", "RuntimeError",
        "tensor([0, 2, 2, 3], dtype=torch.int32)", "tensor([[0, 0, 2],", "        [0, 1, 1]])",
        "tensor(5.)",
    ]  # fmt: skip


def test_what_old_programs_and_tests_of_libraries_ask_for() -> None:
    program = """
import torch, warnings
warnings.simplefilter("ignore")
torch.testing.assert_allclose(torch.ones(2), torch.ones(2, dtype=torch.float64) + 5e-5)
for actual, expected in ((torch.ones(2), 1.001), ([1.0], [2.0])):
    try: torch.testing.assert_allclose(actual, expected)
    except AssertionError: print("differ")
class Checks(torch.nn.Module):
    def forward(self, x):
        torch._assert(x.shape[0] == 2, "two rows")
        return x + 1
traced = torch.fx.symbolic_trace(Checks())
print(traced(torch.ones(2)))
for rows in (3, 1):
    try: (traced if rows == 3 else Checks())(torch.ones(rows))
    except AssertionError as error: print(error)
print(torch._dynamo.list_backends(), issubclass(torch.jit.TracerWarning, Warning))
print(torch.cuda.memory_cached(), torch.cuda.max_memory_cached())
for reset in (torch.cuda.reset_max_memory_allocated, torch.cuda.reset_max_memory_cached):
    try: reset()
    except AssertionError: print("no GPU")
"""
    assert run(program).splitlines() == [
        "differ", "differ", "tensor([2., 2.])", "two rows", "two rows",
        "['inductor'] True", "0 0", "no GPU", "no GPU",
    ]  # fmt: skip


def test_corners_that_libraries_import() -> None:
    program = """
import torch, torch.fx, torch._custom_ops, torch.utils.model_zoo
from torch.nn.parallel.scatter_gather import gather, scatter, scatter_kwargs
from torch.serialization import DEFAULT_PROTOCOL, add_safe_globals, safe_globals
from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype
from torch.utils.data._utils.collate import default_collate_fn_map
from torch.utils.data._utils.pin_memory import pin_memory
from torch.fx.graph_module import _CodeOnlyModule, _copy_attr
from torch.onnx import symbolic_opset11
from torch.onnx.symbolic_helper import parse_args
class Tracer(torch.fx.Tracer): ...
@parse_args("v")
def f(x): return x
class Plain(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
print(type(torch.ones(1).as_subclass(Plain) * 2) is torch.Tensor)
keys = torch._C.DispatchKeySet
print(len(keys(torch._C.DispatchKey.CPU) | keys(torch._C.DispatchKey.CUDA)))
print(torch.ones(1).layout == torch.sparse_coo, torch.backends.mkldnn.is_available())
print(scatter_kwargs((torch.ones(1),), {"a": 1}, ["cpu"]), gather([3], "cpu"))
groups = _group_tensors_by_device_and_dtype(
    [[torch.ones(1), torch.ones(1).long(), torch.zeros(1)], []], with_indices=True)
print([(str(k[1]), v[1], len(v[0][0]), v[0][1]) for k, v in groups.items()])
to = _CodeOnlyModule(torch.nn.Module().__dict__)
_copy_attr(torch.nn.Sequential(torch.nn.Linear(1, 1)), to, "0.bias")
print([*dict(getattr(to, "0").named_parameters())])
print(isinstance(torch.ones(1).untyped_storage(), torch.UntypedStorage))
with safe_globals([int]): add_safe_globals([int])
print("threads" in torch.__config__.parallel_info(), f(1), pin_memory("a"))
"""
    assert run(program).splitlines() == [
        "True",
        "2",
        "False False",
        "(((tensor([1.]),),), ({'a': 1},)) 3",
        "[('torch.float32', [0, 2], 2, []), ('torch.int64', [1], 1, [])]",
        "['bias']",
        "True",
        "True 1 a",
    ]


def test_names_that_transformers_imports() -> None:
    program = """
import typing, torch
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch.distributed.tensor.placement_types import _StridedShard
from torch.distributed._composable.fsdp import fully_shard
from torch.utils._pytree import _dict_flatten_with_keys
from torch.nn.attention.flex_attention import BlockMask, create_block_mask
print(isinstance(torch.nn.ReLU(), torch._dynamo.eval_frame.OptimizedModule), torch.torch is torch)
print(torch.cuda.StreamContext.__name__, isinstance(3, _StridedShard))
class Mine(torch.nn.Linear):
    steps: int
print(typing.get_type_hints(Mine)["steps"], _dict_flatten_with_keys({"a": 1}))
with TransformGetItemToIndex(): print(torch.float8_e4m3fn, torch.uint16)
"""
    assert run(program).splitlines() == [
        "False True",
        "StreamContext False",
        "<class 'int'> ([(MappingKey(key='a'), 1)], ['a'])",
        "torch.float8_e4m3fn torch.uint16",
    ]


def test_names_that_wrappers_of_frameworks_import() -> None:
    program = """
import torch
from torch._C import ScriptObject
from torch._jit_internal import boolean_dispatched
from torch._higher_order_ops.inline_asm_elementwise import inline_asm_elementwise
from torch.distributed._composable_state import _get_module_state
from torch.distributed._shard.sharded_tensor import ShardedTensor, ShardMetadata
from torch.distributed._shard.sharding_spec import ChunkShardingSpec
from torch.distributed._shard.sharding_spec._internals import get_chunked_dim_size
from torch.distributed.elastic.utils.distributed import get_free_port
print(isinstance(torch.ones(1), (ScriptObject, ShardedTensor, ChunkShardingSpec)))
print(torch.nn.functional.relu in boolean_dispatched, _get_module_state(torch.nn.ReLU()))
available = torch.cuda.amp.common.amp_definitely_not_available
print(available is torch.cuda.amp.amp_definitely_not_available, available())
for inputs in ((), (torch.ones(1),)):
    try:
        inline_asm_elementwise(*inputs, asm_str="", constraints="=f,f", dtype=torch.float32)
    except (RuntimeError, ValueError) as error:
        print(type(error).__name__)
"""
    assert run(program).splitlines() == [
        "False",
        "False None",
        "True True",
        "ValueError",
        "RuntimeError",
    ]


def test_older_names_of_functions() -> None:
    program = """
import torch
from torch._vmap_internals import _vmap
print(_vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3)))
x, w = torch.ones(1, 1, 4), torch.ones(1, 1, 2)
print(torch.ops.aten.convolution(x, w, None, [1], [0], [1], False, [0], 1))
print(torch.ops.aten.convolution.default(x, w, None, [1], [0], [1], True, [0], 1))
print(torch.from_dlpack(torch.to_dlpack(x)).shape)
F = torch._C._nn
print(F.gelu(x).shape, F.log_sigmoid(x).shape, F.replication_pad1d(x, (1, 0)).shape)
print(F.slow_conv3d(x[None, None], w[None, None], [1, 1, 2]).shape, hasattr(F, "nothing"))
"""
    assert run(program).splitlines() == [
        "tensor([3., 3.])",
        "tensor([[[2., 2., 2.]]])",
        "tensor([[[1., 2., 2., 2., 1.]]])",
        "torch.Size([1, 1, 4])",
        "torch.Size([1, 1, 4]) torch.Size([1, 1, 4]) torch.Size([1, 1, 5])",
        "torch.Size([1, 1, 1, 1, 3]) False",
    ]


def test_kinds_of_datasets_and_names_in_files() -> None:
    program = """
import argparse, io, torch
from torch.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter
from torch.distributed._tensor.experimental import implicit_replication
class Stream:  # a stand-in for a loader, with what a pass over one asks it for
    dataset_kind = _dataset_kind = _DatasetKind.Iterable
    _IterableDataset_len_called, _auto_collation, drop_last = None, False, False
    _index_sampler, generator, timeout, pin_memory = range(3), None, 0, False
    collate_fn = staticmethod(lambda sample: sample * 10)
    def __init__(self): self.dataset = self
    def __iter__(self): return iter([1, 2])
print([*_SingleProcessDataLoaderIter(Stream())])
print(torch.utils.data.DataLoader([1])._dataset_kind == _DatasetKind.Map)
names = torch.serialization.get_unsafe_globals_in_checkpoint
file = io.BytesIO(); torch.save({"a": torch.ones(1), "b": argparse.Namespace(c=1)}, file)
print(names(file))
with torch.serialization.safe_globals([argparse.Namespace]): print(names(file))
try: names(io.BytesIO(b"none"))
except ValueError as error: print(error)
print(torch.meshgrid.__kwdefaults__)
"""
    assert run(program).splitlines() == [
        "[10, 20]",
        "True",
        "['argparse.Namespace']",
        "[]",
        "Expected input to be a checkpoint returned by torch.save",
        "{'indexing': None}",
    ]


def test_private_parts_of_scalers_and_distributions() -> None:
    program = """
import torch
from torch.amp.grad_scaler import GradScaler, OptState
from torch.distributions.multivariate_normal import MultivariateNormal, _precision_to_scale_tril
from torch.distributions.transforms import SigmoidTransform, _clipped_sigmoid
from torch.utils.data.dataloader import _collate_fn_t
print(OptState.READY.value, GradScaler.__module__, MultivariateNormal.__module__)
precision = torch.tensor([[4.0, 1.0], [1.0, 2.0]])
scale = _precision_to_scale_tril(precision)
print((scale @ scale.mT - precision.inverse()).abs().max() < 1e-6, scale[0, 1])
print(_clipped_sigmoid(torch.tensor([-1000.0, 0.0, 1000.0])).logit().isfinite())
from torch.nn.utils.stateless import _functional_call, _reparametrize_module
layer = torch.nn.Linear(1, 1, bias=False); own = layer.weight
with _reparametrize_module(layer, {"weight": torch.tensor([[3.0]])}): print(layer(torch.ones(1)))
print(layer.weight is own, *_functional_call(layer, {"weight": own.data * 0 + 2}, torch.ones(1)))
D = torch.distributions
class Diagonal(D.Independent):
    def __init__(self, loc): super().__init__(D.Normal(loc, torch.ones(3)), 1)
    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(Diagonal, _instance))
wide = Diagonal(torch.zeros(3)).expand((2, 4))
print(type(wide) is Diagonal, *wide.batch_shape, *wide.event_shape)
print(wide.log_prob(torch.zeros(3)).shape)
"""
    assert run(program).splitlines() == [
        "0 torch.amp.grad_scaler torch.distributions.multivariate_normal",
        "tensor(True) tensor(0.)",
        "tensor([True, True, True])",
        "tensor([3.])",
        "True tensor(2.)",
        "True 2 4 3",
        "torch.Size([2, 4])",
    ]


def test_what_packages_there_are() -> None:
    program = """
import torch, torch._utils
from torch.utils._import_utils import _check_module_exists, dill_available
print(_check_module_exists("json"), _check_module_exists("json.nothing"), dill_available() < 2)
print(torch._utils._is_privateuse1_backend_available())
@torch._disable_dynamo
def twice(x): return 2 * x
print(twice(torch.ones(1)))
"""
    assert run(program).splitlines() == ["True False True", "False", "tensor([2.])"]
