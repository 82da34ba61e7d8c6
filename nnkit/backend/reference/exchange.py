"""Primitives that tell values to Python."""

from __future__ import annotations


def check(B, condition, error, message):
    """Raise ``error`` unless the condition holds everywhere."""
    if not B.item(B.all(condition, None, False)):
        raise error(message)
