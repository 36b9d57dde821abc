"""`peakmark plot`: the figures of some run files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from .errors import InputError
from .pictures import Wanted, draw_pictures
from .run_file import Run, load_run


class PlotError(InputError):
    """An option that does not fit the runs; the message says why."""


class NothingToPlot(InputError):
    """The runs are fine, and have nothing to draw."""

    code = 4


def _full_name(case: pd.Series) -> str:
    """`padding/coords1d/dry/mode:edge/n:1/…`: with the axes that have their defaults, which the case's name leaves out."""
    # A column that some cases lack holds its whole numbers as floats.
    values = {name: case[f"axis:{name}"] for name in case["axes"]}
    axes = [f"{name}:{int(v) if isinstance(v, float) and v.is_integer() else v}" for name, v in values.items()]
    return "/".join([case["variant"], case["backend"], *axes])


def matching(run: Run, pattern: str) -> Run:
    """The run with the cases whose name, short or full, the regular expression finds. Raises PlotError if it is none."""
    try:
        found = re.compile(pattern).search
    except re.error as error:
        raise PlotError(f"--filter {pattern}: not a regular expression: {error}") from error
    keep = [bool(found(case["case"]) or found(_full_name(case))) for _index, case in run.cases.iterrows()]
    return Run(run.context, run.cases[keep])


def _labels(paths: Sequence[Path]) -> list[str]:
    """The name of each file without its ending; with that of its folder where those are alike."""
    stems = [path.stem for path in paths]
    return stems if len(set(stems)) == len(stems) else [f"{path.parent.name}/{path.stem}" for path in paths]


def combined(runs: Sequence[tuple[str, Run]]) -> list[Run]:
    """One run a device. If a case is in several runs of a device, the variants of each run are named after it."""
    of_device: dict[tuple[str, str], list[tuple[str, Run]]] = {}
    for label, run in runs:
        of_device.setdefault(run.device, []).append((label, run))
    out = []
    for group in of_device.values():
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


def _check_axis(runs: Sequence[Run], axis: str | None) -> None:
    known = dict.fromkeys(name for run in runs for names in (run.cases["axes"] if len(run.cases) else []) for name in names)
    if axis is not None and known and axis not in known:
        raise PlotError(f"--axis {axis}: no case has this axis; axes: {', '.join(known)}")


def write_plots(paths: Sequence[Path], folder: Path, wanted: Wanted, pattern: str | None = None) -> list[Path]:
    """Draws the run files. Operations with too few shapes for a line are drawn, as points, if there are no others.

    Raises RunFileError, PlotError, NothingToPlot, or OSError.
    """
    runs = [load_run(path) for path in paths]
    if pattern is not None:
        runs = [matching(run, pattern) if len(run.cases) else run for run in runs]
        if not any(len(run.cases) for run in runs):
            raise NothingToPlot(f"--filter {pattern}: no case has such a name")
    _check_axis(runs, wanted.axis)
    together = combined(list(zip(_labels(paths), runs)))
    pictures = draw_pictures(together, folder, wanted) or draw_pictures(together, folder, replace(wanted, least_shapes=1))
    if not pictures:
        names = ", ".join(map(str, paths))
        raise NothingToPlot(f"{names}: nothing to draw: no case was measured that has any of: {', '.join(wanted.metrics)}")
    return [file for picture in pictures for file in picture.files]
