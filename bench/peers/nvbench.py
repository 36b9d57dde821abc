#!/usr/bin/env python3
"""Measures the same calls with nvbench (cold) and with peakmark (--cache cold) on a GPU, interleaved, and prints one table.

    bench/peers/nvbench.py NVBENCH [--build build/release] [--case NAME]… [--rounds N]

NVBENCH is an existing build folder or install prefix of nvbench; the script downloads nothing. It configures the build folder
with it and builds nvbench_host. A time is the median of a round's calls. Exit code 1 if the median ratio over the rounds
is more than 2 % from 1, 2 if a program fails.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from google_benchmark import median_interval, peakmark_answers, run_command

CASES = ["padding/computed/cuda/ny:2048/nx:2048", "padding/coords1d/cuda/mode:edge/ny:2048/nx:2048"]
TOLERANCE = 0.02


def build_host(nvbench: Path, build: Path) -> None:
    subprocess.run(["cmake", str(build), f"-DPEAKMARK_NVBENCH={nvbench.resolve()}"], check=True, stdout=sys.stderr)
    subprocess.run(["cmake", "--build", str(build), "--target", "nvbench_host", "peakmark-bench"], check=True, stdout=sys.stderr)


def parse_times(document: dict) -> dict[str, float]:
    """Returns ns per call by case from nvbench's JSON: the median, or the mean if this version has no median."""
    times = {}
    for benchmark in document["benchmarks"]:
        for state in benchmark["states"]:
            (case,) = [value["value"] for value in state["axis_values"] if value["name"] == "case"]
            if state["is_skipped"]:
                print(f"nvbench: {case}: {state.get('skip_reason')}", file=sys.stderr)
                sys.exit(2)
            seconds = {
                one["tag"].removeprefix("nv/cold/time/gpu/"): float(value["value"])
                for one in state["summaries"]
                for value in one.get("data", [])
                if one["tag"].startswith("nv/cold/time/gpu/") and value["name"] == "value"
            }
            times[case] = 1e9 * seconds.get("median", seconds["mean"])
    return times


def by_nvbench(build: Path, cases: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "nvbench.json"
        axis = f"case=[{','.join(['copy', *cases])}]"
        run_command([str(build / "bench/nvbench_host"), "--devices", "0", "--axis", axis, "--json", str(file)])
        return parse_times(json.loads(file.read_text(encoding="utf-8")))


def by_peakmark(build: Path, cases: list[str]) -> dict[str, float]:
    answers = peakmark_answers(build, cases, ["--cache", "cold", "--backend", "cuda", "--device", "0"])
    times = {one["case"]: one["gpu_time_ns"]["median"] for one in answers if "outcome" in one}
    (times["copy"],) = [one["reference_ns"] for one in answers if "reference_ns" in one][:1]
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nvbench", type=Path)
    parser.add_argument("--build", default="build/release", type=Path)
    parser.add_argument("--case", action="append", help="default: two of padding")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    cases = options.case or CASES
    build_host(options.nvbench, options.build)
    ratios: dict[str, list[float]] = {}
    last: dict[str, tuple[float, float]] = {}
    for number in range(options.rounds):
        sides = [by_nvbench, by_peakmark]
        if number % 2:
            sides.reverse()
        measured = {side: side(options.build, cases) for side in sides}
        for case in ["copy", *cases]:
            last[case] = (measured[by_nvbench][case], measured[by_peakmark][case])
            ratios.setdefault(case, []).append(last[case][1] / last[case][0])
    agree = True
    print("| work | nvbench, last round | peakmark, last round | peakmark / nvbench (95 %) | within 2 % |")
    print("|---|---:|---:|---:|---|")
    for case, values in ratios.items():
        low, high = median_interval(values)
        median = statistics.median(values)
        is_alike = abs(median - 1) <= TOLERANCE
        agree = agree and is_alike
        theirs, ours = (value * 1e-3 for value in last[case])
        ratio = f"{median:.3f} ({low:.3f} … {high:.3f})"
        print(f"| {case} | {theirs:.1f} us | {ours:.1f} us | {ratio} | {'yes' if is_alike else 'no'} |")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
