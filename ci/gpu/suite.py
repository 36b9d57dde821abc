"""Measures a suite and judges its bytes and estimates, 0 bytes off: `suite.py NAME SECONDS SUITE [OPTION OF peakmark run…]`.

Continues a run that was stopped. SECONDS limits the run, as does $PEAKMARK_GPU_END (seconds since the epoch). Leaves NAME.json,
NAME.verdicts.json, NAME.junit.xml and NAME.md. Exit code: 0; 1 if a verdict fails; 77 if the cases were not all measured.
"""

import collections
import json
import os
import subprocess
import sys
import time
from pathlib import Path

SKIPPED, NOTHING_MEASURED = 77, 4
JUDGING_SECONDS = 15
# Device memory that cases cannot use: contexts, modules, reserves of the driver.
DRIVER_BYTES = 2 << 30


def without_backend(case: str) -> str:
    """Returns a case's name without the backend, which is its third part."""
    parts = case.split("/")
    return "/".join(parts[:2] + parts[3:])


def dry_peaks(suite: str, name: str) -> dict[str, int]:
    """Returns the peak in bytes that the suite's cases need, by their names without the backend."""
    dry = f"{name}.dry.json"
    subprocess.run(["peakmark", "run", suite, "--backend", "dry", "-o", dry], stderr=subprocess.DEVNULL, check=False)
    rows = [row["peakmark"] for row in json.loads(Path(dry).read_text(encoding="utf-8"))["benchmarks"] if row.get("peakmark")]
    return {without_backend(row["case"]): row["requested_peak_bytes"] or 0 for row in rows}


def main() -> int:
    name, seconds, suite, *options = sys.argv[1:]
    left = float(os.environ.get("PEAKMARK_GPU_END", "inf")) - time.time() - JUDGING_SECONDS
    if left <= 0:
        print("the limit of gpu-check is reached")
        return SKIPPED
    run_file, verdicts_file = Path(f"{name}.json"), Path(f"{name}.verdicts.json")
    deadline = ["--deadline", str(min(float(seconds), left))]
    ran = subprocess.run(["peakmark", "run", suite, *options, *deadline, "--resume", "-o", run_file])
    if not run_file.is_file():
        return SKIPPED if ran.returncode == NOTHING_MEASURED else ran.returncode or 1
    facts = json.loads(run_file.read_text(encoding="utf-8"))["context"]["peakmark"]

    command = ["peakmark", "check", run_file, "--window", "1:1", "--json", "--junit", f"{name}.junit.xml", "--markdown", f"{name}.md"]
    judged = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout)
    verdicts_file.write_text(json.dumps(judged), encoding="utf-8")
    verdicts = judged["verdicts"]
    if not facts["complete"]:  # a further call measures the rest
        verdicts = [one for one in verdicts if (one["rule"], one["judgement"]) != ("present", "failed_measurement")]
    wrong = [one for one in verdicts if one["judgement"] in ("fail", "failed_measurement")]
    skipped = [one for one in verdicts if one["judgement"] == "skipped" and "as the suite expects" not in str(one["advice"])]
    if refused := [one for one in skipped if str(one["advice"]).startswith("out_of_memory")]:
        peaks, free = dry_peaks(suite, name), facts["device_memory_bytes"] - DRIVER_BYTES
        wrong += [one for one in refused if peaks.get(without_backend(one["case"]), 0) <= free]
    for kind, found in (("skipped", skipped), ("wrong", wrong)):
        for one in found:
            print(f"{kind}: {one['case']}: {one['rule']}: {one['advice']}")
    counts = collections.Counter(one["judgement"] for one in verdicts)
    exact = sum(one["rule"] == "window_bytes" and one["judgement"] == "pass" for one in verdicts)
    print(f"{judged['headline']}; verdicts: {dict(counts)}; {exact} estimates are 0 bytes off")
    if wrong or not counts["pass"]:
        return 1
    return 0 if facts["complete"] else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
