"""Fuzzers: random calls and programs, the same under nnkit and torch; files; data loaders."""
