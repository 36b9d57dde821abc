import pytest
from peakmark_reports.__main__ import main
from peakmark_reports.composition_plot import OTHERS, peak_composition, draw_composition
from peakmark_reports.figure_style import Look, pyplot
from peakmark_reports.run_file import load_run
from peakmark_reports.series import figures
from sample_run import MODES, SHAPES, VARIANTS, observation, write_run


@pytest.fixture
def figure(tmp_path):
    return figures(load_run(write_run(tmp_path / "run.json")))[0]


def test_common_names_are_below_and_small_ones_are_merged(figure):
    composition = peak_composition(figure)
    assert composition.lines == list(VARIANTS)
    assert composition.names[:2] == ["output", "input"]
    assert set(composition.names[2:]) == {"table_constant", "table_edge"}
    # 4 of 404 bytes: the table of the new variant is always below a hundredth of the peak.
    assert composition.others == ["scalars", "table"]


def test_layers_add_up_to_the_peak(figure):
    composition = peak_composition(figure)
    for panel in composition.panels:
        for at_peak, peak in zip(panel.cases["at_peak"], panel.cases["peak"]):
            layers = composition.layers(at_peak)
            assert sum(layers.values()) == peak
            assert list(layers)[-1] == OTHERS


def test_panels_with_the_same_bytes_are_one(tmp_path):
    observations = [observation("padding/new", mode, ny) for mode in ["constant", "edge", "wrap"] for ny in SHAPES]
    for one in observations[: len(SHAPES)]:
        one["at_peak"][0]["name"] = "template"
    figure = figures(load_run(write_run(tmp_path / "run.json", observations)))[0]
    assert [panel.title for panel in peak_composition(figure).panels] == ["mode constant", "mode edge/wrap"]


@pytest.mark.parametrize("width", [5, 6.5, 8.5, 17])
def test_a_narrow_figure_has_its_legend_below(figure, width):
    drawing = draw_composition(figure, peak_composition(figure), {"device": "a device", "backend": "opencl", "driver": ""}, Look(width_cm=width))
    drawing.draw_without_rendering()
    legend = (drawing.legends or [axes.get_legend() for axes in drawing.axes if axes.get_legend()])[0].get_window_extent()
    bars = [axes.get_window_extent() for axes in drawing.axes if axes.patches]
    assert len(bars) == len(MODES) * len(VARIANTS)
    assert (legend.y1 < min(box.y0 for box in bars)) == (width < 17)
    assert all(box.width > 20 and box.height > 50 and not box.overlaps(legend) for box in bars)
    title = drawing._suptitle.get_window_extent()
    assert not any(axes.yaxis.label.get_window_extent().overlaps(title) for axes in drawing.axes if axes.patches)
    assert legend.x0 >= 0 and legend.x1 <= drawing.bbox.x1 and legend.y0 > drawing._supxlabel.get_window_extent().y1
    pyplot.close(drawing)


def test_bars_end_at_the_peak_and_the_floor_is_one(figure):
    composition = peak_composition(figure)
    drawing = draw_composition(figure, composition, {"device": "a device", "backend": "opencl", "driver": ""})
    assert drawing._supxlabel.get_text().startswith("a device (opencl). Others, below 1% of every peak: scalars, table")
    assert len(drawing.axes) == len(MODES) * len(VARIANTS)
    cases = figure.panels[0].cases
    for axes, variant in zip(drawing.axes, VARIANTS):
        shown = cases[cases["variant"] == variant]
        assert [label.get_text() for label in axes.get_xticklabels()] == [str(ny) for ny in SHAPES]
        ends = {}
        for bar in axes.patches:
            ends[bar.get_x()] = max(ends.get(bar.get_x(), 0), bar.get_y() + bar.get_height())
        assert list(ends.values()) == pytest.approx(list(shown["peak"] / shown["floor"]))
        assert list(axes.get_lines()[0].get_ydata()) == [1, 1]
    assert len({axes.get_ylim() for axes in drawing.axes}) == 1
    drawing.draw_without_rendering()
    boxes = [drawing.legends[0].get_window_extent(), drawing._supxlabel.get_window_extent(), *(axes.get_window_extent() for axes in drawing.axes)]
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])
    pyplot.close(drawing)


def test_a_run_without_compositions_has_no_figure(tmp_path):
    observations = [observation("padding/new", "edge", ny) for ny in SHAPES]
    for one in observations:
        one["at_peak"] = None
    path = write_run(tmp_path / "run.json", observations)
    assert peak_composition(figures(load_run(path))[0]) is None
    assert main(["plot", str(path), "-o", str(tmp_path)]) == 0
    assert (tmp_path / "padding.png").exists() and not (tmp_path / "padding-at-peak.png").exists()


def test_the_requested_axis_is_x(tmp_path):
    observations = [observation("padding/new", "edge", ny) for ny in SHAPES]
    for one in observations:
        one["axes"] = {**one["axes"], "rows": one["axes"]["ny"] + 1}
    run = load_run(write_run(tmp_path / "run.json", observations))
    assert figures(run)[0].x == "axis:ny"
    assert figures(run, ["rows"])[0].x == "axis:rows"
    # It does not vary.
    assert figures(run, ["n"]) == []


def test_an_axis_that_differs_only_between_variants_does_not_vary(tmp_path):
    observations = [observation(variant, "edge", ny) for variant in VARIANTS for ny in SHAPES]
    for one in observations:
        one["axes"] = {**one["axes"], "chunk": 1 if one["case"].startswith("padding/old") else 0}
    assert figures(load_run(write_run(tmp_path / "run.json", observations)))[0].x == "axis:ny"


def test_both_files_are_reproducible(tmp_path):
    path = write_run(tmp_path / "run.json")
    for folder in ("a", "b"):
        assert main(["plot", str(path), "-o", str(tmp_path / folder)]) == 0
    for ending in ("png", "svg"):
        name = f"padding-at-peak.{ending}"
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
