"""Memory and time against shape: a figure an operation, a line a variant."""

from __future__ import annotations

import pandas as pd

from .figure_style import COLOURS, MARKERS, device_text, pyplot, set_count_axis, set_size_axis, set_time_axis, use_style
from .series import Figure, Panel, x_label

MOST_COLUMNS = 4
INCHES_A_LEGEND_ENTRY = 1.6
# Room around the points, as a factor: the axes are logarithmic.
MARGIN = 1.4
# Points that the first of the variants is wider than the last, in its line and in its markers.
WIDER_LINE, WIDER_MARKER = 1.6, 4.0

Styles = dict[str, dict]


def variant_styles(variants: list[str]) -> Styles:
    """Later variants are drawn over earlier ones and are narrower, in hollow markers: of lines that fall together each is seen."""
    last = len(variants) - 1
    wider = [1 - i / last if last else 0 for i in range(len(variants))]
    return {
        variant: {
            "color": COLOURS[i % len(COLOURS)],
            "marker": MARKERS[i % len(MARKERS)],
            "markerfacecolor": "white",
            "linewidth": pyplot.rcParams["lines.linewidth"] + WIDER_LINE * wider[i],
            "markersize": pyplot.rcParams["lines.markersize"] + WIDER_MARKER * wider[i],
        }
        for i, variant in enumerate(variants)
    }


def _draw_floors(axes, panel: Panel, x: str) -> None:
    """One line, unless variants differ in what they are given: in place, say, or one array for two."""
    drawn = set()
    for _variant, cases in panel.cases.dropna(subset=["floor"]).groupby("variant", sort=False):
        line = tuple(zip(cases[x], cases["floor"]))
        if line not in drawn:
            axes.plot(cases[x], cases["floor"], linestyle=":", color="0.3", linewidth=1.4, zorder=1)
        drawn.add(line)


def _draw_peak(axes, panel: Panel, x: str, styles: Styles) -> None:
    _draw_floors(axes, panel, x)
    for variant, style in styles.items():
        cases = panel.cases[panel.cases["variant"] == variant]
        # Where the estimate must lie: lo ≤ peak / estimate ≤ hi.
        axes.fill_between(
            cases[x], cases["peak"] / cases["window_hi"], cases["peak"] / cases["window_lo"],
            color=style["color"], alpha=0.13, linewidth=0, zorder=0,
        )
        axes.plot(cases[x], cases["peak"], **style, zorder=2)
        estimated = cases.dropna(subset=["estimate"])
        axes.plot(estimated[x], estimated["estimate"], color="black", linestyle=(0, (4, 3)), linewidth=0.8, zorder=3)


def _draw_overhead(axes, panel: Panel, x: str, styles: Styles) -> None:
    """The peak as a multiple of the floor: where lines of the panel above lie too close to be told apart."""
    axes.axhline(1, linestyle=":", color="0.3", linewidth=1.4, zorder=1)
    for variant, style in styles.items():
        cases = panel.cases[panel.cases["variant"] == variant].dropna(subset=["floor"])
        times_floor = cases["peak"] / cases["floor"]
        axes.fill_between(
            cases[x], times_floor / cases["window_hi"], times_floor / cases["window_lo"],
            color=style["color"], alpha=0.13, linewidth=0, zorder=0,
        )
        axes.plot(cases[x], times_floor, **style, zorder=2)
        estimated = cases.dropna(subset=["estimate"])
        axes.plot(
            estimated[x], estimated["estimate"] / estimated["floor"],
            color="black", linestyle=(0, (4, 3)), linewidth=0.8, zorder=3,
        )


def _draw_time(axes, panel: Panel, x: str, styles: Styles) -> None:
    for variant, style in styles.items():
        cases = panel.cases[panel.cases["variant"] == variant].dropna(subset=["time"])
        spread = [cases["time"] - cases["time_min"], cases["time_max"] - cases["time"]]
        axes.errorbar(cases[x], cases["time"], yerr=spread, **style, elinewidth=0.7, capsize=1.5)


def _draw_throughput(axes, panel: Panel, x: str, styles: Styles) -> None:
    """GB/s, and the run's own reference copy: the line that a kernel bound by memory can reach."""
    known = panel.cases.dropna(subset=["bytes_per_second", "share_of_copy"])
    if len(known):
        copy = (known["bytes_per_second"] / known["share_of_copy"]).median() * 1e-9
        axes.axhline(copy, linestyle="-.", color="0.3", linewidth=1.0, zorder=1)
    for variant, style in styles.items():
        cases = panel.cases[panel.cases["variant"] == variant].dropna(subset=["bytes_per_second"])
        axes.plot(cases[x], cases["bytes_per_second"] * 1e-9, **style, zorder=2)
    axes.set_ylim(bottom=0)


def _limit_peaks(axes, panel: Panel) -> None:
    low = panel.cases[["floor", "peak"]].min(axis=None) / MARGIN
    high = (panel.cases["peak"] / panel.cases["window_lo"]).max() * MARGIN
    axes.set_yscale("log", base=2)
    set_size_axis(axes.yaxis, low, high)
    axes.set_ylim(low, high)


def _limit_times(axes, panel: Panel) -> None:
    axes.set_yscale("log")
    fastest, slowest = panel.cases["time_min"].min() / MARGIN, panel.cases["time_max"].max() * MARGIN
    set_time_axis(axes.yaxis, fastest, slowest)
    axes.set_ylim(fastest, slowest)


def _legend(drawing, styles: Styles, has_floor: bool, has_copy: bool) -> None:
    handles = [
        pyplot.Line2D([], [], **style, label=variant.split("/", 1)[1])
        for variant, style in styles.items()
    ]
    handles.append(pyplot.Line2D([], [], color="black", linestyle=(0, (4, 3)), linewidth=0.8, label="estimate"))
    if has_floor:
        handles.append(pyplot.Line2D([], [], color="0.3", linestyle=":", linewidth=1.4, label="floor: input + output"))
    if has_copy:
        handles.append(pyplot.Line2D([], [], color="0.3", linestyle="-.", linewidth=1.0, label="GB/s of a copy"))
    handles.append(pyplot.Rectangle((0, 0), 1, 1, color="0.5", alpha=0.25, linewidth=0, label="window of the estimate"))
    columns = max(1, min(len(handles), int(drawing.get_figwidth() / INCHES_A_LEGEND_ENTRY)))
    drawing.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)


def _time_label(cases: pd.DataFrame, context: dict) -> str:
    """`cold time, CPU device`: what the times are, where they are all alike."""
    is_cold = set(cases.dropna(subset=["time"])["cache"]) == {"cold"}
    return ("cold time" if is_cold else "time") + (", CPU device" if context.get("device_is_cpu") else "")


def draw(figure: Figure, context: dict) -> pyplot.Figure:
    """Peaks, peaks over the floor, times and GB/s, a row each where the run knows of them; a column a panel."""
    use_style()
    panels = figure.panels
    every = pd.concat([panel.cases for panel in panels])
    has_floor, has_time = every["floor"].notna().any(), every["time"].notna().any()
    rows_of = [("peak", _draw_peak)]
    if has_floor:
        rows_of.append(("peak / floor", _draw_overhead))
    if has_time:
        rows_of.append((_time_label(every, context), _draw_time))
    if every["bytes_per_second"].notna().any():
        rows_of.append(("GB/s", _draw_throughput))
    columns = min(len(panels), MOST_COLUMNS)
    rows = -(-len(panels) // columns) * len(rows_of)
    width = max(4.2, 1.9 * columns + 0.6)
    drawing, grid = pyplot.subplots(
        rows, columns, figsize=(width, 1.5 * rows + 0.8), squeeze=False, layout="constrained"
    )
    variants = list(dict.fromkeys(every["variant"]))
    styles = variant_styles(variants)
    low, high = every[figure.x].min(), every[figure.x].max()

    for axes in grid.flat:
        axes.set_visible(False)
    for place, panel in enumerate(panels):
        block, column = divmod(place, columns)
        shown = [grid[block * len(rows_of) + row][column] for row in range(len(rows_of))]
        for axes, (label, draw_one) in zip(shown, rows_of):
            axes.set_visible(True)
            axes.set_xscale("log", base=2)
            draw_one(axes, panel, figure.x, styles)
            (set_size_axis if figure.x == "floor" else set_count_axis)(axes.xaxis, low, high)
            axes.set_xlim(low / MARGIN, high * MARGIN)
            if column == 0:
                axes.set_ylabel(label)
        _limit_peaks(shown[0], panel)
        if has_time:
            _limit_times(shown[[draw_one for _label, draw_one in rows_of].index(_draw_time)], panel)
        shown[0].set_title(panel.title)
        shown[-1].set_xlabel(x_label(figure))
    drawing.suptitle(f"{figure.name}\n{device_text(context)}", fontsize=8)
    _legend(drawing, styles, has_floor, every["share_of_copy"].notna().any())
    return drawing
