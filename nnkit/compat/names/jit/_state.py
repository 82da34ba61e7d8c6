"""torch.jit._state: the classes that were scripted, of which there are none."""

from nnkit.compat.passing import nothing

_clear_class_state = nothing
