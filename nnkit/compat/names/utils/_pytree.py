"""torch.utils._pytree: what libraries take from its private half."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

from nnkit.autograd.surface.return_types import ReturnType
from nnkit.utils._pytree.nodes import SUPPORTED_NODES, is_namedtuple_class

_KINDS = {
    "dict": dict, "list": list, "tuple": tuple, "namedtuple": namedtuple, "deque": deque,
    "ordereddict": OrderedDict, "odict": OrderedDict, "defaultdict": defaultdict,
}  # fmt: skip
# `_dict_flatten`, `_dict_flatten_with_keys`, `_dict_unflatten`, and those of the others.
for _name, _kind in _KINDS.items():
    _node = SUPPORTED_NODES[_kind]
    globals()[f"_{_name}_flatten"] = _node.flatten_fn
    globals()[f"_{_name}_flatten_with_keys"] = _node.flatten_with_keys_fn
    globals()[f"_{_name}_unflatten"] = _node.unflatten_fn


def _get_node_type(tree: Any) -> Any:
    """The class by which a tree's root is known: one for all named tuples."""
    return namedtuple if is_namedtuple_class(type(tree)) else type(tree)


def is_structseq_class(cls: Any) -> bool:
    """Whether it is the class of results such as those of `max`."""
    return isinstance(cls, type) and issubclass(cls, ReturnType)


def is_structseq_instance(obj: Any) -> bool:
    """Whether it is a result such as that of `max`."""
    return is_structseq_class(type(obj))


is_structseq = is_structseq_instance
