"""Tests the wheel $PEAKMARK_WHEEL, which ci/wheel builds, in a new virtual environment."""

import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig

import pytest
from project import PYOPENCL, outcomes
from recorded import ROOT

WHEEL = os.environ.get("PEAKMARK_WHEEL")
pytestmark = [
    pytest.mark.skipif(not WHEEL, reason="PEAKMARK_WHEEL names no wheel; ci/wheel builds one"),
    pytest.mark.xdist_group("wheel"),
]

SHARED_BY_NAME = ("libfmt", "libsoci", "libsqlite3", "libtomlplusplus", "libpugixml", "libbenchmark", "libpq", "libssl", "libldap")


class Environment:
    """A new environment with the wheel, and pytest and pyopencl of the tests."""

    def __init__(self, folder):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        self.bin = folder / "bin"
        self.run(self.bin / "python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", WHEEL)
        (site,) = folder.glob("lib/python*/site-packages")
        (site / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.package = site / "peakmark"

    def run(self, *command, cwd=None, code=0, **variables):
        # Without the variables of the tests that have paths of peakmark.
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("PEAKMARK_", "PYTHON"))}
        run = subprocess.run(
            [str(word) for word in command], cwd=cwd, env=plain | variables, capture_output=True, text=True, check=False
        )
        assert run.returncode == code, run.stdout + run.stderr
        return run.stdout + run.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("wheel") / "environment")


TEST = PYOPENCL + """
@pytest.mark.limit_device_memory({size!r})
@pytest.mark.limit_device_leaks("0 B")
def test_two_images(queue):
    first, second = device_buffer(queue, 1 << 22), device_buffer(queue, 1 << 22)
"""


def test_a_project_passes_and_fails_one_byte_lower(installed, tmp_path):
    test = tmp_path / "test_images.py"
    test.write_text(TEST.format(size="8 MiB"))
    said = installed.run(installed.bin / "python", "-m", "pytest", "-rs", cwd=tmp_path)
    assert outcomes(said) == {"passed": 1}
    test.write_text(TEST.format(size="8388607 B"))
    said = installed.run(installed.bin / "python", "-m", "pytest", "--device-memory", cwd=tmp_path, code=1)
    assert "8 MiB (8388608 B) of device memory at the peak, limit 8 MiB (8388607 B)" in said
    assert "test_images.py D" in said and "DEVICE MEMORY REPORT" in said


def test_the_commands_work(installed, tmp_path):
    said = installed.run(installed.bin / "peakmark", "--version")
    assert "0.1.0" in said
    assert installed.run(installed.bin / "python", "-m", "peakmark", "--version") == said
    suite = installed.package / "installed" / "share" / "peakmark" / "suites" / "smallest.toml"
    installed.run(installed.bin / "peakmark", "run", suite, "-o", "run.json", "--backend", "dry", cwd=tmp_path)
    installed.run(installed.bin / "peakmark", "check", "run.json", cwd=tmp_path)
    program = tmp_path / "program.py"
    program.write_text(
        "import peakmark, pyopencl as cl\ncontext = cl.create_some_context(interactive=False)\n"
        "with peakmark.phase('call'):\n    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1234)\n"
    )
    installed.run(installed.bin / "peakmark", "record", "-o", "p", "--", installed.bin / "python", program, cwd=tmp_path)
    shown = json.loads(installed.run(installed.bin / "peakmark", "show", "p", "--json", cwd=tmp_path))
    assert shown["requested"]["peak_bytes"] == 1234
    assert [phase["name"] for phase in shown["phases"]] == ["", "call", ""]


def test_a_command_does_not_ignore_sigpipe(installed):
    """Python ignores SIGPIPE, and programs that it executes would inherit that."""
    command = f"{installed.bin / 'peakmark'} --help | true; echo ${{PIPESTATUS[0]}}"
    assert installed.run("bash", "-c", command).strip() in ("0", "141")
    status = installed.run(installed.bin / "peakmark", "record", "-o", "/dev/null/x", "--", "true", code=2)
    assert "peakmark" in status


def test_histories_are_in_sqlite(installed, tmp_path):
    suite = installed.package / "installed" / "share" / "peakmark" / "suites" / "smallest.toml"
    installed.run(installed.bin / "peakmark", "run", suite, "-o", "run.json", "--backend", "dry", cwd=tmp_path)
    installed.run(installed.bin / "peakmark", "history", "add", "run.json", "--history", "h.db", cwd=tmp_path)
    said = installed.run(installed.bin / "peakmark", "history", "log", "--history", "h.db", cwd=tmp_path)
    assert said.strip()


def test_without_a_server_the_postgresql_of_the_wheel_answers(installed):
    said = installed.run(installed.bin / "peakmark", "history", "log", "--history", "postgresql://127.0.0.1:1/x", code=2)
    assert "onnection refused" in said and "check that the server runs" in said


def test_histories_are_in_postgresql(installed, tmp_path):
    sys.path.insert(0, str(ROOT / "ci/tests"))
    import postgresql_server

    try:
        server = postgresql_server.PostgresqlServer()
    except postgresql_server.NotHere as reason:
        pytest.skip(str(reason))
    try:
        suite = installed.package / "installed" / "share" / "peakmark" / "suites" / "smallest.toml"
        installed.run(installed.bin / "peakmark", "run", suite, "-o", "run.json", "--backend", "dry", cwd=tmp_path)
        for command in ("create", "add run.json", "log"):
            words = [*command.split(), "--history", server.url("owner")]
            said = installed.run(installed.bin / "peakmark", "history", *words, cwd=tmp_path)
        assert said.strip()
    finally:
        server.stop()


def test_the_wheel_has_its_shared_libraries(installed):
    """The wheel contains libraries that other systems than Debian may not have."""
    folder = installed.package / "installed"
    for program in [*(folder / "bin").iterdir(), folder / "lib/peakmark/libsoci_postgresql.so"]:
        for line in installed.run("ldd", program).splitlines():
            name, _, place = line.strip().partition(" => ")
            if name.startswith(SHARED_BY_NAME):
                assert str(installed.package.parent) in str(pathlib.Path(place.split(" (")[0]).resolve()), line
        assert "not found" not in installed.run("ldd", program)


def test_the_name_of_the_wheel_has_the_oldest_glibc(installed):
    """If our programs needed a newer glibc than the libraries of the system that built them, fewer systems could use them."""
    tag = re.search(r"manylinux_(\d+)_(\d+)_x86_64", pathlib.Path(WHEEL).name)
    assert tag, WHEEL

    def needed(folder):
        found = {}
        for file in folder.rglob("*"):
            if file.is_file() and not file.is_symlink() and file.read_bytes()[:4] == b"\x7fELF":
                names = re.findall(r"\bGLIBC_(\d+)\.(\d+)", installed.run("objdump", "-T", file))
                found[file.name] = max([(int(major), int(minor)) for major, minor in names], default=(2, 0))
        return found

    of_libraries, own = needed(installed.package.parent / "peakmark.libs"), needed(installed.package / "installed")
    assert "peakmark" in own and "libpeakmark-opencl.so" in own and of_libraries
    newest = max(of_libraries.values())
    assert {name: version for name, version in own.items() if version > newest} == {}
    assert newest <= (int(tag[1]), int(tag[2]))


def test_the_wheel_has_both_recorders_and_the_memory_library(installed):
    assert (installed.package / "installed" / "lib" / "libpeakmark-memory.so.1").is_file()
    libraries = {path.name for path in (installed.package / "installed" / "lib" / "peakmark").iterdir()}
    assert "libpeakmark-opencl.so" in libraries
    if os.environ.get("PEAKMARK_WHEEL_HAS_CUDA"):
        assert "libpeakmark-cupti.so" in libraries


def test_a_worker_is_built_measured_and_plotted(installed, tmp_path):
    """Follows docs/own-kernels.md, as ci/test does with an installed peakmark."""
    prefix = installed.run(installed.bin / "python", "-m", "peakmark.cmake_prefix", cwd=tmp_path).strip()
    assert prefix == str(installed.package / "installed")
    (tmp_path / "peakmark").symlink_to(prefix)
    (tmp_path / "venv").symlink_to(installed.bin.parent)
    folder = tmp_path / "own-kernels"
    folder.mkdir()
    installed.run(
        sys.executable, ROOT / "ci/follow.py", "page", ROOT / "docs/own-kernels.md", folder,
        HOME=str(tmp_path), CMAKE_GENERATOR="Ninja",
    )  # fmt: skip
    assert list(folder.glob("plots/*.png"))


def test_runs_are_plotted_by_the_reports_of_the_wheel(installed, tmp_path):
    pytest.importorskip("matplotlib")
    suite = installed.package / "installed" / "share" / "peakmark" / "suites" / "smoke.toml"
    installed.run(installed.bin / "peakmark", "run", suite, "-o", "run.json", "--backend", "dry", cwd=tmp_path)
    code = "import peakmark; cases = peakmark.load('run.json'); print(len(cases) > 0, peakmark.__file__)"
    said = installed.run(installed.bin / "python", "-c", code, cwd=tmp_path)
    assert said.startswith("True") and str(installed.package) in said
