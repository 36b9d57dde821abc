"""Selects the cases of each line of a figure. Pure: draws nothing."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from .run_file import Run

# A line through fewer shapes shows no trend.
MIN_SHAPES = 3


@dataclass(frozen=True)
class Panel:
    """One column of a figure: the cases with the same text axes (mode, dtype, …), a point per shape.

    Includes planned cases that were not measured, with NaN for every metric: lines have gaps there.
    """

    title: str
    cases: pd.DataFrame


@dataclass(frozen=True)
class Figure:
    """One operation. `x` is a column of every panel's cases: an axis, or `floor` if several axes vary independently."""

    name: str
    x: str
    panels: list[Panel]


def _words_and_numbers(cases: pd.DataFrame, axes: list[str]) -> tuple[list[str], list[str]]:
    words = [axis for axis in axes if cases[axis].map(lambda value: isinstance(value, str)).any()]
    return words, [axis for axis in axes if axis not in words]


def _leading_axis(cases: pd.DataFrame, numbers: list[str], preferred: str | None) -> str:
    """Returns the axis that determines all other varying axes, so that its value identifies the shape; `floor` if there is none.

    Of several, returns the preferred one, else the first. An axis that is constant within each variant does not vary.
    """
    varying = [axis for axis in numbers if (cases.groupby("variant")[axis].nunique() > 1).any()]
    for axis in sorted(varying, key=lambda name: name != f"axis:{preferred}"):
        # An axis that only some variants have would omit the others.
        if cases[axis].notna().all() and all(cases.groupby(axis)[other].nunique().max() == 1 for other in varying):
            return axis
    return "floor"


def _panels(cases: pd.DataFrame, words: list[str], x: str, min_shapes: int) -> list[Panel]:
    varying = [axis for axis in words if cases.loc[cases["peak"].notna(), axis].nunique() > 1]
    groups = [((), cases)] if not varying else list(cases.groupby(varying, sort=False, dropna=False))
    panels = []
    for key, group in groups:
        if group.loc[group["peak"].notna(), x].nunique() < min_shapes:
            continue
        values = key if isinstance(key, tuple) else (key,)
        title = ", ".join(f"{axis.removeprefix('axis:')} {value}" for axis, value in zip(varying, values))
        panels.append(Panel(title, group.dropna(subset=[x]).sort_values(x, kind="stable")))
    return panels


def _with_gaps(cases: pd.DataFrame) -> pd.DataFrame:
    """Removes the numbers of failed cases: a wrong result has no time."""
    is_measured = (cases["outcome"] == "ok") & cases["peak"].notna()
    numbers = ["peak", "setup", "estimate", "time", "time_min", "time_max", "bytes_per_second", "share_of_copy"]
    known = {column: cases[column].where(is_measured) for column in numbers}
    return cases.assign(**known, at_peak=cases["at_peak"].astype(object).where(is_measured, None))


def figures(run: Run, preferred_axis: str | None = None, min_shapes: int = MIN_SHAPES) -> list[Figure]:
    """Returns a figure for each operation and each label of the suite's sweeps (`figure = "growth"`).

    If the suite labels no sweep of an operation, its figure has all cases. An operation without a panel of `min_shapes`
    measured shapes has no figure. The preferred axis is `x` where possible.
    """
    figures: list[Figure] = []
    if not len(run.cases):
        return figures
    for operation, cases in _with_gaps(run.cases.reset_index(drop=True)).groupby("operation", sort=False):
        labels = cases.loc[cases["peak"].notna(), "figure"].dropna().unique()
        groups = cases.groupby("figure", sort=False) if len(labels) else [(None, cases)]
        for label, group in groups:
            measured = group[group["peak"].notna()]
            words, numbers = _words_and_numbers(measured, run.axis_columns(measured))
            x = _leading_axis(measured, numbers, preferred_axis)
            panels = _panels(group, words, x, min_shapes)
            if panels:
                name = operation if label is None or len(labels) == 1 else f"{operation}-{label}"
                figures.append(Figure(name, x, panels))
    return figures


def x_label(figure: Figure) -> str:
    """Returns the label of the x axis with constant and equal axes: `ny (n 20, nx = ny)`."""
    if figure.x == "floor":
        return "input + output"
    cases = pd.concat([panel.cases for panel in figure.panels])
    x = figure.x.removeprefix("axis:")
    notes = []
    for column in [column for column in cases.columns if column.startswith("axis:") and column != figure.x]:
        values = cases[column].dropna()
        if not len(values) or values.map(lambda value: isinstance(value, str)).any():
            continue
        name = column.removeprefix("axis:")
        if (values == cases.loc[values.index, figure.x]).all():
            notes.append(f"{name} = {x}")
        elif values.nunique() == 1 and len(values) == len(cases) and values.iloc[0] != 0:
            notes.append(f"{name} {values.iloc[0]:g}")
    return f"{x}  ({', '.join(notes)})" if notes else x
