"""Tests numbers as text."""

from peakmark_reports.common import quantity


def test_one_is_singular_and_thousands_are_grouped():
    assert [quantity(count, "run") for count in (0, 1, 2, 1200)] == ["0 runs", "1 run", "2 runs", "1,200 runs"]
    assert quantity(1, "case is", "cases are") == "1 case is"
    assert quantity(2, "case is", "cases are") == "2 cases are"
