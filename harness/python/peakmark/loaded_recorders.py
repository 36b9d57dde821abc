"""The recorders in this process: libraries that the loaders of OpenCL and CUDA bring in, or do not."""

from __future__ import annotations

import ctypes
import os

# Those in this process, also one that has not come up yet. A recorder never leaves a process, so one that is here stays;
# one that is not may come any time.
_found: dict[str, ctypes.CDLL] = {}

_VERSION = 1  # of the interface (PEAKMARK_MARKS_VERSION)
_NOT_UP = 0


def _named() -> list[str]:
    """The paths under which a loader was told to load a recorder."""
    # os.environ is as it was when Python started: a loader of OpenCL cuts the process's own OPENCL_LAYERS short.
    layers = os.environ.get("OPENCL_LAYERS", "").split(":")
    return [path for path in (*layers, os.environ.get("CUDA_INJECTION64_PATH", "")) if path]


def _look_up(path: str, load: bool) -> ctypes.CDLL | None:
    # A layer of somebody else is never loaded here: only its loader may do that.
    load = load and os.path.basename(path).startswith("libpeakmark-")
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_LAZY if load else os.RTLD_NOLOAD | os.RTLD_LAZY)
        library.peakmark_marks_version.restype = ctypes.c_int
        library.peakmark_phase.argtypes = [ctypes.c_char_p]
        library.peakmark_phase.restype = None
        library.peakmark_name.argtypes = [ctypes.c_uint64, ctypes.c_char_p]
        library.peakmark_name.restype = None
        library.peakmark_profile_path.restype = ctypes.c_char_p
        library.peakmark_event_count.restype = ctypes.c_uint64
        if hasattr(library, "peakmark_synchronise"):  # not in an older recorder, which takes marks all the same
            library.peakmark_synchronise.restype = ctypes.c_char_p
    except (OSError, AttributeError):
        return None  # not loaded, or another's layer
    return library if library.peakmark_marks_version() in (_NOT_UP, _VERSION) else None


def _look_for_all(load: bool) -> None:
    # A program may clear its environment: that brings no recorder in, and takes none away.
    if "PEAKMARK_PROFILE" in os.environ:
        for path in _named():
            if path not in _found and (library := _look_up(path, load)) is not None:
                _found[path] = library


def loaded_recorders() -> list[ctypes.CDLL]:
    """Those that are recording now."""
    _look_for_all(load=False)
    return [library for library in _found.values() if library.peakmark_marks_version() == _VERSION]


def recorders_of_phases() -> list[ctypes.CDLL]:
    """Those that take a phase. A recorder that no loader has loaded so far is loaded: it keeps the phase and begins in it
    when OpenCL or CUDA comes up."""
    _look_for_all(load=True)
    return list(_found.values())
