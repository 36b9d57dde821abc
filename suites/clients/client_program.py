"""Helpers of the client programs: the device, NVIDIA's wheels, and the exit code of a case.

$PEAKMARK_DEVICE is the index of the device that `peakmark run` chose: among the devices of all OpenCL platforms in the order
of the loader, or among CUDA's devices. It is not set if another program starts the client.
"""

import contextlib
import ctypes
import gc
import os
import sys
from importlib import metadata

import peakmark


def exit_code(error):
    """Marks the end of a case, so that its live memory counts as leaked, and returns its exit code.

    `error` describes what is wrong with the result; None if it is correct.
    """
    gc.collect()
    with peakmark.phase("end"):
        pass
    if error:
        print(error, file=sys.stderr)
    return peakmark.WRONG_ANSWER if error else 0


def unsupported(reason):
    """Ends the program with the outcome `unsupported`."""
    print(reason, file=sys.stderr)
    sys.exit(peakmark.UNSUPPORTED)


def device_index():
    """Returns the index of the chosen device; None if `peakmark run` did not start this program."""
    text = os.environ.get("PEAKMARK_DEVICE", "")
    return int(text) if text.isdigit() else None


def chosen_device(devices):
    """Returns the chosen OpenCL device of a list of all. Ends the program if the list is too short."""
    if device_index() >= len(devices):
        unsupported(f"no OpenCL device {device_index()} found, only {len(devices)}")
    return devices[device_index()]


def pyopencl_context():
    """Returns a context of the chosen device, or of the one that pyopencl chooses ($PYOPENCL_CTX)."""
    import pyopencl

    if device_index() is None:
        return pyopencl.create_some_context(interactive=False)
    everything = [device for platform in pyopencl.get_platforms() for device in platform.get_devices()]
    return pyopencl.Context([chosen_device(everything)])


def cuda_device_index():
    """Returns the index of the chosen CUDA device; 0 if none was chosen."""
    return device_index() or 0


def load_wheel(package, library):
    """Loads a library of one of NVIDIA's wheels, so that later dlopen() calls with its bare name find it.

    Returns False if the wheel is not installed; the system may have the library.
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


def import_cupy():
    """Returns the module cupy, with the chosen device. Ends the program if there is no CuPy or no such device."""
    # The recorder uses the CUPTI that the process has loaded.
    with contextlib.suppress(OSError):
        load_wheel("nvidia-cuda-cupti-cu12", "libcupti.so.12")
    try:
        import cupy
    except ImportError as error:
        unsupported(f"CuPy cannot be imported: {error}")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        unsupported(f"no CUDA device found: {error}")
    if count <= cuda_device_index():
        unsupported(f"no CUDA device {cuda_device_index()} found, only {count}")
    cupy.cuda.Device(cuda_device_index()).use()
    return cupy
