"""Whole numbers, element by element."""

from __future__ import annotations


def gcd(B, x, y):
    """Euclid's algorithm."""
    x, y = B.abs(B.add(x, B.zeros_like(y))), B.abs(B.add(y, B.zeros_like(x)))
    while B.item(B.any(B.ne(y, 0), None, False)):
        none = B.eq(y, 0)
        rest = B.fmod(x, B.where(none, B.ones_like(y), y))
        x, y = B.where(none, x, y), B.where(none, y, rest)
    return x


def lcm(B, x, y):
    common = B.gcd(x, y)
    divisor = B.where(B.eq(common, 0), B.ones_like(common), common)
    return B.abs(B.mul(B.div_trunc(x, divisor), y))
