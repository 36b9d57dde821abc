"""Tests ci/expected_tests.py: a test that did not run is a failure."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[1]
ROOT = CI.parent
sys.path.insert(0, str(CI))

from expected_tests import EXPECTED, Ran, missing_imports, missing_programs, missing_sources, parse_ctest, parse_pytest, problems, tomllib  # noqa: E402
from helpers import quantity  # noqa: E402

SPOKEN = {"allowed_skips": {"no wheel": "a reason"}}

CTEST = """Start testing: Nov 22 17:04 UTC
----------------------------------------------------------
1/3 Testing: base_test
1/3 Test: base_test
Output:
----------------------------------------------------------
Running main() from ./googletest/src/gtest_main.cc
./harness/x_test.cpp:82: Skipped
there is no fish here

[==========] 9 tests from 2 test suites ran. (1 ms total)
[  PASSED  ] 8 tests.
<end of output>
Test Passed.
2/3 Testing: one_script
2/3 Test: one_script
Output:
----------------------------------------------------------
Test Passed.
3/3 Testing: another
3/3 Test: another
Output:
----------------------------------------------------------
Unable to find executable
"""


def test_ctest_counts_tests_of_programs_and_programs_without_googletest():
    ran = parse_ctest(CTEST)
    assert ran.passed == 9
    assert ran.skipped == ["there is no fish here", "another: ctest did not run it"]


def test_pytest_counts_what_passed(tmp_path):
    (tmp_path / "test_x.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('n', range(3))\ndef test_a(n): pass\n"
        "def test_b(): pytest.skip('no browser')\n"
        "def test_c(): assert False\n"
    )
    (tmp_path / "test_y.py").write_text("import pytest\npytest.importorskip('no_such_module_x')\ndef test_d(): pass\n")
    subprocess.run([sys.executable, "-m", "pytest", "-q", "--junitxml=r.xml", "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True, check=False)
    ran = parse_pytest((tmp_path / "r.xml").read_text())
    assert ran.passed == 3
    assert len(ran.skipped) == 2 and any("no browser" in one for one in ran.skipped)
    assert any("no_such_module_x" in one for one in ran.skipped)


def test_other_skips_and_no_test_at_all_are_problems():
    assert problems("a", Ran(3, ["x: no wheel here"]), SPOKEN) == []
    assert problems("a", Ran(), SPOKEN) == ["a: no test ran"]
    (skipped,) = problems("a", Ran(3, ["x: there is no fish here"]), SPOKEN)
    assert "no fish" in skipped and "allowed_skips" in skipped


def test_the_command_fails_where_tests_are_left_out(tmp_path):
    log = tmp_path / "LastTest.log"
    log.write_text(CTEST)
    done = subprocess.run([sys.executable, CI / "expected_tests.py", "count", "release", log], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "there is no fish here" in done.stderr and "another: ctest did not run it" in done.stderr


def test_a_test_that_no_build_compiles_is_named(tmp_path):
    (tmp_path / "sub/Unity").mkdir(parents=True)
    unity = tmp_path / "sub/Unity/unity_0_cxx.cxx"
    unity.write_text('#include "/tree/harness/b_test.cpp"\n')
    (tmp_path / "build.ninja").write_text(
        "rule CXX\n  command = c++ $in\n"
        f"build a.o: CXX /tree/harness/a_test.cpp\nbuild b.o: CXX {unity}\nbuild c.o: CXX /tree/harness/c_test.cpp\n"
        "build all: phony a.o\nbuild pure: phony b.o\n"
    )
    sources = ["harness/a_test.cpp", "harness/b_test.cpp", "harness/c_test.cpp"]
    assert missing_sources([f"{tmp_path}:all"], sources) == sources[1:]
    assert missing_sources([f"{tmp_path}:all", f"{tmp_path}:pure"], sources) == sources[2:]


def test_what_is_missing_is_named():
    assert missing_programs(["python3", "no-such-program", "/usr/*/no-such-file"]) == ["no-such-program", "/usr/*/no-such-file"]
    (missing,) = missing_imports(["json", "no_such_module_x.y"])
    assert missing.startswith("no_such_module_x.y (")


@pytest.mark.parametrize("what", ["importorskip", "has_program"])
def test_what_a_test_may_skip_for_is_required(what):
    """Each importorskip or has_program has a line in the list."""
    expected = tomllib.loads(EXPECTED.read_text(encoding="utf-8"))
    listed = set(expected["imports"]) | set(expected["programs"])
    files = subprocess.run(["git", "ls-files", "*.py", "*_test.cpp"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    asked = {
        name
        for one in files
        if Path(one).name != Path(__file__).name
        for name in re.findall(rf'{what}\("([^"]+)"', (ROOT / one).read_text(encoding="utf-8"))
    }
    assert asked and asked <= listed


def test_a_quantity_of_one_is_singular():
    assert [quantity(count, "case") for count in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]
    assert [quantity(count, "try", "tries") for count in (1, 2)] == ["1 try", "2 tries"]
