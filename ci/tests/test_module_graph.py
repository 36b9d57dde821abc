"""Checks that modules of harness/ include only modules before them, and pure modules only pure ones."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from module_graph import HARNESS, list_of, module_order, pure_modules, used_modules, violations

WINGS = ["base", "record", "measure", "analyse", "cli"]


def test_no_module_includes_a_later_one_or_becomes_impure() -> None:
    assert violations(HARNESS) == []


def test_analyse_starts_processes_only_through_measure() -> None:
    order = module_order(HARNESS)
    impure = {module for module in order if module.startswith("record/")} - set(pure_modules(HARNESS))
    for module in order:
        if module.startswith("analyse/"):
            assert impure & set(used_modules(HARNESS, module, order)) == set()


def test_modules_are_in_the_order_of_the_wings() -> None:
    wings = [module.split("/")[0] for module in module_order(HARNESS)]
    assert list(dict.fromkeys(wings)) == [*WINGS, "api", "fuzz"]
    assert sorted(wings, key=list(dict.fromkeys(wings)).index) == wings


def test_every_pure_module_is_a_module() -> None:
    assert len(pure_modules(HARNESS)) == len(list_of(HARNESS, "PEAKMARK_PURE_MODULES"))


def test_every_folder_of_the_harness_is_a_module() -> None:
    order = module_order(HARNESS)
    groups = {parent for module in order for parent in (HARNESS / module).parents if parent.is_relative_to(HARNESS)}
    folders = {path for group in groups for path in group.iterdir() if path.is_dir() and not path.name.startswith((".", "__"))}
    assert {HARNESS / module for module in order} == folders - groups - {HARNESS / "python"}


@pytest.fixture
def harness(tmp_path: Path) -> Path:
    """A harness of two wings. `check` is pure."""
    harness = tmp_path / "harness"
    for module in ("record/profile", "measure/check", "measure/device"):
        (harness / module).mkdir(parents=True)
    (harness / "CMakeLists.txt").write_text(
        "set(PEAKMARK_MODULES\n  record/profile\n  measure/check measure/device)\nset(PEAKMARK_PURE_MODULES check)\n"
    )
    return harness


def test_a_planted_include_of_a_later_module_is_found(harness: Path) -> None:
    (harness / "measure/check/judge.cpp").write_text('#include "measure/check/judge.hpp"\n#include "measure/device/device.hpp"\n')
    (harness / "measure/check/judge_test.cpp").write_text('#include "measure/device/device.hpp"\n')
    (harness / "measure/device/device.cpp").write_text('#include "measure/check/judge.hpp"\n')
    assert used_modules(harness, "measure/device", module_order(harness)) == {
        "measure/check": ["harness/measure/device/device.cpp"]
    }
    assert violations(harness) == [
        "measure/check must not include measure/device, which comes after it in harness/CMakeLists.txt: "
        "harness/measure/check/judge.cpp"
    ]


def test_a_planted_include_of_a_later_wing_is_found(harness: Path) -> None:
    (harness / "record/profile/tree.cpp").write_text('#include "measure/device/opencl/api.hpp"\n')
    assert violations(harness) == [
        "record/profile must not include measure/device, which comes after it in harness/CMakeLists.txt: "
        "harness/record/profile/tree.cpp"
    ]


def test_a_planted_include_by_a_pure_module_is_found(harness: Path) -> None:
    (harness / "measure/check/judge.cpp").write_text('#include "record/profile/event.hpp"\n')
    assert violations(harness) == [
        "measure/check is pure, and must not include record/profile, which is not: harness/measure/check/judge.cpp"
    ]


def configure(folder: Path, modules: str) -> str:
    """Configures a project of modules of which only `check` is pure. Returns what CMake reports."""
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(modules LANGUAGES NONE)\nset(PEAKMARK_PURE_MODULES check)\n"
        f"include({HARNESS.parent}/cmake/PeakmarkModule.cmake)\n{modules}"
    )
    found = subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build"], capture_output=True, text=True, check=False)
    return " ".join(found.stderr.split())


def test_cmake_accepts_a_link_to_an_earlier_module(tmp_path: Path) -> None:
    assert configure(tmp_path, "peakmark_module(check)\npeakmark_module(device LINK peakmark_check)\n") == ""


def test_cmake_refuses_a_link_to_a_later_module(tmp_path: Path) -> None:
    errors = configure(tmp_path, "peakmark_module(check LINK peakmark_device)\npeakmark_module(device)\n")
    assert "module check links peakmark_device, which comes after it" in errors


def test_cmake_refuses_a_link_of_a_pure_module_to_one_that_is_not(tmp_path: Path) -> None:
    errors = configure(tmp_path, "peakmark_module(device)\npeakmark_module(check LINK peakmark_device)\n")
    assert "module check is pure, but links peakmark_device, which is not" in errors
