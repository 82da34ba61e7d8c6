"""Tables of measurements."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nnkit.utils.benchmark.measurement import (
    Measurement,
    _log10,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

_BOLD, _PLAIN = "\033[1m", "\033[0m"
_BEST, _GOOD = f"\033[92m{_BOLD}", f"\033[34m{_BOLD}"
_BAD, _VERY_BAD = "\033[2m\033[91m", f"\033[31m{_BOLD}"
_SPREAD_WIDTH = 7  # of " (! 12%)" and its like
_Cell = Measurement | None
_Key = tuple[int, str | None, str]


class Colorize(enum.Enum):
    """Whether the times of a table have colours, and what each is compared with."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


@dataclass
class _Style:
    """How tables are drawn."""

    trim: bool = False
    colors: Colorize = Colorize.NONE
    warnings: bool = False


class Compare:
    """A table of measurements, for each label one.

    A row is a number of threads, an ``env`` and a sub-label (or statement), a column a description.
    Times of equal tasks are merged.

    Args:
        results: the measurements.

    Raises:
        ValueError: one of them is no `Measurement`.

    Example:
        >>> from nnkit.utils.benchmark import Measurement, TaskSpec
        >>> tasks = [TaskSpec("f(x)", "", label="f", description=f"n={n}") for n in (1, 2)]
        >>> table = Compare([Measurement(1, [n * 1e-3], t) for n, t in enumerate(tasks, 1)])
        >>> table.print()
        [---------- f -----------]
                    |  n=1  |  n=2
        1 threads: ---------------
              f(x)  |  1.0  |  2.0
        <BLANKLINE>
        Times are in milliseconds (ms).
        <BLANKLINE>
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._style = _Style()
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements.

        Raises:
            ValueError: one of them is no `Measurement`.
        """
        results = list(results)
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(
                    f"Compare(): results must be Measurements, got {type(each).__name__}"
                )
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """From now on, show the figures alone that can be believed."""
        self._style.trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """From now on, colour times by how they compare with the best of the column or row."""
        self._style.colors = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """From now on, show the spread of times beside them where it is great."""
        self._style.warnings = True

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            groups.setdefault(each.label, []).append(each)
        return "\n".join(_Table(group, self._style).render() for group in groups.values())


class _Table:
    def __init__(self, results: list[Measurement], style: _Style) -> None:
        self.results, self.style = results, style
        self.unit, self.scale = select_unit(min(r.median for r in results))
        # Sorted by threads and environment; rows of both keep the order they came in.
        self.keys = sorted(ordered_unique(map(_row_key, results)), key=lambda key: key[:2])
        self.names = ordered_unique(r.description for r in results)
        cells = {(_row_key(r), r.description): r for r in results}
        self.rows = [[cells.get((key, name)) for name in self.names] for key in self.keys]
        self.columns = [_Column(column, self.scale, style) for column in zip(*self.rows)]

    def render(self) -> str:
        lines = [["", *self.names], *self._cells()]
        widths = [max(map(len, column)) for column in zip(*lines)]
        table = [_joined(text.center(width) for text, width in zip(lines[0], widths))]
        overall = len(table[0])
        threads = 0
        for key, row, line in zip(self.keys, self.rows, lines[1:]):
            if key[0] != threads:
                threads = key[0]
                table.append(f"{threads} threads: ".ljust(overall, "-"))
            centered = [text.center(width) for text, width in zip(line[1:], widths[1:])]
            table.append(
                _joined([line[0].ljust(widths[0]), *self._colored(threads, row, centered)])
            )
        title = f" {self.results[0].label or ''} ".center(overall - 2, "-")
        table = [f"[{title}]", *table, ""]
        table.append(f"Times are in {unit_to_english(self.unit)}s ({self.unit}).")
        if self.style.warnings and any(r.has_warnings for r in self.results):
            table.append(
                "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."
            )
        return "\n".join([*table, ""])

    def _cells(self) -> list[list[str]]:
        """The text of each row: its name, with the environment where it changes, and times."""
        environments = {r.env for r in self.results}
        several = len(environments) > 1
        width = max(len(str(env)) for env in environments) if several else 0
        lines, before = [], None
        for key, row in zip(self.keys, self.rows):
            env = f"({key[1]})" if several and key[:2] != before else ""
            before = key[:2]
            times = [column.text(cell) for column, cell in zip(self.columns, row)]
            lines.append([f"  {env.ljust(width + 4)}{key[2]}", *times])
        return lines

    def _colored(self, threads: int, row: Sequence[_Cell], texts: list[str]) -> list[str]:
        if self.style.colors is Colorize.NONE:
            return texts
        if self.style.colors is Colorize.ROWWISE:
            rivals = [row] * len(row)
        else:
            group = [r for key, r in zip(self.keys, self.rows) if key[0] == threads]
            rivals = list(zip(*group))
        return [
            text if cell is None else _color(text, cell.median, _best(cells))
            for text, cell, cells in zip(texts, row, rivals)
        ]


class _Column:
    """The form of the times of a column."""

    def __init__(self, cells: Sequence[_Cell], scale: float, style: _Style) -> None:
        there = [cell for cell in cells if cell is not None]
        digits = [math.ceil(_log10(cell.median / scale)) for cell in there]
        decimals = 1
        if style.trim:
            decimals = min(max(c.significant_figures - d, 0) for c, d in zip(there, digits))
        width = max(digits) + decimals + (1 if decimals else 0)
        self.number = f">{width}.{decimals}f"
        self.scale, self.trim = scale, style.trim
        self.warn = style.warnings and any(cell.has_warnings for cell in there)

    def text(self, cell: _Cell) -> str:
        value, spread = 1.0, ""
        figures = 1
        if cell is not None:
            value, figures = cell.median / self.scale, cell.significant_figures
            if self.warn and cell.has_warnings:
                spread = f" (! {cell.iqr / cell.median * 100:.0f}%)"
        if self.trim:
            value = trim_sigfig(value, figures)
        text = format(value, self.number) + spread.rjust(_SPREAD_WIDTH if self.warn else 0)
        return text if cell is not None else " " * len(text)


def _row_key(result: Measurement) -> _Key:
    return result.num_threads, result.env, result.as_row_name


def _joined(texts: Iterable[str]) -> str:
    return "  |  ".join(texts)


def _best(cells: Iterable[_Cell]) -> float:
    return min(cell.median for cell in cells if cell is not None)


def _color(text: str, value: float, best: float) -> str:
    if value <= best * 1.01 or value <= best + 100e-9:
        color = _BEST
    elif value <= best * 1.1:
        color = _GOOD
    elif value >= best * 5:
        color = _VERY_BAD
    elif value >= best * 2:
        color = _BAD
    else:
        return text
    return f"{color}{text}{_PLAIN}{_PLAIN}"
