"""httomo's own estimators, of httomo-backends, asked as httomo asks them.

`memory` answers in bytes for a block of the shape `dims`, whichever of its three ways httomo has for the method: a
multiplier of the block (`direct`), bytes a slice and bytes beside (`module`), bytes of the whole (`iterative`). Those with
FFT plans need a GPU.
"""

import contextlib
import importlib
from importlib import resources

import numpy as np

import cuda_device
import httomolibgpu_cases
from httomolibgpu_cases import METHODS, SLICE_AXIS

BACKEND = "httomo_backends.methods_database.packages.backends.httomolibgpu"


def _memory_entry(method):
    """What httomo's table of methods says of its memory: {multiplier, method}."""
    import yaml

    table = yaml.safe_load((resources.files(BACKEND) / "httomolibgpu.yaml").read_text(encoding="utf-8"))
    for part in METHODS[method].module.split("."):
        table = table[part]
    return table[method]["memory_gpu"]


def _function(method, prefix):
    httomolibgpu_cases.bare_package()
    # httomo-backends loads cuFFT by its bare name.
    with contextlib.suppress(OSError):
        cuda_device.load_wheel("nvidia-cufft-cu12", "libcufft.so.11")
    module = importlib.import_module(f"{BACKEND}.supporting_funcs.{METHODS[method].module}")
    return getattr(module, prefix + method)


def memory(dims, dtype, *, method):
    """Bytes for a block of this shape, slices included."""
    entry, dtype = _memory_entry(method), np.dtype(dtype)
    arguments = METHODS[method].arguments(dims)
    way = entry["method"]
    if way == "iterative":
        return int(_function(method, "_calc_memory_bytes_for_slices_")(tuple(dims), dtype, **arguments))
    slice_axis = SLICE_AXIS[METHODS[method].pattern]
    other_dims = tuple(size for axis, size in enumerate(dims) if axis != slice_axis)
    if way == "module":
        per_slice, beside = _function(method, "_calc_memory_bytes_")(other_dims, dtype, **arguments)
        return int(dims[slice_axis] * per_slice + beside)
    if way == "direct":
        return int(float(entry["multiplier"]) * np.prod(dims, dtype=np.int64) * dtype.itemsize)
    raise ValueError(f"httomo has no way '{way}' to estimate memory ({method})")
