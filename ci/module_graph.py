#!/usr/bin/env python3
"""Checks the includes between the modules of harness/. Fails if a file includes a module that comes after its own, or if a pure
module includes one that is not.

    ci/module_graph.py [--graph]

The order is that of PEAKMARK_MODULES in harness/CMakeLists.txt, in which modules are also linked: wing by wing. Tests and fakes
may include anything. --graph prints for each module the modules that it includes.
"""
import argparse
import re
import sys
from pathlib import Path

HARNESS = Path(__file__).resolve().parent.parent / "harness"
INCLUDE = re.compile(r'^#include "([^"]*)/', re.MULTILINE)
TEST_FILE = re.compile(r"_test\.[ch]pp$|_testing\.[ch]pp$|/tests/|/fake|/example_|_example\.hpp$")
ENDINGS = {".cpp", ".hpp", ".h", ".cu"}


def list_of(harness: Path, name: str) -> list[str]:
    """Returns a list that harness/CMakeLists.txt sets."""
    found = re.search(rf"set\({name}\s([^)]*)\)", (harness / "CMakeLists.txt").read_text())
    if found is None:
        raise SystemExit(f"{harness}/CMakeLists.txt: {name} is not set")
    return found[1].split()


def module_order(harness: Path) -> list[str]:
    """Returns the modules, such as record/ledger, in the order in which they may use each other."""
    return list_of(harness, "PEAKMARK_MODULES")


def pure_modules(harness: Path) -> list[str]:
    """Returns the modules that open no device and start no process, in order."""
    pure = list_of(harness, "PEAKMARK_PURE_MODULES")
    return [module for module in module_order(harness) if "_".join(module.split("/")[1:] or [module]) in pure]


def included_modules(text: str, modules: list[str]) -> set[str]:
    """Returns the modules whose headers a source includes."""
    folders = ["/".join(folder.split("/")[:length]) for folder in INCLUDE.findall(text) for length in (1, 2, 3)]
    return set(folders) & set(modules)


def used_modules(harness: Path, module: str, order: list[str]) -> dict[str, list[str]]:
    """Returns the modules that a module's files include, each with those files."""
    used: dict[str, list[str]] = {}
    for file in sorted((harness / module).rglob("*")):
        if file.suffix not in ENDINGS or TEST_FILE.search(file.as_posix()):
            continue
        for other in included_modules(file.read_text(), order) - {module}:
            used.setdefault(other, []).append(file.relative_to(harness.parent).as_posix())
    return used


def violations(harness: Path) -> list[str]:
    """Returns one line for each module that is included against the order, or by a pure module although it is not pure."""
    order, pure, found = module_order(harness), pure_modules(harness), []
    for module in order:
        for other, files in sorted(used_modules(harness, module, order).items()):
            if order.index(other) > order.index(module):
                found.append(
                    f"{module} must not include {other}, which comes after it in harness/CMakeLists.txt: {', '.join(files)}")
            elif module in pure and other not in pure:
                found.append(f"{module} is pure, and must not include {other}, which is not: {', '.join(files)}")
    return found


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
