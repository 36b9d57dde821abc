import os
import subprocess
import sys
import types

import pytest
from recorded import ROOT, environment, library_folder, recorded, shown_of

import peakmark
from peakmark import marks


def phases_of(shown):
    return [(phase["name"], phase["peak_bytes"]) for phase in shown["phases"]]


def test_phases_nest_and_restore_the_previous_one(tmp_path):
    shown = recorded(
        tmp_path,
        """
        import peakmark
        from small_opencl import Context
        context = Context()
        with peakmark.phase("call"):
            first = context.buffer(1000)
            with peakmark.phase("fft"):
                second = context.buffer(200)
                second.release()
            third = context.buffer(30)
        first.release()
        """,
    )
    assert phases_of(shown) == [("", 0), ("call", 1000), ("call/fft", 1200), ("call", 1030), ("", 1030)]


def test_a_phase_before_the_first_call_into_opencl_is_not_lost(tmp_path):
    shown = recorded(
        tmp_path,
        """
        import peakmark
        assert not peakmark.recording()
        with peakmark.phase("setup"):
            from small_opencl import Context
            context = Context()
            table = context.buffer(4096)
            assert peakmark.recording()
        with peakmark.phase("call"):
            context.buffer(100)
        """,
    )
    assert phases_of(shown) == [("", 0), ("setup", 4096), ("", 4096), ("call", 4196), ("", 4196)]


def test_a_child_does_not_begin_in_its_parents_phase(tmp_path):
    shown = recorded(
        tmp_path,
        """
        import subprocess, sys, peakmark
        with peakmark.phase("setup"):
            from small_opencl import Context
            buffer = Context().buffer(1000)
            subprocess.run([sys.executable, "-c", "from small_opencl import *; Context().buffer(50)"], check=True)
        """,
    )
    assert phases_of(shown) == [("", 0), ("setup", 1000), ("", 1000)]
    assert [phase["name"] for phase in shown["processes"][0]["phases"]] == [""]


def test_a_function_can_be_a_phase_and_an_exception_ends_it(tmp_path):
    shown = recorded(
        tmp_path,
        """
        import peakmark
        from small_opencl import Context, OpenCLError
        context = Context()

        @peakmark.phase("call")
        def call():
            return context.buffer(10)

        kept = [call(), call()]
        try:
            with peakmark.phase("too large"):
                context.buffer(2**62)
        except OpenCLError:
            kept.append(context.buffer(5))
        """,
    )
    assert phases_of(shown) == [
        ("", 0), ("call", 10), ("", 10), ("call", 20), ("", 20), ("too large", 20), ("", 25),
    ]  # fmt: skip
    assert shown["phases"][5]["failed_allocations"] == 1


def test_names_are_in_tables(tmp_path):
    shown = recorded(
        tmp_path,
        """
        import peakmark
        from small_opencl import Context
        context = Context()
        by_object, by_address = context.buffer(300), context.buffer(20)
        peakmark.name(by_object, "filter")
        peakmark.name(by_address.int_ptr, "table")
        try:
            peakmark.name("no memory", "nothing")
            raise SystemExit("a text has no address")
        except TypeError as error:
            assert "str" in str(error)
        """,
    )
    assert [(one["name"], one["bytes"]) for one in shown["at_peak"]] == [("filter", 300), ("table", 20)]


def test_phases_of_two_threads_that_overlap_end_both(tmp_path):
    shown = recorded(
        tmp_path,
        """
        import threading, peakmark
        from small_opencl import Context
        context = Context()
        first_open, both_open, first_ended = threading.Event(), threading.Event(), threading.Event()

        def first():
            with peakmark.phase("call"):
                first_open.set()
                both_open.wait()
            first_ended.set()

        def second():
            first_open.wait()
            with peakmark.phase("fft"):
                both_open.set()
                first_ended.wait()
                kept.append(context.buffer(10))

        kept = []
        threads = [threading.Thread(target=one) for one in (first, second)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        kept.append(context.buffer(200))
        """,
    )
    assert phases_of(shown) == [("", 0), ("call", 0), ("call/fft", 10), ("", 210)]


def test_a_forked_child_starts_without_a_phase_even_if_threads_of_its_parent_mark(tmp_path):
    shown = recorded(
        tmp_path,
        """
        import os, threading, peakmark
        from peakmark import marks
        from small_opencl import Context
        held, done = threading.Event(), threading.Event()

        def hold():
            with marks._lock:
                held.set()
                done.wait()

        with peakmark.phase("setup"):
            context = Context()
            buffer = context.buffer(1000)
            holder = threading.Thread(target=hold)
            holder.start()
            held.wait()
            child = os.fork()
            if child == 0:
                with peakmark.phase("call"):
                    inner = context.buffer(50)
            else:
                assert os.waitpid(child, 0)[1] == 0
                done.set()
                holder.join()
        if child == 0:
            after = context.buffer(7)
            os._exit(0)
        """,
    )
    assert phases_of(shown) == [("", 0), ("setup", 1000), ("", 1000)]
    assert [phases_of(process) for process in shown["processes"]] == [[("", 0), ("call", 50), ("", 57)]]


STRANGE = {"half of a character": "\udc80", "nul": "a\0b", "no text": 5, "nothing": None}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
def test_an_unusual_text_has_the_same_effect_with_and_without_a_recorder(text, tmp_path):
    script = f"""
        import peakmark
        from small_opencl import Context
        context = Context()
        first = context.buffer(5)
        def said(ended): print(ended, file=open({str(tmp_path / "said")!r}, "a"))
        def empty_phase():
            with peakmark.phase({text!r}): pass
        for mark in (empty_phase, lambda: peakmark.name(first, {text!r}),
                     lambda: peakmark.name([1, 2], "x")):
            try: said(mark())
            except Exception as error: said(type(error).__name__)
        with peakmark.phase("call"):
            second = context.buffer(10)
        """
    shown = recorded(tmp_path, script)
    known = isinstance(text, str)
    cleaned = {"\udc80": "\\udc80", "a\0b": "a\\x00b"}.get(text)
    assert [name for name, _ in phases_of(shown)] == (
        ["", cleaned, "", "call", ""] if known else ["", "call", ""]
    )
    while_recorded = (tmp_path / "said").read_text()
    assert while_recorded == ("None\nNone\nTypeError\n" if known else "TypeError\nTypeError\nTypeError\n")
    (tmp_path / "said").unlink()
    subprocess.run([sys.executable, tmp_path / "program.py"], env={**os.environ, **environment()}, check=True)
    assert (tmp_path / "said").read_text() == while_recorded


def test_marks_without_a_recorder_have_no_effect(monkeypatch):
    monkeypatch.delenv("PEAKMARK_PROFILE", raising=False)
    with peakmark.phase("call"):
        peakmark.name(4096, "filter")
    assert not peakmark.recording()


def test_a_forked_child_does_not_begin_in_its_parents_phase(tmp_path):
    shown = recorded(
        tmp_path,
        """
        import os, peakmark
        with peakmark.phase("setup"):
            if os.fork() == 0:
                from small_opencl import Context
                Context().buffer(50)
                os._exit(0)
            os.wait()
        """,
    )
    assert [phase["name"] for phase in shown["phases"]] == [""]


MARKS_OF_THREADS = """
    #include <peakmark/phase.h>
    #include <pthread.h>
    #include <stdio.h>
    extern char** environ;
    static void* read_environment(void* stop) {
      unsigned long found = 0;
      while (!__atomic_load_n((int*)stop, __ATOMIC_RELAXED)) found += getenv("PATH") != NULL;
      return (void*)found;
    }
    static void* mark(void* name) {
      int i;
      for (i = 0; i < 200; ++i) {
        peakmark_phase((const char*)name);
        peakmark_name(i, (const char*)name);
      }
      return NULL;
    }
    int main(void) {
      char* before[1000];
      char name[] = "a longer name each time", other[] = "other";
      int stop = 0, i, changed = 0;
      pthread_t readers[2], markers[2];
      for (i = 0; environ[i] != NULL && i < 999; ++i) before[i] = environ[i];
      before[i] = NULL;
      for (i = 0; i < 2; ++i) pthread_create(&readers[i], NULL, read_environment, &stop);
      pthread_create(&markers[0], NULL, mark, name);
      pthread_create(&markers[1], NULL, mark, other);
      for (i = 0; i < 2; ++i) pthread_join(markers[i], NULL);
      __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
      for (i = 0; i < 2; ++i) pthread_join(readers[i], NULL);
      for (i = 0; before[i] != NULL; ++i) changed += environ[i] != before[i];
      printf("%d changed, %s added\\n", changed, environ[i] == NULL ? "none" : environ[i]);
      return 0;
    }
"""


@pytest.mark.parametrize("sanitizer", [[], ["-fsanitize=thread"]], ids=["plain", "tsan"])
def test_threads_may_mark_while_others_read_the_environment(sanitizer, tmp_path):
    # A mark must not call setenv, which would race with getenv in other threads.
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "peakmark").symlink_to(ROOT / "harness" / "record" / "recorders")
    (tmp_path / "program.c").write_text(MARKS_OF_THREADS)
    program = tmp_path / "program"
    subprocess.run(
        ["cc", "-std=c11", "-O1", "-g", *sanitizer, f"-I{tmp_path / 'include'}", tmp_path / "program.c",
         "-o", program, "-pthread", "-ldl"],
        check=True,
    )  # fmt: skip
    variables = {**os.environ, **environment(), "PEAKMARK_PROFILE": str(tmp_path / "p"),
                 "OPENCL_LAYERS": str(library_folder() / "libpeakmark-opencl.so")}  # fmt: skip
    answer = subprocess.run([program], env=variables, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "0 changed, none added\n", "")


@pytest.mark.parametrize("layer", ["", "/no/such/library.so", "libc.so.6"])
def test_other_layers_are_not_loaded(layer, tmp_path):
    script = "import peakmark\nwith peakmark.phase('call'): assert not peakmark.recording()"
    variables = {**environment(), "OPENCL_LAYERS": layer, "PEAKMARK_PROFILE": str(tmp_path / "p")}
    subprocess.run([sys.executable, "-c", script], env=variables, check=True)
    assert not list(tmp_path.iterdir())


def test_a_c_program_can_mark_with_the_header(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(
        """
        #include <peakmark/phase.h>
        #include <CL/cl.h>
        int main(void) {
          cl_platform_id platform; cl_device_id device;
          peakmark_phase("setup");
          clGetPlatformIDs(1, &platform, NULL);
          clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
          cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
          cl_mem table = clCreateBuffer(context, CL_MEM_READ_WRITE, 640, NULL, NULL);
          peakmark_phase("call");
          peakmark_name((uint64_t)(uintptr_t)table, "table");
          clCreateBuffer(context, CL_MEM_READ_WRITE, 36, NULL, NULL);
          peakmark_phase("");
          return 0;
        }
        """
    )
    include = tmp_path / "include" / "peakmark"
    include.parent.mkdir()
    include.symlink_to(ROOT / "harness" / "record" / "recorders")
    program = tmp_path / "program"
    for compiler, standard in (("cc", "c99"), ("cc", "c11"), ("c++", "c++11")):
        subprocess.run(
            [compiler, "-x", "c" if compiler == "cc" else "c++", f"-std={standard}", "-O2",
             "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DCL_TARGET_OPENCL_VERSION=300",
             f"-I{include.parent}", str(source), "-o", str(program), "-lOpenCL", "-ldl"],
            check=True,
        )  # fmt: skip
        shown = shown_of(tmp_path, [program])
        assert phases_of(shown) == [("", 0), ("setup", 640), ("call", 676), ("", 676)]
        assert shown["at_peak"][0]["name"] == "table"


def test_a_phase_can_be_entered_again(tmp_path):
    shown = recorded(
        tmp_path,
        """
        import peakmark
        from small_opencl import Context
        context = Context()
        call = peakmark.phase("call")
        for size in (1000, 2000):
            with call:
                context.buffer(size).release()
        with call, call:
            context.buffer(30).release()
        """,
    )
    twice = [("", 0), ("call", 1000), ("", 0), ("call", 2000), ("", 0)]
    assert phases_of(shown) == [*twice, ("call", 0), ("call/call", 30), ("call", 0), ("", 0)]


def test_a_phase_can_be_entered_again_without_a_recorder():
    call = peakmark.phase("call")
    for _ in range(2):
        with call:
            pass


def test_marks_reach_a_recorder_that_is_older_than_the_module(monkeypatch):
    class Function(types.SimpleNamespace):
        def __call__(self, *arguments):
            calls.append(arguments)
            return 1

    calls = []
    names = ("marks_version", "phase", "name", "profile_path", "event_count")  # without peakmark_synchronise
    older = types.SimpleNamespace(**{f"peakmark_{name}": Function() for name in names})
    monkeypatch.setattr(marks.ctypes, "CDLL", lambda path, mode: older)
    monkeypatch.setattr(marks, "_found", {})
    monkeypatch.setenv("PEAKMARK_PROFILE", "/profile")
    monkeypatch.setenv("OPENCL_LAYERS", "/older.so")
    with peakmark.phase("call"):
        pass
    assert (b"call",) in calls
