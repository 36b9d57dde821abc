"""Calls one method of httomolibgpu on a CUDA device.

    httomolibgpu_methods.py [--dtype float32|uint16] [--calls N] METHOD N OTHER NX

A method for projections gets n projections of OTHER × nx; a method for sinograms gets n sinograms of OTHER angles × nx. CuPy's
memory pool is off, so that each array is allocated from the driver. Phases: `inputs` and `call`. All calls get the same array,
which some methods change.
"""

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

import numpy as np
import peakmark

import client_program
import httomolibgpu_estimators as httomo
from httomolibgpu_estimators import METHODS

SEED = 20260131
# Centre and factors of a radial polynomial with hardly any distortion.
METADATA = "xcenter = {x}\nycenter = {y}\nfactor0 = 1.0\nfactor1 = 1e-6\n"


def modern(make):
    """Wraps a function of CuPy: replaces -std=c++11 of httomolibgpu, which CuPy 14.2 cannot compile, by C++17."""

    def made(*words, **options):
        if "options" in options:
            options["options"] = tuple("-std=c++17" if one == "-std=c++11" else one for one in options["options"])
        return make(*words, **options)

    return made


def import_method(cupy, name):
    cupy.RawModule, cupy.ElementwiseKernel = modern(cupy.RawModule), modern(cupy.ElementwiseKernel)
    httomo.bare_package()
    return getattr(importlib.import_module(f"httomolibgpu.{METHODS[name].module}"), name)


def data_shape(asked):
    if METHODS[asked.method].pattern == "projection":
        return asked.n, asked.other, asked.nx
    return asked.other, asked.n, asked.nx


def make_arguments(cupy, asked, shape, folder):
    """Returns the arguments except the data."""
    method = METHODS[asked.method]
    arguments = method.arguments((asked.other, asked.nx))
    if method.needs == "flats":
        image = shape[1:]
        arguments["flats"] = cupy.full((httomo.FLATS, *image), 1000, asked.dtype)
        arguments["darks"] = cupy.full((httomo.DARKS, *image), 10, asked.dtype)
    if method.needs == "metadata":
        metadata = Path(folder) / "metadata.txt"
        metadata.write_text(METADATA.format(x=shape[2] / 2, y=shape[1] / 2), encoding="utf-8")
        arguments["metadata_path"] = str(metadata)
    return arguments


def run(asked):
    cupy = client_program.import_cupy()
    cupy.cuda.set_allocator(None)
    cupy.cuda.set_pinned_memory_allocator(None)
    call = import_method(cupy, asked.method)
    shape = data_shape(asked)
    values = np.random.default_rng(SEED).integers(100, 1000, shape).astype(asked.dtype)
    with tempfile.TemporaryDirectory() as folder:
        with peakmark.phase("inputs"):
            data = cupy.asarray(values)
            peakmark.name(data, "data")
            arguments = make_arguments(cupy, asked, shape, folder)
            cupy.cuda.Device().synchronize()
        for _ in range(asked.calls):
            _result = None
            with peakmark.phase("call"):
                _result = call(data, **arguments)
                cupy.cuda.Device().synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", choices=["float32", "uint16"], default="float32")
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("n", type=int)
    parser.add_argument("other", type=int)
    parser.add_argument("nx", type=int)
    run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
