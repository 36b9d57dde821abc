"""Tests escaping for markdown, with the same table of cases as the C++ test."""

import re
from pathlib import Path

import pytest
from peakmark_reports.ci_forms import markdown_code, markdown_text

TABLE = Path(__file__).resolve().parents[2] / "harness/base/markdown_cases.inc"
ROW = r'R"~\((.*?)\)~"'
CASES = re.findall(rf"^\{{{ROW}, {ROW}, {ROW}\}},$", TABLE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_table_has_cases():
    assert len(CASES) >= 12


@pytest.mark.parametrize(("text", "cell", "code"), CASES)
def test_texts_are_escaped(text, cell, code):
    assert markdown_text(text) == cell
    assert markdown_code(text) == code
