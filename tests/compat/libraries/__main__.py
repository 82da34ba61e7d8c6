"""Run the uses of libraries, each in a process of its own, and compare two runs.

    python -m tests.compat.libraries run nnkit nnkit.json [WORD ...]    # without torch
    python -m tests.compat.libraries run torch torch.json [WORD ...]    # where it is
    python -m tests.compat.libraries compare torch.json nnkit.json      # a table for docs/compat.md

A use whose library is missing is left out of the table. ``WORD`` picks the uses with it in their
names; what a file has already is not run again without one.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any


def run(framework: str, path: str, words: list[str]) -> None:
    warnings.simplefilter("ignore")
    if framework == "nnkit":
        import nnkit.compat

        nnkit.compat.install()
    import torch

    from tests.compat.libraries import further, language, research, science, training, vision

    torch.set_num_threads(1)
    modules = vision, language, training, science, research, further
    uses = {n: f for module in modules for n, f in vars(module).items()}
    found = json.loads(Path(path).read_text()) if Path(path).exists() else {}
    for name, use in uses.items():
        if "__" not in name or name.startswith("_"):
            continue
        if not any(word in name for word in words) if words else name in found:
            continue
        found[name] = _in_a_process(use)
        said = found[name].get("error", "ok").splitlines()[0]
        print(f"{name}: {said} ({found[name].get('seconds', 0):.0f} s)", flush=True)
        Path(path).write_text(json.dumps(found))


def _in_a_process(use: Any) -> dict[str, Any]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        start, result = time.perf_counter(), {}
        try:
            result["numbers"] = [float(x) for x in use()]
        except BaseException as error:
            result["error"] = f"{type(error).__name__}: {error}"
        result["seconds"] = time.perf_counter() - start
        with open(writer, "w") as stream:
            json.dump(result, stream)
        os._exit(0)
    os.close(writer)
    with open(reader) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"error": "the process died"}


def compare(expected_path: str, found_path: str) -> None:
    expected, found = (json.loads(Path(p).read_text()) for p in (expected_path, found_path))
    print("| library | use | largest difference |\n|---|---|---|")
    for name in sorted(expected.keys() & found.keys()):
        library, _, use = name.partition("__")
        if "numbers" in expected[name]:
            said = _difference(expected[name]["numbers"], found[name])
            print(f"| {library} | {use.replace('_', ' ')} | {said} |")


def _difference(expected: list[float], found: dict[str, Any]) -> str:
    """The largest difference, relative to numbers above 0.001."""
    if "error" in found:
        return f"stops: {found['error'].splitlines()[0][:60]}"
    numbers = found["numbers"]
    if len(numbers) != len(expected):
        return f"{len(numbers)} numbers for {len(expected)}"
    pairs = [(a, b) for a, b in zip(expected, numbers, strict=True) if a != b]
    worst = max((abs(a - b) / max(1e-3, abs(a)) for a, b in pairs if a == a or b == b), default=0)
    return f"{worst:.0e}" if worst else "none"


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        compare(*sys.argv[2:])
