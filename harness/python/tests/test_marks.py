import subprocess
import sys

import pytest
from recorded import ROOT, environment, recorded, shown_of

import peakmark


def phases_of(shown):
    return [(phase["name"], phase["peak_bytes"]) for phase in shown["phases"]]


def test_phases_nest_and_give_back_the_one_before(tmp_path):
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


def test_names_stand_beside_bytes(tmp_path):
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


def test_nothing_happens_where_nothing_is_recorded(monkeypatch):
    monkeypatch.delenv("PEAKMARK_PROFILE", raising=False)
    with peakmark.phase("call"):
        peakmark.name("not even looked at", "filter")
    assert not peakmark.recording()


@pytest.mark.parametrize("layer", ["", "/no/such/library.so", "libc.so.6"])
def test_what_is_no_recorder_is_left_alone(layer, tmp_path):
    script = "import peakmark\nwith peakmark.phase('call'): assert not peakmark.recording()"
    variables = {**environment(), "OPENCL_LAYERS": layer, "PEAKMARK_PROFILE": str(tmp_path / "p")}
    subprocess.run([sys.executable, "-c", script], env=variables, check=True)
    assert not list(tmp_path.iterdir())


def test_a_c_program_marks_with_a_header(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(
        """
        #include <peakmark/record/phase.h>
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
    include.mkdir(parents=True)
    (include / "record").symlink_to(ROOT / "harness" / "record")
    program = tmp_path / "program"
    for compiler, standard in (("cc", "c99"), ("c++", "c++11")):
        subprocess.run(
            [compiler, "-x", "c" if compiler == "cc" else "c++", f"-std={standard}", "-D_DEFAULT_SOURCE", "-O2",
             "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DCL_TARGET_OPENCL_VERSION=300",
             f"-I{include.parent}", str(source), "-o", str(program), "-lOpenCL", "-ldl"],
            check=True,
        )  # fmt: skip
        shown = shown_of(tmp_path, [program])
        assert phases_of(shown) == [("", 0), ("setup", 640), ("call", 676), ("", 676)]
        assert shown["at_peak"][0]["name"] == "table"
