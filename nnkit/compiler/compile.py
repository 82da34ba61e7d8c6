"""The calls: `compile`, and what belongs to it."""

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
BACKENDS = ("native", "inductor", "eager", "aot_eager")


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
    """A function that runs as one program: recorded at first, then replayed with no Python
    between its operations.

    What is recorded is all that the function does: forward, backward, the optimizer's step. There
    is a program for each signature (shapes, dtypes and layouts of tensors, values of numbers and
    strings, modes) in each state of what the function can reach (modules, globals, what it closes
    over). Bits, gradients, counters and random numbers are those of the same function run eagerly.
    Of a module the call is a program, and its backward another one, which runs when that of a loss
    comes to it. `docs/compile.md` says what is recorded, what is looked at before each replay, and
    what cannot be a program.

    Args:
        model: a function or a module; left out where this is a decorator with options.
        fullgraph: raise where something cannot be replayed, instead of running eagerly.
        dynamic: accepted; each shape has a program of its own.
        backend: accepted under torch's names; there is one.
        mode: accepted.
        options: ``{"cache": n}``, how many programs are kept (8); ``{"check": n}``, how many
            replays of each run beside the eager function, with a RuntimeError for other bits;
            ``{"freezing": True}``, whether weights stay packed where nothing is trained: they must
            not be written past their counters, as through ``numpy()`` or ``data``.
        disable: return what is given, unchanged.

    Raises:
        RuntimeError: in a call, with ``fullgraph``, what cannot be replayed: the message names the
            reason and the line. An unknown option.

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
    """The choices of a call of `compile`."""

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
    """A function that runs eagerly, also what is compiled in it; a decorator without one.

    In a step that is compiled it cannot be looked into: the step runs eagerly.

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

    disabled._torchdynamo_disable = True  # type: ignore[attr-defined]  # by which programs know it
    return disabled


def reset() -> None:
    """Forget the programs of all compiled functions."""
    for compiled in ALL:
        compiled.reset()


EXPORTING: set[int] = set()  # the threads whose module is being exported


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
    """The function itself: what it computes is recorded, whatever it is.

    Example:
        >>> import nnkit
        >>> nnkit.compiler.allow_in_graph(abs) is abs
        True
    """
    return fn
