"""Writes random statements that fit the tensors a program has so far.

A template is Python with holes; `Writer.fill` fills them from left to right. The first hole of the
family ``{t}`` is the statement's subject, to which the other holes are fitted. What is there is
read from the run under way (shapes, dtypes and flags: equal in both frameworks until a difference
is found), so a seed alone makes a program.
"""

from __future__ import annotations

import random
import re
from typing import Any

from tests.fuzz.op_statements import OPS

FLOATS = ("float32", "float64", "bfloat16", "complex64")
DTYPES = ("float32",) * 6 + ("float64",) * 3 + ("int64",) * 2 + ("bool", "bfloat16", "complex64")
LARGEST = 150  # elements of an operand
DERIVED = 2**22  # elements of its derivatives: what ends for want of memory tells of the machine
HOLE = re.compile(r"\{(\w+)\}")


class Unfit(Exception):
    """The program has nothing that fits a hole."""


class Writer:
    """Fills templates for one program."""

    def __init__(self, seed: int, framework: Any, namespace: dict[str, Any], skip: int) -> None:
        self.random = random.Random(seed)
        self.T = framework
        self.namespace = namespace
        self.skip = skip
        self.count = 0
        self.subject: Any = None
        self.name = ""

    # What the program has

    def refresh(self) -> None:
        """Look at the variables once a statement."""
        self.tensors: list[tuple[str, Any]] = []
        self.lists: list[Any] = []  # of tensors
        self.others: dict[str, list[str]] = {}
        for name, value in list(self.namespace.items())[self.skip :]:
            if isinstance(value, self.T.Tensor):
                self.tensors.append((name, value))
            elif isinstance(value, (tuple, list)):
                self.lists.append([t for t in value if isinstance(t, self.T.Tensor)])
            elif name[0] in "mohs" and not isinstance(value, (int, float)):
                self.others.setdefault(name[0], []).append(name)
        self.subject = None

    def bound(self, source: str) -> None:
        """Refuse a statement that nests so many Jacobians that the operand is too large for it."""
        order = source.count("T.func.jac") + 2 * source.count("T.func.hessian(")
        if self.subject is not None and self.subject.numel() ** (order + 1) > DERIVED:
            raise Unfit

    def choose(self, fits: Any) -> tuple[str, Any]:
        found = [pair for pair in self.tensors if pair[1].numel() <= LARGEST and fits(pair[1])]
        if not found:
            raise Unfit
        # The latest are chosen more often, so that statements build on each other.
        return found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))]

    @property
    def fitted(self) -> Any:
        """The tensor that the other operands are fitted to: the subject, or any for want of one."""
        return self.choose(lambda t: True)[1] if self.subject is None else self.subject

    def fill(self, template: str) -> str:
        return HOLE.sub(lambda hole: self.filling(hole[1]), template)

    def filling(self, hole: str) -> str:
        """What is written in a hole: the name of an op of a family, or what `hole_...` says."""
        return self.random.choice(OPS[hole]) if hole in OPS else getattr(self, "hole_" + hole)()

    def subject_of(self, fits: Any) -> str:
        name, tensor = self.choose(fits)
        if self.subject is None:
            self.subject, self.name = tensor, name
        return name

    # Subjects

    def hole_new(self) -> str:
        self.count += 1
        return f"x{self.count - 1}"

    def hole_t(self) -> str:
        return self.subject_of(lambda t: True)

    def hole_f(self) -> str:
        return self.subject_of(lambda t: t.is_floating_point() or t.is_complex())

    def hole_real(self) -> str:
        return self.subject_of(lambda t: t.is_floating_point())

    def hole_part(self) -> str:
        """What may be a part of a complex number here, where there is no complex32."""
        return self.subject_of(
            lambda t: t.is_floating_point() and not str(t.dtype).endswith(".float16")
        )

    def hole_g(self) -> str:
        return self.subject_of(lambda t: t.requires_grad)

    def hole_inner(self) -> str:
        return self.subject_of(lambda t: t.requires_grad and not _leaf(t))

    def hole_leaf(self) -> str:
        return self.subject_of(lambda t: t.requires_grad and _leaf(t))

    def hole_i(self) -> str:
        return self.subject_of(lambda t: str(t.dtype).endswith("int64"))

    def hole_c(self) -> str:
        return self.subject_of(lambda t: t.is_complex())

    def hole_nd(self) -> str:
        return self.subject_of(lambda t: t.dim() > 0)

    def hole_matrix(self) -> str:
        return self.subject_of(lambda t: t.dim() >= 2)

    def hole_images(self) -> str:
        return self.subject_of(lambda t: t.dim() == 4 and t.is_floating_point() and t.numel())

    def hole_view(self) -> str:
        return self.subject_of(lambda t: t._base is not None)

    # Operands that fit the subject

    def hole_same(self) -> str:
        """A tensor of the subject's shape: one there is, or a new one."""
        shape = self.subject.shape
        if self.random.random() < 0.6:
            return self.choose(lambda t: t.shape == shape)[0]
        return self.literal(tuple(shape))

    def hole_b(self) -> str:
        """What broadcasts with the subject: a tensor or a number."""
        pick = self.random.random()
        if pick < 0.25:
            return self.hole_n()
        if pick < 0.75:
            return self.choose(lambda t: _broadcasts(t.shape, self.subject.shape))[0]
        shape = tuple(self.subject.shape)
        shape = shape[self.random.randrange(len(shape) + 1) :]
        return self.literal(tuple(1 if self.random.random() < 0.2 else n for n in shape))

    def hole_other(self) -> str:
        """Any tensor at all, which may not fit."""
        return self.choose(lambda t: True)[0]

    def hole_target(self) -> str:
        """A tensor to write a result into, one that torch itself survives.

        ``cat`` frees memory twice where it writes into its input, and a target of another dtype is
        given the result's size without memory for it before it is refused.
        """
        source = self.fitted
        memory, least = _memory(source), 2 * source.numel()

        def fits(t: Any) -> bool:
            large = t.numel() >= least
            may_grow = t.dtype is source.dtype and self.alone(t)
            return (large or may_grow) and _memory(t) != memory

        return self.choose(fits)[0]

    def hole_alone(self) -> str:
        """A tensor that may get more memory: a storage that grows takes the other tensors that
        lie in it along in torch, while here they keep what they had."""
        return self.subject_of(self.alone)

    def alone(self, tensor: Any) -> bool:
        memory = _memory(tensor)
        listed = [t for several in self.lists for t in several]
        return sum(_memory(t) == memory for t in [*listed, *(t for _, t in self.tensors)]) == 1

    def hole_roomy(self) -> str:
        """A tensor with memory for four elements, or that may get more."""
        return self.subject_of(lambda t: t.numel() > 3 or self.alone(t))

    def hole_also(self) -> str:
        """A second tensor that requires grad."""
        return self.choose(lambda t: t.requires_grad)[0]

    def hole_mask(self) -> str:
        shape = tuple(self.subject.shape)
        pick = self.random.random()
        if pick < 0.3:
            same = self.choose(lambda t: t.shape == shape and not t.is_complex())[0]
            return f"{same} > {self.hole_n()}"
        return self.literal(shape, "bool")

    def hole_index_of(self) -> str:
        """An int64 tensor of valid positions along dim 0, of the subject's shape."""
        shape = tuple(self.subject.shape)
        if not shape or not shape[0]:
            raise Unfit
        return self.positions(shape, shape[0])

    def hole_rows(self) -> str:
        """Positions along dim 0, in one dimension."""
        shape = tuple(self.subject.shape)
        if not shape or not shape[0]:
            raise Unfit
        self.picked = self.random.randrange(1, 4)
        return self.positions((self.picked,), shape[0])

    def hole_picked(self) -> str:
        """A value for each of `{rows}`."""
        return self.literal((self.picked, *self.subject.shape[1:]), self.short(self.subject))

    def positions(self, shape: tuple, size: int) -> str:
        return f"T.tensor({self.nested(shape, lambda: self.random.randrange(size))})"

    # Numbers, dims, shapes

    def hole_n(self) -> str:
        return self.random.choice(("2", "0.5", "-1.5", "3.0", "-1", "0", "True"))

    def hole_k(self) -> str:
        return str(self.random.choice((0, 1, 2, 3, -1)))

    def hole_d(self) -> str:
        n = self.subject.dim()
        if self.random.random() < 0.03:
            return str(n + 1)
        return str(self.random.randrange(-n, n)) if n else self.random.choice(("0", "-1"))

    def hole_dims(self) -> str:
        n = self.subject.dim()
        if not n:
            raise Unfit
        dims = sorted(self.random.sample(range(n), self.random.randrange(1, n + 1)))
        return f"({', '.join(map(str, dims))},)"

    def hole_order(self) -> str:
        order = list(range(self.subject.dim()))
        self.random.shuffle(order)
        return f"({', '.join(map(str, order))}{',' if len(order) == 1 else ''})"

    def hole_shape(self) -> str:
        """A shape with as many elements as the subject."""
        n = self.subject.numel()
        shapes = [(n,), (1, n), (n, 1), (-1,)]
        shapes += [(k, n // k) for k in (2, 3, 4) if n and n % k == 0]
        shapes += [(k, 1, n // k) for k in (2, 3) if n and n % k == 0]
        shapes += [tuple(reversed(self.subject.shape)), tuple(self.subject.shape)]
        return str(self.random.choice(shapes))

    def hole_expanded(self) -> str:
        shape = [n if n != 1 else self.random.choice((1, 2, 3, -1)) for n in self.subject.shape]
        return str(tuple([self.random.choice((1, 2))] * self.random.randrange(2) + shape))

    def hole_size(self) -> str:
        return str(self.shape())

    def hole_dtype(self) -> str:
        return f"T.{self.random.choice(DTYPES)}"

    def hole_bits(self) -> str:
        """A dtype to view any memory as: bytes other than 0 and 1 are no bools."""
        return f"T.{self.random.choice([d for d in DTYPES if d != 'bool'])}"

    def hole_literal(self) -> str:
        return self.literal(self.shape())

    def hole_wanted(self) -> str:
        """A leaf that requires grad."""
        dtype = self.random.choice(
            ("float32",) * 4 + ("float64", "float64", "bfloat16", "complex64")
        )
        return self.literal(self.shape(), dtype, ", requires_grad=True")

    def hole_picture(self) -> str:
        rows = self.random.choice((2, 3))
        return self.literal((self.random.choice((1, 2)), 2, rows, 2), "float32")

    def hole_row2(self) -> str:
        """A batch of 2 features, for the modules."""
        flags = self.random.choice(("", ", requires_grad=True"))
        return self.literal((self.random.choice((2, 3)), 2), "float32", flags)

    # Indices

    def hole_index(self) -> str:
        """A basic index."""
        dims = self.subject.dim()
        parts: list[str] = []
        for size in self.subject.shape[: self.random.randrange(dims + 1)]:
            pick = self.random.random()
            if pick < 0.35 and size:
                parts.append(str(self.random.randrange(-size, size)))
            elif pick < 0.45:
                parts.append("None")
            else:
                parts.append(self.random.choice((":", "1:", ":1", "::2", ":-1", "0:2", "1:1")))
        if self.random.random() < 0.2 or not parts:
            parts.insert(self.random.randrange(len(parts) + 1), "...")
        return ", ".join(parts)

    def hole_advanced(self) -> str:
        """An index with a tensor, a list or a mask in it."""
        shape = tuple(self.subject.shape)
        if not shape:
            return self.random.choice(("T.tensor(True)", "T.tensor(False)", "None, T.tensor(True)"))
        pick = self.random.random()
        if pick < 0.2:
            return self.literal(shape[: self.random.randrange(1, len(shape) + 1)], "bool")
        if pick < 0.3:
            return self.hole_mask()
        if not shape[0]:
            raise Unfit
        rows = self.positions((self.random.choice((1, 2, 3)),), shape[0])
        if pick < 0.4:
            rows = self.nested((2,), lambda: self.random.randrange(shape[0]))
        if len(shape) > 1 and shape[1] and pick > 0.5:
            second = self.random.choice(
                (":", "0", "-1", "1:", "None", self.positions((2, 1), shape[1]),
                 self.positions((1,), shape[1]))
            )  # fmt: skip
            return f"{rows}, {second}"
        if len(shape) > 1 and shape[1] and pick > 0.45:
            return f":, {self.positions((2,), shape[1])}"
        return rows

    def hole_value(self) -> str:
        """What may be written into the subject: a number or a tensor."""
        pick = self.random.random()
        if pick < 0.4:
            return self.hole_n()
        if pick < 0.7:
            return self.hole_other()
        if pick < 0.85:
            return f"T.tensor({self.random.choice((1.5, -2.0, 0.25))}, requires_grad=True)"
        return self.literal((1,) * self.random.randrange(2))

    # Literals

    def short(self, tensor: Any) -> str:
        return str(tensor.dtype).rpartition(".")[2]

    def shape(self) -> tuple:
        if self.random.random() < 0.06:
            return self.random.choice(((0,), (2, 0), (0, 3)))
        dims = self.random.choice((0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4))
        sizes = (1, 2, 3) if dims > 2 else (1, 2, 3, 4)
        return tuple(self.random.choice(sizes) for _ in range(dims))

    def literal(self, shape: tuple, dtype: str = "", flags: str = "") -> str:
        """``T.tensor(...)`` with values that add and multiply without rounding."""
        if not dtype:
            dtype = self.short(self.subject) if self.subject is not None else ""
        if not dtype or self.random.random() < 0.1 and dtype != "bool":
            dtype = self.random.choice(DTYPES) if not flags else self.random.choice(FLOATS)
        if not flags and dtype in FLOATS and self.random.random() < 0.15:
            flags = ", requires_grad=True"
        if 0 in shape:
            return f"T.zeros({shape}, dtype=T.{dtype}{flags})"
        if dtype == "bool":
            draw = lambda: self.random.random() < 0.5
        elif dtype == "int64":
            draw = lambda: self.random.randrange(-2, 4)
        else:
            draw = lambda: self.random.randrange(-8, 9) / 4
        kind = "" if dtype in ("float32", "bool", "int64") else f", dtype=T.{dtype}"
        return f"T.tensor({self.nested(shape, draw)}{kind}{flags})"

    def nested(self, shape: tuple, draw: Any) -> str:
        if not shape:
            return str(draw())
        return f"[{', '.join(self.nested(shape[1:], draw) for _ in range(shape[0]))}]"

    # Names of other things

    def hole_m(self) -> str:
        return self.other("m")

    def hole_o(self) -> str:
        return self.other("o")

    def hole_h(self) -> str:
        return self.other("h")

    def hole_s(self) -> str:
        return self.other("s")

    def other(self, letter: str) -> str:
        if not self.others.get(letter):
            raise Unfit
        return self.random.choice(self.others[letter])

    def hole_id(self) -> str:
        """A number of its own, for the name of a handle, a module or a record."""
        self.count += 1
        return str(self.count - 1)

    def hole_parameter(self) -> str:
        name = self.other("m")
        parameters = [part for part, _ in self.namespace[name].named_parameters()]
        if not parameters:
            raise Unfit
        return f"{name}.{self.random.choice(parameters)}"

    # Functions of one tensor

    def hole_body(self) -> str:
        """An expression in ``t``, a tensor."""
        return self.fill(self.random.choice(BODIES))

    def hole_scalar(self) -> str:
        """An expression in ``t`` that gives one number."""
        return f"({self.hole_body()}).{self.random.choice(('sum()', 'sum()', 'mean()'))}"

    def hole_nested(self) -> str:
        """A transform of a function, as a function of ``t``; one in another now and then."""
        template = self.random.choice(TRANSFORMS)
        return self.fill(template)

    def hole_inside(self) -> str:
        if self.random.random() < 0.5:
            return self.hole_body()
        return f"{self.hole_nested()}(t)"


def _leaf(tensor: Any) -> bool:
    try:
        return tensor.is_leaf
    except RuntimeError:  # a view whose history a write has made unclear
        return False


def _memory(tensor: Any) -> int:
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # torch's wrapper that outlived its transform
        return 0


def _broadcasts(shape: Any, other: Any) -> bool:
    pairs = zip(reversed(shape), reversed(other))
    return len(shape) <= len(other) and all(a in (b, 1) for a, b in pairs)


BODIES = (
    "t * t", "t * 2", "t.sin()", "t.exp()", "t ** 3", "t * t.detach()", "t.clone().mul_(t)",
    "(t * 2).relu_()", "t.view(-1)", "t.sum() * t", "t.square().sum()", "t.abs()", "t + 1",
    "T.no_grad()(lambda: t * 2)()", "t * {other}", "t.reshape(-1)[:1] * t.sum()", "t.mul_(2)",
    "T.cat([t.reshape(-1), t.reshape(-1)])", "t.clone().fill_(1) * t", "t", "t.detach()",
    "T.stack([t, t * t])", "T.zeros_like(t).add_(t)", "T.where(t > 0, t, t * t)", "t.sigmoid()",
    "T.zeros_like(t).copy_(t * t)", "t.expand_as(t) * t", "(lambda u: (u.add_(t), u)[1])(t * 1)",
    "T.func.grad(lambda u: (u * t).sum())(t)", "T.enable_grad()(lambda: t * t)()", "t.cumsum(0)",
    "T.ones(2)", "t / 2", "t.requires_grad_() * t", "T.{unary}(t)", "T.{unary}(t * t)",
    "T.nn.functional.{activation}(t)", "T.{reduction}(t)", "T.{binary}(t, t * 2)",
    "T.{running}(t, dim=-1)", "T.{several}(t, dim=-1)[0]", "T.nn.functional.{pair}(t, t * 2)",
    "T.fft.{spectrum}(t)", "t.clone().{unary_}()", "T.{moved}(t)",
)  # fmt: skip
TRANSFORMS = (
    "T.func.grad(lambda t: ({inside}).sum())",
    "T.func.vmap(lambda t: {inside})",
    "T.func.jacrev(lambda t: {inside})",
    "T.func.jacfwd(lambda t: {inside})",
    "T.func.hessian(lambda t: ({inside}).sum())",
    "(lambda t: T.func.jvp(lambda t: {inside}, (t,), (T.ones_like(t),))[1])",
    "(lambda t: T.func.jvp(lambda t: {inside}, (t,), (t,))[0])",
    "(lambda t: T.func.vjp(lambda t: {inside}, t)[0])",
    "(lambda t: (lambda o, f: f(T.ones_like(o))[0])(*T.func.vjp(lambda t: {inside}, t)))",
    "T.func.grad_and_value(lambda t: ({inside}).sum())",
    "T.no_grad()(T.func.grad(lambda t: ({inside}).sum()))",
    "T.func.grad(T.no_grad()(lambda t: ({inside}).sum()))",
    "T.func.grad(T.enable_grad()(lambda t: ({inside}).sum()))",
)
