"""The operations of reductions over ranks."""

from __future__ import annotations

import enum
from typing import Any


class RedOpType(enum.IntEnum):
    """The kinds of reductions."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {int(self)}>"


class ReduceOp:
    """The operation of a reduction: ``ReduceOp.SUM``, ``AVG``, ``PRODUCT``, ``MIN``, ``MAX``, and,
    of integers and bools, ``BAND``, ``BOR``, ``BXOR``.

    Half-precision sums are formed in float32 and rounded after each step, an average of integers
    loses its fraction, the sum of bools is "or".
    """

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    def __init__(self, op: Any) -> None:
        self.op = named(op)

    def __eq__(self, other: Any) -> bool:
        return self.op == (other.op if isinstance(other, ReduceOp) else other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return f"<ReduceOp {self.op!r}>"


def named(op: Any) -> RedOpType:
    """The kind of a reduction; TypeError if ``op`` is none."""
    if isinstance(op, ReduceOp):
        return op.op
    if not isinstance(op, RedOpType):
        raise TypeError(f"op must be a ReduceOp, such as ReduceOp.SUM, got {op!r}")
    return op


def operation(op: Any) -> str:
    """The operation's name for a backend; RuntimeError for one that only torch's NCCL has."""
    found = named(op)
    if found is RedOpType.PREMUL_SUM:
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM: no backend here has it")
    return found.name.lower()


def supports_complex(reduceOp: Any) -> bool:
    """Whether complex numbers have such a reduction.

    Example:
        >>> import nnkit.distributed as dist
        >>> dist.supports_complex(dist.ReduceOp.SUM), dist.supports_complex(dist.ReduceOp.MAX)
        (True, False)
    """
    return named(reduceOp) in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PREMUL_SUM)
