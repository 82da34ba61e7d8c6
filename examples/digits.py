"""The handwritten digits of `data/`, as tensors, split into training and test sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import nnkit
from nnkit.utils.data import TensorDataset

PATH = Path(__file__).parent / "data" / "digits.npz"


def load(flat: bool = True, test_share: float = 0.2) -> tuple[TensorDataset, TensorDataset]:
    """The training and the test set: images scaled to [0, 1], and labels.

    The split is always the same: a fixed permutation, whatever the program's seed.

    Args:
        flat: images of shape (64,) instead of (1, 8, 8).
        test_share: how much is held back for testing.
    """
    with np.load(PATH) as file:
        images = nnkit.from_numpy(file["images"]).float() / 16
        labels = nnkit.from_numpy(file["labels"]).long()
    images = images.reshape(-1, 64) if flat else images.unsqueeze(1)
    order = nnkit.from_numpy(np.random.RandomState(0).permutation(len(labels)))
    tests = int(test_share * len(labels))
    train, test = order[tests:], order[:tests]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])
