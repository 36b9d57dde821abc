"""Figures as text."""

from peakmark_reports.figures_text import quantity


def test_one_is_singular_and_thousands_are_parted():
    assert [quantity(count, "night") for count in (0, 1, 2, 1200)] == ["0 nights", "1 night", "2 nights", "1,200 nights"]
    assert quantity(1, "case is", "cases are") == "1 case is"
    assert quantity(2, "case is", "cases are") == "2 cases are"
