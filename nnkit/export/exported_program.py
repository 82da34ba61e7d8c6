"""`export`: a module's forward as a program that runs without the module's code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import nnkit
from nnkit.autograd import Tensor
from nnkit.autograd.grad_mode import is_grad_enabled, no_grad, set_grad_enabled
from nnkit.backend.program import bits
from nnkit.export.dynamic_shapes import (
    Derived,
    OpenSizes,
    names_of_arguments,
    specs_of_arguments,
    walk,
)
from nnkit.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
    argument,
)
from nnkit.export.traced_number import TracedNumber
from nnkit.export.tracing import TracedTensor, Tracing, generalized
from nnkit.fx import Graph, GraphModule, Node
from nnkit.nn import Module
from nnkit.utils._pytree import TreeSpec, tree_flatten, tree_unflatten
from nnkit.utils._pytree.nodes import kind_of

_PLAIN = (bool, int, float, complex, str, type(None))


class InputCondition:
    """The value that a program expects as one of its inputs.

    Attributes:
        name: of the input.
        value: what it is, if it is no tensor.
        shape: the sizes of a tensor, of which those that are open are `Derived`; None if it is
            no tensor.
    """

    def __init__(self, name: str, value: Any, shape: tuple | None) -> None:
        self.name = name
        self.value = value
        self.shape = shape

    def check(self, given: Any, sizes: dict[str, tuple[int, str]]) -> None:
        """Hold an input against what is expected; ``sizes`` collects the open ones.

        Raises:
            AssertionError: it is another number, or a tensor with other sizes.
            AttributeError: it is no tensor.
        """
        if self.shape is None:
            if type(given) is not type(self.value) or given != self.value:
                raise AssertionError(f"Guard failed: {self.name} == {self.value!r}")
            return
        if len(given.shape) != len(self.shape):
            raise AssertionError(f"Guard failed: {self.name}.dim() == {len(self.shape)}")
        for dim, (size, wanted) in enumerate(zip(given.shape, self.shape, strict=True)):
            place = f"{self.name}.size()[{dim}]"
            if isinstance(wanted, Derived):
                _check_open(size, wanted, place, sizes)
            elif size != wanted:
                raise AssertionError(f"Guard failed: {place} == {wanted}")


def _check_open(size: int, wanted: Derived, place: str, sizes: dict[str, tuple[int, str]]) -> None:
    root = wanted.root
    value, rest = divmod(size - wanted.offset, wanted.factor)
    known, where = sizes.setdefault(root.__name__, (value, place))
    if rest or value != known:
        same = where if wanted.factor == 1 and wanted.offset == 0 else f"{wanted} of {where}"
        raise AssertionError(f"Guard failed: {place} == {same}")
    if value > root.max:
        raise AssertionError(f"Guard failed: {place} <= {wanted.of(int(root.max))}")
    if value < root.min and size > 1:  # as PyTorch, which lets sizes of nought and one pass
        raise AssertionError(f"Guard failed: {place} >= {wanted.of(int(root.min))}")


class ExportedModule(GraphModule):
    """The module of an exported program: it is called as the module was that it comes from.

    Args:
        state: the tensors of the graph by their paths.
        graph: the program.
        conditions: what is expected of each leaf of the arguments.
        in_spec, out_spec: the structures of arguments and results.
    """

    def __init__(
        self,
        state: dict[str, Any],
        graph: Graph,
        conditions: list[InputCondition],
        in_spec: TreeSpec,
        out_spec: TreeSpec,
    ) -> None:
        positional, named = in_spec.children()
        is_flat = not named.num_leaves and all(spec.is_leaf() for spec in positional.children())
        self.__dict__.update(
            _conditions=conditions, _in_spec=in_spec, _out_spec=out_spec, _is_flat=is_flat
        )
        super().__init__(state, graph)

    def recompile(self) -> Any:
        """Print and compile the graph, after it was changed."""
        printed = super().recompile()

        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            return self._checked(args, kwargs)

        kind: Any = type(self)
        kind._run, kind.forward = kind.forward, forward
        kind.forward.__signature__ = self._signature()
        return printed

    def _signature(self) -> inspect.Signature:
        """The signature of the call: the names that the arguments had."""
        positional, named = self._in_spec.children()
        names = iter([condition.name for condition in self._conditions])
        found = ["self"]
        for number, spec in enumerate(positional.children()):
            inside = [next(names) for _ in range(spec.num_leaves)]
            found.append(inside[0] if spec.is_leaf() else f"args_{number}")
        kinds = inspect.Parameter
        return inspect.Signature(
            [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in found]
            + [kinds(name, kinds.KEYWORD_ONLY) for name in named.context]
        )

    def _checked(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        is_flat = self._is_flat and not kwargs and len(args) == len(self._conditions)
        if is_flat and all(kind_of(value) is None for value in args):
            leaves: Any = args
        else:
            leaves = self._leaves(args, kwargs)
        sizes: dict[str, tuple[int, str]] = {}
        for condition, leaf in zip(self._conditions, leaves, strict=True):
            condition.check(leaf, sizes)
        before = is_grad_enabled()
        try:
            results = self._run(*leaves)  # type: ignore[operator]
        except BaseException:
            set_grad_enabled(before)  # which the program may have switched
            raise
        return results[0] if self._out_spec.is_leaf() else tree_unflatten(results, self._out_spec)

    def _leaves(self, args: tuple, kwargs: dict[str, Any]) -> list:
        """The leaves of the arguments.

        Raises:
            ValueError: they are not put together as the example's were.
        """
        leaves, spec = tree_flatten((args, kwargs))
        expected = self._in_spec.children()[1].context
        if set(kwargs) != set(expected):
            raise ValueError(
                "Ran into a kwarg keyword mismatch: Got the following keywords "
                f"{list(kwargs)} but expected {list(expected)}"
            )
        if spec != self._in_spec:  # keywords may come in any order
            leaves, spec = tree_flatten((args, {name: kwargs[name] for name in expected}))
        if spec != self._in_spec:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: {self._in_spec} but "
                f"actually got inputs with tree spec of: {spec}"
            )
        return leaves

    def train(self, mode: bool = True) -> Any:
        """Refused: what differs in training is fixed.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> Any:
        """Refused: what differs in training is fixed.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("Calling eval() is not supported yet.")


class ExportedProgram:
    """A module's forward as a graph of public functions, with the state that it reads.

    Attributes:
        graph_module: a module whose graph has parameters, buffers and constants as its first
            inputs, and what the user gives as the others.
        graph_signature: what each input and output of the graph is.
        state_dict: parameters and persistent buffers by their paths.
        constants: further buffers, and tensors that were no part of the module's state.
        range_constraints: the open sizes, and from where to where they go.
        example_inputs: what it was traced with; None if it was loaded.

    Source: ``torch.export.ExportedProgram``.
    """

    def __init__(
        self,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        constants: dict[str, Any],
        conditions: list[InputCondition],
        in_spec: TreeSpec,
        out_spec: TreeSpec,
        example_inputs: tuple | None = None,
    ) -> None:
        self.graph_module = GraphModule({}, graph)
        self.graph_signature = graph_signature
        self.state_dict = state_dict
        self.constants = constants
        self.example_inputs = example_inputs
        self._conditions = conditions
        self._in_spec, self._out_spec = in_spec, out_spec

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.graph_module.graph

    @property
    def range_constraints(self) -> dict[str, tuple[float, float]]:
        """The open sizes by name: the smallest and the largest."""
        sizes = (s for c in self._conditions for s in c.shape or () if isinstance(s, Derived))
        return {size.root.__name__: (size.root.min, size.root.max) for size in sizes}

    @property
    def tensor_constants(self) -> dict[str, Any]:
        """The constants."""
        return self.constants

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """The parameters with their paths."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def parameters(self) -> Iterator[Any]:
        """The parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """The buffers with their paths."""
        for name in self.graph_signature.buffers:
            yield name, self._tensor(name)

    def buffers(self) -> Iterator[Any]:
        """The buffers."""
        for _, buffer in self.named_buffers():
            yield buffer

    def _tensor(self, name: str) -> Any:
        return self.state_dict[name] if name in self.state_dict else self.constants[name]

    def module(self) -> ExportedModule:
        """A module that runs the program. It shares the program's parameters and buffers.

        It is called as the module was that the program comes from, and checks sizes, numbers and
        strings: those that are not open must be the example's.
        """
        graph, made = Graph(), {}
        inputs = {spec.arg.name: spec for spec in self.graph_signature.input_specs}
        state: dict[str, Any] = {}
        for node in self.graph.nodes:
            target = inputs[node.name].target if node.op == "placeholder" else None
            if target is None:
                made[node] = graph.node_copy(node, made.__getitem__)
                continue
            state[target] = self._tensor(target)
            made[node] = graph.get_attr(target)
        module: Any = ExportedModule(state, graph, self._conditions, self._in_spec, self._out_spec)
        for name in self.graph_signature.lifted_tensor_constants:  # no state, so no buffers
            path, _, own = name.rpartition(".")
            holder = module.get_submodule(path)
            holder.__dict__[own] = holder._buffers.pop(own)
        return module

    def run_decompositions(self, decomp_table: Any = None) -> ExportedProgram:
        """The program itself: there are no smaller operations than the public functions."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. "
            "You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        code = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        ranges = ", ".join(f"{n}: [{a}, {b}]" for n, (a, b) in self.range_constraints.items())
        signature = str(self.graph_signature).replace("\n", "\n    ").rstrip()
        return (
            f"ExportedProgram:\n    {code.rstrip()}\n\nGraph signature: {signature}\n\n"
            f"Range constraints: {{{ranges}}}\n"
        )

    __repr__ = __str__


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: dict[str, Any] | tuple | list | None = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """A module's forward as a program, which can be saved, and run where its code is absent.

    The module is run with the example, and the public functions that it calls are written down:
    `ExportedProgram.module` calls the same, with the same gradients. Sizes that ``dynamic_shapes``
    leaves open are any number: the module is run with two choices of them, from which it is seen
    which numbers of the program follow from sizes. A third run holds the program against the
    module, to the last bit. The module, its buffers and the generator of random numbers are
    afterwards as they were.

    Args:
        mod: the module, in the mode, training or evaluating, that the program is to have.
        args, kwargs: an example of its arguments: tensors, numbers, strings and None, in tuples,
            lists and dictionaries. What is no tensor is fixed.
        dynamic_shapes: by the name of each argument, or in their order, its open sizes: a
            dictionary from dimensions to `Dim`, or a tuple or list of one for each dimension; None
            if there are none. Tensors in tuples, lists and dictionaries have it in such ones.
        strict, preserve_module_call_signature, prefer_deferred_runtime_asserts_over_guards:
            accepted.

    Raises:
        ValueError: ``mod`` is no module, or ``dynamic_shapes`` is no such thing.
        RuntimeError: a value is read (``item()``, ``if x.sum() > 0``); a tensor is made by what is
            no public function; an open size must be the example's; a name of ``dynamic_shapes`` is
            no argument's.

    Source: ``torch.export.export``.

    Example:
        >>> import nnkit
        >>> from nnkit.export import Dim, export
        >>> model = nnkit.nn.Sequential(nnkit.nn.Linear(3, 2), nnkit.nn.ReLU()).eval()
        >>> program = export(model, (nnkit.ones(4, 3),), dynamic_shapes=({0: Dim("batch")},))
        >>> program.module()(nnkit.ones(7, 3)).shape
        nnkit.Size([7, 2])
        >>> print(program.module().code.split(";")[0].strip().splitlines()[-1].strip())
        linear = nnkit.nn.functional.linear(input_1, _0_weight, _0_bias)
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise RuntimeError(
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        )
    kwargs = dict(kwargs or {})
    return _Export(mod, args, kwargs, dynamic_shapes).program()


class _Export:
    """One call of `export`."""

    def __init__(self, mod: Module, args: tuple, kwargs: dict[str, Any], shapes: Any) -> None:
        self.mod, self.args, self.kwargs = mod, args, kwargs
        self.leaves, self.in_spec = tree_flatten((args, kwargs))
        named = names_of_arguments(mod.forward, args, kwargs)
        specs = specs_of_arguments(named, shapes)
        self.paths = {
            id(value): f"{prefix}.{name}".removeprefix(".")
            for prefix, module in mod.named_modules()
            for name, value in vars(module).items()
            if isinstance(value, Tensor)
        }
        self.open = OpenSizes()
        self.names: list[str] = []
        for name, value in named.items():
            for path, leaf, spec in walk(value, specs[name], name):
                if not isinstance(leaf, (Tensor, *_PLAIN)):
                    raise RuntimeError(
                        f"export: {path} must be a tensor, a number, a string or None, got "
                        f"{type(leaf).__name__}"
                    )
                self.names.append(re.sub(r"\W", "_", path))
                self.open.add(leaf, spec, path)

    def program(self) -> ExportedProgram:
        first, *rest = self.open.trials()
        runs = [self._traced(first)]
        try:
            runs += [self._traced(sizes) for sizes in rest]
        except Exception as error:
            raise RuntimeError(
                f"Constraints violated ({', '.join(rest[0])})! export: the module fails where "
                f"these sizes are {list(rest[0].values())}: {error}"
            ) from error
        graph, _, self.out_spec = runs[0]
        other = runs[1][0] if len(runs) > 1 else None
        graph = generalized(graph, other, ", ".join(self.open.roots))
        program = self._assembled(graph)
        self._verify(program, runs[-1][1])
        return program

    def _traced(self, sizes: Mapping[str, int]) -> tuple[Graph, list, TreeSpec]:
        """One run: its graph, its results, and how these were put together."""
        graph = Graph()
        tracing = Tracing(graph, bool(sizes), self.paths)
        self.signature = ExportGraphSignature()
        self.constants: dict[str, Any] = {}
        for name, parameter in self.mod.named_parameters(remove_duplicate=False):
            node = tracing.placeholder(f"p_{name.replace('.', '_')}", parameter)
            self._add_input(node, InputKind.PARAMETER, name)
        with _copied_buffers(self.mod) as copies, _generator_kept():
            buffers = {}
            for name, buffer in self.mod.named_buffers(remove_duplicate=False):
                buffers[name] = tracing.placeholder(f"b_{name.replace('.', '_')}", buffer)
                self._add_input(buffers[name], InputKind.BUFFER, name)
            leaves = []
            for index, (name, leaf) in enumerate(zip(self.names, self.leaves, strict=True)):
                given = self.open.resized(leaf, index, sizes)
                if isinstance(leaf, Tensor):
                    given.__class__ = TracedTensor
                self._add_input(tracing.placeholder(name, given), InputKind.USER_INPUT)
                if not isinstance(leaf, Tensor):
                    spec = self.signature.input_specs[-1]
                    spec.arg = ConstantArgument(spec.arg.name, leaf)
                leaves.append(given)
            args, kwargs = tree_unflatten(leaves, self.in_spec)
            results, spec = tree_flatten(tracing.run(self.mod, args, kwargs))
            outputs = [_output(tracing, result) for result in results]
            _keep_assigned(tracing, self.mod, copies, buffers)
            self.buffers = dict(self.mod.named_buffers())
        graph.output(tuple(outputs))
        for path, tensor in tracing.constants.items():
            self.constants[path] = tensor.detach()
            node = tracing.nodes[id(tensor)]
            self._add_input(node, InputKind.CONSTANT_TENSOR, path)
        return graph, results, spec

    def _add_input(self, node: Node, kind: InputKind, target: str | None = None) -> None:
        persistent = None
        if kind is InputKind.BUFFER:
            persistent = target in self.mod.state_dict(keep_vars=True)
        self.signature.input_specs.append(
            InputSpec(kind, TensorArgument(node.name), target, persistent)
        )

    def _assembled(self, graph: Graph) -> ExportedProgram:
        placeholders = [n.name for n in graph.nodes if n.op == "placeholder"]
        specs = {spec.arg.name: spec for spec in self.signature.input_specs}
        self.signature.input_specs = [specs[name] for name in placeholders]
        for result in graph.output_node().args[0]:
            self.signature.output_specs.append(OutputSpec(OutputKind.USER_OUTPUT, argument(result)))
        own = self.mod.state_dict(keep_vars=True)
        paths = [s.target for s in self.signature.input_specs if s.target in own]
        state = {path: own[path] for path in (*paths, *own) if path is not None}
        constants = dict(self.constants)
        for spec in self.signature.input_specs:
            if spec.kind is InputKind.BUFFER and not spec.persistent:
                constants[str(spec.target)] = self.mod.get_buffer(str(spec.target))
        conditions = []
        given = [s.arg for s in self.signature.input_specs if s.kind is InputKind.USER_INPUT]
        for arg, leaf, places in zip(given, self.leaves, self.open.places, strict=True):
            is_tensor = isinstance(leaf, Tensor)
            shape = tuple(places.get(d, n) for d, n in enumerate(leaf.shape)) if is_tensor else None
            conditions.append(InputCondition(arg.name, None if is_tensor else leaf, shape))
        example = (self.args, self.kwargs)
        return ExportedProgram(
            graph, self.signature, state, constants, conditions, self.in_spec,
            self.out_spec, example,
        )  # fmt: skip

    def _verify(self, program: ExportedProgram, expected: list) -> None:
        """Run the program beside what the module gave in the last run.

        Raises:
            RuntimeError: a result has other bits.
        """
        sizes = self.open.trials()[-1]
        leaves = [self.open.resized(leaf, i, sizes) for i, leaf in enumerate(self.leaves)]
        args, kwargs = tree_unflatten(leaves, self.in_spec)
        with _copied_buffers(self.mod), _generator_kept(), no_grad():
            own = self.mod.state_dict(keep_vars=True)
            constants = {
                name: self.mod.get_buffer(name) if name in self.signature.buffers else value
                for name, value in program.constants.items()
            }
            beside = ExportedProgram(
                program.graph, self.signature, dict(own), constants, program._conditions,
                self.in_spec, self.out_spec,
            )  # fmt: skip
            found = tree_flatten(beside.module()(*args, **kwargs))[0]
            buffers = [self.mod.get_buffer(name) for name in self.buffers]
        pairs = zip([*expected, *self.buffers.values()], [*found, *buffers], strict=True)
        if not all(_same_bits(one, other) for one, other in pairs):
            raise RuntimeError(
                "export: the program has other results, or leaves other buffers, than the module: "
                "the module does something that a program cannot contain"
            )


def _same_bits(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        return bits(one.detach().cpu()._array) == bits(other.detach().cpu()._array)
    return one == other


def _output(tracing: Tracing, result: Any) -> Any:
    if isinstance(result, Tensor):
        return tracing.node_of(result)
    if isinstance(result, TracedNumber):
        return result.node
    if isinstance(result, _PLAIN):
        return result
    raise RuntimeError(
        f"export: a program returns tensors, numbers, strings and None, got {type(result).__name__}"
    )


@contextmanager
def _copied_buffers(mod: Module) -> Iterator[dict[tuple[Module, str], Any]]:
    """A block in which a module has copies of its buffers; gives them by their places."""
    places = {
        (module, name): buffer
        for module in mod.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
    }
    by_identity: dict[int, Any] = {}
    copies = {}
    for (module, name), buffer in places.items():
        copy = by_identity.setdefault(id(buffer), buffer.detach().clone())
        module._buffers[name] = copies[module, name] = copy
    try:
        yield copies
    finally:
        for (module, name), buffer in places.items():
            module._buffers[name] = buffer


@contextmanager
def _generator_kept() -> Iterator[None]:
    """A block after which the generator of random numbers is as it was."""
    state = nnkit.get_rng_state()
    try:
        yield
    finally:
        nnkit.set_rng_state(state)


def _keep_assigned(
    tracing: Tracing, mod: Module, copies: Mapping[tuple[Module, str], Any], nodes: dict[str, Node]
) -> None:
    """Write what was assigned to buffers into them, at the end of the program."""
    paths = {module: path for path, module in mod.named_modules()}
    for (module, name), copy in copies.items():
        value: Any = module._buffers[name]
        if value is copy:
            continue
        path = f"{paths[module]}.{name}".removeprefix(".")
        if value is None or value.shape != copy.shape or path not in nodes:
            raise RuntimeError(f"export: the buffer {path} is replaced by one of another shape")
        tracing.graph.call_method("copy_", (nodes[path], tracing.node_of(value)))
