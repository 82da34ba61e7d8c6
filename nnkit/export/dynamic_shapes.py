"""`Dim`: a size that an exported program leaves open, and which sizes of the inputs are so."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, ClassVar

from nnkit.autograd import Tensor


class Hint(Enum):
    """A size of an input that has no name: open (AUTO, DYNAMIC), or the example's (STATIC)."""

    AUTO = "AUTO"
    DYNAMIC = "DYNAMIC"
    STATIC = "STATIC"


class Dim:
    """A size that is open: any number from ``min`` to ``max``, the same wherever the name stands.

    ``2 * dim + 1`` is a size that follows from it. ``Dim.AUTO`` and ``Dim.DYNAMIC`` stand for open
    sizes without a name, of which those that are equal in the example stay equal; ``Dim.STATIC``
    for the example's.

    Args:
        name: an identifier.
        min, max: the smallest and the largest size.

    Source: ``torch.export.Dim``.

    Example:
        >>> from nnkit.export import Dim
        >>> batch = Dim("batch", min=2, max=64)
        >>> batch, 2 * batch
        (Dim('batch', min=2, max=64), 2*batch)
    """

    AUTO: ClassVar[Hint] = Hint.AUTO
    DYNAMIC: ClassVar[Hint] = Hint.DYNAMIC
    STATIC: ClassVar[Hint] = Hint.STATIC

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise AssertionError(f"Dim: name must be a valid identifier, got {name!r}")
        self.__name__ = name
        self.min: float = 0 if min is None else min
        self.max: float = math.inf if max is None else max
        if self.max <= self.min:
            raise AssertionError(f"Dim: max must be above min, got min={min} and max={max}")

    def __repr__(self) -> str:
        least, most = int(self.min), f", max={self.max}" if self.max < math.inf else ""
        return f"Dim({self.__name__!r}, min={least}{most})"

    def __add__(self, other: int) -> Derived:
        return Derived(self, 1, other)

    __radd__ = __add__

    def __sub__(self, other: int) -> Derived:
        return Derived(self, 1, -other)

    def __mul__(self, other: int) -> Derived:
        return Derived(self, other, 0)

    __rmul__ = __mul__


class Derived:
    """The size ``factor * root + offset``."""

    def __init__(self, root: Dim, factor: int, offset: int) -> None:
        if type(factor) is not int or type(offset) is not int or factor <= 0:
            raise NotImplementedError(
                "Dim: only positive multiples of a size, plus or minus a whole number, are sizes"
            )
        self.root, self.factor, self.offset = root, factor, offset

    @property
    def __name__(self) -> str:
        product = self.root.__name__ if self.factor == 1 else f"{self.factor}*{self.root.__name__}"
        sign = "+" if self.offset > 0 else "-"
        return f"{product} {sign} {abs(self.offset)}" if self.offset else product

    def __repr__(self) -> str:
        return self.__name__

    def __add__(self, other: int) -> Derived:
        return Derived(self.root, self.factor, self.offset + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> Derived:
        return self + -other

    def __mul__(self, other: int) -> Derived:
        return Derived(self.root, self.factor * other, self.offset * other)

    __rmul__ = __mul__

    def of(self, size: int) -> int:
        """The size, where the root is ``size``."""
        return self.factor * size + self.offset

    def solved(self, size: int) -> int:
        """The root, where this size is ``size``.

        Raises:
            RuntimeError: it is no whole number.
        """
        root, rest = divmod(size - self.offset, self.factor)
        if rest:
            raise RuntimeError(f"export: the example's size {size} is not {self}")
        return root


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Open sizes of these names.

    Example:
        >>> from nnkit.export import dims
        >>> dims("batch", "time", max=512)
        (Dim('batch', min=0, max=512), Dim('time', min=0, max=512))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


class OpenSizes:
    """The open sizes of a program's inputs.

    Attributes:
        roots: each open size that is named or stands for itself, by its name.
        examples: what it is in the example.
        places: for each leaf of the inputs its open dimensions, as sizes that follow from a root.
    """

    def __init__(self) -> None:
        self.roots: dict[str, Dim] = {}
        self.examples: dict[str, int] = {}
        self.places: list[dict[int, Derived]] = []

    def add(self, tensor: Any, spec: Any, name: str) -> None:
        """Take in the next leaf, with what ``dynamic_shapes`` says of it.

        Raises:
            RuntimeError: a size of the example is not what its name says.
            ValueError: it is no dictionary or sequence of sizes, or names no dimension.
        """
        found: dict[int, Derived] = {}
        if isinstance(tensor, Tensor):
            for index, size in _by_dimension(tensor, spec, name).items():
                if isinstance(size, int):
                    if tensor.shape[index] != size:
                        raise RuntimeError(
                            f"export: {name}.shape[{index}] is {tensor.shape[index]}, and "
                            f"dynamic_shapes says {size}"
                        )
                elif size is not None and size is not Hint.STATIC:
                    found[index] = self._open(size, tensor.shape[index], f"{name}.shape[{index}]")
        elif spec is not None:
            raise ValueError(
                f"export: {name} is not a tensor; dynamic_shapes must be None for it, got {spec!r}"
            )
        self.places.append(found)

    def _open(self, size: Any, example: int, place: str) -> Derived:
        if isinstance(size, Hint):  # equal sizes are taken to be one
            size = Dim(f"s{example}")
        derived = size if isinstance(size, Derived) else Derived(size, 1, 0)
        root = derived.root
        value = derived.solved(example)
        known = self.roots.setdefault(root.__name__, root)
        if (known.min, known.max) != (root.min, root.max):
            raise RuntimeError(f"export: {known} and {root} have one name")
        if not known.min <= value <= known.max:
            raise RuntimeError(
                f"export: {place} is {example}, and {value} not in range [{known.min}, {known.max}]"
            )
        if self.examples.setdefault(root.__name__, value) != value:
            raise RuntimeError(
                f"Constraints violated ({root.__name__})! export: {place} is {example}, but "
                f"{root.__name__} is {self.examples[root.__name__]} elsewhere in the example"
            )
        return derived

    def trials(self) -> list[dict[str, int]]:
        """Two choices of all open sizes, in which each of them differs; one, if none is open.

        Sizes below two, which other sizes stretch to, are avoided. The second are some two times
        as large, so that halves differ too.
        """
        first: dict[str, int] = {}
        second: dict[str, int] = {}
        for step, (name, dim) in enumerate(self.roots.items(), 1):
            example = self.examples[name]
            least, most = int(dim.min), max(dim.max, example)
            usual = example if example >= 2 or most < 2 else 2
            wanted = (
                2 * usual + step,
                usual + step,
                max(usual - step, least),
                usual + 1,
                usual - 1,
            )
            first[name] = usual
            second[name] = next(n for n in wanted if n != usual and least <= n <= most)
        return [first, second] if first else [first]

    def resized(self, leaf: Any, index: int, sizes: Mapping[str, int]) -> Any:
        """A leaf of the example with other sizes: it is repeated, or cut."""
        if not isinstance(leaf, Tensor):
            return leaf
        from nnkit import arange, zeros

        made = leaf.detach()
        for dim, size in self.places[index].items():
            wanted, given = size.of(sizes[size.root.__name__]), made.shape[dim]
            if wanted == given:
                continue
            if given:
                made = made.index_select(dim, arange(wanted, device=made.device) % given)
            else:
                shape = (*made.shape[:dim], wanted, *made.shape[dim + 1 :])
                made = zeros(shape, dtype=made.dtype, device=made.device)
        return made.clone().requires_grad_(leaf.requires_grad)


def _by_dimension(tensor: Any, spec: Any, name: str) -> dict[int, Any]:
    if spec is None:
        return {}
    if isinstance(spec, (tuple, list)):
        if len(spec) != tensor.ndim:
            raise ValueError(
                f"export: {name} has {tensor.ndim} dimensions, and dynamic_shapes {len(spec)}"
            )
        spec = dict(enumerate(spec))
    if not isinstance(spec, Mapping):
        raise ValueError(
            f"export: dynamic_shapes of {name} must be a dict, tuple or list, got {spec!r}"
        )
    found = {}
    for index, size in spec.items():
        if not isinstance(index, int) or not -tensor.ndim <= index < tensor.ndim:
            raise IndexError(f"export: {name} has no dimension {index!r} for dynamic_shapes")
        if not (size is None or isinstance(size, (int, Dim, Derived, Hint))):
            raise ValueError(
                f"export: dynamic_shapes of {name} must hold Dims, numbers or None, got {size!r}"
            )
        found[index % tensor.ndim] = size
    return found


def names_of_arguments(function: Callable, args: tuple, kwargs: Mapping) -> dict[str, Any]:
    """The arguments of a call by the names that the function has for them."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = inspect.signature(function).parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            found.update(value)
        else:
            found[name] = value
    return found


def specs_of_arguments(arguments: Mapping[str, Any], shapes: Any) -> dict[str, Any]:
    """The entries of ``dynamic_shapes`` for each argument.

    Raises:
        RuntimeError: it has other names, or another number of entries.
    """
    if shapes is None:
        return dict.fromkeys(arguments)
    if isinstance(shapes, Mapping):
        if set(shapes) != set(arguments):
            raise RuntimeError(
                "export: when `dynamic_shapes` is specified as a dict, its top-level keys must be "
                f"the arg names {list(arguments)} of `inputs`, but here they are {list(shapes)}"
            )
        return {name: shapes[name] for name in arguments}
    if not isinstance(shapes, (tuple, list)):
        raise RuntimeError(
            f"export: dynamic_shapes must be a dict, tuple or list, got {type(shapes).__name__}"
        )
    if len(shapes) != len(arguments):
        raise RuntimeError(
            "export: detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
            f"`inputs` has {len(arguments)} elements, but `dynamic_shapes` has {len(shapes)} "
            "elements"
        )
    return dict(zip(arguments, shapes, strict=True))


def walk(value: Any, spec: Any, name: str) -> Iterable[tuple[str, Any, Any]]:
    """Each leaf of an argument: its name, its value, and what ``dynamic_shapes`` says of it.

    Raises:
        RuntimeError: a container and what is said of it have different parts.
    """
    from nnkit.utils._pytree import tree_leaves_with_path

    if isinstance(value, (tuple, list, dict)) and spec is not None:
        inner = dict(enumerate(value)) if isinstance(value, (tuple, list)) else value
        said = dict(enumerate(spec)) if isinstance(spec, (tuple, list)) else spec
        if not isinstance(said, Mapping) or set(said) != set(inner):
            raise RuntimeError(
                f"export: detected mismatch between the structure of `inputs` and "
                f"`dynamic_shapes`: {name} has other parts than {spec!r}"
            )
        for key in inner:
            yield from walk(inner[key], said[key], f"{name}_{key}")
        return
    for path, leaf in tree_leaves_with_path(value):
        keys = "".join(f"_{getattr(key, 'key', getattr(key, 'idx', ''))}" for key in path)
        yield name + keys, leaf, spec if leaf is value else None
