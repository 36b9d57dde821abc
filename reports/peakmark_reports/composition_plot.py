"""Draws the composition at the peak in multiples of the floor: a bar per case, a column per line of the figure, a row per panel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from .common import quantity
from .figure_style import COLOURS, Look, caption_text, pyplot, set_texts, shortened, size_text, use_style, wrapped
from .series import FLOOR, Figure, Panel, axis_name, evenly, merged, value_text, x_label

# Names below this share of every peak are drawn together as others.
MIN_SHARE = 0.01
OTHERS = "others"
HATCHES = ["", "////", "...."]
LEGEND_INCHES, LEGEND_LINE_INCHES, LEGEND_CHARACTERS, MAX_TITLE = 1.9, 0.15, 24, 32
# Minimum widths: of an axes, of a bar, of the total of a level, and of a character of a tick.
COLUMN_INCHES, BAR_INCHES, TOTAL_INCHES, TICK_INCHES = 1.3, 0.17, 0.4, 0.06


@dataclass(frozen=True)
class Composition:
    """The cases of a figure with a known composition at the peak.

    `names` are in the order of the stack from below: names that most lines have first (input and output), then by size.
    `others` are too small to be visible.
    """

    panels: list[Panel]
    lines: list[str]
    names: list[str]
    others: list[str]

    def layers(self, at_peak: dict[str, int]) -> dict[str, int]:
        """Returns the bytes of each name of one case, `OTHERS` last."""
        layers = {name: at_peak[name] for name in self.names if name in at_peak}
        rest = sum(at_peak.get(name, 0) for name in self.others)
        return layers | ({OTHERS: rest} if rest else {})


def _same_bytes(cases: pd.DataFrame, x: str) -> tuple:
    ordered = cases.sort_values(["line", x], kind="stable")
    return tuple((line, tuple(sorted(at_peak.items()))) for line, at_peak in zip(ordered["line"], ordered["at_peak"]))


def peak_composition(figure: Figure) -> Composition | None:
    """Returns None if no case has a composition and a floor. Merges panels with the same bytes."""
    known = [replace(panel, cases=panel.cases.dropna(subset=["at_peak", "floor"])) for panel in figure.panels]
    panels = merged([panel for panel in known if len(panel.cases)], lambda cases: _same_bytes(cases, figure.x))
    if not panels:
        return None
    every = pd.concat([panel.cases for panel in panels])
    largest, share, holders = {}, {}, {}
    for line, at_peak, peak in zip(every["line"], every["at_peak"], every["peak"]):
        for name, size in at_peak.items():
            largest[name] = max(largest.get(name, 0), size)
            share[name] = max(share.get(name, 0), size / peak)
            holders.setdefault(name, set()).add(line)
    order = sorted(largest, key=lambda name: (-len(holders[name]), -largest[name], name))
    return Composition(
        panels,
        list(dict.fromkeys(every["line"])),
        [name for name in order if share[name] >= MIN_SHARE],
        [name for name in order if share[name] < MIN_SHARE],
    )


def _styles(composition: Composition) -> dict[str, dict]:
    """Returns a colour and a hatch per name, without black, which would hide the hatch."""
    colours = COLOURS[:-1]
    styles = {
        name: {"facecolor": colours[i % len(colours)], "hatch": HATCHES[i // len(colours) % len(HATCHES)]}
        for i, name in enumerate(composition.names)
    }
    return styles | {OTHERS: {"facecolor": "0.6", "hatch": ""}}


def _draw_bars(axes, composition: Composition, cases: pd.DataFrame, styles: dict[str, dict], is_level: bool) -> None:
    for place, (_index, case) in enumerate(cases.iterrows()):
        bottom = 0
        for name, size in composition.layers(case["at_peak"]).items():
            axes.bar(
                place, size / case["floor"], bottom=bottom / case["floor"], width=0.78,
                edgecolor="white", linewidth=0.3, **styles[name],
            )
            bottom += size
        axes.annotate(
            size_text(bottom), (place, bottom / case["floor"]), xytext=(0, 4), textcoords="offset points",
            ha="center", va="bottom", fontsize=6, rotation=0 if is_level else 90,
        )


def _legend(owner, place: str, composition: Composition, styles: dict[str, dict]) -> None:
    names = composition.names + ([OTHERS] if composition.others else [])
    handles = [
        pyplot.Rectangle((0, 0), 1, 1, edgecolor="white", label=shortened(name, LEGEND_CHARACTERS), **styles[name])
        for name in names
    ]
    handles.append(pyplot.Line2D([], [], color="0.1", linestyle=":", linewidth=1.4, label="floor: input + output"))
    # In the order of the stack, from above.
    owner.legend(handles=handles[::-1], loc=place, frameon=False, fontsize=7, borderaxespad=0)


def _shown(cases: pd.DataFrame, x: str, max_bars: int) -> pd.DataFrame:
    """Returns the cases of at most `max_bars` values of x; of points, at most as many cases."""
    chosen = cases[cases[x].isin(evenly(list(dict.fromkeys(cases[x])), max_bars))]
    return chosen.iloc[evenly(range(len(chosen)), max_bars)]


def draw_composition(figure: Figure, composition: Composition, context: dict, look: Look = Look()) -> pyplot.Figure:
    """Draws the bars. All have one scale, so that lines can be compared."""
    use_style()
    panels, lines, x = composition.panels, composition.lines, figure.x
    cells = [(panel, line) for panel in panels for line in lines]
    width = look.inches(2) - LEGEND_INCHES - 0.5
    is_narrow = width < COLUMN_INCHES
    if is_narrow:
        width = max(look.inches(2) - 0.5, COLUMN_INCHES)
    columns = min(len(lines), max(1, int(width / COLUMN_INCHES)))
    # Variants that do not fit side by side are below each other.
    rows = -(-len(cells) // columns)
    max_bars = int(width / columns / BAR_INCHES)
    # A narrow figure has its legend in a row of its own, a wide one at its right.
    row_inches = 2.1 if rows <= 2 else 1.6
    legend_inches = LEGEND_LINE_INCHES * (len(composition.names) + 2) if is_narrow else 0
    drawing = pyplot.figure(layout="constrained", figsize=(look.inches(2), row_inches * rows + 0.9 + legend_inches))
    cells_grid = drawing.add_gridspec(rows + is_narrow, columns, height_ratios=[row_inches] * rows + [legend_inches] * is_narrow)
    grid = cells_grid.subplots(squeeze=False, sharey=True)[:rows]
    styles = _styles(composition)
    for axes in grid.flat[len(cells) :]:
        axes.set_visible(False)
    every = [panel.cases[panel.cases["line"] == line] for panel, line in cells]
    drawn = [_shown(cases, x, max_bars) for cases in every]
    most = max(map(len, drawn))
    is_level = most * TOTAL_INCHES <= width / columns
    for place, (axes, (panel, line), cases) in enumerate(zip(grid.flat, cells, drawn)):
        _draw_bars(axes, composition, cases, styles, is_level)
        axes.axhline(1, linestyle=":", color="0.1", linewidth=1.4)
        axes.grid(visible=False, axis="x")
        ticks = [size_text(value) if x == FLOOR else value_text(value) for value in cases[x]]
        is_wide = max(map(len, ticks), default=0) * TICK_INCHES * most > width / columns
        axes.set_xticks(range(len(cases)), ticks, rotation=90 if is_wide else 0)
        if place < columns or columns < len(lines):
            axes.set_title(line.split("/", 1)[-1])
        if place % columns == 0:
            label = "memory at\nthe peak / floor" if is_narrow else "memory at the peak / floor"
            axes.set_ylabel(f"{wrapped(panel.title, MAX_TITLE)}\n{label}".lstrip())
        if place + columns >= len(cells):
            axes.set_xlabel(wrapped(x_label(figure) if columns == 1 else axis_name(x), int(8 * look.inches(2))))
    # Space for the totals above the bars.
    grid[0][0].set_ylim(0, (1.18 if is_level else 1.5 if rows <= 2 else 1.75) * max((cases["peak"] / cases["floor"]).max() for cases in drawn if len(cases)))
    notes = list(figure.notes)
    if composition.others:
        notes = [f"{OTHERS.capitalize()}, below {MIN_SHARE:.0%} of every peak: {', '.join(composition.others)}", *notes]
    bars, cases = sum(map(len, drawn)), sum(map(len, every))
    if bars < cases:
        notes.append(f"Bars: {bars} of {quantity(cases, 'case')}, evenly chosen")
    set_texts(drawing, f"{figure.name}: composition at the peak", caption_text(context, notes))
    if is_narrow:
        for axes in drawing.axes[rows * columns :]:
            axes.remove()
        below = drawing.add_subplot(cells_grid[-1, :])
        below.set_axis_off()
        _legend(below, "upper right", composition, styles)
    else:
        # Neither at the top nor at the bottom, where title and caption are.
        _legend(drawing, "outside right center", composition, styles)
    return drawing
