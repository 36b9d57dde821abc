"""A toy program of a suite, and functions that run suites."""

import json
import sys

import pytest
from recorded import environment, peakmark

PROGRAM = """
import os
import pathlib
import sys
import peakmark
from small_opencl import Context

marker = pathlib.Path(os.environ["MARKER"])
grows = 500 if marker.exists() else 0
marker.touch()

what, n = sys.argv[1], int(sys.argv[2])
context = Context()
with peakmark.phase("setup"):
    table = context.buffer(64)
    peakmark.name(table, "table")
with peakmark.phase("inputs"):
    image = context.buffer(1000 * n)
    peakmark.name(image, "image")
with peakmark.phase("outputs"):
    result = context.buffer(100 * n)
for call in range(3):
    with peakmark.phase("call"):
        if what == "crash":
            raise RuntimeError("as it happens")
        if what == "signal":
            import signal
            os.kill(os.getpid(), signal.SIGSEGV)
        if what == "memory":
            context.buffer(2**62)
        if what == "flags":
            context.buffer(100, flags=7)  # to be read and written, only written, and only read
        if what == "hang":
            import time
            print("still here", file=sys.stderr, flush=True)
            time.sleep(1000)
        if what == "unlike":
            context.buffer(1 + grows).release()
        with peakmark.phase("work"):
            scratch = context.buffer(10 * n)
        scratch.release()
if what == "wrong":
    print("3 pixels are off")
    sys.exit(peakmark.WRONG_ANSWER)
if what == "unsupported":
    sys.exit(peakmark.UNSUPPORTED)
if what == "leak":
    with peakmark.phase("end"):
        result.release()
context.buffer(50_000 * n)  # checks its result
"""

SUITE = f"""
name = "programs"

[[program]]
variant = "toy/marked"
command = ["{sys.executable}", "{{suite_folder}}/program.py", "{{what}}", "{{n}}"]
environment = {{ MARKER = "{{suite_folder}}/marker" }}
slice_axis = "n"
axes.what = {{ default = "well", choices = ["well", "crash", "signal", "memory", "flags", "hang", "unlike", "wrong", "unsupported", "leak"] }}
axes.n = {{ default = 1, min = 1 }}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def write_suite(folder, text):
    (folder / "s.toml").write_text(SUITE + text)


def run(folder, *options, code=0, **variables):
    result = peakmark("run", "s.toml", *options, cwd=folder, **environment(), **variables)
    assert result.returncode == code, result.stderr
    document = json.loads((folder / "run.json").read_text())
    return {row["peakmark"]["case"]: row["peakmark"] for row in document["benchmarks"] if "peakmark" in row}, result


def sweep(text, variants="toy/marked"):
    return f'\n[[sweep]]\nvariants = "{variants}"\n{text}\n'
