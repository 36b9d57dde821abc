"""The programs of peakmark that stand beside this module, as commands."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
from typing import NoReturn


def prefix() -> pathlib.Path:
    """Where bin, lib, include and share of peakmark are: in the package of a wheel, or around an installed module."""
    package = pathlib.Path(__file__).resolve().parent
    around = package.parents[3]  # PREFIX/share/peakmark/python/peakmark
    if around / "share" / "peakmark" / "python" == package.parent:
        return around
    return package / "installed"


def peakmark() -> NoReturn:
    _become("peakmark")


def peakmark_bench() -> NoReturn:
    _become("peakmark-bench")


def _become(name: str) -> NoReturn:
    """Puts the program in this one's place: its output, its signals and its exit code are the command's."""
    program = prefix() / "bin" / name
    # `peakmark report` draws with this Python, in which pandas and matplotlib were installed.
    os.environ.setdefault("PEAKMARK_PYTHON", sys.executable)
    # Python ignores these, and a program that is executed goes on ignoring what was ignored.
    for ignored in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, ignored), signal.SIG_DFL)
    try:
        # `peakmark init` says what to type next, and that is this command.
        called_by = sys.argv[0] if name == "peakmark" else str(program)
        os.execv(program, [called_by, *sys.argv[1:]])
    except OSError as error:
        sys.exit(
            f"{name}: {program} cannot be started: {error.strerror}. Install the wheel of peakmark again; the module alone "
            "(pip install harness/python) brings no programs"
        )
