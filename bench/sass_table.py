#!/usr/bin/env python3
"""Prints what the machine code (sm_90) of each GPU kernel needs, and the share of copy bandwidth that it can reach.

    bench/sass_table.py [PATTERN…] [--cuda ROOT] [--nvdisasm PATH]

PATTERN is a regular expression for kernel names; the default is every kernel that runs on a GPU.
No GPU is needed; nvdisasm is (`pip install nvidia-cuda-nvdisasm`, any 13.x).

The hot loop is the loop with the fewest instructions per byte that it stores to global memory. Of the paths through it, the script
takes the one that stores the most bytes. If several do, it takes the one with the fewest stores (whole vectors), then the longest.
For a kernel without such a loop, it takes the path through the whole kernel. If WORK gives `units`, it takes the innermost loop
that loads the most.

Columns, per element stored: `instructions`, `bytes`. `issue slots`: share of all issue slots that the instructions take at full
memory bandwidth. `loads in flight`: bytes that resident threads load before their next store, over the bytes that full
bandwidth needs in flight. `bound`: expected share of copy bandwidth, min(1, 1 / issue slots, loads in flight).
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

from device_code import ELEMENT_BYTES, compile_all, find_tool, kernel_sources

# H200. Bandwidth, multiprocessors and schedulers are from NVIDIA's data sheet and the Hopper whitepaper; the sustained clock
# and the memory latency under load are assumptions.
BYTES_PER_SECOND = 4.8e12
PROCESSORS = 132
SLOTS_PER_CLOCK = 4 * 32  # four schedulers, one warp instruction each
CLOCK = 1.7e9
LATENCY = 0.7e-6
REGISTERS, MAX_WARPS, WARPS_PER_GROUP = 65536, 64, 8


@dataclass(frozen=True)
class Work:
    """Work of a kernel that is not a copy with a storing hot loop."""

    bytes: object = None  # function of the element size: bytes moved per element; None: not bound by memory
    unit: str = "element"
    units: float = 0  # units per iteration of the loop that loads most; 0: elements stored


COPY = Work(lambda e: 2 * e)
WORK = {
    "mul_add": Work(lambda e: 3 * e),
    "vertical_shift_add": Work(lambda e: 3 * e),
    "pm_fill": Work(lambda e: e),
    "fixed_arithmetic": Work(None),
    "gather_images": Work(lambda e: 2 * e + 8),  # two int32 coordinates per element, for a stack of one slice
    "backproject_groups_of_two": Work(None, "update", 32),
    "backproject_groups": Work(None, "update", 16),
    "backproject": Work(None, "iteration", 1),
}


@dataclass
class Instruction:
    text: str
    operation: str
    predicated: bool
    target: str = ""


@dataclass
class Block:
    instructions: list = field(default_factory=list)
    successors: list = field(default_factory=list)


@dataclass(frozen=True)
class Access:
    kind: str  # LDG, STG, LDS, STS or TEX
    width: int  # bytes
    predicated: bool = False


@dataclass(frozen=True)
class Path:
    """One path through a loop: the number of instructions, and its memory accesses in order."""

    count: int = 0
    accesses: tuple = ()

    def bytes(self, kind):
        return sum(access.width for access in self.accesses if access.kind == kind)

    def number(self, kind):
        return sum(access.kind == kind for access in self.accesses)

    def bytes_in_flight(self):
        """Returns the max number of bytes loaded between two stores. Predicated and other loads are summed separately,
        because they are the two sides of a branch."""
        max_bytes, sides = 0, [0, 0]
        for access in self.accesses:
            if access.kind == "STG":
                sides = [0, 0]
            elif access.kind == "LDG":
                sides[access.predicated] += access.width
                max_bytes = max(max_bytes, *sides)
        return max_bytes

    def text(self, kind):
        widths = collections.Counter(access.width for access in self.accesses if access.kind == kind)
        return " + ".join(f"{n}×{width}" for width, n in sorted(widths.items(), reverse=True)) or "0"


def access_width(operation):
    for mark, width in ((".128", 16), (".64", 8), (".U8", 1), (".S8", 1), (".U16", 2), (".S16", 2)):
        if re.search(re.escape(mark) + r"(\.|$)", operation):
            return width
    return 4


def memory_access(instruction):
    name = instruction.operation.split(".")[0]
    kind = {"LDG": "LDG", "LD": "LDG", "STG": "STG", "ST": "STG", "LDS": "LDS", "STS": "STS", "TEX": "TEX", "TLD": "TEX"}.get(name)
    return Access(kind, access_width(instruction.operation), instruction.predicated) if kind else None


def parse_kernels(disassembly):
    """Parses the output of `nvdisasm -c`. Returns {kernel: [blocks]}."""
    kernels = {}
    for name, text in re.findall(r"^\.text\.(\w+):\n(.*?)(?=^//---|\Z)", disassembly, re.S | re.M):
        blocks, labels = [Block()], {}
        for line in text.splitlines():
            label = re.match(r"(\.L_x_\d+|\$\S+):", line)
            if label:
                if blocks[-1].instructions:
                    blocks.append(Block())
                labels[label[1]] = len(blocks) - 1
                continue
            found = re.match(r"\s+/\*[0-9a-f]+\*/\s+(@!?U?P\d+\s+)?([A-Z][\w.]*)(.*);", line)
            if not found or found[2].startswith("NOP"):
                continue
            target = re.search(r"`\((\S+?)\)", found[3])
            blocks[-1].instructions.append(Instruction(line, found[2], bool(found[1]), target[1] if target else ""))
            if found[2].split(".")[0] in ("BRA", "EXIT", "RET", "BRX", "BREAK"):
                blocks.append(Block())
        for i, block in enumerate(blocks):
            last = block.instructions[-1] if block.instructions else None
            kind = last.operation.split(".")[0] if last else ""
            if kind == "BRA" and last.target in labels:
                block.successors.append(labels[last.target])
            conditional = last and (last.predicated or re.search(r"\b!?U?P\d+, `|~URZ|DIV", last.text))
            if i + 1 < len(blocks) and (kind not in ("BRA", "EXIT", "RET", "BRX") or conditional):
                block.successors.append(i + 1)
        kernels[name] = blocks
    return kernels


def find_loops(blocks):
    """Returns {header: set of blocks} of the natural loops, found by backward branches."""
    predecessors = collections.defaultdict(set)
    for i, block in enumerate(blocks):
        for successor in block.successors:
            predecessors[successor].add(i)
    loops = {}
    for tail, block in enumerate(blocks):
        for header in block.successors:
            if header > tail:
                continue
            body, pending = {header, tail}, [tail] if tail != header else []
            while pending:
                for before in predecessors[pending.pop()]:
                    if before not in body:
                        body.add(before)
                        pending.append(before)
            if header == tail and len(block.instructions) == 1:
                continue  # the endless branch after a kernel's end
            loops.setdefault(header, set()).update(body)
    return loops


def longest_path(blocks, first, body):
    """Returns the path from `first` through `body` with most bytes stored, then fewest stores, then most instructions."""
    def rank(path):
        return path.bytes("STG"), -path.number("STG"), path.count

    best = {}
    for i in sorted(body, reverse=True):
        block = blocks[i]
        accesses = tuple(a for a in (memory_access(x) for x in block.instructions) if a)
        ahead = [best[s] for s in block.successors if s in body and s > i and s in best]
        after = max(ahead, key=rank, default=Path())
        best[i] = Path(len(block.instructions) + after.count, accesses + after.accesses)
    return best[first]


def kernel_work(kernel):
    return next((work for prefix, work in WORK.items() if kernel.startswith(prefix)), COPY)


def hot_path(blocks, work):
    loops = find_loops(blocks)
    paths = {header: longest_path(blocks, header, body) for header, body in loops.items()}
    if work.units:
        chosen = [paths[header] for header, body in loops.items() if not any(other < body for other in loops.values())]  # innermost
        rank = lambda path: path.bytes("LDS") + path.bytes("LDG") + 16 * path.number("TEX")
    else:
        chosen = [path for path in paths.values() if path.bytes("STG")]
        rank = lambda path: -path.count / path.bytes("STG")
    return max(chosen, key=rank) if chosen else longest_path(blocks, 0, set(range(len(blocks))))


def resident_threads(registers):
    warps = REGISTERS // (-(-registers // 8) * 8 * 32)
    return min(MAX_WARPS, warps // WARPS_PER_GROUP * WARPS_PER_GROUP) * 32


def table_row(kernel, source, usage, path):
    work, element = kernel_work(kernel), ELEMENT_BYTES[source.dtype]
    units = work.units or path.bytes("STG") / element
    row = {"kernel": kernel, "dtype": source.dtype, "registers": usage.registers, "spills": usage.spill_bytes,
           "stack": usage.stack_bytes, "instructions": None, "an": work.unit, "loads": path.text("LDG"), "stores": path.text("STG"),
           "units": units, "bytes": None, "slots": None, "flight": None, "bound": None}
    if not units:
        return row
    row["instructions"] = path.count / units
    if work.bytes is None:
        return row
    moved = work.bytes(element)
    row["bytes"] = moved
    seconds = moved / BYTES_PER_SECOND  # time of one element at full bandwidth
    row["slots"] = row["instructions"] / (seconds * PROCESSORS * SLOTS_PER_CLOCK * CLOCK)
    row["bound"] = min(1, 1 / row["slots"])
    if path.bytes("LDG"):
        loaded = path.bytes("LDG") / (path.bytes("LDG") + path.bytes("STG"))
        needed = BYTES_PER_SECOND * loaded * LATENCY / PROCESSORS
        row["flight"] = resident_threads(usage.registers) * path.bytes_in_flight() / needed
        row["bound"] = min(row["bound"], row["flight"])
    return row


HEADINGS = ["kernel", "dtype", "registers", "spills", "stack", "instructions", "loads", "stores", "bytes", "issue slots", "loads in flight", "bound"]


def cells(row):
    number = lambda value, form: "–" if value is None else format(value, form)
    per = "" if row["an"] == "element" else f" an {row['an']}"
    share = lambda x: f" in {row['units']:g}" if x != "0" and not per else ""
    return [f"`{row['kernel']}`", row["dtype"], str(row["registers"]), str(row["spills"]), str(row["stack"]), number(row["instructions"], ".1f") + per,
            row["loads"] + share(row["loads"]), row["stores"] + share(row["stores"]), number(row["bytes"], "g"),
            number(row["slots"], ".0%"), number(row["flight"], ".1f") + ("×" if row["flight"] else ""), number(row["bound"], ".2f")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--cuda", metavar="ROOT", help="root of the CUDA toolkit")
    parser.add_argument("--nvdisasm", metavar="PATH", help="the disassembler; default: in the toolkit or in PATH")
    options = parser.parse_args()
    nvcc = find_tool("nvcc", options.cuda)
    nvdisasm = options.nvdisasm or find_tool("nvdisasm", options.cuda)
    for name, path in (("nvcc", nvcc), ("nvdisasm", nvdisasm)):
        if path is None:
            parser.error(f"{name} not found in PATH or /usr/local/cuda/bin; give the toolkit with --cuda"
                         + (", or pip install nvidia-cuda-nvdisasm and use --nvdisasm" if name == "nvdisasm" else ""))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for source, cubin, usages in compile_all(kernel_sources(), pathlib.Path(folder), nvcc):
            text = subprocess.run([nvdisasm, "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
            for kernel, blocks in sorted(parse_kernels(text).items()):
                if options.patterns and not any(re.search(p, kernel) for p in options.patterns):
                    continue
                if not options.patterns and source.budgets().get(kernel) is None:
                    continue
                rows.append(table_row(kernel, source, usages[kernel], hot_path(blocks, kernel_work(kernel))))
    print("| " + " | ".join(HEADINGS) + " |\n|" + "---|" * len(HEADINGS))
    for row in rows:
        print("| " + " | ".join(cells(row)) + " |")


if __name__ == "__main__":
    main()
