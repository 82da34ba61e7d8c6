"""Calls as programs and overrides see them: with every parameter, where torch defines the function
in Python, otherwise as they are given."""

from __future__ import annotations

import inspect
from types import FunctionType, ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises

# Programs, and the first line that is printed of each.
PRINTED = {
    "lambda x: F.relu(x)": "F.relu(x, inplace = False)",
    "lambda x: F.relu(x, True)": "F.relu(x, inplace = True)",
    "lambda x: F.dropout(input=x)": "F.dropout(x, p = 0.5, training = True, inplace = False)",
    "lambda x: F.softmax(x, -1)": "F.softmax(x, dim = -1, _stacklevel = 3, dtype = None)",
    "lambda x: F.max_pool2d(x, 2)": (
        "F.max_pool2d(x, 2, stride = None, padding = 0, dilation = 1, ceil_mode = False, "
        "return_indices = False)"
    ),
    "lambda x: T.max_pool2d(x, 2)": "T.max_pool2d(x, 2)",
    "lambda x: F.cross_entropy(target=x, input=x, reduction='sum')": (
        "F.cross_entropy(x, x, weight = None, size_average = None, ignore_index = -100, "
        "reduce = None, reduction = 'sum', label_smoothing = 0.0)"
    ),
    "lambda x: F.upsample_nearest(x, scale_factor=2)": (
        "F.interpolate(x, size = None, scale_factor = 2, mode = 'nearest', align_corners = None, "
        "recompute_scale_factor = None, antialias = False)"
    ),
    "lambda x: F.sigmoid(x)": "x.sigmoid()",
    "lambda x: F.conv2d(x, x)": "T.conv2d(x, x)",
    "lambda x: T.relu(x)": "T.relu(x)",
    "lambda x: T.chunk(x, 2)": "T.chunk(x, 2)",
    "lambda x: T.add(other=1, input=x)": "T.add(other = 1, input = x)",
    "lambda x: T.complex(x, x)": "T.complex(x, x)",
    "lambda x: x.split(2)": "x.split(2)",
}
# The same, which torch prints under another name, `torch.functional.norm`.
CALLED = {
    "T.norm(x)": ((), dict(p="fro", dim=None, keepdim=False, out=None, dtype=None)),
    "T.norm(x, 2, out=x)": ((), dict(p=2, dim=None, keepdim=False, out="x", dtype=None)),
    "T.split(x, 2)": ((2,), dict(dim=0)),
    "T.split(split_size_or_sections=[1, 2], tensor=x)": (([1, 2],), dict(dim=0)),
    "T.tensordot(x, 2)": ((2,), dict(dims=2, out=None)),
    "T.meshgrid(x, 2)": ((2,), dict(indexing=None)),
    "T.unravel_index(x, (2, 3))": ((), dict(shape=(2, 3))),
    "T.lu(x)": ((), dict(pivot=True, get_infos=False, out=None)),
    "T.istft(x, 4)": ((4,), {}),
    "T.cdist(x, 2, compute_mode='use_mm_for_euclid_dist')": (
        (2,), dict(p=2.0, compute_mode="use_mm_for_euclid_dist"),
    ),
    "T.lobpcg(x)": ((), dict.fromkeys(
        "k B X n iK niter tol largest method tracker ortho_iparams ortho_fparams "
        "ortho_bparams".split()
    )),
    "T.atleast_1d(x)": ((), {}),
}  # fmt: skip
# The same for a tensor of a subclass, whose methods are called.
METHODS = {
    "x.split(2)": ((2,), dict(dim=0)),
    "x.norm()": ((), dict(p="fro", dim=None, keepdim=False, dtype=None)),
    "x.unique(False)": (
        (), dict(sorted=False, return_inverse=False, return_counts=False, dim=None),
    ),
    "x.lu()": ((), dict(pivot=True, get_infos=False)),
    "x.istft(4)": ((4,), dict(
        hop_length=None, win_length=None, window=None, center=True, normalized=False,
        onesided=None, length=None, return_complex=False,
    )),
    "x.softmax(-1)": ((-1,), {}),
}  # fmt: skip
# What differs, by design: torch forgets `weight` here, and tells names in another order there; the
# name of a function below another; one that torch's own library lacks.
OTHERWISE = {"l1_loss", "multi_head_attention_forward", "threshold", "grouped_mm"}


@pytest.mark.parametrize("program", PRINTED)
def test_a_program_prints_every_parameter(lib: ModuleType, program: str) -> None:
    with pytest.warns(UserWarning) if "upsample" in program else _nothing():
        traced = lib.fx.symbolic_trace(eval(program, {"T": lib, "F": lib.nn.functional}))
    line = traced.code.strip().splitlines()[1].partition(" = ")[2].partition(";")[0]
    expected = PRINTED[program].replace("F.", "T.nn.functional.").replace("T.", lib.__name__ + ".")
    assert line == expected


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def heard(lib: ModuleType) -> tuple[Any, list]:
    """A class that answers for functions, and what it has heard."""
    calls: list = []

    class Listener(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore
            calls.append((func.__name__, [each.__name__ for each in types], args, kwargs or {}))

    return Listener, calls


@pytest.mark.parametrize("expression", [*CALLED, *METHODS])
def test_overrides_are_told_every_parameter(lib: ModuleType, expression: str) -> None:
    Listener, calls = heard(lib)
    x = Listener([1.0])
    eval(expression, {"T": lib, "x": x})
    args, kwargs = (CALLED | METHODS)[expression]
    (_, kinds, got, named), *more = calls
    assert not more and kinds == ["Listener"] and got[0] is x and got[1:] == args
    assert {name: "x" if value is x else value for name, value in named.items()} == kwargs
    assert [*named] == [*kwargs]


def test_a_mode_is_told_every_parameter(lib: ModuleType) -> None:
    calls = []

    class Mode(lib.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore
            calls.append((func.__name__, [each.__name__ for each in types], len(args), kwargs))
            return func(*args, **(kwargs or {}))

    x = lib.ones(2)
    with Mode():
        lib.nn.functional.mse_loss(x, target=lib.nn.Parameter(x))
        lib.nn.functional.relu(x)
    assert ("relu", ["Tensor"], 1, {"inplace": False}) in calls
    names = dict(size_average=None, reduce=None, reduction="mean", weight=None)
    assert ("mse_loss", ["Tensor"], 2, names) in calls


def test_plain_tensors_are_among_the_types(lib: ModuleType) -> None:
    Listener, calls = heard(lib)
    lib.nn.functional.mse_loss(lib.ones(1), Listener([1.0]))
    lib.add(lib.ones(1), Listener([1.0]))
    assert [kinds for _, kinds, *_ in calls] == [["Listener", "Tensor"], ["Listener"]]


def test_relu_is_one_pattern(lib: ModuleType) -> None:
    F = lib.nn.functional
    traced = lib.fx.symbolic_trace(lambda x: F.relu(F.relu(x), False) + F.relu(x, inplace=False))
    found = lib.fx.replace_pattern(traced, lambda x: F.relu(x), lambda x: x.tanh())
    assert len(found) == 3
    assert traced(lib.zeros(1)).item() == 0


def test_a_wrong_call_is_no_operation(lib: ModuleType) -> None:
    with raises(lib, TypeError, r"relu\(\) missing a required argument: 'input'"):
        lib.fx.symbolic_trace(lambda x: lib.nn.functional.relu(inplace=x))
    with raises(lib, TypeError, r"relu\(\) got an unexpected keyword argument 'other'"):
        lib.fx.symbolic_trace(lambda x: lib.nn.functional.relu(x, other=1))


def recorded(T: ModuleType, name: str, by_name: dict[str, Any], *values: Any) -> Any:
    """The operation of a function of ``nn.functional``: its name and arguments, as text."""
    graph = T.fx.Graph()
    tracer = T.fx.proxy.GraphAppendingTracer(graph)

    def stand_in(value: Any) -> Any:
        return T.fx.Proxy(graph.placeholder(value[1:]), tracer) if str(value)[:1] == "$" else value

    options = {key: stand_in(value) for key, value in by_name.items()}
    getattr(T.nn.functional, name)(*map(stand_in, values), **options)
    return [(n.op, n.name, str(n.args), str(n.kwargs)) for n in graph.nodes]


def test_functions_record_what_they_record_in_torch(torch: ModuleType) -> None:
    import torch.fx  # pyright: ignore[reportMissingImports]

    F, count = torch.nn.functional, 0
    for name in sorted({*dir(F)} & {*dir(nnkit.nn.functional)} - OTHERWISE):
        function = getattr(F, name)
        if not isinstance(function, FunctionType) or name[0] == "_" or "upsample" in name:
            continue
        parameters = inspect.signature(getattr(nnkit.nn.functional, name)).parameters.values()
        needed = ["$" + each.name for each in parameters if each.default is each.empty]
        options = {
            p.name: p.default for p in parameters
            if p.default is not p.empty and p.name != "return_indices"
        }  # fmt: skip
        last = dict([*options.items()][-1:])
        for values, by_name in (
            (needed, {}),
            ([], {each[1:]: each for each in reversed(needed)}),
            (needed, last),
            (needed[:1], {each[1:]: each for each in needed[1:]} | options),
        ):
            ours, theirs = (recorded(T, name, by_name, *values) for T in (nnkit, torch))
            assert ours == theirs
            count += 1
    assert count > 300
