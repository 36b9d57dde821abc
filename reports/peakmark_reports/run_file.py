"""Reads run files into pandas tables, and computes the accuracy of their estimators."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from .common import InputError

RUN_FILE_VERSION = 1
NUMBERS = ["window_lo", "window_hi", "peak", "setup", "floor", "estimate", "time", "time_min", "time_max", "bytes_per_second", "share_of_copy"]


class RunFileError(InputError):
    """The file is not a run file of a supported version."""


@dataclass(frozen=True)
class Run:
    """One run: its context, and a row per case.

    `cases` has the columns `case`, `operation`, `variant`, `backend`, `figure`, `window_lo`, `window_hi`, `outcome`, `message`,
    `estimator`, bytes (`peak`, `setup`, `floor`, `estimate`), nanoseconds (`time`, `time_min`, `time_max`), `cache` (`cold`
    or `hot`, of the times), `bytes_per_second`, and `share_of_copy` of the run's reference copy; `at_peak`, the bytes of each name that was live at the peak; `axes`, the names of the case's axes, `axis_texts` such as `n:20`, and beside them `axis:NAME` for every
    axis; `metric:NAME` for every metric that a program reports. Unknown values are NaN or None, never 0.
    """

    context: dict[str, Any]
    cases: pd.DataFrame

    @property
    def device(self) -> tuple[str, str]:
        """Name and backend."""
        return str(self.context.get("device") or ""), str(self.context.get("backend") or "")

    @property
    def suite(self) -> str:
        return str(self.context.get("suite") or "")

    def axis_columns(self, cases: pd.DataFrame) -> list[str]:
        """Returns the columns of all axes of these cases, in the order of case names."""
        return [f"axis:{name}" for name in dict.fromkeys(name for names in cases["axes"] for name in names)]


def _floor_bytes(observation: dict[str, Any]) -> int | None:
    """Returns the floor: input and output. In place, the output is the input."""
    input_bytes, output_bytes = observation.get("input_bytes"), observation.get("output_bytes")
    if input_bytes is None or output_bytes is None:
        return None
    return input_bytes + output_bytes


def _bytes_at_peak(observation: dict[str, Any]) -> dict[str, int] | None:
    """Returns the bytes of each name: the sum of its allocations. Allocations without a name are one entry."""
    at_peak = observation.get("at_peak")
    if not at_peak:
        return None
    sizes: dict[str, int] = {}
    for allocation in at_peak:
        name = allocation["name"] or "unnamed"
        sizes[name] = sizes.get(name, 0) + allocation["bytes"]
    return sizes


def _row(observation: dict[str, Any], planned: dict[str, Any]) -> dict[str, Any]:
    time = observation.get("gpu_time_ns") or {}
    estimate = observation.get("estimate") or {}
    throughput = observation.get("throughput") or {}
    row = {
        "case": observation["case"],
        "operation": planned["variant"].split("/")[0],
        "variant": planned["variant"],
        "backend": planned["backend"],
        "figure": planned.get("figure"),
        "window_lo": planned["window"][0],
        "window_hi": planned["window"][1],
        "outcome": observation["outcome"],
        "message": observation.get("message"),
        "peak": observation.get("requested_peak_bytes"),
        "setup": observation.get("setup_bytes"),
        "floor": _floor_bytes(observation),
        "estimate": estimate.get("bytes_estimated"),
        "estimator": estimate.get("estimator"),
        "time": time.get("median"),
        "time_min": time.get("min"),
        "time_max": time.get("max"),
        "cache": observation.get("cache"),
        "bytes_per_second": throughput.get("bytes_per_second"),
        "share_of_copy": throughput.get("share_of_copy"),
        "at_peak": _bytes_at_peak(observation),
        "axes": tuple(observation["axes"]),
        # pandas stores integers as floats in a column that some cases lack, so the texts are made here.
        "axis_texts": tuple(f"{name}:{value}" for name, value in observation["axes"].items()),
    }
    row.update({f"axis:{name}": value for name, value in observation["axes"].items()})
    row.update({f"metric:{name}": value for name, value in observation.get("metrics", {}).items()})
    return row


def load_run(path: Path) -> Run:
    """Reads a run file. Raises RunFileError or OSError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise RunFileError(f"{path}: invalid or truncated JSON: {error}") from error
    return parse_run(document, str(path))


def parse_run(document: Any, name: str) -> Run:
    """Converts a run file's JSON to tables; errors show `name`. Raises RunFileError."""
    outer = document.get("context") if isinstance(document, dict) else None
    context = outer.get("peakmark") if isinstance(outer, dict) else None
    if not isinstance(context, dict):
        raise RunFileError(f"{name}: not a run file of peakmark: context.peakmark is missing")
    if context.get("version") != RUN_FILE_VERSION:
        raise RunFileError(
            f"{name}: unsupported version of the run file: {context.get('version')}, not {RUN_FILE_VERSION}; use the peakmark "
            "that wrote it"
        )
    try:
        planned = {entry["case"]: entry for entry in context["planned"]}
        observations = [row["peakmark"] for row in document["benchmarks"] if "peakmark" in row]
        rows = [_row(observation, planned[observation["case"]]) for observation in observations]
    except (AttributeError, KeyError, TypeError) as error:
        raise RunFileError(f"{name}: incomplete run file: {type(error).__name__}: {error}") from error
    cases = pd.DataFrame(rows)
    # Makes columns without any value numeric, too. Infinity, which JSON of Python has, is no measurement.
    for column in [column for column in NUMBERS if column in cases]:
        cases[column] = pd.to_numeric(cases[column]).replace([math.inf, -math.inf], math.nan)
    return Run(context, cases)


@dataclass(frozen=True)
class EstimatorRow:
    """The estimates of one variant: `judged` cases have a peak and an estimate, `outside` of them are outside the window."""

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
    """Returns the cases with a peak and an estimate, with `ratio`, peak / estimate, and whether it is `outside` of the window."""
    judged = cases[cases["peak"].notna() & cases["estimate"].notna() & (cases["estimate"] > 0)]
    ratio = judged["peak"] / judged["estimate"]
    return judged.assign(ratio=ratio, outside=(ratio < judged["window_lo"]) | (ratio > judged["window_hi"]))


def estimator_rows(runs: list[Run]) -> list[EstimatorRow]:
    """Returns a row per variant and estimator, worst first: most cases outside, then largest distance of the ratio from 1.
    Combines the suites of one device; if several have a case, the later run counts."""
    by_device: dict[tuple[str, str], list[pd.DataFrame]] = {}
    for run in runs:
        if len(run.cases):
            by_device.setdefault(run.device, []).append(run.cases)
    rows = []
    for (device, _backend), tables in by_device.items():
        every = tables[0] if len(tables) == 1 else pd.concat(tables).drop_duplicates("case", keep="last")
        named = every[every["estimator"].notna()]
        for (variant, estimator), cases in named.groupby(["variant", "estimator"], sort=False):
            judged = with_ratio(cases)
            outside = int(judged["outside"].sum())
            windows = {f"{low:g} to {high:g}" for low, high in zip(cases["window_lo"], cases["window_hi"])}
            ratios = _range_text(judged["ratio"].min(), judged["ratio"].max()) if len(judged) else "–"
            distance = (judged["ratio"] - 1).abs().max() if len(judged) else 0
            row = EstimatorRow(
                variant, str(estimator), device, len(cases), len(judged), outside, ratios,
                windows.pop() if len(windows) == 1 else "several",
            )
            rows.append((-outside, -distance, row.variant, row))
    return [row for *_order, row in sorted(rows, key=lambda one: one[:3])]
