"""The binding to libpeakmark-memory, which loads recorders, reads profiles and keeps the ledger of live bytes. Its C ABI is
harness/api/include/peakmark/memory_abi.h."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import shutil
import sys
from collections.abc import Callable
from typing import Any

OPENCL_RECORDER = "libpeakmark-opencl.so"
CUDA_RECORDER = "libpeakmark-cupti.so"
MEMORY_LIBRARY = "libpeakmark-memory.so.1"

_OK, _NO_RECORDER, _TOO_LATE = 0, 2, 3
_NO_REGION = 2**64 - 1
_REPETITIONS = 2  # PEAKMARK_MEMORY_REPETITIONS


class RecorderError(RuntimeError):
    """Device memory cannot be recorded, or not completely."""


class NoRecorder(RecorderError):
    """Recording is not possible on this machine: no library, no driver, or not Linux."""


class RecorderTooLate(RecorderError):
    """OpenCL or CUDA was called before a recorder could be loaded. `fact` is the message without the advice."""

    def __init__(self, fact: str):
        super().__init__(
            f"{fact}. Run the program with `peakmark record -- PROGRAM`, or call peakmark.load_recorders() before the first "
            "call; with pytest use --device-memory, or set `device_memory = true` in its ini file"
        )
        self.fact = fact


def library_folders() -> list[pathlib.Path]:
    """Returns the folders that are searched for recorders; only $PEAKMARK_LIBRARY_DIR if it is set."""
    if named := os.environ.get("PEAKMARK_LIBRARY_DIR"):
        return [pathlib.Path(named).absolute()]
    package = pathlib.Path(__file__).resolve().parent
    folders = [package / "installed" / "lib" / "peakmark"]  # of a wheel
    # PREFIX/share/peakmark/python/peakmark of an installed peakmark, BUILD/share/… of a build folder
    folders += [up / "lib" / "peakmark" for up in list(package.parents)[3:4]]
    for up in list(package.parents)[2:3]:  # harness/python/peakmark of the sources
        folders += [up / "build" / build / "lib" / "peakmark" for build in ("prefix", "release", "dev")]
    # An installed wheel that is hidden by another copy of this module.
    wheels = [pathlib.Path(entry) / "peakmark" / "installed" / "lib" / "peakmark" for entry in sys.path if entry]
    folders += [wheel for wheel in wheels if wheel.is_dir()]
    # The prefix of this Python, and those of `cmake --install` and of packages.
    folders += [pathlib.Path(prefix) / "lib" / "peakmark" for prefix in (sys.prefix, "/usr/local", "/usr")]
    if program := shutil.which("peakmark"):
        up = pathlib.Path(program).resolve()
        folders += [parent / "lib" / "peakmark" for parent in list(up.parents)[1:4]]
    return list(dict.fromkeys(folders))


def find_library(name: str) -> pathlib.Path | None:
    """Returns the path of a recorder, or None."""
    return next((folder / name for folder in library_folders() if (folder / name).is_file()), None)


def _find_memory_library() -> pathlib.Path | None:
    """Returns the library of the installation that `peakmark record` uses, if it started this program, else the first that is
    found. The library is in the folder above the recorders."""
    layers = os.environ.get("OPENCL_LAYERS", "").split(":")
    recorders = [pathlib.Path(path) for path in (*layers, os.environ.get("CUDA_INJECTION64_PATH", "")) if path]
    folders = [path.parent for path in recorders if path.name in (OPENCL_RECORDER, CUDA_RECORDER)]
    for folder in (*folders, *library_folders()):
        for place in (folder.resolve().parent, folder):
            if (place / MEMORY_LIBRARY).is_file():
                return place / MEMORY_LIBRARY
    return None


def request_recorders(*, sync: bool, stacks: bool) -> None:
    """Sets the environment variables by which the loaders of OpenCL and CUDA load the recorders at their first call.

    Does nothing in a process that is recorded already. Raises NoRecorder if no recorder is installed.
    """
    variables = _call(_library().peakmark_memory_request, int(sync), int(stacks))
    # The library has set them in the process, but child processes are started with os.environ, which is a copy.
    os.environ.update(variables)


def require_recorders() -> int:
    """Returns the number of recorders that record this process; 0 if neither OpenCL nor CUDA was called so far.

    Calls an OpenCL loader that was not called yet, so that it loads its recorder. Raises RecorderTooLate if OpenCL or CUDA
    is used without a recorder, because its memory would be missing. Raises NoRecorder if there is no driver.
    """
    return int(_call(_library().peakmark_memory_require)["recorders"])


def begin_region(since: int | None, has_timeline: bool, has_repetitions: bool) -> int:
    """Waits for the devices, begins a region of the process, and returns its number. `since` is an earlier region:
    `peak_since_bytes` counts from its beginning."""
    number = _NO_REGION if since is None else since
    keeps = int(has_timeline) + _REPETITIONS * int(has_repetitions)
    return int(_call(_library().peakmark_memory_region_begin, ctypes.c_uint64(number), keeps)["region"])


def end_region(region: int) -> dict[str, Any]:
    """Waits for the devices and ends a region. Returns its figures and lists, by the names of Window's attributes and
    methods."""
    return _call(_library().peakmark_memory_region_end, ctypes.c_uint64(region))


_loaded: ctypes.CDLL | None = None


def _library() -> ctypes.CDLL:
    """Returns the library. Keeps the first one, which has the state of this process."""
    global _loaded
    if _loaded is None:
        if not sys.platform.startswith("linux"):
            raise NoRecorder(f"device memory can be recorded on Linux only; this is {sys.platform}")
        path = _find_memory_library()
        if path is None:
            raise NoRecorder(_missing_library_message())
        _loaded = _load(str(path))
    return _loaded


def _load(path: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
        for name in ("request", "require", "region_begin", "region_end"):
            getattr(library, f"peakmark_memory_{name}").restype = ctypes.c_int
    except OSError as error:
        raise RecorderError(f"{path}: cannot be loaded: {error}; install peakmark again") from None
    except AttributeError:
        raise RecorderError(
            f"{path}: older than this module; build and install peakmark and its Python module from the same sources"
        ) from None
    return library


def _missing_library_message() -> str:
    searched = ", ".join(map(str, library_folders()))
    if find_library(OPENCL_RECORDER) is None and find_library(CUDA_RECORDER) is None:
        missing = f"the recorders ({OPENCL_RECORDER}, {CUDA_RECORDER}) are not installed: searched {searched}"
    else:
        missing = f"{MEMORY_LIBRARY} is not installed: searched the parent folders of {searched}"
    return f"{missing}; install the wheel of peakmark, or set PEAKMARK_LIBRARY_DIR to the folder lib/peakmark of an installed peakmark"


def _call(function: Callable[..., int], *arguments: Any) -> dict[str, Any]:
    answer = ctypes.c_char_p()
    status = function(*arguments, ctypes.byref(answer))
    text = (answer.value or b"").decode("utf-8", "replace")
    if status == _OK:
        return dict(json.loads(text))
    raise {_NO_RECORDER: NoRecorder, _TOO_LATE: RecorderTooLate}.get(status, RecorderError)(text)
