"""peakmark.fit, with functions that allocate through pyopencl, on PoCL."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap

import pytest
from notebook import outputs_of_cells
from recorded import environment, library_folder
from recorded import peakmark as peakmark_command

import peakmark

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "ci"))
from helpers import has_ended  # noqa: E402

pytest.importorskip("pyopencl", reason="it is in ci/requirements-test.txt")

# Training in which a batch of n images needs 4 MiB + 120000 n bytes.
TRAIN = """
import os
import signal
import subprocess
import pyopencl as cl

def allocate(*sizes):
    context = cl.create_some_context(interactive=False)
    return [cl.Buffer(context, cl.mem_flags.READ_WRITE, size) for size in sizes]

def train(batch, fixed=1 << 22):
    return allocate(fixed, 60000 * batch, 60000 * batch)

def crash(batch):
    allocate(100)
    raise ValueError("as it happens")

def kill(batch):
    allocate(100)
    os.kill(os.getpid(), signal.SIGKILL)

def ignore(batch):
    allocate(100)

def leave_process(batch):
    allocate(100 * batch)
    left = subprocess.Popen(["sleep", "600"])
    with open("left", "a") as file:
        print(left.pid, file=file)

def nothing(batch):
    allocate()

def shrink(batch):
    while batch:
        try:
            return allocate(120000 * batch)
        except cl.Error:
            batch -= 1

def catch(batch):
    while True:
        try:
            return allocate(10**9 * batch)
        except cl.Error:
            pass
"""


@pytest.fixture
def run(tmp_path):
    """Runs a program next to the module train. Returns its output, or with `code` its last error."""
    (tmp_path / "train.py").write_text(TRAIN)

    def run(script, code=0, main=True, **variables):
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(script))
        ended = subprocess.run(
            [sys.executable, *([program] if main else ["-"])],
            stdin=None if main else program.open(),
            cwd=tmp_path,
            env={**os.environ, **environment(), "PEAKMARK_LIBRARY_DIR": str(library_folder()), **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ended.returncode == code, ended.stderr
        return ended.stdout if code == 0 else ended.stderr.strip().splitlines()[-1]

    return run


def fitted(*words, **variables):
    ended = peakmark_command("fit", *words, **variables)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def error_of(run, function, *, axis="batch", budget="64MiB", options=""):
    """Returns kind, exit code and message of the error."""
    return json.loads(
        run(f"""
        import json, peakmark
        from train import *
        try:
            found = peakmark.fit({function}, "{axis}", "{budget}"{options})
        except Exception as error:
            found = [type(error).__name__, getattr(error, "exit_code", None), str(error)]
        print(json.dumps(found))
        """)
    )


def test_the_largest_batch_is_found_in_four_trials_without_running_out_of_memory(run):
    shown = run("""
        import dataclasses, json, peakmark
        from train import train
        found = peakmark.fit(train, "batch", "64MiB")
        print(repr(found))
        print(json.dumps(dataclasses.asdict(found)))
        """).splitlines()
    assert shown[0] == "<Fit batch = 524, 63.97 MiB (67074304 B) of 64 MiB (67108864 B), 4 trials, 0 out of memory>"
    found = json.loads(shown[1])
    assert found["value"] == (2**26 - 2**22) // 120000
    assert found["recorded_bytes"] == found["predicted_bytes"] == 2**22 + 120000 * 524
    assert len(found["trials"]) == 4 and found["out_of_memory"] == 0 and not found["proven"]
    assert {trial["outcome"] for trial in found["trials"]} == {"ok"}


def test_functions_of_scripts_and_of_standard_input_can_be_fitted(run):
    script = """
        import functools, peakmark, train

        def local(batch):
            train.train(batch)

        if __name__ == "__main__":
            print(peakmark.fit(local, "batch", "64MiB", multiple_of=16).value)
            print(peakmark.fit(functools.partial(train.train, fixed=2**21), "batch=1..9", "64MiB").proven)
        """
    assert run(script).split() == ["512", "True"]
    pytest.importorskip("cloudpickle", reason="it is in ci/requirements-test.txt")
    assert run(script, main=False).split() == ["512", "True"]


def test_a_function_that_no_process_can_import_is_an_error(run):
    script = """
        import sys
        sys.modules["cloudpickle"] = None
        import peakmark
        peakmark.fit(lambda batch: None, "batch", "64MiB")
        """
    for main in (True, False):
        assert "cannot be imported by another process: write it into a module, or run" in run(script, code=1, main=main)


NOTEBOOK = (
    """
import pyopencl as cl

FIXED = 1 << 22

def train(batch):
    context = cl.create_some_context(interactive=False)
    return [cl.Buffer(context, cl.mem_flags.READ_WRITE, size) for size in (FIXED, 60000 * batch, 60000 * batch)]
""",
    "import peakmark\npeakmark.fit(train, 'batch', '64MiB')",
    "FIXED = 1 << 21\npeakmark.fit(lambda batch: train(batch), 'batch=1..600', '64MiB').value",
    "from train import crash\npeakmark.fit(crash, 'batch', '64MiB')",
    "import sys\nsys.modules['cloudpickle'] = None\npeakmark.fit(train, 'batch', '64MiB')",
)


def test_functions_of_a_notebook_are_fitted_in_a_kernel_of_jupyter(tmp_path, monkeypatch):
    pytest.importorskip("cloudpickle", reason="it is in ci/requirements-test.txt")
    (tmp_path / "train.py").write_text(TRAIN)
    cells = outputs_of_cells(NOTEBOOK, tmp_path, monkeypatch)
    assert cells[0] == []
    shown = [outputs[0].data["text/plain"] for outputs in cells[1:3]]
    assert shown == [
        "<Fit batch = 524, 63.97 MiB (67074304 B) of 64 MiB (67108864 B), 4 trials, 0 out of memory>",
        str((2**26 - 2**21) // 120000),
    ]
    errors = [(outputs[0].ename, outputs[0].evalue) for outputs in cells[3:]]
    assert [name for name, _ in errors] == ["FitError", "FitError"]
    assert "ValueError: as it happens; reproduce: call crash(batch=1)" in errors[0][1]
    assert "cannot be imported by another process: write it into a module, or run `pip install cloudpickle`" in errors[1][1]


def test_a_script_without_a_guard_is_an_error(run):
    script = """
        import peakmark, train
        def local(batch): pass
        peakmark.fit(local, "batch", "64MiB")
        """
    assert "call it below `if __name__ == '__main__':`" in run(script, code=1)


def test_nothing_fits(run):
    shown = run("""
        import peakmark
        from train import train
        found = peakmark.fit(train, "batch", 10**6)
        print(found.value, found.recorded_bytes, found.out_of_memory, found.trials[0].outcome)
        print(found)
        """).splitlines()
    assert shown[0] == "None None 1 out_of_memory"
    assert shown[1].startswith("<Fit nothing fits: batch = 1 exceeds 976.6 KiB (1000000 B), 1 trial")


@pytest.mark.parametrize(
    ("function", "options", "exit_code", "text"),
    [
        ("crash", "", 3, "ValueError: as it happens"),
        ("kill", "", 3, "signal SIGKILL"),
        ("catch", ", timeout=2", 3, "batch=1: "),
        ("ignore", "", 2, "axis 'batch' does not change the memory"),
        ("nothing", "", 2, "axis 'batch' does not change the memory"),
        ("len", "", 2, "has no argument 'batch'; it has obj"),
        ("lambda: 1", "", 2, "has no argument 'batch'; it has none"),
        ("3", "", 2, "not a function: 3"),
        ("train", ", backend='metal'", 2, "metal"),
    ],
)
def test_errors(run, function, options, exit_code, text):
    kind, code, message = error_of(run, function, options=options)
    assert (kind, code) == ("FitError", exit_code)
    assert text in message
    assert ("; reproduce: call " + function + "(batch=1)" in message) == (exit_code == 3)


def test_a_program_that_goes_on_with_a_smaller_size_does_not_fit(run):
    shown = run("""
        import peakmark
        from train import shrink
        found = peakmark.fit(shrink, "batch=1..8000", "64MiB", prove=True)
        print(found.value, found.proven, found.out_of_memory)
        print(*found.notes)
        """).splitlines()
    assert shown[0] == f"{2**26 // 120000} True 1"
    assert re.search(r"batch=560: \d allocations? w.* refused, and the program went on", shown[1])


def test_an_estimator_without_an_answer_is_not_taken_for_a_limit(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "sizes.py").write_text(
        "def powers(dims, dtype):\n"
        "    if dims[0] & (dims[0] - 1):\n        raise ValueError('only powers of two are known')\n"
        "    return 2**22 + 120000 * dims[0], 0\n"
    )
    suite = tmp_path / "suite.toml"
    suite.write_text(
        '[[estimator]]\nname = "powers"\ncall = "python:sizes:powers"\nform = "module"\nother_dimensions = ["batch", 1]\n'
        '[[program]]\nvariant = "train/step"\nestimator = "powers"\nslice_axis = "n"\naxes.n = { default = 1, min = 1 }\n'
        'axes.batch = { default = 1, min = 1 }\n'
        'command = ["{python}", "-c", "import train; train.train({batch})"]\nenvironment = { PYTHONPATH = "{suite_folder}" }\n'
        '[[sweep]]\nvariants = "train/step"\n'
    )
    words = [suite, "train/step", "batch", "--budget=64MiB", "--json"]
    found = fitted(*words, **environment())
    assert found["value"] == (2**26 - 2**22) // 120000 and found["predictor"] == "recordings"
    assert found["notes"] == ["the estimator has no answer at batch=513: peaks were extrapolated"]
    assert len(found["trials"]) <= 4 and found["out_of_memory"] == 0
    asked = fitted(*words, "--predict=estimator", **environment())
    assert asked["value"] == 512 and "larger values may fit" in asked["notes"][0]


def test_processes_that_a_function_leaves_are_ended(run, tmp_path):
    shown = run(f"""
        import os
        os.chdir({str(tmp_path)!r})
        import peakmark
        from train import leave_process
        print(peakmark.fit(leave_process, "batch", "1 MiB").value)
        """)
    assert int(shown) == 2**20 // 100
    left = [int(line) for line in (tmp_path / "left").read_text().split()]
    assert left and all(has_ended(process, 10) for process in left)


def test_a_wrong_axis_budget_or_range_is_an_error(run):
    assert "has no argument 'bach'; it has batch, fixed" in error_of(run, "train", axis="bach")[2]
    assert "unknown unit" in error_of(run, "train", budget="64 MiBs")[2]
    assert "is not a percentage" in error_of(run, "train", budget="101%")[2]
    assert "is not a range" in error_of(run, "train", axis="batch=9..2")[2]


def test_each_of_several_devices_has_an_answer():
    options = ["padding/computed", "n", "ny=60", "nx=90", "--budget=1 MB", "--backend=opencl", "--json"]
    devices = {"POCL_DEVICES": "pthread basic"}
    both = fitted(*options, "--device=all", **devices)
    assert [one["value"] for one in both["devices"]] == [both["devices"][0]["value"]] * 2
    assert len({one["device"] for one in both["devices"]}) == 2
    second = fitted(*options, "--device=1", **devices)
    assert second["device"] == fitted(*options, "--device=0", "--device=1", **devices)["devices"][1]["device"]
    wrong = peakmark_command("fit", *options, "--device=0", "--device=5", **devices)
    assert wrong.returncode != 0 and "5" in wrong.stderr


def test_a_failed_trial_of_a_program_is_reproduced_by_the_printed_command():
    program = [sys.executable, "-c", "import sys; sys.exit('two  words: ' + ' '.join(sys.argv[1:]))", "{n}", "{m}", "{k}", "{data}"]
    axes = ["n=4..9", "m=3..3", "k=n+m-2", "data=nm"]
    ended = peakmark_command("fit", *axes, "--budget=5 MB", "--multiple-of=2", "--", *program, "it's")
    assert ended.returncode == 3, ended.stderr
    command = ended.stdout.partition("  reproduce: ")[2].strip()
    assert "peakmark-run-" not in command and "reproduce" not in ended.stderr
    again = peakmark_command(*shlex.split(command)[1:])
    assert again.returncode == 3
    assert "two  words: 4 3 5 nm it's" in again.stdout


def test_the_command_must_be_installed(monkeypatch):
    monkeypatch.setattr("peakmark.recorders.find_peakmark", lambda: None)
    with pytest.raises(peakmark.NoRecorder, match="the command peakmark is not installed"):
        peakmark.fit(print, "sep", "1 MiB")
