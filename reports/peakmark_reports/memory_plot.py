"""Draws memory, time and estimates against shape: a figure per operation, a row per metric, a column per panel, a line per
variant or per value of an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from .run_file import with_ratio
from .figure_style import (
    COLOURS,
    INCHES_PER_LINE,
    MARKERS,
    MAX_NAME,
    WIDE,
    WIDE_TIMES,
    Look,
    Scale,
    add_label,
    amount_scale,
    caption_text,
    joined_label,
    place_labels,
    pyplot,
    ratio_scale,
    set_axis,
    set_texts,
    set_words,
    shape_scale,
    shades,
    short_names,
    shortened,
    use_style,
    wrapped,
)
from .common import size_text, time_text
from .series import FLOOR, Figure, Panel, axis_name, evenly, merged, x_label

# Min width of a column with its labels, and the height of a row.
COLUMN_INCHES, ROW_INCHES = 3.2, 1.7
TITLE_CHARACTERS, TITLE_CHARACTERS_PER_INCH = 32, 10
# Share of an axis within which two lines look like one.
LOOKS_EQUAL = 0.006
# Maximum number of markers of a line in a panel, and of its estimates.
MAX_MARKERS = 20
REFERENCE = "0.35"
OUTSIDE = "#B3261E"
SHAPES = ("peak", "overhead", "time", "throughput")

Styles = dict[str, dict]


@dataclass(frozen=True)
class Line:
    """A line to draw, or points if its style says so. A `y` of NaN is a gap: a planned case that was not measured."""

    name: str
    x: np.ndarray
    y: np.ndarray
    style: dict
    low: np.ndarray | None = None  # of the spread, if known
    high: np.ndarray | None = None

    def end(self) -> tuple[float, float]:
        last = np.flatnonzero(np.isfinite(self.y))[-1]
        return float(self.x[last]), float(self.y[last])


@dataclass(frozen=True)
class Metric:
    """The metric of a row of panels. `references` returns (name, values, style) of lines that are no variants."""

    label: Callable[[pd.DataFrame, dict], str]
    values: Callable[[pd.DataFrame], pd.Series]
    unit: str
    text: Callable[[float], str]
    references: Callable[[pd.DataFrame], list[tuple[str, pd.Series, dict]]] = lambda _cases: []
    # Values of the estimate on the same axis, if there are any.
    estimates: Callable[[pd.DataFrame], pd.Series] | None = None
    spread: tuple[str, str] | None = None
    has_window: bool = False


def times_text(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}g}×"


def end_texts(values: Sequence[float], text: Callable[[float], str]) -> list[str]:
    """Returns the values at the ends of lines. Ratios have as many digits as distinguish different ones."""
    if text is not times_text:
        return [text(value) for value in values]

    def shortest(value: float) -> str:
        others = [other for other in values if other != value]
        return next(
            (one for digits in range(3, 6) if (one := times_text(value, digits)) not in [times_text(other, digits) for other in others]),
            times_text(value, 6),
        )

    return [shortest(value) for value in values]


def _times_floor(cases: pd.DataFrame, column: str) -> pd.Series:
    return cases[column] / cases["floor"].where(cases["floor"] > 0)


def _floor_lines(cases: pd.DataFrame) -> list[tuple[str, pd.Series, dict]]:
    """Returns one line, or several if the floors of variants differ (in-place variants, for example)."""
    style = {"linestyle": ":", "linewidth": 1.4}
    known = cases.dropna(subset=["floor"])
    if (known.groupby("x")["floor"].nunique() <= 1).all():
        return [("floor", known.drop_duplicates("x")["floor"], style)] if len(known) else []
    # Points, or shades of one variant, have too many floors.
    if known.duplicated(["variant", "x"]).any():
        return []
    lines: dict[tuple, tuple[list[str], pd.Series]] = {}
    for variant, of_variant in known.groupby("variant", sort=False):
        key = tuple(zip(of_variant["x"], of_variant["floor"]))
        lines.setdefault(key, ([], of_variant["floor"]))[0].append(variant.split("/", 1)[-1])
    def label(names: list[str]) -> str:
        every = f"floor of {', '.join(names)}"
        return every if len(every) <= MAX_NAME or len(names) == 1 else f"floor of {len(names)} variants"

    return [(shortened(label(names), MAX_NAME), floors, style) for names, floors in lines.values()]


def _level(name: str, value: float, cases: pd.DataFrame, linestyle: str) -> tuple[str, pd.Series, dict]:
    at = cases.drop_duplicates("x")
    return name, pd.Series(value, index=at.index), {"linestyle": linestyle, "linewidth": 1.2}


def _floor_level(cases: pd.DataFrame) -> list[tuple[str, pd.Series, dict]]:
    return [_level("floor", 1.0, cases, ":")]


def _copy_level(cases: pd.DataFrame) -> list[tuple[str, pd.Series, dict]]:
    """Returns the level of the run's reference copy, which a memory-bound kernel can reach."""
    known = cases.dropna(subset=["bytes_per_second", "share_of_copy"])
    if not len(known):
        return []
    return [_level("copy", (known["bytes_per_second"] / known["share_of_copy"]).median() * 1e-9, cases, "-.")]


def _time_label(cases: pd.DataFrame, context: dict) -> str:
    """Returns `cold time, CPU device` if all times are cold."""
    is_cold = set(cases.dropna(subset=["time"])["cache"]) == {"cold"}
    return ("cold time" if is_cold else "time") + (", CPU device" if context.get("device_is_cpu") else "")


METRICS = {
    "peak": Metric(
        lambda _cases, _context: "peak memory",
        lambda cases: cases["peak"],
        "bytes",
        size_text,
        _floor_lines,
        lambda cases: cases["estimate"],
    ),
    "overhead": Metric(
        lambda _cases, _context: "peak / floor",
        lambda cases: _times_floor(cases, "peak"),
        "ratio",
        times_text,
        _floor_level,
        lambda cases: _times_floor(cases, "estimate"),
    ),
    "time": Metric(_time_label, lambda cases: cases["time"], "time", time_text, spread=("time_min", "time_max")),
    "throughput": Metric(
        lambda _cases, _context: "GB/s",
        lambda cases: cases["bytes_per_second"] * 1e-9,
        "rate",
        lambda value: f"{value:.3g}",
        _copy_level,
    ),
    "estimate": Metric(
        lambda _cases, _context: "peak / estimate",
        lambda cases: with_ratio(cases)["ratio"].reindex(cases.index),
        "ratio",
        lambda value: f"{value:.3f}",
        lambda cases: [_level("exact", 1.0, cases, ":")],
        has_window=True,
    ),
}


def metric_named(name: str) -> Metric:
    """Returns a metric of peakmark, or one that the program reports."""
    column = f"metric:{name}"
    own = Metric(
        lambda _cases, _context: name,
        lambda cases: cases[column] if column in cases else pd.Series(np.nan, cases.index),
        "number",
        lambda value: f"{value:.4g}",
    )
    return METRICS.get(name, own)


NOTES = {
    "floor": "Floor (dotted): input + output",
    "estimate": "Black tick: estimate within its window",
    "outside": "Red ×: estimate outside its window",
    "spread": "Bars: fastest to slowest repetition",
    "copy": "Dash-dotted: a copy on the same device",
    "window": "Shaded: window of the estimate",
}


def line_styles(figure: Figure) -> Styles:
    """Returns a colour and a marker per line; from the eighth on, colours repeat with other markers."""
    count = len(COLOURS)
    lines = figure.lines
    colours = shades(len(lines)) if figure.is_graded else COLOURS
    join = {} if figure.is_joined else {"linestyle": "none"}
    return {
        line: {
            "color": colours[i % len(colours)],
            "marker": MARKERS[(i + i // count) % len(MARKERS)],
            "markeredgecolor": "white",
            "markeredgewidth": 0.4,
        }
        | join
        for i, line in enumerate(lines)
    }


def _lines(metric: Metric, cases: pd.DataFrame, styles: Styles, names: dict[str, str], has_words: bool) -> list[Line]:
    """Returns the lines in the order of their styles, then the references."""
    values = metric.values(cases)
    lines = []
    for line, style in styles.items():
        mine = cases["line"] == line
        if not values[mine].notna().any():
            continue
        low, high = (cases.loc[mine, column].to_numpy(float) for column in metric.spread) if metric.spread else (None, None)
        lines.append(Line(names[line], cases.loc[mine, "x"].to_numpy(), values[mine].to_numpy(float), style, low, high))
    measured = cases[cases["peak"].notna()]
    # Nothing is between two words.
    step = {"drawstyle": "steps-mid"} if has_words else {}
    for name, level, style in metric.references(measured) if lines else []:
        at = cases.loc[level.index, "x"].to_numpy()
        lines.append(Line(name, at, level.to_numpy(float), {"color": REFERENCE, "zorder": 1} | step | style))
    return lines


def _look_equal(one: Line, other: Line, scale: Scale) -> bool:
    if not np.array_equal(one.x, other.x) or not np.array_equal(np.isnan(one.y), np.isnan(other.y)):
        return False
    known = np.isfinite(one.y)
    return bool(np.max(np.abs(scale.place(one.y[known]) - scale.place(other.y[known]))) <= LOOKS_EQUAL)


def joined(lines: Sequence[Line], scale: Scale) -> list[list[Line]]:
    """Groups lines that look equal: the first of a group is drawn, with a label for all."""
    groups: list[list[Line]] = []
    for line in lines:
        group = next((group for group in groups if _look_equal(group[0], line, scale)), None)
        if group is None:
            groups.append([line])
        else:
            group.append(line)
    return groups


def _group_labels(groups: Sequence[list[Line]], metric: Metric) -> list[str]:
    labels = []
    for group, text in zip(groups, end_texts([group[0].end()[1] for group in groups], metric.text)):
        is_exact = all(np.array_equal(group[0].y, line.y, equal_nan=True) for line in group)
        labels.append(joined_label([line.name for line in group], is_exact, text))
    return labels


def _row_scale(metric: Metric, panels: Sequence[Panel], lines: Sequence[list[Line]], x_is_log: bool, look: Look) -> Scale:
    values = [part for panel_lines in lines for line in panel_lines for part in (line.y, line.low, line.high)]
    for panel in panels:
        if metric.estimates:
            values.append(metric.estimates(with_ratio(panel.cases)).to_numpy(float))
        if metric.has_window:
            values += [panel.cases[column].to_numpy(float) for column in ("window_lo", "window_hi")]
    every = np.concatenate([part for part in values if part is not None])
    if metric.unit == "ratio" or np.any(every < 0):
        return ratio_scale(every, look)
    return amount_scale(every, x_is_log and metric.unit != "rate", WIDE_TIMES if metric.unit == "time" else WIDE, look)


@dataclass
class _Row:
    """The lines and labels of a metric in every panel."""

    metric: Metric
    scale: Scale
    groups: list[list[list[Line]]]  # of each panel
    labels: list[list[str]] = field(default_factory=list)


def _rows(figure: Figure, metrics: Sequence[Metric], styles: Styles, x_is_log: bool, look: Look) -> list[_Row]:
    names = short_names([line.split("/", 1)[-1] for line in styles])
    by_line = {line: names[line.split("/", 1)[-1]] for line in styles}
    rows = []
    for metric in metrics:
        lines = [_lines(metric, panel.cases, styles, by_line, figure.has_words) for panel in figure.panels]
        scale = _row_scale(metric, figure.panels, lines, x_is_log, look)
        groups = [joined(panel_lines, scale) for panel_lines in lines]
        rows.append(_Row(metric, scale, groups, [_group_labels(one, metric) for one in groups]))
    return rows


def _draw_estimates(axes, metric: Metric, cases: pd.DataFrame) -> set[str]:
    """Draws a marker per estimate, by its verdict."""
    judged = with_ratio(cases)
    values = metric.estimates(judged)
    outside = judged["outside"]
    # Ticks that touch each other would hide the lines.
    is_shown = judged["x"].isin(evenly(sorted(judged["x"].unique()), MAX_MARKERS))
    drawn = set()
    for note, chosen, style in (
        ("estimate", ~outside & is_shown, {"marker": "_", "color": "black", "markersize": 8}),
        ("outside", outside, {"marker": "x", "color": OUTSIDE, "markersize": 6}),
    ):
        if chosen.any():
            axes.plot(judged["x"][chosen], values[chosen], linestyle="none", markeredgewidth=0.8, zorder=4, **style)
            drawn.add(note)
    return drawn


def _draw_panel(axes, row: _Row, place: int, panel: Panel) -> tuple[list, set[str]]:
    """Draws a panel; returns the labels, and the notes that the caption needs."""
    metric, notes = row.metric, set()
    if metric.has_window and row.groups[place]:
        bounds = panel.cases.groupby("x").agg(low=("window_lo", "min"), high=("window_hi", "max"))
        axes.fill_between(bounds.index, bounds["low"], bounds["high"], color="0.5", alpha=0.18, linewidth=0, zorder=0)
        notes.add("window")
    labels = []
    for group, text in zip(row.groups[place], row.labels[place]):
        line = group[0]
        # The markers of a long line would touch each other; that of its end is drawn.
        step = 1 if line.style.get("linestyle") == "none" else -(-len(line.x) // MAX_MARKERS)
        axes.plot(line.x, line.y, markevery=((len(line.x) - 1) % step, step), **({"zorder": 2} | line.style))
        if line.low is not None:
            # Only bars: no line connects them.
            axes.errorbar(
                line.x, line.y, yerr=np.maximum([line.y - line.low, line.high - line.y], 0), fmt="none", ecolor=line.style["color"],
                elinewidth=0.7, capsize=1.5, alpha=0.7, zorder=1,
            )  # fmt: skip
            notes.add("spread")
        notes |= {one.name.split(" ")[0] for one in group if one.style["color"] == REFERENCE} & set(NOTES)
        labels.append(add_label(axes, text, line.end(), line.style["color"]))
    if metric.estimates:
        notes |= _draw_estimates(axes, metric, panel.cases)
    return labels, notes


def _heights(rows: Sequence[_Row]) -> list[float]:
    """Returns the height of each row in inches, so that labels fit."""
    return [
        max(ROW_INCHES, 0.5 + INCHES_PER_LINE * max(sum(1 + text.count("\n") for text in panel) for panel in row.labels))
        for row in rows
    ]


def _with_places(figure: Figure) -> tuple[Figure, list[str]]:
    """Returns the figure with the column `x` of numbers, and the words that these are the places of."""
    words = list(dict.fromkeys(figure.cases[figure.x])) if figure.has_words else []
    place = {word: float(i) for i, word in enumerate(words)}
    panels = [
        replace(panel, cases=panel.cases.assign(x=panel.cases[figure.x].map(place) if words else panel.cases[figure.x].astype(float)))
        for panel in figure.panels
    ]
    return replace(figure, panels=panels), words


def _against(metric: Metric, line: str, shape: Sequence[str]) -> Metric:
    """Returns the metric as a ratio to that of the line at the same values of the columns `shape`, else of all axes."""

    def ratios(cases: pd.DataFrame) -> pd.Series:
        columns = shape or [column for column in cases if column.startswith("axis:") and cases[column].notna().all()]
        shapes = list(cases[list(columns)].itertuples(index=False, name=None))
        values = metric.values(cases)
        base = {shape: value for shape, value, one in zip(shapes, values, cases["line"]) if one == line and value > 0}
        return values / pd.Series([base.get(shape, np.nan) for shape in shapes], cases.index)

    name = line.split("/", 1)[-1]
    return Metric(
        lambda cases, context: f"{metric.label(cases, context)} / {shortened(name, MAX_NAME)}", ratios, "ratio", times_text
    )


def _chosen_metrics(figure: Figure, metrics: Sequence[str], look: Look) -> list[Metric]:
    """Returns the metrics that have data, as ratios if the user wants them; none if the figure has no line to be compared with."""
    chosen = [metric_named(name) for name in metrics]
    if look.against is not None:
        line = next((line for line in figure.lines if look.against in (line, line.split("/", 1)[-1])), None)
        if line is None:
            return []
        # The floor is the same: peak / floor has the same ratios as the peak.
        chosen = [metric_named(name) for name in metrics if name != "overhead" or "peak" not in metrics]
        # Other points have several cases of a line at one x.
        shape = ["x", figure.y] if figure.y else ["x"] if figure.is_joined or figure.has_words else []
        chosen = [_against(metric, line, shape) for metric in chosen]
    return [metric for metric in chosen if any(metric.values(panel.cases).notna().any() for panel in figure.panels)]


def _facts(cases: pd.DataFrame, y: str | None, metrics: Sequence[Metric]) -> str:
    """Returns all that a panel shows; of equal panels one is drawn."""
    columns = [*([y] if y else []), "line", "x", "floor", "estimate", "window_lo", "window_hi", "share_of_copy"]
    shown = {f"metric {i}": metric.values(cases) for i, metric in enumerate(metrics)}
    return cases[columns].assign(**shown).to_csv(index=False)


def prepared(figure: Figure, metrics: Sequence[str], look: Look) -> tuple[Figure, list[str], list[Metric]]:
    """Returns the figure with the column `x` of numbers and without panels that show the same, the words that these numbers are the
    places of, and the metrics that have data."""
    figure, words = _with_places(figure)
    known = _chosen_metrics(figure, metrics, look)
    return replace(figure, panels=merged(figure.panels, lambda cases: _facts(cases, figure.y, known))), words, known


def draw(figure: Figure, context: dict, metrics: Sequence[str] = SHAPES, look: Look = Look()) -> pyplot.Figure | None:
    """Draws a row per metric with data. Returns None if no metric has data."""
    use_style()
    figure, words, known = prepared(figure, metrics, look)
    if not known:
        return None
    panels, every = figure.panels, figure.cases
    x_scale = shape_scale(every["x"], axis_name(figure.x), Look() if words else look)
    rows = _rows(figure, known, line_styles(figure), x_scale.is_log and not words, look)
    columns = look.columns(len(panels), COLUMN_INCHES)
    blocks = -(-len(panels) // columns)
    heights = _heights(rows)
    drawing, grid = pyplot.subplots(
        blocks * len(rows), columns, figsize=(look.inches(columns), blocks * sum(heights) + 0.9), squeeze=False, layout="constrained",
        height_ratios=heights * blocks,
    )  # fmt: skip
    for axes in grid.flat:
        axes.set_visible(False)
    labels, notes = {}, set()
    for place, panel in enumerate(panels):
        block, column = divmod(place, columns)
        shown = [grid[block * len(rows) + i][column] for i in range(len(rows))]
        for axes, row in zip(shown, rows):
            axes.set_visible(bool(row.groups[place]))
            set_axis(axes.xaxis, x_scale, "bytes" if figure.x == FLOOR else "count", every["x"])
            set_axis(axes.yaxis, row.scale, row.metric.unit)
            if words:
                set_words(axes, words)
            labels[axes], needed = _draw_panel(axes, row, place, panel)
            notes |= needed
            if column == 0:
                axes.set_ylabel(row.metric.label(every, context))
            else:
                axes.tick_params(labelleft=False)
        shown[0].set_title(wrapped(panel.title, TITLE_CHARACTERS), loc="left")
        if place + columns >= len(panels):
            shown[-1].set_xlabel(wrapped(x_label(figure), int(look.inches(columns) / columns * TITLE_CHARACTERS_PER_INCH)))
    caption = [*(text for note, text in NOTES.items() if note in notes), *figure.notes]
    set_texts(drawing, figure.name, caption_text(context, caption))
    place_labels(drawing, labels)
    return drawing
