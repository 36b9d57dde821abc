"""`peakmark plot`, and the figures of a report: the figures of run files, as image files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from os import cpu_count
from pathlib import Path

import pandas as pd

from .common import InputError, quantity
from .composition_plot import draw_composition, peak_composition
from .figure_style import Look, device_text, save
from .heat_plot import draw_heat
from .memory_plot import SHAPES, draw
from .run_file import Run, load_run
from .series import MIN_SHAPES, Figure, figures, x_label

FOLDER = "figures"
# Pixels per inch at which the page shows a figure.
SHOWN_DPI = 150
# Starting a process takes as long as drawing some figures.
MIN_PARALLEL_FIGURES = 4
METRICS = (*SHAPES, "at-peak", "estimate")
# Pictures of a figure, with the metrics that each shows.
KINDS = {"shapes": SHAPES, "at-peak": ("at-peak",), "estimates": ("estimate",)}


@dataclass(frozen=True)
class PlotOptions:
    """Metrics, file formats, the axes to draw against, the min number of shapes of a figure, and its look."""

    metrics: Sequence[str] = METRICS
    formats: Sequence[str] = ("png", "svg")
    axes: Sequence[str] = ()
    min_shapes: int = MIN_SHAPES
    look: Look = Look()


@dataclass(frozen=True)
class Picture:
    """`svg` is an address relative to the page, which is next to FOLDER; `kind` is one of KINDS."""

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


@dataclass(frozen=True)
class _Job:
    kind: str
    metrics: Sequence[str]
    figure: Figure
    context: dict
    folder: Path
    name: str
    options: PlotOptions


def file_name(text: str) -> str:
    """Returns a name of letters, digits, `-` and `_`, valid in files and addresses on every system."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:80] or "figure"


def _drawn(job: _Job):
    if job.figure.y is not None:
        return draw_heat(job.figure, job.context, job.metrics, job.options.look)
    if job.kind != "at-peak":
        return draw(job.figure, job.context, job.metrics, job.options.look)
    composition = peak_composition(job.figure)
    return composition and draw_composition(job.figure, composition, job.context, job.options.look)


def _words(kind: str, figure: Figure, context: dict) -> tuple[str, str]:
    measured = [panel.cases[panel.cases["peak"].notna()] for panel in figure.panels]
    variants = list(dict.fromkeys(variant for cases in measured for variant in cases["variant"]))
    shapes = sum(map(len, measured))
    what = {
        "shapes": "memory and time against shape",
        "estimates": "peak / estimate against shape",
        "at-peak": "composition at the peak",
    }[kind]
    title = f"{figure.name}: {what}"
    alt = (
        f"{title}; {quantity(len(variants), 'variant')} ({', '.join(variants)}), {quantity(shapes, 'case')}, against {x_label(figure)}, "
        f"on {device_text(context)}. The list of all cases has the numbers."
    )
    return title, alt


def _picture(job: _Job) -> Picture | None:
    drawing = _drawn(job)
    if drawing is None:
        return None
    width, height = (round(inches * SHOWN_DPI) for inches in drawing.get_size_inches())
    files = save(drawing, job.folder, job.name, job.options.formats)
    title, alt = _words(job.kind, job.figure, job.context)
    return Picture(job.kind, title, alt, job.name, width, height, tuple(files))


def _jobs(runs: list[Run], folder: Path, options: PlotOptions) -> list[_Job]:
    jobs = []
    used: set[str] = set()
    several_devices = len({run.device for run in runs}) > 1
    for run in runs:
        several_suites = sum(other.device == run.device for other in runs) > 1
        for figure in figures(run, options.axes, options.min_shapes):
            if several_suites:
                figure = replace(figure, name=f"{figure.name} ({run.suite})")
            for kind, every_metric in KINDS.items():
                # What a program reports is drawn against shape, as memory and time are.
                own = [metric for metric in options.metrics if metric not in METRICS] if kind == "shapes" else []
                metrics = [metric for metric in every_metric if metric in options.metrics] + own
                # Neither a bar nor peak / estimate is compared with another variant, and a bar has one axis.
                if not metrics or (kind != "shapes" and options.look.against) or (kind == "at-peak" and figure.y):
                    continue
                device = f"{file_name(run.device[0])}-" if several_devices else ""
                name = f"{device}{file_name(figure.name)}{'' if kind == 'shapes' else f'-{kind}'}"
                # Names may differ only in characters that file names cannot contain.
                while name in used:
                    name += "_"
                used.add(name)
                jobs.append(_Job(kind, metrics, figure, run.context, folder, name, options))
    return jobs


def draw_pictures(runs: list[Run], folder: Path, options: PlotOptions = PlotOptions()) -> list[Picture]:
    """Draws each figure of each run that has data."""
    jobs = _jobs(runs, folder, options)
    if len(jobs) < MIN_PARALLEL_FIGURES or (cpu_count() or 1) < 2:
        drawn = [_picture(job) for job in jobs]
    else:
        with ProcessPoolExecutor(max_workers=min(4, cpu_count() or 1)) as pool:
            drawn = list(pool.map(_picture, jobs))
    return [picture for picture in drawn if picture is not None]


class PlotError(InputError):
    """An option does not fit the runs."""


class NothingToPlot(InputError):
    """No run has anything to draw."""

    code = 4


def _full_name(case: pd.Series) -> str:
    """Returns the name with all axes, such as `padding/coords1d/dry/mode:edge/n:1/…`; the short name omits axes at defaults."""
    return "/".join([case["variant"], case["backend"], *case["axis_texts"]])


def matching(run: Run, pattern: str) -> Run:
    """Returns the run with the cases whose short or full name matches. Raises PlotError for an invalid expression."""
    try:
        found = re.compile(pattern).search
    except re.error as error:
        raise PlotError(f"--filter {pattern}: not a regular expression: {error}") from error
    keep = [bool(found(case["case"]) or found(_full_name(case))) for _index, case in run.cases.iterrows()]
    return Run(run.context, run.cases[keep])


def _labels(paths: Sequence[Path]) -> list[str]:
    """Returns the stem of each file; with its folder if stems repeat."""
    stems = [path.stem for path in paths]
    return stems if len(set(stems)) == len(stems) else [f"{path.parent.name}/{path.stem}" for path in paths]


def combined(runs: Sequence[tuple[str, Run]]) -> list[Run]:
    """Returns one run per device. If several runs of a device have a case, the names of their variants get the run's label."""
    by_device: dict[tuple[str, str], list[tuple[str, Run]]] = {}
    for label, run in runs:
        by_device.setdefault(run.device, []).append((label, run))
    out = []
    for group in by_device.values():
        tables = [run.cases for _label, run in group if len(run.cases)]
        if len(group) > 1 and tables and pd.concat(tables)["case"].duplicated().any():
            tables = [
                run.cases.assign(variant=run.cases["variant"] + f" ({label})") for label, run in group if len(run.cases)
            ]
        cases = pd.concat(tables, ignore_index=True) if tables else group[0][1].cases
        if len(group) > 1 and tables:
            cases["axes"] = cases["axes"].map(tuple)
        commits = list(dict.fromkeys(run.context.get("commit") for _label, run in group))
        out.append(Run(group[0][1].context | {"commits": commits}, cases))
    return out


def _check_metrics(options: PlotOptions) -> None:
    """Raises PlotError if no metric can be drawn with the other options."""
    option = "--against" if options.look.against else "a second --axis" if options.axes[1:] else ""
    without = {"--against": ("at-peak", "estimate"), "a second --axis": ("at-peak",)}.get(option, ())
    if set(options.metrics) <= set(without):
        raise PlotError(f"--metric {', '.join(options.metrics)}: not with {option}; choose another metric")


def _check_metric_names(runs: Sequence[Run], metrics: Sequence[str]) -> None:
    reported = dict.fromkeys(column.removeprefix("metric:") for run in runs for column in run.cases if column.startswith("metric:"))
    for metric in metrics:
        if metric not in METRICS and metric not in reported:
            raise PlotError(f"--metric {metric}: no case reports this metric; metrics: {', '.join([*METRICS, *reported])}")


def _check_axes(runs: Sequence[Run], axes: Sequence[str]) -> None:
    if len(axes) > 2 or len(set(axes)) < len(axes):
        raise PlotError(f"--axis {', '.join(axes)}: at most two different axes can be drawn; leave the others out")
    tables = [run.cases for run in runs if len(run.cases)]
    known = dict.fromkeys(name for cases in tables for names in cases["axes"] for name in names)
    for axis in axes if known else []:
        if axis not in known:
            raise PlotError(f"--axis {axis}: no case has this axis; axes: {', '.join(known)}")
        if not any(cases.groupby("variant")[f"axis:{axis}"].nunique().max() > 1 for cases in tables if f"axis:{axis}" in cases):
            varying = [name for name in known if any(f"axis:{name}" in cases and cases[f"axis:{name}"].nunique() > 1 for cases in tables)]
            raise PlotError(f"--axis {axis}: it has one value in all cases; axes that vary: {', '.join(varying) or '-'}")


def _check_against(runs: Sequence[Run], reference: str | None) -> None:
    variants = list(dict.fromkeys(variant for run in runs if len(run.cases) for variant in run.cases["variant"]))
    if reference is None or not variants:
        return
    found = {variant.split("/", 1)[0] for variant in variants if reference in (variant, variant.split("/", 1)[-1])}
    if not found:
        raise PlotError(f"--against {reference}: no case has this variant; variants: {', '.join(variants)}")
    if not any(variant.split("/", 1)[0] in found for variant in variants if reference not in (variant, variant.split("/", 1)[-1])):
        raise PlotError(f"--against {reference}: no other variant of {', '.join(sorted(found))} is in the run")


def write_plots(paths: Sequence[Path], folder: Path, options: PlotOptions, pattern: str | None = None) -> list[Path]:
    """Draws the run files. Operations with too few shapes for a line are drawn as points if there are no others.

    Raises RunFileError, PlotError, NothingToPlot, or OSError.
    """
    _check_metrics(options)
    runs = [load_run(path) for path in paths]
    if pattern is not None:
        runs = [matching(run, pattern) if len(run.cases) else run for run in runs]
        if not any(len(run.cases) for run in runs):
            raise NothingToPlot(f"--filter {pattern}: no case matches")
    _check_metric_names(runs, options.metrics)
    _check_axes(runs, options.axes)
    together = combined(list(zip(_labels(paths), runs)))
    _check_against(together, options.look.against)
    pictures = draw_pictures(together, folder, options) or draw_pictures(together, folder, replace(options, min_shapes=1))
    if not pictures:
        names = ", ".join(map(str, paths))
        axes = f", or {' and '.join(options.axes)} does not vary within a variant" if options.axes else ""
        raise NothingToPlot(f"{names}: nothing to draw: no measured case has a value of {', '.join(options.metrics)}{axes}")
    return [file for picture in pictures for file in picture.files]
