"""Programs as graphs: what a module does, written down, to be looked at, changed and run again."""

from __future__ import annotations

from nnkit.fx.code_gen import CodeGen as CodeGen
from nnkit.fx.graph import Graph as Graph
from nnkit.fx.graph import PythonCode as PythonCode
from nnkit.fx.graph_module import GraphModule as GraphModule
from nnkit.fx.graph_module import _copy_attr as _copy_attr
from nnkit.fx.interpreter import Interpreter as Interpreter
from nnkit.fx.interpreter import Transformer as Transformer
from nnkit.fx.node import Argument as Argument
from nnkit.fx.node import Node as Node
from nnkit.fx.node import Target as Target
from nnkit.fx.node import has_side_effect as has_side_effect
from nnkit.fx.node import map_aggregate as map_aggregate
from nnkit.fx.node import map_arg as map_arg
from nnkit.fx.proxy import Attribute as Attribute
from nnkit.fx.proxy import GraphAppendingTracer as GraphAppendingTracer
from nnkit.fx.proxy import ParameterProxy as ParameterProxy
from nnkit.fx.proxy import Proxy as Proxy
from nnkit.fx.proxy import ProxyableClassMeta as ProxyableClassMeta
from nnkit.fx.proxy import TraceError as TraceError
from nnkit.fx.proxy import TracerBase as TracerBase
from nnkit.fx.subgraph_rewriter import replace_pattern as replace_pattern
from nnkit.fx.tracer import PH as PH
from nnkit.fx.tracer import Tracer as Tracer
from nnkit.fx.tracer import symbolic_trace as symbolic_trace
from nnkit.fx.tracer import wrap as wrap

__all__ = [
    "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer",
    "has_side_effect", "map_arg", "replace_pattern", "symbolic_trace", "wrap",
]  # fmt: skip
