#!/usr/bin/env python3
"""Measures the speed and overhead that peakmark promises and prints one table (markdown).

    bench/measure.py [BUILD FOLDER] [-o FILE]        default build/release, standard output

Each row has a figure of a benchmark in bench/, its bound, and the command that measures it. If several benchmarks match a row, it
shows the worst of them. Ratios are of times of the same run. The exit code does not depend on the figures, because times depend
on the machine and its load, which the first line prints.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One figure: `counter` of the benchmarks of `program` whose names match `filter`."""

    figure: str
    program: str
    filter: str
    counter: str
    at_most: float | None = None
    at_least: float | None = None
    unit: str = ""
    scale: float = 1.0

    def bound(self) -> str:
        return f"≤ {self.at_most:g}" if self.at_most is not None else f"≥ {self.at_least:g}"

    def holds(self, value: float) -> bool:
        return value <= self.at_most if self.at_most is not None else value >= self.at_least

    def worst(self, values: list[float]) -> float:
        return max(values) if self.at_most is not None else min(values)


ORDERED = "mode:(edge|reflect|symmetric|wrap|custom)/"
ROWS = [
    Row("ledger: events replayed a second, 10⁵ live", "ledger_bench", "replay/100000$", "items_per_second",
        at_least=20, unit="million", scale=1e-6),
    Row("OpenCL recorder: added to an event", "record_bench", "layer", "ns_per_event", at_most=200, unit="ns"),
    Row("padding `computed`, 2048 a side, constant, over a copy", "padding_bench",
        "computed/mode:constant/pads:half", "ratio", at_most=0.85),
    Row("padding `computed`, 2048 a side, other modes, over a copy", "padding_bench",
        f"computed/{ORDERED}pads:half", "ratio", at_most=1.0),
    Row("padding `computed`, 16 a side, every mode, over a copy", "padding_bench",
        "computed/mode:(constant|edge|reflect|symmetric|wrap|custom)/pads:16", "ratio", at_most=1.15),
    Row("padding `coords1d`, every mode and pad, over a copy", "padding_bench",
        "coords1d/mode:(constant|edge|reflect|symmetric|wrap|custom)/", "ratio", at_most=1.3),
    Row("vertical shift `fused`, every pattern, over a copy of the stack", "vertical_shift_bench",
        "fused/", "ratio", at_most=1.2),
    Row("FBP `inplace` over `whole`", "fbp_bench", "n_a:512/", "ratio", at_most=1.05),
    Row("filter `inplace` over `whole`, sinograms of 5 MB and more", "filter_bench", "n_a:(901|1440|2880)/", "ratio",
        at_most=1.05),
]


def run(program: Path, name_filter: str, environment: dict[str, str]) -> list[dict]:
    """Runs benchmarks of one program and returns them as in its JSON."""
    command = [str(program), f"--benchmark_filter={name_filter}", "--benchmark_format=json"]
    answer = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if answer.returncode != 0:
        sys.exit(f"measure: {' '.join(command)} ended with {answer.returncode}:\n{answer.stderr}")
    benchmarks = json.loads(answer.stdout)["benchmarks"]
    failed = [b for b in benchmarks if b.get("error_occurred")]
    if failed or not benchmarks:
        reason = failed[0].get("error_message", "") if failed else "no benchmark of that name"
        sys.exit(f"measure: {' '.join(command)}: {reason}")
    return benchmarks


def harness_cost_ms(bench: Path, layer: Path, environment: dict[str, str]) -> float:
    """Returns the ms that a memory-only trial on OpenCL takes in addition to the steps of its computation."""
    with tempfile.TemporaryDirectory() as folder:
        recorded = environment | {
            "OPENCL_LAYERS": str(layer),
            "PEAKMARK_RECORDER_LIBRARY": str(layer),
            "PEAKMARK_PROFILE": f"{folder}/profile",
        }
        times = {b["name"]: b["real_time"] for b in run(bench, "opencl", recorded)}
    return (times["trial/opencl"] - times["bare/opencl"]) / 1e3


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def markdown(build: Path, environment: dict[str, str]) -> str:
    load = os.getloadavg()[0]
    lines = [
        f"{processor()}, {os.cpu_count()} cores, load average {load:.1f} before, {platform.system()} {platform.release()}.",
        "",
        "| figure | bound | measured | holds | of | program |",
        "|---|---|---|---|---|---|",
    ]

    def add(figure: str, bound: str, value: float, unit: str, holds: bool, count: int, program: str) -> None:
        lines.append(f"| {figure} | {bound} {unit} | {value:.3g} {unit} | {'yes' if holds else '**no**'} | {count} | `{program.replace('|', chr(92) + '|')}` |")

    for row in ROWS:
        benchmarks = run(build / "bench" / row.program, row.filter, environment)
        value = row.worst([b[row.counter] * row.scale for b in benchmarks])
        add(row.figure, row.bound(), value, row.unit, row.holds(value), len(benchmarks), f"{row.program} {row.filter}")
    layer = build / "lib/peakmark/libpeakmark-opencl.so"
    cost = harness_cost_ms(build / "bench/harness_bench", layer.resolve(), environment)
    add("harness: added to a case, memory only, OpenCL", "≤ 5", cost, "ms", cost <= 5, 1, "harness_bench opencl")
    return re.sub(r" +\|", " |", "\n".join(lines)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=Path("build/release"), help="build folder")
    parser.add_argument("-o", "--output", type=Path, help="file to write instead of standard output")
    arguments = parser.parse_args()
    if not (arguments.build / "bench/ledger_bench").exists():
        parser.error(f"{arguments.build} has no benchmarks: build it first, as ci/test release does")
    table = markdown(arguments.build, dict(os.environ))
    if arguments.output:
        arguments.output.write_text(table)
    else:
        print(table, end="")


if __name__ == "__main__":
    main()
