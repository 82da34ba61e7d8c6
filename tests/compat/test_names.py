"""Names of torch that libraries take from its private corners."""

from __future__ import annotations

import pytest

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


def test_repeated_numbers() -> None:
    program = """
from torch.nn.modules.utils import _list_with_default, _pair, _reverse_repeat_tuple, _single
print(_pair(3), _pair((1, 2)), _single(1), _reverse_repeat_tuple((1, 2), 2))
print(_list_with_default((None, 5), [7, 8, 9]))
"""
    assert run(program).splitlines() == ["(3, 3) (1, 2) (1,) (2, 2, 1, 1)", "[8, 5]"]


def test_an_optimizer_of_another_library() -> None:
    program = """
import torch
from torch.optim.optimizer import Optimizer, ParamsT, _use_grad_for_differentiable, required
class Plain(Optimizer):
    def __init__(self, params: ParamsT, lr=required): super().__init__(params, dict(lr=lr))
    @_use_grad_for_differentiable
    def step(self):
        for group in self.param_groups:
            for p in group["params"]: p.add_(p.grad, alpha=-group["lr"])
p = torch.nn.Parameter(torch.ones(1)); (p * 3).sum().backward()
Plain([p], lr=0.5).step(); print(p.item(), p.grad_fn, required)
"""
    assert run(program) == "-0.5 None <required parameter>"


def test_checks_and_devices() -> None:
    program = """
import torch
torch._check(True)
for check in (torch._check, torch._check_value, torch._check_index):
    try: check(False, lambda: "no")
    except Exception as error: print(type(error).__name__, error)
print(torch.xpu.is_available(), torch.mps.device_count(), torch.version.hip, torch.sym_max(1, 2))
print(torch.multiprocessing.get_sharing_strategy(), torch.utils.model_zoo.load_url.__name__)
"""
    assert run(program).splitlines() == [
        "RuntimeError no", "ValueError no", "IndexError no",
        "False 0 None 2", "file_system load_state_dict_from_url",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "statement, printed",
    [
        ("torch.jit.load('f')", "NotImplementedError torch.jit.load"),
        ("torch.jit.save(m, 'f')", "NotImplementedError torch.jit.save"),
        ("torch.onnx.export(m, (), 'f')", "NotImplementedError torch.onnx.export"),
        ("torch.distributed.all_reduce(torch.ones(1))", "RuntimeError torch.distributed"),
        ("torch.distributed.barrier()", "RuntimeError torch.distributed"),
        ("torch.accelerator.synchronize()", "RuntimeError Cannot access accelerator"),
        ("torch.ops.load_library('f')", "OSError torch.ops.load_library"),
        ("torch.ops.mine.f", "AttributeError"),
        ("torch.multiprocessing.set_sharing_strategy('x')", "AssertionError x is not one of"),
        ("torch.multiprocessing.spawn(int, (1, 2))", "RuntimeError process 0 terminated"),
        ("double.register_autograd(None)", "NotImplementedError"),
    ],
)
def test_what_cannot_be_had_says_so(statement: str, printed: str) -> None:
    program = f"""
import torch
@torch.library.custom_op("own::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor: return x * 2
if __name__ == "__main__":
    m = torch.nn.Linear(1, 1)
    try: {statement}
    except Exception as e: print(type(e).__name__, e)
"""
    assert run(program).startswith(printed)
