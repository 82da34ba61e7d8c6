"""`PassManager`: passes that run one after the other, in an order that obeys constraints."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from nnkit.fx.passes.infra.pass_base import PassResult
from nnkit.nn import Module

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]


def _name(given: Any) -> str:
    return getattr(given, "__name__", type(given).__name__)


def pass_result_wrapper(fn: Pass) -> Pass:
    """The pass of a function that changes a program and returns nothing: it always says changed.

    Source: ``torch.fx.passes.infra.pass_manager.pass_result_wrapper``.
    """

    @functools.wraps(fn, updated=())
    def call(module: Module) -> PassResult:
        result = fn(module)
        return result if isinstance(result, PassResult) else PassResult(module, True)

    call.__name__ = _name(fn)
    return call


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """The constraint that ``this`` does not run after ``that``.

    Source: ``torch.fx.passes.infra.pass_manager.this_before_that_pass_constraint``.
    """
    return lambda earlier, later: not (earlier == that and later == this)


def _validate_pass_schedule_constraint(constraint: Constraint, passes: list[Pass]) -> None:
    for index, later in enumerate(passes):
        for earlier in passes[:index]:
            if not constraint(earlier, later):
                raise RuntimeError(
                    f"pass schedule constraint violated: {_name(earlier)} runs before "
                    f"{_name(later)}"
                )


def _topological_sort_passes(passes: list[Pass], constraints: list[Constraint]) -> list[Pass]:
    """The passes in an order that obeys the constraints: as they are where nothing is said."""
    if not constraints:
        return passes
    before = [
        {i for i, b in enumerate(passes) if i != k and not all(c(a, b) for c in constraints)}
        for k, a in enumerate(passes)
    ]
    ready = [index for index, needed in enumerate(before) if not needed]
    for done in ready:  # which grows
        for index, needed in enumerate(before):
            if done in needed:
                needed.remove(done)
                if not needed:
                    ready.append(index)
    if len(ready) < len(passes):
        rest = [each for each, needed in zip(passes, before, strict=True) if needed]
        raise RuntimeError(f"Circular dependency detected within the following passes: {rest}")
    return [passes[index] for index in ready]


class PassManager:
    """Passes in order.

    Args:
        passes: functions of a program that return a `PassResult`.
        constraints: functions of two passes that say whether the first may run before the second.
        steps: how often all of them run, as long as one changes something.
        run_checks_after_each_pass: check the program after each pass, not only at the end.
        suppress_check_failures: do not check it at all.

    Raises:
        RuntimeError: no order obeys the constraints.
        Exception: a pass or a check fails; the message names it.

    Source: ``torch.fx.passes.infra.pass_manager.PassManager``.

    Example:
        >>> import nnkit
        >>> def double(program):
        ...     last = program.graph.output_node()
        ...     with program.graph.inserting_before(last):
        ...         last.args = (program.graph.call_function(nnkit.add, (last.args[0],) * 2),)
        >>> program = nnkit.fx.symbolic_trace(lambda x: x.exp())
        >>> PassManager([pass_result_wrapper(double)], steps=2)(program).graph_module.graph.lint()
        >>> program(nnkit.zeros(1))
        tensor([4.])
    """

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes, self.constraints = passes or [], constraints or []
        self.steps = 1 if steps is None else steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._checks: list[Callable[[Module], None]] = []
        self._validated = False

    def add_pass(self, _pass: Pass) -> None:
        """Add a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Check that the passes as they stand obey the constraints.

        Raises:
            RuntimeError: they do not.
        """
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def solve_constraints(self) -> None:
        """Put the passes into an order that obeys the constraints."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[[Module], None]) -> None:
        """Let a function of the program check it after the passes.

        Raises:
            TypeError: it takes more or fewer arguments.
        """
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager: a check takes one argument, the program")
        self._checks.append(check)

    def check(self, module: Module) -> None:
        """Check a program."""
        for check in () if self.suppress_check_failures else self._checks:
            check(module)

    def __call__(self, module: Module) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed_at_all = False
        for _ in range(self.steps):
            changed = False
            for index, each in enumerate(self.passes):
                result = self._run(each, module, self.passes[:index])
                module, changed = result.graph_module, changed or result.modified
            changed_at_all |= changed
            if not changed:
                break
        self.check(module)
        return PassResult(module, changed_at_all)

    def _run(self, each: Pass, module: Module, before: list[Pass]) -> PassResult:
        try:
            result = each(module)
            if not isinstance(result, PassResult):
                raise TypeError(
                    f"{_name(each)} does not return a PassResult: wrap it in pass_result_wrapper"
                )
            if hasattr(result.graph_module, "recompile"):
                result.graph_module.recompile()
            if self.run_checks_after_each_pass:
                self.check(result.graph_module)
        except Exception as error:
            raise Exception(
                f"An error occurred when running the '{_name(each)}' pass after the following "
                f"passes: {[*map(_name, before)]}"
            ) from error
        return result
