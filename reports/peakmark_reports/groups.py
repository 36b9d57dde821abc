"""Groups cases that changed together: one commit often changes every shape of a variant. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .assessment import STATES, Assessment, CaseStatus, Finding, descending, is_news
from .common import metric_name, quantity, short_commit
from .history_file import METRICS
from .trend_file import VERDICTS, Cause, Trends

# The same change of a time may be found in runs that are this far apart, because noise delays it for some shapes.
SAME_CHANGE_RUNS = 3
# The reason of `trends` for a case that left its suite in the newest run.
NEW = "new since the previous run"
# A change of the environment may be the cause of a change this many runs later.
CAUSE_RUNS = 2


@dataclass(frozen=True)
class Member:
    """One case of a group; the finding is None if its state has no change.

    `others` changed in the same run: a larger peak also increases the ratio to the estimate.
    """

    status: CaseStatus
    finding: Finding | None
    others: tuple[Finding, ...] = ()
    steps: int = 1
    """The number of steps in which it changed."""

    @property
    def weight(self) -> tuple[float, float]:
        """Of cases without a change, that of the largest peak is the largest."""
        return self.finding.change.weight if self.finding else (0.0, self.status.history.last_value("requested_peak_bytes") or 0.0)

    @property
    def is_new(self) -> bool:
        """True if the previous run did not have it. An estimate outside its window counts as known."""
        if self.finding is not None:
            return self.finding.change.new
        return NEW in self.status.reasons or (self.status.state == "failed" and self.status.history.previous_outcome() == "ok")

    @property
    def levels(self) -> str:
        return "; ".join(self.status.reasons) if self.finding is None else self.finding.change.levels


@dataclass(frozen=True)
class Group:
    """Cases with one state and cause, and one metric that changed in one run; the largest change first.

    Times may have changed a few runs apart. Without a `cause` the cases are of one variant and device.
    """

    state: str
    members: list[Member]
    cause: Cause | None = None

    @property
    def first(self) -> Member:
        return self.members[0]

    @property
    def metric(self) -> str | None:
        return self.first.finding.change.metric if self.first.finding else None

    @property
    def variants(self) -> list[str]:
        """Those of the members, that of the largest change first."""
        return list(dict.fromkeys(member.status.history.variant for member in self.members))

    @property
    def name(self) -> str:
        """`padding/coords1d and 2 other variants`"""
        first, *others = self.variants
        return f"{first} and {quantity(len(others), 'other variant')}" if others else first

    @property
    def is_new(self) -> bool:
        """True if the newest run reported it first, and no device had it before."""
        if self.cause is not None and self.cause.is_new is not None:
            return self.cause.is_new
        return any(member.is_new for member in self.members)

    @property
    def devices(self) -> list[str]:
        """Those of the members, that of the largest change first."""
        return list(dict.fromkeys(member.status.device.device for member in self.members))

    @property
    def short_text(self) -> str:
        """`padding/coords1d: peak +25.0 %, 12 cases on 2 devices`"""
        finding = self.first.finding
        what = STATES[self.state]
        if finding is not None:
            what = f"{metric_name(finding.change.metric)} {finding.change.step}"
        cases = f", {quantity(len(self.members), 'case')}" if len(self.members) > 1 else ""
        devices = f" on {len(self.devices)} devices" if len(self.devices) > 1 else ""
        return f"{self.name}: {what}{cases}{devices}"

    def summary(self, several_devices: bool) -> str:
        """`peak +6.2 % to +25.0 %, since 2026-09-03, commit 12ab34cd56ef`"""
        status, finding = self.first.status, self.first.finding
        several = f"{len(self.devices)} devices: " if len(self.devices) > 1 else ""
        where = f", on {several}{', '.join(self.devices)}" if several_devices else ""
        if finding is None:
            reasons = list(dict.fromkeys(member.levels for member in self.members))
            return f"{reasons[0]}{', and more' if len(reasons) > 1 else ''}{where}"
        if len(self.members) == 1:
            what = self.first.levels
        else:
            texts = [member.finding.change.step for member in (self.members[-1], self.first)]
            what = texts[0] if texts[0] == texts[1] else " to ".join(texts)
        commit = f", commit {short_commit(finding.commit)}" if finding.commit else ""
        if commit and finding.change.commit_text:
            commit += f" ({finding.change.commit_text})"
        max_steps = max(member.steps for member in self.members)
        steps = f" in {max_steps} steps" if max_steps > 1 else ""
        raised = finding.change.raised[:10]
        since = finding.date[:10]
        reported = f", reported on {raised}" if raised and raised != since else ""
        resolution = f"; {finding.resolution}" if finding.resolution else ""
        days = sorted({member.finding.date[:10] for member in self.members})
        if len(days) > 1:
            since = f"{days[0]} to {days[-1]}"
            commit = reported = ""
        new = "new: " if self.is_new else ""
        return f"{new}{metric_name(finding.change.metric)} {what}{steps}, since {since}{commit}{reported}{where}{resolution}"

    def hints(self, assessment: Assessment) -> list[str]:
        """Returns other problems of the first case, and changes of the environment just before, which may be the cause."""
        finding = self.first.finding
        if finding is None:
            return []
        others = self.first.others
        hints = [f"{self.cause.machine}."] if self.cause is not None and self.cause.machine else []
        hints += [f"Also {metric_name(one.change.metric)} {one.change.levels}." for one in others]
        hints += [f"Now {reason}." for reason in self.first.status.reasons] if finding.change.open else []
        for one in assessment.trends.environment_changes:
            at = finding.device.run_index.get(one.run)
            if at is not None and finding.at - CAUSE_RUNS <= at <= finding.at:
                hints.append(f"{one.what} changed on {one.date[:10]}: {one.before or '–'} → {one.after or '–'}")
        return hints


def _cause(member: Member, trends: Trends) -> Cause | None:
    return trends.cause(member.finding.change) if member.finding else None


def _key(state: str, member: Member, trends: Trends) -> tuple:
    status, finding = member.status, member.finding
    change: tuple = ()
    group: str | int = status.history.variant
    if finding is not None:
        exact = finding.change.metric != "gpu_time_ns"
        change = (finding.change.metric, finding.resolution, finding.at if exact else -1)
        if (cause := _cause(member, trends)) and (exact or cause.machine):
            group = cause.number
    return (state, status.device.device, status.device.backend, group, change)


def _by_runs(members: list[Member]) -> list[list[Member]]:
    """Splits members that are more than SAME_CHANGE_RUNS apart."""
    if members[0].finding is None:
        return [members]
    parts: list[list[Member]] = []
    for member in sorted(members, key=lambda one: one.finding.at):
        if parts and member.finding.at - parts[-1][-1].finding.at <= SAME_CHANGE_RUNS:
            parts[-1].append(member)
        else:
            parts.append([member])
    return parts


def _group(state: str, members: list[Member], trends: Trends) -> Group:
    ordered = sorted(members, key=lambda one: (descending(one.weight), one.status.history.case))
    return Group(state, ordered, _cause(ordered[0], trends))


def _across_devices(groups: list[Group], trends: Trends) -> list[Group]:
    """Joins the groups of each cause: one that reached several devices."""
    found: dict[tuple, list[Group]] = {}
    for number, group in enumerate(groups):
        finding = group.first.finding
        key: tuple = (number,)
        if finding is not None and group.cause is not None:
            key = (group.state, finding.change.metric, bool(finding.resolution), group.cause.number, "cause")
        found.setdefault(key, []).append(group)
    return [
        parts[0] if len(parts) == 1 else _group(parts[0].state, [member for part in parts for member in part.members], trends)
        for parts in found.values()
    ]


def _grouped(members: list[tuple[str, Member]], trends: Trends) -> list[Group]:
    found: dict[tuple, list[Member]] = {}
    for state, member in members:
        found.setdefault(_key(state, member, trends), []).append(member)
    groups = [
        _group(key[0], part, trends)
        for key, group in found.items()
        for part in _by_runs(group)
    ]
    groups = _across_devices(groups, trends)
    order = {state: i for i, state in enumerate(STATES)}
    return sorted(
        groups,
        key=lambda one: (order.get(one.state, len(order)), descending(one.first.weight), one.first.status.history.case),
    )


def _together(steps: list[Finding]) -> Finding:
    """Returns one finding from the level before the first step to the level after the last."""
    first, last = steps[0], steps[-1]
    before, after = first.change.before, last.change.after
    relative = after / before - 1 if before and after is not None else last.change.relative
    begin = {name: getattr(first.change, name) for name in ("run", "date", "commit", "commit_before", "commit_text")}
    now = last.change.now
    relative_now = now / before - 1 if before and now is not None else None
    change = replace(last.change, before=before, relative=relative, relative_now=relative_now, **begin)
    return replace(last, at=first.at, change=change)


def _members(status: CaseStatus) -> list[tuple[str, str, Member]]:
    """Returns part, verdict and member of each change. Exact changes in one run are one member, and so are the steps of a
    time that grew gradually."""
    found: dict[tuple, list[Finding]] = {}
    steps: list[Finding] = []
    for finding in status.findings:
        verdict = finding.change.verdict
        if verdict not in VERDICTS:
            continue
        part = "closed" if not is_news(finding) else "open" if finding.change.open else "improved"
        exact = finding.change.metric != "gpu_time_ns"
        if (part, verdict, exact) == ("open", "regression", False):
            steps.append(finding)
        else:
            found.setdefault((part, verdict, finding.at, exact, finding.resolution), []).append(finding)
    members = []
    if steps:
        members.append(("open", "regression", Member(status, _together(steps), steps=len(steps))))
    for (part, verdict, *_history_run), findings in found.items():
        order = ("outcome", *METRICS)
        first, *others = sorted(
            findings, key=lambda one: order.index(one.change.metric) if one.change.metric in order else len(order)
        )
        members.append((part, verdict, Member(status, first, tuple(others))))
    return members


def group_findings(assessment: Assessment) -> dict[str, list[Group]]:
    """Returns the groups by part: `open` needs attention; `improved`: recent improvements and recoveries; `closed`: older,
    accepted, or recovered since.

    Every case that needs attention is in `open`, by its changes or by its state. A case that left its suite in the newest run is in
    `improved`, and one that fails as on the base branch is in `closed`.
    """
    parts: dict[str, list[tuple[str, Member]]] = {"open": [], "improved": [], "closed": []}
    for status in assessment.statuses:
        for part, verdict, member in _members(status):
            parts[part].append((verdict, member))
        if status.state in ("failed", "window", "rule"):
            parts["open"].append((status.state, Member(status, None)))
        elif status.state == "left_suite" and NEW in status.reasons:
            parts["improved"].append((status.state, Member(status, None)))
        elif status.state == "as_on_base":
            parts["closed"].append((status.state, Member(status, None)))
    groups = {part: _grouped(members, assessment.trends) for part, members in parts.items()}
    # The newest closed group first.
    groups["closed"].sort(key=lambda one: -max((member.finding.at for member in one.members if member.finding), default=0))
    return groups
