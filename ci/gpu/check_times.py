"""Judges the times of a run file made on a GPU: `check_times.py RUN VERDICTS`.

Kernel records against events: the rule `kernel_time` of `peakmark check RUN --json` (VERDICTS). `check` only warns if they
disagree; this check, which tests the recorder, fails.
Bandwidth: the newest variants must move their bytes at 0.9 or more of the rate of a copy, if they move too many bytes
(256 MB) for a cache. Prints the others, and the number of throttled blocks.

Exit code: 0; 1 if a time is outside its bound; 77 if there is no run, or no case is long or large enough to be compared.
"""

import json
import sys
from pathlib import Path

LARGE_BYTES = 256_000_000
NEWEST = ("computed", "fused")
MIN_SHARE = 0.9
FAILED, SKIPPED = 1, 77


def main() -> int:
    run_file, verdicts_file = map(Path, sys.argv[1:])
    if not run_file.is_file() or not verdicts_file.is_file():
        print(f"there is no {run_file}, or no verdict on it")
        return SKIPPED
    rows = json.loads(run_file.read_text(encoding="utf-8"))["benchmarks"]
    cases = [row["peakmark"] for row in rows if row.get("peakmark")]
    records = [one for one in json.loads(verdicts_file.read_text(encoding="utf-8"))["verdicts"] if one["rule"] == "kernel_time"]
    failed = [one for one in records if one["judgement"] != "pass"]
    for one in failed:
        print(f"{one['case']}: {one['advice']}")
    shares = []
    for case in cases:
        share = (case["throughput"] or {}).get("share_of_copy")
        if share and case["bytes_moved"] >= LARGE_BYTES:
            judged = case["variant"].endswith(NEWEST)
            shares += [share] if judged else []
            print(f"{case['case']}: {share:.2f} of a copy{'' if judged else ' (not judged)'}")
    if not records and not shares:
        print("no case is long enough for kernel records, or large enough for bandwidth")
        return SKIPPED
    lowest = f", the lowest at {min(shares):.2f} of a copy" if shares else ""
    throttled = sum(case["throttled_blocks"] or 0 for case in cases)
    print(f"{len(records)} cases by kernel records, {len(failed)} disagree; {len(shares)} cases by bandwidth{lowest}; "
          f"{throttled} throttled blocks")
    return FAILED if failed or any(share < MIN_SHARE for share in shares) else 0


if __name__ == "__main__":
    sys.exit(main())
