"""The methods of httomolibgpu that work without astra and tomobar, and httomo's estimators of their memory.

Data is float32 (or uint16, if the method takes it), of shape (n, ny, nx) for projections, cut along axis 0, and (n_a, n, nx)
for sinograms, cut along axis 1.

The estimator of `any` method is asked as httomo asks one of its kind `iterative`. The entry of a method in httomo-backends has one
of three kinds: a multiplier of the block (`direct`), bytes per slice and fixed bytes (`module`), bytes of the whole block
(`iterative`). Methods with FFT plans need a GPU.
"""

import contextlib
import importlib.util
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import client_program

FLATS = DARKS = 10


@dataclass(frozen=True)
class Method:
    module: str  # within httomolibgpu
    pattern: str  # "projection" or "sinogram"
    arguments: Callable[[tuple], dict] = lambda dims: {}  # of the method and its estimator, by the dimensions besides the slices
    needs: str = ""  # other arguments: "flats" or "metadata"


def _half_of_each(dims):
    return {"newshape": [dims[0] // 2, dims[1] // 2]}


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
    "sino_360_to_180": Method("misc.morph", "sinogram", lambda dims: {"overlap": dims[1] // 8}),
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


def _calc_memory_bytes_for_slices_any(dims_shape, dtype, *, method):
    """Returns bytes for a block of dims_shape = (slices, other dimensions) of a method, by httomo-backends' own query."""
    from httomo_backends.methods_database.query import MethodsDatabaseQuery

    bare_package()
    # httomo-backends loads cuFFT by its bare name.
    with contextlib.suppress(OSError):
        client_program.load_wheel("nvidia-cufft-cu12", "libcufft.so.11")
    query = MethodsDatabaseQuery(f"httomolibgpu.{METHODS[method].module}", method)
    slices, other_dims, dtype = dims_shape[0], tuple(dims_shape[1:]), np.dtype(dtype)
    arguments, requirement = METHODS[method].arguments(other_dims), query.get_memory_gpu_params()
    if requirement.method == "iterative":
        return query.calculate_memory_bytes_for_slices(dims_shape, dtype, **arguments)
    if requirement.method == "module":
        per_slice, fixed = query.calculate_memory_bytes(other_dims, dtype, **arguments)
        return int(slices * per_slice + fixed)
    return slices * int(float(requirement.multiplier) * np.prod(other_dims) * dtype.itemsize)  # direct, as httomo rounds
