#!/usr/bin/env python3
"""Fails if a tool of ci/expected_tests.toml is missing, or a test was skipped for a reason that is not in it.

    ci/expected_tests.py programs              the required programs are installed
    ci/expected_tests.py imports               the required modules can be imported by the Python that runs this
    ci/expected_tests.py built FOLDER:TARGET…  each *_test.cpp of the repository is compiled by a target of these build folders
    ci/expected_tests.py count KIND FILE       tests ran and were skipped as expected; FILE is pytest's JUnit XML or ctest's LastTest.log

Exit code: 1 if something is missing, with what to do; 2 for wrong arguments or a file that cannot be read.
"""

import argparse
import glob
import importlib
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from helpers import quantity

EXPECTED = Path(__file__).with_suffix(".toml")


@dataclass
class Ran:
    """The number of passed tests, and the reasons of skipped tests."""

    passed: int = 0
    skipped: list[str] = field(default_factory=list)


def missing_programs(programs: list[str]) -> list[str]:
    return [one for one in programs if not (glob.glob(one) if "/" in one else shutil.which(one))]


def missing_imports(names: list[str]) -> list[str]:
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            missing.append(f"{name} ({error})")
    return missing


def missing_sources(builds: list[str], sources: list[str]) -> list[str]:
    """Returns the sources that the builds, FOLDER:TARGET, compile neither alone nor as a part of a whole module."""
    inputs = ""
    for one in builds:
        folder, target = one.rsplit(":", 1)
        listed = subprocess.run(["ninja", "-C", folder, "-t", "inputs", target], capture_output=True, text=True, check=True).stdout
        inputs += listed
        for unity in re.findall(r"^(?:.*: )?(\S*/unity_\d+_cxx\.cxx)$", listed, flags=re.MULTILINE):
            inputs += Path(folder, unity).read_text(encoding="utf-8")
    return [one for one in sources if f"/{one}" not in inputs]


def parse_pytest(text: str) -> Ran:
    ran = Ran()
    for case in ElementTree.fromstring(text).iter("testcase"):
        skipped = case.find("skipped")
        if skipped is not None:
            # If a module skips itself, only the text has the reason.
            ran.skipped.append(f"{case.get('classname')}.{case.get('name')}: {skipped.get('message')} {skipped.text or ''}".rstrip())
        elif case.find("failure") is None and case.find("error") is None:
            ran.passed += 1
    return ran


def parse_ctest(text: str) -> Ran:
    """Counts each test of a GoogleTest program; another program counts as one test."""
    ran = Ran()
    for output in re.split(r"^\d+/\d+ Testing: ", text, flags=re.MULTILINE)[1:]:
        ran.skipped += re.findall(r": Skipped\n(.*)", output)
        if "\n[==========] " in output:
            # One test of ctest may run a GoogleTest program twice.
            ran.passed += sum(map(int, re.findall(r"^\[  PASSED  \] (\d+) test", output, flags=re.MULTILINE)))
        elif re.search(r"^Test Passed\.$", output, flags=re.MULTILINE):
            ran.passed += 1
        elif not re.search(r"^Test Failed\.$", output, flags=re.MULTILINE):
            ran.skipped.append(output.splitlines()[0] + ": ctest did not run it")
    return ran


def parse_results(file: Path) -> Ran:
    text = file.read_text(encoding="utf-8", errors="replace")
    return parse_pytest(text) if file.suffix == ".xml" else parse_ctest(text)


def problems(kind: str, ran: Ran, expected: dict) -> list[str]:
    """Returns one line for each unexpected skip, and one if no test ran."""
    refused = [reason for reason in ran.skipped if not any(part in reason for part in expected["allowed_skips"])]
    found = [f"{kind}: skipped: {reason}; install what the test needs, or add the reason to [allowed_skips]" for reason in refused]
    if ran.passed == 0:
        found.append(f"{kind}: no test ran")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("programs")
    commands.add_parser("imports")
    commands.add_parser("built").add_argument("builds", nargs="+", metavar="FOLDER:TARGET")
    count = commands.add_parser("count")
    count.add_argument("kind")
    count.add_argument("file", type=Path)
    asked = parser.parse_args()
    expected = tomllib.loads(EXPECTED.read_text(encoding="utf-8"))
    if asked.command == "programs":
        found = [f"program {one} is missing: add its package to ci/packages-test.txt" for one in missing_programs(expected["programs"])]
    elif asked.command == "imports":
        found = [f"Python module {one} is missing: add it to ci/requirements-test.txt" for one in missing_imports(expected["imports"])]
    elif asked.command == "built":
        listed = subprocess.run(["git", "ls-files", "*_test.cpp"], cwd=EXPECTED.parents[1], capture_output=True, text=True, check=True)
        found = [f"{one} is not compiled by {' or '.join(asked.builds)}: the build lacks what it needs, or no CMakeLists.txt names it"
                 for one in missing_sources(asked.builds, listed.stdout.split())]
    else:
        try:
            ran = parse_results(asked.file)
        except (OSError, ElementTree.ParseError) as error:
            parser.error(f"cannot count the tests of {asked.file}: {error}")
        print(f"{asked.kind}: {quantity(ran.passed, 'test')} passed, {len(ran.skipped)} skipped")
        found = problems(asked.kind, ran, expected)
    for line in found:
        print(f"expected_tests: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
