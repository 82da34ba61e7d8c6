"""A walk through the graph: how ``e.backward()`` finds its way to ``a.grad``."""

from __future__ import annotations

import argparse

import training

import nnkit


def leaves_and_nodes() -> None:
    """e = (a + b) * d: which node made what, and where the gradients end up."""
    a = nnkit.tensor(2.0, requires_grad=True)
    b = nnkit.tensor(3.0, requires_grad=True)
    c = a + b
    d = nnkit.tensor(4.0, requires_grad=True)
    e = c * d

    print("c =", c)
    print("type(c.grad_fn) =", type(c.grad_fn).__name__)
    print("e.grad_fn.next_functions =", [(f.name(), i) for f, i in e.grad_fn.next_functions])
    (f1, _), (f2, _) = e.grad_fn.next_functions
    print("the first is c's own node:", f1 is c.grad_fn)
    print("the second accumulates into d:", f2.variable is d)
    accumulate = c.grad_fn.next_functions[0][0]
    print("AccumulateGrad.variable is a:", accumulate.variable is a)
    print("its next_functions =", accumulate.next_functions)

    e.backward()
    print("a.grad, b.grad, d.grad =", a.grad, b.grad, d.grad)
    print("is_leaf of a and c:", a.is_leaf, c.is_leaf)


def quadratic_form() -> None:
    """x^T A x: its graph, its gradient (A + A^T) x, and its Hessian A + A^T."""
    A = nnkit.tensor([[2.0, 1.0], [0.0, 3.0]])
    x = nnkit.tensor([1.0, -1.0], requires_grad=True)
    y = x @ A @ x
    node = y.grad_fn
    print("y =", y)
    print("the graph:", node.name(), "<-", [f.name() for f, _ in node.next_functions if f])
    (gradient,) = nnkit.autograd.grad(y, x, create_graph=True)
    print("gradient =", gradient)
    print("(A + A^T) x =", (A + A.T) @ x.detach())
    print("Hessian =\n", nnkit.autograd.functional.hessian(lambda x: x @ A @ x, x.detach()))


def hooks() -> None:
    """Look at gradients on their way, and change them."""
    x = nnkit.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: print("gradient of y:", g))
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.sum().backward()
    print("y.grad, x.grad =", y.grad, x.grad)


def errors() -> None:
    """Errors of autograd: a second backward, a write to a leaf, a write to a saved value."""
    x = nnkit.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        print("backward twice:", str(error).split(".")[0])
    try:
        x.add_(1)
    except RuntimeError as error:
        print("in-place on a leaf:", error)
    z = x * 2
    w = (z * z).sum()
    z.add_(1)
    try:
        w.backward()
    except RuntimeError as error:
        print("saved and then written:", str(error).split(" Hint")[0])


def main() -> None:
    parser = argparse.ArgumentParser(description="A walk through the graph.")
    training.device_argument(parser)
    nnkit.set_default_device(parser.parse_args().device)
    for part in (leaves_and_nodes, quadratic_form, hooks, errors):
        title = (part.__doc__ or "").strip().split("\n")[0]
        print(f"\n== {title}")
        part()


if __name__ == "__main__":
    main()
