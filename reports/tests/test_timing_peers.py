"""Tests the parts of bench/peers that need no device."""

import pytest
from google_benchmark import median_interval
from nvbench import parse_times


# Values from tables of the sign test: of 9 values the 2nd and the 8th (96.1 %), of 20 the 6th and the 15th (95.9 %).
@pytest.mark.parametrize(("n", "first"), [(6, 1), (8, 1), (9, 2), (11, 2), (15, 4), (20, 6)])
def test_the_interval_of_a_median_is_of_order_statistics(n, first):
    values = [float(value) for value in range(1, n + 1)]
    assert median_interval(values[::-1]) == (first, n + 1 - first)


def state(case: str, skipped: bool = False, **seconds: float) -> dict:
    """Returns a state as in nvbench's JSON."""
    summaries = [
        {"tag": f"nv/cold/time/gpu/{name}", "data": [{"name": "value", "type": "float64", "value": str(value)}]}
        for name, value in seconds.items()
    ]
    other = {"tag": "nv/cold/sample_size", "data": [{"name": "value", "type": "int64", "value": "12"}]}
    return {
        "axis_values": [{"name": "case", "type": "string", "value": case}],
        "is_skipped": skipped,
        "skip_reason": "no device",
        "summaries": [*summaries, other],
    }


def test_medians_of_nvbench_are_read_or_means_if_there_are_no_medians():
    states = [state("copy", mean=2e-3, median=1e-3), state("padding/computed/cuda", mean=3e-6)]
    assert parse_times({"benchmarks": [{"states": states}]}) == pytest.approx({"copy": 1e6, "padding/computed/cuda": 3e3})


def test_a_case_that_nvbench_skipped_has_no_time():
    with pytest.raises(SystemExit):
        parse_times({"benchmarks": [{"states": [state("copy", skipped=True)]}]})
