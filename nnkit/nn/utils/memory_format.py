"""The memory format of the weights of convolutions."""

from __future__ import annotations

from typing import Any, TypeVar

from nnkit.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from nnkit.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

Model = TypeVar("Model", bound=Module)


def convert_conv2d_weight_memory_format(module: Model, memory_format: Any) -> Model:
    """Lay the weights of all `Conv2d` and `ConvTranspose2d` of a module in a memory format.

    ``Module.to(memory_format=...)`` does so with every parameter and buffer of four dimensions.

    Example:
        >>> import nnkit
        >>> model = nnkit.nn.Sequential(nnkit.nn.Conv2d(2, 4, 3))
        >>> _ = nnkit.nn.utils.convert_conv2d_weight_memory_format(model, nnkit.channels_last)
        >>> model[0].weight.is_contiguous(memory_format=nnkit.channels_last)
        True
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Model, memory_format: Any) -> Model:
    """Lay the weights of all `Conv3d` and `ConvTranspose3d` of a module in a memory format.

    Example:
        >>> import nnkit
        >>> layer = nnkit.nn.Conv3d(2, 4, 3)
        >>> _ = nnkit.nn.utils.convert_conv3d_weight_memory_format(layer, nnkit.channels_last_3d)
        >>> layer.weight.is_contiguous(memory_format=nnkit.channels_last_3d)
        True
    """
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)


def _convert(module: Model, kinds: tuple[type[Module], ...], memory_format: Any) -> Model:
    for each in module.modules():
        if isinstance(each, kinds):
            each.weight.data = each.weight.detach().contiguous(memory_format=memory_format)
    return module
