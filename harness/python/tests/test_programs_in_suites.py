"""Programs of a suite, from suite file to verdict, on the OpenCL device that is here."""

import json
import os
import subprocess
import sys

import pytest
from recorded import ROOT, command, environment, peakmark

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
axes.n = {{ default = 1, least = 1 }}
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


def test_bytes_and_times_of_a_program_with_marks(folder):
    write_suite(folder, sweep("axes.n = [1, 4]"))
    cases, result = run(folder, "--repetitions", "2")
    assert list(cases) == ["toy/marked/opencl", "toy/marked/opencl/n:4"]
    four = cases["toy/marked/opencl/n:4"]
    assert (four["outcome"], four["message"]) == ("ok", "")
    assert four["requested_peak_bytes"] == 64 + 4 * 1110
    assert four["first_call_peak_bytes"] == 64 + 4 * 1110
    assert four["second_pass_peak_bytes"] == 64 + 4 * 1110
    assert (four["setup_bytes"], four["input_bytes"], four["output_bytes"]) == (64, 4000, 400)
    assert four["leaked_bytes"] is None
    assert four["axes"] == {"what": "well", "n": 4}
    assert [(one["name"], one["bytes"]) for one in four["at_peak"]][:2] == [("image", 4000), ("", 400)]
    assert [len(block) for block in four["gpu_time_ns"]["blocks"]] == [3, 3]
    assert four["time_source"] == "marks"
    assert four["estimate"] is None

    check = peakmark("check", "run.json", "--junit", "junit.xml", cwd=folder)
    assert check.returncode == 0, check.stdout
    assert (folder / "junit.xml").exists()
    assert peakmark("run", "s.toml", "--resume", "--repetitions", "2", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("what", "outcome", "message", "code"),
    [
        ("crash", "crashed", "exit code 1; the last it said: ", 3),
        ("crash", "crashed", "RuntimeError: as it happens", 3),
        ("signal", "crashed", "the program ended with signal SIGSEGV", 3),
        ("memory", "out_of_memory", "after 1 allocations were refused", 4),
        ("flags", "crashed", "after 1 allocations failed, the last with error -30", 3),
        ("wrong", "wrong_answer", "3 pixels are off", 3),
        ("unsupported", "unsupported", "cannot do this here", 4),
        ("hang", "timeout", "no result after 3 s", 3),
    ],
)
def test_what_becomes_of_a_program_is_the_outcome(folder, what, outcome, message, code):
    write_suite(folder, sweep(f'axes.what = "{what}"'))
    cases, result = run(folder, "--timeout", "3" if what == "hang" else "60", "--memory-only", code=code)
    (case,) = cases.values()
    assert case["outcome"] == outcome, case
    assert message in case["message"]
    assert case["requested_peak_bytes"] is None
    if code == 3:
        assert "alone: peakmark run s.toml --filter '^toy/marked/opencl/what:" + what + "$'" in result.stderr


def test_peaks_that_differ_are_told_with_what_moved(folder):
    write_suite(folder, sweep('axes.what = "unlike"'))
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    assert case["requested_peak_bytes"] == 1174  # with 10 bytes of work
    assert case["second_pass_peak_bytes"] == 1665
    assert case["moved_allocations"] == [
        "1 × unnamed (buffer, 501 bytes) only in the second pass",
        "1 × unnamed (buffer, 10 bytes) only in the first pass",
    ]


def test_what_lives_after_the_end_is_leaked(folder):
    write_suite(folder, sweep('axes.what = "leak"'))
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    assert case["leaked_bytes"] == 64 + 1000 + 50_000


def test_a_program_without_marks_is_measured_whole(folder):
    (folder / "plain.py").write_text(
        "from small_opencl import Context\ncontext = Context()\nfirst = context.buffer(300)\ncontext.buffer(5)\n"
    )
    write_suite(
        folder,
        f'[[program]]\nvariant = "toy/plain"\ncommand = ["{sys.executable}", "plain.py"]\n'
        + sweep("", "toy/plain"),
    )
    cases, _ = run(folder)
    (case,) = cases.values()
    assert case["requested_peak_bytes"] == 305
    assert case["time_source"] == "process"
    assert len(case["gpu_time_ns"]["blocks"][0]) == 1
    assert case["gpu_time_ns"]["median"] > 1e6
    assert (case["setup_bytes"], case["input_bytes"], case["first_call_peak_bytes"]) == (None, None, None)


def test_a_shell_runs_a_tree_of_processes_whose_peak_is_merged_by_time(folder):
    (folder / "one.py").write_text(
        "import sys, small_opencl\ncontext = small_opencl.Context()\nbuffer = context.buffer(int(sys.argv[1]))\n"
        "print(flush=True)\nsys.stdin.read()\n"
    )
    # The second allocates while the first still holds its memory; the third comes when both are gone.
    write_suite(
        folder,
        '[[program]]\nvariant = "toy/tree"\nshell = true\ncommand = """\n'
        f"{sys.executable} -c 'import subprocess, sys\n"
        "a, b = (subprocess.Popen([sys.executable, \"one.py\", str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)"
        " for n in ({n}, 20))\n"
        "a.stdout.readline(); b.stdout.readline(); a.communicate(); b.communicate()'\n"
        f'{sys.executable} one.py 1000 < /dev/null\n"""\naxes.n = 3000\n' + sweep("", "toy/tree"),
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


def test_a_c_program_is_a_variant_too(folder):
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
        ["cc", "-DCL_TARGET_OPENCL_VERSION=300", f"-I{ROOT}/harness/record", "program.c", "-o", "program", "-lOpenCL"],
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


def test_a_missing_environment_says_what_makes_it(folder):
    write_suite(
        folder,
        '[[program]]\nvariant = "toy/old"\ncommand = ["{python}", "x.py"]\npython = "old-1.0"\n'
        'python_made_by = "make old-1.0"\n' + sweep("", "toy/old"),
    )
    cases, _ = run(folder, code=4, PEAKMARK_ENVIRONMENTS="/no/such/folder")
    (case,) = cases.values()
    assert case["outcome"] == "unsupported"
    assert "/no/such/folder/old-1.0 is not there; make it with: make old-1.0" in case["message"]


def test_a_python_environment_comes_with_its_interpreter(folder):
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


def test_the_worker_can_be_asked_by_hand(folder):
    write_suite(folder, sweep(""))
    programs = os.path.join(os.path.dirname(command()), "peakmark-programs")
    if not os.path.exists(programs):
        programs = os.path.join(os.path.dirname(command()), "..", "external", "peakmark-programs")
    answer = subprocess.run([programs, "s.toml", "--describe"], cwd=folder, capture_output=True, text=True, check=True)
    described = json.loads(answer.stdout)
    assert [variant["name"] for variant in described["variants"]] == ["toy/marked"]
    assert described["variants"][0]["slice_axis"] == "n"


ESTIMATOR = """
[[estimator]]
name = "toy"
call = "python:toy_estimators:module"
form = "module"
other_dimensions = [1, "n"]
parameters = ["what"]
seconds = 30
"""


def with_estimator(folder, text, **estimators):
    """The toy's suite, its program with an estimator, in a module beside it."""
    functions = {
        "module": 'return 1110 if what == "well" else 0, 64',
        "too_low": "return 1000, 64",
        "raises": 'raise ValueError("not so")',
        "dies": "import os; os._exit(7)",
        **estimators,
    }
    (folder / "toy_estimators.py").write_text(
        "".join(f"def {name}(dims, dtype, what='well'):\n    {body}\n" for name, body in functions.items())
    )
    suite = SUITE.replace("[[program]]", '[[program]]\nestimator = "toy"') + ESTIMATOR + text
    (folder / "s.toml").write_text(suite)


def test_a_programs_estimator_is_held_against_its_peak(folder):
    with_estimator(folder, sweep("axes.n = [6, 20]"))
    cases, _ = run(folder, "--memory-only")
    assert cases["toy/marked/opencl/n:20"]["estimate"] == {
        "estimator": "toy", "form": "module", "slices_used": 20, "slices_estimated": 20,
        "bytes_estimated": 64 + 20 * 1110, "dtype": None, "error": None,
    }  # fmt: skip
    check = peakmark("check", "run.json", "--window", "1:1", "--json", cwd=folder)
    assert check.returncode == 0, check.stdout
    judged = {verdict["rule"]: verdict["judgement"] for verdict in json.loads(check.stdout)["verdicts"]}
    assert judged["window_slices"] == judged["window_bytes"] == "pass"


def test_other_estimators_are_judged_where_the_suite_names_them_and_errors_have_names(folder):
    calls = ["python:toy_estimators:too_low", "python:toy_estimators:raises", "python:toy_estimators:dies"]
    extra = "".join(
        f'[[estimator]]\nname = "{call.split(":")[-1]}"\ncall = "{call}"\nform = "module"\nother_dimensions = [1, 1]\n'
        for call in calls
    )
    with_estimator(folder, extra + sweep('axes.n = 20\nestimators = ["too_low", "raises", "dies"]'))
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    low, raises, dies = case["other_estimates"]
    assert (low["slices_estimated"], low["bytes_estimated"]) == (22, 20064)
    assert raises["error"].startswith("exception: Traceback") and raises["error"].endswith("ValueError: not so")
    assert dies["error"] == "died: its process ended with exit code 7"
    assert raises["slices_estimated"] is None and dies["bytes_estimated"] is None
    check = peakmark("check", "run.json", cwd=folder)
    assert check.returncode == 1
    assert "ValueError: not so" in check.stdout


def test_built_in_variants_can_have_external_estimators_too(folder):
    (folder / "ours.py").write_text(
        "def padding(slice_dim, dims, dtype, available, mode, pad_y0, pad_y1, pad_x0, pad_x1):\n"
        "    slice_bytes = dtype.itemsize * dims[0] * dims[1]\n"
        "    padded = dtype.itemsize * (dims[0] + pad_y0 + pad_y1) * (dims[1] + pad_x0 + pad_x1)\n"
        "    return available // (slice_bytes + padded), dtype\n"
    )
    (folder / "s.toml").write_text(
        '[[sweep]]\nvariants = "padding/computed"\naxes.n = 10\naxes.pad_x0 = 7\nestimators = "python:ours:padding"\n'
    )
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    (estimate,) = case["other_estimates"]
    assert (estimate["error"], estimate["slices_estimated"], estimate["dtype"]) == (None, 10, "f32")
    assert estimate["bytes_estimated"] == case["requested_peak_bytes"]
    assert peakmark("check", "run.json", cwd=folder).returncode == 0


def test_estimate_asks_programs_and_functions(folder):
    with_estimator(folder, sweep(""))

    def estimate(*arguments):
        result = peakmark("estimate", *arguments, "--json", cwd=folder, **environment())
        return json.loads(result.stdout) if result.returncode == 0 else result.stderr

    told = estimate("toy/marked", "n=5", "--suite", "s.toml", "--available", "9000")
    assert (told["slices"], told["bytes"]) == (8, 64 + 8 * 1110)
    assert estimate("toy/marked", "n=5", "--suite", "s.toml")["bytes"] == 64 + 5 * 1110
    told = estimate("padding/coords1d", "n=5", "--suite", "s.toml")
    assert told["slices"] == 5 and told["terms"]

    call = "python:example_estimators:documented"
    told = estimate(call, "--dimensions", "10,20", "--dtype", "float32", "--available", "14450", "kernel=[3, 3]", "x=none")
    assert (told["slices"], told["dtype"]) == (9, "f32")
    told = estimate(
        "python:example_estimators:module", "--form", "module", "--dimensions", "10,20", "--slices", "2", "radius=7",
        "--padding", "example_estimators:padding", "--output-dimensions", "example_estimators:output_dims",
    )  # fmt: skip
    assert (told["bytes"], told["padding"], told["output_dimensions"]) == (3207, [7, 7], [20, 20])
    assert "ZeroDivisionError: of its own making" in estimate(
        "python:example_estimators:raises", "--form", "module", "--dimensions", "10,20", "--slices", "1"
    )
    assert "no form 'modul'; did you mean 'module'?" in estimate(call, "--form", "modul", "--dimensions", "1,1")
    assert "--dimensions" in estimate(call)
