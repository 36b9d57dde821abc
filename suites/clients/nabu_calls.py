#!/usr/bin/env python3
"""Judges the form `nabu` of estimators by nabu's own calling code.

    suites/clients/make-environments nabu-2026.1.2
    build/environments/nabu-2026.1.2/bin/python suites/clients/nabu_calls.py build/prefix/bin/peakmark

For each shape `peakmark estimate --form nabu` must give the chunk that nabu's pipeline computes for a GPU with these bytes, and for
its slices the bytes of their arrays. No GPU is needed. Packages that nabu's modules import, but the estimators do not use, are
pretended where they are missing: they compile for minutes.
Exit code 1 if an answer differs.
"""

import importlib.abc
import importlib.machinery
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

HERE = Path(__file__).resolve().parent
# Angles and width; bytes of the GPU.
CASES = [(shape, available) for shape in ((90, 100), (1801, 2560), (500, 1)) for available in (0, 50_000_000, 80_000_000_000)]


PRETENDED = ("distributed", "h5py", "nxtomo", "pint", "psutil", "scipy", "silx", "tomoscan")


class Pretend(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module of PRETENDED. Python asks for those of installed packages elsewhere first."""

    def find_spec(self, name, _path=None, _target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in PRETENDED else None

    def create_module(self, spec):
        module = mock.MagicMock(name=spec.name)
        module.__spec__, module.__path__ = spec, []
        return module

    def exec_module(self, module):
        pass


def nabu_slices(configuration, available):
    """Returns the slices of a chunk in nabu's pipeline on a GPU with these bytes."""
    from nabu.pipeline.fullfield import reconstruction

    reconstructor = SimpleNamespace(
        extra_options={"chunk_size": None}, cpu_mem=1e9, gpu_mem=available / 1e9, process_config=configuration, backend="cuda",
        n_z=1 << 20,
    )  # fmt: skip
    reconstruction.FullFieldReconstructor._compute_max_chunk_size(reconstructor)
    return reconstructor.chunk_size


def estimate(peakmark, folder, shape, *options):
    """Returns peakmark's answer, in this Python. `folder` has the package silx, of which nabu's estimators need a name."""
    python_path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    command = [
        peakmark, "estimate", "python:nabu_estimators:process_configuration", "--form", "nabu", "--python", sys.executable,
        "--dimensions", ",".join(map(str, shape)), *options, "--json",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=HERE, env={**os.environ, "PYTHONPATH": python_path}, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def main():
    peakmark = str(Path(sys.argv[1]).resolve())
    sys.meta_path.append(Pretend())
    sys.path.insert(0, str(HERE))
    from nabu_estimators import process_configuration

    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "silx", "image")
        package.mkdir(parents=True)
        for file in (package.parent / "__init__.py", package / "__init__.py"):
            file.touch()
        (package / "tomography.py").write_text("get_next_power = None\n", encoding="utf-8")
        for (n_a, w), available in CASES:
            slices = nabu_slices(process_configuration((n_a, w)), available)
            answer = estimate(peakmark, folder, (n_a, w), "--available", str(available))
            # The sinograms and the slices of a chunk, in single precision.
            needed = 4 * slices * (n_a * w + w * w)
            estimated = estimate(peakmark, folder, (n_a, w), "--slices", str(slices))["bytes"]
            right = (answer["slices"], estimated) == (slices, needed)
            wrong += not right
            print(f"({n_a}, {w}) in {available} bytes: {answer['slices']} slices, {estimated} bytes", end="")
            print("" if right else f": WRONG, nabu has {slices}, their arrays {needed}")
    print(f"{wrong} answers differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
