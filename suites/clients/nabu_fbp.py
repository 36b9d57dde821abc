"""Runs the filtered back-projection of the installed nabu on an OpenCL device.

    nabu_fbp.py [--padding zeros|edges] [--memory host|device] [--n-z N] [--calls N] N_A W

Reconstructs slices of w × w from sinograms of n_a × w, f32. `host`: one slice from host memory to host memory; nabu copies.
`device`: n_z sinograms and slices on the device, like a chunk of a reconstruction, processed one after the other. Phases: `setup`
(nabu's object), `inputs`, `outputs`, `call`, `end`. The sinograms are those of a disc, and the slices must have its value. Uses
the device of `peakmark run`, else the one that pyopencl chooses ($PYOPENCL_CTX).
"""

import argparse
import sys

import numpy as np
import peakmark
import pyopencl
import pyopencl.array
from nabu.reconstruction.fbp_opencl import OpenCLBackprojector
from client_program import exit_code, pyopencl_context

# The attributes of nabu's objects that hold device memory, and the names in tables of live allocations. If two of them are the
# same array, as in some releases, the last name applies.
NAMES = {
    "_d_sino": "sinogram_to_project",
    "sino_filter.opencl.sino": "sinograms",
    "sino_filter.opencl.output": "filtered",
    "_processing._d_slice": "slices",
    "_d_cos": "cosines",
    "_d_msin": "sines",
    "sino_filter.d_sino_padded": "padded",
    "sino_filter.d_sino_f": "spectrum",
    "sino_filter.d_filter_f": "filter",
    "sino_filter.padding_kernel.d_padded_array_constant": "template",
    "sino_filter.padding_kernel.d_coords_rows": "row_coordinates",
    "sino_filter.padding_kernel.d_coords_cols": "column_coordinates",
}
# Tolerance of the disc's value in the middle of the disc, for few angles and coarse lines.
MAX_DIFFERENCE = 0.05


def sinogram_of_disc(n_a, w):
    """Returns the sinogram of a centred disc of half the slice's width and value 1. All of its lines are equal."""
    column = np.arange(w) - (w - 1) / 2
    line = 2 * np.sqrt(np.maximum(0, (w / 4) ** 2 - column**2))
    return np.tile(line.astype(np.float32), (n_a, 1))


def nested_attribute(thing, path):
    """Returns the attribute at a dotted path, or None."""
    for attribute in path.split("."):
        thing = getattr(thing, attribute, None)
    return thing


def name_all(projector):
    for path, name in NAMES.items():
        if (memory := nested_attribute(projector, path)) is not None:
            peakmark.name(memory, name)


def make_arrays(context, asked, sinogram):
    """Returns sinograms, slices, and a function that converts a slice to a numpy array."""
    if asked.memory == "host":
        return [sinogram], [np.empty((asked.w, asked.w), np.float32)], np.asarray
    queue = pyopencl.CommandQueue(context)
    with peakmark.phase("inputs"):
        sinograms = [pyopencl.array.to_device(queue, sinogram) for _ in range(asked.n_z)]
        for one in sinograms:
            peakmark.name(one, "sinograms")
    with peakmark.phase("outputs"):
        slices = [pyopencl.array.empty(queue, (asked.w, asked.w), np.float32) for _ in range(asked.n_z)]
        for one in slices:
            peakmark.name(one, "slices")
    return sinograms, slices, lambda array: array.get()


def disc_value(slice_):
    w = slice_.shape[0]
    return slice_[3 * w // 8 : 5 * w // 8, 3 * w // 8 : 5 * w // 8].mean()


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--padding", choices=["zeros", "edges"], default="zeros")
    parser.add_argument("--memory", choices=["host", "device"], default="host")
    parser.add_argument("--n-z", type=int, default=1)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("n_a", type=int)
    parser.add_argument("w", type=int)
    asked = parser.parse_args(words)
    if asked.memory == "host" and asked.n_z != 1:
        parser.error("--memory host needs --n-z 1")
    return asked


def find_error(asked):
    """Runs the calls. Returns what is wrong with the result, or None."""
    context = pyopencl_context()
    with peakmark.phase("setup"):
        projector = OpenCLBackprojector(
            (asked.n_a, asked.w),
            angles=np.pi * np.arange(asked.n_a) / asked.n_a,
            padding_mode=asked.padding,
            filter_name="ramlak",
            backend_options={"ctx": context},
        )
        name_all(projector)
    sinograms, slices, as_numpy = make_arrays(context, asked, sinogram_of_disc(asked.n_a, asked.w))
    for _ in range(asked.calls):
        with peakmark.phase("call"):
            for sinogram, slice_ in zip(sinograms, slices):
                projector.fbp(sinogram, output=slice_)
            projector._processing.queue.finish()
        name_all(projector)

    for slice_ in slices:
        if abs((value := disc_value(as_numpy(slice_))) - 1) > MAX_DIFFERENCE:
            return f"the disc has the value {value:.4f} instead of 1"
    return None


def main():
    return exit_code(find_error(parse(sys.argv[1:])))


if __name__ == "__main__":
    sys.exit(main())
