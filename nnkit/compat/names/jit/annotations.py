"""torch.jit.annotations: types of numbers that stand for several."""

from __future__ import annotations

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list
