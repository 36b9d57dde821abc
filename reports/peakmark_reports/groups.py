"""The findings of `peakmark trends` with their cases of the history, and as text. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from .assessment import STATES, Assessment, CaseStatus, Finding
from .common import metric_name, quantity
from .trend_file import needs_attention

SECTIONS = ("new", "open", "recent", "closed")


@dataclass(frozen=True)
class Member:
    """One case of a group; the finding is None if its state has no change."""

    status: CaseStatus
    finding: Finding | None

    @property
    def levels(self) -> str:
        return "; ".join(self.status.reasons) if self.finding is None else self.finding.change.levels


@dataclass(frozen=True)
class Group:
    """A finding with its cases, the largest change first."""

    entry: SimpleNamespace
    """An entry of `findings`."""
    members: list[Member]

    @property
    def first(self) -> Member:
        return self.members[0]

    @property
    def state(self) -> str:
        return self.entry.verdict

    @property
    def name(self) -> str:
        """`padding/coords1d and 2 other variants`"""
        first, *others = self.entry.variants
        return f"{first} and {quantity(len(others), 'other variant')}" if others else first

    @property
    def devices(self) -> list[str]:
        """The devices of the members, that of the largest change first."""
        return list(dict.fromkeys(member.status.device.device for member in self.members))

    @property
    def short_text(self) -> str:
        """`padding/coords1d: peak 4 MiB → 5 MiB (+1048576 B), 12 cases on 2 devices`"""
        finding = self.first.finding
        what = f"{metric_name(finding.change.metric)} {finding.change.levels}" if finding else STATES[self.state]
        cases = f", {quantity(len(self.members), 'case')}" if len(self.members) > 1 else ""
        devices = f" on {len(self.devices)} devices" if len(self.devices) > 1 else ""
        return f"{self.name}: {what}{cases}{devices}"

    def summary(self, several_devices: bool) -> str:
        """`peak +256 B to +1024 B, since 2026-09-03, commit 12ab34cd56ef`"""
        return self._summary(self.entry.summary, several_devices)

    def member_summary(self, member: Member, several_devices: bool) -> str:
        """Returns the same for one case."""
        return self._summary(member.finding.change.summary if member.finding else member.levels, several_devices)

    def _summary(self, text: str, several_devices: bool) -> str:
        several = f"{len(self.devices)} devices: " if len(self.devices) > 1 else ""
        where = f", on {several}{', '.join(self.devices)}" if several_devices else ""
        metric = f"{metric_name(self.entry.metric)} " if self.entry.metric else ""
        return f"{'new: ' if self.entry.new else ''}{metric}{text}{where}"

    def hints(self, assessment: Assessment) -> list[str]:
        """Returns other problems of the first case, and changes of the environment that may be the cause."""
        finding = self.first.finding
        if finding is None:
            return []
        hints = [f"{self.entry.machine}."] if self.entry.machine else []
        hints += [f"Also {metric_name(one.metric)} {one.levels}." for one in self.entry.with_it]
        hints += [f"Now {reason}." for reason in self.first.status.reasons] if needs_attention(finding.change) else []
        environment = {}
        for one in assessment.trends.environment_changes:
            at = finding.device.run_index.get(one.run)
            if one.what in finding.change.environment and at is not None and at <= finding.at:
                environment[one.what] = f"{one.what} changed on {one.date[:10]}: {one.before or '–'} → {one.after or '–'}"
        return hints + list(environment.values())


def group_findings(assessment: Assessment) -> dict[str, list[Group]]:
    """Returns the findings by section, in the order of `trends`. Cases that are not in the history are left out."""
    of_case = {
        (status.history.case, status.device.device, status.device.backend): Member(status, None) for status in assessment.statuses
    }
    of_change = {id(finding.change): Member(status, finding) for status in assessment.statuses for finding in status.findings}
    groups: dict[str, list[Group]] = {section: [] for section in SECTIONS}
    for entry in assessment.trends.findings:
        cases = ((case, part.device, part.backend) for part in entry.devices for case in part.cases)
        found = [of_change.get(id(one)) for one in entry.members] if entry.metric else map(of_case.get, cases)
        members = [member for member in found if member is not None]
        if members:
            groups[entry.section].append(Group(entry, members))
    return groups
