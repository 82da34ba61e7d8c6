"""A compiled function: its programs by signature, and how new ones are made."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from nnkit.autograd.tensor import Tensor
from nnkit.backend.device import cpu
from nnkit.backend.program import Program, difference, frozen, geometry, runnable
from nnkit.backend.program.passes import improved
from nnkit.backend.program.source import defined
from nnkit.backend.warning import warn
from nnkit.compiler.attempt import RECORDED, Attempt
from nnkit.compiler.checking import checked
from nnkit.compiler.checks import PLAIN, all_hold
from nnkit.compiler.modes import as_now, is_eager, modes
from nnkit.compiler.watch import Watch
from nnkit.nn.modules.module import Module
from nnkit.utils._pytree import tree_flatten

CACHE = 8  # programs of one function, unless options={"cache": n} says otherwise
ATTEMPTS = 5  # recorded runs after which two consecutive ones must have been equal
ALL: WeakSet[Any] = WeakSet()  # all compiled functions


class Entry:
    """The programs of one signature in one state of everything that the function can reach.

    Attributes:
        program: the program of the forward, or of the whole step; None until two runs were equal.
        backward: the program of a module's backward.
        reason: why there will never be a program.
        run: replays the program on the leaves of the arguments.
        takes: whether `run` may be called with these arguments, if all are tensors. Does in one
            function what `is_eager`, `signature` and `fits` do, for consecutive calls.
    """

    program: Program | None = None
    backward: Any = None
    reason: str | None = None
    run: Callable | None = None
    takes: Callable[[tuple], bool] | None = None

    def __init__(self) -> None:
        self.watch: Watch | None = None
        self.holds: Callable[[], bool] | None = None
        self.calls: list | None = None  # the calls recorded in the last run
        self.attempts = 0
        self.pinned: list[tuple[int, Any]] = []  # (place, tensor): arguments that must not change
        self.difference: str | None = None  # the first one between the last two runs
        self.unchecked = 0  # how many replays are still to be compared with eager runs

    def fits(self, leaves: list) -> bool:
        """Whether everything that the function can reach is as it was when recorded."""
        for place, tensor in self.pinned:
            if leaves[place] is not tensor:
                return False
        known = self.watch.tensors  # type: ignore[union-attr]
        for leaf in leaves:
            if isinstance(leaf, Tensor) and id(leaf) in known:
                if not any(leaf is tensor for _, tensor in self.pinned):
                    return False
        return self.holds()  # type: ignore[misc]


class Compiled:
    """A function that is recorded and replayed; the result of `nnkit.compile`.

    Args:
        function: what is called.
        fullgraph: raise instead of running eagerly.
        options: those of `nnkit.compile`.
        raw: the function as the user gave it, from which its state is found.
    """

    def __init__(
        self, function: Callable, fullgraph: bool, options: dict[str, Any], raw: Callable
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.fullgraph = fullgraph
        self.options = options
        self.limit = options.get("cache", CACHE)
        self.entries: dict[Any, list[Entry]] = {}
        self.last: Entry | None = None  # the entry whose program ran last
        self.made = 0  # how many entries there are
        self.told = False  # whether a warning was given
        self.roots = raw  # where `Watch` begins to look for state
        owner = getattr(raw, "__self__", None)
        if isinstance(owner, Module) and getattr(raw, "__name__", "") == "_call_impl":
            self.roots = owner
        ALL.add(self)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def reset(self) -> None:
        """Drop all programs."""
        self.entries = {}
        self.last = None
        self.made = 0
        self.told = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        last = self.last
        if last is not None and not kwargs and last.takes(args):  # type: ignore[misc]
            return last.run(args)  # type: ignore[misc]
        if is_eager():
            return self.function(*args, **kwargs)
        leaves, key = signature(args, kwargs)
        for entry in self.entries.get(key, ()):
            if entry.run is not None and entry.fits(leaves):
                if entry.unchecked:
                    return self._checked(entry, leaves, args, kwargs)
                if entry.takes is None and not kwargs:
                    entry.takes = print_takes(entry, key, leaves)
                self.last = entry if entry.takes is not None else None
                return entry.run(leaves)
        return self._recorded(leaves, key, args, kwargs)

    def _checked(self, entry: Entry, leaves: list, args: tuple, kwargs: dict) -> Any:
        entry.unchecked -= 1
        run: Any = entry.run
        watch: Any = entry.watch
        return checked(
            lambda: run(leaves), lambda: self.function(*args, **kwargs), watch, leaves, self._name()
        )

    def program(self) -> Program:
        """The most recent program.

        Raises:
            RuntimeError: there is none; the message gives the reason.
        """
        found = [e for entries in self.entries.values() for e in entries]
        for entry in reversed(found):
            if entry.program is not None:
                return entry.program
        reasons = [e.reason or e.difference for e in found if e.reason or e.difference]
        why = reasons[-1] if reasons else "it was not yet called twice with the same signature"
        raise RuntimeError(f"nnkit.compile: {self._name()} has no program: {why}")

    def _name(self) -> str:
        return getattr(self.function, "__qualname__", repr(self.function))

    def _recorded(self, leaves: list, key: Any, args: tuple, kwargs: dict) -> Any:
        if not RECORDED.acquire(blocking=False):  # another thread is recording
            return self.function(*args, **kwargs)
        try:
            entries = self.entries.setdefault(key, [])
            entry = next((e for e in entries if self._is_current(e, leaves)), None)
            if entry is None:
                if self.made >= self.limit:
                    return self._refused(
                        f"{self.limit} programs were made, and none fits: {self._changed(entries)}",
                        args,
                        kwargs,
                    )
                entry = Entry()
                entries.append(entry)
                self.made += 1
            if entry.reason is not None:
                return self._refused(entry.reason, args, kwargs)
            return self._attempt(entry, entries, leaves, args, kwargs)
        finally:
            RECORDED.release()

    def _is_current(self, entry: Entry, leaves: list) -> bool:
        if entry.watch is None:
            return True
        return entry.reason is not None or entry.fits(leaves)

    def _changed(self, entries: list[Entry]) -> str:
        """The changes since the most recent program was made, in words."""
        for entry in reversed(entries):
            path = entry.watch and entry.watch.changed()
            if path:
                return f"{path} has changed"
        return "the arguments have other shapes, dtypes or values"

    def _refused(self, reason: str, args: tuple, kwargs: dict) -> Any:
        if self.fullgraph:
            raise RuntimeError(self._message(reason))
        self._tell(self._message(reason))
        return self.function(*args, **kwargs)

    def _message(self, reason: str) -> str:
        return f"nnkit.compile: {self._name()} cannot be one program: {reason}"

    def _tell(self, message: str) -> None:
        if not self.told:
            self.told = True
            warn(f"{message}; it runs eagerly", UserWarning)

    def _attempt(
        self, entry: Entry, entries: list[Entry], leaves: list, args: tuple, kwargs: dict
    ) -> Any:
        known, before = entry.watch, entry.calls
        others = [e for e in entries if e is not entry and e.calls is not None]
        attempt = Attempt(self.function, leaves, self.fullgraph)
        entry.calls = None
        try:
            result = attempt.run(args, kwargs)
            entry.attempts += 1
            with attempt.guarded():
                self._learn(entry, attempt, known, before or _of_one_state(others))
        finally:
            if attempt.reason is not None:
                entry.reason = attempt.reason
                entry.holds = entry.calls = None
            attempt.forget()
        if entry.reason is not None:
            self._tell(self._message(entry.reason))
        return result

    def _learn(self, entry: Entry, attempt: Attempt, known: Any, before: list | None) -> None:
        """Compare a recorded run with the one before; if they are equal, make the program."""
        changes = known.changed(tensors=False) if known is not None else None
        if changes:
            attempt.recording.break_off(f"the step changes {changes}", self._line())
        if known is not None and known.ran == attempt.trace.ran and not changes:
            watch = known  # nothing has changed, so another walk would find the same
        else:
            watch = entry.watch = self._walk(attempt)
            self._check(attempt, watch)
            if attempt.reason is not None:
                return
            entry.holds = all_hold(watch.checks)
        entry.pinned = [
            (i, t)
            for i, t in enumerate(attempt.leaves)
            if isinstance(t, Tensor) and _is_ambiguous(attempt, watch, t)
        ]
        entry.calls = attempt.calls
        if before is not None:
            entry.difference = difference(before, attempt.calls)
            if entry.difference is None:
                self._complete(entry, attempt, watch)
            elif entry.attempts >= ATTEMPTS:
                attempt.recording.break_off(entry.difference, "")

    def _walk(self, attempt: Attempt) -> Watch:
        """Everything that the function can reach, in its state before the run."""
        of_module = isinstance(self.roots, Module)
        watch = Watch(attempt.trace.ran, attempt.world.entry, gradients=not of_module)
        for root in (self.roots, *attempt.leaves):
            if not isinstance(root, Tensor):
                watch.visit(root, getattr(root, "__qualname__", type(root).__name__))
        watch.entry = {}  # do not keep its gradients and arrays alive
        return watch

    def _line(self) -> str:
        code = getattr(self.roots, "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code else self._name()

    def _check(self, attempt: Attempt, watch: Watch) -> None:
        """Give up the recording if the walk found something that cannot be watched, or did not find
        code that ran."""
        if watch.refusal:
            attempt.recording.break_off(watch.refusal, self._line())
        code = watch.unreached()
        if code is not None:
            line = f"{code.co_filename}:{code.co_firstlineno}"
            attempt.recording.break_off(f"{code.co_name} runs, which was not found", line)

    def _complete(self, entry: Entry, attempt: Attempt, watch: Watch) -> None:
        made = attempt.programs(watch)
        if made is None:
            return
        program, lines, scope = made
        backend = cpu.backend
        entry.program = improved(program, backend)
        run = runnable(entry.program, backend)
        if self.options.get("freezing") and attempt.backward is None:
            run = frozen(run, entry.program, backend, attempt.counters(entry.program.constants))
        scope["run"] = run
        if attempt.backward is not None:
            entry.backward = improved(attempt.backward.program, backend)
            attempt.backward.run = runnable(entry.backward, backend)
        source = "def replay(leaves):\n" + "".join(f"    {line}\n" for line in lines)
        entry.run = defined("replay", source, "<effects>", scope)
        entry.unchecked = self.options.get("check", 0)


def _of_one_state(entries: list[Entry]) -> list | None:
    """The calls of the most recent run since which nothing but the contents of Tensors has changed:
    the first step makes gradients, which exist already in the second."""
    for entry in reversed(entries):
        if entry.watch is not None and entry.watch.changed(tensors=False) is None:
            return entry.calls
    return None


def _is_ambiguous(attempt: Attempt, watch: Watch, tensor: Tensor) -> bool:
    """Whether the function can reach an argument, or its array, in another way, too."""
    if id(tensor) in watch.tensors:
        return True
    holders = attempt.world.holders.get(id(tensor._array), ())
    return any(t is not tensor and id(t) in watch.tensors for t in holders)


def signature(args: tuple, kwargs: dict) -> tuple[list, Any]:
    """The leaves of the arguments, and a key of everything in them, and in the modes, that a
    program depends on."""
    if not kwargs and all(type(a) is Tensor for a in args):
        leaves, structure = list(args), len(args)
    else:
        leaves, structure = tree_flatten((args, kwargs))
        structure = repr(structure)
    key: list[Any] = [structure, modes()]
    places: dict[int, int] = {}
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor):
            first = places.setdefault(id(leaf), place)
            key.append(
                (first, type(leaf), leaf._device, *_geometry(leaf), leaf._requires_grad,
                 leaf._edge is None, leaf._base is None, leaf._grad is None, leaf._hooks is None,
                 type(leaf._writes))
            )  # fmt: skip
        elif type(leaf) in PLAIN:
            key.append((type(leaf), leaf, str(leaf) if leaf == 0 else None))
        else:
            key.append(_ById(leaf))
    return leaves, tuple(key)


def print_takes(entry: Entry, key: tuple, leaves: list) -> Callable[[tuple], bool] | None:
    """The function for `Entry.takes` in the current modes; None unless all arguments are tensors
    with strides."""
    count, _, *looks = key
    if type(count) is not int or count > 8 or any(len(look) != 12 for look in looks):
        return None
    scope = {"as_now": as_now(), "holds": entry.holds}
    scope["known"] = entry.watch.tensors  # type: ignore[union-attr]
    pinned = dict(entry.pinned)
    tests = [f"len(args) == {count}"]
    for i, (leaf, look) in enumerate(zip(leaves, looks, strict=True)):
        first, kind, device, shape, dtype, strides, requires, leafs, own, bare, free, writes = look
        values = {"kind": kind, "device": device, "shape": shape, "dtype": dtype,
                  "strides": strides, "writes": writes, "array": type(leaf._array)}  # fmt: skip
        scope.update({f"{name}{i}": value for name, value in values.items()})
        others = [f"a{i} is {'' if j == first else 'not '}a{j}" for j in range(i)]
        if i in pinned:
            scope[f"pinned{i}"] = pinned[i]
            others.append(f"a{i} is pinned{i}")
        else:
            others.append(f"id(a{i}) not in known")
        tests += [
            f"(a{i} := args[{i}]).__class__ is kind{i}",
            f"(d{i} := a{i}._array).__class__ is array{i}",
            f"d{i}.shape == shape{i} and d{i}.dtype is dtype{i} and d{i}.strides == strides{i}",
            f"a{i}._device is device{i} and a{i}._requires_grad is {requires}",
            f"(a{i}._edge is None) is {leafs} and (a{i}._base is None) is {own}",
            f"(a{i}._grad is None) is {bare} and (a{i}._hooks is None) is {free}",
            f"a{i}._writes.__class__ is writes{i}",
            *others,
        ]
    tests += ["as_now()", "holds()"]
    source = f"def takes(args):\n    return {' and '.join(tests)}\n"
    return defined("takes", source, "<takes>", scope)


def _geometry(tensor: Tensor) -> tuple:
    data = tensor._array
    return geometry(data) if hasattr(data, "strides") else (id(data),)


class _ById:
    """An object as a key, compared by identity and kept alive."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.value is other.value
