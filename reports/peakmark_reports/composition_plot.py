"""Draws the composition at the peak in multiples of the floor: a bar per case, a column per variant, a row per panel."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from .figure_style import COLOURS, caption_text, pyplot, set_texts, shortened, size_text, use_style
from .series import Figure, Panel, x_label

# Names below this share of every peak are drawn together as others.
MIN_SHARE = 0.01
OTHERS = "others"
HATCHES = ["", "////", "...."]
# Totals of more bars are rotated, so that they do not overlap.
MAX_LEVEL_TOTALS = 4
LEGEND_INCHES, LEGEND_CHARACTERS = 1.9, 24


@dataclass(frozen=True)
class Composition:
    """The cases of a figure with a known composition at the peak.

    `names` are in the order of the stack from below: names that most variants have first (input and output), then by size.
    `others` are too small to be visible.
    """

    panels: list[Panel]
    variants: list[str]
    names: list[str]
    others: list[str]

    def layers(self, at_peak: dict[str, int]) -> dict[str, int]:
        """Returns the bytes of each name of one case, `OTHERS` last."""
        layers = {name: at_peak[name] for name in self.names if name in at_peak}
        rest = sum(at_peak.get(name, 0) for name in self.others)
        return layers | ({OTHERS: rest} if rest else {})


def _same_bytes(panel: Panel, x: str) -> tuple:
    cases = panel.cases.sort_values(["variant", x], kind="stable")
    return tuple(
        (variant, tuple(sorted(at_peak.items()))) for variant, at_peak in zip(cases["variant"], cases["at_peak"])
    )


def _joined_title(titles: list[str]) -> str:
    """Joins `mode edge` and `mode wrap` to `mode edge, wrap`; other titles with semicolons."""
    first_words = {title.split(" ", 1)[0] for title in titles}
    if len(titles) > 1 and len(first_words) == 1 and not any("," in title for title in titles):
        return f"{first_words.pop()} {', '.join(title.split(' ', 1)[1] for title in titles)}"
    return "; ".join(titles)


def peak_composition(figure: Figure) -> Composition | None:
    """Returns None if no case has a composition and a floor. Merges panels with the same bytes."""
    panels: dict[tuple, list[Panel]] = {}
    for panel in figure.panels:
        cases = panel.cases.dropna(subset=["at_peak", "floor"])
        if len(cases):
            known = Panel(panel.title, cases)
            panels.setdefault(_same_bytes(known, figure.x), []).append(known)
    if not panels:
        return None
    merged = [Panel(_joined_title([one.title for one in same]), same[0].cases) for same in panels.values()]
    every = pd.concat([panel.cases for panel in merged])
    largest, share, holders = {}, {}, {}
    for variant, at_peak, peak in zip(every["variant"], every["at_peak"], every["peak"]):
        for name, size in at_peak.items():
            largest[name] = max(largest.get(name, 0), size)
            share[name] = max(share.get(name, 0), size / peak)
            holders.setdefault(name, set()).add(variant)
    order = sorted(largest, key=lambda name: (-len(holders[name]), -largest[name], name))
    return Composition(
        merged,
        list(dict.fromkeys(every["variant"])),
        [name for name in order if share[name] >= MIN_SHARE],
        [name for name in order if share[name] < MIN_SHARE],
    )


def _tick_text(value: float, x: str) -> str:
    return size_text(value) if x == "floor" else f"{value:g}"


def _styles(composition: Composition) -> dict[str, dict]:
    """Returns a colour and a hatch per name, without black, which would hide the hatch."""
    colours = COLOURS[:-1]
    styles = {
        name: {"facecolor": colours[i % len(colours)], "hatch": HATCHES[i // len(colours) % len(HATCHES)]}
        for i, name in enumerate(composition.names)
    }
    return styles | {OTHERS: {"facecolor": "0.6", "hatch": ""}}


def _draw_bars(axes, composition: Composition, cases: pd.DataFrame, styles: dict[str, dict]) -> None:
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
            ha="center", va="bottom", fontsize=6, rotation=90 if len(cases) > MAX_LEVEL_TOTALS else 0,
        )


def _legend(drawing, composition: Composition, styles: dict[str, dict]) -> None:
    names = composition.names + ([OTHERS] if composition.others else [])
    handles = [
        pyplot.Rectangle((0, 0), 1, 1, edgecolor="white", label=shortened(name, LEGEND_CHARACTERS), **styles[name])
        for name in names
    ]
    handles.append(pyplot.Line2D([], [], color="0.1", linestyle=":", linewidth=1.4, label="floor: input + output"))
    # In the order of the stack, from above; not at the bottom, where the caption is.
    drawing.legend(handles=handles[::-1], loc="outside right upper", frameon=False, fontsize=7)


def draw_composition(figure: Figure, composition: Composition, context: dict) -> pyplot.Figure:
    """Draws the bars. All have one scale, so that variants can be compared."""
    use_style()
    panels, variants = composition.panels, composition.variants
    every = pd.concat([panel.cases for panel in panels])
    max_bars = max(len(panel.cases[panel.cases["variant"] == variant]) for panel in panels for variant in variants)
    drawing, grid = pyplot.subplots(
        len(panels), len(variants), squeeze=False, sharey=True, layout="constrained",
        figsize=(max(4.2, len(variants) * max(1.5, 0.28 * max_bars + 0.5) + 0.6) + LEGEND_INCHES, 2.1 * len(panels) + 0.9),
    )
    styles = _styles(composition)
    for row, panel in zip(grid, panels):
        for axes, variant in zip(row, variants):
            cases = panel.cases[panel.cases["variant"] == variant]
            _draw_bars(axes, composition, cases, styles)
            axes.axhline(1, linestyle=":", color="0.1", linewidth=1.4)
            axes.grid(visible=False, axis="x")
            axes.set_xticks(range(len(cases)), [_tick_text(value, figure.x) for value in cases[figure.x]])
        row[0].set_ylabel(f"{panel.title}\nmemory at the peak / floor".lstrip())
    for axes, variant in zip(grid[0], variants):
        axes.set_title(variant.split("/", 1)[1])
    for axes in grid[-1]:
        axes.set_xlabel(x_label(figure))
    # Space for the totals above the bars.
    headroom = 1.45 if max_bars > MAX_LEVEL_TOTALS else 1.18
    grid[0][0].set_ylim(0, headroom * (every["peak"] / every["floor"]).max())
    notes = []
    if composition.others:
        notes = [f"{OTHERS.capitalize()}, below {MIN_SHARE:.0%} of every peak: {', '.join(composition.others)}"]
    set_texts(drawing, f"{figure.name}: composition at the peak", caption_text(context, notes))
    _legend(drawing, composition, styles)
    return drawing
