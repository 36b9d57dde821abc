"""check_times.py with run files of known bandwidth."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECK_TIMES = Path(__file__).resolve().parents[1] / "check_times.py"


def check(folder: Path, share: float, *, variant: str = "padding/fused", moved: int = 10**9, judgement: str = "") -> tuple[int, str]:
    """Returns the exit code and the last line, for a case that moves its bytes at this share of the reference copy."""
    case = {"case": "one", "variant": variant, "bytes_moved": moved, "throughput": {"share_of_copy": share}, "throttled_blocks": 3}
    verdicts = [{"case": "one", "rule": "kernel_time", "judgement": judgement, "advice": ""}] if judgement else []
    (folder / "run.json").write_text(json.dumps({"benchmarks": [{"peakmark": case}]}))
    (folder / "verdicts.json").write_text(json.dumps({"verdicts": verdicts}))
    command = [sys.executable, CHECK_TIMES, folder / "run.json", folder / "verdicts.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()[-1]


@pytest.mark.parametrize(("share", "code"), [(0.91, 0), (0.89, 1)])
def test_the_newest_variants_move_nine_tenths_of_a_copy(tmp_path, share, code):
    found, said = check(tmp_path, share)
    assert (found, f"1 cases by bandwidth, the lowest at {share} of a copy; 3 throttled blocks" in said) == (code, True)


def test_older_variants_are_not_judged(tmp_path):
    assert check(tmp_path, 0.5, variant="padding/coords2d", judgement="pass")[0] == 0


@pytest.mark.parametrize(("judgement", "code"), [("pass", 0), ("warning", 1)])
def test_kernel_records_that_disagree_fail(tmp_path, judgement, code):
    assert check(tmp_path, 1.0, judgement=judgement)[0] == code


def test_a_case_that_a_cache_holds_is_not_compared(tmp_path):
    assert check(tmp_path, 0.5, moved=10**6) == (77, "no case is long enough for kernel records, or large enough for bandwidth")
