"""The methods of httomolibgpu that work without astra and tomobar, and httomo's estimators of their memory.

Data is float32 (or uint16, if the method takes it), of shape (n, ny, nx) for projections, cut along axis 0, and (n_a, n, nx)
for sinograms, cut along axis 1.

`memory` returns bytes for a block of shape `dims`, like httomo. The entry of a method in httomo-backends has one of three
kinds: a multiplier of the block (`direct`), bytes per slice and fixed bytes (`module`), bytes of the whole block
(`iterative`). Methods with FFT plans need a GPU.
"""

import contextlib
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import numpy as np

import client_program

SLICE_AXIS = {"projection": 0, "sinogram": 1}
FLATS = DARKS = 10
BACKEND = "httomo_backends.methods_database.packages.backends.httomolibgpu"


@dataclass(frozen=True)
class Method:
    module: str  # within httomolibgpu
    pattern: str  # "projection" or "sinogram"
    arguments: Callable[[tuple], dict] = lambda shape: {}  # of the method and its estimator
    needs: str = ""  # other arguments: "flats" or "metadata"


def _half_of_each(shape):
    return {"newshape": [shape[0] // 2, shape[2] // 2]}


METHODS = {
    "data_checker": Method("misc.utils", "projection"),
    "median_filter": Method("misc.corr", "projection"),
    "remove_outlier": Method("misc.corr", "projection"),
    "rescale_to_int": Method("misc.rescale", "projection"),
    "dark_flat_field_correction": Method("prep.normalize", "projection", needs="flats"),
    "minus_log": Method("prep.normalize", "projection"),
    "paganin_filter": Method("prep.phase", "projection"),
    "paganin_filter_savu_legacy": Method("prep.phase", "projection"),
    "distortion_correction_proj_discorpy": Method("prep.alignment", "projection", needs="metadata"),
    "data_resampler": Method("misc.morph", "sinogram", _half_of_each),
    "sino_360_to_180": Method("misc.morph", "sinogram", lambda shape: {"overlap": shape[2] // 8}),
    "remove_stripe_based_sorting": Method("prep.stripe", "sinogram"),
    "remove_stripe_fw": Method("prep.stripe", "sinogram"),
    "remove_stripe_ti": Method("prep.stripe", "sinogram"),
    "remove_all_stripe": Method("prep.stripe", "sinogram"),
    "raven_filter": Method("prep.stripe", "sinogram"),
    "find_center_360": Method("recon.rotation", "sinogram"),
}


def methods_with(pattern):
    return [name for name, method in METHODS.items() if method.pattern == pattern]


def bare_package():
    """Makes modules of httomolibgpu importable without the package's own imports of astra and tomobar."""
    if "httomolibgpu" in sys.modules:
        return
    spec = importlib.util.find_spec("httomolibgpu")
    if spec is None:
        raise ImportError("httomolibgpu is not installed in this Python")
    package = types.ModuleType("httomolibgpu")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["httomolibgpu"] = package


def _memory_entry(method):
    """Returns the entry of httomo's table of methods: {multiplier, method}."""
    import yaml

    table = yaml.safe_load((resources.files(BACKEND) / "httomolibgpu.yaml").read_text(encoding="utf-8"))
    for part in METHODS[method].module.split("."):
        table = table[part]
    return table[method]["memory_gpu"]


def _function(method, prefix):
    bare_package()
    # httomo-backends loads cuFFT by its bare name.
    with contextlib.suppress(OSError):
        client_program.load_wheel("nvidia-cufft-cu12", "libcufft.so.11")
    module = importlib.import_module(f"{BACKEND}.supporting_funcs.{METHODS[method].module}")
    return getattr(module, prefix + method)


def memory(dims, dtype, *, method):
    """Returns bytes for a block of this shape."""
    entry, dtype = _memory_entry(method), np.dtype(dtype)
    arguments = METHODS[method].arguments(dims)
    way = entry["method"]
    if way == "iterative":
        return int(_function(method, "_calc_memory_bytes_for_slices_")(tuple(dims), dtype, **arguments))
    slice_axis = SLICE_AXIS[METHODS[method].pattern]
    other_dims = tuple(size for axis, size in enumerate(dims) if axis != slice_axis)
    if way == "module":
        per_slice, fixed = _function(method, "_calc_memory_bytes_")(other_dims, dtype, **arguments)
        return int(dims[slice_axis] * per_slice + fixed)
    if way == "direct":
        return int(float(entry["multiplier"]) * np.prod(dims, dtype=np.int64) * dtype.itemsize)
    raise ValueError(f"unknown estimation method of httomo: '{way}' of {method}")
