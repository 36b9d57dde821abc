"""plugin_check.py with a package that has the functions of CuPy that it calls, and its memory from OpenCL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = """
import pyopencl as cl
_context = cl.create_some_context(interactive=False)
_held = 0

class _Pool:
    def total_bytes(self): return _held
    def used_bytes(self): return _held

def get_default_memory_pool(): return _Pool()

def zeros(size, dtype):
    global _held
    _held += size + EXTRA
    return cl.Buffer(_context, cl.mem_flags.READ_WRITE, size + EXTRA)
"""


@pytest.mark.parametrize(("extra", "code", "said"), [(0, 0, "cupy: limit 67108864 passes"), (1, 1, "limit 67108864: pytest ended")])
def test_exactly_the_bytes_of_the_pool_pass(tmp_path, extra, code, said):
    pytest.importorskip("pyopencl")
    sys.path.insert(0, str(ROOT / "harness/python"))
    from peakmark import recorders

    recorder = recorders.find_library(recorders.OPENCL_RECORDER)
    if recorder is None:
        pytest.skip("peakmark's recorders are not built: ci/test release builds them")
    (tmp_path / "cupy.py").write_text(PACKAGE.replace("EXTRA", str(extra)))
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'harness/python'}", "PEAKMARK_LIBRARY_DIR": str(recorder.parent)}
    command = [sys.executable, ROOT / "ci/gpu/plugin_check.py", "cupy", tmp_path / "work"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.splitlines()[-1].startswith(said)) == (code, True), done.stdout + done.stderr
