"""One recorded run of a function, and the program that is made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock, get_ident
from typing import Any

from nnkit.autograd.engine.grad import captured
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.history import refresh
from nnkit.backend.device import cpu
from nnkit.backend.door import Slot
from nnkit.backend.program import Outside, Program, Recording, geometry
from nnkit.backend.program.outside import RECORDERS, LiveNumber
from nnkit.compiler.checks import PLAIN
from nnkit.compiler.graph import (
    SpentNode,
    connect,
    has_hooks,
    is_spent,
    leaves_of,
)
from nnkit.compiler.tensors import Effects, World
from nnkit.compiler.tracing import Trace, untraced
from nnkit.compiler.watch import Watch
from nnkit.utils._pytree import tree_flatten

LARGE = 1 << 14  # bytes of a gradient from which replays drop it early
RECORDED = Lock()  # only one recording at a time can stand in the door of a device


class Attempt:
    """One recorded run of a function.

    Args:
        function: the function to call.
        leaves: the leaves of its arguments.
        strict: whether to raise if something cannot be replayed.

    Attributes:
        result: what the function returned.
        reason: why the run cannot be replayed; None if it can.
    """

    def __init__(self, function: Callable, leaves: list, strict: bool) -> None:
        self.function = function
        self.strict = strict
        self.leaves = leaves
        self.world: Any = World()
        self.recording: Any = None
        self.result: Any = None
        self.pinned: dict[int, Tensor] = {}  # outer Tensors that effects refer to, by id
        self.carried: dict[int, int] = {}  # numbers of Tensors made by effects, by id
        self.handed: list[tuple[Any, Outside]] = []  # objects passed to calls outside the program
        self.dropped: list[tuple[Tensor, Tensor]] = []  # Tensors and the gradients they had
        self.backward: BackwardRecord | None = None

    @property
    def reason(self) -> str | None:
        return self.recording.broken if self.recording is not None else None

    @property
    def is_listening(self) -> bool:
        """Whether calls are being recorded at the moment."""
        return not (self.recording.paused or self.recording.broken)

    @property
    def calls(self) -> list:
        return self.recording.program

    def run(self, args: tuple, kwargs: dict) -> Any:
        """Call the function and record what it does."""
        raw = cpu.backend
        self.recording = recording = Recording(raw, self.strict)
        self.arguments: dict[int, int] = {}  # the buffers of arguments' Tensors, by id
        self.tensors: list[Tensor] = []
        for leaf in self.leaves:
            if isinstance(leaf, Tensor) and id(leaf) not in self.arguments:
                recording._slot(leaf._array, False)
                self.arguments[id(leaf)] = self._number(leaf)
                self.tensors.append(leaf)
        # The gradients that exist already; in each replay they may be other Tensors.
        self.gradients: dict[int, tuple[Tensor, Tensor]] = {}
        for t in list(self.world.tensors.values()):
            g = t._grad
            if g is not None and id(g) not in self.gradients and id(g) not in self.arguments:
                self.gradients[id(g)] = (t, g)
        recording.at_first = self._note_dropped
        self.trace = Trace(recording.break_off)
        cpu.backend = recording  # type: ignore[assignment]
        RECORDERS[get_ident()] = self
        try:
            with self.trace:
                self.result = self.function(*args, **kwargs)
            with self.guarded():
                self._finish()
        finally:
            cpu.backend = raw
            recording.leave()
            del RECORDERS[get_ident()]
        return self.result

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """A block whose errors only end the recording: they must not fail the user's step."""
        try:
            yield
        except Exception as error:
            if self.strict:
                raise
            self.recording.break_off(f"{type(error).__name__} in recording it: {error}")

    def _note_dropped(self) -> None:
        """Note the large gradients that the step drops before its first operation. Replays drop
        them first, too, so that their memory can be used."""
        for holder, grad in self.gradients.values():
            size = grad._array.size * grad.itemsize
            if holder._grad is None and grad._device is cpu and size >= LARGE:
                self.dropped.append((holder, grad))

    def forget(self) -> None:
        """Drop the references to all Tensors and arrays of the run."""
        self.world = self.recording = self.result = None
        self.leaves, self.tensors, self.pinned, self.gradients = [], [], {}, {}
        self.dropped = []
        self.handed = []
        if self.backward is not None:
            self.backward.forget()

    def _number(self, value: Any) -> int:
        """A new number for an object that is not an array."""
        arrays = self.recording.arrays
        number = self.recording.numbers[id(value)] = len(arrays)
        arrays.append(value)
        return number

    # What the effects of the run are called

    def _target(self, effects: Effects, tensor: Tensor) -> Slot | Tensor | None:
        key = id(tensor)
        if key in self.arguments:
            return effects.buffer(self.arguments[key])
        if key in self.gradients:
            number = self.recording.numbers.get(key)
            return effects.buffer(self._number(tensor) if number is None else number)
        if key in self.carried:
            return effects.buffer(self.carried[key])
        if tensor not in self.world:
            return None
        self.pinned[key] = tensor
        return tensor

    def _source(self, array: Any) -> int | None:
        slot = self.recording.slot_of(array)
        return None if slot is None else slot.number

    def _effects(self) -> Effects:
        effects = Effects(self._target, self._source)
        effects.add(self.world.changes())
        return effects

    def _complete(self, outside: Outside, effects: Effects, results: Iterable[Any]) -> None:
        if effects.refusal:
            self.recording.break_off(effects.refusal)
            return
        outside.function = effects.function(results)
        outside.reads = effects.reads

    # What happens on the way

    def call_outside(self, function: Callable, arguments: tuple, options: dict) -> Any:
        """Call what replays call too: all effects so far come before it."""
        recording = self.recording
        owner = type(arguments[0]).__name__ if arguments else ""
        outside = recording.called_outside(function, f"{owner}.{function.__name__}")
        effects = self._effects()
        given = []
        for value in (*arguments, *options.values()):
            if isinstance(value, Tensor):
                value = effects.tensor(value)
            elif type(value) not in PLAIN:
                self.handed.append((value, outside))
            given.append(value)
        count = len(arguments)
        effects.do(_called, function, given[:count], tuple(options), given[count:])
        self._complete(outside, effects, self._carry(effects, outside))
        with self._unrecorded():
            result = function(*arguments, **options)
        if result is not None:
            recording.break_off(f"{outside.title}() returns a value")
        self.world.look()
        return result

    @contextmanager
    def _unrecorded(self) -> Iterator[None]:
        self.recording.paused = self.trace.paused = True
        try:
            yield
        finally:
            self.recording.paused = self.trace.paused = False

    def make_beforehand(self, make: Callable[..., Tensor], arguments: tuple) -> Tensor:
        """A Tensor that takes part as if it had been there before."""
        with self._unrecorded():
            made = make(*arguments)
        self.world.add(made)
        return made

    def read_outside(self, read: Callable[..., tuple], arguments: tuple) -> tuple:
        """Numbers that each replay reads where they stand."""
        return untraced(self._read_outside, read, arguments)

    def _read_outside(self, read: Callable[..., tuple], arguments: tuple) -> tuple:
        outside = self.recording.called_outside(partial(read, *arguments), read.__name__)
        self.handed += [(a, outside) for a in arguments if type(a) not in PLAIN]
        numbers = []
        for value in read(*arguments):
            number = LiveNumber(value)
            number.number = self._number(number)
            outside.makes.append(number.number)
            numbers.append(number)
        return tuple(numbers)

    def _carry(self, effects: Effects, outside: Outside) -> list[Slot]:
        """The slots of the Tensors that were made: later calls may change them."""
        for key in effects.made:
            self.carried[key] = self._number(effects.kept[key])
            outside.makes.append(self.carried[key])
            self.world.tensors[key] = effects.kept[key]
        return list(effects.made.values())

    def _finish(self) -> None:
        """Write down what becomes of the Tensors at the end, and what is returned."""
        recording = self.recording
        if recording.broken:
            return
        found, self.structure = tree_flatten(self.result)
        try:
            for tensor in [value for value in found if isinstance(value, Tensor)]:
                refresh(tensor)
        except RuntimeError as error:
            return recording.break_off(str(error))
        with_history = [
            t for t in found if isinstance(t, Tensor) and not self._is_outer(t) and t._requires_grad
        ]
        unique = list({id(t): t for t in with_history}.values())
        if unique and not any(is_spent(t) for t in unique):
            self._record_backward(unique)
        if recording.broken:
            return
        end = recording.called_outside(None, "return")  # type: ignore[arg-type]
        effects = self._effects()
        results = [self._returned(effects, value) for value in found]
        made = [effects.made.get(id(t)) for t in unique]
        if self.backward is not None:
            self.backward.connect(effects, made)
        else:
            for target in made:
                effects.do(setattr, target, "_requires_grad", True)
                effects.do(setattr, target, "_edge", effects.call(SpentNode, (), None, cpu))
        one = len(results) == 1 and self.result is found[0]
        value = results[0] if one else effects.call(self.structure.unflatten, results)
        self._complete(end, effects, [value])
        end.makes = [self._number(end)]

    def _is_outer(self, tensor: Tensor) -> bool:
        """Whether a Tensor was there before."""
        return tensor in self.world and id(tensor) not in self.carried

    def _returned(self, effects: Effects, value: Any) -> Any:
        if isinstance(value, Tensor):
            base = value._base
            if base is not None and value not in self.world:
                if base in self.world or id(base) in self.arguments:
                    effects.refuse("a view of what is outside of the step is returned")
            if value._writes.__class__ is list and value not in self.world:
                shared = [t for t in self.world.tensors.values() if t._writes is value._writes]
                if shared:
                    effects.refuse("memory from outside of the step is returned")
            return effects.tensor(value)
        if type(value) not in PLAIN and not any(leaf is value for leaf in self.leaves):
            effects.refuse(f"an object of class {type(value).__name__} is returned")
        return value

    def _record_backward(self, outputs: list[Tensor]) -> None:
        recording = self.recording
        stops = [t for t in self.tensors if t._requires_grad]
        inputs, nodes = leaves_of(outputs, stops)
        if any(t._device is not cpu for t in (*outputs, *inputs)):
            return recording.break_off("tensors of several devices are returned")
        if has_hooks(nodes, inputs):
            return recording.break_off("hooks wait for the gradients of what is returned")
        if any(t not in self.world for t in inputs):
            return recording.break_off("a leaf that requires grad is made in the step")
        raw = recording._backend
        grads = [raw.ones_like(t._array) for t in outputs]
        numbers = [recording._slot(g, False).number for g in grads]
        forward, recording.program = recording.program, []
        try:
            tensors = tuple([wrap(g) for g in grads])
            with self.trace:
                results = captured(tuple(outputs), tuple(inputs), tensors, True, False, False)
        finally:
            calls, recording.program = recording.program, forward
        self.backward = BackwardRecord(self, calls, numbers, outputs, inputs, results)

    # What comes of it

    def programs(self, watch: Watch) -> tuple[Program, list[str], dict[str, Any]] | None:
        """The program, the lines of its replay, and what the names in them stand for. None where
        there can be none, and why in ``reason``."""
        numbers, lines, scope = self._entry(watch)
        known = self._outer_arrays(watch, numbers)
        if known is None:
            return None
        if self.backward is not None:
            self.backward.complete(known)
        used = {n for call in self.calls for n in call.reads}
        constants = {n: a for n, a in known.items() if n in used}
        outputs = [self.calls[-1].makes[0]]
        shapes = self.recording.shapes
        return Program(self.calls, numbers, constants, outputs, shapes), lines, scope

    def counters(self, constants: dict[int, Any]) -> dict[int, list]:
        """The lists that count the writes into each constant; without those that nobody counts."""
        found = {}
        for number, array in constants.items():
            holders = self.world.holders.get(id(array), [])
            if all(t._writes.__class__ is list for t in holders):
                found[number] = [t._writes for t in holders]
        return found

    def _entry(self, watch: Watch) -> tuple[list[int], list[str], dict[str, Any]]:
        """The buffers that a run is given, and the lines that give them."""
        recording = self.recording
        used = {n for call in self.calls for n in call.reads}
        numbers: list[int] = []
        texts: list[str] = []
        scope: dict[str, Any] = {}

        def give(number: Any, text: str) -> None:
            if number in used and number not in numbers:
                numbers.append(number)
                texts.append(text)

        places = {id(leaf): i for i, leaf in reversed(list(enumerate(self.leaves)))}

        def named(holder: Tensor) -> str | None:
            if id(holder) in self.arguments:
                return f"leaves[{places[id(holder)]}]"
            if id(holder) not in watch.tensors:
                return None
            name = f"holder{len(scope)}"
            scope[name] = holder
            return name

        for t in self.tensors:
            give(recording.numbers[id(t._array)], f"leaves[{places[id(t)]}]._array")
            give(self.arguments[id(t)], f"leaves[{places[id(t)]}]")
        for holder, grad in self.gradients.values():
            number = recording.numbers.get(id(grad))
            of_array = recording.numbers.get(id(grad._array))
            if number not in used and of_array not in used:
                continue
            name = named(holder)
            if name is None:
                recording.break_off("a gradient is read of a tensor that cannot be watched")
                break
            give(of_array, f"{name}._grad._array")
            give(number, f"{name}._grad")
        lines = []
        for holder, grad in self.dropped:
            reads = used.intersection(map(recording.numbers.get, (id(grad), id(grad._array))))
            name = named(holder)
            if name is not None and not reads and holder._grad is not grad:
                lines.append(f"{name}._grad = None")
        return numbers, [*lines, f"return run({', '.join(texts)})[0]"], scope

    def _outer_arrays(self, watch: Watch, given: list[int]) -> dict[int, Any] | None:
        """The arrays that programs read and do not make, by number: each belongs to a Tensor that
        is watched."""
        recording = self.recording
        found: dict[int, Any] = {}
        gradients = set(self.backward.given) if self.backward else set()
        calls = [*self.calls, *(self.backward.calls if self.backward else [])]
        arguments = {recording.numbers[id(t._array)] for t in self.tensors}
        for number in recording.inputs:
            if number in given or number in gradients or number in arguments:
                continue
            array = recording.arrays[number]
            holders = self.world.holders.get(id(array), [])
            if not any(id(t) in watch.tensors for t in holders):
                call = next((c for c in calls if number in c.reads), None)
                if call is None:
                    continue
                title = getattr(call, "name", "?")
                reason = f"{title}: an array is read that comes from where it cannot be watched"
                recording.break_off(reason, call.line)
                return None
            found[number] = array
        for value, call in self.handed:
            if id(value) not in watch.seen:
                reason = f"{call.title}() is given an object that the step makes"
                recording.break_off(reason, call.line)
        strangers = [t for key, t in self.pinned.items() if key not in watch.tensors]
        if strangers:
            shape = list(strangers[0].shape)
            recording.break_off(f"a tensor of shape {shape} is changed that cannot be watched")
        return None if recording.broken else found


class BackwardRecord:
    """The backward of what a function returned: a program from gradients to gradients.

    Attributes:
        run: the program, once it was printed.
        saved: the buffers of the forward that it reads.
    """

    run: Any = None
    program: Any = None

    def __init__(
        self, attempt: Attempt, calls: list, given: list[int], outputs: list[Tensor],
        inputs: list[Tensor], results: list,
    ) -> None:  # fmt: skip
        recording = attempt.recording
        self.attempt: Any = attempt
        self.calls = calls
        self.given = given
        self.outputs = outputs
        self.inputs = inputs
        slots = [None if r is None else recording.slot_of(r._array) for r in results]
        self.results = [s.number for s in slots if s is not None]
        self.reached = [t for t, s in zip(inputs, slots, strict=True) if s is not None]
        made = {n for call in calls for n in call.makes}
        read = {n for call in calls for n in call.reads} | set(self.results)
        self.outer = sorted(read - made - set(given))
        inside = {n for call in attempt.calls for n in call.makes}
        inside.update(recording.numbers[id(t._array)] for t in attempt.tensors)
        self.saved = [n for n in self.outer if n in inside]

    def connect(self, effects: Effects, made: list[Slot | None]) -> None:
        """Calls that give the returned Tensors their history: one node for all."""
        attempt = self.attempt
        inputs = [attempt._target(effects, t) for t in self.reached]
        counted = []
        for number in self.outer:
            array = attempt.recording.arrays[number]
            for t in [*attempt.world.holders.get(id(array), []), *attempt.tensors]:
                if t._array is array and t._writes.__class__ is list:
                    counted.append(attempt._target(effects, t))
                    break
        for t, target in zip(self.outputs, made, strict=True):
            if attempt._source(t._array) in self.saved:
                counted.append(target)
        saved = tuple([effects.buffer(n) for n in self.saved])
        metas = [geometry(t._array)[:2] for t in self.outputs]
        effects.do(connect, self, inputs, saved, counted, made, metas)

    def forget(self) -> None:
        """Let go of the Tensors that took part."""
        self.attempt = None
        self.calls, self.outputs, self.inputs, self.reached = [], [], [], []

    def complete(self, known: dict[int, Any]) -> None:
        """Make the program, now that it is known which arrays are the same in each run."""
        constants = {n: known[n] for n in self.outer if n in known and n not in self.saved}
        given, shapes = [*self.given, *self.saved], self.attempt.recording.shapes
        self.program = Program(self.calls, given, constants, self.results, shapes)


def _called(function: Callable, arguments: list, names: tuple, options: list) -> None:
    function(*arguments, **dict(zip(names, options)))
