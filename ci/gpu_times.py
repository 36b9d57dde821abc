"""Judges the times of a run file made on a GPU: `gpu_times.py [--some] RUN VERDICTS`. Exit 1 when one is outside its bound.

Kernel records and events: what `peakmark check RUN --json` (VERDICTS) says of the rule `kernel_time`. There a case that
disagrees is counted only; here, where the recorder itself is on trial, it fails. With --some, so does a run without one to
compare.
Bandwidth: the newest variants move their bytes at 0.9 or more of what a copy on the device moves, where they are too many
(256 MB) for a cache. The others are shown.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

REFERENCE_BYTES = 2 * (64 << 20)  # read and written by the reference case
LARGE_BYTES = 256_000_000
NEWEST = ("computed", "fused")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--some", action="store_true", help="a run without a case to compare fails")
    parser.add_argument("run", type=Path)
    parser.add_argument("verdicts", type=Path)
    arguments = parser.parse_args()
    run = json.loads(arguments.run.read_text(encoding="utf-8"))
    reference = run["context"]["peakmark"]["reference"]
    ends = [reference[end] for end in ("first_ns", "last_ns") if reference[end]]
    copy = REFERENCE_BYTES / min(ends) if ends else None
    print(f"reference copy: {copy:.0f} GB/s" if copy else "there is no reference copy: bandwidth cannot be judged")
    verdicts = json.loads(arguments.verdicts.read_text(encoding="utf-8"))["verdicts"]
    records = [one for one in verdicts if one["rule"] == "kernel_time"]
    apart = [one for one in records if one["judgement"] != "pass"]
    for one in apart:
        print(f"{one['case']}: {one['advice']}")
    judged = 0
    failed = len(apart)
    for row in run["benchmarks"]:
        case = row.get("peakmark")
        if not case or case["outcome"] != "ok" or not case["gpu_time_ns"]:
            continue
        median = case["gpu_time_ns"]["median"]
        moved = case["bytes_moved"]
        if copy and moved and moved >= LARGE_BYTES:
            share = moved / median / copy
            must = case["variant"].endswith(NEWEST)
            judged += must
            failed += must and share < 0.9
            print(f"{case['case']}: {moved / median:.0f} GB/s, {share:.2f} of the copy{'' if must else ' (not judged)'}")
    print(f"{len(records)} cases by kernel records, {judged} by bandwidth, {failed} outside their bounds")
    return 1 if failed or (arguments.some and not records) else 0


if __name__ == "__main__":
    sys.exit(main())
