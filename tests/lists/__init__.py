"""A backend in plain Python lists: how little a device needs."""

from __future__ import annotations

from nnkit.backend.algebra import Backend
from tests.lists.formulas import print_formula

BACKEND = Backend("tests.lists", print_formula, lambda name, kernel: kernel)
