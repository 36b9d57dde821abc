#!/usr/bin/env python3
"""Compares a run of one of these suites with the committed expectations, which were recorded on PoCL.

    suites/clients/check_expectations.py RUN...
    suites/clients/check_expectations.py --part RUN...       # of a run with --filter: only the cases that it has
    suites/clients/check_expectations.py --write RUN...

`expected/SUITE.json` has the peak, setup and leaked bytes of each case. They depend only on the host code of the libraries, so they
are the same on every machine with the same releases and PoCL. Prints the differences; exit code 1 if there are any.
`--write` writes the files from these runs.
"""

import argparse
import json
import sys
from pathlib import Path

from run_tables import TableError, read_run

EXPECTED = Path(__file__).resolve().parent / "expected"
BYTES = ["requested_peak_bytes", "setup_bytes", "leaked_bytes"]
EXIT_DIFFERENT, EXIT_USAGE = 1, 2


def expectations(observations):
    """Returns the bytes of each case, with its axes, so that tests can compare them with formulas."""
    return {
        one["case"]: {"variant": one["variant"], "axes": one["axes"]} | {key: one.get(key) for key in BYTES}
        for one in observations
    }


def measured_by_suite(runs):
    """Merges runs of the same suite, for example its parts."""
    suites = {}
    for run in runs:
        about, observations = read_run(run)
        suites.setdefault(about["suite"], {}).update(expectations(observations))
    return suites


def differences(expected, measured, part=False):
    """Returns a line for each difference. With `part`, the run may lack cases, but must have at least one."""
    lines = [f"{case}: expected, but not in the run" for case in expected if case not in measured and not part]
    if not measured:
        lines.append("the run has no cases")
    for case, one in measured.items():
        if case not in expected:
            lines.append(f"{case}: not expected; add it with --write")
            continue
        lines += [
            f"{case}: {key} {one[key]}, expected {expected[case][key]}"
            for key in BYTES
            if one[key] != expected[case][key]
        ]
    return lines


def format_cases(cases):
    return "{\n" + ",\n".join(f"{json.dumps(case)}: {json.dumps(one)}" for case, one in cases.items()) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--write", action="store_true", help="write the expectations")
    parser.add_argument("--part", action="store_true", help="allow runs that lack cases")
    asked = parser.parse_args()
    found = []
    try:
        for suite, measured in measured_by_suite(asked.runs).items():
            path = EXPECTED / f"{suite}.json"
            if asked.write:
                EXPECTED.mkdir(exist_ok=True)
                path.write_text(format_cases(measured), encoding="utf-8")
            else:
                of_suite = differences(json.loads(path.read_text(encoding="utf-8")), measured, asked.part)
                found += of_suite
                print(f"{suite}: {len(measured)} cases, {len(of_suite)} differences", file=sys.stderr)
    except (TableError, OSError) as error:
        print(f"check_expectations: {error}", file=sys.stderr)
        return EXIT_USAGE
    print("".join(f"{line}\n" for line in found), end="")
    return EXIT_DIFFERENT if found else 0


if __name__ == "__main__":
    sys.exit(main())
