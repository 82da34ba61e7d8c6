"""The same workloads by other means: hand-written NumPy, JAX, and what `compile` makes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[], Any]

SHAPES = {
    "softmax 4-2, batch 3, SGD": (3, [4, 2], "sgd", 0.9),
    "softmax 64-10, batch 64, SGD": (64, [64, 10], "sgd", 0.9),
    "MLP 784-256-128-10, batch 64, Adam": (64, [784, 256, 128, 10], "adam", 0.0),
    "MLP 1024-1024-1024-10, batch 256, SGD": (256, [1024, 1024, 1024, 10], "sgd", 0.0),
}


def _data(batch: int, sizes: list[int]) -> tuple:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, sizes[0])).astype(np.float32)
    y = rng.integers(0, sizes[-1], batch)
    weights = [
        (rng.standard_normal((m, n)) / np.sqrt(m)).astype(np.float32)
        for m, n in zip(sizes, sizes[1:], strict=False)
    ]
    biases = [np.zeros(n, np.float32) for n in sizes[1:]]
    return x, y, weights, biases


def numpy_step(name: str) -> Step | None:
    """The training step as somebody would write it for this one network, without a framework."""
    if name not in SHAPES:
        return None
    batch, sizes, method, momentum = SHAPES[name]
    x, y, weights, biases = _data(batch, sizes)
    params = weights + biases
    first = [np.zeros_like(p) for p in params]
    second = [np.zeros_like(p) for p in params]
    rows = np.arange(batch)
    count = 0

    def step() -> float:
        nonlocal count
        count += 1
        activations = [x]
        for i, (w, b) in enumerate(zip(weights, biases, strict=True)):
            z = activations[-1] @ w + b
            activations.append(np.maximum(z, 0) if i + 1 < len(weights) else z)
        logits = activations[-1]
        logits = logits - logits.max(1, keepdims=True)
        log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        loss = -log_p[rows, y].mean()
        g = np.exp(log_p)
        g[rows, y] -= 1
        g /= batch
        grads_w, grads_b = [], []
        for i in reversed(range(len(weights))):
            grads_w.insert(0, activations[i].T @ g)
            grads_b.insert(0, g.sum(0))
            if i:
                g = (g @ weights[i].T) * (activations[i] > 0)
        for p, d, m, v in zip(params, grads_w + grads_b, first, second, strict=True):
            if method == "adam":
                m += 0.1 * (d - m)
                v += 0.001 * (d * d - v)
                scale = 1e-3 / (1 - 0.9**count)
                p -= scale * m / (np.sqrt(v / (1 - 0.999**count)) + 1e-8)
            elif momentum:
                m *= momentum
                m += d
                p -= 0.01 * m
            else:
                p -= 0.01 * d
        return float(loss)

    return step


def jax_step(name: str) -> Step | None:
    """The training step as one jitted JAX function; None where JAX is not installed."""
    if name not in SHAPES:
        return None
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return None
    batch, sizes, method, momentum = SHAPES[name]
    x, y, weights, biases = _data(batch, sizes)
    params = [jnp.asarray(p) for p in weights + biases]
    layers = len(weights)

    def loss_of(params: list) -> Any:
        h = x
        for i in range(layers):
            h = h @ params[i] + params[layers + i]
            h = jax.nn.relu(h) if i + 1 < layers else h
        return -jnp.take_along_axis(jax.nn.log_softmax(h), jnp.asarray(y)[:, None], 1).mean()

    @jax.jit
    def update(params: list, first: list, second: list, count: Any) -> tuple:
        loss, grads = jax.value_and_grad(loss_of)(params)
        if method == "adam":
            first = [0.9 * m + 0.1 * g for m, g in zip(first, grads, strict=True)]
            second = [0.999 * v + 0.001 * g * g for v, g in zip(second, grads, strict=True)]
            params = [
                p - 1e-3 * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8)
                for p, m, v in zip(params, first, second, strict=True)
            ]
        else:
            first = [momentum * m + g for m, g in zip(first, grads, strict=True)]
            params = [p - 0.01 * m for p, m in zip(params, first, strict=True)]
        return loss, params, first, second

    state = [params, [jnp.zeros_like(p) for p in params], [jnp.zeros_like(p) for p in params]]
    count = 0

    def step() -> Any:
        nonlocal count
        count += 1
        loss, *state[:] = update(state[0], state[1], state[2], float(count))
        return loss.block_until_ready()

    return step


def compiled_step(framework: str, workload: Callable[[Any], Step]) -> Step | None:
    """The eager step given to a framework's `compile`; None where that, or its compiler, is
    missing."""
    try:
        module = importlib.import_module(framework)
        step = module.compile(workload(module))
        step()
    except Exception as error:  # whatever a missing compiler raises, in whatever version
        print(f"{framework}.compile is left out: {type(error).__name__}", file=sys.stderr)
        return None
    return step
