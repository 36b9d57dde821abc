"""What the CUDA clients share: a GPU or a clear word that there is none, and libraries that came as wheels."""

import contextlib
import ctypes
import os
import sys
from importlib import metadata

import peakmark


def load_wheel(package, library):
    """Loads a library of one of NVIDIA's wheels, by which whoever asks for it by its bare name gets it too.

    False where the wheel is not installed; then the system's library, if there is one, is as good.
    """
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return False
    for file in files:
        if file.name == library:
            ctypes.CDLL(str(file.locate()), mode=ctypes.RTLD_GLOBAL)
            return True
    return False


def unsupported(reason):
    """Ends the program: what is asked of it cannot be done here."""
    print(reason, file=sys.stderr)
    sys.exit(peakmark.UNSUPPORTED)


def index():
    """Of the device that `peakmark run` has chosen, as CUDA counts them; else of the first."""
    told = os.environ.get("PEAKMARK_DEVICE", "")
    return int(told) if told.isdigit() else 0


def import_cupy():
    """CuPy, with a GPU behind it."""
    # The recorder takes the CUPTI that the process has.
    with contextlib.suppress(OSError):
        load_wheel("nvidia-cuda-cupti-cu12", "libcupti.so.12")
    try:
        import cupy
    except ImportError as error:
        unsupported(f"CuPy cannot be imported: {error}")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        unsupported(f"there is no CUDA device: {error}")
    if count <= index():
        unsupported(f"there is no CUDA device {index()}, only {count}")
    cupy.cuda.Device(index()).use()
    return cupy
