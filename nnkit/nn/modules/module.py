"""`Module`: the base class of layers and models.

This file has calling, modes and printing. The other parts are base classes in files of their own:
`module_tree` (registration and traversal), `module_hooks`, `module_state` (``state_dict``) and
`module_apply` (device and dtype).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nnkit.autograd.views.history import clear_gradients
from nnkit.backend.program.outside import COMPILERS
from nnkit.nn.modules.module_apply import ModuleApply
from nnkit.nn.modules.module_hooks import (
    ModuleHooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from nnkit.nn.modules.module_pickling import state_from_torch
from nnkit.nn.modules.module_state import ModuleState
from nnkit.nn.modules.module_tree import ModuleTree

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


def _forward_unimplemented(self: Any, *inputs: Any) -> None:
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


class Module(ModuleHooks, ModuleApply, ModuleState):
    """Base class of all layers and models: parameters, buffers and submodules with a ``forward``.

    A subclass calls ``super().__init__()``, assigns its parts as attributes and defines
    ``forward``; the module can then be called like a function. An exception in ``forward`` gets a
    note with the path of the submodule that raised it (Python 3.11 and later).

    Raises:
        TypeError: ``__init__`` got arguments, and the class does not set ``call_super_init``.
        NotImplementedError: the module is called and has no ``forward``.

    Example:
        >>> import nnkit
        >>> class Net(nnkit.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.head = nnkit.nn.Linear(3, 1)
        ...     def forward(self, x):
        ...         return self.head(x)
        >>> model = Net()
        >>> model(nnkit.ones(2, 3)).shape
        nnkit.Size([2, 1])
        >>> [name for name, _ in model.named_parameters()]
        ['head.weight', 'head.bias']
    """

    # Whether __init__ passes its arguments to the next base class (multiple inheritance).
    call_super_init: bool = False
    # Attributes that are computed here but stored by torch's class of this name.
    _kept_by_torch: tuple[str, ...] = ()
    forward: Callable[..., Any] = _forward_unimplemented

    __getattr__, __setattr__ = ModuleTree._read, ModuleTree._assign
    __delattr__, __dir__ = ModuleTree._delete, ModuleTree._listed

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            name = f"{type(self).__name__}.__init__()"
            if kwargs:
                raise TypeError(f"{name} got an unexpected keyword argument {next(iter(kwargs))!r}")
            if args:
                raise TypeError(f"{name} takes no positional argument for Module, got {len(args)}")
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._hooked:
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs) if kwargs else self.forward(*args)
        except Exception as error:
            _note_path(error, self)
            raise

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_backward_hooks" in state:  # a module that was pickled by torch
            state = state_from_torch(state)
        self.__dict__.update(state)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the module in place, with the arguments of `nnkit.compile`.

        ``state_dict`` and copies of the module do not change.

        Example:
            >>> import nnkit
            >>> layer = nnkit.nn.Linear(3, 2)
            >>> layer.compile()
            >>> layer(nnkit.ones(1, 3)).shape
            nnkit.Size([1, 2])
        """
        compiled = COMPILERS["native"](self._call_impl, *args, **kwargs)
        self.__dict__.update(_compiled_call_impl=compiled, _hooked=True)

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn`` on every submodule and then on the module itself; return the module.

        Example:
            >>> import nnkit
            >>> model = nnkit.nn.Sequential(nnkit.nn.Identity())
            >>> _ = model.apply(lambda module: print(type(module).__name__))
            Identity
            Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set the module and all submodules to training mode, or to evaluation mode.

        Layers such as dropout and batch norm behave differently in the two.

        Raises:
            ValueError: ``mode`` is not a bool.

        Example:
            >>> import nnkit
            >>> model = nnkit.nn.Sequential(nnkit.nn.Dropout()).train(False)
            >>> model[0].training
            False
        """
        if not isinstance(mode, bool):
            raise ValueError(f"train: mode must be a bool, got {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set the module and all submodules to evaluation mode: ``train(False)``.

        Example:
            >>> import nnkit
            >>> nnkit.nn.Dropout().eval()(nnkit.ones(2))
            tensor([1., 1.])
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad`` of all parameters: freeze or unfreeze the module.

        Example:
            >>> import nnkit
            >>> layer = nnkit.nn.Linear(2, 1).requires_grad_(False)
            >>> [p.requires_grad for p in layer.parameters()]
            [False, False]
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros.

        Example:
            >>> import nnkit
            >>> layer = nnkit.nn.Linear(2, 1)
            >>> layer(nnkit.ones(1, 2)).sum().backward()
            >>> layer.zero_grad()
            >>> layer.weight.grad is None
            True
        """
        clear_gradients(self.parameters(), set_to_none)

    def extra_repr(self) -> str:
        """The text between the parentheses of ``repr``; a subclass overrides it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        inner = [f"({name}): {indent(repr(child))}" for name, child in self._modules.items()]
        if not inner and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + inner) + "\n)"


def indent(text: str) -> str:
    return text.replace("\n", "\n  ")


def _note_path(error: Exception, module: Module) -> None:
    """Add a note to ``error``: the path, from the outermost module, of the module that raised it.

    Each module that the error passes through rewrites the note. What is stored on the error are
    strings and a number, so that it can still be pickled.
    """
    if not hasattr(error, "add_note"):
        return
    inner, path, kind = getattr(error, "_module_path", (None, "", type(module).__name__))
    if inner is not None:
        names = (name for name, child in module.named_modules() if id(child) == inner)
        # A module that is not registered in its caller is shown by its class.
        name = next(names, f"<{error._module_class}>")  # pyright: ignore
        path = ".".join(part for part in (name, path) if part)
        error.__notes__.remove(error._module_note)  # pyright: ignore
    note = f"in {type(module).__name__}" + (f", module {path!r} ({kind})" if path else "")
    vars(error).update(
        _module_path=(id(module), path, kind),
        _module_class=type(module).__name__,
        _module_note=note,
    )
    error.add_note(note)  # pyright: ignore
