#!/usr/bin/env python3
"""Checks the includes between the modules of harness/. Fails if a file includes a module that comes after its own.

    ci/module_graph.py [--graph]

The order is that of `foreach(module …)` in harness/CMakeLists.txt, in which modules are also linked. Tests and fakes may
include anything. --graph prints for each module the modules that it includes.
"""
import argparse
import re
import sys
from pathlib import Path

HARNESS = Path(__file__).resolve().parent.parent / "harness"
INCLUDE = re.compile(r'^#include "([a-z]+)/', re.MULTILINE)
TEST_FILE = re.compile(r"_test\.[ch]pp$|_testing\.hpp$|/tests/|/fake|/example_|_example\.hpp$")
ENDINGS = {".cpp", ".hpp", ".h", ".cu"}


def module_order(harness: Path) -> list[str]:
    """Returns the modules in the order in which they may use each other."""
    found = re.search(r"foreach\(module\s([^)]*)\)", (harness / "CMakeLists.txt").read_text())
    if found is None:
        raise SystemExit(f"{harness}/CMakeLists.txt: no foreach(module …)")
    return found[1].split()


def used_modules(harness: Path, module: str, order: list[str]) -> dict[str, list[str]]:
    """Returns the modules that a module's files include, each with those files."""
    used: dict[str, list[str]] = {}
    for file in sorted((harness / module).rglob("*")):
        if file.suffix not in ENDINGS or TEST_FILE.search(file.as_posix()):
            continue
        for other in set(INCLUDE.findall(file.read_text())) & set(order) - {module}:
            used.setdefault(other, []).append(file.relative_to(harness.parent).as_posix())
    return used


def violations(harness: Path) -> list[str]:
    """Returns one line for each module that is included against the order."""
    order = module_order(harness)
    return [
        f"{module} must not include {other}, which comes after it in harness/CMakeLists.txt: {', '.join(files)}"
        for module in order
        for other, files in sorted(used_modules(harness, module, order).items())
        if order.index(other) > order.index(module)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", action="store_true")
    if parser.parse_args().graph:
        order = module_order(HARNESS)
        for module in order:
            print(f"{module}: {' '.join(sorted(used_modules(HARNESS, module, order), key=order.index))}")
    found = violations(HARNESS)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
