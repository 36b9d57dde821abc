"""The figures of a report's page, as files beside it, with the words that stand for them."""

from __future__ import annotations

import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from os import cpu_count
from pathlib import Path

from .composition_plot import composition_of, draw_composition
from .estimate_plot import draw_estimates
from .figure_style import device_text, save
from .figures_text import quantity
from .memory_plot import draw
from .run_file import Run
from .series import Figure, figures_of, x_label

FOLDER = "figures"
# Pixels an inch at which the page shows a figure, however small its text then is on paper.
SHOWN_DPI = 150
# Bars side by side of which each can still be seen.
MOST_BARS = 16
# Starting a second process takes as long as some figures.
LEAST_IN_TURNS = 4


@dataclass(frozen=True)
class Picture:
    """`svg` and `png` are addresses from the page; `kind` is `shapes`, `at-peak` or `estimates`."""

    kind: str
    title: str
    alt: str
    svg: str
    png: str
    width: int
    height: int


def file_name(text: str) -> str:
    """Letters, digits, `-` and `_`: fit for a file, an address, and every system."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:80] or "figure"


def _drawn(kind: str, figure: Figure, context: dict):
    if kind == "shapes":
        return draw(figure, context)
    if kind == "estimates":
        return draw_estimates(figure, context)
    composition = composition_of(figure)
    most_bars = max(panel.cases.groupby("variant").size().max() for panel in figure.panels)
    return None if composition is None or most_bars > MOST_BARS else draw_composition(figure, composition, context)


def _words(kind: str, figure: Figure, context: dict) -> tuple[str, str]:
    variants = list(dict.fromkeys(variant for panel in figure.panels for variant in panel.cases["variant"]))
    shapes = sum(len(panel.cases) for panel in figure.panels)
    what = {
        "shapes": "memory and time against shape",
        "estimates": "peak over estimate against shape",
        "at-peak": "what is live at the peak",
    }[kind]
    title = f"{figure.name}: {what}"
    alt = (
        f"{title}; {quantity(len(variants), 'variant')} ({', '.join(variants)}), {quantity(shapes, 'case')}, against {x_label(figure)}, on "
        f"{device_text(context)}. The figures stand in the list of every case."
    )
    return title, alt


def _picture(job: tuple[str, Figure, dict, Path, str]) -> Picture | None:
    kind, figure, context, folder, name = job
    drawing = _drawn(kind, figure, context)
    if drawing is None:
        return None
    width, height = (round(inches * SHOWN_DPI) for inches in drawing.get_size_inches())
    save(drawing, folder / FOLDER, name)
    title, alt = _words(kind, figure, context)
    return Picture(kind, title, alt, f"{FOLDER}/{name}.svg", f"{FOLDER}/{name}.png", width, height)


def draw_pictures(runs: list[Run], folder: Path) -> list[Picture]:
    """Memory and time, composition and estimates of each figure of each run; those with nothing to draw are left out."""
    jobs = []
    used: set[str] = set()
    several_devices = len({run.device for run in runs}) > 1
    for run in runs:
        several_suites = sum(other.device == run.device for other in runs) > 1
        for figure in figures_of(run):
            if several_suites:
                figure = replace(figure, name=f"{figure.name} ({run.suite})")
            for kind in ("shapes", "at-peak", "estimates"):
                device = f"{file_name(run.device[0])}-" if several_devices else ""
                name = f"{device}{file_name(figure.name)}{'' if kind == 'shapes' else f'-{kind}'}"
                # Names that differ in what a file's name cannot hold alone.
                while name in used:
                    name += "_"
                used.add(name)
                jobs.append((kind, figure, run.context, folder, name))
    if len(jobs) < LEAST_IN_TURNS or (cpu_count() or 1) < 2:
        drawn = [_picture(job) for job in jobs]
    else:
        with ProcessPoolExecutor(max_workers=min(4, cpu_count() or 1)) as pool:
            drawn = list(pool.map(_picture, jobs))
    return [picture for picture in drawn if picture is not None]
