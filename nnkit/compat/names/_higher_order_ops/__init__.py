"""torch._higher_order_ops: control flow as functions, run in Python."""

from nnkit.compat.names._higher_order_ops.associative_scan import (
    associative_scan as associative_scan,
)
from nnkit.compat.names._higher_order_ops.control import cond as cond
from nnkit.compat.names._higher_order_ops.control import map as map
from nnkit.compat.names._higher_order_ops.control import while_loop as while_loop
from nnkit.compat.names._higher_order_ops.out_dtype import out_dtype as out_dtype
