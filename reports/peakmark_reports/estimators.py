"""How close estimators come, a row a variant of the newest runs. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from .run_file import Run


@dataclass(frozen=True)
class EstimatorRow:
    """`judged` cases have a peak and an estimate; `outside` of them miss the window."""

    variant: str
    estimator: str
    device: str
    cases: int
    judged: int
    outside: int
    ratios: str
    window: str


def _range_text(low: float, high: float) -> str:
    texts = [f"{value:.3f}" for value in (low, high)]
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"


def with_ratio(cases: pd.DataFrame) -> pd.DataFrame:
    """The cases whose estimate can be judged, with `ratio`, the peak over the estimated bytes."""
    judged = cases[cases["peak"].notna() & cases["estimate"].notna() & (cases["estimate"] > 0)]
    return judged.assign(ratio=judged["peak"] / judged["estimate"])


def estimator_rows(runs: list[Run]) -> list[EstimatorRow]:
    """The worst first: those with cases outside, then by the distance of the ratio from 1. The suites of one device are
    taken together; of a case in several, the later run counts."""
    of_device: dict[tuple[str, str], list[pd.DataFrame]] = {}
    for run in runs:
        if len(run.cases):
            of_device.setdefault(run.device, []).append(run.cases)
    rows = []
    for (device, _backend), tables in of_device.items():
        every = tables[0] if len(tables) == 1 else pd.concat(tables).drop_duplicates("case", keep="last")
        named = every[every["estimator"].notna()]
        for (variant, estimator), cases in named.groupby(["variant", "estimator"], sort=False):
            judged = with_ratio(cases)
            outside = judged[(judged["ratio"] < judged["window_lo"]) | (judged["ratio"] > judged["window_hi"])]
            windows = {f"{low:g} to {high:g}" for low, high in zip(cases["window_lo"], cases["window_hi"])}
            ratios = _range_text(judged["ratio"].min(), judged["ratio"].max()) if len(judged) else "–"
            distance = (judged["ratio"] - 1).abs().max() if len(judged) else 0
            row = EstimatorRow(
                variant, str(estimator), device, len(cases), len(judged), len(outside), ratios,
                windows.pop() if len(windows) == 1 else "several",
            )
            rows.append((-len(outside), -distance, row.variant, row))
    return [row for *_order, row in sorted(rows, key=lambda one: one[:3])]
