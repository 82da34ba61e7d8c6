"""Writes nnkit/compat/layout.txt: the modules of torch and what each of them defines.

python -m tools.torch_layout

needs torch. A line is the name of a module and the names of its classes and functions, private
ones among them, since libraries use some. Of subjects that nnkit has not the public names are
written, of the parts that nothing here answers for those of the modules alone.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nnkit.compat import foreign

PATH = Path(__file__).parent.parent / "nnkit/compat/layout.txt"
# Parts of torch whose files are its own affair, and the parts of which names are written.
LEFT_OUT = (
    "_C _decomp _dispatch _export _functorch _higher_order_ops _inductor _lazy _library _logging "
    "_native _numpy _prims _refs _strobelight _vendor _dynamo contrib "
    "distributed._tools export.pt2_archive "
    "onnx._internal onnx.ops package testing._internal utils._sympy "
    "utils.bottleneck utils.hipify utils.model_dump utils.viz utils.data.datapipes.dataframe "
    "nativert distributed._symmetric_memory distributed._composable distributed.rpc "
    "distributed.pipelining "
    "ao.ns ao.pruning backends._nnapi backends._coreml "
    "distributed.benchmarks distributed.flight_recorder distributed._tensor distributed._pycute"
).split()
NAMED = (
    "_tensor _utils amp autograd backends cuda distributions fft func functional futures linalg "
    "nn optim overrides random serialization special storage torch_version types utils "
    "fx profiler"
).split()
ENTRANCE = "torch"
FOREIGN = [name.removeprefix("torch.") for name in foreign.SUBJECTS]  # their public names


def within(name: str, parts: Sequence[str]) -> bool:
    return any(name == f"torch.{part}" or name.startswith(f"torch.{part}.") for part in parts)


def modules() -> Iterator[str]:
    """The names of torch's modules, but for the parts left out."""
    package = importlib.import_module(ENTRANCE)
    yield ENTRANCE
    pending = [(package.__path__, "torch.")]
    while pending:
        path, prefix = pending.pop()
        for found in pkgutil.iter_modules(path, prefix):
            if within(found.name, LEFT_OUT) or "__main__" in found.name:
                continue
            yield found.name
            if found.ispkg:
                folders = [f"{p}/{found.name.rpartition('.')[2]}" for p in path]
                pending.append((folders, f"{found.name}."))


def defined(name: str) -> list[str]:
    """The names of the classes and functions that a module defines."""
    public = within(name, FOREIGN)
    if not (public or within(name, NAMED)):
        return []
    try:
        module = importlib.import_module(name)
    except Exception as error:  # a part that is not built on this platform
        print(f"{name}: {error}", file=sys.stderr)
        return []

    def own(value: Any) -> bool:  # a package hands on what its files define
        home = getattr(value, "__module__", None)
        return callable(value) and (home == name or public and within(str(home), FOREIGN))

    found = {n for n, v in vars(module).items() if own(v) and not n.startswith("__")}
    listed = getattr(module, "__all__", ())
    found |= {n for n in listed if not isinstance(getattr(module, n, None), types.ModuleType)}
    return sorted(n for n in found if not (public and n[0] == "_"))


def main() -> None:
    warnings.simplefilter("ignore")
    lines = [" ".join([name, *defined(name)]) for name in sorted(modules())]
    PATH.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
