"""state_dict and load_state_dict."""

from __future__ import annotations

import copy
import gc
import warnings
from collections import OrderedDict
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises


def model(lib: ModuleType) -> Any:
    made = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.Sequential(lib.nn.Linear(3, 1)))
    made[1].register_buffer("count", lib.zeros(()))
    made[1].register_buffer("scratch", lib.zeros(1), persistent=False)
    return made


KEYS = ["0.weight", "0.bias", "1.count", "1.0.weight", "1.0.bias"]


def values(module: Any) -> dict[str, Any]:
    return {key: tensor.tolist() for key, tensor in module.state_dict().items()}


# Saving


def test_keys_and_sharing(lib: ModuleType) -> None:
    net = model(lib)
    state = net.state_dict()
    assert list(state) == KEYS and type(state) is OrderedDict
    assert not state["0.weight"].requires_grad
    assert state["0.weight"].data_ptr() == net[0].weight.data_ptr()
    assert net.state_dict(keep_vars=True)["0.weight"] is net[0].weight


def test_metadata(lib: ModuleType) -> None:
    class Versioned(lib.nn.Module):
        _version = 7

    state = lib.nn.Sequential(Versioned()).state_dict()
    assert dict(state._metadata) == {"": {"version": 1}, "0": {"version": 7}}


def test_destination_and_prefix(lib: ModuleType) -> None:
    destination: dict[str, Any] = {"other": 1}
    result = lib.nn.Linear(1, 1).state_dict(destination=destination, prefix="x.")
    assert result is destination and list(destination) == ["other", "x.weight", "x.bias"]


def test_positional_arguments_are_deprecated(lib: ModuleType) -> None:
    destination: dict[str, Any] = {}
    with pytest.warns(FutureWarning, match="[Pp]ositional"):
        lib.nn.Linear(1, 1).state_dict(destination, "x.", True)
    assert list(destination) == ["x.weight", "x.bias"]


def test_none_is_left_out(lib: ModuleType) -> None:
    net = lib.nn.Linear(1, 1, bias=False)
    net.register_buffer("b", None)
    assert list(net.state_dict()) == ["weight"]


# Loading


@pytest.mark.parametrize("assign", [False, True])
def test_round_trip(lib: ModuleType, assign: bool) -> None:
    source, target = model(lib), model(lib)
    source[1].count += 3
    result = target.load_state_dict(source.state_dict(), assign=assign)
    assert result.missing_keys == [] and result.unexpected_keys == []
    assert repr(result) == str(result) == "<All keys matched successfully>"
    assert values(target) == values(source)
    assert isinstance(target[0].weight, lib.nn.Parameter) and target[0].weight.requires_grad
    shared = target[0].weight.data_ptr() == source[0].weight.data_ptr()
    assert shared is assign


def test_copy_casts(lib: ModuleType) -> None:
    net = lib.nn.Linear(1, 1)
    before = net.weight
    net.load_state_dict({"weight": lib.ones(1, 1, dtype=lib.float64), "bias": lib.ones(1)})
    assert net.weight is before and before.dtype == lib.float32 and before.item() == 1.0


def test_assign_keeps_dtype_and_requires_grad(lib: ModuleType) -> None:
    net = lib.nn.Linear(1, 1).requires_grad_(False)
    given = lib.nn.Parameter(lib.ones(1, 1, dtype=lib.float64))
    net.load_state_dict({"weight": given, "bias": lib.ones(1)}, assign=True)
    assert net.weight is given and given.dtype == lib.float64
    assert not net.weight.requires_grad and not net.bias.requires_grad


def test_scalar_from_one_element(lib: ModuleType) -> None:
    net = lib.nn.Module()
    net.scale = lib.nn.Parameter(lib.zeros(()))
    net.load_state_dict({"scale": lib.ones(1)})
    assert net.scale.shape == () and net.scale.item() == 1.0
    with raises(lib, RuntimeError, "size mismatch for scale"):
        net.load_state_dict({"scale": lib.ones(2)})


def test_not_strict(lib: ModuleType) -> None:
    net = model(lib)
    result = net.load_state_dict(
        {"0.bias": lib.ones(3), "0.other": lib.ones(1), "7.x": lib.ones(1), "y": 3}, strict=False
    )
    assert result.missing_keys == ["0.weight", "1.count", "1.0.weight", "1.0.bias"]
    assert sorted(result.unexpected_keys) == ["0.other", "7.x", "y"]
    assert net[0].bias.tolist() == [1.0, 1.0, 1.0]
    missing, unexpected = result
    assert repr(result) == (
        f"_IncompatibleKeys(missing_keys={missing}, unexpected_keys={unexpected})"
    )


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"0.bias": None}, r'Missing key\(s\) in state_dict: "0.bias"'),
        ({"z": 1}, r'Unexpected key\(s\) in state_dict: "z"'),
        ({"0.bias": "wide"}, r"size mismatch for 0.bias: .*\[7\].*\[3\]"),
        ({"0.bias": 3}, "Tensor-like object from checkpoint but received <class 'int'>"),
        (
            {"0.bias": None, "0.bais": 1},
            r'Missing .*"0.bias" \(closest unexp.*\n\tUnexpected .*"0.bais" \(closest missing',
        ),
    ],
)
@pytest.mark.parametrize("assign", [False, True])
def test_error_report(lib: ModuleType, change: dict[str, Any], match: str, assign: bool) -> None:
    net = model(lib)
    state = {key: tensor + 1 for key, tensor in net.state_dict().items()}
    for key, value in change.items():
        if value is None:
            del state[key]
        else:
            state[key] = lib.ones(7) if value == "wide" else value
    before = values(net)
    with raises(lib, RuntimeError, "(?s)loading state_dict for Sequential.*" + match):
        net.load_state_dict(state, assign=assign)
    if lib is nnkit:
        assert values(net) == before, "a load that fails leaves the module as it was"


def test_shape_error_is_one_without_strict_as_well(lib: ModuleType) -> None:
    with raises(lib, RuntimeError, "size mismatch for weight"):
        lib.nn.Linear(1, 1).load_state_dict({"weight": lib.ones(2, 2)}, strict=False)


def test_report_of_many_keys_is_quick() -> None:
    net = nnkit.nn.Module()
    for position in range(1500):
        net.register_buffer(f"buffer{position}", nnkit.zeros(1))
    state = {f"bufer{position}": nnkit.zeros(1) for position in range(1500)}
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    message = str(caught.value)
    assert '"bufer7" (closest missing key: "buffer7")' in message and '"bufer1499"' in message


def test_state_must_be_a_mapping(lib: ModuleType) -> None:
    with raises(lib, TypeError, "Expected state_dict to be dict-like, got"):
        model(lib).load_state_dict([])


# Extra state


def extra(lib: ModuleType) -> Any:
    class Extra(lib.nn.Module):
        note = "new"

        def get_extra_state(self) -> Any:
            return {"note": self.note}

        def set_extra_state(self, state: Any) -> None:
            self.note = state["note"]

    return lib.nn.Sequential(Extra())


def test_extra_state(lib: ModuleType) -> None:
    source, target = extra(lib), extra(lib)
    source[0].note = "old"
    state = source.state_dict()
    assert list(state) == ["0._extra_state"]
    target.load_state_dict(state)
    assert target[0].note == "old"
    with raises(lib, RuntimeError, "Missing .*0._extra_state"):
        target.load_state_dict({})
    with raises(lib, RuntimeError, "Unexpected .*_extra_state"):
        lib.nn.Identity().load_state_dict({"_extra_state": 1})


def test_extra_state_is_set_back() -> None:
    target = extra(nnkit)
    with pytest.raises(RuntimeError, match="Unexpected"):
        target.load_state_dict({"0._extra_state": {"note": "old"}, "x": 1})
    assert target[0].note == "new"


def test_extra_state_may_be_a_module(lib: ModuleType) -> None:
    class Holder(lib.nn.Module):
        def __init__(self, held: Any) -> None:
            super().__init__()
            self.held = held

        def get_extra_state(self) -> Any:
            return self.held

        def set_extra_state(self, state: Any) -> None:
            self.held = state

    source, target = Holder(Holder(3)), Holder("nothing")
    target.load_state_dict(source.state_dict())
    assert target.held is source.held and target.held.held == 3


def test_extra_state_by_default(lib: ModuleType) -> None:
    with raises(lib, RuntimeError, "no get_extra_state of its own"):
        lib.nn.Module().get_extra_state()
    with raises(lib, RuntimeError, "no set_extra_state of its own"):
        lib.nn.Module().set_extra_state(1)


# Hooks


def test_state_dict_hooks(lib: ModuleType) -> None:
    net = lib.nn.Sequential(lib.nn.Linear(1, 1))
    seen: list[Any] = []
    before = net.register_state_dict_pre_hook(lambda *given: seen.append(given))

    def after(module: Any, state: Any, prefix: str, local_metadata: Any) -> None:
        seen.append((module, prefix, local_metadata))
        state["extra"] = 1

    handle = net.register_state_dict_post_hook(after)
    assert list(net.state_dict(prefix="p.")) == ["p.0.weight", "p.0.bias", "extra"]
    assert seen == [(net, "p.", False), (net, "p.", {"version": 1})]
    before.remove()
    handle.remove()
    assert "extra" not in net.state_dict() and len(seen) == 2
    net.register_state_dict_post_hook(lambda *given: 3)
    with raises(lib, RuntimeError, "must return None, got int"):
        net.state_dict()


def test_private_state_dict_hook_may_replace(lib: ModuleType) -> None:
    net = lib.nn.Linear(1, 1)
    net._register_state_dict_hook(lambda *given: {"other": 1})
    assert net.state_dict() == {"other": 1}


def test_hooks_are_kept_as_torch_keeps_them(lib: ModuleType) -> None:
    """Modules with a state of their own call what is registered."""
    net, seen = lib.nn.Linear(1, 1), []
    hooks = [lambda *given, k=k: seen.append((k, *given)) for k in range(5)]
    net._register_state_dict_hook(hooks[0])
    net.register_state_dict_post_hook(hooks[1])
    assert list(net._state_dict_hooks.values()) == hooks[:2]
    net.register_load_state_dict_pre_hook(hooks[2])
    net._register_load_state_dict_pre_hook(hooks[3])
    net._register_load_state_dict_pre_hook(hooks[4], with_module=True)
    for hook in net._load_state_dict_pre_hooks.values():
        hook({}, "p.")
    assert seen == [(2, net, {}, "p."), (3, {}, "p."), (4, net, {}, "p.")]
    again = copy.deepcopy(net)
    for hook in again._load_state_dict_pre_hooks.values():
        hook()
    assert seen[3:] == [(2, again), (3,), (4, again)]
    with raises(lib, RuntimeError, "previously registered"):
        net._register_state_dict_hook(hooks[1])


def test_load_pre_hook_renames(lib: ModuleType) -> None:
    net = model(lib)
    state = {key.replace("bias", "b"): tensor for key, tensor in net.state_dict().items()}

    def rename(module: Any, local: Any, prefix: str, *rest: Any) -> None:
        assert module is net[0] and prefix == "0." and len(rest) == 5
        local[prefix + "bias"] = local.pop(prefix + "b")

    net[0].register_load_state_dict_pre_hook(rename)
    inner = net[1][0]

    def rename_without_module(local: Any, prefix: str, *rest: Any) -> None:
        local[prefix + "bias"] = local.pop(prefix + "b")

    inner._register_load_state_dict_pre_hook(rename_without_module)
    assert repr(net.load_state_dict(state)) == "<All keys matched successfully>"
    assert "0.b" in state, "the given dictionary is not changed"


def test_load_post_hook(lib: ModuleType) -> None:
    net = model(lib)
    order: list[Any] = []
    net[0].register_load_state_dict_post_hook(lambda module, keys: order.append(module))

    def forgive(module: Any, keys: Any) -> None:
        order.append(module)
        assert module[0].weight.tolist() == [[9.0, 9.0]] * 3, "the values are loaded by then"
        keys.missing_keys.clear()

    handle = net.register_load_state_dict_post_hook(forgive)
    net.load_state_dict({"0.weight": lib.full((3, 2), 9.0)})
    assert order == [net[0], net]
    handle.remove()
    net[0].register_load_state_dict_post_hook(lambda module, keys: keys)
    with raises(lib, (AssertionError, RuntimeError), "must return None"):  # pyright: ignore
        net.load_state_dict(net.state_dict())


@pytest.mark.parametrize("assign", [False, True])
def test_what_a_post_hook_does_not_forgive_is_undone(assign: bool) -> None:
    net = model(nnkit)
    net.register_load_state_dict_post_hook(lambda module, keys: None)
    before, weight = values(net), net[0].weight
    with pytest.raises(RuntimeError, match="Missing"):
        net.load_state_dict({"0.weight": nnkit.full((3, 2), 9.0)}, assign=assign)
    assert values(net) == before and net[0].weight is weight


# Overrides of the protocol


def test_override_of_load_from_state_dict(lib: ModuleType) -> None:
    class Upgraded(lib.nn.Linear):
        _version = 2

        def _load_from_state_dict(
            self, state: Any, prefix: str, local_metadata: Any, *rest: Any
        ) -> None:
            if local_metadata.get("version", 1) < 2:
                state.setdefault(prefix + "bias", lib.zeros(1))
            super()._load_from_state_dict(state, prefix, local_metadata, *rest)

    net = lib.nn.Sequential(Upgraded(1, 1))
    net.load_state_dict({"0.weight": lib.ones(1, 1)})
    assert values(net) == {"0.weight": [[1.0]], "0.bias": [0.0]}


def test_load_from_state_dict_alone(lib: ModuleType) -> None:
    net = lib.nn.Linear(1, 1)
    lists: tuple[list[str], ...] = ([], [], [])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net._load_from_state_dict({"x.weight": lib.ones(1, 1), "x.z": 1}, "x.", {}, True, *lists)
    assert lists == (["x.bias"], ["x.z"], []) and net.weight.item() == 1.0


def test_loading_leaves_no_cycle_behind():
    module = nnkit.nn.LSTM(2, 2, bidirectional=True)
    state = module.state_dict()
    gc.collect()
    module.load_state_dict(state)
    assert gc.collect() == 0
