"""Tests the comparison of the two recordings, without nabu."""

import subprocess
import sys
from pathlib import Path

from nabu_own_tests import peaks_by_test, table

PROGRAM = Path(__file__).resolve().parents[1] / "nabu_own_tests.py"


def plugin(**peaks):
    return {
        "tests": [
            {"test": f"padding.py::{name}", "memory": None if peak is None else {"live_peak_bytes": peak}}
            for name, peak in peaks.items()
        ]
    }


def shown(**peaks):
    phases = [{"name": "", "peak_bytes": 1}, *({"name": f"padding.py::{name}", "peak_bytes": peak} for name, peak in peaks.items())]
    return {"phases_by_name": phases}


def test_peaks_are_of_the_same_test():
    assert peaks_by_test(plugin(a=1000, b=2), shown(b=2, a=1000)) == [("padding.py::a", 1000, 1000), ("padding.py::b", 2, 2)]


def test_a_missing_peak_is_a_difference_and_not_zero():
    peaks = peaks_by_test(plugin(a=1, skipped=None, b=None), shown(b=0, c=5))
    assert peaks == [("padding.py::a", 1, None), ("padding.py::b", None, 0), ("padding.py::c", None, 5)]
    assert table(peaks).splitlines()[2:] == ["| a | 1 | – | differs |", "| b | – | 0 | differs |", "| c | – | 5 | differs |"]
    assert table([("padding.py::a", 1234567, 1234567)]).endswith("| a | 1,234,567 | 1,234,567 |  |\n")


def test_a_missing_program_is_an_error():
    run = subprocess.run(
        [sys.executable, PROGRAM, "--peakmark", "/nowhere/peakmark"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "program not found: /nowhere/peakmark" in run.stderr
