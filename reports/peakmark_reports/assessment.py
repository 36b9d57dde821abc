"""What the report says: which cases need a look, what changed, how each case stands. Pure: nothing is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field

from .history_file import FAILED_OUTCOMES, CaseHistory, DeviceHistory, History
from .run_file import Run
from .trend_file import VERDICTS, Change, Trends

# How a case stands, worst first; those before `vanished`, and it, need a look.
STATES = {
    "regression": "regression",
    "failed": "failed measurement",
    "window": "outside its window",
    "suspicious": "suspicious",
    "vanished": "vanished",
    "improvement": "improvement",
    "recovery": "recovered",
    "new": "new",
    "young": "not enough data",
    "steady": "steady",
}
NEED_A_LOOK = ("regression", "failed", "window", "suspicious", "vanished")
# The plural of those that have another one than an "s".
_PLURALS = {
    "window": "outside their window", "suspicious": "suspicious", "vanished": "vanished",
    "improvement": "improvements", "recovery": "recovered", "new": "new",
    "regression": "regressions", "failed": "failed measurements",
}
# Nights for which good news is news.
RECENT_NIGHTS = 30


@dataclass(frozen=True)
class Finding:
    """A change, with the case and the night it belongs to; `at` is a place among the device's nights."""

    change: Change
    device: DeviceHistory
    history: CaseHistory
    at: int
    accepted: str = ""
    """By whom, when and why; empty where nobody accepted it."""

    @property
    def settled(self) -> str:
        """Why nothing needs to be done about it; empty where something does, or it is good news."""
        if self.change.state == "accepted":
            return self.accepted or "accepted"
        return "recovered since" if self.change.state == "recovered" else ""


def is_news(finding: Finding) -> bool:
    """It asks for a look, or is good and recent; an older improvement is how things are."""
    if finding.change.verdict in ("improvement", "recovery"):
        return not finding.settled and finding.at >= len(finding.device.nights) - RECENT_NIGHTS
    return finding.change.open


@dataclass
class Standing:
    """How one case on one device stands after its newest night."""

    device: DeviceHistory
    history: CaseHistory
    state: str = "steady"
    reasons: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    window: tuple[float, float] | None = None
    throughput: float | None = None
    """Bytes a second, of the newest run that is given; None where unknown."""
    last: int | None = None

    @property
    def worst(self) -> Finding | None:
        """Of the changes that made the state; of a larger peak, not the ratio to the estimate that grew with it."""
        mine = [one for one in self.findings if one.change.verdict == self.state and is_news(one)]
        grown = {one.at for one in mine if one.change.metric == "requested_peak_bytes"}
        mine = [one for one in mine if one.change.metric != "estimate_ratio" or one.at not in grown]
        return max(mine, key=lambda one: one.change.weight, default=None)


@dataclass(frozen=True)
class Assessment:
    """All that the report tells. `findings` and `standings` are sorted, worst first."""

    history: History
    trends: Trends
    findings: list[Finding]
    standings: list[Standing]

    @property
    def nights(self) -> int:
        return max((len(device.nights) for device in self.history.devices), default=0)

    def count(self, state: str) -> int:
        return sum(standing.state == state for standing in self.standings)

    @property
    def need_a_look(self) -> int:
        return sum(standing.state in NEED_A_LOOK for standing in self.standings)

    @property
    def headline(self) -> str:
        """The verdict, in one line."""
        if self.nights == 0:
            return "No nights yet: nothing can be said"
        if not self.need_a_look:
            return "Nothing to do"
        return "1 case needs a look" if self.need_a_look == 1 else f"{self.need_a_look} cases need a look"

    @property
    def tally(self) -> str:
        """`2 regressions, 1 suspicious`; empty where there is nothing to tell."""
        counts = [(state, self.count(state)) for state in STATES if state not in ("young", "steady")]
        return ", ".join(
            f"{count} {STATES[state] if count == 1 else _PLURALS[state]}" for state, count in counts if count
        )


def _acceptance(trends: Trends, change: Change) -> str:
    """The newest one of this metric, or of the whole case; of those that name the change's run, if any does."""
    mine = [
        one
        for one in trends.accepted
        if one.case == change.case and one.metric in ("", change.metric) and one.device in ("", change.device)
    ]
    of_run = [one for one in mine if one.run == change.run] or mine
    if not of_run:
        return ""
    one = max(of_run, key=lambda acceptance: acceptance.when)
    return f"accepted by {one.who or 'nobody named'}{f' on {one.when[:10]}' if one.when else ''}: {one.reason}"


def _findings_of(device: DeviceHistory, history: CaseHistory, changes: list[Change], trends: Trends) -> list[Finding]:
    placed = [
        Finding(
            change, device, history, device.place_of[change.run],
            _acceptance(trends, change) if change.state == "accepted" else "",
        )
        for change in changes
        if change.run in device.place_of
    ]
    return sorted(placed, key=lambda one: one.at)


def _matches(names: set[tuple[str, str]], device: DeviceHistory, case: str) -> bool:
    return (case, "") in names or (case, device.device) in names


def _judge(standing: Standing, names: dict[str, set[tuple[str, str]]], ratios: dict) -> None:
    history, device = standing.history, standing.device
    standing.last = history.last_planned()
    states = {finding.change.verdict for finding in standing.findings if is_news(finding)}
    for state in ("vanished", "new", "young"):
        if _matches(names[state], device, history.case):
            states.add(state)
    if standing.last is not None and "vanished" in states:
        new = "new: " if _matches(names["newly vanished"], device, history.case) else ""
        standing.reasons.append(f"{new}last seen on {device.nights[standing.last].date[:10]}")
    if standing.last is not None:
        outcome = history.outcomes[standing.last]
        if outcome in FAILED_OUTCOMES:
            states.add("failed")
            standing.reasons.append(outcome.replace("_", " "))
    ratio, low, high = ratios.get((history.case, device.device, device.backend), (None, None, None))
    if low is not None:
        standing.window = (low, high)
        if ratio is not None and not low <= ratio <= high:
            states.add("window")
            standing.reasons.append(f"peak / estimate {ratio:.3f}, window {low:g} to {high:g}")
    standing.state = next((state for state in STATES if state in states), "steady")


def _device_of(run: Run, devices: list[DeviceHistory]) -> tuple[str, str]:
    """Name and backend by which the history knows it: of a device that was renamed, the run file has another name."""
    for device in devices:
        if run.context.get("id") in device.place_of:
            return device.device, device.backend
    return run.context.get("device"), run.context.get("backend")


def _ratios(runs: list[Run], devices: list[DeviceHistory]) -> dict:
    """Of the newest runs: peak / estimate, and the window's two ends, by case, device and backend."""
    found = {}
    for run in runs:
        if not len(run.cases):
            continue
        cases, device = run.cases, _device_of(run, devices)
        ratios = cases["peak"] / cases["estimate"]
        for case, ratio, low, high in zip(cases["case"], ratios, cases["window_lo"], cases["window_hi"]):
            # What is not known is NaN there, and is not even equal to itself.
            found[(case, *device)] = (ratio if ratio == ratio else None, low, high)
    return found


def _throughputs(runs: list[Run], devices: list[DeviceHistory]) -> dict[tuple, float]:
    """Of the newest runs: bytes a second by case, device and backend, where they are known."""
    return {
        (case, *_device_of(run, devices)): rate
        for run in runs
        if len(run.cases)
        for case, rate in run.cases[["case", "bytes_per_second"]].dropna().itertuples(index=False)
    }


def assess(history: History, trends: Trends, runs: list[Run]) -> Assessment:
    """Puts the three together. A change whose run or case the history does not hold is left out."""
    changes: dict[str, list[Change]] = {}
    for change in trends.changes:
        changes.setdefault(change.case, []).append(change)
    names = {
        "vanished": set(trends.vanished), "newly vanished": set(trends.newly_vanished), "new": set(trends.new), "young": set(trends.not_enough_data),
    }
    ratios = _ratios(runs, history.devices)
    throughputs = _throughputs(runs, history.devices)
    standings = []
    for device in history.devices:
        for case in device.cases:
            mine = [
                one
                for one in changes.get(case.case, [])
                if one.device in ("", device.device) and one.backend in ("", device.backend)
            ]
            standing = Standing(device, case, findings=_findings_of(device, case, mine, trends))
            _judge(standing, names, ratios)
            standing.throughput = throughputs.get((case.case, device.device, device.backend))
            standings.append(standing)
    findings = [finding for standing in standings for finding in standing.findings]
    order = {verdict: i for i, verdict in enumerate(VERDICTS)}
    findings.sort(
        key=lambda one: (
            not one.change.open, order.get(one.change.verdict, len(order)), -one.change.weight, one.change.case,
        )
    )
    state_order = {state: i for i, state in enumerate(STATES)}
    standings.sort(
        key=lambda one: (
            state_order[one.state], -(one.worst.change.weight if one.worst else 0), one.history.case, one.device.device,
        )
    )
    return Assessment(history, trends, findings, standings)
