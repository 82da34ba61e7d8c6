"""The package functorch, which torch brings beside ``torch.func``."""

from __future__ import annotations

from tests.compat.test_install import run


def test_the_old_package() -> None:
    program = """
import warnings
import functorch, torch
from functorch.experimental import functionalize, replace_all_batch_norm_modules_
from torch._functorch.make_functional import make_functional_with_buffers
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    print(functorch.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3)), seen[0].category.__name__)
warnings.simplefilter("ignore")
layer = torch.nn.Linear(2, 3)
f, params = functorch.make_functional(layer)
print(torch.equal(f(params, torch.ones(2)), layer(torch.ones(2))), params[0] is layer.weight)
nets = [torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)) for _ in range(4)]
f, params, buffers = functorch.combine_state_for_ensemble(nets)
print([tuple(p.shape) for p in params], [tuple(b.shape) for b in buffers])
f, params, buffers = make_functional_with_buffers(nets[0].eval())
x = torch.randn(5, 2)
print(torch.equal(f(params, buffers, x), nets[0](x)))
print(replace_all_batch_norm_modules_(nets[0])[1].running_mean, functorch.grad(torch.sin).__name__)
print(functionalize(lambda x: x.add_(1))(torch.ones(1)))
from functorch.experimental import chunk_vmap, control_flow
print(chunk_vmap(lambda x, y: x.sum() + y, (0, None), chunks=3)(torch.ones(7, 2), 1).tolist())
parts = [torch.ones(2), torch.ones(2, 3)]
print(control_flow.map(lambda x, y: {"a": x[0] + y, "b": x[1].sum()}, parts, 1))
print(control_flow.cond(True, lambda x: x, lambda x: -x, (1,)))
for wrong in ([], [layer, nets[0]], [layer, torch.nn.Linear(2, 3).eval()]):
    try: functorch.combine_state_for_ensemble(wrong)
    except RuntimeError as error: print(error)
try: functorch.make_functional(nets[1])
except RuntimeError as error: print(error)
import nnkit.compat, sys
nnkit.compat.uninstall()
print([name for name in sys.modules if name.startswith(("torch", "functorch"))])
"""
    assert run(program).splitlines() == [
        "tensor([3., 3.]) FutureWarning",
        "True False",
        "[(4, 3, 2), (4, 3), (4, 3), (4, 3)] [(4, 3), (4, 3), (4,)]",
        "True",
        "None sin",
        "tensor([2.])",
        "[3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]",
        "{'a': tensor([2., 2.]), 'b': tensor([3., 3.])}",
        "1",
        "combine_state_for_ensemble: Expected at least one model, got 0.",
        "combine_state_for_ensemble: Expected all models to be of the same class.",
        "combine_state_for_ensemble: Expected all models to have the same training/eval mode.",
        "make_functional(model): `model` has buffers: use make_functional_with_buffers(model)",
        "[]",
    ]


def test_functions_without_wrappers() -> None:
    program = """
import torch
from torch import _VF
x = torch.tensor([[1, 2], [1, 2]])
print(_VF.unique_dim(x, 0, return_counts=True), _VF.tanh is torch.tanh, hasattr(_VF, "nothing"))
"""
    assert run(program) == (
        "(tensor([[1, 2]]), tensor([], dtype=torch.int64), tensor([2])) True False"
    )


def test_a_library_replaces_the_steps_of_vmap() -> None:
    """As for containers of its own, which `vmap` does not look into."""
    program = """
import torch
import torch._functorch.vmap as source
class Box:
    def __init__(self, x): self.x, self.device = x, None
def process(in_dims, args, func):
    leaves, structure = source.tree_flatten(args)
    return leaves[0].x.shape[in_dims], [in_dims], leaves, structure
def create(dims, leaves, level, structure):
    return source.tree_unflatten([Box(source._add_batch_dim(leaves[0].x, 0, level))], structure)
def unwrap(result, out_dims, level, size, func):
    return Box(source._remove_batch_dim(result.x, level, size, out_dims))
before = source._process_batched_inputs, source._create_batched_inputs, source._unwrap_batched
double = torch.vmap(lambda box: Box(box.x.sum() * 2))
source._process_batched_inputs = process
source._create_batched_inputs = create
source._unwrap_batched = unwrap
print(double(Box(torch.ones(3, 2))).x)
source._process_batched_inputs, source._create_batched_inputs, source._unwrap_batched = before
print(torch.vmap(torch.sum)(torch.ones(3, 2)))
"""
    assert run(program).splitlines() == ["tensor([4., 4., 4.])", "tensor([2., 2., 2.])"]
