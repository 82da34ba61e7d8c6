"""Fuzzers: random calls and random programs, the same under nnkit and torch."""
