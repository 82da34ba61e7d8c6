"""Softmax and its logarithm over the algebra."""

from __future__ import annotations


def softmax(B, x, axis):
    exponentials = B.exp(B.sub(x, B.amax(x, axis, True)))
    return B.div(exponentials, B.sum(exponentials, axis, True))


def softmax_grad(B, g, out, axis):
    weighted = B.mul(g, out)
    return B.sub(weighted, B.mul(out, B.sum(weighted, axis, True)))


def log_softmax(B, x, axis):
    shifted = B.sub(x, B.amax(x, axis, True))
    return B.sub(shifted, B.log(B.sum(B.exp(shifted), axis, True)))


def log_softmax_grad(B, g, out, axis):
    return B.sub(g, B.mul(B.exp(out), B.sum(g, axis, True)))
