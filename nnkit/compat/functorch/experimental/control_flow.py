"""functorch.experimental.control_flow: operations that take functions, run as they are written."""

from nnkit.compat.names._higher_order_ops.control import cond as cond
from nnkit.compat.names._higher_order_ops.control import map as map
