"""Models come from local folders, weights from the cache; nothing is downloaded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import nnkit
from nnkit import hub

HUBCONF = '''
dependencies = ["math"]
from inner import WIDTH

def linear(features=1, bias=True):
    """A layer."""
    import nnkit
    return nnkit.nn.Linear(WIDTH, features, bias)

def _private(): ...
'''


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "hubconf.py").write_text(HUBCONF)
    (tmp_path / "inner.py").write_text("WIDTH = 2\n")
    return str(tmp_path)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    before = hub._hub_dir
    hub.set_dir(tmp_path)
    yield tmp_path
    hub._hub_dir = before


def test_a_model_of_a_folder(folder: str) -> None:
    model = hub.load(folder, "linear", 3, source="local", bias=False, trust_repo=True)
    assert model.weight.shape == (3, 2) and model.bias is None
    assert hub.list(folder, source="local") == ["linear"]
    assert hub.help(folder, "linear", source="local") == "A layer."


def test_refusals(folder: str) -> None:
    with pytest.raises(RuntimeError, match="is not downloaded"):
        hub.load("pytorch/vision", "resnet18")
    with pytest.raises(RuntimeError, match="Cannot find callable nothing"):
        hub.load(folder, "nothing", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        hub.load(folder, "linear", source="elsewhere")
    conf = Path(folder) / "hubconf.py"
    conf.write_text(conf.read_text().replace('["math"]', '["no_such_package"]'))
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.load(folder, "linear", source="local")


def test_weights_of_the_cache(cache: Path) -> None:
    (cache / "checkpoints").mkdir()
    nnkit.save({"weight": nnkit.ones(2)}, cache / "checkpoints/model.safetensors")
    state = hub.load_state_dict_from_url("https://example.org/model.safetensors")
    assert state["weight"].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="does not download"):
        hub.load_state_dict_from_url("https://example.org/other.safetensors")


def test_weights_of_a_file(cache: Path) -> None:
    path = cache / "source.safetensors"
    nnkit.save({"weight": nnkit.ones(2)}, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    good, bad = (path.with_name(f"model-{end}.safetensors") for end in (digest, "00000000"))
    for copy in (good, bad):
        copy.write_bytes(path.read_bytes())
    state = hub.load_state_dict_from_url(good.as_uri(), check_hash=True)
    assert state["weight"].tolist() == [1.0, 1.0]
    assert (cache / "checkpoints" / good.name).exists()
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.load_state_dict_from_url(bad.as_uri(), check_hash=True)


def test_the_folder_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert Path(hub.get_dir()) == Path("/somewhere/hub")
