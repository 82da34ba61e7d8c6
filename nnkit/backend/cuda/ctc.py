"""Connectionist temporal classification; kernels/ctc.cu."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from nnkit.backend.cuda.differences import contiguous, empty, same_dtype
from nnkit.backend.cuda.launch import blocks_for, shared_limit, threads_for
from nnkit.backend.cuda.source import current_machine, kernel


class Labelling(ctypes.Structure):
    _fields_ = tuple(
        (n, ctypes.c_int64)
        for n in ("steps", "batch", "classes", "labels", "blank", "zero_infinity")
    )


def _integers(*arrays: Any) -> list[Any]:
    return [contiguous(same_dtype(a, np.dtype(np.int64))) for a in arrays]


def _run(name: str, log_probs: Any, arrays: tuple, of: Labelling, shared: int = 0) -> None:
    if of.batch and of.steps:
        threads = threads_for(2 * of.labels + 1)
        run = kernel("ctc", name, log_probs.dtype)
        run((_blocks(of),), (threads,), (*arrays, of), shared)


def _blocks(of: Labelling) -> int:
    return blocks_for(of.batch, 1, current_machine().processors)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    log_probs = contiguous(log_probs)
    integers = _integers(targets, input_lengths, target_lengths)
    steps, batch, classes = log_probs.shape
    of = Labelling(steps, batch, classes, targets.shape[1], blank, zero_infinity)
    losses = empty((batch,), log_probs.dtype, log_probs)
    log_alpha = empty((steps, batch, 2 * of.labels + 1), log_probs.dtype, log_probs)
    _run("ctc_loss", log_probs, (log_probs, *integers, losses, log_alpha), of)
    return losses, log_alpha


def ctc_loss_grad(
    y, log_probs, targets, input_lengths, target_lengths, losses, log_alpha, blank, zero_infinity
):
    floats = [contiguous(a) for a in (y, log_probs, losses, log_alpha)]
    integers = _integers(targets, input_lengths, target_lengths)
    steps, batch, classes = log_probs.shape
    of = Labelling(steps, batch, classes, targets.shape[1], blank, zero_infinity)
    out = empty(log_probs.shape, log_probs.dtype, log_probs)
    states, memory = 3 * (2 * of.labels + 1), None
    shared = states * out.itemsize
    if shared > shared_limit(current_machine().capability):
        memory, shared = empty((_blocks(of) * states,), out.dtype, out), 0
    given = (*floats[:2], *integers, *floats[2:], out, memory)
    _run("ctc_loss_grad", log_probs, given, of, shared)
    return out
