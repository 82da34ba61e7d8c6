"""Counts of machine instructions, from listings as nvdisasm writes them."""

from __future__ import annotations

import pytest

from tools.issue import Loop, bytes_of, main_loop

COPY = """
.text.copy:
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_0:
        /*0010*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0020*/              @!P1 BRA `(.L_x_1) ;
        /*0030*/                   IMAD.MOV.U32 R8, RZ, RZ, R4 ;
        /*0040*/                   MUFU.RCP R8, R8 ;
.L_x_1:
        /*0050*/                   STG.E.128 desc[UR4][R6.64], R4 ;
        /*0060*/               @P0 BRA `(.L_x_0) ;
        /*0070*/                   EXIT ;
.L_x_2:
        /*0080*/                   BRA `(.L_x_2);
"""


def test_the_way_around_a_rare_case_counts() -> None:
    loop = main_loop(COPY)
    assert loop is not None
    assert loop.instructions == ("LDG.E.128", "BRA", "STG.E.128", "BRA")
    assert loop.moved == 32
    assert loop.pipes == {"issue": 4, "memory": 2}
    assert loop.clocks == 2.0  # the loads and stores of a warp, one a clock
    assert loop.bandwidth == pytest.approx(32 * 32 / 2 * 132 * 1.755e9 / 4.8e12)


def test_a_kernel_without_memory_has_no_loop() -> None:
    assert main_loop("        /*0000*/                   EXIT ;\n") is None


@pytest.mark.parametrize(
    ("instruction", "size"),
    [
        ("LDG.E", 4), ("LDG.E.U16.CONSTANT", 2), ("STG.E.64", 8), ("STG.E.U8", 1), ("LDS.128", 0),
        ("LDGSTS.E.128", 16), ("LDGDEPBAR", 0),
    ],
)  # fmt: skip
def test_bytes_of_an_instruction(instruction: str, size: int) -> None:
    assert bytes_of(instruction) == size


def test_products_of_half_precision_and_of_tf32() -> None:
    names = ("HMMA.16816.F32.BF16", "HMMA.1688.F32.TF32", "LDSM.16.M88.4")
    assert Loop(names, 0).products == 2
