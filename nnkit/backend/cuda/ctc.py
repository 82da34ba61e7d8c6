"""Connectionist temporal classification; kernels/ctc.cu."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from nnkit.backend.cuda.differences import contiguous, empty, same_dtype
from nnkit.backend.cuda.launch import blocks_for, threads_for
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
        blocks = blocks_for(of.batch, 1, current_machine().processors)
        threads = threads_for(2 * of.labels + 1)
        run = kernel("ctc", name, log_probs.dtype)
        run((blocks,), (threads,), (*arrays, of), shared)


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
    shared = 3 * (2 * of.labels + 1) * out.itemsize
    _run("ctc_loss_grad", log_probs, (*floats[:2], *integers, *floats[2:], out), of, shared)
    return out
