"""Reads the output of `peakmark trends --json`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from .common import InputError, levels_text, quantity, relative_text, short_commit, value_text
from .history_file import finite, text

TRENDS_VERSION = 1


class TrendFileError(InputError):
    """The text is not the output of a supported `trends --json`."""


@dataclass(frozen=True)
class Change:
    """A new level of one metric of one case. `run` is the first run of that level, `raised` the date when it was first reported.

    `state` is `open`, `accepted`, `recovered` or `past`; empty for suspicions that the next run confirms or drops.
    """

    case: str
    device: str
    backend: str
    metric: str
    run: str
    date: str
    raised: str
    relative: float | None
    verdict: str
    state: str
    before: float | int | str | None
    """A word if the metric is the outcome."""
    after: float | int | str | None
    allocations: list[str]
    """What changed at the peak; for an outcome, its message."""
    new: bool = False
    """Since the previous run."""
    commit: str = ""
    """The first bad one."""
    commit_before: str = ""
    """The last good one."""
    commit_text: str = ""
    """`3 commits, the last: Pad rows, by Ada`: facts from git about the commits; empty if unknown."""
    recovered: str = ""
    """`2026-02-03, commit 1a2b3c4d5e6f: Free the copy, by Ada`: what ended a regression; empty if unknown."""
    now: float | int | str | None = None
    """The present level of an open regression that was undone in part."""
    relative_now: float | None = None
    """That of `now`."""
    section: str = ""
    """Where reports show it: `new`, `open` (both need attention), `recent`, `closed`."""
    accepted: str = ""
    """`accepted by ada on 2026-02-12: needed`; empty if it is not accepted."""
    environment: tuple[str, ...] = ()
    """What of the environment changed between the two levels."""

    @property
    def open(self) -> bool:
        """True if it needs attention."""
        return self.section in ("new", "open")

    @property
    def resolution(self) -> str:
        """The reason why it needs no attention; empty if it needs attention or is an improvement."""
        if self.state == "accepted":
            return self.accepted
        if self.state != "recovered":
            return ""
        return f"recovered on {self.recovered}" if self.recovered else "recovered since"

    @property
    def step(self) -> str:
        """`+5.2 %`; undone in part `+100.0 %, now +50.0 %`; of an outcome `out of memory`."""
        if self.metric == "outcome":
            return str(self.after).replace("_", " ")
        now = "" if self.now is None else f", now {relative_text(self.relative_now)}"
        return relative_text(self.relative) + now

    @property
    def levels(self) -> str:
        """`6.75 MiB → 7.1 MiB (+5.2 %)`; of an outcome `ok → out of memory`."""
        levels = levels_text(self.metric, self.before, self.after)
        if self.now is not None:
            levels += f", now {value_text(self.metric, self.now)}"
        return levels if self.metric == "outcome" else f"{levels} ({self.step})"

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


def _level(metric: str, value: Any) -> float | int | str | None:
    return text(value) if metric == "outcome" else finite(value)


def _commit_text(entry: dict[str, Any]) -> str:
    subject, author = text(entry.get("commit_subject")), text(entry.get("commit_author"))
    return ", ".join([*([subject] if subject else []), *([f"by {author}"] if author else [])])


def _commits_text(entry: dict[str, Any]) -> str:
    commit, count = _commit_text(entry), entry.get("commits_between")
    several = quantity(count, "commit") if isinstance(count, int) and (count > 1 or not commit) else ""
    return f"{several}, the last: {commit}" if several and commit else several or commit


def _recovered_text(entry: dict[str, Any] | None) -> str:
    if not entry:
        return ""
    commit = text(entry.get("commit"))
    words = [text(entry.get("date"))[:10], *([f"commit {short_commit(commit)}"] if commit else [])]
    return ": ".join(filter(None, [", ".join(words), _commit_text(entry)]))


def _accepted_text(entry: dict[str, Any] | None) -> str:
    if not entry:
        return ""
    when = text(entry.get("when"))[:10]
    return f"accepted by {text(entry.get('who')) or 'unknown'}{f' on {when}' if when else ''}: {text(entry.get('reason'))}"


def parse_change(entry: dict[str, Any]) -> Change:
    """Returns an entry of `changes`."""
    message = text(entry.get("message"))
    return Change(
        case=text(entry["case"]),
        device=text(entry.get("device")),
        backend=text(entry.get("backend")),
        metric=text(entry["metric"]),
        run=text(entry.get("run")),
        date=text(entry.get("date")),
        raised=text(entry.get("raised")),
        relative=finite(entry.get("relative")),
        verdict=text(entry["verdict"]),
        state=text(entry.get("state")),
        before=_level(entry["metric"], entry.get("before")),
        after=_level(entry["metric"], entry.get("after")),
        # Formulas say more than the sizes of one case.
        allocations=([message] if message else [])
        or [text(one) for one in entry.get("formulas") or []]
        or [text(one["text"]) for one in entry.get("allocations") or []],
        new=entry.get("new") is True,
        commit=text(entry.get("commit")),
        commit_before=text(entry.get("commit_before")),
        commit_text=_commits_text(entry),
        recovered=_recovered_text(entry.get("recovered")),
        now=_level(entry["metric"], entry.get("now")) if entry.get("now") is not None else None,
        relative_now=finite(entry.get("relative_now")),
        section=text(entry["section"]),
        accepted=_accepted_text(entry.get("accepted")),
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
