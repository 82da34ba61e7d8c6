"""Tensors and modules in shards: what they compute is what one process computes."""

from __future__ import annotations

import sys

import pytest

from tests.distributed import check_memory, needs_mpi, succeed

pytestmark = needs_mpi
# The models on all numbers of ranks take a minute; the others are `python -m tests.distributed`.
SHORT = ("mlp", "no_sync", "gpt", "precision", "memory", "states", "scaler", "errors")


@pytest.mark.parametrize("ranks", [3, 4])
def test_a_tensor_on_a_mesh(ranks: int) -> None:
    assert succeed("tensors", ranks, "nnkit").count("passed") == ranks


def test_a_model_in_shards() -> None:
    assert succeed("sharded", 2, "nnkit", *SHORT).count("passed") == 2


def test_shards_that_are_repeated() -> None:
    assert succeed("sharded", 4, "nnkit", "mesh").count("passed") == 4


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_model_in_wrappers(ranks: int) -> None:
    assert succeed("wrapped", ranks, "nnkit").count("passed") == ranks


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory")
def test_the_memory_of_a_rank() -> None:
    check_memory()
