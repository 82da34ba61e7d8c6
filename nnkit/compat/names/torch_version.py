"""The version of torch that is answered for."""

from __future__ import annotations

import re
from typing import Any


def _release(version: Any) -> tuple[int, ...]:
    if not isinstance(version, tuple):
        version = re.findall(r"\d+", str(version).partition("+")[0])
    return tuple(int(part) for part in version if str(part).isdigit())


class TorchVersion(str):
    """A version that is compared by its numbers, with strings, tuples and `Version` alike.

    Example:
        >>> TorchVersion("2.13.0+nnkit") >= (2, 1), TorchVersion("2.13.0") < "2.9"
        (True, False)
    """

    def _padded(self, other: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        own, its = _release(self), _release(other)
        length = max(len(own), len(its))
        return own + (0,) * (length - len(own)), its + (0,) * (length - len(its))

    def __lt__(self, other: Any) -> bool:
        own, its = self._padded(other)
        return own < its

    def __le__(self, other: Any) -> bool:
        own, its = self._padded(other)
        return own <= its

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and "+" in other:
            return str.__eq__(self, other)
        own, its = self._padded(other)
        return own == its

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion("2.13.0+nnkit")
