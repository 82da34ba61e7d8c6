"""Nodes of trees: how containers are taken apart and put together, and the keys of children."""

from __future__ import annotations

import dataclasses
import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from nnkit.autograd.surface import return_types
from nnkit.autograd.surface.size import Size

__all__ = [
    "Context", "GetAttrKey", "IsLeaf", "KeyPath", "MappingKey", "NodeDef", "PyTree",
    "SUPPORTED_NODES", "SUPPORTED_SERIALIZED_TYPES", "SequenceKey", "_deregister_pytree_node",
    "_register_namedtuple", "_register_pytree_node", "is_namedtuple", "is_namedtuple_class",
    "is_namedtuple_instance", "register_constant", "register_dataclass", "register_pytree_node",
]  # fmt: skip

PyTree = Any
Context = Any
KeyPath = tuple
IsLeaf = Callable[[Any], bool] | None


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """The place of a child in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The child of ``sequence`` there."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """The place of a child in a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The child of ``mapping`` there."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The name of a child that is an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute of ``obj``."""
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """The functions that take nodes of a class apart and put them together."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list, Context]]
    unflatten_fn: Callable[[Iterable, Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list, Context]] | None


class Serialized(NamedTuple):
    """The name of a class in a text, and what its context is there."""

    name: str | None
    to_dumpable: Callable[[Any], Any] | None
    from_dumpable: Callable[[Any], Any] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, Serialized] = {}


def _register(
    cls: Any, flatten_fn: Any, unflatten_fn: Any, with_keys: Any, name: Any, to: Any, back: Any
) -> None:
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, with_keys)
    SUPPORTED_SERIALIZED_TYPES[cls] = Serialized(name, to, back)


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list, Context]],
    unflatten_fn: Callable[[Iterable, Context], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list, Context]] | None = None,
) -> None:
    """Make objects of a class nodes.

    Args:
        flatten_fn: gives the children of an object, and what else is needed to make it again.
        unflatten_fn: makes the object from children and that context.
        serialized_type_name: the name of the class in `treespec_dumps`.
        to_dumpable_context, from_dumpable_context: the context as JSON holds it, and back.
        flatten_with_keys_fn: as ``flatten_fn``, each child with its key.

    Raises:
        ValueError: the class is a node already, or one of the two functions of the context lacks.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    _register(
        cls, flatten_fn, unflatten_fn, flatten_with_keys_fn, serialized_type_name,
        to_dumpable_context, from_dumpable_context,
    )  # fmt: skip


def _register_pytree_node(
    cls: type,
    flatten_fn: Callable,
    unflatten_fn: Callable,
    to_str_fn: Any = None,
    maybe_from_str_fn: Any = None,
    **kwargs: Any,
) -> None:
    """The old name of `register_pytree_node`."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def _deregister_pytree_node(cls: type) -> None:
    """Make objects of a class leaves again."""
    del SUPPORTED_NODES[cls], SUPPORTED_SERIALIZED_TYPES[cls]


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make objects of a dataclass nodes, whose children are the fields.

    Raises:
        ValueError: ``cls`` is no dataclass and ``field_names`` is not given.
    """
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(
                "field_names must be specified with a list of all fields used to initialize "
                f"{cls}, as it is not a dataclass."
            )
        field_names = [f.name for f in dataclasses.fields(cls) if f.init]
    names = [n for n in field_names if n not in (drop_field_names or ())]

    def flatten(obj: Any) -> tuple[list, Context]:
        present = [n for n in names if getattr(obj, n) is not None]
        absent = [n for n in names if getattr(obj, n) is None]
        return [getattr(obj, n) for n in present], [present, absent]

    def flatten_with_keys(obj: Any) -> tuple[list, Context]:
        children, context = flatten(obj)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], children)], context

    def unflatten(children: Iterable, context: Context) -> Any:
        return cls(**dict(zip(context[0], children)), **dict.fromkeys(context[1]))

    register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )  # fmt: skip


def register_constant(cls: type) -> None:
    """Make objects of a class nodes without children: a part of the structure.

    Raises:
        TypeError: the class has not defined ``__eq__`` and ``__hash__``.
    """
    for method in ("__eq__", "__hash__"):
        if getattr(cls, method) in (None, getattr(object, method)):
            raise TypeError(
                f"register_constant(cls) expects `cls` to have a non-default `{method}` "
                f"implementation, got {cls.__name__}."
            )
    register_pytree_node(
        cls, lambda x: ([], x), lambda _, x: x, flatten_with_keys_fn=lambda x: ([], x)
    )


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Give a class of named tuples a name for `treespec_dumps`."""
    SUPPORTED_SERIALIZED_TYPES[cls] = Serialized(serialized_type_name, None, None)


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class is one of named tuples."""
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether an object or a class is one of named tuples."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


# The nodes of Python itself


def _sequence(cls: type, unflatten: Callable[[Iterable], Any], name: str | None = None) -> None:
    def flatten(x: Any) -> tuple[list, Context]:
        return list(x), None

    def with_keys(x: Any) -> tuple[list, Context]:
        return [(SequenceKey(i), v) for i, v in enumerate(x)], None

    _register(cls, flatten, lambda v, _: unflatten(v), with_keys, name, None, None)


def _mapping(cls: type, name: str) -> None:
    def flatten(x: Any) -> tuple[list, Context]:
        return list(x.values()), list(x)

    def with_keys(x: Any) -> tuple[list, Context]:
        return [(MappingKey(k), v) for k, v in x.items()], list(x)

    _register(cls, flatten, lambda v, keys: cls(zip(keys, v)), with_keys, name, None, None)


def _names_of(cls: Any) -> str:
    name = SUPPORTED_SERIALIZED_TYPES.get(cls, Serialized(None, None, None)).name
    if name is None:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {cls} because we didn't register a "
            "serializated_type_name. Please register using `_register_namedtuple`."
        )
    return name


def class_of_name(name: str) -> Any:
    return next(cls for cls, s in SUPPORTED_SERIALIZED_TYPES.items() if s.name == name)


def _default_factory(dumped: dict) -> list:
    module = importlib.import_module(dumped["default_factory_module"])
    return [getattr(module, dumped["default_factory_name"]), dumped["dict_context"]]


_sequence(tuple, tuple, "builtins.tuple")
_sequence(list, list, "builtins.list")
_sequence(Size, tuple, "torch.Size")
for _type in return_types.ReturnType.__subclasses__():
    _sequence(_type, _type)
_mapping(dict, "builtins.dict")
_mapping(OrderedDict, "collections.OrderedDict")
_register(
    namedtuple,
    lambda x: (list(x), type(x)),
    lambda v, cls: cls(*v),
    lambda x: ([(GetAttrKey(n), v) for n, v in zip(x._fields, x)], type(x)),
    "collections.namedtuple", _names_of, class_of_name,
)  # fmt: skip
_register(
    defaultdict,
    lambda x: (list(x.values()), [x.default_factory, list(x)]),
    lambda v, context: defaultdict(context[0], zip(context[1], v)),
    lambda x: ([(MappingKey(k), v) for k, v in x.items()], [x.default_factory, list(x)]),
    "collections.defaultdict",
    lambda context: {
        "default_factory_module": context[0].__module__,
        "default_factory_name": context[0].__qualname__,
        "dict_context": context[1],
    },
    _default_factory,
)
_register(
    deque,
    lambda x: (list(x), x.maxlen),
    lambda v, maxlen: deque(v, maxlen=maxlen),
    lambda x: ([(SequenceKey(i), v) for i, v in enumerate(x)], x.maxlen),
    "collections.deque", None, None,
)  # fmt: skip


def kind_of(tree: Any) -> Any:
    cls = type(tree)
    if cls in SUPPORTED_NODES:
        return cls
    return namedtuple if is_namedtuple_class(cls) else None
