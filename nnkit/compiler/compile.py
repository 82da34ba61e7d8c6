"""The public functions: `compile`, `disable` and the others of ``nnkit.compiler``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from typing import Any

from nnkit.backend.program.outside import RECORDERS
from nnkit.compiler.compiled import ALL, Compiled
from nnkit.compiler.modes import DISABLED
from nnkit.compiler.module import OptimizedModule
from nnkit.nn.modules.module import Module

OPTIONS = ("cache", "check", "freezing")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "native",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Compile a function or module: its first calls are recorded as a program, and later calls
    replay that program without Python code between the operations.

    Everything that the function does is recorded: forward, backward, the optimizer's step. There is
    one program for each signature (shapes, dtypes and layouts of tensors, values of numbers and
    strings, modes) and each state of what the function can reach (modules, globals, closures).
    Results, gradients, counters and random numbers are bit for bit those of the eager function. For
    a module, its call is one program and its backward another, which runs as a part of the backward
    pass of a loss. `docs/compile.md` tells what is recorded, what is checked before each replay,
    and what cannot be compiled.

    Args:
        model: a function or a module; left out to use this as a decorator with options.
        fullgraph: raise if something cannot be replayed, instead of running eagerly.
        dynamic: accepted and ignored; each shape has its own program.
        backend: accepted and ignored; there is one backend.
        mode: accepted and ignored.
        options: ``{"cache": n}``: how many programs are kept (8 by default). ``{"check": n}``: run
            the first n replays of each program beside the eager function, and raise RuntimeError
            if a result differs in any bit. ``{"freezing": True}``: keep weights packed if nothing
            is trained; they must then not be written in ways that autograd does not see, such as
            ``numpy()`` or ``data``.
        disable: return ``model`` unchanged.

    Raises:
        RuntimeError: an option is unknown, or ``model`` is not callable. In a call, with
            ``fullgraph``: something cannot be replayed; the message names the reason and the line.

    Source: ``torch.compile``.

    Example:
        >>> import nnkit
        >>> @nnkit.compile
        ... def double(x):
        ...     return (x + x).tanh()
        >>> for _ in range(3):
        ...     y = double(nnkit.ones(2))
        >>> y
        tensor([0.9640, 0.9640])
    """
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, disable=disable,
        )  # fmt: skip
    unknown = [name for name in options or {} if name not in OPTIONS]
    if unknown:
        raise RuntimeError(
            f"compile: unexpected optimization option {unknown[0]}, known options are "
            f"{list(OPTIONS)}"
        )
    if disable:
        return model
    if not callable(model):
        raise RuntimeError(f"compile: expected a function or a module, got {type(model).__name__}")
    compiler = Compiler(fullgraph, dict(options or {}))
    return OptimizedModule(model, compiler) if isinstance(model, Module) else compiler(model)


class Compiler:
    """Compiles functions with the options of one call of `compile`."""

    def __init__(self, fullgraph: bool, options: dict[str, Any]) -> None:
        self.fullgraph = fullgraph
        self.options = options

    def __call__(self, function: Any) -> Compiled:
        if isinstance(function, Module):
            return Compiled(function.__call__, self.fullgraph, self.options, function)
        return Compiled(function, self.fullgraph, self.options, function)


def disable(
    fn: Callable | None = None, recursive: bool = True, *, reason: str | None = None
) -> Any:
    """Make a function run eagerly, including compiled functions that it calls. A decorator if
    called without ``fn``.

    A compiled function that calls it cannot be recorded, and so runs eagerly as well.

    Example:
        >>> import nnkit
        >>> @nnkit.compiler.disable
        ... def f(x):
        ...     return x + 1
        >>> f(1)
        2
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)

    @functools.wraps(fn)
    def disabled(*args: Any, **kwargs: Any) -> Any:
        recorder = RECORDERS.get(get_ident())
        if recorder is not None:
            recorder.recording.break_off(f"{getattr(fn, '__name__', fn)} is disabled")
        DISABLED.count += 1
        try:
            return fn(*args, **kwargs)
        finally:
            DISABLED.count -= 1

    disabled._torchdynamo_disable = True  # type: ignore[attr-defined]  # torch's mark of such
    return disabled


def reset() -> None:
    """Drop the programs of all compiled functions.

    Example:
        >>> import nnkit
        >>> nnkit.compiler.reset()
    """
    for compiled in ALL:
        compiled.reset()


EXPORTING: set[int] = set()  # the threads that are exporting a module


def is_compiling() -> bool:
    """Whether this thread is recording a compiled function, or exporting a module.

    Example:
        >>> import nnkit
        >>> nnkit.compiler.is_compiling()
        False
    """
    return get_ident() in RECORDERS or is_exporting()


def is_exporting() -> bool:
    """Whether this thread is exporting a module.

    Example:
        >>> import nnkit
        >>> nnkit.compiler.is_exporting()
        False
    """
    return get_ident() in EXPORTING


def allow_in_graph(fn: Any) -> Any:
    """Return the function unchanged: recording needs no permission.

    Example:
        >>> import nnkit
        >>> nnkit.compiler.allow_in_graph(abs) is abs
        True
    """
    return fn
