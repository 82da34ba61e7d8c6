"""torch.jit.annotations: types of numbers for several dimensions, and those of `typing`."""

from __future__ import annotations

import typing

for _name in ("Any", "Callable", "Dict", "List", "NamedTuple", "Optional", "Tuple", "Union"):
    globals()[_name] = getattr(typing, _name)

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list
