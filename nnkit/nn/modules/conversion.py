"""How a module is converted: what becomes of its parameters, as programs may choose."""

from __future__ import annotations

_chosen = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Choose whether a module that is moved or cast gets new parameters; else the old ones get new
    memory, which is the default.

    Example:
        >>> import nnkit
        >>> from nnkit.__future__ import set_overwrite_module_params_on_conversion
        >>> layer = nnkit.nn.Linear(2, 1)
        >>> before = layer.weight
        >>> set_overwrite_module_params_on_conversion(True)
        >>> layer.double().weight is before
        False
        >>> set_overwrite_module_params_on_conversion(False)
    """
    _chosen["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether a module that is moved or cast gets new parameters."""
    return _chosen["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Choose whether the parameters of a module that is moved, cast or loaded are exchanged with
    the new ones by `nnkit.utils.swap_tensors`; this goes before
    `set_overwrite_module_params_on_conversion`.

    What is loaded is then ``parameter.module_load(value)``, see `nnkit.Tensor.module_load`.

    Example:
        >>> from nnkit import __future__ as future
        >>> future.get_swap_module_params_on_conversion()
        False
    """
    _chosen["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether parameters are exchanged by `nnkit.utils.swap_tensors`."""
    return _chosen["swap"]
