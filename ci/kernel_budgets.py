#!/usr/bin/env python3
"""Checks with ptxas -v that every GPU kernel keeps its register budget and uses no stack and no spills.

    ci/kernel_budgets.py [--cuda ROOT]

The line above a kernel is PM_REGISTERS(kernel, max) or, for one that never runs on a GPU, PM_CPU_ONLY(kernel); see
harness/measure/device/kernel_language.h. Compiles for sm_90; no GPU is needed. Exit code: 0, 1 if a kernel exceeds its budget or
has no budget, 4 if there is no nvcc and nothing was checked.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
from device_code import compile_all, find_tool, kernel_sources  # noqa: E402


def excesses(budgets, usages):
    """Returns one line for each error in the kernels of one compilation."""
    lines = [f"{kernel}: has a budget, but is not a kernel; remove the line" for kernel in budgets if kernel not in usages]
    for kernel, usage in usages.items():
        if kernel not in budgets:
            lines.append(f"{kernel}: no budget; write PM_REGISTERS({kernel}, {usage.registers}) above it")
        elif budgets[kernel] is not None:
            if usage.registers > budgets[kernel]:
                lines.append(f"{kernel}: {usage.registers} registers; its budget is {budgets[kernel]}")
            if usage.stack_bytes or usage.spill_bytes:
                lines.append(f"{kernel}: {usage.stack_bytes} bytes of stack, {usage.spill_bytes} bytes of spills; 0 are allowed")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", metavar="ROOT", help="root of the CUDA toolkit")
    nvcc = find_tool("nvcc", parser.parse_args().cuda)
    if nvcc is None:
        print("kernel_budgets: nvcc not found in PATH or /usr/local/cuda/bin; give the toolkit with --cuda", file=sys.stderr)
        return 4
    checked, found, exempt = 0, [], set()
    with tempfile.TemporaryDirectory() as folder:
        for source, _, usages in compile_all(kernel_sources(), folder, nvcc):
            budgets = source.budgets()
            exempt |= {kernel for kernel, registers in budgets.items() if registers is None}
            checked += sum(budgets.get(kernel) is not None for kernel in usages)
            found += [f"{source.path.name} {source.dtype}: {line}" for line in excesses(budgets, usages)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"kernel_budgets: {checked} kernels checked, {len(found)} errors; CPU only, not checked: {', '.join(sorted(exempt))}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
