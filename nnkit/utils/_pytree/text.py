"""Structures of trees as text, and back."""

from __future__ import annotations

import json

from nnkit.utils._pytree.nodes import SUPPORTED_SERIALIZED_TYPES, Serialized, class_of_name
from nnkit.utils._pytree.structure import LEAF, TreeSpec

__all__ = ["treespec_dumps", "treespec_loads", "treespec_pprint"]


def _schema(spec: TreeSpec) -> dict:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    serialized = SUPPORTED_SERIALIZED_TYPES.get(spec.type, Serialized(None, None, None))
    if serialized.name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    to = serialized.to_dumpable
    context = json.dumps(spec._context) if to is None else to(spec._context)
    return {
        "type": serialized.name,
        "context": context,
        "children_spec": [_schema(child) for child in spec._children],
    }


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as text.

    Raises:
        NotImplementedError: a class in it was registered without ``serialized_type_name``.
        ValueError: a protocol other than 1.
    """
    if protocol not in (None, 1):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return json.dumps([1, _schema(treespec)])


def _from_schema(schema: dict) -> TreeSpec:
    if schema["type"] is None:
        return LEAF
    kind = class_of_name(schema["type"])
    back = SUPPORTED_SERIALIZED_TYPES[kind].from_dumpable
    context = json.loads(schema["context"]) if back is None else back(schema["context"])
    return TreeSpec(kind, context, [_from_schema(child) for child in schema["children_spec"]])


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure of a text that `treespec_dumps` made.

    Raises:
        ValueError: the text is of another protocol.
    """
    protocol, schema = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _from_schema(schema)


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as text for people."""
    return repr(treespec)
