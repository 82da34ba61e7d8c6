"""torch.jit._state: the classes that were scripted, of which there are none, and a switch."""

from __future__ import annotations

from nnkit.compat.passing import nothing


class EnabledProxy:
    """The switch of scripting, without effect."""

    enabled = False


_enabled = EnabledProxy()
_script_classes: dict = {}
_clear_class_state = nothing
