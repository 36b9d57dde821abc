#!/usr/bin/env python3
"""What CuPy's functions ask for, what its pool holds for that, and what is resident on the device: a table (markdown).

    suites/clients/cupy_pool.py [--peakmark PROGRAM] [--python PROGRAM] [--shape 20x512x512] [-o FILE] [FUNCTION...]

Of each function three processes: without the pool, recorded, so that each array is asked of the driver (`requested`);
with the pool, recorded (`held`, by the driver's account); and with the pool, not recorded, for CuPy's own account of
what it was asked and what its pool held, and for the free memory before and after (`resident`). Another program on the
device would be in the last.
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


def row_of(peakmark, python, function, shape):
    program = [python, HERE / "cupy_functions.py", function, *shape]
    account = json.loads(run([*program, "--account"]))
    requested = recorded_peak(peakmark, [*program, "--pool", "off"])
    held = recorded_peak(peakmark, [*program, "--pool", "on"])
    return [function, requested, account["asked"], held, account["held"], account["resident"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peakmark", default="peakmark", help="the program; default: the one on the path")
    parser.add_argument("--python", type=Path, default=environment_python(), help="a Python that has CuPy (default %(default)s)")
    parser.add_argument("--shape", default="20x512x512", help="of the stack (default 20x512x512)")
    parser.add_argument("-o", "--output", type=Path, help="file to write instead of standard output")
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", help=", ".join(NAMES))
    asked = parser.parse_args()
    python = asked.python
    if not set(asked.functions) <= set(NAMES):
        parser.error(f"functions are {', '.join(NAMES)}")
    if not python.exists():
        parser.error(f"{python} is not there: make it by {HERE / 'make-environments'} {ENVIRONMENT}")
    shape = asked.shape.split("x")
    rows = [COLUMNS, ["---"] * len(COLUMNS)]
    rows += [row_of(asked.peakmark, python, function, shape) for function in asked.functions or NAMES]
    table = "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)
    if asked.output:
        asked.output.write_text(table, encoding="utf-8")
    else:
        print(table, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
