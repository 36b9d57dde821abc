"""The pages of a report: index.html, figures/ and data/, complete in one folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from .assessment import STATES, Assessment
from .common import metric_name, quantity, short_commit
from .formula_table import FormulaRow
from .groups import SECTIONS, Member
from .history_file import MAX_RUNS
from .overview import COUNTS, NamedGroup, named_groups, overview
from .page_data import Entry, chunks, device_data, entries, environment_marks, page_data
from .page_file import DATA, PAGE, json_markup, prepare_folder, render
from .plots import FOLDER, PlotOptions, draw_pictures
from .run_file import Run, estimator_rows
from .sparkline import sparkline

# Max groups and cases of the findings; the list of cases has all cases.
MAX_GROUPS, MAX_MEMBERS = 60, 200
_COLOURS = {
    "regression": "--bad", "failed": "--bad", "window": "--warn", "rule": "--bad", "suspicious": "--warn", "as_on_base": "--warn",
    "improvement": "--good", "recovery": "--good",
}


class _Groups:
    """Prepares groups for the template."""

    def __init__(self, shown: Sequence[Entry]) -> None:
        self._entries = {id(entry.device): entry for entry in shown}
        self._several = len(shown) > 1
        self._marks = {
            id(entry.device): [
                mark["at"] for mark in environment_marks(entry.device, entry.assessment.trends.environment_changes)
            ]
            for entry in shown
        }

    def _link(self, member: Member) -> str:
        return self._entries[id(member.status.device)].address(case=member.status.history.case)

    def _sparkline(self, named: NamedGroup) -> Markup:
        group, first = named.group, named.group.first
        series = first.status.history.series
        metric = group.entry.metric or next((one for one in ("requested_peak_bytes", "gpu_time_ns") if one in series), None)
        if group.state == "window" and "estimate_ratio" in series:
            metric = "estimate_ratio"
        if metric not in series:
            return Markup("")
        at = first.finding.at if first.finding else None
        colour = _COLOURS.get(group.state, "--quiet")
        return sparkline(series[metric], metric, at, colour, self._marks[id(first.status.device)])

    def shown(self, named: NamedGroup) -> dict[str, Any]:
        group = named.group
        assessment = self._entries[id(group.first.status.device)].assessment
        members = [
            {
                "case": member.status.history.case,
                "link": self._link(member),
                "device": f"on {member.status.device.label}" if len(group.devices) > 1 else "",
                "levels": member.levels,
                "allocations": member.finding.change.cause if member.finding else [],
            }
            for member in group.members[: MAX_MEMBERS + 1]
        ]
        return {
            "anchor": named.anchor,
            "new": named.is_new,
            "state": group.state,
            "name": group.name,
            "metric": group.entry.metric,
            "commits": _commits(named, assessment),
            "compare": group.entry.compare,
            "members": members + [None] * (len(group.members) - len(members)),
            "first": members[0],
            "summary": group.summary(self._several),
            "hints": group.hints(assessment),
            "sparkline": self._sparkline(named),
        }

    def listed(self, groups: Sequence[NamedGroup]) -> list[dict[str, Any] | None]:
        """Returns the first MAX_GROUPS, and None for each other."""
        return [self.shown(one) for one in groups[:MAX_GROUPS]] + [None] * (len(groups) - MAX_GROUPS)


def _commits(named: NamedGroup, assessment: Assessment) -> list[dict[str, str]]:
    """Returns the last good and the first bad commit of the largest change; empty if one is unknown."""
    finding = named.group.first.finding
    if finding is None or not finding.change.commit or not finding.change.commit_before:
        return []
    return [
        {"name": name, "commit": short_commit(commit), "link": assessment.trends.commit_link(commit)}
        for name, commit in (("last before", finding.change.commit_before), ("first with it", finding.change.commit))
    ]


# Lines for newest runs: each suite on each device has one.
MAX_NEWEST_RUNS = 8


def _basis_lines(assessment: Assessment) -> list[str]:
    """Returns the data that the verdict is based on."""
    devices = assessment.history.devices
    lines = []
    newest = max((device.runs[-1].date for device in devices if device.runs), default="")
    if newest:
        count = assessment.history.cases
        lines.append(
            f"{count:,} case{'' if count == 1 else 's'} on {len(devices)} device{'' if len(devices) == 1 else 's'}, "
            f"{quantity(assessment.run_count, 'run')}; the newest on {newest[:10]}."
        )
    newest_runs = assessment.trends.newest_runs
    for one in newest_runs[:MAX_NEWEST_RUNS]:
        lines.append(f"{one.device}: {one.text}." if len(devices) > 1 else f"{one.text[:1].upper()}{one.text[1:]}.")
    if len(newest_runs) > MAX_NEWEST_RUNS:
        lines.append(f"The newest runs of {len(newest_runs) - MAX_NEWEST_RUNS} more suites are in the output of `peakmark trends`.")
    if any(device.run_count > len(device.runs) for device in devices):
        lines.append(
            f"Charts and comparisons have the newest {MAX_RUNS // 2} runs of each suite on a device, and some of those before: at most {MAX_RUNS}."
        )
    if assessment.run_count == 1:
        lines.append("First run: nothing was compared. Bytes are compared from the second run on.")
    elif assessment.run_count < (needed := max((one.runs_needed for one in assessment.trends.not_enough_data), default=0)):
        lines.append(f"{assessment.run_count} of {needed} runs needed before times are judged; bytes are already compared.")
    elif young := assessment.count("young"):
        lines.append(f"{young:,} case{' has' if young == 1 else 's have'} too few runs to judge times.")
    return lines


def _device_entries(assessment: Assessment) -> list[dict[str, Any]]:
    entries = []
    for device in assessment.history.devices:
        changes = [one for one in assessment.trends.environment_changes if one.run in device.run_index]
        runs = device.runs
        summary = quantity(device.run_count, "run")
        if runs:
            summary += f", {runs[0].date[:10]} to {runs[-1].date[:10]}"
            summary += f"; driver {runs[-1].driver}" if runs[-1].driver else ""
        entries.append(
            {
                "device": device.device, "backend": device.backend, "summary": summary,
                "changes": sorted(changes, key=lambda one: device.run_index[one.run], reverse=True),
            }
        )
    return entries


SCRIPTS = ("chart.js", "values.js", "files.js", "table.js", "series_chart.js", "case_detail.js", "cases.js", "compare.js", "page.js")


def _branch_sections(assessments: Sequence[Assessment], groups: list[dict], shown: _Groups) -> list[dict[str, Any]]:
    """Returns what each branch changed."""
    return [
        {
            "branch": next((device.branch for device in assessment.history.devices), ""),
            "headline": assessment.headline,
            "lines": [one.text for one in assessment.trends.branches],
            "open": shown.listed(parts["new"] + parts["open"]),
            "recent": shown.listed(parts["recent"]),
        }
        for assessment, parts in zip(assessments, groups)
    ]


def render_page(
    shown: Sequence[Entry], assessment: Assessment, runs: list[Run], pictures: list, title: str, version: str = "",
    formulas: Sequence[FormulaRow] = (),
) -> str:
    """Returns the text of index.html. `assessment` is that of the base branch. Escapes all text of the history."""
    prepared = _Groups(shown)
    groups = named_groups(shown)
    first = groups[0] if groups else {section: [] for section in SECTIONS}
    others = list({id(entry.assessment): entry.assessment for entry in shown}.values())[1:]
    commit_url = assessment.trends.commit_url if assessment.trends.commit_link("0") else ""
    return render(
        "page.html.j2",
        SCRIPTS,
        page_data(shown, commit_url, version),
        headline=assessment.headline,
        assessment=assessment,
        title=title,
        overview=overview(shown, groups),
        counts=COUNTS,
        has_branches=any(entry.device.branch for entry in shown),
        groups={section: prepared.listed(found) for section, found in first.items()},
        branches=_branch_sections(others, groups[1:], prepared),
        states=STATES,
        basis_lines=_basis_lines(assessment),
        estimators=estimator_rows(runs),
        formulas=formulas,
        pictures=pictures,
        shapes=any(picture.kind != "estimates" for picture in pictures),
        several_devices=len(assessment.history.devices) > 1,
        devices=_device_entries(assessment),
        accepted=assessment.trends.accepted,
        metric_name=metric_name,
        short_commit=short_commit,
        max_groups=MAX_GROUPS,
        max_members=MAX_MEMBERS,
    )


def _write_data(folder: Path, shown: Sequence[Entry]) -> str:
    """Writes a file for the rows of each device and files for the series of its cases. Returns a mark of their contents."""
    folder.mkdir(exist_ok=True)
    digest = hashlib.sha256()

    def write(name: str, value: Any) -> bytes:
        content = f'peakmarkData("{name}",{json_markup(value)});\n'.encode("ascii")
        (folder / f"{name}.js").write_bytes(content)
        return content

    for entry in shown:
        digest.update(write(f"device-{entry.number}", device_data(entry)))
        for number, cases in chunks(entry):
            digest.update(write(f"cases-{number}", cases))
    return digest.hexdigest()[:12]


def write_page(
    assessments: Sequence[Assessment], runs: list[Run], folder: Path, title: str = "peakmark report",
    formulas: Sequence[FormulaRow] = (),
) -> Path:
    """Writes the report of the base branch and of other branches, and returns index.html, which is written last. Raises PageError or
    OSError."""
    prepare_folder(folder)
    pictures = draw_pictures(runs, folder / FOLDER, PlotOptions(formats=("svg",)))
    shown = entries(assessments)
    version = _write_data(folder / DATA, shown)
    page = folder / PAGE
    page.write_text(render_page(shown, assessments[0], runs, pictures, title, version, formulas), encoding="utf-8")
    return page
