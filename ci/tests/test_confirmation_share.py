"""Tests bench/confirmation_share.py with simulated noise of a known share."""

import math
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from confirmation_share import earlier, case_figures, table, median_time  # noqa: E402


def pairs_that_share(share, runs=4000, persistence=0.0):
    draw = random.Random(3)
    state, pairs = 0.0, []
    for _ in range(runs):
        state = persistence * state + math.sqrt(1 - persistence**2) * draw.gauss(0, 1)
        common = math.sqrt(share) * state
        pairs.append([1000 * math.exp(0.03 * (common + math.sqrt(1 - share) * draw.gauss(0, 1))) for _ in range(2)])
    return pairs


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9])
def test_the_share_is_found(share):
    found = case_figures(pairs_that_share(share))
    assert found["share"] == pytest.approx(share, abs=0.05)
    assert found["share of ranks"] == pytest.approx(share, abs=0.05)
    assert found["noise"] == pytest.approx(0.03, rel=0.05)
    assert found["lag 1"] == pytest.approx(0, abs=0.05)


def test_the_autocorrelation_is_found():
    found = case_figures(pairs_that_share(0.999, persistence=0.6))
    assert found["lag 1"] == pytest.approx(0.6, abs=0.06)
    assert found["lag 5"] == pytest.approx(0.6**5, abs=0.08)


def test_runs_without_a_second_time_are_ignored():
    pairs = pairs_that_share(0.5, runs=10)
    assert case_figures(pairs + [[5.0, None], [None, None]])["runs"] == 10
    assert case_figures(pairs[:4]) is None
    assert table({"runs": 4, "loads": [1.0], "times": {"a": pairs[:4]}}).startswith("too few data: ")
    assert "| a | 10 |" in table({"runs": 10, "loads": [1.0], "times": {"a": pairs}})


def test_the_history_took_half_as_long():
    time = {"median": 100.0, "min": 90.0, "max": 120.0, "blocks": [[90.0, 100.0, 120.0], [100.0]]}
    run = {"context": {"date": "", "peakmark": {"date": "2026-11-22T02:00:00Z"}}, "benchmarks": [{}, {"peakmark": {"gpu_time_ns": time}}]}
    other = earlier(run, 0, random.Random(1))
    assert other["context"]["peakmark"]["date"] == "2026-10-23T02:00:00Z"
    assert median_time(other["benchmarks"][1]["peakmark"], "gpu_time_ns") == pytest.approx(50, rel=0.05)
    assert median_time(run["benchmarks"][1]["peakmark"], "gpu_time_ns") == 100
    assert median_time(run["benchmarks"][1]["peakmark"], "gpu_time_again_ns") is None
