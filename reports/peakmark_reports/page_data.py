"""What the page's script reads: a row a case, and the series in files of their own, each for some cases."""

from __future__ import annotations

import json
import math
import string
from typing import Any

from .assessment import NEED_A_LOOK, STATES, Assessment, Finding, Standing
from .figures_text import levels_text, short_commit
from .history_file import METRICS, DeviceHistory
from .trend_file import EnvironmentChange

# Cases whose series stand in one file: it is read when the first of them is opened.
CASES_A_FILE = 64
# Digits of a time that are kept: noise is in the second or third.
TIME_DIGITS = 4
# Two of these tell 4,095 values and a gap, where four digits and a comma take five. The page's script has them too.
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
COLUMNS = (
    "name", "device", "state", "operation", "peak", "time", "throughput", "ratio", "outcome", "change", "state_metric", "window",
    "changes", "reasons", "chunk", "place",
)


def packed(values: list[Any]) -> list[Any]:
    """Three equals or more are `[count, value]`: bytes seldom change."""
    out: list[Any] = []
    i = 0
    while i < len(values):
        end = i
        while end < len(values) and values[end] == values[i]:
            end += 1
        out.extend([[end - i, values[i]]] if end - i >= 3 else values[i:end])
        i = end
    return out


def _lettered(values: list[int | None], least: int) -> str:
    """Two letters a value, `AA` where there is none."""
    numbers = [0 if value is None else value - least + 1 for value in values]
    return "".join(LETTERS[number // 64] + LETTERS[number % 64] for number in numbers)


def _shortest(unit: float, values: list[int | None]) -> dict[str, Any]:
    told = {"unit": unit, "values": packed(values)}
    known = [value for value in values if value is not None]
    if max(known) - min(known) + 1 >= len(LETTERS) ** 2:
        return told
    lettered = {"unit": unit, "least": min(known), "letters": _lettered(values, min(known))}
    return min(told, lettered, key=lambda one: len(json.dumps(one, separators=(",", ":"))))


def packed_series(metric: str, values: list[float | int | None]) -> dict[str, Any]:
    """`unit` times a value of `values` is the measured one, or `unit` times (`least` − 1 and what two of `letters`
    count), whichever is shorter; times are rounded to four digits of their median."""
    if metric.endswith("_bytes"):
        return {"unit": 1, "values": packed(values)}
    measured = sorted(abs(value) for value in values if value)
    if not measured:
        return {"unit": 1, "values": packed(values)}
    digits = TIME_DIGITS if metric == "gpu_time_ns" else 6
    exponent = math.floor(math.log10(measured[len(measured) // 2])) - digits + 1
    # A power of ten below one has no exact binary form: it divides instead.
    divide = 10 ** -exponent if exponent < 0 else None
    unit = 10**exponent if exponent >= 0 else 1 / divide
    scaled = [
        None if value is None else round(value * divide) if divide else round(value / unit) for value in values
    ]
    return _shortest(unit, scaled)


def environment_marks(device: DeviceHistory, changes: list[EnvironmentChange]) -> list[dict[str, Any]]:
    """A mark a night, whatever changed in it."""
    texts: dict[int, list[str]] = {}
    for one in changes:
        at = device.place_of.get(one.run)
        if at is not None:
            texts.setdefault(at, []).append(f"{one.what} {one.before or '–'} → {one.after or '–'}")
    return [{"at": at, "text": "; ".join(texts[at])} for at in sorted(texts)]


def _change(finding: Finding) -> dict[str, Any]:
    change = finding.change
    return {
        "at": finding.at,
        "metric": change.metric,
        "verdict": change.verdict,
        "relative": change.relative,
        "levels": levels_text(change.metric, change.before, change.after),
        "settled": finding.settled,
        "new": change.new,
        "allocations": change.allocations[:20],
    }


def _row(standing: Standing, device: int, place: int) -> list[Any]:
    history, worst = standing.history, standing.worst
    changes = [_change(finding) for finding in standing.findings]
    values = {
        "name": history.case,
        "device": device,
        "state": standing.state,
        "operation": history.operation,
        "peak": history.last_value("requested_peak_bytes"),
        "time": history.last_value("gpu_time_ns"),
        "throughput": standing.throughput,
        "ratio": history.last_value("estimate_ratio"),
        "outcome": None if standing.last is None else history.outcomes[standing.last],
        "change": worst.change.relative if worst else None,
        "state_metric": worst.change.metric if worst else None,
        "window": standing.window,
        "changes": changes or None,
        "reasons": standing.reasons or None,
        "chunk": place // CASES_A_FILE,
        "place": place % CASES_A_FILE,
    }
    return [values[name] for name in COLUMNS]


def device_label(device: DeviceHistory) -> str:
    return device.device if device.device == device.backend else f"{device.device} ({device.backend})"


def page_data(assessment: Assessment) -> dict[str, Any]:
    """What stands within the page. Rows come worst first."""
    devices = assessment.history.devices
    number = {id(device): i for i, device in enumerate(devices)}
    return {
        "states": list(STATES.items()),
        "look": NEED_A_LOOK,
        "devices": [
            {
                "label": device_label(device),
                "nights": [{"date": night.date, "commit": short_commit(night.commit)} for night in device.nights],
                "environment": environment_marks(device, assessment.trends.environment_changes),
            }
            for device in devices
        ],
        "columns": COLUMNS,
        "rows": [
            _row(standing, number[id(standing.device)], place) for place, standing in enumerate(assessment.standings)
        ],
    }


def case_data(standing: Standing) -> dict[str, Any]:
    history = standing.history
    known = [metric for metric in METRICS if metric in history.series]
    known += [metric for metric in history.series if metric not in METRICS]
    return {
        "axes": history.axes,
        "outcomes": packed(history.outcomes),
        "series": {metric: packed_series(metric, history.series[metric]) for metric in known},
    }


def chunks(assessment: Assessment) -> list[list[dict[str, Any]]]:
    """The series of every case, in the order of the rows, CASES_A_FILE a list."""
    cases = assessment.standings
    return [
        [case_data(standing) for standing in cases[i : i + CASES_A_FILE]] for i in range(0, len(cases), CASES_A_FILE)
    ]
