"""functorch: the transforms of ``torch.func`` under their old name, with a warning."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit import func
from nnkit.backend.warning import warn
from nnkit.compat.names._functorch import make_functional as _modules
from nnkit.compat.names._functorch.make_functional import FunctionalModule as FunctionalModule
from nnkit.compat.names._functorch.make_functional import (
    FunctionalModuleWithBuffers as FunctionalModuleWithBuffers,
)
from nnkit.compat.names.func import functionalize as _functionalize
from nnkit.compat.names.fx.experimental.proxy_tensor import make_fx as make_fx
from nnkit.compat.names.torch_version import __version__ as __version__


def _old(function: Callable, instead: str | None = None) -> Callable:
    name = function.__name__
    home = "torch" if name == "vmap" else "torch.func"

    @functools.wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Any:
        warn(
            f"We've integrated functorch into PyTorch: `functorch.{name}` is deprecated. "
            f"Please use `{home}.{instead or name}` instead",
            FutureWarning,
        )
        return function(*args, **kwargs)

    return deprecated


functionalize = _old(_functionalize)
grad, grad_and_value = _old(func.grad), _old(func.grad_and_value)
hessian, jacfwd, jacrev = _old(func.hessian), _old(func.jacfwd), _old(func.jacrev)
jvp, vjp, vmap = _old(func.jvp), _old(func.vjp), _old(func.vmap)
make_functional = _old(_modules.make_functional, "functional_call")
make_functional_with_buffers = _old(_modules.make_functional_with_buffers, "functional_call")
combine_state_for_ensemble = _old(_modules.combine_state_for_ensemble, "stack_module_state")
