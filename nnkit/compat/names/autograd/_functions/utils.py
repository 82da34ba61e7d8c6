"""torch.autograd._functions.utils: the broadcasting of ONNX's first operators."""

from __future__ import annotations

import math
from collections.abc import Sequence


def check_onnx_broadcast(dims1: Sequence[int], dims2: Sequence[int]) -> bool:
    """Whether an operand of shape ``dims2`` is broadcast beside one of shape ``dims1``.

    Raises:
        ValueError: ONNX cannot: the second is neither one number nor the end of the first.
    """
    first, second = list(dims1), list(dims2)
    if first == second:
        return False
    fits = len(first) > len(second) and first[len(first) - len(second) :] == second
    if math.prod(second) != 1 and not fits:
        raise ValueError(
            f"check_onnx_broadcast(): Numpy style broadcasting is not supported in ONNX: got the "
            f"shapes {first} and {second}"
        )
    return True
