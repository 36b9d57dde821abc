import xml.etree.ElementTree

import pytest
from peakmark_reports.__main__ import main
from peakmark_reports.figure_style import pyplot, size_text, time_text
from peakmark_reports.memory_plot import draw
from peakmark_reports.run_file import load_run
from peakmark_reports.series import figures_of
from sample_run import MODES, SHAPES, VARIANTS, observation, write_run


@pytest.fixture
def run(tmp_path):
    return load_run(write_run(tmp_path / "run.json"))


def test_an_operation_is_a_figure_and_a_mode_a_panel(run):
    (figure,) = figures_of(run)
    assert figure.name == "padding"
    assert figure.x == "axis:ny"
    assert [panel.title for panel in figure.panels] == [f"mode {mode}" for mode in MODES]
    assert all(len(panel.cases) == len(VARIANTS) * len(SHAPES) for panel in figure.panels)


def test_axes_that_vary_freely_are_drawn_against_the_floor(tmp_path):
    observations = [observation("padding/new", "edge", ny) for ny in SHAPES]
    observations += [observation("padding/new", "edge", ny) for ny in SHAPES]
    for one in observations[len(SHAPES) :]:
        one["case"] += "/nx:7"
        one["axes"] = {**one["axes"], "nx": 16}
    (figure,) = figures_of(load_run(write_run(tmp_path / "run.json", observations)))
    assert figure.x == "floor"


def test_of_variants_that_fall_together_each_is_seen(tmp_path):
    observations = []
    for name in ("a", "b", "c"):
        for ny in SHAPES:
            one = observation("padding/new", "edge", ny)
            observations.append({**one, "case": one["case"].replace("padding/new", f"padding/{name}")})
    run = load_run(write_run(tmp_path / "run.json", observations))
    drawing = draw(figures_of(run)[0], run.context)
    for axes in drawing.axes[:3]:
        lines = [line for line in axes.get_lines() if line.get_marker() in ("o", "s", "^")]
        assert len(lines) == 3
        for under, over in zip(lines, lines[1:]):
            assert list(under.get_ydata()) == list(over.get_ydata())
            assert under.get_linewidth() > over.get_linewidth() + 0.5
            assert under.get_markersize() > over.get_markersize() + 1.5
    pyplot.close(drawing)


def test_cases_without_a_figure_are_left_out_where_others_have_one(tmp_path):
    path = write_run(tmp_path / "run.json", [observation("padding/new", "edge", ny) for ny in SHAPES], figure=None)
    assert figures_of(load_run(path))[0].name == "padding"


def test_two_shapes_make_no_line(tmp_path):
    path = write_run(tmp_path / "run.json", [observation("padding/new", "edge", ny) for ny in SHAPES[:2]])
    assert figures_of(load_run(path)) == []
    assert main(["plots", str(path), "-o", str(tmp_path)]) == 4


def test_what_is_drawn_is_what_was_measured(run):
    (figure,) = figures_of(run)
    drawing = draw(figure, run.context)
    peak_axes = drawing.axes[0]
    drawn = [line.get_ydata() for line in peak_axes.get_lines()]
    cases = figure.panels[0].cases
    floor = sorted(cases["floor"].unique())
    assert list(drawn[0]) == floor
    for i, variant in enumerate(VARIANTS):
        expected = list(cases[cases["variant"] == variant]["peak"])
        assert list(drawn[1 + 2 * i]) == expected  # the peak
        assert list(drawn[2 + 2 * i]) == expected  # the estimate, which is exact here
    assert "CPU device" in drawing.axes[4].get_ylabel()
    pyplot.close(drawing)


def test_a_run_of_memory_alone_has_no_empty_panels(tmp_path):
    observations = [observation("padding/new", "edge", ny, time=False) for ny in SHAPES]
    run = load_run(write_run(tmp_path / "run.json", observations))
    drawing = draw(figures_of(run)[0], run.context)
    assert len([axes for axes in drawing.axes if axes.get_visible()]) == 2
    pyplot.close(drawing)


def with_throughput(one: dict, cache: str = "cold") -> dict:
    return one | {"cache": cache, "throughput": {"bytes_per_second": 3e9, "share_of_copy": 0.75, "share_of_peak": None}}


def test_throughput_is_a_panel_with_the_copy_as_a_line(tmp_path):
    observations = [with_throughput(observation(variant, "edge", ny)) for variant in VARIANTS for ny in SHAPES]
    run = load_run(write_run(tmp_path / "run.json", observations))
    drawing = draw(figures_of(run)[0], run.context)
    shown = [axes for axes in drawing.axes if axes.get_visible()]
    assert [axes.get_ylabel() for axes in shown] == ["peak", "peak / floor", "cold time, CPU device", "GB/s"]
    copy, *lines = shown[3].get_lines()
    assert list(copy.get_ydata()) == pytest.approx([4.0, 4.0])
    assert [list(line.get_ydata()) for line in lines] == [pytest.approx([3.0] * len(SHAPES))] * len(VARIANTS)
    assert shown[2].get_yscale() == "log" and shown[3].get_yscale() == "linear"
    assert "GB/s of a copy" in [text.get_text() for text in drawing.legends[0].get_texts()]
    pyplot.close(drawing)


@pytest.mark.parametrize("unknown", [("input_bytes",), ("output_bytes", "estimate")])
def test_where_no_floor_is_known_none_is_drawn(tmp_path, unknown):
    observations = [observation(variant, "edge", ny) | dict.fromkeys(unknown) for variant in VARIANTS for ny in SHAPES]
    run = load_run(write_run(tmp_path / "run.json", observations))
    drawing = draw(figures_of(run)[0], run.context)
    shown = [axes for axes in drawing.axes if axes.get_visible()]
    assert [axes.get_ylabel() for axes in shown] == ["peak", "time, CPU device"]
    assert "floor: input + output" not in [text.get_text() for text in drawing.legends[0].get_texts()]
    assert len([line for line in shown[0].get_lines() if line.get_marker() in ("o", "s")]) == len(VARIANTS)
    pyplot.close(drawing)


def test_files_are_written_and_repeat(tmp_path):
    path = write_run(tmp_path / "run.json")
    assert main(["plots", str(path), "-o", str(tmp_path / "a")]) == 0
    assert main(["plots", str(path), "-o", str(tmp_path / "b")]) == 0
    for name in ("padding.png", "padding.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    root = xml.etree.ElementTree.parse(tmp_path / "a" / "padding.svg").getroot()
    assert any("computed" in (text or "") or "new" in (text or "") for text in root.itertext())


def test_wrong_input_is_exit_2(tmp_path, capsys):
    assert main(["plots", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert main(["plots", str(write_run(tmp_path / "run.json")), "-o", str(blocked / "plots")]) == 2


def test_units():
    assert size_text(1536) == "1.5 KiB"
    assert size_text(872_415_232) == "832 MiB"
    assert time_text(1_500_000) == "1.5 ms"
    assert time_text(120) == "120 ns"
