"""`activate`: installs a small package ``torch`` in the environment, which imports nnkit."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import importlib.util
import io
import shutil
import sysconfig
from pathlib import Path

from nnkit.compat.layout import ROOT
from nnkit.compat.names.torch_version import __version__

INSTALLER = "nnkit"
INIT = '''"""torch, answered by nnkit; `python -m nnkit.compat deactivate` takes it away."""

import sys

import nnkit.compat

del sys.modules[__name__]
nnkit.compat.install()
sys.modules[__name__] = __import__(__name__)
'''
METADATA = f"""Metadata-Version: 2.1
Name: {ROOT}
Version: {__version__}
Summary: torch, answered by nnkit
Requires-Dist: nnkit
"""


def _site() -> Path:
    return Path(sysconfig.get_path("purelib"))


def _information() -> Path:
    return _site() / f"{ROOT}-{__version__}.dist-info"


def _others() -> str | None:
    """The place of the real torch, if this environment has one."""
    for found in importlib.metadata.distributions(name=ROOT):
        if (found.read_text("INSTALLER") or "").strip() != INSTALLER:
            return str(found.locate_file(ROOT))
    package = _site() / ROOT
    return str(package) if package.exists() and not _information().exists() else None


def activate() -> Path:
    """Put the package ``torch`` into this environment, with its metadata for pip.

    Raises:
        RuntimeError: the real torch is installed.
    """
    other = _others()
    if other is not None:
        raise RuntimeError(f"activate: torch itself is installed ({other}); uninstall it first")
    package, information = _site() / ROOT, _information()
    files = {
        package / "__init__.py": INIT,
        information / "METADATA": METADATA,
        information / "INSTALLER": f"{INSTALLER}\n",
        information / "top_level.txt": f"{ROOT}\n",
    }
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        rows.writerow([path.relative_to(_site()), f"sha256={digest.decode()}", len(text)])
    rows.writerow([(information / "RECORD").relative_to(_site()), "", ""])
    (information / "RECORD").write_text(record.getvalue())
    return package


def deactivate() -> None:
    """Remove the package that `activate` has installed, and its metadata.

    Raises:
        RuntimeError: the package ``torch`` in this environment is not nnkit's, or there is none.
    """
    if not _information().exists():
        raise RuntimeError("deactivate: nnkit has put no package `torch` into this environment")
    shutil.rmtree(_site() / ROOT)
    shutil.rmtree(_information())
