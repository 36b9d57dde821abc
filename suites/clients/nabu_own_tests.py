#!/usr/bin/env python3
"""Compares the peaks of nabu's own padding tests by the pytest plugin with those by `peakmark record`.

    suites/clients/nabu_own_tests.py [--peakmark PROGRAM] [--sync] [-o FILE]

nabu 2023.2.0 and its tests come from PyPI, in the environment of make-environments. (Without CuPy, all but one of the tests of
2026.1.2 are skipped.) The tests run twice: with `pytest --device-memory`, where the plugin loads the recorder, and with
`peakmark record -- pytest`, where each test is a phase. They need an image that nabu would download; this script uses noise of
that shape, because no peak depends on the pixels.

Exit code 0 if all peaks are equal, 1 if one differs, 2 for wrong usage, an environment that cannot be made or a FILE that cannot
be written, 3 if the tests cannot be run or fail, 4 if none was measured.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MAKE_ENVIRONMENTS = HERE / "make-environments"
ENVIRONMENT, MODULE = "nabu-2023.2.0", "nabu.opencl.tests.test_padding"
# In the sources, built or installed, and in the tree that these suites were installed with.
PROGRAMS = [
    *(HERE.parents[1] / "build" / place / "peakmark" for place in ("prefix/bin", "release/harness/cli", "dev/harness/cli")),
    *(prefix / "bin/peakmark" for prefix in HERE.parents[3:4]),
]
IMAGE = (
    "import numpy; numpy.savez('brain_phantom.npz', data=numpy.random.default_rng(20260131).random((512, 512), 'float32'))"
)
EXIT_DIFFERS, EXIT_USAGE, EXIT_MEASUREMENT, EXIT_NOTHING = 1, 2, 3, 4


class RunError(Exception):
    """A run of the tests failed."""


def make_environment() -> Path:
    """Returns the Python of nabu's environment. Exits if it cannot be made."""
    made = subprocess.run([sys.executable, MAKE_ENVIRONMENTS, ENVIRONMENT], check=False)
    if made.returncode != 0:
        sys.exit(made.returncode)
    return Path(os.environ.get("PEAKMARK_ENVIRONMENTS") or "build/environments").absolute() / ENVIRONMENT / "bin/python"


def find_program(named: Path | None) -> Path | None:
    if named is not None:
        return named.resolve() if named.exists() else None
    found = next((program for program in PROGRAMS if program.exists()), None) or shutil.which("peakmark")
    return found and Path(found).resolve()


def environment_for(program: Path, folder: Path) -> dict[str, str]:
    """Returns the environment variables of the tests. The plugin uses the recorders of the same peakmark."""
    environment = dict(os.environ) | {"NABU_DATA": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    for up in program.parents:
        if (up / "lib/peakmark").is_dir():
            environment["PEAKMARK_LIBRARY_DIR"] = str(up / "lib/peakmark")
            break
    return environment


def run(what: str, command: list, folder: Path, environment: dict[str, str]) -> str:
    """Returns the standard output of a command. Raises RunError if it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RunError(f"{what}: {words[0]} cannot be started: {error.strerror}") from error
    if done.returncode != 0:
        raise RunError(f"{what} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def measure(python: Path, program: Path, sync: bool, folder: Path) -> tuple[dict, dict]:
    """Returns the plugin's report of one run, and the output of `show --json` for a recorded run."""
    environment = environment_for(program, folder)
    run("writing the image", [python, "-c", IMAGE], folder, environment)
    (folder / "all_testdata.json").write_text('["brain_phantom.npz"]', encoding="utf-8")  # nabu's list of files
    tests = [python, "-m", "pytest", "-q", "-p", "peakmark.pytest_plugin", "-p", "no:cacheprovider"]
    of_sync = (["--device-memory-sync"], ["--sync"]) if sync else ([], [])
    run(
        "pytest --device-memory",
        [*tests, "--device-memory", *of_sync[0], "--device-memory-json", "plugin.json", "--pyargs", MODULE],
        folder, environment,
    )  # fmt: skip
    run(
        "peakmark record",
        [program, "record", *of_sync[1], "-o", "profile", "--", *tests, "--device-memory-json", "phases.json", "--pyargs", MODULE],
        folder, environment,
    )  # fmt: skip
    try:
        shown = json.loads(run("peakmark show", [program, "show", "profile", "--json"], folder, environment))
    except ValueError as error:
        raise RunError(f"invalid JSON from {program} show --json: {error}") from error
    if not shown["complete"] or shown["lost_events"]:
        raise RunError("the recording is not complete")
    return json.loads((folder / "plugin.json").read_text(encoding="utf-8")), shown


def peaks_by_test(plugin: dict, shown: dict) -> list[tuple[str, int | None, int | None]]:
    """Returns (test, peak by the plugin, peak by `record`) of each test that has one of the peaks; None for the other."""
    ours = {one["test"]: one["memory"]["live_peak_bytes"] for one in plugin["tests"] if one["memory"] is not None}
    names = [*ours, *(one["test"] for one in plugin["tests"] if one["memory"] is None)]
    recorded = {phase["name"]: phase["peak_bytes"] for phase in shown["phases_by_name"] if "::" in phase["name"]}
    return [
        (name, ours.get(name), recorded.get(name))
        for name in dict.fromkeys([*names, *recorded])
        if name in ours or name in recorded
    ]


def table(peaks: list[tuple[str, int | None, int | None]]) -> str:
    lines = ["| test | by the plugin | by `peakmark record` | |", "|---|---|---|---|"]
    for name, ours, recorded in peaks:
        figures = " | ".join("–" if peak is None else f"{peak:,}" for peak in (ours, recorded))
        lines.append(f"| {name.partition('::')[2] or name} | {figures} | {'' if ours == recorded else 'differs'} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peakmark", type=Path, help="the program; default: of this tree, or in PATH")
    parser.add_argument("--sync", action="store_true", help="finish a queue after each command, in both runs")
    parser.add_argument("-o", "--output", type=Path, help="file to write the table to, instead of standard output")
    arguments = parser.parse_args()
    program = find_program(arguments.peakmark)
    if program is None:
        parser.error(f"program not found: {arguments.peakmark or 'peakmark'}; build it as ci/test release does, or use --peakmark")
    python = make_environment()
    try:
        with tempfile.TemporaryDirectory() as folder:
            reports = measure(python, program, arguments.sync, Path(folder))
    except RunError as error:
        print(f"nabu_own_tests: {error}", file=sys.stderr)
        return EXIT_MEASUREMENT
    peaks = peaks_by_test(*reports)
    if arguments.output is None:
        print(table(peaks), end="")
    else:
        try:
            arguments.output.write_text(table(peaks), encoding="utf-8")
        except OSError as error:
            print(f"nabu_own_tests: {arguments.output}: {error.strerror}", file=sys.stderr)
            return EXIT_USAGE
    differ = sum(ours != recorded for _, ours, recorded in peaks)
    print(f"nabu_own_tests: {len(peaks)} tests, {differ} with different peaks", file=sys.stderr)
    if not peaks:
        return EXIT_NOTHING
    return EXIT_DIFFERS if differ else 0


if __name__ == "__main__":
    sys.exit(main())
