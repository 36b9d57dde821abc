"""Tests the plugin in projects that use pyopencl, on PoCL."""

import json
import pathlib
import subprocess
import sys
import types
import xml.etree.ElementTree as xml

import pytest
from project import outcomes
from recorded import environment

import peakmark

pytest.importorskip("pyopencl", reason="it is in ci/requirements-test.txt")

LIMITED = """
@pytest.mark.limit_device_memory({size!r})
@pytest.mark.limit_device_leaks("0 B")
def test_two_buffers(queue):
    first, second = device_buffer(queue, 600), device_buffer(queue, 424)
"""


def test_a_test_within_its_limit_passes(project):
    said = project.write(test_limits=LIMITED.format(size="1 KiB")).pytest(code=0)
    assert outcomes(said) == {"passed": 1}
    assert "DEVICE MEMORY" not in said  # no report without --device-memory


def test_a_limit_one_byte_too_low_fails_with_the_live_allocations(project):
    said = project.write(test_limits=LIMITED.format(size=1023)).pytest(code=1)
    assert "test_limits.py D" in said
    assert "1 KiB (1024 B) of device memory at the peak, limit 1023 B" in said
    assert "\t- (unnamed): buffer x 2, largest 600 B -> 1 KiB (1024 B)" in said
    assert "DEVICE MEMORY PROBLEM test_limits.py::test_two_buffers" in said
    # The figures come first, because pytest cuts its summary at the width of the terminal.
    assert "::test_two_buffers - Failed: 1 KiB (1024 " in said


BUDGET = """
def test_budget(queue):
    assert queue.device.global_mem_size == 1024
    first = device_buffer(queue, 1000)
    with pytest.raises(cl.MemoryError):
        cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 25)
"""


def test_a_budget_makes_the_device_smaller(project):
    project.write(test_budget=BUDGET).pytest("--device-memory-budget", "1 KiB", "--device-memory-json", "memory.json", code=0)
    assert [one["bytes"] for one in project.results()["test_budget"]["memory"]["refused"]] == [25]
    said = project.pytest("--device-memory-budget", "300TiB", code=4)
    assert "--device-memory-budget: 300TiB is not a budget: it must be from 1 byte to 256 TiB" in said
    assert "--device-memory-budget: 'much' is not a size" in project.pytest("--device-memory-budget", "much", code=4)


MAX_ALLOCATION = """
def test_limit(queue):
    assert queue.device.max_mem_alloc_size == 1024
    first, second = device_buffer(queue, 1000), device_buffer(queue, 1000)
    with pytest.raises(cl.LogicError, match="INVALID_BUFFER_SIZE"):
        cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 1025)
"""


def test_an_allocation_may_be_too_large_for_the_device(project):
    limit = "--device-memory-max-allocation"
    project.write(test_limit=MAX_ALLOCATION).pytest(limit, "1 KiB", "--device-memory-json", "memory.json", code=0)
    assert [one["bytes"] for one in project.results()["test_limit"]["memory"]["refused"]] == [1025]
    assert f"{limit}: 0 is not a limit of one allocation: it must be from 1 byte to 256 TiB" in project.pytest(limit, "0", code=4)


def test_a_session_may_undo_gc_freeze(project):
    # The plugin calls gc.freeze() to make collections shorter; docs/python.md.
    test = """
        import gc

        @pytest.mark.limit_device_leaks("0 B")
        def test_cycle(queue):
            assert (gc.get_freeze_count() < len(gc.get_objects())) == {unfrozen}
            cycle = [device_buffer(queue, 50)]
            cycle.append(cycle)
        """
    assert outcomes(project.write(test_freezing=test.format(unfrozen=False)).pytest(code=0)) == {"passed": 1}
    project.write(
        conftest="""
        import gc

        @pytest.fixture(scope="session", autouse=True)
        def collect_all():
            gc.unfreeze()
        """,
        test_freezing=test.format(unfrozen=True),
    )
    assert outcomes(project.pytest(code=0)) == {"passed": 1}


def test_a_leak_fails_with_the_live_allocations(project):
    said = project.write(
        test_leak="""
        import peakmark
        kept = []

        @pytest.mark.limit_device_leaks("99 B")
        def test_keeps(queue):
            kept.append(device_buffer(queue, 100))
            peakmark.name(kept[0], "the cache")

        @pytest.mark.limit_device_leaks("0 B")
        def test_cycle(queue):
            cycle = [device_buffer(queue, 50)]
            cycle.append(cycle)
        """
    ).pytest(code=1)
    assert outcomes(said) == {"failed": 1, "passed": 1}
    assert "100 B of device memory left behind, limit 99 B" in said
    assert "Still live:\n\t- the cache: buffer -> 100 B" in said


def test_a_failure_of_the_test_itself_has_priority(project):
    said = project.write(
        test_fails="""
        @pytest.mark.limit_device_memory("0 B")
        def test_fails(queue):
            kept = device_buffer(queue, 10)
            assert "this" == "that"

        @pytest.mark.xfail(strict=True)
        @pytest.mark.limit_device_memory("0 B")
        def test_expected(queue):
            kept = device_buffer(queue, 10)
        """
    ).pytest(code=1)
    assert "assert 'this' == 'that'" in said and ", limit " not in said
    assert outcomes(said) == {"failed": 1, "xfailed": 1}


def test_windows_of_the_fixture(project):
    said = project.write(
        test_windows="""
        def test_windows(queue, device_memory):
            before = device_buffer(queue, 100)
            with device_memory.window("call") as call:
                block = device_buffer(queue, 1024)
                del block
            assert (call.peak_bytes, call.live_peak_bytes, call.left_bytes) == (1024, 1124, 0)
        """
    ).pytest("--device-memory", code=0)
    assert "Window call: peak 1 KiB (1024 B), left 0 B" in said
    assert "Peak device memory: 1.098 KiB (1124 B)" in said


def test_memory_of_a_child_process_counts(project):
    said = project.write(
        test_child="""
        import subprocess, sys
        script = "import os, pyopencl as cl\\nn = cl.create_some_context(interactive=False)\\n"
        script += "one, two = [cl.Buffer(n, cl.mem_flags.READ_WRITE, 500) for _ in range(2)]"

        @pytest.mark.limit_device_memory("999 B")
        def test_it():
            subprocess.run([sys.executable, "-c", script], check=True)
        """
    ).pytest("--device-memory", code=1)
    assert "1000 B of device memory at the peak, limit 999 B" in said
    assert "\t- (unnamed): buffer of child processes x 2, largest 500 B -> 1000 B" in said
    assert "Note: the memory of 1 child process is in these figures" in said


def test_pools_are_named_where_a_limit_fails(project):
    said = project.write(
        test_pool="""
        @pytest.mark.limit_device_leaks("0 B")
        def test_holds(queue, device_memory, kept=[]):
            pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(queue))
            kept.append(pool)
            device_memory.pool(pool, "the pool of blocks")
            pool.allocate(1000)
            print(f"holds {pool.managed_bytes} B")
            assert pool.managed_bytes >= 1000
        """
    ).pytest("--device-memory-json", "memory.json", code=1)
    memory = project.results()["test_holds"]["memory"]
    (pool,) = memory["pools"]
    assert pool == {"name": "the pool of blocks", "held_bytes": memory["left_bytes"], "used_bytes": 0}
    assert memory["left_bytes"] >= 1000
    assert "the pool of blocks holds " in said and ", of which 0 B are in use" in said


REPORTED = """
@pytest.mark.parametrize("size", [100, 300, 200])
def test_sizes(queue, size):
    buffer = device_buffer(queue, size)

def test_nothing(queue):
    pass
"""


def test_the_report_shows_the_highest_peaks(project):
    project.write(test_report=REPORTED)
    options = ("--device-memory", "--most-device-memory", "2", "--device-memory-json", "made/memory.json")
    said = project.pytest(*options, "--junit-xml", "junit.xml", code=0)
    assert "DEVICE MEMORY REPORT" in said
    shown = [line for line in said.splitlines() if line.startswith("Device memory results for")]
    assert shown == [
        f"Device memory results for test_report.py::test_sizes[{size}] at its peak" for size in (300, 200)
    ]
    results = project.results("made/memory.json")
    assert {test: one["memory"]["peak_bytes"] for test, one in results.items()} == {
        "test_sizes[100]": 100, "test_sizes[300]": 300, "test_sizes[200]": 200, "test_nothing": 0,
    }  # fmt: skip
    assert results["test_sizes[300]"]["memory"]["at_peak"] == [
        {"name": "", "kind": "buffer", "phase": "", "site": "", "child": False, "bytes": 300, "count": 1, "largest_bytes": 300}
    ]
    properties = xml.parse(project.folder / "junit.xml").iter("property")
    assert ("device_memory_peak_bytes", "300") in [(one.get("name"), one.get("value")) for one in properties]


REFUSED = """
def test_asks_for_too_much(queue):
    import peakmark
    with peakmark.phase("call"):
        for _ in range(2):
            with pytest.raises(Exception):
                device_buffer(queue, 1 << 50)
"""


def test_refused_allocations_are_listed(project):
    project.write(test_refused=REFUSED)
    said = project.pytest("--device-memory", "--device-memory-json", "memory.json", code=0)
    memory = project.results()["test_asks_for_too_much"]["memory"]
    (refused,) = memory["refused"]
    assert refused["error_name"].startswith("CL_")
    assert {key: refused[key] for key in ("bytes", "kind", "phase", "site", "child", "count")} == {
        "bytes": 1 << 50, "kind": "buffer", "phase": "call", "site": "", "child": False, "count": 2,
    }  # fmt: skip
    assert memory["failed_allocations"] == 2
    assert f"1 PiB (1125899906842624 B): buffer x 2 in call -> {refused['error']} {refused['error_name']}" in said


def test_the_ini_file_has_a_setting_for_each_option(project):
    (project.folder / "pytest.ini").write_text(
        "[pytest]\ndevice_memory = true\nmost_device_memory = 1\ndevice_memory_json = memory.json\n"
        "device_memory_required = true\ndevice_memory_sync = true\ndevice_memory_stacks = true\n"
        "device_memory_fail_on_increase = true\n"
    )
    said = project.write(test_report=REPORTED).pytest(code=0)
    assert said.count("Device memory results for") == 1
    assert project.results()["test_sizes[100]"]["memory"]["at_peak"][0]["site"].startswith("device_buffer test_report.py:")


def test_an_invalid_number_of_tests_is_an_error(project):
    said = project.write(test_report=REPORTED).pytest("--most-device-memory", "many", code=4)
    assert "--most-device-memory many: write the number of tests to report" in said


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("device_memory = maybe", "device_memory in the ini file: invalid truth value 'maybe'; write true or false"),
        ("most_device_memory = -1", "--most-device-memory -1: write the number of tests to report, 0 for all"),
    ],
)
def test_an_invalid_value_in_the_ini_file_is_an_error(project, line, text):
    (project.folder / "pytest.ini").write_text(f"[pytest]\n{line}\n")
    said = project.write(test_report=REPORTED).pytest(code=4)
    assert f"ERROR: {text}" in said and "Traceback" not in said


def test_a_file_that_cannot_be_written_is_an_error_before_the_tests_run(project):
    said = project.write(test_report=REPORTED).pytest("--device-memory-json", "test_report.py/memory.json", code=4)
    assert "--device-memory-json test_report.py/memory.json: " in said and "collected" not in said


def test_a_peak_that_grew_fails(project):
    def write(first, second):
        text = "def test_{}(queue):\n    buffer = device_buffer(queue, {})\n"
        return project.write(test_grows=text.format("first", first) + text.format("second", second))

    option = "--device-memory-fail-on-increase"
    write(1000, 1000).pytest(option, code=0)
    said = write(1001, 10).pytest(option, code=1)
    assert "1001 B of device memory at the peak, 1000 B in the last run in which it passed" in said
    assert "test_grows.py D." in said
    said = write(1001, 11).pytest(option, code=1)  # the peak of a failed test is not stored
    assert ", 1000 B in the last run" in said and ", 10 B in the last run" in said


def test_the_number_of_tests_with_an_earlier_peak_is_reported(project):
    """With a new, lost or damaged cache every test passes."""
    project.write(test_kept="def test_first(queue): buffer = device_buffer(queue, 1000)\ndef test_second(queue): pass")
    file = project.folder / ".pytest_cache/v/peakmark/device_memory"
    file.parent.mkdir(parents=True)
    file.write_text('{"test_kept.py::test_first": 1000, "test_kept.py::test_second": "none"}')
    said = project.pytest("--device-memory-fail-on-increase", code=0)
    assert "Device memory compared with the last run that passed: 1 test; 1 test without an earlier peak\n" in said
    assert json.loads(file.read_text()) == {"test_kept.py::test_first": 1000, "test_kept.py::test_second": 0}


def test_invalid_peaks_of_the_cache_are_ignored():
    from peakmark.pytest_plugin.measuring import valid_peaks

    kept = {"a": 1000, "b": "1000", "c": -1, "d": None, "e": True, "f": 0.5, "g": 0}
    assert valid_peaks(kept) == {"a": 1000, "g": 0}
    assert valid_peaks([1]) == valid_peaks(None) == {}


def test_only_fail_on_increase_needs_the_cache(project):
    project.write(test_report="def test_it(queue): kept = device_buffer(queue, 10)")
    project.pytest("-p", "no:cacheprovider", "--device-memory", code=0)
    said = project.pytest("-p", "no:cacheprovider", "--device-memory-fail-on-increase", code=4)
    assert "needs pytest's cache, which is disabled; remove -p no:cacheprovider" in said


TOO_LATE = """
context = cl.create_some_context(interactive=False)

@pytest.mark.limit_device_memory("1 MB")
def test_it():
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 100)
"""


def test_opencl_that_was_called_too_early_fails_with_what_to_do(project):
    """Marks are known only after modules are imported; options and the ini file are known before."""
    project.write(test_late=TOO_LATE)
    said = project.pytest(code=1)
    assert "OpenCL was called before peakmark could load its recorder. With marks only, the recorder" in said
    assert "Set `device_memory = true` in pytest's ini file, or use --device-memory, to load it before" in said
    assert "During handling" not in said
    assert outcomes(project.pytest("--device-memory", code=0)) == {"passed": 1}


def test_without_a_recorder_a_test_is_skipped_with_the_reason_or_fails(project):
    project.write(test_limits=LIMITED.format(size="1 KiB") + "\ndef test_free(): pass\n")
    nowhere = {"PEAKMARK_LIBRARY_DIR": str(project.folder)}
    said = project.pytest("-rs", code=0, **nowhere)
    assert outcomes(said) == {"skipped": 1, "passed": 1}
    assert "SKIPPED [1] test_limits.py:" in said
    assert "device memory is not recorded: the recorders (libpeakmark-opencl.so, libpeakmark-cupti.so)" in said
    assert outcomes(project.pytest("--device-memory-required", code=1, **nowhere)) == {"failed": 1, "passed": 1}
    said = project.pytest("--device-memory", code=0, **nowhere)
    assert "Not measured, 2 tests: the recorders" in said


def test_without_a_recorder_the_summary_has_the_reason_and_ci_fails(project):
    project.write(test_limits=LIMITED.format(size="1 KiB") + "\ndef test_window(device_memory): pass\ndef test_free(): pass\n")
    nowhere = {"PEAKMARK_LIBRARY_DIR": str(project.folder)}
    for ci in ({}, {"CI": ""}, {"CI": "false"}):  # without -rs, pytest does not print the reasons of skipped tests
        said = project.pytest(code=0, **nowhere, **ci)
        assert outcomes(said) == {"skipped": 2, "passed": 1}
        assert "Device memory not recorded, 2 tests skipped: the recorders (libpeakmark-opencl.so" in said
    said = project.pytest(code=1, **nowhere, CI="true")
    assert outcomes(said) == {"failed": 1, "error": 1, "passed": 1}
    assert "are not installed: searched" in said
    assert "this fails in CI, so that no test passes unmeasured; --device-memory-optional skips the test" in said
    said = project.pytest("--device-memory-optional", code=0, **nowhere, CI="true")
    assert outcomes(said) == {"skipped": 2, "passed": 1}
    assert outcomes(project.pytest("--device-memory", "-k", "free", code=0, **nowhere, CI="true")) == {
        "passed": 1,
        "deselected": 2,
    }
    project.folder.joinpath("pytest.ini").write_text("[pytest]\ndevice_memory_optional = true\n")
    assert outcomes(project.pytest(code=0, **nowhere, CI="true")) == {"skipped": 2, "passed": 1}
    assert outcomes(project.pytest("--device-memory-required", code=1, **nowhere)) == {"failed": 1, "error": 1, "passed": 1}


def test_a_test_that_calls_no_device_is_skipped(project):
    project.folder.joinpath("test_host.py").write_text(
        "import pytest\n@pytest.mark.limit_device_memory('1 MB')\ndef test_it(): pass\n"
        "def test_window(device_memory):\n    with device_memory.window('call'): pass\n"
    )
    said = project.pytest("-rs", code=0)
    assert outcomes(said) == {"skipped": 2}
    assert "neither OpenCL nor CUDA was called" in said
    assert outcomes(project.pytest("--device-memory-required", code=1)) == {"failed": 2}


def test_wrappers_are_of_the_old_kind():
    """pluggy has hookimpl(wrapper=True) since 1.2. Debian 12 has 1.0, with which pytest would not start."""
    for file in pathlib.Path(peakmark.__file__).parent.rglob("*.py"):
        assert "(wrapper=" not in file.read_text(), file


def test_fail_with_works_with_old_and_new_pluggy():
    from peakmark.pytest_plugin.measuring import fail_with

    error = ValueError("too much")
    new, of_pluggy_1_0 = [], types.SimpleNamespace(_excinfo=None)
    fail_with(types.SimpleNamespace(force_exception=new.append), error)
    fail_with(of_pluggy_1_0, error)
    assert new == [error] and of_pluggy_1_0._excinfo == (ValueError, error, None)


def test_an_old_pytest_gets_a_warning_and_nothing_fails():
    script = "import pytest; del pytest.StashKey; import peakmark.pytest_plugin as it; print(hasattr(it, 'pytest_configure'))"
    run = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
    assert run.stderr.count("plugin of peakmark disabled: it needs pytest 7.0 or newer, this is ") == 1
