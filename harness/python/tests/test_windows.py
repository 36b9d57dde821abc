"""Windows in a process that runs, on PoCL."""

import json
import os
import subprocess
import sys
import types

import pytest
from recorded import ROOT, environment, library_folder, measured, peakmark

from peakmark.pools import known_pools, usage_of
from peakmark.recorders import RecorderError
from peakmark.windows import check_notes

BEGIN = """
import json, os, sys, peakmark
from peakmark import recorders
from peakmark.windows import Window
"""


def test_a_window_is_exact_and_windows_nest(tmp_path):
    told = measured(
        tmp_path,
        BEGIN
        + """
recorders.load()
from small_opencl import Context
context = Context()
before = context.buffer(7000)
with Window("outer") as outer:
    kept = context.buffer(1000)
    context.buffer(500).release()
    with Window("inner", since=outer) as inner:
        with peakmark.phase("call"):
            second = context.buffer(300)
            peakmark.name(second, "second")
        second.release()
print(json.dumps({
    "outer": [outer.peak_bytes, outer.live_at_start_bytes, outer.live_peak_bytes, outer.left_bytes],
    "inner": [inner.peak_bytes, inner.peak_since_bytes, inner.live_peak_bytes, inner.left_bytes],
    "counts": [outer.allocations, outer.total_bytes, outer.failed_allocations],
    "at_peak": [[one.name, one.kind, one.phase, one.bytes, one.count] for one in inner.at_peak()],
    "since": [[one.name, one.bytes] for one in inner.since_at_peak()],
    "left": [[one.bytes, one.count] for one in outer.left()],
    "notes": outer.notes, "pools": outer.pools, "beside": outer.beside_the_peak, "repr": repr(outer),
}))
""",
    )
    assert told == {
        "outer": [1500, 7000, 8500, 1000],
        "inner": [300, 1300, 8300, 0],
        "counts": [3, 1800, 0],
        "at_peak": [["second", "buffer", "call", 300, 1]],
        "since": [["", 1000], ["second", 300]],
        "left": [[1000, 1]],
        "notes": [], "pools": [], "beside": {},
        "repr": "<Window 'outer', peak 1.465 KiB (1500 B), left 1000 B>",
    }  # fmt: skip


def test_what_a_queue_still_works_on_is_waited_for(tmp_path):
    """A command keeps its memory; at the edge of a window every queue is finished."""
    told = measured(
        tmp_path,
        BEGIN
        + """
recorders.load()
from small_opencl import Context
context = Context()
left = []
for i in range(20):
    with Window() as window:
        buffer = context.buffer(1 << 22)
        context.fill(buffer, 1 << 22)
        buffer.release()
    left.append(window.left_bytes)
print(json.dumps([left, window.peak_bytes]))
""",
    )
    assert told == [[0] * 20, 1 << 22]


def test_a_user_event_that_is_not_set_is_not_waited_for(tmp_path):
    told = measured(
        tmp_path,
        BEGIN
        + """
recorders.load()
import ctypes
from small_opencl import Context, _library
context = Context()
_library.clCreateUserEvent.restype = ctypes.c_void_p
with Window() as window:
    event = _library.clCreateUserEvent(context._context, None)
with Window() as after:
    _library.clSetUserEventStatus(ctypes.c_void_p(event), 0)
with Window() as last: pass
print(json.dumps([window.notes, after.notes, last.notes]))
""",
    )
    note = "the device was not waited for: a user event is not set yet, and a queue may be waiting for it"
    assert told == [[note], [note], []]


@pytest.mark.parametrize("note", ["invalid: CUPTI has ended", "not counted: what comes through another loader"])
def test_a_recording_that_is_not_whole_has_no_figures(note):
    check_notes(["clImportMemoryARM was asked for"])
    with pytest.raises(RecorderError, match=note):
        check_notes(["something", note])


def test_a_window_agrees_with_record_and_show(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        BEGIN
        + """
from small_opencl import Context
context = Context()
with Window() as window:
    kept = [context.buffer(size) for size in range(1, 2000, 7)]
    for one in kept[::2]: one.release()
    kept += [context.buffer(999) for _ in range(100)]
print(json.dumps([window.peak_bytes, window.allocations, window.left_bytes, window.total_bytes]))
"""
    )
    profile = tmp_path / "profile"
    record = peakmark("record", "-o", profile, "--", sys.executable, program, **environment())
    assert record.returncode == 0, record.stderr
    shown = json.loads(peakmark("show", profile, "--json").stdout)["requested"]
    assert json.loads(record.stdout) == [
        shown["peak_bytes"], shown["allocations"], shown["live_at_end_bytes"], shown["total_bytes"],
    ]  # fmt: skip


def test_the_profile_goes_with_the_process(tmp_path):
    script = BEGIN + "recorders.load()\nfrom small_opencl import Context\nContext().buffer(5)\nprint(json.dumps(0))"
    measured(tmp_path, script, TMPDIR=str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


def test_call_stacks_name_the_place(tmp_path):
    told = measured(
        tmp_path,
        BEGIN
        + """
recorders.load(stacks=True)
from small_opencl import Context
context = Context()
with Window() as window:
    kept = context.buffer(10)
print(json.dumps([one.site for one in window.at_peak()]))
""",
    )
    assert len(told) == 1 and told[0].startswith("Buffer.__init__ small_opencl.py:")


def test_children_are_told_of_and_not_counted(tmp_path):
    told = measured(
        tmp_path,
        BEGIN
        + """
import subprocess
recorders.load()
from small_opencl import Context
context = Context()
with Window() as window:
    subprocess.run([sys.executable, "-c", "from small_opencl import *; Context().buffer(50)"], check=True)
print(json.dumps([window.peak_bytes, window.notes]))
""",
    )
    assert told == [0, ["1 other processes used a device: their memory is not in these figures"]]


def test_a_forked_child_has_windows_of_its_own(tmp_path):
    told = measured(
        tmp_path,
        BEGIN
        + """
recorders.load()
from small_opencl import Context
context = Context()
read, write = os.pipe()
with Window() as window:
    kept = context.buffer(1000)
    if os.fork() == 0:
        with Window() as inner:
            mine = context.buffer(30)
        os.write(write, json.dumps([inner.peak_bytes, inner.live_peak_bytes]).encode())
        os._exit(0)
    os.wait()
print(json.dumps([json.loads(os.read(read, 100)), window.peak_bytes]))
""",
    )
    assert told == [[30, 30], 1000]


REFUSALS = {
    "after the first call": (
        "from small_opencl import Context\ncontext = Context()\nrecorders.load()",
        "RecorderTooLate", "OpenCL was called before peakmark could load its recorder. Run the whole program by",
    ),
    "not installed": ("recorders.load()", "NoRecorder", "are not installed: looked in"),
    "a window that is open": (
        "recorders.load()\nfrom small_opencl import Context\nContext()\nwith Window() as window: window.peak_bytes",
        "RecorderError", "the window is still open",
    ),
    "nothing called": (
        "recorders.load()\nwith Window() as window: pass\nwindow.peak_bytes",
        "RecorderError", "neither OpenCL nor CUDA was called",
    ),
    "entered twice": (
        "recorders.load()\nwindow = Window()\nwith window: pass\nwith window: pass",
        "RecorderError", "a window is entered once",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSALS)
def test_what_cannot_be_is_told_with_what_to_do(tmp_path, what):
    script, kind, text = REFUSALS[what]
    program = "\n".join([
        BEGIN, "try:", *("    " + line for line in (script + "\nwith Window(): pass").split("\n")),
        "    print(json.dumps(None))", "except recorders.RecorderError as error:",
        "    print(json.dumps([type(error).__name__, str(error)]))",
    ])  # fmt: skip
    folder = str(tmp_path) if what == "not installed" else str(library_folder())
    told = measured(tmp_path, program, PEAKMARK_LIBRARY_DIR=folder)
    assert told is not None and told[0] == kind and text in told[1]


def test_no_driver_is_no_recorder(tmp_path):
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    script = BEGIN + (
        "import ctypes\nctypes.CDLL('libOpenCL.so.1')\nrecorders.load()\ntry:\n    recorders.require_loaded()\n"
        "except recorders.NoRecorder as error:\n    print(json.dumps(str(error)))"
    )
    told = measured(tmp_path, script, OCL_ICD_VENDORS=str(vendors), OPENCL_VENDOR_PATH=str(vendors))
    assert "no OpenCL driver was found" in told


def test_pools_that_are_known(monkeypatch):
    pool = types.SimpleNamespace(total_bytes=lambda: 512, used_bytes=lambda: 100)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(get_default_memory_pool=lambda: pool))
    cuda = types.SimpleNamespace(
        is_initialized=lambda: True, memory_reserved=lambda: 2048, memory_allocated=lambda: 24
    )
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    assert [(one.name, one.held_bytes, one.used_bytes) for one in known_pools()] == [
        ("CuPy's pool", 512, 100), ("torch's pool", 2048, 24),
    ]  # fmt: skip
    own = usage_of(types.SimpleNamespace(managed_bytes=64, active_bytes=32), "mine")
    assert (own.held_bytes, own.used_bytes) == (64, 32)
    with pytest.raises(TypeError, match="a list is no pool that is known"):
        usage_of([], "mine")


def test_the_module_is_typed():
    mypy = pytest.importorskip("mypy.api", reason="mypy is in ci/requirements-test.txt")
    out, _, code = mypy.run(
        ["--strict", "--python-version", "3.10", "--cache-dir", os.devnull, str(ROOT / "harness/python/peakmark")]
    )
    assert code == 0, out


def test_the_variables_of_a_recording_can_be_taken_off():
    code = "from peakmark.recorders import *; load(); print(sorted(set(os.environ) - set(environment_without_recorders())))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment(), "PEAKMARK_LIBRARY_DIR": str(library_folder())},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "'OPENCL_LAYERS', 'PEAKMARK_PROFILE'" in run.stdout
