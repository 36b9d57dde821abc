"""Extracts the numbers that verify a check from the output of programs.

Each function returns them as text, empty if there are none, and raises Wrong or Skip.
"""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Callable
from pathlib import Path

from lease import Skip, Wrong


def gtest_numbers(text: str) -> str:
    passed = re.search(r"\[  PASSED  \] (\d+) test", text)
    skipped = re.search(r"\[  SKIPPED \] (\d+) test", text)
    if failed := list(dict.fromkeys(re.findall(r"\[  FAILED  \] (\S+\.[^\s,]+)", text))):
        raise Wrong(f"{len(failed)} tests failed, the first is {failed[0]}")
    if passed and int(passed[1]) > 0:
        return f"{passed[1]} tests passed, {skipped[1] if skipped else 0} skipped"
    if skipped:
        raise Skip(f"all of its {skipped[1]} tests were skipped")
    return ""


def last_line(text: str) -> str:
    """Returns the last line with a digit, for programs that judge their numbers by the exit code."""
    lines = [line for line in text.splitlines() if re.search(r"\d", line)]
    return lines[-1] if lines else ""


def requested_numbers(expected: dict) -> Callable[[str], str]:
    """Compares the output of `peakmark show --json` with the program's own figures: {"peak_bytes": …, …}."""

    def numbers(text: str) -> str:
        requested = json.loads(text)["requested"]
        wrong = [key for key in expected if requested[key] != expected[key]]
        if wrong:
            raise Wrong("; ".join(f"{key}: recorded {requested[key]}, the program says {expected[key]}" for key in wrong))
        return ", ".join(f"{key} {requested[key]}" for key in expected) + ": recorded = known"

    return numbers


def run_numbers(run_file: Path) -> str:
    """Counts the outcomes of a run file."""
    run = json.loads(run_file.read_text(encoding="utf-8"))
    cases = [row["peakmark"] for row in run["benchmarks"] if row.get("peakmark")]
    outcomes = collections.Counter(case["outcome"] for case in cases)
    if not outcomes["ok"]:
        raise Wrong(f"no case is ok: {dict(outcomes)}")
    planned = len(run["context"]["peakmark"]["planned"])
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    return f"{len(cases)} of {planned} cases: {counts}"
