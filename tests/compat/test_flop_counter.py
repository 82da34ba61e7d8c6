"""torch.utils.flop_counter: torch's counts, by modules and operators, and its table."""

from __future__ import annotations

from tests.compat.test_install import run

PROGRAM = """
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode, register_flop_formula
inner = nn.Sequential(nn.Linear(36, 5), nn.ReLU(), nn.Linear(5, 2))
convolutions = nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, stride=2, groups=2)
model = nn.Sequential(*convolutions, nn.Flatten(), inner)
with FlopCounterMode() as counter:
    model(torch.randn(2, 3, 8, 8)).sum().backward()
for name, counts in sorted(counter.get_flop_counts().items()):
    print(name, {str(operator): count for operator, count in counts.items()})
with FlopCounterMode(display=False) as counter:
    torch.ones(2, 3) @ torch.ones(3, 4)
    torch.ones(2, 2, 3) @ torch.ones(2, 3, 4)
    torch.baddbmm(torch.ones(2, 3, 4), torch.ones(2, 3, 5), torch.ones(2, 5, 4))
    nn.ConvTranspose1d(2, 3, 2)(torch.ones(1, 2, 5))
print(counter.get_total_flops())
print(counter.get_table(1))
with FlopCounterMode():
    pass
@register_flop_formula(torch.ops.aten.relu)
def formula(x_shape, out_shape=None, **kwargs):
    return 7 * x_shape[0]
mapping = {torch.ops.aten.exp: lambda x_shape, out_shape=None, **kwargs: 100}
with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
    torch.ones(3).relu().exp()
print(counter.get_total_flops())
for target in (torch.relu, torch.ops.aten.mm):
    try:
        register_flop_formula(target)(formula)
    except (ValueError, RuntimeError) as error:
        print(type(error).__name__)
"""
PRODUCTS = """
import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count
x, y, z = torch.ones(2, 3, 4, 5), torch.ones(2, 3, 5, 6), torch.ones(5, 6)
for f in (
    lambda: x @ y,
    lambda: x @ z,
    lambda: torch.einsum("ij,jk->ik", z, z.T),
    lambda: torch.einsum("bhqd,bhdk,kl->bhql", x, y, z.T),
    lambda: torch.einsum("i,j->ij", z[0], z[1]),
    lambda: torch.tensordot(y, z, 2),
    lambda: torch.nn.GRU(3, 4)(torch.ones(5, 2, 3)),
    lambda: torch.nn.MultiheadAttention(4, 2)(*torch.ones(3, 5, 2, 4)),
):
    with FlopCounterMode(display=False) as counter:
        f()
    print(counter.get_total_flops(), *[k for k, n in counter.flop_counts["Global"].items() if n])
print(sdpa_flop_count((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6)))
try:
    sdpa_flop_count((2, 4, 3, 8), (2, 3, 5, 8), (2, 3, 5, 6))
except AssertionError:
    print("unfit")
"""
COUNTED = """\
1440 aten.bmm
1440 aten.mm
300 aten.bmm
2880 aten.bmm
0
360 aten.mm
1680 aten.addmm
2080 aten.addmm aten.bmm
3360
unfit"""
PRINTED = """\
Module                            FLOP    % Total
-----------------------------  -------  ---------
Sequential                     67.944K    100.00%
 - aten.convolution            30.240K     44.51%
 - aten.addmm                   0.760K      1.12%
 - aten.mm                      1.520K      2.24%
 - aten.convolution_backward   35.424K     52.14%
 Sequential.0                  55.296K     81.38%
  - aten.convolution           27.648K     40.69%
  - aten.convolution_backward  27.648K     40.69%
 Sequential.2                  10.368K     15.26%
  - aten.convolution            2.592K      3.81%
  - aten.convolution_backward   7.776K     11.44%
 Sequential.4                   2.280K      3.36%
  - aten.addmm                  0.760K      1.12%
  - aten.mm                     1.520K      2.24%
Global {'aten.convolution': 30240, 'aten.addmm': 760, 'aten.mm': 1520, \
'aten.convolution_backward': 35424}
Sequential {'aten.convolution': 30240, 'aten.addmm': 760, 'aten.mm': 1520, \
'aten.convolution_backward': 35424}
Sequential.0 {'aten.convolution': 27648, 'aten.convolution_backward': 27648}
Sequential.2 {'aten.convolution': 2592, 'aten.convolution_backward': 7776}
Sequential.4 {'aten.addmm': 760, 'aten.mm': 1520}
Sequential.4.0 {'aten.addmm': 720, 'aten.mm': 1440}
Sequential.4.2 {'aten.addmm': 40, 'aten.mm': 80}
504
Module                  FLOP    % Total
--------------------  ------  ---------
Global                   504    100.00%
 - aten.mm                48      9.52%
 - aten.bmm               96     19.05%
 - aten.baddbmm          240     47.62%
 - aten.convolution      120     23.81%
 ConvTranspose1d         120     23.81%
  - aten.convolution     120     23.81%
Module      FLOP    % Total
--------  ------  ---------
Global         0         0%
121
ValueError
RuntimeError"""


def test_counts_and_tables() -> None:
    assert run(PROGRAM) == PRINTED


def test_products_by_whatever_name() -> None:
    assert run(PRODUCTS) == COUNTED
