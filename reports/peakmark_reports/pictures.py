"""Every figure of some runs, as files: those of `peakmark plot`, and those of a report's page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from os import cpu_count
from pathlib import Path

from .composition_plot import composition_of, draw_composition
from .figure_style import device_text, save
from .figures_text import quantity
from .memory_plot import SHAPES, draw
from .run_file import Run
from .series import LEAST_SHAPES, Figure, figures_of, x_label

FOLDER = "figures"
# Pixels an inch at which the page shows a figure, however small its text then is on paper.
SHOWN_DPI = 150
# Starting a second process takes as long as some figures.
LEAST_IN_TURNS = 4
METRICS = (*SHAPES, "at-peak", "estimate")
# Pictures of a figure, with the metrics that each shows.
KINDS = {"shapes": SHAPES, "at-peak": ("at-peak",), "estimates": ("estimate",)}


@dataclass(frozen=True)
class Wanted:
    """What to draw: metrics, the formats of files, the axis to draw against, how many shapes make a figure, and how many bars
    a variant may have in one of what is live at the peak."""

    metrics: Sequence[str] = METRICS
    formats: Sequence[str] = ("png", "svg")
    axis: str | None = None
    least_shapes: int = LEAST_SHAPES
    max_bars: int | None = None


@dataclass(frozen=True)
class Picture:
    """`svg` and `png` are addresses from a page beside FOLDER; `kind` is one of KINDS."""

    kind: str
    title: str
    alt: str
    name: str
    width: int
    height: int
    files: tuple[Path, ...]

    @property
    def svg(self) -> str:
        return f"{FOLDER}/{self.name}.svg"

    @property
    def png(self) -> str:
        return f"{FOLDER}/{self.name}.png"


@dataclass(frozen=True)
class _Job:
    kind: str
    metrics: Sequence[str]
    figure: Figure
    context: dict
    folder: Path
    name: str
    wanted: Wanted


def file_name(text: str) -> str:
    """Letters, digits, `-` and `_`: fit for a file, an address, and every system."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:80] or "figure"


def _drawn(job: _Job):
    if job.kind != "at-peak":
        return draw(job.figure, job.context, job.metrics)
    composition = composition_of(job.figure)
    most_bars = max(panel.cases.groupby("variant").size().max() for panel in job.figure.panels)
    if composition is None or (job.wanted.max_bars is not None and most_bars > job.wanted.max_bars):
        return None
    return draw_composition(job.figure, composition, job.context)


def _words(kind: str, figure: Figure, context: dict) -> tuple[str, str]:
    measured = [panel.cases[panel.cases["peak"].notna()] for panel in figure.panels]
    variants = list(dict.fromkeys(variant for cases in measured for variant in cases["variant"]))
    shapes = sum(map(len, measured))
    what = {
        "shapes": "memory and time against shape",
        "estimates": "peak over estimate against shape",
        "at-peak": "what is live at the peak",
    }[kind]
    title = f"{figure.name}: {what}"
    alt = (
        f"{title}; {quantity(len(variants), 'variant')} ({', '.join(variants)}), {quantity(shapes, 'case')}, against {x_label(figure)}, "
        f"on {device_text(context)}. The list of every case has the figures."
    )
    return title, alt


def _picture(job: _Job) -> Picture | None:
    drawing = _drawn(job)
    if drawing is None:
        return None
    width, height = (round(inches * SHOWN_DPI) for inches in drawing.get_size_inches())
    files = save(drawing, job.folder, job.name, job.wanted.formats)
    title, alt = _words(job.kind, job.figure, job.context)
    return Picture(job.kind, title, alt, job.name, width, height, tuple(files))


def _jobs(runs: list[Run], folder: Path, wanted: Wanted) -> list[_Job]:
    jobs = []
    used: set[str] = set()
    several_devices = len({run.device for run in runs}) > 1
    for run in runs:
        several_suites = sum(other.device == run.device for other in runs) > 1
        for figure in figures_of(run, wanted.axis, wanted.least_shapes):
            if several_suites:
                figure = replace(figure, name=f"{figure.name} ({run.suite})")
            for kind, every_metric in KINDS.items():
                metrics = [metric for metric in every_metric if metric in wanted.metrics]
                if not metrics:
                    continue
                device = f"{file_name(run.device[0])}-" if several_devices else ""
                name = f"{device}{file_name(figure.name)}{'' if kind == 'shapes' else f'-{kind}'}"
                # Names that differ in what a file's name cannot hold alone.
                while name in used:
                    name += "_"
                used.add(name)
                jobs.append(_Job(kind, metrics, figure, run.context, folder, name, wanted))
    return jobs


def draw_pictures(runs: list[Run], folder: Path, wanted: Wanted = Wanted()) -> list[Picture]:
    """Draws each figure of each run into the folder. What has no data is left out."""
    jobs = _jobs(runs, folder, wanted)
    if len(jobs) < LEAST_IN_TURNS or (cpu_count() or 1) < 2:
        drawn = [_picture(job) for job in jobs]
    else:
        with ProcessPoolExecutor(max_workers=min(4, cpu_count() or 1)) as pool:
            drawn = list(pool.map(_picture, jobs))
    return [picture for picture in drawn if picture is not None]
