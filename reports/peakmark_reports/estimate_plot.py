"""Peak over estimate against shape, with the window it must lie in."""

from __future__ import annotations

import pandas as pd

from .estimators import with_ratio
from .figure_style import device_text, pyplot, set_count_axis, set_size_axis, use_style
from .memory_plot import INCHES_A_LEGEND_ENTRY, MARGIN, MOST_COLUMNS, Styles, variant_styles
from .series import Figure, Panel, x_label


def _draw_panel(axes, panel: Panel, x: str, styles: Styles) -> None:
    every = panel.cases
    axes.fill_between(
        *zip(*[(value, group["window_lo"].min(), group["window_hi"].max()) for value, group in every.groupby(x)]),
        color="0.5", alpha=0.18, linewidth=0, zorder=0,
    )
    axes.axhline(1, linestyle=":", color="0.3", linewidth=1.2, zorder=1)
    for variant, style in styles.items():
        cases = every[every["variant"] == variant]
        axes.plot(cases[x], cases["ratio"], **style, zorder=2)


def draw_estimates(figure: Figure, context: dict) -> pyplot.Figure | None:
    """A line a variant, a panel a mode. None where no case of the figure has an estimate."""
    panels = [Panel(panel.title, with_ratio(panel.cases)) for panel in figure.panels]
    panels = [panel for panel in panels if len(panel.cases)]
    if not panels:
        return None
    use_style()
    every = pd.concat([panel.cases for panel in panels])
    styles = variant_styles(list(dict.fromkeys(every["variant"])))
    columns = min(len(panels), MOST_COLUMNS)
    rows = -(-len(panels) // columns)
    drawing, grid = pyplot.subplots(
        rows, columns, figsize=(max(4.2, 1.9 * columns + 0.6), 1.6 * rows + 0.8), squeeze=False, sharey=True,
        layout="constrained",
    )
    low, high = every[figure.x].min(), every[figure.x].max()
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, panel in zip(grid.flat, panels):
        axes.set_xscale("log", base=2)
        _draw_panel(axes, panel, figure.x, styles)
        (set_size_axis if figure.x == "floor" else set_count_axis)(axes.xaxis, low, high)
        axes.set_xlim(low / MARGIN, high * MARGIN)
        axes.set_title(panel.title)
        axes.set_xlabel(x_label(figure))
    for row in grid:
        row[0].set_ylabel("peak / estimate")
    ends = [every["ratio"].min(), every["ratio"].max(), every["window_lo"].min(), every["window_hi"].max()]
    room = 0.06 * (max(ends) - min(ends) or 1)
    grid[0][0].set_ylim(min(ends) - room, max(ends) + room)
    handles = [pyplot.Line2D([], [], **style, label=variant.split("/", 1)[-1]) for variant, style in styles.items()]
    handles.append(pyplot.Rectangle((0, 0), 1, 1, color="0.5", alpha=0.25, linewidth=0, label="window"))
    count = max(1, min(len(handles), int(drawing.get_figwidth() / INCHES_A_LEGEND_ENTRY)))
    drawing.legend(handles=handles, loc="outside lower center", ncols=count, frameon=False)
    drawing.suptitle(f"{figure.name}: peak over estimate\n{device_text(context)}", fontsize=8)
    return drawing
