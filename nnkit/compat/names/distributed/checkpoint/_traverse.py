"""torch.distributed.checkpoint._traverse: the leaves of nested states, and their paths."""

from __future__ import annotations

from nnkit.distributed.checkpoint.nested import get_element as get_element
from nnkit.distributed.checkpoint.nested import set_element as set_element
from nnkit.distributed.checkpoint.nested import traverse_state_dict as traverse_state_dict
