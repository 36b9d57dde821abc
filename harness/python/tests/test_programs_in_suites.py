"""Tests programs of a suite on the local OpenCL device: bytes, times, outcomes, verdicts."""

import json
import sys

import pytest
from recorded import environment, peakmark, shown_of
from toy_suite import folder, run, sweep, write_suite  # noqa: F401


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
        ("crash", "crashed", "exit code 1; its last message: ", 3),
        ("crash", "crashed", "RuntimeError: as it happens", 3),
        ("signal", "crashed", "the program ended with signal SIGSEGV", 3),
        ("memory", "out_of_memory", "after 1 allocation was refused", 4),
        ("flags", "crashed", "after 1 allocation failed, the last with error -30", 3),
        ("wrong", "wrong_answer", "3 pixels are off", 3),
        ("unsupported", "unsupported", "the program reports that it cannot run this case here", 4),
        ("hang", "timeout", "no result after 3 s", 3),
    ],
)
def test_the_end_of_a_program_is_its_outcome(folder, what, outcome, message, code):
    write_suite(folder, sweep(f'axes.what = "{what}"'))
    cases, result = run(folder, "--timeout", "3" if what == "hang" else "60", "--memory-only", code=code)
    (case,) = cases.values()
    assert case["outcome"] == outcome, case
    assert message in case["message"]
    assert case["requested_peak_bytes"] is None
    if code == 3:
        assert "reproduce: peakmark run s.toml --filter '^toy/marked/opencl/what:" + what + "$'" in result.stderr


REPORTING = """
import sys
import peakmark
from small_opencl import Context
Context().buffer(400).release()
peakmark.metric("iterations", int(sys.argv[1]), better="lower")
peakmark.metric("halo", 2)
if sys.argv[1] == "3":
    peakmark.metric("rate", float("inf"))
if sys.argv[1] == "4":
    peakmark.metric("halo", 2)
"""


def test_programs_report_metrics(folder):
    (folder / "reporting.py").write_text(REPORTING)
    write_suite(
        folder,
        f"""
[[program]]
variant = "toy/reporting"
command = ["{sys.executable}", "{{suite_folder}}/reporting.py", "{{i}}"]
axes.i = 1

[[program]]
variant = "toy/shell"
command = ["sh", "-c", '''
  echo 'rate 2.5 higher' >> $PEAKMARK_METRICS; {sys.executable} {{suite_folder}}/reporting.py "$1"
''', "sh", "{{i}}"]
axes.i = 1
"""
        + sweep("axes.i = [1, 3, 4]\nmax_metric.iterations = 2", "toy/reporting")
        + sweep("axes.i = 5\nmax_metric.iterations = 2", "toy/shell"),
    )
    cases, _ = run(folder, "--repetitions", "1", code=3)
    good = cases["toy/reporting/opencl"]
    assert (good["outcome"], good["metrics"]) == ("ok", {"halo": 2.0, "iterations": 1.0})
    assert good["metric_directions"] == {"iterations": "lower"}
    infinite, twice = cases["toy/reporting/opencl/i:3"], cases["toy/reporting/opencl/i:4"]
    assert (infinite["outcome"], twice["outcome"]) == ("wrong_answer", "wrong_answer")
    assert infinite["message"] == "$PEAKMARK_METRICS, line 3: metric 'rate' is inf: report a finite number"
    assert "metric 'halo' is reported twice" in twice["message"]
    assert cases["toy/shell/opencl/i:5"]["metrics"] == {"halo": 2.0, "iterations": 5.0, "rate": 2.5}
    check = peakmark("check", "run.json", cwd=folder)
    assert "iterations too high: 5; max_metric is 2" in check.stdout


REPEATING = """
import sys
import peakmark
from small_opencl import Context
context = Context()
kept = []
def call():
    size = 1000 * (len(kept) + 1)
    kept.append(context.buffer(400) if sys.argv[1] == "leak" else None)
    context.buffer(size if sys.argv[1] == "drift" else 1000).release()
if sys.argv[1] == "once":
    call()
else:
    peakmark.repeat_call(call)
for one in kept:
    if one:
        one.release()
"""


def test_repeated_calls_of_programs_find_leaks_and_drift(folder):
    (folder / "repeating.py").write_text(REPEATING)
    write_suite(
        folder,
        f'''
[[program]]
variant = "toy/repeating"
command = ["{sys.executable}", "{{suite_folder}}/repeating.py", "{{how}}"]
axes.how = {{ default = "well", choices = ["well", "leak", "drift", "once"] }}
'''
        + sweep('axes.how = ["well", "leak", "drift", "once"]', "toy/repeating"),
    )
    cases, _ = run(folder, "--repeat-call", "8")
    by_how = {case["axes"]["how"]: case for case in cases.values()}
    assert all(case["outcome"] == "ok" and case["gpu_time_ns"] is None for case in by_how.values())
    assert by_how["leak"]["requested_peak_bytes"] == 1400  # of the passes that call once
    assert [by_how[how].get("repeated_calls") for how in ("well", "leak", "drift", "once")] == [8, 8, 8, None]
    (leak,) = by_how["leak"]["call_leaks"]
    assert (leak["kind"], leak["phase"], leak["bytes"], leak["bytes_per_call"]) == ("buffer", "call", 7 * 400, 400)
    assert "repeating.py:9" in leak["where"]
    assert by_how["well"]["call_leaks"] == by_how["drift"]["call_leaks"] == []
    assert by_how["drift"]["peak_drift_bytes"] == 4 * 1000
    assert "peak_drift_bytes" not in by_how["well"]
    assert "no phase occurs 4 times or more" in by_how["once"]["message"]

    check = peakmark("check", "run.json", "--junit", "junit.xml", cwd=folder)
    assert check.returncode == 1
    assert "400 bytes left by each of 8 calls: (unnamed) (buffer), " in check.stdout
    assert "the peak of a call drifts: 4000 bytes more in the second half of 8 calls" in check.stdout


def test_the_time_is_that_of_the_device_if_the_suite_requests_it(folder):
    (folder / "fills.py").write_text(
        """
import peakmark
from small_opencl import Context
context = Context()
buffer = context.buffer(2**24)
context.fill(buffer, 2**24)  # warm
context.finish()
for size in (2**24, 2**10):
    with peakmark.phase("call"):
        context.fill(buffer, size)
        context.finish()
        sum(range(2_000_000))  # no work of the device
with peakmark.phase("call"):
    pass
"""
    )
    program = f'[[program]]\nvariant = "toy/KIND"\ntime = "KIND"\ncommand = ["{sys.executable}", "fills.py"]\n'
    write_suite(
        folder,
        program.replace("KIND", "device") + program.replace("KIND", "host") + sweep("", "toy/device") + sweep("", "toy/host"),
    )
    cases, _ = run(folder)
    device, host = cases["toy/device/opencl"], cases["toy/host/opencl"]
    assert (device["time_source"], host["time_source"]) == ("device", "marks")
    (long, short, none) = device["gpu_time_ns"]["blocks"][0]
    assert 0 < short < long
    assert none == 0
    assert short < 5e6 < host["gpu_time_ns"]["blocks"][0][1]
    assert device["requested_peak_bytes"] == host["requested_peak_bytes"] == 2**24


def test_a_program_without_device_work_has_no_device_time(folder):
    (folder / "idle.py").write_text("from small_opencl import Context\nContext().buffer(10)\n")
    write_suite(
        folder,
        f'[[program]]\nvariant = "toy/idle"\ntime = "device"\ncommand = ["{sys.executable}", "idle.py"]\n'
        + sweep("", "toy/idle"),
    )
    cases, _ = run(folder)
    (case,) = cases.values()
    assert (case["outcome"], case["gpu_time_ns"], case["time_source"]) == ("ok", None, None)
    assert "no work of the device" in case["message"]


def test_different_peaks_are_reported_with_the_changed_allocations(folder):
    write_suite(folder, sweep('axes.what = "unlike"'))
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    assert case["requested_peak_bytes"] == 1174  # with 10 bytes of work
    assert case["second_pass_peak_bytes"] == 1665
    assert case["moved_allocations"] == ["grew: (unnamed) (buffer), 10 -> 501 B"]


def test_memory_that_is_live_after_the_end_is_leaked(folder):
    write_suite(folder, sweep('axes.what = "leak"'))
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    assert case["leaked_bytes"] == 64 + 1000 + 50_000


def test_a_program_without_marks_is_measured_as_a_whole(folder):
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


@pytest.mark.parametrize(
    ("mark", "note"),
    [
        ("Call", "measured whole: the program marks 'inputs', 'Call', but no 'call'; did you mean 'call' by 'Call'?"),
        ("fft", "measured whole: the program marks 'inputs', 'fft', but no 'call'"),
        ("call", ""),
    ],
)
def test_a_misspelt_mark_is_reported(folder, mark, note):
    (folder / "marked.py").write_text(
        "import peakmark\nfrom small_opencl import Context\ncontext = Context()\n"
        "with peakmark.phase('inputs'):\n    image = context.buffer(300)\n"
        f"with peakmark.phase('{mark}'):\n    context.buffer(5)\n"
    )
    write_suite(
        folder,
        f'[[program]]\nvariant = "toy/marked_so"\ncommand = ["{sys.executable}", "marked.py", "{{n}}"]\naxes.n = 1\n'
        + sweep("axes.n = [1, 2]", "toy/marked_so"),
    )
    cases, result = run(folder)
    assert [(case["outcome"], case["message"]) for case in cases.values()] == [("ok", note)] * 2
    assert {case["time_source"] for case in cases.values()} == {"marks" if mark == "call" else "process"}
    assert result.stderr.count("measured whole") == (1 if note else 0)
    check = peakmark("check", "run.json", cwd=folder)
    assert check.returncode == 0
    assert check.stdout.count(f"outcome: {note}\n") == (1 if note else 0)
    assert ("pass (measured whole)" in check.stdout) == bool(note)


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_peaks_of_consecutive_children_are_not_added(folder, end):
    """They are merged by time, like by `record`, even if a child ended without an event."""
    (folder / "children.py").write_text(
        "import os\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0:\n"
        "        from small_opencl import Context\n"
        "        context = Context()\n"
        "        kept = context.buffer(1000)\n"
        f"        {end}\n"
        "    os.wait()\n"
    )
    assert shown_of(folder, [sys.executable, folder / "children.py"])["tree_peak_bytes"] == 1000
    write_suite(
        folder,
        f'[[program]]\nvariant = "toy/children"\ncommand = ["{sys.executable}", "children.py"]\n'
        + sweep("", "toy/children"),
    )
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    assert (case["outcome"], case["requested_peak_bytes"]) == ("ok", 1000)


COUNTED = """
import peakmark
from small_opencl import Context
with open("starts", "a") as starts:
    starts.write("x")
context = Context()
buffer = context.buffer(10)
for call in range(3):
    with peakmark.phase("call"):
        sum(range(100_000))
"""


def write_counted(folder):
    """Writes a program that counts how often it is started."""
    (folder / "counted.py").write_text(COUNTED)
    write_suite(
        folder,
        f'[[program]]\nvariant = "toy/counted"\ncommand = ["{sys.executable}", "counted.py"]\n'
        + sweep("", "toy/counted"),
    )


def starts(folder):
    count = len((folder / "starts").read_text())
    (folder / "starts").unlink()
    return count


def test_later_rounds_only_time_a_program(folder):
    write_counted(folder)
    cases, _ = run(folder, "--rounds", "2")
    (case,) = cases.values()
    assert (case["outcome"], case["requested_peak_bytes"], len(case["gpu_time_ns"]["blocks"])) == ("ok", 10, 2)
    assert starts(folder) == 2 + 2  # two memory passes, and one timed pass in each round


def test_a_program_that_looks_suspicious_is_timed_again(folder):
    write_counted(folder)
    run(folder)
    assert starts(folder) == 3
    runs = []
    for day in range(1, 27):  # all of them much faster
        document = json.loads((folder / "run.json").read_text())
        context = document["context"]["peakmark"]
        context["id"], context["date"] = f"run-{day}", f"2026-01-{day:02}T02:00:00Z"
        for row in document["benchmarks"]:
            if "peakmark" in row:
                time = row["peakmark"]["gpu_time_ns"]
                time["blocks"] = [[1e4 + day % 3 for _ in block] for block in time["blocks"]]
        runs.append(folder / f"run-{day}.json")
        runs[-1].write_text(json.dumps(document))
    added = peakmark("history", "add", *runs, "--history", folder / "history.db", cwd=folder)  # not on a branch of a checkout
    if "built without histories" in added.stderr:
        pytest.skip("built without histories")
    assert added.returncode == 0, added.stderr
    cases, result = run(folder, "--confirm", folder / "history.db")
    (case,) = cases.values()
    assert "1 of 1 case looks suspicious: timed again" in result.stderr
    assert len(case["gpu_time_again_ns"]["blocks"][0]) == 3
    assert case["requested_peak_bytes"] == 10
    assert starts(folder) == 4


TWO_DEVICES = """
import sys
import peakmark
from small_opencl import Context
n = int(sys.argv[1])
first, second = Context(0), Context(1)
with peakmark.phase("call"):
    small = first.buffer(100 * n)
    large = second.buffer(1000 * n)
"""


def test_a_program_with_two_devices_is_judged_by_the_one_that_needs_most(folder):
    (folder / "two.py").write_text(TWO_DEVICES)
    write_suite(
        folder,
        f'''
[[program]]
variant = "toy/two"
command = ["{sys.executable}", "{{suite_folder}}/two.py", "{{n}}"]
axes.n = {{ default = 1, min = 1 }}
'''
        + sweep("axes.n = [2, 3]", "toy/two"),
    )
    pocl = {"POCL_DEVICES": "basic pthread"}
    cases, _ = run(folder, "--memory-only", "--sequences", **pocl)
    case = cases["toy/two/opencl/n:3"]
    assert case["requested_peak_bytes"] == 3000
    assert case["allocation_sequence"]["bytes"] == [3000]
    assert case["message"].startswith("it uses 2 devices, with these peaks: ")
    assert " 300 B" in case["message"] and " 2.93 KiB" in case["message"] and case["message"].endswith(" is judged")
    check = peakmark("check", "run.json", cwd=folder)
    assert check.returncode == 0 and "only the memory of" in check.stdout
    command = ["-o", "two.profile", "--", sys.executable, "two.py", "3"]
    recorded = peakmark("record", *command, cwd=folder, **environment(), **pocl)
    assert recorded.returncode == 0, recorded.stderr
    shown = json.loads(peakmark("show", "two.profile", "--json", cwd=folder).stdout)
    assert [one["peak_bytes"] for one in shown["devices"]] == [300, 3000]
    assert len({one["name"] for one in shown["devices"]}) == 2
    assert shown["requested"]["peak_bytes"] == 3300
