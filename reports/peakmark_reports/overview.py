"""The first screen of a report: the newest run of each device and branch, and what needs attention there. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .assessment import CaseStatus
from .groups import Group, group_findings
from .history_file import DeviceHistory, HistoryRun
from .page_data import Entry

# The judgements that the overview counts; all others pass. A suspicious case is a warning.
COUNTED = {"fail": "failed", "skipped": "skipped", "failed_measurement": "not_measured"}
COUNTS = ("passed", "failed", "skipped", "not_measured")


def counts(statuses: Sequence[CaseStatus]) -> dict[str, int]:
    """Returns the number of cases by COUNTS."""
    found = dict.fromkeys(COUNTS, 0)
    for status in statuses:
        found[COUNTED.get(status.judgement, "passed")] += 1
    return found


@dataclass(frozen=True)
class NamedGroup:
    """A group with the fragment of its address on the page."""

    group: Group
    anchor: str

    @property
    def is_new(self) -> bool:
        return self.group.entry.new

    def is_on(self, device: DeviceHistory) -> bool:
        return any(member.status.device is device for member in self.group.members)


@dataclass(frozen=True)
class OverviewRow:
    """A device of a branch. `before`: the run that the newest one follows, of the same suite; None if it is the first."""

    entry: Entry
    newest: HistoryRun | None
    before: HistoryRun | None
    counts: dict[str, int]
    open: list[NamedGroup]
    """New ones first, then the worst."""

    @property
    def new_count(self) -> int:
        return sum(one.is_new for one in self.open)

    @property
    def cases(self) -> str:
        """The address of its cases."""
        return self.entry.address(state="attention" if self.open else "")

    @property
    def comparison(self) -> str:
        """The address of the comparison of its newest run with the one before; empty if there is none."""
        if self.newest is None or self.before is None:
            return ""
        return self.entry.address(compare=f"{self.before.id}..{self.newest.id}")


def _before(runs: Sequence[HistoryRun]) -> HistoryRun | None:
    """Returns the run before the newest one, preferably of its suite."""
    earlier = runs[:-1]
    return next((run for run in reversed(earlier) if run.suite == runs[-1].suite), earlier[-1] if earlier else None)


def named_groups(entries: Sequence[Entry]) -> list[dict[str, list[NamedGroup]]]:
    """Returns the groups of each branch by section. The anchor of a finding is its id, so that
    it stays the same in later reports."""
    assessments = list({id(entry.assessment): entry.assessment for entry in entries}.values())
    used: set[str] = set()
    found = []
    for number, assessment in enumerate(assessments):
        named: dict[str, list[NamedGroup]] = {}
        for part, groups in group_findings(assessment).items():
            named[part] = []
            for place, group in enumerate(groups):
                anchor = f"finding-{group.entry.finding}" if group.entry.finding else ""
                if not anchor or anchor in used:
                    anchor = f"{part}-{number}-{place}"
                used.add(anchor)
                named[part].append(NamedGroup(group, anchor))
        found.append(named)
    return found


def overview(entries: Sequence[Entry], groups: Sequence[dict[str, list[NamedGroup]]]) -> list[OverviewRow]:
    """Returns a row per device and branch. `groups`: named_groups()."""
    assessments = list({id(entry.assessment): entry.assessment for entry in entries}.values())
    of_branch = {id(assessment): groups[i] for i, assessment in enumerate(assessments)}
    rows = []
    for entry in entries:
        runs = entry.device.runs
        mine = [one for section in ("new", "open") for one in of_branch[id(entry.assessment)][section] if one.is_on(entry.device)]
        rows.append(OverviewRow(entry, runs[-1] if runs else None, _before(runs), counts(entry.statuses), mine))
    return rows
