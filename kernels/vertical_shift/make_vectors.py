#!/usr/bin/env python3
"""Writes scipy_vectors.inc: stacks of radios, each shifted by scipy.ndimage.shift.

scipy moves rows in the other direction, hence -s. In its mode `constant`, values beyond the last row are 0 without interpolation.
So a row of zeros is added before and after, and cropped from the result.
Run in this folder, with numpy and scipy: ./make_vectors.py > scipy_vectors.inc
"""

import numpy as np
import scipy.ndimage

# n_z, nx, a shift for each radio
CASES = [
    (7, 3, [0.3, -0.3, 1.75, -2.4, 6.5, -6.5]),
    (7, 2, [0.0, 1.0, -1.0, 6.0, -6.0, 7.0, -7.0]),
    (5, 3, [5.25, -5.25, 100.5, -100.5, 4.999, -4.999]),
    (1, 5, [0.5, -0.5, 0.0]),
    (17, 1, [0.3 + k for k in range(17)]),
    (17, 1, [-0.3 - k for k in range(17)]),
]


def braces(values):
    return "{" + ", ".join(f"{v:.9g}" for v in np.ravel(values)) + "}"


def shifted(radio, s):
    padded = np.pad(radio.astype(np.float64), ((1, 1), (0, 0)))
    return scipy.ndimage.shift(padded, (-float(s), 0), order=1, mode="constant", cval=0)[1:-1]


def main():
    random = np.random.default_rng(21)
    print("// Made by make_vectors.py with scipy; do not edit.")
    for n_z, nx, shifts in CASES:
        radios = random.random((len(shifts), n_z, nx), dtype=np.float32)
        shifts = np.array(shifts, dtype=np.float32)
        result = np.stack([shifted(radio, s) for radio, s in zip(radios, shifts)])
        print("{" + ",\n ".join([str(n_z), str(nx), braces(shifts), braces(radios), braces(result)]) + "},")


main()
