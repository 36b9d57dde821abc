"""Reads the output of `peakmark trends --json`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from .common import InputError
from .history_file import finite, text

TRENDS_VERSION = 1


class TrendFileError(InputError):
    """The text is not the output of a supported `trends --json`."""


@dataclass(frozen=True)
class Change:
    """A new level of one metric of one case. `run` is the first run of that level. Texts are those of peakmark."""

    case: str
    device: str
    backend: str
    metric: str
    run: str
    date: str
    relative: float | None
    verdict: str
    before: float | int | str | None
    """A word if the metric is the outcome."""
    after: float | int | str | None
    levels: str
    """`6.75 MiB → 7.1 MiB (+367002 B)`"""
    cause: list[str]
    """What changed at the peak; for an outcome, its message."""
    summary: str = ""
    """`levels`, and since when: `6.75 MiB → 7.1 MiB (+367002 B), since 2026-09-03, commit 12ab34cd56ef`."""
    resolution: str = ""
    """The reason why it needs no attention; empty if it needs attention or is an improvement."""
    new: bool = False
    """Since the previous run."""
    commit: str = ""
    """The first bad one."""
    commit_before: str = ""
    """The last good one."""
    section: str = ""
    """Where reports show it: `new`, `open` (both need attention), `recent`, `closed`."""
    environment: tuple[str, ...] = ()
    """What of the environment changed between the two levels."""

    @property
    def open(self) -> bool:
        """True if it needs attention."""
        return self.section in ("new", "open")

    @property
    def is_decided(self) -> bool:
        return self.verdict not in ("undecided", "suspicious")

    @property
    def weight(self) -> tuple[float, float]:
        """Orders changes: the absolute relative change, infinite if unknown (from 0, for example); of equal ones the step in the
        unit of the metric."""
        levels = [level for level in (self.before, self.after) if isinstance(level, (int, float))]
        return (
            float("inf") if self.relative is None else abs(self.relative), abs(levels[1] - levels[0]) if len(levels) == 2 else 0.0
        )


@dataclass(frozen=True)
class NewestRun:
    """The newest run of a suite on a device. `text`: its suite, date, age and commit. Not current: the suite has not run for long."""

    device: str
    text: str
    run: str
    is_current: bool


@dataclass(frozen=True)
class FindingEntry:
    """What presumably one cause changed, or cases of one variant and device with one state, as `trends` groups them."""

    section: str
    """As of a change."""
    state: str
    """The verdict of the changes, or the state of the cases."""
    metric: str
    """Empty: the cases have no change."""
    new: bool
    """True if the previous run had it on no device."""
    variants: tuple[str, ...]
    """The variants of the members, that of the first member first."""
    members: tuple[Change, ...]
    """The largest first."""
    with_it: tuple[Change, ...]
    """Other metrics that changed in the case of the first member, in the same run."""
    cases: tuple[tuple[str, str, str], ...]
    """Case, device and backend, for a finding without a change."""
    compare: str
    """The command that compares the two commits; may be empty."""
    id: str
    """The id for `trends accept --finding`; empty without a change."""
    machine: str
    """Why the machine is suspected: nearly all cases of a run took one step. Empty otherwise."""
    summary: str
    """The levels of a single change, else the steps, and since when; the reasons of cases without a change."""


@dataclass(frozen=True)
class Accepted:
    """A change accepted by a user. An empty `metric` means all metrics of the case."""

    case: str
    metric: str
    device: str
    run: str
    who: str
    when: str
    reason: str


@dataclass(frozen=True)
class EnvironmentChange:
    """A change between two runs that is not in the code: a driver, a clock."""

    device: str
    run: str
    date: str
    what: str
    before: str
    after: str


@dataclass(frozen=True)
class CaseState:
    """The state of a case (`regression`, `failed`, `skipped`, …), its judgement (`pass`, `fail`, …), and its reasons besides
    changes."""

    state: str
    judgement: str
    needs_action: bool
    texts: list[str]


@dataclass(frozen=True)
class Trends:
    """`headline`, `tally` and `cases`, by case, device and backend, are those of peakmark: a case missing in `cases` is
    steady. `not_enough_data` has names of cases with their device, which may be empty.
    `not_compared`: a sentence for each run without an earlier one."""

    headline: str = ""
    tally: str = ""
    cases: dict[tuple[str, str, str], CaseState] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    accepted: list[Accepted] = field(default_factory=list)
    environment_changes: list[EnvironmentChange] = field(default_factory=list)
    not_enough_data: list[tuple[str, str]] = field(default_factory=list)
    runs_needed: int = 0
    """The number of runs before times are judged; 0 if every case has enough."""
    findings: list[FindingEntry] = field(default_factory=list)
    """In the order in which they are shown."""
    not_compared: list[str] = field(default_factory=list)
    base_lines: list[str] = field(default_factory=list)
    """What the runs of a branch are compared with, a sentence for each device and suite."""
    newest_runs: list[NewestRun] = field(default_factory=list)
    commit_url: str = ""
    """An address with `{commit}`; empty: no links."""

    def commit_link(self, commit: str) -> str:
        """Returns the address of a commit; empty without a template."""
        hash_ = commit.split("+")[0]
        if not self.commit_url.startswith(("https://", "http://")) or not re.fullmatch("[0-9a-fA-F]+", hash_):
            return ""
        return self.commit_url.replace("{commit}", hash_)


def parse_change(entry: dict[str, Any]) -> Change:
    """Returns an entry of `changes`."""
    is_outcome = entry["metric"] == "outcome"
    return Change(
        case=text(entry["case"]),
        device=text(entry.get("device")),
        backend=text(entry.get("backend")),
        metric=text(entry["metric"]),
        run=text(entry.get("run")),
        date=text(entry.get("date")),
        relative=finite(entry.get("relative")),
        verdict=text(entry["verdict"]),
        before=text(entry["before"]) if is_outcome else finite(entry["before"]),
        after=text(entry["after"]) if is_outcome else finite(entry["after"]),
        levels=text(entry["levels"]),
        cause=[text(one) for one in entry["cause"]],
        summary=text(entry["summary"]),
        resolution=text(entry["resolution"]),
        new=entry.get("new") is True,
        commit=text(entry.get("commit")),
        commit_before=text(entry.get("commit_before")),
        section=text(entry["section"]),
        environment=tuple(text(one) for one in entry.get("environment") or []),
    )


def _finding(entry: dict[str, Any], changes: list[Change]) -> FindingEntry:
    return FindingEntry(
        section=text(entry["section"]),
        state=text(entry["verdict"]),
        metric=text(entry["metric"]),
        new=entry["new"],
        variants=tuple(text(one) for one in entry["variants"]),
        members=tuple(changes[at] for at in entry["members"]),
        with_it=tuple(changes[at] for at in entry["with_it"]),
        cases=tuple(
            (text(case), text(part["device"]), text(part["backend"])) for part in entry["devices"] for case in part["cases"]
        ),
        compare=text(entry["compare"]),
        id=text(entry["finding"]),
        machine=text(entry["machine"]),
        summary=text(entry["summary"]),
    )


def _names(entries: list[Any] | None) -> list[tuple[str, str]]:
    """Returns each case once with its device; entries are texts or objects."""
    names = (
        (text(entry.get("case")), text(entry.get("device"))) if isinstance(entry, dict) else (text(entry), "")
        for entry in entries or []
    )
    return list(dict.fromkeys(names))


def parse_trends(document: str, name: str) -> Trends:
    """Parses the JSON; errors show `name`. Raises TrendFileError."""
    try:
        root = json.loads(document)
        if root.get("version") != TRENDS_VERSION:
            raise TrendFileError(
                f"{name}: unsupported version of trends: {root.get('version')}, not {TRENDS_VERSION}; use the peakmark that "
                "wrote it"
            )
        changes = [parse_change(entry) for entry in root["changes"]]
        return Trends(
            headline=text(root["headline"]),
            tally=text(root["tally"]),
            cases={
                (text(entry["case"]), text(entry.get("device")), text(entry.get("backend"))): CaseState(
                    text(entry["state"]), text(entry["judgement"]), entry["needs_action"], [text(one) for one in entry.get("texts") or []]
                )
                for entry in root["cases"]
            },
            changes=changes,
            accepted=[
                Accepted(*(text(entry.get(key)) for key in ("case", "metric", "device", "run", "who", "when", "reason")))
                for entry in root.get("accepted") or []
            ],
            environment_changes=[
                EnvironmentChange(
                    *(text(entry.get(key)) for key in ("device", "run", "date", "what", "before", "after"))
                )
                for entry in root.get("environment_changes") or []
            ],
            not_enough_data=_names(root.get("not_enough_data")),
            runs_needed=max((entry["runs_needed"] for entry in root.get("not_enough_data") or []), default=0),
            findings=[_finding(entry, changes) for entry in root["findings"]],
            not_compared=[text(one) for one in root.get("not_compared") or []],
            base_lines=[text(one.get("text")) for one in root.get("branches") or []],
            newest_runs=[
                NewestRun(text(one.get("device")), text(one.get("text")), text(one.get("run")), one["is_current"])
                for one in root.get("newest_runs") or []
            ],
            commit_url=text(root.get("commit_url")),
        )
    except json.JSONDecodeError as error:
        raise TrendFileError(f"{name}: invalid or truncated JSON: {error}") from error
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise TrendFileError(f"{name}: not the output of `peakmark trends --json`: {error!r}") from error
