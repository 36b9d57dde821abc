"""Selects the cases of each line of a figure. Pure: draws nothing.

One rule: x is the axis asked for, or the one that explains most of the memory. Cases that also differ in another axis are in
another panel, or on another line: no line has two points at one x."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from .common import quantity
from .run_file import Run

# A line through fewer shapes shows no trend.
MIN_SHAPES = 3
# More do not fit on a page; readers cannot distinguish more shades.
MAX_PANELS, MAX_SHADES = 6, 6
FLOOR = "floor"


@dataclass(frozen=True)
class Panel:
    """One column of a figure: the cases with the same words (mode, dtype, …) and the same numbers of axes that do not follow x.

    The column `line` has the name of each case's line. Includes planned cases that were not measured, with NaN for every
    metric: lines have gaps there.
    """

    title: str
    cases: pd.DataFrame


@dataclass(frozen=True)
class Figure:
    """One operation. `x` is a column of every panel's cases: an axis, or `floor` if the shapes have nothing else in common.

    `y` is the second axis of a heat map. Only the points of a figure that `is_joined` differ in nothing but x and what follows
    from it. A `graded` figure has a line for each value of an axis, else for each variant. `notes` are for the caption.
    """

    name: str
    x: str
    panels: list[Panel]
    y: str | None = None
    is_joined: bool = True
    is_graded: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def cases(self) -> pd.DataFrame:
        return pd.concat([panel.cases for panel in self.panels])

    @property
    def lines(self) -> list[str]:
        """Returns the names of the lines with a measured case."""
        cases = self.cases
        return list(dict.fromkeys(cases.loc[cases["peak"].notna(), "line"]))

    @property
    def has_words(self) -> bool:
        """True if the values of x are words."""
        return is_words(self.cases[self.x])


def is_words(values: pd.Series) -> bool:
    return bool(values.map(lambda value: isinstance(value, str)).any())


def axis_name(column: str) -> str:
    return "input + output" if column == FLOOR else column.removeprefix("axis:")


def number_text(value: float) -> str:
    return f"{value:.10g}"


def value_text(value: float | str) -> str:
    return value if isinstance(value, str) else number_text(value)


def evenly(values: Sequence, count: int) -> list:
    """Returns at most `count` of the values: the last, the first, and others between them."""
    if len(values) <= count:
        return list(values)
    places = [len(values) - 1] if count == 1 else np.linspace(0, len(values) - 1, count).round().astype(int)
    return [values[i] for i in places]


def _varying(cases: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Returns the columns with several values within a variant."""
    return [column for column in columns if (cases.groupby("variant", sort=False)[column].nunique() > 1).any()]


def _follows(cases: pd.DataFrame, other: str, drawn: Sequence[str]) -> bool:
    """True if `other` only grows or only falls with x in each variant, as `nx = ny` and `pad = ny / 2` do; of a heat map, if it has
    one value at each x and y."""
    for _variant, of_variant in cases.groupby("variant", sort=False):
        known = of_variant[[*drawn, other]].dropna().drop_duplicates().sort_values(drawn[0])
        values = known[other]
        is_monotonic = values.is_monotonic_increasing or values.is_monotonic_decreasing
        if known.duplicated(list(drawn)).any() or not (is_monotonic or drawn[1:]):
            return False
    return True


def _explained(cases: pd.DataFrame, axis: str, words: Sequence[str]) -> float:
    """Returns the share of the variance of log(peak) between the values of the axis: R² within each variant and its words."""
    groups = ["variant", *words]
    logs = np.log(cases["peak"].clip(lower=1))
    total = ((logs - logs.groupby([cases[one] for one in groups], dropna=False).transform("mean")) ** 2).sum()
    within = ((logs - logs.groupby([cases[one] for one in (*groups, axis)], dropna=False).transform("mean")) ** 2).sum()
    return round(1 - within / total, 9) if total > 0 else 0.0


def _split(cases: pd.DataFrame, by: Sequence[str], x: str, min_shapes: int) -> list[tuple[tuple, pd.DataFrame]]:
    """Returns the groups of cases with equal values of `by` that have enough measured shapes."""
    groups = [((), cases)] if not by else list(cases.groupby(list(by), sort=False, dropna=False))
    return [(key, group) for key, group in groups if group.loc[group["peak"].notna(), x].nunique() >= min_shapes]


def _title(by: Sequence[str], key: tuple, shown: Sequence[str]) -> str:
    named = [(axis_name(axis), value) for axis, value in zip(by, key) if axis in shown]
    return ", ".join(f"no {name}" if pd.isna(value) else f"{name} {value_text(value)}" for name, value in named)


@dataclass
class _Choice:
    """The choice for one figure: its x, the axes with a panel for each value, and the axis with a line for each value."""

    x: str
    panel_axes: list[str]
    shade: str | None = None
    is_joined: bool = True


def _choose(measured: pd.DataFrame, run: Run, asked: Sequence[str], min_shapes: int) -> _Choice | None:
    """Returns None if an axis asked for does not vary, or if there are too few shapes."""
    every = _varying(measured, [*run.axis_columns(measured), "backend"])
    words = [axis for axis in every if is_words(measured[axis])]
    explained = {axis: _explained(measured, axis, words) for axis in every if axis not in words}
    # If axes are equal, the first is used.
    numbers = sorted(explained, key=lambda axis: -explained[axis])
    wanted = [f"axis:{axis}" for axis in asked]
    if any(axis not in every for axis in wanted):
        return None
    for x in wanted[:1] or numbers or sorted(words, key=lambda axis: -measured[axis].nunique()):
        drawn = wanted or [x]
        others = [axis for axis in words if axis not in drawn]
        free: list[str] = []
        for axis in numbers:
            if axis not in drawn and not any(_follows(measured, axis, known) for known in (drawn, *([one] for one in free))):
                free.append(axis)
        if _split(measured, [*others, *free], x, max(min_shapes, 2)):
            shade = free.pop(0) if free and not wanted[1:] and measured["variant"].nunique() == 1 else None
            return _Choice(x, [*others, *free], shade, x not in words)
    x = wanted[0] if wanted else FLOOR
    for panel_axes in (words, []):
        if not wanted[1:] and _split(measured, panel_axes, x, min_shapes):
            return _Choice(x, panel_axes, is_joined=False)
    return None


def _thinned(cases: pd.DataFrame, choice: _Choice) -> tuple[pd.DataFrame, list[str]]:
    """Returns the cases of values that fit on a page, and a note for each axis with others. Keeps the last value."""
    notes: list[str] = []

    def keep(axis: str, values: list, count: int) -> None:
        nonlocal cases
        kept = evenly(values, count)
        shown = cases[cases[axis].isin(kept) | cases[axis].isna()]
        left = [value_text(value) for value in values if value not in kept]
        texts = left if len(left) <= 4 else [*left[:2], "…", left[-1]]
        notes.append(f"{quantity(len(cases) - len(shown), 'case')} with {axis_name(axis)} {', '.join(texts)}")
        cases = shown

    def values_of(axis: str) -> list:
        values = cases.loc[cases["peak"].notna(), axis].dropna().drop_duplicates()
        return list(values if is_words(values) else values.sort_values())

    if choice.shade and len(values_of(choice.shade)) > MAX_SHADES:
        keep(choice.shade, values_of(choice.shade), MAX_SHADES)
    while choice.panel_axes:
        panels = cases[cases["peak"].notna()].groupby(choice.panel_axes, dropna=False).ngroups
        # Of axes with equally many values, the one that explains least, which is last.
        axis = max(reversed(choice.panel_axes), key=lambda one: len(values_of(one)))
        values = values_of(axis)
        if panels <= MAX_PANELS or len(values) == 1:
            break
        keep(axis, values, min(len(values) - 1, max(1, len(values) * MAX_PANELS // panels)))
    return cases, notes


def _joined_title(titles: list[str]) -> str:
    """Joins `mode edge, n 1` and `mode wrap, n 1` to `mode edge/wrap, n 1`; titles that differ in more with semicolons."""
    parts = [list(dict.fromkeys(column)) for column in zip(*(title.split(", ") for title in titles))]
    if math.prod(map(len, parts)) != len(titles):
        return "; ".join(titles)
    return ", ".join("/".join([first, *(other.split(" ", 1)[-1] for other in others)]) for first, *others in parts)


def merged(panels: Sequence[Panel], facts: Callable[[pd.DataFrame], Hashable]) -> list[Panel]:
    """Returns the panels, but only one of those with equal facts."""
    groups: dict[Hashable, list[Panel]] = {}
    for panel in panels:
        groups.setdefault(facts(panel.cases), []).append(panel)
    return [Panel(_joined_title([one.title for one in same]), same[0].cases) for same in groups.values()]


def _sorted(cases: pd.DataFrame, x: str) -> pd.DataFrame:
    if not is_words(cases[x]):
        return cases.sort_values(x, kind="stable")
    order = {word: place for place, word in enumerate(dict.fromkeys(cases[x]))}
    return cases.sort_values(x, kind="stable", key=lambda words: words.map(order))


def _figure(name: str, cases: pd.DataFrame, run: Run, asked: Sequence[str], min_shapes: int, left_out: list[str]) -> Figure | None:
    measured = cases[cases["peak"].notna()]
    choice = _choose(measured, run, asked, min_shapes)
    if choice is None:
        return None
    unmeasured = Counter(str(outcome).replace("_", " ") for outcome in cases.loc[cases["peak"].isna(), "outcome"])
    left_out = left_out + [f"{quantity(count, 'case')} not measured ({outcome})" for outcome, count in unmeasured.items()]
    planned = len(cases)
    enough = max(min_shapes, 2) if choice.is_joined else min_shapes
    kept = _split(cases.dropna(subset=[choice.x]), choice.panel_axes, choice.x, enough)
    cases = pd.concat([group for _key, group in kept])
    few = [f"{quantity(planned - len(cases), 'case')} with fewer than {quantity(enough, 'shape')}"] if len(cases) < planned else []
    cases, thinned = _thinned(cases, choice)
    groups = _split(cases, choice.panel_axes, choice.x, enough)
    if not groups:
        # Axes that change together have no case for most combinations of their values.
        groups = evenly(kept, MAX_PANELS)
        thinned = [f"{quantity(sum(len(group) for _key, group in kept) - sum(len(group) for _key, group in groups), 'case')} of other panels"]
    shown = [*choice.panel_axes, *([choice.shade] if choice.shade else [])]
    several = [axis for i, axis in enumerate(choice.panel_axes) if len({key[i] for key, _group in groups}) > 1]
    panels = []
    for key, group in groups:
        if choice.shade:
            lines = group[choice.shade].map(lambda value: _title([choice.shade], (value,), [choice.shade]))
            group = group.sort_values(choice.shade, kind="stable")
        else:
            lines = group["variant"]
        panels.append(Panel(_title(choice.panel_axes, key, several), _sorted(group.assign(line=lines), choice.x)))
    notes = []
    if not choice.is_joined and not is_words(cases[choice.x]):
        differing = [axis_name(axis) for axis in _varying(measured, run.axis_columns(measured)) if axis not in (choice.x, *shown)]
        notes = [f"Points differ also in {', '.join(differing)}"] if differing else []
    everything = left_out + thinned + few
    notes += [f"Left out: {'; '.join(everything)}"] if everything else []
    y = f"axis:{asked[1]}" if asked[1:] else None
    return Figure(name, choice.x, panels, y, choice.is_joined, choice.shade is not None, notes) if panels else None


def _with_gaps(cases: pd.DataFrame) -> pd.DataFrame:
    """Removes the numbers of failed cases: a wrong result has no time."""
    is_measured = (cases["outcome"] == "ok") & cases["peak"].notna()
    numbers = ["peak", "setup", "estimate", "time", "time_min", "time_max", "bytes_per_second", "share_of_copy"]
    known = {column: cases[column].where(is_measured) for column in numbers}
    return cases.assign(**known, at_peak=cases["at_peak"].astype(object).where(is_measured, None))


def figures(run: Run, axes: Sequence[str] = (), min_shapes: int = MIN_SHAPES) -> list[Figure]:
    """Returns a figure for each operation and each label of the suite's sweeps (`figure = "growth"`).

    If the suite labels no sweep of an operation, or an axis asked for varies in none of these, its figure has all cases. An
    operation without a panel of `min_shapes` measured shapes has no figure, nor has one in which an axis asked for does not vary.
    `axes`: x, and y of a heat map.
    """
    figures: list[Figure] = []
    if not len(run.cases):
        return figures
    for operation, cases in _with_gaps(run.cases.reset_index(drop=True)).groupby("operation", sort=False):
        labels = cases.loc[cases["peak"].notna(), "figure"].dropna().unique()
        others = int(cases["figure"].isna().sum()) if len(labels) else 0
        left_out = [f"{quantity(others, 'case')} without a figure in the suite"] if others else []
        found = []
        for label, group in cases.groupby("figure", sort=False):
            name = operation if len(labels) == 1 else f"{operation}-{label}"
            found.append(_figure(name, group, run, axes, min_shapes, left_out) if len(labels) else None)
        # An axis asked for may vary only in the cases without a label.
        if not len(labels) or (axes and not any(found)):
            found = [_figure(operation, cases, run, axes, min_shapes, [])]
        figures += [figure for figure in found if figure is not None]
    return figures


def x_label(figure: Figure) -> str:
    """Returns the label of the x axis with constant and equal axes: `ny (n 20, nx = ny)`."""
    x = axis_name(figure.x)
    if figure.x == FLOOR or figure.has_words:
        return x
    cases = figure.cases
    notes = []
    for column in [column for column in cases.columns if column.startswith("axis:") and column != figure.x]:
        values = cases[column].dropna()
        if not len(values) or is_words(values):
            continue
        name = axis_name(column)
        if (values == cases.loc[values.index, figure.x]).all():
            notes.append(f"{name} = {x}")
        elif values.nunique() == 1 and len(values) == len(cases) and values.iloc[0] != 0:
            notes.append(f"{name} {number_text(values.iloc[0])}")
    return f"{x}  ({', '.join(notes)})" if notes else x
