"""What `peakmark trends --json` found."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from .errors import InputError
from .figures_text import size_text
from .history_file import finite, text

TRENDS_VERSION = 1
# Worst first: the order in which changes are told.
VERDICTS = ("regression", "suspicious", "improvement", "recovery")


class TrendFileError(InputError):
    """The text is none that `trends --json` writes; the message says what."""


@dataclass(frozen=True)
class Change:
    """A new level of one metric of one case. `run` is the first of that level, `raised` the date it was first told.

    `state` is `open`, `accepted`, `recovered` or `past`; empty of suspicions that wait for the next night.
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
    before: float | int | None
    after: float | int | None
    allocations: list[str]
    new: bool = False
    """Since the previous run."""

    @property
    def open(self) -> bool:
        """It asks for a look. An estimate that fell within its window is suspicious and past: told, and no more."""
        return (self.verdict, self.state) in (("regression", "open"), ("suspicious", ""))

    @property
    def weight(self) -> float:
        """How much it changed, of whatever sign; one without a figure (from 0, say) weighs most."""
        return float("inf") if self.relative is None else abs(self.relative)


@dataclass(frozen=True)
class Accepted:
    """A change that somebody called intended. `metric` is empty where all of the case were meant."""

    case: str
    metric: str
    device: str
    run: str
    who: str
    when: str
    reason: str


@dataclass(frozen=True)
class EnvironmentChange:
    """What is not of the code and changed between two runs: a driver, a clock."""

    device: str
    run: str
    date: str
    what: str
    before: str
    after: str


@dataclass(frozen=True)
class CaseState:
    """How a case stands (`regression`, `failed`, `skipped`, …), with what there is to say of it besides its changes."""

    state: str
    texts: list[str]


@dataclass(frozen=True)
class Trends:
    """`headline`, `tally` and `cases`, by case, device and backend, are as peakmark counts: a case that `cases` lacks is
    steady. `vanished`, `new` and `not_enough_data` name cases, each with its device; that is empty where none is told."""

    headline: str = ""
    tally: str = ""
    cases: dict[tuple[str, str, str], CaseState] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    accepted: list[Accepted] = field(default_factory=list)
    environment_changes: list[EnvironmentChange] = field(default_factory=list)
    vanished: list[tuple[str, str]] = field(default_factory=list)
    new: list[tuple[str, str]] = field(default_factory=list)
    not_enough_data: list[tuple[str, str]] = field(default_factory=list)


def _moved_texts(moved: list[dict[str, Any]]) -> list[str]:
    """A sentence an allocation, the largest difference first as they come: one that went and one that came under a
    name and kind are one that grew or shrank."""
    came: dict[tuple[str, str], list[int]] = {}
    went: dict[tuple[str, str], list[int]] = {}
    order: list[tuple[str, str]] = []
    for one in moved:
        key = (text(one.get("name")), text(one.get("kind")))
        count = (one.get("new_count") or 0) - (one.get("base_count") or 0)
        (came if count > 0 else went).setdefault(key, []).extend([int(one.get("bytes") or 0)] * abs(count))
        if key not in order:
            order.append(key)
    texts = []
    for key in order:
        name = f"{key[0] or 'unnamed'} ({key[1]})" if key[1] else key[0] or "unnamed"
        added, gone = came.get(key, []), went.get(key, [])
        pairs = min(len(added), len(gone))
        for before, after in zip(gone[:pairs], added[:pairs]):
            verb = "grew" if after > before else "shrank"
            texts.append(f"{name} {verb} from {exact_size(before)} to {exact_size(after)}")
        for sizes, verb in ((added[pairs:], "came"), (gone[pairs:], "went")):
            for size in dict.fromkeys(sizes):
                times = sizes.count(size)
                texts.append(f"{name} {verb}: {f'{times} × ' if times > 1 else ''}{exact_size(size)}")
    return texts


def exact_size(size: int) -> str:
    """`1.5 KiB (1,536 B)`: a change of some bytes is seen in the second."""
    return f"{size} B" if abs(size) < 1024 else f"{size_text(size)} ({size:,} B)"


def _allocation_texts(allocations: Any) -> list[str]:
    if not allocations:
        return []
    if all(isinstance(one, str) for one in allocations):
        return list(allocations)
    return _moved_texts(allocations)


def _change(entry: dict[str, Any]) -> Change:
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
        before=finite(entry.get("before")),
        after=finite(entry.get("after")),
        allocations=_allocation_texts(entry.get("allocations")),
        new=entry.get("new") is True,
    )


def _names(entries: list[Any] | None) -> list[tuple[str, str]]:
    """Cases are named by a text, or by an object that holds more of them; each once."""
    names = (
        (text(entry.get("case")), text(entry.get("device"))) if isinstance(entry, dict) else (text(entry), "")
        for entry in entries or []
    )
    return list(dict.fromkeys(names))


def parse_trends(document: str, name: str) -> Trends:
    """Reads the JSON; `name` is said in errors. Raises TrendFileError."""
    try:
        root = json.loads(document)
        if root.get("version") != TRENDS_VERSION:
            raise TrendFileError(
                f"{name}: version {root.get('version')} of trends; this reads {TRENDS_VERSION}: use the peakmark that "
                "wrote it"
            )
        if "cases" not in root:
            raise TrendFileError(f"{name}: written by an older peakmark, without the states of cases: run `trends --json` again")
        return Trends(
            headline=text(root["headline"]),
            tally=text(root["tally"]),
            cases={
                (text(entry["case"]), text(entry.get("device")), text(entry.get("backend"))): CaseState(
                    text(entry["state"]), [text(one) for one in entry.get("texts") or []]
                )
                for entry in root["cases"]
            },
            changes=[_change(entry) for entry in root["changes"]],
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
            vanished=_names(root.get("vanished")),
            new=_names(root.get("new")),
            not_enough_data=_names(root.get("not_enough_data")),
        )
    except json.JSONDecodeError as error:
        raise TrendFileError(f"{name}: not JSON, or cut short: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise TrendFileError(f"{name}: not what `peakmark trends --json` writes: {error!r}") from error
