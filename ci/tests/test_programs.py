"""Tests ci/programs and the independent layer. Programs by others are not run here."""

import importlib.util
import os
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))
from helpers import has_ended  # noqa: E402

FIGURES = {"peak": 100, "live": 0, "total": 200, "allocations": 3, "failed": 0}
ALLOCATING = """
import numpy, pyopencl as cl
context = cl.create_some_context(interactive=False)
flags = cl.mem_flags
first = cl.Buffer(context, flags.READ_WRITE, 1000)
part = first.get_sub_region(0, 128)
host = cl.Buffer(context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=numpy.zeros(50, "f4"))
second = cl.Buffer(context, flags.READ_WRITE, 500)
second.release()
third = cl.Buffer(context, flags.READ_WRITE, 300)
third.release()
svm = cl.SVMAllocation(context, 2000, 0, cl.svm_mem_flags.READ_WRITE)
svm.release()
import os; os._exit(0)     # `first` and its part are never released
"""


@pytest.fixture(scope="module")
def programs():
    loader = SourceFileLoader("programs", str(ROOT / "ci/programs"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def measured(exit=0, output="one\ntime 3 s\n", layer=None, recorder=None):
    return {"exit": exit, "output": output, "layer": {7: layer or FIGURES}, "recorder": {7: recorder or FIGURES}}


def test_the_table_is_complete(programs):
    table = programs.read_table()
    assert len(table) >= 14
    assert sum(one.get("quick", False) for one in table.values()) >= 5
    lists = {path.stem for path in (ROOT / "suites/clients/environments").glob("*/*.txt")}
    for name, one in table.items():
        assert one["about"] and one["taught"].endswith(".") and one["command"], name
        assert one.get("packages") or one.get("environment") in lists, name
        assert set(one.get("drivers", ["pocl"])) <= set(programs.DRIVERS), name
        for word in one["command"]:
            for file in re.findall(r"^\{table\}/(.*)$", word):
                assert (programs.TABLE / file).exists(), name
        for driver in one.get("drivers", ["pocl"]):
            assert all(figure >= 0 for figure in programs.expected_figures(one, driver).values()), name


def test_the_page_has_the_table(programs):
    page = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
    assert "\n".join(programs.markdown(programs.read_table())) in page, "insert the output of ci/programs --list"


def test_the_table_has_formula_bytes_and_sizes(programs):
    assert programs.peak_text({"expected": {"peak": "3 * n"}, "sizes": {"n": 5000}}) == "`3 * n`: 15,000 with n 5000"
    assert programs.peak_text({"expected": {"peak": "3 * 4096"}}) == "`3 * 4096`: 12,288"
    assert programs.peak_text({"expected": {"live": 5}}) == "as the layer counts"


def test_equal_figures_are_no_difference(programs):
    assert programs.differences({"varying": ["time"]}, "pocl", measured(), measured(output="one\ntime 4 s\n")) == {}


@pytest.mark.parametrize("key", ["peak", "live", "total", "allocations", "failed"])
def test_one_byte_or_object_is_a_difference(programs, key):
    other = FIGURES | {key: FIGURES[key] + 1}
    assert list(programs.differences({}, "pocl", measured(), measured(recorder=other))) == [key]


def test_an_expected_peak_depends_on_sizes_and_driver(programs):
    program = {"sizes": {"n": 25}, "expected": {"peak": "4 * n", "intel": {"peak": "4 * n + 1"}}}
    assert programs.differences(program, "pocl", measured(), measured()) == {}
    assert programs.differences(program, "intel", measured(), measured()) == {"expected peak": "recorded 100, expected 101"}


def test_exit_code_output_and_processes_are_compared(programs):
    found = programs.differences({}, "pocl", measured(), measured(exit=139, output="two\n"))
    assert found == {"exit": "0 alone, 139 under record", "output": "'one' alone, 'two' under record"}
    silent = measured() | {"recorder": {}}
    assert "processes" in programs.differences({}, "pocl", measured(), silent)
    assert "nothing" in programs.differences({}, "pocl", measured(), silent | {"layer": {}})


def test_a_known_difference_needs_its_reason_and_must_exist(programs):
    assert programs.unexplained({"live": "1 and 2"}, {"live": "a reason"}) == []
    assert programs.unexplained({"live": "1 and 2"}, {}) == ["live: 1 and 2"]
    assert programs.unexplained({}, {"live": "a reason"}) == ["live: there is no difference any more; remove its reason"]


def test_an_unknown_key_and_an_unknown_program_are_reported(programs, tmp_path):
    (tmp_path / "one.toml").write_text('commmand = ["true"]\n', encoding="utf-8")
    with pytest.raises(programs.ProgramError, match='one.toml: unknown key "commmand"'):
        programs.read_table(tmp_path)
    done = subprocess.run([ROOT / "ci/programs", "no-such-program"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'unknown program "no-such-program"; there are ' in done.stderr


def test_without_peakmark_the_message_names_what_to_do(tmp_path):
    variables = os.environ | {"PEAKMARK_COMMAND": str(tmp_path / "peakmark")}
    done = subprocess.run([ROOT / "ci/programs", "clfft"], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"no peakmark: {tmp_path}/peakmark; run `ci/test release`, or set PEAKMARK_COMMAND" in done.stderr


def test_what_a_program_started_ends_with_it(programs, tmp_path):
    ended = programs.run(["sh", "-c", "sleep 1000 & echo $!"], tmp_path, {}, tmp_path / "one.log")
    assert ended["exit"] == 0
    assert has_ended(int(ended["output"]), 60)


def test_the_independent_layer_counts_what_a_program_allocates(programs, tmp_path):
    layer = programs.build_layer(tmp_path)
    book = tmp_path / "book"
    variables = {"OPENCL_LAYERS": str(layer), "INDEPENDENT_BOOK": str(book), "PYOPENCL_CTX": "0"}
    subprocess.run([sys.executable, "-c", ALLOCATING], env=os.environ | variables, check=True)
    (file,) = tmp_path.glob("book.*")
    assert programs.read_accounts(file) == {
        "peak": 3000,
        "live": 1000,
        "total": 3800,
        "allocations": 5,  # with the part of the first buffer, which has no bytes of its own
        "failed": 0,
        "host": 200,
        "unwatched": 0,
    }
    assert programs.read_accounts(file, "Portable Computing Language")["peak"] == 3000
    assert programs.read_accounts(file, "another platform") is None
