"""Tests windows in a running process, on PoCL."""

import json
import os
import random
import subprocess
import sys
import types

import pytest
from recorded import ROOT, environment, library_folder, measured, peakmark

from peakmark.windows import default_pools, pool_usage

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
    figures = measured(
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
    assert figures == {
        "outer": [1500, 7000, 8500, 1000],
        "inner": [300, 1300, 8300, 0],
        "counts": [3, 1800, 0],
        "at_peak": [["second", "buffer", "call", 300, 1]],
        "since": [["", 1000], ["second", 300]],
        "left": [[1000, 1]],
        "notes": [], "pools": [], "beside": {},
        "repr": "<Window 'outer', peak 1.465 KiB (1500 B), left 1000 B>",
    }  # fmt: skip


def test_a_window_waits_for_queues(tmp_path):
    """A running command keeps its memory, so a window finishes every queue at its ends."""
    figures = measured(
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
    assert figures == [[0] * 20, 1 << 22]


def test_a_window_does_not_wait_for_an_unset_user_event(tmp_path):
    figures = measured(
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
    assert figures == [[note], [note], []]


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


@pytest.mark.parametrize("seed", range(4))
def test_a_window_of_a_random_program_has_the_figures_of_show(tmp_path, seed):
    chance = random.Random(seed)
    lines, live = [], []
    for i in range(300):
        if live and chance.random() < 0.45:
            lines.append(f"live.pop({chance.randrange(len(live))}).release()")
            live.pop()
        else:
            lines.append(f"live.append(context.buffer({chance.randrange(1, 10000)}))")
            live.append(i)
        if chance.random() < 0.1:
            lines.append(f"peakmark.phase({'é phase ' * chance.randrange(9) + str(i % 3)!r}).__enter__()")
        if live and chance.random() < 0.1:
            lines.append(f"peakmark.name(live[{chance.randrange(len(live))}], 'name {i % 4}')")
        if chance.random() < 0.1:
            lines.append("with Window(): pass")  # reads the events so far
    program = tmp_path / "program.py"
    program.write_text(
        CONTEXT + "live = []\nwindow = Window().__enter__()\n" + "\n".join(lines) + """
window.__exit__(None, None, None)
print(json.dumps([
    [window.peak_bytes, window.left_bytes, window.allocations, window.total_bytes],
    [[one.name, one.kind, one.phase, one.bytes, one.count] for one in window.at_peak()],
]))
"""
    )
    profile = tmp_path / "profile"
    record = peakmark("record", "-o", profile, "--", sys.executable, program, **environment())
    assert record.returncode == 0, record.stderr
    shown = json.loads(peakmark("show", profile, "--json").stdout)
    figures, at_peak = json.loads(record.stdout)
    assert figures == [shown["requested"][key] for key in ("peak_bytes", "live_at_end_bytes", "allocations", "total_bytes")]
    assert sorted(at_peak) == sorted(
        [one["name"], one["kind"], one["phase"], one["bytes"], one["count"]] for one in shown["at_peak"]
    )


def test_the_profile_is_removed_with_the_process(tmp_path):
    script = BEGIN + "recorders.load()\nfrom small_opencl import Context\nContext().buffer(5)\nprint(json.dumps(0))"
    measured(tmp_path, script, TMPDIR=str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


def test_call_stacks_name_the_place(tmp_path):
    figures = measured(
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
    assert len(figures) == 1 and "__init__ small_opencl.py:" in figures[0]


def test_children_count_merged_by_time(tmp_path):
    """Peaks of processes are not added, since a process that has ended holds no memory."""
    figures = measured(
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
    assert figures == [
        1110, 1000, ["the memory of 3 child processes is in these figures"], [[1000, False], [110, True]],
        61, 61, 1061, 2, [1000, 0],
    ]  # fmt: skip


def test_memory_of_a_killed_child_counts_until_its_end_is_noticed(tmp_path):
    figures = measured(
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
    assert figures[:2] == [57, 0]
    assert figures[2][1].startswith("2 child processes ended unseen, killed or by os._exit: counted as holding memory until")


def test_a_program_that_clears_its_environment_is_still_recorded(tmp_path):
    """Tests of programs may clear the environment for a while. Loaded recorders, open phases and windows are kept."""
    figures = measured(
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
    assert figures == [50, 7, 3, [["kept", ""], ["", ""], ["", "call"]]]


def test_a_window_has_figures_if_only_a_child_process_allocates(tmp_path):
    figures = measured(
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
    assert figures == [True, 50, 0]


def test_a_forked_child_has_its_own_windows(tmp_path):
    figures = measured(
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
    assert figures == [[30, 30], 1030]


REFUSALS = {
    "after the first call": (
        "from small_opencl import Context\ncontext = Context()\nrecorders.load()",
        "RecorderTooLate", "OpenCL was called before peakmark could load its recorder. Run the program with",
    ),
    "not installed": ("recorders.load()", "NoRecorder", "are not installed: searched"),
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
        "RecorderError", "a window can be entered only once",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSALS)
def test_errors_have_what_to_do(tmp_path, what):
    script, kind, text = REFUSALS[what]
    program = "\n".join([
        BEGIN, "try:", *("    " + line for line in (script + "\nwith Window(): pass").split("\n")),
        "    print(json.dumps(None))", "except recorders.RecorderError as error:",
        "    print(json.dumps([type(error).__name__, str(error)]))",
    ])  # fmt: skip
    folder = str(tmp_path) if what == "not installed" else str(library_folder())
    figures = measured(tmp_path, program, PEAKMARK_LIBRARY_DIR=folder)
    assert figures is not None and figures[0] == kind and text in figures[1]


def test_supported_pools(monkeypatch):
    pool = types.SimpleNamespace(total_bytes=lambda: 512, used_bytes=lambda: 100)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(get_default_memory_pool=lambda: pool))
    cuda = types.SimpleNamespace(
        is_initialized=lambda: True, memory_reserved=lambda: 2048, memory_allocated=lambda: 24
    )
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    assert [(one.name, one.held_bytes, one.used_bytes) for one in default_pools()] == [
        ("CuPy's pool", 512, 100), ("torch's pool", 2048, 24),
    ]  # fmt: skip
    own = pool_usage(types.SimpleNamespace(managed_bytes=64, active_bytes=32), "mine")
    assert (own.held_bytes, own.used_bytes) == (64, 32)
    with pytest.raises(TypeError, match="unsupported pool: a list"):
        pool_usage([], "mine")


def test_the_module_is_typed():
    mypy = pytest.importorskip("mypy.api", reason="mypy is in ci/requirements-test.txt")
    out, _, code = mypy.run(
        ["--strict", "--python-version", "3.10", "--cache-dir", os.devnull, str(ROOT / "harness/python/peakmark")]
    )
    assert code == 0, out
