"""Random networks under the transforms of ``func``, the same under torch and nnkit.

    python -m tests.fuzz.functions --seconds 600 --seed 0

writes programs that put a network of `tests.fuzz.training` through one transform or two: gradients
of all and of each example, directions, Jacobians, Hessians, ensembles. What torch computes nnkit
must compute, in float64; where torch has no rule, nothing is compared.
"""

from __future__ import annotations

import random
import re
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from tests.fuzz.seeds import run_seeds
from tests.fuzz.training import PRELUDE, Writer

NETWORK = """
T.set_default_dtype(T.float64)
T.manual_seed({seed})
def make():
    return nn.Sequential({layers}).train({training})
model = make()
x = {data}
given = {{name: value.detach() for name, value in model.named_parameters()}}
buffers = dict(model.named_buffers())
def out(p, x):
    return T.func.functional_call(model, (p, buffers), (x,))
def loss(p, x):
    return (out(p, x) ** 2).mean() + out(p, x).sin().sum() * 0.1
def one(p, x):
    return loss(p, x.unsqueeze(0))
def of_each(p, b, x):
    return T.func.functional_call(several[0], (p, b), (x,))
def forwards(x):
    ad = T.autograd.forward_ad
    with ad.dual_level():
        return tuple(ad.unpack_dual(model(ad.make_dual(x, x * 0 + 0.1))))
def gradient_forwards(x):
    ad = T.autograd.forward_ad
    with ad.dual_level():
        point = ad.make_dual(x.clone().requires_grad_(), x * 0 + 0.1)
        return tuple(ad.unpack_dual(T.autograd.grad(loss(given, point), point)[0]))
def again(x):
    found = T.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
    return T.autograd.grad((found ** 2).sum(), list(model.parameters()))
"""
ENSEMBLE = """
several = [make() for _ in range(3)]
p, b = T.func.stack_module_state(several)
p = {name: value.detach() for name, value in p.items()}
"""
CALLS = {
    "grad": "T.func.grad(loss)(given, x)",
    "grad_and_value": "T.func.grad_and_value(loss)(given, x)",
    "grad of each": "T.func.vmap(T.func.grad(one), (None, 0), randomness=draws)(given, x)",
    "grad of some": (
        "T.func.vmap(T.func.grad(one), (None, 0), chunk_size=2, randomness=draws)(given, x)"
    ),
    "each": "T.func.vmap(lambda x: out(given, x.unsqueeze(0)), randomness=draws)(x)",
    "each along another dimension": (
        "T.func.vmap(lambda x: out(given, x.unsqueeze(0)), in_dims=1, out_dims=-1, "
        "randomness=draws)(x.transpose(0, 1))"
    ),
    "jvp": "T.func.jvp(lambda x: out(given, x), (x,), (x * 0 + 0.1,))",
    "jvp of parameters": (
        "T.func.jvp(lambda p: out(p, x), (given,), ({n: v * 0 + 0.1 for n, v in given.items()},))"
    ),
    "vjp": "(lambda o, f: (o, f(o * 0.5)))(*T.func.vjp(lambda p: out(p, x), given))",
    "jacrev": "T.func.jacrev(out)(given, x)",
    "jacfwd": "T.func.jacfwd(lambda x: out(given, x))(x)",
    "hessian": "T.func.hessian(lambda x: loss(given, x))(x[:1])",
    "forward over reverse": (
        "T.func.jvp(T.func.grad(lambda x: loss(given, x)), (x,), (x * 0 + 1,))[1]"
    ),
    "reverse over reverse": (
        "T.func.grad(lambda x: (T.func.grad(lambda x: loss(given, x))(x) * 0.3).sum())(x)"
    ),
    "jacrev of each": (
        "T.func.vmap(T.func.jacrev(lambda x: out(given, x.unsqueeze(0)).squeeze(0)), "
        "randomness=draws)(x)"
    ),
    "functional.jacobian": (
        "T.autograd.functional.jacobian(lambda x: out(given, x), x, vectorize=vectorize)"
    ),
    "functional.hessian": (
        "T.autograd.functional.hessian(lambda x: loss(given, x), x[:1], vectorize=vectorize)"
    ),
    "functional.hvp": "T.autograd.functional.hvp(lambda x: loss(given, x), x, x * 0 + 1)",
    "functional.vhp": "T.autograd.functional.vhp(lambda x: loss(given, x), x, x * 0 + 1)",
    "functional.jvp": "T.autograd.functional.jvp(lambda x: out(given, x), x, x * 0 + 1)",
    "functional.vjp": "T.autograd.functional.vjp(lambda x: loss(given, x), x)",
    "forward_ad": "forwards(x)",
    "forward_ad of a gradient": "gradient_forwards(x)",
    "checkpoint": "again(x)",
    "ensemble": "T.func.vmap(of_each, (0, 0, None), randomness=draws)(p, b, x)",
    "grad of an ensemble": (
        "T.func.vmap(T.func.grad(lambda p, b, x: (of_each(p, b, x) ** 2).sum()), (0, 0, None), "
        "randomness=draws)(p, b, x)"
    ),
}
# Groups of one element, whose gradient is noise; a derivative that is taken for constant; torch's
# derivatives of each example's slopes, which differ from its own of one; and bags whose padding is
# told by numbers, which is no one computation for all examples. And what is written after RMSNorm
# has read it, which torch saves only where it needs a gradient.
LEFT_OUT = r"GroupNorm|InstanceNorm|weight_norm|spectral|RReLU|EmbeddingBag"
OF_EACH = r"PReLU"


def write(seed: int, oracle: ModuleType) -> tuple[str, str]:
    """The name of a transform and a program that puts a network through it."""
    draw = random.Random(f"transform {seed}")
    program = Writer(seed, oracle).program()
    name = draw.choice(list(CALLS))
    left_out = LEFT_OUT + (f"|{OF_EACH}" if "each" in name or "ensemble" in name else "")
    if any("inplace=True" in layer for layer in program.layers):
        left_out += "|RMSNorm"
    layers = [layer for layer in program.layers if not re.search(left_out, layer)]
    draws = draw.choice(("different", "same", "error"))
    source = NETWORK.format(
        seed=seed, layers=", ".join(layers), data=program.data, training=draw.random() < 0.4
    )
    options = f"draws, vectorize = {draws!r}, {draw.random() < 0.5}"
    return name, f"{source}{ENSEMBLE}{options}\nfound = {CALLS[name]}\n"


def results(source: str, T: ModuleType) -> dict[str, np.ndarray] | str:
    """What a program finds, by name, and the next random numbers; the type of its error."""
    scope: dict[str, Any] = {"T": T, "nn": T.nn}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(PRELUDE + source, scope)
        found = {"": scope["found"], "random": T.rand(2)}
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        T.set_default_dtype(T.float32)
    flat: dict[str, np.ndarray] = {}
    _flatten("", found, flat)
    return flat


def _flatten(name: str, value: Any, into: dict[str, np.ndarray]) -> None:
    if isinstance(value, dict):
        for key, each in value.items():
            _flatten(f"{name}.{key}", each, into)
    elif isinstance(value, (tuple, list)):
        for i, each in enumerate(value):
            _flatten(f"{name}[{i}]", each, into)
    else:
        into[name] = value.detach().numpy()


def check(seed: int, oracle: ModuleType, framework: ModuleType) -> str:
    """What differs in the program of a seed, and the program; nothing where torch has no rule."""
    name, source = write(seed, oracle)
    expected = results(source, oracle)
    if isinstance(expected, str):
        return ""
    found = results(source, framework)
    if isinstance(found, str):
        return f"{name}: {found}\n{source}"
    if expected.keys() != found.keys():
        return f"{name}: {sorted(expected.keys() ^ found.keys())}\n{source}"
    for key, value in expected.items():
        if value.shape != found[key].shape or value.dtype != found[key].dtype:
            return f"{name}: the shape or dtype of {key}\n{source}"
        if not np.allclose(value, found[key], 1e-6, 1e-8, equal_nan=True):
            return f"{name}: the values of {key}\n{source}"
    return ""


if __name__ == "__main__":
    raise SystemExit(run_seeds(__doc__ or "", check))
