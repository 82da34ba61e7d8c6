"""Models from folders with a ``hubconf.py``, and weights from files, as ``torch.hub``.

Nothing is downloaded: a model comes from a local folder, weights from a file of the cache or from
a ``file:`` address.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import re
import shutil
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

HUBCONF = "hubconf.py"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the part of a file's name that tells its hash
_hub_dir: str | None = None


def _get_torch_home() -> str:
    cache = os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.expanduser(os.getenv("TORCH_HOME", cache))


def get_dir() -> str:
    """The folder of the cache: that of `set_dir`, ``$TORCH_HOME/hub`` or ``~/.cache/torch/hub``."""
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike) -> None:
    """Make ``d`` the folder of the cache."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _hubconf(folder: str, source: str) -> ModuleType:
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise RuntimeError(
            f"hub: {folder} is not downloaded; get it yourself and use source='local' with the "
            "path of its folder"
        )
    path = Path(folder) / HUBCONF
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("hubconf", path)
        if spec is None or spec.loader is None:
            raise ImportError(f"hub: {path} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


def _entry(module: ModuleType, name: str) -> Callable:
    missing = [
        m for m in getattr(module, "dependencies", ()) if importlib.util.find_spec(m) is None
    ]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """The result of a function of a folder's ``hubconf.py``.

    Args:
        repo_or_dir: the folder.
        model: the name of the function.
        source: "local"; torch's default, "github", is not downloaded.
        args, kwargs: what the function is called with; ``trust_repo``, ``force_reload``,
            ``verbose`` and ``skip_validation`` are torch's and change nothing.

    Raises:
        RuntimeError: a download is asked for, the function is not there, or a package that the
            folder needs.
        ValueError: another ``source``.
    """
    for name in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(name, None)
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **kwargs)


def list(github: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """The names of the functions in a folder's ``hubconf.py``."""
    module = _hubconf(github, source)
    return [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]


def help(github: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> str | None:
    """The docstring of a function in a folder's ``hubconf.py``."""
    return _entry(_hubconf(github, source), model).__doc__


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Copy the file that a ``file:`` address names.

    Raises:
        RuntimeError: the address is of another kind, or the file's SHA-256 does not begin with
            ``hash_prefix``.
    """
    parts = urllib.parse.urlparse(url)
    if parts.scheme != "file":
        raise RuntimeError(
            f"download_url_to_file: nnkit does not download {url}; put the file at {dst}"
        )
    source = urllib.request.url2pathname(parts.path)
    _hold_to_hash(source, hash_prefix)
    shutil.copyfile(source, dst)


def _hold_to_hash(path: str, prefix: str | None) -> None:
    if prefix is None:
        return
    import hashlib

    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    if not digest.startswith(prefix):
        raise RuntimeError(f'invalid hash value (expected "{prefix}", got "{digest}")')


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """The weights in a file of the cache, or of a ``file:`` address.

    Args:
        model_dir: the folder of the cache, by default ``checkpoints`` in `get_dir`.
        check_hash: hold the file to the part of its name after the last ``-``.
        file_name: its name in the cache, by default the address's.

    Raises:
        RuntimeError: the file is not in the cache and would have to be downloaded.
    """
    from nnkit.serialization import load as load_file

    folder = model_dir if model_dir is not None else os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urllib.parse.urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found[1] if found else None, progress)
    return load_file(path, map_location=map_location)


__all__: builtins.list[str] = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]
