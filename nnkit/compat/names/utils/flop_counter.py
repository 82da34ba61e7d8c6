"""torch.utils.flop_counter: counts the operations of products and convolutions, by modules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ExitStack
from math import prod
from typing import Any

from nnkit import Tensor
from nnkit.backend.cost import flops
from nnkit.backend.reference.linalg import einsum_flops
from nnkit.backend.warning import warn
from nnkit.compat.dispatch import TorchDispatchMode
from nnkit.compat.names._ops import OpOverloadPacket, ops
from nnkit.utils._pytree import tree_leaves, tree_map
from nnkit.utils.module_tracker import ModuleTracker

aten: Any = ops.aten
suffixes = ["", "K", "M", "B", "T"]
flop_registry: dict[Any, Callable] = {}


def get_shape(i: Any) -> Any:
    """The shape of a tensor; any other value as it is."""
    return i.shape if isinstance(i, Tensor) else i


def shape_wrapper(f: Callable) -> Callable:
    """A formula of shapes as one of tensors."""

    @functools.wraps(f)
    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out_shape, **kwargs)

    return count


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable], Callable]:
    """A decorator of a formula that counts the operations of operators, for all counters made from
    then on.

    Args:
        targets: operators, such as ``torch.ops.aten.mm``.
        get_raw: whether it gets tensors, and ``out_val``; else shapes, and ``out_shape``.

    Raises:
        ValueError: a target is no operator.
        RuntimeError: there is a formula for it.
    """

    def register(formula: Callable) -> Callable:
        count = formula if get_raw else shape_wrapper(formula)
        for target in tree_leaves(targets):
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(): targets must be operators such as torch.ops.aten.mm, "
                    f"got {type(target).__name__}"
                )
            if target in flop_registry:
                raise RuntimeError(f"register_flop_formula(): there is a formula for {target}")
            flop_registry[target] = count
        return formula

    return register


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """The operations of the product of two matrices."""
    return 2 * prod(a_shape) * b_shape[1]


@register_flop_formula(aten.addmm)
def addmm_flop(
    self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """Those of the product in `addmm`."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Those of the products of batches of matrices."""
    return 2 * prod(a_shape) * b_shape[-1]


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(
    self_shape: Any, a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """Those of the products in `baddbmm`."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """Those of a convolution, from the shapes of its input, its weight and its result."""
    return 2 * x_shape[0] * prod((x_shape if transposed else out_shape)[2:]) * prod(w_shape)


@register_flop_formula([aten.convolution, aten._convolution])
def conv_flop(
    x_shape: Any, w_shape: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, *args: Any, out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """Those of a convolution, as the operator is called."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


def _weight_flop(grad_shape: Any, x_shape: Any, w_shape: Any, *args: Any, **kwargs: Any) -> int:
    return 2 * prod(grad_shape) * x_shape[1] * prod(w_shape[2:])


def _moved_flop(x_shape: Any, w_shape: Any, *args: Any, **kwargs: Any) -> int:
    return conv_flop_count(x_shape, w_shape, None, transposed=True)


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Those of attention, whose keys may have fewer heads than the queries.

    Raises:
        AssertionError: the shapes do not fit.
    """
    batch, heads, queries, size = query_shape
    inside, (keys, width) = tuple(key_shape[:2]), value_shape[2:]
    fits = inside == tuple(value_shape[:2]) and inside[0] == batch and not heads % inside[1]
    if not fits or tuple(key_shape[2:]) != (keys, size):
        raise AssertionError(
            "sdpa_flop_count: the shapes of query, key and value are incompatible, got "
            f"{tuple(query_shape)}, {tuple(key_shape)} and {tuple(value_shape)}"
        )
    return 2 * batch * heads * queries * keys * (size + width)


def _matmul_flop(a_shape: Any, b_shape: Any, out_shape: Any) -> int:
    return 2 * prod(out_shape) * a_shape[-1] if min(len(a_shape), len(b_shape)) > 1 else 0


def _einsum_flop(shapes: Any, equation: str, out_shape: Any) -> int:
    return einsum_flops(equation, tuple(tuple(shape) for shape in shapes))


def _by_cost(name: str) -> Callable:
    """The operations of a primitive as the door counts them."""

    def count(*args: Any, out_val: Any) -> int:
        args, out = tree_map(lambda t: t._array if isinstance(t, Tensor) else t, (args, out_val))
        return flops(name, args, out)

    return count


# Primitives that are no operators of torch, and what their operations are counted for. Those of
# LSTMs are counted for none, as in torch on the CPU.
_OWN = {
    "matmul": (aten.bmm, shape_wrapper(_matmul_flop)),
    "einsum": (aten.bmm, shape_wrapper(_einsum_flop)),
    "tensordot": (aten.mm, _by_cost("tensordot")),
    **{f"{kind}_layer": (aten.addmm, _by_cost(f"{kind}_layer")) for kind in ("rnn", "gru")},
    **{f"{kind}_layer_grad": (aten.mm, _by_cost(f"{kind}_layer_grad")) for kind in ("rnn", "gru")},
    "conv_grad_input": (aten.convolution_backward, shape_wrapper(_moved_flop)),
    "conv_grad_weight": (aten.convolution_backward, shape_wrapper(_weight_flop)),
    "conv_transpose": (aten.convolution, shape_wrapper(_moved_flop)),
    "baddbmm": (aten.baddbmm, flop_registry[aten.baddbmm]),
}


class FlopCounterMode:
    """A context manager that counts the operations of products and convolutions, by modules.

    Args:
        mods: without effect, with a warning.
        depth: to what depth nested modules are shown; None for all.
        display: whether the table is printed at the end.
        custom_mapping: formulas for further operators, as `register_flop_formula` takes them.
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")
        custom = (custom_mapping or {}).items()
        raw = {k: v if getattr(v, "_get_raw", False) else shape_wrapper(v) for k, v in custom}
        self.flop_registry = {**flop_registry, **raw}
        self.flop_counts: dict[str, dict[Any, int]] = {}
        self.depth, self.display = depth, display
        self.mod_tracker = ModuleTracker()
        self._stack = ExitStack()

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._stack.enter_context(self.mod_tracker)
        self._stack.enter_context(_Counting(self))
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.close()
        if self.display:
            print(self.get_table())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The number of operations of each operator, for each module and ``Global``."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_total_flops(self) -> int:
        """The number of operations of all operators together."""
        return sum(self.flop_counts.get("Global", {}).values())

    def get_table(self, depth: int | None = None) -> str:
        """The table of the operations of modules and their operators, as text."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        suffix = get_suffix_str(total)
        blocks, covered = {}, False
        for name in sorted(self.flop_counts):
            level = 0 if name == "Global" else name.count(".")
            if name != "Global" and depth is not None and level + 1 > depth:
                continue
            counts = self.flop_counts[name]
            own = sum(counts.values())
            covered = covered or (name != "Global" and own >= total)
            lines = [(name, own), *((f" - {op}", n) for op, n in counts.items())]
            blocks[name] = [(f"{' ' * level}{text}", n) for text, n in lines]
        first = blocks.pop("Global", [])
        rows = [row for block in blocks.values() for row in block]
        if first and not covered:
            rows = [*first, *((f" {text}", n) for text, n in rows)]
        table = [("Module", "FLOP", "% Total")]
        for text, n in rows:
            number = convert_num_with_suffix(n, suffix) if suffix else str(n)
            table.append((text, number, convert_to_percent_str(n, total)))
        return _drawn(table if rows else [*table, ("Global", "0", "0%")])

    def _count(self, func: Any, out: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        packet = func.overloadpacket
        key, formula = packet, self.flop_registry.get(packet)
        if formula is None:
            key, formula = _OWN.get(packet.__name__, (packet, None))
        if formula is None:
            return
        if packet is aten.matmul and args[1].ndim == 2:
            key = aten.mm
        count = formula(*args, **kwargs, out_val=out)
        for name in self.mod_tracker.parents:
            counts = self.flop_counts.setdefault(name, {})
            counts[key] = counts.get(key, 0) + count


class _Counting(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        self.counter = counter

    def __torch_dispatch__(
        self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        self.counter._count(func, out, args, kwargs or {})
        return out


def get_suffix_str(number: int) -> str:
    """The suffix, thousands to trillions, that suits the size of a number."""
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """A number in the unit of a suffix."""
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """A fraction in percent."""
    return f"{num / denom:.2%}" if denom else "0%"


def _drawn(table: list[tuple[str, str, str]]) -> str:
    """The text of a table with a rule below its head, the first column aligned left."""
    columns = list(zip(*table))
    widths = [max(len(column[0]) + 2, *map(len, column)) for column in columns]
    rules = tuple("-" * width for width in widths)
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(t.rjust(w) for t, w in zip(row[1:], widths[1:]))])
        for row in (table[0], rules, *table[1:])
    ]
    return "\n".join(line.rstrip() for line in lines)
