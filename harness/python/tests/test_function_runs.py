"""peakmark.run, with functions that allocate through pyopencl, on PoCL."""

import enum
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from notebook import outputs_of_cells
from recorded import environment, library_folder
from recorded import peakmark as peakmark_command

import peakmark
from peakmark.function_runs import MAX_CASES

pytest.importorskip("pyopencl", reason="it is in ci/requirements-test.txt")

BLUR = """
import os
import signal

import numpy as np
import pyopencl as cl

import peakmark

def allocate(*sizes):
    context = cl.create_some_context(interactive=False)
    return [cl.Buffer(context, cl.mem_flags.READ_WRITE, size) for size in sizes]

def blur(n, sigma=1.0, dtype="float32"):
    size = n * n * np.dtype(dtype).itemsize
    return allocate(size, size + round(1000 * sigma))

def blur_with_error(n):
    allocate(n * n)
    peakmark.metric("error", 1 / n, better="lower")

def kill(n):
    allocate(100 * n)
    if n == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if n == 3:
        raise ValueError("as it <b>happens</b>")

def skip(n):
    print("needs a larger device")
    raise SystemExit(peakmark.UNSUPPORTED)

def marked(n):
    with peakmark.phase("inputs"):
        image = allocate(1000)
    with peakmark.phase("call"):
        allocate(100 * n)

def signed(n):
    allocate(10 + n)

def kinds(flag, word, number):
    allocate(1 + (flag is True) + 10 * (word == "a") + 100 * round(10 * number))
"""


@pytest.fixture
def run(tmp_path):
    """Runs a program next to the module blur, and returns its output, as JSON; with `code` its last error."""
    (tmp_path / "blur.py").write_text(BLUR)

    def run(script, code=0, main=True, **variables):
        program = tmp_path / "program.py"
        program.write_text("import json, peakmark\n" + textwrap.dedent(script))
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
        return json.loads(ended.stdout) if code == 0 else ended.stderr.strip().splitlines()[-1]

    return run


def test_every_combination_is_measured(run, tmp_path):
    found = run("""
        import numpy as np
        from blur import blur
        found = peakmark.run(blur, {"n": range(64, 193, 64), "sigma": [0.5, 2.5], "dtype": np.float64}, output="kept.json")
        frame = found.frame
        print(json.dumps([repr(found), frame[["axis:n", "axis:sigma", "axis:dtype", "peak"]].values.tolist(), list(frame["time"] > 0)]))
        """)
    assert found[0].startswith("<FunctionRun blur: 6 of 6 cases measured on ")
    expected = [[n, sigma, "float64", 16 * n * n + 1000 * sigma] for n in (64, 128, 192) for sigma in (0.5, 2.5)]
    assert found[1] == expected
    assert found[2] == [True] * 6
    # The run file is one of `peakmark run`.
    checked = peakmark_command("check", tmp_path / "kept.json")
    assert checked.returncode == 0 and "6 cases: 0 pass, 6 warnings (6 no estimator), 0 fail" in checked.stdout


def test_an_axis_with_a_float_is_one_of_floats(run):
    found = run("""
        from blur import blur
        frame = peakmark.run(blur, {"n": 64, "sigma": [1, 2.5, -1e-7]}, memory_only=True).frame
        print(json.dumps([list(frame["case"]), list(frame["axis:sigma"]), list(frame["peak"] > 0)]))
        """)
    names = ["blur/python/opencl/n:64", "blur/python/opencl/n:64/sigma:2.5", "blur/python/opencl/n:64/sigma:-1e-07"]
    assert [name.replace("/n:64", "") for name in found[0]] == [name.replace("/n:64", "") for name in names]
    assert found[1:] == [[1.0, 2.5, -1e-7], [True] * 3]


def test_the_example_of_the_docs_runs(run):
    found = run("""
        import example_run
        frame = peakmark.run(example_run.blur, {"n": [512, 1024], "passes": [1, 2]}, marked=True).frame
        print(json.dumps([frame["peak"].tolist(), sorted(set(frame["outcome"])), list(frame["time"] > 0)]))
        """)
    assert found == [[4 * n * n * (1 + passes) for n in (512, 1024) for passes in (1, 2)], ["ok"], [True] * 4]


def test_a_function_reports_metrics(run):
    found = run("""
        from blur import blur_with_error
        frame = peakmark.run(blur_with_error, {"n": [64, 128]}).frame
        print(json.dumps([list(frame["metric:error"]), list(frame["outcome"])]))
        """)
    assert found == [[1 / 64, 1 / 128], ["ok", "ok"]]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("error", "0.5"), TypeError, "error is '0.5': report a number"),
        (("error", True), TypeError, "error is True: report a number"),
        (("error", [1, 2]), TypeError, "report a number"),
        (("cache hits", 1), ValueError, "'cache hits' is not the name of a metric"),
        (("error", 1, "less"), ValueError, "better='less': write 'higher', 'lower' or None"),
    ],
)
def test_a_metric_that_is_no_number_is_refused(monkeypatch, tmp_path, arguments, error, message):
    monkeypatch.setenv("PEAKMARK_METRICS", str(tmp_path / "metrics"))
    with pytest.raises(error, match=re.escape(message)):
        peakmark.metric(*arguments)
    assert not (tmp_path / "metrics").exists()


def test_a_metric_is_a_line_of_the_file(monkeypatch, tmp_path):
    monkeypatch.delenv("PEAKMARK_METRICS", raising=False)
    peakmark.metric("error", 0.5)  # no effect
    monkeypatch.setenv("PEAKMARK_METRICS", str(tmp_path / "metrics"))
    peakmark.metric("error", np.float32(0.1), better="lower")
    peakmark.metric("iterations", 12)
    assert (tmp_path / "metrics").read_text() == f"error {float(np.float32(0.1))!r} lower\niterations 12.0\n"


def test_a_notebook_shows_a_table_and_a_plot(run):
    found = run("""
        from blur import blur
        found = peakmark.run(blur, {"n": [64, 128, 256]}, memory_only=True)
        print(json.dumps([found._repr_html_(), [one.get_title() for one in found.plot().axes][:1]]))
        """)
    page = found[0]
    assert "<b>blur: 3 of 3 cases measured on " in page and "data:image/png;base64," in page
    for text in ("<th>n</th>", "<td>128</td>", "<td>129 KiB</td>", "<td>–</td>"):
        assert text in page, text


def test_cases_that_crash_end_neither_the_others_nor_the_program(run):
    found = run("""
        from blur import kill
        found = peakmark.run(kill, {"n": [1, 2, 3, 4]}, memory_only=True)
        frame = found.frame
        print(json.dumps([list(frame["outcome"]), list(frame["message"]), list(frame["peak"].fillna(0)), found.measured, found._repr_html_()]))
        """)
    assert found[0] == ["ok", "crashed", "crashed", "ok"]
    assert "SIGKILL" in found[1][1] and "ValueError: as it <b>happens</b>" in found[1][2]
    assert (found[2][0], found[2][3], found[3]) == (100, 400, 2)
    assert "No plot: too few cases" in found[4] and "as it &lt;b&gt;happens" in found[4] and "<b>happens" not in found[4]


def test_a_function_may_mark_its_phases(run, tmp_path):
    found = run("""
        from blur import marked
        print(peakmark.run(marked, {"n": 7}, marked=True, output="run.json").frame["peak"][0])
        """)
    assert found == 1700
    measured = [row["peakmark"] for row in json.loads((tmp_path / "run.json").read_text())["benchmarks"] if "peakmark" in row]
    assert [(one["input_bytes"], one["setup_bytes"], one["time_source"]) for one in measured] == [(1000, 0, "marks")]


def test_a_function_gets_the_values_that_were_given(run):
    found = run("""
        from blur import kinds
        frame = peakmark.run(kinds, {"flag": [True, False], "word": ["a", "b"], "number": [1, 0.5]}, memory_only=True).frame
        print(json.dumps(frame[["axis:flag", "axis:word", "axis:number", "peak"]].values.tolist()))
        """)
    assert found == [
        [flag, word, number, 1 + (flag == "True") + 10 * (word == "a") + 100 * round(10 * number)]
        for flag in ("True", "False") for word in ("a", "b") for number in (1, 0.5)
    ]  # fmt: skip


def test_integers_may_be_negative(run):
    found = run("""
        from blur import signed
        print(json.dumps(peakmark.run(signed, {"n": [4, -3]}, memory_only=True).frame[["axis:n", "peak"]].values.tolist()))
        """)
    assert found == [[4, 14], [-3, 7]]


def test_a_lambda_and_a_function_of_standard_input_are_measured(run):
    pytest.importorskip("cloudpickle", reason="it is in ci/requirements-test.txt")
    script = """
        import blur
        def local(n):
            blur.allocate(n)
        print(json.dumps([list(peakmark.run(one, {"n": [3, 5]}, memory_only=True).frame["peak"]) for one in (local, lambda n: blur.allocate(2 * n))]))
        """
    assert run(script, main=False) == [[3, 5], [6, 10]]


NOTEBOOK = (
    "import os, signal\nimport pyopencl as cl\nimport peakmark\nSIZE = 1000",
    """
def two_buffers(n):
    if n == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    context = cl.create_some_context(interactive=False)
    return [cl.Buffer(context, cl.mem_flags.READ_WRITE, n * SIZE) for _ in range(2)]

found = peakmark.run(two_buffers, {"n": [1, 2, 3, 4]}, memory_only=True)
found
""",
    "list(found.frame['peak'].fillna(0))",
    "found.plot()",
    "peakmark.run(two_buffers, {'m': 1})",
)


def test_functions_of_a_notebook_are_measured_in_a_kernel_of_jupyter(tmp_path, monkeypatch):
    pytest.importorskip("cloudpickle", reason="it is in ci/requirements-test.txt")
    first, shown, peaks, plot, error = outputs_of_cells(NOTEBOOK, tmp_path, monkeypatch)
    assert first == []
    assert shown[0].data["text/plain"].startswith("<FunctionRun two_buffers: 3 of 4 cases measured on ")
    assert "<td>crashed</td>" in shown[0].data["text/html"] and "data:image/png;base64," in shown[0].data["text/html"]
    assert peaks[0].data["text/plain"] == "[2000.0, 4000.0, 0.0, 8000.0]"
    assert "image/png" in plot[0].data
    assert (error[0].ename, error[0].evalue.partition(" has no argument")[2]) == ("RunError", " 'm'; it has n")


def test_a_lambda_without_cloudpickle_is_an_error(run):
    message = run("""
        import sys
        sys.modules["cloudpickle"] = None
        peakmark.run(lambda n: None, {"n": 1})
        """, code=1)
    assert "peakmark.run: <function <lambda>" in message and "run `pip install cloudpickle`" in message


def test_a_script_without_a_guard_is_an_error(run):
    message = run("""
        def local(n): pass
        frame = peakmark.run(local, {"n": 1}).frame
        assert frame["outcome"][0] == "crashed"
        raise SystemExit(frame["message"][0].replace("\\n", " "))
        """, code=1)
    assert "call it below `if __name__ == '__main__':`" in message


Order = enum.Enum("Order", ["rows", "columns"])


def needs_two(first, second, third=0):
    pass


@pytest.mark.parametrize(
    ("function", "axes", "message"),
    [
        (needs_two, {}, "axes must have the values of one argument or more, such as {\"n\": [256, 512]}; they are {}"),
        (needs_two, [1, 2], "they are [1, 2]"),
        (needs_two, {"first": []}, "axis 'first' has no values: name one or more"),
        (needs_two, {"first": 1, "third": 2}, "argument 'second' of needs_two has no value: add it to axes"),
        (needs_two, {"first": 1, "fourth": 2}, "has no argument 'fourth'; it has first, second, third"),
        (needs_two, {"first": range(10**12)}, f"more than {MAX_CASES:,} cases: choose fewer values of axis 'first'"),
        (needs_two, {"first": range(1000), "second": range(1000)}, "choose fewer values of axis 'second'"),
        (needs_two, {"first": [1, 2, 1]}, "axis 'first' has 1 twice"),
        (needs_two, {"first": [1, "1"]}, "axis 'first' has 1 twice"),
        (needs_two, {"first": [1.0, float("nan")]}, "axis 'first': nan is not a finite number"),
        (needs_two, {"first": float("inf")}, "axis 'first': inf is not a finite number"),
        (needs_two, {"first": "a b"}, "axis 'first': 'a b' cannot be part of a case name: use a word without blanks, '/' and ':'"),
        (needs_two, {"first": ""}, "axis 'first': '' cannot be part of a case name"),
        (needs_two, {"first": 2**63}, "axis 'first': 9223372036854775808 does not fit 64 bits"),
        (needs_two, {"first": np.float32}, "argument 'second'"),
        (needs_two, {"first": np.dtype("int8")}, "argument 'second'"),
        (needs_two, {"first": float}, "argument 'second'"),
        (needs_two, {"first": np.array(1.5)}, "argument 'second'"),
        (needs_two, {"first": object}, "axis 'first': <class 'object'> is not an integer, a float, a word or a dtype"),
        (needs_two, {"first": pathlib.Path("folder/file")}, "is not an integer, a float, a word or a dtype"),
        (needs_two, {"first": Order.rows}, "axis 'first': <Order.rows: 1> is not an integer, a float, a word or a dtype"),
        (needs_two, {"first": np.ones((2, 2))}, "axis 'first': array([1., 1.]) is not an integer, a float, a word or a dtype"),
        (needs_two, {"first": {"a": 1}}, "axis 'first': {'a': 1} is a mapping: write a list of values"),
        (needs_two, {"first": [None]}, "axis 'first': None is not an integer, a float, a word or a dtype"),
        ("blur", {"n": 1}, "not a function: 'blur'"),
    ],
)
def test_wrong_arguments_are_errors(function, axes, message):
    with pytest.raises(peakmark.RunError) as error:
        peakmark.run(function, axes)
    assert str(error.value).startswith("peakmark.run: ") and message in str(error.value)


def test_errors_of_the_command_are_errors(run, tmp_path):
    (tmp_path / "file").touch()
    script = """
        import peakmark
        from blur import blur
        peakmark.run(blur, {{"n": 1}}, {})
        """
    message = run(script.format("timeout=-1"), code=1)
    assert message.startswith("peakmark.runs.RunError: peakmark.run: --timeout: '-1' is not a time")
    message = run(script.format("output='file/run.json'"), code=1)
    assert message.startswith("peakmark.runs.RunError: peakmark.run: file/run.json")


def test_a_run_that_measured_nothing_has_its_reasons(run):
    found = run("""
        from blur import skip
        found = peakmark.run(skip, {"n": [1, 2]}, memory_only=True)
        print(json.dumps([found.measured, sorted(set(found.frame["outcome"])), sorted(set(found.frame["message"])), found._repr_html_(), repr(found)]))
        """)
    assert found[:2] == [0, ["unsupported"]]
    assert "needs a larger device" in found[2][0]
    assert "0 of 2 cases measured" in found[3] and "No plot: " in found[3]
    assert found[4].startswith("<FunctionRun skip: 0 of 2 cases measured on ") and found[2][0] in found[4]


def test_the_command_must_be_installed(monkeypatch):
    monkeypatch.setattr("peakmark.recorders.find_peakmark", lambda: None)
    with pytest.raises(peakmark.NoRecorder, match="the command peakmark is not installed"):
        peakmark.run(needs_two, {"first": 1, "second": 2})
