"""Tests that the committed expectations equal the formulas."""

import json
from pathlib import Path

import pytest

import nabu_estimators as nabu
import pyclesperanto_estimators as clesperanto

EXPECTED = Path(__file__).resolve().parents[1] / "expected"
# By variant: formula, axis of slices, the two other dimensions.
FORMULAS = {
    "nabu_padding/2023.2.0": (nabu.padding_2023_2, "n", ("ny", "nx")),
    "nabu_padding/2026.1.2": (nabu.padding_2026_1, "n", ("ny", "nx")),
    "nabu_fbp/2023.2.0": (nabu.fbp_2023_2, "n_z", ("n_a", "w")),
    "nabu_fbp/2026.1.2": (nabu.fbp_2026_1, "n_z", ("n_a", "w")),
    "pyclesperanto/0.25.1": (clesperanto.pyclesperanto, "nz", ("ny", "nx")),
    "pyclesperanto/prototype-0.24.6": (clesperanto.prototype, "nz", ("ny", "nx")),
}


def cases():
    return [
        pytest.param(one, id=case)
        for suite in ("nabu", "pyclesperanto")
        for case, one in json.loads((EXPECTED / f"{suite}.json").read_text(encoding="utf-8")).items()
    ]


@pytest.mark.parametrize("case", cases())
def test_peak_and_setup_equal_the_formulas(case):
    formula, slice_axis, dimensions = FORMULAS[case["variant"]]
    axes = dict(case["axes"])
    slices, shape = axes.pop(slice_axis), tuple(axes.pop(name) for name in dimensions)
    per_slice, fixed = formula(shape, "float32", **axes)
    assert case["requested_peak_bytes"] == slices * per_slice + fixed
    assert case["leaked_bytes"] == 0
    if case["variant"].startswith("nabu_padding"):
        assert case["setup_bytes"] == fixed


def test_every_mode_of_padding_has_three_shapes_in_both_releases():
    recorded = json.loads((EXPECTED / "nabu.json").read_text(encoding="utf-8")).values()
    seen = {}
    for one in recorded:
        if one["variant"].startswith("nabu_padding"):
            key = (one["variant"], one["axes"]["mode"])
            seen.setdefault(key, set()).add((one["axes"]["ny"], one["axes"]["nx"]))
    assert len(seen) == 2 * 6
    assert all(len(shapes) >= 3 for shapes in seen.values())


def test_both_releases_of_pyclesperanto_have_every_operation():
    recorded = json.loads((EXPECTED / "pyclesperanto.json").read_text(encoding="utf-8")).values()
    operations = {*clesperanto.IMAGES, "max_z_projection", "sum_all_pixels"}
    for variant in ("pyclesperanto/0.25.1", "pyclesperanto/prototype-0.24.6"):
        assert {one["axes"]["operation"] for one in recorded if one["variant"] == variant} == operations
