"""`explain --plot`: memory against shape by formula. The curves are as the C++ part writes them (memory_curve_test.cpp)."""

import io
import json
import sys

import numpy as np
import pytest
from matplotlib.text import Text

from peakmark_reports.common import InputError
from peakmark_reports.__main__ import main
from peakmark_reports.formula_plot import NoFormula, axis_text, draw_curves, parse_curves, write_curves

RUN = {"id": "r", "date": "2026-01-31", "commit": "0123abc", "device": "a device", "backend": "opencl", "driver": "1.0"}


def padding(words: str, *, last: int = 4096, budget: int | None = None, coordinates: bool = True) -> dict:
    """Padding of a square image by half its width on all sides, as explain would write it."""
    ny = list(range(32, last + 1, 32))
    image, padded = [4 * one * one for one in ny], [16 * one * one for one in ny]
    layers = [("image", "inputs", image), ("padded", "outputs", padded)]
    if coordinates:
        layers += [("row coordinates", "setup", padded), ("column coordinates", "setup", padded)]
    peak = [sum(sizes) for sizes in zip(*(size for _, _, size in layers))]
    recorded = [32, 64, 96]
    within = max((one for one, size in zip(ny, peak) if budget and size <= budget), default=None)
    return {
        "variant": "padding/coords2d",
        "words": {"mode": [words]},
        "peak": "4 * ny * nx + 12 * (ny + 2 * pad) * (nx + 2 * pad)",
        "curve": {
            "axis": "ny",
            "axes": {"n": [1] * len(ny), "ny": ny, "nx": ny, "pad": [one // 2 for one in ny]},
            "peak": peak,
            "layers": [{"name": name, "where": None, "phase": phase, "bytes": size} for name, phase, size in layers],
            "unexplained": [],
            "recorded": {
                "axes": {"n": [1, 1, 1], "ny": recorded, "nx": recorded, "pad": [16, 32, 48]},
                "peak": [peak[ny.index(one)] for one in recorded],
            },
            "budget_bytes": budget,
            "within_budget": None if within is None else {"axes": {"ny": within}, "bytes": peak[ny.index(within)]},
        },
    }


def document(*variants: dict) -> str:
    return json.dumps({"variants": list(variants), "run": RUN})


def drawn(*variants: dict):
    curves, context = parse_curves(document(*variants))
    return curves, draw_curves(curves, context)


def texts(drawing) -> list[str]:
    found = [text.get_text() for axes in drawing.axes for text in axes.texts]
    return [text.replace("\u00a0", " ") for text in found]


def labels_of(axes):
    return [text for text in axes.texts if text.get_position()[0] == 1]


def test_the_axis_names_what_grows_with_it_and_what_stays():
    (curve,), _ = parse_curves(document(padding("edge")))
    assert axis_text(curve) == "ny  (nx = ny; pad = ny/2; n\u00a01)"


def test_layers_are_stacked_and_labelled_with_their_bytes_at_the_end():
    (curve,), drawing = drawn(padding("edge"))
    assert np.allclose(sum(layer.bytes for layer in curve.layers), curve.peak)
    assert [layer.label for layer in curve.layers][:2] == ["image", "padded"]
    for text in ("image 64 MiB", "padded 256 MiB", "row coordinates 256 MiB", "peak 832 MiB"):
        assert text in texts(drawing)


def test_recorded_shapes_that_are_small_have_a_column_of_their_own():
    _, drawing = drawn(padding("edge"))
    recorded, beyond = drawing.axes
    assert recorded.get_xlim()[1] == 96 and beyond.get_xlim()[1] == 4096
    styles = {line.get_linestyle() for line in beyond.lines}
    assert {"-", "--"} <= styles
    assert "--" not in {line.get_linestyle() for line in recorded.lines}
    dots = next(line for line in recorded.lines if line.get_marker() == "o")
    assert list(dots.get_xdata()) == [32, 64, 96]
    assert list(dots.get_ydata()) == [13 * 4 * one * one for one in (32, 64, 96)]

    _, drawing = drawn(padding("edge", last=384))
    assert len(drawing.axes) == 1


def test_the_budget_is_marked_where_it_is_reached():
    _, drawing = drawn(padding("edge", budget=256 * 2**20))
    assert any(text.startswith("256 MiB: up to ny 2,2") for text in texts(drawing))
    _, drawing = drawn(padding("edge", budget=1))
    assert "1 B is too little for every shape here" in texts(drawing)
    _, drawing = drawn({**padding("edge"), "curve": {**padding("edge")["curve"], "budget_bytes": 2**50}})
    assert "1 PiB is not reached" in texts(drawing)


def test_each_set_of_words_is_a_row_on_one_scale():
    _, drawing = drawn(padding("edge,wrap"), padding("constant", coordinates=False))
    assert [axes.get_title(loc="left").split("\n")[0] for axes in drawing.axes[::2]] == [
        "padding/coords2d  mode=edge,wrap",
        "padding/coords2d  mode=constant",
    ]
    assert drawing.axes[1].get_ylim() == drawing.axes[3].get_ylim()


def test_labels_do_not_overlap():
    tiny = padding("edge")
    for layer in tiny["curve"]["layers"][2:]:
        layer["bytes"] = [4 * one for one in tiny["curve"]["axes"]["ny"]]
    sizes = [layer["bytes"] for layer in tiny["curve"]["layers"]]
    tiny["curve"]["peak"] = [sum(one) for one in zip(*sizes)]
    _, drawing = drawn(tiny)
    boxes = sorted((box.y0, box.y1) for box in map(Text.get_window_extent, labels_of(drawing.axes[1])))
    assert len(boxes) == 5
    assert all(above[0] >= below[1] - 1 for below, above in zip(boxes, boxes[1:]))


def test_the_smallest_of_many_layers_are_one():
    many = padding("edge")
    ny = many["curve"]["axes"]["ny"]
    for i in range(9):
        many["curve"]["layers"].append({"name": f"table {i}", "where": None, "phase": "setup", "bytes": [i + 1] * len(ny)})
    many["curve"]["peak"] = [one + 45 for one in many["curve"]["peak"]]
    (curve,), drawing = drawn(many)
    assert len(curve.layers) == 7
    assert any(text.startswith("7 smaller ") for text in texts(drawing))
    assert np.allclose(sum(layer.bytes for layer in curve.layers), curve.peak)


def test_what_has_no_formula_is_named_in_the_caption():
    partial = padding("edge")
    partial["peak"] = None
    partial["curve"]["unexplained"] = ["fft_tables"]
    _, drawing = drawn(partial)
    assert "Without a formula, not drawn: fft_tables" in drawing.get_supxlabel().replace("\n", " ")
    assert "known part 832 MiB" in texts(drawing)


def test_a_file_for_each_operation(tmp_path):
    other = {**padding("edge"), "variant": "shift/whole"}
    assert write_curves(document(padding("edge")), tmp_path / "a.svg") == [tmp_path / "a.svg"]
    written = write_curves(document(padding("edge"), other), tmp_path / "b.png")
    assert written == [tmp_path / "b-padding.png", tmp_path / "b-shift.png"]
    assert all(path.stat().st_size > 10_000 for path in written)


def test_nothing_to_draw_exits_with_4(tmp_path, monkeypatch, capsys):
    none = {**padding("edge"), "curve": None}
    with pytest.raises(NoFormula):
        parse_curves(document(none))
    monkeypatch.setattr(sys, "stdin", io.StringIO(document(none)))
    assert main(["formulas", "-o", str(tmp_path / "a.png")], "peakmark") == 4
    assert "no peak has a formula, or no axis grows: padding/coords2d  mode=edge" in capsys.readouterr().err


def test_other_json_is_an_error():
    with pytest.raises(InputError):
        parse_curves('{"variants": [{}], "run": {}}')
