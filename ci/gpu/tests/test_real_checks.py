"""The checks with peakmark itself: on the fake driver, and on OpenCL and dry in place of CUDA."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build/release"
FAKES = BUILD / "harness/record/recorders/cupti/tests/lib"


def built(name: str) -> Path:
    found = [path for path in BUILD.glob(f"**/{name}") if path.is_file() and os.access(path, os.X_OK)]
    if not found:
        pytest.skip(f"{name} is not built: ci/test release builds it")
    return found[0]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Returns a bundle of the programs in build/release."""
    folder = tmp_path / "bundle"
    for name in ("bin/peakmark", "bin/peakmark-bench", "bin/peakmark-context-memory"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(built(Path(name).name))
    (folder / "examples").mkdir()
    (folder / "examples/peakmark-cuda-benchmark").symlink_to(built("benchmark_program"))  # the same on OpenCL
    (folder / "lib").symlink_to(BUILD / "lib")
    (folder / "gpu").symlink_to(ROOT / "ci/gpu")
    (folder / "suites").symlink_to(ROOT / "suites")
    (folder / "gpu-check").write_bytes((ROOT / "ci/gpu-check").read_bytes())
    (folder / "gpu-check").chmod(0o755)
    (folder / "commit").write_text("0123abc\n")
    smi = tmp_path / "tools/nvidia-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\necho 'GPU 0: NVIDIA Stub'\n")
    smi.chmod(0o755)
    return folder


def states(bundle: Path, *options: str, **variables: str) -> dict[str, str]:
    environment = os.environ | {"PATH": f"{bundle.parent}/tools:{os.environ['PATH']}", "TMPDIR": str(bundle.parent)} | variables
    done = subprocess.run([bundle / "gpu-check", bundle.parent / "out", *options], env=environment, capture_output=True, text=True, timeout=600)
    return dict(line.split("\t")[:2] for line in done.stdout.splitlines())


def test_programs_of_known_bytes_on_the_fake_driver(bundle):
    libraries = f"{FAKES}:{FAKES}/cupti13"
    found = states(bundle, "-R", "contexts-(primary-release|handle)", LD_LIBRARY_PATH=libraries)
    assert found == {"contexts-primary-release": "Passed", "contexts-handle": "Passed"}


def test_the_benchmark_has_its_known_bytes(bundle):
    assert states(bundle, "-R", "google-benchmark") == {"google-benchmark": "Passed"}


def test_a_suite_without_a_cuda_device_is_skipped(bundle):
    assert states(bundle, "-R", "^smoke$", CUDA_VISIBLE_DEVICES="") == {"smoke": "Skipped"}


def test_a_suite_is_measured_and_judged_and_continues(bundle, tmp_path):
    environment = os.environ | {"PATH": f"{bundle}/bin:{os.environ['PATH']}", "PEAKMARK_LIBRARY_DIR": str(bundle / "lib/peakmark")}

    def run(seconds: str, *options: str) -> tuple[int, str]:
        command = [sys.executable, ROOT / "ci/gpu/suite.py", "smallest", seconds, ROOT / "suites/smallest.toml", "--memory-only", *options]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
        return done.returncode, (done.stdout or done.stderr).splitlines()[-1]

    assert run("0.001", "--backend", "dry")[0] == 77
    code, said = run("600", "--backend", "dry")
    assert (code, said.endswith("92 estimates are 0 bytes off")) == (0, True), said
    assert json.loads((tmp_path / "smallest.json").read_text())["context"]["peakmark"]["complete"]
