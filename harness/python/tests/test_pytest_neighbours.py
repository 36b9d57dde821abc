"""Tests the plugin together with other plugins, and under `peakmark record`."""

import json
import sys

import pytest
from project import outcomes
from recorded import environment, peakmark

pytest.importorskip("pyopencl", reason="it is in ci/requirements-test.txt")

SHARED = """
@pytest.mark.limit_device_memory("300 B")
@pytest.mark.parametrize("i", range(4))
def test_sizes(queue, i):
    buffer = device_buffer(queue, {}[i])
"""


def test_with_xdist_the_report_has_the_tests_of_all_workers(project):
    pytest.importorskip("xdist")
    project.write(test_shared=SHARED.format([100, 200, 300, 301]))
    options = ("-n", "2", "--device-memory", "--device-memory-json", "memory.json", "--device-memory-fail-on-increase")
    said = project.pytest(*options, code=1)
    assert outcomes(said) == {"failed": 1, "passed": 3}
    assert "301 B of device memory at the peak, limit 300 B" in said
    assert said.count("Device memory results for") == 4
    results = project.results()
    assert sorted(one["memory"]["peak_bytes"] for one in results.values()) == [100, 200, 300, 301]
    assert all(one["memory"]["notes"] == [] for one in results.values())
    said = project.write(test_shared=SHARED.format([100, 201, 30, 3])).pytest(*options, code=1)
    assert outcomes(said) == {"failed": 1, "passed": 3}
    assert "201 B of device memory at the peak, 200 B in the last run in which it passed" in said


def test_pyclesperanto_which_calls_opencl_on_import(project):
    pytest.importorskip("pyclesperanto", reason="it is in ci/requirements-test.txt")
    (project.folder / "test_blur.py").write_text(
        """
import numpy as np
import pyclesperanto as cle
import pytest

image = np.ones((16, 64, 64), dtype=np.float32)

def blurred():  # one axis after the other, so it needs a second image in addition to the result
    return cle.pull(cle.gaussian_blur(cle.push(image), sigma_x=1, sigma_y=1, sigma_z=1))

@pytest.mark.limit_device_memory("768 KiB")
@pytest.mark.limit_device_leaks("0 B")
def test_kept():
    assert blurred().shape == image.shape

@pytest.mark.limit_device_memory("786431 B")
def test_one_byte_too_low():
    blurred()
"""
    )
    said = project.pytest("--device-memory", "--device-memory-sync", code=1)
    assert outcomes(said) == {"failed": 1, "passed": 1}
    assert "768 KiB (786432 B) of device memory at the peak, limit 768 KiB (786431 B)" in said
    assert "\t- (unnamed): buffer x 3, largest 256 KiB -> 768 KiB (786432 B)" in said


def test_with_memray_both_measure(project):
    pytest.importorskip("pytest_memray")
    said = project.write(
        test_both="""
        @pytest.mark.limit_memory("100 MB")
        @pytest.mark.limit_device_memory("100 B")
        def test_passes(queue):
            buffer = device_buffer(queue, 100)

        @pytest.mark.limit_memory("1 MB")
        @pytest.mark.limit_device_memory("100 B")
        def test_host(queue):
            host = np.ones(1 << 21)

        @pytest.mark.limit_memory("100 MB")
        @pytest.mark.limit_device_memory("99 B")
        def test_device(queue):
            buffer = device_buffer(queue, 100)
        """
    ).pytest("--memray", "--device-memory", code=1)
    assert outcomes(said) == {"failed": 2, "passed": 1}
    assert ".MD" in said
    assert "MEMRAY REPORT" in said and "DEVICE MEMORY REPORT" in said


def test_with_benchmark_the_peak_is_that_of_all_rounds(project):
    pytest.importorskip("pytest_benchmark")
    said = project.write(
        test_timed="""
        def one(queue):
            device_buffer(queue, 1000)

        @pytest.mark.limit_device_memory("1000 B")
        def test_timed(queue, benchmark):
            benchmark.pedantic(one, args=(queue,), rounds=5, iterations=2)
        """
    ).pytest("--device-memory", code=0)
    assert "Peak device memory: 1000 B" in said
    assert "test_timed" in said and "Rounds" in said


def test_under_record_a_test_is_a_phase_and_has_the_same_peak(project):
    """The plugin and `peakmark show` report the same peaks of the same run."""
    project.write(
        test_phases="""
        import peakmark

        @pytest.mark.parametrize("size", [100, 2000, 30])
        def test_sizes(queue, size):
            with peakmark.phase("call"):
                buffer = device_buffer(queue, size)
            second = device_buffer(queue, size)
        """
    )
    profile = project.folder / "profile"
    record = peakmark(
        "record", "-o", profile, "--", sys.executable, "-m", "pytest", "-p", "peakmark.pytest_plugin",
        "--device-memory-json", "memory.json", cwd=project.folder, **environment(),
    )  # fmt: skip
    assert record.returncode == 0, record.stdout + record.stderr
    shown = json.loads(peakmark("show", profile, "--json").stdout)
    peaks = {phase["name"]: phase["peak_bytes"] for phase in shown["phases_by_name"]}
    results = project.results()
    assert [one["memory"]["peak_bytes"] for one in results.values()] == [200, 4000, 60]
    for test, one in results.items():
        assert one["memory"]["live_peak_bytes"] == peaks[f"test_phases.py::{test}"]
        assert [group["phase"] for group in one["memory"]["at_peak"]] == ["call", ""]
    assert shown["requested"]["peak_bytes"] == max(one["memory"]["live_peak_bytes"] for one in results.values())
