"""Judges the times of a run file made on a GPU: `check_times.py RUN VERDICTS`.

Kernel records against events: the rule `kernel_time` of `peakmark check RUN --json` (VERDICTS). `check` only warns if they
disagree; this check, which tests the recorder, fails.
Bandwidth: the newest variants must move their bytes at 0.9 or more of the rate of a copy, if they move too many bytes
(256 MB) for a cache. Prints the others, and the number of throttled blocks.

Exit code: 0; 1 if a time is outside its bound; 77 if no case is long or large enough to be compared.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

REFERENCE_BYTES = 2 * (64 << 20)  # read and written by the reference copy, in run files before 1.2
LARGE_BYTES = 256_000_000
NEWEST = ("computed", "fused")
MIN_SHARE = 0.9
EXIT_FAILED, EXIT_SKIPPED = 1, 77


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("verdicts", type=Path)
    arguments = parser.parse_args()
    run = json.loads(arguments.run.read_text(encoding="utf-8"))
    reference = run["context"]["peakmark"]["reference"]
    ends = [reference[end] for end in ("first_ns", "last_ns") if reference[end]]
    copy = (reference.get("copy_bytes") or REFERENCE_BYTES) / min(ends) if ends else None
    print(f"reference copy: {copy:.0f} GB/s" if copy else "no reference copy: bandwidth cannot be judged")
    verdicts = json.loads(arguments.verdicts.read_text(encoding="utf-8"))["verdicts"]
    records = [one for one in verdicts if one["rule"] == "kernel_time"]
    failed = [one for one in records if one["judgement"] != "pass"]
    for one in failed:
        print(f"{one['case']}: {one['advice']}")
    shares = []
    throttled = 0
    for row in run["benchmarks"]:
        case = row.get("peakmark")
        if not copy or not case or case["outcome"] != "ok" or not case["gpu_time_ns"]:
            continue
        throttled += case.get("throttled_blocks") or 0
        moved = case["bytes_moved"]
        if moved and moved >= LARGE_BYTES:
            rate = moved / case["gpu_time_ns"]["median"]
            judged = case["variant"].endswith(NEWEST)
            shares += [rate / copy] if judged else []
            print(f"{case['case']}: {rate:.0f} GB/s, {rate / copy:.2f} of the copy{'' if judged else ' (not judged)'}")
    if not records and not shares:
        print("no case is long enough for kernel records, or large enough for bandwidth")
        return EXIT_SKIPPED
    lowest = f", the lowest at {min(shares):.2f} of a copy" if shares else ""
    judged = f"{len(records)} cases by kernel records, {len(failed)} disagree; {len(shares)} cases by bandwidth{lowest}"
    print(f"{judged}; {throttled} throttled blocks")
    return EXIT_FAILED if failed or any(share < MIN_SHARE for share in shares) else 0


if __name__ == "__main__":
    sys.exit(main())
