"""What programs show of themselves: lines, shapes, notes, files; and errors that name a line."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises


def part(lib: ModuleType, name: str) -> Any:
    return importlib.import_module(f"{lib.__name__}.fx.{name}")


def model(T: ModuleType) -> Any:
    """A module with parameters, a traced module in it, and two results."""
    inner = T.fx.symbolic_trace(T.nn.Sequential(T.nn.Tanh()))

    class Model(T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = T.nn.Linear(2, 2)
            self.w = T.nn.Parameter(T.ones(2))
            self.register_buffer("b", T.ones(2, dtype=T.float64))
            self.inner = inner

        def forward(self, x):  # type: ignore[no-untyped-def]  # torch prints types
            return self.inner(T.sub(self.lin(x), self.w)), x.bool() * self.b

    class Tracer(T.fx.Tracer):
        def is_leaf_module(self, m: Any, name: str) -> bool:
            return True

    T.manual_seed(0)
    root = Model()
    return T.fx.GraphModule(root, Tracer().trace(root))


READABLE = """class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[3, 2]"):
        # No stacktrace found for following nodes
        lin: "f32[3, 2]" = self.lin(x)
        w: "f32[2]" = self.w

        # seq_nr: 5 # Annotation: {'stage': 1, 'note': '%s...'} File: /a/b.py:4 in g, code: y = 2
        sub: "f32[3, 2]" = T.sub(lin, w);  lin = w = None

        # No stacktrace found for following nodes
        inner: "f32[3, 2]" = self.inner(sub);  sub = None
        bool_1: "b8[3, 2]" = x.bool();  x = None
        b: "f64[2]" = self.b
        mul: "f64[3, 2]" = bool_1 * b;  bool_1 = b = None
        return (inner, mul)

    class inner(torch.nn.Module):
        def forward(self, input):
            input_1 = input

            # No stacktrace found for following nodes
            _0 = getattr(self, "0")(input_1);  input_1 = None
            return _0
"""
TRACE = (
    'File "/a/a.py", line 3, in forward\n    return g(x)\n  File "/a/b.py", line 4, in g\n    y = 2'
)


def test_a_program_is_readable(lib: ModuleType) -> None:
    module = model(lib)
    part(lib, "passes.shape_prop").ShapeProp(module).propagate(lib.ones(3, 2))
    (node,) = module.graph.find_nodes(op="call_function", target=lib.sub)
    node.stack_trace = TRACE
    node.meta |= {"seq_nr": 5, "custom": {"stage": 1, "note": "x" * 50}}
    text = module.print_readable(False, additional_meta=["seq_nr", "none"])
    assert text == (READABLE % ("x" * 40)).replace("T.sub", f"{lib.__name__}.sub")
    node.meta["val"] = lib.ones(3, 2, dtype=lib.int64).T
    text = module.print_readable(False, include_stride=True, include_device=True)
    assert 'sub: "i64[2, 3][1, 2]cpu" = ' in text and 'w: "f32[2]" = ' in text


def test_lines_know_their_operations(lib: ModuleType) -> None:
    module = lib.fx.symbolic_trace(lambda a, b: lib.sin(a) + lib.cos(b))
    assert module._lineno_map == {1: 2, 2: 3, 3: 4, 4: 5, 5: 5} and module._prologue_start == 4
    module.graph.on_generate_code(lambda _: lambda code: ["print('hello!')\n", *code])
    module.recompile()
    assert module._lineno_map == {1: None, 2: 2, 3: 3, 4: 4, 5: 5, 6: 5}
    assert "#" not in module.code


def test_a_program_becomes_a_package(
    lib: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = model(lib)
    module.w.data.fill_(2)
    with pytest.warns(UserWarning, match=r"following children modules.*\['inner'\]"):
        module.to_folder(tmp_path / f"of_{lib.__name__}", "Model")
    monkeypatch.syspath_prepend(tmp_path)
    package = importlib.import_module(f"of_{lib.__name__}")
    x = lib.tensor([[1.0, 0.0]])
    for ours, theirs in zip(package.Model()(x), module(x), strict=True):
        assert ours.tolist() == theirs.tolist()
    text = (tmp_path / f"of_{lib.__name__}" / "module.py").read_text()
    assert "setattr(self, 'lin', Linear(in_features=2, out_features=2, bias=True))" in text


def test_an_error_names_the_line(lib: ModuleType, capsys: pytest.CaptureFixture) -> None:
    inner = lib.fx.symbolic_trace(lambda x: lib.dot(x, x))
    graph = lib.fx.Graph()
    graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
    outer = lib.fx.GraphModule({"inner": inner}, graph)
    with raises(lib, TypeError, "must be Tensor"):
        outer(5)
    said = capsys.readouterr().err
    assert "line 5 of the traced Module's generated forward function:\n" in said
    assert ("dot = " in said or lib is not nnkit) and "~~~ <--- HERE" in said
    assert said.count("Call using an FX-traced Module") == 1
    for function in (lib.nn.functional.relu, lambda x: lib._assert(x == 4, "four")):
        with pytest.raises(Exception):  # noqa: B017, PT011  # each has one of its own
            lib.fx.symbolic_trace(function)(5)
    assert "generated forward" not in capsys.readouterr().err
    module = lib.fx.symbolic_trace(lambda x: wrong(x))
    with pytest.raises(ZeroDivisionError):
        module(5)
    assert "generated forward" not in capsys.readouterr().err


def wrong(x: Any) -> Any:
    return 1 / 0 if isinstance(x, int) else x


nnkit.fx.wrap("wrong")
if importlib.util.find_spec("torch"):
    importlib.import_module("torch.fx").wrap("wrong")


def test_an_interpreter_names_the_operation(lib: ModuleType) -> None:
    module = lib.fx.symbolic_trace(lambda x: lib.dot(x, x))
    with pytest.raises(TypeError, match=r"(?s)must be Tensor.*While executing %dot .*None"):
        lib.fx.Interpreter(module).run(5)
    interpreter = lib.fx.Interpreter(module)
    interpreter.extra_traceback = False
    with pytest.raises(TypeError, match=r"must be Tensor, not int$"):
        interpreter.run(5)


def test_new_operations_keep_notes(lib: ModuleType) -> None:
    traceback = part(lib, "traceback")
    tracer = lib.fx.Tracer()
    with traceback.preserve_node_meta(), traceback.annotate({"a": 1}):
        traceback.set_stack_trace(["here"])
        assert traceback.format_stack() == ["here"] and traceback.has_preserved_node_meta()
        with traceback.annotate({"b": 2}):
            graph = tracer.trace(traceback.annotate_fn({"c": 3})(lambda x: lib.relu(x)))
    (node,) = graph.find_nodes(op="call_function", target=lib.relu)
    assert node.meta["custom"] == {"a": 1, "b": 2, "c": 3} and node.stack_trace == "here"
    assert not traceback.has_preserved_node_meta() and not traceback.get_current_meta()
    seen = []

    class Run(lib.fx.Interpreter):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            seen.append(dict(traceback.get_current_meta()))
            return super().call_function(target, args, kwargs)

    module = lib.fx.GraphModule({}, graph)
    Run(module).run(lib.ones(1))
    with traceback.preserve_node_meta():
        Run(module).run(lib.ones(1))
    assert seen[0] == {} and seen[1]["custom"] == node.meta["custom"]
    made = lib.fx.Transformer(module).transform().graph
    (again,) = made.find_nodes(op="call_function", target=lib.relu)
    assert again.meta["custom"] == node.meta["custom"]


def test_only_modules_have_lines(lib: ModuleType) -> None:
    tracer = lib.fx.Tracer()
    tracer.record_stack_traces = True
    assert not any(node.stack_trace for node in tracer.trace(lambda x: x + 1).nodes)


@pytest.mark.parametrize("name", ["relu_", "sigmoid_", "abs_"])
def test_functions_in_place_are_functions(lib: ModuleType, name: str) -> None:
    graph = lib.fx.symbolic_trace(lambda x, y: (getattr(lib, name)(x), y.add_(1))).graph
    assert [node.op for node in graph.nodes][2:4] == ["call_function", "call_method"]
    assert f"{lib.__name__}.{name}(x)" in graph.python_code("self").src


def test_a_module_is_called_where_it_is(lib: ModuleType) -> None:
    module = lib.fx.symbolic_trace(lib.nn.Sequential(lib.nn.ReLU()))
    with module.graph.inserting_before(module.graph.output_node()):
        with raises(lib, AttributeError, "has no attribute `nowhere`"):
            module.graph.call_module("nowhere")
        assert module.graph.get_attr("0").name == "_0_1"
    with raises(lib, NotImplementedError, "at the top level of a module"):
        lib.fx.wrap("anything")


def test_what_is_no_parameter(lib: ModuleType) -> None:
    module = model(lib)
    with pytest.raises(AttributeError, match="is not an nn.Parameter"):
        module.get_parameter("b")
    with pytest.raises(AttributeError, match="is not a buffer"):
        module.get_buffer("w")
