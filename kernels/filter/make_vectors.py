#!/usr/bin/env python3
"""Writes vectors.inc: a line of a sinogram in every filter and padding mode, filtered in float64 by numpy and scipy.

The ramp is defined in space: h(0) = 1/4, h(odd k) = -1/(pi k)^2, else 0. Windows are the symmetric ones of scipy.signal.windows
with one point more than the padded line, so that their centre is frequency 0. For ramlak padded with zeros, np.convolve must give
the same result.
Run in this folder, with numpy and scipy: ./make_vectors.py > vectors.inc
"""

import numpy as np
from scipy.signal import windows

FILTERS = ["ramlak", "shepp-logan", "cosine", "hamming", "hann", "tukey", "lanczos", "hilbert"]
MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]
# w, n_a
SHAPES = [(2, 1), (7, 4), (13, 180)]


def next_length(least):
    length = -(-least // 4) * 4
    while True:
        rest = length
        for prime in (2, 3, 5, 7):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return length
        length += 4


def ramp_in_space(length):
    distance = np.abs(np.fft.fftfreq(length, 1 / length))
    odd = distance % 2 == 1
    samples = np.zeros(length)
    samples[odd] = -1 / (np.pi * distance[odd]) ** 2
    samples[0] = 0.25
    return samples


def response(name, length):
    if name == "hilbert":
        signs = np.sign(np.fft.fftfreq(length))
        signs[length // 2] = 0
        return -1j * signs / (2 * np.pi)
    points = length + 1
    frequencies = np.linspace(-0.5, 0.5, points)
    window = {
        "ramlak": np.ones(points),
        "shepp-logan": np.sinc(frequencies),
        "cosine": np.cos(np.pi * frequencies),
        "hamming": windows.hamming(points),
        "hann": windows.hann(points),
        "tukey": windows.tukey(points, 0.5),
        "lanczos": windows.lanczos(points),
    }[name]
    return np.fft.fft(ramp_in_space(length)) * np.fft.ifftshift(window[:-1])


def filtered(line, n_a, name, mode):
    w = len(line)
    length = next_length(2 * w)
    before = (length - w) // 2
    padded = np.pad(line.astype(np.float64), (before, length - w - before), mode=mode)
    result = np.fft.ifft(np.fft.fft(padded) * response(name, length))
    assert np.abs(result.imag).max() < 1e-12
    result = result.real[before : before + w]
    if name == "ramlak" and mode == "constant":
        kernel = np.fft.fftshift(ramp_in_space(4 * w))[w + 1 : 3 * w]  # from -(w - 1) to w - 1
        np.testing.assert_allclose(result, np.convolve(line, kernel)[w - 1 : 2 * w - 1], atol=1e-14)
    return result * np.pi / n_a


def braces(values):
    return "{" + ", ".join(f"{v:.17g}" for v in values) + "}"


def main():
    random = np.random.default_rng(31)
    print("// Made by make_vectors.py with numpy and scipy; do not edit.")
    for w, n_a in SHAPES:
        for name in FILTERS:
            for mode in MODES if w == 7 else MODES[:2]:
                line = random.integers(-64, 65, w) / np.float32(64)
                print(f'{{{w}, {n_a}, "{name}", "{mode}", {braces(line)},\n {braces(filtered(line, n_a, name, mode))}}},')


main()
