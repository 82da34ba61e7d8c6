"""functorch.experimental.control_flow: control flow as functions, run in Python."""

from nnkit.compat.names._higher_order_ops.control import cond as cond
from nnkit.compat.names._higher_order_ops.control import map as map
