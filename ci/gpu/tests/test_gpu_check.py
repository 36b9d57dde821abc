"""gpu-check with the real checks and stub programs: what it leaves, when it ends, and the verdict of each kind of check."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CI))
from helpers import has_ended  # noqa: E402

MIB = 1 << 20
# Seconds of a call in which a program hangs. gpu-check keeps 10 of them for packing; a busy machine needs some for the checks before.
HANG_LIMIT = "25"
# Every stub asks $BEHAVE first, a list such as "cuda_device_test:hang,peakmark-run:fail".
BEHAVE = """#!/bin/sh
name=$(basename "$0"); [ "$name" != peakmark ] || name=peakmark-$1
case ",$BEHAVE," in
  *",$name:fail,"*) echo "$name broke" >&2; exit 3 ;;
  *",$name:hang,"*) sleep 600 & echo $! >"$STUB_DATA/child"; echo started >"${STARTED:-/dev/null}"; wait ;;
  *",$name:silent,"*) exit 0 ;;
  *",$name:large,"*) head -c 20000000 /dev/urandom >large ;;
esac
"""
PEAKMARK = """
data=$STUB_DATA command=$1 file=
shift
case $command in
  doctor) echo '{}' ;;
  check) cat "$data/verdicts" ;;
  run)
    kind=run
    echo "$*" >>"$data/asked"
    while [ $# -gt 0 ]; do
      case $1 in -o) file=$2 ;; dry) kind=dry ;; esac
      shift
    done
    cp "$data/$kind" "$file" ;;
  record)
    while [ "$1" != -- ]; do
      [ "$1" != -o ] || file=$2
      shift
    done
    shift
    : >"$file"
    [ -z "$PEAKMARK_ACTIVITY_CHECK" ] || : >"$file.activity.1"
    exec "$@" ;;
  *) cat "$data/$command" ;;
esac
"""
PASSED = "echo '[==========] 5 tests from 1 test suite ran.'; echo '[  PASSED  ] 5 tests.'\n"
SANITIZER = """
while [ "${1#-}" != "$1" ]; do
  [ "$1" != --tool ] || tool=$2
  shift 2
done
"$@" || exit
if [ "$tool" = racecheck ]; then echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'
else echo '========= ERROR SUMMARY: 0 errors'; fi
"""
PROGRAMS = {
    "bundle/bin/peakmark": PEAKMARK,
    "bundle/bin/peakmark-bench": "cat >/dev/null; echo 'a/cuda/iterations:1/manual_time 1 ns'\n",
    "bundle/bin/peakmark-every-allocation": """
if [ "$1" = loop ]; then echo '{"events": 200, "ns_an_event": 70.5}'; else echo '{"peak_bytes": 4096, "allocations": 9}'; fi
""",
    "bundle/bin/peakmark-context-memory": "echo '{\"peak_bytes\": 4096}'\n",
    "bundle/bin/peakmark-compare-accounts": "echo '18 events by callbacks, 18 by records, 0 differences'\n",
    "bundle/tests/cuda_device_test": PASSED,
    "bundle/tests/filter_cuda_test": PASSED,
    "bundle/examples/sum": "",
    "bundle/examples/peakmark-cuda-benchmark": """
echo '"name": "buffers/4096/iterations:4", "max_bytes_used": 5099, "total_allocated_bytes": 17396, "net_heap_growth": 0'
echo '"name": "leak/iterations:1", "net_heap_growth": 500'
""",
    "bundle/record-profiles": 'mkdir -p "$2"; : >"$2/one.profile"\n',
    "tools/nvidia-smi": """
case $* in
  -L) echo 'GPU 0: NVIDIA Stub (UUID: GPU-0)' ;;
  *query-gpu=name*) echo 'NVIDIA Stub' ;;
esac
""",
    "tools/compute-sanitizer": SANITIZER,
}


def run_file(backend: str, complete: bool = True) -> dict:
    rows = [{"case": f"padding/fused/{backend}/n:1", "requested_peak_bytes": 1000}]
    rows += [{"case": f"filter/whole/{backend}/n:2", "requested_peak_bytes": 50 << 30}]
    facts = {"complete": complete, "device_memory_bytes": 40 << 30}
    return {"context": {"peakmark": facts}, "benchmarks": [{"peakmark": row} for row in rows]}


def verdict(rule: str, judgement: str = "pass", advice: str = "", case: str = "padding/fused/cuda/n:1") -> dict:
    return {"case": case, "rule": rule, "judgement": judgement, "advice": advice}


def verdicts(*others: dict) -> dict:
    return {"headline": "2 cases", "verdicts": [verdict("outcome"), verdict("window_bytes"), *others]}


class Bundle:
    """A bundle and tools, and the results of gpu-check with them."""

    def __init__(self, folder: Path):
        self.folder, self.out, self.data = folder, folder / "out", folder / "data"
        for name in ("bundle/gpu", "data", "tmp"):
            (folder / name).mkdir(parents=True)
        for name, text in PROGRAMS.items():
            self.program(name, text)
        shutil.copy(CI / "gpu-check", folder / "bundle")
        for file in [*(CI / "gpu").glob("*.py"), CI / "gpu/checks.cmake"]:
            shutil.copy(file, folder / "bundle/gpu")
        (folder / "bundle/commit").write_text("0123abc\n")
        (self.data / "list").write_text("padding/fused/cuda/n:1\n")
        self.set("devices", {"devices": [{"backend": "cuda", "index": 0, "name": "NVIDIA Stub"}]})
        self.set("show", {"requested": {"peak_bytes": 4096, "allocations": 9}})
        self.set("run", run_file("cuda"))
        self.set("dry", run_file("dry"))
        self.set("verdicts", verdicts())
        # No package of this Python, such as CuPy, is there.
        self.program("tools/python3", f'exec {sys.executable} -S "$@"\n')
        self.environment = {**os.environ, "STUB_DATA": str(self.data), "TMPDIR": str(folder / "tmp"), "VIRTUAL_ENV": str(folder)}
        self.environment |= {"PATH": f"{folder}/tools:{os.environ['PATH']}", "CUDA_HOME": str(folder), "PYTHONPATH": ""}

    def program(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BEHAVE + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def set(self, name: str, value: object) -> None:
        (self.data / name).write_text(json.dumps(value))

    def start(self, *words: str, behave: str = "", **variables: str) -> subprocess.Popen:
        environment = {**self.environment, "BEHAVE": behave, **variables}
        command = [self.folder / "bundle/gpu-check", self.out, *words]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *words: str, behave: str = "", **variables: str) -> tuple[int, str]:
        """Returns the exit code and the output. The time limit is that of a test which hangs, not a measurement."""
        process = self.start(*words, behave=behave, **variables)
        output = process.communicate(timeout=600)[0]
        return process.returncode, output

    def results(self) -> dict[str, tuple[str, str]]:
        """Returns state and last words by check. Whatever happened, OUT has files that fit a lease."""
        assert {"ctest.log", "gpu-check.tar.gz", "results.txt"} <= {path.name for path in self.out.iterdir()}
        assert all(path.stat().st_size <= 16 * MIB for path in self.out.iterdir())
        rows = [line.split("\t") for line in (self.out / "results.txt").read_text().splitlines()]
        assert len({row[0] for row in rows}) == len(rows)
        return {row[0]: (row[1], row[2]) for row in rows}

    def result(self, check: str, **behaviour: str) -> tuple[str, str]:
        self.run("-R", f"^{check}$", **behaviour)
        return self.results()[check]

    def archived(self, name: str) -> str:
        with tarfile.open(self.out / "gpu-check.tar.gz") as archive:
            file = archive.extractfile(f"./{name}")
            assert file is not None
            return file.read().decode()


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return Bundle(tmp_path)


def test_core_passes_and_keeps_the_evidence(bundle):
    code, output = bundle.run("-L", "core")
    results = bundle.results()
    assert (code, {state for state, _ in results.values()}) == (0, {"Passed"}), output
    assert list(results)[:3] == ["devices", "cuda_device_test", "filter_cuda_test"]
    assert results["cuda_device_test"][1] == "[  PASSED  ] 5 tests."
    assert results["record-known-bytes"][1] == "recorded = known"
    assert results["record-callbacks-records"][1].endswith("0 differences")
    assert results["cost"][1] == "the recorder adds 0 ns to a call (0 to 0 in 5 rounds)"
    assert results["smoke"][1].endswith("1 estimates are 0 bytes off")
    assert results["sanitizer-kernels"][1].endswith("ERROR SUMMARY: 0 errors")
    assert "commit: 0123abc" in bundle.archived("environment.txt")
    assert bundle.archived("profiles/one.profile") == ""
    assert json.loads(bundle.archived("smoke.json")) == run_file("cuda")
    assert '<testcase name="devices"' in (bundle.out / "junit.xml").read_text()


@pytest.mark.parametrize(
    ("check", "program"),
    [
        ("devices", "peakmark-devices"),
        ("cuda_device_test", "cuda_device_test"),
        ("record-known-bytes", "peakmark-show"),
        ("cost", "peakmark-every-allocation"),
        ("smoke", "peakmark-run"),
        ("smoke", "peakmark-check"),
        ("google-benchmark", "peakmark-cuda-benchmark"),
        ("sanitizer-memcheck", "compute-sanitizer"),
    ],
)
@pytest.mark.parametrize("behaviour", ["fail", "silent"])
def test_a_program_that_fails_or_prints_nothing_fails_its_check(bundle, check, program, behaviour):
    assert bundle.result(check, behave=f"{program}:{behaviour}")[0] == "Failed"


def test_tests_that_fail_fail_and_tests_that_are_all_skipped_are_skipped(bundle):
    skipped = "echo '[  PASSED  ] 0 tests.'; echo '[  SKIPPED ] 1 test, listed below:'; echo '[  SKIPPED ] A.B'\n"
    for text, state in (
        (PASSED + "echo '[  FAILED  ] A.B'; exit 1\n", "Failed"),
        (skipped + "echo '[  FAILED  ] A.C'; exit 1\n", "Failed"),
        (skipped, "Skipped"),
        (PASSED + "kill -SEGV $$\n", "Exception"),
    ):
        bundle.program("bundle/tests/cuda_device_test", text)
        assert bundle.result("cuda_device_test")[0] == state


def test_recorded_bytes_other_than_the_known_ones_fail(bundle):
    bundle.set("show", {"requested": {"peak_bytes": 4097, "allocations": 9}})
    assert bundle.result("record-known-bytes") == ("Failed", "peak_bytes: recorded 4097, the program says 4096")


@pytest.mark.parametrize(
    ("other", "state"),
    [
        (verdict("window_bytes", "fail", "off"), "Failed"),
        (verdict("present", "failed_measurement", "not in a complete run"), "Failed"),
        (verdict("outcome", "skipped", "unsupported: libcufft.so.12 is not found"), "Passed"),
        # The first needs 1000 bytes, the second 50 GiB of a device of 40 GiB.
        (verdict("outcome", "skipped", "out_of_memory: cudaMalloc"), "Failed"),
        (verdict("outcome", "skipped", "out_of_memory: cudaMalloc", "filter/whole/cuda/n:2"), "Passed"),
    ],
)
def test_a_suite_fails_by_its_verdicts(bundle, other, state):
    bundle.set("verdicts", verdicts(other))
    assert bundle.result("smoke")[0] == state
    assert other["advice"] in (bundle.out / "ctest.log").read_text()


def test_a_suite_that_was_not_measured_to_its_end_is_skipped_and_continues(bundle):
    bundle.set("run", run_file("cuda", complete=False))
    bundle.set("verdicts", verdicts(verdict("present", "failed_measurement")))
    assert bundle.result("smoke")[0] == "Skipped"
    assert "--resume" in (bundle.data / "asked").read_text()
    bundle.program("bundle/bin/peakmark", "echo 'the deadline came before anything was measured' >&2; exit 4\n")
    assert bundle.result("nightly") == ("Skipped", "the deadline came before anything was measured")
    assert bundle.result("times-nightly") == ("Skipped", "there is no nightly.json, or no verdict on it")


def test_at_the_limit_the_running_check_ends_with_its_children_and_the_rest_is_skipped(bundle):
    code, _ = bundle.run("-R", "cuda_device_test|filter_cuda_test|cost", behave="filter_cuda_test:hang", PEAKMARK_GPU_SECONDS=HANG_LIMIT)
    results = bundle.results()
    assert (code, results["cuda_device_test"][0]) == (0, "Passed")
    assert results["filter_cuda_test"] == ("Skipped", "ended by the limit: ")
    assert results["cost"] == ("Skipped", f"the limit of {HANG_LIMIT} s is reached, or the call was stopped")
    assert has_ended(int((bundle.data / "child").read_text()), 60)


def test_a_further_call_omits_what_passed_or_failed(bundle):
    bundle.run("-R", "^(devices|cuda_device_test|filter_cuda_test)$", behave="filter_cuda_test:fail")
    bundle.run()
    assert not {"devices", "cuda_device_test", "filter_cuda_test"} & set(bundle.results())
    assert bundle.results()["record-sync"][0] == "Passed"


def test_sigterm_ends_the_running_check_and_leaves_results(bundle):
    started = bundle.folder / "started"
    os.mkfifo(started)
    process = bundle.start("-L", "core", behave="filter_cuda_test:hang", STARTED=str(started))
    with started.open() as fifo:
        assert fifo.read() == "started\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    assert process.returncode == 130
    results = bundle.results()
    assert (results["cuda_device_test"][0], results["cost"][0]) == ("Passed", "Skipped")
    assert has_ended(int((bundle.data / "child").read_text()), 60)


def test_a_file_that_is_too_large_is_left_out_and_named(bundle):
    bundle.run("-R", "cuda_device_test", behave="cuda_device_test:large")
    assert bundle.results()["archive"] == ("Skipped", "left out to keep it small: large")
    assert "commit: 0123abc" in bundle.archived("environment.txt")


@pytest.mark.parametrize("check", ["cupy-no-pool", "cupy-functions", "torch-cache", "plugin-torch"])
def test_a_package_that_is_missing_is_skipped_with_its_name(bundle, check):
    state, words = bundle.result(check)
    assert (state, check.split("-")[1 if "plugin" in check else 0] in words.lower()) == ("Skipped", True), words


def test_a_sanitizer_that_is_missing_or_refuses_the_device_is_skipped(bundle):
    bundle.program("tools/compute-sanitizer", "echo '========= Error: Device not supported'\n")
    assert bundle.result("sanitizer-memcheck") == ("Skipped", "========= Error: Device not supported")
    bundle.program("tools/compute-sanitizer", "echo '========= ERROR SUMMARY: 2 errors'; exit 9\n")
    assert bundle.result("sanitizer-memcheck")[0] == "Failed"
    (bundle.folder / "tools/compute-sanitizer").unlink()
    if shutil.which("compute-sanitizer") or Path("/usr/local/cuda/bin/compute-sanitizer").exists():
        pytest.skip("a toolkit on this machine has a compute-sanitizer")
    assert bundle.result("sanitizer-memcheck") == ("Skipped", "compute-sanitizer is not found")


def test_no_gpu_is_exit_4_and_nothing_is_run(bundle):
    bundle.program("tools/nvidia-smi", "exit 9\n")
    assert bundle.run() == (4, "gpu-check: skipped: there is no GPU: nvidia-smi -L lists none\n")
    assert [path.name for path in bundle.out.iterdir()] == ["results.txt"]


def test_nothing_that_passed_is_exit_4(bundle):
    assert bundle.run("-R", "cupy-pool")[0] == 4


def test_wrong_usage_is_exit_2(bundle):
    done = subprocess.run([CI / "gpu-check", bundle.out], capture_output=True, text=True)
    assert (done.returncode, "is not a bundle" in done.stderr) == (2, True)
    assert subprocess.run([CI / "gpu-check", "-L"], capture_output=True).returncode == 2
    assert bundle.run("-N", PEAKMARK_GPU_SECONDS="9.5") == (2, "gpu-check: PEAKMARK_GPU_SECONDS=9.5: give whole seconds above 10\n")


def test_each_check_is_in_the_gpu_status_and_each_name_there_is_a_check(bundle):
    for listed in re.findall(r"^ *peakmark_cuda_test\((\w+)|^ *peakmark_device_test\((\w+)", "\n".join(
        file.read_text() for file in CI.parent.glob("**/CMakeLists.txt") if "build" not in file.parts), re.MULTILINE):
        name = listed[0] or f"{listed[1]}_cuda_test"
        bundle.program(f"bundle/tests/{name}", PASSED)
    (bundle.folder / "bundle/tests/filter_cuda_test").unlink()
    checks = set(re.findall(r"Test +#\d+: (\S+)", bundle.run("-N")[1]))
    rows = [line.split("|") for line in (CI.parent / "docs/gpu-status.md").read_text().splitlines() if line.endswith("| unverified | | | | |")]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row[2])}
    assert (checks - named, named - checks) == (set(), set())
    assert all(row[2].strip() for row in rows)
