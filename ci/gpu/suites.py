"""Runs suites on CUDA, and judges their bytes, estimates and times."""

from __future__ import annotations

import collections
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import libraries
from lease import Lease, Wrong
from program_numbers import last_line, run_numbers

# Device memory that cases cannot use: contexts, modules, reserves of the driver.
DRIVER_BYTES = 2 << 30
NOTHING_MEASURED = 4  # exit code of `peakmark run`
SUITE_MARGIN = 15  # seconds for the end of `peakmark run` and for judging its run file


def smi(lease: Lease, field: str) -> str:
    """Returns a field of nvidia-smi for the first GPU."""
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits"]
    lines = libraries.output_of(command, lease.environment).splitlines()
    return lines[0].strip() if lines else ""


def suite(lease: Lease, check: str, name: str, *options: str | Path, worker: tuple[str, ...] = ("--backend", "cuda")) -> bool:
    """Runs a suite on CUDA and judges the run with window 1:1. Records results run-CHECK and check-CHECK."""
    run, seconds = lease.runs / f"run-{check}.json", max(10, int(lease.seconds_left()) - SUITE_MARGIN)
    command = ["peakmark", "run", lease.bundle / name, *worker, "--require", "cuda", "--deadline", str(seconds), *options]
    lease.run(f"run-{check}", [*command, "-o", run], lambda _text: run_numbers(run), skip_codes=(NOTHING_MEASURED,))
    if not run.is_file():
        lease.record(f"check-{check}", "skipped", "there is no run file")
        return False
    complete = json.loads(run.read_text(encoding="utf-8"))["context"]["peakmark"]["complete"]
    judged = judge_run(lease, check, run, complete)
    if not complete:
        lease.record(f"rest-{check}", "skipped", f"not every case was measured in {seconds} s: {run_numbers(run)}")
    return judged


def judge_run(lease: Lease, check: str, run: Path, complete: bool) -> bool:
    verdicts_file = lease.runs / f"verdicts-{check}.json"
    command = ["peakmark", "check", run, "--window", "1:1", "--json"]
    command += ["--junit", lease.logs / f"junit-{check}.xml", "--markdown", lease.logs / f"summary-{check}.md"]

    def numbers(text: str) -> str:
        verdicts = json.loads(text)["verdicts"]
        if not complete:  # the check rest-CHECK reports cases that were not measured before the deadline
            verdicts = [one for one in verdicts if (one["rule"], one["judgement"]) != ("present", "failed_measurement")]
        counts = collections.Counter(verdict["judgement"] for verdict in verdicts)
        wrong = [one for one in verdicts if one["judgement"] in ("fail", "failed_measurement")]
        # `check` only warns of out_of_memory. Here only cases that fit the device are run.
        wrong += [one for one in verdicts if one["judgement"] == "skipped" and str(one["advice"]).startswith("out_of_memory")]
        if wrong:
            raise Wrong(f"{len(wrong)} verdicts fail; {wrong[0]['case']}: {wrong[0]['rule']}: {wrong[0]['advice']}")
        if not counts["pass"]:
            return ""
        windows = [one for one in verdicts if one["rule"] == "window_bytes"]
        total = ", ".join(f"{count} {judgement}" for judgement, count in counts.most_common())
        return f"verdicts: {total}; {len(windows)} estimates are 0 bytes off"

    good = lease.run(f"check-{check}", command, numbers, output=verdicts_file, exit_codes=(0, 1, 3))
    if good:
        verdicts = json.loads(verdicts_file.read_text(encoding="utf-8"))["verdicts"]
        missing = [one for one in verdicts if one["judgement"] == "skipped" and "as the suite expects" not in str(one["advice"])]
        if missing:
            reason = f"{len(missing)} cases are unsupported here; {missing[0]['case']}: {missing[0]['advice']}"
            lease.record(f"unsupported-{check}", "skipped", reason)
    return good


def times(lease: Lease, check: str) -> None:
    run, verdicts = lease.runs / f"run-{check}.json", lease.runs / f"verdicts-{check}.json"
    if not run.is_file() or not verdicts.is_file():
        lease.record(f"times-{check}", "skipped", f"run-{check} left no verdicts")
        return
    lease.run(f"times-{check}", [sys.executable, Path(__file__).with_name("check_times.py"), run, verdicts], last_line)


def fbp(check: str, cases: str, *options: str) -> Callable[[Lease], None]:
    def stage(lease: Lease) -> None:
        # A slice of 43200 x 16384 takes 1.2e13 interpolations: a single case may use all of the time.
        timeout = str(max(10, int(lease.seconds_left()) - SUITE_MARGIN))
        suite(lease, check, "suites/fbp-large.toml", "--timeout", timeout, "--filter", cases, *options)

    return stage


def large(lease: Lease) -> None:
    """Runs the cases that fit into the device's memory, by their peaks on `dry`; skips the others."""
    dry = lease.runs / "large-dry.json"
    suite_file = lease.bundle / "suites/large.toml"
    command = ["peakmark", "run", suite_file, "--backend", "dry", "-o", dry]
    if not lease.run("large-dry", command, lambda _text: run_numbers(dry), state="measured"):
        lease.record("run-large", "skipped", "large-dry failed, so it is unknown which cases fit")
        return
    total, used = int(smi(lease, "memory.total")) << 20, int(smi(lease, "memory.used")) << 20
    free = total - used - DRIVER_BYTES
    rows = json.loads(dry.read_text(encoding="utf-8"))["benchmarks"]
    peaks = {row["peakmark"]["case"]: row["peakmark"]["requested_peak_bytes"] for row in rows if row.get("peakmark")}
    too_large = {case: peak for case, peak in peaks.items() if peak is not None and peak > free}
    options = []
    if too_large:
        largest = max(too_large, key=lambda case: too_large[case])
        reason = f"{len(too_large)} of {len(peaks)} cases need more than the free {free} bytes; {largest}: {too_large[largest]}"
        lease.record("large-memory", "skipped", reason)
        if len(too_large) == len(peaks):
            return
        fit = [re.escape(case.replace("/dry/", "/cuda/", 1)) for case in peaks if case not in too_large]
        options = ["--filter", f"^({'|'.join(fit)})$"]
    suite(lease, "large", "suites/large.toml", *options)
    times(lease, "large")
