"""Brings the recorders into this process: it tells the loaders of OpenCL and CUDA to load them, which they do at the
first call that they get, and finds out whether they did."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import pathlib
import shutil
import sys
import tempfile

from peakmark.loaded_recorders import loaded_recorders

OPENCL_RECORDER = "libpeakmark-opencl.so"
CUDA_RECORDER = "libpeakmark-cupti.so"
_CL_SUCCESS, _CL_PLATFORM_NOT_FOUND = 0, -1001
_CUDA_SUCCESS = 0


class RecorderError(RuntimeError):
    """Nothing can be told of device memory here; the message says why and what to do."""


class NoRecorder(RecorderError):
    """There is none to be had on this machine: no library, no driver, or another system than Linux."""


class RecorderTooLate(RecorderError):
    """OpenCL or CUDA was called before a recorder could come in. `fact` is the message without what to do."""

    def __init__(self, fact: str):
        super().__init__(
            f"{fact}. Run the whole program by `peakmark record -- PROGRAM`, or call peakmark.load_recorders() before "
            "anything imports or calls it; with pytest give --device-memory, or set `device_memory = true` in its ini file"
        )
        self.fact = fact


def library_folders() -> list[pathlib.Path]:
    """Where the recorders may be: $PEAKMARK_LIBRARY_DIR, and nothing else where that is set."""
    if named := os.environ.get("PEAKMARK_LIBRARY_DIR"):
        return [pathlib.Path(named).absolute()]
    package = pathlib.Path(__file__).resolve().parent
    folders = [package / "installed" / "lib" / "peakmark"]  # of a wheel
    # PREFIX/share/peakmark/python/peakmark of an installed peakmark, BUILD/share/… of a build folder
    folders += [up / "lib" / "peakmark" for up in list(package.parents)[3:4]]
    for up in list(package.parents)[2:3]:  # harness/python/peakmark of the sources
        folders += [up / "build" / build / "lib" / "peakmark" for build in ("prefix", "release", "dev")]
    # A wheel whose package another copy of this module hides.
    wheels = [pathlib.Path(entry) / "peakmark" / "installed" / "lib" / "peakmark" for entry in sys.path if entry]
    folders += [wheel for wheel in wheels if wheel.is_dir()]
    # The prefix of this Python, and those of `cmake --install` and of packages.
    folders += [pathlib.Path(prefix) / "lib" / "peakmark" for prefix in (sys.prefix, "/usr/local", "/usr")]
    if program := shutil.which("peakmark"):
        up = pathlib.Path(program).resolve()
        folders += [parent / "lib" / "peakmark" for parent in list(up.parents)[1:4]]
    return list(dict.fromkeys(folders))


def find_library(name: str) -> pathlib.Path | None:
    for folder in library_folders():
        if (folder / name).is_file():
            return folder / name
    return None


_loaded_by: int | None = None


def is_loaded_here() -> bool:
    """Whether this process's profile is one that `load` has asked for: then it goes with the process."""
    return _loaded_by is not None


def is_loaded_by_this_process() -> bool:
    """And not by one that has forked this one."""
    return _loaded_by == os.getpid()


def is_asked_for() -> bool:
    """Whether the environment tells loaders to load a recorder: by `load`, or by `peakmark record`."""
    return "PEAKMARK_PROFILE" in os.environ and (
        OPENCL_RECORDER in os.environ.get("OPENCL_LAYERS", "")
        or CUDA_RECORDER in os.environ.get("CUDA_INJECTION64_PATH", "")
    )


def load(*, sync: bool = False, stacks: bool = False) -> None:
    """Tells the loaders of this process to load the recorders. Call it before the first call into OpenCL or CUDA.

    Does nothing in a process that is recorded already, by `peakmark record` or an earlier call. `sync` finishes a queue
    after each command, so that peaks repeat; `stacks` records call stacks. The profile goes into a temporary folder,
    and with the process. Raises NoRecorder where no recorder is installed.
    """
    global _loaded_by
    if is_asked_for() or loaded_recorders():
        return
    if not sys.platform.startswith("linux"):
        raise NoRecorder(f"device memory is recorded on Linux only, and this is {sys.platform}")
    opencl, cuda = find_library(OPENCL_RECORDER), find_library(CUDA_RECORDER)
    if opencl is None and cuda is None:
        looked = ", ".join(map(str, library_folders()))
        raise NoRecorder(
            f"the recorders ({OPENCL_RECORDER}, {CUDA_RECORDER}) are not installed: looked in {looked}. Install the "
            "wheel of peakmark, or let PEAKMARK_LIBRARY_DIR name the folder lib/peakmark of an installed peakmark"
        )
    _loaded_by = os.getpid()
    folder = tempfile.mkdtemp(prefix="peakmark-")
    _remove_at_exit(folder)
    os.environ["PEAKMARK_PROFILE"] = os.path.join(folder, "profile")
    os.environ["PEAKMARK_SYNC"] = "1" if sync else "0"
    os.environ["PEAKMARK_STACKS"] = "1" if stacks else "0"
    if opencl is not None:
        # Ours first: ocl-icd cuts the variable at the first colon.
        others = [layer for layer in os.environ.get("OPENCL_LAYERS", "").split(":") if layer]
        os.environ["OPENCL_LAYERS"] = ":".join([str(opencl), *others])
    if cuda is not None:
        os.environ["CUDA_INJECTION64_PATH"] = str(cuda)


def _remove_at_exit(folder: str) -> None:
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child leaves it to its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)


def loaders_here() -> tuple[list[str], list[str]]:
    """The loaders of OpenCL and those of CUDA (its driver) that are in this process, by path."""
    opencl: dict[str, None] = {}
    cuda: dict[str, None] = {}
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            file = path.rpartition("/")[2]
            if file.startswith("libOpenCL"):
                opencl["/" + path] = None
            elif file.startswith("libcuda.so"):
                cuda["/" + path] = None
    return list(opencl), list(cuda)


def require_loaded() -> list[ctypes.CDLL]:
    """The recorders of this process. Empty where neither OpenCL nor CUDA was called so far: nothing is live then.

    A loader that is in the process and was not called is called here, so that it loads its recorder: what comes later
    is then recorded. Raises RecorderTooLate where one of the two had been called before, whether or not the other is
    recorded: its memory would be missing in the figures. Raises NoRecorder where there is no driver.
    """
    opencl, cuda = loaders_here()
    found = _files(loaded_recorders())
    trouble: RecorderError | None = None
    if opencl and OPENCL_RECORDER not in found:
        trouble = _ask_opencl(opencl)
    if cuda and CUDA_RECORDER not in found and _cuda_is_up(cuda):
        raise RecorderTooLate(
            f"CUDA was called before peakmark could load its recorder {CUDA_RECORDER}, or the recorder could not come "
            "up: it says why on standard error"
        )
    recorders = loaded_recorders()
    if isinstance(trouble, RecorderTooLate) or (trouble is not None and not recorders):
        raise trouble
    return recorders


def _files(recorders: list[ctypes.CDLL]) -> set[str]:
    return {os.path.basename(recorder._name) for recorder in recorders}


def _ask_opencl(loaders: list[str]) -> RecorderError | None:
    answer = _CL_SUCCESS
    for path in loaders:
        with contextlib.suppress(OSError, AttributeError):
            loader = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
            answer = loader.clGetPlatformIDs(0, None, ctypes.byref(ctypes.c_uint32()))
    if OPENCL_RECORDER in _files(loaded_recorders()):
        return None
    if find_library(OPENCL_RECORDER) is None and OPENCL_RECORDER not in os.environ.get("OPENCL_LAYERS", ""):
        return NoRecorder(f"the recorder of OpenCL ({OPENCL_RECORDER}) is not installed")
    if answer == _CL_PLATFORM_NOT_FOUND:
        return NoRecorder("no OpenCL driver was found (`clinfo -l` lists them)")
    if not any(_knows_layers(path) for path in loaders):
        return NoRecorder(
            f"the OpenCL loader {loaders[0]} knows no layers, by which the recorder comes in: let LD_PRELOAD name "
            "another one, such as that of ocl-icd 2.3 or Khronos's"
        )
    return RecorderTooLate("OpenCL was called before peakmark could load its recorder")


def _knows_layers(loader: str) -> bool:
    try:
        return b"OPENCL_LAYERS" in pathlib.Path(loader).read_bytes()
    except OSError:
        return True


def _cuda_is_up(drivers: list[str]) -> bool:
    """Whether it was initialised; asking does not initialise it."""
    for path in drivers:
        with contextlib.suppress(OSError, AttributeError):
            driver = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
            if driver.cuDeviceGetCount(ctypes.byref(ctypes.c_int())) == _CUDA_SUCCESS:
                return True
    return False


def environment_without_recorders() -> dict[str, str]:
    """For a child that is not to be recorded."""
    ours = ("PEAKMARK_PROFILE", "OPENCL_LAYERS", "CUDA_INJECTION64_PATH", "PEAKMARK_SYNC", "PEAKMARK_STACKS")
    return {name: value for name, value in os.environ.items() if name not in ours}
