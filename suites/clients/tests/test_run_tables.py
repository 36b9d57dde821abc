"""Tests tables and expectations with hand-made runs."""

import json

import pytest

import check_expectations
import run_tables


def observation(way, mode, peak, *, outcome="ok", setup=10, estimated=None, slices=None):
    estimate = estimated and {
        "estimator": "theirs",
        "bytes_estimated": estimated,
        "slices_used": slices[1] if slices else None,
        "slices_estimated": slices[0] if slices else None,
        "error": None,
    }
    return {
        "case": f"pad/{way}/opencl/mode:{mode}",
        "axes": {"mode": mode, "ny": 512},
        "outcome": outcome,
        "message": "no device" if outcome != "ok" else None,
        "requested_peak_bytes": peak,
        "setup_bytes": setup,
        "leaked_bytes": 0,
        "estimate": estimate,
        "other_estimates": [],
    }


def write_run(path, observations):
    planned = [
        {"case": one["case"], "variant": "/".join(one["case"].split("/")[:2])}
        for one in observations
    ]
    about = {
        "version": 1,
        "suite": "pads",
        "planned": planned,
        "device": "a device",
        "backend": "opencl",
        "driver": "3.1",
        "date": "2026-11-21T20:00:00Z",
    }
    rows = [{"name": one["case"], "run_type": "aggregate", "peakmark": one} for one in observations]
    path.write_text(json.dumps({"context": {"peakmark": about}, "benchmarks": [{"name": "timed"}, *rows]}), "utf-8")
    return path


@pytest.fixture
def run(tmp_path):
    return write_run(
        tmp_path / "run.json", [observation("old", "edge", 300, setup=200), observation("new", "edge", 110)]
    )


def run_main(monkeypatch, main, *words):
    monkeypatch.setattr("sys.argv", ["program", *map(str, words)])
    return main()


def test_variants_are_in_columns(run, monkeypatch, capsys):
    more = write_run(run.parent / "more.json", [observation("old", "wrap", 301, setup=None)])
    assert run_main(monkeypatch, run_tables.main, "peaks", run, more) == 0
    assert capsys.readouterr().out == (
        "*a device, opencl driver 3.1, 2026-11-21.*\n"
        "\n"
        "| mode | setup, old | setup, new | peak, old | peak, new |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| edge | 200 | 10 | 300 | 110 |\n"
        "| wrap | – | – | 301 | – |\n"
    )


def answer_check(folder, monkeypatch, *verdicts):
    """Puts a `peakmark` into PATH that answers `check --json` with these verdicts."""
    keys = ("case", "estimator", "rule", "judgement", "figure", "advice")
    answer = {"verdicts": [dict(zip(keys, ("pad/old/opencl/mode:edge", "theirs", *one))) for one in verdicts]}
    for one in answer["verdicts"]:
        one["bound"] = {"lo": 0.8, "hi": 1.0} if one["figure"] else None
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    program = folder / "bin/peakmark"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat {folder}/answer.json\nexit 1\n", encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")


@pytest.mark.parametrize(
    ("verdicts", "text"),
    [
        ([("window_bytes", "pass", 0.9, ""), ("window_slices", "pass", 0.9, "")], "holds"),
        ([("window_bytes", "pass", 0.9, ""), ("window_slices", "counted", None, "granularity: 3 slices estimated")], "holds"),
        ([("window_bytes", "fail", 0.7, "estimate too high: …"), ("window_slices", "fail", 1.2, "estimate too low: …")], "**too low**"),
        ([("window_bytes", "fail", 0.7, "estimate too high: 100 bytes")], "too high"),
        ([("estimator", "fail", None, "no answer from this estimator: it was killed")], "no answer from this estimator"),
        ([("leak", "fail", None, "64 bytes left")], "–"),
    ],
)
def test_the_verdict_of_an_estimate_is_that_of_check(tmp_path, monkeypatch, capsys, verdicts, text):
    answer_check(tmp_path, monkeypatch, *verdicts)
    one = observation("old", "edge", 90, estimated=100, slices=(18, 20))
    assert run_main(monkeypatch, run_tables.main, "estimates", write_run(tmp_path / "run.json", [one])) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert row == f"| pad/old | 90 | theirs | 100 | 0.900 | 18 of 20 | {text} |"


def test_a_case_that_was_not_measured_shows_the_reason(tmp_path, monkeypatch, capsys):
    answer_check(tmp_path, monkeypatch)
    one = observation("old", "edge", None, outcome="unsupported")
    assert run_main(monkeypatch, run_tables.main, "estimates", write_run(tmp_path / "run.json", [one])) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "| pad/old | – | – | – | – | – | unsupported: no device |"


def test_a_table_replaces_the_one_before(run, monkeypatch):
    document = run.parent / "page.md"
    document.write_text("# Page\n<!-- table pad -->\nold\n<!-- end -->\nrest\n<!-- end -->\n", encoding="utf-8")
    for _ in range(2):
        assert run_main(monkeypatch, run_tables.main, "peaks", run, "--of", "pad", "--into", document) == 0
    text = document.read_text(encoding="utf-8")
    assert text.startswith("# Page\n<!-- table pad -->\n*a device")
    assert text.endswith("| 200 | 10 | 300 | 110 |\n<!-- end -->\nrest\n<!-- end -->\n")


def test_wrong_runs_and_pages_are_errors(run, monkeypatch, capsys):
    page = run.parent / "page.md"
    page.write_text("# Page\n", encoding="utf-8")
    for words in (["peaks", page], ["peaks", run, "--of", "fbp"], ["peaks", run, "--into", page]):
        assert run_main(monkeypatch, run_tables.main, *words) == 2
        assert capsys.readouterr().err.startswith("run_tables: ")


def test_expectations_are_exact(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(check_expectations, "EXPECTED", tmp_path / "expected")
    assert run_main(monkeypatch, check_expectations.main, "--write", run) == 0
    assert run_main(monkeypatch, check_expectations.main, run) == 0
    other = write_run(
        tmp_path / "other.json", [observation("old", "edge", 301, setup=200), observation("old", "wrap", 5)]
    )
    capsys.readouterr()
    assert run_main(monkeypatch, check_expectations.main, other) == 1
    assert capsys.readouterr().out.splitlines() == [
        "pad/new/opencl/mode:edge: expected, but not in the run",
        "pad/old/opencl/mode:edge: requested_peak_bytes 301, expected 300",
        "pad/old/opencl/mode:wrap: not expected; add it with --write",
    ]
    # --part allows missing cases only.
    assert run_main(monkeypatch, check_expectations.main, "--part", other) == 1
    assert "pad/new/opencl/mode:edge" not in capsys.readouterr().out
    part = write_run(tmp_path / "part.json", [observation("old", "edge", 300, setup=200)])
    assert run_main(monkeypatch, check_expectations.main, part) == 1
    assert run_main(monkeypatch, check_expectations.main, "--part", part) == 0


def test_a_missing_command_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(run_tables.TableError, match="peakmark is not in PATH: add the folder of the installed command"):
        run_tables.read_verdicts("run.json")
