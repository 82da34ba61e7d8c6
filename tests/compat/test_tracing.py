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
