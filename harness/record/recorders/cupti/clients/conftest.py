"""Runs CUDA clients on the fake driver, under peakmark. The driver and CUPTI are those of the build folder ($PEAKMARK_FAKES)."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[4]


class Client:
    """A program of this folder and the Python that has its packages."""

    def __init__(self, folder, program, variables=None):
        self.folder = folder
        self.words = [sys.executable, str(HERE / program)]
        self.command = os.environ.get("PEAKMARK_COMMAND") or str(ROOT / "build/release/harness/cli/peakmark")
        fakes = os.environ.get("PEAKMARK_FAKES") or str(ROOT / "build/release/harness/record/recorders/cupti/tests/lib")
        self.environment = {
            **os.environ,
            "LD_LIBRARY_PATH": os.pathsep.join([fakes + "/cupti13", fakes]),
            "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0",
            **(variables or {}),
        }

    def run(self, *words):
        return subprocess.run([self.command, *map(str, words)], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, check=False)

    def record(self, *arguments, options=(), code=0):
        """Returns the program's own accounting and `show --json` of its profile."""
        profile = self.folder / "client.profile"
        done = self.run("record", *options, "-o", profile, "--", *self.words, *arguments)
        assert done.returncode == code, done.stdout + done.stderr
        books = json.loads(done.stdout.splitlines()[-1]) if done.stdout.startswith("{") else {}
        self.output, self.errors = done.stdout, done.stderr
        return books, self.show("--json")

    def show(self, *options):
        done = self.run("show", *options, self.folder / "client.profile")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in options else done.stdout


@pytest.fixture
def client(tmp_path):
    return lambda program, **variables: Client(tmp_path, program, variables)


def kinds(shown):
    """Returns the peak of each kind."""
    return {kind: one["peak_bytes"] for kind, one in shown["by_kind"].items()}
