"""Reconstructs one sinogram with nabu, from host memory to host memory, for nabu_fbp.py. Same protocol as fbp_host.

    nabu_host.py N_A W MODE SINOGRAM DEVICE
"""

import importlib.metadata
import json
import sys
import time

import numpy as np
import pyopencl
from nabu.reconstruction.fbp_opencl import OpenCLBackprojector

PACKAGES = ["nabu", "pyopencl", "pyvkfft", "silx", "numpy"]


def answer(line):
    print(json.dumps(line), flush=True)


def find_device(name):
    for platform in pyopencl.get_platforms():
        for device in platform.get_devices():
            if device.name.strip() == name:
                return device
    sys.exit(f"nabu_host: pyopencl has no device '{name}'")


def main():
    n_a, w = int(sys.argv[1]), int(sys.argv[2])
    mode, sinogram_file, name = sys.argv[3:6]
    device = find_device(name)
    sinogram = np.fromfile(sinogram_file, dtype=np.float32).reshape(n_a, w)
    backprojector = OpenCLBackprojector(
        (n_a, w),
        angles=np.pi * np.arange(n_a) / n_a,
        rot_center=(w - 1) / 2,
        padding_mode=mode,
        filter_name="ramlak",
        backend_options={"ctx": pyopencl.Context([device])},
    )
    slice_ = np.empty((w, w), dtype=np.float32)
    answer({
        "device": device.name.strip(),
        "platform": device.platform.name,
        "driver": device.driver_version,
        "versions": {package: importlib.metadata.version(package) for package in PACKAGES},
        "textures": bool(backprojector._use_textures),
    })
    for line in map(str.strip, sys.stdin):
        if line == "call":
            begin = time.perf_counter_ns()
            backprojector.fbp(sinogram, output=slice_)
            answer({"ns": time.perf_counter_ns() - begin})
        elif line.startswith("save "):
            slice_.tofile(line[5:])
            answer({})
        else:
            sys.exit(f"nabu_host: unknown request '{line}'; write `call` or `save FILE`")


if __name__ == "__main__":
    main()
