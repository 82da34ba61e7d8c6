"""torch.utils._import_utils: which packages there are."""

from __future__ import annotations

import importlib.util
from types import ModuleType


def _check_module_exists(name: str) -> bool:
    """Whether there is a module of that name, which is not imported for it."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def dill_available() -> bool:
    """Whether dill is installed."""
    return _check_module_exists("dill")


def import_dill() -> ModuleType | None:
    """dill, which leaves the standard pickler as it is; None where it is not installed."""
    if not dill_available():
        return None
    dill = importlib.import_module("dill")
    dill.extend(use_dill=False)
    return dill
