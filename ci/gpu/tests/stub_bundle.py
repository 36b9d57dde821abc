"""A bundle of stub programs and tools, and the results of gpu-check with them."""

from __future__ import annotations

import csv
import json
import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

GPU_CHECK = Path(__file__).resolve().parents[2] / "gpu-check"
LIBRARY = "libstub-fft.so.12"
MIB = 1 << 20

# Every stub asks $BEHAVE first, a list such as "test:hang,peakmark-run:fail".
BEHAVE = """#!/bin/sh
name=$(basename "$0"); [ "$name" != peakmark ] || name=peakmark-$1
case ",$BEHAVE," in
  *",$name:fail,"*) echo "$name broke" >&2; exit 3 ;;
  *",$name:hang,"*) [ -z "$STARTED" ] || echo started >"$STARTED"; exec sleep 600 ;;
  *",$name:silent,"*) exit 0 ;;
  *",$name:large,"*) head -c 20000000 /dev/urandom ;;
esac
"""
PEAKMARK = """
data=$STUB_DATA command=$1 suite=$2 file=
shift
case $command in
  devices | list) cat "$data/$command" ;;
  doctor) echo '{"facts": {"cupti": null}, "findings": []}' ;;
  show) cat "$data/show" ;;
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
    "$@" && exit
    code=$?
    echo 'peakmark: no recorder came up' >&2
    exit $code ;;
esac
"""
GTEST = "echo '[==========] 5 tests from 1 test suite ran.'; echo '[  PASSED  ] 5 tests.'\n"
PROGRAMS = {
    "bundle/bin/peakmark": PEAKMARK,
    "bundle/bin/peakmark-bench": "echo 'a/cuda/iterations:1/manual_time 1 ns'; echo 'b/cuda/iterations:1/manual_time 1 ns'\n",
    "bundle/bin/peakmark-every-allocation": """
if [ "$1" = loop ]; then echo '{"events": 200, "ns_an_event": 70.5}'; else echo '{"peak_bytes": 4096, "allocations": 9}'; fi
""",
    "bundle/bin/peakmark-context-memory": """echo '{"peak_bytes": 4096}'\n""",
    "bundle/bin/peakmark-compare-accounts": "echo '18 events by callbacks, 18 by records, 0 differences'\n",
    "bundle/tests/cuda_device_test": GTEST,
    "bundle/tests/filter_cuda_test": GTEST,
    "bundle/examples/sum": "",
    "bundle/examples/peakmark-cuda-benchmark": """
echo '{"benchmarks": [{"max_bytes_used": 5099, "total_allocated_bytes": 17396, "net_heap_growth": 500}]}'
""",
    "bundle/record-profiles": ': >"$2/one.profile"\n: >"$2/two.profile"\n',
    "tools/nvidia-smi": """
case $* in
  *query-gpu=name,driver*) echo 'name, driver'; echo 'NVIDIA Stub, 580' ;;
  *query-gpu=name*) echo 'NVIDIA Stub' ;;
  *memory.total*) echo "${SMI_TOTAL:-100000}" ;;
  *memory.used*) echo 500 ;;
esac
""",
    "tools/compute-sanitizer": """
while [ "${1#-}" != "$1" ]; do
  [ "$1" != --tool ] || tool=$2
  shift 2
done
"$@" || exit
if [ "$tool" = racecheck ]; then echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'
else echo '========= ERROR SUMMARY: 0 errors'; fi
""",
}


def case(name: str, peak: int) -> dict:
    return {"peakmark": {"case": name, "outcome": "ok", "requested_peak_bytes": peak, "gpu_time_ns": None, "variant": name}}


def run_file(backend: str) -> dict:
    rows = [case(f"padding/fused/{backend}/n:1", 1000), case(f"filter/whole/{backend}/n:2", 50 << 30)]
    context = {"complete": True, "planned": [1, 2], "reference": {"first_ns": 1e5, "last_ns": 1e5}}
    return {"context": {"peakmark": context}, "benchmarks": rows}


def verdict(rule: str, judgement: str = "pass", advice: str = "") -> dict:
    return {"case": "padding/fused/cuda/n:1", "rule": rule, "judgement": judgement, "advice": advice}


DATA = {
    "devices": {"devices": [{"backend": "cuda", "name": "NVIDIA Stub", "driver": "580", "memory_bytes": 9, "free_bytes": 8}]},
    "show": {"requested": {"peak_bytes": 4096, "allocations": 9}},
    "run": run_file("cuda"),
    "dry": run_file("dry"),
    "verdicts": {"verdicts": [verdict("outcome"), verdict("window_bytes"), verdict("kernel_time")]},
}


class Stubs:
    """A bundle and tools, and what gpu-check made of them."""

    def __init__(self, folder: Path):
        self.folder, self.out, self.data = folder, folder / "out", folder / "data"
        for name, text in PROGRAMS.items():
            self.program(name, text)
        (folder / "bundle/suites/recorded").mkdir(parents=True)
        (folder / "bundle/suites/recorded/expected.toml").write_text('file = "one.profile"\nfile = "two.profile"\n')
        (folder / "bundle/commit").write_text("0123abc\n")
        (folder / "bundle/cuda-libraries").write_text(f"{LIBRARY}\n")
        self.data.mkdir()
        (self.data / "list").write_text("padding/fused/cuda/n:1\nfilter/whole/cuda/n:2\n")
        for name, value in DATA.items():
            self.set(name, value)
        self.program("bundle/record-profiles", 'mkdir -p "$2"\n' + PROGRAMS["bundle/record-profiles"])
        packages = folder / "site-packages"
        library = packages / "nvidia/cufft/lib" / LIBRARY
        library.parent.mkdir(parents=True)
        library.write_bytes(b"")
        self.program("tools/python3", f"echo '[\"{packages}\"]'\n")
        self.environment = {"PATH": f"{folder}/tools:{os.environ['PATH']}", "STUB_DATA": str(self.data)}

    def program(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BEHAVE + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def set(self, name: str, value: object) -> None:
        (self.data / name).write_text(json.dumps(value))

    def start(self, *words: str, behave: str = "", **variables: str) -> subprocess.Popen:
        environment = {**self.environment, "BEHAVE": behave, **variables}
        command = [sys.executable, GPU_CHECK, self.folder / "bundle", self.out, *words]
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def run(self, *words: str, behave: str = "", **variables: str) -> tuple[int, str]:
        """The exit code and standard error. The time limit is that of a test which hangs, not a measurement."""
        process = self.start(*words, behave=behave, **variables)
        errors = process.communicate(timeout=600)[1]
        return process.returncode, errors

    def results(self) -> dict[str, dict[str, str]]:
        """The lines of results.tsv by check. Whatever happened, OUT has two files that fit a lease."""
        files = sorted(path.relative_to(self.out).as_posix() for path in self.out.rglob("*"))
        assert files == ["gpu-check.tar.gz", "results.tsv"]
        assert all((self.out / file).stat().st_size <= 16 * MIB for file in files)
        with (self.out / "results.tsv").open(newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        assert len({row["check"] for row in rows}) == len(rows)
        assert {row["state"] for row in rows} <= {"verified", "measured", "failed", "skipped"}
        assert all(row["detail"] for row in rows), "a state needs its numbers, or its reason"
        return {row["check"]: row for row in rows}

    def archived(self, name: str) -> str:
        with tarfile.open(self.out / "gpu-check.tar.gz") as archive:
            file = archive.extractfile(f"gpu-check/{name}")
            assert file is not None
            return file.read().decode()
