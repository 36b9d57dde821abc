"""Checks that the code, links and pages that the docs show exist."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# <!-- code of PATH --> before a block of code: each part of the block, between empty lines, is in that file.
LINK = re.compile(r"\]\(([^)\s]*)\)")
MARKED = re.compile(r"<!-- code of (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / one for one in listed.split()]


def anchors(page: Path) -> set[str]:
    """Returns the names by which GitHub links to the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", one).lower()).strip().replace(" ", "-") for one in headings}


def broken_links(page: Path, text: str) -> list[str]:
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    broken = []
    for link in LINK.findall(text):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


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


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_pages_and_headings_that_exist(page):
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


def test_a_link_that_leads_nowhere_is_found():
    page = ROOT / "docs/suites.md"
    links = "[a](nowhere.md) [b](formats.md#nowhere) [c](#nowhere) [d](formats.md#run-file) [e](#programs)"
    assert broken_links(page, links) == ["nowhere.md", "formats.md#nowhere", "#nowhere"]


def test_pages_that_the_sources_name_exist():
    listed = subprocess.run(
        ["git", "grep", "-hoE", r"docs/[a-z/-]+\.md", "--", ":!*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert [one for one in sorted(set(listed.split())) if not (ROOT / one).exists()] == []


def test_files_that_contributing_names_exist():
    named = re.findall(r"`((?:harness|kernels|suites|ci)/[\w./-]+)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(named) > 15
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_formats_has_each_field_of_a_run_file():
    quoted = re.findall(r"`([^`]*)`", (ROOT / "docs/formats.md").read_text(encoding="utf-8"))
    for file in ("observation.hpp", "context_json.cpp"):
        source = (ROOT / "harness/measure/runfile" / file).read_text(encoding="utf-8")
        fields = set(re.findall(r'fields(?:\.\w+)?\(\s*"(\w+)"', source))
        assert len(fields) > 40
        assert fields - set(re.findall(r"\w+", " ".join(quoted))) == set()


def test_code_that_does_not_exist_is_found():
    text = (ROOT / "docs/estimators.md").read_text(encoding="utf-8")
    assert len(MARKED.findall(text)) == 1
    (changed,) = parts_not_in_the_code(text.replace("checked_multiply(4, rows)", "4 * rows", 1))
    assert "4 * rows" in changed
