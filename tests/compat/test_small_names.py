"""Small functions of torch that programs ask for by the way: what they print with torch."""

from __future__ import annotations

from tests.compat.test_install import run

PROGRAM = """
import mmap
import warnings
import torch
from torch import nn
def refused(call, *arguments):
    try:
        return call(*arguments)
    except (RuntimeError, AssertionError, TypeError, ValueError, NotImplementedError) as error:
        return type(error).__name__
a = torch.accelerator
with a.device_index(None):
    print(refused(a.empty_cache), refused(a.memory_allocated), refused(a.get_memory_info))
print(refused(a.device_index(0).__enter__), torch.cuda.has_half, torch.cuda.has_magma)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    box = nn.Container(one=nn.ReLU())
print(list(dict(box.named_children())), told[0].category.__name__)
s = torch.serialization
s.set_default_load_endianness(s.LoadEndianness.LITTLE)
print(s.get_default_load_endianness(), refused(s.set_default_load_endianness, 1))
s.set_default_load_endianness(None)
print(s.get_default_load_endianness(), s.get_crc32_options(), s.get_default_mmap_options())
with s.set_default_mmap_options(mmap.MAP_SHARED):
    print(s.get_default_mmap_options())
print(s.get_default_mmap_options(), refused(s.set_default_mmap_options, 77))
print(s.location_tag(torch.ones(1).untyped_storage()), torch.autograd.is_view_replay_enabled())
def show(x):
    print(torch.func.debug_unwrap(x).tolist(), torch.func.debug_unwrap(x, recurse=False).shape)
    return x
torch.func.vmap(show)(torch.arange(2.0))
torch.func.vmap(torch.func.vmap(show))(torch.arange(2.0).view(2, 1))
show(torch.ones(1))
o = torch.overrides
print(o.get_testing_overrides()[torch.add](1, 2), len(o.get_testing_overrides()) > 500)
print(torch.Tensor.grad.__get__ in o.get_default_nowrap_functions())
a, x = torch.tensor([0.5, 2.0, 9.0]), torch.tensor([0.25, 3.0, 8.0])
print(torch._standard_gamma_grad(a, x), torch._dirichlet_grad(x / 10, a, 2 * a))
d = torch.manual_seed(0) and torch._standard_gamma(a.requires_grad_(), torch.default_generator)
print(d.sum(), *torch.autograd.grad(d.sum(), a))
print(torch._sample_dirichlet(a.detach(), None))
"""
PRIVATE = """
import warnings
import torch
from torch.nn.modules.transformer import _get_activation_fn
import torch.backends.mha
print(torch.backends.opt_einsum.is_available(), torch.backends.opt_einsum.strategy)
print(int(torch.onnx.TrainingMode.TRAINING), torch.onnx.OperatorExportTypes.ONNX.name)
print(_get_activation_fn("gelu") is torch.nn.functional.gelu)
with torch._tensor_str.printoptions(precision=1):
    print(torch.tensor(0.25), torch._tensor_str.get_printoptions()["precision"])
print(torch.tensor(0.25))
try:
    torch.linalg.inv(torch.zeros(2, 2))
except torch._C._LinAlgError as error:
    print(type(error) is torch.linalg.LinAlgError)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    layer = torch.nn.Linear(1, 1, bias=False)
    called = torch.nn.utils.stateless.functional_call(layer, {}, torch.zeros(1))
print(called.tolist(), *(each.category.__name__ for each in told))
w = torch.nn.Parameter(torch.empty(2))
init = torch.nn.init
print(init._no_grad_fill_(w, 2.0).tolist(), init._no_grad_zero_(w).tolist(), w.grad_fn)
print(init._no_grad_uniform_(w, 3, 3).tolist(), init._no_grad_normal_(w, 4, 0).tolist())
print(torch.profiler.profiler._default_schedule_fn(3).name)
with torch.overrides.TorchFunctionMode():
    print(torch._C._is_torch_function_mode_enabled())
print(torch._C._is_torch_function_mode_enabled())
dist = torch.distributed
print(torch.distributions.Wishart(4.0, torch.eye(2))._bartlett_sampling(torch.Size([3])).shape)
print(dist._rank_not_in_group(None), dist._rank_not_in_group(dist.GroupMember.NON_GROUP_MEMBER))
m, x, some = torch.masked, torch.tensor([[1.0, 5.0, 2.0]]), torch.tensor([True, False, True])
print(m._input_mask(x, mask=some).shape, m._canonical_dim(-1, 2), m._where(some, x, -x))
print([m._output_mask(f, x, *a, mask=some).tolist() for f, a in (
    (m.sum, (1,)), (m.norm, (2.0, 1)), (m.softmax, (0,)))])
print([m._reduction_identity(name, x) for name in ("sum", "torch.masked.amax", "median", "var")])
print(m._combine_input_and_mask(m.amin, x, some), m._reduction_identity("amax", x.int()))
row = torch.sparse_coo_tensor([[0, 1]], [2.0, 3.0], (3,))
print(torch._sparse_broadcast_to(row, (2, 3)).to_dense())
torch._validate_sparse_coo_tensor_args(row._indices(), row._values(), (3,))
for kind, parts in (("coo", ([[0, 4]], [2.0, 3.0], (3,))),
                    ("csr", ([0, 2], [0, 1], [1.0, 2.0], (1, 1)))):
    check = getattr(torch, f"_validate_sparse_{kind}_tensor_args")
    try: check(*map(torch.tensor, parts[:-1]), parts[-1])
    except RuntimeError as error: print(type(error).__name__)
with torch.utils._mode_utils.no_dispatch():
    print(torch.utils._mode_utils.__name__)
x = torch.tensor([0.2, 0.8])
print(torch.distributions.dirichlet._Dirichlet_backward(x, x, x))
import torch._dynamo.config, torch._inductor.config
from torch.utils._device import set_device
F = torch.nn.functional
x, w = torch.arange(6.0).view(3, 1, 2), torch.arange(12.0).view(6, 2)
print(F._mha_shape_check(x, x, x, None, None, 1), F._none_or_dtype(None), F._none_or_dtype(x))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    print(F._canonical_mask(some, "a", x.dtype, "b", x.dtype), str(told[0].message)[:33])
packed, parted = F._in_projection_packed(x, x, x, w), F._in_projection(x, x, x, *w.chunk(3))
print([p.sum().item() for p in packed], all(map(torch.equal, packed, parted)))
print(torch.jit.wait(torch.jit.fork(max, 1, 2)), torch.cuda._initialized)
print(set_device("meta")(torch.ones)(1).device, torch.distributions.constraints.independent)
print(torch.serialization.normalize_storage_type(torch.FloatStorage))
x, n = torch.arange(6.0).view(1, 1, 2, 3), torch._C._nn
print(torch._C._is_alias_of(x, x[0, 0, 1]), torch._C._is_alias_of(x, x + 1))
print(n.upsample_nearest2d(x, [2, 6])[0, 0, 1], n.upsample_nearest2d(x, None, [2, 2]).shape)
print(n._upsample_bilinear2d_aa(x, [1, 2], False), n.upsample_linear1d(x[0], [2], True))
torch._inductor.config.triton.unique_kernel_names = True
with torch._dynamo.config.patch(verbose=True):
    torch._dynamo.config.cache_size_limit = 8
mha = torch.backends.mha
ways = [mha.get_fastpath_enabled()]
for way in (False, True):
    mha.set_fastpath_enabled(way)
    ways.append(mha.get_fastpath_enabled())
print(ways, torch.backends.opt_einsum.set_flags())
print(isinstance(torch.ones(1), torch._C.TensorBase), "default" in torch.ops.aten.flip.overloads())
from torch._dynamo import exc
print(issubclass(exc.Unsupported, exc.TorchDynamoException), exc.TorchDynamoException.__bases__)
"""
PRINTED = """\
RuntimeError RuntimeError RuntimeError
RuntimeError True False
['one'] FutureWarning
LoadEndianness.LITTLE TypeError
None True 2
1
2 ValueError
cpu False
[0.0, 1.0] torch.Size([2])
[[0.0], [1.0]] torch.Size([1])
[1.0] torch.Size([1])
-1 True
True
tensor([0.9080, 1.3217, 0.9598]) tensor([0.2185, 0.2234, 0.0724])
tensor(9.7798, grad_fn=<SumBackward0>) tensor([0.0113, 0.5744, 1.0269])
tensor([0.0106, 0.0977, 0.8917])"""
PRIVATELY_PRINTED = """\
False None
2 ONNX
True
tensor(0.2) 1
tensor(0.2500)
True
[0.0] FutureWarning
[2.0, 2.0] [0.0, 0.0] None
[3.0, 3.0] [4.0, 4.0]
RECORD
True
False
torch.Size([3, 2, 2])
False True
torch.Size([1, 3]) (1,) tensor([[ 1., -5.,  2.]])
[[True], [True], [[True, False, True]]]
[tensor(0.), tensor(-inf), tensor(nan), None]
tensor([[1., inf, 2.]]) tensor(-2147483648, dtype=torch.int32)
tensor([[2., 3., 0.],
        [2., 3., 0.]])
RuntimeError
RuntimeError
torch.utils._mode_utils
tensor([-1.0794,  0.2033])
True None torch.float32
tensor([-inf, 0., -inf]) Support for mismatched a and b is
[48.0, 168.0, 288.0] True
2 False
meta <class 'torch.distributions.constraints._IndependentConstraint'>
<class 'torch.FloatStorage'>
True False
tensor([3., 3., 4., 4., 5., 5.]) torch.Size([1, 1, 4, 6])
tensor([[[[1.8750, 3.1250]]]]) tensor([[[0., 2.],
         [3., 5.]]])
[True, False, True] (False, None)
True True
True (<class 'RuntimeError'>,)"""


def test_what_they_print() -> None:
    assert run(PROGRAM) == PRINTED


def test_private_names_that_libraries_borrow() -> None:
    assert run(PRIVATE) == PRIVATELY_PRINTED


def test_what_plain_pickles_of_tensors_call() -> None:
    program = """
import io, torch
from torch import _utils, serialization
file = io.BytesIO()
torch.save(torch.arange(4.0).storage(), file, _use_new_zipfile_serialization=False)
storage = torch.storage._load_from_bytes(file.getvalue())
parts = storage, 1, (2,), (2,), False, {}
print(_utils._rebuild_tensor_v2(*parts), _utils._rebuild_tensor(*parts[:4]).tolist())
print(_utils._rebuild_tensor_v3(storage, 1, (2,), (2,), False, {}, torch.float32).tolist())
print(type(_utils._rebuild_parameter(torch.ones(1), True, {})).__name__)
print(_utils._rebuild_meta_tensor_no_storage(torch.int8, (2,), (1,), False))
x = torch._tensor._rebuild_from_type_v2(_utils._rebuild_tensor_v2, torch.Tensor, parts, {"a": 5})
print(x.a, x.tolist() == [1, 3], serialization._get_layout("torch.strided"))
"""
    assert run(program).splitlines() == [
        "tensor([1., 3.]) [1.0, 3.0]",
        "[1.0, 3.0]",
        "Parameter",
        "tensor(..., device='meta', size=(2,), dtype=torch.int8)",
        "5 True torch.strided",
    ]


def test_files_of_the_other_order() -> None:
    program = """
import io, zipfile, torch
from torch.serialization import LoadEndianness, set_default_load_endianness
saved, bare = io.BytesIO(), io.BytesIO()
torch.save(torch.tensor([1, 256]), saved)
with zipfile.ZipFile(saved) as old, zipfile.ZipFile(bare, "w") as new:
    for name in old.namelist():
        if not name.endswith("byteorder"):
            new.writestr(name, old.read(name))
for order in (None, *LoadEndianness):
    set_default_load_endianness(order)
    bare.seek(0)
    print(torch.load(bare).tolist())
"""
    little, big = "[1, 256]", "[72057594037927936, 281474976710656]"
    assert run(program).splitlines() == [little, little, little, big]


def test_modules_one_after_the_other() -> None:
    """Torch has it for GPUs alone."""
    program = """
import torch
from torch.nn.parallel import parallel_apply
layers = torch.nn.ReLU(), torch.nn.Flatten(0)
print([x.tolist() for x in parallel_apply(layers, [-torch.ones(1), (torch.ones(1, 1),)])])
try:
    parallel_apply(layers, [1])
except AssertionError as error:
    print(error)
"""
    first, second = run(program).splitlines()
    assert first == "[[0.0], [1.0]]"
    assert second.endswith("for as many modules, got 1")


def test_settings_and_hooks() -> None:
    program = """
import torch
from torch._dynamo.eval_frame import check_if_dynamo_supported, is_dynamo_supported
print(is_dynamo_supported(), check_if_dynamo_supported(), torch.backends.flags_frozen())
torch.backends.disable_global_flags()
print(torch.backends.flags_frozen(), torch.distributed._make_nccl_premul_sum(2.0))
x = torch.ones(1, requires_grad=True)
print(x._backward_hooks)
handle = x.register_hook(abs)
print(list(x._backward_hooks.values()), handle.remove(), len(x._backward_hooks))
"""
    assert run(program).splitlines() == [
        "True None False",
        "True <ReduceOp <RedOpType.PREMUL_SUM: 8>>",
        "None",
        "[<built-in function abs>] None 0",
    ]


def test_a_module_that_is_the_same_on_all_ranks() -> None:
    program = """
import torch
from torch.distributed.utils import _sync_module_states
torch.distributed.init_process_group()
m = torch.nn.BatchNorm1d(2)
_sync_module_states(m, torch.distributed.group.WORLD, 1024, 0, ["bias"], broadcast_buffers=False)
print(m.weight.tolist())
print(torch.compiler.disable(abs)._torchdynamo_disable, torch._C._nn._parse_to("cpu:1")[0])
"""
    assert run(program).splitlines() == ["[1.0, 1.0]", "True cpu:1"]


def test_copies_of_a_module() -> None:
    """On GPUs alone; what has no memory may be copied as well here."""
    program = """
import torch
from torch import nn
from torch.nn.parallel import replicate
m = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
m.append(m[0])
for devices in ([], ["cpu"], [torch.device("cpu")], [0]):
    try:
        print(replicate(m, devices))
    except (ValueError, AssertionError) as error:
        print(type(error).__name__)
m = m.to("meta")
for detach in (False, True):
    one, other = replicate(m, ["meta", "meta"], detach)
    print(one[0] is one[2], one[0] is other[0], *one.parameters(), len(list(one.buffers())))
    print(one[0].weight.requires_grad, one[1].training, one[0].in_features)
"""
    assert run(program).splitlines() == [
        "[]", "ValueError", "ValueError", "AssertionError",
        "True False 3", "True True 2", "True False 3", "False True 2",
    ]  # fmt: skip


def test_preferred_libraries() -> None:
    program = """
import torch
cuda = torch.backends.cuda
print(cuda.preferred_linalg_library(), cuda.preferred_blas_library())
print(cuda.preferred_linalg_library("cusolver"), cuda.preferred_linalg_library())
print(cuda.preferred_linalg_library(cuda.preferred_linalg_library("default")))
print(cuda.is_flash_attention_available(), torch.backends.cuda.matmul.allow_tf32)
for wrong in ("nothing", 3):
    try:
        cuda.preferred_linalg_library(wrong)
    except RuntimeError as error:
        print(error)
"""
    assert run(program).splitlines() == [
        "_LinalgBackend.Default _BlasBackend.Cublas",
        "_LinalgBackend.Cusolver _LinalgBackend.Cusolver",
        "_LinalgBackend.Default",
        "False False",
        "preferred_linalg_library(): unknown library 'nothing', choose from: default, cusolver",
        "preferred_linalg_library(): expected the name of a library, got int",
    ]


def test_steps_of_a_gradient_scaler() -> None:
    program = """
import torch
found, by = torch.zeros(1), torch.tensor([0.5])
gradients = [torch.tensor([1.0, 2.0]), torch.ones(2).half()]
torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, by)
print(gradients, found)
torch._amp_foreach_non_finite_check_and_unscale_([torch.tensor([4.0, torch.inf])], found, by)
print(found)
scale, good = torch.tensor([2.0]), torch.tensor([0], dtype=torch.int32)
for found in (0.0, 0.0, 1.0, 0.0):
    out = torch._amp_update_scale_(scale, good, torch.tensor([found]), 2.0, 0.25, 2)
    print(out is scale, scale, good)
scale.fill_(3e38)
torch._amp_update_scale_(scale, good, torch.tensor([0.0]), 2.0, 0.25, 2)
print(scale, good)
"""
    assert run(program).splitlines() == [
        "[tensor([0.5000, 1.0000]), tensor([0.5000, 0.5000], dtype=torch.float16)] tensor([0.])",
        "tensor([1.])",
        "True tensor([2.]) tensor([1], dtype=torch.int32)",
        "True tensor([4.]) tensor([0], dtype=torch.int32)",
        "True tensor([1.]) tensor([0], dtype=torch.int32)",
        "True tensor([1.]) tensor([1], dtype=torch.int32)",
        "tensor([3.0000e+38]) tensor([0], dtype=torch.int32)",
    ]


def test_what_tells_that_nothing_is_compiled() -> None:
    """Scripted modules say that they are, sizes that they are plain, and a module what it has."""
    program = """
import logging
import torch
from torch.types import IntLikeType, py_sym_types
logging.getLogger("nnkit.compat").setLevel(logging.ERROR)
jit = torch.jit
m, f = torch.nn.Linear(1, 1), lambda x: x
kinds = jit.ScriptModule, jit.RecursiveScriptModule, jit.ScriptFunction
print([isinstance(x, kind) for x in (m, f, []) for kind in kinds])
jit.script(m), jit.trace(f, torch.ones(1))
print([isinstance(x, kind) for x in (m, f, torch.nn.ReLU()) for kind in kinds])
class Mine(jit.ScriptModule): pass
print(isinstance(m, Mine), isinstance(Mine(), Mine), isinstance(Mine(), jit.ScriptModule))
print(isinstance(3, torch.SymInt), isinstance(3, py_sym_types), isinstance(3, IntLikeType))
held = set(dir(torch))
print(held >= {"testing", "linalg", "sparse_coo_tensor", "vmap", "get_autocast_dtype", "load"})
print([n for n in held if not hasattr(torch, n)], "functional" in dir(torch.nn))
print([n for n in ("backend", "compat", "eigensolver") if n in held or hasattr(torch, n)])
print([hasattr(torch.special, n) for n in ("kl_div", "logit", "Tensor")], hasattr(torch.fft, "add"))
print(torch.random.default_generator is torch.default_generator)
jit.TracerWarning.ignore_lib_warnings()  # what tests of scripts are set up and ended by
torch._C._jit_set_emit_hooks(None, None)
torch._C._jit_clear_class_registry()
jit._recursive.concrete_type_store = jit._recursive.ConcreteTypeStore()
jit._state._clear_class_state()
"""
    assert run(program).splitlines() == [
        "[False, False, False, False, False, False, False, False, False]",
        "[True, True, False, False, False, True, False, False, False]",
        "False True True",
        "False False True",
        "True",
        "[] True",
        "[]",
        "[False, True, True] False",
        "True",
    ]


def test_test_cases_of_libraries() -> None:
    program = """
import numpy as np
import torch
from torch.testing._internal.common_utils import TestCase, freeze_rng_state, set_rng_seed
case = TestCase()
class Wide(TestCase):
    precision = 0.1
    rel_tol = 0.1
x = torch.ones(2)
same = [
    (x, x + 1e-7), (x, [1, 1]), (1, 1.0), (x, np.ones(2, np.float32)), ("a", "a"), (None, None),
    ({"a": [x, 1], "b": None}, {"a": [x, 1], "b": None}), (x * torch.nan, x * torch.nan),
]
other = [
    (x, x + 1e-4), (x, x.double()), ("a", "b"), ({"a": 1}, {"b": 1}), ([x], [x, x]),
    ({"a": x}, {"a": 2 * x}), (x, torch.ones(3)), (None, 1), (1, 2),
]
for pair in same:
    case.assertEqual(*pair)
for pair in other:
    case.assertNotEqual(*pair)
    try:
        case.assertEqual(*pair)
        print("equal", pair)
    except AssertionError:
        pass
case.assertEqual(x, x + 0.01, atol=0.1, rtol=0)
case.assertEqual(x, x.double(), exact_dtype=False)
Wide().assertEqual(x, x + 0.01)
set_rng_seed(3)
with freeze_rng_state():
    a = torch.rand(2)
print(torch.equal(a, torch.rand(2)))
"""
    assert run(program) == "True"


def test_distributions_and_transforms_that_are_modules() -> None:
    program = """
import torch
from torch import nn
from torch.distributions import Distribution, constraints
from torch.distributions.transforms import Transform
class Scaled(Transform, nn.Module):
    domain = codomain = constraints.real
    bijective = True
    def __init__(self, cache_size=1):
        super().__init__(cache_size=cache_size)
        self.layer = nn.Linear(1, 1)
    def __hash__(self): return super(nn.Module, self).__hash__()
    def _call(self, x): return self.layer(x)
    def _inverse(self, y): raise KeyError("of a value that is not kept")
class Prior(Distribution, nn.Module):
    arg_constraints = {}
    def __init__(self):
        super().__init__(torch.Size([2]))
        self.layer = nn.Linear(1, 1)
t, p = Scaled(), Prior()
y = t(x := torch.ones(1, 1))
print(t.inv(y) is x, t._cached_x_y[1] is y, len(list(t.parameters())), t in {t})
print(p.batch_shape, len(list(p.parameters())))
"""
    assert run(program).splitlines() == ["True True 2 True", "torch.Size([2]) 2"]


def test_private_names_that_torchs_own_tests_ask_for() -> None:
    program = """
import io
import torch
from torch._export.wrappers import mark_subclass_constructor_exportable_experimental
from torch._functorch.eager_transforms import _slice_argnums
from torch.nn.functional import grad
print(grad is torch.nn.grad, torch.nn.functional.grad.conv1d_input.__module__)
print(_slice_argnums((1, 2, 3), (0, -1)), _slice_argnums((1, 2), 1, as_tuple=False))
try:
    _slice_argnums((1, 2), (0, -2))
except RuntimeError as error:
    print("must be unique" in str(error) or "elements must be unique" in str(error))
print(torch._C._infer_size(torch.Size((2, 1)), torch.Size((3,))))
grid = torch.zeros(1, 1, 1, 2)
print(torch._grid_sampler_2d_cpu_fallback(torch.ones(1, 1, 3, 3), grid, 0, 0, False))
print(torch.ones(1)._fix_weakref())
print(torch._embedding_bag(torch.eye(3, 2), torch.tensor([0, 1]), torch.tensor([0]))[0])
x, out = torch.full((2, 2), -1.0), torch.empty(2, 2)
print(torch._addmm_activation(x, x, x, beta=2, alpha=0.75, use_gelu=True))
print(torch._addmm_activation(x, x, x, beta=2, out=out) is out, out.sum())
with torch.library._scoped_library("of_the_tests", "FRAGMENT") as library:
    print(type(library) is torch.library.Library)
print(torch.jit._wait(torch.jit._fork(torch.cos, torch.zeros(1))))
file = io.BytesIO()
torch.save(x, file)
file.seek(0)
print(torch.serialization._is_zipfile(file), file.tell())
try:
    torch.jit.script(torch.nn.Sequential(torch.nn.LazyLinear(3)))
except RuntimeError as error:
    print(error)
"""
    assert run(program).splitlines() == [
        "True torch.nn.grad", "(1, 3) 2", "True", "torch.Size([2, 3])",
        "tensor([[[[1.]]]])", "None", "tensor([[1., 1.]])",
        "tensor([[-0.1543, -0.1543],", "        [-0.1543, -0.1543]])", "True tensor(0.)", "True",
        "tensor([1.])", "True 0",
        "'torch.nn.modules.linear.LazyLinear' has uninitialized parameters weight. Did you forget "
        "to run a forward pass?",
    ]  # fmt: skip


def test_a_tensor_on_a_storage_of_the_meta_device() -> None:
    """As libraries make it that read files later; a file's own storages hold what they say."""
    program = """
import torch
storage = torch.TypedStorage(dtype=torch.float16, device="meta")
x = torch._utils._rebuild_tensor_v2(storage, 0, (2, 3), (3, 1), True)
print(x.shape, x.dtype, x.device, x.requires_grad)
try:
    torch._utils._rebuild_tensor_v2(torch.ones(2).untyped_storage(), 0, (99,), (1,), False)
except (RuntimeError, ValueError) as error:
    print(type(error).__name__)
"""
    assert run(program).splitlines() == ["torch.Size([2, 3]) torch.float16 meta True", "ValueError"]


def test_what_quantizers_import() -> None:
    program = """
import torch
from torch._higher_order_ops.out_dtype import out_dtype
from torch._inductor.decomposition import register_decomposition
from torch.jit._state import _enabled, _script_classes
from torch.nn.functional import ScalingType, SwizzleType
from torch.sparse import SparseSemiStructuredTensorCUSPARSELT, SparseSemiStructuredTensorCUTLASS
from torch.sparse._triton_ops_meta import get_meta
x, y = torch.tensor([[100, 100]], dtype=torch.int8), torch.tensor([[0.5, 1.0]])
aten = torch.ops.aten
print(out_dtype(aten.mm.default, torch.int32, x, x.T))
print(out_dtype(aten.mul.Tensor, torch.int32, x, y))
print(register_decomposition([aten.mm])(max) is max, len(_script_classes), type(_enabled).__name__)
print(int(ScalingType.BlockWise1x32), int(SwizzleType.SWIZZLE_32_4_4))
alike = torch._has_compatible_shallow_copy_type
print(alike(x, y), alike(y, y.to_sparse()), alike(y, y.to("meta")))
class Slotted: __slots__ = ("a", "__dict__")
torch._utils._set_obj_state(made := Slotted(), ({"b": 2}, {"a": 1}))
print(made.a, made.b, torch._utils._get_obj_state(torch.ones(1)) or {}, torch._C._cpu.__name__)
with torch._dynamo.utils.disable_cache_limit(): pass
ops, F = torch.ops, torch.nn.functional
for lacking in (ops._c10d_functional.all_reduce, ops.prims.none, F.scaled_mm):
    try: lacking(x)
    except NotImplementedError: print("refused", end=" ")
"""
    assert run(program).splitlines() == [
        "tensor([[20000]], dtype=torch.int32)",
        "tensor([[ 50, 100]], dtype=torch.int32)",
        "True 0 EnabledProxy",
        "3 1",
        "True False False",
        "1 2 {} torch._C._cpu",
        "refused refused refused",
    ]


def test_functions_are_overridden_or_ignored() -> None:
    program = """
import torch
ignored = torch.overrides.get_ignored_functions()
overridden = torch.overrides.get_testing_overrides()
print(len(ignored & overridden.keys()), torch.ones in ignored, torch.Tensor.exp_ in overridden)
"""
    assert run(program) == "0 True True"
