"""All rows, collected from the modules in ``tests/ops``."""

from __future__ import annotations

import importlib
import pkgutil

import tests.ops
from tests.harness.row import OpRow


def _collect() -> dict[str, OpRow]:
    rows: dict[str, OpRow] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(tests.ops.__path__)):
        for row in importlib.import_module(f"tests.ops.{module}").ROWS:
            if row.name in rows:
                raise ValueError(f"two rows for {row.name}: tests/ops/{module}.py has the second")
            rows[row.name] = row
            SUBJECT[row.name] = module
    return rows


SUBJECT: dict[str, str] = {}
ROWS = _collect()
