"""The contents of a module: its parameters, buffers and submodules, by name.

An assigned attribute is sorted into one of three dictionaries. Reading an attribute that Python
does not find looks in these three, and then makes a descriptor that finds it faster next time
(`registered`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.overriding import is_tensor_like
from nnkit.nn.modules import module_hooks
from nnkit.nn.modules.registered import Registered, read_in_full, shorten
from nnkit.nn.parameter import Buffer, Parameter

_REGISTRIES = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}


class ModuleTree:
    """The part of Module that registers, finds and lists parameters, buffers and submodules."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under ``name``; None registers the name without a parameter.

        Raises:
            TypeError: ``name`` is no string, or ``param`` neither a Parameter nor None.
            KeyError: ``name`` is empty, has a dot, or is another attribute of the module.
            ValueError: ``param`` is the result of an operation that autograd recorded.
            AttributeError: ``Module.__init__`` was not called yet.

        Example:
            >>> import nnkit
            >>> module = nnkit.nn.Module()
            >>> module.register_parameter("scale", nnkit.nn.Parameter(nnkit.ones(1)))
            >>> module.scale
            Parameter containing:
            tensor([1.], requires_grad=True)
        """
        registry = self._registry("_parameters", name)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign {type(param).__name__!r} object to parameter {name!r} "
                    "(Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"register_parameter: {name!r} is the result of {param.grad_fn.name()}, "
                    "a parameter must be a leaf: compute it in forward instead"
                )
            hooks = module_hooks._global_parameter_registration_hooks
            param = self._pass_hooks(hooks, name, param)
        registry[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the module's state but not trained.

        Args:
            name: the attribute's name.
            tensor: the buffer; None registers the name without a buffer.
            persistent: whether ``state_dict`` includes it.

        Raises:
            TypeError: ``name`` is no string, or ``tensor`` neither a Tensor nor None.
            KeyError: ``name`` is empty, has a dot, or is another attribute of the module.
            AttributeError: ``Module.__init__`` was not called yet.

        Example:
            >>> import nnkit
            >>> module = nnkit.nn.Module()
            >>> module.register_buffer("mean", nnkit.zeros(2))
            >>> module.state_dict()["mean"]
            tensor([0., 0.])
        """
        registry = self._registry("_buffers", name)
        if tensor is not None and not is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign {type(tensor).__name__!r} object to buffer {name!r} (Tensor or "
                "None required)"
            )
        registry[name] = self._pass_hooks(
            module_hooks._global_buffer_registration_hooks, name, tensor
        )
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Any) -> None:
        """Add a submodule under ``name``; None registers the name without a submodule.

        Raises:
            TypeError: ``name`` is no string, or ``module`` neither a Module nor None.
            KeyError: ``name`` is empty, has a dot, or is another attribute of the module.
            AttributeError: ``Module.__init__`` was not called yet.

        Example:
            >>> import nnkit
            >>> model = nnkit.nn.Module()
            >>> model.add_module("head", nnkit.nn.Identity())
            >>> model.head
            Identity()
        """
        if module is not None and not isinstance(module, ModuleTree):
            raise TypeError(
                f"{type(module).__name__} is not a Module subclass, nor None, for {name!r}"
            )
        registry = self._registry("_modules", name)
        registry[name] = self._pass_hooks(
            module_hooks._global_module_registration_hooks, name, module
        )

    def register_module(self, name: str, module: Any) -> None:
        """An alias of `add_module`."""
        self.add_module(name, module)

    def _registry(self, registry: str, name: str) -> dict[str, Any]:
        kind = _REGISTRIES[registry]
        if registry not in self.__dict__:
            raise AttributeError(
                f"cannot assign {kind} {name!r} before Module.__init__() was called"
            )
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        content = self.__dict__[registry]
        if name not in content:
            if "." in name:
                raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
            if name == "":
                raise KeyError(f'{kind} name can\'t be empty string ""')
            if hasattr(self, name):
                raise KeyError(
                    f"attribute {name!r} already exists in {type(self).__name__}, it cannot be a "
                    f"{kind} as well"
                )
        return content

    def _pass_hooks(self, hooks: dict[int, Callable], name: str, value: Any) -> Any:
        for hook in hooks.values():
            replaced = hook(self, name, value)
            value = value if replaced is None else replaced
        return value

    def _replicate_for_data_parallel(self) -> Any:
        """A copy without parameters, to be given those of another device."""
        replica = self.__new__(type(self))
        registries = {"_parameters": {}, "_buffers": self._buffers.copy()}
        registries["_modules"] = self._modules.copy()
        replica.__dict__.update(self.__dict__, **registries, _is_replica=True)
        return replica

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if getattr(cls, "__getattr__", ModuleTree._read) is not ModuleTree._read:
            read_in_full(cls)

    # Module takes these four for its own: programs reach object's by ``super(Module, self)``.

    def _read(self, name: str) -> Any:
        own = self.__dict__
        if "_parameters" in own:  # else __init__ has not run yet
            for registry in _REGISTRIES:
                if name in own[registry]:
                    shorten(type(self), registry, name)
                    return own[registry][name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _assign(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Tensor) and isinstance(value, Parameter):
            if "_parameters" in own:
                self._forget(name, own, self._buffers, self._modules)
            self.register_parameter(name, value)
        elif "_parameters" in own and name in own["_parameters"]:
            _must_be_none("parameter", "Parameter", name, value)
            own["_parameters"][name] = None
        elif isinstance(value, ModuleTree):
            if "_modules" not in own:
                raise AttributeError(
                    f"cannot assign module {name!r} before Module.__init__() was called"
                )
            self._forget(name, own, self._buffers)
            hooks = module_hooks._global_module_registration_hooks
            own["_modules"][name] = self._pass_hooks(hooks, name, value)
        elif "_modules" in own and name in own["_modules"]:
            _must_be_none("child module", "Module", name, value)
            own["_modules"][name] = None
        elif isinstance(value, Tensor) and isinstance(value, Buffer):
            self._register_assigned(name, value, value.persistent)
        elif "_buffers" in own and name in own["_buffers"]:
            if not is_tensor_like(value):
                _must_be_none("buffer", "Tensor", name, value)
            persistent = name not in self._non_persistent_buffers_set
            self._register_assigned(name, value, persistent)
        else:
            super().__setattr__(name, value)

    def _register_assigned(self, name: str, value: Any, persistent: bool) -> None:
        """Register an assigned buffer by ``register_buffer``, which a subclass may override without
        the parameter ``persistent``."""
        register: Any = self.register_buffer
        if getattr(register, "__func__", None) is not ModuleTree.register_buffer:
            if "persistent" not in inspect.signature(register).parameters:
                if not persistent:
                    raise RuntimeError(
                        f"{type(self).__name__}.register_buffer takes no 'persistent', and the "
                        f"buffer {name!r} is not to be saved"
                    )
                register(name, value)
                return
        register(name, value, persistent)

    def _delete(self, name: str) -> None:
        own = self.__dict__
        for registry in _REGISTRIES:
            if registry in own and name in own[registry]:
                del own[registry][name]
                self._non_persistent_buffers_set.discard(name)
                return
        # torch has an empty registry of hooks to delete where here only the class has one.
        if name in own or getattr(type(self), name, None) is not module_hooks.NO_HOOKS:
            super().__delattr__(name)

    def _forget(self, name: str, *registries: dict[str, Any]) -> None:
        for registry in registries:
            registry.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _listed(self) -> list[str]:
        classes = type(self).__mro__
        ways = {n for c in classes for n, v in vars(c).items() if isinstance(v, Registered)}
        names = {*dir(type(self)), *self.__dict__} - ways
        names.update(self._parameters, self._buffers, self._modules)
        # The children of a Sequential are numbers, which no attribute access can spell.
        return sorted(name for name in names if not name[:1].isdigit())

    def _get_name(self) -> str:
        return type(self).__name__

    def get_submodule(self, target: str) -> Any:
        """The module at a dotted path such as ``"encoder.0.norm"``; the module itself at ``""``.

        Raises:
            TypeError: ``target`` is not a str.
            AttributeError: a name in the path does not exist, or is not a module.

        Example:
            >>> import nnkit
            >>> model = nnkit.nn.Sequential(nnkit.nn.Sequential(nnkit.nn.Identity()))
            >>> model.get_submodule("0.0")
            Identity()
        """
        module = self
        if not isinstance(target, str):
            raise TypeError(
                f"get_submodule(): argument 'target' must be str, not {type(target).__name__}"
            )
        for name in target.split(".") if target else ():
            module = module._member(name, target)
            if not isinstance(module, ModuleTree):
                raise AttributeError(
                    f"get_submodule: {name!r} in {target!r} is a {type(module).__name__}, no Module"
                )
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put ``module`` at a dotted path whose parent exists.

        Args:
            target: the path.
            module: the Module to put there.
            strict: whether there has to be a module at the path already.

        Raises:
            ValueError: ``target`` is empty, or ``module`` is not a Module.
            AttributeError: the parent does not exist, what is at the path is not a Module, or
                there is nothing at the path although ``strict`` is set.

        Example:
            >>> import nnkit
            >>> model = nnkit.nn.Sequential(nnkit.nn.Flatten())
            >>> model.set_submodule("0", nnkit.nn.Identity())
            >>> model
            Sequential(
              (0): Identity()
            )
        """
        if target == "":
            raise ValueError("set_submodule: the target must not be empty")
        if not isinstance(module, ModuleTree):
            raise ValueError(f"set_submodule: module must be a Module, got {type(module).__name__}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path.

        Raises:
            AttributeError: there is nothing at the path, or it is not a parameter.

        Example:
            >>> import nnkit
            >>> model = nnkit.nn.Sequential(nnkit.nn.Linear(2, 3))
            >>> model.get_parameter("0.weight").shape
            nnkit.Size([3, 2])
        """
        return self._leaf(target, "parameter", lambda owner, value: isinstance(value, Parameter))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path.

        Raises:
            AttributeError: there is nothing at the path, or it is not a buffer.

        Example:
            >>> import nnkit
            >>> model = nnkit.nn.Sequential(nnkit.nn.BatchNorm1d(2))
            >>> model.get_buffer("0.running_mean")
            tensor([0., 0.])
        """
        name = target.rpartition(".")[2]
        return self._leaf(target, "buffer", lambda owner, value: name in owner._buffers)

    def _leaf(self, target: str, kind: str, accept: Callable[[Any, Any], bool]) -> Any:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        value = owner._member(name, target)
        if not accept(owner, value):
            wanted = "an nn.Parameter" if kind == "parameter" else f"a {kind}"
            raise AttributeError(
                f"get_{kind}: {target!r} is not {wanted} but a {type(value).__name__}"
            )
        return value

    def _member(self, name: str, target: str) -> Any:
        if not hasattr(self, name):
            raise AttributeError(f"{type(self).__name__} has no attribute `{name}` (in {target!r})")
        return getattr(self, name)

    def _named_members(
        self,
        get_members: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        owners = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, owner in owners:
            for name, value in get_members(owner):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once, in the order of registration; own ones before a child's."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Pairs of dotted path and parameter.

        Args:
            prefix: what each path begins with.
            recurse: whether the submodules' parameters are listed too.
            remove_duplicate: whether a shared parameter is listed once or under each path.

        Example:
            >>> import nnkit
            >>> model = nnkit.nn.Sequential(nnkit.nn.Linear(2, 1))
            >>> [name for name, _ in model.named_parameters()]
            ['0.weight', '0.bias']
        """
        return self._named_members(_parameter_items, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Pairs of dotted path and buffer; the arguments are those of ``named_parameters``."""
        return self._named_members(_buffer_items, prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Any]:
        """The direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Pairs of name and direct submodule, each submodule once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """The module itself and all below it, parents before children."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Pairs of dotted path and module: itself first, then all below, depth first.

        Args:
            memo: modules to leave out; those listed are added to it.
            prefix: what each path begins with.
            remove_duplicate: whether a shared module is listed once or under each path.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)


def _parameter_items(module: ModuleTree) -> Iterable[tuple[str, Parameter | None]]:
    return module._parameters.items()


def _buffer_items(module: ModuleTree) -> Iterable[tuple[str, Tensor | None]]:
    return module._buffers.items()


def _must_be_none(kind: str, wanted: str, name: str, value: Any) -> None:
    if value is not None:
        raise TypeError(
            f"cannot assign a {type(value).__name__} to {kind} {name!r}, "
            f"a {wanted} or None is expected"
        )
