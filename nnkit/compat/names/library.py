"""torch.library: operators that a program defines, and calls by ``torch.ops``.

An operator is opaque, as in torch: its gradient is the registered formula, not that of the
operations in its function. Functions that are registered for tracing (fakes) are not called.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.autograd.batch.examples import BatchLevel
from nnkit.autograd.graph import increment_version
from nnkit.autograd.op.promotion import asking_among
from nnkit.compat.dispatch import THREAD, asked
from nnkit.compat.names._library.infer_schema import infer_schema as infer_schema
from nnkit.compat.names._ops import OpOverloadPacket, ops
from nnkit.compat.passing import nothing, unchanged
from nnkit.utils._pytree import tree_flatten, tree_leaves, tree_unflatten
from nnkit.utils._pytree.leaves import _broadcast_to_and_flatten

_AUTOGRAD = "autograd"


class CustomOpDef:
    """An operator that a program has defined: its kernels by kind of device, and its derivative."""

    def __init__(self, name: str) -> None:
        self._qualname = name
        self.__name__ = name.partition("::")[2]
        self._kernels: dict[str | None, Callable] = {}
        self._signature: inspect.Signature | None = None
        self._opaque = False  # whether a derivative must be registered
        self._written: set[str] = set()  # the parameters whose tensors are written
        self._backward: Callable | None = None
        self._setup: Callable | None = None
        self._vmap: Callable | None = None

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    @property
    def _opoverload(self) -> CustomOpDef:
        """The operator itself, which has only one overload here."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, named = self._bound(args, kwargs)
        leaves, structure = tree_flatten(args)
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        needed = any(tensor.requires_grad for tensor in tensors) and nnkit.is_grad_enabled()
        batched = any(isinstance(tensor._device, BatchLevel) for tensor in tensors)
        if self._opaque and (needed or batched) or batched and self._vmap is not None:
            return self._recorded(leaves, structure, named)
        kernel = None if self._opaque else self._kernels.get(_AUTOGRAD)
        if kernel is not None:
            return kernel(*args, **named)
        return self._computed(tensors[0].device.type if tensors else "cpu", args, named)

    def _computed(self, device: str, args: tuple, named: dict[str, Any]) -> Any:
        """The kernel's result; its writes are counted here, since it may not count them itself."""
        result = self._answered(device, args, named)
        if self._written and self._signature is not None:
            given = self._signature.bind(*args, **named).arguments
            written = tree_leaves([given[name] for name in self._written if name in given])
            increment_version([leaf for leaf in written if isinstance(leaf, Tensor)])
        return result

    def _answered(self, device: str, args: tuple, named: dict[str, Any]) -> Any:
        """The result of the kernel, or of a mode or wrapper that handles the operator."""
        if not (THREAD.modes or asking_among((args, *named.values()))):
            return self._kernel(device)(*args, **named)
        space, _, name = self._qualname.partition("::")
        return asked(getattr(getattr(ops, space), name).default, args, named)

    def _bound(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments with their defaults, as formulas of derivatives get them."""
        if self._signature is None:
            return args, kwargs
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            wanted = self._signature.parameters[name].annotation
            if wanted in (Tensor, "Tensor", "torch.Tensor") and not isinstance(value, Tensor):
                raise RuntimeError(
                    f"{self._qualname}() Expected a value of type 'Tensor' for argument '{name}' "
                    f"but instead found type '{type(value).__name__}'."
                )
        return bound.args, bound.kwargs

    def _kernel(self, device: str) -> Callable:
        found = self._kernels.get(device) or self._kernels.get(None)
        if found is None:
            raise NotImplementedError(
                f"Could not run '{self._qualname}' with arguments from the '{device.upper()}' "
                "backend: no function has been registered for it"
            )
        return found

    def _recorded(self, leaves: list[Any], structure: Any, named: dict[str, Any]) -> Any:
        """The result as one node of the graph, whose derivative is the registered formula."""
        operator = self
        made: list[Any] = []  # the structure of the results, whose leaves autograd gets

        def flat(result: Any) -> tuple:
            found, spec = tree_flatten(result)
            made[:] = [spec]
            return tuple(found)

        def nested(found: tuple) -> Any:
            return tree_unflatten(list(found), made[0])

        def forward(*inputs: Any) -> tuple:
            device = next(leaf for leaf in inputs if isinstance(leaf, Tensor)).device.type
            return flat(operator._computed(device, tree_unflatten(inputs, structure), named))

        def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
            if operator._setup is None:
                return
            told = {"keyword_only_inputs": named} if named else {}
            inputs = tree_unflatten(inputs, structure)
            operator._setup(ctx=ctx, inputs=inputs, output=nested(output), **told)

        def backward(ctx: Any, *gradients: Any) -> Any:
            if operator._backward is None:
                raise RuntimeError(
                    f"Trying to backward through {operator._qualname} but no autograd formula "
                    "was registered. Please use register_autograd to add one."
                )
            given = nested(gradients)
            found = operator._backward(ctx, *(given if isinstance(given, tuple) else (given,)))
            found = found if isinstance(found, tuple) else (found,)
            return tuple(_gradients_of(tree_unflatten(leaves, structure), found))

        def vmap(info: Any, in_dims: tuple, *inputs: Any) -> Any:
            if operator._vmap is not None:
                told = tree_unflatten(in_dims, structure), *tree_unflatten(inputs, structure)
                result, dims = operator._vmap(info, *told, **named)
                return flat(result), tuple(_broadcast_to_and_flatten(dims, made[0]) or ())
            rows = []
            for i in range(info.batch_size):
                one = [x if d is None else x.select(d, i) for x, d in zip(inputs, in_dims)]
                rows.append(operator(*tree_unflatten(one, structure), **named))
            return flat(_stacked(rows)), 0

        rules: dict[str, Any] = {
            "forward": staticmethod(forward), "setup_context": staticmethod(setup_context),
            "backward": staticmethod(backward), "vmap": staticmethod(vmap),
        }  # fmt: skip
        name = f"GeneratedBackwardFor_{self._qualname.replace('::', '_')}_default"
        return nested(type(name, (nnkit.autograd.Function,), rules).apply(*leaves))

    def register_kernel(self, device_types: Any, func: Callable | None = None, /) -> Callable:
        """Register the operator's kernel for some kinds of devices; None and "default" mean all
        that have none of their own."""
        if func is None:
            return lambda f: self.register_kernel(device_types, f)
        if device_types is None or isinstance(device_types, str):
            device_types = [device_types]
        for kind in device_types:
            self._kernels[None if kind == "default" else kind] = func
        return func

    def register_autograd(self, backward: Callable, /, *, setup_context: Any = None) -> None:
        """Register ``backward(ctx, *gradients)`` as the operator's derivative."""
        self._opaque = True
        self._backward, self._setup = backward, setup_context

    def register_vmap(self, func: Callable | None = None, /) -> Callable:
        """Register ``func(info, in_dims, *arguments)``, which returns a batch and its dims."""
        if func is None:
            return self.register_vmap
        self._vmap = func
        return func

    register_fake = register_torch_dispatch = unchanged
    register_autocast = set_kernel_enabled = nothing


def _gradients_of(arguments: tuple, found: tuple) -> list[Any]:
    """The gradients of all leaves of the arguments; None stands for a whole argument, and omitted
    arguments need none."""
    result: list[Any] = []
    for argument, gradient in zip_longest(arguments, found):
        leaves = tree_leaves(gradient, is_leaf=lambda leaf: leaf is None)
        result += leaves if gradient is not None else [None] * len(tree_leaves(argument))
    return result


def _stacked(rows: Sequence[Any]) -> Any:
    """The results of all examples, stacked: a tensor, several, or none."""
    if isinstance(rows[0], (tuple, list)):
        return type(rows[0])([_stacked(column) for column in zip(*rows, strict=True)])
    return nnkit.stack(rows) if isinstance(rows[0], Tensor) else rows[0]


def _defined(name: str) -> CustomOpDef | None:
    """The operator that a program has defined by a name such as ``mine::f``."""
    packets, inner, overload = _place(name)
    packet = packets.get(inner)
    found = vars(packet).get(overload) if packet is not None else None
    return found if isinstance(found, CustomOpDef) else getattr(packet, "_function", None)


def _place(name: str) -> tuple[dict[str, Any], str, str]:
    """The operators of a library, a name among them and that of the overload, such as "out"."""
    space, _, inner = name.partition("::")
    inner, _, overload = inner.partition(".")
    return vars(getattr(ops, space)), inner, overload


def _declare(name: str, schema: str = "") -> CustomOpDef:
    made = CustomOpDef(name)
    made._signature = _signature(schema)
    packets, inner, overload = _place(name)
    if overload and inner in packets:  # beside the first, which the operator itself calls
        vars(packets[inner])[overload] = made
    else:
        packets[inner] = OpOverloadPacket(name, made)
    return made


def _signature(schema: str) -> inspect.Signature | None:
    """The parameters that a schema declares, ``(Tensor x, int n=2, *, float p) -> Tensor``."""
    declared = re.match(r"[^(]*\((.*)\)\s*->", schema, re.DOTALL)
    if declared is None:
        return None
    parameters, kind = [], inspect.Parameter.POSITIONAL_OR_KEYWORD
    for part in re.split(r",(?![^(\[]*[)\]])", declared[1]):
        declaration, has_default, default = part.strip().partition("=")
        name = declaration.split()[-1] if declaration else ""
        if name == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif name:
            value = _literal(default.strip()) if has_default else inspect.Parameter.empty
            parameters.append(inspect.Parameter(name, kind, default=value))
    return inspect.Signature(parameters)


def _literal(text: str) -> Any:
    """A default value of a schema; what is no literal of Python is kept as text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: Any = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """A decorator that makes a function an operator, which is called as the function is.

    Raises:
        ValueError: one of ``mutates_args`` is no parameter of the function.
    """
    if fn is None:
        options = {"mutates_args": mutates_args, "device_types": device_types}
        return lambda f: custom_op(name, f, **options)
    made = _declare(name)
    made._signature, made._opaque = inspect.signature(fn), True
    names = set(made._signature.parameters)
    made._written = names if mutates_args == "unknown" else set(mutates_args)
    if not made._written <= names:
        raise ValueError(
            f"custom_op: {made._written - names} in mutates_args were not found in the signature "
            f"of {name}{made._signature}"
        )
    made.register_kernel(device_types, fn)
    return made


def triton_op(name: str, fn: Callable | None = None, /, **kwargs: Any) -> Any:
    """See `custom_op`."""
    return custom_op(name, fn, **kwargs)


def _operator(op: Any) -> CustomOpDef | None:
    """The operator given by its name, by a packet of ``torch.ops``, or as it is."""
    if isinstance(op, str):
        return _defined(op)
    return op if isinstance(op, CustomOpDef) else getattr(op, "_function", None)


def _register(name: str, kind: str, function: Callable) -> None:
    """Register a kernel of an operator for a kind of device, or a key of torch's dispatcher."""
    kind = kind.lower()
    found = _defined(name)
    if not isinstance(found, CustomOpDef) or kind == "meta":  # torch's own are nnkit's
        return
    if kind.startswith(_AUTOGRAD):
        found._kernels[_AUTOGRAD] = function
    else:
        found.register_kernel(None if kind.startswith("composite") else kind, function)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Register a kernel of an operator for some kinds of devices; None means all."""
    if func is None:
        return lambda f: register_kernel(op, device_types, f)
    found = _operator(op)
    return found.register_kernel(device_types, func) if found is not None else func


def register_autograd(
    op: Any, backward: Callable, /, *, setup_context: Any = None, lib: Any = None
) -> None:
    """Register ``backward(ctx, *gradients)`` as the derivative of an operator."""
    found = _operator(op)
    if not isinstance(found, CustomOpDef):
        raise RuntimeError(f"register_autograd: no operator {op} has been defined")
    found.register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Callable | None = None, /, *, lib: Any = None) -> Any:
    """Register ``func(info, in_dims, *arguments)``, which computes an operator for a batch."""
    if func is None:
        return lambda f: register_vmap(op, f)
    found = _operator(op)
    return found.register_vmap(func) if isinstance(found, CustomOpDef) else func


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = None) -> None:
    """Define an operator, whose functions `impl` registers."""
    _declare(qualname, schema)


def impl(where: Any, *what: Any, **kwargs: Any) -> Any:
    """Register a kernel of an operator: ``impl(name, kinds, function)``, or ``impl(library, name,
    key)`` as a decorator."""
    if isinstance(where, Library):
        return lambda function: where.impl(what[0], function, *what[1:]) or function
    kinds, *given = what
    if not given:
        return lambda function: impl(where, kinds, function)
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        _register(where, kind, given[0])
    return given[0]


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """A placeholder for a kernel: to register it has no effect."""
    raise NotImplementedError("fallthrough_kernel: it is registered, and not called")


class Library:
    """The operators of one namespace, to define them and to register their kernels.

    Raises:
        ValueError: ``kind`` is none of ``"IMPL"``, ``"DEF"`` and ``"FRAGMENT"``, or ``ns`` is
            reserved.
    """

    def __init__(self, ns: str, kind: str = "DEF", dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "prim" and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace: choose another name for the library")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, *args: Any, **kwargs: Any) -> str:
        """Define an operator by its name and arguments, ``f(Tensor x) -> Tensor``."""
        name = schema.partition("(")[0].strip()
        _declare(f"{self.ns}::{name}", schema)
        return name

    def impl(self, op_name: Any, fn: Any, dispatch_key: str = "", **kwargs: Any) -> None:
        """Register a kernel of an operator for a key of torch's dispatcher.

        Raises:
            TypeError: ``fn`` is no function.
        """
        if not callable(fn):
            raise TypeError(
                "Library.impl: Input function is required to be a callable but found type "
                f"{type(fn).__name__}"
            )
        if fn is fallthrough_kernel:
            return
        name = op_name if isinstance(op_name, str) else op_name.__name__
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        _register(f"{self.ns}::{name.rpartition('::')[2]}", key, fn)

    fallback = _destroy = nothing

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *exception: Any) -> None:
        pass


_scoped_library = Library


def _registers(*args: Any, **kwargs: Any) -> Any:
    """A decorator that returns its function, which nothing calls here."""
    return next((a for a in args if callable(a) and not isinstance(a, CustomOpDef)), unchanged)


register_fake = register_torch_dispatch = _registers
impl_abstract = register_autocast = _registers
wrap_triton = unchanged
