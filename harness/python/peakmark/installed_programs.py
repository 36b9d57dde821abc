"""The programs of peakmark that are next to this module, as commands."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import sys
from typing import NoReturn

from peakmark.memory_library import library_folders


def prefix() -> pathlib.Path:
    """Returns the folder of bin, lib, include and share: in the package of a wheel, or around an installed module."""
    package = pathlib.Path(__file__).resolve().parent
    around = package.parents[3]  # PREFIX/share/peakmark/python/peakmark
    if around / "share" / "peakmark" / "python" == package.parent:
        return around
    return package / "installed"


def find_peakmark() -> str | None:
    """Returns the path of the command: of this installation, next to the recorders that are found, or in PATH."""
    next_to_recorders = [folder.parent.parent / "bin" for folder in library_folders()]
    programs = [folder / "peakmark" for folder in (prefix() / "bin", *next_to_recorders)]
    return next((str(one) for one in programs if os.access(one, os.X_OK) and one.is_file()), shutil.which("peakmark"))


def peakmark() -> NoReturn:
    _execute("peakmark")


def peakmark_bench() -> NoReturn:
    _execute("peakmark-bench")


def _execute(name: str) -> NoReturn:
    """Replaces this process by the program: its output, signals and exit code are those of the command."""
    program = prefix() / "bin" / name
    # `peakmark report` uses this Python, which has pandas and matplotlib.
    os.environ.setdefault("PEAKMARK_PYTHON", sys.executable)
    # Python ignores these signals, and the program would inherit this.
    for ignored in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, ignored), signal.SIG_DFL)
    try:
        # `peakmark init` prints commands to type, with the name of this command.
        called_by = sys.argv[0] if name == "peakmark" else str(program)
        os.execv(program, [called_by, *sys.argv[1:]])
    except OSError as error:
        sys.exit(
            f"{name}: cannot start {program}: {error.strerror}; install the wheel of peakmark again (pip install "
            "harness/python installs only the module)"
        )
