"""Compiles the kernels of this tree with nvcc for one GPU and reads registers, stack and spills from ptxas.

For bench/sass_table.py and ci/kernel_budgets.py. Needs nvcc and no GPU.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
ELEMENT_BYTES = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 4, "i32": 4, "f32": 4, "u64": 8, "i64": 8, "f64": 8}


def kernel_text(path):
    """Returns a kernel source with the files that it includes, as the build embeds it."""
    return re.sub(r'^#include "(\w+\.kernel\.h)"$', lambda include: kernel_text(path.parent / include[1]), path.read_text(), flags=re.M)


@dataclass(frozen=True)
class Source:
    """One call of peakmark_add_kernel_source() for one element type."""

    name: str
    path: pathlib.Path
    dtype: str

    def budgets(self):
        """Returns {kernel: registers of PM_REGISTERS}; None for a kernel with PM_CPU_ONLY."""
        text = kernel_text(self.path)
        budgets = {kernel: int(registers) for kernel, registers in re.findall(r"^PM_REGISTERS\((\w+), (\d+)\)", text, re.M)}
        return budgets | dict.fromkeys(re.findall(r"^PM_CPU_ONLY\((\w+)\)", text, re.M))


@dataclass(frozen=True)
class Usage:
    """What ptxas -v reports of a kernel; bytes are those of one thread."""

    registers: int
    stack_bytes: int
    spill_bytes: int


def kernel_sources(root=ROOT):
    """Returns every source that the build compiles for CUDA, except those of tests and examples."""
    call = re.compile(r"peakmark_add_kernel_source\(\s*(\S+)\s+(\S+)\s+(\S+)\s+DTYPES\s+([^)]*)\)")
    sources = []
    for cmake in sorted(root.glob("*/**/CMakeLists.txt")):
        if {"build", "examples"} & set(cmake.relative_to(root).parts):
            continue
        for _, name, file, dtypes in call.findall(cmake.read_text()):
            if not name.startswith("test_"):
                sources += [Source(name, cmake.parent / file, dtype) for dtype in dtypes.split()]
    if not sources:
        raise SystemExit(f"no call of peakmark_add_kernel_source() in {root}")
    return sources


def find_tool(name, cuda_root=None):
    """Returns the path of a program of the CUDA toolkit in `cuda_root`, PATH or /usr/local/cuda; None if it is not there."""
    folders = [cuda_root and os.path.join(cuda_root, "bin"), os.environ.get("PATH"), "/usr/local/cuda/bin"]
    return shutil.which(name, path=os.pathsep.join(folder for folder in folders if folder))


def compile_cubin(source, cubin, nvcc, architecture="sm_90"):
    """Writes a cubin as the build's options make it; returns {kernel: Usage}."""
    language = ROOT / "harness/measure/device/kernel_language.h"
    command = [nvcc, "-cubin", "-O3", "-std=c++17", f"-arch={architecture}", "-Xptxas", "-v", "-include", str(language),
               f"-DPM_DTYPE_{source.dtype}", "-x", "cu", str(source.path), "-o", str(cubin)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{source.path}: nvcc failed:\n{done.stderr}")
    return parse_usage(done.stderr)


def compile_all(sources, folder, nvcc, architecture="sm_90"):
    """Compiles into `folder`, on all cores; returns [(source, cubin, {kernel: Usage})]."""
    def compile_one(source):
        cubin = pathlib.Path(folder) / f"{source.name}_{source.dtype}.cubin"
        return source, cubin, compile_cubin(source, cubin, nvcc, architecture)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, sources))


def parse_usage(log):
    """Returns {kernel: Usage} of what ptxas -v wrote."""
    usages = {}
    entry = re.compile(r"Compiling entry function '(\w+)'(.*?)(?=Compiling entry function|\Z)", re.S)
    for kernel, text in entry.findall(log):
        # The properties of the entry come first; those of functions that are not inlined follow.
        frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", text)
        registers = re.search(r"Used (\d+) registers", text)
        if not frame or not registers:
            raise SystemExit(f"unexpected output of ptxas -v:\n{text}")
        stack, stores, loads = map(int, frame.groups())
        usages[kernel] = Usage(int(registers[1]), stack, stores + loads)
    return usages
