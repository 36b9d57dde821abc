"""Cases that changed alike, told together: one commit often moves every shape of a variant. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .assessment import STATES, Assessment, Finding, Standing, is_news
from .figures_text import levels_text, metric_name, relative_text, short_commit
from .history_file import METRICS
from .trend_file import VERDICTS, Change

# Nights between which the same change of a time may be found, from one shape to the next: noise moves it.
SAME_CHANGE_NIGHTS = 3
# Nights before a change in which a change of the environment may have been its cause.
CAUSE_NIGHTS = 2


@dataclass(frozen=True)
class Member:
    """One case of a group; the finding is None where its state follows from no change.

    `others` changed in the same night with it: a larger peak is a larger ratio to the estimate too.
    """

    standing: Standing
    finding: Finding | None
    others: tuple[Finding, ...] = ()
    steps: int = 1
    """In which it changed, if not at once."""

    @property
    def weight(self) -> float:
        return self.finding.change.weight if self.finding else 0.0

    @property
    def levels(self) -> str:
        return "; ".join(self.standing.reasons) if self.finding is None else _levels(self.finding.change)


def _levels(change: Change) -> str:
    return f"{levels_text(change.metric, change.before, change.after)} ({relative_text(change.relative)})"


@dataclass(frozen=True)
class Group:
    """`members` have one state, device and variant, and one metric that changed in one night; the most first.

    Times may have changed some nights apart.
    """

    state: str
    members: list[Member]

    @property
    def first(self) -> Member:
        return self.members[0]

    @property
    def metric(self) -> str | None:
        return self.first.finding.change.metric if self.first.finding else None

    def summary(self, several_devices: bool) -> str:
        """`peak +6.2 % to +25.0 %, since 2026-09-03, commit 12ab34cd56ef`"""
        standing, finding = self.first.standing, self.first.finding
        where = f", on {standing.device.device}" if several_devices else ""
        if finding is None:
            reasons = list(dict.fromkeys(member.levels for member in self.members))
            return f"{reasons[0]}{', and others' if len(reasons) > 1 else ''}{where}"
        night = finding.device.nights[finding.at]
        if len(self.members) == 1:
            what = self.first.levels
        else:
            texts = [relative_text(member.finding.change.relative) for member in (self.members[-1], self.first)]
            what = texts[0] if texts[0] == texts[1] else " to ".join(texts)
        commit = f", commit {short_commit(night.commit)}" if night.commit else ""
        most_steps = max(member.steps for member in self.members)
        steps = f" in {most_steps} steps" if most_steps > 1 else ""
        raised = finding.change.raised[:10]
        told = f", told on {raised}" if raised and raised != night.date[:10] else ""
        settled = f"; {finding.settled}" if finding.settled else ""
        first_at = min(member.finding.at for member in self.members)
        last_at = max(member.finding.at for member in self.members)
        since = night.date[:10]
        if first_at != last_at:
            nights = finding.device.nights
            since = f"{nights[first_at].date[:10]} to {nights[last_at].date[:10]}"
            commit = told = ""
        new = "new: " if any(member.finding.change.new for member in self.members) else ""
        return f"{new}{metric_name(finding.change.metric)} {what}{steps}, since {since}{commit}{told}{where}{settled}"

    def hints(self, assessment: Assessment) -> list[str]:
        """What else is wrong with the first case, and what changed in the environment just before: that may be the
        cause, and the code innocent."""
        finding = self.first.finding
        if finding is None:
            return []
        others = self.first.others
        hints = [f"With it {metric_name(one.change.metric)} {_levels(one.change)}." for one in others]
        hints += [f"Now {reason}." for reason in self.first.standing.reasons] if finding.change.open else []
        for one in assessment.trends.environment_changes:
            at = finding.device.place_of.get(one.run)
            if at is not None and finding.at - CAUSE_NIGHTS <= at <= finding.at:
                hints.append(f"{one.what} changed on {one.date[:10]}: {one.before or '–'} → {one.after or '–'}")
        return hints


def _key(state: str, member: Member) -> tuple:
    standing, finding = member.standing, member.finding
    change = ()
    if finding is not None:
        change = (finding.change.metric, finding.settled, finding.at if finding.change.metric != "gpu_time_ns" else -1)
    return (state, standing.device.device, standing.device.backend, standing.history.variant, change)


def _by_nights(members: list[Member]) -> list[list[Member]]:
    """Parts of which each is more than SAME_CHANGE_NIGHTS away from the next."""
    if members[0].finding is None:
        return [members]
    parts: list[list[Member]] = []
    for member in sorted(members, key=lambda one: one.finding.at):
        if parts and member.finding.at - parts[-1][-1].finding.at <= SAME_CHANGE_NIGHTS:
            parts[-1].append(member)
        else:
            parts.append([member])
    return parts


def _grouped(members: list[tuple[str, Member]]) -> list[Group]:
    found: dict[tuple, list[Member]] = {}
    for state, member in members:
        found.setdefault(_key(state, member), []).append(member)
    groups = [
        Group(key[0], sorted(part, key=lambda one: (-one.weight, one.standing.history.case)))
        for key, group in found.items()
        for part in _by_nights(group)
    ]
    order = {state: i for i, state in enumerate(STATES)}
    return sorted(
        groups,
        key=lambda one: (order.get(one.state, len(order)), -one.first.weight, one.first.standing.history.case),
    )


def _together(steps: list[Finding]) -> Finding:
    """From the level before the first step to that after the last, since the first."""
    first, last = steps[0], steps[-1]
    before, after = first.change.before, last.change.after
    relative = after / before - 1 if before and after is not None else last.change.relative
    return replace(last, at=first.at, change=replace(last.change, before=before, relative=relative, run=first.change.run))


def _members(standing: Standing) -> list[tuple[str, str, Member]]:
    """Part, verdict and member of each change; what changed exactly in one night and to one end is one member, and so
    are the steps of a time that grew little by little."""
    found: dict[tuple, list[Finding]] = {}
    steps: list[Finding] = []
    for finding in standing.findings:
        verdict = finding.change.verdict
        if verdict not in VERDICTS:
            continue
        part = "settled" if not is_news(finding) else "look" if finding.change.open else "good"
        exact = finding.change.metric != "gpu_time_ns"
        if (part, verdict, exact) == ("look", "regression", False):
            steps.append(finding)
        else:
            found.setdefault((part, verdict, finding.at, exact, finding.settled), []).append(finding)
    members = []
    if steps:
        members.append(("look", "regression", Member(standing, _together(steps), steps=len(steps))))
    for (part, verdict, *_night), findings in found.items():
        first, *others = sorted(
            findings, key=lambda one: METRICS.index(one.change.metric) if one.change.metric in METRICS else len(METRICS)
        )
        members.append((part, verdict, Member(standing, first, tuple(others))))
    return members


def groups_of(assessment: Assessment) -> dict[str, list[Group]]:
    """`look`: what needs a look; `good`: news of improvements and recoveries; `settled`: older, accepted, or recovered since.

    Every case that needs a look is in `look`, by its changes or by its state.
    """
    parts: dict[str, list[tuple[str, Member]]] = {"look": [], "good": [], "settled": []}
    for standing in assessment.standings:
        for part, verdict, member in _members(standing):
            parts[part].append((verdict, member))
        if standing.state in ("failed", "window", "rule", "vanished"):
            parts["look"].append((standing.state, Member(standing, None)))
    groups = {part: _grouped(members) for part, members in parts.items()}
    # Of what is done with, the newest is looked for.
    groups["settled"].sort(key=lambda one: -max(member.finding.at for member in one.members if member.finding))
    return groups
