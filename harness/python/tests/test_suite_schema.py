"""The schema of suites, by an outside judge: what ships is valid, and what the reader refuses for its form is not."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "suites/suite.schema.json").read_text(encoding="utf-8"))
SHIPPED = [
    *(ROOT / "suites").glob("*.toml"),
    *(ROOT / "suites/clients").glob("*.toml"),
    *(ROOT / "examples").glob("*/*.toml"),
    ROOT / "bench/compare_real.toml",
]
SWEEP = "[[sweep]]\nvariants = 'padding/*'\n"
PROGRAM = "[[program]]\nvariant = 'a/b'\ncommand = ['x']\n"


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


# Of the reader's own tests (suite_errors_test.cpp, program_test.cpp): those that need no worker to be seen.
@pytest.mark.parametrize(
    "text",
    [
        "",
        "sweep = []",
        "sweep = 3",
        "name = ''\n" + SWEEP,
        "nmae = 'x'\n" + SWEEP,
        "[[sweep]]\naxes.nx = 3",
        "[[sweep]]\nvariants = []",
        SWEEP + "tolerance = 1e-5",
        SWEEP + "axis.nx = 3",
        SWEEP + "axes.nx = 51.5",
        SWEEP + "axes.nx = []",
        SWEEP + "axes.nx = [[1]]",
        SWEEP + "axes.nx = true",
        SWEEP + "axes = 3",
        SWEEP + "axes.nx = { from = 1 }",
        SWEEP + "axes.nx = { from = 1, to = 5, step = 0 }",
        SWEEP + "axes.nx = { from = 1, to = 5, stp = 2 }",
        SWEEP + "axes.nx = { from = 1, to = 5, pow2 = [1, 2] }",
        SWEEP + "axes.nx = { pow2 = 3 }",
        SWEEP + "axes.nx = { pow2 = [3, 63] }",
        SWEEP + "axes.nx = { formula = 'ny', step = 2 }",
        SWEEP + "axes.nx = { formula = 3 }",
        SWEEP + "zip = { nx = [1, 2] }",
        SWEEP + "zip = [{}]",
        SWEEP + "zip = [{ nx = { formula = 'ny' } }]",
        SWEEP + "backend = 'opncl'",
        SWEEP + "window = 'wide'",
        SWEEP + "window = 0.8",
        SWEEP + "window = 'a:b'",
        SWEEP + "window = '0.8:1.0:'",
        SWEEP + "window = '-1:1'",
        SWEEP + "window = '0.8:inf'",
        SWEEP + "expect = 'out_of_memry'",
        SWEEP + "rule = 3",
        SWEEP + "[[sweep.rule]]\nexpect = 'ok'",
        SWEEP + "[[sweep.rule]]\nwhen = { n = 20 }\nskip = 1",
        SWEEP + "[[sweep.rule]]\nwhen = { backend = 'cud' }",
        SWEEP + "[[sweep.rule]]\nwhen = { backend = ['dry', 'auto'] }",
        SWEEP + "[[sweep.rule]]\nwhen = { n = 20 }\nskp = true",
        SWEEP + PROGRAM + "shell = true",
        SWEEP + "[[program]]\nvariant = 'a/b'\ncommand = 'ls'",
        SWEEP + "[[program]]\nvariant = 'a/b'\ncommand = 'ls'\nshell = false",
        SWEEP + PROGRAM + "slice_dimension = 2",
        SWEEP + PROGRAM + "backends = 'dry'",
        SWEEP + PROGRAM + "axes.n = { least = 1 }",
        SWEEP + "[[program]]\nvariant = 'a'\ncommand = ['x']",
        SWEEP + "[[estimator]]\ncall = 'f'",
        SWEEP + "[[estimator]]\ncall = 'python:m:f'\nform = 'dircet'",
    ],
)
def test_what_the_reader_refuses_is_not(text: str):
    assert mistakes(text) != []


@pytest.mark.parametrize(
    "text",
    [
        *(SWEEP + f"window = '{window}'" for window in ("1:1", "0.8:1.0", "0:2.5", ".5:1.", "1e-3:1E+2")),
        SWEEP + "[[sweep.rule]]\nwhen = { backend = ['opencl', 'dry'], n = 3 }\nskip = true",
        SWEEP + PROGRAM + "shell = false",
        SWEEP + "[[program]]\nvariant = 'a/b'\ncommand = 'ls'\nshell = true",
    ],
)
def test_what_the_reader_takes_is_valid(text: str):
    assert mistakes(text) == []
