"""`GraphModule.to_folder`: a traced program as a package of Python with the numbers it needs."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import indent
from typing import Any

import nnkit
from nnkit.backend.warning import warn
from nnkit.nn import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    Linear,
    Module,
)

# Modules whose text is a call that makes them.
_WRITTEN = (Linear, Conv1d, Conv2d, Conv3d, BatchNorm1d, BatchNorm2d, BatchNorm3d)


def write_folder(module: Any, folder: str | os.PathLike[str], name: str) -> None:
    """Write a `GraphModule` as the class ``name`` of a package.

    Modules in it whose text does not make them are saved as files of their own.

    Warns:
        UserWarning: there are such modules.
    """
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    nnkit.save(module.state_dict(), folder / "state_dict.pt")
    package = nnkit.Tensor.__module__.partition(".")[0]
    lines, saved = [], []
    for path, child in module.named_children():
        text = repr(child)
        if type(child) not in _WRITTEN:
            text = _load(package, folder / f"{path}.pt", child)
            saved.append(path)
        lines.append(f"setattr(self, {path!r}, {text})")
    for path, tensor in module.named_buffers(recurse=False):
        lines.append(f"self.register_buffer({path!r}, {_empty(package, tensor)})")
    for path, tensor in module.named_parameters(recurse=False):
        made = f"{package}.nn.Parameter({_empty(package, tensor)})"
        lines.append(f"setattr(self, {path!r}, {made})")
    lines.append(f"self.load_state_dict({package}.load({str(folder / 'state_dict.pt')!r}))")
    head = _HEAD.format(package=package, name=name)
    body = indent("\n".join(lines), " " * 8)
    (folder / "module.py").write_text(f"{head}{body}\n{indent(module.code, '    ')}\n")
    (folder / "__init__.py").write_text("from .module import *\n")
    if saved:
        warn(
            "Was not able to save the following children modules as reprs -saved as pickled files "
            f"instead: {saved}"
        )


_HEAD = """
import {package}
from math import inf
from math import nan
NoneType = type(None)
from {package} import device
import {package}.fx._pytree as fx_pytree
import {package}.utils._pytree as pytree

from {package}.nn import *
class {name}({package}.nn.Module):
    def __init__(self):
        super().__init__()
"""


def _load(package: str, file: Path, module: Module) -> str:
    """The call that loads a module, which is saved in the file."""
    nnkit.save(module, file)
    return f"{package}.load({str(file)!r}, weights_only=False)"


def _empty(package: str, tensor: Any) -> str:
    """The call that makes a tensor of the same shape and dtype."""
    name = str(tensor.dtype).partition(".")[2]
    return f"{package}.empty({[*tensor.shape]}, dtype={package}.{name})"
