"""Pools of processes, whose class torch's programs look for here."""

from __future__ import annotations

from multiprocessing.pool import Pool as Pool
