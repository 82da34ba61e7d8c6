"""Where torch's transforms are arbitrary: rules of `tests.fuzz.arbitrary`."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from tests.fuzz.evidence import Difference
from tests.fuzz.observe import array_of, record_of

JACOBIANS = r"T\.func\.(jacrev|jacfwd|hessian)\("
VMAPS = r"T\.func\.(vmap|jacrev|jacfwd|hessian)\("


def _empty_batch(d: Difference) -> bool:
    """Whether torch refuses to map over nothing, some of whose operations look at the first
    example, or divide by the number of examples: what is wrong otherwise is not come to."""
    shapes = [d.seen("shape", d.before, name) for name in d.named()]
    refused = d.aspect == "error" and d.errors[0] in ("IndexError", "RuntimeError")
    return refused and re.search(VMAPS, d.statement) is not None and any(0 in s for s in shapes)


def _writes_tangents(d: Difference) -> bool:
    """Whether torch alone refuses to write in place in a derivative forwards of another one: into
    what is no batch as a tangent, or has no memory."""
    forwards = re.findall(r"T\.func\.(?:jvp|jacfwd|hessian)\(", d.statement)
    written = re.search(r"[a-z]_\(", d.statement)
    # It comes before what else is wrong.
    alone = d.errors[0] == "RuntimeError" and d.errors[1] in (None, "AttributeError", "TypeError")
    return len(forwards) > 1 and written is not None and alone


def _zeros_without_memory(d: Difference) -> bool:
    """Whether zeros are written, or their memory asked for or its order followed, that a Jacobian
    of a derivative or a tangent of a derivative holds, or a gradient computed by the engine
    of what a transform gave; or divided by 0."""
    ordered = d.aspect == "strides"
    refused = set(d.errors) == {None, "RuntimeError"} or d.errors == ("RuntimeError", "IndexError")
    # They are zeros in torch whatever they are divided by.
    kept = d.aspect == "values" and not np.any(d.expected) and bool(np.isnan(d.actual).any())
    wider = d.aspect == "dtype" and "trapezoid(" in d.statement  # which torch scales by a double
    if not (ordered or refused or kept or wider):
        return False
    records = [record_of(d.before, name) for name in d.named()]
    sources = (
        rf"{JACOBIANS}|T\.func\.jvp\(.*T\.func\.(jvp|grad|vjp)\("
        r"|T\.func\.[\s\S]*(autograd\.|backward\()"
        r"|autograd\.functional.*T\.func|functional\.(jacobian|hessian)\(.*create_graph"
    )
    uses = (
        r"[a-z]_\(|Dirty\.apply|\] .?= |^x\d+ .= |numpy\(|tolist\(|deepcopy\(|pickle|out=|save\("
        r"|group_norm\("
    )
    zero = any(r is not None and r[2] and not np.any(array_of(r)) for r in records)
    # A gradient that comes through the derivative of a sign is such zeros, whatever is behind it.
    zero = zero or (
        kept and "backward(" in d.statement and re.search(r"\.(abs|sgn|sign)\(", d.earlier)
    )
    used = ordered or kept or wider or re.search(uses, d.statement)
    return bool(zero and used and re.search(sources, d.earlier))


def _recorded_in_inference(d: Difference) -> bool:
    """Whether the backward of a vjp is recorded in torch's inference mode, where enable_grad is
    on: it is computed when the level is left."""
    mode = re.match(r"with T\.inference_mode\(\), T\.enable_grad\(\):", d.statement)
    pulled = re.search(r"T\.func\.(vjp|jacrev|hessian)\(", d.statement)
    refused = d.aspect == "requires_grad" or d.errors == ("RuntimeError", None)
    return None not in (mode, pulled) and refused


def _adds_to_zeros(d: Difference) -> bool:
    """Whether torch alone fails to add to a gradient, one of which is zero, after a derivative of
    a derivative."""
    if d.errors != ("RuntimeError", None) or "backward(" not in d.statement:
        return False
    twice = re.search(r"T\.func\.|functional\.|create_graph", d.earlier)
    found = [*d.before.items(), *d.shown.items(), *d.wanted.items()]
    grads = [array_of(r) for label, r in found if label.endswith(".grad") and isinstance(r, tuple)]
    return twice is not None and any(not np.any(grad) for grad in grads)


def _depends_in_form(d: Difference) -> bool:
    """Whether a third derivative, which is zero, requires a gradient in torch alone."""
    record = record_of(d.shown, d.label)
    orders = re.findall(r"T\.func\.(?:grad|jvp|vjp|jac)", d.statement)
    order = len(orders) + 2 * d.statement.count("T.func.hessian(")
    alone = (d.aspect, d.expected) == ("requires_grad", True)
    return alone and order > 2 and record is not None and not np.any(array_of(record))


def _refused_written(d: Difference) -> bool:
    """Whether an inference tensor is written in a transform in a transform, before that is refused
    in both."""
    refused = d.errors == ("RuntimeError", "RuntimeError") and d.aspect == "values"
    nested = len(re.findall(r"T\.func\.", d.statement)) > 1
    return refused and nested and bool(d.seen("is_inference", d.before))


def _of_promoted(d: Difference) -> bool:
    """Whether `vmap` may not save an inference tensor, of which a copy of another dtype is saved
    here."""
    dtypes = {d.seen("dtype", d.before, name) for name in d.named()}
    inferred = any(d.seen("is_inference", d.before, name) for name in d.named())
    mapped = "T.func.vmap(" in d.statement and d.errors == ("RuntimeError", None)
    return mapped and inferred and len(dtypes) > 1


def _steps_of_one(d: Difference) -> bool:
    """Whether results of a map lie in memory by the steps of dimensions of size 1, which are any
    number."""
    mapped = re.search(VMAPS + r"|functional\.jacobian\(", d.statement)
    shapes = [d.seen("shape", d.before, name) or () for name in d.named()]
    of_one = "chunk_size=1)" in d.statement or any(1 in s for s in shapes)
    return d.aspect == "strides" and mapped is not None and of_one


RULES: dict[str, Callable[[Difference], bool]] = {
    "zeros that a Jacobian holds lie one for each row in torch, or one for all": lambda d: (
        d.aspect in ("strides", "base") and re.search(JACOBIANS, d.statement) is not None
    ),
    "a tangent of nested derivatives that is the one given is it or a view of it": lambda d: (
        d.aspect == "base"
        and re.search(r"jvp\(.*vjp\(.*jvp\(", d.earlier + d.statement) is not None
    ),
    "a transform in torch records inference tensors as its dispatcher has it": lambda d: (
        (d.aspect == "requires_grad" or "RuntimeError" in d.errors)
        and "T.func." in d.statement
        and (
            all(
                any(d.seen(aspect, d.before, name) for name in d.named())
                for aspect in ("is_inference", "requires_grad")
            )
            or re.search(
                r"inference_mode[\s\S]*\.data = |inference_mode\(.*:\n +m\d+ = ", d.earlier
            )
            is not None
        )
    ),
    "torch refuses an inference tensor before or after it is written": _refused_written,
    "torch's vmap promotes within an operation what is saved as a copy here": _of_promoted,
    "the step of a dimension of size 1 decides how the results of a map lie": _steps_of_one,
    "torch's vmap has operations that cannot do with an empty batch": _empty_batch,
    "a gradient through derivatives of no examples is zeros of no elements, or none": lambda d: (
        (d.aspect, d.label[-5:]) == ("existence", ".grad")
        and re.search(VMAPS, d.earlier) is not None
        and 0 in (d.seen("shape", d.wanted) or d.seen("shape", d.shown) or ())
    ),
    "torch refuses to write into a tangent that is none": _writes_tangents,
    "a result of nested transforms is a view of what it was within, or that itself": lambda d: (
        set(d.errors) == {None, "RuntimeError"}
        and re.search(
            r"\.detach_\(\)|^x\d+(\[.*\])?( .= |\.\w+_\().*requires_grad=True", d.statement
        )
        is not None
        and len(re.findall(r"T\.func\.", d.earlier)) > 1
    ),
    "what a write in half precision saves in a derivative forwards is a copy here": lambda d: (
        d.errors == ("RuntimeError", None)
        and re.search(r"backward\(|grad\(", d.statement) is not None
        and re.search(r"T\.func\.jvp\(.*[a-z]_\(", d.earlier) is not None
        and any("float16" in str(d.seen("dtype", d.before, name)) for name in d.before)
    ),
    "torch's vmap normalizes by steps, which are of one dtype": lambda d: (
        d.errors == ("RuntimeError", None)
        and re.search(VMAPS + ".*float16", d.statement) is not None
        and re.search(r"(Layer|Group|Instance|Batch)Norm", d.earlier) is not None
    ),
    "torch's vmap computes a GRUCell by itself, and cannot add its gradients": lambda d: (
        d.errors == ("RuntimeError", None)
        and "T.func.vmap(T.func.grad(" in d.statement
        and "GRUCell(" in d.earlier
    ),
    "torch records the backward of a vjp in inference mode where enable_grad is on": (
        _recorded_in_inference
    ),
    "which zeros have no memory, of those that a derivative of a derivative holds": (
        _zeros_without_memory
    ),
    "torch has gradients of zeros without memory, which it cannot add to": _adds_to_zeros,
    "a third derivative that is zero depends on a point in form, or does not": _depends_in_form,
    "torch's vmap cuts a triangle of vectors that lie above each other, across the examples": (
        lambda d: (
            re.search(VMAPS, d.statement) is not None
            and re.search(r"\.tri[lu]\(", d.statement) is not None
            and d.errors == (None, "RuntimeError")
        )
    ),
}
