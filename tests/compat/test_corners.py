"""Private corners of torch that libraries reach into, in programs of a process of their own."""

from __future__ import annotations

from tests.compat.test_install import run


def test_tensors_inside_of_transforms() -> None:
    program = """
import torch
from torch._C._functorch import get_unwrapped, is_batchedtensor, is_gradtrackingtensor
from torch._C._functorch import maybe_get_bdim
def f(x):
    print(is_batchedtensor(x), maybe_get_bdim(x), tuple(get_unwrapped(x).shape), tuple(x.shape))
    return x
torch.vmap(f, in_dims=1)(torch.ones(2, 3))
def g(x):
    print(is_batchedtensor(x), is_gradtrackingtensor(x), maybe_get_bdim(x))
    return x
torch.func.jvp(g, (torch.ones(2),), (torch.ones(2),))
x = torch.ones(2)
print(is_batchedtensor(x), get_unwrapped(x) is x)
"""
    assert run(program).splitlines() == ["True 1 (2, 3) (2,)", "False True -1", "False True"]


def test_levels_by_number() -> None:
    program = """
import torch
from torch._C._functorch import _add_batch_dim, _remove_batch_dim
whole = torch.arange(6.0).reshape(3, 2)
def f(x):
    y = _add_batch_dim(whole, 1, 1)
    print(tuple(y.shape), _remove_batch_dim(x * y, 1, 2, 0).tolist())
    print(_remove_batch_dim(torch.ones(2), 1, 2, 1).shape)
    return x
torch.vmap(f)(torch.tensor([1.0, 2.0]))
try: _add_batch_dim(whole, 0, 1)
except RuntimeError as error: print(error)
"""
    assert run(program).splitlines() == [
        "(3,) [[0.0, 2.0, 4.0], [2.0, 6.0, 10.0]]",
        "torch.Size([2, 2])",
        "no vmap that is 1 deep runs here",
    ]


def test_errors_that_go_to_other_processes() -> None:
    program = """
import pickle
from torch._utils import ExceptionWrapper
def wrapped(error, **options):
    try: raise error
    except Exception: return pickle.loads(pickle.dumps(ExceptionWrapper(**options)))
for error in (ValueError("one"), KeyError("two"), UnicodeDecodeError("a", b"b", 0, 1, "c")):
    try: wrapped(error, where="in a thread").reraise()
    except Exception as found:
        first, second, *_, last = str(found).splitlines()
        print(type(found).__name__, first, second[:18], last)
"""
    assert run(program).splitlines() == [
        "ValueError Caught ValueError in a thread. Original Traceback ValueError: one",
        "KeyError Caught KeyError in a thread. Original Traceback KeyError: 'two'",
        "RuntimeError Caught UnicodeDecodeError in a thread. Original Traceback "
        "UnicodeDecodeError: 'a' codec can't decode byte 0x62 in position 0: c",
    ]


def test_tensors_on_several_devices() -> None:
    program = """
import torch
from torch._utils import _take_tensors
from torch.cuda import comm
x = torch.arange(4.0)
a, b = comm.scatter(x, ["cpu", "cpu"]); print(a.tolist(), b.tolist())
print([t.tolist() for t in comm.scatter(x, ["cpu", "cpu"], [1, 3])])
print(len(comm.broadcast(x, ["cpu"])))
print(comm.gather([a, b]).tolist(), comm.reduce_add([a, b], "cpu").tolist())
try: comm.reduce_add([a, x])
except ValueError: print("shapes")
given = [torch.ones(2), torch.ones(1).int(), torch.ones(2), torch.ones(3)]
print([[t.numel() for t in group] for group in _take_tensors(given, 16)])
"""
    assert run(program).splitlines() == [
        "[0.0, 1.0] [2.0, 3.0]",
        "[[0.0], [1.0, 2.0, 3.0]]",
        "1",
        "[0.0, 1.0, 2.0, 3.0] [2.0, 4.0]",
        "shapes",
        "[[2, 2], [3], [1]]",
    ]


def test_bases_of_layers() -> None:
    program = """
import torch
from torch.nn.common_types import _size_2_t
from torch.nn.modules.conv import _ConvTransposeMixin
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.padding import _ReflectionPadNd, _ReplicationPadNd
nn = torch.nn
print(isinstance(nn.ConvTranspose2d(1, 1, 1), _ConvTransposeMixin), _size_2_t)
print(isinstance(nn.AlphaDropout(), _DropoutNd), isinstance(nn.Conv2d(1, 1, 1), _DropoutNd))
print(isinstance(nn.ReflectionPad2d(1), _ReflectionPadNd))
print(isinstance(nn.ReplicationPad3d(1), _ReplicationPadNd))
"""
    assert run(program).splitlines() == [
        "True int | tuple[int, int]",
        "True False",
        "True",
        "True",
    ]


def test_swapped_tensors() -> None:
    program = """
import torch
from torch.nn.utils._named_member_accessor import set_tensor, swap_tensor
m = torch.nn.BatchNorm1d(1)
before = swap_tensor(m, "weight", torch.zeros(1))
print(before.tolist(), m.weight.tolist())
set_tensor(m, "running_mean", torch.ones(1)); m.mine = torch.ones(1)
print(m.running_mean.tolist(), swap_tensor(m, "mine", torch.zeros(1)).tolist(), m.mine.tolist())
missing = swap_tensor(m, "new", torch.ones(1), allow_missing=True)
swap_tensor(m, "new", missing, allow_missing=True); print(hasattr(m, "new"))
swap_tensor(m, "bias", missing, allow_missing=True); print("bias" in m._parameters)
for given in ((m, "none", before), (m, "a.b", before), (m, "", before), (1, "a", before),
              (m, "weight", 1), (m, "training", before)):
    try: swap_tensor(*given)
    except Exception as error: print(type(error).__name__)
"""
    assert run(program).splitlines() == [
        "[1.0] [0.0]", "[1.0] [1.0] [0.0]", "False", "False",
        "AttributeError", "KeyError", "KeyError", "TypeError", "TypeError", "TypeError",
    ]  # fmt: skip


def test_decorating_contexts() -> None:
    program = """
from torch.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager
class Named(_DecoratorContextManager):
    def __init__(self, name): self.name = name
    def clone(self): return Named(self.name)
    def __enter__(self): print("in", self.name)
    def __exit__(self, *exception): print("out")
@Named("a")
def f(): return 1
print(f())
class Plain(_NoParamDecoratorContextManager):
    def __enter__(self): print("in")
    def __exit__(self, *exception): print("out")
@Plain
def g(): return 2
print(g())
"""
    assert run(program).split() == "in a out 1 in out 2".split()


def test_tables_by_identity() -> None:
    program = """
import copy, torch
from torch.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakTensorKeyDictionary
x, y = torch.ones(2), torch.ones(2)
table = WeakTensorKeyDictionary({x: 1})
table[y] = 2
print(len(table), table[x], x in table, torch.ones(2) in table, 3 in table)
print([table[k] for k in table])
a = TensorWeakRef(x)
print(a == TensorWeakRef(x), a == TensorWeakRef(y), a() is x)
copied = table.copy(); del table[x]; del y
print(len(table), len(copied), WeakIdKeyDictionary().get(x))
z, listed = torch.ones(2), WeakIdKeyDictionary()
listed[x] = [1]
deep, joined = copy.deepcopy(listed), listed | {z: 5}
listed |= {z: 6}
print(deep[x] == listed[x], deep[x] is listed[x], joined[z], ({z: 7} | listed)[z], listed[z])
print(repr(listed)[:26], len(listed.keyrefs()))
"""
    assert run(program).splitlines() == [
        "2 1 True False False", "[1, 2]", "True False True", "0 1 None", "True False 5 6 6",
        "<WeakIdKeyDictionary at 0x 2",
    ]  # fmt: skip


def test_line_search_and_jacobians() -> None:
    program = """
import torch
from torch.autograd.functional import _as_tuple, _construct_standard_basis_for, _tuple_postprocess
from torch.optim.lbfgs import _cubic_interpolate, _strong_wolfe
print(_cubic_interpolate(0.0, 1.0, -2.0, 2.0, 1.0, 2.0))
def f(x, t, d):
    at = x + t * d
    return float((at * at).sum()), 2 * at
x = torch.tensor([2.0, 1.0]); d = -2 * x
loss, gradient, t, evaluations = _strong_wolfe(f, x, 1.0, d, 5.0, 2 * x, (2 * x).dot(d))
print(loss, gradient.tolist(), float(t), evaluations)
try: _strong_wolfe(f, x, 1.0, d, 5.0, 2 * x, (2 * x).dot(d), c1=1e-3)
except NotImplementedError: print("one pair of conditions")
print(*_construct_standard_basis_for((torch.ones(1), torch.ones(2)), (1, 2)))
print(_as_tuple(x)[0], _tuple_postprocess(((x,),), (False, False)).tolist())
print(_tuple_postprocess((x,), False).tolist())
"""
    assert (
        run(program).split()
        == (
            "1.0 0.0 [0.0, 0.0] 0.5 2 one pair of conditions "
            "tensor([[1.], [0.], [0.]]) tensor([[0., 0.], [1., 0.], [0., 1.]]) "
            "False [2.0, 1.0] [2.0, 1.0]"
        ).split()
    )


def test_what_never_happens_here() -> None:
    program = """
import torch, warnings
from torch._dynamo.utils import warn_once
from torch.cuda import _lazy_call, nvtx
from torch.utils._triton import has_triton
from torch.utils.checkpoint import check_backward_validity, detach_variable
from torch.utils.data._utils.worker import _generate_state
with nvtx.range("step"): nvtx.mark("here")
_lazy_call(lambda: print("never"))
print(has_triton(), torch.cuda.get_arch_list(), torch.distributed.autograd.is_available())
print(_generate_state(5, 1))
x, three = detach_variable((torch.ones(1, requires_grad=True) * 2, 3))
print(x.is_leaf, x.requires_grad, three)
try: detach_variable([x])
except RuntimeError as error: print(error)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    warn_once("a"); warn_once("a"); check_backward_validity([torch.ones(1)])
print(len(seen))
"""
    assert run(program).splitlines() == [
        "False [] False",
        "[3025039489, 3528014902, 3507927383, 2601490367]",
        "True True 3",
        "Only tuple of tensors is supported. Got list",
        "2",
    ]


def test_a_class_that_is_not_asked_answers_when_it_is_called() -> None:
    program = """
import torch
class Mine(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        out = torch.nn.Parameter.__torch_function__(func, types, args, kwargs)
        return out.as_subclass(cls) if isinstance(out, torch.Tensor) else out
x = torch.nn.functional.linear(torch.ones(1, 2).as_subclass(Mine), torch.ones(3, 2))
print(type(x).__name__, x.tolist())
"""
    assert run(program) == "Mine [[2.0, 2.0, 2.0]]"


def test_nodes_of_trees() -> None:
    program = """
import collections, torch
from torch.utils import _pytree as P
print(P._list_flatten([1, 2]), P._list_unflatten([1, 2], None), P._tuple_flatten_with_keys((1,)))
d = collections.OrderedDict(a=1)
print(P._odict_unflatten(*P._odict_flatten(d)) == d, P._deque_flatten(collections.deque([1], 2)))
x = torch.ones(2).max(0)
print(P.is_structseq(x), P.is_structseq_instance((1,)), P.is_structseq_class(type(x)))
"""
    assert run(program).splitlines() == [
        "([1, 2], None) [1, 2] ([(SequenceKey(idx=0), 1)], None)",
        "True ([1], 2)",
        "True False True",
    ]


def test_what_a_module_lists_is_there() -> None:
    program = """
import torch
for module in (torch.optim, torch.nn, torch.nn.functional, torch.linalg, torch.utils.data):
    print([name for name in dir(module) if not hasattr(module, name)])
"""
    assert run(program).split() == ["[]"] * 5


def test_no_tensor_has_a_dtype_that_is_not_here() -> None:
    program = """
import torch
x = torch.ones(2)
for make in (x.to, x.type, x.view, lambda d: x.new_empty(2, dtype=d), torch.nn.Linear(1, 1).to):
    try: make(torch.qint8 if make == x.view else torch.complex32)
    except (NotImplementedError, TypeError) as error: print(type(error).__name__)
"""
    assert run("import warnings; warnings.simplefilter('ignore')\n" + program).splitlines() == (
        ["NotImplementedError"] * 5
    )
