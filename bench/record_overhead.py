"""Measures the overhead of `peakmark record` on a program.

    python3 bench/record_overhead.py [--rounds N] [--record PEAKMARK] -- PROGRAM ARGS...

Runs the program plain, plain again, and under the recorder, in rounds and in a different order in each round, so that other
load affects all three equally. Prints two ratios: recorded / mean of the two plain runs, and plain again / plain, which shows
the accuracy of the first. Each is the median over the rounds with its 95 % bootstrap interval, of CPU time (user and system, with
children) and of elapsed time. If the interval is wider than the bound, use more rounds.

The recorded time includes `peakmark record` itself, which starts the program and waits. Needs only Python.
"""

import argparse
import json
import math
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

WAYS = ["plain", "again", "recorded"]
FIGURES = ["processor", "clock"]


def children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def spent(command):
    """Returns CPU seconds and elapsed seconds of a command; exits if it fails."""
    before = children_cpu_seconds()
    begin = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL)
    clock = time.perf_counter() - begin
    processor = children_cpu_seconds() - before
    if done.returncode != 0:
        sys.exit(f"record_overhead: {' '.join(command)}: exit code {done.returncode}")
    return {"processor": processor, "clock": clock}


def interval(values, draws=2000):
    """Returns the 95 % bootstrap interval of the median."""
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws) - 1]


def ratio(rounds, way, to, figure):
    """Returns the median ratio of one way to the geometric mean of others over the rounds, with its interval."""
    logs = [
        math.log(one[way][figure]) - statistics.fmean(math.log(one[other][figure]) for other in to) for one in rounds
    ]
    return [math.exp(one) for one in (statistics.median(logs), *interval(logs))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--record", default=shutil.which("peakmark") or "peakmark", help="the command peakmark")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    if options.rounds < 5:
        parser.error("--rounds: at least 5, for an interval")

    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "profile")
        commands = {
            "plain": options.program,
            "again": options.program,
            "recorded": [options.record, "record", "-o", profile, "--", *options.program],
        }
        for command in commands.values():  # fills caches of the disk and of compiled kernels
            spent(command)
        shown = json.loads(subprocess.check_output([options.record, "show", "--json", profile]))
        rounds = []
        for number in range(options.rounds):
            order = WAYS[number % 3 :] + WAYS[: number % 3]
            if number % 2:
                order.reverse()
            rounds.append({way: spent(commands[way]) for way in order})
            if sys.stderr.isatty():
                print(f"\rround {number + 1} of {options.rounds}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)

    print(f"{options.rounds} rounds, {shown['requested']['allocations']} allocations per run")
    for figure in FIGURES:
        print(f"{figure}: {statistics.median(one['plain'][figure] for one in rounds):.3f} s per run")
        for way, to in (("recorded", ["plain", "again"]), ("again", ["plain"])):
            middle, low, high = (100 * (one - 1) for one in ratio(rounds, way, to, figure))
            print(f"  {way:12} / plain  {middle:+.2f} %  ({low:+.2f} to {high:+.2f} %)")


if __name__ == "__main__":
    main()
