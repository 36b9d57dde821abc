"""Tests that suites, programs, estimators and environments use the same names. Needs no device and no environment."""

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import httomolibgpu_estimators

HERE = Path(__file__).resolve().parents[1]
SUITES = sorted(HERE.glob("*.toml"))

ENVIRONMENT_FILES = {path.stem: path for path in (HERE / "environments").glob("*/*.txt")}


def loaded(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def programs():
    return [
        pytest.param(program, id=f"{path.stem}-{program['variant']}")
        for path in SUITES
        for program in loaded(path)["program"]
    ]


def choices_of(suite, variant, axis):
    for program in loaded(HERE / f"{suite}.toml")["program"]:
        if program["variant"] == variant:
            return program["axes"][axis]["choices"]
    raise KeyError(variant)


def test_all_suites_are_tested():
    expected = {"nabu", "nabu-own-estimators", "pyclesperanto", "httomolibgpu", "cupy", "torch"}
    assert {path.stem for path in SUITES} == expected


@pytest.mark.parametrize("program", programs())
def test_scripts_and_environments_of_programs_exist(program):
    script = next(word for word in program["command"] if word.endswith(".py"))
    assert (HERE / script.removeprefix("{suite_folder}/")).is_file()
    assert program["python"] in ENVIRONMENT_FILES
    assert program["python_made_by"] == f"suites/clients/make-environments {program['python']}"
    group = ENVIRONMENT_FILES[program["python"]].parent.name
    assert program["backends"] == [group]


@pytest.mark.parametrize("program", programs())
def test_programs_pass_every_axis_on(program):
    placeholders = {word[1:-1] for word in program["command"] if re.fullmatch(r"\{[a-z0-9_]+\}", word)}
    assert set(program["axes"]) == placeholders - {"python"}


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_functions_of_estimators_exist(path):
    for estimator in loaded(path).get("estimator", []):
        _python, module, function = estimator["call"].split(":")
        source = (HERE / f"{module}.py").read_text(encoding="utf-8")
        names = [f"_calc_memory_bytes_for_slices_{function}"] if estimator.get("form") == "httomo" else [function]
        names += ["estimate_required_memory", "estimate_max_chunk_size"] if estimator.get("form") == "nabu" else []
        for name in names:
            assert f"\ndef {name}(" in source, estimator["call"]


@pytest.mark.parametrize("pattern", ["projection", "sinogram"])
def test_the_methods_of_httomolibgpu_are_those_of_its_table(pattern):
    assert choices_of("httomolibgpu", f"httomolibgpu_{pattern}/5.4", "method") == httomolibgpu_estimators.methods_with(pattern)


@pytest.mark.parametrize(
    ("script", "suite", "variant", "axis"),
    [
        ("cupy_functions.py", "cupy", "cupy/pool", "function"),
        ("torch_unet.py", "torch", "torch_unet/caching", "step"),
        ("httomolibgpu_methods.py", "httomolibgpu", "httomolibgpu_sinogram/5.4", "method"),
    ],
)
def test_programs_accept_the_choices_of_their_suites(script, suite, variant, axis):
    source = (HERE / script).read_text(encoding="utf-8") + (HERE / "httomolibgpu_estimators.py").read_text(encoding="utf-8")
    for word in choices_of(suite, variant, axis):
        assert f'"{word}"' in source


@pytest.mark.parametrize(
    "command",
    [
        ["cupy_functions.py", "fft2", "1", "8", "8"],
        ["httomolibgpu_methods.py", "median_filter", "1", "8", "8"],
        ["torch_unet.py", "1", "8", "8"],
    ],
)
def test_a_cuda_program_without_its_library_is_unsupported(command, tmp_path):
    for library in ("cupy", "torch"):
        (tmp_path / f"{library}.py").write_text("raise ImportError('not in this test')\n", encoding="utf-8")
    paths = f"{tmp_path}:{HERE.parents[1] / 'harness/python'}"
    done = subprocess.run(
        [sys.executable, HERE / command[0], *command[1:]],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 77, done.stderr
    assert "cannot be imported: not in this test" in done.stderr


def test_kernels_of_httomolibgpu_are_compiled_with_c_plus_plus_17(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE.parents[1] / "harness/python"))
    methods = importlib.import_module("httomolibgpu_methods")
    made = methods.modern(lambda *words, **options: (words, options))
    assert made("source", options=("-std=c++11", "-lineinfo")) == (
        ("source",),
        {"options": ("-std=c++17", "-lineinfo")},
    )
    assert made("source") == (("source",), {})
