#!/usr/bin/env python3
"""Measures how `compare` judges real times on the local OpenCL device: the tables of docs/statistics.md, "Comparing".

    bench/compare_real.py BUILD [--rounds N] [--aa-cases N] [--slow-cases N]

BUILD is a build tree with tests. Compares pairs of short cases of bench/compare_real.toml: with equal work (every finding is
a false alarm), with 10 % more work, and with 256 bytes more. Prints the load of the machine as well.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections import Counter

SUITE = pathlib.Path(__file__).resolve().parent / "compare_real.toml"


def load():
    return f"{os.getloadavg()[0]:.1f}"


def pattern(cases):
    """Returns the filter that selects `cases` of the suite's 1,000 shapes, by the last digits of `rounds`."""
    return {1000: "", 200: "rounds:20..[05]$", 100: "rounds:20..0$", 10: "rounds:20.00$"}[cases]


def measure(build, folder, new, cases, rounds):
    peakmark = build / "harness/cli/peakmark"
    run = folder / f"{new}.json"
    before, begin = load(), time.monotonic()
    command = [peakmark, "run", SUITE, "-o", run, "--worker", build / "bench/selftest/peakmark-selftest-worker",
               "--rounds", rounds, "--variants", "selftest/loops", f"selftest/{new}"]
    if pattern(cases):
        command += ["--filter", pattern(cases)]
    subprocess.run([str(word) for word in command], check=True, stderr=subprocess.DEVNULL)
    spent = time.monotonic() - begin
    answer = subprocess.run([str(peakmark), "compare", str(run), "--variants", "selftest/loops", f"selftest/{new}",
                             "--json"], capture_output=True, text=True, check=False)
    comparison = json.loads(answer.stdout)
    times = [row for row in comparison["cases"] if row["metric"] == "gpu_time_ns"]
    peaks = [row for row in comparison["cases"] if row["metric"] == "requested_peak_bytes"]
    return {"times": times, "peaks": peaks, "seconds": spent, "load": f"{before} … {load()}",
            "exit_code": answer.returncode}


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else float("nan")


def row(what, found):
    verdicts = Counter(one["verdict"] for one in found["times"])
    confirmed = sum(one["pass"] == 2 for one in found["times"])
    widths = [one["interval"][1] - one["interval"][0] for one in found["times"] if one["interval"]]
    effects = [one["relative"] for one in found["times"] if one["relative"] is not None]
    print(f"| {what} | {len(found['times'])} | {confirmed} | {verdicts['slower']} | {verdicts['faster']} | "
          f"{verdicts['same']} | {verdicts['undecided']} | {100 * median(effects):+.1f} % | "
          f"{50 * median(widths):.1f} % | {found['seconds']:.0f} s | {found['load']} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--aa-cases", type=int, default=1000, choices=[10, 100, 200, 1000])
    parser.add_argument("--slow-cases", type=int, default=200, choices=[0, 10, 100, 200, 1000],
                        help="0: only pairs with equal work")
    options = parser.parse_args()
    build = options.build.resolve()
    print("| new side | pairs | confirmation pass | slower | faster | same | undecided | median effect | "
          "median half interval | took | load |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        row("the same work", measure(build, folder, "loops_again", options.aa_cases, options.rounds))
        if options.slow_cases == 0:
            return
        row("10 % more work", measure(build, folder, "loops_slower", options.slow_cases, options.rounds))
        cached = measure(build, folder, "loops_cached", 10, options.rounds)
        named = [one for one in cached["peaks"] if one["verdict"] == "grew" and one["new"] - one["base"] == 256 and
                 [(a["name"], a["bytes"]) for a in one["allocations"]] == [("cache", 256)]]
        print(f"\n256 bytes more: found and named in {len(named)} of {len(cached['peaks'])} pairs, "
              f"exit code {cached['exit_code']}")


if __name__ == "__main__":
    sys.exit(main())
