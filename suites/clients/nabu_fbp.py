"""nabu's filtered back-projection of one sinogram on an OpenCL device, in the release that is installed.

    nabu_fbp.py [--padding zeros|edges] [--calls N] N_A W

A sinogram of n_a lines and w columns, f32, goes from host memory to a slice of w × w in host memory. Phases: `setup`
(nabu's object) and `call`; what nabu allocates in its first call, it keeps. The sinogram is that of a disc, and the
slice must hold its value. The device is the one that pyopencl chooses; PYOPENCL_CTX changes that.
"""

import argparse
import sys

import numpy as np
import peakmark
import pyopencl
from nabu.reconstruction.fbp_opencl import OpenCLBackprojector

# Where nabu's objects keep what they allocate, and the names in tables of what was live. Where two of them are one
# array, as one release or the other has it, the last name is the one that stays.
NAMES = {
    "_d_sino": "filtered_sinogram",
    "sino_filter.opencl.sino": "sinogram",
    "_processing._d_slice": "slice",
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--padding", choices=["zeros", "edges"], default="zeros")
    parser.add_argument("--calls", type=int, default=2)
    parser.add_argument("n_a", type=int)
    parser.add_argument("w", type=int)
    asked = parser.parse_args()
    sinogram = sinogram_of_disc(asked.n_a, asked.w)
    slice_ = np.empty((asked.w, asked.w), dtype=np.float32)
    context = pyopencl.create_some_context(interactive=False)

    with peakmark.phase("setup"):
        projector = OpenCLBackprojector(
            (asked.n_a, asked.w),
            angles=np.pi * np.arange(asked.n_a) / asked.n_a,
            padding_mode=asked.padding,
            filter_name="ramlak",
            backend_options={"ctx": context},
        )
        name_all(projector)
    for _ in range(asked.calls):
        with peakmark.phase("call"):
            projector.fbp(sinogram, output=slice_)
        name_all(projector)

    middle = slice_[3 * asked.w // 8 : 5 * asked.w // 8, 3 * asked.w // 8 : 5 * asked.w // 8].mean()
    if abs(middle - 1) > MOST_DIFFERENCE:
        print(f"the disc has the value {middle:.4f} instead of 1", file=sys.stderr)
        return peakmark.WRONG_ANSWER
    return 0


if __name__ == "__main__":
    sys.exit(main())
