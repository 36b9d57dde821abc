"""Checks the pytest plugin and peakmark.record() with a package that has a memory pool: `plugin_check.py cupy|torch FOLDER`.

Allocates an array of 64 MiB, for which each pool allocates exactly as much from the driver. A limit of these bytes must pass, one
byte less must fail, each in a separate process, since a pool keeps its memory. The report must have this peak and name the
pool; peakmark.record() must report the same peak. Exit code 77 if the package or pytest is not installed.
"""

import importlib
import json
import subprocess
import sys
from pathlib import Path

BYTES = 64 << 20
ALLOCATE = {
    "cupy": f"cupy.zeros({BYTES}, dtype='uint8')",
    "torch": f"torch.empty({BYTES}, dtype=torch.uint8, device='cuda')",
}
TEST = """import {package}
import pytest

@pytest.mark.limit_device_memory("{limit} B")
def test_allocates():
    assert {allocate} is not None
"""
RECORD = """import peakmark
peakmark.load_recorders()
import {package}
with peakmark.record() as profile:
    kept = {allocate}
print(profile.peak_bytes)
"""


def run(command: list) -> subprocess.CompletedProcess:
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout)
    return done


def plugin_difference(package: str, folder: Path, limit: int, exit_code: int) -> str:
    """Returns what differs from the expected result; empty if nothing does."""
    test, report = folder / f"test_limit_{limit}.py", folder / f"limit_{limit}.json"
    test.write_text(TEST.format(package=package, limit=limit, allocate=ALLOCATE[package]), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "peakmark.pytest_plugin", "-p", "no:cacheprovider"]
    command += ["--device-memory-required", "--device-memory-json", report, "--rootdir", folder, test]
    done = run(command)
    if done.returncode != exit_code:
        return f"limit {limit}: pytest ended with {done.returncode}, not {exit_code}"
    memory = json.loads(report.read_text(encoding="utf-8"))["tests"][0]["memory"]
    pools = [pool["name"] for pool in memory["pools"]]
    if memory["peak_bytes"] != BYTES or not pools:
        return f"limit {limit}: a peak of {memory['peak_bytes']} bytes, pools {pools}; {BYTES} and one pool are right"
    return ""


def main() -> int:
    package, folder = sys.argv[1], Path(sys.argv[2])
    for needed in (package, "pytest"):
        try:
            importlib.import_module(needed)
        except ImportError as error:
            print(f"{needed} is not installed: {error}")
            return 77
    folder.mkdir(parents=True, exist_ok=True)
    differences = [plugin_difference(package, folder, BYTES, 0), plugin_difference(package, folder, BYTES - 1, 1)]
    recorded = run([sys.executable, "-c", RECORD.format(package=package, allocate=ALLOCATE[package])]).stdout.split()
    if recorded[-1:] != [str(BYTES)]:
        differences.append(f"peakmark.record() reports {recorded[-1:]}, not {BYTES}")
    differences = [difference for difference in differences if difference]
    print("; ".join(differences) or f"{package}: limit {BYTES} passes, {BYTES - 1} fails, record() reports {BYTES}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
