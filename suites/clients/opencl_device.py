"""The OpenCL device of a client: the one that `peakmark run` has chosen, where it started the program.

$PEAKMARK_DEVICE is its index among the devices of all platforms, in the order in which the loader lists them.
"""

import os
import sys

import peakmark


def index():
    """None where nobody has chosen."""
    told = os.environ.get("PEAKMARK_DEVICE", "")
    return int(told) if told.isdigit() else None


def chosen_of(devices):
    """The chosen one of a list of all. Ends the program, which cannot do what is asked, where it is not among them."""
    if index() >= len(devices):
        print(f"there is no OpenCL device {index()}, only {len(devices)}", file=sys.stderr)
        sys.exit(peakmark.UNSUPPORTED)
    return devices[index()]


def context_of_pyopencl():
    """On the chosen device, or on the one that pyopencl chooses ($PYOPENCL_CTX)."""
    import pyopencl

    if index() is None:
        return pyopencl.create_some_context(interactive=False)
    everything = [device for platform in pyopencl.get_platforms() for device in platform.get_devices()]
    return pyopencl.Context([chosen_of(everything)])
