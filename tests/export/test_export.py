"""An exported program computes what the module does: at other sizes, and after a file."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nnkit
from nnkit import Tensor, nn
from nnkit.export import Dim, export
from nnkit.utils._pytree import tree_leaves
from tests.compiler.test_programs import bits
from tests.export.modules import CASES

NAMES = list(CASES)


def built(name: str, framework: Any = nnkit) -> Any:
    framework.manual_seed(0)
    return CASES[name](framework)


def ran(module: Any, args: tuple, kwargs: dict) -> list:
    """Results, gradients and buffers of a call, and the random numbers that come next."""
    nnkit.manual_seed(1)
    module.zero_grad()
    args = tuple([a.clone().requires_grad_() if is_float(a) else a for a in args])
    found = module(*args, **kwargs)
    differentiable = [t for t in tree_leaves(found) if isinstance(t, Tensor) and t.requires_grad]
    if differentiable:
        nnkit.stack([t.square().sum() for t in differentiable]).sum().backward()
    gradients = {name: p.grad for name, p in module.named_parameters()}
    inputs = [a.grad for a in args if is_float(a)]
    buffers = {name: b.tolist() for name, b in module.named_buffers()}
    return [bits(v) for v in (found, gradients, inputs, buffers, nnkit.rand(2))]


def is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


@pytest.mark.parametrize("name", NAMES)
def test_a_program_is_its_module(name: str) -> None:
    module, args, others, shapes, kwargs = built(name)
    before = bits(nnkit.get_rng_state()), bits(module.state_dict())
    program = export(module, args, kwargs, dynamic_shapes=shapes)
    assert before == (bits(nnkit.get_rng_state()), bits(module.state_dict()))
    loaded = through_a_file(program)
    assert str(loaded) == str(program)
    for given in (args, others):
        expected = ran(copy.deepcopy(module), given, kwargs)
        for each in (copy.deepcopy(program), through_a_file(program)):
            assert ran(each.module(), given, kwargs) == expected


def through_a_file(program: Any) -> Any:
    file = io.BytesIO()
    nnkit.export.save(program, file)
    file.seek(0)
    return nnkit.export.load(file)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["cnn_in_training", "language_model_with_shared_weights", "buffers_that_are_written"]
)
def test_the_signature_is_pytorch_s(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (export_of(framework, built(name, framework)) for framework in (nnkit, torch))
    for attribute in ("parameters", "buffers", "non_persistent_buffers"):
        found = [getattr(p.graph_signature, attribute) for p in (ours, theirs)]
        assert found[0] == found[1], attribute
    kinds = [[s.kind.name for s in p.graph_signature.input_specs] for p in (ours, theirs)]
    assert sorted(kinds[0]) == sorted(kinds[1])
    assert list(ours.state_dict) == list(theirs.state_dict)
    assert set(ours.constants) == set(theirs.constants)


def test_the_arguments_of_a_signature(lib: Any) -> None:
    class Scaled(lib.nn.Module):
        def forward(self, x: Any, n: int, word: str) -> Any:
            return x * n, n, word

    program = lib.export.export(Scaled(), (lib.ones(2), 3, "a"))
    for each in [program, through_a_file(program)] if lib is nnkit else [program]:
        signature = each.graph_signature
        args = [spec.arg for spec in signature.input_specs]
        assert [(type(arg).__name__, arg.name) for arg in args] == [
            ("TensorArgument", "x"), ("ConstantArgument", "n"), ("ConstantArgument", "word"),
        ]  # fmt: skip
        assert [arg.value for arg in args[1:]] == [3, "a"]
        assert signature.user_inputs == ("x", 3, "a")
        assert signature.user_outputs[1:] == (3, "a")
        assert [spec.arg.name for spec in signature.output_specs] == ["mul", "", ""]


def export_of(framework: Any, case: Any) -> Any:
    return framework.export.export(case.module, case.args, case.kwargs, dynamic_shapes=case.shapes)


class Branch(nn.Module):
    """A module whose branch depends on a size."""

    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if x.shape[0] > 3 else x


def test_a_branch_is_a_condition_of_the_program() -> None:
    program = export(Branch(), (nnkit.ones(5, 2),), dynamic_shapes=({0: Dim("b")},))
    assert program.module()(nnkit.ones(9, 2)).sum() == 36
    with pytest.raises(AssertionError, match="Guard failed: 2 > 3"):
        program.module()(nnkit.ones(2, 2))


def test_a_module_knows_that_it_is_exported() -> None:
    class Knows(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2 if nnkit.compiler.is_exporting() and nnkit.compiler.is_compiling() else x

    assert export(Knows(), (nnkit.ones(1),)).module()(nnkit.ones(1)) == 2
    assert Knows()(nnkit.ones(1)) == 1


def test_state_is_shared() -> None:
    model = nn.Linear(2, 2)
    module = export(model, (nnkit.ones(1, 2),)).module()
    with nnkit.no_grad():
        model.weight.fill_(1)
        model.bias.fill_(0)
    assert module(nnkit.ones(1, 2)).tolist() == [[2, 2]]


def test_a_program_is_compiled_and_traced_again() -> None:
    program = export(Branch(), (nnkit.ones(5, 2),), dynamic_shapes=({0: Dim("b")},))
    module = program.module()
    compiled = nnkit.compile(module)
    for rows in (5, 7, 5, 7, 5):
        assert compiled(nnkit.ones(rows, 2)).sum() == rows * 4
    again = export(module, (nnkit.ones(5, 2),), dynamic_shapes=({0: Dim("b")},))
    assert again.module()(nnkit.ones(8, 2)).sum() == 32


def test_the_module_s_code_may_be_absent(tmp_path: Path) -> None:
    module, args, others, shapes, kwargs = built("attention_with_a_mask")
    module.eval()
    path = tmp_path / "model.pt2"
    nnkit.export.save(export(module, args, kwargs, dynamic_shapes=shapes), path)
    nnkit.save({"x": others[0], "y": module(*others)}, tmp_path / "expected.safetensors")
    code = (
        "import nnkit, sys\n"
        "state = nnkit.load(sys.argv[2])\n"
        "y = nnkit.export.load(sys.argv[1]).module()(state['x'])\n"
        "assert nnkit.equal(y, state['y'])\n"
    )
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "expected.safetensors")]
    subprocess.run(command, check=True, cwd=Path(nnkit.__file__).parents[1])


class Fails(nn.Module):
    """A module that does what no program can do; or takes any arguments."""

    def __init__(self, how: str = "") -> None:
        super().__init__()
        self.how = how
        self.weight = nn.Parameter(nnkit.ones(2))

    def forward(self, x: Any, n: Any = 1) -> Any:
        return {
            "": lambda: x * 1,
            "item": lambda: x * x.sum().item(),
            "float": lambda: x * float(x.sum()),
            "bool": lambda: x if x.sum() > 0 else -x,
            "of a parameter": lambda: x * self.weight.sum().item(),
            "numpy": lambda: x + nnkit.from_numpy(x.detach().numpy()),
            "tolist": lambda: nnkit.tensor(x.tolist()),
            "print": lambda: print(x),
            "equal": lambda: x if nnkit.equal(x, x) else -x,
            "made": lambda: x + nnkit.from_dlpack(self.weight.detach()),
            "object": lambda: object(),
            "generator": lambda: iter([x]),
        }[self.how]()


@pytest.mark.parametrize(
    "how",
    [
        *("item", "float", "bool", "of a parameter", "numpy", "tolist", "print", "equal", "made"),
        *("object", "generator"),
    ],
)
def test_what_no_program_can_do(how: str) -> None:
    with pytest.raises(RuntimeError, match="export: "):
        export(Fails(how), (nnkit.ones(3, 2),))


class Specialized(nn.Module):
    """A module that makes a size a number."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def forward(self, x: Tensor) -> Any:
        return {
            "loop": lambda: sum(x[i] for i in range(x.shape[0])),
            "rows": lambda: sum(row for row in x),
            "reshape": lambda: x.reshape(6, -1),
            "len": lambda: x * len(x),
            "int": lambda: x * int(x.shape[0]),
            "branch": lambda: x * 2 if x.shape[0] == 6 else x,
            "list": lambda: nnkit.ones(2) * [1, 2, 3, 4, 5, 6, 7, 8][x.shape[0]],
        }[self.how]()


@pytest.mark.parametrize("how", ["loop", "rows", "reshape", "len", "int", "branch", "list"])
def test_an_open_size_is_no_number(how: str) -> None:
    module = Specialized(how)
    export(module, (nnkit.ones(6, 2),))
    with pytest.raises(RuntimeError, match=r"Constraints violated \(b\)"):
        export(module, (nnkit.ones(6, 2),), dynamic_shapes=({0: Dim("b")},))


anything: Any = export
X = nnkit.ones(6, 2)
ERRORS: dict[str, tuple[type[BaseException], str, Any]] = {
    "no module": (ValueError, "Expected `mod`", lambda: anything(abs, (X,))),
    "args are no tuple": (RuntimeError, "`args` to be a tuple", lambda: anything(Fails(), X)),
    "an object": (RuntimeError, "must be a tensor", lambda: export(Fails(), (X, object()))),
    "another name": (RuntimeError, "arg names", lambda: shaped({"y": {0: Dim("b")}})),
    "another number": (RuntimeError, "mismatch", lambda: shaped(({}, {}))),
    "no shapes": (RuntimeError, "dict, tuple or list", lambda: shaped(3)),
    "another dimension": (IndexError, "no dimension 3", lambda: shaped(({3: Dim("b")},))),
    "no size": (ValueError, "must hold Dims", lambda: shaped(({0: "b"},))),
    "no sizes": (ValueError, "must be a dict", lambda: shaped((3,))),
    "too few sizes": (ValueError, "2 dimensions", lambda: shaped(((None,),))),
    "outside": (RuntimeError, "not in range", lambda: shaped(({0: Dim("b", min=7)},))),
    "another constant": (RuntimeError, "says 5", lambda: shaped(({0: 5},))),
    "no multiple": (RuntimeError, "is not 4", lambda: shaped(({0: 4 * Dim("b")},))),
    "two sizes of one name": (
        RuntimeError, "elsewhere", lambda: shaped(({0: Dim("b"), 1: Dim("b")},)),
    ),
    "two ranges of one name": (
        RuntimeError, "one name", lambda: shaped(({0: Dim("b"), 1: Dim("b", max=9)},)),
    ),
    "no tensor": (
        ValueError, "not a tensor",
        lambda: export(Fails(), (X, 3), dynamic_shapes=(None, {0: Dim("b")})),
    ),
    "other parts": (
        RuntimeError, "other parts",
        lambda: export(Fails(), (X, [X, X]), dynamic_shapes=(None, [None])),
    ),
    "no identifier": (AssertionError, "identifier", lambda: Dim("1b")),
    "an empty range": (AssertionError, "above", lambda: Dim("b", min=3, max=2)),
    "a negative multiple": (NotImplementedError, "multiples", lambda: -1 * Dim("b")),
    "called": (RuntimeError, "directly", lambda: exported()(X)),
    "train": (NotImplementedError, "train", lambda: exported().module().train()),
    "eval": (NotImplementedError, "eval", lambda: exported().module().eval()),
    "another size": (AssertionError, r"x.size\(\)\[1\] == 2", lambda: run(nnkit.ones(6, 3))),
    "another rank": (AssertionError, r"x.dim\(\) == 2", lambda: run(nnkit.ones(6))),
    "too large": (AssertionError, r"x.size\(\)\[0\] <= 9", lambda: run(nnkit.ones(10, 2))),
    "too small": (AssertionError, r"x.size\(\)\[0\] >= 4", lambda: run(nnkit.ones(3, 2))),
    "no tensor given": (AttributeError, "shape", lambda: run(3)),
    "another keyword": (ValueError, "keyword", lambda: run(X, y=3)),
    "too many": (ValueError, "tree spec", lambda: run(X, X)),
    "another number given": (
        AssertionError, "n == 3", lambda: export(Fails(), (X, 3)).module()(X, 4),
    ),
}  # fmt: skip


def shaped(shapes: Any) -> Any:
    return export(Branch(), (X,), dynamic_shapes=shapes)


def exported() -> Any:
    return export(Fails(), (X,), dynamic_shapes={"x": {0: Dim("b", min=4, max=9)}})


def run(*args: Any, **kwargs: Any) -> Any:
    return exported().module()(*args, **kwargs)


@pytest.mark.parametrize("name", ERRORS)
def test_an_error(name: str) -> None:
    error, words, call = ERRORS[name]
    with pytest.raises(error, match=words):
        call()
