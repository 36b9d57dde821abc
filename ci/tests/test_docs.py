"""What the pages show is what exists."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# <!-- code of PATH --> before a block of code: each part of the block, between empty lines, is in that file.
MARKED = re.compile(r"<!-- code of (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / one for one in listed.split()]


def parts_not_in_the_code(text: str) -> list[str]:
    return [
        part
        for path, block in MARKED.findall(text)
        for part in re.split(r"\n\s*\n", block.strip())
        if part not in (ROOT / path).read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_code_that_a_page_shows_is_the_code_that_exists(page):
    assert parts_not_in_the_code(page.read_text(encoding="utf-8")) == []


def test_code_that_does_not_exist_is_found():
    text = (ROOT / "docs/estimators.md").read_text(encoding="utf-8")
    assert len(MARKED.findall(text)) == 1
    (changed,) = parts_not_in_the_code(text.replace("checked_multiply(4, sizes.rows)", "4 * sizes.rows", 1))
    assert "4 * sizes.rows" in changed
