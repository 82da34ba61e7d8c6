"""Older functions of torch, and those below its functional ones that were added since: programs
that print what they print with torch."""

from __future__ import annotations

import pytest

from tests.compat.test_install import run

QUIET = "import warnings, torch; warnings.simplefilter('ignore')\n"
OLDER = """
s = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0]), (2, 2))
s, d = s.coalesce(), torch.ones(2, 2)
rows, columns = s.to_sparse_csr(), s.to_sparse_csc()
print(torch.spmm(s, d).tolist(), torch.dsmm(d, d).tolist(), torch.hsmm(s, d).to_dense().tolist())
print(torch.saddmm(s, s, d).to_dense().tolist(), s.smm(d).to_dense().tolist())
print(s.sspaddmm(s, d, beta=2).to_dense().tolist(), torch.native_norm(s, 1).item())
print(torch.crow_indices_copy(rows).tolist(), torch.col_indices_copy(rows).tolist())
print(torch.ccol_indices_copy(columns).tolist(), torch.row_indices_copy(columns).tolist())
print(torch.values_copy(columns).tolist())
print(list(torch.resize_as_sparse_(torch.sparse_coo_tensor(size=(3, 3)), s).shape))
x = torch.arange(4.0)
print(torch.slice_inverse(x[1:3], x, 0, 1, 3).tolist(), x[1:3].slice_inverse(x).shape == x.shape)
mean, variance = torch.zeros(2), torch.ones(2)
x = torch.tensor([[1.0, 2.0], [3.0, 7.0]])
print([t.tolist() for t in torch.batch_norm_update_stats(x, mean, variance, 0.5)])
print(mean.tolist(), variance.tolist())
def refused(call, *arguments):
    try:
        return call(*arguments)
    except (RuntimeError, NotImplementedError) as error:
        return type(error).__name__
names = "eig", "lstsq", "solve", "symeig"
print({refused(getattr(torch, n), d, d) for n in (*names, "matrix_rank")})
print({refused(getattr(d, n), d) for n in (*names, "reinforce")})
print(refused(torch.hsmm, d, d), refused(torch.saddmm, d, s, d), refused(torch.indices_copy, s))
print(refused(torch.native_norm, d), refused(torch.native_norm, s, 2, [0], True, None))
print(refused(d.smm, d), refused(d.sspaddmm, d, d), refused(d.resize_as_sparse_, s))
print(refused(d.resize_as_sparse_, d), refused(d.sparse_resize_, (1, 1), 2, 0))
print(refused(d.sparse_resize_and_clear_, (1, 1), 2, 0))
print(refused(torch.sparse.spsolve, rows, d[0]))
"""
OLDER_OF_TORCH = """\
[[1.0, 1.0], [2.0, 2.0]] [[2.0, 2.0], [2.0, 2.0]] [[1.0, 1.0], [2.0, 2.0]]
[[1.0, 2.0], [4.0, 2.0]] [[1.0, 1.0], [2.0, 2.0]]
[[1.0, 3.0], [6.0, 2.0]] 3.0
[0, 1, 2] [1, 0]
[0, 1, 2] [1, 0]
[2.0, 1.0]
[2, 2]
[0.0, 1.0, 2.0, 3.0] True
[[2.0, 4.5], [1.0, 6.25]]
[1.0, 2.25] [1.5, 6.75]
{'RuntimeError'}
{'RuntimeError'}
NotImplementedError RuntimeError NotImplementedError
NotImplementedError RuntimeError
RuntimeError RuntimeError RuntimeError
NotImplementedError NotImplementedError
NotImplementedError
NotImplementedError"""
BAGS = """
index, starts = torch.tensor([0, 2, 1, 3]), torch.tensor([0, 2, 2])
for dtype in (torch.float32, torch.float64):
    table = torch.arange(8, dtype=dtype).view(4, 2)
    for mode in range(3):
        for more in ((), (None, True, None), (None, False, 3)):
            found = torch.embedding_bag(table, index, starts, False, mode, False, *more)
            print([x.tolist() for x in found])
table.requires_grad_()
sums = torch.embedding_bag(table, index, starts, True, 0, False, torch.arange(4.0).double())[0]
sums.sum().backward()
print(table.grad.tolist())
for more in ((3,), (1, False, torch.ones(4).double())):
    try:
        torch.embedding_bag(table, index, starts, False, *more)
    except RuntimeError:
        print("refused")
try:
    torch.embedding_bag(table[None], index, starts)
except RuntimeError as error:
    print(error)
"""
BAGS_OF_TORCH = """\
[[[4.0, 6.0], [0.0, 0.0], [8.0, 10.0]], [], [0, 0, 0], [0, 0, 0]]
[[[4.0, 6.0], [0.0, 0.0]], [], [0, 0, 0], [0, 0, 0]]
[[[4.0, 6.0], [0.0, 0.0], [2.0, 3.0]], [0, 0, 2, 2], [0, 0, 0], [0, 0, 0]]
[[[2.0, 3.0], [0.0, 0.0], [4.0, 5.0]], [0, 0, 2, 2], [2, 0, 2], [2, 0, 2]]
[[[2.0, 3.0], [0.0, 0.0]], [0, 0, 1, 1], [2, 2], [2, 2]]
[[[2.0, 3.0], [0.0, 0.0], [2.0, 3.0]], [0, 0, 2, 2], [2, 0, 1], [2, 0, 1]]
[[[4.0, 5.0], [0.0, 0.0], [6.0, 7.0]], [0, 0, 2, 2], [2, 0, 2], [[2, 2], [0, 0], [3, 3]]]
[[[4.0, 5.0], [6.0, 7.0]], [0, 0, 1, 1], [2, 2], [[2, 2], [3, 3]]]
[[[4.0, 5.0], [0.0, 0.0], [2.0, 3.0]], [0, 0, 2, 2], [2, 0, 1], [[2, 2], [0, 0], [1, 1]]]
[[[4.0, 6.0], [0.0, 0.0], [8.0, 10.0]], [0, 0, 2, 2], [0, 0, 0], [0, 0, 0]]
[[[4.0, 6.0], [8.0, 10.0]], [0, 0, 1, 1], [0, 0, 0], [0, 0, 0]]
[[[4.0, 6.0], [0.0, 0.0], [2.0, 3.0]], [0, 0, 2, 2], [0, 0, 0], [0, 0, 0]]
[[[2.0, 3.0], [0.0, 0.0], [4.0, 5.0]], [0, 0, 2, 2], [2, 0, 2], [2, 0, 2]]
[[[2.0, 3.0], [4.0, 5.0]], [0, 0, 1, 1], [2, 2], [2, 2]]
[[[2.0, 3.0], [0.0, 0.0], [2.0, 3.0]], [0, 0, 2, 2], [2, 0, 1], [2, 0, 1]]
[[[4.0, 5.0], [0.0, 0.0], [6.0, 7.0]], [0, 0, 2, 2], [2, 0, 2], [[2, 2], [0, 0], [3, 3]]]
[[[4.0, 5.0], [6.0, 7.0]], [0, 0, 1, 1], [2, 2], [[2, 2], [3, 3]]]
[[[4.0, 5.0], [0.0, 0.0], [2.0, 3.0]], [0, 0, 2, 2], [2, 0, 1], [[2, 2], [0, 0], [1, 1]]]
[[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [3.0, 3.0]]
refused
refused
weight has to be a 2D Tensor, but got Tensor of dimension 3"""
OBSERVED = """
def played(observed, fake, channels=1, symmetric=False):
    n, end = channels, float("inf")
    kept = [torch.full((n,), end), torch.full((n,), -end), torch.ones(n), torch.zeros(n).int()]
    x = torch.tensor([[-1.0, 0.3, 2.0], [1.0, 2.0, 3.0]])
    for _ in range(2):
        x = x * 1.5
        y = torch.fused_moving_avg_obs_fake_quant(
            x, torch.tensor([observed]), torch.tensor([fake]), *kept, 0.01, 0, 255, 0,
            channels > 1, symmetric)
    print(*[[round(v, 3) for v in t.flatten().tolist()] for t in (y, *kept)])
for flags in ((0, 0), (0, 1), (1, 0), (1, 1), (1, 1, 2), (1, 1, 1, True)):
    played(*flags)
x = torch.tensor([-1.0, 9.0], requires_grad=True)
levels = torch.tensor([-1.0]), torch.tensor([1.0]), torch.ones(1), torch.zeros(1, dtype=torch.int32)
off, on = torch.tensor([0]), torch.tensor([1])
torch.fused_moving_avg_obs_fake_quant(x, off, on, *levels, 0.01, 0, 255, 0).sum().backward()
print(x.grad.tolist())
"""
OBSERVED_OF_TORCH = """\
[-2.25, 0.675, 4.5, 2.25, 4.5, 6.75] [inf] [-inf] [1.0] [0]
[0.0, 0.7, 4.5, 2.2, 4.5, 6.8] [inf] [-inf] [0.1] [0]
[-2.25, 0.675, 4.5, 2.25, 4.5, 6.75] [-1.508] [4.523] [1.0] [0]
[-1.513, 0.686, 4.493, 2.246, 4.493, 4.517] [-1.508] [4.523] [0.024] [64]
[-1.508, 0.674, 3.015, 2.252, 4.505, 4.523] [-1.508, 1.508] [3.015, 4.523] [0.018, 0.018] [85, 0]
[-2.243, 0.677, 4.487, 2.243, 4.487, 4.523] [-1.508] [4.523] [0.036] [128]
[1.0, 0.0]"""


@pytest.mark.parametrize(
    ("program", "printed"),
    [(OLDER, OLDER_OF_TORCH), (BAGS, BAGS_OF_TORCH), (OBSERVED, OBSERVED_OF_TORCH)],
    ids=["older", "bags", "observed"],
)
def test_programs_print_what_they_print_with_torch(program: str, printed: str) -> None:
    assert run(QUIET + program) == printed


def test_older_sparse_classes_warn_once_for_each_form() -> None:
    program = """
import torch, warnings
i, v = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0])
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(2):
        x = torch.sparse.FloatTensor(i, v, (2, 2))
        torch.sparse.FloatTensor(), torch.sparse.FloatTensor(i, v)
        print(x.to_dense().tolist(), isinstance(x, torch.sparse.FloatTensor),
              isinstance(x, torch.sparse.DoubleTensor), tuple(torch.sparse.LongTensor(2, 3).shape))
for w in seen:
    print(w.message)
"""
    old, new = "torch.sparse.SparseTensor", "Please use torch.sparse_coo_tensor"
    assert run(program).splitlines() == ["[[0.0, 1.0], [2.0, 0.0]] True False (2, 3)"] * 2 + [
        f"{old}(indices, values, shape, *, device=) is deprecated.  "
        f"{new}(indices, values, shape, dtype=, device=).",
        f"{old}() is deprecated.  {new}((0,), dtype=).",
        f"{old}(indices, values, *, device=) is deprecated.  "
        f"{new}(indices, values, dtype=, device=).",
        f"{old}(shape, *, device=) is deprecated.  {new}(shape, dtype=, device=).",
    ]
