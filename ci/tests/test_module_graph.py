"""Checks that modules of harness/ include only modules before them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from module_graph import HARNESS, module_order, used_modules, violations

PURE = ["statistics", "profile", "ledger", "sweep", "runfile", "compare", "check", "explain", "show", "trend", "history"]


def test_no_module_includes_a_later_one() -> None:
    assert violations(HARNESS) == []


def test_pure_modules_come_before_those_with_devices_and_processes() -> None:
    order = module_order(HARNESS)
    first = min(order.index(module) for module in ("recorders", "device", "subprocess", "worker", "launch", "supervise"))
    assert set(order[:first]) == {"base", *PURE}


def test_every_folder_of_the_harness_is_a_module() -> None:
    folders = {path.parent.name for path in HARNESS.glob("*/CMakeLists.txt")}
    assert set(module_order(HARNESS)) == folders


def test_a_planted_include_is_found(tmp_path: Path) -> None:
    harness = tmp_path / "harness"
    for module in ("check", "device"):
        (harness / module).mkdir(parents=True)
    (harness / "CMakeLists.txt").write_text("foreach(module\n    check\n    device)\n")
    (harness / "check" / "judge.cpp").write_text('#include "check/judge.hpp"\n#include "device/device.hpp"\n')
    (harness / "check" / "judge_test.cpp").write_text('#include "device/device.hpp"\n')
    (harness / "device" / "device.cpp").write_text('#include "check/judge.hpp"\n')
    assert used_modules(harness, "device", ["check", "device"]) == {"check": ["harness/device/device.cpp"]}
    assert violations(harness) == [
        "check must not include device, which comes after it in harness/CMakeLists.txt: harness/check/judge.cpp"
    ]
