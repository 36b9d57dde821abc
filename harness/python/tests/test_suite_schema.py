"""Tests the schema of suites with an independent validator: shipped suites are valid, suites that the reader rejects are not."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from peakmark.estimators import FORMS

tomllib = pytest.importorskip("tomllib", reason="Python has it from 3.11 on")

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "suites/suite.schema.json").read_text(encoding="utf-8"))
SHIPPED = [
    *(ROOT / "suites").glob("*.toml"),
    *(ROOT / "suites/clients").glob("*.toml"),
    *(ROOT / "examples").glob("*/*.toml"),
    *(ROOT / "bench").glob("*.toml"),
]


def mistakes(text: str) -> list[str]:
    found = jsonschema.Draft7Validator(SCHEMA).iter_errors(tomllib.loads(text))
    return [error.message for error in found]


def test_the_schema_is_valid():
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("suite", SHIPPED, ids=lambda path: path.name)
def test_shipped_suites_are_valid(suite: Path):
    text = suite.read_text(encoding="utf-8")
    assert mistakes(text) == []
    first = text.splitlines()[0]
    if "examples" not in suite.parts:  # examples have no schema next to them
        assert first.startswith("#:schema ")
        assert (suite.parent / first.removeprefix("#:schema ")).resolve() == ROOT / "suites/suite.schema.json"


def test_forms_of_estimators_are_those_of_the_package():
    assert sorted(FORMS) == sorted(SCHEMA["definitions"]["estimator_form"]["enum"])


def suites_in(name: str) -> list[str]:
    """Returns the suites of a file, which tests the reader, too (suites/suite_schema_test.cpp)."""
    return (ROOT / "suites" / name).read_text(encoding="utf-8").split("---\n")


@pytest.mark.parametrize("text", suites_in("wrong_forms.txt"))
def test_suites_that_the_reader_rejects_are_not_valid(text: str):
    assert mistakes(text) != []


@pytest.mark.parametrize("text", suites_in("right_forms.txt"))
def test_suites_that_the_reader_accepts_are_valid(text: str):
    assert mistakes(text) == []
