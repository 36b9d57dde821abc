"""Runs peakmark as a user does."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parents[2]


def command():
    """Returns the program under test: $PEAKMARK_COMMAND, or a built one."""
    if named := os.environ.get("PEAKMARK_COMMAND"):
        return named
    for folder in ("prefix/bin", "release/harness/cli", "dev/harness/cli"):
        if (program := ROOT / "build" / folder / "peakmark").exists():
            return str(program)
    raise FileNotFoundError("build peakmark first, or name it in PEAKMARK_COMMAND")


def peakmark(*arguments, cwd=None, **environment):
    return subprocess.run(
        [command(), *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def environment():
    """Returns an environment in which Python finds the modules of this folder and of the package."""
    return {
        "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)]),
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
    }


def shown_of(folder, program):
    """Records a program and returns the output of `show --json`."""
    profile = folder / "program.profile"
    record = peakmark("record", "-o", profile, "--", *program, **environment())
    assert record.returncode == 0, record.stderr
    show = peakmark("show", profile, "--json")
    assert show.returncode == 0, show.stderr
    return json.loads(show.stdout)


def recorded(folder, script):
    """Does the same with a Python program."""
    program = folder / "program.py"
    program.write_text(textwrap.dedent(script))
    return shown_of(folder, [sys.executable, program])


def library_folder():
    """Returns the folder of the recorders of the program under test."""
    program = pathlib.Path(command()).resolve()
    return next(up / "lib" / "peakmark" for up in program.parents if (up / "lib" / "peakmark").is_dir())


def measured(folder, script, **variables):
    """Runs a Python program that loads the recorder itself. Parses its output as JSON."""
    program = folder / "program.py"
    program.write_text(textwrap.dedent(script))
    run = subprocess.run(
        [sys.executable, program],
        env={**os.environ, **environment(), "PEAKMARK_LIBRARY_DIR": str(library_folder()), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
