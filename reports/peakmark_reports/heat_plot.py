"""Draws metrics against two axes: a heat map per line, a row per metric and panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import matplotlib
import numpy as np
from matplotlib.colors import LogNorm, Normalize

from .figure_style import Look, amount_scale, caption_text, pyplot, ratio_scale, set_texts, set_ticks, shortened, use_style, wrapped
from .memory_plot import SHAPES, prepared
from .series import Figure, axis_name, evenly, is_words, value_text

# Min width of a heat map and of a tick, the height of a map, and the width of a character in a cell.
COLUMN_INCHES, TICK_INCHES, ROW_INCHES, CHARACTER_INCHES = 1.5, 0.26, 1.7, 0.05
MAX_TEXT_ROWS = 8
BAR_INCHES, Y_LABEL_INCHES = 0.9, 0.5
MAX_TITLE = 24


def _ticks(axis, values: Sequence, inches: float) -> None:
    """Sets the values of an axis of cells, as many as fit."""
    places = evenly(range(len(values)), max(2, int(inches / TICK_INCHES)))
    is_wide = axis.axis_name == "x" and max(len(value_text(value)) for value in values) > 5
    axis.set_ticks(places, [shortened(value_text(values[i]), MAX_TITLE) for i in places], **({"rotation": 90} if is_wide else {}))


def _values(figure: Figure, column: str) -> list:
    values = figure.cases[column].dropna().drop_duplicates()
    return list(values if is_words(values) else values.sort_values())


def _draw_texts(axes, table: np.ndarray, image, text: Callable[[float], str], inches: float) -> None:
    """Draws the value of each cell, if all fit."""
    texts = {place: text(value) for place, value in np.ndenumerate(table) if np.isfinite(value)}
    if len(table) > MAX_TEXT_ROWS or max(map(len, texts.values()), default=0) * CHARACTER_INCHES > inches:
        return
    for (row, column), shown in texts.items():
        red, green, blue, _alpha = image.cmap(image.norm(table[row, column]))
        is_dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.45
        axes.text(column, row, shown, ha="center", va="center", fontsize=6, color="white" if is_dark else "black")


def draw_heat(figure: Figure, context: dict, metrics: Sequence[str] = SHAPES, look: Look = Look()) -> pyplot.Figure | None:
    """Draws the figure, which has x and y. Returns None if no metric has data."""
    use_style()
    figure, _words, known = prepared(figure, metrics, look)
    if not known:
        return None
    xs, ys, lines = _values(figure, figure.x), _values(figure, figure.y), figure.lines
    width = look.inches(2)
    columns = min(len(lines), max(1, int((width - BAR_INCHES) / COLUMN_INCHES)))
    blocks = -(-len(lines) // columns)
    rows = [(metric, panel) for metric in known for panel in figure.panels]
    cell = ((width - BAR_INCHES) / columns - Y_LABEL_INCHES) / len(xs)
    drawing, grid = pyplot.subplots(
        len(rows) * blocks, columns, squeeze=False, layout="constrained", figsize=(width, ROW_INCHES * len(rows) * blocks + 0.9),
    )
    for axes in grid.flat:
        axes.set_visible(False)
    cmap = matplotlib.colormaps["viridis_r"].with_extremes(bad="white")
    has_gaps = False
    for i, (metric, panel) in enumerate(rows):
        every = np.concatenate([metric.values(one.cases).to_numpy(float) for one in figure.panels])
        scale = ratio_scale(every, look) if metric.unit == "ratio" or np.any(every < 0) else amount_scale(every, True, look=look)
        values = panel.cases.assign(value=metric.values(panel.cases))
        band = grid[i * blocks : (i + 1) * blocks]
        for place, (axes, line) in enumerate(zip(band.flat, lines)):
            axes.set_visible(True)
            mine = values[values["line"] == line].set_index([figure.y, figure.x])["value"]
            table = mine.unstack().reindex(index=ys, columns=xs).to_numpy(float)
            has_gaps |= bool(np.isnan(table).any())
            norm = (LogNorm if scale.is_log else Normalize)(scale.low, scale.high)
            image = axes.imshow(table, origin="lower", aspect="auto", cmap=cmap, norm=norm)
            axes.grid(visible=False)
            _draw_texts(axes, table, image, metric.text, cell)
            _ticks(axes.xaxis, xs, cell * len(xs))
            _ticks(axes.yaxis, ys, ROW_INCHES)
            axes.set_title(shortened(line.split("/", 1)[-1], MAX_TITLE))
            if place % columns == 0:
                axes.set_ylabel("\n".join(part for part in (wrapped(panel.title, MAX_TITLE), axis_name(figure.y)) if part))
            if i == len(rows) - 1 and place + columns >= len(lines):
                axes.set_xlabel(axis_name(figure.x))
        bar = drawing.colorbar(image, ax=band.ravel().tolist(), label=metric.label(figure.cases, context))
        set_ticks(bar.ax.yaxis, scale, metric.unit)
    notes = (["White: not measured"] if has_gaps else []) + figure.notes
    set_texts(drawing, f"{figure.name}: {axis_name(figure.x)} and {axis_name(figure.y)}", caption_text(context, notes))
    return drawing
