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
CONTEXT = BEGIN + """
recorders.load()
from small_opencl import Context
context = Context()
"""
CHILD = """
def child(*sizes, ends="sys.exit()"):
    script = f"import os, sys\\nfrom small_opencl import *\\ncontext = Context()\\nkept = [context.buffer(n) for n in {sizes}]"
    return [sys.executable, "-c", script + "\\nprint(flush=True)\\nsys.stdin.read()\\n" + ends]

class Child:
    def __init__(self, *sizes, through=(), **how):
        self.process = subprocess.Popen([*through, *child(*sizes, **how)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()  # it has allocated

    def end(self):
        self.process.communicate()
"""


def test_a_window_is_exact_and_windows_nest(tmp_path):
    told = measured(
        tmp_path,
        CONTEXT
        + """
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
        CONTEXT
        + """
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
    note = "the device was not waited for: a user event is not set yet, and a queue may wait for it"
    assert told == [[note], [note], []]


@pytest.mark.parametrize("note", ["invalid: CUPTI has ended", "not counted: what comes through another loader"])
def test_a_recording_that_is_not_whole_has_no_figures(note):
    check_notes(["clImportMemoryARM was asked for"])
    with pytest.raises(RecorderError, match=note):
        check_notes(["something", note])


def test_a_window_agrees_with_record_and_show(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        CONTEXT
        + CHILD
        + """
import subprocess
with Window() as window:
    kept = [context.buffer(size) for size in range(1, 2000, 7)]
    for one in kept[::2]: one.release()
    kept += [context.buffer(999) for _ in range(100)]
with Window() as children:
    for size in (10**6, 2 * 10**6): Child(size).end()
print(json.dumps([window.peak_bytes, window.allocations, window.left_bytes, window.total_bytes, children.live_peak_bytes]))
"""
    )
    profile = tmp_path / "profile"
    record = peakmark("record", "-o", profile, "--", sys.executable, program, **environment())
    assert record.returncode == 0, record.stderr
    shown = json.loads(peakmark("show", profile, "--json").stdout)
    own = shown["requested"]
    assert json.loads(record.stdout) == [
        own["peak_bytes"], own["allocations"], own["live_at_end_bytes"], own["total_bytes"], shown["tree_peak_bytes"],
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
    # Python names the class from 3.11 on.
    assert len(told) == 1 and "__init__ small_opencl.py:" in told[0]


def test_children_count_merged_by_time(tmp_path):
    """Never a sum of peaks: what has ended holds nothing."""
    told = measured(
        tmp_path,
        CONTEXT
        + CHILD
        + """
import subprocess
with Window("all") as window:
    first = context.buffer(1000)
    Child(50, 60).end()
    with Window("two") as two:
        together = [Child(30), Child(31, through=["sh", "-c", '"$@"; true', "sh"])]
    for one in together: one.end()
    with Window("after") as after: pass
print(json.dumps([
    window.peak_bytes, window.left_bytes, window.notes, [[one.bytes, one.child] for one in window.at_peak()],
    two.peak_bytes, two.left_bytes, two.live_peak_bytes, two.allocations, [after.live_at_start_bytes, after.peak_bytes],
]))
""",
    )
    assert told == [
        1110, 1000, ["the memory of 3 child processes is in these figures"], [[1000, False], [110, True]],
        61, 61, 1061, 2, [1000, 0],
    ]  # fmt: skip


def test_a_child_that_ends_unseen_is_counted_until_that_is_noticed(tmp_path):
    told = measured(
        tmp_path,
        CONTEXT
        + CHILD
        + """
import subprocess
with Window() as window:
    Child(50, ends="os._exit(0)").end()
    other = Child(7)
    other.process.kill()
    os.waitid(os.P_PID, other.process.pid, os.WEXITED | os.WNOWAIT)
print(json.dumps([window.peak_bytes, window.left_bytes, window.notes]))
""",
    )
    assert told[:2] == [57, 0]
    assert told[2][1].startswith("2 child processes ended unseen, killed or by os._exit: counted as holding memory until")


def test_a_program_that_clears_its_environment_is_recorded_all_the_same(tmp_path):
    """As tests do for a while. A recorder that is there stays, and so does what was begun before."""
    told = measured(
        tmp_path,
        CONTEXT
        + CHILD
        + """
import subprocess
from unittest import mock
with Window("within") as within:
    Child(50).end()
    with mock.patch.dict(os.environ, clear=True):
        kept = context.buffer(30)
        peakmark.name(kept, "kept")
        with Window("cleared") as cleared:
            second = context.buffer(7)
        with peakmark.phase("call"), peakmark.record() as profile:
            third = context.buffer(3)
    os.environ.clear()
print(json.dumps([within.peak_bytes, cleared.peak_bytes, profile.peak_bytes, [[one.name, one.phase] for one in within.left()]]))
""",
    )
    assert told == [50, 7, 3, [["kept", ""], ["", ""], ["", "call"]]]


def test_a_child_alone_is_enough_for_figures(tmp_path):
    told = measured(
        tmp_path,
        BEGIN
        + CHILD
        + """
import subprocess
recorders.load()
with Window() as window:
    Child(50).end()
print(json.dumps([window.recorded, window.peak_bytes, window.left_bytes]))
""",
    )
    assert told == [True, 50, 0]


def test_a_forked_child_has_windows_of_its_own(tmp_path):
    told = measured(
        tmp_path,
        CONTEXT
        + """
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
    assert told == [[30, 30], 1030]


REFUSALS = {
    "after the first call": (
        "from small_opencl import Context\ncontext = Context()\nrecorders.load()",
        "RecorderTooLate", "OpenCL was called before peakmark could load its recorder. Run the whole program by",
    ),
    "after the first call, with CUDA's recorder there": (
        "import types\nfrom small_opencl import Context\ncontext = Context()\nrecorders.load()\n"
        "recorders.loaded_recorders = lambda: [types.SimpleNamespace(_name='libpeakmark-cupti.so')]",
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
