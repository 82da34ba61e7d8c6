"""Times of statements, with their spread, and tables that compare them.

Example:
    >>> from nnkit.utils.benchmark import Compare, Timer
    >>> timer = Timer("x + 1", "x = torch.ones(3)", label="add", description="now")
    >>> found = timer.blocked_autorange(min_run_time=0.01)
    >>> found.median > 0, found.number_per_run >= 1
    (True, True)
    >>> str(Compare([found])).splitlines()[1].split()
    ['|', 'now']
"""

from __future__ import annotations

from nnkit.utils.benchmark.compare import Colorize, Compare
from nnkit.utils.benchmark.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from nnkit.utils.benchmark.measurement import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from nnkit.utils.benchmark.sparse_fuzzer import FuzzedSparseTensor
from nnkit.utils.benchmark.timer import Language, Timer, timer

__all__ = [
    "Colorize",
    "Compare",
    "FuzzedParameter",
    "FuzzedSparseTensor",
    "FuzzedTensor",
    "Fuzzer",
    "Language",
    "Measurement",
    "ParameterAlias",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
