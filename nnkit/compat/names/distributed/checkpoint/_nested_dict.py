"""torch.distributed.checkpoint._nested_dict: nested states as one dictionary."""

from __future__ import annotations

from nnkit.distributed.checkpoint.nested import flatten_state_dict as flatten_state_dict
from nnkit.distributed.checkpoint.nested import unflatten_state_dict as unflatten_state_dict
