#!/usr/bin/env python3
"""Measures each command on a suite of many cases: elapsed time, CPU time and peak memory (RSS).

    bench/many_cases.py [CASES] [--peakmark PROGRAM] [--commands list,run,…]        default 100000 cases

The cases are `dry`, so they need no device and hardly any time. In the second run of the history the peak of every case is 4 KiB
higher: `trends` finds as many changes, `accept` accepts each. Compare two sizes to find what grows faster than the number of
cases; on a busy machine compare CPU times. The peak is that of the largest process of the command, workers included. Exit
code 1 if a command fails or does not report all cases.
"""

import argparse
import math
import os
import re
import sys
import tempfile
import time
from pathlib import Path

SUITE = """name = "many-cases"

[[sweep]]
variants = "padding/coords1d"
backend = "dry"
axes.n = 1
axes.ny = {{ from = 1, to = {ny} }}
axes.nx = {{ from = 1, to = {nx} }}
"""

# In this order, since each command but `list` reads a file that an earlier one wrote.
COMMANDS = {
    "list": ["list", "suite.toml"],
    "run": ["run", "suite.toml", "--shard", "1/1", "-o", "part.json"],
    "check": ["check", "part.json"],
    "merge": ["merge", "part.json", "-o", "run.json"],
    "compare": ["compare", "part.json", "run.json"],
    "history add": ["history", "add", "--history", "history.db", "run.json"],
    "add again": ["history", "add", "--history", "history.db", "again.json"],
    "trends": ["trends", "--history", "history.db"],
    "accept": ["trends", "accept", "padding/*", "--reason", "measured", "--history", "history.db"],
    "accepted": ["trends", "--history", "history.db"],
}
EXIT_CODES = {"trends": 1}  # every case has an open regression
MORE_BYTES = 4096


def measure(program, arguments, folder, name):
    """Runs a command with its output in files. Returns seconds, CPU seconds, peak bytes and exit code."""
    begin = time.perf_counter()
    process = os.fork()
    if process == 0:
        os.chdir(folder)
        for number, stream in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{name}.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.execv(program, [program, *arguments])
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - begin
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status)


def write_second_run(folder):
    """Writes again.json: run.json again, with higher peaks."""
    replacements = [
        (re.compile(rb'^(\s*"id": "[^"]*)"'), lambda found: found[1] + b'-again"'),
        (re.compile(rb'^(\s*"requested_peak_bytes": )(\d+)'),
         lambda found: found[1] + str(int(found[2]) + MORE_BYTES).encode()),
    ]
    with open(folder / "run.json", "rb") as lines, open(folder / "again.json", "wb") as again:
        for line in lines:
            for pattern, replacement in replacements:
                line = pattern.sub(replacement, line)
            again.write(line)


def cases_in(folder, name):
    """Returns how many cases the command reported; None if its output is not a list of cases."""
    if name == "list":
        return sum(1 for _ in open(folder / "list.out", "rb"))
    file = {"run": "part.json", "merge": "run.json"}.get(name)
    if file is None:
        return None
    with open(folder / file, "rb") as lines:
        return sum(b'"run_type": "aggregate"' in line for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="?", type=int, default=100_000)
    parser.add_argument("--peakmark", default="build/release/harness/cli/peakmark")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    options = parser.parse_args()
    program = str(Path(options.peakmark).resolve())
    ny = max(1, math.isqrt(options.cases))
    nx = max(1, round(options.cases / ny))
    print(f"{nx * ny} cases\n\n| command | seconds | CPU seconds | peak MB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "suite.toml").write_text(SUITE.format(nx=nx, ny=ny))
        for command in options.commands.split(","):
            if command == "add again":
                write_second_run(folder)
            seconds, processor, peak, code = measure(program, COMMANDS[command], folder, command)
            print(f"| {command} | {seconds:.1f} | {processor:.1f} | {peak / 1e6:.0f} |", flush=True)
            found = cases_in(folder, command)
            if code != EXIT_CODES.get(command, 0) or found not in (None, nx * ny):
                print((folder / f"{command}.err").read_text()[-2000:], file=sys.stderr)
                print(f"{command}: exit code {code}, {found} of {nx * ny} cases", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
