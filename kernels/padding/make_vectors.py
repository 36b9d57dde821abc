#!/usr/bin/env python3
"""Writes vectors.txt: results of numpy.pad, for reference_test.cpp.

    python3 make_vectors.py > vectors.txt

Needs numpy >= 2.0: older releases repeat reflect and wrap wrongly where a pad exceeds the image several times.

A case is three lines: `mode n ny nx pad_y0 pad_y1 pad_x0 pad_x1`; the custom coordinates, rows then columns (empty
for the other modes); the padded stack. The input is 100, 101, ... in C order; the values of the sides are
y0 = 1, y1 = 2, x0 = 3, x1 = 4.
"""
import sys

import numpy as np

MODES = ("constant", "edge", "reflect", "symmetric", "wrap", "custom")
# n, ny, nx, pad_y0, pad_y1, pad_x0, pad_x1
SHAPES = (
    (1, 4, 5, 0, 0, 0, 0),
    (1, 3, 4, 1, 2, 3, 0),
    (2, 5, 3, 2, 1, 0, 2),
    (1, 2, 3, 7, 11, 13, 10),  # several times the image
    (1, 3, 2, 1, 10, 9, 2),  # one side long, the other short
    (1, 1, 4, 3, 5, 1, 9),  # an axis of one
    (1, 5, 1, 6, 0, 4, 3),
    (1, 1, 1, 2, 3, 1, 4),
    (3, 2, 2, 5, 4, 3, 6),
    (1, 7, 5, 6, 7, 4, 5),  # exactly one reflection, and one more
)


def main():
    if int(np.__version__.split(".")[0]) < 2:
        sys.exit("make_vectors.py: numpy >= 2.0 is needed, this is " + np.__version__)
    random = np.random.default_rng(1)
    for mode in MODES:
        for n, ny, nx, y0, y1, x0, x1 in SHAPES:
            stack = 100 + np.arange(n * ny * nx).reshape(n, ny, nx)
            coordinates = np.array([], dtype=int)
            if mode == "custom":
                rows = random.integers(0, ny, ny + y0 + y1)
                columns = random.integers(0, nx, nx + x0 + x1)
                coordinates = np.concatenate((rows, columns))
                padded = stack[:, rows][:, :, columns]
            else:
                options = {"constant_values": ((0, 0), (1, 2), (3, 4))} if mode == "constant" else {}
                padded = np.pad(stack, ((0, 0), (y0, y1), (x0, x1)), mode, **options)
            print(mode, n, ny, nx, y0, y1, x0, x1)
            print(*coordinates)
            print(*padded.ravel())


if __name__ == "__main__":
    main()
