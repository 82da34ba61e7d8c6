"""Queues, whose class torch's programs look for here."""

from __future__ import annotations

from multiprocessing.queues import Queue as Queue
from multiprocessing.queues import SimpleQueue as SimpleQueue
