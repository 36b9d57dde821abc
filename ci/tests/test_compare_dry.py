"""ci/compare_dry.py on run files made by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "compare_dry.py"
FIGURES = [
    "requested_peak_bytes", "first_call_peak_bytes", "setup_bytes", "input_bytes", "output_bytes", "leaked_bytes",
    "allocations",
]


def observation(backend: str, n: int, outcome: str = "ok", message: str = "", peak: int = 4096) -> dict:
    figures = {name: peak if outcome == "ok" else None for name in FIGURES}
    at_peak = [{"name": "input", "bytes": peak}] if outcome == "ok" else []
    case = {"case": f"op/a/{backend}/n:{n}", "outcome": outcome, "message": message, "at_peak": at_peak}
    return {"peakmark": case | figures}


def compare(folder: Path, recorded: list[dict], dry: list[dict]) -> subprocess.CompletedProcess[str]:
    paths = []
    for name, rows in (("recorded", recorded), ("dry", dry)):
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps({"benchmarks": rows}), encoding="utf-8")
    return subprocess.run([sys.executable, PROGRAM, *paths], capture_output=True, text=True)


def test_what_is_left_out_is_counted_with_its_reason(tmp_path):
    elsewhere = "op/a does not run on opencl"
    done = compare(
        tmp_path,
        [
            observation("opencl", 1),
            observation("opencl", 2, "unsupported", "no cuFFT"),
            observation("opencl", 3, "unsupported", elsewhere),
            observation("opencl", 4, "crashed", "SIGSEGV"),
        ],
        [
            observation("dry", 1),
            observation("dry", 2, "unsupported", "no cuFFT"),
            observation("dry", 3),
            observation("dry", 4, "crashed", "SIGSEGV"),
        ],
    )
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "1 case left out: crashed on both sides",
        "1 case left out: unsupported on both sides",
        "1 case left out: variants for other backends: not recorded here",
        "1 case compared, 3 left out, 0 differences",
    ]


def test_a_comparison_of_nothing_fails(tmp_path):
    done = compare(tmp_path, [observation("opencl", 1, "unsupported")], [observation("dry", 1, "unsupported")])
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "0 cases compared, 1 left out, 0 differences"
    assert done.stderr == "compare_dry: no case was compared\n"
    assert compare(tmp_path, [], []).returncode == 1


def test_a_difference_fails_and_is_named(tmp_path):
    done = compare(tmp_path, [observation("opencl", 1, peak=4352)], [observation("dry", 1)])
    assert done.returncode == 1
    assert "op/a/n:1: requested_peak_bytes: recorded 4352, dry 4096" in done.stdout
    lost = compare(tmp_path, [observation("opencl", 1, "unsupported", "no f64")], [observation("dry", 1)])
    assert lost.returncode == 1
    assert "op/a/n:1: outcome: recorded unsupported, dry ok" in lost.stdout
