"""Tests the commands that a wheel installs: Python that executes the program."""

import os
import shutil
import subprocess
import sys

import recorded


def test_init_prints_the_command_that_was_typed(tmp_path):
    package = tmp_path / "packages/peakmark"
    shutil.copytree(recorded.ROOT / "harness/python/peakmark", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "installed/bin").mkdir(parents=True)
    # A copy of the wheel's program would not find the libraries next to it.
    (package / "installed/bin/peakmark").symlink_to(recorded.command())
    bin_folder = tmp_path / "venv/bin"
    bin_folder.mkdir(parents=True)
    command = bin_folder / "peakmark"
    command.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, '{package.parent}')\n"
        "from peakmark.installed_programs import peakmark\nsys.exit(peakmark())\n"
    )
    command.chmod(0o755)

    def said_last(typed: str, path: str) -> str:
        project = tmp_path / f"project-{len(typed)}"
        project.mkdir()
        shell = ["/bin/sh", "-c", f"{typed} init"]
        answer = subprocess.run(shell, cwd=project, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True)
        return answer.stdout.splitlines()[-1]

    path = os.environ["PATH"]
    assert said_last("peakmark", f"{bin_folder}:{path}") == "  peakmark check build/run.json"
    assert said_last(f"'{command}'", path) == f"  {command} check build/run.json"
