"""The schema of suites, by an outside judge: what ships is valid, and what the reader refuses for its form is not."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

tomllib = pytest.importorskip("tomllib", reason="Python has it from 3.11 on")

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "suites/suite.schema.json").read_text(encoding="utf-8"))
SHIPPED = [
    *(ROOT / "suites").glob("*.toml"),
    *(ROOT / "suites/clients").glob("*.toml"),
    *(ROOT / "examples").glob("*/*.toml"),
    ROOT / "bench/compare_real.toml",
]


def mistakes(text: str) -> list[str]:
    found = jsonschema.Draft7Validator(SCHEMA).iter_errors(tomllib.loads(text))
    return [error.message for error in found]


def test_it_is_a_schema():
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("suite", SHIPPED, ids=lambda path: path.name)
def test_what_ships_is_valid(suite: Path):
    text = suite.read_text(encoding="utf-8")
    assert mistakes(text) == []
    first = text.splitlines()[0]
    if "examples" not in suite.parts:  # a user's project has no schema of ours beside it
        assert first.startswith("#:schema ")
        assert (suite.parent / first.removeprefix("#:schema ")).resolve() == ROOT / "suites/suite.schema.json"


def suites_in(name: str) -> list[str]:
    """The suites of a file that the reader is held against too (suites/suite_schema_test.cpp)."""
    return (ROOT / "suites" / name).read_text(encoding="utf-8").split("---\n")


@pytest.mark.parametrize("text", suites_in("wrong_forms.txt"))
def test_what_the_reader_refuses_is_not(text: str):
    assert mistakes(text) != []


@pytest.mark.parametrize("text", suites_in("right_forms.txt"))
def test_what_the_reader_takes_is_valid(text: str):
    assert mistakes(text) == []
