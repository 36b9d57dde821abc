"""The methods of httomolibgpu that work without astra and tomobar, and with what they are called.

Both the program that runs them and their estimators take this table. Data is float32 (or uint16, where the method
takes it), of shape (n, ny, nx) for projections, cut along axis 0, and (n_a, n, nx) for sinograms, cut along axis 1.
"""

import importlib.util
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass

SLICE_AXIS = {"projection": 0, "sinogram": 1}
FLATS = DARKS = 10


@dataclass(frozen=True)
class Method:
    module: str  # within httomolibgpu
    pattern: str  # "projection" or "sinogram"
    arguments: Callable[[tuple], dict] = lambda shape: {}  # that the method and its estimator take
    needs: str = ""  # "flats" or "metadata": what the method takes beside


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


def methods_of(pattern):
    return [name for name, method in METHODS.items() if method.pattern == pattern]


def bare_package():
    """Lets modules of httomolibgpu be imported: the package itself wants astra and tomobar, which it does not need."""
    if "httomolibgpu" in sys.modules:
        return
    spec = importlib.util.find_spec("httomolibgpu")
    if spec is None:
        raise ImportError("httomolibgpu is not installed in this Python")
    package = types.ModuleType("httomolibgpu")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["httomolibgpu"] = package
