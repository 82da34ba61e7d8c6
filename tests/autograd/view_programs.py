"""Programs of one view and one write: every source x view x write x modes around the two.

`run` returns what can be seen of a program: of the view and its source their place in the graph,
their versions, bases and geometries, their values, and the gradients. It is the same on both
frameworks. ``python -m tests.autograd.view_programs 0.1`` compares a tenth of all.
"""

from __future__ import annotations

import itertools
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def _leaf(lib: Any) -> Any:
    return lib.arange(1.0, 7.0).reshape(2, 3).clone().requires_grad_()


def _under_no_grad(lib: Any, leaf: Any) -> Any:
    with lib.no_grad():
        return (leaf * 2)[0:2]


# From a leaf: what is viewed.
SOURCES: dict[str, Callable[[Any, Any], Any]] = {
    "plain": lambda lib, leaf: leaf.detach(),
    "leaf": lambda lib, leaf: leaf,
    "node": lambda lib, leaf: leaf * 2,
    "integers": lambda lib, leaf: leaf.detach().long(),
    "view of a node": lambda lib, leaf: (leaf * 2)[0:2],
    "view of a leaf": lambda lib, leaf: leaf[0:2],
    "view under no_grad": _under_no_grad,
    "one element": lambda lib, leaf: leaf.sum().reshape(1, 1) * 2,
}
VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "itself": lambda lib, x: x,
    "int": lambda lib, x: x[0],
    "slice": lambda lib, x: x[0:1],
    "None": lambda lib, x: x[None],
    "...": lambda lib, x: x[...],
    "element": lambda lib, x: x[0, 0],
    "squeeze": lambda lib, x: x.squeeze(),
    "squeeze(0)": lambda lib, x: x.squeeze(0),
    "squeeze((0, 1))": lambda lib, x: x.squeeze((0, 1)),
    "unsqueeze": lambda lib, x: x.unsqueeze(0),
    "expand_as": lambda lib, x: x.expand_as(x),
    "reshape": lambda lib, x: x.reshape(x.shape),
    "flat": lambda lib, x: x.reshape(-1),
    "contiguous": lambda lib, x: x.contiguous(),
    "to": lambda lib, x: x.to(x.dtype),
    "view_as": lambda lib, x: x.view_as(x),
    "real": lambda lib, x: x.real,
    "detach": lambda lib, x: x.detach(),
    "data": lambda lib, x: x.data,
    "chunk": lambda lib, x: x.chunk(2)[0],
    "split": lambda lib, x: x.split(1)[0],
    "unbind": lambda lib, x: x.unbind()[0],
    "narrow": lambda lib, x: x.narrow(0, 0, 1),
    "diagonal": lambda lib, x: x.diagonal(),
    "as_strided": lambda lib, x: x.as_strided((1, 1), (1, 1)),
    "unfold": lambda lib, x: x.unfold(1, 1, 1),
    "T": lambda lib, x: x.T,
    "mH": lambda lib, x: x.mH,
    "t": lambda lib, x: x.t(),
    "movedim": lambda lib, x: x.movedim(0, 1),
    "permute": lambda lib, x: x.permute(0, 1),
    "transpose": lambda lib, x: x.transpose(0, 0),
    "flatten": lambda lib, x: x.flatten(0, 0),
    "unflatten": lambda lib, x: x.unflatten(1, (1, -1)),
    "broadcast_to": lambda lib, x: x.broadcast_to(x.shape),
    "atleast_2d": lambda lib, x: lib.atleast_2d(x),
    "clone": lambda lib, x: x.clone(),
    "index": lambda lib, x: x[[0, 0]],
    "mask": lambda lib, x: x[x > 2],
    "iterate": lambda lib, x: next(iter(x)),
    "of a view": lambda lib, x: x.t()[0:1].unsqueeze(0),
}


def _set(index: Any, value: Any) -> Callable[[Any, Any, Any], Any]:
    def write(lib: Any, view: Any, factor: Any) -> None:
        view[index] = value(lib, factor) if callable(value) else value

    return write


# Writes into a view; ``w`` is a scalar that requires grad.
WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "none": lambda lib, v, w: None,
    "add_": lambda lib, v, w: v.add_(1),
    "add_ with grad": lambda lib, v, w: v.add_(w),
    "add_ itself": lambda lib, v, w: v.add_(v),
    "mul_": lambda lib, v, w: v.mul_(2),
    "exp_": lambda lib, v, w: v.exp_(),
    "cumsum_": lambda lib, v, w: v.cumsum_(0),
    "tril_": lambda lib, v, w: v.tril_(),
    "fill_": lambda lib, v, w: v.fill_(3),
    "zero_": lambda lib, v, w: v.zero_(),
    "copy_": lambda lib, v, w: v.copy_(lib.ones(())),
    "copy_ with grad": lambda lib, v, w: v.copy_(w),
    "bernoulli_": lambda lib, v, w: v.bernoulli_(0.0),
    "masked_fill_": lambda lib, v, w: v.masked_fill_(lib.ones(v.shape, dtype=lib.bool), 4),
    "v[0] =": _set(0, 0),
    "v[...] =": _set(..., 1.0),
    "v[0:1] =": _set(slice(0, 1), 2),
    "v[0] = tensor": _set(0, lambda lib, w: lib.tensor(5)),
    "v[0] = with grad": _set(0, lambda lib, w: w),
    "v[[0]] =": _set([0], 1),
    "out": lambda lib, v, w: lib.add(lib.ones(v.shape), 1, out=v),
    "unsqueeze_": lambda lib, v, w: v.unsqueeze_(0),
    "transpose_": lambda lib, v, w: v.transpose_(0, -1),
    "requires_grad_": lambda lib, v, w: v.requires_grad_(),
    "requires_grad_(False)": lambda lib, v, w: v.requires_grad_(False),
    "requires_grad =": lambda lib, v, w: setattr(v, "requires_grad", True),
    "numpy": lambda lib, v, w: v.numpy(),
}
MODES: dict[str, Callable[[Any], AbstractContextManager]] = {
    "grad": lambda lib: nullcontext(),
    "no_grad": lambda lib: lib.no_grad(),
    "inference": lambda lib: lib.inference_mode(),
}
Program = tuple[str, str, str, str, str]


def _shown(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except RuntimeError:
        return "RuntimeError"


def _place(tensor: Any, known: tuple) -> tuple:
    base = tensor._base
    return (
        tensor.requires_grad,
        _shown(lambda: tensor.is_leaf),
        _shown(lambda: tensor._version),
        base is not None and next((i for i, t in enumerate(known) if t is base), "hidden"),
        tensor.is_inference(),
        tuple(tensor.shape),
        tuple(tensor.stride()),
    )


def _values(tensor: Any) -> list:
    return [float(f"{value:.6g}") for value in tensor.detach().flatten().tolist()]


def run(lib: Any, program: Program) -> list:
    """All that can be seen of a program."""
    source, view, write, mode_of_view, mode_of_write = program
    leaf, factor = _leaf(lib), lib.tensor(3.0, requires_grad=True)
    x = SOURCES[source](lib, leaf)
    seen: list = []

    def step(function: Callable[[], Any]) -> Any:
        try:
            return function()
        except Exception as error:
            seen.append(type(error).__name__)

    with MODES[mode_of_view](lib):
        v = step(lambda: VIEWS[view](lib, x))
    if v is None:
        return seen
    known = (x, leaf)
    seen.append((v is x, _place(v, known)))
    refused = len(seen)
    with MODES[mode_of_write](lib):
        step(lambda: WRITES[write](lib, v, factor))
    if len(seen) > refused and v.is_inference():
        return seen  # torch has written all the same
    seen += [_place(v, known), _place(x, known), _values(x), _values(v)]

    def backward(tensor: Any) -> None:
        weights = lib.arange(float(tensor.numel())).reshape(tensor.shape) + 1
        loss = (tensor * weights).sum()
        if loss.requires_grad:
            loss.backward()
        grads = [t.grad for t in (leaf, factor) if t is not None]
        seen.append([None if g is None else _values(g) for g in grads])
        if v.is_leaf and v.grad is not None:
            seen.append(_values(v.grad))

    step(lambda: backward(x))
    step(lambda: backward(v))
    return seen


def is_compared(program: Program) -> bool:
    """Whether torch's own outcome makes sense: a shape that changes without history leaves the
    old node, whose gradient no longer fits; of a scalar that requires grad integers get it too."""
    source, _, write, mode_of_view, mode_of_write = program
    if write in ("unsqueeze_", "transpose_"):
        return mode_of_write == mode_of_view == "grad"
    return source != "integers" or write != "v[0] = with grad"


def programs(fraction: float, seed: int = 0) -> Iterator[Program]:
    """A random part of all programs."""
    draw = random.Random(seed)
    for program in itertools.product(SOURCES, VIEWS, WRITES, MODES, MODES):
        if is_compared(program) and draw.random() < fraction:
            yield program


def differences(ours: Any, theirs: Any, fraction: float, seed: int = 0) -> Iterator[str]:
    """The programs of that part whose outcomes differ, with both outcomes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program in programs(fraction, seed):
            found, expected = run(ours, program), run(theirs, program)
            if found != expected:
                yield f"{program}\n    {found}\n    {expected}"


if __name__ == "__main__":
    import torch

    import nnkit

    for number, text in enumerate(differences(nnkit, torch, float(sys.argv[1]))):
        print(number, text)
