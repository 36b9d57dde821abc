"""Run files as tables of pandas."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from .errors import InputError

RUN_FILE_VERSION = 1
NUMBERS = ["window_lo", "window_hi", "peak", "setup", "floor", "estimate", "time", "time_min", "time_max", "bytes_per_second", "share_of_copy"]


class RunFileError(InputError):
    """The file is no run that this version reads; the message says why."""


@dataclass(frozen=True)
class Run:
    """One run: what was true of all of it, and a row a case.

    `cases` has the columns `case`, `operation`, `variant`, `backend`, `figure`, `window_lo`, `window_hi`, `outcome`,
    `estimator`, bytes (`peak`, `setup`, `floor`, `estimate`), nanoseconds (`time`, `time_min`, `time_max`), `cache` (`cold`
    or `hot`, of the times), `bytes_per_second`, and `share_of_copy` of the run's reference copy; `at_peak`, the bytes of each name that was live at the peak; `axes`, the names of the case's axes, and beside them `axis:NAME` for every
    axis. What is unknown is NaN or None, never 0.
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

    def axes_of(self, cases: pd.DataFrame) -> list[str]:
        """Names of the axes that any of these cases has, in the order of case names."""
        return [f"axis:{name}" for name in dict.fromkeys(name for names in cases["axes"] for name in names)]


def _floor_bytes(observation: dict[str, Any]) -> int | None:
    """Input and output: what any way to compute it must hold. In place, the output is the input."""
    input_bytes, output_bytes = observation.get("input_bytes"), observation.get("output_bytes")
    if input_bytes is None or output_bytes is None:
        return None
    return input_bytes + output_bytes


def _bytes_at_peak(observation: dict[str, Any]) -> dict[str, int] | None:
    """Bytes of each name; several allocations of one name are one, and so are those that have none."""
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
    }
    row.update({f"axis:{name}": value for name, value in observation["axes"].items()})
    return row


def load_run(path: Path) -> Run:
    """Reads a run file. Raises RunFileError, or OSError where the file cannot be opened."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise RunFileError(f"{path}: not JSON, or cut short: {error}") from error
    return parse_run(document, str(path))


def parse_run(document: Any, name: str) -> Run:
    """A run file's JSON as tables; `name` is said in errors. Raises RunFileError."""
    outer = document.get("context") if isinstance(document, dict) else None
    context = outer.get("peakmark") if isinstance(outer, dict) else None
    if not isinstance(context, dict):
        raise RunFileError(f"{name}: no run of peakmark: it has no context.peakmark")
    if context.get("version") != RUN_FILE_VERSION:
        raise RunFileError(
            f"{name}: version {context.get('version')} of the run file; this reads {RUN_FILE_VERSION}: use the peakmark "
            "that wrote it"
        )
    try:
        planned = {entry["case"]: entry for entry in context["planned"]}
        observations = [row["peakmark"] for row in document["benchmarks"] if "peakmark" in row]
        rows = [_row(observation, planned[observation["case"]]) for observation in observations]
    except (AttributeError, KeyError, TypeError) as error:
        raise RunFileError(f"{name}: not a whole run file: {type(error).__name__}: {error}") from error
    cases = pd.DataFrame(rows)
    # A column in which nothing is known is one of numbers too.
    for column in [column for column in NUMBERS if column in cases]:
        cases[column] = pd.to_numeric(cases[column])
    return Run(context, cases)
