"""The compiled forms of what stands in this floor's Python: ops on Tensors, nodes, wrapping.

Each function gives the compiled form of its twin, or the twin where the extension is missing
(`nnkit.backend.cpu.native`, in which these sources are compiled with the kernels).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from nnkit.backend.cpu.native import MODULE

Class = TypeVar("Class")


def bind_modes(twin: type) -> type:
    """The compiled class of the object that has the modes of each thread."""
    return MODULE.Modes if MODULE is not None else twin


def bind_living(twin: type[Class]) -> type[Class]:
    """The compiled base class of objects that can be enumerated while they live."""
    return MODULE.Living if MODULE is not None else twin


def bind_wrap(tensor: type, cpu: Any, untracked: list, twin: Callable) -> Callable:
    """The compiled form of `nnkit.autograd.tensor.wrap`; ops know the class from now on."""
    if MODULE is None:
        return twin
    MODULE.set_tensor(tensor, cpu, untracked)
    return MODULE.wrap


def _count_writes(tensor: Any, count: int, writer: str | None) -> None:
    writes = tensor._writes
    writes[0] += count
    writes[1] = writer


# (tensor, count, writer): so many writes to a tensor's storage, the last of them by ``writer``.
count_writes: Callable = _count_writes if MODULE is None else MODULE.count_writes

# (items, shape, ALL): the basic part and the last class of an `Index` whose items are integers,
# slices, None and Ellipsis; None where `Index` must look itself.
divide_basic: Callable = (lambda *_: None) if MODULE is None else MODULE.divide_basic


def tell_overriding(plain: set[type], guarded: bool, intercepted: bool) -> None:
    """Tell compiled callers what may answer for functions in place of them.

    Args:
        plain: the classes whose instances do not.
        guarded: whether a subclass of Tensor may.
        intercepted: whether a mode may, whatever the arguments are.
    """
    if MODULE is not None:
        MODULE.tell_overriding(plain, guarded, intercepted)


def tell_levels(entered: set) -> None:
    """Tell compiled callers the set of the levels of transforms that are entered."""
    if MODULE is not None:
        MODULE.tell_levels(entered)


def bind_unpack(node: Any, saved_output: type, hooked: set, twin: Callable) -> Callable:
    """The compiled form of `nnkit.autograd.engine.unpacking.unpack_array`.

    Args:
        node: the module of the class `Node`; records know it from now on.
        saved_output: the class in place of an output that a node saves.
        hooked: whether hooks pack what nodes save.
    """
    if MODULE is None:
        return twin
    MODULE.set_node(node.Node, saved_output, hooked, vars(node), twin)
    return MODULE.unpack_array


def bind_record(twin: Callable, node_type: type, values: list[tuple]) -> Callable:
    """The compiled form of what makes the nodes of an op.

    Args:
        values: of each that is saved the kind, the place among those of its kind, the inputs whose
            rules read it as bits, whether it is saved whoever wants a gradient, and whether the
            array of the first output is kept with it.
    """
    return MODULE.bind_record(twin, node_type, values) if MODULE is not None else twin


def bind_op(
    op: Any,
    twin: Callable,
    connect: Callable | None = None,
    dtypes: tuple | None = None,
    numbers: int = 0,
    exact: bool = False,
    link: Callable | None = None,
    masks: int = 0,
) -> Callable:
    """The compiled form of an op on Tensors.

    Args:
        op: an `nnkit.autograd.op.rule.Op`.
        twin: gets the operands that need more than to be unwrapped.
        connect: records the node where ``op.record`` does not say all of it; no formula needs it.
        dtypes: for a formula, what its operands may have.
        numbers: which operands may be numbers, a bit for each: 2 for the second, 3 for either of
            the first two.
        exact: whether half precision does not round the second before it computes.
        link: of an op that gives views what makes its results views.
        masks: which operands of a formula are bool, whatever the others are, a bit for each.
    """
    if MODULE is None:
        return twin
    primitive = op.primitive
    optional = sum(1 << i for i, x in enumerate(primitive.arrays) if x in primitive.optional)
    flowing = sum(1 << i for i, r in enumerate(op.rules) if op.joint or r is not None)
    several = len(primitive.outputs) > 1 or primitive.many
    simple = (op.only_first or not several) and not op.broadcasts
    return MODULE.bind_op(
        twin, op, connect, op.name, dtypes, optional, flowing, len(op.rules), numbers, masks,
        exact, several, simple, bool(primitive.sequences), None, link,
    )  # fmt: skip


def bind_write(
    name: str, operation: str, inputs: int, dtypes: tuple | None, twin: Callable,
    numbers: int = 0, exact: bool = False, masks: int = 0,
) -> Callable:  # fmt: skip
    """The compiled form of what writes into a Tensor where that becomes no history.

    Args:
        name: of the primitive, which writes into its first array.
        operation: what the write is called.
        inputs: how many operands there are before the numbers.
        dtypes: for a formula, what they may have.
        twin: gets the operands that need more.
        numbers: 2 where the second operand may be a number.
        exact: whether half precision does not round that before it computes.
        masks: which operands are bool, whatever the others are, a bit for each.
    """
    if MODULE is None:
        return twin
    return MODULE.bind_op(
        twin, None, None, name, dtypes, 0, 0, inputs, numbers, masks, exact, False, True, False,
        operation, None,
    )  # fmt: skip


def bind_entry(twin: type) -> Any:
    """The compiled class of descriptors that read ``instance.__dict__[registry][name]``."""
    return MODULE.Entry if MODULE is not None else twin


def bind_held(name: str, twin: Callable) -> Any:
    """The compiled class ``name`` of functions that look at the classes of their arguments."""
    return getattr(MODULE, name) if MODULE is not None else twin
