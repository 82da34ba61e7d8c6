"""`FileCheck`: what a text must have in it, in order; the checks of LLVM's program of that name."""

from __future__ import annotations

import re
from typing import Any, NoReturn

_LINE = re.compile(r"#\s*CHECK(?:-(NEXT|SAME|NOT|DAG|REGEX|COUNT(?:-EXACTLY)?-\d+))?:[ \t]*(.*)")


class FileCheck:
    """Checks of a text, which `run` does in the order in which they were added.

    Raises:
        RuntimeError: in `run`, where a check fails or there is none.
    """

    def __init__(self) -> None:
        self._checks: list[tuple[str, str]] = []

    def check(self, text: str) -> FileCheck:
        """It comes after what the check before has found."""
        return self._add("", text)

    def check_next(self, text: str) -> FileCheck:
        """It comes on the next line."""
        return self._add("NEXT", text)

    def check_same(self, text: str) -> FileCheck:
        """It comes on the same line."""
        return self._add("SAME", text)

    def check_not(self, text: str) -> FileCheck:
        """It does not come before what the next check finds."""
        return self._add("NOT", text)

    def check_dag(self, text: str) -> FileCheck:
        """It comes, before or after those of neighbouring checks of this kind."""
        return self._add("DAG", text)

    def check_regex(self, pattern: str) -> FileCheck:
        """Something that a regular expression fits comes."""
        return self._add("REGEX", pattern)

    def check_count(self, text: str, count: int, exactly: bool = False) -> FileCheck:
        """It comes ``count`` times, and with ``exactly`` not once more before the next check."""
        return self._add(f"COUNT-{'EXACTLY-' * exactly}{count}", text)

    def check_source_highlighted(self, text: str) -> FileCheck:
        """It comes, and is underlined by ``~`` on the next line."""
        return self._add("HIGHLIGHTED", text)

    def run(self, *texts: Any) -> None:
        """Check a text; of two, the first has the checks in lines such as ``# CHECK-NEXT: x``."""
        *given, text = map(str, texts)
        for kind, checked in _LINE.findall("".join(given)):
            self._add(kind, checked.strip())
        if not self._checks:
            raise RuntimeError("No checks have been added to this instance of FileCheck")
        _Search(text).run(self._checks)

    def _add(self, kind: str, text: str) -> FileCheck:
        exactly = kind.startswith("COUNT-EXACTLY")
        self._checks.append((kind.replace("EXACTLY-", ""), text))
        return self._add("NOT", text) if exactly else self


class _Search:
    """A text and how far its checks have come."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = 0  # where the last match ended
        self.refused: list[str] = []  # the texts of `check_not` that wait for the next match
        self.dag_start: int | None = None  # where the checks in any order began, while they run

    def run(self, checks: list[tuple[str, str]]) -> None:
        for kind, text in checks:
            if kind == "NOT":
                self.dag_start = None
                self.refused.append(text)
            elif kind == "DAG":
                if self.dag_start is None:
                    self.dag_start = self.start
                self.find(kind, text, self.dag_start)
            else:
                self.dag_start = None
                times = int(kind.rpartition("-")[2]) if kind.startswith("COUNT") else 1
                for _ in range(times):
                    self.find(kind, text, self.start)
        self.refuse(len(self.text))

    def find(self, kind: str, text: str, start: int) -> None:
        """Find a text, or what a pattern fits, and go on behind it."""
        pattern = text if kind == "REGEX" else re.escape(text)
        rest = self.text[start:]
        match = next(filter(self.fits(kind, rest), re.finditer(pattern, rest)), None)
        if match is None:
            kind_of_text = "regex " * (kind == "REGEX")
            message = f'Expected to find {kind_of_text}"{text}" but did not find it'
            self.fail(message, kind, text, rest)
        between = rest[: match.start()].count("\n")
        if kind == "NEXT" and not between:
            self.fail('Expected to find "\\n" but did not find it', kind, text, rest)
        if kind == "NEXT" and between > 1 or kind == "SAME" and between:
            self.fail('Expected to not find "\\n" but found it', kind, text, rest)
        self.refuse(start + match.start())
        self.start = max(self.start, start + match.end())

    def fits(self, kind: str, rest: str) -> Any:
        """Whether a match is one: all are, but those to be underlined that are not."""

        def is_highlighted(match: re.Match) -> bool:
            column = match.start() - (rest.rfind("\n", 0, match.start()) + 1)
            below = rest[match.end() :].partition("\n")[2].partition("\n")[0]
            return below[column:].startswith("~" * len(match[0]))

        return is_highlighted if kind == "HIGHLIGHTED" else bool

    def refuse(self, end: int) -> None:
        """Fail if a text that must not come does, before ``end``."""
        for text in self.refused:
            if text in self.text[self.start : end]:
                message = f'Expected to not find "{text}" but found it'
                self.fail(message, "NOT", text, self.text[self.start : end])
        self.refused = []

    def fail(self, message: str, kind: str, text: str, searched: str) -> NoReturn:
        name = f"CHECK{'-' * bool(kind)}{kind}"
        raise RuntimeError(f"{message}\nSearched string:\n{searched}\nFrom {name}: {text}")
