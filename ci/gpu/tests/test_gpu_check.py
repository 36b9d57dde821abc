"""gpu-check against a bundle of stub programs: what it leaves, when it ends, and the verdict of every stage."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[up]) for up in (1, 2)]
import libraries  # noqa: E402
import stages  # noqa: E402
from helpers import has_ended  # noqa: E402
from stub_bundle import DATA, GPU_CHECK, GTEST, LIBRARY, Stubs, run_file, verdict  # noqa: E402

HANG_LIMIT = "8"  # seconds, of which a busy machine needs some before the first check


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    return Stubs(tmp_path)


def test_each_group_is_planned_for_540_seconds_at_most():
    assert stages.GROUPS == ("core", "sweep", "fbp", "large", "python")
    for group in stages.GROUPS:
        assert sum(stage.seconds for stage in stages.STAGES if stage.group == group) <= 540
    assert len({stage.name for stage in stages.STAGES}) == len(stages.STAGES)


def test_core_verifies_every_stage_and_keeps_the_evidence(stubs):
    assert stubs.run("core") == (0, "")
    results = stubs.results()
    assert {row["stage"] for row in results.values()} == {stage.name for stage in stages.chosen(["core"])}
    states = {check: row["state"] for check, row in results.items()}
    measured = {"doctor", "cost-plain", "cost-recorded", "cost-ns-an-event", "record-profiles", "sanitizer-cases"}
    measured |= {check for check in states if check.endswith("-program")}
    assert {check for check, state in states.items() if state == "measured"} == measured
    assert {state for check, state in states.items() if check not in measured} == {"verified"}
    assert "NVIDIA Stub" in results["devices"]["detail"]
    assert results["test-cuda_device_test"]["detail"] == "5 tests passed, 0 skipped"
    assert results["record-known-bytes"]["detail"] == "peak_bytes 4096, allocations 9: recorded = known"
    assert results["contexts-handle"]["detail"] == "peak_bytes 4096: recorded = known"
    assert results["cost-ns-an-event"]["detail"] == "0 ns added to a call by the recorder"
    assert results["run-smoke"]["detail"] == "2 of 2 cases: 2 ok"
    assert results["check-smoke"]["detail"] == "verdicts: 3 pass; 1 estimates are 0 bytes off"
    assert results["sanitizer-memcheck"]["detail"].endswith("0 errors in 5 tests passed, 0 skipped")
    assert results["sanitizer-kernels"]["detail"].endswith("0 errors in 2 cases")
    assert "5 tests" in stubs.archived("logs/test-cuda_device_test.log")
    assert "commit: 0123abc" in stubs.archived("environment.txt")
    assert stubs.archived("results.tsv") == (stubs.out / "results.tsv").read_text()
    assert stubs.archived("profiles/two.profile") == ""
    assert json.loads(stubs.archived("runs/run-smoke.json")) == DATA["run"]


@pytest.mark.parametrize(
    ("stage", "program", "check"),
    [
        ("devices", "peakmark-devices", "devices"),
        ("tests", "cuda_device_test", "test-cuda_device_test"),
        ("recorder", "peakmark-show", "record-known-bytes"),
        ("recorder", "peakmark-compare-accounts", "record-callbacks-records"),
        ("profiles", "record-profiles", "record-profiles"),
        ("smoke", "peakmark-check", "check-smoke"),
        ("examples", "peakmark-cuda-benchmark", "google-benchmark"),
        ("sanitizer", "compute-sanitizer", "sanitizer-memcheck"),
        ("sanitizer", "peakmark-list", "sanitizer-cases"),
        ("nightly", "peakmark-run", "run-nightly"),
        ("fbp-headline", "peakmark-run", "run-fbp-headline"),
        ("large", "peakmark-run", "large-dry"),
    ],
)
@pytest.mark.parametrize("behaviour", ["fail", "silent"])
def test_a_program_that_fails_or_prints_no_numbers_fails_its_check(stubs, stage, program, check, behaviour):
    code, _ = stubs.run(stage, behave=f"{program}:{behaviour}")
    result = stubs.results()[check]
    assert (code, result["state"]) == (1, "failed")
    assert result["exit code"] == ("3" if behaviour == "fail" else "0")
    if behaviour == "fail":
        assert result["detail"].endswith(f"{program} broke")


@pytest.mark.parametrize(
    ("stage", "program", "file", "check"),
    [
        ("tests", "cuda_device_test", "", "test-cuda_device_test"),
        ("smoke", "peakmark-run", "", "run-smoke"),
        ("sanitizer", "compute-sanitizer", "", "sanitizer-memcheck"),
    ],
)
def test_a_program_that_hangs_is_killed_and_fails_its_check(stubs, stage, program, file, check):
    code, _ = stubs.run("--limit", HANG_LIMIT, stage, "cost", behave=f"{program}:hang")
    results = stubs.results()
    assert (code, results[check]["state"]) == (1, "failed")
    assert "did not end within" in results[check]["detail"]
    assert results["cost"]["state"] == "skipped"
    assert results["cost"]["detail"] == f"the limit of {HANG_LIMIT} s is reached"


@pytest.mark.parametrize(
    ("stage", "file", "check"),
    [
        ("recorder", "bundle/bin/peakmark-compare-accounts", "record-callbacks-records"),
        ("recorder", "bundle/bin/peakmark-every-allocation", "record-known-bytes"),
        ("recorder", "bundle/bin/peakmark-every-allocation", "record-budget"),
        ("sanitizer", "bundle/tests/cuda_device_test", "sanitizer-memcheck"),
        ("profiles", "bundle/record-profiles", "record-profiles"),
        ("examples", "bundle/examples/peakmark-cuda-benchmark", "google-benchmark"),
        ("smoke", "bundle/bin/peakmark", "run-smoke"),
    ],
)
def test_a_check_whose_program_is_missing_is_skipped_with_its_name(stubs, stage, file, check):
    stubs.remove(file)
    stubs.run(stage)
    result = stubs.results()[check]
    assert result["state"] == "skipped"
    assert f"{Path(file).name} is missing" in result["detail"]


def test_tests_that_fail_are_counted_and_the_first_is_named(stubs):
    lines = ["[  FAILED  ] Cuda/DeviceSuite.Copies/0, where GetParam() = 1", "[  PASSED  ] 3 tests.", "[  FAILED  ] 1 test, listed below:"]
    stubs.program("bundle/tests/cuda_device_test", "".join(f"echo '{line}'\n" for line in lines) + "exit 1\n")
    assert stubs.run("tests")[0] == 1
    assert stubs.results()["test-cuda_device_test"]["detail"].startswith("1 tests failed, the first is Cuda/DeviceSuite.Copies/0; ")


def test_a_bundle_without_tests_is_skipped_and_nothing_verified_is_exit_4(stubs):
    stubs.remove("bundle/tests/cuda_device_test")
    stubs.remove("bundle/tests/filter_cuda_test")
    assert stubs.run("tests")[0] == 4
    assert stubs.results()["tests"]["state"] == "skipped"


def test_sigterm_ends_the_running_program_and_leaves_archive_and_results(stubs):
    started = stubs.folder / "started"
    os.mkfifo(started)
    process = stubs.start("core", behave="filter_cuda_test:hang", STARTED=str(started))
    with started.open() as fifo:
        assert fifo.read() == "started\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    assert process.returncode == 130
    results = stubs.results()
    assert results["test-cuda_device_test"]["state"] == "verified"
    assert results["test-filter_cuda_test"]["state"] == "skipped"
    assert results["test-filter_cuda_test"]["detail"].startswith("stopped by SIGTERM after")
    later = [results[stage.name] for stage in stages.chosen(["core"])[2:]]
    assert {(row["state"], row["detail"]) for row in later} == {("skipped", "stopped by SIGTERM")}
    assert "5 tests" in stubs.archived("logs/test-cuda_device_test.log")


def test_what_a_killed_program_leaves_behind_is_killed_too(stubs):
    stubs.program("bundle/tests/cuda_device_test", 'sleep 600 & echo $! >"$STUB_DATA/child"; sleep 600\n')
    stubs.run("--limit", HANG_LIMIT, "tests")
    assert has_ended(int((stubs.data / "child").read_text()), 60)


def test_a_log_that_is_too_large_is_left_out_and_named(stubs):
    stubs.run("tests", behave="filter_cuda_test:large")
    results = stubs.results()
    assert results["archive"]["state"] == "skipped"
    assert "logs/test-filter_cuda_test.log" in results["archive"]["detail"]
    assert "5 tests" in stubs.archived("logs/test-cuda_device_test.log")


def test_recorded_bytes_other_than_the_known_ones_fail(stubs):
    stubs.set("show", {"requested": {"peak_bytes": 4097, "allocations": 9}})
    assert stubs.run("recorder")[0] == 1
    result = stubs.results()["record-known-bytes"]
    assert (result["state"], result["detail"]) == ("failed", "peak_bytes: recorded 4097, the program says 4096")


def test_a_verdict_that_fails_and_a_case_out_of_memory_fail_the_run(stubs):
    for wrong in (
        verdict("window_bytes", "fail", "off"),
        verdict("outcome", "skipped", "out_of_memory: cudaMalloc"),
        verdict("present", "failed_measurement", "not in a complete run"),
    ):
        stubs.set("verdicts", {"verdicts": [verdict("outcome"), wrong]})
        assert stubs.run("smoke")[0] == 1
        result = stubs.results()["check-smoke"]
        assert (result["state"], wrong["advice"] in result["detail"]) == ("failed", True)


def test_cases_that_are_unsupported_or_not_measured_are_skipped_with_the_reason(stubs):
    missing = verdict("outcome", "skipped", "unsupported: fft: libcufft.so.12 is not found")
    expected = verdict("outcome", "skipped", "unsupported: no textures (as the suite expects)")
    found = [verdict("outcome"), missing, expected, verdict("present", "failed_measurement")]
    stubs.set("verdicts", {"verdicts": found})
    run = run_file("cuda")
    run["context"]["peakmark"].update(complete=False, planned=[1, 2, 3])
    stubs.set("run", run)
    assert stubs.run("smoke")[0] == 0
    results = stubs.results()
    assert results["unsupported-smoke"]["detail"].startswith("1 cases are unsupported here; ")
    assert "libcufft.so.12 is not found" in results["unsupported-smoke"]["detail"]
    assert "2 of 3 cases" in results["rest-smoke"]["detail"]
    assert {results[check]["state"] for check in ("unsupported-smoke", "rest-smoke")} == {"skipped"}


def test_a_run_that_measured_nothing_is_skipped_with_its_reason(stubs):
    stubs.program("bundle/bin/peakmark", "echo 'the deadline came before anything was measured' >&2; exit 4\n")
    assert stubs.run("smoke")[0] == 4
    results = stubs.results()
    assert (results["run-smoke"]["state"], results["run-smoke"]["exit code"]) == ("skipped", "4")
    assert results["run-smoke"]["detail"] == "the deadline came before anything was measured"
    assert results["check-smoke"]["detail"] == "there is no run file"


def test_large_runs_what_the_device_holds_and_skips_the_rest(stubs):
    stubs.run("large", SMI_TOTAL="40000")
    results = stubs.results()
    assert results["large-memory"]["state"] == "skipped"
    assert "1 of 2 cases need more" in results["large-memory"]["detail"]
    asked = (stubs.data / "asked").read_text().splitlines()[-1]
    assert r"--filter ^(padding/fused/cuda/n:1)$" in asked
    stubs.run("large", SMI_TOTAL="143771")
    assert "large-memory" not in stubs.results()
    assert "--filter" not in (stubs.data / "asked").read_text().splitlines()[-1]


def test_times_without_a_case_to_compare_are_skipped(stubs):
    stubs.set("verdicts", {"verdicts": [verdict("outcome")]})
    stubs.run("nightly")
    result = stubs.results()["times-nightly"]
    assert (result["state"], "no case" in result["detail"]) == ("skipped", True)


@pytest.mark.parametrize(("stage", "package"), [("cupy", "CuPy"), ("torch", "torch"), ("plugin", "cupy")])
def test_a_python_package_that_is_missing_is_skipped_with_its_name(stubs, stage, package):
    code, _ = stubs.run(stage, PYTHONPATH="")
    results = stubs.results()
    assert code == 4
    assert any(row["detail"].startswith(f"{package} is not installed") for row in results.values())


def test_a_sanitizer_that_is_missing_or_refuses_the_device_is_skipped(stubs):
    stubs.remove("tools/compute-sanitizer")
    others = ":".join(folder for folder in os.environ["PATH"].split(":") if not (Path(folder) / "compute-sanitizer").exists())
    stubs.run("sanitizer", PATH=f"{stubs.folder}/tools:{others}")
    results = stubs.results()
    if results["sanitizer-memcheck"]["state"] == "verified":
        pytest.skip("a toolkit on this machine has a compute-sanitizer")
    assert "compute-sanitizer is missing" in results["sanitizer-memcheck"]["detail"]
    assert results["find-compute-sanitizer"]["state"] == "skipped"
    stubs.program("tools/compute-sanitizer", "echo '========= Error: Device not supported'\n")
    stubs.run("sanitizer")
    assert stubs.results()["sanitizer-memcheck"]["detail"] == "compute-sanitizer: Device not supported"


def test_libraries_of_pip_packages_are_found_and_given_to_the_loader(stubs):
    stubs.program("bundle/tests/cuda_device_test", 'echo "$LD_LIBRARY_PATH"; ' + GTEST)
    stubs.run("tests")
    assert f"find-{LIBRARY}" not in stubs.results()
    folder = stubs.folder / "site-packages/nvidia/cufft/lib"
    assert f"{LIBRARY}: {folder}/{LIBRARY}" in stubs.archived("environment.txt")
    paths = stubs.archived("logs/test-cuda_device_test.log").splitlines()[0].split(":")
    assert paths == [f"{stubs.folder}/bundle/lib/peakmark", f"{stubs.folder}/bundle/lib", str(folder)]


def test_a_library_that_is_nowhere_is_skipped_with_its_name(stubs):
    (stubs.folder / "bundle/cuda-libraries").write_text("libnowhere.so.12\n")
    assert stubs.run("tests")[0] == 0
    result = stubs.results()["find-libnowhere.so.12"]
    assert (result["state"], result["detail"].startswith("libnowhere.so.12 not found")) == ("skipped", True)
    assert "libnowhere.so.12: not found" in stubs.archived("environment.txt")


@pytest.mark.parametrize("place", ["lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64"])
def test_libraries_of_a_toolkit_are_found(tmp_path, place):
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / LIBRARY).write_bytes(b"")
    found = libraries.find([LIBRARY], {"CUDA_HOME": str(tmp_path), "PATH": ""})
    assert found.files[LIBRARY] == tmp_path / place / LIBRARY
    assert found.folders == [tmp_path / place]


def test_a_library_that_the_loader_finds_adds_no_folder(tmp_path):
    (tmp_path / LIBRARY).write_bytes(b"")
    found = libraries.find([LIBRARY], {"LD_LIBRARY_PATH": str(tmp_path), "PATH": ""})
    assert (found.files[LIBRARY], found.folders) == (tmp_path / LIBRARY, [])


def test_an_error_of_gpu_check_itself_fails_that_part_only(stubs):
    (stubs.folder / "bundle/cuda-libraries").unlink()
    (stubs.folder / "bundle/suites/recorded/expected.toml").unlink()
    assert stubs.run("profiles", "tests")[0] == 1
    results = stubs.results()
    assert {results[check]["state"] for check in ("environment", "profiles")} == {"failed"}
    assert results["profiles"]["detail"].startswith("error in gpu-check: FileNotFoundError")
    assert results["test-cuda_device_test"]["state"] == "verified"


def test_standard_output_that_nobody_reads_ends_nothing(stubs):
    command = [sys.executable, GPU_CHECK, stubs.folder / "bundle", stubs.out, "core"]
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(command, env=stubs.environment, stdout=writer, stderr=subprocess.DEVNULL)
    os.close(writer)
    process.wait(timeout=600)
    assert stubs.results()["sanitizer-kernels"]["state"] == "verified"


def test_an_unknown_group_is_wrong_usage(stubs):
    code, errors = stubs.run("core", "cores")
    assert code == 2
    assert "unknown group or stage 'cores'" in errors
    assert not stubs.out.exists()


def test_no_gpu_is_exit_4_with_every_stage_skipped(stubs):
    stubs.program("tools/nvidia-smi", "exit 9\n")
    assert stubs.run("core")[0] == 4
    results = stubs.results()
    assert {row["detail"] for row in results.values()} == {"there is no GPU: nvidia-smi lists none"}
    assert {row["state"] for row in results.values()} == {"skipped"}
    assert [row["stage"] for row in results.values()] == [stage.name for stage in stages.chosen(["core"])]
