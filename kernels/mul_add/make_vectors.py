#!/usr/bin/env python3
"""Writes numpy_vectors.inc: mul_add on small stacks, computed by numpy.

Inputs are multiples of 1/8 and factors multiples of 1/4, so every result is exact in float32.
Run in this folder, with numpy: ./make_vectors.py > numpy_vectors.inc
"""

import numpy as np

# dst shape, other shape, regions (image0, images, y0, x0, h, w), a, b; other shape None: one array
CASES = [
    ((1, 3, 4), (1, 3, 4), (0, 1, 0, 0, 3, 4), (0, 1, 0, 0, 3, 4), 0.5, -1.25),
    ((2, 5, 7), (2, 5, 7), (0, 2, 1, 2, 3, 4), (0, 2, 2, 0, 3, 4), 1.0, 0.75),
    ((3, 4, 5), (2, 6, 3), (1, 2, 0, 1, 4, 3), (0, 2, 2, 0, 4, 3), 0.0, 1.0),
    ((1, 1, 7), (1, 7, 1), (0, 1, 0, 3, 1, 1), (0, 1, 6, 0, 1, 1), -1.0, 2.0),
    ((2, 5, 7), None, (0, 2, 1, 2, 3, 4), (0, 2, 1, 2, 3, 4), 0.5, 0.25),
    ((2, 5, 7), None, (0, 2, 1, 2, 3, 4), (0, 2, 0, 1, 3, 4), 0.5, 1.0),
    ((2, 5, 7), None, (0, 2, 0, 1, 4, 6), (0, 2, 1, 0, 4, 6), 1.0, -0.5),
    ((2, 5, 7), None, (0, 2, 0, 0, 2, 7), (0, 2, 3, 0, 2, 7), 1.0, 1.0),
    ((4, 3, 5), None, (1, 3, 0, 0, 3, 5), (0, 3, 0, 0, 3, 5), 1.0, 1.0),
    ((4, 3, 5), None, (0, 3, 1, 0, 2, 4), (1, 3, 0, 1, 2, 4), 0.5, 1.0),
]


def slices(region):
    image0, images, y0, x0, h, w = region
    return slice(image0, image0 + images), slice(y0, y0 + h), slice(x0, x0 + w)


def braces(values):
    return "{" + ", ".join(f"{v:.9g}" for v in np.ravel(values)) + "}"


def main():
    random = np.random.default_rng(20)
    print("// Made by make_vectors.py with numpy; do not edit.")
    for dst_shape, other_shape, dst_region, other_region, a, b in CASES:
        dst = random.integers(-32, 33, dst_shape) / np.float32(8)
        one_array = other_shape is None
        other = dst if one_array else random.integers(-32, 33, other_shape) / np.float32(8)
        result = dst.copy()
        result[slices(dst_region)] = a * dst[slices(dst_region)] + b * other[slices(other_region)]
        fields = [braces(dst_shape), braces(dst_region), braces(other.shape), braces(other_region)]
        fields += [str(one_array).lower(), str(a), str(b), braces(dst), braces([] if one_array else other), braces(result)]
        print("{" + ",\n ".join(fields) + "},")


main()
