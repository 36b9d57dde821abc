"""The data of the page's script, in files that it loads when they are needed: for each device of a branch its runs and a row per
case, and the series of its cases."""

from __future__ import annotations

import functools
import json
import math
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import numpy as np

from .assessment import STATES, Assessment, Finding, CaseStatus
from .common import short_commit
from .history_file import METRICS, DeviceHistory, Values

# Cases of one data file, which is loaded when the first of them is opened; a comparison of two runs loads all files of a device.
CASES_PER_FILE = 256
# Significant digits of a time: noise is in the second or third.
TIME_DIGITS = 4
# Two letters encode 4,095 values and a gap; four digits and a comma take five characters. The page's script has the same list.
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
COLUMNS = (
    "name", "state", "operation", "peak", "time", "throughput", "ratio", "outcome", "change", "state_metric", "window",
    "changes", "reasons", "chunk", "place",
)


def _repeated(count: int, value: Any) -> list[Any]:
    return [[count, value]] if count >= 3 else [value] * count


def packed(values: list[Any]) -> list[Any]:
    """Encodes three or more equal values as `[count, value]`: bytes seldom change."""
    out: list[Any] = []
    i = 0
    while i < len(values):
        end = i
        while end < len(values) and values[end] == values[i]:
            end += 1
        out.extend(_repeated(end - i, values[i]))
        i = end
    return out


def _packed_numbers(array: np.ndarray) -> list[Any]:
    """Encodes whole numbers as packed(); NaN is None."""
    if not len(array):
        return []
    if (array == array[0]).all():
        return _repeated(len(array), int(array[0]))
    is_equal = (array[1:] == array[:-1]) | (np.isnan(array[1:]) & np.isnan(array[:-1]))
    starts = np.flatnonzero(np.concatenate(([True], ~is_equal)))
    counts = np.diff(np.append(starts, len(array)))
    out: list[Any] = []
    for first, count in zip(array[starts].tolist(), counts.tolist()):
        out.extend(_repeated(count, None if math.isnan(first) else int(first)))
    return out


_LETTERS = np.frombuffer(LETTERS.encode("ascii"), np.uint8)


def _lettered(array: np.ndarray, low: int) -> str:
    """Encodes a value in two letters; `AA` is NaN."""
    numbers = np.where(np.isnan(array), 0, array - low + 1).astype(int)
    return np.column_stack((_LETTERS[numbers // 64], _LETTERS[numbers % 64])).tobytes().decode("ascii")


def _shortest(unit: float, array: np.ndarray) -> dict[str, Any]:
    low, high = int(np.nanmin(array)), int(np.nanmax(array))
    if high - low + 1 >= len(LETTERS) ** 2:
        return {"unit": unit, "values": _packed_numbers(array)}
    lettered = {"unit": unit, "least": low, "letters": _lettered(array, low)}
    changes = np.count_nonzero(np.diff(np.nan_to_num(array, nan=-1)))
    if low >= 1000 and 5 * changes > 2 * len(array) + 100:
        return lettered  # four digits and a comma for each change are longer
    plain = {"unit": unit, "values": _packed_numbers(array)}
    return min(plain, lettered, key=lambda one: len(json.dumps(one, separators=(",", ":"))))


def packed_series(metric: str, values: Values | list[float | int | None]) -> dict[str, Any]:
    """Encodes values as `unit` × `values`, or as `unit` × (`least` − 1 + number of two `letters`), whichever is shorter. Times are
    rounded to four digits of their median."""
    array = values.array if isinstance(values, Values) else np.array(values, dtype=float)
    if metric.endswith("_bytes"):
        return {"unit": 1, "values": _packed_numbers(array)}
    return _rounded_series(TIME_DIGITS if metric == "gpu_time_ns" else 6, array.tobytes())


@functools.lru_cache(maxsize=1000)  # the ratio of most cases is 1 in all runs
def _rounded_series(digits: int, numbers: bytes) -> dict[str, Any]:
    array = np.frombuffer(numbers)
    measured = np.sort(np.abs(array[~np.isnan(array) & (array != 0)]))
    if not len(measured):
        return {"unit": 1, "values": _packed_numbers(array)}
    exponent = math.floor(math.log10(measured[len(measured) // 2])) - digits + 1
    # Divides instead of multiplying, since negative powers of ten are not exact in binary.
    divide = 10 ** -exponent if exponent < 0 else None
    unit = 10**exponent if exponent >= 0 else 1 / divide
    return _shortest(unit, np.rint(array * float(divide) if divide else array / unit))


def environment_marks(device: DeviceHistory, changes: list[SimpleNamespace]) -> list[dict[str, Any]]:
    """Returns one mark for each run in which the environment changed."""
    texts: dict[int, list[str]] = {}
    for one in changes:
        at = device.run_index.get(one.run)
        if at is not None:
            texts.setdefault(at, []).append(f"{one.what} {one.before or '–'} → {one.after or '–'}")
    return [{"at": at, "text": "; ".join(texts[at])} for at in sorted(texts)]


def _change(finding: Finding) -> dict[str, Any]:
    change = finding.change
    return {
        "at": finding.at,
        "date": change.date[:10],
        "metric": change.metric,
        "verdict": change.verdict,
        "relative": change.relative,
        "levels": change.levels,
        "resolution": change.resolution,
        "new": change.new,
        "allocations": change.cause[:20],
    }


def _row(status: CaseStatus, chunk: int, place: int) -> list[Any]:
    history, worst = status.history, status.worst
    changes = [_change(finding) for finding in status.findings]
    values = {
        "name": history.case,
        "state": status.state,
        "operation": history.operation,
        "peak": history.last_value("requested_peak_bytes"),
        "time": history.last_value("gpu_time_ns"),
        "throughput": status.throughput,
        "ratio": history.last_value("estimate_ratio"),
        "outcome": None if status.last is None else history.outcomes[status.last],
        "change": worst.change.relative if worst else None,
        "state_metric": worst.change.metric if worst else None,
        "window": status.window,
        "changes": changes or None,
        "reasons": status.reasons or None,
        "chunk": chunk,
        "place": place,
    }
    return [values[name] for name in COLUMNS]


@dataclass(frozen=True)
class Entry:
    """A device of a branch, as the page numbers it, with its cases, worst first."""

    number: int
    assessment: Assessment
    device: DeviceHistory
    statuses: list[CaseStatus]
    first_chunk: int

    def address(self, **more: str) -> str:
        """Returns a fragment of the page's address, which the page's script reads: it has names, so it stays valid."""
        branch = {"branch": self.device.branch} if self.device.branch else {}
        return f"#{urlencode(more | {'device': self.device.label} | branch)}"


def entries(assessments: Sequence[Assessment]) -> list[Entry]:
    """Returns the devices of the base branch, then those of the other branches."""
    found: list[Entry] = []
    chunk = 0
    for assessment in assessments:
        statuses: dict[int, list[CaseStatus]] = {id(device): [] for device in assessment.history.devices}
        for status in assessment.statuses:
            statuses[id(status.device)].append(status)
        for device in assessment.history.devices:
            mine = statuses[id(device)]
            found.append(Entry(len(found), assessment, device, mine, chunk))
            chunk += -(-len(mine) // CASES_PER_FILE)
    return found


def page_data(shown: Sequence[Entry], commit_url: str, version: str) -> dict[str, Any]:
    """Returns the data within the page. `version` differs from that of an earlier report, whose files a browser may have kept."""
    return {
        "version": version,
        "states": list(STATES.items()),
        "attention": sorted({status.state for entry in shown for status in entry.statuses if status.needs_action}),
        "devices": [
            {"label": entry.device.label, "branch": entry.device.branch, "cases": len(entry.statuses)} for entry in shown
        ],
        "commit_url": commit_url,
        "columns": COLUMNS,
    }


def device_data(entry: Entry) -> dict[str, Any]:
    """Returns the runs of a device, and a row for each case."""
    runs = entry.device.runs
    return {
        "runs": [
            {"id": run.id, "date": run.date, "commit": short_commit(run.commit), "suite": run.suite, "branch": run.branch}
            for run in runs
        ],
        "environment": environment_marks(entry.device, entry.assessment.trends.environment_changes),
        "rows": [
            _row(status, entry.first_chunk + place // CASES_PER_FILE, place % CASES_PER_FILE)
            for place, status in enumerate(entry.statuses)
        ],
    }


def case_data(status: CaseStatus) -> dict[str, Any]:
    history = status.history
    known = [metric for metric in METRICS if metric in history.series]
    known += [metric for metric in history.series if metric not in METRICS]
    return {
        "axes": history.axes,
        "outcomes": packed(history.outcomes),
        "series": {metric: packed_series(metric, history.series[metric]) for metric in known},
    }


def chunks(entry: Entry) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yields the number of each file, and the series of its cases in the order of the rows."""
    for begin in range(0, len(entry.statuses), CASES_PER_FILE):
        cases = [case_data(status) for status in entry.statuses[begin : begin + CASES_PER_FILE]]
        yield entry.first_chunk + begin // CASES_PER_FILE, cases
