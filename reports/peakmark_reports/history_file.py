"""Reads the output of `peakmark history export --format series`: runs, and the values of each case and metric."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from .common import InputError, quantity, reading

# In the order in which they are shown.
METRICS = ("requested_peak_bytes", "gpu_time_ns", "estimate_ratio", "setup_bytes", "leaked_bytes")

# Runs of a suite on a device in a report, as `history export --max-runs` chooses them: a year of nightly runs is shown whole.
MAX_RUNS = 400


@dataclass(frozen=True)
class HistoryRun:
    """One run. `date` is ISO 8601 in UTC; unknown texts are empty."""

    id: str
    date: str
    commit: str
    driver: str
    environment: dict[str, str]
    suite: str
    branch: str


class Values(Sequence):
    """The numbers of a metric over runs, None if not measured. A list of Python's numbers takes four times the memory."""

    __slots__ = ("array", "is_whole")

    def __init__(self, array: np.ndarray, is_whole: bool) -> None:
        self.array = array
        """64-bit floats, NaN if not measured."""
        self.is_whole = is_whole

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        value = float(self.array[place])
        if math.isnan(value):
            return None
        return int(value) if self.is_whole else value


@dataclass(frozen=True)
class CaseHistory:
    """One case on one device. Every list has an entry per run of the device, None if not measured."""

    case: str
    variant: str
    axes: dict[str, str]
    series: dict[str, Values]
    outcomes: list[str | None]

    @property
    def operation(self) -> str:
        return self.variant.split("/")[0]

    def last_planned(self) -> int | None:
        """Returns the index of the newest run that planned the case, measured or not."""
        for i in range(len(self.outcomes) - 1, -1, -1):
            if self.outcomes[i] is not None:
                return i
        return None

    def previous_outcome(self) -> str | None:
        """Returns the outcome in the run before last_planned() that planned the case; None if there is none."""
        planned = [outcome for outcome in self.outcomes if outcome is not None]
        return planned[-2] if len(planned) > 1 else None

    def last_value(self, metric: str) -> float | int | None:
        """Returns the value in the newest run that planned the case; None if not measured there, never an older value."""
        last = self.last_planned()
        values = self.series.get(metric)
        return None if last is None or values is None else values[last]


@dataclass(frozen=True)
class DeviceHistory:
    """One device of one backend: its runs in the order of the export, and its cases."""

    device: str
    backend: str
    runs: list[HistoryRun]
    cases: list[CaseHistory]
    run_index: dict[str, int] = field(default_factory=dict)
    """Index in `runs` by the id of a run; for a run that was left out, the index of the next one."""

    @property
    def run_count(self) -> int:
        """The number of runs with those that were left out."""
        return max(len(self.runs), len(self.run_index))

    @property
    def branch(self) -> str:
        """The branch of the newest run that has one; its base branch has earlier runs. Empty if unknown."""
        return next((run.branch for run in reversed(self.runs) if run.branch), "")

    @property
    def label(self) -> str:
        return self.device if self.device == self.backend else f"{self.device} ({self.backend})"


@dataclass(frozen=True)
class History:
    devices: list[DeviceHistory]

    @property
    def cases(self) -> int:
        return sum(len(device.cases) for device in self.devices)

    @property
    def simulated(self) -> bool:
        """True if the environment of any run declares it as simulated."""
        return any("simulated" in run.environment for device in self.devices for run in device.runs)


def _values(values: list[Any]) -> Values:
    return Values(np.array(values, dtype=float), float not in set(map(type, values)))


def _case(line: dict[str, Any], runs: int, where: str) -> CaseHistory:
    def checked(name: str, values: list[Any]) -> list[Any]:
        if len(values) != runs:
            raise InputError(f"{where}: {name} has {quantity(len(values), 'value')} for {quantity(runs, 'run')} of the device")
        return values

    series = {metric: _values(checked(metric, values)) for metric, values in line["series"].items()}
    # Drops metrics without any value.
    series = {metric: values for metric, values in series.items() if not np.isnan(values.array).all()}
    axes = {name: str(value) for name, value in line["axes"].items()}
    # The variant of an unknown case is the beginning of its name.
    variant = line["variant"] or "/".join(line["case"].split("/")[:2])
    return CaseHistory(line["case"], variant, axes, series, checked("outcomes", line["outcomes"]))


def _add_left_out(device: DeviceHistory, left_out: dict[str, Any], where: str) -> None:
    for run, place in left_out.items():
        if not isinstance(place, int) or not 0 <= place < len(device.runs):
            raise InputError(f"{where}: left_out: no run {place} follows {run}")
        device.run_index[run] = place


def parse_history(lines: Iterable[str], name: str) -> History:
    """Parses the lines of the export; errors show `name`. No lines are a history without runs.

    Raises InputError.
    """
    devices: dict[tuple[str, str], DeviceHistory] = {}
    # Most cases have equal outcomes: one list for all of them.
    outcomes: dict[tuple, list[str | None]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{name}: line {number}"
        with reading("history export --format series", where):
            entry = json.loads(line)
            if "runs" in entry:
                runs = entry["runs"]
                for run in runs:
                    key = run["device"], run["backend"]
                    device = devices.setdefault(key, DeviceHistory(*key, [], []))
                    device.run_index[run["id"]] = len(device.runs)
                    device.runs.append(HistoryRun(*(run[one.name] for one in fields(HistoryRun))))
                if runs:
                    _add_left_out(device, entry.get("left_out") or {}, where)
                continue
            key = entry["device"], entry["backend"]
            if key not in devices:
                raise InputError(f"{where}: a case on {key[0]} ({key[1]}), which has no run")
            case = _case(entry, len(devices[key].runs), where)
            devices[key].cases.append(replace(case, outcomes=outcomes.setdefault(tuple(case.outcomes), case.outcomes)))
    return History(list(devices.values()))


def load_history(path: Path) -> History:
    """Reads a file. Raises InputError or OSError."""
    try:
        with path.open(encoding="utf-8") as lines:
            return parse_history(lines, str(path))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8: {error}") from error
