"""Runs a program written for torch on nnkit: `python -m nnkit.compat SCRIPT ARGUMENTS`."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from nnkit.compat import install


def _check(path: str) -> int:
    from nnkit.compat.check import check

    needs = check(path)
    for need in needs:
        print(f"{len(need.places):5} {need.name}   ({need.places[0]})")
    print(f"{path}: {len(needs)} names of torch are asked for that nnkit lacks")
    return bool(needs)


def _run(arguments: list[str]) -> None:
    install()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        if arguments[1] == "torch.distributed.run":
            from nnkit.distributed import run

            run.PYTHON += ["-m", "nnkit.compat"]  # so do its ranks
            sys.exit(run.main())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m nnkit.compat",
        description="Runs programs and libraries written for torch on nnkit.",
        usage="%(prog)s SCRIPT [ARGUMENTS] | -m MODULE [ARGUMENTS] | check PATH | activate | "
        "deactivate",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="run a module")
    parser.add_argument("what", help="a script or a module; check, activate, deactivate")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args()
    if options.module:
        _run(["-m", options.what, *options.rest])
    elif options.what == "check" and len(options.rest) == 1:
        return _check(options.rest[0])
    elif options.what in ("activate", "deactivate"):
        from nnkit.compat import environment

        try:
            getattr(environment, options.what)()
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
    else:
        _run([options.what, *options.rest])
    return 0


if __name__ == "__main__":
    sys.exit(main())
