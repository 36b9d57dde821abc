"""Tests the formulas with peaks of the real programs, recorded by hand on PoCL 3.1."""

import pytest

import nabu_estimators as nabu
import pyclesperanto_estimators as clesperanto

PADDED_BY_HALF = {"pad_y0": 2048, "pad_y1": 2048, "pad_x0": 2048, "pad_x1": 2048}


@pytest.mark.parametrize(
    ("estimator", "mode", "setup", "peak"),
    [
        (nabu.padding_2023_2, "edge", 536_870_912, 872_415_232),
        (nabu.padding_2023_2, "custom", 536_870_912, 872_415_232),
        (nabu.padding_2023_2, "constant", 268_435_456, 603_979_776),
        (nabu.padding_2026_1, "wrap", 65_536, 335_609_856),
        (nabu.padding_2026_1, "constant", 268_435_456, 603_979_776),
    ],
)
def test_padding_of_4096_by_half_its_width(estimator, mode, setup, peak):
    per_slice, fixed = estimator((4096, 4096), "float32", mode=mode, **PADDED_BY_HALF)
    assert fixed == setup
    assert per_slice + fixed == peak


def test_padding_has_four_sides():
    pads = {"pad_y0": 1, "pad_y1": 2, "pad_x0": 3, "pad_x1": 4}
    assert nabu.padding_2026_1((10, 20), "float32", mode="edge", **pads) == (800 + 4 * 13 * 27, 4 * (13 + 27))


@pytest.mark.parametrize(
    ("estimator", "padding", "over_floor"),
    [
        (nabu.fbp_2023_2, "zeros", 5.09),
        (nabu.fbp_2026_1, "zeros", 5.09),
        (nabu.fbp_2023_2, "edges", 6.26),
        (nabu.fbp_2026_1, "edges", 3.92),
    ],
)
def test_fbp_of_2880_by_2048(estimator, padding, over_floor):
    per_slice, fixed = estimator((2880, 2048), "float32", padding=padding, memory="host")
    assert fixed == 0
    assert round(per_slice / (4 * 2880 * 2048 + 4 * 2048**2), 2) == over_floor


@pytest.mark.parametrize(
    ("estimator", "padding", "memory", "slices", "peak"),
    [
        (nabu.fbp_2023_2, "zeros", "host", 1, 807_944),
        (nabu.fbp_2026_1, "zeros", "host", 1, 807_944),
        (nabu.fbp_2023_2, "edges", "host", 1, 992_264),
        (nabu.fbp_2026_1, "edges", "host", 1, 625_368),
        (nabu.fbp_2023_2, "zeros", "device", 5, 1_438_728),
        (nabu.fbp_2023_2, "edges", "device", 5, 1_623_048),
        (nabu.fbp_2026_1, "zeros", "device", 5, 1_530_888),
        (nabu.fbp_2026_1, "edges", "device", 5, 1_348_312),
    ],
)
def test_fbp_of_180_by_128_to_the_byte(estimator, padding, memory, slices, peak):
    per_slice, fixed = estimator((180, 128), "float32", padding=padding, memory=memory)
    assert slices * per_slice + fixed == peak


@pytest.mark.parametrize(
    ("estimator", "padding", "memory", "shape", "slices", "peak"),
    [
        (nabu.fbp_2023_2, "edges", "host", (360, 250), 1, 3_861_688),
        (nabu.fbp_2026_1, "edges", "host", (360, 250), 1, 2_425_128),
        (nabu.fbp_2026_1, "zeros", "device", (90, 100), 20, 1_811_784),
    ],
)
def test_fbp_of_widths_that_are_no_powers_of_two(estimator, padding, memory, shape, slices, peak):
    per_slice, fixed = estimator(shape, "float32", padding=padding, memory=memory)
    assert slices * per_slice + fixed == peak


@pytest.mark.parametrize(
    ("w", "padded"), [(100, 200), (101, 216), (250, 500), (16384, 32768), (16385, 32928), (32768, 65856)]
)
def test_padded_widths_are_those_of_silx(w, padded):
    assert nabu.padded_width(w) == padded


def test_fbp_of_a_length_whose_tables_nobody_recorded():
    with pytest.raises(ValueError, match="length 131220"):
        nabu.fbp_2026_1((180, 65536), "float32", padding="zeros", memory="host")


IMAGE = 4 * 16 * 64 * 96


@pytest.mark.parametrize(
    ("operation", "new", "old"),
    [
        ("gaussian_blur", 3 * IMAGE, 4 * IMAGE),
        ("transpose", 2 * IMAGE, 2 * IMAGE),
        ("mean_box", 3 * IMAGE, 4 * IMAGE),
        ("top_hat", 4 * IMAGE, 6 * IMAGE),
        ("difference_of_gaussian", 5 * IMAGE, 6 * IMAGE),
        ("max_z_projection", IMAGE + IMAGE // 16, IMAGE + IMAGE // 16),
        ("sum_all_pixels", IMAGE + 262_144, 418_176),
    ],
)
def test_operations_of_pyclesperanto(operation, new, old):
    for estimator, peak in ((clesperanto.pyclesperanto, new), (clesperanto.prototype, old)):
        per_plane, fixed = estimator((64, 96), "float32", operation=operation)
        assert 16 * per_plane + fixed == peak
