"""Tests programs of a suite with child processes, other languages, Python environments, devices and shards."""

import json
import os
import subprocess
import sys

import pytest
from recorded import ROOT, TESTS, command, peakmark
from toy_suite import folder, run, sweep, write_suite  # noqa: F401


def test_processes_of_another_session_end_with_the_timeout(folder):
    (folder / "child.py").write_text(
        "import os, pathlib, time\n"
        "os.setsid()\n"
        "pathlib.Path('child').write_text(str(os.getpid()))\n"
        "time.sleep(1000)\n"
    )
    (folder / "parent.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], env={})\n"
    )
    write_suite(
        folder,
        f'[[program]]\nvariant = "toy/away"\ncommand = ["{sys.executable}", "parent.py"]\n' + sweep("", "toy/away"),
    )
    cases, _ = run(folder, "--timeout", "4", "--memory-only", code=3)
    assert cases["toy/away/opencl"]["outcome"] == "timeout"
    child = int((folder / "child").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_python_path_of_its_own_does_not_hide_the_marks(folder):
    (folder / "theirs").mkdir()
    (folder / "theirs" / "theirs.py").write_text("n = 5\n")
    (folder / "theirs" / "peakmark.py").write_text("raise ImportError('not this one')\n")
    write_suite(
        folder,
        f'[[program]]\nvariant = "toy/path"\nenvironment = {{ PYTHONPATH = "{{suite_folder}}/theirs:{TESTS}" }}\n'
        f'command = ["{sys.executable}", "-c", "import peakmark, theirs, small_opencl as o; '
        "o.Context().buffer(theirs.n); assert peakmark.recording(); "
        "import os; assert (os.environ['PEAKMARK_BACKEND'], os.environ['PEAKMARK_DEVICE']) == ('opencl', '0')\"]\n" + sweep("", "toy/path"),
    )
    cases, _ = run(folder, "--memory-only")
    assert (cases["toy/path/opencl"]["outcome"], cases["toy/path/opencl"]["requested_peak_bytes"]) == ("ok", 5)


def test_a_shell_runs_a_tree_of_processes_whose_peak_is_merged_by_time(folder):
    (folder / "one.py").write_text(
        "import sys, small_opencl\ncontext = small_opencl.Context()\nbuffer = context.buffer(int(sys.argv[1]))\n"
        "print(flush=True)\nsys.stdin.read()\n"
    )
    # The second process allocates while the first holds its memory; the third starts after both have ended.
    write_suite(
        folder,
        '[[program]]\nvariant = "toy/tree"\ncommand = ["sh", "-c", """\n'
        f"{sys.executable} -c 'import subprocess, sys\n"
        "a, b = (subprocess.Popen([sys.executable, \"one.py\", str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)"
        " for n in ({n}, 20))\n"
        "a.stdout.readline(); b.stdout.readline(); a.communicate(); b.communicate()'\n"
        f'{sys.executable} one.py 1000 < /dev/null\n"""]\naxes.n = 3000\n' + sweep("", "toy/tree"),
    )
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    assert case["outcome"] == "ok", case["message"]
    assert case["requested_peak_bytes"] == 3020


def test_a_childs_marks_do_not_end_its_parents_call(folder):
    (folder / "child.py").write_text(
        """
import peakmark
from small_opencl import Context
with peakmark.phase("call"):
    Context().buffer(30).release()
"""
    )
    (folder / "parent.py").write_text(
        """
import subprocess, sys
import peakmark
from small_opencl import Context
context = Context()
with peakmark.phase("inputs"):
    image = context.buffer(100)
with peakmark.phase("call"):
    subprocess.run([sys.executable, "child.py"], check=True)
    context.buffer(5000).release()
context.buffer(90_000)
"""
    )
    (folder / "s.toml").write_text(
        f"""
name = "family"
[[program]]
variant = "toy/family"
command = ["sh", "-c", "cd '{{suite_folder}}' && exec '{sys.executable}' parent.py"]
[[sweep]]
variants = "toy/family"
"""
    )
    cases, _ = run(folder, "--memory-only")
    case = cases["toy/family/opencl"]
    assert (case["outcome"], case["message"]) == ("ok", "")
    assert (case["requested_peak_bytes"], case["input_bytes"], case["setup_bytes"]) == (5100, 100, 0)


def test_a_c_program_can_be_a_variant(folder):
    (folder / "program.c").write_text(
        """
        #include <CL/cl.h>
        #include <stdlib.h>
        #include "phase.h"
        int main(int count, char** words) {
          cl_platform_id platform; cl_device_id device;
          clGetPlatformIDs(1, &platform, NULL);
          clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
          cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
          peakmark_phase("inputs");
          cl_mem image = clCreateBuffer(context, CL_MEM_READ_WRITE, count * atoi(words[1]), NULL, NULL);
          peakmark_phase("call");
          cl_mem result = clCreateBuffer(context, CL_MEM_READ_WRITE, 12, NULL, NULL);
          peakmark_phase("call");
          peakmark_phase("end");
          clReleaseMemObject(image);
          clReleaseMemObject(result);
          return 0;
        }
        """
    )
    subprocess.run(
        ["cc", "-DCL_TARGET_OPENCL_VERSION=300", f"-I{ROOT}/harness/record/recorders", "program.c", "-o", "program", "-lOpenCL"],
        cwd=folder, check=True,
    )  # fmt: skip
    write_suite(
        folder,
        '[[program]]\nvariant = "toy/c"\ncommand = ["{suite_folder}/program", "{n}"]\naxes.n = 500\n'
        + sweep("", "toy/c"),
    )
    cases, _ = run(folder)
    (case,) = cases.values()
    assert (case["requested_peak_bytes"], case["input_bytes"], case["setup_bytes"]) == (1012, 1000, 0)
    assert case["leaked_bytes"] == 0
    assert len(case["gpu_time_ns"]["blocks"][0]) == 2


NVTX_FOLDERS = [one for one in ("/usr/include", "/usr/local/cuda/include") if os.path.exists(f"{one}/nvtx3/nvToolsExt.h")]


@pytest.mark.skipif(not NVTX_FOLDERS, reason="the header of NVTX is not here")
def test_nvtx_ranges_of_the_program_are_marks_and_those_of_libraries_are_not(folder):
    (folder / "program.c").write_text(
        """
        #include <CL/cl.h>
        #include <nvtx3/nvToolsExt.h>
        int main(void) {
          cl_platform_id platform; cl_device_id device;
          clGetPlatformIDs(1, &platform, NULL);
          clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
          cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
          nvtxRangePushA("inputs");
          clCreateBuffer(context, CL_MEM_READ_WRITE, 100, NULL, NULL);
          nvtxRangePop();
          for (int i = 0; i < 2; ++i) {
            nvtxRangePushA("call");
            nvtxRangePushA("a library's own");
            cl_mem scratch = clCreateBuffer(context, CL_MEM_READ_WRITE, 20, NULL, NULL);
            nvtxRangePop();
            clReleaseMemObject(scratch);
            nvtxRangePop();
          }
          clCreateBuffer(context, CL_MEM_READ_WRITE, 5000, NULL, NULL);  /* a check of the result */
          return 0;
        }
        """
    )
    subprocess.run(
        ["cc", "-DCL_TARGET_OPENCL_VERSION=300", f"-I{NVTX_FOLDERS[0]}", "program.c", "-o", "program", "-lOpenCL", "-ldl"],
        cwd=folder, check=True,
    )  # fmt: skip
    write_suite(
        folder,
        '[[program]]\nvariant = "toy/ranges"\ncommand = ["{suite_folder}/program"]\n' + sweep("", "toy/ranges"),
    )
    cases, _ = run(folder)
    (case,) = cases.values()
    assert (case["requested_peak_bytes"], case["input_bytes"], case["setup_bytes"]) == (120, 100, 0)
    assert (case["time_source"], len(case["gpu_time_ns"]["blocks"][0])) == ("marks", 2)


def test_a_missing_environment_is_an_error_with_what_to_do(folder):
    write_suite(
        folder,
        '[[program]]\nvariant = "toy/old"\ncommand = ["{python}", "x.py"]\npython = "old-1.0"\n'
        'python_made_by = "make old-1.0"\n' + sweep("", "toy/old"),
    )
    cases, _ = run(folder, code=4, PEAKMARK_ENVIRONMENTS="/no/such/folder")
    (case,) = cases.values()
    assert case["outcome"] == "unsupported"
    # A run file may be published, so it has the name of the environment, not its folder.
    assert "the Python environment old-1.0 is missing; create it with: make old-1.0" in case["message"]


def test_a_python_environment_is_used_with_its_interpreter(folder):
    (folder / "envs" / "mine" / "bin").mkdir(parents=True)
    (folder / "envs" / "mine" / "bin" / "python").symlink_to(sys.executable)
    write_suite(
        folder,
        '[[program]]\nvariant = "toy/env"\npython = "mine"\n'
        'command = ["python", "-c", "import os, peakmark, small_opencl as o; o.Context().buffer(9); '
        "assert os.environ['VIRTUAL_ENV'].endswith('envs/mine')\"]\n" + sweep("", "toy/env"),
    )
    cases, _ = run(folder, "--memory-only", PEAKMARK_ENVIRONMENTS=str(folder / "envs"))
    (case,) = cases.values()
    assert (case["outcome"], case["requested_peak_bytes"]) == ("ok", 9), case


def test_a_program_that_calls_no_opencl_has_no_peak(folder):
    write_suite(folder, '[[program]]\nvariant = "toy/none"\ncommand = ["true"]\n' + sweep("", "toy/none"))
    cases, _ = run(folder, code=3)
    (case,) = cases.values()
    assert case["requested_peak_bytes"] is None
    assert "no recorder came up" in case["message"]


def test_built_in_variants_and_programs_in_one_run(folder):
    write_suite(
        folder, sweep("axes.n = 2") + sweep("axes.n = 2\naxes.ny = 32\naxes.nx = 32", "padding/coords1d")
    )
    cases, _ = run(folder, "--memory-only")
    assert cases["toy/marked/opencl/n:2"]["requested_peak_bytes"] == 64 + 2 * 1110
    assert cases["padding/coords1d/opencl/n:2/ny:32/nx:32"]["outcome"] == "ok"
    listed = peakmark("list", "s.toml", cwd=folder).stdout.split()
    assert sorted(listed) == sorted(cases)


def test_shards_merge(folder):
    write_suite(folder, sweep("axes.n = [1, 2, 3]"))
    run(folder, "--memory-only", "--shard", "1/2", "-o", "run.json")
    (folder / "run.json").rename(folder / "one.json")
    run(folder, "--memory-only", "--shard", "2/2")
    merge = peakmark("merge", "one.json", "run.json", "-o", "whole.json", cwd=folder)
    assert merge.returncode == 0, merge.stderr
    document = json.loads((folder / "whole.json").read_text())
    assert len([row for row in document["benchmarks"] if "peakmark" in row]) == 3


def test_a_backend_that_a_program_does_not_run_on_is_unsupported(folder):
    write_suite(folder, sweep('backend = ["dry", "auto"]'))
    cases, _ = run(folder, "--memory-only")
    assert cases["toy/marked/dry"]["outcome"] == "unsupported"
    assert cases["toy/marked/opencl"]["outcome"] == "ok"


def test_the_worker_can_be_run_by_hand(folder):
    write_suite(folder, sweep(""))
    programs = os.path.join(os.path.dirname(command()), "peakmark-programs")
    if not os.path.exists(programs):
        programs = os.path.join(os.path.dirname(command()), "..", "external", "peakmark-programs")
    answer = subprocess.run([programs, "s.toml", "--describe"], cwd=folder, capture_output=True, text=True, check=True)
    described = json.loads(answer.stdout)
    assert [variant["name"] for variant in described["variants"]] == ["toy/marked"]
    assert described["variants"][0]["slice_axis"] == "n"
