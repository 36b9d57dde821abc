import numpy as np
import pytest
from matplotlib.colors import LogNorm
from peakmark_reports.__main__ import main
from peakmark_reports.figure_style import Look, pyplot
from peakmark_reports.heat_plot import draw_heat
from peakmark_reports.run_file import load_run
from peakmark_reports.series import figures
from sample_run import VARIANTS, write_run
from test_memory_plot import with_axes

NY, NX = [64, 128, 256], [32, 512]


def grid(modes=("edge",), **more):
    return [
        with_axes(variant, mode, n=1, ny=ny, nx=nx, **more) for variant in VARIANTS for mode in modes for ny in NY for nx in NX
    ]


def drawn(tmp_path, observations, metrics=("peak",), axes=("nx", "ny"), look=Look()):
    run = load_run(write_run(tmp_path / "run.json", observations))
    (figure,) = figures(run, axes, 1)
    return draw_heat(figure, run.context, metrics, look)


def maps(drawing):
    return [axes for axes in drawing.axes if axes.images and axes.get_visible()]


def test_a_variant_is_a_map_with_all_values(tmp_path):
    drawing = drawn(tmp_path, grid())
    assert [axes.get_title() for axes in maps(drawing)] == ["old", "new"]
    for axes in maps(drawing):
        (image,) = axes.images
        assert image.get_array().tolist() == [[16 * ny * nx for nx in NX] for ny in NY]
        assert isinstance(image.norm, LogNorm)
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["32", "512"]
        assert [tick.get_text() for tick in axes.get_yticklabels()] == ["64", "128", "256"]
        assert {text.get_text() for text in axes.texts} == {"32 KiB", "64 KiB", "128 KiB", "512 KiB", "1 MiB", "2 MiB"}
    assert drawing._suptitle.get_text() == "padding: nx and ny"
    pyplot.close(drawing)


def test_a_case_that_was_not_measured_is_white(tmp_path):
    observations = grid()
    observations[0] |= {"outcome": "out_of_memory", "requested_peak_bytes": None}
    drawing = drawn(tmp_path, observations)
    assert np.isnan(maps(drawing)[0].images[0].get_array().filled(np.nan)[0, 0])
    caption = drawing._supxlabel.get_text().replace("\n", " ")
    assert "White: not measured" in caption and "1 case not measured (out of memory)" in caption
    pyplot.close(drawing)


def test_equal_panels_and_axes_that_follow_both_are_one_map(tmp_path):
    observations = grid(modes=("edge", "wrap"))
    for one in observations:
        one["axes"]["elements"] = one["axes"]["ny"] * one["axes"]["nx"]
    drawing = drawn(tmp_path, observations)
    assert len(maps(drawing)) == 2 and maps(drawing)[0].get_ylabel() == "mode\u00a0edge/wrap\nny"
    pyplot.close(drawing)


def test_words_can_be_an_axis(tmp_path):
    drawing = drawn(tmp_path, grid(modes=("edge", "wrap")), axes=("mode", "ny"))
    # nx varies, too.
    assert [axes.get_ylabel() for axes in maps(drawing)[::2]] == ["nx\u00a032\nny", "nx\u00a0512\nny"]
    assert [tick.get_text() for tick in maps(drawing)[0].get_xticklabels()] == ["edge", "wrap"]
    pyplot.close(drawing)


def test_ratios_to_a_variant(tmp_path):
    observations = grid()
    for one in observations[len(NY) * len(NX) :]:
        one["requested_peak_bytes"] *= 3
    drawing = drawn(tmp_path, observations, look=Look(against="old", width_cm=8.5))
    old, new = (axes.images[0].get_array() for axes in maps(drawing))
    assert (np.asarray(old) == 1).all() and (np.asarray(new) == 3).all()
    assert drawing.get_figwidth() == pytest.approx(8.5 / 2.54)
    pyplot.close(drawing)


def test_two_axes_are_a_heat_map_without_bars(tmp_path):
    path = write_run(tmp_path / "run.json", grid())
    assert main(["plot", str(path), "--axis", "nx", "--axis", "ny", "--svg", "-o", str(tmp_path / "out")]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["padding.svg"]
