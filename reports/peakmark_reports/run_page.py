"""The page of one run, in one file: verdicts, what differs from another run, plots, all cases, the environment."""

from __future__ import annotations

import base64
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from .assessment import descending
from .common import check_version, metric_name, quantity, reading, short_commit
from .formula_table import FormulaRow
from .page import MAX_GROUPS, MAX_MEMBERS
from .page_file import PAGE, prepare_folder, render
from .plots import Picture, PlotOptions, draw_pictures
from .run_file import Run, estimator_rows
from .trend_file import weight

VERSION = 1
# Judgements of `check` and states of `compare`, worst first: as shown, and the class of their badge.
JUDGEMENTS = {
    "failed_measurement": ("not measured", "failed"), "fail": ("failed", "rule"), "counted": ("warning", "window"),
    "skipped": ("skipped", ""), "as_expected": ("as expected", ""), "pass": ("pass", ""),
}
STATES = {
    "regressed": ("regressed", "regression"), "suspicious": ("suspicious", "suspicious"), "improved": ("improved", "improvement"),
    "changed": ("changed otherwise", ""), "undecided": ("undecided", ""), "same": ("the same", ""), "skipped": ("skipped", ""),
}
LISTED_STATES = ("regressed", "suspicious", "improved", "changed")
# What an exit code of `check` and `compare` means.
EXIT_CODES = {0: "clean", 1: "a verdict failed", 3: "a measurement failed", 4: "nothing was measured"}
_REMARKS = {"allowed": "allowed by --allow-growth", "unsteady": "the two memory passes of one run differ as well"}
COLUMNS = ("name", "judgement", "reason", "difference", "peak", "time", "throughput", "ratio")
SCRIPTS = ("chart.js", "values.js", "table.js", "run.js")


@dataclass(frozen=True)
class Verdict:
    """The headline and the exit code of a command, for a person and for CI."""

    command: str
    headline: str
    exit_code: int

    @property
    def text(self) -> str:
        return f"exits with {self.exit_code}: {EXIT_CODES.get(self.exit_code, 'an error')}"

    @property
    def badge(self) -> str:
        return {0: "good", 4: "warn"}.get(self.exit_code, "bad")

    @property
    def sentence(self) -> str:
        return self.headline[:1].upper() + self.headline[1:]


@dataclass(frozen=True)
class JudgedCase:
    """A case as `check` judges it. `reason` may be empty, `ratio` is peak / estimate."""

    name: str
    judgement: str
    reason: str
    ratio: float | None
    advice: list[str]

    @property
    def state(self) -> tuple[str, str]:
        return JUDGEMENTS.get(self.judgement, (self.judgement, ""))

    @property
    def summary(self) -> str:
        return self.advice[0] if self.advice else ""


@dataclass(frozen=True)
class Difference:
    """A case as `compare` judges it, with its figures that differ."""

    name: str
    status: str
    changes: list[SimpleNamespace]
    """Entries of `cases` of the comparison."""
    advice: list[str]

    @property
    def state(self) -> tuple[str, str]:
        return STATES.get(self.status, (self.status, ""))

    @property
    def lines(self) -> list[str]:
        """`peak 6.75 MiB → 7.1 MiB (+5.2 %), grew`"""
        return [f"{metric_name(one.metric)} {one.levels}{f', {one.verdict}' if one.metric != 'outcome' else ''}" for one in self.changes]

    @property
    def summary(self) -> str:
        return self.lines[0] if self.lines else ""

    @property
    def allocations(self) -> list[str]:
        messages = [one.message for one in self.changes if one.metric == "outcome" and one.message]
        return messages + [moved["text"] for one in self.changes for moved in one.allocations or []]


@dataclass(frozen=True)
class CaseGroup:
    """Cases of a variant with one cause, the worst first."""

    cases: list[JudgedCase] | list[Difference]

    @property
    def first(self) -> JudgedCase | Difference:
        return self.cases[0]


def _variant(case: str) -> str:
    """Returns the beginning of a name before its axes."""
    return case.split(":", 1)[0].rpartition("/")[0] if ":" in case else case


def _is_decided(change: SimpleNamespace) -> bool:
    return change.verdict not in ("undecided", "suspicious")


def _weight(change: SimpleNamespace) -> tuple[float, float]:
    return weight(change.relative, change.base, change.new)


def _cause(one: JudgedCase | Difference) -> tuple:
    if isinstance(one, JudgedCase):
        return _variant(one.name), one.judgement, one.reason
    # Time that is not decided differs from case to case.
    changes = tuple((change.metric, change.verdict) for change in one.changes if _is_decided(change))
    return _variant(one.name), one.status, changes, tuple(re.sub(r"\d.*", "", text) for text in one.allocations)


def case_groups(cases: Sequence[JudgedCase | Difference]) -> list[CaseGroup]:
    """Groups cases in the order of their first ones."""
    groups: dict[tuple, CaseGroup] = {}
    for one in cases:
        groups.setdefault(_cause(one), CaseGroup([])).cases.append(one)
    return list(groups.values())


@dataclass(frozen=True)
class Comparison:
    verdict: Verdict
    base: str
    """`base.json, commit 1a2b3c4d5e6f, 2026-11-28`"""
    notes: list[str]
    cases: list[Difference]
    """The worst first."""
    only_base: list[str]
    only_new: list[str]


@dataclass(frozen=True)
class RunReport:
    """The contents of the page. `cases` are sorted, worst first."""

    run: Run
    verdict: Verdict
    cases: list[JudgedCase]
    comparison: Comparison | None = None
    formulas: Sequence[FormulaRow] = ()


def _verdict(root: dict[str, Any], command: str) -> Verdict:
    check_version(root["version"], VERSION, command)
    return Verdict(command, root["headline"], root["exit_code"])


def parse_verdicts(document: str, command: str) -> tuple[Verdict, list[JudgedCase]]:
    """Parses the output of `check --json`; errors and the page show `command`. Raises InputError."""
    with reading("check --json", command):
        root = json.loads(document)
        verdict = _verdict(root, command)
        return verdict, [
            JudgedCase(one["case"], one["judgement"], one["reason"] or "", one["estimate_ratio"], one["advice"]) for one in root["cases"]
        ]


def _differences(rows: list[dict[str, Any]]) -> list[Difference]:
    by_case: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_case.setdefault(row["case"], []).append(row)
    found = []
    for name, figures in by_case.items():
        changes = [SimpleNamespace(**row) for row in figures if row["verdict"] not in ("same", None)]
        advice = [row["advice"] for row in figures if row.get("advice")]
        advice += [f"{metric_name(row['metric'])}: {why}." for row in figures for key, why in _REMARKS.items() if row.get(key) is True]
        found.append(Difference(name, figures[0]["status"], changes, advice))
    order = {status: i for i, status in enumerate(STATES)}
    found.sort(
        key=lambda one: (
            order.get(one.status, len(order)),
            # An undecided time is no reason to be first.
            min((descending(_weight(change)) for change in one.changes if _is_decided(change)), default=(0.0, 0.0)),
            min((descending(_weight(change)) for change in one.changes), default=(0.0, 0.0)),
        )
    )  # fmt: skip
    return found


def parse_comparison(document: str, command: str) -> Comparison:
    """Parses the output of `compare --json` of two runs; errors and the page show `command`. Raises InputError."""
    with reading("compare --json", command):
        root = json.loads(document)
        verdict = _verdict(root, command)
        base = root["base"]
        commit = f"commit {short_commit(base['commit'])}" if base["commit"] else ""
        sides = ", ".join(filter(None, (base["file"], commit, base["date"][:10])))
        return Comparison(verdict, sides, root["notes"], _differences(root["cases"]), root["only_base"], root["only_new"])


_FACTS = {
    "date": "date", "suite": "suite", "commit": "commit", "device": "device", "backend": "backend", "driver": "driver", "platform": "platform",
    "device_class": "device class", "worker": "worker", "build": "build", "filter": "filter", "host_name": "host", "id": "run",
}


def facts(run: Run) -> list[tuple[str, str]]:
    """Returns the names and values of what the run was measured with; leaves out what is unknown."""
    known = [(name, run.context.get(key)) for key, name in _FACTS.items()]
    shard = run.context.get("shard")
    if shard:
        known.append(("shard", f"{shard['index']} of {shard['count']}"))
    known += list((run.context.get("environment") or {}).items())
    return [(name, str(value)) for name, value in known if value not in (None, "")]


def _rows(report: RunReport) -> list[list[Any]]:
    measured = {}
    if len(report.run.cases):
        columns = report.run.cases[["case", "peak", "time", "bytes_per_second"]]
        measured = {case: [one if pd.notna(one) else None for one in values] for case, *values in columns.itertuples(index=False)}
    different = {one.name: one for one in report.comparison.cases} if report.comparison else {}
    rows = []
    for case in report.cases:
        peak, time, throughput = measured.get(case.name, [None] * 3)
        difference = different.get(case.name)
        rows.append([case.name, case.judgement, case.reason, difference and difference.status, peak, time, throughput, case.ratio])
    return rows


def _warnings(cases: Sequence[JudgedCase]) -> list[str]:
    """Returns a line for each reason: all cases of a program without an estimator have the same warning."""
    by_reason: dict[str, list[JudgedCase]] = {}
    for one in cases:
        if one.judgement == "counted" and one.advice:
            by_reason.setdefault(one.reason, []).append(one)
    return [f"{quantity(len(found), 'case')}, the first: {found[0].name}: {'; '.join(found[0].advice)}" for found in by_reason.values()]


def _inlined(picture: Picture, folder: Path) -> dict[str, Any]:
    """Returns a picture with its file as its address."""
    content = base64.b64encode((folder / f"{picture.name}.svg").read_bytes()).decode("ascii")
    return {
        "kind": picture.kind, "title": picture.title, "alt": picture.alt, "width": picture.width, "height": picture.height,
        "svg": f"data:image/svg+xml;base64,{content}",
    }


def render_run(report: RunReport, pictures: Sequence[dict[str, Any]], title: str) -> str:
    """Returns the text of the page. Escapes all texts of the run."""
    comparison = report.comparison
    verdicts = [*([comparison.verdict] if comparison else []), report.verdict]
    data = {
        "columns": COLUMNS, "rows": _rows(report), "judgements": JUDGEMENTS, "states": STATES,
    }
    return render(
        "run.html.j2",
        SCRIPTS,
        data,
        headline=verdicts[0].sentence,
        verdicts=verdicts,
        title=title,
        comparison=comparison,
        different=case_groups([one for one in comparison.cases if one.status in LISTED_STATES]) if comparison else [],
        failed=case_groups([one for one in report.cases if one.judgement in ("failed_measurement", "fail")]),
        warned=_warnings(report.cases),
        warnings=report.run.context.get("warnings") or [],
        estimators=estimator_rows([report.run]),
        formulas=report.formulas,
        pictures=pictures,
        shapes=any(picture["kind"] != "estimates" for picture in pictures),
        case_count=len(report.cases),
        facts=facts(report.run),
        max_groups=MAX_GROUPS,
        max_members=MAX_MEMBERS,
    )


def write_run_page(report: RunReport, folder: Path, title: str) -> Path:
    """Writes the page into the folder, as a file that needs no other, and returns it. Raises PageError or OSError."""
    prepare_folder(folder)
    with tempfile.TemporaryDirectory() as drawn:
        pictures = [_inlined(picture, Path(drawn)) for picture in draw_pictures([report.run], Path(drawn), PlotOptions(formats=("svg",)))]
    page = folder / PAGE
    page.write_text(render_run(report, pictures, title), encoding="utf-8")
    return page
