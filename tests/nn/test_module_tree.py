"""Module: registration, lookup by path, traversal."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises
from tests.nn.models import layer, tree


def names(module: Any) -> tuple[list[str], list[str], list[str]]:
    return list(module._parameters), list(module._buffers), list(module._modules)


# Registration


def test_assignment_sorts(lib: ModuleType) -> None:
    module = layer(lib)
    module.number = 3
    module.plain = lib.ones(1)
    module.mean = lib.nn.Buffer(lib.ones(1))
    module.cache = lib.nn.Buffer(lib.ones(1), persistent=False)
    assert names(module) == (["p"], ["b", "mean", "cache"], ["m"])
    assert module._non_persistent_buffers_set == {"cache"}
    assert module.number == 3 and "number" in vars(module)
    assert "plain" in vars(module) and "p" not in vars(module)
    assert list(module.state_dict()) == ["p", "b", "mean"]


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("p", "parameter", (["p"], ["b"], ["m"])),
        ("p", "none", (["p"], ["b"], ["m"])),
        ("m", "parameter", (["p", "m"], ["b"], [])),
        ("m", "module", (["p"], ["b"], ["m"])),
        ("m", "none", (["p"], ["b"], ["m"])),
        ("b", "tensor", (["p"], ["b"], ["m"])),
        ("b", "none", (["p"], ["b"], ["m"])),
        ("b", "parameter", (["p", "b"], [], ["m"])),
        ("b", "module", (["p"], [], ["m", "b"])),
        ("b", "buffer", (["p"], ["b"], ["m"])),
        ("p", "module", TypeError),
        ("p", "tensor", TypeError),
        ("p", "buffer", TypeError),
        ("p", "number", TypeError),
        ("m", "tensor", TypeError),
        ("m", "buffer", TypeError),
        ("m", "number", TypeError),
        ("b", "number", TypeError),
    ],
)
def test_reassignment(lib: ModuleType, name: str, kind: str, expected: Any) -> None:
    values = {
        "parameter": lib.nn.Parameter(lib.ones(3)),
        "buffer": lib.nn.Buffer(lib.ones(3), persistent=False),
        "tensor": lib.ones(3),
        "module": lib.nn.Identity(),
        "number": 3,
        "none": None,
    }
    module = layer(lib)
    if expected is TypeError:
        with raises(lib, TypeError, rf"cannot assign a \w+ to [\w ]*'{name}'"):
            setattr(module, name, values[kind])
        return
    setattr(module, name, values[kind])
    assert names(module) == expected
    assert getattr(module, name) is values[kind]


def test_module_replaces_parameter_by_delete(lib: ModuleType) -> None:
    module = layer(lib)
    del module.p, module.b, module.m
    assert names(module) == ([], [], [])
    with raises(lib, AttributeError, "x"):
        del module.x
    module.x = 1
    del module.x
    assert not hasattr(module, "x")


def test_plain_attribute_becomes_registered(lib: ModuleType) -> None:
    module = lib.nn.Module()
    module.x = 3
    module.x = lib.nn.Parameter(lib.ones(1))
    assert "x" not in vars(module) and names(module) == (["x"], [], [])
    module = lib.nn.Module()
    module.x = 3
    with raises(lib, KeyError, "attribute 'x' already exists"):
        module.x = lib.nn.Buffer(lib.ones(1))
    module.x = lib.nn.Identity()
    assert "x" not in vars(module) and names(module) == ([], [], ["x"])


@pytest.mark.parametrize("method", ["register_parameter", "register_buffer", "add_module"])
@pytest.mark.parametrize(
    ("name", "value", "error", "match"),
    [
        ("x", 3, TypeError, "int"),
        (3, None, TypeError, "name should be a string. Got int"),
        ("a.b", None, KeyError, "t contain"),
        ("", None, KeyError, "t be empty string"),
        ("training", None, KeyError, "attribute 'training' already exists"),
        ("forward", None, KeyError, "attribute 'forward' already exists"),
    ],
)
def test_register_refuses(
    lib: ModuleType, method: str, name: Any, value: Any, error: Any, match: str
) -> None:
    with raises(lib, error, match):
        getattr(lib.nn.Module(), method)(name, value)


def test_register_parameter_refuses_tensors(lib: ModuleType) -> None:
    module = lib.nn.Module()
    with raises(lib, TypeError, "cannot assign '.*Tensor' object to parameter 'x'"):
        module.register_parameter("x", lib.ones(1))
    with raises(lib, TypeError, "Parameter or None required"):
        module.register_parameter("x", lib.nn.Parameter(lib.ones(1)) * 2)
    parameter = lib.nn.Parameter(lib.ones(2), requires_grad=False)
    parameter.mul_(lib.ones(2, requires_grad=True))
    with raises(lib, ValueError, "must be a leaf"):
        module.register_parameter("x", parameter)


def test_register_again_replaces(lib: ModuleType) -> None:
    module = layer(lib)
    module.register_parameter("p", None)
    module.register_buffer("b", None, persistent=False)
    module.add_module("m", None)
    assert module.p is None and module.b is None and module.m is None
    assert module._non_persistent_buffers_set == {"b"}
    module.register_module("m", lib.nn.Identity())
    assert repr(module.m) == "Identity()"


@pytest.mark.parametrize("kind", ["parameter", "buffer", "module"])
def test_assignment_before_init(lib: ModuleType, kind: str) -> None:
    def early(self: Any) -> None:
        values = {
            "parameter": lib.nn.Parameter(lib.ones(1)),
            "buffer": lib.nn.Buffer(lib.ones(1)),
            "module": lib.nn.Identity(),
        }
        self.x = values[kind]

    with raises(lib, AttributeError, r"before Module.__init__\(\) was called"):
        type("Early", (lib.nn.Module,), {"__init__": early})()


def test_reading_before_init(lib: ModuleType) -> None:
    blank = type("Blank", (lib.nn.Module,), {"__init__": lambda self: None})()
    with raises(lib, AttributeError, "'Blank' object has no attribute .x."):
        _ = blank.x
    blank.number = 3
    assert blank.number == 3


def test_init_arguments(lib: ModuleType) -> None:
    with raises(lib, TypeError, "takes no positional argument"):
        lib.nn.Module(1)
    with raises(lib, TypeError, "unexpected keyword argument 'a'"):
        lib.nn.Module(a=1)


def test_call_super_init(lib: ModuleType) -> None:
    class Base:
        def __init__(self, size: int, *, name: str) -> None:
            self.size, self.name = size, name

    class Both(lib.nn.Module, Base):
        call_super_init = True

    both = Both(3, name="x")
    assert (both.size, both.name, both.training) == (3, "x", True)


def test_unknown_attribute(lib: ModuleType) -> None:
    with raises(lib, AttributeError, "'Module' object has no attribute .x."):
        _ = lib.nn.Module().x


def test_a_class_has_nothing_of_what_its_instances_registered(lib: ModuleType) -> None:
    net = type("Net", (lib.nn.Module,), {})
    first, second, third = net(), net(), net()
    first.x = lib.nn.Parameter(lib.ones(1))
    second.x = lib.nn.Identity()
    assert first.x is first.x and second.x is second.x
    assert not hasattr(net, "x") and not hasattr(third, "x")
    assert "x" in dir(first) and "x" not in dir(third)
    with raises(lib, AttributeError, "'Net' object has no attribute .x."):
        _ = third.x
    third.x = 3
    assert third.x == 3
    del first.x
    assert not hasattr(first, "x")
    first.x = 4
    assert first.x == 4


def test_what_a_class_gets_later_comes_first(lib: ModuleType) -> None:
    base = type("Base", (lib.nn.Module,), {})
    net = type("Net", (base,), {"y": property(lambda self: self.x)})
    module = net()
    module.x = lib.nn.Parameter(lib.ones(1))
    assert module.y is module.x
    module.__class__ = type("Changed", (net,), {"x": property(lambda self: "changed")})
    assert module.x == "changed"
    net.x = property(lambda self: "of the class")
    other = net()
    other._parameters["x"] = lib.nn.Parameter(lib.ones(1))
    assert other.x == "of the class"


def test_dir(lib: ModuleType) -> None:
    listed = dir(lib.nn.Sequential(layer(lib)))
    assert "0" not in listed and "forward" in listed
    assert {"p", "b", "m", "training"} <= set(dir(layer(lib)))


# Lookup by path


def test_what_passes_by_the_registries(framework: ModuleType) -> None:
    """Programs reach the attributes of plain objects from a module by the class above Module."""
    nn = framework.nn

    class Plain(nn.Module):
        def __setattr__(self, name: str, value: Any) -> None:
            if name == "act":
                super(nn.Module, self).__setattr__(name, value)
            else:
                super().__setattr__(name, value)

    module = Plain()
    module.act, module.layer = nn.ReLU(), nn.Linear(1, 1)
    assert [name for name, _ in module.named_children()] == ["layer"]
    assert isinstance(module.act, nn.ReLU) and "act" in vars(module)
    above: Any = super(nn.Module, module)
    assert not hasattr(above, "__getattr__") and "layer" not in above.__dir__()
    with pytest.raises(AttributeError):
        above.__delattr__("layer")
    above.__delattr__("act")
    assert not hasattr(module, "act")


def test_get_by_path(lib: ModuleType) -> None:
    model = lib.nn.Sequential(layer(lib))
    assert model.get_submodule("") is model
    assert model.get_submodule("0.m") is model[0].m
    assert model.get_parameter("0.p") is model[0].p
    assert model.get_buffer("0.b") is model[0].b


@pytest.mark.parametrize(
    ("method", "target", "match"),
    [
        ("get_submodule", "0.x", "has no attribute .x."),
        ("get_submodule", "0.p", "no Module"),
        ("get_submodule", "x.y", "has no attribute .x."),
        ("get_parameter", "0.x", "has no attribute .x."),
        ("get_parameter", "0.b", "not an nn.Parameter"),
        ("get_parameter", "x.y", "has no attribute .x."),
        ("get_buffer", "0.x", "has no attribute .x."),
        ("get_buffer", "0.p", "not a buffer"),
    ],
)
def test_get_by_wrong_path(lib: ModuleType, method: str, target: str, match: str) -> None:
    with raises(lib, AttributeError, match):
        getattr(lib.nn.Sequential(layer(lib)), method)(target)


def test_set_submodule(lib: ModuleType) -> None:
    model = lib.nn.Sequential(layer(lib))
    new = lib.nn.Identity()
    model.set_submodule("0.m", new)
    assert model[0].m is new
    model.set_submodule("0.extra", new)
    assert model[0].extra is new
    model.set_submodule("0.m", lib.nn.Flatten(), strict=True)
    assert model[0].m is not new
    with raises(lib, AttributeError, "no attribute .y."):
        model.set_submodule("0.y", new, strict=True)
    with raises(lib, AttributeError, "no Module"):
        model.set_submodule("0.p", new)
    with raises(lib, AttributeError, "no attribute .x."):
        model.set_submodule("x.y", new)
    with raises(lib, ValueError, "must not be empty"):
        model.set_submodule("", new)
    with raises(lib, ValueError, "must be a Module, got int"):
        model.set_submodule("0.m", 3)


# Traversal


def test_named_modules(lib: ModuleType) -> None:
    model = tree(lib)
    assert [name for name, _ in model.named_modules()] == ["", "0", "1", "1.0"]
    every = [name for name, _ in model.named_modules(remove_duplicate=False)]
    assert every == ["", "0", "1", "1.0", "1.1"]
    assert [name for name, _ in model.named_modules(prefix="net")] == [
        "net",
        "net.0",
        "net.1",
        "net.1.0",
    ]
    assert [name for name, _ in model.named_modules(memo={model[0]})] == ["", "1", "1.0"]
    assert len(list(model.modules())) == 4
    assert len(list(model.modules(remove_duplicate=False))) == 5
    assert [name for name, _ in model.named_children()] == ["0", "1"]
    assert list(model.children()) == [model[0], model[1]]
    assert list(lib.nn.Sequential(model[0], model[0]).children()) == [model[0]]


def test_named_parameters(lib: ModuleType) -> None:
    model = tree(lib)
    first = ["0.weight", "0.bias", "1.0.weight", "1.0.bias"]
    assert [name for name, _ in model.named_parameters()] == first
    every = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    assert every == [*first, "1.1.weight", "1.1.bias"]
    assert [name for name, _ in model.named_parameters(recurse=False)] == []
    assert [name for name, _ in model[0].named_parameters("x")] == ["x.weight", "x.bias"]
    assert [p.shape for p in model.parameters()] == [(2, 2), (2,)] * 2
    assert list(model.parameters(recurse=False)) == []


def test_named_buffers(lib: ModuleType) -> None:
    model = lib.nn.Sequential(layer(lib), layer(lib))
    model[1].b = model[0].b
    assert [name for name, _ in model.named_buffers()] == ["0.b"]
    assert [name for name, _ in model.named_buffers(remove_duplicate=False)] == ["0.b", "1.b"]
    assert list(model.buffers()) == [model[0].b]
    assert list(model.buffers(recurse=False)) == []


def test_apply_visits_children_first(lib: ModuleType) -> None:
    model = tree(lib)
    seen: list[Any] = []
    assert model.apply(seen.append) is model
    assert seen == [model[0], model[1][0], model[0], model[1], model]
    with raises(lib, TypeError, "not callable"):
        model.apply(3)


def test_apply_counts_writes_in_place(lib: ModuleType) -> None:
    module = lib.nn.Linear(2, 2)
    module.weight.grad = lib.ones(2, 2)
    before = module.weight._version, module.weight.grad._version
    module._apply(lambda t: t.add_(1.0))
    assert (module.weight._version, module.weight.grad._version) == (before[0] + 1, before[1] + 1)


def test_a_subclass_may_register_buffers_without_asking_for_more(lib: ModuleType) -> None:
    class Net(lib.nn.Module):
        def register_buffer(self, name: str, tensor: Any) -> None:
            super().register_buffer(name, tensor, True)

    net = Net()
    net.kept = lib.nn.Buffer(lib.ones(1))
    assert list(net.state_dict()) == ["kept"]
    with pytest.raises(RuntimeError):
        net.lost = lib.nn.Buffer(lib.ones(1), persistent=False)


def test_a_buffer_may_be_like_a_tensor(lib: ModuleType) -> None:
    class Like:
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None):
            raise NotImplementedError

    net, first, second = lib.nn.Module(), Like(), Like()
    net.register_buffer("kept", first)
    assert net.kept is first
    net.kept = second
    assert net.get_buffer("kept") is second
    with pytest.raises(TypeError):
        net.kept = 1


def test_a_look_up_of_its_own(framework: ModuleType) -> None:
    """A class's own `__getattr__` is asked every time, also after its base class was read."""
    nn = framework.nn
    plain = nn.Linear(2, 2)
    _ = plain.weight, plain.weight
    asked = []

    class Watched(nn.Linear):
        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            return super().__getattr__(name)

    watched = Watched(2, 2)
    asked.clear()
    for _ in range(3):
        _ = watched.weight, plain.weight
    assert asked == ["weight"] * 3
    assert [plain.weight is plain._parameters["weight"] for _ in range(2)] == [True, True]
