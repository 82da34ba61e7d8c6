"""Connectionist temporal classification."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.op.rule import rule


def _no_second_derivative(B: Any, g: Any) -> tuple:
    raise RuntimeError("ctc_loss: the second derivative is not implemented")


ctc_loss = rule(
    "ctc_loss", nondifferentiable=("log_alpha",),
    log_probs=lambda B, g_losses, log_probs, targets, input_lengths, target_lengths, losses,
    log_alpha, blank, zero_infinity: B.ctc_loss_grad(
        g_losses, log_probs, targets, input_lengths, target_lengths, losses, log_alpha, blank,
        zero_infinity,
    ),
)  # fmt: skip
ctc_loss_grad = rule("ctc_loss_grad", joint=_no_second_derivative)
