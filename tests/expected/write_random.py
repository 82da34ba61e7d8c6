"""Freezes torch's random numbers in ``random.npz``: ``python -m tests.expected.write_random``.

To be run on a machine whose torch uses its portable kernels (not on an Intel processor) and AVX2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from tests.random_cases import frozen, key

PATH = Path(__file__).parent / "random.npz"


def to_array(x: torch.Tensor) -> np.ndarray:
    return (x.float() if x.dtype == torch.bfloat16 else x).numpy()


def main() -> None:
    answers: dict[str, np.ndarray] = {}
    torch.manual_seed(2024)
    for draw, dtype, size in frozen():
        x = torch.zeros(size, dtype=getattr(torch, dtype))
        answers[key(draw, dtype, size)] = to_array(getattr(x, draw.method)(*draw.arguments))
    p = torch.arange(40.0) / 40
    for name, result in {
        "randperm": torch.randperm(50),
        "bernoulli": torch.bernoulli(p),
        "bernoulli_double": torch.bernoulli(p.double()),
        "multinomial": torch.multinomial(p, 20),
        "multinomial_replacement": torch.multinomial(p.reshape(4, 10), 20, True),
        "poisson": torch.poisson(p * 60),
        "dropout_mask": torch.nn.functional.dropout(torch.ones(6, 7), 0.3) != 0,
        "rrelu_noise": torch.nn.functional.rrelu(-torch.ones(40), training=True).neg(),
    }.items():
        answers[name] = to_array(result)
    torch.empty(3).normal_()  # leaves the second half of a pair waiting
    answers["state"] = torch.get_rng_state().numpy()
    np.savez_compressed(PATH, **answers)  # type: ignore[arg-type]
    print(f"{PATH.name}: {len(answers)} answers, {PATH.stat().st_size} bytes")


if __name__ == "__main__":
    main()
