"""Compares the allocations of a run on `dry` with those of a recorded run, case by case: `compare_dry.py RECORDED DRY`.

The same host code runs on both, so every allocation must be equal. Exit code 1 if one differs, or if no case was compared. Prints
the number of omitted cases by reason.
"""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path

from helpers import quantity

COMPARED = [
    "requested_peak_bytes", "first_call_peak_bytes", "setup_bytes", "input_bytes", "output_bytes", "leaked_bytes",
    "allocations",
]


def observations(path: Path) -> dict[str, dict]:
    """Returns observations by case name without the backend, which is its third part."""
    rows = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
    found = {}
    for row in rows:
        if "peakmark" not in row:
            continue
        parts = row["peakmark"]["case"].split("/")
        found["/".join(parts[:2] + parts[3:])] = row["peakmark"]
    return found


def contents(observation: dict) -> list[tuple[str, int]]:
    return sorted((entry["name"], entry["bytes"]) for entry in observation["at_peak"])


def skip_reason(recorded: dict, dry: dict) -> str | None:
    """Returns why a pair cannot be compared; None if it must be equal."""
    if recorded["outcome"] == dry["outcome"] != "ok":
        return f"{dry['outcome']} on both sides"
    if recorded["outcome"] == "unsupported" and "does not run on" in recorded["message"]:
        return "variants for other backends: not recorded here"
    return None


def main() -> int:
    recorded, dry = (observations(Path(argument)) for argument in sys.argv[1:3])
    different = 0
    compared = 0
    left_out: collections.Counter[str] = collections.Counter()
    for name in sorted(recorded.keys() | dry.keys()):
        if name not in recorded or name not in dry:
            print(f"{name}: only {'recorded' if name in recorded else 'dry'}")
            different += 1
            continue
        one, other = recorded[name], dry[name]
        if reason := skip_reason(one, other):
            left_out[reason] += 1
            continue
        compared += 1
        for key in ["outcome", *COMPARED]:
            if one[key] != other[key]:
                print(f"{name}: {key}: recorded {one[key]}, dry {other[key]}")
                different += 1
        if contents(one) != contents(other):
            print(f"{name}: at the peak: recorded {contents(one)}, dry {contents(other)}")
            different += 1
    for reason, count in sorted(left_out.items()):
        print(f"{quantity(count, 'case')} left out: {reason}")
    print(f"{quantity(compared, 'case')} compared, {left_out.total()} left out, {quantity(different, 'difference')}")
    if not compared:
        print("compare_dry: no case was compared", file=sys.stderr)
    return 1 if different or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
