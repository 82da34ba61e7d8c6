"""Connectionist temporal classification: the sum over all alignments of labels and time steps.

A path walks through the labels with a blank before, between and after them, one state a step:
it stays, goes on by one, or jumps over a blank between two different labels.
"""

from __future__ import annotations

import numpy as np

INF = np.inf


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    steps, count, _ = log_probs.shape
    states, jumps = _states(targets, blank)
    scores = np.take_along_axis(log_probs, states[None], 2)
    # log_alpha[t, n, s]: all paths that are in state s after step t.
    log_alpha = np.full(scores.shape, -INF, scores.dtype)
    log_alpha[0, :, 0] = scores[0, :, 0]
    has_label = target_lengths > 0
    log_alpha[0, has_label, 1:2] = scores[0, has_label, 1:2]
    for t in range(1, steps):
        log_alpha[t] = scores[t] + _step(log_alpha[t - 1], jumps)
    last = np.maximum(input_lengths - 1, 0)
    row = np.arange(count)
    end = 2 * target_lengths
    on_blank = log_alpha[last, row, end]
    on_label = np.where(has_label, log_alpha[last, row, np.maximum(end - 1, 0)], -INF)
    losses = -np.logaddexp(on_blank, on_label)
    nothing = input_lengths == 0
    losses[nothing] = np.where(has_label[nothing], INF, 0)
    return losses.astype(scores.dtype), log_alpha


def ctc_loss_grad(
    y, log_probs, targets, input_lengths, target_lengths, losses, log_alpha, blank, zero_infinity
):
    steps, count, _ = log_probs.shape
    states, jumps = _states(targets, blank)
    scores = np.take_along_axis(log_probs, states[None], 2)
    backward_jumps = np.zeros_like(jumps)
    backward_jumps[:, :-2] = jumps[:, 2:]
    state = np.arange(states.shape[1])
    end = (2 * target_lengths)[:, None]
    ends = (state == end) | ((state == end - 1) & (end > 0))
    out = np.exp(log_probs)
    row = np.arange(count)
    # log_beta[n, s]: all ends of paths that are in state s at step t.
    log_beta = np.full(states.shape, -INF, scores.dtype)
    for t in range(steps - 1, -1, -1):
        last = (input_lengths - 1 == t)[:, None]
        onward = _step(log_beta[:, ::-1], backward_jumps[:, ::-1])[:, ::-1]
        log_beta = scores[t] + np.where(last, np.where(ends, 0, -INF), onward)
        through = np.exp(log_alpha[t] + log_beta - scores[t] + losses[:, None])
        through[np.isneginf(scores[t])] = 0
        for s in state:
            out[t, row, states[:, s]] -= through[:, s]
    out *= y[:, None]
    over = np.arange(steps)[:, None] >= input_lengths
    out[over] = 0
    if zero_infinity:
        out[:, np.isposinf(losses)] = 0
    return out


def _states(targets: np.ndarray, blank: int) -> tuple[np.ndarray, np.ndarray]:
    """The labels with blanks around them, and where a path may jump in from two states before."""
    states = np.full((len(targets), 2 * targets.shape[1] + 1), blank)
    states[:, 1::2] = targets
    jumps = np.zeros(states.shape, bool)
    jumps[:, 2:] = states[:, 2:] != states[:, :-2]
    return states, jumps


def _step(before: np.ndarray, jumps: np.ndarray) -> np.ndarray:
    """The logarithm of what arrives in each state from the step before."""
    arrived = before.copy()
    arrived[:, 1:] = np.logaddexp(arrived[:, 1:], before[:, :-1])
    jumped = np.where(jumps[:, 2:], before[:, :-2], -INF)
    arrived[:, 2:] = np.logaddexp(arrived[:, 2:], jumped)
    return arrived
