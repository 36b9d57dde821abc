"""Compares docs/design.md with the sources."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from module_graph import ENDINGS, HARNESS, INCLUDE, TEST_FILE, module_order, pure_modules

ROOT = HARNESS.parent
PAGE = (ROOT / "docs/design.md").read_text(encoding="utf-8")
WINGS = ["base", "record", "measure", "analyse", "cli"]


def picture() -> str:
    return re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]


def boxes() -> dict[str, str]:
    """Returns the text in the box of each wing of the picture."""
    found = re.findall(r"^┌.*?^└", picture(), re.MULTILINE | re.DOTALL)
    return {re.findall(r"│ (\w+)", box)[0]: box for box in found}


def headers() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(HARNESS.rglob("*.hpp")))


def test_tables_have_the_modules_in_their_order() -> None:
    rows = re.findall(r"^\| `harness/([\w/]+)` \| (yes|no) \|", PAGE, re.MULTILINE)
    assert [module for module, _ in rows] == module_order(HARNESS)
    assert [module for module, pure in rows if pure == "yes"] == pure_modules(HARNESS)


def test_wings_of_the_page_are_those_of_the_harness() -> None:
    rows = re.findall(r"^\| `harness/(\w+)` \| [^|]+ \|$", PAGE, re.MULTILINE)
    assert rows == WINGS
    assert list(boxes()) == WINGS[1:]


def test_modules_in_the_picture_are_in_that_wing() -> None:
    order = module_order(HARNESS)
    for wing, box in list(boxes().items())[:-1]:
        # Names before and after the types, as in "worker, external ─ Observation ▶ runfile".
        names = re.findall(r"([a-z, ]+) ─ [\w ]+ ▶ ([a-z, ]+)", box)
        modules = {one for pair in names for text in pair for one in re.findall(r"[a-z]+", text)} - {wing}
        assert modules, wing
        assert modules <= {one.split("/")[-1] for one in order if one.startswith(wing)}


def test_types_on_arrows_exist() -> None:
    table = re.search(r"\| arrow \| in memory.*?\n\n", PAGE, re.DOTALL)
    assert table is not None
    cells = [row.split("|")[2] for row in table[0].strip().splitlines()[2:]]
    python = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "reports/peakmark_reports").glob("*.py"))
    abi = (HARNESS / "api/include/peakmark/worker_abi.h").read_text(encoding="utf-8")
    types = {one for cell in cells for one in re.findall(r"`(\w+)`", cell)}
    types |= set(re.findall(r"\b[A-Z][a-z]\w*", picture()))  # JSON, TOML and JUnit are not like that
    assert {"PlannedCase", "Trends", "SequencedAllocation"} <= types
    sources = headers() + abi + python
    assert [one for one in sorted(types) if not re.search(rf"\b(struct|class|using) {one}\b", sources)] == []


def test_files_that_the_page_names_exist() -> None:
    text = PAGE[: PAGE.index("### Studies")] + PAGE[PAGE.index("### Suites of many cases") :]
    named = re.findall(r"`((?:[\w-]+/)+[\w.-]+\.(?:hpp|h|cpp|py|txt))`", text)
    assert len(named) > 10
    assert [one for one in named if not ((ROOT / one).exists() or (HARNESS / one).exists())] == []


def test_kernels_include_the_harness_only_where_the_page_says() -> None:
    wings = {module.split("/")[0] for module in module_order(HARNESS)} - {"base"}
    found = {
        path.relative_to(ROOT).as_posix(): folders
        for path in sorted((ROOT / "kernels").rglob("*"))
        if path.suffix in ENDINGS and not TEST_FILE.search(path.as_posix())
        if (folders := {one for one in INCLUDE.findall(path.read_text()) if one.split("/")[0] in wings})
    }
    rows = re.findall(r"^\| `(kernels/[\w/]+\.\w+)` \| `([\w/]+)/[\w.]+`", PAGE, re.MULTILINE)
    assert found == {file: {folder} for file, folder in rows}


def test_the_worker_library_exports_one_symbol() -> None:
    exported = re.findall(r"^ +(\w+);$", (HARNESS / "api/exports.map").read_text(), re.MULTILINE)
    assert exported == ["peakmark_worker_run"]
    assert "The worker is one shared library with one exported symbol" in PAGE
