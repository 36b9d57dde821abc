"""Which cases make one line of a figure. Pure: tables in, tables out; nothing is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from .run_file import Run

# A line through fewer shapes says nothing of a trend.
LEAST_SHAPES = 3


@dataclass(frozen=True)
class Panel:
    """One column of a figure: the cases that share their words (mode, dtype, …), a shape a point."""

    title: str
    cases: pd.DataFrame


@dataclass(frozen=True)
class Figure:
    """One operation. `x` is a column of every panel's cases: an axis, or `floor` where several axes vary freely."""

    name: str
    x: str
    panels: list[Panel]


def _words_and_numbers(cases: pd.DataFrame, axes: list[str]) -> tuple[list[str], list[str]]:
    words = [axis for axis in axes if cases[axis].map(lambda value: isinstance(value, str)).any()]
    return words, [axis for axis in axes if axis not in words]


def _leading_axis(cases: pd.DataFrame, numbers: list[str], wanted: str | None) -> str:
    """The axis that the other varying ones follow, so that its value names the shape; `floor` where none is.

    Of several it is the wanted one, else the first. An axis that is one number for each variant, as where their defaults differ, does not vary.
    """
    varying = [axis for axis in numbers if (cases.groupby("variant")[axis].nunique() > 1).any()]
    for axis in sorted(varying, key=lambda name: name != f"axis:{wanted}"):
        if all(cases.groupby(axis)[other].nunique().max() == 1 for other in varying):
            return axis
    return "floor"


def _panels(cases: pd.DataFrame, words: list[str], x: str) -> list[Panel]:
    varying = [axis for axis in words if cases[axis].nunique() > 1]
    groups = [((), cases)] if not varying else list(cases.groupby(varying, sort=False, dropna=False))
    panels = []
    for key, group in groups:
        if group[x].nunique() < LEAST_SHAPES:
            continue
        values = key if isinstance(key, tuple) else (key,)
        title = ", ".join(f"{axis.removeprefix('axis:')} {value}" for axis, value in zip(varying, values))
        panels.append(Panel(title, group.sort_values(x)))
    return panels


def figures_of(run: Run, wanted_axis: str | None = None) -> list[Figure]:
    """A figure for each operation and each label that the suite gives its sweeps (`figure = "growth"`).

    Where the suite labels no sweep of an operation, all its cases are taken. An operation that has no three shapes
    to put on a line has no figure. The wanted axis is the figures' `x` wherever it could be.
    """
    measured = run.cases[(run.cases["outcome"] == "ok") & run.cases["peak"].notna()] if len(run.cases) else run.cases
    figures = []
    if not len(measured):
        return figures
    for operation, cases in measured.groupby("operation", sort=False):
        labelled = cases[cases["figure"].notna()]
        groups = labelled.groupby("figure", sort=False) if len(labelled) else [(None, cases)]
        for label, group in groups:
            words, numbers = _words_and_numbers(group, run.axes_of(group))
            x = _leading_axis(group, numbers, wanted_axis)
            panels = _panels(group, words, x)
            if panels:
                name = operation if label is None or len(groups) == 1 else f"{operation}-{label}"
                figures.append(Figure(name, x, panels))
    return figures


def x_label(figure: Figure) -> str:
    """The axis as a label, with what stayed the same and what went along: `ny (n 20, nx = ny)`."""
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
