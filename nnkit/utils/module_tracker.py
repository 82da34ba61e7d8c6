"""The modules that are running, forward or backward."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from weakref import WeakKeyDictionary

from nnkit.autograd import Tensor
from nnkit.autograd.engine.node import RUNNING
from nnkit.autograd.graph import register_multi_grad_hook
from nnkit.autograd.variable import Variable
from nnkit.nn import Module
from nnkit.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from nnkit.utils._pytree import tree_leaves

logger = logging.getLogger(__name__)


class ModuleTracker:
    """A block in which it is known which modules run.

    ``parents`` holds the names of the modules that are running, forward or backward, and always
    ``"Global"``. A module that is called first has the name of its class, those inside it that
    and the path to them.

    Example:
        >>> import nnkit
        >>> class Shows(nnkit.nn.Module):
        ...     def forward(self, x):
        ...         print(sorted(tracker.parents))
        ...         return x
        >>> with ModuleTracker() as tracker:
        ...     x = nnkit.nn.Sequential(Shows())(nnkit.ones(1))
        ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: WeakKeyDictionary[Module, str] = WeakKeyDictionary()
        self._stack = ExitStack()
        self._is_reset_later = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is running."""
        return RUNNING.innermost is not None

    def __enter__(self) -> ModuleTracker:
        for handle in (
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ):
            self._stack.callback(handle.remove)
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.close()

    def _before(self, module: Module, inputs: Any) -> None:
        name = self._name_of(module)
        self._enters(name)
        self._in_backward(inputs, lambda: self._leaves(name))

    def _after(self, module: Module, inputs: Any, outputs: Any) -> None:
        name = self._name_of(module)
        self._leaves(name)
        self._in_backward(outputs, lambda: self._enters(name))

    def _in_backward(self, values: Any, then: Callable[[], None]) -> None:
        """Have a function called when the gradients of the tensors among some values are there."""

        def arrived(gradients: Any) -> None:
            if not self._is_reset_later:
                self._is_reset_later = True
                Variable._execution_engine.queue_callback(self._reset)
            then()

        tensors = [v for v in tree_leaves(values) if isinstance(v, Tensor) and v.requires_grad]
        if tensors:
            self._stack.callback(register_multi_grad_hook(tensors, arrived).remove)

    def _reset(self) -> None:
        self.parents = {"Global"}
        self._is_reset_later = False

    def _name_of(self, module: Module) -> str:
        if module not in self._names:
            self._name(module, type(module).__name__)
        return self._names[module]

    def _name(self, module: Module, name: str) -> None:
        self._names[module] = name
        for path, child in module.named_children():
            self._name(child, f"{name}.{path}")

    def _enters(self, name: str) -> None:
        if name in self.parents:
            logger.info("%s runs already", name)
        self.parents.add(name)

    def _leaves(self, name: str) -> None:
        if name not in self.parents:
            logger.info("%s has not been running", name)
        self.parents.discard(name)
