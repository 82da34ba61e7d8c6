"""Options that several modes of the benchmarks share."""

from __future__ import annotations

import argparse
import time


def add_only(parser: argparse.ArgumentParser) -> None:
    """The option that picks rows of a table."""
    parser.add_argument("--only", default="", help="those whose name contains this text")


def add_patience(parser: argparse.ArgumentParser) -> None:
    """The option of everything that takes turns."""
    parser.add_argument(
        "--patience", type=float, default=0.0, help="seconds to wait for a quiet machine, each time"
    )


def add_clock(parser: argparse.ArgumentParser) -> None:
    """The option that says which clock tells the time."""
    parser.add_argument(
        "--cpu-time",
        dest="clock",
        action="store_const",
        const=time.process_time,
        default=time.perf_counter,
        help="the processor's time instead of the wall's: with --threads 1, for a busy machine",
    )
