"""`Function`: operations whose forward and backward are written by the user."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.dims import broadcasts
from nnkit.autograd.arguments.overriding import is_plain
from nnkit.autograd.batch.examples import BatchLevel
from nnkit.autograd.batch.function import leaves, mapped
from nnkit.autograd.engine import node as node_module
from nnkit.autograd.engine.leaves import GRAD_DTYPES, gradient_dtype
from nnkit.autograd.engine.node import SPARSE, Node, OutputEdge, SavedOutput, Unknown, edge_of
from nnkit.autograd.engine.once import once_differentiable as once_differentiable
from nnkit.autograd.engine.saved import ACTIVE, pack_values
from nnkit.autograd.engine.saved_attributes import SavedTensor
from nnkit.autograd.engine.unpacking import FREED, unpack_tensor
from nnkit.autograd.forward.function import carried, is_in
from nnkit.autograd.grad_mode import MODE, is_grad_enabled, no_grad
from nnkit.autograd.op.registry import LIFTED, OPS
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.history import set_history
from nnkit.autograd.views.refusals import check_history, mark_views
from nnkit.autograd.views.replay import chain_of, replay
from nnkit.autograd.views.writes import check_traceable, wrote
from nnkit.backend.dtype import FLOATING
from nnkit.backend.lazy import plain
from nnkit.backend.warning import warn

_NO_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only inputs that forward modifies "
    "should be given to it"
)


class FunctionNode(Node):
    """The graph node of a `Function`."""

    __slots__ = (
        "__dict__", "attributes", "carries", "dirty", "materializes", "materializes_non_diff",
        "non_differentiable", "saves_arrays", "slots", "to_carry", "to_save",
    )  # fmt: skip
    runs_always = runs_user_code = True
    runs_freed = True  # `saved_tensors` raises if its values were freed
    _function: type[Function]

    def __init__(self, needs: tuple[bool, ...]) -> None:
        super().__init__((), (), None)
        self.attributes: dict[str, Any] = {"needs_input_grad": needs}  # the user's, on ctx
        self.to_save: tuple = ()  # the tensors of `save_for_backward` until they are `values`
        self.to_carry: tuple = ()  # the tensors of `save_for_forward`
        self.carries = False  # whether `jvp` is running, for which `saved_tensors` are `to_carry`
        self.materializes = self.materializes_non_diff = True
        self.saves_arrays = False
        self.slots = None
        self.dirty: tuple = ()
        self.non_differentiable: tuple = ()

    def context(self) -> FunctionContext:
        """The ``ctx`` that the user's methods get for this node."""
        return self._function._context_type(self)

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        return getattr(self.context(), name)

    def __repr__(self) -> str:
        return f"<{Function.__module__}.{type(self).__name__} object at {id(self):#x}>"

    @property
    def operation(self) -> str:
        return type(self).__name__

    def forget(self) -> None:
        """Drop what only `apply` needs; some of these tensors hold this node, a cycle."""
        self.dirty = self.non_differentiable = self.to_carry = ()

    def gradients(self, B: Any, grads: Any, unpack: Callable) -> list:
        lifted = B is LIFTED
        shown = [g if lifted or g is None else wrap(g, self.device) for g in grads]
        function = self._function
        backward = function.backward
        if backward is Function.backward:
            backward = function.vjp
        elif function.vjp is not Function.vjp:
            raise RuntimeError(
                f"{function.__name__}: Implementing both 'backward' and 'vjp' is not allowed"
            )
        results = backward(self.context(), *((shown,) if function.boxed_grads_call else shown))
        results = self._check(list(results) if isinstance(results, tuple) else [results])
        return [
            r if lifted or r is None or r.__class__ in SPARSE else plain(r._array) for r in results
        ]

    def _check(self, results: list) -> list:
        """The gradients that backward returned, after torch's checks."""
        name = self.name()
        expected = len(self.edges)
        if len(results) > expected and all(r is None for r in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients "
                f"(expected {expected}, got {len(results)})"
            )
        for i, (result, meta) in enumerate(zip(results, self.meta, strict=True)):
            if result is None:
                continue
            if not isinstance(result, Tensor):
                raise RuntimeError(
                    f"function {name} returned a {type(result).__name__} at index {i}, "
                    "expected a Tensor or None"
                )
            if meta is None:
                if i not in (self.slots or ()):
                    raise RuntimeError(
                        f"function {name} returned a gradient different from None at position "
                        f"{i + 1}, but the corresponding forward input was not a Variable"
                    )
            elif self.edges[i].__class__ is Unknown:  # torch does not check these
                results[i] = None
            elif result.is_complex() and meta[1] is not None and meta[1].kind != "c":
                raise RuntimeError(
                    f"Function {name} returned an invalid gradient at index {i} - expected a real "
                    f"one, as the input is, but got {result.dtype}"
                )
            elif not broadcasts(meta[0], tuple(result.shape)):
                raise RuntimeError(
                    f"Function {name} returned an invalid gradient at index {i} - got "
                    f"{list(result.shape)} but expected shape compatible with {list(meta[0])}"
                )
        return results


class FunctionContext:
    """The ``ctx`` of a Function's methods: its node, with the attributes that the user sets.

    These may have any name, also names that the node itself uses, such as ``device``.
    """

    __slots__ = ("__dict__", "__weakref__", "_node")

    def __init__(self, node: FunctionNode) -> None:
        self.__dict__ = node.attributes
        self._node = node

    @property
    def __class__(self) -> Any:  # in torch it is the node itself
        return type(self._node)

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self._node, name)
        except AttributeError:
            kind = type(self._node).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r}") from None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for backward, which reads them as ``ctx.saved_tensors``."""
        self._node.to_save = tensors

    @property
    def saved_variables(self) -> tuple:
        """Deprecated name of `saved_tensors`."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        """The saved tensors as objects on which pack and unpack hooks can be registered."""
        values = self._node.values
        if values is None:
            raise RuntimeError(FREED)
        return tuple([SavedTensor(self._node, place) for place in range(len(values))])

    @property
    def saved_tensors(self) -> tuple:
        """The tensors of `save_for_backward`; within ``jvp``, those of `save_for_forward`.

        Raises:
            RuntimeError: they were freed by a backward pass, or written after they were saved.
        """
        node = self._node
        if node.carries:
            return node.to_carry
        once = node._function.clear_saved_tensors_on_access
        if node.values is None:
            raise RuntimeError("saved_tensors can only be accessed once" if once else FREED)
        if node.to_save:
            return node.to_save
        saved = tuple(None if v is None else unpack_tensor(node, v) for v in node.values)
        node.values = None if once else node.values
        return saved

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare the inputs that forward has written in place; forward must return them."""
        self._node.dirty = _checked("mark_dirty", tensors)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare the outputs that have no gradient."""
        self._node.non_differentiable = _checked("mark_non_differentiable", tensors)

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward gets zeros (the default) or None for outputs without a gradient."""
        if not isinstance(value, bool):
            raise TypeError(f"set_materialize_grads: value must be bool, got {value!r}")
        self._node.materializes = value

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for ``jvp``, which reads them as ``ctx.saved_tensors``."""
        self._node.to_carry = tensors

    @property
    def _materialize_non_diff_grads(self) -> bool:
        """Whether backward gets zeros for the outputs of `mark_non_differentiable`."""
        return self._node.materializes_non_diff

    @_materialize_non_diff_grads.setter
    def _materialize_non_diff_grads(self, value: bool) -> None:
        self._node.materializes_non_diff = value


def _checked(method: str, tensors: tuple) -> tuple:
    """``tensors``, unless one of them is not a Tensor: then RuntimeError."""
    for position, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise RuntimeError(
                f"{method} can only accept tensors, but argument {position} is of type "
                f"{type(t).__name__}"
            )
    return tensors


class Function:
    """Base class of operations with a derivative of their own; ``torch.autograd.Function``.

    A subclass defines the static methods ``forward`` and ``backward`` and is called by ``apply``.
    ``forward`` gets ``ctx`` as its first argument, unless ``setup_context(ctx, inputs, output)`` is
    defined as well, which the transforms of `nnkit.func` require. ``jvp(ctx, *tangents)`` returns
    the tangents of the outputs, for forward mode. Inside `nnkit.func.vmap` the class must either
    define ``vmap(info, in_dims, *inputs)``, which computes a whole batch, or set
    ``generate_vmap_rule = True``, which runs ``forward`` on the batch.

    Example:
        >>> import nnkit
        >>> class Double(nnkit.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return g * 2
        >>> x = nnkit.tensor(1.0, requires_grad=True)
        >>> Double.apply(x).backward()
        >>> x.grad
        tensor(2.)
    """

    _context_type: type[FunctionContext]
    _node_type: type[FunctionNode]
    _backward_cls: type[FunctionNode]
    generate_vmap_rule = boxed_grads_call = clear_saved_tensors_on_access = False  # as in torch

    def __init__(self, *arguments: Any, **options: Any) -> None:
        warn(
            f"{type(self).__name__} should not be instantiated. Methods on autograd functions are "
            "all static: use `.apply(...)`",
            DeprecationWarning,
        )

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            f"new-style autograd function with static forward method: {type(self).__name__}.apply"
        )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name = f"{cls.__name__}Backward"
        home = {"__module__": Function.__module__}
        cls._context_type = type(name, (FunctionContext,), {"__slots__": (), **home})
        cls._node_type = type(name, (FunctionNode,), {"_function": cls, **home})
        cls._backward_cls = cls._node_type

    @staticmethod
    def forward(*arguments: Any, **options: Any) -> Any:
        """Compute the outputs from the inputs; to be overridden."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> Any:
        """Fill ``ctx`` after forward, if forward does not take it; to be overridden."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute one gradient for each input of forward; to be overridden."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Alternative name of `backward`, of which a subclass may override either."""
        return Function.backward(ctx, *grad_outputs)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Compute the tangents of the outputs, given those of the inputs; to be overridden."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *arguments: Any) -> Any:
        """Compute the outputs of a batch and their batch dimensions; to be overridden."""
        raise NotImplementedError(
            "You must implement the vmap function for custom autograd.Function to use it with vmap."
        )

    @classmethod
    def apply(cls, *arguments: Any, **options: Any) -> Any:
        """Run forward and record its node.

        Raises:
            RuntimeError: inside a transform, ``setup_context`` is not overridden; or inside
                `nnkit.func.vmap`, not exactly one of ``vmap`` and ``generate_vmap_rule`` is set.
            NotImplementedError: an input has a tangent and ``jvp`` is not overridden.
        """
        node, result = cls._call(arguments, options)
        node.forget()
        return result

    @classmethod
    def _call(cls, arguments: tuple, options: dict[str, Any]) -> tuple[FunctionNode, Any]:
        """The node, and the result of `apply`."""
        separate = cls.setup_context is not Function.setup_context
        if MODE.transforms:
            check_transformed(cls)
        if separate:
            bound = inspect.signature(cls.forward).bind(*arguments, **options)
            bound.apply_defaults()
            arguments, options = bound.args, bound.kwargs
        elif options:
            arguments, options = _by_position(cls.forward, arguments, options), {}
        needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in arguments)
        node = cls._node_type(needs)
        if options and not MODE.transforms:
            raise TypeError(
                f"{cls.__name__}.apply(): forward() got an unexpected keyword argument "
                f"{next(iter(options))!r}: of keyword-only parameters no gradient is known"
            )
        if is_grad_enabled():
            for argument, need in zip(arguments, needs, strict=True):
                if need:
                    check_history(argument)
        edges = tuple(
            edge_of(a) if need else None for a, need in zip(arguments, needs, strict=True)
        )
        given = [*leaves(arguments)] if MODE.batches else arguments
        levels = [a._device for a in given if isinstance(a, Tensor) and a._device.depth]
        if levels:
            level = max(levels, key=_depth)
            if isinstance(level, BatchLevel):
                has_rule = cls.vmap is not Function.vmap
                result = mapped(cls, level, arguments, options, has_rule)
            else:
                result = carried(cls, level, arguments, options)
            if not separate:
                return node, result
        with no_grad():
            if not separate:
                result = cls.forward(node.context(), *arguments, **options)
            else:
                if not levels:
                    result = cls.forward(*arguments, **options)
                cls.setup_context(node.context(), arguments, result)
                _check_returned(node, arguments, result)
        outputs = result if isinstance(result, tuple) else (result,)
        for t in node.dirty:
            if t._base is not None and not is_in(t, arguments):
                raise RuntimeError(_NO_INPUT)
            wrote(t, node.name())
        if is_grad_enabled() and any(needs):
            node.order = next(node_module.sequence)
            node.edges = edges
            node.slots = tuple([i for i, a in enumerate(arguments) if isinstance(a, Tensor)])
            tensors = [a for a in arguments if isinstance(a, Tensor)]
            node.device = tensors[0]._device
            node.meta = tuple(
                None
                if edge is None or edge.__class__ is Unknown
                else (a._array.shape, _dtype_of_gradient(a, edge))
                for a, edge in zip(arguments, edges, strict=True)
            )
            outputs = _connect(node, arguments, outputs)
            mark_views(outputs, "function" if len(outputs) == 1 else "multiple")
            _save(node, outputs)
        else:
            outputs = tuple([_constant(node, out, arguments) for out in outputs])
            mark_views(outputs, "function")
        return node, outputs if isinstance(result, tuple) else outputs[0]


def _by_position(forward: Callable, arguments: tuple, options: dict[str, Any]) -> tuple:
    """The arguments after ``ctx`` with those that were given by name in their places.

    Raises:
        TypeError: one has no place, or the one before it is missing.
    """
    places = [
        name
        for name, parameter in inspect.signature(forward).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ][1 + len(arguments) :]
    for name in options:
        if name not in places:
            raise TypeError(f"forward() got an unexpected or repeated keyword argument {name!r}")
    missing = next((name for name in places[: len(options)] if name not in options), None)
    if missing is not None:
        raise TypeError(f"forward() missing required argument: {missing!r}")
    return (*arguments, *[options[name] for name in places[: len(options)]])


def _dtype_of_gradient(argument: Tensor, edge: Any) -> Any:
    """The array dtype that the gradient of an argument must have; None if any is allowed."""
    if edge is argument and GRAD_DTYPES:
        wanted = gradient_dtype(argument)
        return wanted and wanted.array
    return argument._array.dtype


def check_transformed(function: type[Function]) -> None:
    """RuntimeError if a Function does not define what the active transforms require."""
    name = function.__name__
    if function.setup_context is Function.setup_context:
        raise RuntimeError(
            f"{name}: inside the transforms of nnkit.func an autograd.Function must override "
            "the setup_context staticmethod"
        )
    if MODE.batches:
        has_rule = function.vmap is not Function.vmap
        if has_rule and function.generate_vmap_rule:
            raise RuntimeError(
                f"{name}: got both generate_vmap_rule=True and a vmap staticmethod, expected only "
                "one of them"
            )
        if not has_rule and not function.generate_vmap_rule:
            raise RuntimeError(
                f"You tried to vmap over {name}, but it does not have vmap support. Override the "
                "vmap staticmethod or set generate_vmap_rule=True"
            )


def _depth(level: Any) -> int:
    return level.depth


def _constant(node: FunctionNode, out: Any, inputs: tuple) -> Any:
    """An output without history; an input that forward returned becomes an alias of it, unless it
    was marked dirty."""
    if not isinstance(out, Tensor):
        return out
    if not out.requires_grad:
        returned = is_in(out, inputs) and not is_in(out, node.dirty)
        return _as_view(out) if returned else out
    if is_in(out, inputs):
        return out.detach()
    return out.detach_() if out._base is None else out


def _check_returned(node: FunctionNode, inputs: tuple, result: Any) -> None:
    """RuntimeError if `setup_context` saves an input that forward returned unchanged."""
    outputs = result if isinstance(result, tuple) else (result,)
    for saved in (*node.to_save, *node.to_carry):
        if saved is not None and is_in(saved, inputs) and is_in(saved, outputs):
            if not is_in(saved, node.dirty):
                raise RuntimeError(
                    "An input that has been returned as-is as output is saved by setup_context() "
                    f"of {type(node).__name__}: return and save a view of it instead"
                )


def _as_view(tensor: Tensor) -> Tensor:
    """A view of the whole tensor, which cannot be written while operations are recorded. A subclass
    makes it by its own ``view_as``."""
    with no_grad():
        if is_plain(tensor):
            return OPS["view"](tensor, tensor._array.shape)
        return tensor.view_as(tensor)  # type: ignore[attr-defined]


def _connect(node: FunctionNode, inputs: tuple, outputs: tuple) -> tuple:
    """Connect the outputs to their node; an input returned unchanged becomes a view of it."""
    for t in node.dirty:
        if not is_in(t, outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                f"output: {node.name()} must return each input that it modifies in place"
            )
    connected = []
    for index, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            connected.append(out)
            continue
        if is_in(out, node.non_differentiable) or out.dtype.category < FLOATING:
            connected.append(_constant(node, out, inputs))
            continue
        edge = OutputEdge(node, index) if len(outputs) > 1 else node
        if is_in(out, node.dirty):
            connected.append(_rebased(node, out, edge, inputs, len(outputs)))
            continue
        if is_in(out, inputs):
            out = _as_view(out)
        elif out._base is not None:
            out._viewed = out._writes[0]  # the node's history includes what forward wrote
        out._edge = edge
        out._requires_grad = True
        connected.append(out)
    node.outputs = [
        (o._array.shape, o._array.dtype)
        if isinstance(o, Tensor) and (o._requires_grad or node.materializes_non_diff)
        else None
        for o in connected
    ]
    return tuple(connected)


def _rebased(node: FunctionNode, out: Tensor, edge: Any, inputs: tuple, count: int) -> Tensor:
    """A tensor that forward wrote in place, connected to the node."""
    if out._base is None:
        check_traceable(out)
    if not is_in(out, inputs):
        warn(_NO_INPUT)
    if out._base is not None and count > 1:
        raise RuntimeError(
            "your Function modifies inplace an input that is a view of another Tensor, so that it "
            f"cannot return more than one Tensor: got {count}"
        )
    out._grad = None  # it was the gradient of the input
    check_traceable(out)
    if MODE.enabled and out._base is not None and out._requires_grad:
        # The gradient goes to the base directly, no longer through the views.
        before = replay(chain_of(out), out._base)._edge
        node.edges = tuple([before if a is out else e for a, e in zip(inputs, node.edges)])
    carrier = wrap(out._array, out._device)
    carrier._edge, carrier._requires_grad = edge, True
    set_history(out, carrier)
    return out


def _save(node: FunctionNode, outputs: tuple) -> None:
    """Turn the saved tensors into the node's values, without a reference cycle through outputs."""
    for i, t in enumerate(node.to_save):
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {i} is of type "
                f"{type(t).__name__}"
            )
    values = []
    for t in node.to_save:
        if t is None:
            values.append(None)
            continue
        index = next((i for i, o in enumerate(outputs) if o is t), None)
        if index is None:
            values.append((t, t._writes[0]))
        else:
            values.append((SavedOutput(t._array, t._writes, index), t._writes[0]))
    node.values = tuple(values)
    node.to_save = ()
    node.saves_arrays = bool(values)
    if ACTIVE:
        pack_values(node, outputs)
