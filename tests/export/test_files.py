"""Files of exported programs: what is damaged or meant to harm is refused, and nothing is run."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections import defaultdict, namedtuple
from pathlib import Path
from typing import Any

import pytest

import nnkit
from nnkit import Tensor, nn
from nnkit.export import export, load, save
from nnkit.utils import _pytree

MUTATIONS = 400


class Everything(nn.Module):
    """A module with arguments of all kinds."""

    def forward(self, x: Tensor, named: Any) -> Any:
        y = x[..., None, 1:].to(nnkit.float64).clamp(-float("inf"), 2.5)
        y = y.contiguous(memory_format=nnkit.contiguous_format) * complex(1, 2)
        pair = nnkit.max(x, dim=1)
        last = nnkit.full(
            (2,), float("nan"), dtype=nnkit.float32, device="cpu", requires_grad=False
        )
        return {"y": y, "pair": [*pair], "split": x.split([1, 2], 1), "last": last, **named}


def program() -> Any:
    return export(Everything(), (nnkit.ones(2, 3), {"a": nnkit.zeros(1), "b": 1}))


def file_of(ep: Any) -> bytes:
    stream = io.BytesIO()
    save(ep, stream)
    return stream.getvalue()


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archived(parts: dict[str, Any]) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    stream.seek(0)
    return stream


def test_arguments_of_all_kinds(tmp_path: Path) -> None:
    ep = program()
    save(ep, tmp_path / "p.pt2", extra_files={"notes.txt": "of mine"})
    extra = {"notes.txt": ""}
    loaded = load(tmp_path / "p.pt2", extra_files=extra)
    assert extra == {"notes.txt": "of mine"}
    arguments = nnkit.randn(2, 3), {"a": nnkit.ones(1), "b": 1}
    expected, found = (p.module()(*arguments) for p in (ep, loaded))
    assert nnkit.utils._pytree.tree_structure(found) == nnkit.utils._pytree.tree_structure(expected)
    for one, other in zip(_pytree.tree_leaves(expected), _pytree.tree_leaves(found), strict=True):
        assert str(one) == str(other)


def test_a_weight_that_is_shared_stays_shared() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    loaded = load(io.BytesIO(file_of(export(model, (nnkit.ones(1, 2),)))))
    assert loaded.state_dict["0.weight"] is loaded.state_dict["1.weight"]
    assert isinstance(loaded.state_dict["0.weight"], nn.Parameter)


def with_node(**changes: Any) -> io.BytesIO:
    """A program, the first operation of which is another one."""
    parts: dict[str, Any] = members(file_of(export(nn.ReLU(), (nnkit.ones(2),))))
    content = json.loads(parts["program.json"])
    node = next(n for n in content["nodes"] if n["op"] == "call_function")
    node.update(changes)
    parts["program.json"] = json.dumps(content)
    return archived(parts)


@pytest.mark.parametrize(
    "changes",
    [
        {"target": "os.system", "args": ["true"]},
        {"target": "__import__", "args": ["os"]},
        {"target": "load", "args": ["a file"]},
        {"target": "from_file", "args": ["a file"]},
        {"target": "getattr", "args": [{"node": "input_1"}, "__class__"]},
        {"op": "call_method", "target": "__reduce_ex__"},
        {"op": "call_method", "target": "numpy"},
        {"op": "get_attr", "target": "x"},
        {"op": "call_module", "target": "x"},
        {"name": "x = __import__('os')"},
        {"name": "class"},
        {"name": "print"},
        {"kwargs": {"a=1)#": 1}},
        {"kwargs": {"lambda": 1}},
        {"args": [{"node": "later"}]},
        {"args": [{"dtype": "float1"}]},
        {"args": [{"device": "disk"}]},
        {"args": [{"memory": "any"}]},
        {"args": [{"object": "any"}]},
        {"args": [{}]},
    ],
)
def test_what_a_file_may_not_name(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="load: the stream: "):
        load(with_node(**changes))


def with_a_parameter(name: str) -> io.BytesIO:
    parts: dict[str, Any] = members(file_of(export(nn.Linear(2, 2), (nnkit.ones(1, 2),))))
    parts["program.json"] = parts["program.json"].replace(b'"weight"', json.dumps(name).encode())
    state = nnkit.load(io.BytesIO(parts["state.safetensors"]))
    state[name] = state.pop("weight")
    stream = io.BytesIO()
    nnkit.save(state, stream)
    parts["state.safetensors"] = stream.getvalue()
    return archived(parts)


@pytest.mark.parametrize("name", ["a..b", "", "a\nb", ".a"])
def test_names_of_tensors_are_paths(name: str) -> None:
    with pytest.raises(ValueError, match="a name that no tensor can have"):
        load(with_a_parameter(name))


@pytest.mark.parametrize("name", ["dense/kernel", 'a"), print("', "a\\", "in a.list of-b"])
def test_names_of_tensors_are_words_of_no_program(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module = load(with_a_parameter(name)).module()
    assert set(module.state_dict()) == {name, "bias"}
    assert module(nnkit.ones(1, 2)).shape == (1, 2)
    assert not capsys.readouterr().out


def test_structures_import_nothing() -> None:
    parts: dict[str, Any] = members(file_of(program()))
    content = json.loads(parts["program.json"])
    _, spec = _pytree.tree_flatten(defaultdict(list, {"a": 1}))
    content["out_spec"] = _pytree.treespec_dumps(spec)
    with pytest.raises(ValueError, match="defaultdict"):
        load(archived({**parts, "program.json": json.dumps(content)}))


def test_a_structure_that_was_registered() -> None:
    point = namedtuple("point", "x y")  # noqa: PYI024
    _pytree._register_namedtuple(point, serialized_type_name="tests.export.point")

    class Point(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return point(x, x + 1)

    ep = export(Point(), (nnkit.ones(1),))
    found = load(io.BytesIO(file_of(ep))).module()(nnkit.ones(1))
    assert type(found) is point
    assert found.y == 2


def test_no_file_holds_a_generator() -> None:
    generator = nnkit.Generator()

    class Draw(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + nnkit.rand(2, generator=generator)

    with pytest.raises(RuntimeError, match="other results"):  # which the check has moved on
        export(Draw(), (nnkit.ones(2),))


@pytest.mark.parametrize("parts", [{}, {"data.pkl": b"x"}, {"program.json": "{}"}])
def test_no_program(parts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="load: the stream: "):
        load(archived(parts))


def test_a_later_version() -> None:
    parts: dict[str, Any] = members(file_of(program()))
    content = {**json.loads(parts["program.json"]), "version": 99}
    with pytest.raises(ValueError, match="version 99"):
        load(archived({**parts, "program.json": json.dumps(content)}))


def test_errors_of_paths(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.pt2")
    with pytest.raises(TypeError, match="ExportedProgram"):
        save(nn.ReLU(), tmp_path / "p.pt2")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_bytes=10"):
        load(io.BytesIO(file_of(program())), max_bytes=10)


def test_damaged_files() -> None:
    """Bytes of the archive and of the program's text are changed; what is read runs or refuses."""
    draw = random.Random(0)
    whole = file_of(export(nn.Linear(2, 2), (nnkit.ones(1, 2),)))
    parts: dict[str, Any] = members(whole)
    for round in range(MUTATIONS):
        text = bytearray(whole if round % 2 else parts["program.json"])
        for _ in range(draw.randint(1, 3)):
            place = draw.randrange(len(text))
            kind = draw.randrange(3)
            if kind == 0:
                text[place] = draw.randrange(256)
            elif kind == 1:
                del text[place : place + draw.randint(1, 20)]
            else:
                text[place:place] = text[draw.randrange(len(text)) :][: draw.randint(1, 20)]
        stream = archived({**parts, "program.json": bytes(text)})
        try:
            load(io.BytesIO(bytes(text)) if round % 2 else stream)
        except ValueError as error:
            assert "load: " in str(error)
