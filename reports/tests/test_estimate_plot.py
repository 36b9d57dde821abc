import pytest
from peakmark_reports.run_file import estimator_rows
from peakmark_reports.figure_style import pyplot
from peakmark_reports.memory_plot import draw
from peakmark_reports.plots import draw_pictures, file_name
from peakmark_reports.run_file import load_run
from peakmark_reports.series import figures
from sample_run import SHAPES, VARIANTS, observation, write_run


def _run(tmp_path, factor):
    """Returns a run with estimates of this share of the peak, and none for the smallest shape of `old`."""
    observations = [observation(variant, "edge", ny) for variant in VARIANTS for ny in SHAPES]
    for one in observations:
        one["estimate"] = {"estimator": "formula", "bytes_estimated": round(one["requested_peak_bytes"] * factor)}
    observations[0]["estimate"]["bytes_estimated"] = None
    return load_run(write_run(tmp_path / "run.json", observations))


def test_the_ratio_is_drawn(tmp_path):
    run = _run(tmp_path, 1.25)
    drawing = draw(figures(run)[0], run.context, ["estimate"])
    lines = [line for line in drawing.axes[0].get_lines() if line.get_marker() in ("o", "s")]
    assert [list(line.get_xdata()) for line in lines] == [SHAPES, SHAPES]
    values = [value for line in lines for value in line.get_ydata()]
    assert values == pytest.approx([float("nan")] + [0.8] * (2 * len(SHAPES) - 1), rel=1e-5, nan_ok=True)
    assert [note.get_text() for note in drawing.axes[0].texts] == ["old 0.800", "new 0.800", "exact 1.000"]
    assert "Shaded: window of the estimate" in drawing._supxlabel.get_text().replace("\n", " ")
    low, high = drawing.axes[0].get_ylim()
    assert low < 0.8 and high > 1
    pyplot.close(drawing)


def test_without_estimates_nothing_is_drawn(tmp_path):
    observations = [observation("padding/new", "edge", ny) | {"estimate": None} for ny in SHAPES]
    run = load_run(write_run(tmp_path / "run.json", observations))
    assert draw(figures(run)[0], run.context, ["estimate"]) is None
    assert estimator_rows([run]) == []


def test_estimators_are_judged_by_the_ends_of_their_window(tmp_path):
    # 0.8 ≤ peak / estimate ≤ 1: bytes rounded down are inside the window, one byte more is not.
    for factor, outside in ((1.0, 0), (1.2499, 0), (1.26, 4), (0.99, 4)):
        rows = {row.variant: row for row in estimator_rows([_run(tmp_path, factor)])}
        assert (rows["padding/new"].cases, rows["padding/new"].judged, rows["padding/new"].outside) == (4, 4, outside)
        assert (rows["padding/old"].cases, rows["padding/old"].judged) == (4, 3)
        assert rows["padding/new"].window == "0.8 to 1"


def test_devices_do_not_share_files(tmp_path):
    run = _run(tmp_path, 1.1)
    pictures = draw_pictures([run, run], tmp_path)
    assert len({picture.svg for picture in pictures}) == len(pictures) == 6
    assert all(path.is_file() for picture in pictures for path in picture.files)


def test_file_names_have_only_letters_digits_and_dashes():
    assert file_name("NVIDIA H100 80GB (sm_90)/é") == "NVIDIA-H100-80GB-sm_90"
    assert file_name("../..") == "figure"
    assert len(file_name("x" * 300)) == 80
