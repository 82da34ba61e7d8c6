"""Small functions of torch that programs ask for by the way: what they print with torch."""

from __future__ import annotations

from tests.compat.test_install import run

PROGRAM = """
import warnings
import torch
from torch import nn
def refused(call, *arguments):
    try:
        return call(*arguments)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
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
PRINTED = """\
RuntimeError RuntimeError RuntimeError
RuntimeError True False
['one'] FutureWarning
LoadEndianness.LITTLE TypeError
None True 2
cpu False
[0.0, 1.0] torch.Size([2])
[[0.0], [1.0]] torch.Size([1])
[1.0] torch.Size([1])
-1 True
True
tensor([0.9080, 1.3217, 0.9598]) tensor([0.2185, 0.2234, 0.0724])
tensor(9.7798, grad_fn=<SumBackward0>) tensor([0.0113, 0.5744, 1.0269])
tensor([0.0106, 0.0977, 0.8917])"""


def test_what_they_print() -> None:
    assert run(PROGRAM) == PRINTED


def test_files_of_the_other_order_are_refused() -> None:
    program = """
from torch.serialization import LoadEndianness, set_default_load_endianness
try:
    set_default_load_endianness(LoadEndianness.BIG)
except NotImplementedError as error:
    print(error)
"""
    assert "little-endian" in run(program)


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
