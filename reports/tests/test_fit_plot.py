"""`fit --plot`: memory against the fitted axis. The fit is as the C++ part writes it (report_test.cpp)."""

import io
import json
import sys

import pytest
from matplotlib.text import Text

from peakmark_reports.common import InputError
from peakmark_reports.__main__ import main
from peakmark_reports.fit_plot import draw_fit, parse_fit


def trial(value: int, size: int | None, outcome: str = "ok") -> dict:
    return {"value": value, "predicted_bytes": size, "recorded_bytes": size, "outcome": outcome, "message": None}


def fit(**changes) -> str:
    """A fit of 1000 bytes a value into 123456 bytes."""
    found = {
        "variant": "fake/case", "backend": "dry", "device": "dry", "axis": "n", "axes": {"does": "ok"}, "value": 123,
        "budget_bytes": 123456, "predictor": "formula", "formula": "1000·n", "trials": [trial(123, 123000), trial(124, 124000)],
        "intervals": [{"first": 1, "last": 123}], "predicted": [{"value": n, "bytes": 1000 * n} for n in range(1, 156)],
    }  # fmt: skip
    return json.dumps({**found, **changes})


def texts(drawing) -> str:
    return "\n".join(text.get_text() for text in drawing.findobj(Text)).replace("\u00a0", " ")


def test_budget_prediction_and_trials_are_drawn():
    drawing = draw_fit(parse_fit(fit()))
    axes = drawing.axes[0]
    shown = texts(drawing)
    assert "budget 120.6 KiB: n 123" in shown and "peak = 1000·n" in shown and "does=ok" in shown
    assert "Dots: 1 trial within the budget; crosses: 1 beyond it. Dashed: predicted by the formula" in " ".join(shown.split("\n"))
    lines = [(list(line.get_xdata()), list(line.get_ydata()), line.get_marker()) for line in axes.lines]
    assert ([123], [123000], "o") in lines and ([124], [124000], "x") in lines
    assert [list(x)[-1] for x, _, _ in lines if len(x) > 2] == [155]
    assert axes.get_ylim()[1] > 155_000 and axes.get_xlim()[1] > 155


def test_a_refused_trial_is_on_the_budget():
    drawing = draw_fit(parse_fit(fit(trials=[trial(1, None, "out_of_memory")], value=None, predicted=[], predictor="recordings", formula=None, intervals=None)))
    assert "nothing fits" in texts(drawing)
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in drawing.axes[0].lines if line.get_marker() == "x"] == [([1], [123456])]


def test_several_intervals_are_bands():
    drawing = draw_fit(parse_fit(fit(intervals=[{"first": 1, "last": 50}, {"first": 100, "last": 123}])))
    assert len(drawing.axes[0].patches) == 2 and "Bands: values that fit" in " ".join(texts(drawing).split())
    assert not draw_fit(parse_fit(fit())).axes[0].patches


def test_a_curve_far_above_the_budget_is_cut():
    drawing = draw_fit(parse_fit(fit(predicted=[{"value": n, "bytes": n**4} for n in range(1, 156)])))
    assert drawing.axes[0].get_ylim()[1] < 2 * 123456


def test_other_input_is_an_error():
    for wrong in ("", "{}", "[]", '{"fits": []}'):
        with pytest.raises(InputError, match="not the output of `peakmark fit --json`|invalid or truncated JSON"):
            parse_fit(wrong)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_command_writes_the_file(tmp_path, monkeypatch, capsys, ending):
    monkeypatch.setattr(sys, "stdin", io.StringIO(fit()))
    file = tmp_path / f"fit.{ending}"
    assert main(["fit", "-o", str(file)]) == 0
    assert file.stat().st_size > 1000 and capsys.readouterr().out == f"{file}\n"
