"""Draws memory against the fitted axis with the budget, predictions and trials, from `peakmark fit --json`."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .common import quantity, reading, size_text
from .figure_style import Scale, caption_text, pyplot, save, set_axis, set_texts, use_style
from .formula_plot import BUDGET_COLOUR

INCHES = (5.6, 3.4)
FITS_COLOUR = "#0072B2"
TITLE_CHARACTERS = 84


@dataclass(frozen=True)
class FitPlot:
    """What is drawn of one fit. `trials` are (value, bytes, whether it fits); refused ones have no bytes."""

    title: str
    axis: str
    value: int | None
    budget: int
    formula: str | None
    predictor: str
    curve_x: np.ndarray
    curve_y: np.ndarray
    trials: list[tuple[int, int | None, bool]]
    intervals: list[tuple[int, int]]
    context: dict[str, Any]


def parse_fit(document: str) -> FitPlot:
    """Raises InputError."""
    with reading("fit --json"):
        fit = json.loads(document)
        points = fit["predicted"]
        budget = fit["budget_bytes"]
        trials = [
            (one["value"], one["recorded_bytes"], one["recorded_bytes"] is not None and one["recorded_bytes"] <= budget)
            for one in fit["trials"]
        ]
        axes = " ".join(f"{name}={value}" for name, value in fit["axes"].items())
        return FitPlot(
            f"{fit['variant']}  {axes}".strip(),
            fit["axis"],
            fit["value"],
            budget,
            fit["formula"],
            fit["predictor"],
            np.array([one["value"] for one in points], float),
            np.array([one["bytes"] for one in points], float),
            trials,
            [(one["first"], one["last"]) for one in fit["intervals"] or []],
            {"device": fit["device"], "backend": fit["backend"], "driver": "", "commit": None},
        )


def _draw_trials(axes, fit: FitPlot) -> None:
    for value, size, fits in fit.trials:
        # A refused trial has no peak: its mark is on the budget.
        axes.plot(
            [value], [fit.budget if size is None else size], linestyle="none", marker="o" if fits else "x", markersize=5,
            color="black" if fits else BUDGET_COLOUR, zorder=4, clip_on=False,
        )  # fmt: skip


def _draw_budget(axes, fit: FitPlot) -> None:
    axes.axhline(fit.budget, color=BUDGET_COLOUR, linewidth=0.9)
    text = f"budget {size_text(fit.budget)}: " + ("nothing fits" if fit.value is None else f"{fit.axis} {fit.value:,}")
    axes.annotate(
        text, (0.02, fit.budget), xycoords=("axes fraction", "data"), xytext=(0, 3), textcoords="offset points",
        fontsize=7, color=BUDGET_COLOUR, va="bottom",
    )  # fmt: skip
    if fit.value is not None:
        axes.plot([fit.value] * 2, [0, fit.budget], color=BUDGET_COLOUR, linewidth=0.9, linestyle=":")


def draw_fit(fit: FitPlot) -> pyplot.Figure:
    """Returns the figure. Bands below the axis are the intervals that fit, if there are several."""
    use_style()
    drawing, axes = pyplot.subplots(figsize=INCHES, layout="constrained")
    high = max([value for value, _, _ in fit.trials] + [1])
    if len(fit.curve_x):
        high = max(high, int(fit.curve_x[-1]))
        axes.plot(fit.curve_x, fit.curve_y, linestyle="--", color=FITS_COLOUR, linewidth=1.1)
    top = max([fit.budget] + [size for _, size, _ in fit.trials if size is not None] + list(fit.curve_y))
    # A curve that leaves the budget far behind would flatten what is below it.
    top = min(top, 1.6 * fit.budget)
    set_axis(axes.xaxis, Scale(0, 1.02 * high, False), "count", [0, high])
    set_axis(axes.yaxis, Scale(0, 1.14 * top, False), "bytes")
    if len(fit.intervals) > 1:
        for first, last in fit.intervals:
            axes.axvspan(first, min(last, high), facecolor=FITS_COLOUR, alpha=0.12)
    _draw_budget(axes, fit)
    _draw_trials(axes, fit)
    axes.set_xlabel(fit.axis)
    axes.set_ylabel("device memory")
    lines = textwrap.wrap(fit.title, TITLE_CHARACTERS)
    if fit.formula is not None and len(fit.formula) + 7 <= TITLE_CHARACTERS:
        lines.append(f"peak = {fit.formula}")
    axes.set_title("\n".join(lines), loc="left", fontsize=7.5)
    refused = sum(not fits for _, _, fits in fit.trials)
    source = "recorded peaks" if fit.predictor == "recordings" else f"the {fit.predictor}"
    caption = [
        f"Dots: {quantity(len(fit.trials) - refused, 'trial')} within the budget" + (f"; crosses: {refused} beyond it" if refused else ""),
        f"Dashed: predicted by {source}",
    ]
    if len(fit.intervals) > 1:
        caption.append("Bands: values that fit")
    set_texts(drawing, f"{fit.title.split(' ')[0]}: the largest {fit.axis} for {size_text(fit.budget)}", caption_text(fit.context, caption))
    return drawing


def write_fit(document: str, output: Path) -> list[Path]:
    """Draws the figure into the file."""
    return save(draw_fit(parse_fit(document)), output.parent, output.stem, [output.suffix.removeprefix(".")])
