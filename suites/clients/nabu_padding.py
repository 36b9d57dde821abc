"""Pads images with the installed nabu on an OpenCL device.

    nabu_padding.py [--n N] [--pad-y0 P] [--pad-y1 P] [--pad-x0 P] [--pad-x1 P] [--mode MODE] [--calls N] NY NX

Pads n images of ny × nx f32, each in a separate array on the device, one after the other. Phases: `setup` (nabu's object),
`inputs`, `outputs`, `call`, `end`. The results must be equal to those of numpy.pad. Uses the device of `peakmark run`, else the
one that pyopencl chooses ($PYOPENCL_CTX).
"""

import argparse
import sys

import numpy as np
import peakmark
import pyopencl
import pyopencl.array
from client_program import exit_code, pyopencl_context

try:
    from nabu.processing.padding_opencl import OpenCLPadding

    COORDINATES_ARE_VECTORS = True
except ImportError:  # releases of 2023
    from nabu.opencl.padding import OpenCLPadding

    COORDINATES_ARE_VECTORS = False

# The attributes of nabu's object that hold device memory, and the names in tables of live allocations.
NAMES = {
    "d_coords_rows": "row_coordinates",
    "d_coords_cols": "column_coordinates",
    "d_padded_array_constant": "template",
}
MODES = ["constant", "edge", "reflect", "symmetric", "wrap", "custom"]
SEED = 20260131


def custom_coordinates(shape, pads):
    """Returns two vectors in an arbitrary order: a row of the image for each padded row, a column for each padded column."""
    return [
        ((7 * np.arange(before + size + after) + 3) % size).astype(np.int32)
        for size, (before, after) in zip(shape, pads)
    ]


def make_padding(queue, shape, pads, mode):
    options = {"queue": queue}
    if mode != "custom":
        return OpenCLPadding(shape, pads, mode=mode, opencl_options=options)
    coordinates = custom_coordinates(shape, pads)
    if not COORDINATES_ARE_VECTORS:
        coordinates = np.meshgrid(*coordinates, indexing="ij")
    return OpenCLPadding(shape, tuple(coordinates), mode="edge", opencl_options=options)


def expected(image, pads, mode):
    if mode == "custom":
        return image[np.ix_(*custom_coordinates(image.shape, pads))]
    return np.pad(image, pads, mode=mode)


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1)
    for side in ("y0", "y1", "x0", "x1"):
        parser.add_argument(f"--pad-{side}", type=int, default=64)
    parser.add_argument("--mode", choices=MODES, default="edge")
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("ny", type=int)
    parser.add_argument("nx", type=int)
    return parser.parse_args(words)


def find_error(asked):
    """Runs the calls. Returns what is wrong with the result, or None."""
    shape = (asked.ny, asked.nx)
    pads = ((asked.pad_y0, asked.pad_y1), (asked.pad_x0, asked.pad_x1))
    images = np.random.default_rng(SEED).random((asked.n, *shape), dtype=np.float32)
    queue = pyopencl.CommandQueue(pyopencl_context())

    with peakmark.phase("setup"):
        padding = make_padding(queue, shape, pads, asked.mode)
        for attribute, name in NAMES.items():
            if hasattr(padding, attribute):
                peakmark.name(getattr(padding, attribute), name)
        queue.finish()
    with peakmark.phase("inputs"):
        inputs = [pyopencl.array.to_device(queue, image) for image in images]
        for given in inputs:
            peakmark.name(given, "images")
    with peakmark.phase("outputs"):
        outputs = [pyopencl.array.empty(queue, padding.padded_shape, np.float32) for _ in images]
        for output in outputs:
            peakmark.name(output, "padded")
    for _ in range(asked.calls):
        with peakmark.phase("call"):
            for given, output in zip(inputs, outputs):
                padding.pad(given, output=output)
            queue.finish()

    right = all(
        np.array_equal(output.get(), expected(image, pads, asked.mode)) for image, output in zip(images, outputs)
    )
    return None if right else "the padded image differs from numpy's"


def main():
    return exit_code(find_error(parse(sys.argv[1:])))


if __name__ == "__main__":
    sys.exit(main())
