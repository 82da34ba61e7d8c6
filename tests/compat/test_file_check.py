"""`torch.testing.FileCheck`: what is found in which order, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from nnkit.compat.names import testing

# Checks, a text, and of what the first that fails is refused; "" if none is.
CASES: list[tuple[Callable[[Any], Any], str, str]] = [
    (lambda c: c.check("a").check_next("b"), "xa\nb", ""),
    (lambda c: c.check("a").check_next("b"), "xa\nc\nb", r'not find "\\n" .*CHECK-NEXT: b'),
    (lambda c: c.check("a").check_next("b"), "xa b", r'to find "\\n" .*CHECK-NEXT: b'),
    (lambda c: c.check("a").check_same("b"), "xab", ""),
    (lambda c: c.check("a").check_same("b"), "xa\nb", "CHECK-SAME: b"),
    (lambda c: c.check_not("a").check("b"), "c b a", ""),
    (lambda c: c.check_not("a").check("b"), "a b", 'not find "a" but found it.*CHECK-NOT: a'),
    (lambda c: c.check("b").check_not("a"), "c b a", "CHECK-NOT: a"),
    (lambda c: c.check("b").check_not("a").check_not("d").check("c"), "acbdca", "CHECK-NOT: d"),
    (lambda c: c.check_count("a", 2), "a a a", ""),
    (lambda c: c.check_count("a", 3), "a a", "CHECK-COUNT-3: a"),
    (lambda c: c.check_count("a", 2, exactly=True), "a a a", "CHECK-NOT: a"),
    (lambda c: c.check_count("a", 2, exactly=True).check("b"), "a a b a", ""),
    (lambda c: c.check_dag("a").check_dag("b").check("c"), "b a c", ""),
    (lambda c: c.check_dag("a").check_dag("b").check("c"), "b c a", 'find "c" but did not find it'),
    (lambda c: c.check_regex("a+b"), "xaab", ""),
    (lambda c: c.check_regex("^a+b"), "xaab", "Expected to find regex"),
    (lambda c: c.check_source_highlighted("bc"), "a bc\n  ~~ <--- HERE\n", ""),
    (lambda c: c.check_source_highlighted("b"), "a b\n~ <--- HERE\n", "Expected to find"),
    (lambda c: c, "a", "No checks"),
]
WRITTEN = [
    ("# CHECK: a\n# CHECK-NEXT: b", "a\nb", ""),
    ("# CHECK: a\n# CHECK-NOT: b", "a\nb", "CHECK-NOT: b"),
    ("# CHECK-COUNT-2: a\n# CHECK-DAG: c\n# CHECK-DAG: b", "a\na b c", ""),
    ("# CHECK-COUNT-EXACTLY-2: a\n", "a\na a", "CHECK-NOT: a"),
]


def _check(run: Callable[[], None], refused: str) -> None:
    if not refused:
        run()
        return
    with pytest.raises(RuntimeError, match=f"(?s){refused}"):
        run()


def _made(lib: ModuleType) -> Any:
    return (lib.testing if lib.__name__ == "torch" else testing).FileCheck()


@pytest.mark.parametrize(("add", "text", "refused"), CASES)
def test_checks(lib: ModuleType, add: Callable[[Any], Any], text: str, refused: str) -> None:
    check = add(_made(lib))
    _check(lambda: check.run(text), refused)


@pytest.mark.parametrize(("checks", "text", "refused"), WRITTEN)
def test_checks_in_a_text(lib: ModuleType, checks: str, text: str, refused: str) -> None:
    _check(lambda: _made(lib).run(checks, text), refused)
