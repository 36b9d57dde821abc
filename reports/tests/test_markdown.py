"""Markdown of texts of others: the table of cases that C++ reads too."""

import re
from pathlib import Path

import pytest
from peakmark_reports.ci_forms import markdown_code, markdown_text

TABLE = Path(__file__).resolve().parents[2] / "harness/base/markdown_cases.inc"
ROW = r'R"~\((.*?)\)~"'
CASES = re.findall(rf"^\{{{ROW}, {ROW}, {ROW}\}},$", TABLE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_table_is_read():
    assert len(CASES) >= 12


@pytest.mark.parametrize(("text", "cell", "code"), CASES)
def test_a_text_is_no_markup(text, cell, code):
    assert markdown_text(text) == cell
    assert markdown_code(text) == code
