"""Tests finding, loading and requesting the recorders, and the library that reads their profiles."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from recorded import command, environment, library_folder, measured
from recorded import peakmark as run_peakmark

import peakmark
from peakmark import memory_library

BEGIN = "import json, os, peakmark\nfrom peakmark import recorders\n"


def test_the_recorder_is_found_without_path(tmp_path):
    """Searches the wheel that another copy of the module hides, and the prefix of this Python."""
    module = tmp_path / "module"
    shutil.copytree(
        pathlib.Path(peakmark.__file__).parent, module / "peakmark", ignore=shutil.ignore_patterns("__pycache__")
    )
    ask = "import peakmark.recorders as r; print(r.find_library(r.OPENCL_RECORDER))"
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PEAKMARK_", "PYTHON"))}

    def found(python: pathlib.Path, *paths: pathlib.Path) -> str:
        run = subprocess.run(
            [python, "-c", ask],
            cwd=tmp_path,
            env=plain | {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(map(str, paths))},
            capture_output=True,
            text=True,
            check=True,
        )
        return run.stdout.strip()

    def link_libraries(folder: pathlib.Path) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "peakmark").symlink_to(library_folder())
        return str(folder / "peakmark/libpeakmark-opencl.so")

    python = pathlib.Path(sys.executable)
    assert found(python, module) in ("None", "/usr/local/lib/peakmark/libpeakmark-opencl.so")
    in_wheel = link_libraries(tmp_path / "wheel/peakmark/installed/lib")
    assert found(python, module, tmp_path / "wheel") == in_wheel
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    in_prefix = link_libraries(tmp_path / "venv/lib")
    assert found(tmp_path / "venv/bin/python", module) == in_prefix


@pytest.mark.parametrize(
    ("library", "text"),
    [
        (None, "libpeakmark-memory.so.1 is not installed: searched the parent folders of"),
        ("libpeakmark-opencl.so", "older than this module; build and install peakmark and its Python module"),
        (b"no library", "cannot be loaded"),
    ],
)
def test_recorders_without_a_usable_library_are_an_error(tmp_path, library, text):
    recorders = tmp_path / "lib" / "peakmark"
    recorders.mkdir(parents=True)
    shutil.copy(library_folder() / "libpeakmark-opencl.so", recorders)
    path = recorders.parent / memory_library.MEMORY_LIBRARY
    if isinstance(library, bytes):
        path.write_bytes(library)
    elif library is not None:
        shutil.copy(library_folder() / library, path)
    script = BEGIN + (
        "try:\n    recorders.load()\nexcept recorders.RecorderError as error:\n"
        "    print(json.dumps([type(error).__name__, str(error)]))"
    )
    kind, message = measured(tmp_path, script, PEAKMARK_LIBRARY_DIR=str(recorders))
    assert kind == ("NoRecorder" if library is None else "RecorderError") and text in message


def test_without_a_driver_there_is_no_recorder(tmp_path):
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    script = BEGIN + (
        "import ctypes\nctypes.CDLL('libOpenCL.so.1')\nrecorders.load()\ntry:\n    recorders.require_recorders()\n"
        "except recorders.NoRecorder as error:\n    print(json.dumps(str(error)))"
    )
    output = measured(tmp_path, script, OCL_ICD_VENDORS=str(vendors), OPENCL_VENDOR_PATH=str(vendors))
    assert "no OpenCL driver was found" in output


def test_an_environment_without_the_recorders():
    code = "import os; from peakmark.recorders import *; load(); print(sorted(set(os.environ) - set(environment_without_recorders())))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment(), "PEAKMARK_LIBRARY_DIR": str(library_folder())},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "'OPENCL_LAYERS', 'PEAKMARK_PROFILE'" in run.stdout


def test_a_budget_that_is_no_size_is_an_error():
    from peakmark.recorders import parse_budget
    from peakmark.sizes import SizeError

    assert parse_budget("16 GiB") == 16 * 2**30
    assert parse_budget(1) == 1
    for wrong in ("0 B", "much", 0, 2**48):
        with pytest.raises(SizeError):
            parse_budget(wrong)


def test_a_budget_may_be_a_share_of_the_device(monkeypatch):
    from peakmark import recorders
    from peakmark.sizes import SizeError

    monkeypatch.setattr(recorders, "find_peakmark", command)
    devices = json.loads(run_peakmark("devices", "--json").stdout)["devices"]
    assert recorders.parse_budget("50%") == devices[0]["memory_bytes"] // 2
    with pytest.raises(SizeError, match="'0%' is not a percentage"):
        recorders.parse_budget("0%")
    with pytest.raises(SizeError, match="free-1GiB: the memory of .* is unknown"):
        recorders.parse_budget("free-1GiB")
    monkeypatch.setattr(recorders, "find_peakmark", lambda: None)
    with pytest.raises(SizeError, match="is not installed: write bytes"):
        recorders.parse_budget("50%")


def test_the_commands_output_is_utf8_in_every_locale(tmp_path):
    fake = tmp_path / "peakmark"
    device = {"backend": "opencl", "name": "Grafik für alle", "budget_bytes": 5}
    answer = json.dumps({"causes": [{"text": "8·⌈n/2⌉ bytes"}], "devices": [device, device | {"budget_bytes": 6}]}, ensure_ascii=False)
    (tmp_path / "answer").write_text(answer, encoding="utf-8")
    fake.write_text('#!/bin/sh\ncat "${0%/*}/answer"\n')
    fake.chmod(0o755)
    script = f"""
from peakmark import recorders
from peakmark.pytest_plugin import estimator_causes
recorders.find_peakmark = lambda: {str(fake)!r}
estimator_causes.run_document = lambda *_: {{}}
print(ascii(estimator_causes._explain("", [{{"estimator": ""}}])))
print(ascii(recorders.run_peakmark([])[0]))
try:
    recorders.parse_budget("50%")
except recorders.SizeError as error:
    print(ascii(str(error)))
"""
    ascii_locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **environment(), **ascii_locale}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    causes, output, message = ended.stdout.splitlines()
    assert causes == ascii(["8·⌈n/2⌉ bytes"])
    assert output == ascii(answer)
    assert ascii("Grafik für alle")[1:-1] in message
