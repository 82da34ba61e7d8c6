"""Objects that can be enumerated while they live: what a recording looks at."""

from __future__ import annotations

import gc
from typing import Any

from nnkit.autograd.compiled import bind_living


class Living:
    """A base class: the collector's objects are gone through for those of it."""

    __slots__ = ()

    @classmethod
    def _living(cls) -> list[Any]:
        kinds: list[type] = [cls]
        for kind in kinds:  # those of subclasses are added on the way
            kinds += kind.__subclasses__()
        # Each object refers to its class.
        found = [value for value in gc.get_referrers(*kinds) if cls in type(value).__mro__]
        return sorted(found, key=id)  # in one order each time


Living = bind_living(Living)
