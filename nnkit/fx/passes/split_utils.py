"""`split_by_tags`: a program whose operations, by their tags, lie in several modules."""

from __future__ import annotations

import operator
from copy import copy
from operator import attrgetter
from typing import Any

from nnkit.fx.graph import Graph
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Node, map_arg
from nnkit.fx.passes.utils.fuser_utils import part_of

__all__ = ["getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj: Any, name: str) -> Any:
    """What an object has at a path.

    Source: ``torch.fx.passes.split_utils.getattr_recursive``.
    """
    return attrgetter(name)(obj)


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Set what an object has at a path.

    Source: ``torch.fx.passes.split_utils.setattr_recursive``.
    """
    path, _, name = attr.rpartition(".")
    setattr(attrgetter(path)(obj) if path else obj, name, value)


def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> Any:
    """A module that does the same by one module for each tag.

    Args:
        gm: the program; each of its calls has an attribute ``tag``. A reading of an attribute
            without one goes wherever it is used.
        tags: the tags, in the order in which their modules are called.
        return_fqn_mapping: return, beside the module, the new path for each old one, too.
        return_tuple: let modules with one result return a tuple, too.
        GraphModuleCls: the class of all these modules.

    Raises:
        AssertionError: an operation has no tag, or needs one whose module is called later.

    Source: ``torch.fx.passes.split_utils.split_by_tags``.

    Example:
        >>> import nnkit
        >>> program = nnkit.fx.symbolic_trace(lambda x: x.sin().cos())
        >>> for node in program.graph.find_nodes(op="call_method"):
        ...     node.tag = {"sin": "early", "cos": "late"}[node.target]
        >>> print(split_by_tags(program, ["early", "late"]).code.strip())
        def forward(self, x):
            early = self.early(x);  x = None
            late = self.late(early);  early = None
            return late
    """
    tag_of = {
        node: getattr(node, "tag", None)
        for node in gm.graph.nodes
        if node.op not in ("placeholder", "output")
    }
    for node, tag in tag_of.items():
        if tag not in tags and not (tag is None and node.op == "get_attr"):
            raise AssertionError(
                f"split_by_tags: {node} has the tag {tag}, which is none of {tags}"
            )
    results: dict[str, dict[Node, None]] = {tag: {} for tag in tags}
    for node in gm.graph.nodes:
        for used in node.all_input_nodes:
            tag = tag_of.get(used)
            if tag is not None and tag != tag_of.get(node):
                results[tag][used] = None
    graph = Graph()
    attributes: dict[str, Any] = {}
    paths: dict[str, str] = {}
    values = {n: graph.node_copy(n) for n in gm.graph.find_nodes(op="placeholder")}
    for tag in tags:
        own = [node for node in tag_of if tag_of[node] == tag]
        part, inputs = part_of(own, [*results[tag]], return_tuple, _has_no_tag)
        late = [node for node in inputs if node not in values]
        if late:
            raise AssertionError(f"split_by_tags: {tag} needs {late}, which come later")
        attributes[tag] = GraphModuleCls(gm, part)
        used_paths = [str(n.target) for n in part.nodes if n.op in ("call_module", "get_attr")]
        paths |= {path: f"{tag}.{path}" for path in used_paths}
        call = graph.call_module(tag, tuple([values[node] for node in inputs]))
        if isinstance(part.output_node().args[0], tuple):
            for index, node in enumerate(results[tag]):
                values[node] = graph.call_function(operator.getitem, (call, index))
        else:
            values.update(dict.fromkeys(results[tag], call))
    for node in gm.graph.find_nodes(op="output"):
        for used in node.all_input_nodes:
            if used not in values:
                attributes[str(used.target)] = attrgetter(str(used.target))(gm)
                values[used] = graph.node_copy(used)
        graph.output(map_arg(node.args[0], lambda n: values[n])).meta = copy(node.meta)
    made = GraphModuleCls(attributes, graph)
    return (made, paths) if return_fqn_mapping else made


def _has_no_tag(node: Node) -> bool:
    """Whether a node is an attribute of the program that no part holds."""
    return node.op == "get_attr" and getattr(node, "tag", None) is None
