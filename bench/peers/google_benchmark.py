#!/usr/bin/env python3
"""Measures the same kernels with plain Google Benchmark and with peakmark, interleaved, and prints one table (markdown).

    bench/peers/google_benchmark.py [BUILD FOLDER] [--case NAME]… [--rounds N]

Each round measures the reference copy and each case once with each program; the order alternates. A time is the median of Google
Benchmark's repetitions, or of peakmark's samples, in a round. The two agree if the 95 % interval of the median ratio over the
rounds contains 1, or the median ratio is within 2 % of 1. Exit code 1 if a pair does not agree, 2 if a program fails.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

CASES = ["padding/computed/opencl/n:4/ny:2048/nx:2048", "padding/coords1d/opencl/mode:edge/n:4/ny:2048/nx:2048"]
TOLERANCE = 0.02
REPETITIONS = 9


def run_command(command: list[str], **more) -> str:
    """Returns the output of a command; exits with code 2 if it fails."""
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if answer.returncode != 0:
        print(f"google_benchmark: {' '.join(command)} ended with {answer.returncode}:\n{answer.stderr}", file=sys.stderr)
        sys.exit(2)
    return answer.stdout


def by_google_benchmark(build: Path, case: str, seconds: float) -> dict[str, float]:
    """Returns ns per call of the copy and of the case."""
    command = [
        str(build / "bench/gbench_host"), case, "--benchmark_format=json", f"--benchmark_repetitions={REPETITIONS}",
        f"--benchmark_min_time={seconds / REPETITIONS}", "--benchmark_min_warmup_time=0.05",
    ]
    rows = [row for row in json.loads(run_command(command))["benchmarks"] if row["run_type"] == "iteration"]
    scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    return {
        name: statistics.median(
            row["real_time"] * scale[row["time_unit"]] for row in rows if row["run_name"].removesuffix("/real_time") == name
        )
        for name in ("copy", case)
    }


def peakmark_answers(build: Path, cases: list[str], options: list[str]) -> list[dict]:
    """Runs a worker as `peakmark run` does. Returns references, then observations; exits with code 2 if a case is not ok."""
    read, write = os.pipe()
    command = [
        str(build / "bench/peakmark-bench"), "--cases", "-", "--reference", "--no-memory", "--observations-fd", str(write),
        *options,
    ]
    with os.fdopen(read) as lines:
        # Read while the worker runs: its output can be larger than the buffer of a pipe.
        with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, pass_fds=[write]) as worker:
            os.close(write)
            worker.stdin.write("\n".join(cases) + "\n")
            worker.stdin.close()
            answers = [json.loads(line) for line in lines]
    failed = [f"{one['case']}: {one['outcome']}: {one['message']}" for one in answers if one.get("outcome", "ok") != "ok"]
    if worker.returncode != 0 or failed:
        print("\n".join([f"google_benchmark: {' '.join(command)} ended with {worker.returncode}", *failed]), file=sys.stderr)
        sys.exit(2)
    return answers


def by_peakmark(build: Path, case: str, seconds: float) -> dict[str, float]:
    """Returns the same as by_google_benchmark(), measured by peakmark."""
    answers = peakmark_answers(build, [case], ["--cache", "hot", "--seconds", str(seconds)])
    reference = [one["reference_ns"] for one in answers if "reference_ns" in one][0]
    (observation,) = [one for one in answers if "outcome" in one]
    return {"copy": reference, case: observation["gpu_time_ns"]["median"]}


def median_interval(values: list[float]) -> tuple[float, float]:
    """Returns an interval for the median with a confidence of at least 95 %, by order statistics, for any noise."""
    ordered, n = sorted(values), len(values)
    outside, low = 0.0, 0
    weights = [1.0]
    for k in range(n):
        weights.append(weights[-1] * (n - k) / (k + 1))
    for k in range(n // 2):
        outside += 2 * weights[k] / 2**n
        if outside > 0.05:
            break
        low = k + 1
    low = max(low - 1, 0)
    return ordered[low], ordered[n - 1 - low]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build/release", type=Path)
    parser.add_argument("--case", action="append", help="default: two of padding")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=0.5, help="time per case, program and round")
    options = parser.parse_args()
    cases = options.case or CASES
    times: dict[str, list[tuple[float, float]]] = {}
    for number in range(options.rounds):
        for case in cases:
            sides = [by_google_benchmark, by_peakmark]
            if number % 2:
                sides.reverse()
            measured = {side: side(options.build, case, options.seconds) for side in sides}
            for name in ("copy", case):
                times.setdefault(name, []).append(
                    (measured[by_google_benchmark][name], measured[by_peakmark][name])
                )
    agree = True
    print(f"{options.rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| work | Google Benchmark | peakmark | peakmark / Google Benchmark (95 %) | agree |\n|---|---:|---:|---:|---|")
    for name, pairs in times.items():
        ratios = [ours / theirs for theirs, ours in pairs]
        low, high = median_interval(ratios)
        median = statistics.median(ratios)
        is_alike = low <= 1 <= high or abs(median - 1) <= TOLERANCE
        agree = agree and is_alike
        theirs, ours = (statistics.median(side) * 1e-6 for side in zip(*pairs))
        ratio = f"{median:.3f} ({low:.3f} … {high:.3f})"
        print(f"| {name} | {theirs:.2f} ms | {ours:.2f} ms | {ratio} | {'yes' if is_alike else 'no'} |")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
