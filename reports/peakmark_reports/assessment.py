"""The contents of a report: the status of each case, what changed, and what needs attention. Pure: draws nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

from .history_file import CaseHistory, DeviceHistory, History
from .run_file import Run
from .trend_file import Trends, weight

# The status of a case by `peakmark trends --json`, worst first.
STATES = {
    "regression": "regression",
    "failed": "failed measurement",
    "window": "outside its window",
    "rule": "fails a rule",
    "suspicious": "suspicious",
    "left_suite": "left the suite",
    "as_on_base": "fails as on the base branch",
    "skipped": "skipped",
    "as_expected": "as expected",
    "improvement": "improvement",
    "recovery": "recovered",
    "new": "new",
    "young": "not enough data",
    "steady": "steady",
}


def descending(weight: tuple[float, float]) -> tuple[float, float]:
    """Returns a key that sorts the largest weight() first."""
    return -weight[0], -weight[1]


@dataclass(frozen=True)
class Finding:
    """A change with its case; `at` is the index of its run among the device's runs."""

    change: SimpleNamespace
    """An entry of `changes`."""
    device: DeviceHistory
    history: CaseHistory
    at: int

    @property
    def weight(self) -> tuple[float, float]:
        return weight(self.change.relative, self.change.before, self.change.after)


@dataclass
class CaseStatus:
    """One case on one device after its newest run."""

    device: DeviceHistory
    history: CaseHistory
    state: str = "steady"
    judgement: str = "pass"
    needs_action: bool = False
    reasons: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    window: tuple[float, float] | None = None
    throughput: float | None = None
    """Bytes per second of the newest run; None if unknown."""
    last: int | None = None

    @property
    def worst(self) -> Finding | None:
        """The largest change of those that set the state. A ratio to the estimate that grew with a peak does not count."""
        mine = [one for one in self.findings if one.change.verdict == self.state and one.change.section != "closed"]
        grown = {one.at for one in mine if one.change.metric == "requested_peak_bytes"}
        mine = [one for one in mine if one.change.metric != "estimate_ratio" or one.at not in grown]
        return max(mine, key=lambda one: one.weight, default=None)


@dataclass(frozen=True)
class Assessment:
    """The contents of the report. `statuses` are sorted, worst first."""

    history: History
    trends: Trends
    statuses: list[CaseStatus]

    @property
    def run_count(self) -> int:
        return max((device.run_count for device in self.history.devices), default=0)

    def count(self, state: str) -> int:
        return sum(status.state == state for status in self.statuses)

    @property
    def needs_attention(self) -> int:
        return sum(status.needs_action for status in self.statuses)

    @property
    def headline(self) -> str:
        """The verdict of `peakmark trends` in one line."""
        if self.run_count == 0:
            return "No runs yet"
        verdict = self.trends.headline or "not judged: no trends of this history"
        return verdict[0].upper() + verdict[1:]

    @property
    def tally(self) -> str:
        """The headline of `peakmark trends`: `12 cases: 10 pass, 1 skipped (1 unsupported), 1 fail (1 regression)`."""
        return self.trends.tally


def _case_findings(device: DeviceHistory, history: CaseHistory, changes: list[SimpleNamespace]) -> list[Finding]:
    placed = [Finding(change, device, history, device.run_index[change.run]) for change in changes if change.run in device.run_index]
    return sorted(placed, key=lambda one: one.at)


def _set_state(status: CaseStatus, trends: Trends, young: set[tuple[str, str]]) -> None:
    """Returns the status that peakmark reported."""
    history, device = status.history, status.device
    status.last = history.last_planned()
    reported = trends.cases.get((history.case, device.device, device.backend))
    if reported is not None:
        status.state = reported.state if reported.state in STATES else "rule"
        status.judgement, status.needs_action = reported.judgement, reported.needs_action
        status.reasons = reported.texts
    elif (history.case, device.device) in young:
        status.state = "young"


def _history_device(run: Run, devices: list[DeviceHistory]) -> tuple[str, str]:
    """Returns name and backend of the device in the history; the run file of a renamed device has another name."""
    for device in devices:
        if run.context.get("id") in device.run_index:
            return device.device, device.backend
    return run.context.get("device"), run.context.get("backend")


def _windows(runs: list[Run], devices: list[DeviceHistory]) -> dict[tuple, tuple[float, float]]:
    """Returns the windows of the newest runs by case, device and backend."""
    return {
        (case, *_history_device(run, devices)): (low, high)
        for run in runs
        if len(run.cases)
        for case, low, high in run.cases[["case", "window_lo", "window_hi"]].itertuples(index=False)
    }


def _throughputs(runs: list[Run], devices: list[DeviceHistory]) -> dict[tuple, float]:
    """Returns the known bytes per second of the newest runs by case, device and backend."""
    return {
        (case, *_history_device(run, devices)): rate
        for run in runs
        if len(run.cases)
        for case, rate in run.cases[["case", "bytes_per_second"]].dropna().itertuples(index=False)
    }


def assess(history: History, trends: Trends, runs: list[Run]) -> Assessment:
    """Combines history, trends and runs. Omits changes whose run or case is not in the history."""
    changes: dict[str, list[SimpleNamespace]] = {}
    for change in trends.changes:
        changes.setdefault(change.case, []).append(change)
    young = {(one.case, one.device) for one in trends.not_enough_data}
    windows = _windows(runs, history.devices)
    throughputs = _throughputs(runs, history.devices)
    statuses = []
    for device in history.devices:
        for case in device.cases:
            mine = [
                one
                for one in changes.get(case.case, [])
                if (one.device, one.backend) == (device.device, device.backend)
            ]
            status = CaseStatus(device, case, findings=_case_findings(device, case, mine))
            _set_state(status, trends, young)
            status.window = windows.get((case.case, device.device, device.backend))
            status.throughput = throughputs.get((case.case, device.device, device.backend))
            statuses.append(status)
    state_order = {state: i for i, state in enumerate(STATES)}
    statuses.sort(
        key=lambda one: (
            state_order[one.state], descending(one.worst.weight if one.worst else (0.0, 0.0)),
            -(one.history.last_value("requested_peak_bytes") or 0), one.history.case, one.device.device,
        )
    )
    return Assessment(history, trends, statuses)
