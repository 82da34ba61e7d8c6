"""`rearrange` beside torch's, which is that of functorch."""

from __future__ import annotations

from typing import Any

import pytest

import nnkit
from tests.frameworks import raises

PATTERNS: dict[str, dict[str, int]] = {
    "b h w c -> b h w c": {}, "b h w c->b c h w": {}, "b h w c -> (b h) w c": {},
    "b h w c -> h (b w) c": {}, "b (h1 h) (w1 w) c -> (b h1 w1) h w c": {"h1": 2, "w1": 1},
    "b (h k) w c -> b h w (c k)": {"h": 3}, "... c -> c ...": {}, "b ... c -> (b c) ...": {},
    "b ... -> b (...)": {}, "... -> (...)": {}, "(b1 b2) ... -> b1 b2 ...": {"b1": 2},
    "b h w c -> 1 b h () w c 1": {}, "b h w c -> (c  w h b)": {}, "b (h 1) w c -> b h w c": {},
    "b h ... w c -> b ... h w c": {}, "(b a) w c d -> b w c d a": {"a": 4, "b": 1},
}  # fmt: skip
WRONG: dict[str, dict[str, Any]] = {
    "b h w c": {}, "b h w c -> b h w c -> b": {}, "b h w c -> b h w": {}, "b h w -> b h w": {},
    "b h w c -> b h w c d": {}, "b b w c -> b w c": {}, "b h w c -> b h w c ": {"q": 2},
    "b h 2 c -> b h c": {}, "b ((h) w) c d -> b h w c d": {}, "b (h w c -> b h w c": {},
    "b h) w c -> b h w c": {}, "b h-1 w c -> b w c": {}, "_b h w c -> h w c _b": {},
    "b ... w ... -> b w ... ...": {}, "... -> b ...": {}, "b h w c -> ... b h w c": {},
    "(...) -> ...": {}, "b.h w c -> b h w c": {}, "": {}, "b 1 h w c -> b h w c": {},
}  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_are_torchs(pattern: str, torch: Any) -> None:
    found = []
    for lib in (nnkit, torch):
        x = lib.arange(360.0).view(4, 6, 5, 3).requires_grad_()
        y = lib.func.rearrange(x, pattern, **PATTERNS[pattern])
        (y * lib.arange(360.0).view(y.shape)).sum().backward()
        found.append([y.tolist(), x.grad.tolist(), y.is_contiguous(), y._is_view()])
    assert found[0] == found[1]


@pytest.mark.parametrize("pattern", WRONG)
def test_what_is_no_pattern(pattern: str, lib: Any) -> None:
    with raises(lib, ValueError, "rearrange|Pattern|pattern"):
        lib.func.rearrange(lib.ones(4, 6, 5, 3), pattern, **WRONG[pattern])


def test_sequences_batches_and_sizes(lib: Any) -> None:
    x = lib.arange(12.0).view(2, 3, 2)
    joined = lib.func.rearrange([x[0], x[1]], "n h w -> (h n) w")
    assert joined.tolist() == x.transpose(0, 1).reshape(6, 2).tolist()
    turned = lib.func.vmap(lambda each: lib.func.rearrange(each, "h w -> w h"))(x)
    assert turned.tolist() == x.mT.tolist()
    with raises(lib, TypeError, "int"):
        lib.func.rearrange(x, "a b c -> c b a", a="2")


@pytest.mark.parametrize("sizes", [{}, {"b": 4}, {"a": 2}])
def test_sizes_that_do_not_fit(sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="rearrange"):
        nnkit.func.rearrange(nnkit.ones(6, 2), "(b c) a -> c a b", **{"a": 3, **sizes})
