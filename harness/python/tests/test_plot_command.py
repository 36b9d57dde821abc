"""Tests the installed `peakmark plot` with the picture of the README. reports/tests has the tests of plots."""

import re
import sys

import pytest
from recorded import ROOT, peakmark

pytest.importorskip("matplotlib")


def plot(*words, python=sys.executable):
    return peakmark("plot", *words, PEAKMARK_PYTHON=str(python))


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def without_commit(drawn: list[str]) -> str:
    """Returns all texts in one line, because the line breaks of the caption depend on the commit."""
    return re.sub(r"commit \S+", "commit", " ".join(drawn))


def test_the_suite_gives_the_picture_of_the_readme(tmp_path):
    run = peakmark("run", ROOT / "suites/one-image.toml", "-o", tmp_path / "one-image.json")
    if run.returncode != 0 and "peakmark-bench" in run.stderr:
        pytest.skip("the worker peakmark-bench is not built")
    assert run.returncode == 0, run.stderr
    done = plot(tmp_path / "one-image.json", "--metric", "peak", "--svg", "-o", tmp_path / "plots")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path}/plots/padding.svg\n"
    drawn = texts((tmp_path / "plots/padding.svg").read_text(encoding="utf-8"))
    committed = texts((ROOT / "docs/pictures/padding.svg").read_text(encoding="utf-8"))
    assert without_commit(drawn) == without_commit(committed)
    # The figures that the README states.
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("\n", " ")
    sizes = [text.split("\u00a0") for text in drawn if "\u00a0GiB" in text]
    largest, smallest = (max(sizes), min(sizes))
    for number, _unit in (largest, smallest):
        assert number.split()[-1] + " GiB" in readme
    assert "2.6 times" in readme


def test_exit_codes(tmp_path):
    missing = plot(tmp_path / "none.json")
    assert missing.returncode == 2 and str(tmp_path / "none.json") in missing.stderr
    none = plot(tmp_path / "none.json", python="/no/such/python")
    assert none.returncode == 2 and "/no/such/python" in none.stderr
