"""A small project in which pytest runs with the plugin, as for its users."""

import json
import os
import re
import subprocess
import sys
import textwrap

from recorded import environment, library_folder

PYOPENCL = """
import numpy as np
import pyopencl as cl
import pytest


@pytest.fixture(scope="module")
def queue():
    return cl.CommandQueue(cl.create_some_context(interactive=False))


# No command uses the buffer: a command keeps it, and PoCL 3.1 releases it shortly after clFinish() has returned.
def device_buffer(queue, size):
    return cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size)

"""


class Project:
    def __init__(self, folder):
        self.folder = folder

    def write(self, **files):
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(PYOPENCL + textwrap.dedent(text))
        return self

    def pytest(self, *options, code, **variables):
        """Runs pytest, expects exit code `code`, and returns its output."""
        # Without the variables of the pytest that runs this test.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_") and name != "CI"}
        # Without bytecode: Python would not notice a file that is rewritten within a second with the same length.
        inherited["PYTHONDONTWRITEBYTECODE"] = "1"
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "peakmark.pytest_plugin", *options],
            cwd=self.folder,
            env={**inherited, **environment(), "PEAKMARK_LIBRARY_DIR": str(library_folder()), **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == code, run.stdout + run.stderr
        return run.stdout + run.stderr

    def results(self, name="memory.json"):
        """Returns the results of --device-memory-json by test name."""
        document = json.loads((self.folder / name).read_text())
        assert document["version"] == 1
        return {one["test"].rpartition("::")[2]: one for one in document["tests"]}


def outcomes(said):
    """Returns the counts of the last line, such as {"passed": 2}."""
    last = [line for line in said.splitlines() if re.search(r" in \d", line)][-1]
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", last.partition(" in ")[0])}
