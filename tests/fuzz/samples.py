"""torch's own sample calls of its ops, and its own wrong calls, made in torch and in nnkit.

``python -m tests.fuzz.samples --seconds 60 --seed 0`` takes ops of torch's test table (`op_db`,
which needs the package `expecttest`) that nnkit has under the same name, in a random order; of each
some sample calls in some dtypes; and compares results (values, dtype, shape, whether they require
grad), gradients, the gradients of gradients, a second backward through the same graph, tangents of
forward mode, the op in place and with several kinds of ``out=``, and the types of errors. It prints
one call for each (op, kind of difference), and exits with 1 if there is one. ``--op NAME`` takes
that op alone.

Each op is examined in a child process under a limit of time; one that dies is a finding.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import re
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from tests.harness.call import (
    builtin_type,
    cotangent,
    dtype_name,
    flatten,
    resolve,
    to_array,
    to_tensor,
)
from tests.harness.row import numpy_dtype

SECONDS_AN_OP = 60
SAMPLES = 12  # of one op in one dtype, at most
LARGEST = 20_000  # elements of an argument
DTYPES = (
    *("float32", "float64", "int64", "bool", "complex64", "float16", "bfloat16", "uint8"),
    *("int8", "int16", "int32", "complex128"),
)

# Two correct implementations may differ so far: (rtol, atol).
TOLERANCES = {
    "float64": (1e-7, 1e-8), "float32": (2e-4, 2e-5), "complex64": (2e-4, 2e-5),
    "float16": (0.1, 0.02), "bfloat16": (0.2, 0.1), "complex128": (1e-7, 1e-8),
}  # fmt: skip

# Where torch itself is not to be followed: what of its message, and why.
TORCH_IS_ODD = [
    (r"does not support automatic differentiation", "who wants a gradient hears of that first"),
    (r"Trying to resize storage that is not resizable", "the memory of out= is NumPy's here"),
    (r"descriptor '__|'int' object has no", "a reflected operator called as a function"),
]
# What of an op is not compared: memory nobody wrote, gauges, the order of equal elements, and
# arguments that are objects of torch.
UNDEFINED = re.compile(
    r"^(Tensor\.new_|)empty|^(linalg\.)?(svd|eig|eigh|qr|pca_lowrank)$|kthvalue|topk|^mode$"
    r"|with_distance_loss|sort$|aminmax$|^resize"
)

# Of which torch writes an ``out`` wrongly whose elements lie apart, or does not write it at all.
MISWRITTEN = re.compile(r"^narrow_copy$|gelu$|avg_pool3d$|^fft.ihfftn$")


def has(framework: ModuleType, path: str) -> bool:
    try:
        return callable(resolve(framework, path))
    except AttributeError:
        return False


def path_of(op: Any, frameworks: list[ModuleType]) -> str | None:
    """The path under which all have the op."""
    for path in (op.name, f"Tensor.{op.name}"):
        if all(has(framework, path) for framework in frameworks):
            return path
    return None


def snapshot(value: Any) -> Any:
    """A sample's argument with its tensors as (array of the same strides, requires_grad)."""
    torch = importlib.import_module("torch")
    if isinstance(value, torch.Tensor):
        plain = value.detach().resolve_conj().resolve_neg()
        array = np.empty(plain.shape, numpy_dtype(dtype_name(plain)))
        if plain.numel() and not plain.is_contiguous():
            last = sum((n - 1) * s for n, s in zip(plain.shape, plain.stride(), strict=True))
            memory = np.zeros(last + 1, array.dtype)
            strides = [s * array.itemsize for s in plain.stride()]
            array = np.lib.stride_tricks.as_strided(memory, plain.shape, strides)
        if plain.dtype == torch.bfloat16:
            array.view(np.int16)[...] = plain.view(torch.int16).numpy()
        else:
            array[...] = plain.numpy()
        return Held(array, value.requires_grad)
    if isinstance(value, (tuple, list)):
        return type(value)(map(snapshot, value)) if type(value) in (tuple, list) else tuple(value)
    if isinstance(value, dict):
        return {key: snapshot(each) for key, each in value.items()}
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return Constant(str(value).removeprefix("torch."))
    return str(value) if isinstance(value, torch.device) else value


class Held:
    """A tensor argument."""

    def __init__(self, array: np.ndarray, requires_grad: bool) -> None:
        self.array, self.requires_grad = array, requires_grad

    def __repr__(self) -> str:
        array = self.array
        grad = ", requires_grad=True" if self.requires_grad else ""
        strides = "" if array.flags.c_contiguous else f", strides {array.strides}"
        values = f" {array.tolist()}" if array.size <= 8 else ""
        return f"<{array.dtype} {array.shape}{strides}{grad}{values}>"


class Constant:
    """What both frameworks have under one name, such as a dtype."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"T.{self.name}"


def rebuilt(framework: ModuleType, value: Any, leaves: list, dual: bool = False) -> Any:
    """The argument that a snapshot holds, made by the framework; its leaves go to the list.

    Where ``dual`` is set they are tensors of forward mode instead.
    """
    if isinstance(value, Held):
        array = value.array
        if array.size and not array.flags.c_contiguous:
            last = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
            flat = np.lib.stride_tricks.as_strided(
                array, (last // array.itemsize + 1,), (array.itemsize,)
            )
            array = np.lib.stride_tricks.as_strided(flat.copy(), array.shape, array.strides)
        else:
            array = array.copy()
        tensor = to_tensor(framework, array)
        if value.requires_grad and dual:
            tangent = to_tensor(framework, cotangent(tensor))
            leaves.append(tensor)
            return framework.autograd.forward_ad.make_dual(tensor, tangent)
        if value.requires_grad:
            leaves.append(tensor.requires_grad_())
        return tensor
    if isinstance(value, Constant):
        if value.name.startswith("sparse") and not hasattr(framework, value.name):
            return framework.layout(value.name)
        return getattr(framework, value.name)
    if isinstance(value, (tuple, list)):
        return type(value)(rebuilt(framework, each, leaves, dual) for each in value)
    if isinstance(value, dict):
        return {key: rebuilt(framework, each, leaves, dual) for key, each in value.items()}
    return value


def observe(framework: ModuleType, path: str, sample: tuple, forms: Forms) -> dict[str, Any]:
    """What comes of a call and of its other forms, stage by stage; a form ends where it raises."""
    seen: dict[str, Any] = {}
    function = resolve(framework, path)
    grad = framework.autograd.grad

    def stage(name: str, compute: Any) -> Any:
        try:
            found = list(flatten(compute()))
            seen[name] = [described(each) for each in found]
        except ComplexOfHalf:
            return None
        except Exception as error:
            seen[name] = (builtin_type(error).__name__, str(error))
            return None
        return found

    def call(form: Any, **extra: Any) -> Any:
        args, kwargs = rebuilt(framework, sample, [])
        framework.default_generator.manual_seed(0)
        return form(*args, **kwargs, **extra)

    def backward(**options: Any) -> list:
        return list(grad(tracked, leaves, cotangents, allow_unused=True, **options))

    def differentiate(name: str) -> None:
        first = stage(f"{name}gradient", lambda: backward(create_graph=True))
        if first is None:
            return
        further = [g for g in first if g is not None and g.requires_grad]
        if further and not name:
            again = [to_tensor(framework, cotangent(g)) for g in further]
            stage(
                "second gradient",
                lambda: grad(further, leaves, again, allow_unused=True, retain_graph=True),
            )
        stage(f"{name}another backward", backward)
        stage(f"{name}backward once more", backward)

    leaves: list[Any] = []
    args, kwargs = rebuilt(framework, sample, leaves)
    framework.default_generator.manual_seed(0)
    outputs = stage("result", lambda: function(*args, **kwargs))
    if outputs is None:
        return seen
    tracked = [out for out in outputs if getattr(out, "requires_grad", False)]
    tracked = [out for out in tracked if not any(out is leaf for leaf in leaves)]
    cotangents = [to_tensor(framework, cotangent(out)) for out in tracked]
    if tracked and leaves:
        differentiate("")
    if forms.forward and leaves:
        with framework.autograd.forward_ad.dual_level():
            args, kwargs = rebuilt(framework, sample, [], dual=True)
            framework.default_generator.manual_seed(0)
            unpack = framework.autograd.forward_ad.unpack_dual
            stage("forward mode", lambda: parts(unpack, function(*args, **kwargs)))
    if forms.in_place and hasattr(framework.Tensor, forms.in_place):
        method = getattr(framework.Tensor, forms.in_place)
        leaves = []
        args, kwargs = rebuilt(framework, sample, leaves)
        first = args[0].clone() if hasattr(args[0], "clone") else args[0]
        framework.default_generator.manual_seed(0)
        outputs = stage("in place", lambda: method(first, *args[1:], **kwargs))
        tracked = [out for out in outputs or () if getattr(out, "requires_grad", False)]
        cotangents = [to_tensor(framework, cotangent(out)) for out in tracked]
        if tracked and leaves:
            differentiate("in place, ")
    if forms.out:
        with framework.no_grad():
            like = list(flatten(call(function)))
            for name, made in OUT.items():
                if all(hasattr(each, "new_full") for each in like):
                    out = tuple(made(framework, each) for each in like)
                    given = out[0] if len(out) == 1 else out
                    stage(f"out= {name}", partial(call, function, out=given))
                    if not isinstance(seen.get(f"out= {name}"), tuple):
                        stage(f"out= {name}, written", partial(tuple, out))
    return seen


@dataclass
class Forms:
    """Which other forms of an op are called: what torch's table says of it."""

    forward: bool
    in_place: str
    out: bool


def parts(unpack: Any, value: Any) -> list:
    """Primal and tangent of each tensor."""
    return [tuple(unpack(each)) if hasattr(each, "dtype") else each for each in flatten(value)]


def _apart(framework: ModuleType, like: Any) -> Any:
    """A tensor of the same shape whose elements lie apart."""
    return like.new_full((*like.shape, 2), 1)[..., 0]


OUT = {
    "of that shape": lambda framework, like: like.new_full(like.shape, 1),
    "without elements": lambda framework, like: like.new_full((0,), 1),
    "apart": _apart,
    "of float64": lambda framework, like: like.new_full(like.shape, 1, dtype=framework.float64),
    "of int64": lambda framework, like: like.new_full(like.shape, 1, dtype=framework.int64),
    "of complex64": lambda framework, like: like.new_full(like.shape, 1, dtype=framework.complex64),
}


class ComplexOfHalf(Exception):
    """torch made a tensor of a dtype that NumPy has not."""


def described(value: Any) -> Any:
    """Shape, dtype, whether a gradient is wanted, and elements."""
    if not hasattr(value, "dtype"):
        return value
    dtype = dtype_name(value)
    if dtype == "complex32":  # which NumPy has not
        raise ComplexOfHalf
    return (tuple(value.shape), dtype, value.requires_grad, to_array(value))


def difference(path: str, theirs: dict[str, Any], ours: dict[str, Any]) -> str | None:
    """The first stage in which they differ, and how."""
    results = theirs.get("result", ())
    dtypes = [each[1] for each in results if isinstance(results, list) and isinstance(each, tuple)]
    coarse = max((TOLERANCES.get(dtype, (0, 0)) for dtype in dtypes), default=(0, 0))
    for stage, wanted in theirs.items():
        found = ours.get(stage)
        if stage.startswith("out=") and MISWRITTEN.search(path):
            continue
        if isinstance(wanted, tuple) and any(re.search(t, wanted[1]) for t, _ in TORCH_IS_ODD):
            return None
        if isinstance(found, tuple) and isinstance(wanted, list) and not any(map(filled, wanted)):
            return None  # where there is no element, torch calls no kernel that could refuse
        if found is None:
            return f"{stage}: none"
        if isinstance(wanted, tuple) or isinstance(found, tuple):
            one = wanted[0] if isinstance(wanted, tuple) else "no error"
            other = found[0] if isinstance(found, tuple) else "no error"
            if one != other:
                text = (wanted if isinstance(wanted, tuple) else found)[1]
                return f"{stage}: {other}, torch {one} ({' '.join(text.split())[:150]})"
            continue
        if len(wanted) != len(found):
            return f"{stage}: {len(found)} values, torch {len(wanted)}"
        for one, other in zip(wanted, found, strict=True):
            wrong = unlike(one, other, coarse)
            if wrong and not (wrong.startswith("values") and UNDEFINED.search(path)):
                return f"{stage}: {wrong}"
    more = [stage for stage in ours if stage not in theirs]
    return f"{more[0]}, torch none" if more else None


def filled(value: Any) -> bool:
    return not isinstance(value, tuple) or 0 not in value[0]


def unlike(one: Any, other: Any, coarse: tuple[float, float]) -> str | None:
    if not (isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other) == 4):
        same = one == other or str(one).split(".")[-1] == str(other).split(".")[-1]
        return None if same else f"{str(other)[:60]}, torch {str(one)[:60]}"
    for name, theirs, ours in zip(("shape", "dtype", "requires_grad"), one, other, strict=False):
        if theirs != ours:
            return f"{name} {ours}, torch {theirs}"
    rtol, atol = max(TOLERANCES.get(one[1], (0, 0)), coarse)
    finite = one[3][np.isfinite(one[3])]
    atol = atol * max(1, np.abs(finite).max(initial=0)) if atol else 0
    wrong = ~np.isclose(other[3], one[3], rtol, atol, equal_nan=True)
    if not wrong.any():
        return None
    return f"values {other[3][wrong].ravel()[:3]}, torch {one[3][wrong].ravel()[:3]}"


def samples_of(op: Any, source: random.Random, most: int) -> Iterator[tuple]:
    """Calls of an op: (arguments, keyword arguments)."""
    torch = importlib.import_module("torch")
    for name in DTYPES:
        dtype = getattr(torch, name)
        torch.manual_seed(source.randrange(1 << 30))
        wanted = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
        try:
            found = list(op.sample_inputs("cpu", dtype, requires_grad=wanted))
        except Exception:  # its maker takes no such dtype
            continue
        yield from map(_arguments, source.sample(found, min(most, len(found))))
    try:
        wrong = list(op.error_inputs("cpu")) if op.error_inputs_func else []
    except Exception:
        return
    yield from (_arguments(each.sample_input) for each in wrong)


def _arguments(sample: Any) -> tuple:
    return (sample.input, *sample.args), dict(sample.kwargs)


# Whose samples lead with the second argument.
SWAPPED = ("nn.functional.embedding", "nn.functional.embedding_bag")


def too_large(value: Any) -> bool:
    """Or what NumPy cannot hold."""
    if hasattr(value, "ndim"):
        return value.numel() > LARGEST or value.ndim > 64 or value.is_meta
    if isinstance(value, dict):
        value = tuple(value.values())
    return isinstance(value, (tuple, list)) and any(map(too_large, value))


def examine(op: Any, path: str, seed: int, most: int, say: Any) -> None:
    in_place = getattr(op.inplace_variant, "__name__", "")
    forms = Forms(op.supports_forward_ad, in_place, op.supports_out)
    frameworks = [importlib.import_module(name) for name in ("torch", "nnkit")]
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    label = path + (f".{op.variant_test_name}" if op.variant_test_name else "")
    kinds = set()
    calls = 0
    say("making samples")
    for sample in samples_of(op, random.Random(f"{seed} {label}"), most):
        if too_large(sample):
            continue
        if path in SWAPPED:
            (first, second, *others), options = sample
            sample = (second, first, *others), options
        sample = snapshot(sample)
        calls += 1
        say(f"call {label}{sample}")
        seen = [observe(framework, path, sample, forms) for framework in frameworks]
        wrong = difference(path, *seen)
        kind = re.sub(r"[-0-9.e+]+|\[.*|\(.*", "#", wrong or "")
        if wrong and kind not in kinds:
            kinds.add(kind)
            print(f"{label} | {wrong}\n    {str(sample)[:300]}", flush=True)
    say(f"end {calls} {len(kinds)}")


def in_child(op: Any, path: str, seed: int, most: int) -> tuple[int, int]:
    """Examine an op in a child: how many calls it made, and how many kinds of findings."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(SECONDS_AN_OP)
        try:
            examine(op, path, seed, most, lambda line: os.write(writer, f"{line}\n".encode()))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writer)
    last = ""
    with os.fdopen(reader, "rb") as lines:
        for text in lines:
            last = text.decode().rstrip("\n")
    _, status = os.waitpid(child, 0)
    if last.startswith("end "):
        return int(last.split()[1]), int(last.split()[2])
    print(f"{path} | dies or hangs ({status}): {last[:400]}", flush=True)
    return 0, 1


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--op", action="append", help="this op of the table (several times)")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of an op in a dtype, at most")
    parser.add_argument("--part", default="0/1", help="ops number I, I + N, ... as I/N")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    frameworks = [importlib.import_module(name) for name in ("torch", "nnkit")]
    for framework in frameworks:
        framework.set_num_threads(1)
        framework.nn.functional  # noqa: B018  (imported before the children are made)
        framework.linalg  # noqa: B018
        with framework.autograd.forward_ad.dual_level():  # torch compiles something at the first
            framework.autograd.forward_ad.make_dual(framework.ones(1), framework.ones(1))
    table = importlib.import_module("torch.testing._internal.common_methods_invocations").op_db
    print(f"seed {options.seed}", flush=True)
    ops = [(op, path_of(op, frameworks)) for op in table]
    ops = [(op, path) for op, path in ops if path and (not options.op or op.name in options.op)]
    random.Random(options.seed).shuffle(ops)
    first, step = map(int, options.part.split("/"))
    end, calls, findings, done = time.monotonic() + options.seconds, 0, 0, 0
    for op, path in ops[first::step]:
        if time.monotonic() > end:
            break
        made, found = in_child(op, path or "", options.seed, options.samples)
        calls, findings, done = calls + made, findings + found, done + 1
    print(f"{done} ops, {calls} calls, {findings} kinds of findings", flush=True)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
