"""Tests bench/sass_table.py and ci/kernel_budgets.py with output of ptxas and nvdisasm."""

import device_code
import kernel_budgets
import sass_table

PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'add' for 'sm_90'
ptxas info    : Function properties for add
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, used 0 barriers
ptxas info    : Compiling entry function 'heap' for 'sm_90'
ptxas info    : Function properties for heap
    64 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 64 bytes cumulative stack size
"""

# An iteration has two loads and a 16-byte store or, from .L_x_1 on, one load and a 4-byte store.
NVDISASM = """//--------------------- .text.add   --------------------------
\t.section\t.text.add,"ax",@progbits
.text.add:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/               @P0 EXIT ;
.L_x_0:
        /*0020*/                   IADD3 R2, R2, 0x10, RZ ;
        /*0030*/               @P1 BRA `(.L_x_1) ;
        /*0040*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0050*/                   LDG.E.64.CONSTANT R8, desc[UR4][R2.64] ;
        /*0060*/                   FADD R4, R4, R8 ;
        /*0070*/                   STG.E.128 desc[UR4][R2.64], R4 ;
        /*0080*/                   BRA `(.L_x_2) ;
.L_x_1:
        /*0090*/                   LDG.E.U8 R4, desc[UR4][R2.64] ;
        /*00a0*/                   STG.E desc[UR4][R2.64], R4 ;
.L_x_2:
        /*00b0*/              @!P2 BRA `(.L_x_0) ;
        /*00c0*/                   EXIT ;
.L_x_3:
        /*00d0*/                   BRA `(.L_x_3);
"""


def copy_path(instructions, width):
    return sass_table.Path(instructions, (sass_table.Access("LDG", width), sass_table.Access("STG", width)))


def test_output_of_ptxas_is_parsed():
    assert device_code.parse_usage(PTXAS) == {"add": device_code.Usage(30, 0, 0), "heap": device_code.Usage(255, 64, 20)}


def test_a_kernel_within_its_budget_is_not_an_error():
    assert kernel_budgets.excesses({"add": 30, "heap": None}, device_code.parse_usage(PTXAS)) == []


def test_registers_stack_and_spills_beyond_a_budget_are_errors():
    assert kernel_budgets.excesses({"add": 29, "heap": 255}, device_code.parse_usage(PTXAS)) == [
        "add: 30 registers; its budget is 29", "heap: 64 bytes of stack, 20 bytes of spills; 0 are allowed"]


def test_a_kernel_without_a_budget_and_a_budget_without_a_kernel_are_errors():
    lines = kernel_budgets.excesses({"heap": None, "removed": 8}, device_code.parse_usage(PTXAS))
    assert lines == ["removed: has a budget, but is not a kernel; remove the line", "add: no budget; write PM_REGISTERS(add, 30) above it"]


def test_every_kernel_of_the_tree_has_a_budget():
    for source in device_code.kernel_sources():
        assert source.budgets(), source.path


def test_budgets_include_those_of_included_files(tmp_path):
    (tmp_path / "add.kernel.h").write_text('PM_REGISTERS(add, 16)\n#include "heap.kernel.h"\n')
    (tmp_path / "heap.kernel.h").write_text("PM_CPU_ONLY(heap)\n")
    assert device_code.Source("add", tmp_path / "add.kernel.h", "u8").budgets() == {"add": 16, "heap": None}


def test_the_hot_path_is_the_one_with_whole_vectors():
    blocks = sass_table.parse_kernels(NVDISASM)["add"]
    path = sass_table.hot_path(blocks, sass_table.COPY)
    assert (path.count, path.text("LDG"), path.text("STG"), path.bytes_in_flight()) == (8, "1×16 + 1×8", "1×16", 24)


def test_only_one_side_of_a_branch_is_in_flight():
    loads = [sass_table.Access("LDG", 16, True)] + [sass_table.Access("LDG", 4)] * 4
    path = sass_table.Path(9, (*loads, sass_table.Access("STG", 16), sass_table.Access("LDG", 8)))
    assert (path.bytes_in_flight(), path.text("LDG")) == (16, "1×16 + 1×8 + 4×4")


def test_the_bound_is_of_issue_slots_and_of_loads_in_flight():
    source = device_code.Source("add", device_code.ROOT / "add.kernel.h", "u8")
    path = copy_path(800, 16)
    row = sass_table.table_row("add", source, device_code.Usage(32, 0, 0), path)
    assert row["instructions"] == 50
    # 4.8 TB/s are 2.4e12 copied elements of one byte; 132 processors with 128 slots at 1.7 GHz issue 11.97 for each.
    assert abs(row["slots"] - 50 / 11.97) < 0.01 and abs(row["bound"] - 11.97 / 50) < 0.001
    few = sass_table.table_row("add", source, device_code.Usage(255, 0, 0), copy_path(16, 1))
    # 256 threads with a byte each, of 2.4e12 B/s * 0.7 us / 132 that must be in flight.
    assert abs(few["flight"] - 256 / 12727) < 0.001
