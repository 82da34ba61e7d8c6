"""Ordinary programs of many kinds, each written once for nnkit and torch.

A program takes the framework's module and gives the numbers it saw, step by step. It uses no more
of the framework than its own imports would, so that ``import nnkit as torch`` is all it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.programs import (
    attention,
    estimation,
    gradients,
    images,
    language,
    learning,
    methods,
    models,
    recipes,
    recurrent,
    science,
    workflow,
)

SUBJECTS = (
    *(learning, images, recurrent, language, attention, gradients, workflow, recipes),
    *(methods, models, science, estimation),
)
PROGRAMS: dict[str, Callable[[Any], list]] = {
    program.__name__: program for subject in SUBJECTS for program in subject.PROGRAMS
}
