"""Memory and time against shape: a figure an operation, a line a variant."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from .figure_style import COLOURS, MARKERS, set_count_axis, set_size_axis, set_time_axis, use_style
from .figure_style import pyplot
from .run_file import Run
from .series import Figure, Panel, figures_of

MOST_COLUMNS = 4


def _x_label(figure: Figure) -> str:
    return "input + output" if figure.x == "floor" else figure.x.removeprefix("axis:")


def _draw_peak(axes, panel: Panel, x: str, styles: dict[str, tuple[str, str]]) -> None:
    floor = panel.cases.dropna(subset=["floor"]).drop_duplicates(x)
    axes.plot(floor[x], floor["floor"], linestyle=":", color="0.3", linewidth=1.4, zorder=1)
    for variant, (colour, marker) in styles.items():
        cases = panel.cases[panel.cases["variant"] == variant]
        # Where the estimate must lie: lo ≤ peak / estimate ≤ hi.
        axes.fill_between(
            cases[x], cases["peak"] / cases["window_hi"], cases["peak"] / cases["window_lo"],
            color=colour, alpha=0.13, linewidth=0, zorder=0,
        )
        axes.plot(cases[x], cases["peak"], color=colour, marker=marker, zorder=2)
        estimated = cases.dropna(subset=["estimate"])
        axes.plot(estimated[x], estimated["estimate"], color="black", linestyle=(0, (4, 3)), linewidth=0.8, zorder=3)


def _draw_time(axes, panel: Panel, x: str, styles: dict[str, tuple[str, str]]) -> None:
    for variant, (colour, marker) in styles.items():
        cases = panel.cases[panel.cases["variant"] == variant].dropna(subset=["time"])
        spread = [cases["time"] - cases["time_min"], cases["time_max"] - cases["time"]]
        axes.errorbar(cases[x], cases["time"], yerr=spread, color=colour, marker=marker, elinewidth=0.7, capsize=1.5)


def _legend(drawing, styles: dict[str, tuple[str, str]]) -> None:
    handles = [
        pyplot.Line2D([], [], color=colour, marker=marker, label=variant.split("/", 1)[1])
        for variant, (colour, marker) in styles.items()
    ]
    handles += [
        pyplot.Line2D([], [], color="black", linestyle=(0, (4, 3)), linewidth=0.8, label="estimate"),
        pyplot.Line2D([], [], color="0.3", linestyle=":", linewidth=1.4, label="floor: input + output"),
        pyplot.Rectangle((0, 0), 1, 1, color="0.5", alpha=0.25, linewidth=0, label="window of the estimate"),
    ]
    drawing.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 6), frameon=False)


def draw(figure: Figure, context: dict) -> pyplot.Figure:
    """Peaks in the upper row, times in the lower one (none where the run has no times); a column a panel."""
    use_style()
    panels = figure.panels
    columns = min(len(panels), MOST_COLUMNS)
    has_time = any(panel.cases["time"].notna().any() for panel in panels)
    blocks = -(-len(panels) // columns)
    rows = blocks * (2 if has_time else 1)
    width = max(3.5, 1.9 * columns + 0.6)
    drawing, grid = pyplot.subplots(
        rows, columns, figsize=(width, 1.8 * rows + 0.8), squeeze=False, sharex="col", layout="constrained"
    )
    every = pd.concat([panel.cases for panel in panels])
    variants = list(dict.fromkeys(every["variant"]))
    styles = {variant: (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i, variant in enumerate(variants)}

    for axes in grid.flat:
        axes.set_visible(False)
    for place, panel in enumerate(panels):
        block, column = divmod(place, columns)
        row = block * (2 if has_time else 1)
        shown = [(grid[row][column], _draw_peak)] + ([(grid[row + 1][column], _draw_time)] if has_time else [])
        for axes, draw_one in shown:
            axes.set_visible(True)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=2 if draw_one is _draw_peak else 10)
            draw_one(axes, panel, figure.x, styles)
            low, high = every[figure.x].min(), every[figure.x].max()
            (set_size_axis if figure.x == "floor" else set_count_axis)(axes.xaxis, low, high)
            axes.tick_params(labelbottom=True)
        set_size_axis(shown[0][0].yaxis, panel.cases["floor"].min(), panel.cases["peak"].max())
        shown[0][0].set_title(panel.title)
        if has_time:
            set_time_axis(shown[1][0].yaxis)
        shown[-1][0].set_xlabel(_x_label(figure))
        if column == 0:
            shown[0][0].set_ylabel("peak of device memory")
            if has_time:
                shown[1][0].set_ylabel("time of a CPU device" if context.get("device_is_cpu") else "time on the device")
    device = f"{context['device']} ({context['backend']}, driver {context['driver']})"
    drawing.suptitle(f"{figure.name}   –   {device}", fontsize=9)
    _legend(drawing, styles)
    return drawing


def write_plots(run: Run, folder: Path) -> list[Path]:
    """Writes `NAME.png` and `NAME.svg` for each figure; returns what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures_of(run):
        drawing = draw(figure, run.context)
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            path = folder / f"{figure.name}.{ending}"
            drawing.savefig(path, metadata=metadata)
            written.append(path)
        pyplot.close(drawing)
    return written
