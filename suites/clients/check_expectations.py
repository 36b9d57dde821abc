#!/usr/bin/env python3
"""Holds a run of one of these suites against what was recorded on PoCL when it was checked in.

    suites/clients/check_expectations.py RUN...
    suites/clients/check_expectations.py --part RUN...       # of a run with --filter: only the cases that it has
    suites/clients/check_expectations.py --write RUN...

`expected/SUITE.json` has a case's peak, set-up and leaked bytes. They come from the host code of the libraries alone, so
they are the same on every machine with the same releases on PoCL. Exit code 1 where they differ, and what differs.
`--write` makes the files from these runs.
"""

import argparse
import json
import sys
from pathlib import Path

from run_tables import TableError, read_run

EXPECTED = Path(__file__).resolve().parent / "expected"
BYTES = ["requested_peak_bytes", "setup_bytes", "leaked_bytes"]
EXIT_DIFFERENT, EXIT_USAGE = 1, 2


def bytes_of(observations):
    """Of each case, with the words of its axes, so that formulas can be held against it."""
    return {
        one["case"]: {"variant": one["variant"], "axes": one["axes"]} | {key: one.get(key) for key in BYTES}
        for one in observations
    }


def measured_by_suite(runs):
    """Runs of one suite are one: parts of it, say."""
    suites = {}
    for run in runs:
        about, observations = read_run(run)
        suites.setdefault(about["suite"], {}).update(bytes_of(observations))
    return suites


def differences(expected, measured, part=False):
    """A line for each case that is not as expected. `part`: the run need not have all cases, but at least one."""
    lines = [f"{case}: is expected, and is not in the run" for case in expected if case not in measured and not part]
    if not measured:
        lines.append("the run has no case")
    for case, one in measured.items():
        if case not in expected:
            lines.append(f"{case}: is not expected; `--write` takes it in")
            continue
        lines += [
            f"{case}: {key} {one[key]}, expected {expected[case][key]}"
            for key in BYTES
            if one[key] != expected[case][key]
        ]
    return lines


def one_line_a_case(cases):
    return "{\n" + ",\n".join(f"{json.dumps(case)}: {json.dumps(one)}" for case, one in cases.items()) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--write", action="store_true", help="make the expectations")
    parser.add_argument("--part", action="store_true", help="the run need not have all cases")
    asked = parser.parse_args()
    found = []
    try:
        for suite, measured in measured_by_suite(asked.runs).items():
            path = EXPECTED / f"{suite}.json"
            if asked.write:
                EXPECTED.mkdir(exist_ok=True)
                path.write_text(one_line_a_case(measured), encoding="utf-8")
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
