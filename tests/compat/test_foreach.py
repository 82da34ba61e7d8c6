"""The functions of torch that do one thing with each tensor of a list."""

from __future__ import annotations

from tests.compat.test_install import run


def test_functions_of_lists() -> None:
    program = """
import torch
xs = [torch.tensor([1.0, -2.0]), torch.tensor([3.0])]
ys = [torch.tensor([1.0, 1.0]), torch.tensor([2.0])]
print([x.tolist() for x in torch._foreach_add(xs, ys, alpha=2)])
print([x.tolist() for x in torch._foreach_mul(xs, [2, 3])])
print([x.tolist() for x in torch._foreach_maximum(xs, 0.5)])
torch._foreach_addcmul_(xs, ys, ys, 0.5); torch._foreach_lerp_(xs, ys, 0.5)
print([x.tolist() for x in xs], [x.item() for x in torch._foreach_norm(ys)][1])
torch._foreach_copy_(xs, ys); torch._foreach_zero_(ys); torch._foreach_minimum_(xs, 1)
print([x.tolist() for x in xs + ys])
"""
    assert run(program).splitlines() == [
        "[[3.0, 0.0], [7.0]]",
        "[[2.0, -4.0], [9.0]]",
        "[[1.0, 0.5], [3.0]]",
        "[[1.25, -0.25], [3.5]] 2.0",
        "[[1.0, 1.0], [1.0], [0.0, 0.0], [0.0]]",
    ]


def test_what_lists_of_tensors_must_be() -> None:
    program = """
import torch
xs = [torch.ones(2)]
for wrong in (
    lambda: torch._foreach_add([], 1),
    lambda: torch._foreach_add(xs, xs + xs),
    lambda: torch._foreach_add(xs, [1, 2]),
    lambda: torch._foreach_addcmul(xs, xs, xs, torch.tensor([2.0, 3.0])),
    lambda: torch._foreach_addcdiv(xs, xs, xs, torch.tensor(2.0)),
):
    try: wrong()
    except RuntimeError as error: print(error)
print(torch._foreach_pow(2, xs), torch._foreach_addcmul(xs, xs, xs, torch.tensor([2.0])))
print(torch._foreach_mm([torch.ones(1, 2)], [torch.ones(2, 1)]), torch._foreach_powsum(xs, 3))
print(torch._foreach_lerp(xs, xs, weight=0.5), torch._foreach_add_(xs, 1) is xs)
"""
    assert run(program).splitlines() == [
        "Tensor list must have at least one tensor.",
        "Tensor lists must have the same number of tensors, got 1 and 2",
        "Tensor list must have same number of elements as scalar list.",
        "Expected length of scalars to match input of length 1 but got 2 instead.",
        "Expected packed scalar Tensor to be of dimension 1. Got 0 instead.",
        "(tensor([2., 2.]),) (tensor([3., 3.]),)",
        "(tensor([[2.]]),) (tensor(2.),)",
        "(tensor([1., 1.]),) True",
    ]
