"""Hand-made output of `peakmark check --json` and `peakmark compare --json`, and a fake peakmark that prints it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sample_run import run_document


def judged(case: str, judgement: str = "pass", **more: Any) -> dict[str, Any]:
    return {
        "case": case, "variant": "/".join(case.split("/")[:2]), "judgement": judgement, "reason": None, "estimate_ratio": None, "advice": [],
    } | more


def check_text(cases: list[dict], headline: str = "as the test says", exit_code: int = 0) -> str:
    return json.dumps({"version": 1, "minor": 0, "headline": headline, "exit_code": exit_code, "cases": cases})


def figure(case: str, status: str, base: Any, new: Any, verdict: str, metric: str = "requested_peak_bytes", **more: Any) -> dict[str, Any]:
    return {
        "case": case, "base_case": case, "status": status, "metric": metric, "base": base, "new": new,
        "relative": None if isinstance(base, str) else (new - base) / base, "interval": None, "verdict": verdict, "allocations": None,
        "levels": f"{base} -> {new}",
    } | more


def compare_text(figures: list[dict], headline: str = "as the test says", exit_code: int = 1, **more: Any) -> str:
    base = {"file": "base.json", "commit": "ab" * 20, "date": "2026-11-27T01:02:03Z"}
    whole = {"version": 1, "minor": 0, "headline": headline, "exit_code": exit_code, "base": base, "cases": figures}
    return json.dumps(whole | {"only_base": [], "only_new": [], "notes": []} | more)


def write_fake(folder: Path, observations: list[dict], check: str, compare: str = "", **context: Any) -> list[str]:
    """Writes a run file and a program that prints these texts, and returns the words of `report RUN`. The exit codes of the
    program are those in the texts."""
    run = run_document(observations)
    run["context"]["peakmark"] |= context
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    codes = {}
    for command, answer in (("check", check), ("compare", compare)):
        (folder / f"{command}.txt").write_text(answer, encoding="utf-8")
        codes[command] = json.loads(answer)["exit_code"] if answer.startswith("{") else 0
    program = folder / "peakmark"
    program.write_text(
        f"""#!/bin/sh
echo "$*" >>{folder}/asked
case "$1" in
  check) cat {folder}/check.txt; exit {codes["check"]} ;;
  compare) cat {folder}/compare.txt; exit {codes["compare"]} ;;
  *) echo "peakmark: not faked: $1" >&2; exit 2 ;;
esac
"""
    )
    program.chmod(0o700)
    return ["report", "--peakmark", str(program), "-o", str(folder / "report"), str(folder / "run.json")]
