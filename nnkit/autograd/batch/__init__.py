"""Batches: many examples computed at once by a function of one."""
