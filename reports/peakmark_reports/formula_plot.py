"""Draws memory against shape by formula, from `peakmark explain --json`: stacked by allocation, a row for each set of words."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from .common import InputError, reading, size_text
from .formula_table import formula_text, words_text
from .figure_style import (
    COLOURS,
    INCHES_PER_CHARACTER,
    INCHES_PER_LINE,
    Scale,
    add_label,
    caption_text,
    place_labels,
    pyplot,
    save,
    set_axis,
    set_texts,
    short_names,
    use_style,
)

# Layers with a separate label; the others become one.
MAX_LAYERS = 7
# Columns: recorded shapes, then the shapes beyond. If recorded shapes cover this share of the axis, one is enough.
RECORDED_INCHES, BEYOND_INCHES, ONLY_INCHES, ROW_INCHES = 2.1, 3.2, 3.8, 2.1
ENOUGH_RECORDED = 0.2
MAX_DENOMINATOR = 16
MAX_FIXED = 4
TITLE_CHARACTERS = 96
# Characters of the name of a layer.
MAX_LABEL = 22
OTHERS_COLOUR = "#888888"
BUDGET_COLOUR = "#B3261E"
# Tints of the area: recorded, and by formula only.
RECORDED_ALPHA, BEYOND_ALPHA = 0.62, 0.3


class NoFormula(InputError):
    """No peak has a formula."""

    code = 4


@dataclass(frozen=True)
class Layer:
    label: str
    phase: str
    bytes: np.ndarray


@dataclass(frozen=True)
class Curve:
    """Memory of one variant and set of words. `axes` has the values of every integer axis at each point."""

    variant: str
    words: str
    formula: str | None
    axis: str
    axes: dict[str, np.ndarray]
    peak: np.ndarray
    layers: list[Layer]
    unexplained: list[str]
    recorded_x: np.ndarray
    recorded_peak: np.ndarray
    budget: int | None
    within_budget: int | None
    """The value of the axis at the largest shape within the budget."""

    @property
    def operation(self) -> str:
        return self.variant.split("/")[0]

    @property
    def x(self) -> np.ndarray:
        return self.axes[self.axis]

    @property
    def recorded_end(self) -> float:
        return float(self.recorded_x[-1]) if len(self.recorded_x) else float(self.x[0])

    def has_beyond(self) -> bool:
        """True if the recorded shapes need a column of their own to be visible."""
        return self.recorded_end < ENOUGH_RECORDED * float(self.x[-1])


def _layers(entries: list[dict[str, Any]]) -> list[Layer]:
    """Returns inputs and outputs first, then by bytes at the end; the smallest together."""
    names = [entry["name"] or f"({entry['phase']})" for entry in entries]
    layers = [
        Layer(name if names.count(name) == 1 or not entry["where"] else f"{name} {entry['where']}", entry["phase"], np.array(entry["bytes"], float))
        for name, entry in zip(names, entries)
    ]
    order = {"inputs": 0, "outputs": 1}
    layers.sort(key=lambda layer: (order.get(layer.phase, 2), -layer.bytes[-1]))
    if len(layers) <= MAX_LAYERS:
        return layers
    by_size = sorted(layers, key=lambda layer: layer.bytes.max(), reverse=True)
    smallest = by_size[MAX_LAYERS - 1 :]
    shown = [layer for layer in layers if all(layer is not one for one in smallest)]
    return [*shown, Layer(f"{len(smallest)} smaller", "", sum(layer.bytes for layer in smallest))]


def _curve(entry: dict[str, Any]) -> Curve | None:
    curve = entry["curve"]
    if curve is None or not curve["peak"]:
        return None
    axis = curve["axis"]
    within = curve["within_budget"]
    return Curve(
        entry["variant"],
        words_text(entry["words"]),
        entry["peak"],
        axis,
        {name: np.array(values, float) for name, values in curve["axes"].items()},
        np.array(curve["peak"], float),
        _layers(curve["layers"]),
        curve["unexplained"],
        np.array(curve["recorded"]["axes"][axis], float),
        np.array(curve["recorded"]["peak"], float),
        curve["budget_bytes"],
        None if within is None else within["axes"][axis],
    )


def parse_curves(document: str) -> tuple[list[Curve], dict[str, Any]]:
    """Returns the curves and the facts of the run. Raises InputError, NoFormula if no peak has a formula."""
    with reading("explain --json"):
        root = json.loads(document)
        curves = [curve for entry in root["variants"] if (curve := _curve(entry)) is not None]
        context = root["run"]
        without = [f"{entry['variant']}  {words_text(entry['words'])}".strip() for entry in root["variants"] if entry["curve"] is None]
    if not curves:
        raise NoFormula("nothing to draw: no peak has a formula, or no axis grows: " + ", ".join(without))
    return curves, context


def _ratio_text(values: np.ndarray, x: np.ndarray, axis: str) -> str | None:
    """Returns `ny`, `ny/2` or `3·ny/4`; None if the axis is no such share of `axis` at every point."""
    ratio = Fraction(values[-1] / x[-1]).limit_denominator(MAX_DENOMINATOR)
    if np.any(np.abs(values - x * float(ratio)) > 0.5 + 1e-9):
        return None
    factor = "" if ratio.numerator == 1 else f"{ratio.numerator}·"
    return f"{factor}{axis}" + ("" if ratio.denominator == 1 else f"/{ratio.denominator}")


def axis_text(curve: Curve) -> str:
    """Returns the axis with those that grow with it and those that stay: `ny  (nx = ny, pad = ny/2, n 1)`."""
    groups: dict[str, list[str]] = {}
    fixed = []
    for name, values in curve.axes.items():
        if name == curve.axis:
            continue
        if np.all(values == values[0]):
            if values[0] != 0:
                fixed.append(f"{name}\u00a0{values[0]:g}")
            continue
        share = _ratio_text(values, curve.x, curve.axis) or f"{values[0]:g} to {values[-1]:g}"
        groups.setdefault(share, []).append(name)
    notes = [f"{', '.join(names)} = {share}" for share, names in groups.items()] + fixed[:MAX_FIXED]
    if len(fixed) > MAX_FIXED:
        notes.append("…")
    return f"{curve.axis}  ({'; '.join(notes)})" if notes else curve.axis


def _clipped(curve: Curve, low: float, high: float) -> np.ndarray:
    return (curve.x >= low) & (curve.x <= high)


def _draw_area(axes, curve: Curve, colours: dict[str, str], high: float) -> None:
    """Draws the stack up to `high`: strong where shapes were recorded, pale and with a dashed edge beyond."""
    end = curve.recorded_end
    for low, top, alpha, line in ((curve.x[0], min(end, high), RECORDED_ALPHA, "-"), (end, high, BEYOND_ALPHA, "--")):
        chosen = _clipped(curve, low, top)
        if chosen.sum() < 2:
            continue
        bottom = np.zeros(int(chosen.sum()))
        for layer in curve.layers:
            above = bottom + layer.bytes[chosen]
            axes.fill_between(
                curve.x[chosen], bottom, above, facecolor=colours[layer.label], alpha=alpha, edgecolor="white", linewidth=0.4
            )
            bottom = above
        axes.plot(curve.x[chosen], curve.peak[chosen], linestyle=line, color="black", linewidth=1.1)
    shown = curve.recorded_x <= high
    axes.plot(
        curve.recorded_x[shown], curve.recorded_peak[shown], linestyle="none", marker="o", markersize=3.6, color="black",
        markeredgecolor="white", markeredgewidth=0.5, zorder=4, clip_on=False,
    )  # fmt: skip


def _layer_text(label: str, size: float) -> str:
    return f"{label} {size_text(size)}".replace(" ", "\u00a0")


def _ends(curves: Sequence[Curve]) -> list[tuple[str, float]]:
    """Returns the labels of all layers and their bytes at the end."""
    return [
        (short_names([one.label for one in curve.layers], MAX_LABEL)[layer.label], float(layer.bytes[-1]))
        for curve in curves
        for layer in curve.layers
    ]


def _label_layers(axes, curve: Curve, colours: dict[str, str]) -> list:
    labels = []
    bottom = 0.0
    names = short_names([layer.label for layer in curve.layers], MAX_LABEL)
    for layer in curve.layers:
        size = float(layer.bytes[-1])
        text = _layer_text(names[layer.label], size)
        labels.append(add_label(axes, text, (float(curve.x[-1]), bottom + size / 2), colours[layer.label]))
        bottom += size
    total = "known part" if curve.unexplained else "peak"
    labels.append(add_label(axes, f"{total} {size_text(curve.peak[-1])}".replace(" ", "\u00a0"), (float(curve.x[-1]), bottom), "black"))
    labels[-1].text.set_fontweight("bold")
    return labels


def _draw_budget(axes, curve: Curve) -> None:
    if curve.budget is None:
        return
    budget = size_text(curve.budget)
    if curve.within_budget is not None:
        axes.axhline(curve.budget, color=BUDGET_COLOUR, linewidth=0.9)
        axes.plot([curve.within_budget] * 2, [0, curve.budget], color=BUDGET_COLOUR, linewidth=0.9, linestyle=":")
        axes.plot(
            [curve.within_budget], [curve.budget], marker="v", color=BUDGET_COLOUR, markersize=6, linestyle="none", zorder=5
        )
        text = f"{budget}: up to {curve.axis} {curve.within_budget:,}"
    elif curve.budget < curve.peak[0]:
        text = f"{budget} is too little for every shape here"
    else:
        text = f"{budget} is not reached"
    axes.annotate(
        text, (0.02, curve.budget if curve.within_budget is not None else 0.97),
        xycoords=("axes fraction", "data" if curve.within_budget is not None else "axes fraction"),
        xytext=(0, 3 if curve.within_budget is not None else 0), textcoords="offset points",
        fontsize=7, color=BUDGET_COLOUR, va="bottom" if curve.within_budget is not None else "top",
    )  # fmt: skip


def _top(curve: Curve, high: float) -> float:
    shown = _clipped(curve, 0, high)
    top = float(curve.peak[shown].max()) if shown.any() else 1.0
    recorded = curve.recorded_peak[curve.recorded_x <= high]
    return max(top, float(recorded.max()) if len(recorded) else 0.0)


def _set_scales(axes, curve: Curve, high: float, top: float) -> None:
    # Linear, since areas are compared.
    low = 0.0 if curve.x[0] < 0.2 * high else float(curve.x[0])
    set_axis(axes.xaxis, Scale(low, high, False), "count", [low, high])
    set_axis(axes.yaxis, Scale(0, 1.14 * top, False), "bytes")


def _colours(curves: Sequence[Curve]) -> dict[str, str]:
    """Returns one colour per label, the same in every row."""
    labels = list(dict.fromkeys(layer.label for curve in curves for layer in curve.layers))
    palette = COLOURS[:-1]  # black is the peak
    return {
        label: OTHERS_COLOUR if label.endswith(" smaller") else palette[i % len(palette)] for i, label in enumerate(labels)
    }


def _row_title(curve: Curve) -> str:
    name = f"{curve.variant}  {curve.words}".strip()
    formula = None if curve.formula is None else "peak = " + formula_text(curve.formula)
    lines = textwrap.wrap(name, TITLE_CHARACTERS)
    if formula is not None and len(formula) <= TITLE_CHARACTERS:
        lines.append(formula)
    return "\n".join(lines)


def draw_curves(curves: Sequence[Curve], context: dict) -> pyplot.Figure:
    """Draws a row for each curve: recorded shapes on the left, extrapolated on the right; one column if the recorded shapes
    are visible there."""
    use_style()
    colours = _colours(curves)
    columns = 2 if any(curve.has_beyond() for curve in curves) else 1
    labels_inches = INCHES_PER_CHARACTER * (3 + max(len(_layer_text(layer, size)) for layer, size in _ends(curves)))
    widths = [RECORDED_INCHES, BEYOND_INCHES] if columns == 2 else [ONLY_INCHES]
    heights = [max(ROW_INCHES, 0.7 + INCHES_PER_LINE * (len(curve.layers) + 1)) for curve in curves]
    drawing, grid = pyplot.subplots(
        len(curves), columns, squeeze=False, layout="constrained", width_ratios=widths, height_ratios=heights,
        figsize=(sum(widths) + labels_inches + 0.6, sum(heights) + 0.45 * len(curves) + 0.7),
    )  # fmt: skip
    tops = [_top(curve, float(curve.x[-1])) for curve in curves]
    # One scale, so that rows can be compared, unless the smallest could not be seen.
    if max(tops) <= 4 * min(tops):
        tops = [max(tops)] * len(tops)
    labels, notes = {}, set()
    for row, curve, top in zip(grid, curves, tops):
        whole = row[-1]
        end = float(curve.x[-1])
        top = max(top, float(curve.budget)) if curve.within_budget is not None else top
        _set_scales(whole, curve, end, top)
        _draw_area(whole, curve, colours, end)
        _draw_budget(whole, curve)
        labels[whole] = _label_layers(whole, curve, colours)
        row[0].set_title(_row_title(curve), loc="left", fontsize=7.5)
        whole.set_xlabel(textwrap.fill(axis_text(curve), 56))
        row[0].set_ylabel("device memory")
        notes.update(curve.unexplained)
        if columns == 2:
            if curve.has_beyond() and len(curve.recorded_x) > 1:
                _set_scales(row[0], curve, curve.recorded_end, _top(curve, curve.recorded_end))
                _draw_area(row[0], curve, colours, curve.recorded_end)
                row[0].set_xlabel(f"{curve.axis}, recorded shapes")
            else:
                row[0].text(0.5, 0.5, "no recorded shape\nis on this line", ha="center", va="center", transform=row[0].transAxes, color="0.4")
                row[0].set_axis_off()
    caption = ["Area: what is live at the peak, by formula", "Dots: recorded", "Dashed: beyond the recorded shapes"]
    if notes:
        caption.append(f"Without a formula, not drawn: {', '.join(sorted(notes))}")
    set_texts(drawing, f"{curves[0].operation}: memory by formula", caption_text(context, caption))
    place_labels(drawing, labels)
    return drawing


def write_curves(document: str, output: Path) -> list[Path]:
    """Draws a figure for each operation; of several the files are named `OUTPUT-OPERATION`."""
    curves, context = parse_curves(document)
    operations = list(dict.fromkeys(curve.operation for curve in curves))
    written = []
    for operation in operations:
        name = output.stem if len(operations) == 1 else f"{output.stem}-{operation}"
        drawing = draw_curves([curve for curve in curves if curve.operation == operation], context)
        written += save(drawing, output.parent, name, [output.suffix.removeprefix(".")])
    return written
