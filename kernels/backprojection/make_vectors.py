#!/usr/bin/env python3
"""Writes numpy_vectors.inc: small sinograms and their back-projections, in float64 with numpy.interp.

Run in this folder, with numpy: ./make_vectors.py > numpy_vectors.inc
"""

import numpy as np

TURN = 2 * np.pi
# n_a, w, axis, angles, largest correction, half-acquisition, clip, region (y0, x0, h, w) or None
CASES = [
    (7, 9, 4.0, "half turn", 0, False, False, None),
    (11, 8, 3.5, "half turn", 0, False, True, None),
    (13, 7, 1.25, "full turn", 0, False, False, None),
    (5, 11, 10.5, "full turn", 0, False, False, None),
    (9, 13, 6.0, "random", 2.5, False, True, (2, 3, 5, 8)),
    (12, 9, 7.0, "full turn", 0, True, False, None),
    (12, 9, 1.75, "full turn", 0, True, True, None),
    (10, 8, 7.0, "full turn", 0.75, True, False, (1, 0, 9, 3)),
    (3, 2, 0.5, "random", 0, False, False, None),
    (6, 5, -0.5, "random", 0, True, False, None),
]


def angles_of(kind, n_a, random):
    if kind == "half turn":
        return np.arange(n_a) * np.pi / n_a
    if kind == "full turn":
        return np.arange(n_a) * TURN / n_a
    return random.random(n_a) * 2 * TURN - TURN


def frame(w, axis, half):
    """Returns the pixels per side, and the position of the axis in the slice."""
    if not half:
        return w, axis
    right = axis >= (w - 1) / 2
    overlap = max(0, int(np.floor(2 * (w - 1 - axis if right else axis))))
    return 2 * w - overlap, axis if right else axis + w - overlap


def backproject(sinogram, axis, angles, corrections, half, clip, region):
    n_a, w = sinogram.shape
    side, s = frame(w, axis, half)
    y, x = np.mgrid[:side, :side].astype(np.float64)
    slice_ = np.zeros((side, side))
    columns = np.arange(-1, w + 1, dtype=np.float64)  # with a 0 on either side
    for line, angle, correction in zip(sinogram, angles, corrections):
        values = line.copy()
        if half:
            right = axis >= (w - 1) / 2
            near = max(w - 1 - axis if right else axis, 0.5)
            u = np.arange(w) - (axis + correction)
            values *= np.clip(0.5 - (u if right else -u) / (2 * near), 0, 1)
        t = axis + correction + (x - s) * np.cos(angle) - (y - s) * np.sin(angle)
        slice_ += np.interp(t, columns, np.concatenate(([0], values, [0])), left=0, right=0)
    if clip:
        centre = (side - 1) / 2
        slice_[np.hypot(y - centre, x - centre) > side / 2 + 1e-9] = 0
    if region is None:
        return slice_
    y0, x0, h, width = region
    return slice_[y0 : y0 + h, x0 : x0 + width]


def braces(values):
    return "{" + ", ".join(f"{v:.17g}" for v in np.ravel(values)) + "}"


def main():
    random = np.random.default_rng(43)
    print("// Made by make_vectors.py with numpy; do not edit.")
    for n_a, w, axis, kind, largest, half, clip, region in CASES:
        sinogram = (random.random((n_a, w), dtype=np.float32) * 2 - 1).astype(np.float64)
        angles = angles_of(kind, n_a, random)
        corrections = (random.random(n_a) * 2 - 1) * largest
        slice_ = backproject(sinogram, axis, angles, corrections, half, clip, region)
        where = "std::nullopt" if region is None else "SliceRegion{" + ", ".join(map(str, region)) + "}"
        geometry = [
            f"{{.n_a = {n_a}, .w = {w}, .axis = {axis}",
            f".angles = {braces(angles)}",
            f".corrections = {braces(corrections) if largest else '{}'}",
            f".half = {str(half).lower()}, .clip = {str(clip).lower()}, .region = {where}}}",
        ]
        print("{" + ",\n ".join([*geometry, braces(sinogram), braces(slice_)]) + "},")


main()
