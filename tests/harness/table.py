"""All rows, collected from the modules in ``tests/ops``."""

from __future__ import annotations

import importlib
import pkgutil

import tests.ops
from tests.harness.row import OpRow


def _collect() -> dict[str, OpRow]:
    rows: dict[str, OpRow] = {}
    for found in pkgutil.walk_packages(tests.ops.__path__, "tests.ops."):
        if found.ispkg:
            continue
        subject = found.name.removeprefix("tests.ops.").replace(".", "/")
        for row in importlib.import_module(found.name).ROWS:
            if row.name in rows:
                raise ValueError(f"two rows for {row.name}: tests/ops/{subject}.py has the second")
            rows[row.name] = row
            SUBJECT[row.name] = subject
    return rows


SUBJECT: dict[str, str] = {}
ROWS = _collect()
