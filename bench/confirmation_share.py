#!/usr/bin/env python3
"""Measures how much noise a first time and its confirmation in the same run share: the table of docs/statistics.md, "The noise".

    bench/confirmation_share.py PEAKMARK [--runs 100] [--suite suites/smoke.toml] [--filter REGEX] [--backend opencl] [-o TIMES.json]
    bench/confirmation_share.py --read TIMES.json

Repeats a run with `--confirm` against a history in which every case took half as long, so that each case is suspicious and
timed again at the end of the run. Prints for each case, over the runs, on logarithms of times:

- share: correlation of the first and the second time, i.e. the share of the variance that they have in common
- share of ranks: the same for their ranks, which is robust against outliers
- lag 1, 5: autocorrelation of the first times over the runs

Prints the load of the machine as well. A run of suites/smoke.toml takes 15 to 60 s on two cores.
"""

import argparse
import copy
import datetime
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HISTORY_RUNS = 30
SLOWER = 2.0  # factor of each time over those in the history


def earlier(run: dict, number: int, draw: random.Random) -> dict:
    """Returns run `number` of a history: the same run some days earlier, SLOWER times as fast."""
    other = copy.deepcopy(run)
    about = other["context"]["peakmark"]
    date = datetime.datetime.fromisoformat(about["date"].replace("Z", "+00:00")) - datetime.timedelta(days=HISTORY_RUNS - number)
    about["date"] = other["context"]["date"] = date.strftime("%Y-%m-%dT%H:%M:%SZ")
    about["id"] = f"{date.strftime('%Y%m%dT%H%M%SZ')}-{draw.getrandbits(64):016x}"
    about["commit"] = f"{draw.getrandbits(160):040x}"
    for one in other["benchmarks"]:
        time = one.get("peakmark", {}).get("gpu_time_ns")
        if not time:
            continue
        factor = (1 + 0.01 * draw.gauss(0, 1)) / SLOWER
        for key in ("median", "min", "max"):
            time[key] *= factor
        time["blocks"] = [[ns * factor for ns in block] for block in time["blocks"]]
    return other


def median_time(observation: dict, key: str) -> float | None:
    """Returns the median of the block medians in ns, as stored in a history; None if the case was not timed."""
    time = observation.get(key)
    return statistics.median(statistics.median(block) for block in time["blocks"]) if time else None


def measure(peakmark: Path, suite: Path, options: list[str], runs: int, output_file: Path | None) -> dict:
    def run(folder: Path, *more: str) -> dict:
        output = folder / "run.json"
        subprocess.run([peakmark, "run", suite, "-o", output, *options, *more], check=True, stderr=subprocess.DEVNULL)
        return json.loads(output.read_text())

    draw = random.Random(1)
    times: dict[str, list] = {}
    loads: list[float] = []
    measured = {"runs": 0, "loads": loads, "times": times}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        history = folder / "history.db"
        first = run(folder)
        for number in range(HISTORY_RUNS):
            (folder / "earlier.json").write_text(json.dumps(earlier(first, number, draw)))
            subprocess.run([peakmark, "history", "add", folder / "earlier.json", "--history", history], check=True, stderr=subprocess.DEVNULL)
        for number in range(runs):
            loads.append(os.getloadavg()[0])
            for one in run(folder, "--confirm", str(history))["benchmarks"]:
                if observation := one.get("peakmark"):
                    pair = [median_time(observation, key) for key in ("gpu_time_ns", "gpu_time_again_ns")]
                    times.setdefault(observation["case"], []).append(pair)
            measured["runs"] = number + 1
            if output_file:  # after each run, so that an interruption loses at most one
                output_file.write_text(json.dumps(measured))
            print(f"\r{number + 1}/{runs} runs", end="", file=sys.stderr)
    print(file=sys.stderr)
    return measured


def ranks(values: list[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    placed = [0.0] * len(values)
    for rank, index in enumerate(order):
        placed[index] = float(rank)
    return placed


def correlation(a: list[float], b: list[float]) -> float | None:
    """Returns None if one of them does not vary, or there are fewer than five values."""
    if len(a) < 5 or len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return statistics.correlation(a, b)


def case_figures(pairs: list) -> dict[str, float | None] | None:
    both = [(math.log(first), math.log(second)) for first, second in pairs if first and second]
    if len(both) < 5:
        return None
    first, second = map(list, zip(*both))
    return {
        "runs": len(both),
        "noise": statistics.stdev(first),
        "noise, second": statistics.stdev(second),
        "share": correlation(first, second),
        "share of ranks": correlation(ranks(first), ranks(second)),
        "lag 1": correlation(first[:-1], first[1:]),
        "lag 5": correlation(first[:-5], first[5:]),
    }


def quartiles(values: list[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f"{middle:.2f} ({low:.2f} … {high:.2f})"


def table(measured: dict) -> str:
    by_case = {case: figures for case, pairs in measured["times"].items() if (figures := case_figures(pairs))}
    if not by_case:
        return "too few data: no case was timed twice in at least five runs"
    loads = measured["loads"]
    lines = [
        f"{measured['runs']} runs, {len(by_case)} cases timed twice, load {min(loads):.1f} … {max(loads):.1f} on {os.cpu_count()} cores",
        "", "| over the cases | median (quartiles) |", "|---|---|",
    ]
    for key in ("noise", "noise, second", "share", "share of ranks", "lag 1", "lag 5"):
        values = [value for one in by_case.values() if (value := one[key]) is not None]
        if values:
            lines.append(f"| {key} | {quartiles(values)} |")
    lines += ["", "| case | runs | noise | share | share of ranks | lag 1 |", "|---|---:|---:|---:|---:|---:|"]
    def shown(value: float | None) -> str:
        return "–" if value is None else f"{value:.2f}"
    lines += [
        f"| {case} | {one['runs']} | {100 * one['noise']:.1f} % | {shown(one['share'])} | {shown(one['share of ranks'])} | {shown(one['lag 1'])} |"
        for case, one in by_case.items()
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peakmark", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--suite", type=Path, default=Path(__file__).resolve().parents[1] / "suites/smoke.toml")
    parser.add_argument("--filter", default="")
    parser.add_argument("--backend", default="opencl")
    parser.add_argument("-o", "--output", type=Path, help="write the times there after each run, for --read")
    parser.add_argument("--read", type=Path, help="print the table of these times instead of measuring")
    asked = parser.parse_args()
    if asked.read:
        measured = json.loads(asked.read.read_text())
    elif asked.peakmark:
        options = ["--backend", asked.backend, *(["--filter", asked.filter] if asked.filter else [])]
        measured = measure(asked.peakmark, asked.suite, options, asked.runs, asked.output)
    else:
        parser.error("name the program peakmark, or --read TIMES.json")
    print(table(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
