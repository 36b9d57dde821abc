"""Judges the times of a run file made on a GPU: `gpu_times.py RUN`. Exit 1 when one is outside its bound.

Kernel records and events: for a case whose call is one kernel, the mean of the records is within 5 % of the median by
events, where that is long enough (100 µs) that the launch itself does not count.
Bandwidth: the newest variants move their bytes at 0.9 or more of what a copy on the device moves, where they are too many
(256 MB) for a cache. The others are shown.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

REFERENCE_BYTES = 2 * (64 << 20)  # read and written by the reference case
LONG_NS = 100_000
LARGE_BYTES = 256_000_000
NEWEST = ("computed", "fused")


def main() -> int:
    run = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    reference = run["context"]["peakmark"]["reference"]
    ends = [reference[end] for end in ("first_ns", "last_ns") if reference[end]]
    copy = REFERENCE_BYTES / min(ends) if ends else None
    print(f"reference copy: {copy:.0f} GB/s" if copy else "there is no reference copy: bandwidth cannot be judged")
    compared = judged = failed = 0
    for row in run["benchmarks"]:
        case = row.get("peakmark")
        if not case or case["outcome"] != "ok" or not case["gpu_time_ns"]:
            continue
        median = case["gpu_time_ns"]["median"]
        kernels = case["kernels"] or []
        if len(kernels) == 1 and kernels[0]["count"] == 1 and median >= LONG_NS:
            compared += 1
            ratio = kernels[0]["ns"] / kernels[0]["count"] / median
            if not 0.95 <= ratio <= 1.05:
                failed += 1
                print(f"{case['case']}: kernel records are {ratio:.3f} of the time by events")
        moved = case["bytes_moved"]
        if copy and moved and moved >= LARGE_BYTES:
            share = moved / median / copy
            must = case["variant"].endswith(NEWEST)
            judged += must
            failed += must and share < 0.9
            print(f"{case['case']}: {moved / median:.0f} GB/s, {share:.2f} of the copy{'' if must else ' (not judged)'}")
    print(f"{compared} cases by kernel records, {judged} by bandwidth, {failed} outside their bounds")
    return 1 if failed or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
