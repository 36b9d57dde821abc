import json
import xml.etree.ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from peakmark_reports.__main__ import main
from peakmark_reports.figure_style import MARKERS, Look, ScaleError, pyplot, size_text, time_text
from peakmark_reports.memory_plot import SHAPES as SHAPES_METRICS
from peakmark_reports.memory_plot import MAX_MARKERS, draw, end_texts, times_text
from peakmark_reports.run_file import load_run
from peakmark_reports.series import figures
from sample_run import MODES, SHAPES, VARIANTS, observation, write_run


@pytest.fixture
def run(tmp_path):
    return load_run(write_run(tmp_path / "run.json"))


def test_an_operation_is_a_figure_and_a_mode_a_panel(run):
    (figure,) = figures(run)
    assert figure.name == "padding"
    assert figure.x == "axis:ny"
    assert [panel.title for panel in figure.panels] == [f"mode {mode}" for mode in MODES]
    assert all(len(panel.cases) == len(VARIANTS) * len(SHAPES) for panel in figure.panels)


def with_axes(variant: str = "padding/new", mode: str = "edge", **axes) -> dict:
    """Returns a case of n·ny·nx elements of input and of output, with twice as many at its peak."""
    elements = axes["n"] * axes["ny"] * axes["nx"]
    one = observation(variant, mode, axes["ny"], time=False)
    case = "/".join([variant, "opencl", f"mode:{mode}", *(f"{name}:{value}" for name, value in axes.items())])
    sizes = {"requested_peak_bytes": 16 * elements, "input_bytes": 4 * elements, "output_bytes": 4 * elements}
    return one | sizes | {"case": case, "axes": {"mode": mode, **axes}, "estimate": None}


def figure_of(tmp_path, observations, *axes, min_shapes=3):
    (figure,) = figures(load_run(write_run(tmp_path / "run.json", observations)), axes, min_shapes)
    return figure


def assert_no_line_has_two_points_at_one_x(figure):
    for panel in figure.panels:
        assert not panel.cases.duplicated(["line", figure.x]).any()


GRID = [{"n": n, "ny": ny, "nx": 512} for ny in (128, 256, 512, 1024, 2048) for n in (1, 2, 3)]


def test_another_number_is_a_panel_for_each_value(tmp_path):
    figure = figure_of(tmp_path, [with_axes(variant, **axes) for variant in VARIANTS for axes in GRID])
    # A factor of 16 explains more than one of 3.
    assert (figure.x, figure.is_joined, figure.notes) == ("axis:ny", True, [])
    assert [panel.title for panel in figure.panels] == ["n 1", "n 2", "n 3"]
    assert sum(len(panel.cases) for panel in figure.panels) == len(VARIANTS) * len(GRID)
    assert_no_line_has_two_points_at_one_x(figure)


def test_the_axis_asked_for_is_x_and_the_others_are_panels(tmp_path):
    observations = [with_axes(variant, **axes) for variant in VARIANTS for axes in GRID]
    figure = figure_of(tmp_path, observations, "n")
    assert figure.x == "axis:n"
    assert [panel.title for panel in figure.panels] == ["ny 128", "ny 256", "ny 512", "ny 1024", "ny 2048"]
    assert_no_line_has_two_points_at_one_x(figure)
    word = figure_of(tmp_path, observations + [{**with_axes(variant, "wrap", **axes)} for variant in VARIANTS for axes in GRID], "mode", min_shapes=2)
    assert (word.x, word.has_words, word.is_joined) == ("axis:mode", True, False)
    assert_no_line_has_two_points_at_one_x(word)


def test_one_variant_has_a_graded_line_for_each_value(tmp_path):
    observations = [with_axes(**axes) for axes in GRID]
    figure = figure_of(tmp_path, observations)
    assert (figure.is_graded, figure.lines, len(figure.panels)) == (True, ["n 1", "n 2", "n 3"], 1)
    assert_no_line_has_two_points_at_one_x(figure)
    drawing = drawn(tmp_path, observations, ["peak"])
    (peak,) = shown(drawing)
    assert [list(line.get_ydata()) for line in data_lines(peak)] == [
        [16 * n * ny * 512 for ny in (128, 256, 512, 1024, 2048)] for n in (1, 2, 3)
    ]
    assert [label.rsplit(" ", 2)[0] for label in labels(peak)] == ["n 1", "n 2", "n 3"]
    # From light to dark.
    luminance = [np.dot(to_rgb(line.get_color()), (0.2126, 0.7152, 0.0722)) for line in data_lines(peak)]
    assert luminance == sorted(luminance, reverse=True)
    assert_nothing_overlaps(drawing)


def test_axes_that_follow_x_have_no_panels_of_their_own(tmp_path):
    shapes = [{"n": n, "ny": ny, "nx": ny // 2, "chunk": 4096 // ny} for ny in (128, 256, 512, 1024) for n in (1, 2)]
    figure = figure_of(tmp_path, [with_axes(variant, **axes) for variant in VARIANTS for axes in shapes])
    assert (figure.x, [panel.title for panel in figure.panels]) == ("axis:ny", ["n 1", "n 2"])


def test_shapes_without_an_order_are_points_against_the_floor(tmp_path):
    shapes = [(211, 307), (512, 511), (97, 1), (64, 1024), (37, 41)]
    observations = [with_axes(n=20, ny=ny, nx=nx) for ny, nx in shapes]
    figure = figure_of(tmp_path, observations)
    assert (figure.x, figure.is_joined, figure.notes) == ("floor", False, ["Points differ also in ny, nx"])
    drawing = drawn(tmp_path, observations, ["peak"])
    assert [line.get_linestyle() for line in data_lines(shown(drawing)[0])] == ["None"]
    assert "Points differ also in ny, nx" in drawing._supxlabel.get_text().replace("\n", " ")
    assert_nothing_overlaps(drawing)
    asked = figure_of(tmp_path, observations, "nx")
    assert (asked.x, asked.is_joined, asked.notes) == ("axis:nx", False, ["Points differ also in ny"])


def test_only_words_are_x_without_lines(tmp_path):
    observations = [with_axes(variant, mode, n=1, ny=64, nx=64) for variant in VARIANTS for mode in ("edge", "wrap", "a" * 40)]
    figure = figure_of(tmp_path, observations)
    assert (figure.x, figure.is_joined, len(figure.panels)) == ("axis:mode", False, 1)
    drawing = drawn(tmp_path, observations, ["peak"])
    (peak,) = shown(drawing)
    ticks = [text.get_text() for text in peak.get_xticklabels()]
    assert ticks[:2] == ["edge", "wrap"] and ticks[2].startswith("aaa") and "…" in ticks[2]
    assert_nothing_overlaps(drawing)


def test_the_caption_counts_what_is_left_out(tmp_path):
    observations = [with_axes(variant, **axes, chunk=chunk) for variant in VARIANTS for axes in GRID for chunk in range(1, 5)]
    observations[0] |= {"outcome": "out_of_memory", "requested_peak_bytes": None}
    figure = figure_of(tmp_path, observations)
    # 3 values of n and 4 of chunk are 12 panels, of which 6 fit.
    assert figure.notes == ["Left out: 1 case not measured (out of memory); 60 cases with chunk 2, 3"]
    assert [panel.title for panel in figure.panels] == [f"n {n}, chunk {chunk}" for n in (1, 2, 3) for chunk in (1, 4)]
    assert sum(len(panel.cases) for panel in figure.panels) == len(observations) - 60
    assert_no_line_has_two_points_at_one_x(figure)


@pytest.mark.parametrize("count", [7, 60])
def test_more_values_than_fit_are_chosen_evenly(tmp_path, count):
    observations = [with_axes(n=n, ny=ny, nx=64) for n in range(1, count + 1) for ny in (128, 1024, 2**20)]
    figure = figure_of(tmp_path, observations)
    assert len(figure.lines) == 6 and figure.lines[0] == "n 1" and figure.lines[-1] == f"n {count}"
    left = 3 * (count - 6)
    assert figure.notes[0].startswith(f"Left out: {left} cases with n ")


def test_axes_can_be_logarithmic_linear_or_from_zero(tmp_path):
    observations = [named("a", ny) for ny in (32, 64, 128)]
    expected = {Look(): "log", Look(is_log=False): "linear", Look(is_log=True): "log", Look(from_zero=True): "linear"}
    for look, scale in expected.items():
        peak, ratio, time = shown(drawn(tmp_path, observations, look=look))
        assert {peak.get_yscale(), time.get_yscale()} == {scale}
        assert peak.get_xscale() == ("linear" if look.is_log is False else "log")
        assert ratio.get_yscale() == ("log" if look.is_log else "linear")
        assert [axes.get_ylim()[0] == 0 for axes in (peak, ratio, time)] == [scale == "linear", look.from_zero, scale == "linear"]
    pyplot.close("all")


def test_a_value_of_0_has_no_logarithm(tmp_path):
    observations = [named("a", ny) for ny in SHAPES]
    observations[0]["axes"] = observations[0]["axes"] | {"ny": 0, "nx": 0}
    with pytest.raises(ScaleError, match="^--log: ny has the value 0; leave out --log"):
        drawn(tmp_path, observations, look=Look(is_log=True))
    # Words are not on a scale.
    words = [with_axes(variant, mode, n=1, ny=64, nx=64) for variant in VARIANTS for mode in ("edge", "wrap", "zero")]
    (peak,) = shown(drawn(tmp_path, words, ["peak"], look=Look(is_log=True)))
    assert (peak.get_xscale(), peak.get_yscale()) == ("linear", "log")
    pyplot.close("all")


def test_values_are_ratios_to_a_variant_at_the_same_shape(tmp_path):
    observations = [named("a", ny) for ny in SHAPES]
    observations += [named("b", ny, requested_peak_bytes=named("b", ny)["requested_peak_bytes"] * (i + 2)) for i, ny in enumerate(SHAPES)]
    observations[1] |= {"outcome": "crashed", "requested_peak_bytes": None, "gpu_time_ns": None}
    drawing = drawn(tmp_path, observations, look=Look(against="a"))
    peak, time = shown(drawing)
    assert (peak.get_ylabel(), time.get_ylabel()) == ("peak memory / a", "time, CPU device / a")
    first, second = (line.get_ydata() for line in data_lines(peak))
    assert first == pytest.approx([1, np.nan, 1, 1], nan_ok=True)
    assert second == pytest.approx([2, np.nan, 4, 5], nan_ok=True)
    assert labels(peak) == ["a 1×", "b 5×"]
    assert_nothing_overlaps(drawing)


def test_points_are_compared_at_equal_axes(tmp_path):
    shapes = [(2, 12), (12, 2), (3, 8), (8, 5), (5, 7)]  # three have one floor
    observations = [with_axes(variant, n=1, ny=ny, nx=nx) for variant in VARIANTS for ny, nx in shapes]
    for i, one in enumerate(observations[len(shapes) :]):
        one["requested_peak_bytes"] *= i + 2
    drawing = drawn(tmp_path, observations, ["peak"], look=Look(against="padding/old"))
    _base, ratios = data_lines(shown(drawing)[0])
    assert sorted(ratios.get_ydata()) == [2, 3, 4, 5, 6]
    assert_nothing_overlaps(drawing)


def test_an_operation_without_the_variant_is_not_drawn(tmp_path):
    assert drawn(tmp_path, [named("b", ny) for ny in SHAPES], look=Look(against="a")) is None


@pytest.mark.parametrize("width", [8.5, 13, 17, 30])
def test_a_figure_is_as_wide_as_requested(tmp_path, width):
    observations = [with_axes(variant, **axes) for variant in VARIANTS for axes in GRID]
    drawing = drawn(tmp_path, observations, look=Look(width_cm=width))
    assert drawing.get_figwidth() * 2.54 == pytest.approx(width)
    assert len({round(axes.get_position().x0, 3) for axes in shown(drawing)}) == {8.5: 1, 13: 1, 17: 2, 30: 3}[width]
    assert_nothing_overlaps(drawing)


def test_equal_panels_are_drawn_once(tmp_path):
    observations = [with_axes(variant, mode, **axes) for variant in VARIANTS for mode in ("edge", "wrap") for axes in GRID]
    drawing = drawn(tmp_path, observations, ["peak"])
    titles = [axes.get_title(loc="left").replace("\u00a0", " ") for axes in shown(drawing)]
    assert titles == [f"mode edge/wrap, n {n}" for n in (1, 2, 3)]
    assert_nothing_overlaps(drawing)


def test_an_axis_that_varies_only_outside_of_the_suites_figures_is_drawn(tmp_path):
    path = write_run(tmp_path / "run.json", [with_axes(**axes) for axes in GRID])
    document = json.loads(path.read_text())
    for planned in document["context"]["peakmark"]["planned"]:
        planned["figure"] = "growth" if planned["axes"]["n"] == 1 else None
    path.write_text(json.dumps(document))
    run = load_run(path)
    (figure,) = figures(run)
    assert (figure.x, len(figure.cases), figure.notes) == ("axis:ny", 5, ["Left out: 10 cases without a figure in the suite"])
    (asked,) = figures(run, ["n"])
    assert (asked.x, len(asked.cases), asked.notes) == ("axis:n", 15, [])


def test_axes_that_change_together_leave_panels(tmp_path):
    zipped = [{"h": (7 * i) % 10, "w": (3 * i + 5) % 10} for i in range(10)]
    observations = [with_axes(variant, n=1, ny=64, nx=64, alias=alias, **one) for variant in VARIANTS for one in zipped for alias in (0, 1)]
    figure = figure_of(tmp_path, observations, "alias", min_shapes=1)
    assert figure.x == "axis:alias" and 1 <= len(figure.panels) <= 6
    drawn_cases = len(figure.cases)
    assert figure.notes[0].startswith("Left out: ") and drawn_cases < len(observations)
    assert_no_line_has_two_points_at_one_x(figure)


def test_two_backends_are_two_panels(tmp_path):
    path = write_run(tmp_path / "run.json", [with_axes(**axes) for axes in GRID if axes["n"] == 1])
    document = json.loads(path.read_text())
    context = document["context"]["peakmark"]
    others = json.loads(path.read_text().replace("/opencl/", "/cuda/").replace('"backend": "opencl"', '"backend": "cuda"'))
    context["planned"] += others["context"]["peakmark"]["planned"]
    document["benchmarks"] += others["benchmarks"]
    path.write_text(json.dumps(document))
    (figure,) = figures(load_run(path))
    assert [panel.title for panel in figure.panels] == ["backend opencl", "backend cuda"]


def named(name: str, ny: int, **more) -> dict:
    """Returns a case of `padding/NAME` like one of `padding/new`."""
    one = observation("padding/new", "edge", ny)
    return {**one, "case": one["case"].replace("padding/new", f"padding/{name}"), **more}


def drawn(tmp_path, observations, metrics=SHAPES_METRICS, look=Look()):
    run = load_run(write_run(tmp_path / "run.json", observations))
    (figure,) = figures(run, min_shapes=1)
    return draw(figure, run.context, metrics, look)


def shown(drawing):
    return [axes for axes in drawing.axes if axes.get_visible()]


def labels(axes):
    return [note.get_text().replace("\u00a0", " ").replace("\n", " ") for note in axes.texts]


def data_lines(axes):
    """Returns the lines of variants."""
    return [line for line in axes.get_lines() if line.get_marker() in MARKERS]


def assert_nothing_overlaps(drawing):
    """Expects that labels do not overlap each other or the axes, and are within the figure."""
    drawing.draw_without_rendering()
    width, height = drawing.get_size_inches() * drawing.dpi
    boxes = [Text.get_window_extent(note) for axes in shown(drawing) for note in axes.texts]
    boxes += [axes.get_window_extent() for axes in shown(drawing)]
    boxes += [axes.title.get_window_extent() for axes in shown(drawing) if axes.title.get_text()]
    boxes += [Text.get_window_extent(text) for text in (drawing._suptitle, drawing._supxlabel) if text]
    for i, one in enumerate(boxes):
        assert one.x0 >= -1 and one.y0 >= -1 and one.x1 <= width + 1 and one.y1 <= height + 1, (i, one, width, height)
        for other in boxes[i + 1 :]:
            wide = min(one.x1, other.x1) - max(one.x0, other.x0)
            high = min(one.y1, other.y1) - max(one.y0, other.y0)
            assert wide <= 0.5 or high <= 0.5, (one, other)
    pyplot.close(drawing)


def test_lines_that_coincide_are_drawn_once_with_a_joint_label(tmp_path):
    drawing = drawn(tmp_path, [named(name, ny) for name in ("a", "b", "c") for ny in SHAPES])
    peak, overhead, time = shown(drawing)
    for axes in (peak, overhead, time):
        assert len(data_lines(axes)) == 1
    assert labels(overhead) == ["a = b = c 1.01×", "floor 1×"] and labels(time) == ["a = b = c 655.4 µs"]
    # A hundredth is invisible on a logarithmic axis.
    assert labels(peak) == ["a ≈ b ≈ c ≈ floor 25.25 MiB"]
    assert_nothing_overlaps(drawing)


def test_lines_that_differ_by_less_than_can_be_seen_are_about_equal(tmp_path):
    observations = [named("a", ny) for ny in SHAPES]
    observations += [named("b", ny, requested_peak_bytes=named("b", ny)["requested_peak_bytes"] + 4) for ny in SHAPES]
    drawing = drawn(tmp_path, observations, ["peak"])
    (peak,) = shown(drawing)
    assert len(data_lines(peak)) == 1 and labels(peak)[0].startswith("a ≈ b")
    pyplot.close(drawing)


def test_labels_are_at_the_lines_in_their_order(run):
    drawing = draw(figures(run)[0], run.context)
    overhead = shown(drawing)[1]
    assert labels(overhead) == ["old 1.03×", "new 1.01×", "floor 1×"]
    heights = [note.get_position()[1] for note in overhead.texts]
    assert heights == sorted(heights, reverse=True)
    # A line leads from the height of each label to 2 points before the end of its line.
    leaders = [line for line in overhead.lines if line.get_transform() == drawing.dpi_scale_trans]
    assert len(leaders) == 3
    for note, leader, line in zip(overhead.texts, leaders, [line for line in overhead.lines if line not in leaders]):
        begin, end = drawing.dpi_scale_trans.transform(leader.get_xydata())
        assert begin[1] == pytest.approx(overhead.transAxes.transform(note.get_position())[1])
        last = overhead.transData.transform(line.get_xydata()[-1])
        assert np.hypot(*(last - end)) == pytest.approx(2 * drawing.dpi / 72)
    assert not drawing.legends
    assert_nothing_overlaps(drawing)


def test_one_point(tmp_path):
    drawing = drawn(tmp_path, [named("a", 64)])
    peak = shown(drawing)[0]
    assert [list(line.get_ydata()) for line in data_lines(peak)] == [[named("a", 64)["requested_peak_bytes"]]]
    assert labels(peak) == ["a 1.578 MiB", "floor 1.562 MiB"]
    assert list(peak.get_xticks()) == [4 * 20 * 5 * 64 * 64] and peak.get_xscale() == "linear"
    assert_nothing_overlaps(drawing)


def test_one_variant(tmp_path):
    drawing = drawn(tmp_path, [named("a", ny) for ny in SHAPES])
    assert len(data_lines(shown(drawing)[0])) == 1
    assert_nothing_overlaps(drawing)


@pytest.mark.parametrize("step", [0, 1000, 100_000])
def test_twenty_variants(tmp_path, step):
    observations = []
    for i in range(20):
        for ny in SHAPES:
            one = named(f"v{i}", ny)
            time = {key: value * (1 + step * i / 1e6) for key, value in one["gpu_time_ns"].items()}
            observations.append({**one, "requested_peak_bytes": one["requested_peak_bytes"] + i * step, "gpu_time_ns": time})
    drawing = drawn(tmp_path, observations)
    text = " ".join(" ".join(labels(axes)) for axes in shown(drawing))
    if step == 0:
        assert "v0 = v1 = v2 = 17 more" in text
    else:
        assert all(f"v{i} " in labels_of + " " for i in range(20) for labels_of in [" ".join(labels(shown(drawing)[1]))])
    assert_nothing_overlaps(drawing)


def test_an_unmeasured_case_is_a_gap_and_never_0(tmp_path):
    observations = [named("a", ny) for ny in SHAPES]
    observations += [{**named("b", ny), "requested_peak_bytes": named("b", ny)["requested_peak_bytes"] * 2} for ny in SHAPES]
    observations[1] |= {"outcome": "out_of_memory", "requested_peak_bytes": None, "gpu_time_ns": None}
    observations[6] |= {"gpu_time_ns": None}
    drawing = drawn(tmp_path, observations)
    peak, _overhead, time = shown(drawing)
    first, second = (line.get_ydata() for line in data_lines(peak))
    assert np.isnan(first).tolist() == [False, True, False, False] and not np.isnan(second).any()
    assert [np.isnan(line.get_ydata()).tolist() for line in data_lines(time)] == [
        [False, True, False, False],
        [False, False, True, False],
    ]
    for axes in (peak, time):
        assert axes.get_ylim()[0] > 0
    assert_nothing_overlaps(drawing)


def test_a_wrong_result_has_no_point(tmp_path):
    observations = [named("a", ny) for ny in SHAPES]
    observations[1]["outcome"] = "wrong_result"
    drawing = drawn(tmp_path, observations)
    assert all(np.isnan(data_lines(axes)[0].get_ydata()[1]) for axes in shown(drawing))
    pyplot.close(drawing)


def test_a_variant_that_was_never_measured_has_no_line(tmp_path):
    observations = [named("a", ny) for ny in SHAPES]
    observations += [named("b", ny, outcome="unsupported", requested_peak_bytes=None, gpu_time_ns=None) for ny in SHAPES]
    drawing = drawn(tmp_path, observations)
    assert not any("b" in label.split() for axes in shown(drawing) for label in labels(axes))
    pyplot.close(drawing)


def test_values_of_0_are_drawn_at_0(tmp_path):
    observations = [named("a", ny) for ny in SHAPES]
    nothing = {"requested_peak_bytes": 0, "input_bytes": 0, "output_bytes": 0, "estimate": {"bytes_estimated": 0}}
    observations += [named("b", ny, **nothing) for ny in SHAPES]
    drawing = drawn(tmp_path, observations)
    peak = shown(drawing)[0]
    assert peak.get_yscale() == "linear" and peak.get_ylim()[0] == 0
    assert list(data_lines(peak)[1].get_ydata()) == [0] * len(SHAPES)
    # 0 / 0 is not a number, so `b` has no line there.
    assert [label.split()[0] for label in labels(shown(drawing)[1])] == ["a", "floor"]
    assert_nothing_overlaps(drawing)
    every_zero = drawn(tmp_path, [named("b", ny, **nothing, gpu_time_ns=None) for ny in SHAPES])
    assert labels(shown(every_zero)[0]) == ["b = floor 0 B"]
    assert_nothing_overlaps(every_zero)


def test_very_long_names(tmp_path):
    names = [f"{'a' * 60}_{word}_{'b' * 60}" for word in ("one", "two", "three")]
    observations = [
        named(name, ny, requested_peak_bytes=named(name, ny)["requested_peak_bytes"] * (i + 1))
        for i, name in enumerate(names)
        for ny in SHAPES
    ]
    drawing = drawn(tmp_path, observations)
    for axes in shown(drawing)[:2]:
        of_variants = labels(axes)[:3]
        assert len(set(of_variants)) == 3 and all("…" in label for label in of_variants)
    assert_nothing_overlaps(drawing)


def test_one_slow_repetition_does_not_flatten_the_others(tmp_path):
    observations = [named("a", ny) for ny in (256, 512, 768)]
    observations[0]["gpu_time_ns"]["max"] = 1e12
    peak, _overhead, time = shown(drawn(tmp_path, observations))
    assert (peak.get_yscale(), time.get_yscale()) == ("linear", "log")
    pyplot.close("all")


def test_an_axis_of_only_one_variant_does_not_omit_the_others(tmp_path):
    observations = [named(name, ny) for name in ("a", "b") for ny in SHAPES]
    for one in observations[: len(SHAPES)]:
        one["axes"] = {"alias": one["axes"]["ny"]} | one["axes"]
    (figure,) = figures(load_run(write_run(tmp_path / "run.json", observations)))
    assert figure.x == "axis:ny"
    assert len(figure.panels[0].cases) == len(observations)


def test_a_huge_range(tmp_path):
    huge = {"input_bytes": 1, "output_bytes": 0, "setup_bytes": 0, "gpu_time_ns": None, "estimate": None}
    observations = [
        named("a", ny) | huge | {"requested_peak_bytes": size}
        for ny, size in zip((1, 2**20, 2**40, 2**62), (1, 2**21, 2**41, 2**63))
    ]
    drawing = drawn(tmp_path, observations, ["peak"])
    (peak,) = shown(drawing)
    assert peak.get_yscale() == peak.get_xscale() == "log"
    low, high = peak.get_ylim()
    assert 2 <= len([tick for tick in peak.get_yticks() if low <= tick <= high]) <= 8
    assert_nothing_overlaps(drawing)


def test_axes_are_logarithmic_if_shapes_grow_by_factors(tmp_path):
    by_factors = shown(drawn(tmp_path, [named("a", ny) for ny in (32, 64, 128, 256, 512, 768)]))[0]
    assert (by_factors.get_xscale(), by_factors.get_yscale()) == ("log", "log")
    by_steps = shown(drawn(tmp_path, [named("a", ny) for ny in (256, 512, 768, 1024, 1280)]))[0]
    assert (by_steps.get_xscale(), by_steps.get_yscale(), by_steps.get_ylim()[0]) == ("linear", "linear", 0)
    drawing = by_steps.figure
    drawing.draw_without_rendering()
    low, high = by_steps.get_xlim()
    ticks = [text.get_text() for text, at in zip(by_steps.get_xticklabels(), by_steps.get_xticks()) if low <= at <= high]
    assert ticks == ["256", "512", "768", "1024", "1280"]
    sizes = [text.get_text() for text in by_steps.get_yticklabels()]
    assert "128 MiB" in sizes and "512 MiB" in sizes
    pyplot.close("all")


def test_ticks_are_at_shapes_that_are_multiples_of_one_number(tmp_path):
    peak = shown(drawn(tmp_path, [named("a", ny) for ny in (24, 48, 96, 144, 192)]))[0]
    low, high = peak.get_xlim()
    assert [tick for tick in peak.get_xticks() if low <= tick <= high] == [48, 96, 144, 192]
    pyplot.close("all")


def test_labels_of_different_ratios_differ():
    assert end_texts([1.0019, 1.0005, 1.0], times_text) == ["1.002×", "1.0005×", "1×"]
    assert end_texts([1.08, 1.0, 1.0], times_text) == ["1.08×", "1×", "1×"]
    assert end_texts([1.0000001, 1.0], times_text) == ["1×", "1×"]


def test_markers_of_many_shapes_do_not_touch(tmp_path):
    drawing = drawn(tmp_path, [named("a", ny) for ny in range(1, 1001)], ["peak"])
    (peak,) = shown(drawing)
    (line,) = data_lines(peak)
    start, step = line.get_markevery()
    assert len(line.get_xdata()) == 1000 and range(1000)[start::step][-1] == 999 and 20 <= 1000 // step <= MAX_MARKERS
    (ticks,) = (one for one in peak.get_lines() if one.get_marker() == "_")
    assert len(ticks.get_xdata()) == MAX_MARKERS
    pyplot.close(drawing)


def test_a_short_logarithmic_axis_has_ticks(tmp_path):
    (peak, ratio, time) = shown(drawn(tmp_path, [named("a", ny) for ny in (66, 67, 90, 91)]))
    for axis in (peak.xaxis, peak.yaxis, time.yaxis):
        low, high = axis.get_view_interval()
        assert sum(low <= place <= high for place in axis.get_majorticklocs()) >= 2, (axis, low, high)
    assert peak.get_xscale() == "log"
    pyplot.close("all")


def test_estimates_are_marked_by_their_verdict(tmp_path):
    observations = [named("a", ny) for ny in SHAPES]
    observations[3]["estimate"] = {"bytes_estimated": observations[3]["requested_peak_bytes"] // 2}
    observations[2]["estimate"] = {"bytes_estimated": None}
    drawing = drawn(tmp_path, observations, ["peak"])
    (peak,) = shown(drawing)
    within, outside = ([line for line in peak.get_lines() if line.get_marker() == marker] for marker in "_x")
    assert list(within[0].get_xdata()) == SHAPES[:2]
    assert list(outside[0].get_xdata()) == SHAPES[3:]
    assert list(outside[0].get_ydata()) == [observations[3]["requested_peak_bytes"] // 2]
    caption = drawing._supxlabel.get_text().replace("\n", " ")
    assert "Black tick: estimate within its window" in caption and "Red ×: estimate outside its window" in caption
    assert_nothing_overlaps(drawing)


def test_device_driver_and_commit_are_in_the_caption_and_not_in_the_title(tmp_path):
    path = write_run(tmp_path / "run.json")
    document = json.loads(path.read_text())
    document["context"]["peakmark"]["commit"] = "0123456789abcdef+"
    path.write_text(json.dumps(document))
    run = load_run(path)
    drawing = draw(figures(run)[0], run.context)
    assert drawing._suptitle.get_text() == "padding"
    caption = drawing._supxlabel.get_text().replace("\n", " ")
    assert caption.startswith("a device (opencl, driver 1.0), commit 0123456789ab+. ")
    assert "Bars: fastest to slowest repetition" in caption and "Floor (dotted): input" in caption
    pyplot.close(drawing)


def test_cases_without_a_figure_are_omitted_if_others_have_one(tmp_path):
    path = write_run(tmp_path / "run.json", [observation("padding/new", "edge", ny) for ny in SHAPES], figure=None)
    assert figures(load_run(path))[0].name == "padding"


def test_two_shapes_are_points_if_there_are_no_lines(tmp_path):
    path = write_run(tmp_path / "run.json", [observation("padding/new", "edge", ny) for ny in SHAPES[:2]])
    assert figures(load_run(path)) == []
    assert main(["plot", str(path), "-o", str(tmp_path)]) == 0
    assert (tmp_path / "padding.png").exists()


def test_lines_have_the_measured_values(run):
    (figure,) = figures(run)
    drawing = draw(figure, run.context)
    peak_axes = drawing.axes[0]
    cases = figure.panels[0].cases
    old = cases[cases["variant"] == "padding/old"]
    # `new` is 2 % below, and the floor 1 %, which are equal on this axis.
    assert [list(line.get_ydata()) for line in data_lines(peak_axes)][0] == list(old["peak"])
    for line, variant in zip(data_lines(drawing.axes[1]), VARIANTS, strict=True):
        of_variant = cases[cases["variant"] == variant]
        assert list(line.get_ydata()) == list(of_variant["peak"] / of_variant["floor"])
    (floor,) = (line for line in drawing.axes[1].get_lines() if line.get_linestyle() == ":")
    assert list(floor.get_ydata()) == [1] * len(SHAPES)
    assert "CPU device" in drawing.axes[2].get_ylabel()
    pyplot.close(drawing)


def test_a_memory_only_run_has_no_empty_panels(tmp_path):
    observations = [observation("padding/new", "edge", ny, time=False) for ny in SHAPES]
    run = load_run(write_run(tmp_path / "run.json", observations))
    drawing = draw(figures(run)[0], run.context)
    assert [axes.get_ylabel() for axes in shown(drawing)] == ["peak memory", "peak / floor"]
    pyplot.close(drawing)


def with_throughput(one: dict, cache: str = "cold") -> dict:
    return one | {"cache": cache, "throughput": {"bytes_per_second": 3e9, "share_of_copy": 0.75, "share_of_peak": None}}


def test_throughput_is_a_panel_with_the_copy_as_a_line(tmp_path):
    observations = [with_throughput(observation(variant, "edge", ny)) for variant in VARIANTS for ny in SHAPES]
    drawing = drawn(tmp_path, observations)
    panels = shown(drawing)
    assert [axes.get_ylabel() for axes in panels] == ["peak memory", "peak / floor", "cold time, CPU device", "GB/s"]
    (copy,) = (line for line in panels[3].get_lines() if line.get_linestyle() == "-.")
    assert list(copy.get_ydata()) == pytest.approx([4.0] * len(SHAPES))
    assert [list(line.get_ydata()) for line in data_lines(panels[3])] == [pytest.approx([3.0] * len(SHAPES))]
    assert panels[2].get_yscale() == "log" and panels[3].get_yscale() == "linear"
    assert labels(panels[3]) == ["old = new 3", "copy 4"]
    assert_nothing_overlaps(drawing)


@pytest.mark.parametrize("unknown", [("input_bytes",), ("output_bytes", "estimate")])
def test_an_unknown_floor_is_not_drawn(tmp_path, unknown):
    observations = [observation(variant, "edge", ny) | dict.fromkeys(unknown) for variant in VARIANTS for ny in SHAPES]
    drawing = drawn(tmp_path, observations)
    panels = shown(drawing)
    assert [axes.get_ylabel() for axes in panels] == ["peak memory", "time, CPU device"]
    assert not any("floor" in label for axes in panels for label in labels(axes))
    assert "floor" not in drawing._supxlabel.get_text()
    assert labels(panels[0]) == ["old ≈ new 25.75 MiB"]
    pyplot.close(drawing)


def test_files_are_written_reproducibly(tmp_path):
    path = write_run(tmp_path / "run.json")
    assert main(["plot", str(path), "-o", str(tmp_path / "a")]) == 0
    assert main(["plot", str(path), "-o", str(tmp_path / "b")]) == 0
    for name in ("padding.png", "padding.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    root = xml.etree.ElementTree.parse(tmp_path / "a" / "padding.svg").getroot()
    assert any("computed" in (text or "") or "new" in (text or "") for text in root.itertext())


def test_wrong_input_is_exit_2(tmp_path, capsys):
    assert main(["plot", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert main(["plot", str(write_run(tmp_path / "run.json")), "-o", str(blocked / "plots")]) == 2


def test_units():
    assert size_text(1536) == "1.5 KiB"
    assert size_text(872_415_232) == "832 MiB"
    assert time_text(1_500_000) == "1.5 ms"
    assert time_text(120) == "120 ns"
