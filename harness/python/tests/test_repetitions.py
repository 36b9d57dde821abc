"""Leaks and drift of programs that repeat: `record --repeat-call`, and what `show` prints of repeated phases."""

import json
import re
import sys
import textwrap
from xml.etree import ElementTree

import pytest
from recorded import environment, peakmark

BEGIN = """
import peakmark
from small_opencl import Context

context = Context()
kept = []


def temporary():
    buffer = context.buffer(1 << 20)
    context.fill(buffer, 1 << 20)
    buffer.release()

"""


@pytest.fixture
def record(tmp_path):
    def run(script, *options, code):
        program = tmp_path / "program.py"
        program.write_text(BEGIN + textwrap.dedent(script))
        result = peakmark(
            "record", *options, "-o", tmp_path / "p", "--", sys.executable, program, cwd=tmp_path, **environment()
        )
        assert result.returncode == code, result.stdout + result.stderr
        return result

    return run


@pytest.fixture
def shown(tmp_path):
    return lambda: json.loads(peakmark("show", "--json", tmp_path / "p").stdout)


LEAK = """
def call():
    temporary()
    kept.append(context.buffer(4096))
    peakmark.name(kept[-1], "cache entry")

peakmark.repeat_call(call)
for one in kept:
    one.release()
"""


def test_a_leak_is_named_with_its_bytes_and_its_call_site(record, shown):
    result = record(LEAK, "--repeat-call", "8", "--json", code=1)
    assert "call, 8 times: leak: 4 KiB (4096 B) each time" in result.stderr
    assert re.search(r"small_opencl.py:\d+ < small_opencl.py:\d+ < program.py:17 < program.py:20\n", result.stderr)
    (phase,) = json.loads(result.stdout)["repetitions"]
    assert phase["live_after_bytes"] == [4096 * i for i in range(1, 9)]
    assert phase["peak_bytes"][-1] == 7 * 4096 + (1 << 20)
    assert phase["peak_drift_bytes"] == 0
    (growth,) = phase["growth"]
    assert "program.py:17 < peakmark/marks.py:" in growth.pop("where")
    assert growth.pop("site").startswith("small_opencl.py:") and growth == {
        "verdict": "leak", "name": "cache entry", "kind": "buffer", "phase": "call", "bytes": 7 * 4096,
        "bytes_per_repetition": 4096, "repetitions": 7,
    }  # fmt: skip
    # `show` prints the same for the profile, although the program releases everything at its end.
    (again,) = shown()["repetitions"]
    assert again["growth"][0]["verdict"] == "leak"


def read_junit(file):
    (suite,) = ElementTree.parse(file).getroot()
    tests = {test.get("name"): {one.tag: (one.get("type"), one.get("message"), one.text) for one in test} for test in suite}
    failures = sum("failure" in results for results in tests.values())
    assert (suite.get("tests"), suite.get("failures")) == (str(len(tests)), str(failures))
    return tests


def test_junit_has_a_test_for_each_repeated_phase(record, tmp_path):
    script = """
    for image in range(6):
        with peakmark.phase("read"):
            temporary()
        with peakmark.phase("blur"):
            kept.append(context.buffer(10))
    """
    record(script, "--repeat-call", "4", "--junit", "junit.xml", code=1)
    tests = read_junit(tmp_path / "junit.xml")
    assert tests["read"] == {"system-out": (None, None, "steady")}
    kind, message, details = tests["blur"]["failure"]
    assert (kind, message) == ("leak", "leak: 10 B each time")
    assert "program.py:19" in details


def test_junit_of_a_run_that_shows_nothing_fails(record, tmp_path):
    record("temporary()", "--repeat-call", "4", "--junit", "junit.xml", code=4)
    assert "no phase occurred 4 times" in read_junit(tmp_path / "junit.xml")["repetitions"]["failure"][1]
    record("raise SystemExit(7)", "--repeat-call", "4", "--junit", "junit.xml", code=7)
    assert read_junit(tmp_path / "junit.xml")["program"]["failure"][1] == "the program ended with exit code 7"
    record("", "--junit", "junit.xml", code=2)


def test_without_the_option_the_function_is_called_once(record, shown):
    record(LEAK, code=0)
    assert shown()["repetitions"] == []
    assert [one["name"] for one in shown()["phases"]] == ["", "call", ""]


def test_a_steady_program_has_no_leak(record):
    result = record("peakmark.repeat_call(temporary)", "--repeat-call", "10", code=0)
    assert "call, 10 times: steady\n" in result.stderr


def test_a_warm_up_is_no_leak(record):
    script = """
    def call():
        temporary()
        if len(kept) < 3:
            kept.append(context.buffer(1000))

    peakmark.repeat_call(call)
    """
    assert "steady after a warm-up of 2.93 KiB (3000 B)" in record(script, "--repeat-call", "10", code=0).stderr


def test_cycles_of_objects_are_no_leak(record):
    script = """
    class Owner:
        def __init__(self):
            self.buffer, self.itself = context.buffer(1000), self
        def __del__(self):
            self.buffer.release()

    peakmark.repeat_call(Owner)
    """
    assert "steady\n" in record(script, "--repeat-call", "8", code=0).stderr


def test_a_peak_that_drifts(record):
    script = """
    def call():
        kept.append(1)
        many = [context.buffer(1000) for _ in kept]
        for one in many:
            one.release()

    peakmark.repeat_call(call)
    """
    result = record(script, "--repeat-call", "8", code=1)
    assert "call, 8 times: the peak drifts: +3.906 KiB (4000 B) in the last 4 repetitions" in result.stderr


def test_own_marks_are_repetitions_too(record):
    script = """
    for image in range(6):
        with peakmark.phase("image"):
            temporary()
            context.buffer(10)
    """
    assert "image, 6 times: leak: 10 B each time" in record(script, "--repeat-call", "4", code=1).stderr


def test_a_queue_that_is_not_finished_is_no_leak(record, shown):
    # Buffers are released at once, while kernels that are still queued keep them.
    script = """
    for _ in range(6):
        with peakmark.phase("call"):
            temporary()
    context.finish()
    """
    assert "call, 6 times: steady\n" in record(script, "--repeat-call", "4", code=0).stderr
    record(script, code=0)
    assert all(one["verdict"] != "leak" for phase in shown()["repetitions"] for one in phase["growth"])


def test_a_program_that_repeats_nothing(record):
    result = record("temporary()", "--repeat-call", "4", "--json", code=4)
    assert "no phase occurred 4 times or more; call peakmark.repeat_call(function)" in result.stderr
    assert json.loads(result.stdout)["repetitions"] == []


def test_a_failing_program_keeps_its_exit_code(record):
    record(LEAK + "\nraise SystemExit(7)", "--repeat-call", "8", code=7)


def test_wrong_usage(record):
    record("", "--repeat-call", "3", code=2)
    record("", "--repeat-call", "4", "--compact", code=2)
    record("", "--repeat-call", "4", "--repeat", "2", code=2)
