"""A history, as `peakmark history export --format series` writes it: runs, and a line of values a case and metric."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import InputError
from .figures_text import quantity

# In the order in which they are shown.
METRICS = ("requested_peak_bytes", "gpu_time_ns", "estimate_ratio", "setup_bytes", "leaked_bytes")


class HistoryFileError(InputError):
    """The text is no history that this version reads; the message says what, where."""


@dataclass(frozen=True)
class Night:
    """One run. `date` is ISO 8601 in UTC; texts are empty where nothing is known."""

    id: str
    date: str
    commit: str
    driver: str
    environment: dict[str, str]


@dataclass(frozen=True)
class CaseHistory:
    """One case on one device. Every list is as long as the device's nights; None where nothing was measured."""

    case: str
    variant: str
    axes: dict[str, str]
    series: dict[str, list[float | int | None]]
    outcomes: list[str | None]

    @property
    def operation(self) -> str:
        return self.variant.split("/")[0]

    def last_planned(self) -> int | None:
        """The newest night that planned the case, whatever became of it."""
        for i in range(len(self.outcomes) - 1, -1, -1):
            if self.outcomes[i] is not None:
                return i
        return None

    def last_value(self, metric: str) -> float | int | None:
        """Of the newest night that planned the case: what it did not measure is None, not an older value."""
        last = self.last_planned()
        values = self.series.get(metric)
        return None if last is None or values is None else values[last]


@dataclass(frozen=True)
class DeviceHistory:
    """All that is known of one device of one backend: its nights in the order of the export."""

    device: str
    backend: str
    nights: list[Night]
    cases: list[CaseHistory]
    place_of: dict[str, int] = field(default_factory=dict)
    """Of a run's id among `nights`."""


@dataclass(frozen=True)
class History:
    devices: list[DeviceHistory]

    @property
    def cases(self) -> int:
        return sum(len(device.cases) for device in self.devices)

    @property
    def simulated(self) -> bool:
        """Whether any run says in its environment that nothing was measured."""
        return any("simulated" in night.environment for device in self.devices for night in device.nights)


def finite(value: Any) -> float | int | None:
    """A number, or None: what is not finite was not measured."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def text(value: Any) -> str:
    """As it can be written again: half a surrogate pair, which JSON allows, is no character."""
    return "" if value is None else str(value).encode("utf-8", "replace").decode("utf-8")


def _night(run: dict[str, Any]) -> Night:
    environment = run.get("environment") or {}
    return Night(
        text(run["id"]),
        text(run.get("date")),
        text(run.get("commit")),
        text(run.get("driver")),
        {text(name): text(value) for name, value in environment.items()},
    )


def _case(line: dict[str, Any], places: list[int], runs: int, where: str) -> CaseHistory:
    def chosen(name: str, values: list[Any]) -> list[Any]:
        if len(values) != runs:
            raise HistoryFileError(f"{where}: {name} has {quantity(len(values), 'value')} for {quantity(runs, 'run')}")
        return [values[place] for place in places]

    series = {
        text(metric): [finite(value) for value in chosen(metric, values)]
        for metric, values in (line.get("series") or {}).items()
        if values is not None
    }
    # A metric that was never measured is as good as none.
    series = {metric: values for metric, values in series.items() if any(value is not None for value in values)}
    outcomes = line.get("outcomes")
    if outcomes is None:
        outcomes = [
            "ok" if any(values[i] is not None for values in series.values()) else None for i in range(len(places))
        ]
    else:
        outcomes = [None if one is None else text(one) for one in chosen("outcomes", outcomes)]
    axes = {text(name): text(value) for name, value in (line.get("axes") or {}).items()}
    # Of a case that nobody knows any more: the first words of its name.
    case = text(line["case"])
    variant = text(line.get("variant")) or "/".join(case.split("/")[:2])
    return CaseHistory(case, variant, axes, series, outcomes)


def parse_history(lines: Iterable[str], name: str) -> History:
    """Reads the export's lines; `name` is said in errors. Nothing at all is a history without runs.

    Raises HistoryFileError.
    """
    runs: list[dict[str, Any]] = []
    devices: dict[tuple[str, str], DeviceHistory] = {}
    places: dict[tuple[str, str], list[int]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{name}: line {number}"
        try:
            entry = json.loads(line)
            if "runs" in entry:
                runs = entry["runs"]
                for place, run in enumerate(runs):
                    key = (text(run.get("device")), text(run.get("backend")))
                    device = devices.setdefault(key, DeviceHistory(*key, [], []))
                    device.place_of[text(run["id"])] = len(device.nights)
                    device.nights.append(_night(run))
                    places.setdefault(key, []).append(place)
                continue
            key = (text(entry.get("device")), text(entry.get("backend")))
            if key not in devices:
                raise HistoryFileError(f"{where}: a case on {key[0]} ({key[1]}), of which no run is told")
            devices[key].cases.append(_case(entry, places[key], len(runs), where))
        except json.JSONDecodeError as error:
            raise HistoryFileError(f"{where}: not JSON, or cut short: {error}") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise HistoryFileError(f"{where}: no line of a history's series: {error!r}") from error
    return History(list(devices.values()))


def load_history(path: Path) -> History:
    """Raises HistoryFileError, or OSError where the file cannot be opened."""
    try:
        with path.open(encoding="utf-8") as lines:
            return parse_history(lines, str(path))
    except UnicodeDecodeError as error:
        raise HistoryFileError(f"{path}: not UTF-8: {error}") from error
