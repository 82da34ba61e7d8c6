"""A compiled step has the eager step's bits: results, parameters, gradients, states, counters."""

from __future__ import annotations

from typing import Any

import pytest

import nnkit
from nnkit import Tensor, nn
from tests.compiler.programs import PROGRAMS

STEPS = 20


def bits(value: Any) -> Any:
    """Everything there is to compare of a value."""
    if isinstance(value, Tensor):
        data = nnkit.Tensor.detach(value).contiguous().reshape(-1)
        raw = data.view(nnkit.uint8).tolist() if data.numel() else []
        counted = None if value.is_inference() else value._version
        return tuple(value.shape), value.dtype, value.requires_grad, counted, raw
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [bits(item) for item in value]
    return repr(value)


def state(holders: list) -> list:
    """What a step may change."""
    found: list = [bits(nnkit.get_rng_state())]
    for holder in holders:
        if isinstance(holder, nn.Module):
            found.append(bits(dict(holder.named_buffers())))
            found += [(bits(p), bits(p.grad)) for p in holder.parameters()]
        elif isinstance(holder, Tensor):
            found.append((bits(holder), bits(holder.grad)))
        else:
            found.append(bits(holder.state_dict()))
    return found


def losses(result: Any) -> list[Tensor]:
    return [t for t in nnkit.utils._pytree.tree_leaves(result) if t.requires_grad]


def run(name: str, compiled: bool) -> tuple[list, Any]:
    nnkit.manual_seed(0)
    step, holders, batch = PROGRAMS[name]()
    if compiled:
        step = nnkit.compile(step)
    seen = []
    for i in range(STEPS):
        result = step(*batch(i))
        if name.endswith("outside"):
            result.backward()
        seen.append((bits(result), state(holders)))
    return seen, step


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_are_those_of_the_eager_step(name: str) -> None:
    eager, _ = run(name, compiled=False)
    found, step = run(name, compiled=True)
    for i, (a, b) in enumerate(zip(eager, found, strict=True)):
        assert a == b, f"step {i}"
    assert step.program().calls
    assert step.made <= 4
