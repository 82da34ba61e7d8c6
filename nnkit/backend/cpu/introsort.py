"""Sorting by comparisons as C++'s ``std::sort`` does in GNU's library: where values cannot be
ordered, since NaN is neither less nor greater, the order in which it leaves them is torch's.

Source: Musser 1997, "Introspective sorting and selection algorithms".
"""

from __future__ import annotations

from collections.abc import Callable

SMALL = 16  # so many items are sorted by insertion alone


def introsort(count: int, less: Callable[[int, int], bool]) -> list[int]:
    """The numbers below ``count`` in the order of what ``less`` compares them by."""
    items = list(range(count))
    _partition(items, 0, count, 2 * max(count.bit_length() - 1, 0), less)
    for i in range(1, count):
        _insert(items, i, i < SMALL, less)
    return items


def _partition(items: list[int], start: int, end: int, depth: int, less: Callable) -> None:
    """Part the items until the parts are small."""
    while end - start > SMALL and depth:
        depth -= 1
        _median_to_first(items, start, end, less)
        cut = _cut(items, start, end, less)
        _partition(items, cut, end, depth, less)
        end = cut


def _median_to_first(items: list[int], start: int, end: int, less: Callable) -> None:
    a, b, c = start + 1, start + (end - start) // 2, end - 1
    if less(items[a], items[b]):
        low, high = a, b
    else:
        low, high = b, a
    if less(items[high], items[c]):
        chosen = high
    else:
        chosen = c if less(items[low], items[c]) else low
    items[start], items[chosen] = items[chosen], items[start]


def _cut(items: list[int], start: int, end: int, less: Callable) -> int:
    """Exchange items so that those before the place returned are less than the first one."""
    pivot, first, last = items[start], start + 1, end
    while True:
        while first < len(items) and less(items[first], pivot):
            first += 1
        last -= 1
        while last > 0 and less(pivot, items[last]):
            last -= 1
        if first >= last:
            return first
        items[first], items[last] = items[last], items[first]
        first += 1


def _insert(items: list[int], i: int, small: bool, less: Callable) -> None:
    """Move an item to its place among those before it."""
    item = items[i]
    place = i
    if small and less(item, items[0]):
        place = 0
    else:
        while place and less(item, items[place - 1]):
            place -= 1
    items.insert(place, items.pop(i))
