#!/usr/bin/env python3
"""Prints a table (markdown) of requested, pooled and resident memory of CuPy's functions.

    suites/clients/cupy_pool.py [--peakmark PROGRAM] [--python PROGRAM] [--shape 20x512x512] [-o FILE] [FUNCTION...]

Runs each function in three processes: recorded without the pool, where each array is allocated from the driver (`requested`);
recorded with the pool (`held by the pool`); and with the pool, not recorded, for CuPy's own figures and the decrease of the
device's free memory (`resident`). The last includes other programs on the device.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from cupy_functions import NAMES

HERE = Path(__file__).resolve().parent
ENVIRONMENT = "cupy-14.2.0"
EXIT_MEASUREMENT = 3
COLUMNS = ["function", "requested", "CuPy was asked for", "held by the pool", "CuPy's pool says", "resident"]


def environment_python():
    return Path(os.environ.get("PEAKMARK_ENVIRONMENTS") or "build/environments").absolute() / ENVIRONMENT / "bin/python"


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"cupy_pool: {' '.join(map(str, command))} ended with {done.returncode}:", file=sys.stderr)
        print(done.stderr[-2000:], file=sys.stderr)
        sys.exit(EXIT_MEASUREMENT)
    return done.stdout


def recorded_peak(peakmark, program):
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        run([peakmark, "record", "-o", profile, "--", *program])
        return json.loads(run([peakmark, "show", profile, "--json"]))["requested"]["peak_bytes"]


def table_row(peakmark, python, function, shape):
    program = [python, HERE / "cupy_functions.py", function, *shape]
    account = json.loads(run([*program, "--account"]))
    requested = recorded_peak(peakmark, [*program, "--pool", "off"])
    held = recorded_peak(peakmark, [*program, "--pool", "on"])
    return [function, requested, account["asked"], held, account["held"], account["resident"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peakmark", default="peakmark", help="the program (default: in PATH)")
    parser.add_argument("--python", type=Path, default=environment_python(), help="a Python that has CuPy (default %(default)s)")
    parser.add_argument("--shape", default="20x512x512", help="of the stack (default 20x512x512)")
    parser.add_argument("-o", "--output", type=Path, help="file to write instead of standard output")
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", help=", ".join(NAMES))
    asked = parser.parse_args()
    python = asked.python
    if not set(asked.functions) <= set(NAMES):
        parser.error(f"unknown function; give some of {', '.join(NAMES)}")
    if not python.exists():
        parser.error(f"environment not found: {python}; run {HERE / 'make-environments'} {ENVIRONMENT}")
    shape = asked.shape.split("x")
    rows = [COLUMNS, ["---"] * len(COLUMNS)]
    rows += [table_row(asked.peakmark, python, function, shape) for function in asked.functions or NAMES]
    table = "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)
    if asked.output:
        asked.output.write_text(table, encoding="utf-8")
    else:
        print(table, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
