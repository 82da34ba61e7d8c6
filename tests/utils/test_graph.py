"""Graph pictures: the seeds' two graphs, leaves' names, saved arrays, errors."""

from __future__ import annotations

import shutil

import pytest

import nnkit
from nnkit.utils.graph import dot


def quadratic_form():
    A = nnkit.tensor([[2.0, 1.0], [0.0, 3.0]], requires_grad=True)
    x = nnkit.tensor([1.0, -1.0], requires_grad=True)
    return x @ A @ x, {"x": x, "A": A}


def test_names_nodes_and_leaves() -> None:
    a, b, d = (nnkit.tensor(v, requires_grad=True) for v in (2.0, 3.0, 4.0))
    text = dot((a + b) * d, {"a": a, "b": b, "d": d})
    assert text.startswith("digraph {") and text.endswith("}")
    for label in ("MulBackward0", "AddBackward0", r"a\n()", r"b\n()", r"d\n()"):
        assert f'label="{label}"' in text
    assert text.count("->") == 5


def test_a_leaf_used_twice_is_one_box() -> None:
    y, names = quadratic_form()
    text = dot(y, names)
    assert text.count(r"x\n(2)") == 1
    assert text.count(r"A\n(2, 2)") == 1


def test_saved_arrays() -> None:
    x = nnkit.ones(3, requires_grad=True)
    assert "saved 3" in dot(x.exp(), show_saved=True)
    assert "saved" not in dot(x.exp())


def test_without_a_graph() -> None:
    with pytest.raises(ValueError, match="not made by a recorded operation"):
        dot(nnkit.ones(2))


def test_writes_text(tmp_path) -> None:
    y, names = quadratic_form()
    file = tmp_path / "graph.dot"
    assert dot(y, names, file=str(file)) == file.read_text()


def test_writes_a_picture_or_says_what_is_missing(tmp_path, monkeypatch) -> None:
    y, names = quadratic_form()
    file = tmp_path / "graph.svg"
    if shutil.which("dot"):
        dot(y, names, file=str(file))
        assert "</svg>" in file.read_text()
        file.unlink()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="Graphviz is not installed"):
        dot(y, names, file=str(file))
    assert not file.exists()
