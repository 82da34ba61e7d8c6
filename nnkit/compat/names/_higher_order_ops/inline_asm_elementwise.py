"""torch._higher_order_ops.inline_asm_elementwise: assembly in PTX, which is not run here."""

from __future__ import annotations

from typing import NoReturn

from nnkit.autograd import Tensor


def inline_asm_elementwise(*inputs: Tensor, **options: object) -> NoReturn:
    """Raise, as torch's does for tensors that are on no GPU.

    Raises:
        ValueError: there is no input.
        RuntimeError: always otherwise.
    """
    if not inputs:
        raise ValueError("inline_asm_elementwise requires at least one input tensor")
    raise RuntimeError("inline_asm_elementwise: assembly is not run here")
