"""Tests `peakmark plot` from its options to its files. test_memory_plot.py and test_composition_plot.py test the figures."""

import errno
import json
from pathlib import Path

import pytest
from peakmark_reports.__main__ import main
from peakmark_reports.plots import combined, matching
from peakmark_reports.run_file import load_run
from peakmark_reports.series import figures
from sample_run import SHAPES, observation, write_run


def plot(*words) -> int:
    return main(["plot", *map(str, words)], "peakmark")


@pytest.fixture
def run_file(tmp_path):
    return write_run(tmp_path / "run.json")


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_png_and_svg_are_written_and_named(run_file, tmp_path, capsys):
    assert plot(run_file, "-o", tmp_path / "out") == 0
    expected = ["padding-at-peak.png", "padding-at-peak.svg", "padding-estimates.png", "padding-estimates.svg", "padding.png", "padding.svg"]
    assert files(tmp_path / "out") == expected
    assert sorted(capsys.readouterr().out.split()) == [str(tmp_path / "out" / name) for name in expected]


@pytest.mark.parametrize(("option", "start"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_format_can_be_chosen_and_is_reproducible(run_file, tmp_path, option, start):
    for folder in ("a", "b"):
        assert plot(run_file, f"--{option}", "--metric", "peak", "-o", tmp_path / folder) == 0
        assert files(tmp_path / folder) == [f"padding.{option}"]
    written = (tmp_path / "a" / f"padding.{option}").read_bytes()
    assert written.startswith(start) and written == (tmp_path / "b" / f"padding.{option}").read_bytes()


def test_a_metric_without_data_is_nothing_to_draw(tmp_path, capsys):
    path = write_run(tmp_path / "run.json", [observation("padding/new", "edge", ny, time=False) for ny in SHAPES])
    assert plot(path, "--metric", "time", "-o", tmp_path / "out") == 4
    assert "nothing to draw" in capsys.readouterr().err


def _with_metrics(path):
    observations = [observation("padding/new", "edge", ny) | {"metrics": {"iterations": ny / 8, "drift": -ny}} for ny in SHAPES]
    return write_run(path, observations)


def test_what_a_program_reports_is_drawn_against_shape(tmp_path, capsys):
    path = _with_metrics(tmp_path / "run.json")
    assert plot(path, "--metric", "iterations", "--metric", "drift", "--svg", "-o", tmp_path / "out") == 0
    assert files(tmp_path / "out") == ["padding.svg"]
    text = (tmp_path / "out" / "padding.svg").read_text()
    assert ">iterations<" in text and ">drift<" in text and "peak memory" not in text
    assert plot(path, "--metric", "iteration", "-o", tmp_path / "out") == 2
    assert "--metric iteration: no case reports this metric; metrics: peak, " in capsys.readouterr().err


def test_what_a_program_reports_is_a_column(tmp_path):
    cases = load_run(_with_metrics(tmp_path / "run.json")).cases
    assert list(cases["metric:iterations"]) == [ny / 8 for ny in SHAPES]


def test_a_filter_sees_short_and_full_names(run_file):
    run = load_run(run_file)
    assert len(matching(run, "^padding/new/opencl/mode:edge/ny:32/").cases) == 1
    # No short name has the axis n.
    assert len(matching(run, "/n:20/").cases) == len(run.cases)
    assert len(matching(run, "nothing").cases) == 0


def _with_sigma(variant, ny, sigma):
    one = observation(variant, "edge", ny)
    one["case"] += f"/sigma:{sigma}"
    one["axes"]["sigma"] = sigma
    one["requested_peak_bytes"] += int(1000 * ny * sigma)
    return one


def test_an_axis_of_floats_is_x(tmp_path):
    run = load_run(write_run(tmp_path / "run.json", [_with_sigma(v, 32, s) for v in ("padding/old", "padding/new") for s in (0.5, 1.0, 2.5)], None))
    (figure,) = figures(run)
    assert figure.x == "axis:sigma" and figure.is_joined
    assert sorted(set(figure.cases[figure.x])) == [0.5, 1.0, 2.5]
    assert plot(tmp_path / "run.json", "--metric", "peak", "--svg", "-o", tmp_path / "out") == 0
    text = (tmp_path / "out" / "padding.svg").read_text(encoding="utf-8")
    assert ">0.5</text>" in text and ">2.5</text>" in text and ">sigma  (" in text


def test_full_names_have_floats_as_the_command_writes_them(tmp_path):
    # Some cases lack the axis, so that pandas stores all its values, and those of ny, as floats.
    cases = [_with_sigma("padding/new", 32, sigma) for sigma in (1.0, 1e-7)] + [observation("padding/old", "edge", 32)]
    run = load_run(write_run(tmp_path / "run.json", cases))
    assert list(matching(run, "/ny:32/.*sigma:1.0$").cases["axis:sigma"]) == [1.0]
    assert list(matching(run, "/sigma:1e-07$").cases["axis:sigma"]) == [1e-7]


def test_filters_without_a_match_and_invalid_filters_are_errors(run_file, tmp_path, capsys):
    assert plot(run_file, "--filter", "nothing", "-o", tmp_path / "out") == 4
    assert "--filter nothing" in capsys.readouterr().err
    assert plot(run_file, "--filter", "(", "-o", tmp_path / "out") == 2
    assert "not a regular expression" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_used_is_an_error_with_advice(run_file, tmp_path, capsys, monkeypatch):
    assert plot(tmp_path / "nowhere.json", "-o", tmp_path) == 2
    assert capsys.readouterr().err.endswith(f"{tmp_path}/nowhere.json: No such file or directory; check the path\n")
    (tmp_path / "file").touch()
    assert plot(run_file, "-o", tmp_path / "file/plots") == 2
    assert capsys.readouterr().err.endswith("file/plots: Not a directory; name another path\n")

    def read_only(folder, **_):
        raise OSError(errno.EROFS, "Read-only file system", str(folder))

    monkeypatch.setattr(Path, "mkdir", read_only)
    assert plot(run_file, "-o", tmp_path / "plots") == 2
    assert capsys.readouterr().err.endswith("plots: Read-only file system; allow it, or name another place\n")


def test_an_unknown_axis_is_an_error_with_the_known_axes(run_file, tmp_path, capsys):
    assert plot(run_file, "--axis", "nz", "-o", tmp_path / "out") == 2
    assert "axes: mode, n, ny, nx, dtype" in capsys.readouterr().err


def test_a_case_in_two_runs_is_a_line_for_each(tmp_path):
    observations = [observation("padding/new", "edge", ny) for ny in SHAPES]
    grown = [{**one, "requested_peak_bytes": one["requested_peak_bytes"] * 2} for one in observations]
    runs = [
        (name, load_run(write_run(tmp_path / f"{name}.json", cases))) for name, cases in (("before", observations), ("after", grown))
    ]
    (run,) = combined(runs)
    cases = figures(run)[0].panels[0].cases
    assert set(cases["variant"]) == {"padding/new (before)", "padding/new (after)"}
    assert len(cases) == 2 * len(SHAPES)
    assert plot(tmp_path / "before.json", tmp_path / "after.json", "-o", tmp_path / "out") == 0


def test_runs_with_different_cases_are_one_figure_and_devices_one_each(tmp_path):
    first = write_run(tmp_path / "a.json", [observation("padding/new", "edge", ny) for ny in SHAPES])
    second = write_run(tmp_path / "b.json", [observation("padding/old", "edge", ny) for ny in SHAPES])
    (run,) = combined([("a", load_run(first)), ("b", load_run(second))])
    assert set(run.cases["variant"]) == {"padding/new", "padding/old"}
    document = json.loads(second.read_text())
    document["context"]["peakmark"]["device"] = "other"
    second.write_text(json.dumps(document))
    assert plot(first, second, "--metric", "peak", "--svg", "-o", tmp_path / "out") == 0
    assert files(tmp_path / "out") == ["a-device-padding.svg", "other-padding.svg"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"context": 1}', '{"context": {"peakmark": 3}}', '{"context": {"peakmark": {"version": 1}}}', "\ud800".encode("utf-8", "surrogatepass")],
)
def test_a_run_file_that_cannot_be_read_is_exit_2(tmp_path, capsys, text):
    path = tmp_path / "run.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert plot(path, "-o", tmp_path / "out") == 2
    message = capsys.readouterr().err
    assert message.startswith(f"peakmark: {path}: ") and "Traceback" not in message


def test_a_folder_and_a_missing_file_are_exit_2(tmp_path, capsys):
    for path in (tmp_path, tmp_path / "none.json"):
        assert plot(path) == 2
        assert str(path) in capsys.readouterr().err


def test_a_missing_library_names_the_python_and_what_to_install(run_file, monkeypatch, capsys):
    import sys

    for name in [name for name in sys.modules if name.startswith("peakmark_reports.") and "__main__" not in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert plot(run_file) == 2
    message = capsys.readouterr().err
    assert f"Python module matplotlib is missing in {sys.executable}" in message
    assert f"{sys.executable} -m pip install -r " in message and "PEAKMARK_PYTHON" in message


@pytest.mark.parametrize("axis", ["n", "dtype"])
def test_an_axis_that_does_not_vary_is_an_error_with_those_that_do(run_file, tmp_path, capsys, axis):
    assert plot(run_file, "--axis", axis, "-o", tmp_path / "out") == 2
    assert f"--axis {axis}: it has one value in all cases; axes that vary: mode, ny, nx" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--axis", "ny", "--axis", "nx", "--axis", "mode"], "at most two different axes"),
        (["--axis", "ny", "--axis", "ny"], "at most two different axes"),
        (["--against", "newer"], "no case has this variant; variants: padding/old, padding/new"),
        (["--against", "new", "--filter", "padding/new"], "no other variant of padding is in the run"),
        (["--against", "new", "--metric", "at-peak", "--metric", "estimate"], "--metric at-peak, estimate: not with --against"),
        (["--axis", "ny", "--axis", "mode", "--metric", "at-peak"], "--metric at-peak: not with a second --axis"),
    ],
)
def test_options_that_do_not_fit_are_exit_2(run_file, tmp_path, capsys, options, message):
    assert plot(run_file, "-o", tmp_path / "out", *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_against_draws_only_ratios(run_file, tmp_path):
    assert plot(run_file, "--against", "old", "--width", "8.5", "--from-zero", "--svg", "-o", tmp_path / "out") == 0
    assert files(tmp_path / "out") == ["padding.svg"]


def test_each_axis_gives_its_own_picture(tmp_path):
    shapes = [(n, ny, nx) for n in (1, 2, 3) for ny in (32, 64, 128) for nx in (64, 128, 256)]
    observations = []
    for n, ny, nx in shapes:
        one = observation("padding/new", "edge", ny, time=False)
        bytes_of = {"requested_peak_bytes": 10 * n * ny * nx, "input_bytes": 4 * n * ny * nx, "output_bytes": 4 * n * ny * nx}
        observations.append(one | bytes_of | {"case": f"padding/new/opencl/n:{n}/ny:{ny}/nx:{nx}", "axes": {"n": n, "ny": ny, "nx": nx}})
    path = write_run(tmp_path / "run.json", observations)
    for axis in ("n", "ny", "nx"):
        assert plot(path, "--axis", axis, "--metric", "peak", "--svg", "-o", tmp_path / axis) == 0
    pictures = {(tmp_path / axis / "padding.svg").read_bytes() for axis in ("n", "ny", "nx")}
    assert len(pictures) == 3


def test_infinite_and_unknown_numbers_are_not_measured(tmp_path):
    observations = [observation("padding/new", "edge", ny) for ny in SHAPES]
    observations[0]["requested_peak_bytes"] = float("inf")
    observations[1]["requested_peak_bytes"] = float("nan")
    path = write_run(tmp_path / "run.json", observations)
    assert load_run(path).cases["peak"].isna().tolist() == [True, True, False, False]
    assert plot(path, "-o", tmp_path / "out") == 0


def test_a_run_with_nothing_measured_is_nothing_to_draw(tmp_path, capsys):
    path = write_run(tmp_path / "run.json", [observation("padding/new", "edge", ny, outcome="crashed") for ny in SHAPES])
    assert plot(path, "-o", tmp_path / "out") == 4
    assert "nothing to draw: no measured case has a value of peak" in capsys.readouterr().err
