"""Tests that the sources can be parsed by Python 3.10, the oldest of pyproject.toml."""

import ast

from recorded import ROOT

FOLDERS = ("bench", "ci", "examples", "harness", "kernels", "reports", "suites")
OLDEST = (3, 10)


def sources():
    for folder in FOLDERS:
        yield from (ROOT / folder).rglob("*.py")
    yield ROOT / "suites/clients/make-environments"


def test_every_source_is_python_3_10():
    assert f'requires-python = ">={OLDEST[0]}.{OLDEST[1]}"' in (ROOT / "pyproject.toml").read_text()
    files = 0
    for files, file in enumerate(sources(), 1):
        ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=OLDEST)
    assert files > 100
