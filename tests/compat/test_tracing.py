"""Graphs and tracers as libraries put them together: what they print with torch."""

from __future__ import annotations

from tests.compat.test_install import run


def test_what_graphs_are_asked() -> None:
    program = """
import torch
from torch.fx._compatibility import compatibility
from torch.fx._symbolic_trace import is_fx_tracing
from torch.fx.annotate import annotate
from torch.fx.graph_module import _assign_attr, _del_attr, _get_attr, _has_attr
from torch.fx.immutable_collections import immutable_list
from torch.fx.passes.shape_prop import ShapeProp
@compatibility(is_backward_compatible=True)
def traced(x):
    print(is_fx_tracing(), annotate(x, int).node.type)
    try:
        annotate(x, float)
    except RuntimeError as error:
        print(error)
    return [x]
module = torch.fx.symbolic_trace(traced)
print(is_fx_tracing(), traced._backward_compatible)
print(type(module.graph.output_node().args[0]) is immutable_list, annotate(3, int))
_assign_attr(torch.ones(2), module, "inner.value")
print(_get_attr(module, "inner.value"), dict(module.named_buffers()))
_del_attr(module, "inner.value")
print(_has_attr(module, "inner.value"), ShapeProp.__name__)
"""
    assert run(program).splitlines() == [
        "True <class 'int'>",
        "annotate: the type <class 'int'> of Proxy(x) is known already, got <class 'float'>",
        "False True",
        "True 3",
        "tensor([1., 1.]) {'inner.value': tensor([1., 1.])}",
        "False ShapeProp",
    ]


def test_tracers_that_are_put_together_anew() -> None:
    """A tracer of somebody else's, which replaces what it wants to see by itself."""
    program = """
import io
import torch
import torch.fx._symbolic_trace as st
def wrapped(x): return x
st_wrapped = torch.fx.wrap("wrapped")
class Inner(torch.nn.Module):
    def forward(self, x): return wrapped(x) * 2
class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.layer = Inner(), torch.nn.Linear(2, 2)
        self.shift = torch.nn.Parameter(torch.ones(2))
    def forward(self, x): return self.layer(self.inner(x)) + self.shift
def traced(module):
    class Tracer(torch.fx.Tracer):
        def is_leaf_module(self, m, *args): return isinstance(m, torch.nn.Linear)
        @st.compatibility(is_backward_compatible=True)
        def trace(self, root, concrete_args=None):
            self.root, fn = root, type(root).forward
            self.graph = torch.fx.Graph(tracer_cls=type(self))
            fn, args = self.create_args_for_root(fn, True, concrete_args)
            @st.functools.wraps(st._orig_module_call)
            def call(mod, *args, **kwargs):
                def forward(*args, **kwargs): return st._orig_module_call(mod, *args, **kwargs)
                names = mod.forward.__globals__
                st._autowrap_check(patcher, names, self._autowrap_function_ids)
                return self.call_module(mod, forward, args, kwargs)
            with st._Patcher() as patcher:
                patcher.patch_method(torch.nn.Module, "__call__", call, deduplicate=False)
                st._patch_wrapped_functions(patcher)
                for module in self._autowrap_search:
                    st._autowrap_check(patcher, module.__dict__, self._autowrap_function_ids)
                out = (self.create_arg(fn(*args)),)
                self.create_node("output", "output", out, {}, type_expr=None)
            return self.graph
    return torch.fx.GraphModule(module, Tracer().trace(module))
module = traced(Outer())
print([node.target for node in module.graph.nodes if node.op != "call_function"])
print([node.target.__name__ for node in module.graph.nodes if node.op == "call_function"])
x = torch.ones(1, 2)
print(module(x).shape)
stream = io.BytesIO()
torch.save(module, stream)
stream.seek(0)
print(torch.equal(torch.load(stream, weights_only=False)(x), module(x)))
"""
    assert run(program).splitlines() == [
        "['x', 'layer', 'shift', 'output']",
        "['wrapped', 'mul', 'add']",
        "torch.Size([1, 2])",
        "True",
    ]


def test_operators_are_written_down() -> None:
    """What torch prints, too."""
    program = """
import pickle
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.dialect.common.cse_pass import CSEPass
def written(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    y = x + 2
    return x + y
x = torch.ones(2)
module = make_fx(written)(x.clone())
print(module.code.strip())
print(module(x.clone()), type(module).__name__)
layer = torch.nn.Linear(2, 3)
module = make_fx(layer)(torch.ones(1, 2))
print([(node.name, str(node.target)) for node in module.graph.nodes][1:4])
same = [p is q for p, q in zip(module.parameters(), layer.parameters())]
print(same, module(x[None]).requires_grad)
module = make_fx(lambda d, y: {"r": d["a"] * y, "s": [d["b"]]})({"a": x, "b": x + 1}, x + 2)
print(module.code.strip())
print(module({"a": x, "b": x}, x * 5))
def twice(x):
    return x.sin() + x.sin() + torch.rand_like(x) - torch.rand_like(x)
module = make_fx(twice)(x)
print(CSEPass()(module).graph_module.code.count("sin.default("), module(x).abs().sum() > 0)
decomposed = make_fx(lambda x: x.cos(), {torch.ops.aten.cos.default: lambda x: x.exp()})(x)
names = [(node.name, *node.meta["val"].shape) for node in [*decomposed.graph.nodes][:2]]
print(names, decomposed.graph.output_node())
"""
    assert (
        run(program).splitlines()
        == """\
def forward(self, x_1) -> torch.Tensor:
    add_ = torch.ops.aten.add_.Tensor(x_1, 1);  x_1 = None
    add = torch.ops.aten.add.Tensor(add_, 2)
    add_1 = torch.ops.aten.add.Tensor(add_, add);  add_ = add = None
    return add_1
tensor([6., 6.]) written
[('_param_constant0', '_param_constant0'), ('t', 'aten.t.default'), \
('_param_constant1', '_param_constant1')]
[True, True] True
def forward(self, d, y):
    d_1, d_2, y_1, = fx_pytree.tree_flatten_spec([d, y], self._in_spec)
    mul = torch.ops.aten.mul.Tensor(d_1, y_1);  d_1 = y_1 = None
    return pytree.tree_unflatten([mul, d_2], self._out_spec)
{'r': tensor([5., 5.]), 's': [tensor([1., 1.])]}
1 tensor(True)
[('x_1', 2), ('exp', 2)] output
""".splitlines()
    )


def test_operators_that_are_traced() -> None:
    """They are operations themselves, and their pickles are they."""
    program = """
import pickle
import torch
def traced(x):
    return torch.ops.aten.add.Tensor(x, x) + torch.ops.aten.cat([x, x])
module = torch.fx.symbolic_trace(traced)
print(module.code.strip())
print(module.graph.find_nodes(op="call_function")[0].target is torch.ops.aten.add.Tensor)
for each in (torch.ops.aten.add, torch.ops.aten.add.Tensor):
    print(pickle.loads(pickle.dumps(each)) is each)
print(module(torch.ones(1)))
from torch.fx.operator_schemas import normalize_function
for call in ((torch.ops.aten.sum.dim_IntList, (1, [0])), (torch.ops.aten.mm, (1,), {"mat2": 2})):
    print(normalize_function(*call, normalize_to_only_use_kwargs=True).kwargs)
"""
    assert (
        run(program).splitlines()
        == """\
def forward(self, x):
    add_tensor = torch.ops.aten.add.Tensor(x, x)
    cat = torch.ops.aten.cat([x, x]);  x = None
    add = add_tensor + cat;  add_tensor = cat = None
    return add
True
True
True
tensor([3., 3.])
{'input': 1, 'dim': [0], 'keepdim': False, 'dtype': None}
{'input': 1, 'mat2': 2}
""".splitlines()
    )
