"""Checkpoints, grad modes as decorators, and anomaly detection, for either framework."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.autograd.scenarios import leaf, raised

SCENARIOS: dict[str, Callable[[Any], Any]] = {}


def scenario(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    SCENARIOS[function.__name__] = function
    return function


def module(fw: Any) -> Any:
    return import_module(f"{fw.__name__}.utils.checkpoint")


@scenario
def checkpoint_notices_written_arguments(fw):
    checkpoint = module(fw).checkpoint
    found = []
    for reentrant in (True, False):
        for function in (lambda t: t * t, lambda t: (t * 2).exp()):
            x = leaf(fw, 2.0, 3.0)
            a = x * 1
            b = checkpoint(function, a, use_reentrant=reentrant)
            a.mul_(10)
            found.append([raised(b.sum().backward), x.grad])
        x = leaf(fw, 2.0, 3.0)
        b = checkpoint(lambda t: t.exp(), x, use_reentrant=reentrant)
        b.detach().mul_(10)
        found.append(raised(b.sum().backward))
    return found


@scenario
def reentrant_checkpoint_needs_all_inputs(fw):
    checkpoint = module(fw).checkpoint
    x = leaf(fw, 2.0)
    y = checkpoint(lambda t: t * t, x, use_reentrant=True)
    nothing = checkpoint(lambda t: t.detach() * 2, x, use_reentrant=True)
    found = [
        raised(lambda: fw.autograd.grad(y, x)),
        raised(lambda: y.backward(inputs=[x])),
        raised(nothing.backward),
    ]
    z = checkpoint(lambda t: t * t, x, use_reentrant=True)
    z.backward()
    return [*found, x.grad.tolist()]


@scenario
def checkpointed_functions_get_the_tensors_they_saved(fw):
    seen = []

    class Keep(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x, other, learnt):
            ctx.save_for_backward(other, learnt)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.extend(ctx.saved_tensors)
            return g, None, None

    a, other, learnt = leaf(fw, 1.0), fw.ones(1), leaf(fw, 2.0)
    module(fw).checkpoint(Keep.apply, a, other, learnt, use_reentrant=False).backward()
    return seen[0] is other, seen[1] is learnt, seen[1].requires_grad


@scenario
def nested_checkpoints(fw):
    checkpoint = module(fw).checkpoint
    found = []
    for outside in (True, False):
        for inside in (True, False):
            x = leaf(fw, 0.5)

            def outer(t, inside=inside):
                return checkpoint(lambda u: u.sin() * u, t.exp(), use_reentrant=inside) * t

            with warnings.catch_warnings():  # the inner one runs in the outer's no_grad first
                warnings.simplefilter("ignore")
                checkpoint(outer, x, use_reentrant=outside).backward()
            found.append(round(x.grad.item(), 5))
    return found


@scenario
def checkpoints_run_again(fw):
    checkpoint = module(fw).checkpoint
    found = []
    for reentrant in (True, False):
        runs: list[int] = []

        def function(t, runs=runs):
            runs.append(1)
            return t.sin() * t

        x = leaf(fw, 0.5)
        y = checkpoint(function, x, use_reentrant=reentrant)
        y.backward(retain_graph=True)
        y.backward()
        found.append([len(runs), round(x.grad.item(), 5), raised(y.backward)])
    x = leaf(fw, 0.5)
    y = checkpoint(lambda t: t**3, x, use_reentrant=False)
    (g,) = fw.autograd.grad(y, x, create_graph=True)
    (h,) = fw.autograd.grad(g, x)
    w = leaf(fw, 2.0)
    z = checkpoint(lambda t: t * w, fw.ones(1), use_reentrant=False)
    z.backward()
    return [found, g.item(), h.item(), w.grad.tolist()]


@scenario
def checkpoints_must_do_the_same(fw):
    checkpoint = module(fw).checkpoint
    runs = [0]

    def less(t):
        runs[0] += 1
        return (t * t).sin() if runs[0] == 1 else t.sin()

    def more(t):
        runs[0] += 1
        return t.sin() if runs[0] == 1 else (t.sin() * t).exp()

    def fails(t):
        runs[0] += 1
        if runs[0] == 2:
            raise ValueError("no")
        return t.sin()

    found = []
    for function, options in (
        (less, {}),
        (more, {}),
        (more, {"early_stop": False}),
        (fails, {}),
        (less, {"determinism_check": "always"}),
    ):
        runs[0] = 0
        x = leaf(fw, 1.0, 2.0)
        found.append(
            raised(
                lambda f=function, x=x, o=options: (
                    checkpoint(f, x, use_reentrant=False, **o).sum().backward()
                )
            )
        )
    return found


@scenario
def second_runs_end_early(fw):
    checkpoints = module(fw)
    found = []
    for stops in (True, False):
        seen: list[str] = []

        def function(t, seen=seen):
            y = t.sin()
            seen.append("a")
            z = y * t
            seen.append("b")
            w = z + 1
            seen.append("c")
            return w

        x = leaf(fw, 1.0)
        with checkpoints.set_checkpoint_early_stop(stops):
            y = checkpoints.checkpoint(function, x, use_reentrant=False)
        y.backward()
        found.append("".join(seen))
    return found


@scenario
def hooks_outside_see_the_arguments_of_a_checkpoint(fw):
    x = leaf(fw, 1.0, 2.0)
    seen: list[str] = []

    def noted(name: str) -> Callable:
        return lambda t: seen.append(name) or t

    with fw.autograd.graph.saved_tensors_hooks(noted("pack"), noted("unpack")):
        y = module(fw).checkpoint(lambda t: t.sin() * t, x, use_reentrant=False)
    y.sum().backward()
    return seen


@scenario
def no_grad_decorates_generators(fw):
    log: list[Any] = []

    @fw.no_grad()
    def numbers():
        try:
            got = yield fw.is_grad_enabled()
            log.append([got, fw.is_grad_enabled()])
            yield 2
        except ValueError:
            log.append(["caught", fw.is_grad_enabled()])
            yield 7
        finally:
            log.append(["finally", fw.is_grad_enabled()])
        return 5

    iterator = numbers()
    log += [next(iterator), iterator.throw(ValueError("x")), fw.is_grad_enabled()]
    try:
        next(iterator)
    except StopIteration as stop:
        log.append(stop.value)
    iterator = numbers()
    next(iterator)
    log.append(iterator.send(4))
    iterator.close()
    iterator = numbers()
    next(iterator)
    log.append(raised(lambda: iterator.throw(KeyError("x"))))
    return [log, fw.is_grad_enabled()]


@scenario
def grad_modes_decorate(fw):
    def enabled(*_):
        return fw.is_grad_enabled()

    @fw.set_grad_enabled(False)
    def fails():
        raise ValueError

    @fw.no_grad()
    def delegates():
        return (yield from iter([fw.is_grad_enabled()]))

    class Holder:
        @classmethod
        @fw.no_grad()
        def both(cls):
            return [fw.is_grad_enabled(), *fw.enable_grad()(lambda: [fw.is_grad_enabled()])()]

    with fw.inference_mode():
        inside = [fw.inference_mode(False)(enabled)(), fw.enable_grad()(enabled)()]
    return [
        raised(fails), list(delegates()), Holder.both(), inside,
        fw.no_grad()(functools.partial(enabled, 1))(), fw.inference_mode(enabled)(), enabled(),
    ]  # fmt: skip


@scenario
def anomaly_flags(fw):
    def flags():
        return fw.is_anomaly_enabled(), fw.is_anomaly_check_nan_enabled()

    found = [flags()]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with fw.autograd.detect_anomaly():
            with fw.autograd.detect_anomaly(check_nan=False):
                found.append(flags())
            found.append(flags())
            with fw.autograd.set_detect_anomaly(False):
                found.append(flags())
            found.append(flags())
    found.append(flags())
    fw.autograd.set_detect_anomaly(True, check_nan=False)
    found.append(flags())
    fw.autograd.set_detect_anomaly(False)
    return [*found, flags(), len(seen)]


@scenario
def anomalies(fw):
    class Spoils(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    def zero_root(x):
        return (x * 0).sqrt().sum() * 0

    x = leaf(fw, -1.0)
    before = zero_root(x)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with fw.autograd.detect_anomaly():
            with fw.autograd.detect_anomaly(check_nan=False):
                inner = zero_root(x)
                unchecked = raised(inner.backward)
            found = [unchecked, raised(before.backward), raised(zero_root(x).backward)]
            found += [raised(Spoils.apply(x).backward)]
            found += [raised(lambda: (x * 1).backward(fw.tensor([float("nan")])))]
            y = x.exp()
            z = y * 2
            y.add_(1)
            found += [raised(y.backward), raised(z.backward)]
            warnings.simplefilter("error")  # the failure comes before the words about it
            found += [raised(y.backward)]
    return [*found, any("ExpBackward0" in str(w.message) for w in seen)]


@scenario
def a_backward_inside_of_a_checkpoint(fw):
    checkpoint = fw.utils.checkpoint.checkpoint

    def slope(x):
        x = x.detach().requires_grad_() if not x.requires_grad else x
        (g,) = fw.autograd.grad(x.sin().exp().sum(), x, create_graph=True)
        return g

    def inner(x):
        return checkpoint(slope, x, use_reentrant=False)

    x = leaf(fw, 0.5, 1.0)
    checkpoint(inner, x, use_reentrant=False).sum().backward()
    again = leaf(fw, 0.5, 1.0)
    slope(again).sum().backward()
    return [[round(v, 4) for v in t.grad.tolist()] for t in (x, again)]


@scenario
def backward_passes_that_share_a_second_run(fw):
    C, found = fw.utils.checkpoint, []

    def both(x):
        found.append("run")
        y = x.sin().cos()
        return y, y.sin().cos()

    for group in (C.GraphExecGroup(), contextlib.nullcontext()):
        x = leaf(fw, 0.5, 1.0)
        y, z = C.checkpoint(both, x, use_reentrant=False)
        with group:
            (grad,) = fw.autograd.grad(z.sum(), y)
            (grad,) = fw.autograd.grad(y, x, grad)
        found.append([round(v, 4) for v in grad.tolist()])
    out = C.checkpoint(lambda x: x.sin().cos().sum(), x, use_reentrant=False)
    with C.GraphExecGroup():
        out.backward(retain_graph=True)
        found += [raised(out.backward), raised(C.GraphExecGroup().__enter__)]
    return found


@scenario
def a_checkpoint_whose_backward_runs_within_it(fw):
    """And needs what was saved before all is saved; whether second runs end early or not."""
    C = fw.utils.checkpoint

    def slope(x):
        y = C.checkpoint(lambda x: x.sin().exp().sum(), x, use_reentrant=False)
        (g,) = fw.autograd.grad(y * x.sum(), x, create_graph=True)
        return g.sin().cos()

    found = []
    for early_stop in (True, False):
        x = leaf(fw, 0.5, 1.0)
        with C.set_checkpoint_early_stop(early_stop):
            C.checkpoint(slope, x, use_reentrant=False).sum().backward()
        found.append([round(v, 4) for v in x.grad.tolist()])
    return found


@scenario
def saved_tensors_of_a_checkpoint_are_read_once(fw):
    class Twice(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            first = ctx.saved_tensors
            return g * first[0] + ctx.saved_tensors[0]

    x = leaf(fw, 0.5, 1.0)
    y = fw.utils.checkpoint.checkpoint(lambda x: Twice.apply(x * 3), x, use_reentrant=False)
    z = fw.utils.checkpoint.checkpoint(lambda x: x.sin(), x, use_reentrant=False).sum()
    z.backward(retain_graph=True)  # each backward reads anew
    z.backward(retain_graph=True)
    return [raised(y.sum().backward), [round(v, 4) for v in x.grad.tolist()]]
