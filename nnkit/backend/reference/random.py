"""Normals whose mean or standard deviation, or both, are arrays; of the dtype of the first."""

from __future__ import annotations


def normal_around(B, mean, std, generator):
    noise = B.normal_(B.empty(mean.shape, mean.dtype), 0.0, std, generator)
    return B.cast(B.add(noise, mean), mean.dtype)


def normal_scaled(B, std, mean, generator):
    noise = B.normal_(B.empty(std.shape, std.dtype), 0.0, 1.0, generator)
    return B.add(B.mul(noise, std), B.full((), mean, std.dtype))


def normal_between(B, mean, std, shape, generator):
    noise = B.normal_(B.empty(shape, mean.dtype), 0.0, 1.0, generator)
    scaled = B.cast(B.mul(noise, std), mean.dtype)
    return B.cast(B.add(scaled, mean), mean.dtype)
