"""A compiled module: the module itself behind a call that runs as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.nn.modules.module import Module

OWN = frozenset(("_orig_mod", "_compiled", "_compiler", "training"))


class OptimizedModule(Module):
    """A module that `nnkit.compile` returns: attributes, state and modes are the given module's.

    Keys of its ``state_dict`` begin with ``_orig_mod.``. Copies and pickles are compiled anew.

    Args:
        mod: the module.
        compiler: makes a compiled function of its call.

    Source: ``torch._dynamo.OptimizedModule``.
    """

    def __init__(self, mod: Module, compiler: Callable[[Module], Any]) -> None:
        super().__init__()
        self._orig_mod = mod
        self.__dict__["_compiler"] = compiler
        self.__dict__["_compiled"] = compiler(mod)

    @property
    def training(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The module's."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module, as a program."""
        return self._compiled(*args, **kwargs)

    def program(self) -> Any:
        """The program that was made last."""
        return self._compiled.program()

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        if "_orig_mod" not in modules:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return modules["_orig_mod"] if name == "_orig_mod" else getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OWN:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self) -> int:
        return len(self._orig_mod)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Any:
        return iter(self._orig_mod)  # type: ignore[call-overload]

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]  # type: ignore[index]

    def __reduce__(self) -> tuple:
        return (type(self), (self._orig_mod, self.__dict__["_compiler"]))
