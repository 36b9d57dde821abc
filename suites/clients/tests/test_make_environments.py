"""Tests of make-environments that need no network."""

import importlib.util
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[1] / "make-environments"


@pytest.fixture(scope="module")
def program():
    loader = SourceFileLoader("make_environments", str(PROGRAM))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def run(*words, folder):
    return subprocess.run(
        [sys.executable, PROGRAM, *words],
        env={"PATH": "/usr/bin:/bin", "PEAKMARK_ENVIRONMENTS": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_package_has_its_version(program):
    files = program.requirement_files()
    assert files.keys() >= {"nabu-2023.2.0", "cupy-14.2.0", "lightgbm-4.7.0"}
    for path in files.values():
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        assert lines
        for line in lines:
            assert re.fullmatch(r'[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.]*(; python_version (<|>=) "3\.\d+")?', line), f"{path.name}: {line}"


def test_a_group_selects_its_environments(program):
    files = program.requirement_files()
    without_gpu = program.chosen(["opencl"], files)
    assert "nabu-2023.2.0" in without_gpu
    assert not set(without_gpu) & set(program.chosen(["cuda"], files))
    assert program.chosen(["nabu-2023.2.0", "opencl"], files).count("nabu-2023.2.0") == 1


def test_an_environment_is_made_again_when_its_packages_change(program, tmp_path):
    folder = tmp_path / "one"
    folder.mkdir()
    assert not program.is_made(folder, "one==1\n")
    (folder / ".stamp").write_text(program.make_stamp("one==1\n"), encoding="utf-8")
    assert program.is_made(folder, "one==1\n")
    assert not program.is_made(folder, "one==2\n")


def test_chosen_packages_keep_their_versions(program, tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("# a comment\none==1\ntwo==2.5; python_version < '3.13'\ntwo==3; python_version >= '3.13'\nthree==3\n", encoding="utf-8")
    assert program.read_requirements(path) == path.read_text(encoding="utf-8")
    assert program.read_requirements(path, ["three", "one"]) == "three==3\none==1\n"
    assert program.read_requirements(path, ["two"]) == "two==2.5; python_version < '3.13'\ntwo==3; python_version >= '3.13'\n"
    with pytest.raises(ValueError, match="one.txt has no package 'four'; it has one, two, three"):
        program.read_requirements(path, ["one", "four"])


def test_packages_that_no_environment_has_are_refused(tmp_path):
    done = run("--packages", "numpy,no-such-package", "nabu-2023.2.0", folder=tmp_path)
    assert done.returncode == 2
    assert "nabu-2023.2.0.txt has no package 'no-such-package'" in done.stderr
    assert not (tmp_path / "nabu-2023.2.0").exists()


def test_an_unknown_name_is_reported_with_the_known_names(tmp_path):
    done = run("nabu-1999", folder=tmp_path)
    assert done.returncode == 2
    assert "nabu-1999" in done.stderr
    assert "nabu-2023.2.0" in done.stderr


def test_a_folder_that_is_not_an_environment_is_not_removed(tmp_path):
    (tmp_path / "nabu-2023.2.0").mkdir()
    (tmp_path / "nabu-2023.2.0/thesis.txt").write_text("mine", encoding="utf-8")
    done = run("nabu-2023.2.0", folder=tmp_path)
    assert done.returncode == 2
    assert "not a virtual environment" in done.stderr
    assert (tmp_path / "nabu-2023.2.0/thesis.txt").exists()


def test_the_list_shows_what_is_made(program, tmp_path):
    done = run("--list", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.count("not made") == len(program.requirement_files())
