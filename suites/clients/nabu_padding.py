"""nabu's padding of images on an OpenCL device, in the release that is installed.

    nabu_padding.py [--n N] [--pad-y0 P] [--pad-y1 P] [--pad-x0 P] [--pad-x1 P] [--mode MODE] [--calls N] NY NX

n images of ny × nx f32 lie on the device, each as an array of its own, and are padded one after the other into n
others. Phases: `setup` (nabu's object), `inputs`, `outputs`, `call`, `end`. The results are compared with numpy.pad's, bit
for bit. The device is that of `peakmark run`, else the one that pyopencl chooses; PYOPENCL_CTX changes that.
"""

import argparse
import sys

import numpy as np
import peakmark
import pyopencl
import pyopencl.array
from one_case import ended
from opencl_device import context_of_pyopencl

try:
    from nabu.processing.padding_opencl import OpenCLPadding

    COORDINATES_ARE_VECTORS = True
except ImportError:  # releases of 2023
    from nabu.opencl.padding import OpenCLPadding

    COORDINATES_ARE_VECTORS = False

# Of nabu's object, under the names that they get in tables of what was live.
NAMES = {
    "d_coords_rows": "row_coordinates",
    "d_coords_cols": "column_coordinates",
    "d_padded_array_constant": "template",
}
MODES = ["constant", "edge", "reflect", "symmetric", "wrap", "custom"]
SEED = 20260131


def custom_coordinates(shape, pads):
    """A row of the image for each padded row, a column for each padded column, in an order of no use: two vectors."""
    return [
        ((7 * np.arange(before + size + after) + 3) % size).astype(np.int32)
        for size, (before, after) in zip(shape, pads)
    ]


def padding_of(queue, shape, pads, mode):
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


def mistake_in(asked):
    """Runs what is asked. None, or what is wrong with the result."""
    shape = (asked.ny, asked.nx)
    pads = ((asked.pad_y0, asked.pad_y1), (asked.pad_x0, asked.pad_x1))
    images = np.random.default_rng(SEED).random((asked.n, *shape), dtype=np.float32)
    queue = pyopencl.CommandQueue(context_of_pyopencl())

    with peakmark.phase("setup"):
        padding = padding_of(queue, shape, pads, asked.mode)
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
    return None if right else "the padded image is not numpy's"


def main():
    return ended(mistake_in(parse(sys.argv[1:])))


if __name__ == "__main__":
    sys.exit(main())
