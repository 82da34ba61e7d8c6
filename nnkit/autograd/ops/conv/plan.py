"""The arguments of a convolution, checked and turned into those of its kernels.

A plan only depends on shapes and numbers, so it is made once for each of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.arguments.sizes import check_shape, integer
from nnkit.autograd.arguments.spatial import Ints, at_least, batched, ints, windows
from nnkit.autograd.tensor import Tensor


def operands(
    name: str, axes: int, input: Any, weight: Any, bias: Any
) -> tuple[Tensor, Ints, Ints, Ints | None]:
    """The input with its batch axis, and the three shapes.

    Raises:
        TypeError: one of the three is no Tensor.
        RuntimeError: another number of dimensions.
    """
    check_tensor(name, input)
    check_tensor(name, weight, "weight")
    if bias is not None:
        check_tensor(name, bias, "bias")
    x = batched(name, input, axes)
    return x, x._array.shape, weight._array.shape, None if bias is None else bias._array.shape


def _check(
    name: str, input: Ints, weight: Ints, bias: Ints | None, groups: Any, transposed: bool
) -> None:
    """The shapes of a convolution's operands fit each other."""
    axes = len(input) - 2
    if len(weight) != axes + 2:
        raise RuntimeError(
            f"{name}(): argument 'weight' must have {axes + 2} dimensions, got shape {list(weight)}"
        )
    if not isinstance(groups, int) or integer(name, "groups", groups) < 1:
        raise RuntimeError(
            f"{name}(): non-positive groups is not supported: it must be a positive int, got "
            f"{groups!r}"
        )
    if weight[0] % groups or not weight[0]:
        raise RuntimeError(
            f"{name}(): Given groups={groups}, expected weight to be divisible by {groups} at "
            f"dimension 0, but got weight of size {list(weight)} instead"
        )
    if 0 in weight[2:]:
        raise RuntimeError(
            f"{name}(): the kernel size must be greater than zero, got weight of shape "
            f"{list(weight)}"
        )
    channels, outputs = weight[1] * groups, weight[0]
    if transposed:
        channels, outputs = outputs, channels
    given = f"transposed={transposed:d}" if transposed else f"groups={groups}"
    if input[1] != channels:
        raise RuntimeError(
            f"{name}(): Given {given}, weight of size {list(weight)}, expected "
            f"input{list(input)} to have {channels} channels, but got {input[1]} channels instead"
        )
    if bias is not None and bias != (outputs,):
        raise RuntimeError(
            f"{name}(): Given weight of size {list(weight)}, expected bias to be 1-dimensional "
            f"with {outputs} elements, but got bias of size {list(bias)} instead"
        )


@lru_cache(512, typed=True)
def plan(
    name: str, input: Ints, weight: Ints, bias: Ints | None,
    stride: Any, padding: Any, dilation: Any, groups: Any,
) -> tuple[tuple, Any]:  # fmt: skip
    """The kernel's static arguments, checked, and the padding to apply to the input before."""
    _check(name, input, weight, bias, groups, transposed=False)
    axes, kernel = len(input) - 2, weight[2:]
    stride = at_least(name, "stride", ints(name, "stride", stride, axes), 1)
    dilation = at_least(name, "dilation", ints(name, "dilation", dilation, axes), 1)
    before = None
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(
                f"{name}(): Invalid padding string {padding!r}: padding must be 'same', 'valid' or "
                "numbers"
            )
        if padding == "same" and max(stride) > 1:
            raise RuntimeError(
                f"{name}(): padding='same' is not supported for strided convolutions, got {stride=}"
            )
        total = [d * (k - 1) if padding == "same" else 0 for k, d in zip(kernel, dilation)]
        padding = tuple(n // 2 for n in total)
        if any(n % 2 for n in total):
            before = ((0, 0), (0, 0), *((0, n % 2) for n in total))
            input = (*input[:2], *(n + m % 2 for n, m in zip(input[2:], total)))
    else:
        padding = at_least(name, "padding", ints(name, "padding", padding, axes), 0)
    size, stride, dilation = windows(name, input, kernel, stride, padding, dilation)
    check_shape(name, (input[0], weight[0], *size))
    return (stride, padding, dilation, groups), before


@lru_cache(512, typed=True)
def plan_transposed(
    name: str, input: Ints, weight: Ints, bias: Ints | None,
    stride: Any, padding: Any, output_padding: Any, groups: Any, dilation: Any,
) -> tuple:  # fmt: skip
    """The shape of the result and the kernel's arguments, after all checks."""
    _check(name, input, weight, bias, groups, transposed=True)
    axes = len(input) - 2
    stride = at_least(name, "stride", ints(name, "stride", stride, axes), 1)
    dilation = at_least(name, "dilation", ints(name, "dilation", dilation, axes), 1)
    padding = at_least(name, "padding", ints(name, "padding", padding, axes), 0)
    extra = ints(name, "output_padding", output_padding, axes)
    extra = at_least(name, "output_padding", extra, 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation)):
        raise RuntimeError(
            f"{name}(): output padding must be smaller than either stride or dilation, but got "
            f"output_padding={extra}, {stride=} and {dilation=}"
        )
    rows = zip(input[2:], weight[2:], stride, padding, dilation, extra)
    size = tuple((n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, d, e in rows)
    if 0 in input[2:] or min(size) < 1:
        raise RuntimeError(
            f"{name}(): Given input size per channel: {list(input[2:])}. Calculated output size "
            f"per channel: {list(size)}. Output size is too small"
        )
    shape = (input[0], weight[1] * groups, *size)
    _, stride, dilation = windows(name, shape, weight[2:], stride, padding, dilation)
    return shape, stride, padding, dilation, groups
