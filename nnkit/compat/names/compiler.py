"""torch.compiler: `nnkit.compiler`, and marks that it does not need."""

from __future__ import annotations

from typing import Any

from nnkit.compat.names._dynamo import allow_in_graph as allow_in_graph
from nnkit.compat.names._dynamo import disable as disable
from nnkit.compat.names._dynamo import is_compiling as is_compiling
from nnkit.compat.names._dynamo import reset as reset
from nnkit.compat.passing import Inert, nothing, unchanged
from nnkit.compiler import is_exporting as is_exporting

assume_constant_result = substitute_in_graph = nested_compile_region = unchanged
cudagraph_mark_step_begin = nothing
is_dynamo_compiling = is_compiling
set_stance = Inert


def list_backends(*args: Any, **kwargs: Any) -> list[str]:
    """The names of compilers."""
    return ["native"]


def compile(model: Any = None, **kwargs: Any) -> Any:
    """`torch.compile`."""
    from nnkit.compat.names import compile

    return compile(model, **kwargs)
