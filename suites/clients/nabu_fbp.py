"""nabu's filtered back-projection on an OpenCL device, in the release that is installed.

    nabu_fbp.py [--padding zeros|edges] [--memory host|device] [--n-z N] [--calls N] N_A W

Sinograms of n_a lines and w columns, f32, become slices of w × w. `host`: one, from host memory to host memory, so that
nabu brings it to the device and its slice back. `device`: n_z sinograms and as many slices lie on the device, as the
chunk of a reconstruction does, and are worked on one after the other. Phases: `setup` (nabu's object), `inputs`, `outputs`, `call`,
`end`; what nabu allocates in its first call, it keeps. The sinograms are those of a disc, and the slices must hold its
value. The device is that of `peakmark run`, else the one that pyopencl chooses; PYOPENCL_CTX changes that.
"""

import argparse
import sys

import numpy as np
import peakmark
import pyopencl
import pyopencl.array
from nabu.reconstruction.fbp_opencl import OpenCLBackprojector
from one_case import ended
from opencl_device import context_of_pyopencl

# Where nabu's objects keep what they allocate, and the names in tables of what was live. Where two of them are one
# array, as one release or the other has it, the last name is the one that stays.
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
# Of the disc's value, in the middle of the disc; few and coarse lines do not give it better.
MOST_DIFFERENCE = 0.05


def sinogram_of_disc(n_a, w):
    """The disc has half the slice's width and the value 1, and lies in the middle: all its lines are the same."""
    column = np.arange(w) - (w - 1) / 2
    line = 2 * np.sqrt(np.maximum(0, (w / 4) ** 2 - column**2))
    return np.tile(line.astype(np.float32), (n_a, 1))


def found(thing, path):
    """The attribute of an attribute …, or None."""
    for attribute in path.split("."):
        thing = getattr(thing, attribute, None)
    return thing


def name_all(projector):
    for path, name in NAMES.items():
        if (memory := found(projector, path)) is not None:
            peakmark.name(memory, name)


def memory_of(context, asked, sinogram):
    """The sinograms and the slices, and what makes a slice an array of numpy."""
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


def value_of_disc(slice_):
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
        parser.error("from host memory comes one at a time: --n-z 1, or --memory device")
    return asked


def mistake_in(asked):
    """Runs what is asked. None, or what is wrong with the result."""
    context = context_of_pyopencl()
    with peakmark.phase("setup"):
        projector = OpenCLBackprojector(
            (asked.n_a, asked.w),
            angles=np.pi * np.arange(asked.n_a) / asked.n_a,
            padding_mode=asked.padding,
            filter_name="ramlak",
            backend_options={"ctx": context},
        )
        name_all(projector)
    sinograms, slices, as_numpy = memory_of(context, asked, sinogram_of_disc(asked.n_a, asked.w))
    for _ in range(asked.calls):
        with peakmark.phase("call"):
            for sinogram, slice_ in zip(sinograms, slices):
                projector.fbp(sinogram, output=slice_)
            projector._processing.queue.finish()
        name_all(projector)

    for slice_ in slices:
        if abs((value := value_of_disc(as_numpy(slice_))) - 1) > MOST_DIFFERENCE:
            return f"the disc has the value {value:.4f} instead of 1"
    return None


def main():
    return ended(mistake_in(parse(sys.argv[1:])))


if __name__ == "__main__":
    sys.exit(main())
