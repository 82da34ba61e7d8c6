"""Random numbers in transforms: torch's, for whatever is drawn beside what differs between
examples, and beside what does not."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit

DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "dropout": lambda T, x: T.nn.functional.dropout(x, 0.4, True),
    "dropout2d": lambda T, x: T.nn.functional.dropout2d(x, 0.4, True),
    "alpha_dropout": lambda T, x: T.nn.functional.alpha_dropout(x, 0.4, True),
    "feature_alpha_dropout": lambda T, x: T.nn.functional.feature_alpha_dropout(x, 0.4, True),
    "randn_like": lambda T, x: T.randn_like(x),
    "rand_like": lambda T, x: T.rand_like(x),
    "rand": lambda T, x: T.rand(3, dtype=T.float64),
    "rand there": lambda T, x: T.rand(3, dtype=T.float64, device=x.device),
    "randn there": lambda T, x: T.randn(3, dtype=T.float64, device=x.device),
    "randint there": lambda T, x: T.randint(9, (3,), device=x.device).double(),
    "randperm": lambda T, x: T.randperm(4).double(),
    "randperm there": lambda T, x: T.randperm(4, device=x.device).double(),
    "bernoulli": lambda T, x: T.bernoulli(x.abs().clamp(max=1)),
    "multinomial": lambda T, x: T.multinomial(x[0, 0].abs(), 2, True).double(),
    "poisson": lambda T, x: T.poisson(x.abs()),
    "normal": lambda T, x: T.normal(x, 1.0),
    "normal, scaled": lambda T, x: T.normal(0.5, x.abs()),
    "normal, both": lambda T, x: T.normal(x, x.abs()),
    "normal of fewer dimensions": lambda T, x: T.normal(x[0, 0], x.abs()),
}
MAPS: dict[str, Callable] = {
    "what is the same": lambda T, f, x, p: T.func.vmap(
        lambda p, x: f(x).sum(-1) * p, (0, None), randomness="different"
    )(p, x),
    "what differs": lambda T, f, x, p: T.func.vmap(lambda x: f(x).sum(-1), randomness="different")(
        T.stack([x, x + 1])
    ),
    "what differs along dimension 1": lambda T, f, x, p: T.func.vmap(
        lambda x: f(x).sum(-1), 1, randomness="different"
    )(T.stack([x, x + 1], 1)),
    "gradients": lambda T, f, x, p: T.func.vmap(
        T.func.grad(lambda p, x: (f(x) * p).sum()), (0, None), randomness="different"
    )(p, x),
    "tangents": lambda T, f, x, p: T.func.vmap(
        lambda t: T.func.jvp(lambda x: (f(x) * x.sum()).sum(-1), (x,), (x * t,))[1],
        randomness="different",
    )(p),
    "Jacobians": lambda T, f, x, p: T.func.jacfwd(
        lambda p: (f(x) * p[:, None]).sum(-1), randomness="different"
    )(p.new_ones(1)),
}


def drawn(T: ModuleType, name: str, over: str) -> tuple:
    T.manual_seed(0)
    x, p = T.randn(3, 4, 5, 5, dtype=T.float64), T.ones(2, dtype=T.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = MAPS[over](T, lambda x: DRAWS[name](T, x), x, p)
    return found.numpy(), T.rand(2).numpy()


# torch cannot draw into the tangents of what has fewer dimensions.
CASES = [*itertools.product(DRAWS, MAPS)]
CASES.remove(("normal of fewer dimensions", "tangents"))


@pytest.mark.parametrize(("name", "over"), CASES)
def test_different_numbers_are_drawn(name: str, over: str, torch: ModuleType) -> None:
    for ours, theirs in zip(drawn(nnkit, name, over), drawn(torch, name, over), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


# The same numbers are drawn beside what differs where they do not depend on it.
SAME = {
    **DRAWS,
    "rows of multinomial": lambda T, x: T.multinomial(x[0, 0].abs(), 2)[0].double(),
    "bernoulli of one chance": lambda T, x: T.bernoulli(x, 0.5),
    "binomial": lambda T, x: T.binomial(x.abs().round(), x.abs().clamp(max=1)),
    "standard gamma": lambda T, x: T.distributions.Gamma(x.abs(), 1.0, False).sample(),
    "into what is the same": lambda T, x: T.zeros(3).bernoulli_(x[0, 0, 0, :3].abs().clamp(max=1)),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_numbers_are_drawn_or_refused(name: str, torch: ModuleType) -> None:
    def of(T: ModuleType, differs: bool) -> Any:
        T.manual_seed(0)
        x = T.randn(2, 3, 4, 5, 5, dtype=T.float64)
        x, dims = (x, (0, 0)) if differs else (x[0], (0, None))
        p = T.ones(2, dtype=T.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return T.func.vmap(
                    lambda p, x: SAME[name](T, x).sum() * p, dims, randomness="same"
                )(p, x)
            except RuntimeError as error:
                assert "same randomness with a batched tensor" in str(error)
                return None

    for differs in (False, True):
        ours, theirs = of(nnkit, differs), of(torch, differs)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)


def test_rows_of_transposed_weights_are_drawn_as_torch_draws_them(torch: ModuleType) -> None:
    for shape, dim in itertools.product([(4, 5), (4, 3, 5)], [0, 1]):
        found = []
        for T in (nnkit, torch):
            T.manual_seed(0)
            weights = T.rand(shape).movedim(0, dim)
            draw = T.func.vmap(lambda w, T=T: T.multinomial(w, 3), dim, randomness="different")
            found.append(draw(weights).tolist())
        assert found[0] == found[1]


def test_what_differs_is_not_drawn_into_what_is_the_same(lib: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="has more elements than `self`"):
        lib.func.vmap(lambda p: lib.zeros(3).bernoulli_(p), randomness="different")(lib.ones(2, 3))


IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "uniform_": lambda x, p: x.uniform_(),
    "normal_": lambda x, p: x.normal_(),
    "exponential_": lambda x, p: x.exponential_(),
    "geometric_": lambda x, p: x.geometric_(0.3),
    "random_": lambda x, p: x.random_(9),
    "cauchy_": lambda x, p: x.cauchy_(),
    "log_normal_": lambda x, p: x.log_normal_(),
    "bernoulli_": lambda x, p: x.bernoulli_(0.4),
    "bernoulli_ of tensors": lambda x, p: x.bernoulli_(p),
}
# How what is written lies, in which the probabilities are brought too.
LAID: dict[str, Callable] = {"by rows": lambda x: x, "by columns": lambda x: x.t()}


def filled(T: ModuleType, name: str, laid: str, dim: int, other: int, randomness: str) -> tuple:
    x = T.arange(240, dtype=T.float64).reshape(2, 3, 40) / 300

    def fill(x: Any, p: Any) -> Any:
        return IN_PLACE[name](LAID[laid](x.clone()), LAID[laid](p))

    T.manual_seed(0)
    mapped = T.func.vmap(fill, (dim, other), randomness=randomness)
    out = mapped(x.movedim(0, dim), x.movedim(0, other))
    return out.numpy(), T.rand(2).numpy()


@pytest.mark.parametrize("randomness", ["different", "same"])
@pytest.mark.parametrize("laid", LAID)
@pytest.mark.parametrize("name", IN_PLACE)
def test_numbers_are_drawn_in_place(
    name: str, laid: str, randomness: str, torch: ModuleType
) -> None:
    for dim, other in itertools.product(range(3), range(3)):
        case = (name, laid, dim, other, randomness)
        if randomness == "same" and name == "bernoulli_ of tensors":
            for lib in (nnkit, torch):
                with pytest.raises(RuntimeError, match="(?i)vmap"):
                    filled(lib, *case)
            continue
        for ours, theirs in zip(filled(nnkit, *case), filled(torch, *case), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=f"{dim} {other}")


def test_what_is_the_same_is_drawn_for_each() -> None:
    x = nnkit.ones(64)
    out = nnkit.func.vmap(
        lambda p, x: nnkit.nn.functional.dropout(x * 1, 0.5, True) + p, (0, None),
        randomness="different",
    )(nnkit.zeros(2), x)  # fmt: skip
    assert not out[0].equal(out[1])


def test_the_same_memory_cannot_hold_different_numbers(lib: ModuleType) -> None:
    x = lib.ones(3)
    with pytest.raises(RuntimeError, match="(?i)vmap: .*different"):
        lib.func.vmap(lambda p: x.normal_() * p, randomness="different")(lib.ones(2))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # by torch itself
@pytest.mark.parametrize("transform", ["vjp", "jvp", "grad", "nothing"])
@pytest.mark.parametrize("name", ["dropout", "alpha_dropout"])
def test_masks_lie_by_rows_in_transforms(name: str, transform: str, torch: ModuleType) -> None:
    def of(T: ModuleType) -> np.ndarray:
        T.manual_seed(0)
        x = T.randn(4, 6, 5, dtype=T.float64).transpose(0, 1)

        def f(x: Any) -> Any:
            return getattr(T.nn.functional, name)(x, 0.5, True)

        if transform == "grad":
            return T.func.grad(lambda x: f(x).sum())(x).numpy()
        if transform == "nothing":
            return f(x).numpy()
        if transform == "vjp":
            return T.func.vjp(f, x)[0].numpy()
        return T.func.jvp(f, (x,), (x,))[1].numpy()

    np.testing.assert_allclose(of(nnkit), of(torch), rtol=1e-12)
